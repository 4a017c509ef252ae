// SPDX-License-Identifier: Apache-2.0
/* Looking up an address in symbols, debug information and C++ type information, in that order. */
#include "symbol/names.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/strings.h"
#include "symbol/bounds.h"
#include "symbol/rtti.h"
#include "symbol/symbol_list.h"

#define TEXT_MAX         4096u /* bytes of a name; templates have no end */
#define KERNEL_BASE      "N11onnxruntime8OpKernelE"
#define COMPUTE_POSITION 2u /* behind the two destructors */

#define TEXT_RANGES_MAX 16u

/* Addresses of a compilation unit. */
struct unit_range {
    Dwarf_Addr low, high;
    Dwarf_Die unit;
};

/* A section that has texts in it. */
struct text_range {
    const char *begin, *end;
};

struct names {
    struct elf_file *elf;
    struct unwind_table *table;
    Dwfl *dwfl;
    Dwfl_Module *module;
    struct symbol_list *symbols; /* made when it is first needed */
    struct rtti *rtti;
    bool rtti_tried;
    struct bounds *bounds; /* of code that nothing describes */
    bool bounds_tried;
    struct unit_range *units; /* by address */
    size_t unit_count, unit_room;
    bool units_tried;
    bool debug_tried, debug_is_sound;
    bool shared_tried; /* debug information that several files share (dwz) */
    struct text_range text_ranges[TEXT_RANGES_MAX];
    size_t text_range_count;
    struct ifg_strings texts; /* that were made here */
};

char *__cxa_demangle(const char *name, char *buffer, size_t *length, int *status);

char *names_demangle(const char *name)
{
    char *readable = NULL;
    char *copy;
    int status = -1;

    if (strncmp(name, "_Z", 2) == 0 && strlen(name) < TEXT_MAX)
        readable = __cxa_demangle(name, NULL, NULL, &status);
    copy = ifg_strdup(readable && status == 0 ? readable : name);
    ifg_free_foreign(readable);
    return copy;
}

static const char *keep(struct names *names, const char *text)
{
    const char *kept = ifg_strings_keep(&names->texts, text, strnlen(text, TEXT_MAX));

    return kept ? kept : "";
}

static const char *keep_readable(struct names *names, const char *name)
{
    char *readable = names_demangle(name);
    const char *kept = keep(names, readable ? readable : name);

    ifg_free(readable);
    return kept;
}

/* libdw finds separate debug files by build-id; the file itself is handed to it. */
static int no_file(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base, char **path,
                   Elf **elf)
{
    (void)module, (void)user, (void)name, (void)base, (void)path, (void)elf;
    return -1;
}

enum ifg_status names_open(int fd, struct elf_file *elf, struct unwind_table *table,
                           struct names **out_names, struct ifg_error *err)
{
    static const Dwfl_Callbacks callbacks = {
        .find_elf = no_file,
        .find_debuginfo = dwfl_standard_find_debuginfo,
        .section_address = dwfl_offline_section_address,
    };
    struct names *names = ifg_alloc(1, sizeof *names);
    int own = names ? dup(fd) : -1;

    *out_names = NULL;
    if (!names || own < 0) {
        ifg_free(names);
        return ifg_fail_no_memory(err, "for the names of %s", elf_file_name(elf));
    }
    names->elf = elf;
    names->table = table;
    names->dwfl = dwfl_begin(&callbacks);
    if (names->dwfl) {
        dwfl_report_begin(names->dwfl);
        names->module = dwfl_report_elf(names->dwfl, "module", elf_file_name(elf), own, 0, false);
        if (names->module)
            own = -1; /* it is libdw's now */
        dwfl_report_end(names->dwfl, NULL, NULL);
    }
    if (own >= 0)
        close(own);
    *out_names = names; /* without libdw there is still what the file itself tells */
    return IFG_OK;
}

void names_close(struct names *names)
{
    if (!names)
        return;
    symbol_list_destroy(names->symbols);
    if (names->dwfl)
        dwfl_end(names->dwfl);
    rtti_destroy(names->rtti);
    bounds_destroy(names->bounds);
    ifg_free(names->units);
    ifg_strings_fini(&names->texts);
    ifg_free(names);
}

/* ---- the function that has the code ---- */

static void find_bounds(const struct names *names, uint64_t address, uint64_t *out_start,
                        uint64_t *out_size)
{
    if (!names->table || !unwind_table_function(names->table, address, out_start, out_size))
        *out_start = *out_size = 0;
}

/* From a symbol table. A symbol that does not reach so far, or lies in another function, is the
 * name of something else: stripped files have few, and the nearest is far away. */
static bool find_symbol(struct names *names, uint64_t address, uint64_t *start, uint64_t *size,
                        struct names_location *location)
{
    const struct listed_symbol *symbol;

    if (!names->symbols)
        names->symbols = symbol_list_create(names->module);
    symbol = names->symbols ? symbol_list_find(names->symbols, address) : NULL;
    if (!symbol)
        return false;
    if (*size && symbol->start != *start && (symbol->start < *start || !symbol->size))
        return false;
    if (!*size) {
        if (!symbol->size)
            return false;
        *start = symbol->start;
        *size = symbol->size;
    }
    location->function = keep_readable(names, symbol->name);
    return true;
}

/* Labels of assembly have a name, but no size: good enough to begin a function. */
static void add_labels(struct names *names)
{
    for (size_t i = 0; names->symbols && i < symbol_list_count(names->symbols); i++) {
        const struct listed_symbol *symbol = symbol_list_at(names->symbols, i);

        if (symbol->function || symbol->binding)
            bounds_add_start(names->bounds, symbol->start);
    }
}

/* Of code without a description, see bounds.h. */
static bool infer_bounds(struct names *names, uint64_t address, uint64_t *out_start,
                         uint64_t *out_size)
{
    if (!names->bounds_tried) {
        names->bounds = bounds_create(names->elf, names->table);
        if (names->bounds)
            add_labels(names);
    }
    names->bounds_tried = true;
    return names->bounds && bounds_find(names->bounds, address, out_start, out_size);
}

/* "onnxruntime::Conv<float>::Compute", or "Class::virtual function 5". */
static bool find_virtual(struct names *names, uint64_t start, struct names_location *location)
{
    const char *class, *root;
    char mangled[TEXT_MAX];
    char name[TEXT_MAX];
    unsigned position;
    char *readable;
    const char *plain;

    if (!names->rtti_tried && names->table &&
        rtti_build(names->elf, names->table, &names->rtti, NULL) != IFG_OK)
        names->rtti = NULL;
    names->rtti_tried = true;
    if (!names->rtti || !rtti_find(names->rtti, start, &class, &position, &root))
        return false;
    snprintf(mangled, sizeof mangled, "_ZTS%s", class);
    readable = names_demangle(mangled);
    plain = readable && strncmp(readable, "typeinfo name for ", 18) == 0 ? readable + 18 : class;
    if (position < COMPUTE_POSITION)
        snprintf(name, sizeof name, "%.4000s::(destructor)", plain);
    else if (position == COMPUTE_POSITION && strcmp(root, KERNEL_BASE) == 0)
        snprintf(name, sizeof name, "%.4000s::Compute", plain);
    else
        snprintf(name, sizeof name, "%.4000s::(virtual %u)", plain, position);
    ifg_free(readable);
    location->function = keep(names, name);
    location->guessed = true;
    return true;
}

/* ---- lines and what was inlined ---- */

static bool add_range(struct names *names, Dwarf_Addr low, Dwarf_Addr high, const Dwarf_Die *unit)
{
    if (!IFG_ARRAY_ROOM(names->units, names->unit_room, names->unit_count + 1, IFG_ARRAY_ANY))
        return false;
    names->units[names->unit_count++] = (struct unit_range){ low, high, *unit };
    return true;
}

/* ---- texts of debug information ---- */

static bool is_one_of(const char *name, const char *const *names)
{
    while (*names && strcmp(name, *names) != 0)
        names++;
    return *names != NULL;
}

/* libdw believes that the last text of a section ends, and reads on if it does not. */
static bool texts_end(struct names *names, Elf *elf)
{
    static const char *const texts[] = { ".debug_str",  ".debug_line_str",     ".debug_str.dwo",
                                         ".zdebug_str", ".debug_line_str.dwo", ".zdebug_line_str",
                                         NULL };
    static const char *const entries[] = { ".debug_info",  ".debug_types",  ".debug_info.dwo",
                                           ".zdebug_info", ".zdebug_types", NULL };
    Elf_Scn *section = NULL;
    size_t strings;

    if (!elf || elf_getshdrstrndx(elf, &strings))
        return false;
    while ((section = elf_nextscn(elf, section))) {
        GElf_Shdr head;
        const char *name =
            gelf_getshdr(section, &head) ? elf_strptr(elf, strings, head.sh_name) : NULL;
        bool is_text = name && is_one_of(name, texts);
        Elf_Data *data =
            is_text || (name && is_one_of(name, entries)) ? elf_rawdata(section, NULL) : NULL;
        const char *bytes = data && data->d_size ? data->d_buf : NULL;

        if (bytes && is_text && bytes[data->d_size - 1])
            return false;
        if (bytes && names->text_range_count < TEXT_RANGES_MAX)
            names->text_ranges[names->text_range_count++] =
                (struct text_range){ bytes, bytes + data->d_size };
    }
    return true;
}

/* Whether there is debug information that libdw can be let near to. */
static bool has_debug(struct names *names)
{
    Dwarf *dwarf;
    Dwarf_Addr bias;

    if (names->debug_tried)
        return names->debug_is_sound;
    names->debug_tried = true;
    dwarf = names->module ? dwfl_module_getdwarf(names->module, &bias) : NULL;
    names->debug_is_sound = dwarf && texts_end(names, dwarf_getelf(dwarf));
    return names->debug_is_sound;
}

static const struct text_range *range_of(const struct names *names, const char *text)
{
    for (size_t i = 0; i < names->text_range_count; i++)
        if (text >= names->text_ranges[i].begin && text < names->text_ranges[i].end)
            return &names->text_ranges[i];
    return NULL;
}

/* Like dwarf_formstring; NULL also for a text that has no end. A file that others share is looked
 * at when a text comes from it, not before: opening it may take forever. */
static const char *text_of(struct names *names, Dwarf_Attribute *attribute)
{
    const char *text = dwarf_formstring(attribute);
    const struct text_range *range = text ? range_of(names, text) : NULL;
    Dwarf_Addr bias;

    if (text && !range && !names->shared_tried) {
        Dwarf *shared = dwarf_getalt(dwfl_module_getdwarf(names->module, &bias));

        names->shared_tried = true;
        if (shared && texts_end(names, dwarf_getelf(shared)))
            range = range_of(names, text);
    }
    return range && memchr(text, '\0', (size_t)(range->end - text)) ? text : NULL;
}

/* libdw takes the folder of a unit as it is when it reads lines. */
static bool has_sound_folder(struct names *names, Dwarf_Die *unit)
{
    Dwarf_Attribute attribute;

    return !dwarf_attr_integrate(unit, DW_AT_comp_dir, &attribute) ||
           !dwarf_formstring(&attribute) || text_of(names, &attribute);
}

/* ---- units ---- */

static int compare_ranges(const void *left, const void *right)
{
    const struct unit_range *a = left;
    const struct unit_range *b = right;

    return a->low < b->low ? -1 : a->low > b->low;
}

/* libdw finds units by .debug_aranges, which clang does not write: so the units are asked. */
static void list_units(struct names *names)
{
    Dwarf_Die *unit = NULL;
    Dwarf_Addr bias = 0;

    names->units_tried = true;
    while (names->module && (unit = dwfl_module_nextcu(names->module, unit, &bias))) {
        Dwarf_Addr base, low, high;

        for (ptrdiff_t at = 0; (at = dwarf_ranges(unit, at, &base, &low, &high)) > 0;)
            if (low < high && !add_range(names, low + bias, high + bias, unit))
                return;
    }
    if (names->unit_count)
        qsort(names->units, names->unit_count, sizeof *names->units, compare_ranges);
}

static Dwarf_Die *find_unit(struct names *names, uint64_t address, Dwarf_Addr *out_bias)
{
    Dwarf_Die *unit;
    size_t low = 0, high;

    *out_bias = 0;
    if (!has_debug(names))
        return NULL;
    unit = dwfl_module_addrdie(names->module, address, out_bias);
    if (unit)
        return unit;
    if (!names->units_tried)
        list_units(names);
    for (high = names->unit_count; low < high;) {
        size_t middle = low + (high - low) / 2;

        if (names->units[middle].low <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low || address >= names->units[low - 1].high ||
        !dwfl_module_getdwarf(names->module, out_bias))
        return NULL;
    return &names->units[low - 1].unit;
}

static const char *name_of_die(struct names *names, Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    const char *name = text_of(names, dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute));

    if (!name)
        name = text_of(names, dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute));
    if (name)
        return keep_readable(names, name);
    name = text_of(names, dwarf_attr_integrate(die, DW_AT_name, &attribute));
    return name ? keep(names, name) : "";
}

/* Compilers write paths from the folder they ran in, and through it. */
static const char *keep_path(struct names *names, const char *folder, const char *file)
{
    char path[TEXT_MAX];
    char *up;

    if (*file == '/' || !folder || *folder != '/')
        return keep(names, file);
    if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, file) >= sizeof path)
        return keep(names, file);
    while ((up = strstr(path, "/../")) && up > path) {
        char *before = up;

        while (before > path && before[-1] != '/')
            before--;
        if (before == path)
            break;
        memmove(before, up + 4, strlen(up + 4) + 1);
    }
    return keep(names, path);
}

static void find_line(struct names *names, uint64_t address, struct names_location *location)
{
    Dwarf_Addr bias;
    Dwarf_Die *unit = find_unit(names, address, &bias);
    Dwarf_Line *line =
        unit && has_sound_folder(names, unit) ? dwarf_getsrc_die(unit, address - bias) : NULL;
    Dwarf_Attribute attribute;
    const char *file;
    int number = 0;

    if (!line || dwarf_lineno(line, &number) || number <= 0)
        return;
    file = dwarf_linesrc(line, NULL, NULL);
    if (!file)
        return;
    location->file =
        keep_path(names, text_of(names, dwarf_attr(unit, DW_AT_comp_dir, &attribute)), file);
    location->line = (uint32_t)number;
}

/* Where an inlined function was called from: the line of the next one outwards. */
static void find_call(struct names *names, Dwarf_Die *cu, Dwarf_Die *die,
                      struct names_location *location)
{
    Dwarf_Attribute attribute;
    Dwarf_Word number = 0, file = 0;
    Dwarf_Files *files;
    size_t count;
    const char *path, *folder;

    location->file = "";
    location->line = 0;
    if (dwarf_formudata(dwarf_attr(die, DW_AT_call_file, &attribute), &file) ||
        dwarf_formudata(dwarf_attr(die, DW_AT_call_line, &attribute), &number) ||
        !has_sound_folder(names, cu) || dwarf_getsrcfiles(cu, &files, &count) || file >= count)
        return;
    path = dwarf_filesrc(files, (size_t)file, NULL, NULL);
    folder = text_of(names, dwarf_attr(cu, DW_AT_comp_dir, &attribute));
    if (path && number <= UINT32_MAX) {
        location->file = keep_path(names, folder, path);
        location->line = (uint32_t)number;
    }
}

/* Puts inlined functions before the one that has the code, whose place is given. */
static size_t find_inlined(struct names *names, uint64_t address, struct names_location own,
                           struct names_location out[NAMES_INLINED_MAX])
{
    Dwarf_Addr bias = 0;
    Dwarf_Die *scopes = NULL;
    Dwarf_Die *cu = find_unit(names, address, &bias);
    int scope_count = cu ? dwarf_getscopes(cu, address - bias, &scopes) : 0;
    struct names_location next = own; /* the line belongs to the innermost function */
    size_t count = 0;

    for (int i = 0; i < scope_count && count < NAMES_INLINED_MAX - 1; i++) {
        int tag = dwarf_tag(&scopes[i]);

        if (tag == DW_TAG_subprogram && (!*own.function || own.guessed)) {
            next.function = own.function = name_of_die(names, &scopes[i]);
            next.guessed = own.guessed = false;
        }
        if (tag == DW_TAG_subprogram)
            break;
        if (tag != DW_TAG_inlined_subroutine)
            continue;
        next.function = name_of_die(names, &scopes[i]);
        next.inlined = true;
        next.guessed = false;
        out[count++] = next;
        find_call(names, cu, &scopes[i], &next);
    }
    ifg_free_foreign(scopes);
    next.function = own.function;
    next.guessed = own.guessed;
    next.inlined = false;
    out[count++] = next;
    return count;
}

size_t names_find(struct names *names, uint64_t address, uint64_t *out_start, uint64_t *out_size,
                  struct names_location out_locations[NAMES_INLINED_MAX])
{
    struct names_location own = { .function = "", .file = "" };

    find_bounds(names, address, out_start, out_size);
    if (!find_symbol(names, address, out_start, out_size, &own)) {
        if (*out_size)
            find_virtual(names, *out_start, &own);
        else if (infer_bounds(names, address, out_start, out_size) &&
                 !find_symbol(names, address, out_start, out_size, &own))
            own.guessed = true;
    }
    find_line(names, address, &own);
    return find_inlined(names, address, own, out_locations);
}
