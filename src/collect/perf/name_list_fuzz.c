// SPDX-License-Identifier: Apache-2.0
/*
 * Lists of names as programs write them to /tmp. Strategies:
 *
 * 1. The input, but for its first byte, is the text; that byte chooses the kind.
 *
 * What is found must hold the address that was asked for.
 */
#include <stdlib.h>
#include <string.h>

#include "collect/perf/lookup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct name_list *list;

    if (!size)
        return 0;
    list = name_list_parse((const char *)data + 1, size - 1,
                           data[0] & 1 ? NAME_LIST_KALLSYMS : NAME_LIST_PERF_MAP);
    for (uint64_t address = 1; list && address; address <<= 1) {
        const char *name;
        uint64_t start, length;

        if (name_list_find(list, address, &name, &start, &length) &&
            (address < start || address - start >= length || !strlen(name)))
            abort();
    }
    name_list_destroy(list);
    return 0;
}
