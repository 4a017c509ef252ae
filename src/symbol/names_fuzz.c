// SPDX-License-Identifier: Apache-2.0
/*
 * Names from hostile ELF files: symbols, DWARF over libdw, types of C++, functions without any
 * name. Strategies:
 *
 * 1. The input is a whole file; functions of its unwind table and places between and outside of
 *    them are asked for, as samples would.
 * 2. The same bytes as a mangled name.
 *
 * What is found holds the place and has texts.
 */
#include "symbol/names.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"

#define ASKED_MAX 64u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ask(struct names *names, uint64_t address)
{
    struct names_location locations[NAMES_INLINED_MAX];
    uint64_t start, length;
    size_t count = names_find(names, address, &start, &length, locations);

    if (!count || count > NAMES_INLINED_MAX)
        abort();
    if (length && (address < start || address - start >= length))
        abort();
    for (size_t i = 0; i < count; i++)
        if (!locations[i].function || !locations[i].file ||
            strlen(locations[i].function) + strlen(locations[i].file) > SIZE_MAX / 2)
            abort();
}

static void ask_all(struct names *names, const struct unwind_table *table, const uint8_t *data,
                    size_t size)
{
    for (size_t i = 0; table && i < table->function_count && i < ASKED_MAX; i++) {
        ask(names, table->first + table->functions[i].at);
        ask(names, table->first + table->functions[i].at + 1);
    }
    for (uint64_t address = 0; address < 0x5000; address += 0x133)
        ask(names, address);
    for (size_t i = 0; i + 8 <= size && i < (size_t)ASKED_MAX * 8; i += 8) {
        uint64_t address;

        memcpy(&address, data + i, sizeof address);
        ask(names, address);
    }
}

static void try_demangle(const uint8_t *data, size_t size)
{
    char name[512];
    size_t length = size < sizeof name - 1 ? size : sizeof name - 1;

    if (length)
        memcpy(name, data, length);
    name[length] = '\0';
    ifg_free(names_demangle(name));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int file = -1;
    struct elf_file *elf = NULL;
    struct unwind_table *table = NULL;
    struct names *names = NULL;

    if (size < 64 || memcmp(data, "\177ELF", 4) != 0) {
        try_demangle(data, size);
        return 0;
    }
    if (file < 0)
        file = memfd_create("fuzz", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, 0) || pwrite(file, data, size, 0) != (ssize_t)size ||
        elf_file_open_fd(file, "fuzz", &elf, NULL) != IFG_OK)
        return 0;
    if (unwind_table_build(elf, &table, NULL) != IFG_OK)
        table = NULL;
    if (names_open(file, elf, table, &names, NULL) == IFG_OK)
        ask_all(names, table, data, size);
    names_close(names);
    unwind_table_destroy(table);
    elf_file_close(elf);
    return 0;
}
