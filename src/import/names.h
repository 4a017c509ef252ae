// SPDX-License-Identifier: Apache-2.0
/* Byte strings and their numbers: 0 for the first, one more for each new one. */
#ifndef IFG_IMPORT_NAMES_H
#define IFG_IMPORT_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

#define NAMES_FULL UINT32_MAX

struct names {
    struct ifg_bytes bytes; /* the strings, a NUL after each */
    struct name_entry *entries;
    uint32_t *slots; /* entry + 1; 0 is free */
    uint32_t count;
    uint32_t capacity;
    uint32_t slot_mask;
    uint32_t limit; /* never more than this many */
    bool no_memory; /* something could not be added for lack of memory */
};

void names_init(struct names *names, uint32_t limit);
void names_fini(struct names *names);

/* The number of these bytes, new or old; NAMES_FULL at the limit or without memory. */
uint32_t names_add(struct names *names, const void *bytes, size_t size);

/* The bytes of a number; NUL-terminated, valid until the next add. */
const char *names_get(const struct names *names, uint32_t number, size_t *out_size);

#endif
