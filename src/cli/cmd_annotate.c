// SPDX-License-Identifier: Apache-2.0
/* inferogram annotate: source and machine code of a function with the samples of each line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/annotate.h"
#include "base/json.h"
#include "cli/cli.h"
#include "cli/text.h"
#include "cli/commands.h"
#include "cli/module_name.h"
#include "cli/nearest.h"
#include "cli/stats_functions.h"

#define OUTPUT_MAX      (1u << 30)
#define MATCHES_MAX     20
#define NEAR_SHOWN      5u
#define CONTEXT         6u   /* instructions around one with samples */
#define SHORT           100u /* so many are shown without asking where samples are */
#define LINE_CONTEXT    2u
#define CODE_COLUMNS    52
#define ADDRESS_COLUMNS 10

struct request {
    const char *path;
    const char *function;
    struct hot_filter filter;
    bool all;
    bool json;
    const struct timeline_profile *profile;
    const struct annotation *annotation;
};

static const struct option_row option_rows[] = {
    { "model", 0, "NAME", "only samples taken while this model was working", OPTION_TEXT,
      IFG_AT(struct request, filter.model) },
    { "op", 0, "NAME", "only samples inside this operator", OPTION_TEXT,
      IFG_AT(struct request, filter.op) },
    { "thread", 0, "T", "only samples of the thread with this number or name", OPTION_TEXT,
      IFG_AT(struct request, filter.thread) },
    { "all", 0, NULL, "show all instructions, also those far from any sample", OPTION_FLAG,
      IFG_AT(struct request, all) },
    { "json", 0, NULL, "print one JSON document, described in docs/annotate.md", OPTION_FLAG,
      IFG_AT(struct request, json) },
    { 0 },
};

static double percent(uint64_t part, uint64_t all)
{
    return all ? 100.0 * (double)part / (double)all : 0;
}

/* ---- for people ---- */

static void put_percent(struct ifg_bytes *out, uint64_t part, uint64_t all, bool about)
{
    if (part)
        cli_print(out, "%s%5.1f %%", about ? "~" : " ", percent(part, all));
    else
        cli_print(out, "        ");
}

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

static void write_title(const struct request *request, struct ifg_bytes *out)
{
    const struct annotation *a = request->annotation;
    char name[512];
    char module[200];
    char build_id[64];
    char count[2][32];

    cli_print(out, "%s%s%s%s in %s", cli_bold(true, STDOUT_FILENO),
              cli_clean(a->name, name, sizeof name), cli_bold(false, STDOUT_FILENO),
              !a->guessed              ? ""
              : strstr(a->name, "+0x") ? " (inferred begin and end)"
                                       : " (a recovered name)",
              cli_clean(a->module, module, sizeof module));
    if (a->from && *a->from->build_id)
        cli_print(out, ", build-id %s", cli_clean(a->from->build_id, build_id, sizeof build_id));
    if (a->from && *a->from->note)
        cli_print(out, " (%s)", cli_clean(a->from->note, module, sizeof module));
    cli_print(out, "\n%s of %s samples are in it (%.1f %%)", cli_count(a->self, count[0]),
              cli_count(a->samples, count[1]), percent(a->self, a->samples));
    if (a->total > a->self)
        cli_print(out, ", %s including callees (%.1f %%)", cli_count(a->total, count[0]),
                  percent(a->total, a->samples));
    cli_print(out, "\n");
    if (a->by_timer && a->instruction_count && a->self)
        cli_print(out, "~ samples were taken by a timer: an instruction's share often belongs to "
                       "the one before it\n");
}

static void write_source_line(const struct request *request, const char *file, uint32_t line,
                              const struct annotated_line *sampled, struct ifg_bytes *out)
{
    const struct annotation *a = request->annotation;
    size_t bytes;
    const char *text = annotate_source_line(request->profile, file, line, &bytes);
    char copy[240];
    char clean[240];
    char blank[240];
    size_t used = 0;

    if (!text && !sampled)
        return;
    for (size_t i = 0; text && i < bytes && used + 5 < sizeof copy; i++)
        if (text[i] == '\t')
            used += (size_t)snprintf(copy + used, sizeof copy - used, "    ");
        else
            copy[used++] = text[i];
    copy[used] = '\0';
    put_percent(out, sampled ? sampled->self : 0, a->self, false);
    cli_print(out, " ");
    put_percent(out, sampled ? sampled->total : 0, a->total, false);
    snprintf(blank, sizeof blank, "%s",
             text ? cli_clean(copy, clean, sizeof clean) : "(not in the trace)");
    cli_print(out, " %6u  %s\n", line, blank);
}

/* The lines of one file, lines[first .. end): with a few around each. */
static void write_file(const struct request *request, size_t first, size_t end,
                       struct ifg_bytes *out)
{
    const struct annotated_line *lines = request->annotation->lines;
    uint32_t next = 1;
    char name[300];

    cli_print(out, "\n   self    total    line  %s\n",
              cli_clean(lines[first].file, name, sizeof name));
    for (size_t i = first; i < end; i++) {
        uint32_t line = lines[i].line;
        uint32_t from = line > LINE_CONTEXT ? line - LINE_CONTEXT : 1;
        uint32_t stop = i + 1 < end ? lines[i + 1].line : UINT32_MAX;

        if (from > next && next > 1)
            cli_print(out, "%*s\n", 21, "...");
        for (uint32_t at = from > next ? from : next; at < line; at++)
            write_source_line(request, lines[i].file, at, NULL, out);
        write_source_line(request, lines[i].file, line, &lines[i], out);
        next = line + 1;
        for (; next <= line + LINE_CONTEXT && next < stop && next; next++)
            write_source_line(request, lines[i].file, next, NULL, out);
    }
}

static void write_lines(const struct request *request, struct ifg_bytes *out)
{
    const struct annotation *a = request->annotation;
    size_t end;

    if (!a->line_count)
        cli_print(out, "\nNo line of source is known: the module has no debug information\n");
    for (size_t first = 0; first < a->line_count; first = end) {
        end = first + 1;
        while (end < a->line_count && strcmp(a->lines[end].file, a->lines[first].file) == 0)
            end++;
        write_file(request, first, end, out);
    }
}

/* Which line an instruction is of, and whose function was inlined there. */
static void write_location(const struct request *request, uint32_t frame, struct ifg_bytes *out)
{
    const struct trace_symbol *symbols;
    size_t count = timeline_frame_symbols(request->profile, frame, &symbols);
    char text[120];

    for (size_t i = 0; i < count; i++) {
        if (!symbols[i].line && !symbols[i].inlined)
            continue;
        cli_print(out, i ? " < " : "");
        if (symbols[i].inlined && *symbols[i].function)
            cli_print(out, "%s ", cli_clean(symbols[i].function, text, sizeof text));
        if (symbols[i].line)
            cli_print(out, "%s:%u", cli_clean(file_name(symbols[i].file), text, sizeof text),
                      symbols[i].line);
    }
}

static void write_instruction(const struct request *request, const struct annotated_instruction *at,
                              struct ifg_bytes *out)
{
    size_t before;
    size_t filled;

    if (!at->frame) {
        cli_print(out, "%s\n", at->what.text);
        return;
    }
    before = out->size;
    text_put_cell(out, at->what.text, CODE_COLUMNS, TEXT_LEFT);
    cli_print(out, " ");
    filled = out->size;
    write_location(request, at->frame, out);
    if (out->size == filled) { /* no location is known: no blanks at the end */
        out->size = before;
        cli_print(out, "%s", at->what.text);
    }
    cli_print(out, "\n");
}

static bool is_near(const struct annotation *a, size_t index)
{
    size_t from = index > CONTEXT ? index - CONTEXT : 0;

    for (size_t i = from; i <= index + CONTEXT && i < a->instruction_count; i++)
        if (a->instructions[i].self || a->instructions[i].total)
            return true;
    return false;
}

static void write_code(const struct request *request, struct ifg_bytes *out)
{
    const struct annotation *a = request->annotation;
    size_t left_out = 0;

    if (*a->why_no_code) {
        cli_print(out, "\nNo instructions: %s\n", a->why_no_code);
        return;
    }
    cli_print(out, "\n   self    total  address      instruction\n");
    for (size_t i = 0; i < a->instruction_count; i++) {
        const struct annotated_instruction *at = &a->instructions[i];

        if (!request->all && a->instruction_count > SHORT && !is_near(a, i)) {
            left_out++;
            continue;
        }
        if (left_out)
            cli_print(out, "%21s %zu without samples\n", "...", left_out);
        left_out = 0;
        put_percent(out, at->self, a->self, a->by_timer);
        cli_print(out, " ");
        put_percent(out, at->total, a->total, false);
        cli_print(out, " %s%-10llx ", at->is_target ? ">" : " ", (unsigned long long)at->address);
        write_instruction(request, at, out);
    }
    if (left_out)
        cli_print(out, "%21s %zu without samples\n", "...", left_out);
    if (!request->all && a->instruction_count > SHORT)
        cli_print(out, "--all shows all %zu instructions\n", a->instruction_count);
}

/* ---- for scripts ---- */

static void json_location(struct ifg_json *json, const struct request *request, uint32_t frame)
{
    const struct trace_symbol *symbols;
    size_t count = timeline_frame_symbols(request->profile, frame, &symbols);

    ifg_json_put_open(json, "locations", '[');
    for (size_t i = 0; i < count; i++) {
        ifg_json_open(json, '{');
        ifg_json_put_string(json, "function", symbols[i].function);
        ifg_json_put_string(json, "file", symbols[i].file);
        ifg_json_put_uint(json, "line", symbols[i].line);
        ifg_json_put_bool(json, "inlined", symbols[i].inlined);
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
}

static void json_address(struct ifg_json *json, const char *key, uint64_t address)
{
    char text[32];

    snprintf(text, sizeof text, "0x%llx", (unsigned long long)address);
    ifg_json_put_string(json, key, text);
}

static void json_code(struct ifg_json *json, const struct request *request)
{
    const struct annotation *a = request->annotation;

    ifg_json_put_string(json, "no_code", a->why_no_code);
    ifg_json_put_open(json, "instructions", '[');
    for (size_t i = 0; i < a->instruction_count; i++) {
        const struct annotated_instruction *at = &a->instructions[i];

        ifg_json_open(json, '{');
        json_address(json, "address", at->address);
        ifg_json_put_uint(json, "bytes", at->what.length);
        ifg_json_put_string(json, "text", at->what.text);
        ifg_json_put_uint(json, "self", at->self);
        ifg_json_put_uint(json, "total", at->total);
        ifg_json_put_double(json, "self_percent", percent(at->self, request->annotation->self));
        ifg_json_put_bool(json, "jump_target", at->is_target);
        if (at->what.has_target)
            json_address(json, at->what.jumps ? "jumps_to" : "calls", at->what.target);
        json_location(json, request, at->frame);
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
}

static void write_json(const struct request *request, struct ifg_bytes *out)
{
    const struct annotation *a = request->annotation;
    struct ifg_json json = { out, false };

    ifg_json_open(&json, '{');
    ifg_json_put_uint(&json, "schema", 1);
    ifg_json_put_string(&json, "function", a->name);
    ifg_json_put_bool(&json, "guessed", a->guessed);
    ifg_json_put_string(&json, "module", a->from ? a->from->path : "");
    ifg_json_put_string(&json, "build_id", a->from ? a->from->build_id : "");
    ifg_json_put_string(&json, "note", a->from ? a->from->note : "");
    json_address(&json, "start", a->start);
    ifg_json_put_uint(&json, "size", a->size);
    ifg_json_put_uint(&json, "samples", a->samples);
    ifg_json_put_uint(&json, "self", a->self);
    ifg_json_put_uint(&json, "total", a->total);
    ifg_json_put_bool(&json, "skid", a->by_timer);
    ifg_json_put_open(&json, "lines", '[');
    for (size_t i = 0; i < a->line_count; i++) {
        ifg_json_open(&json, '{');
        ifg_json_put_string(&json, "file", a->lines[i].file);
        ifg_json_put_uint(&json, "line", a->lines[i].line);
        ifg_json_put_uint(&json, "self", a->lines[i].self);
        ifg_json_put_uint(&json, "total", a->lines[i].total);
        ifg_json_put_double(&json, "self_percent", percent(a->lines[i].self, a->self));
        ifg_json_put_bool(&json, "in_trace", a->lines[i].text != NULL);
        ifg_json_key(&json, "text");
        ifg_json_string_n(&json, a->lines[i].text ? a->lines[i].text : "", a->lines[i].text_bytes);
        ifg_json_close(&json, '}');
    }
    ifg_json_close(&json, ']');
    json_code(&json, request);
    ifg_json_close(&json, '}');
    ifg_bytes_put(out, "\n", 1);
}

/* ---- which function ---- */

static void list_rows(const struct request *request, const struct hot *hot, const size_t *matches,
                      size_t count)
{
    int width = ADDRESS_COLUMNS; /* the kernel's are longer */

    for (size_t i = 0; i < count && i < MATCHES_MAX; i++)
        if (request->profile->functions[hot->rows[matches[i]].function].start >> 40)
            width = 16;
    for (size_t i = 0; i < count && i < MATCHES_MAX; i++) {
        const struct hot_row *row = &hot->rows[matches[i]];
        char name[300];
        char module[120];

        fprintf(stderr, "  %6.1f %%  0x%-*llx  %s  %s\n", percent(row->self, hot->samples), width,
                (unsigned long long)request->profile->functions[row->function].start,
                cli_clean(row->module, module, sizeof module),
                cli_clean(row->name, name, sizeof name));
    }
    if (count > MATCHES_MAX)
        fprintf(stderr, "  and %zu more\n", count - MATCHES_MAX);
}

/* Names that may have been meant, the likeliest first; returns how many. */
static size_t find_near(const struct request *request, const struct hot *hot,
                        size_t near[NEAR_SHOWN])
{
    unsigned distances[NEAR_SHOWN];
    size_t count = 0;

    for (size_t row = 0; row < hot->row_count; row++) {
        unsigned distance = nearest_word(request->function, hot->rows[row].name);
        size_t at = count;

        while (at > 0 && distances[at - 1] > distance)
            at--;
        if (distance == NEAREST_FAR || at == NEAR_SHOWN)
            continue;
        count += count < NEAR_SHOWN;
        for (size_t i = count - 1; i > at; i--) {
            distances[i] = distances[i - 1];
            near[i] = near[i - 1];
        }
        distances[at] = distance;
        near[at] = row;
    }
    return count;
}

static int say_unknown(const struct request *request, const struct hot *hot)
{
    size_t near[NEAR_SHOWN];
    size_t count = find_near(request, hot, near);

    if (!hot->samples && request->profile->sample_count) {
        cli_say("%s: no sample matches --model, --op and --thread", request->path);
        return CLI_NO;
    }
    cli_say("%s: no sampled function is called '%s'%s", request->path, request->function,
            count ? "; these are like it:" : "");
    if (count)
        list_rows(request, hot, near, count);
    else
        cli_say("all that were sampled: inferogram stats %s --by function --limit 0",
                request->path);
    return CLI_NO;
}

static int choose(const struct request *request, const struct hot *hot, size_t *out_row)
{
    size_t matches[MATCHES_MAX];
    size_t count = annotate_find(hot, request->profile, request->function, matches, MATCHES_MAX);

    if (!count)
        return say_unknown(request, hot);
    if (count > 1) {
        cli_say("'%s' may mean %zu functions; say more of the name, or an address in it:",
                request->function, count);
        list_rows(request, hot, matches, count);
        return CLI_NO;
    }
    *out_row = matches[0];
    return CLI_YES;
}

static int print_annotation(struct request *request, const struct timeline *timeline)
{
    struct hot *hot = NULL;
    struct annotation *annotation = NULL;
    struct ifg_error err = { 0 };
    struct ifg_bytes out;
    enum ifg_status status = timeline_profile_get(timeline, &request->profile, &err);
    size_t row = 0;
    int code = CLI_YES;

    ifg_bytes_init(&out, OUTPUT_MAX);
    if (!status && (!request->profile || !request->profile->sample_count)) {
        cli_say(
            "%s has no samples: record with --sample ('inferogram info' says why there are none)",
            request->path);
        return CLI_NO;
    }
    if (!status)
        status = hot_create(timeline, &request->filter, &hot, &err);
    if (!status)
        code = choose(request, hot, &row);
    if (!status && !code)
        status = annotate_create(timeline, hot, row, &annotation, &err);
    if (status) {
        cli_say("%s", err.message);
        code = cli_exit_for(status);
    } else if (!code) {
        request->annotation = annotation;
        if (request->json) {
            write_json(request, &out);
        } else {
            write_title(request, &out);
            write_lines(request, &out);
            write_code(request, &out);
        }
        code = cli_write_out(&out);
    }
    ifg_bytes_fini(&out);
    annotate_destroy(annotation);
    hot_destroy(hot);
    return code;
}

static int take_words(const struct option_words *words, struct request *request)
{
    if (words->count > 2)
        return cli_usage("annotate", "one function at a time; '%s' is too many", words->items[2]);
    if (!words->count || (words->count == 1 && options_is_trace(words->items[0])))
        return cli_usage("annotate", "which function? Give its name");
    request->path = words->count == 2 ? words->items[0] : options_newest_trace(&annotate_command);
    request->function = module_name_copied(words->items[words->count - 1]);
    return request->path ? CLI_YES : CLI_USAGE;
}

static int run(int argc, char **argv)
{
    struct request request = { 0 };
    struct option_words words;
    struct trace_reader *reader = NULL;
    const struct timeline *timeline = NULL;
    int code = options_parse(&annotate_command, argc, argv, &request, &words);

    if (!code)
        code = take_words(&words, &request);
    if (!code)
        code = cli_load(request.path, &reader, &timeline);
    if (!code)
        code = print_annotation(&request, timeline);
    timeline_destroy(timeline);
    trace_reader_close(reader);
    return code;
}

const struct cli_command annotate_command = {
    .name = "annotate",
    .summary = "show source and machine code of a function with its samples",
    .usage = "[FILE] FUNCTION [--model NAME] [--thread T] [--all] [--json]",
    .about = "Shows the source lines and instructions of one function of the program, each with "
             "its share of the function's samples. The trace contains code and sources, so this "
             "works on any machine (x86-64 code only). 'inferogram stats --by function' lists the "
             "functions.\n"
             "FUNCTION is a name, part of a name, or an address in a module (0x1234). If several "
             "functions match, they are listed.",
    .tables = { option_rows },
    .exits = "0 success, 1 no function or several functions match, 2 usage error or unreadable "
             "FILE",
    .operands = OPERANDS_TRACES,
    .reads = true,
    .run = run,
};
