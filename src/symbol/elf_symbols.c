// SPDX-License-Identifier: Apache-2.0
/* The dynamic symbols of an ELF file: their number, which only hash tables tell, and versions. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "symbol/elf_file_internal.h"

#define VERSION_INDEX  0x7fff
#define VERSION_HIDDEN 0x8000
#define CHAIN_MAX      (1u << 24) /* symbols; more cannot be real */
#define VERSIONS_MAX   4096

static bool read_u32(struct elf_file *elf, uint64_t vaddr, uint32_t *out)
{
    return elf_file_read(elf, vaddr, out, sizeof *out) == sizeof *out;
}

/* The highest symbol that a bucket leads to, and from there to the end of its chain. */
static enum ifg_status count_by_gnu_hash(struct elf_file *elf, uint64_t *out_count,
                                         struct ifg_error *err)
{
    struct {
        uint32_t buckets, first, bloom, shift;
    } header;
    uint64_t at = elf->dynamic.gnu_hash;
    enum ifg_status status;
    uint32_t *buckets = NULL;
    uint32_t last = 0;
    uint32_t hash = 0;

    if (elf_file_read(elf, at, &header, sizeof header) != sizeof header)
        return ifg_fail(err, IFG_CORRUPT, "%s: its hash table is not in the file", elf->name);
    at += sizeof header + 8 * (uint64_t)header.bloom;
    status = elf_file_load(elf, "hash buckets", at, 4 * (uint64_t)header.buckets, (void **)&buckets,
                           err);
    if (status)
        return status;
    for (uint32_t i = 0; i < header.buckets; i++)
        if (buckets[i] > last)
            last = buckets[i];
    ifg_free(buckets);
    if (last < header.first) {
        *out_count = header.first;
        return IFG_OK;
    }
    at += 4 * (uint64_t)header.buckets;
    do {
        if (last >= CHAIN_MAX || !read_u32(elf, at + 4 * (uint64_t)(last - header.first), &hash))
            return ifg_fail(err, IFG_CORRUPT, "%s: its hash table has no end", elf->name);
        last++;
    } while (!(hash & 1));
    *out_count = last;
    return IFG_OK;
}

static enum ifg_status count_symbols(struct elf_file *elf, uint64_t *out_count,
                                     struct ifg_error *err)
{
    uint32_t count = 0;

    *out_count = 0;
    if (!elf->dynamic.symbols)
        return IFG_OK;
    if (elf->dynamic.symbol_size && elf->dynamic.symbol_size != sizeof(Elf64_Sym))
        return ifg_fail(err, IFG_CORRUPT, "%s: its symbols are of an unknown form", elf->name);
    if (elf->dynamic.gnu_hash)
        return count_by_gnu_hash(elf, out_count, err);
    if (elf->dynamic.hash && !read_u32(elf, elf->dynamic.hash + 4, &count))
        return ifg_fail(err, IFG_CORRUPT, "%s: its hash table is not in the file", elf->name);
    *out_count = count;
    return IFG_OK;
}

static enum ifg_status load_symbols(struct elf_file *elf, struct ifg_error *err)
{
    enum ifg_status status;
    uint64_t count = 0;

    if (elf->symbols_loaded)
        return IFG_OK;
    status = count_symbols(elf, &count, err);
    if (status || !count)
        return status;
    if (!elf->strings) {
        status = elf_file_load(elf, "symbol names", elf->dynamic.strings, elf->dynamic.strings_size,
                               (void **)&elf->strings, err);
        if (status)
            return status;
        elf->strings_size = (size_t)elf->dynamic.strings_size;
    }
    if (elf->dynamic.versions && !elf->versions) {
        status = elf_file_load(elf, "symbol versions", elf->dynamic.versions,
                               count * sizeof *elf->versions, (void **)&elf->versions, err);
        if (status)
            return status;
    }
    status = elf_file_load(elf, "symbols", elf->dynamic.symbols, count * sizeof *elf->symbols,
                           (void **)&elf->symbols, err);
    if (status)
        return status;
    elf->symbol_count = (size_t)count;
    elf->symbols_loaded = true;
    return IFG_OK;
}

enum ifg_status elf_file_symbol_count(struct elf_file *elf, size_t *out_count,
                                      struct ifg_error *err)
{
    enum ifg_status status = load_symbols(elf, err);

    *out_count = elf->symbol_count;
    return status;
}

struct elf_symbol elf_file_symbol_at(struct elf_file *elf, size_t index)
{
    struct elf_symbol out = { .name = "", .index = index };
    const Elf64_Sym *symbol;

    if (index >= elf->symbol_count)
        return out;
    symbol = &elf->symbols[index];
    if (symbol->st_name < elf->strings_size)
        out.name = elf->strings + symbol->st_name;
    out.value = symbol->st_value;
    out.size = symbol->st_size;
    out.type = ELF64_ST_TYPE(symbol->st_info);
    out.defined = symbol->st_shndx != SHN_UNDEF && symbol->st_shndx != SHN_ABS;
    out.default_version = !elf->versions || !(elf->versions[index] & VERSION_HIDDEN);
    return out;
}

enum ifg_status elf_file_symbol(struct elf_file *elf, const char *name,
                                struct elf_symbol *out_symbol, struct ifg_error *err)
{
    enum ifg_status status = load_symbols(elf, err);
    int best = -1;

    *out_symbol = (struct elf_symbol){ .name = "" };
    if (status)
        return status;
    for (size_t i = 1; i < elf->symbol_count; i++) {
        struct elf_symbol symbol = elf_file_symbol_at(elf, i);
        int rank = 2 * symbol.defined + symbol.default_version;

        if (rank > best && strcmp(symbol.name, name) == 0) {
            *out_symbol = symbol;
            best = rank;
        }
    }
    return best < 0 ? IFG_NOT_FOUND : IFG_OK;
}

/* ---- symbols for debuggers ---- */

#define SECTIONS_MAX 65536u

/* A table of the file, by section; NULL if it is not all there. */
static void *load_section(struct elf_file *elf, const Elf64_Shdr *section)
{
    char *data;

    if (section->sh_size > ELF_TABLE_MAX || section->sh_offset > elf->size ||
        section->sh_size > elf->size - section->sh_offset)
        return NULL;
    data = ifg_alloc((size_t)section->sh_size + 1, 1);
    if (data && elf_file_read_at(elf, section->sh_offset, data, (size_t)section->sh_size) !=
                    (size_t)section->sh_size) {
        ifg_free(data);
        return NULL;
    }
    return data;
}

static bool find_in(struct elf_file *elf, const Elf64_Shdr *table, const Elf64_Shdr *names,
                    const char *wanted, struct elf_symbol *out)
{
    char *strings = load_section(elf, names);
    Elf64_Sym *symbols = strings ? load_section(elf, table) : NULL;
    size_t count = symbols ? (size_t)(table->sh_size / sizeof *symbols) : 0;
    bool found = false;

    for (size_t i = 1; i < count && !found; i++) {
        const Elf64_Sym *symbol = &symbols[i];

        if (symbol->st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol->st_info) != STT_FUNC ||
            symbol->st_name >= names->sh_size || strcmp(strings + symbol->st_name, wanted) != 0)
            continue;
        out->value = symbol->st_value;
        out->size = symbol->st_size;
        out->type = STT_FUNC;
        out->defined = true;
        out->default_version = true;
        found = true;
    }
    ifg_free(symbols);
    ifg_free(strings);
    return found;
}

enum ifg_status elf_file_debug_symbol(struct elf_file *elf, const char *name,
                                      struct elf_symbol *out_symbol, struct ifg_error *err)
{
    Elf64_Ehdr head;

    *out_symbol = (struct elf_symbol){ .name = "" };
    if (elf_file_read_at(elf, 0, &head, sizeof head) != sizeof head ||
        head.e_shentsize != sizeof(Elf64_Shdr))
        return IFG_NOT_FOUND;
    for (uint32_t i = 0; i < head.e_shnum && i < SECTIONS_MAX; i++) {
        Elf64_Shdr table, names;
        uint64_t at = head.e_shoff + (uint64_t)i * sizeof table;

        if (elf_file_read_at(elf, at, &table, sizeof table) != sizeof table)
            return ifg_fail(err, IFG_CORRUPT, "%s: its section headers are cut off", elf->name);
        if (table.sh_type != SHT_SYMTAB || table.sh_link >= head.e_shnum ||
            elf_file_read_at(elf, head.e_shoff + (uint64_t)table.sh_link * sizeof names, &names,
                             sizeof names) != sizeof names)
            continue;
        if (find_in(elf, &table, &names, name, out_symbol))
            return IFG_OK;
    }
    return IFG_NOT_FOUND;
}

bool elf_file_symbol_version(struct elf_file *elf, size_t index, char *out, size_t size)
{
    uint64_t at = elf->dynamic.version_names;
    Elf64_Verdef definition;
    Elf64_Verdaux name;

    out[0] = '\0';
    if (!elf->versions || index >= elf->symbol_count || !at)
        return false;
    for (unsigned i = 0; i < elf->dynamic.version_name_count && i < VERSIONS_MAX; i++) {
        if (elf_file_read(elf, at, &definition, sizeof definition) != sizeof definition)
            return false;
        if (definition.vd_ndx == (elf->versions[index] & VERSION_INDEX) &&
            !(definition.vd_flags & VER_FLG_BASE)) {
            if (elf_file_read(elf, at + definition.vd_aux, &name, sizeof name) != sizeof name ||
                name.vda_name >= elf->strings_size)
                return false;
            snprintf(out, size, "%s", elf->strings + name.vda_name);
            return true;
        }
        if (!definition.vd_next)
            return false;
        at += definition.vd_next;
    }
    return false;
}
