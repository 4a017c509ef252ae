// SPDX-License-Identifier: Apache-2.0
/* All symbols of a module, sorted once, the best of each address first. */
#include "symbol/symbol_list.h"

#include <stdlib.h>

#include "base/alloc.h"

#define SYMBOLS_MAX (16 << 20)
#define STEPS_MAX   256u /* back, through symbols that overlap */

struct symbol_list {
    struct listed_symbol *symbols; /* by start; of equal ones the best last */
    uint64_t *reach;               /* of each: the highest end up to it */
    size_t count;
};

/* The best one is the last: global before weak before local, then the first of the file. */
static int compare(const void *left, const void *right)
{
    const struct listed_symbol *a = left;
    const struct listed_symbol *b = right;

    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->binding != b->binding)
        return a->binding < b->binding ? -1 : 1;
    return a->order > b->order ? -1 : a->order < b->order;
}

static uint8_t rank_of(const GElf_Sym *symbol)
{
    unsigned binding = GELF_ST_BIND(symbol->st_info);

    return binding == STB_LOCAL ? 0 : binding == STB_WEAK ? 1 : 2;
}

static bool may_be_code(const char *name, const GElf_Sym *symbol)
{
    unsigned type = GELF_ST_TYPE(symbol->st_info);

    return name && *name && *name != '$' && symbol->st_shndx != SHN_UNDEF &&
           symbol->st_shndx != SHN_ABS &&
           (type == STT_FUNC || type == STT_NOTYPE || type == STT_GNU_IFUNC);
}

struct symbol_list *symbol_list_create(Dwfl_Module *module)
{
    struct symbol_list *list = ifg_alloc(1, sizeof *list);
    int count = module ? dwfl_module_getsymtab(module) : 0;
    size_t room = count > 0 && count <= SYMBOLS_MAX ? (size_t)count : 0;
    uint64_t highest = 0;

    if (!list)
        return NULL;
    list->symbols = ifg_alloc(room + 1, sizeof *list->symbols);
    list->reach = ifg_alloc(room + 1, sizeof *list->reach);
    if (!list->symbols || !list->reach) {
        symbol_list_destroy(list);
        return NULL;
    }
    for (int i = 1; i < (int)room; i++) {
        GElf_Sym symbol;
        GElf_Addr address;
        const char *name = dwfl_module_getsym_info(module, i, &symbol, &address, NULL, NULL, NULL);

        if (may_be_code(name, &symbol))
            list->symbols[list->count++] = (struct listed_symbol){
                .start = address,
                .size = symbol.st_size,
                .name = name,
                .binding = rank_of(&symbol),
                .order = (uint32_t)i,
                .function = GELF_ST_TYPE(symbol.st_info) != STT_NOTYPE,
            };
    }
    if (list->count)
        qsort(list->symbols, list->count, sizeof *list->symbols, compare);
    for (size_t i = 0; i < list->count; i++) {
        const struct listed_symbol *symbol = &list->symbols[i];
        uint64_t end =
            symbol->size <= UINT64_MAX - symbol->start ? symbol->start + symbol->size : UINT64_MAX;

        highest = end > highest ? end : highest;
        list->reach[i] = highest;
    }
    return list;
}

void symbol_list_destroy(struct symbol_list *list)
{
    if (!list)
        return;
    ifg_free(list->symbols);
    ifg_free(list->reach);
    ifg_free(list);
}

size_t symbol_list_count(const struct symbol_list *list)
{
    return list->count;
}

const struct listed_symbol *symbol_list_at(const struct symbol_list *list, size_t index)
{
    return &list->symbols[index];
}

const struct listed_symbol *symbol_list_find(const struct symbol_list *list, uint64_t address)
{
    size_t low = 0;

    for (size_t high = list->count; low < high;) {
        size_t middle = low + (high - low) / 2;

        if (list->symbols[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = low, steps = 0; i-- > 0 && steps < STEPS_MAX && list->reach[i] > address;
         steps++)
        if (address - list->symbols[i].start < list->symbols[i].size)
            return &list->symbols[i];
    return low && !list->symbols[low - 1].size ? &list->symbols[low - 1] : NULL;
}
