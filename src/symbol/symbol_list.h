// SPDX-License-Identifier: Apache-2.0
/*
 * The symbols of a module by address. libdw goes through all of them for every address, which takes
 * milliseconds each for a large program.
 */
#ifndef IFG_SYMBOL_SYMBOL_LIST_H
#define IFG_SYMBOL_SYMBOL_LIST_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbol_list;

struct listed_symbol {
    uint64_t start;
    uint64_t size; /* 0: not told */
    const char *name;
    uint8_t binding; /* 0 local, 1 weak, 2 global */
    uint32_t order;  /* in the file */
    bool function;   /* as the file calls it; else perhaps a label inside of one */
};

/* Of functions, and what may be one. Names live as long as the module does. NULL: no memory. */
struct symbol_list *symbol_list_create(Dwfl_Module *module);
void symbol_list_destroy(struct symbol_list *list);

size_t symbol_list_count(const struct symbol_list *list);
const struct listed_symbol *symbol_list_at(const struct symbol_list *list, size_t index);

/* The symbol that an address is in: the one that begins nearest to it. If none reaches so far, the
 * nearest before it, if that has no size. NULL: none. */
const struct listed_symbol *symbol_list_find(const struct symbol_list *list, uint64_t address);

#endif
