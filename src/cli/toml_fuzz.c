// SPDX-License-Identifier: Apache-2.0
/*
 * Settings that anybody may have written: tables, keys, strings with escapes, arrays, cut anywhere
 * and with any bytes.
 *
 * Tried: names twice, brackets and quotes that stay open, escapes of characters that do not exist,
 * numbers in all spellings, and TOML that is not read here. What is accepted hangs together, and
 * what is refused names a line.
 */
#include "cli/toml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must_hang_together(const struct toml *toml, size_t size)
{
    if (!toml->table_count || toml->used > 2 * size + 2 || toml->item_count > TOML_ITEMS_MAX)
        abort();
    for (size_t i = 0; i < toml->entry_count; i++) {
        const struct toml_entry *entry = &toml->entries[i];

        if (entry->table >= toml->table_count || !entry->line ||
            (entry->kind != TOML_ARRAY && entry->count != 1))
            abort();
        for (size_t j = 0; j < entry->count; j++)
            if (strlen(entry->items[j]) > size)
                abort();
        if (entry->kind == TOML_NUMBER) {
            char *end;

            strtod(entry->items[0], &end);
            if (*end || end == entry->items[0])
                abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ifg_error err = { 0 };
    struct toml *toml;
    enum ifg_status status = toml_parse("x", (const char *)data, size, &toml, &err);

    if (!status != !!toml)
        abort();
    if (toml)
        must_hang_together(toml, size);
    else if (status != IFG_NO_MEMORY && size <= TOML_BYTES_MAX &&
             (strncmp(err.message, "x:", 2) != 0 || err.message[2] < '1' || err.message[2] > '9'))
        abort();
    toml_destroy(toml);
    return 0;
}
