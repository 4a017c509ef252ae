// SPDX-License-Identifier: Apache-2.0
/*
 * See rtti.h and the Itanium C++ ABI, 2.9.5: a type_info begins with a pointer into the vtable of a
 * class of the C++ runtime, imported by name; then comes the type's name, then its bases. A vtable
 * has a pointer to the type_info right before its first function.
 */
#include "symbol/rtti.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"

#define WORD          8u
#define RTTI_NAME_MAX 1024u
#define SLOTS_MAX     512u
#define DEPTH_MAX     16
#define BASES_MAX     16u
#define BASE_VIRTUAL  1
#define TYPES_PREFIX  "_ZTVN10__cxxabiv1"

struct type {
    uint64_t address;
    char *name;
    uint64_t base; /* address of the type_info of the base that it begins with; 0: none */
};

struct method {
    uint64_t start;
    uint32_t type;
    uint32_t position;
    bool secondary; /* of a base that the class does not begin with */
};

struct rtti {
    struct type *types; /* by address */
    size_t type_count;
    struct method *methods; /* by start, each once */
    size_t method_count;
};

struct builder {
    struct elf_file *elf;
    struct unwind_table *table;
    struct rtti *rtti;
    size_t type_room, method_room;
    bool no_memory;
};

static bool read_name(struct elf_file *elf, uint64_t address, char out[RTTI_NAME_MAX])
{
    size_t got = elf_file_read(elf, address, out, RTTI_NAME_MAX - 1);

    out[got] = '\0';
    if (*out == '*') /* compared by address, not by name */
        memmove(out, out + 1, got);
    if (!*out || strlen(out) >= RTTI_NAME_MAX - 2)
        return false;
    for (const char *at = out; *at; at++)
        if (*at < 33 || *at > 126)
            return false;
    return true;
}

/* Of several bases the one whose functions come first in the vtable: it is where the class begins.
 */
static uint64_t first_base(struct elf_file *elf, uint64_t type)
{
    uint32_t counts[2] = { 0 }; /* flags; how many */

    if (elf_file_read(elf, type + 2 * WORD, counts, sizeof counts) != sizeof counts)
        return 0;
    for (uint64_t i = 0; i < counts[1] && i < BASES_MAX; i++) {
        uint64_t at = type + 3 * WORD + i * 2 * WORD, base;
        int64_t offset;

        if (elf_file_read(elf, at + WORD, &offset, sizeof offset) == sizeof offset &&
            !(offset & BASE_VIRTUAL) && offset >> 8 == 0 && elf_file_pointer(elf, at, &base))
            return base;
    }
    return 0;
}

/* A type_info is where a pointer into one of the C++ runtime's own vtables is imported. */
static void add_type(struct builder *builder, const struct elf_relocation *relocation)
{
    struct elf_symbol symbol = elf_file_symbol_at(builder->elf, relocation->symbol);
    struct type type = { .address = relocation->address };
    char name[RTTI_NAME_MAX];
    uint64_t at;

    if (!symbol.name || strncmp(symbol.name, TYPES_PREFIX, sizeof TYPES_PREFIX - 1) != 0 ||
        !elf_file_pointer(builder->elf, relocation->address + WORD, &at) ||
        !read_name(builder->elf, at, name))
        return;
    if (strstr(symbol.name, "__si_class_type_info") &&
        elf_file_pointer(builder->elf, relocation->address + 2 * WORD, &at))
        type.base = at;
    else if (strstr(symbol.name, "__vmi_class_type_info"))
        type.base = first_base(builder->elf, relocation->address);
    type.name = ifg_strdup(name);
    if (!type.name || !IFG_ARRAY_ROOM(builder->rtti->types, builder->type_room,
                                      builder->rtti->type_count + 1, IFG_ARRAY_ANY)) {
        ifg_free(type.name);
        builder->no_memory = true;
        return;
    }
    builder->rtti->types[builder->rtti->type_count++] = type;
}

static int compare_types(const void *left, const void *right)
{
    const struct type *a = left;
    const struct type *b = right;

    return a->address < b->address ? -1 : a->address > b->address;
}

static const struct type *find_type(const struct rtti *rtti, uint64_t address)
{
    struct type key = { .address = address };

    return rtti->type_count
               ? bsearch(&key, rtti->types, rtti->type_count, sizeof key, compare_types)
               : NULL;
}

/* The functions behind a pointer to a type_info, as long as they are functions. */
static void add_methods(struct builder *builder, uint64_t vtable, const struct type *type)
{
    struct rtti *rtti = builder->rtti;
    int64_t to_top = 0; /* from this part of an object to its begin */
    bool secondary =
        elf_file_read(builder->elf, vtable - 2 * WORD, &to_top, sizeof to_top) == sizeof to_top &&
        to_top != 0;

    for (uint32_t position = 0; position < SLOTS_MAX; position++) {
        struct method method = { .type = (uint32_t)(type - rtti->types),
                                 .position = position,
                                 .secondary = secondary };

        if (!elf_file_pointer(builder->elf, vtable + position * WORD, &method.start) ||
            !unwind_table_begins(builder->table, method.start))
            return;
        if (!IFG_ARRAY_ROOM(rtti->methods, builder->method_room, rtti->method_count + 1,
                            IFG_ARRAY_ANY)) {
            builder->no_memory = true;
            return;
        }
        rtti->methods[rtti->method_count++] = method;
    }
}

static const struct rtti *sorting; /* of qsort, which hands nothing over */

/* Of several classes that share a function, the shortest name is that of a base, mostly. */
static int compare_methods(const void *left, const void *right)
{
    const struct method *a = left;
    const struct method *b = right;
    size_t length_a, length_b;

    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->secondary != b->secondary)
        return a->secondary ? 1 : -1;
    length_a = strlen(sorting->types[a->type].name);
    length_b = strlen(sorting->types[b->type].name);
    if (length_a != length_b)
        return length_a < length_b ? -1 : 1;
    return a->type < b->type ? -1 : a->type > b->type;
}

static void keep_one_each(struct rtti *rtti)
{
    size_t kept = 0;

    sorting = rtti;
    if (rtti->method_count)
        qsort(rtti->methods, rtti->method_count, sizeof *rtti->methods, compare_methods);
    for (size_t i = 0; i < rtti->method_count; i++)
        if (!kept || rtti->methods[i].start != rtti->methods[kept - 1].start)
            rtti->methods[kept++] = rtti->methods[i];
    rtti->method_count = kept;
}

enum ifg_status rtti_build(struct elf_file *elf, struct unwind_table *table, struct rtti **out_rtti,
                           struct ifg_error *err)
{
    struct builder builder = { .elf = elf, .table = table };
    const struct elf_relocation *relocations;
    size_t count;
    size_t symbols;
    enum ifg_status status = elf_file_symbol_count(elf, &symbols, err);

    *out_rtti = NULL;
    if (!status)
        status = elf_file_relocations(elf, &relocations, &count, err);
    if (status)
        return status;
    builder.rtti = ifg_alloc(1, sizeof *builder.rtti);
    if (!builder.rtti)
        return ifg_fail_no_memory(err, "for the types of %s", elf_file_name(elf));
    for (size_t i = 0; i < count && !builder.no_memory; i++)
        if (relocations[i].symbol)
            add_type(&builder, &relocations[i]);
    if (builder.rtti->type_count)
        qsort(builder.rtti->types, builder.rtti->type_count, sizeof *builder.rtti->types,
              compare_types);
    for (size_t i = 0; i < count && builder.rtti->type_count && !builder.no_memory; i++) {
        uint64_t target;
        const struct type *type = NULL;

        if (!relocations[i].symbol && elf_file_relocation_target(elf, &relocations[i], &target))
            type = find_type(builder.rtti, target);
        if (type)
            add_methods(&builder, relocations[i].address + WORD, type);
    }
    if (builder.no_memory) {
        rtti_destroy(builder.rtti);
        return ifg_fail_no_memory(err, "for the types of %s", elf_file_name(elf));
    }
    keep_one_each(builder.rtti);
    if (!builder.rtti->method_count) {
        rtti_destroy(builder.rtti);
        return ifg_fail(err, IFG_NOT_FOUND, "%s has no C++ types", elf_file_name(elf));
    }
    *out_rtti = builder.rtti;
    return IFG_OK;
}

void rtti_destroy(struct rtti *rtti)
{
    if (!rtti)
        return;
    for (size_t i = 0; i < rtti->type_count; i++)
        ifg_free(rtti->types[i].name);
    ifg_free(rtti->types);
    ifg_free(rtti->methods);
    ifg_free(rtti);
}

size_t rtti_function_count(const struct rtti *rtti)
{
    return rtti->method_count;
}

bool rtti_find(const struct rtti *rtti, uint64_t start, const char **out_class,
               unsigned *out_position, const char **out_root)
{
    size_t low = 0;
    size_t high = rtti->method_count;
    const struct type *type;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (rtti->methods[middle].start < start)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == rtti->method_count || rtti->methods[low].start != start)
        return false;
    type = &rtti->types[rtti->methods[low].type];
    *out_class = type->name;
    *out_position = rtti->methods[low].position;
    *out_root = "";
    for (int depth = 0; !rtti->methods[low].secondary && type && depth < DEPTH_MAX; depth++) {
        *out_root = type->name;
        type = type->base ? find_type(rtti, type->base) : NULL;
    }
    return true;
}
