// SPDX-License-Identifier: Apache-2.0
/* inferogram export: a trace in another tool's format. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/ticks.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/name_filter.h"
#include "export/export.h"
#include "export/npz.h"

#define NUMBERS    10000u /* of files of one name in a directory */
#define OUTPUT_MAX (16u << 20)

struct request {
    const char *path;
    const char *out;
    const struct export_format *format;
    struct export_options options;
    struct name_filter filter;
    bool overwrite;
    bool json;
    struct ifg_bytes files; /* what --json prints */
    struct ifg_json document;
};

struct progress {
    double begin;
    double shown;
    bool active;
};

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
    (void)number;
    interrupted = 1;
}

static double now(void)
{
    return (double)ifg_monotonic_ns() * 1e-9;
}

static void show_progress(const struct export_sink *sink, void *context)
{
    struct progress *progress = context;
    char size[32];
    double at = now();

    if (at - progress->begin < 1 || at - progress->shown < 0.2)
        return;
    progress->shown = at;
    progress->active = true;
    fprintf(stderr, "\r%3.0f %%  %s written\033[K",
            sink->total ? 100.0 * (double)sink->done / (double)sink->total : 100.0,
            cli_size(sink->written, size));
}

static const char *format_name(size_t index)
{
    return export_formats[index] ? export_formats[index]->name : NULL;
}

static int take_format(const struct option_use *use, void *user)
{
    struct request *request = user;
    size_t index;
    int code = options_take_choice(use, &index);

    if (!code)
        request->format = export_formats[index];
    return code;
}

static int take_separator(const struct option_use *use, void *user)
{
    struct request *request = user;

    request->options.separator = strcmp(use->value, "\\t") == 0 ? "\t" : use->value;
    return CLI_YES;
}

static int take_name(const struct option_use *use, void *user)
{
    struct request *request = user;
    struct ifg_error err;

    if (name_filter_init(&request->filter, use->value, &err))
        return cli_usage(use->command, "%s", err.message);
    request->options.name_matches = name_filter_matches;
    request->options.user = &request->filter;
    return CLI_YES;
}

static int take_event(const struct option_use *use, void *user)
{
    struct request *request = user;
    char *end;

    request->options.event = strtoull(use->value, &end, 10);
    request->options.has_event = true;
    if (*use->value < '0' || *use->value > '9' || *end || request->options.event >= SIZE_MAX)
        return options_bad_value(use, "the id of an event, as SQL has it (slice.id)");
    return CLI_YES;
}

static const char *const stacks[] = { "samples", "zones", NULL };

static const struct option_row option_rows[] = {
    { "format", 0, "FORMAT", "{}", OPTION_CALL, .choice_at = format_name, .take = take_format },
    { "output", 'o', "OUT", "a file; - for stdout [FILE.<format's extension>]", OPTION_PATH,
      IFG_AT(struct request, out) },
    { "force", 'f', NULL, "replace OUT if it exists", OPTION_FLAG,
      IFG_AT(struct request, overwrite) },
    { "json", 0, NULL, "print where it went and how much, as JSON", OPTION_FLAG,
      IFG_AT(struct request, json) },
    { .kind = OPTION_HEADING, .help = "What to export" },
    { "model", 0, "NAME", "only events of this model and what lies inside them", OPTION_TEXT,
      IFG_AT(struct request, options.model) },
    { "thread", 0, "T", "only the thread with this number or name", OPTION_TEXT,
      IFG_AT(struct request, options.thread) },
    { "name", 0, "REGEX", "only names that contain a match (PCRE2)", OPTION_CALL,
      .take = take_name },
    { "from", 0, "T", "only what begins then or later (1.5s, 15µs)", OPTION_NS,
      IFG_AT(struct request, options.from_ns), .what = "a time (1.5s, 200ms, 15µs)" },
    { "to", 0, "T", "only what begins before this time", OPTION_NS,
      IFG_AT(struct request, options.to_ns), .what = "a time (1.5s, 200ms, 15µs)" },
    { .kind = OPTION_HEADING, .help = "Options of single formats" },
    { "compress", 0, NULL, "perfetto: compress packets (needs Perfetto 58)", OPTION_FLAG,
      IFG_AT(struct request, options.compress) },
    { "stacks", 0, "WHAT", "in flame graphs: {} [samples if any]", OPTION_CHOICE,
      IFG_AT(struct request, options.stacks), .value = EXPORT_STACKS_SAMPLES, .choices = stacks },
    { "by-thread", 0, NULL, "folded: the thread is the first frame", OPTION_FLAG,
      IFG_AT(struct request, options.by_thread) },
    { "sep", 0, "TEXT", "csv, tracy-csv: column separator [,]", OPTION_CALL,
      .take = take_separator },
    { "unwrap", 0, NULL, "tracy-csv: one row per zone", OPTION_FLAG,
      IFG_AT(struct request, options.unwrap) },
    { "self", 0, NULL, "tracy-csv: time without children", OPTION_FLAG,
      IFG_AT(struct request, options.self) },
    { "filter", 0, "TEXT", "tracy-csv: only names that contain TEXT", OPTION_TEXT,
      IFG_AT(struct request, options.filter) },
    { "case", 0, NULL, "tracy-csv: --filter is case-sensitive", OPTION_FLAG,
      IFG_AT(struct request, options.case_sensitive) },
    { "event", 0, "ID", "npz: the inference (slice.id of SQL) [the only one]", OPTION_CALL,
      .take = take_event },
    { "keep-middle", 0, "PCT", "aic-latency: without the first and last samples", OPTION_NUMBER,
      IFG_AT(struct request, options.keep_middle), .most = 100,
      .what = "a percentage above 0 (--keep-middle 50)" },
    { 0 },
};

static unsigned given_options(const struct export_options *o)
{
    unsigned given = 0;

    given |= o->compress ? EXPORT_TAKES_COMPRESS : 0;
    given |= o->stacks ? EXPORT_TAKES_STACKS : 0;
    given |= o->by_thread ? EXPORT_TAKES_BY_THREAD : 0;
    given |= o->separator ? EXPORT_TAKES_SEPARATOR : 0;
    given |= o->unwrap || o->self || o->filter || o->case_sensitive ? EXPORT_TAKES_ZONES : 0;
    given |= o->keep_middle > 0 ? EXPORT_TAKES_KEEP_MIDDLE : 0;
    given |= o->has_event ? EXPORT_TAKES_EVENT : 0;
    return given;
}

/* "csv, tracy-csv": the formats that know an option, or all of them. */
static const char *formats_that_take(unsigned takes, char *out, size_t size)
{
    size_t used = 0;

    *out = '\0';
    for (size_t i = 0; export_formats[i]; i++)
        if ((export_formats[i]->takes & takes) == takes && used < size)
            used += (size_t)snprintf(out + used, size - used, "%s%s", used ? ", " : "",
                                     export_formats[i]->name);
    return out;
}

/* An option that the chosen format would ignore is a mistake, and said. */
static int check_options(const struct request *request)
{
    static const struct {
        unsigned takes;
        const char *options;
    } rows[] = {
        { EXPORT_TAKES_COMPRESS, "--compress is" },
        { EXPORT_TAKES_ZONES, "--unwrap, --self, --filter and --case are" },
        { EXPORT_TAKES_SEPARATOR, "--sep is" },
        { EXPORT_TAKES_STACKS, "--stacks is" },
        { EXPORT_TAKES_KEEP_MIDDLE, "--keep-middle is" },
        { EXPORT_TAKES_BY_THREAD, "--by-thread is" },
        { EXPORT_TAKES_EVENT, "--event is" },
    };
    const struct export_options *o = &request->options;
    char names[256];
    unsigned ignored;

    if (!request->format)
        return cli_usage("export", "which format? Give --format %s",
                         formats_that_take(0, names, sizeof names));
    ignored = given_options(o) & ~request->format->takes;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (ignored & rows[i].takes)
            return cli_usage("export", "%s for %s, not %s", rows[i].options,
                             formats_that_take(rows[i].takes, names, sizeof names),
                             request->format->name);
    if (request->format->one_event &&
        (o->model || o->thread || o->name_matches || o->from_ns || o->to_ns))
        return cli_usage("export", "%s is of one inference: choose it by --event",
                         request->format->name);
    if (o->to_ns && o->to_ns <= o->from_ns)
        return cli_usage("export", "--to is not after --from");
    if (request->json && request->out && strcmp(request->out, "-") == 0)
        return cli_usage("export", "--json needs the export in a file: both would go to stdout");
    return CLI_YES;
}

/* ---- where it goes ----------------------------------------------------------- */

/* FILE without .ifg, with the format's extension. */
static char *default_name(const struct request *request)
{
    size_t length = strlen(request->path);
    size_t size = length + strlen(request->format->extension) + 1;
    char *name = ifg_alloc(size, 1);

    if (length > 4 && strcmp(request->path + length - 4, ".ifg") == 0)
        length -= 4;
    if (name)
        snprintf(name, size, "%.*s%s", (int)length, request->path, request->format->extension);
    return name;
}

/* FILE-ID.npz, or .npy if it is one tensor. NULL: there is no such inference, and it was said. */
static char *inputs_name(const struct request *request, const struct timeline *timeline)
{
    const struct export_options *o = &request->options;
    size_t length = strlen(request->path);
    const struct trace_inputs *inputs;
    struct ifg_error err = { 0 };
    char *name;
    size_t slice;

    if (export_inputs_choose(timeline, o->has_event ? (size_t)o->event : SIZE_MAX, &inputs, &slice,
                             &err)) {
        cli_say("%s", err.message);
        return NULL;
    }
    if (request->out)
        return ifg_strdup(request->out);
    if (length > 4 && strcmp(request->path + length - 4, ".ifg") == 0)
        length -= 4;
    name = ifg_alloc(length + 40, 1);
    if (name)
        snprintf(name, length + 40, "%.*s-%zu%s", (int)length, request->path, slice,
                 export_inputs_extension(inputs));
    return name;
}

/* AIC100's name in a directory. Older files stay: the next one gets a number. */
static void name_in_directory(const struct request *request, const char *directory, size_t program,
                              char *out, size_t size)
{
    snprintf(out, size, "%s/aic-profiling-program-%zu-latency.txt", directory, program + 1);
    for (unsigned next = 2; !request->overwrite && access(out, F_OK) == 0 && next < NUMBERS; next++)
        snprintf(out, size, "%s/aic-profiling-program-%zu-latency-%u.txt", directory, program + 1,
                 next);
}

/* A name that ends with a slash is a directory, and is made if it is missing. */
static void make_directory(const char *out)
{
    size_t length = strlen(out);

    if (length > 1 && out[length - 1] == '/' && mkdir(out, 0777) != 0 && errno != EEXIST)
        cli_say("cannot make the directory %s: %s", out, strerror(errno));
}

/* One program of aic-latency: in a directory by AIC100's names, else numbered if there are several.
 */
static char *program_name(const struct request *request, size_t program, size_t count)
{
    const char *out = request->out;
    char *standard = out ? NULL : default_name(request);
    struct stat info;
    size_t size;
    char *name;

    if (!out)
        out = standard;
    if (!out)
        return NULL;
    size = strlen(out) + 100;
    name = ifg_alloc(size, 1);
    make_directory(out);
    if (name && stat(out, &info) == 0 && S_ISDIR(info.st_mode)) {
        name_in_directory(request, out, program, name, size);
    } else if (name && count > 1) {
        const char *slash = strrchr(out, '/');
        const char *dot = strrchr(slash ? slash : out, '.');
        size_t stem = dot && dot != out ? (size_t)(dot - out) : strlen(out);

        snprintf(name, size, "%.*s-program-%zu%s", (int)stem, out, program + 1, out + stem);
    } else if (name) {
        snprintf(name, size, "%s", out);
    }
    ifg_free(standard);
    return name;
}

static void begin_json(struct request *request)
{
    ifg_bytes_init(&request->files, OUTPUT_MAX);
    request->document = (struct ifg_json){ &request->files, false };
    ifg_json_open(&request->document, '{');
    ifg_json_put_uint(&request->document, "schema", 1);
    ifg_json_put_string(&request->document, "trace", request->path);
    ifg_json_put_string(&request->document, "format", request->format->name);
    ifg_json_key(&request->document, "files");
    ifg_json_open(&request->document, '[');
}

static void add_file(struct request *request, const char *name, const struct export_result *result,
                     uint64_t bytes)
{
    struct ifg_json *json = &request->document;

    ifg_json_open(json, '{');
    ifg_json_put_string(json, "path", name);
    ifg_json_put_uint(json, "bytes", bytes);
    ifg_json_put_uint(json, "slices", result->slices);
    ifg_json_put_uint(json, "samples", result->samples);
    ifg_json_key(json, "not_exported");
    ifg_json_open(json, '[');
    for (size_t i = 0; i < result->note_count; i++)
        ifg_json_string(json, result->notes[i]);
    ifg_json_close(json, ']');
    ifg_json_close(json, '}');
}

static int end_json(struct request *request, uint64_t dropped)
{
    ifg_json_close(&request->document, ']');
    ifg_json_put_uint(&request->document, "dropped", dropped);
    ifg_json_close(&request->document, '}');
    ifg_bytes_put(&request->files, "\n", 1);
    return cli_write_out(&request->files);
}

static void say_result(struct request *request, const char *name,
                       const struct export_result *result, uint64_t bytes)
{
    char count[32];
    char size[32];

    if (request->json) {
        add_file(request, name, result, bytes);
        return;
    }
    for (size_t i = 0; i < result->note_count; i++)
        cli_say("%s", result->notes[i]);
    if (strcmp(name, "-") != 0 && result->samples && !result->slices)
        cli_say("%s: %s samples, %s", name, cli_count(result->samples, count),
                cli_size(bytes, size));
    else if (strcmp(name, "-") != 0 && request->format->one_event)
        cli_say("%s: inputs of one inference, %s", name, cli_size(bytes, size));
    else if (strcmp(name, "-") != 0)
        cli_say("%s: %s %s, %s", name, cli_count(result->slices, count),
                request->format->per_program ? "inferences" : "slices", cli_size(bytes, size));
}

static int export_to(struct request *request, const struct timeline *timeline, const char *name)
{
    struct progress progress = { .begin = now() };
    struct export_result result = { 0 };
    struct ifg_error err = { 0 };
    struct export_sink sink;
    enum ifg_status status;
    enum ifg_status written;
    uint64_t bytes;

    status = export_sink_open(&sink, name, request->overwrite, &err);
    if (status) {
        cli_say("%s", err.message);
        return CLI_NO;
    }
    sink.cancel = &interrupted;
    if (isatty(STDERR_FILENO)) {
        sink.progress = show_progress;
        sink.progress_context = &progress;
    }
    status = export_run(timeline, request->format, &request->options, &sink, &result, &err);
    bytes = sink.written + sink.used;
    written = export_sink_close(&sink, status == IFG_OK, status ? NULL : &err);
    if (progress.active)
        fputs("\r\033[K", stderr);
    if (status || written) {
        cli_say("%s", err.message);
        return status == IFG_INVALID || status == IFG_NOT_FOUND ? CLI_USAGE : CLI_NO;
    }
    say_result(request, name, &result, bytes);
    return CLI_YES;
}

static int export_programs_to(struct request *request, const struct timeline *timeline)
{
    size_t count = export_programs(timeline, NULL, 0);
    int code = CLI_YES;

    if (count > 1 && request->out && strcmp(request->out, "-") == 0)
        return cli_usage("export", "%zu models make %zu files; give -o a directory", count, count);
    for (size_t i = 0; i < (count ? count : 1) && !code; i++) {
        char *name = program_name(request, i, count);

        request->options.program = i;
        if (name)
            code = export_to(request, timeline, name);
        else
            code = CLI_NO;
        ifg_free(name);
    }
    return code;
}

static void catch_signals(void)
{
    struct sigaction action = { .sa_handler = on_signal };

    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

static int run(int argc, char **argv)
{
    struct request request = { 0 };
    struct option_words words;
    struct trace_reader *reader = NULL;
    const struct timeline *timeline = NULL;
    char *name = NULL;
    int code = options_parse(&export_command, argc, argv, &request, &words);

    if (!code)
        code = options_one_trace(&export_command, &words, &request.path);
    if (!code)
        code = check_options(&request);
    if (!code)
        code = cli_load(request.path, &reader, &timeline);
    if (code)
        goto out;
    catch_signals();
    begin_json(&request);
    if (request.format->per_program) {
        code = export_programs_to(&request, timeline);
    } else if (request.format->one_event) {
        name = inputs_name(&request, timeline);
        code = name ? export_to(&request, timeline, name) : CLI_USAGE;
    } else {
        name = request.out ? ifg_strdup(request.out) : default_name(&request);
        code = name ? export_to(&request, timeline, name) : CLI_NO;
    }
    if (!code && request.json)
        code = end_json(&request, timeline->dropped);
    ifg_bytes_fini(&request.files);
out:
    ifg_free(name);
    name_filter_fini(&request.filter);
    timeline_destroy(timeline);
    trace_reader_close(reader);
    return code;
}

const struct cli_command export_command = {
    .name = "export",
    .summary = "convert a trace to Perfetto, Chrome, CSV, pprof, ...",
    .usage = "[FILE] --format FORMAT [-o OUT] [OPTIONS]",
    .about = "Converts a trace into another tool's format. inferogram-export(1) describes each "
             "format.",
    .tables = { option_rows },
    .examples = "inferogram export run.ifg --format perfetto\n"
                "inferogram export run.ifg --format folded --stacks samples -o run.folded",
    .exits = "0 success, 1 cannot write OUT, 2 usage error or unreadable FILE",
    .operands = OPERANDS_TRACES,
    .reads = true,
    .silent = true,
    .run = run,
};
