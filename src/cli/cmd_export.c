// SPDX-License-Identifier: Apache-2.0
/* inferogram export: a trace in another tool's format. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/ticks.h"
#include "cli/cli.h"
#include "cli/name_filter.h"
#include "export/export.h"

static const char help[] =
    "usage: inferogram export FILE --format FORMAT [-o OUT] [OPTIONS]\n"
    "\n"
    "  --format FORMAT   for timelines: chrome, perfetto; for scripts: csv, tracy-csv, "
    "aic-latency;\n"
    "                    for flame graphs: speedscope, folded, pprof\n"
    "  -o OUT            a file, '-' for stdout; aic-latency also a directory\n"
    "                    (default: FILE with the format's extension)\n"
    "  -f                replace OUT if it exists\n"
    "  --compress        perfetto: packets compressed with zstd (needs Perfetto 58 or newer)\n"
    "  --unwrap          tracy-csv: one row for each zone\n"
    "  --self            tracy-csv: time without children\n"
    "  --filter TEXT     tracy-csv: names that contain TEXT, in any case\n"
    "  --case            tracy-csv: --filter minds the case\n"
    "  --sep TEXT        csv, tracy-csv: what is between columns (default ,)\n"
    "  --stacks WHAT     samples or zones (default: samples if there are any); in timelines zones\n"
    "                    leaves samples out\n"
    "  --keep-middle PCT aic-latency: without the first and last samples\n"
    "  --by-thread       folded: the thread is the first frame\n"
    "  --model NAME      only events of this model and what lies inside them\n"
    "  --thread T        only the thread with this number or name\n"
    "  --name REGEX      only names that contain a match (PCRE2, ECMAScript-like)\n"
    "  --from T, --to T  only what begins in this part of the trace (1.5s, 200ms, 15us)\n"
    "  --max-memory SIZE  at most so much memory (default: half of what is available)\n"
    "  --help            this text\n"
    "\n"
    "Exit status: 0; 1 if OUT cannot be written; 2 if FILE cannot be read or an option is wrong.\n";

#define NUMBERS 10000u /* of files of one name in a directory */

struct request {
    const char *path;
    const char *out;
    const struct export_format *format;
    struct export_options options;
    struct name_filter filter;
    bool overwrite;
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

static int take_option(int option, struct request *request)
{
    struct export_options *options = &request->options;
    struct ifg_error err;
    char *end;

    switch (option) {
    case 'F':
        request->format = export_find_format(optarg);
        if (!request->format)
            return cli_usage("export", "there is no format '%s'", optarg);
        break;
    case 'o':
        request->out = optarg;
        break;
    case 'f':
        request->overwrite = true;
        break;
    case 'z':
        options->compress = true;
        break;
    case 'u':
        options->unwrap = true;
        break;
    case 'e':
        options->self = true;
        break;
    case 'c':
        options->case_sensitive = true;
        break;
    case 'k':
        options->keep_middle = strtod(optarg, &end);
        if (end == optarg || *end || !(options->keep_middle > 0) || options->keep_middle > 100)
            return cli_usage("export", "'%s' is not a percentage above 0 (--keep-middle 50)",
                             optarg);
        break;
    case 'T':
        options->by_thread = true;
        break;
    case 'S':
        if (strcmp(optarg, "samples") != 0 && strcmp(optarg, "zones") != 0)
            return cli_usage("export", "stacks are those of samples or zones, not '%s'", optarg);
        options->stacks = *optarg == 's' ? EXPORT_STACKS_SAMPLES : EXPORT_STACKS_ZONES;
        break;
    case 's':
        options->separator = strcmp(optarg, "\\t") == 0 ? "\t" : optarg;
        break;
    case 'l':
        options->filter = optarg;
        break;
    case 'm':
        options->model = optarg;
        break;
    case 't':
        options->thread = optarg;
        break;
    case 'n':
        if (name_filter_init(&request->filter, optarg, &err))
            return cli_usage("export", "%s", err.message);
        options->name_matches = name_filter_matches;
        options->user = &request->filter;
        break;
    case 'a':
    case 'b':
        if (!cli_parse_ns(optarg, option == 'a' ? &options->from_ns : &options->to_ns))
            return cli_usage("export", "'%s' is not a time (1.5s, 200ms, 15us)", optarg);
        break;
    }
    return CLI_YES;
}

/* An option that the chosen format would ignore is a mistake, and said. */
static int check_options(const struct request *request)
{
    const struct export_options *o = &request->options;
    const char *format = request->format->name;
    bool tracy = strcmp(format, "tracy-csv") == 0;

    if (o->compress && strcmp(format, "perfetto") != 0)
        return cli_usage("export", "--compress is for perfetto, not %s", format);
    if (!tracy && (o->unwrap || o->self || o->filter || o->case_sensitive))
        return cli_usage("export",
                         "--unwrap, --self, --filter and --case are for tracy-csv, not %s", format);
    if (o->separator && !tracy && strcmp(format, "csv") != 0)
        return cli_usage("export", "--sep is for csv and tracy-csv, not %s", format);
    if (o->stacks && (tracy || strcmp(format, "csv") == 0 || strcmp(format, "aic-latency") == 0))
        return cli_usage("export", "--stacks is for timelines and flame graphs, not %s", format);
    if (o->keep_middle > 0 && strcmp(format, "aic-latency") != 0)
        return cli_usage("export", "--keep-middle is for aic-latency, not %s", format);
    if (o->by_thread && strcmp(format, "folded") != 0)
        return cli_usage("export", "--by-thread is for folded, not %s", format);
    if (o->to_ns && o->to_ns <= o->from_ns)
        return cli_usage("export", "--to is not after --from");
    return CLI_YES;
}

static int parse(int argc, char **argv, struct request *request, bool *out_done)
{
    static const struct option options[] = {
        { "format", required_argument, NULL, 'F' },
        { "keep-middle", required_argument, NULL, 'k' },

        { "compress", no_argument, NULL, 'z' },
        { "unwrap", no_argument, NULL, 'u' },
        { "self", no_argument, NULL, 'e' },
        { "case", no_argument, NULL, 'c' },
        { "filter", required_argument, NULL, 'l' },
        { "sep", required_argument, NULL, 's' },
        { "by-thread", no_argument, NULL, 'T' },
        { "stacks", required_argument, NULL, 'S' },
        { "model", required_argument, NULL, 'm' },
        { "thread", required_argument, NULL, 't' },
        { "name", required_argument, NULL, 'n' },
        { "from", required_argument, NULL, 'a' },
        { "to", required_argument, NULL, 'b' },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };
    int option;

    while ((option = getopt_long(argc, argv, ":ho:f", options, NULL)) != -1) {
        int code;

        if (option == 'h') {
            fputs(help, stdout);
            *out_done = true;
            return CLI_YES;
        }
        if (option == '?' || option == ':')
            return cli_bad_option("export", option, argv);
        code = take_option(option, request);
        if (code)
            return code;
    }
    if (optind == argc)
        return cli_usage("export", "which trace? Give a file");
    if (optind + 1 < argc)
        return cli_usage("export", "one file at a time; '%s' is too many", argv[optind + 1]);
    request->path = argv[optind];
    if (!request->format)
        return cli_usage("export", "which format? Give --format chrome, perfetto, csv, ...");
    return check_options(request);
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

static void say_result(const struct request *request, const char *name,
                       const struct export_result *result, uint64_t bytes)
{
    char count[32];
    char size[32];

    for (size_t i = 0; i < result->note_count; i++)
        cli_say("%s", result->notes[i]);
    if (strcmp(name, "-") != 0 && result->samples && !result->slices)
        cli_say("%s: %s samples, %s", name, cli_count(result->samples, count),
                cli_size(bytes, size));
    else if (strcmp(name, "-") != 0)
        cli_say("%s: %s %s, %s", name, cli_count(result->slices, count),
                strcmp(request->format->name, "aic-latency") == 0 ? "inferences" : "slices",
                cli_size(bytes, size));
}

static int export_to(const struct request *request, const struct timeline *timeline,
                     const char *name)
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

int cmd_export(int argc, char **argv)
{
    struct request request = { 0 };
    struct trace_reader *reader = NULL;
    const struct timeline *timeline = NULL;
    bool done = false;
    char *name = NULL;
    int code = parse(argc, argv, &request, &done);

    if (!code && !done)
        code = cli_load(request.path, &reader, &timeline);
    if (code || done)
        goto out;
    catch_signals();
    if (strcmp(request.format->name, "aic-latency") == 0) {
        code = export_programs_to(&request, timeline);
        goto out;
    }
    name = request.out ? ifg_strdup(request.out) : default_name(&request);
    code = name ? export_to(&request, timeline, name) : CLI_NO;
out:
    ifg_free(name);
    name_filter_fini(&request.filter);
    timeline_destroy(timeline);
    trace_reader_close(reader);
    return code;
}
