// SPDX-License-Identifier: Apache-2.0
/* Exported functions by name or pattern. */
#include "symbol/exported.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "symbol/code.h"

/* A star first takes nothing, then one character more each time the rest does not fit; only the
 * last star ever needs to, so this is at most length times length steps. */
bool exported_matches(const char *pattern, const char *text)
{
    const char *star = NULL;
    const char *retry = NULL;

    while (*text) {
        if (*pattern == '*') {
            star = ++pattern;
            retry = text;
        } else if (*pattern == '?' || *pattern == *text) {
            pattern++;
            text++;
        } else if (star) {
            pattern = star;
            text = ++retry;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}

static bool locate_function(struct elf_file *elf, const struct elf_symbol *symbol,
                            struct exported_function *out)
{
    struct elf_position position;

    if (!symbol->defined || symbol->type != STT_FUNC ||
        !elf_file_locate(elf, symbol->value, &position) ||
        !code_probe_offset(elf, symbol->value, &out->probe_offset))
        return false;
    out->name = symbol->name;
    out->vaddr = symbol->value;
    out->file_offset = position.file_offset;
    return true;
}

static int by_offset(const void *left, const void *right)
{
    const struct exported_function *a = left;
    const struct exported_function *b = right;

    if (a->file_offset != b->file_offset)
        return a->file_offset > b->file_offset ? 1 : -1;
    return strcmp(a->name, b->name);
}

static void drop_aliases(struct exported_functions *functions)
{
    size_t kept = 0;

    qsort(functions->items, functions->count, sizeof *functions->items, by_offset);
    for (size_t i = 0; i < functions->count; i++)
        if (!kept || functions->items[kept - 1].file_offset != functions->items[i].file_offset)
            functions->items[kept++] = functions->items[i];
    functions->count = kept;
}

/* Why an exact name leads to no function. */
static enum ifg_status explain(struct elf_file *elf, const char *name, struct ifg_error *err)
{
    const char *file = elf_file_name(elf);
    struct elf_symbol symbol;

    if (elf_file_symbol(elf, name, &symbol, NULL))
        return ifg_fail(err, IFG_NOT_FOUND, "%s exports no function %.200s", file, name);
    if (!symbol.defined)
        return ifg_fail(err, IFG_NOT_FOUND, "%s uses %.200s but does not define it", file, name);
    if (symbol.type == STT_GNU_IFUNC)
        return ifg_fail(err, IFG_UNSUPPORTED,
                        "%.200s of %s stands for several functions, one of which is chosen when it "
                        "is loaded; it cannot be probed by name",
                        name, file);
    if (symbol.type != STT_FUNC)
        return ifg_fail(err, IFG_UNSUPPORTED, "%.200s of %s is not a function", name, file);
    return ifg_fail(err, IFG_CORRUPT, "%.200s of %s is not code in the file", name, file);
}

enum ifg_status exported_find(struct elf_file *elf, const char *pattern,
                              struct exported_functions *out_functions, struct ifg_error *err)
{
    struct exported_functions *out = out_functions;
    bool exact = !strpbrk(pattern, "*?");
    enum ifg_status status;
    size_t symbol_count;
    size_t capacity = 0;

    *out = (struct exported_functions){ 0 };
    status = elf_file_symbol_count(elf, &symbol_count, err);
    if (status)
        return status;
    for (size_t i = 1; i < symbol_count; i++) {
        struct elf_symbol symbol = elf_file_symbol_at(elf, i);
        struct exported_function function;

        if (!(exact ? strcmp(pattern, symbol.name) == 0 : exported_matches(pattern, symbol.name)) ||
            !locate_function(elf, &symbol, &function))
            continue;
        if (!IFG_ARRAY_ROOM(out->items, capacity, out->count + 1, IFG_ARRAY_ANY)) {
            exported_fini(out);
            return ifg_fail_no_memory(err, "for the functions of %s", elf_file_name(elf));
        }
        out->items[out->count++] = function;
    }
    if (!out->count)
        return exact ? explain(elf, pattern, err)
                     : ifg_fail(err, IFG_NOT_FOUND, "%s exports no function like %.200s",
                                elf_file_name(elf), pattern);
    drop_aliases(out);
    return IFG_OK;
}

void exported_fini(struct exported_functions *functions)
{
    ifg_free(functions->items);
    *functions = (struct exported_functions){ 0 };
}
