// SPDX-License-Identifier: Apache-2.0
/*
 * Small files of the system (/proc, /sys) and the numbers in them. The text may be cut anywhere and
 * hold anything: what is no number, or too large, is IFG_NO_NUMBER.
 */
#ifndef IFG_BASE_SMALL_FILE_H
#define IFG_BASE_SMALL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IFG_NO_NUMBER UINT64_MAX

/* As much as fits, NUL-terminated; false (and "") if there is nothing. Never waits. */
bool ifg_read_small(const char *path, char *out, size_t size);

/* The number that begins at text, after blanks; false if there is none or it is too large. */
bool ifg_parse_number(const char *text, const char **out_end, uint64_t *out);

/* The number that a file begins with. */
uint64_t ifg_read_number(const char *path);

/* The number behind `key` at the begin of a line, after blanks and a ':' or '='. */
uint64_t ifg_find_number(const char *text, const char *key);

#endif
