// SPDX-License-Identifier: Apache-2.0
/* Instructions and lines of a function with their samples: see annotate.h. */
#include "analyze/annotate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "trace/keys.h"

#define CODE_MAX ((uint64_t)4 << 20) /* of one function */

/* ---- which function ---- */

static bool is_whole_name(const char *name, const char *text)
{
    size_t length = strlen(text);

    return strncmp(name, text, length) == 0 && (!name[length] || name[length] == '(');
}

static bool has_address(const struct timeline_profile *profile, const struct hot_row *row,
                        uint64_t address)
{
    const struct timeline_function *function = &profile->functions[row->function];

    return function->size ? address - function->start < function->size : false;
}

static size_t take_rows(const struct hot *hot, const struct timeline_profile *profile,
                        const char *text, int how, size_t *out, size_t size)
{
    uint64_t address = how ? 0 : strtoull(text, NULL, 16);
    size_t count = 0;

    for (size_t i = 0; i < hot->row_count; i++) {
        const struct hot_row *row = &hot->rows[i];
        bool good = how == 0   ? has_address(profile, row, address)
                    : how == 1 ? is_whole_name(row->name, text)
                               : strstr(row->name, text) != NULL;

        if (good && count < size)
            out[count] = i;
        count += good;
    }
    return count;
}

/* A name without the sign that V8 puts before it for how well it was compiled. */
static const char *plain_name(const char *name)
{
    return strncmp(name, "JS:", 3) == 0 && name[3] && strchr("*^~+", name[3]) ? name + 4 : name;
}

/* A runtime compiles the same function again and again: these are one to people. */
static bool are_versions(const struct hot *hot, const struct timeline_profile *profile,
                         const size_t *rows, size_t count)
{
    const struct hot_row *first = &hot->rows[rows[0]];
    uint32_t module = profile->functions[first->function].module;

    if (!module || profile->trace->modules[module - 1].kind != TRACE_MODULE_RUNTIME)
        return false;
    for (size_t i = 1; i < count; i++) {
        const struct hot_row *row = &hot->rows[rows[i]];

        if (profile->functions[row->function].module != module ||
            strcmp(plain_name(row->name), plain_name(first->name)) != 0)
            return false;
    }
    return true;
}

/* Of several versions of a function the one with most samples. */
static size_t choose_version(const struct hot *hot, const struct timeline_profile *profile,
                             size_t *rows, size_t count, size_t size)
{
    if (count < 2 || count > size || !are_versions(hot, profile, rows, count))
        return count;
    for (size_t i = 1; i < count; i++)
        if (hot->rows[rows[i]].self > hot->rows[rows[0]].self)
            rows[0] = rows[i];
    return 1;
}

size_t annotate_find(const struct hot *hot, const struct timeline_profile *profile,
                     const char *text, size_t *out, size_t size)
{
    size_t count = 0;

    if (strncmp(text, "0x", 2) == 0)
        return take_rows(hot, profile, text, 0, out, size);
    count = take_rows(hot, profile, text, 1, out, size);
    if (!count)
        count = take_rows(hot, profile, text, 2, out, size);
    return choose_version(hot, profile, out, count, size);
}

/* ---- sources ---- */

const char *annotate_source_line(const struct timeline_profile *profile, const char *file,
                                 uint32_t line, size_t *out_bytes)
{
    const struct trace_profile *trace = profile->trace;
    size_t low = 0;
    size_t high = trace->source_count;
    const char *at;

    *out_bytes = 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (strcmp(trace->sources[middle].path, file) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (!line || low == trace->source_count || strcmp(trace->sources[low].path, file) != 0)
        return NULL;
    at = trace->sources[low].text;
    for (uint32_t i = 1; i < line; i++) {
        at = strchr(at, '\n');
        if (!at)
            return NULL;
        at++;
    }
    if (!*at)
        return NULL;
    *out_bytes = strcspn(at, "\r\n");
    return at;
}

/* ---- lines ---- */

static int compare_lines(const void *a, const void *b)
{
    const struct annotated_line *left = a;
    const struct annotated_line *right = b;
    int order = strcmp(left->file, right->file);

    if (order)
        return order;
    return left->line < right->line ? -1 : left->line > right->line;
}

/* The lines of one frame: the innermost one has the samples, those around it the sum. A line that
 * comes twice in one frame (recursion that was inlined) counts once. */
static size_t lines_of(const struct timeline_profile *profile, const struct hot *hot,
                       uint32_t frame, struct annotated_line *out)
{
    const struct trace_symbol *symbols;
    size_t count = timeline_frame_symbols(profile, frame, &symbols);
    size_t made = 0;

    for (size_t i = 0; i < count; i++) {
        bool repeats = false;

        for (size_t k = 0; k < i && k < 16; k++)
            repeats |=
                symbols[k].line == symbols[i].line && strcmp(symbols[k].file, symbols[i].file) == 0;
        if (!symbols[i].line || repeats)
            continue;
        out[made++] = (struct annotated_line){ .file = symbols[i].file,
                                               .line = symbols[i].line,
                                               .self = i ? 0 : hot->frame_self[frame],
                                               .total = hot->frame_total[frame] };
    }
    return made;
}

static bool take_lines(struct annotation *annotation, const struct timeline_profile *profile,
                       const struct hot *hot)
{
    size_t most = 0, count = 0;
    struct annotated_line *lines;

    for (size_t f = 1; f <= profile->trace->frame_count; f++)
        if (profile->function_of[f] == annotation->function && hot->frame_total[f])
            most += profile->first_symbol[f + 1] - profile->first_symbol[f];
    annotation->lines = lines = ifg_alloc(most, sizeof *lines);
    if (!lines)
        return false;
    for (size_t f = 1; f <= profile->trace->frame_count; f++)
        if (profile->function_of[f] == annotation->function && hot->frame_total[f])
            count += lines_of(profile, hot, (uint32_t)f, lines + count);
    if (count)
        qsort(lines, count, sizeof *lines, compare_lines);
    for (size_t i = 0; i < count; i++) {
        if (annotation->line_count &&
            compare_lines(&lines[annotation->line_count - 1], &lines[i]) == 0) {
            lines[annotation->line_count - 1].self += lines[i].self;
            lines[annotation->line_count - 1].total += lines[i].total;
        } else {
            lines[annotation->line_count++] = lines[i];
        }
    }
    for (size_t i = 0; i < annotation->line_count; i++)
        lines[i].text =
            annotate_source_line(profile, lines[i].file, lines[i].line, &lines[i].text_bytes);
    return true;
}

/* ---- instructions ---- */

static bool add_instruction(struct annotation *annotation, size_t *capacity, const uint8_t *bytes,
                            size_t size, uint64_t address)
{
    struct annotated_instruction *instruction;

    if (!IFG_ARRAY_ROOM(annotation->instructions, *capacity, annotation->instruction_count + 1,
                        IFG_ARRAY_ANY))
        return false;
    instruction = &annotation->instructions[annotation->instruction_count++];
    memset(instruction, 0, sizeof *instruction);
    instruction->address = address;
    disassemble(bytes, size, address, &instruction->what);
    return true;
}

/* The instruction that an address is in, or NULL. */
static struct annotated_instruction *instruction_at(const struct annotation *annotation,
                                                    uint64_t address)
{
    size_t low = 0;
    size_t high = annotation->instruction_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (annotation->instructions[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low || address - annotation->instructions[low - 1].address >=
                    annotation->instructions[low - 1].what.length)
        return NULL;
    return &annotation->instructions[low - 1];
}

static void count_instructions(struct annotation *annotation,
                               const struct timeline_profile *profile, const struct hot *hot)
{
    for (size_t f = 1; f <= profile->trace->frame_count; f++) {
        struct annotated_instruction *found;

        if (profile->function_of[f] != annotation->function || !hot->frame_total[f])
            continue;
        found = instruction_at(annotation, profile->trace->frames[f - 1].address);
        if (!found)
            continue;
        found->self += hot->frame_self[f];
        found->total += hot->frame_total[f];
        if (!found->frame || hot->frame_self[f] > hot->frame_self[found->frame])
            found->frame = (uint32_t)f;
    }
    for (size_t i = 0; i < annotation->instruction_count; i++) {
        const struct disassembled *what = &annotation->instructions[i].what;
        struct annotated_instruction *target;

        if (!what->jumps || !what->has_target)
            continue;
        target = instruction_at(annotation, what->target);
        if (target && target->address == what->target)
            target->is_target = true;
    }
}

static const char *machine_of(const struct timeline *timeline)
{
    const char *machine =
        trace_find_fact(trace_reader_tables(timeline->reader), TRACE_FACT_HOST_MACHINE);

    return machine ? machine : "x86_64";
}

/* The first piece of code of this module that does not begin before an address. */
static size_t piece_from(const struct trace_profile *trace, uint32_t module, uint64_t address)
{
    size_t low = 0;

    for (size_t high = trace->code_count; low < high;) {
        size_t middle = low + (high - low) / 2;
        const struct trace_code *code = &trace->code[middle];

        if (code->module < module || (code->module == module && code->address < address))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Memory of code generated at run time is used again: what begins with the function is its own. */
static const uint8_t *code_at(const struct annotation *annotation,
                              const struct timeline_profile *profile, uint64_t at, size_t *out_size)
{
    uint32_t module = profile->functions[annotation->function].module;
    size_t i = piece_from(profile->trace, module, annotation->start);
    const struct trace_code *own = i < profile->trace->code_count ? &profile->trace->code[i] : NULL;

    if (!own || own->module != module || own->address != annotation->start ||
        at - own->address >= own->size)
        return timeline_code_at(profile, module, at, out_size);
    *out_size = own->size - (size_t)(at - own->address);
    return own->bytes + (at - own->address);
}

/* Where code goes on behind a gap; the end of the function if it does not. */
static uint64_t code_behind(const struct annotation *annotation,
                            const struct timeline_profile *profile, uint64_t at)
{
    uint32_t module = profile->functions[annotation->function].module;
    uint64_t end = annotation->start + annotation->size;
    size_t i = piece_from(profile->trace, module, at);

    if (i == profile->trace->code_count || profile->trace->code[i].module != module ||
        profile->trace->code[i].address >= end)
        return end;
    return profile->trace->code[i].address;
}

static bool take_code(struct annotation *annotation, const struct timeline *timeline,
                      const struct timeline_profile *profile, const struct hot *hot)
{
    uint64_t end = annotation->start + annotation->size;
    size_t capacity = 0;

    if (!disassemble_knows(machine_of(timeline))) {
        snprintf(annotation->why_no_code, sizeof annotation->why_no_code,
                 "code of %.40s cannot be disassembled, only that of x86_64", machine_of(timeline));
        return true;
    }
    if (!annotation->size || annotation->size > CODE_MAX || end < annotation->start) {
        snprintf(annotation->why_no_code, sizeof annotation->why_no_code,
                 "where the function begins and ends is not known");
        return true;
    }
    for (uint64_t at = annotation->start; at < end;) {
        size_t size;
        const uint8_t *bytes = code_at(annotation, profile, at, &size);

        if (!bytes) { /* of code generated at run time pages may be missing */
            at = code_behind(annotation, profile, at);
            continue;
        }
        if (size > end - at)
            size = (size_t)(end - at);
        if (!add_instruction(annotation, &capacity, bytes, size, at))
            return false;
        at += annotation->instructions[annotation->instruction_count - 1].what.length;
    }
    if (!annotation->instruction_count)
        snprintf(annotation->why_no_code, sizeof annotation->why_no_code,
                 "its code is not in the trace");
    count_instructions(annotation, profile, hot);
    return true;
}

enum ifg_status annotate_create(const struct timeline *timeline, const struct hot *hot, size_t row,
                                struct annotation **out_annotation, struct ifg_error *err)
{
    const struct hot_row *from = &hot->rows[row];
    const struct timeline_profile *profile;
    const struct timeline_function *function;
    struct annotation *annotation;
    enum ifg_status status = timeline_profile_get(timeline, &profile, err);

    *out_annotation = NULL;
    if (status)
        return status;
    annotation = ifg_alloc(1, sizeof *annotation);
    if (annotation) {
        function = &profile->functions[from->function];
        annotation->function = from->function;
        annotation->name = from->name;
        annotation->module = from->module;
        annotation->from = function->module ? &profile->trace->modules[function->module - 1] : NULL;
        annotation->guessed = from->guessed;
        annotation->start = function->start;
        annotation->size = function->size;
        annotation->self = from->self;
        annotation->total = from->total;
        annotation->samples = hot->samples;
        annotation->by_timer = profile->by_timer;
    }
    if (!annotation || !take_lines(annotation, profile, hot) ||
        !take_code(annotation, timeline, profile, hot)) {
        annotate_destroy(annotation);
        return ifg_fail_no_memory(err, "for the code of a function");
    }
    *out_annotation = annotation;
    return IFG_OK;
}

void annotate_destroy(struct annotation *annotation)
{
    if (!annotation)
        return;
    ifg_free(annotation->instructions);
    ifg_free(annotation->lines);
    ifg_free(annotation);
}
