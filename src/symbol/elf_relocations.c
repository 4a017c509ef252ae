// SPDX-License-Identifier: Apache-2.0
/*
 * What the loader will write into the data of an ELF file: relocations by address.
 *
 * Packed relative relocations (RELR) are unfolded: an even word is an address, an odd word a bitmap
 * of the 63 words that follow. Their addend stands in the data itself.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "symbol/elf_file_internal.h"

#define RELOCATIONS_MAX ((size_t)8 << 20)

struct list {
    struct elf_relocation *items;
    size_t count;
    size_t capacity;
};

static enum ifg_status reserve(struct elf_file *elf, struct list *list, size_t more,
                               struct ifg_error *err)
{
    if (more > RELOCATIONS_MAX - list->count)
        return ifg_fail(err, IFG_UNSUPPORTED, "%s: it has more than %zu relocations", elf->name,
                        RELOCATIONS_MAX);
    if (!IFG_ARRAY_ROOM(list->items, list->capacity, list->count + more, RELOCATIONS_MAX))
        return ifg_fail_no_memory(err, "for the relocations of %s", elf->name);
    return IFG_OK;
}

static enum ifg_status add_rela(struct elf_file *elf, uint64_t vaddr, uint64_t size,
                                struct list *list, struct ifg_error *err)
{
    size_t count = (size_t)(size / sizeof(Elf64_Rela));
    enum ifg_status status;
    Elf64_Rela *rela = NULL;

    if (!vaddr || !count)
        return IFG_OK;
    if (elf->dynamic.rela_entry && elf->dynamic.rela_entry != sizeof *rela)
        return ifg_fail(err, IFG_CORRUPT, "%s: its relocations are of an unknown form", elf->name);
    status = elf_file_load(elf, "relocations", vaddr, size, (void **)&rela, err);
    if (!status)
        status = reserve(elf, list, count, err);
    for (size_t i = 0; i < count && !status; i++)
        list->items[list->count++] = (struct elf_relocation){
            .address = rela[i].r_offset,
            .addend = rela[i].r_addend,
            .type = (uint32_t)ELF64_R_TYPE(rela[i].r_info),
            .symbol = (uint32_t)ELF64_R_SYM(rela[i].r_info),
        };
    ifg_free(rela);
    return status;
}

static enum ifg_status add_packed(struct elf_file *elf, uint64_t address, struct list *list,
                                  struct ifg_error *err)
{
    enum ifg_status status = reserve(elf, list, 1, err);
    int64_t addend;

    if (status)
        return status;
    if (elf_file_read(elf, address, &addend, sizeof addend) != sizeof addend)
        return ifg_fail(err, IFG_CORRUPT, "%s: a relocated word at 0x%llx is not in the file",
                        elf->name, (unsigned long long)address);
    list->items[list->count++] = (struct elf_relocation){
        .address = address,
        .addend = addend,
        .type = elf->machine == ELF_X86_64 ? R_X86_64_RELATIVE : R_AARCH64_RELATIVE,
    };
    return IFG_OK;
}

static enum ifg_status add_relr(struct elf_file *elf, struct list *list, struct ifg_error *err)
{
    size_t count = (size_t)(elf->dynamic.relr_size / sizeof(uint64_t));
    enum ifg_status status;
    uint64_t *words = NULL;
    uint64_t next = 0;

    if (!elf->dynamic.relr || !count)
        return IFG_OK;
    status = elf_file_load(elf, "packed relocations", elf->dynamic.relr, elf->dynamic.relr_size,
                           (void **)&words, err);
    for (size_t i = 0; i < count && !status; i++) {
        if (!(words[i] & 1)) {
            status = add_packed(elf, words[i], list, err);
            next = words[i] + 8;
            continue;
        }
        for (unsigned bit = 1; bit < 64 && !status; bit++)
            if (words[i] >> bit & 1)
                status = add_packed(elf, next + 8 * (uint64_t)(bit - 1), list, err);
        next += 8 * (uint64_t)63;
    }
    ifg_free(words);
    return status;
}

static int by_address(const void *left, const void *right)
{
    const struct elf_relocation *a = left;
    const struct elf_relocation *b = right;

    return (a->address > b->address) - (a->address < b->address);
}

static bool is_sorted(const struct list *list)
{
    for (size_t i = 1; i < list->count; i++)
        if (list->items[i - 1].address > list->items[i].address)
            return false;
    return true;
}

static enum ifg_status load_relocations(struct elf_file *elf, struct ifg_error *err)
{
    const struct elf_dynamic *dynamic = &elf->dynamic;
    struct list list = { 0 };
    enum ifg_status status;

    if (elf->relocations_loaded)
        return IFG_OK;
    status = add_rela(elf, dynamic->rela, dynamic->rela_size, &list, err);
    if (!status)
        status = add_rela(elf, dynamic->jump_rela, dynamic->jump_rela_size, &list, err);
    if (!status)
        status = add_relr(elf, &list, err);
    if (status) {
        ifg_free(list.items);
        return status;
    }
    if (!is_sorted(&list))
        qsort(list.items, list.count, sizeof *list.items, by_address);
    elf->relocations = list.items;
    elf->relocation_count = list.count;
    elf->relocations_loaded = true;
    return IFG_OK;
}

enum ifg_status elf_file_relocations(struct elf_file *elf,
                                     const struct elf_relocation **out_relocations,
                                     size_t *out_count, struct ifg_error *err)
{
    enum ifg_status status = load_relocations(elf, err);

    *out_relocations = elf->relocations;
    *out_count = elf->relocation_count;
    return status;
}

bool elf_file_relocation_target(struct elf_file *elf, const struct elf_relocation *relocation,
                                uint64_t *out_target)
{
    bool x86 = elf->machine == ELF_X86_64;
    struct elf_symbol symbol;
    size_t count;

    *out_target = (uint64_t)relocation->addend;
    if (relocation->type == (x86 ? R_X86_64_RELATIVE : R_AARCH64_RELATIVE))
        return true;
    if (relocation->type != (x86 ? R_X86_64_64 : R_AARCH64_ABS64) &&
        relocation->type != (x86 ? R_X86_64_GLOB_DAT : R_AARCH64_GLOB_DAT) &&
        relocation->type != (x86 ? R_X86_64_JUMP_SLOT : R_AARCH64_JUMP_SLOT))
        return false;
    if (elf_file_symbol_count(elf, &count, NULL) || !relocation->symbol ||
        relocation->symbol >= count)
        return false;
    symbol = elf_file_symbol_at(elf, relocation->symbol);
    *out_target += symbol.value;
    return symbol.defined && symbol.type != STT_GNU_IFUNC && symbol.type != STT_TLS;
}

bool elf_file_pointer(struct elf_file *elf, uint64_t vaddr, uint64_t *out_target)
{
    struct elf_relocation key = { .address = vaddr };
    const struct elf_relocation *found = NULL;

    *out_target = 0;
    if (load_relocations(elf, NULL))
        return false;
    if (elf->relocation_count)
        found = bsearch(&key, elf->relocations, elf->relocation_count, sizeof key, by_address);
    if (found)
        return elf_file_relocation_target(elf, found, out_target);
    return elf->fixed &&
           elf_file_read(elf, vaddr, out_target, sizeof *out_target) == sizeof *out_target;
}
