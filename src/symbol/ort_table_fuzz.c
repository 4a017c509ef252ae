// SPDX-License-Identifier: Apache-2.0
/*
 * Hostile ELF files. Strategies:
 *
 * 1. The input is the whole file: the seeds are made libraries for both machines.
 * 2. Every fourth size: the file is cut to half after it was opened, as another process may do.
 *
 * A table that is found must be right in itself: each offset in the file, and in a segment that is
 * executable. So must every exported function.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbol/exported.h"
#include "symbol/ort_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int file = -1;

static void check_position(struct elf_file *elf, uint64_t vaddr, uint64_t offset, uint64_t probe,
                           size_t size)
{
    struct elf_position position;

    if (!elf_file_locate(elf, vaddr, &position) || !position.executable ||
        position.file_offset != offset || offset >= size ||
        (probe != offset && probe != offset + 4) || probe >= size)
        abort();
}

static void check_table(struct elf_file *elf, size_t size)
{
    static struct ort_table table;
    struct ifg_error err = { 0 };
    enum ifg_status status = ort_table_find(elf, &table, &err);

    if (status) {
        if (!err.message[0])
            abort();
        return;
    }
    if (!table.slot_count || table.slot_count != ort_abi_slots_of(table.minor) ||
        strnlen(table.version, sizeof table.version) == sizeof table.version)
        abort();
    for (unsigned i = 0; i < table.slot_count; i++)
        check_position(elf, table.slots[i].vaddr, table.slots[i].file_offset,
                       table.slots[i].probe_offset, size);
}

static void check_exported(struct elf_file *elf, const char *pattern, size_t size)
{
    struct exported_functions found;

    if (exported_find(elf, pattern, &found, NULL) == IFG_OK)
        for (size_t i = 0; i < found.count; i++)
            check_position(elf, found.items[i].vaddr, found.items[i].file_offset,
                           found.items[i].probe_offset, size);
    exported_fini(&found);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct elf_file *elf;

    if (file < 0)
        file = memfd_create("fuzz", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, 0) || pwrite(file, data, size, 0) != (ssize_t)size)
        abort();
    if (elf_file_open_fd(file, "input", &elf, NULL))
        return 0;
    if (size % 4 == 3 && ftruncate(file, (off_t)(size / 2)))
        abort();
    check_table(elf, size);
    check_exported(elf, "*o*", size);
    check_exported(elf, "ort_first", size);
    elf_file_close(elf);
    return 0;
}
