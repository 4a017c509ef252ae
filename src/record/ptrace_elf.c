// SPDX-License-Identifier: Apache-2.0
/* The loader's list of libraries and their symbol tables, read in another process's memory. */
#include "record/ptrace_elf.h"

#include <elf.h>
#include <string.h>

#include "base/alloc.h"
#include "system/maps.h"

#define HEADERS_MAX    64u
#define TABLES_MAX     256u
#define CHAIN_MAX      1024u /* of one bucket; a process that lies costs seconds, not minutes */
#define LIBRARIES_MAX  4096u
#define NAME_MAX_BYTES 128u

/* Has been the same nine bytes since the first x86-64: unwinders know signal frames by them. */
static const unsigned char restorer_code[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };

/* ---- what is where ---- */

#ifdef __aarch64__
#define LOADER "ld-linux-aarch64.so.1"
#else
#define LOADER "ld-linux-x86-64.so.2"
#endif

/* "libc.so.6" is "libc-2.31.so" in older systems. */
static bool is_called(const char *path, const char *name, const char *old_name)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;

    if (strcmp(base, name) == 0)
        return true;
    return strncmp(base, old_name, strlen(old_name)) == 0 && strstr(base, ".so");
}

bool ptrace_library_read(const struct ptrace *remote, uint64_t start, struct ptrace_library *out)
{
    Elf64_Ehdr head;
    Elf64_Phdr parts[HEADERS_MAX];
    uint64_t first = UINT64_MAX;
    uint64_t dynamic = 0;

    if (!ptrace_read(remote, start, &head, sizeof head) ||
        memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
        head.e_phentsize != sizeof *parts || !head.e_phnum || head.e_phnum > HEADERS_MAX ||
        !ptrace_read(remote, start + head.e_phoff, parts, head.e_phnum * sizeof *parts))
        return false;
    for (unsigned i = 0; i < head.e_phnum; i++) {
        if (parts[i].p_type == PT_LOAD && parts[i].p_vaddr < first)
            first = parts[i].p_vaddr;
        if (parts[i].p_type == PT_DYNAMIC)
            dynamic = parts[i].p_vaddr;
    }
    if (first == UINT64_MAX || !dynamic)
        return false;
    out->base = start - (first & ~4095ull);
    out->dynamic = out->base + dynamic;
    return true;
}

static void see_mapping(const struct ptrace *remote, const struct map_line *map,
                        struct ptrace_world *world)
{
    if (strstr(map->path, "/ld-musl-"))
        world->has_musl = true;
    if (is_called(map->path, "libc.so.6", "libc-2.")) {
        if (!map->offset && !world->libc.base)
            ptrace_library_read(remote, map->start, &world->libc);
        if (map->executable && !world->libc_code) {
            world->libc_code = map->start;
            world->libc_code_bytes = map->end - map->start;
        }
    } else if (!map->offset && !world->libdl.base &&
               is_called(map->path, "libdl.so.2", "libdl-2.")) {
        ptrace_library_read(remote, map->start, &world->libdl);
    } else if (!map->offset && !world->loader.base && is_called(map->path, LOADER, "ld-2.")) {
        ptrace_library_read(remote, map->start, &world->loader);
    }
}

enum ifg_status ptrace_world_read(const struct ptrace *remote, struct ptrace_world *out,
                                  struct ifg_error *err)
{
    struct map_line map;
    struct maps maps;

    memset(out, 0, sizeof *out);
    if (!maps_open(remote->pid, &maps))
        return ifg_fail_errno(err, "cannot read the mappings of process %d", (int)remote->pid);
    while (maps_next_file(&maps, &map))
        see_mapping(remote, &map, out);
    maps_close(&maps);
    return IFG_OK;
}

uint64_t ptrace_restorer(const struct ptrace *remote, const struct ptrace_world *world)
{
    uint64_t bytes = world->libc_code_bytes;
    unsigned char *code;
    const unsigned char *found = NULL;

    if (!bytes || bytes > 64u << 20)
        return 0;
    code = ifg_alloc((size_t)bytes, 1);
    if (code && ptrace_read(remote, world->libc_code, code, (size_t)bytes))
        found = memmem(code, (size_t)bytes, restorer_code, sizeof restorer_code);
    bytes = found ? world->libc_code + (uint64_t)(found - code) : 0;
    ifg_free(code);
    return bytes;
}

/* ---- what a library defines ---- */

struct tables {
    uint64_t symbols;
    uint64_t strings;
    uint64_t gnu_hash;
    uint64_t hash;
};

/* The loader adds the base to addresses in there; not in every library. */
static uint64_t absolute(const struct ptrace_library *library, uint64_t value)
{
    return value < library->base ? value + library->base : value;
}

static bool read_tables(const struct ptrace *remote, const struct ptrace_library *library,
                        struct tables *out)
{
    memset(out, 0, sizeof *out);
    for (unsigned i = 0; i < TABLES_MAX; i++) {
        Elf64_Dyn entry;

        if (!ptrace_read(remote, library->dynamic + i * sizeof entry, &entry, sizeof entry))
            return false;
        if (entry.d_tag == DT_NULL)
            break;
        if (entry.d_tag == DT_SYMTAB)
            out->symbols = absolute(library, entry.d_un.d_ptr);
        else if (entry.d_tag == DT_STRTAB)
            out->strings = absolute(library, entry.d_un.d_ptr);
        else if (entry.d_tag == DT_GNU_HASH)
            out->gnu_hash = absolute(library, entry.d_un.d_ptr);
        else if (entry.d_tag == DT_HASH)
            out->hash = absolute(library, entry.d_un.d_ptr);
    }
    return out->symbols && out->strings && (out->gnu_hash || out->hash);
}

/* The value of symbol number `index` if it has that name and is defined; 0 otherwise. */
static uint64_t value_of(const struct ptrace *remote, const struct tables *tables, uint32_t index,
                         const char *name)
{
    char text[NAME_MAX_BYTES];
    Elf64_Sym symbol;

    if (!ptrace_read(remote, tables->symbols + (uint64_t)index * sizeof symbol, &symbol,
                     sizeof symbol) ||
        symbol.st_shndx == SHN_UNDEF || !symbol.st_value)
        return 0;
    ptrace_read_text(remote, tables->strings + symbol.st_name, text, sizeof text);
    return strcmp(text, name) == 0 ? symbol.st_value : 0;
}

static uint64_t find_by_gnu_hash(const struct ptrace *remote, const struct tables *tables,
                                 const char *name)
{
    uint32_t head[4]; /* buckets, first symbol, words of the filter, shift */
    uint32_t hash = 5381;
    uint32_t index;
    uint64_t buckets;

    for (const char *at = name; *at; at++)
        hash = hash * 33 + (unsigned char)*at;
    if (!ptrace_read(remote, tables->gnu_hash, head, sizeof head) || !head[0])
        return 0;
    buckets = tables->gnu_hash + sizeof head + 8ull * head[2];
    if (!ptrace_read(remote, buckets + 4ull * (hash % head[0]), &index, sizeof index) ||
        index < head[1])
        return 0;
    for (unsigned i = 0; i < CHAIN_MAX; i++, index++) {
        uint32_t found;
        uint64_t value;

        if (!ptrace_read(remote, buckets + 4ull * head[0] + 4ull * (index - head[1]), &found,
                         sizeof found))
            return 0;
        value = (found ^ hash) >> 1 ? 0 : value_of(remote, tables, index, name);
        if (value || found & 1)
            return value;
    }
    return 0;
}

static uint64_t find_by_hash(const struct ptrace *remote, const struct tables *tables,
                             const char *name)
{
    uint32_t head[2]; /* buckets, symbols */
    uint32_t hash = 0;
    uint32_t index;
    uint64_t value = 0;

    for (const char *at = name; *at; at++) {
        hash = (hash << 4) + (unsigned char)*at;
        hash = (hash ^ (hash & 0xf0000000u) >> 24) & 0x0fffffffu;
    }
    if (!ptrace_read(remote, tables->hash, head, sizeof head) || !head[0] ||
        !ptrace_read(remote, tables->hash + 8 + 4ull * (hash % head[0]), &index, sizeof index))
        return 0;
    for (unsigned i = 0; index && i < CHAIN_MAX && !value; i++) {
        value = value_of(remote, tables, index, name);
        if (!ptrace_read(remote, tables->hash + 8 + 4ull * head[0] + 4ull * index, &index,
                         sizeof index))
            break;
    }
    return value;
}

uint64_t ptrace_symbol(const struct ptrace *remote, const struct ptrace_library *library,
                       const char *name)
{
    struct tables tables;
    uint64_t value;

    if (!library->dynamic || !read_tables(remote, library, &tables))
        return 0;
    value = tables.gnu_hash ? find_by_gnu_hash(remote, &tables, name)
                            : find_by_hash(remote, &tables, name);
    return value ? library->base + value : 0;
}

/* ---- all libraries ---- */

void ptrace_each_library(const struct ptrace *remote, const struct ptrace_world *world,
                         ptrace_visit *visit, void *user)
{
    /* As <link.h> has it: l_addr, l_name, l_ld, l_next. */
    uint64_t map[4] = { 0 };
    uint64_t debug = ptrace_symbol(remote, &world->loader, "_r_debug");
    uint64_t next = 0;

    if (!debug || !ptrace_read(remote, debug + 8, &next, sizeof next))
        return;
    for (unsigned i = 0; next && i < LIBRARIES_MAX; i++, next = map[3]) {
        struct ptrace_library library;
        char path[PATH_MAX];

        if (!ptrace_read(remote, next, map, sizeof map))
            return;
        library = (struct ptrace_library){ map[0], map[2] };
        ptrace_read_text(remote, map[1], path, sizeof path);
        if (!visit(&library, path, user))
            return;
    }
}
