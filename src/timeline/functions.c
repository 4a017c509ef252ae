// SPDX-License-Identifier: Apache-2.0
/* Which frames are in one function of the program, and what functions and modules are called. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "timeline/timeline_internal.h"
#include "timeline/samples.h"

#define PIECES_BACK 16u /* pieces of code overlap only where functions do */

/* What makes frames one function: its start where that is known, else its name. */
struct function_key {
    uint32_t frame;
    uint32_t module;
    uint64_t start;
    uint64_t size;
    const char *name;
    bool guessed;
};

static int compare_keys(const struct function_key *a, const struct function_key *b)
{
    if (a->module != b->module)
        return a->module < b->module ? -1 : 1;
    if ((a->size != 0) != (b->size != 0))
        return a->size ? -1 : 1;
    if (a->size)
        return a->start < b->start ? -1 : a->start > b->start;
    return strcmp(a->name, b->name);
}

static int by_key(const void *a, const void *b)
{
    const struct function_key *left = a;
    const struct function_key *right = b;
    int order = compare_keys(left, right);

    if (order)
        return order;
    return left->frame < right->frame ? -1 : left->frame > right->frame;
}

size_t timeline_frame_symbols(const struct timeline_profile *profile, uint32_t frame,
                              const struct trace_symbol **out_first)
{
    *out_first = NULL;
    if (!frame || frame > profile->trace->frame_count)
        return 0;
    *out_first = profile->trace->symbols + profile->first_symbol[frame];
    return profile->first_symbol[frame + 1] - profile->first_symbol[frame];
}

static bool index_symbols(struct timeline_profile *profile)
{
    size_t frames = profile->trace->frame_count;
    uint32_t *first = ifg_alloc(frames + 2, sizeof *first);

    profile->first_symbol = first;
    if (!first)
        return false;
    for (size_t i = 0; i < profile->trace->symbol_count; i++)
        first[profile->trace->symbols[i].frame + 1]++;
    for (size_t i = 0; i <= frames; i++)
        first[i + 1] += first[i];
    return true;
}

static struct function_key key_of(const struct timeline_profile *profile, uint32_t frame)
{
    struct function_key key = { .frame = frame, .name = "" };
    const struct trace_symbol *first;
    size_t count = timeline_frame_symbols(profile, frame, &first);

    if (frame)
        key.module = profile->trace->frames[frame - 1].module;
    if (count) {
        const struct trace_symbol *own = &first[count - 1];

        key.start = own->start;
        key.size = own->size;
        key.name = own->function;
        key.guessed = own->guessed;
    }
    return key;
}

/* Number 0 of function_of is "no frame": unknown memory. */
bool timeline_profile_functions(struct timeline_profile *profile)
{
    size_t count = profile->trace->frame_count + 1;
    struct function_key *keys = ifg_alloc(count, sizeof *keys);
    struct timeline_function *functions = ifg_alloc(count, sizeof *functions);
    uint32_t *function_of = ifg_alloc(count, sizeof *function_of);
    bool good = keys && functions && function_of && index_symbols(profile);

    profile->functions = functions;
    profile->function_of = function_of;
    for (size_t i = 0; good && i < count; i++)
        keys[i] = key_of(profile, (uint32_t)i);
    if (good)
        qsort(keys, count, sizeof *keys, by_key);
    for (size_t i = 0; good && i < count; i++) {
        struct timeline_function *function;

        if (!i || compare_keys(&keys[i - 1], &keys[i]) != 0)
            functions[profile->function_count++] = (struct timeline_function){
                keys[i].module, keys[i].start, keys[i].size, "", false,
            };
        function = &functions[profile->function_count - 1];
        if (!*function->name && *keys[i].name) {
            function->name = keys[i].name;
            function->guessed = keys[i].guessed;
        } else if (!*function->name && keys[i].guessed) {
            function->guessed = true; /* where it begins and ends */
        }
        if (keys[i].size > function->size)
            function->size = keys[i].size;
        function_of[keys[i].frame] = (uint32_t)profile->function_count - 1;
    }
    ifg_free(keys);
    return good;
}

const char *timeline_module_name(const struct timeline_profile *profile, uint32_t module)
{
    const struct trace_module *found;
    const char *slash;

    if (!module || module > profile->trace->module_count)
        return "[unknown]";
    found = &profile->trace->modules[module - 1];
    if (found->kind == TRACE_MODULE_KERNEL)
        return "[kernel]";
    if (found->kind == TRACE_MODULE_VDSO)
        return "[vdso]";
    slash = strrchr(found->path, '/');
    if (slash && slash[1])
        return slash + 1;
    if (*found->path)
        return found->path;
    return found->kind == TRACE_MODULE_RUNTIME ? "[generated code]" : "[no name]";
}

const char *timeline_function_name(const struct timeline_profile *profile, uint32_t function,
                                   char *out, size_t size)
{
    const struct timeline_function *found = &profile->functions[function];
    const char *module = timeline_module_name(profile, found->module);

    if (*found->name)
        return found->name;
    if (found->size)
        snprintf(out, size, "%.200s+0x%llx", module, (unsigned long long)found->start);
    else if (found->module)
        snprintf(out, size, "%.200s [unknown]", module);
    else
        snprintf(out, size, "[unknown]");
    return out;
}

const uint8_t *timeline_code_at(const struct timeline_profile *profile, uint32_t module,
                                uint64_t address, size_t *out_size)
{
    const struct trace_profile *trace = profile->trace;
    size_t low = 0;
    size_t high = trace->code_count;

    *out_size = 0;
    while (low < high) { /* the first piece behind the address */
        size_t middle = low + (high - low) / 2;
        const struct trace_code *code = &trace->code[middle];

        if (code->module < module || (code->module == module && code->address <= address))
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = low; i-- > 0 && low - i <= PIECES_BACK && trace->code[i].module == module;) {
        const struct trace_code *code = &trace->code[i];

        if (address - code->address < code->size) {
            *out_size = code->size - (size_t)(address - code->address);
            return code->bytes + (address - code->address);
        }
    }
    return NULL;
}
