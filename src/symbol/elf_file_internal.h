// SPDX-License-Identifier: Apache-2.0
/* What an open ELF file holds; shared by elf_file.c, elf_symbols.c and elf_relocations.c. */
#ifndef IFG_SYMBOL_ELF_FILE_INTERNAL_H
#define IFG_SYMBOL_ELF_FILE_INTERNAL_H

#include <elf.h>

#include "symbol/elf_file.h"

#define ELF_SEGMENTS_MAX 64
#define ELF_TABLE_MAX    ((uint64_t)256 << 20) /* bytes of one table */
#define ELF_WINDOW       4096

struct elf_segment {
    uint64_t vaddr;
    uint64_t file_offset;
    uint64_t size; /* of what is in the file */
    bool executable;
};

/* The entries of the dynamic section that we use; 0 = absent. */
struct elf_dynamic {
    uint64_t strings, strings_size;
    uint64_t symbols, symbol_size;
    uint64_t hash, gnu_hash;
    uint64_t rela, rela_size, rela_entry;
    uint64_t jump_rela, jump_rela_size;
    uint64_t relr, relr_size;
    uint64_t versions, version_names, version_name_count;
};

struct elf_file {
    int fd;
    uint64_t size;
    char name[256];
    enum elf_machine machine;
    bool fixed;
    char build_id[2 * 64 + 1];
    struct elf_segment segments[ELF_SEGMENTS_MAX];
    size_t segment_count;
    struct elf_dynamic dynamic;
    uint64_t unwind_index; /* address of .eh_frame_hdr; 0: none */

    bool symbols_loaded;
    Elf64_Sym *symbols;
    size_t symbol_count;
    char *strings; /* one more NUL than the file has */
    size_t strings_size;
    uint16_t *versions; /* symbol_count of them, or NULL */

    bool relocations_loaded;
    struct elf_relocation *relocations;
    size_t relocation_count;

    uint8_t window[ELF_WINDOW]; /* the last small read, with its surroundings */
    uint64_t window_at;
    size_t window_size;
};

/* As many bytes of the file as there are at an offset. */
size_t elf_file_read_at(const struct elf_file *elf, uint64_t offset, void *out, size_t size);

/* Reads the whole range or fails; *out_data is then the caller's, with one more zero byte. */
enum ifg_status elf_file_load(struct elf_file *elf, const char *what, uint64_t vaddr, uint64_t size,
                              void **out_data, struct ifg_error *err) IFG_MUST_CHECK;

#endif
