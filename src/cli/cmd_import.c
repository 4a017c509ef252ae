// SPDX-License-Identifier: Apache-2.0
/* inferogram import: a foreign trace becomes one of ours. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/ticks.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/text.h"
#include "cli/memory_limit.h"
#include "import/import.h"

#define OUTPUT_MAX     (1u << 20)
#define PATH_BYTES     4096
#define SHOWN_EVERY_NS 200000000u

struct request {
    struct import_options options;
    const char *given; /* where to; NULL: found out */
    char output[PATH_BYTES];
    bool json;
};

struct progress {
    uint64_t last_ns;
    bool shown;
};

static bool ends_with(const char *text, size_t bytes, const char *end)
{
    return bytes > strlen(end) && memcmp(text + bytes - strlen(end), end, strlen(end)) == 0;
}

static bool choose_output(struct request *request, const char *given)
{
    const char *path = request->options.path;
    size_t bytes = strlen(path);
    int written;

    if (!given && strcmp(path, "-") == 0)
        given = "imported.ifg";
    if (ends_with(path, bytes, ".gz"))
        bytes -= 3;
    if (ends_with(path, bytes, ".json"))
        bytes -= 5;
    else if (ends_with(path, bytes, ".jsonl"))
        bytes -= 6;
    if (given)
        written = snprintf(request->output, sizeof request->output, "%s", given);
    else
        written = snprintf(request->output, sizeof request->output, "%.*s.ifg", (int)bytes, path);
    request->options.output = request->output;
    return written >= 0 && (size_t)written < sizeof request->output;
}

static const char *const formats[] = { "chrome", "ort", "ireeperf", NULL };

static const struct option_row option_rows[] = {
    { "format", 0, "FORMAT", "read events as {} [detected]", OPTION_CHOICE,
      IFG_AT(struct request, options.format), .value = IMPORT_CHROME, .choices = formats },
    { "output", 'o', "OUT", "write here [FILE with .ifg for .json, .jsonl, .gz]", OPTION_PATH,
      IFG_AT(struct request, given), .files = "*.ifg" },
    { "force", 'f', NULL, "replace an existing file", OPTION_FLAG,
      IFG_AT(struct request, options.overwrite) },
    { "max-events", 0, "N", "refuse files with more, 32 bytes each [100000000]", OPTION_COUNT,
      IFG_AT(struct request, options.max_events), .least = 1, .most = IMPORT_EVENTS_MAX },
    { "json", 0, NULL, "print the result as JSON, described in docs/json.md", OPTION_FLAG,
      IFG_AT(struct request, json) },
    { 0 },
};

static int check(struct request *request)
{
    memory_limit_reading(request->options.path);
    if (request->given && strcmp(request->given, "-") == 0)
        return cli_usage("import",
                         "a trace cannot be written to standard output; give a file name");
    if (!choose_output(request, request->given))
        return cli_usage("import", "the name of the output file is too long");
    return CLI_YES;
}

static void show_progress(void *context, uint64_t read_bytes, uint64_t total_bytes, uint64_t events)
{
    struct progress *progress = context;
    uint64_t now_ns = ifg_monotonic_ns();
    char size[32];
    char count[32];

    if (now_ns < progress->last_ns + SHOWN_EVERY_NS)
        return;
    progress->last_ns = now_ns;
    progress->shown = true;
    fprintf(stderr, "\r\033[Kinferogram: %s read", cli_size(read_bytes, size));
    if (total_bytes)
        fprintf(stderr, " (%.0f %%)", 100 * (double)read_bytes / (double)total_bytes);
    fprintf(stderr, ", %s events", cli_count(events, count));
    fflush(stderr);
}

static void write_reasons(const struct import_result *result, struct ifg_bytes *out, int from,
                          int to, const char *title)
{
    char count[32];

    for (int i = from; i < to; i++) {
        if (!result->counts[i])
            continue;
        if (title)
            cli_print(out, "%s\n", title);
        title = NULL;
        cli_print(out, "  %12s %s", cli_count(result->counts[i], count),
                  import_reason_text((enum import_reason)i));
        if (result->first_at[i] != IMPORT_NOWHERE)
            cli_print(out, " (first at %s %llu)", result->has_lines ? "line" : "byte",
                      (unsigned long long)result->first_at[i]);
        cli_print(out, "\n");
    }
}

static void write_text(const struct request *request, const struct import_result *result,
                       struct ifg_bytes *out)
{
    const struct {
        const char *name;
        uint64_t count;
    } counts[] = {
        { "zones", result->zones },           { "ML events", result->ml },
        { "operators", result->ops },         { "async begins and ends", result->async },
        { "points of flows", result->flows }, { "counter values", result->counters },
        { "messages", result->messages },     { "details", result->details },
    };
    const char *separator = "";
    char path[300];
    char number[32];
    char size[32];

    cli_print(out, "%s%s%s: %s events of %s%s", cli_bold(true, STDOUT_FILENO),
              cli_clean(request->output, path, sizeof path), cli_bold(false, STDOUT_FILENO),
              cli_count(result->events, number), import_format_text(result->format),
              result->gzip ? " (gzip)" : "");
    cli_print(out, ", %s in, %s out\n  ", cli_size(result->input_bytes, size),
              cli_size(result->output_bytes, number));
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        if (!counts[i].count)
            continue;
        cli_print(out, "%s%s %s", separator, cli_count(counts[i].count, number), counts[i].name);
        separator = " · ";
    }
    cli_print(out, "%s%s processes · ", separator, cli_count(result->processes, number));
    cli_print(out, "%s threads\n", cli_count(result->threads, number));
    write_reasons(result, out, 0, IMPORT_LOST_REASONS, "Not in the trace:");
    write_reasons(result, out, IMPORT_LOST_REASONS, IMPORT_REASONS, "In the trace, but note:");
}

static void put_reasons(struct ifg_json *json, const struct import_result *result, const char *key,
                        int from, int to)
{
    ifg_json_put_open(json, key, '[');
    for (int i = from; i < to; i++) {
        if (!result->counts[i])
            continue;
        ifg_json_open(json, '{');
        ifg_json_put_string(json, "reason", import_reason_key((enum import_reason)i));
        ifg_json_put_string(json, "text", import_reason_text((enum import_reason)i));
        ifg_json_put_uint(json, "count", result->counts[i]);
        ifg_json_key(json, "first_at");
        ifg_json_int(json,
                     result->first_at[i] == IMPORT_NOWHERE ? -1 : (int64_t)result->first_at[i]);
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
}

static void write_json(const struct request *request, const struct import_result *result,
                       struct ifg_bytes *out)
{
    struct ifg_json json = { out, false };
    const struct {
        const char *key;
        uint64_t value;
    } numbers[] = {
        { "events", result->events },
        { "zones", result->zones },
        { "ml", result->ml },
        { "ops", result->ops },
        { "async", result->async },
        { "flows", result->flows },
        { "counters", result->counters },
        { "messages", result->messages },
        { "details", result->details },
        { "processes", result->processes },
        { "threads", result->threads },
        { "input_bytes", result->input_bytes },
        { "output_bytes", result->output_bytes },
    };

    ifg_json_open(&json, '{');
    ifg_json_put_uint(&json, "schema", 1);
    ifg_json_put_string(&json, "output", request->output);
    ifg_json_put_string(&json, "format", import_format_key(result->format));
    ifg_json_put_string(&json, "first_at_unit", result->has_lines ? "line" : "byte");
    ifg_json_put_bool(&json, "gzip", result->gzip);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        ifg_json_key(&json, numbers[i].key);
        ifg_json_uint(&json, numbers[i].value);
    }
    put_reasons(&json, result, "lost", 0, IMPORT_LOST_REASONS);
    put_reasons(&json, result, "changed", IMPORT_LOST_REASONS, IMPORT_REASONS);
    ifg_json_close(&json, '}');
    ifg_bytes_put(out, "\n", 1);
}

/* What the user gave cannot be used (2), or what was asked for could not be done (1). */
static int exit_for(enum ifg_status status)
{
    switch (status) {
    case IFG_NO_MEMORY:
    case IFG_IO:
    case IFG_INTERNAL:
    case IFG_UNSUPPORTED:
        return CLI_NO;
    default:
        return CLI_USAGE;
    }
}

static int run(int argc, char **argv)
{
    struct request request = { 0 };
    struct option_words words;
    struct import_result result;
    struct progress progress = { 0 };
    struct ifg_error err = { 0 };
    struct ifg_bytes out;
    enum ifg_status status;
    int code = options_parse(&import_command, argc, argv, &request, &words);

    if (!code)
        code = options_one_word(&import_command, &words,
                                "which file? Give a Chrome trace, an ONNX Runtime or IREE profile",
                                "one file at a time", &request.options.path);
    if (!code)
        code = check(&request);
    if (code)
        return code;
    signal(SIGXFSZ, SIG_IGN); /* a file size limit is an error to report, not a death */
    request.options.tool_version = INFEROGRAM_VERSION;
    if (isatty(STDERR_FILENO)) {
        request.options.progress = show_progress;
        request.options.progress_context = &progress;
        progress.last_ns = ifg_monotonic_ns();
    }
    status = import_file(&request.options, &result, &err);
    if (progress.shown)
        fputs("\r\033[K", stderr);
    if (status) {
        cli_say("%s", err.message);
        return exit_for(status);
    }
    ifg_bytes_init(&out, OUTPUT_MAX);
    if (request.json)
        write_json(&request, &result, &out);
    else
        write_text(&request, &result, &out);
    if (!request.json)
        text_fit(&out);
    code = cli_write_out(&out);
    ifg_bytes_fini(&out);
    return code;
}

const struct cli_command import_command = {
    .name = "import",
    .summary = "convert a Chrome trace, or a profile of ONNX Runtime or IREE, into a trace",
    .usage = "FILE [--format chrome|ort|ireeperf] [-o OUT.ifg] [-f] [--json]",
    .about = "Converts a Chrome trace (JSON, also gzip: browsers, PyTorch, Perfetto's legacy "
             "format), an ONNX Runtime profile, or an IREE profile (iree-profile export "
             "--format=ireeperf-jsonl) into a trace. Almost-JSON is repaired, and "
             "truncated files are read as far as they go. Events that cannot be converted are "
             "counted and shown. FILE - is standard input.",
    .tables = { option_rows },
    .notes = "Format chrome takes every event as it is; format ort turns sessions and nodes of "
             "ONNX Runtime into ML events and operators; format ireeperf reads a record per line.",
    .exits = "0 success, 1 cannot write the trace, 2 usage error, unreadable FILE or no events in "
             "it",
    .operands = OPERANDS_FILES,
    .reads = true,
    .run = run,
};
