// SPDX-License-Identifier: Apache-2.0
/*
 * Hostile call frame information. Strategies:
 *
 * 1. The input, but for its first byte, is a whole .eh_frame; that byte chooses the machine.
 * 2. The same bytes as a whole ELF file, if they look like one: built, and looked up by its index.
 *
 * What comes out must be in order: rows inside their function, ascending.
 */
#include "symbol/cfi.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct cfi_function current;
static int file = -1;

static bool take_function(const struct cfi_function *function, void *user)
{
    (void)user;
    if (!function->size || function->start + function->size < function->start)
        abort();
    current = *function;
    return true;
}

static bool take_row(const struct cfi_row *row, void *user)
{
    (void)user;
    if (row->address >= current.start + current.size || row->rule > UNWIND_UNKNOWN ||
        row->saved > UNWIND_LOST)
        abort();
    return true;
}

static void check_table(struct unwind_table *table, struct unwind_table *opened)
{
    uint64_t start, length;

    for (size_t i = 1; i < table->row_count; i++)
        if (table->rows[i].at <= table->rows[i - 1].at)
            abort();
    for (size_t i = 0; i < table->function_count; i++) {
        uint64_t at = table->first + table->functions[i].at;

        if (!unwind_table_function(table, at, &start, &length) || start != at || !length)
            abort();
        unwind_table_find(table, at);
        unwind_table_find(table, at + length);
        unwind_table_find(opened, at);
        unwind_table_find(opened, at + length - 1);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct elf_file *elf;
    struct unwind_table *table, *opened;

    if (size) {
        struct cfi cfi = { data + 1, size - 1, 0x400000, data[0] & 1 ? ELF_X86_64 : ELF_AARCH64 };

        cfi_walk(&cfi, take_function, take_row, NULL);
    }
    if (size < 64 || memcmp(data, "\177ELF", 4) != 0)
        return 0;
    if (file < 0)
        file = memfd_create("fuzz", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, 0) || pwrite(file, data, size, 0) != (ssize_t)size)
        return 0;
    if (elf_file_open_fd(file, "fuzz", &elf, NULL) != IFG_OK)
        return 0;
    if (unwind_table_open(elf, &opened, NULL) == IFG_OK) {
        if (unwind_table_build(elf, &table, NULL) == IFG_OK)
            check_table(table, opened);
        else
            unwind_table_find(opened, 0x400000);
        unwind_table_destroy(table);
        unwind_table_destroy(opened);
    }
    elf_file_close(elf);
    return 0;
}
