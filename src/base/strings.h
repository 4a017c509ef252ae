// SPDX-License-Identifier: Apache-2.0
/*
 * Texts, each kept once, with numbers: 0 for the first, one more for each new one. A text stays
 * where it is until the end, with a NUL behind it; it may hold any bytes.
 *
 * All zero is an empty set without a limit.
 */
#ifndef IFG_BASE_STRINGS_H
#define IFG_BASE_STRINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/index.h"

#define IFG_STRINGS_NONE UINT32_MAX

struct ifg_string {
    const char *text;
    size_t size;
    uint64_t hash;
};

struct ifg_strings {
    struct ifg_string *items;
    uint32_t count;
    size_t capacity;
    size_t limit; /* never more texts than this; 0: as many as there are numbers */
    struct ifg_index index;
    struct ifg_strings_chunk *chunks;
    size_t bytes;   /* of memory for the texts themselves */
    bool no_memory; /* something could not be added for lack of memory */
};

void ifg_strings_fini(struct ifg_strings *strings);

/* The number of these bytes, new or old; IFG_STRINGS_NONE at the limit or without memory. */
uint32_t ifg_strings_add(struct ifg_strings *strings, const void *bytes, size_t size);

/* Only if it is there already; IFG_STRINGS_NONE: it is not. */
uint32_t ifg_strings_find(const struct ifg_strings *strings, const void *bytes, size_t size);

/* The text itself: the same bytes give the same pointer. NULL as above. */
const char *ifg_strings_keep(struct ifg_strings *strings, const void *bytes, size_t size);

/* A copy that lasts as long, for what need not be found again. NULL: no memory. */
const char *ifg_strings_copy(struct ifg_strings *strings, const void *bytes, size_t size);

static inline const char *ifg_strings_get(const struct ifg_strings *strings, uint32_t number)
{
    return strings->items[number].text;
}

#endif
