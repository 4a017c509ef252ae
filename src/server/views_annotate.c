// SPDX-License-Identifier: Apache-2.0
/* One function of the program with its samples: lines of its sources, and its instructions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/annotate.h"
#include "base/alloc.h"
#include "server/routes.h"
#include "server/views_internal.h"

#define AROUND      5u /* lines shown before and behind one with samples */
#define LINES_MOST  2000u
#define FILES_MOST  64u
#define TEXT_MOST   400u /* bytes of a line: some sources have no line breaks */
#define CODE_MOST   20000u
#define CODE_AROUND 100u /* instructions shown around one with samples where there are too many */

/* The lines of one file: annotation->lines[first] and the next ones. */
struct file_part {
    const char *path;
    size_t first;
    size_t count;
    uint64_t self;
    uint64_t total;
    uint32_t own_from; /* lines of the function itself; 0: not in this file */
    uint32_t own_to;
};

struct view {
    const struct timeline_profile *profile;
    const struct annotation *annotation;
    struct file_part files[FILES_MOST];
    size_t file_count;
    size_t lines_left;
};

/* ---- sources ---- */

static int hottest_file(const void *a, const void *b)
{
    const struct file_part *left = a;
    const struct file_part *right = b;

    if (left->self != right->self)
        return left->self > right->self ? -1 : 1;
    if (left->total != right->total)
        return left->total > right->total ? -1 : 1;
    return strcmp(left->path, right->path);
}

/* Which lines the function itself has, without what was inlined from elsewhere. */
static void find_own_lines(const struct view *view, const struct hot *hot, struct file_part *file)
{
    const struct timeline_profile *profile = view->profile;

    for (size_t f = 1; f <= profile->trace->frame_count; f++) {
        const struct trace_symbol *symbols;
        const struct trace_symbol *own;
        size_t count;

        if (profile->function_of[f] != view->annotation->function || !hot->frame_total[f])
            continue;
        count = timeline_frame_symbols(profile, (uint32_t)f, &symbols);
        own = count ? &symbols[count - 1] : NULL;
        if (!own || !own->line || strcmp(own->file, file->path) != 0)
            continue;
        if (!file->own_from || own->line < file->own_from)
            file->own_from = own->line;
        if (own->line > file->own_to)
            file->own_to = own->line;
    }
    if (file->own_to - file->own_from > LINES_MOST / 2)
        file->own_from = file->own_to = 0; /* too many to show all of them */
}

static enum ifg_status find_files(struct view *view, const struct hot *hot)
{
    const struct annotation *annotation = view->annotation;
    struct file_part *files = ifg_alloc(annotation->line_count + 1, sizeof *files);
    size_t count = 0;

    if (!files)
        return IFG_NO_MEMORY;
    for (size_t i = 0; i < annotation->line_count; i++) {
        const struct annotated_line *line = &annotation->lines[i];

        if (!i || strcmp(line->file, annotation->lines[i - 1].file) != 0)
            files[count++] = (struct file_part){ .path = line->file, .first = i };
        files[count - 1].count++;
        files[count - 1].self += line->self;
        files[count - 1].total += line->total;
    }
    if (count)
        qsort(files, count, sizeof *files, hottest_file);
    view->file_count = count < FILES_MOST ? count : FILES_MOST;
    memcpy(view->files, files, view->file_count * sizeof *files);
    for (size_t i = 0; i < view->file_count; i++)
        find_own_lines(view, hot, &view->files[i]);
    ifg_free(files);
    return IFG_OK;
}

static void put_line(struct ifg_json *json, uint32_t number, const char *text, size_t bytes,
                     const struct annotated_line *sampled)
{
    ifg_json_open(json, '{');
    ifg_json_put_uint(json, "line", number);
    if (text) {
        if (bytes > TEXT_MOST)
            for (bytes = TEXT_MOST; bytes && ((unsigned char)text[bytes] & 0xc0) == 0x80;)
                bytes--; /* not in the middle of a character */
        ifg_json_key(json, "text");
        ifg_json_string_n(json, text, bytes);
    } else {
        views_put_null(json, "text");
    }
    ifg_json_put_uint(json, "self", sampled ? sampled->self : 0);
    ifg_json_put_uint(json, "total", sampled ? sampled->total : 0);
    ifg_json_close(json, '}');
}

/* Lines from..to of a file, as far as they are in the trace; those with samples in any case.
 * *next_sampled goes on behind the last of these. */
static void put_lines(struct ifg_json *json, struct view *view, const struct file_part *file,
                      uint64_t from, uint64_t to, size_t *next_sampled)
{
    const struct annotated_line *lines = view->annotation->lines + file->first;
    const char *text = NULL;
    size_t bytes = 0;

    for (uint64_t number = from; number <= to && view->lines_left; number++) {
        const struct annotated_line *sampled = NULL;

        if (number == from) {
            text = annotate_source_line(view->profile, file->path, (uint32_t)number, &bytes);
        } else if (text) {
            text = strchr(text, '\n');
            text = text && text[1] ? text + 1 : NULL;
            bytes = text ? strcspn(text, "\r\n") : 0;
        }
        if (*next_sampled < file->count && lines[*next_sampled].line == number)
            sampled = &lines[(*next_sampled)++];
        if (!text && !sampled)
            continue;
        put_line(json, (uint32_t)number, text, bytes, sampled);
        view->lines_left--;
    }
}

static void put_file(struct ifg_json *json, struct view *view, const struct file_part *file)
{
    const struct annotated_line *lines = view->annotation->lines + file->first;
    uint64_t next = 1; /* the first line that is not there yet */
    size_t at = 0;

    ifg_json_open(json, '{');
    ifg_json_put_string(json, "path", file->path);
    ifg_json_put_open(json, "lines", '[');
    while (at < file->count && view->lines_left) {
        uint64_t line = lines[at].line; /* may be as large as 32 bits can be */
        uint64_t from = line;
        uint64_t to = line;

        if (file->own_from && line + AROUND >= file->own_from && line <= file->own_to) {
            from = file->own_from < line ? file->own_from : line;
            to = file->own_to;
        }
        from = from > AROUND ? from - AROUND : 1;
        from = from > next ? from : next;
        to = to + AROUND < UINT32_MAX ? to + AROUND : UINT32_MAX;
        next = to + 1;
        put_lines(json, view, file, from, to, &at);
    }
    ifg_json_close(json, ']');
    ifg_json_close(json, '}');
}

/* ---- instructions ---- */

static void put_location(struct ifg_json *json, const struct view *view, uint32_t frame)
{
    const struct trace_symbol *symbols;
    size_t count = frame ? timeline_frame_symbols(view->profile, frame, &symbols) : 0;

    for (size_t f = 0; count && symbols[0].line && f < view->file_count; f++) {
        if (strcmp(view->files[f].path, symbols[0].file) != 0)
            continue;
        ifg_json_put_open(json, "l", '[');
        ifg_json_uint(json, f);
        ifg_json_uint(json, symbols[0].line);
        ifg_json_close(json, ']');
        return;
    }
    views_put_null(json, "l");
}

/* Memory of code generated at run time is used again: what begins with the function is its own. */
static const uint8_t *code_at(const struct view *view, uint64_t address, size_t *out_size)
{
    const struct trace_profile *trace = view->profile->trace;
    uint32_t module = view->profile->functions[view->annotation->function].module;
    uint64_t start = view->annotation->start;
    size_t low = 0;

    for (size_t high = trace->code_count; low < high;) {
        size_t middle = low + (high - low) / 2;
        const struct trace_code *code = &trace->code[middle];

        if (code->module < module || (code->module == module && code->address < start))
            low = middle + 1;
        else
            high = middle;
    }
    if (low == trace->code_count || trace->code[low].module != module ||
        trace->code[low].address != start || address - start >= trace->code[low].size)
        return timeline_code_at(view->profile, module, address, out_size);
    *out_size = trace->code[low].size - (size_t)(address - start);
    return trace->code[low].bytes + (address - start);
}

static void put_instruction(struct ifg_json *json, const struct view *view,
                            const struct annotated_instruction *instruction)
{
    size_t size = 0;
    const uint8_t *bytes = code_at(view, instruction->address, &size);
    char text[40] = "";

    for (size_t i = 0; bytes && i < instruction->what.length && i < size && i < 15; i++)
        snprintf(text + 2 * i, sizeof text - 2 * i, "%02x", bytes[i]);
    ifg_json_open(json, '{');
    ifg_json_put_string(json, "b", text);
    snprintf(text, sizeof text, "%llx", (unsigned long long)instruction->address);
    ifg_json_put_string(json, "a", text);
    ifg_json_put_string(json, "t", instruction->what.text);
    ifg_json_put_uint(json, "s", instruction->self);
    ifg_json_put_uint(json, "v", instruction->total);
    put_location(json, view, instruction->frame);
    ifg_json_put_bool(json, "j", instruction->is_target);
    ifg_json_close(json, '}');
}

/* All of them, or where there are too many those near samples. */
static void put_code(struct ifg_json *json, const struct view *view)
{
    const struct annotation *annotation = view->annotation;
    bool all = annotation->instruction_count <= CODE_MOST;
    size_t shown = 0;
    size_t next = 0; /* the first one with samples that is not before the current one */
    size_t last = SIZE_MAX;

    ifg_json_put_uint(json, "code_count", annotation->instruction_count);
    ifg_json_put_open(json, "code", '[');
    for (size_t i = 0; i < annotation->instruction_count && shown < CODE_MOST; i++) {
        bool near = all;

        for (next = next > i ? next : i;
             next < annotation->instruction_count && !annotation->instructions[next].total;)
            next++;
        if (next == i)
            last = i;
        near |= next < annotation->instruction_count && next - i <= CODE_AROUND;
        near |= last != SIZE_MAX && i - last <= CODE_AROUND;
        if (near) {
            put_instruction(json, view, &annotation->instructions[i]);
            shown++;
        }
    }
    ifg_json_close(json, ']');
}

/* ---- the document ---- */

static void put_head(struct ifg_json *json, const struct annotation *annotation)
{
    char start[32];

    ifg_json_put_int(json, "schema", 1);
    ifg_json_put_uint(json, "function", annotation->function);
    ifg_json_put_string(json, "name", annotation->name);
    ifg_json_put_bool(json, "guessed", annotation->guessed);
    ifg_json_put_string(json, "module", annotation->module);
    ifg_json_put_string(json, "module_path", annotation->from ? annotation->from->path : "");
    snprintf(start, sizeof start, "%llx", (unsigned long long)annotation->start);
    ifg_json_put_string(json, "start", start);
    ifg_json_put_uint(json, "size", annotation->size);
    ifg_json_put_uint(json, "samples", annotation->samples);
    ifg_json_put_uint(json, "self", annotation->self);
    ifg_json_put_uint(json, "total", annotation->total);
    ifg_json_put_bool(json, "by_timer", annotation->by_timer);
    ifg_json_put_string(json, "why_no_code", annotation->why_no_code);
}

static void put_annotation(struct view *view, struct server_answer *answer)
{
    struct ifg_json json = answer_json(answer);

    ifg_json_open(&json, '{');
    put_head(&json, view->annotation);
    ifg_json_put_open(&json, "files", '[');
    view->lines_left = LINES_MOST;
    for (size_t i = 0; i < view->file_count; i++)
        put_file(&json, view, &view->files[i]);
    ifg_json_close(&json, ']');
    put_code(&json, view);
    ifg_json_close(&json, '}');
}

static size_t find_row(const struct hot *hot, uint32_t function)
{
    for (size_t i = 0; i < hot->row_count; i++)
        if (hot->rows[i].function == function)
            return i;
    return SIZE_MAX;
}

void serve_annotate(const struct server_request *request, struct server_answer *answer)
{
    const struct timeline_profile *profile = request->trace->profile;
    struct views_filter filter;
    struct hot_filter samples;
    struct view view = { .profile = profile };
    struct annotation *annotation = NULL;
    struct hot *hot = NULL;
    struct ifg_error err = { 0 };
    enum ifg_status status;
    uint32_t function;
    size_t row;

    if (!views_filter(request, &filter, answer) ||
        !request_index(request, "function", false, profile ? profile->function_count : 0, &function,
                       answer))
        return;
    samples = views_hot_filter(&filter, false);
    status = hot_create(request->timeline, &samples, &hot, &err);
    if (status)
        goto out;
    row = find_row(hot, function);
    if (row == SIZE_MAX) {
        answer_error(answer, 422, "this function has no samples in what was chosen");
        hot_destroy(hot);
        return;
    }
    status = annotate_create(request->timeline, hot, row, &annotation, &err);
    if (status)
        goto out;
    view.annotation = annotation;
    status = find_files(&view, hot);
    if (!status)
        put_annotation(&view, answer);
out:
    if (status)
        answer_status(answer, status, &err);
    annotate_destroy(annotation);
    hot_destroy(hot);
}
