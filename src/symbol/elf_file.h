// SPDX-License-Identifier: Apache-2.0
/*
 * A view of an ELF file (64 bits, little-endian, x86-64 or aarch64) that executes nothing, maps
 * nothing and believes nothing: every offset and count is checked against the file, and parts are
 * read with pread when they are needed, so that a file that shrinks under us yields an error and
 * not a signal.
 *
 * Only what the dynamic loader itself uses is looked at (program headers, dynamic section), hence
 * stripped libraries and those without section headers are read alike. Addresses are those of the
 * file, before the loader adds its base.
 */
#ifndef IFG_SYMBOL_ELF_FILE_H
#define IFG_SYMBOL_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct elf_file;

enum elf_machine { ELF_X86_64 = 62, ELF_AARCH64 = 183 };

struct elf_symbol {
    const char *name; /* lives as long as the file is open */
    uint64_t value;
    uint64_t size;
    size_t index;
    unsigned type;        /* STT_FUNC and so on */
    bool defined;         /* as opposed to imported */
    bool default_version; /* what a plain name is bound to when there are several versions */
};

struct elf_relocation {
    uint64_t address;
    int64_t addend;
    uint32_t type;
    uint32_t symbol; /* 0 = none */
};

struct elf_position {
    uint64_t file_offset;
    uint64_t left; /* bytes from there to the end of the segment, all inside the file */
    bool executable;
};

/* The path may be one of another process: /proc/PID/map_files/... also reaches deleted files. */
enum ifg_status elf_file_open(const char *path, struct elf_file **out_elf,
                              struct ifg_error *err) IFG_MUST_CHECK;

/* Keeps a duplicate of fd; name is for messages. */
enum ifg_status elf_file_open_fd(int fd, const char *name, struct elf_file **out_elf,
                                 struct ifg_error *err) IFG_MUST_CHECK;
void elf_file_close(struct elf_file *elf);
int elf_file_descriptor(const struct elf_file *elf); /* stays the file's own */

const char *elf_file_name(const struct elf_file *elf);
enum elf_machine elf_file_machine(const struct elf_file *elf);
bool elf_file_has_fixed_address(const struct elf_file *elf); /* not position-independent */
const char *elf_file_build_id(const struct elf_file *elf);   /* hexadecimal; "" without one */

/* Where the index of .eh_frame is (.eh_frame_hdr); false without one. */
bool elf_file_unwind_index(const struct elf_file *elf, uint64_t *out_address);

/* Where an address is in the file; false when it is in no segment, or not backed by the file. */
bool elf_file_locate(const struct elf_file *elf, uint64_t vaddr, struct elf_position *out_position);

/* Which address of an executable segment lies at this offset of the file; mappings begin on whole
 * pages, up to a page before their segment. False: none. */
bool elf_file_address_at(const struct elf_file *elf, uint64_t file_offset, uint64_t *out_vaddr);

/* How many of the bytes at vaddr could be read: less than size at the end of a segment. */
size_t elf_file_read(struct elf_file *elf, uint64_t vaddr, void *out, size_t size);

/* Dynamic symbols, imported ones too. Index 0 is never a symbol. */
enum ifg_status elf_file_symbol_count(struct elf_file *elf, size_t *out_count,
                                      struct ifg_error *err) IFG_MUST_CHECK;
struct elf_symbol elf_file_symbol_at(struct elf_file *elf, size_t index);

/* By exact name: the default version of a defined symbol first. IFG_NOT_FOUND without a message. */
enum ifg_status elf_file_symbol(struct elf_file *elf, const char *name,
                                struct elf_symbol *out_symbol,
                                struct ifg_error *err) IFG_MUST_CHECK;

/* The same among the symbols for debuggers (.symtab), which a linker writes and `strip` takes away:
 * a library that was linked into a program is found there. Without a version and an index. */
enum ifg_status elf_file_debug_symbol(struct elf_file *elf, const char *name,
                                      struct elf_symbol *out_symbol,
                                      struct ifg_error *err) IFG_MUST_CHECK;

/* The name of a defined symbol's version, such as VERS_1.20.1; false when it has none. */
bool elf_file_symbol_version(struct elf_file *elf, size_t index, char *out, size_t size);

/* All relocations of data by address, packed ones (RELR) included. */
enum ifg_status elf_file_relocations(struct elf_file *elf,
                                     const struct elf_relocation **out_relocations,
                                     size_t *out_count, struct ifg_error *err) IFG_MUST_CHECK;

/* Where the pointer that is stored at vaddr will lead; false when that is not in this file. */
bool elf_file_pointer(struct elf_file *elf, uint64_t vaddr, uint64_t *out_target);
bool elf_file_relocation_target(struct elf_file *elf, const struct elf_relocation *relocation,
                                uint64_t *out_target);

#endif
