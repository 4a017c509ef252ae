// SPDX-License-Identifier: Apache-2.0
/*
 * Dumps as no runtime writes them. Strategies:
 *
 * 1. The input is the file.
 * 2. The input is what follows a good header, so that records are reached at once.
 *
 * What is found must hold the address that was asked for, and all of its bytes are read.
 */
#include "collect/perf/jitdump.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#define HEADER_SIZE 40u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint64_t sink;

static void ask(const struct jitdump *dump, uint64_t address, uint64_t time_ns)
{
    const struct jitdump_entry *entry = jitdump_find(dump, address, time_ns);
    const char *file;
    uint32_t line;

    if (!entry)
        return;
    if (address < entry->start || address - entry->start >= entry->size)
        abort();
    sink += strlen(entry->name);
    for (uint64_t i = 0; i < entry->size; i++)
        sink += entry->code[i];
    if (jitdump_line(dump, entry, address, &file, &line))
        sink += strlen(file) + line;
}

static void try_file(const uint8_t *data, size_t size)
{
    struct jitdump *dump = jitdump_parse(data, size);

    for (uint64_t address = 1; dump && address; address <<= 1) {
        ask(dump, address, 0);
        ask(dump, address + 0x123, address);
        ask(dump, address - 1, UINT64_MAX);
    }
    jitdump_destroy(dump);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint32_t header[HEADER_SIZE / 4] = { 0x4a695444, 1, HEADER_SIZE, 62 };
    uint8_t *whole;

    try_file(data, size);
    whole = ifg_alloc(size + sizeof header, 1);
    if (!whole)
        return 0;
    memcpy(whole, header, sizeof header);
    if (size)
        memcpy(whole + sizeof header, data, size);
    try_file(whole, size + sizeof header);
    ifg_free(whole);
    return 0;
}
