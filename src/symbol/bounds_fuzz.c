// SPDX-License-Identifier: Apache-2.0
/*
 * Code that no compiler makes. Strategies:
 *
 * 1. The input is the only segment of a library, all of it code; nothing describes it.
 * 2. Its first bytes tell where functions are said to begin.
 *
 * What is found must hold the address that was asked for, and functions must not overlap.
 */
#include "symbol/bounds.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HEADERS  (sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr))
#define ADDRESS  0x10000u
#define CODE_MAX 65536u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int file = -1;

static bool write_library(const uint8_t *code, size_t size)
{
    Elf64_Ehdr header = { .e_type = ET_DYN,
                          .e_machine = EM_X86_64,
                          .e_version = EV_CURRENT,
                          .e_phoff = sizeof header,
                          .e_ehsize = sizeof header,
                          .e_phentsize = sizeof(Elf64_Phdr),
                          .e_phnum = 1 };
    Elf64_Phdr segment = { .p_type = PT_LOAD,
                           .p_flags = PF_R | PF_X,
                           .p_offset = HEADERS,
                           .p_vaddr = ADDRESS,
                           .p_filesz = size,
                           .p_memsz = size };

    memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    if (file < 0)
        file = memfd_create("bounds_fuzz", MFD_CLOEXEC);
    return file >= 0 && ftruncate(file, 0) == 0 &&
           pwrite(file, &header, sizeof header, 0) == sizeof header &&
           pwrite(file, &segment, sizeof segment, sizeof header) == sizeof segment &&
           pwrite(file, code, size, HEADERS) == (ssize_t)size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t last_start = 0, last_end = 0;
    struct bounds *bounds;
    struct elf_file *elf;

    if (size > CODE_MAX)
        size = CODE_MAX;
    if (!size || !write_library(data, size) ||
        elf_file_open_fd(file, "input", &elf, NULL) != IFG_OK)
        return 0;
    bounds = bounds_create(elf, NULL);
    for (size_t i = 0; bounds && i < 4 && i < size; i++)
        bounds_add_start(bounds, ADDRESS + data[i] * (uint64_t)i);
    for (uint64_t at = 0; bounds && at < size; at++) {
        uint64_t start, length;

        if (!bounds_find(bounds, ADDRESS + at, &start, &length))
            continue;
        if (ADDRESS + at < start || ADDRESS + at - start >= length ||
            length > BOUNDS_FUNCTION_MAX || (start != last_start && start < last_end))
            abort();
        last_start = start;
        last_end = start + length;
    }
    bounds_destroy(bounds);
    elf_file_close(elf);
    return 0;
}
