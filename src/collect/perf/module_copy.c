// SPDX-License-Identifier: Apache-2.0
/* An ELF file put together from the memory of a process, when the file itself is gone. */
#include "collect/perf/module_copy.h"
#include "system/maps.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define COPY_MAX     ((uint64_t)1 << 30)
#define COPY_CHUNK   (256u << 10)
#define SEGMENTS_MAX 64u
#define DYNAMIC_MAX  256u

/* Copies a piece to where it is in the file. */
static bool copy_piece(int memory, int copy, uint64_t start, uint64_t end, uint64_t offset)
{
    static uint8_t chunk[COPY_CHUNK];

    while (start < end) {
        size_t part = end - start < sizeof chunk ? (size_t)(end - start) : sizeof chunk;
        ssize_t got = pread(memory, chunk, part, (off_t)start);

        if (got <= 0 || pwrite(copy, chunk, (size_t)got, (off_t)offset) != got)
            return false;
        start += (uint64_t)got;
        offset += (uint64_t)got;
    }
    return true;
}

/* Which entries of the dynamic section are addresses that the loader has changed in place. */
static bool is_address(int64_t tag)
{
    return tag == DT_PLTGOT || tag == DT_HASH || tag == DT_STRTAB || tag == DT_SYMTAB ||
           tag == DT_RELA || tag == DT_REL || tag == DT_JMPREL || tag == DT_VERSYM ||
           tag == DT_GNU_HASH || tag == DT_VERDEF || tag == DT_VERNEED || tag == DT_RELR;
}

/* The loader of glibc adds the library's base to what it uses itself: takes it away again. */
static void restore_dynamic(int copy, const Elf64_Phdr *dynamic, uint64_t base, uint64_t size)
{
    for (uint64_t i = 0; i < dynamic->p_filesz / sizeof(Elf64_Dyn) && i < DYNAMIC_MAX; i++) {
        off_t at = (off_t)(dynamic->p_offset + i * sizeof(Elf64_Dyn));
        Elf64_Dyn entry;

        if (pread(copy, &entry, sizeof entry, at) != sizeof entry || entry.d_tag == DT_NULL)
            return;
        if (!is_address(entry.d_tag) || entry.d_un.d_ptr - base >= size)
            continue;
        entry.d_un.d_ptr -= base;
        if (pwrite(copy, &entry, sizeof entry, at) != sizeof entry)
            return;
    }
}

/* Makes a file of it that can be read: the table of sections is not in memory, so nobody shall look
 * for it. `start` is where its first byte is mapped. */
static void restore(int copy, uint64_t start)
{
    Elf64_Phdr segments[SEGMENTS_MAX];
    const Elf64_Phdr *dynamic = NULL;
    uint64_t base = start, end = 0;
    Elf64_Ehdr header;
    size_t size;

    if (pread(copy, &header, sizeof header, 0) != sizeof header ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phnum > SEGMENTS_MAX ||
        header.e_phentsize != sizeof *segments)
        return;
    size = header.e_phnum * sizeof *segments;
    header.e_shoff = 0;
    header.e_shnum = 0;
    header.e_shstrndx = SHN_UNDEF;
    if (pwrite(copy, &header, sizeof header, 0) != sizeof header ||
        pread(copy, segments, size, (off_t)header.e_phoff) != (ssize_t)size)
        return;
    for (size_t i = 0; i < header.e_phnum; i++) {
        if (segments[i].p_type == PT_DYNAMIC)
            dynamic = &segments[i];
        if (segments[i].p_type != PT_LOAD)
            continue;
        if (!end)
            base = start - (segments[i].p_vaddr - segments[i].p_offset);
        end = segments[i].p_vaddr + segments[i].p_memsz;
    }
    if (dynamic && header.e_type == ET_DYN && base)
        restore_dynamic(copy, dynamic, base, end);
}

int module_copy(uint32_t pid, uint64_t inode)
{
    struct map_line map;
    struct maps maps = { 0 };
    char name[64];
    int memory, copy;
    uint64_t copied = 0, first = 0;

    snprintf(name, sizeof name, "/proc/%u/mem", pid);
    memory = open(name, O_RDONLY | O_CLOEXEC);
    copy = memfd_create("inferogram-module", MFD_CLOEXEC);
    if (memory >= 0 && copy >= 0 && maps_open((pid_t)pid, &maps)) {
        while (maps_next(&maps, &map)) {
            uint64_t size = map.end - map.start;

            if (map.inode != inode || !map.readable || copied + size >= COPY_MAX ||
                !copy_piece(memory, copy, map.start, map.end, map.offset))
                continue;
            copied += size;
            if (!map.offset && !first)
                first = map.start;
        }
        maps_close(&maps);
    }
    if (memory >= 0)
        close(memory);
    if (copied && first)
        restore(copy, first);
    if (copied)
        return copy;
    if (copy >= 0)
        close(copy);
    return -1;
}
