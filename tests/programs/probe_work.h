// SPDX-License-Identifier: Apache-2.0
/* The functions of probe_work.c, for those who call them. */
#ifndef IFG_TESTS_PROBE_WORK_H
#define IFG_TESTS_PROBE_WORK_H

#include <stdint.h>

uint64_t work_six(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f);
int work_make(const char *name, int number, int status, uint64_t *out);
uint64_t work_inner(uint64_t number);     /* number + 1 */
uint64_t work_outer(uint64_t number);     /* calls work_inner twice */
uint64_t work_tail(uint64_t number);      /* jumps into work_inner */
uint64_t work_recursive(uint64_t levels); /* calls itself until one is left */
void work_leap(uint64_t number);          /* never returns */
uint64_t work_leaped(uint64_t number);    /* calls work_leap, then work_inner */
void work_long(unsigned milliseconds);    /* sleeps */
uint64_t work_tiny(uint64_t number);      /* takes about a microsecond */

#endif
