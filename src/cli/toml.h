// SPDX-License-Identifier: Apache-2.0
/*
 * A strict reader for a part of TOML, all that settings need: comments, [tables] and
 * [tables.with-a-name], keys with strings, numbers, booleans and arrays of strings or numbers.
 *
 * What TOML has beyond that (dotted keys, inline tables, dates, texts of several lines, arrays of
 * tables) is refused by name, never guessed. The text may come from anybody: it is read with
 * limits, must be UTF-8 without control characters, and a name may occur once.
 */
#ifndef IFG_CLI_TOML_H
#define IFG_CLI_TOML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define TOML_BYTES_MAX   (1u << 20)
#define TOML_TABLES_MAX  256u
#define TOML_ENTRIES_MAX 2048u
#define TOML_ITEMS_MAX   4096u

enum toml_kind {
    TOML_STRING,
    TOML_NUMBER, /* as written, without '_' and '+' */
    TOML_TRUE,
    TOML_FALSE,
    TOML_ARRAY, /* of strings and numbers */
};

struct toml_table {
    const char *name;  /* "" above the first table */
    const char *child; /* of [name.child], else NULL */
    uint32_t line;
};

struct toml_entry {
    size_t table; /* index */
    const char *key;
    enum toml_kind kind;
    const char *const *items; /* one, or those of an array */
    size_t count;
    uint32_t line;
};

struct toml {
    struct toml_table tables[TOML_TABLES_MAX];
    size_t table_count;
    struct toml_entry entries[TOML_ENTRIES_MAX];
    size_t entry_count;
    const char *items[TOML_ITEMS_MAX];
    size_t item_count;
    char *texts;
    size_t used;
};

/* Messages begin with "NAME:LINE: ". IFG_CORRUPT: not TOML; IFG_UNSUPPORTED: TOML that is not read
 * here. */
enum ifg_status toml_parse(const char *name, const char *text, size_t size, struct toml **out,
                           struct ifg_error *err) IFG_MUST_CHECK;
enum ifg_status toml_read(const char *path, struct toml **out,
                          struct ifg_error *err) IFG_MUST_CHECK;
void toml_destroy(struct toml *toml);

#endif
