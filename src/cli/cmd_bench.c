// SPDX-License-Identifier: Apache-2.0
/* inferogram bench: how long a model takes, how certain that is, and whether to trust it. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/runner/find_ort.h"
#include "cli/bench_options.h"
#include "cli/bench_report.h"
#include "cli/bench_text.h"
#include "cli/cli.h"
#include "cli/html_file.h"
#include "export/sink.h"

static const char help[] =
    "usage: inferogram bench MODEL [OPTIONS]\n"
    "\n"
    "Runs a model and says how long it takes, how sure that is, and whether this machine can be "
    "trusted.\n"
    "\n"
    "  -n, --iterations N, -w, --warmup N, --duration T    of each process (100); before them "
    "(auto); in all\n"
    "  --processes N, --warmup-max T, --seed N             fresh processes (5); at most (10s); of "
    "the data\n"
    "  --batch N, --dim NAME=N, --shape [IN:]1x3x224x224   sizes of free dimensions, shape of an "
    "input\n"
    "  --value IN=V, --input-data PATH                     every element of IN; .npy, .npz, folder "
    "of them\n"
    "  --threads N[,N...], --opt LEVEL, --pin CPU          a row for each N; none, basic, "
    "extended, all\n"
    "  --ep LIST, --ep-sets LIST, --require                a row for each of cpu,cuda or "
    "'all;cpu+npu;cpu'\n"
    "  --policy P, --session-config K=V, --set K=V         device policy; settings of ONNX "
    "Runtime, "
    "of any\n"
    "  --ort PATH, --runtime PLUGIN, --patience T          which ONNX Runtime; other runtime; a "
    "hang "
    "(10m)\n"
    "  --scenario S, --concurrency N, --per-query N        single, multi, server, offline; "
    "workers\n"
    "  --rate R, --slo T, --find-rate                      server: queries/s; latency to meet; "
    "find "
    "R\n"
    "  --start-iter N, --start-delay T, --samples N        which iterations of a process are kept\n"
    "  --ops[=N], --load-only, --trace FILE, -f, --force   operators of N inferences (50); a "
    "trace; "
    "replace\n"
    "  --live, --percentile RULE, -q, --quiet              a line every second; linear or nearest\n"
    "  --json, --csv, --winml-json, -o, --output FILE      instead of text; JSON to FILE as well\n"
    "  --type latency|trace, --report-dir DIR              reports of single inferences; into "
    "DIR (.)\n"
    "  --sampling full|half|...|sixteenth, --report-rate MS  of every 2nd to 16th; one per "
    "interval\n"
    "  --html FILE                                         as well: one page that can be mailed\n"
    "  --help                                              this text\n"
    "\n"
    "Exit status: 0 measured; 1 the model cannot be run; 2 usage or unreadable input; 3 "
    "interrupted;\n"
    "4 there is no ONNX Runtime, or not the provider. Everything is explained in "
    "inferogram-bench(1).\n";

#define OUTPUT_MAX     (1u << 30)
#define ITERATIONS_MAX 100000000u
#define PROCESSES_MAX  10000u
#define WORKERS_MAX    4096u
#define OPS_DEFAULT    50u
#define OPS_MAX        1000000u
#define THREADS_MAX    16 /* rows */

enum format { FORMAT_TEXT, FORMAT_JSON, FORMAT_CSV, FORMAT_WINML };

struct request {
    struct bench_arguments arguments;
    enum format format;
    const char *output;
    const char *html;
    struct bench_report report;
    char *threads[THREADS_MAX];
    size_t thread_count;
    double duration_s;
    bool iterations_given;
    bool require;
    bool live;
    bool quiet;
};

enum {
    OPTION_DURATION = 1000,
    OPTION_PROCESSES,
    OPTION_WARMUP_MAX,
    OPTION_EP,
    OPTION_EP_SETS,
    OPTION_REQUIRE,
    OPTION_SCENARIO,
    OPTION_CONCURRENCY,
    OPTION_PER_QUERY,
    OPTION_RATE,
    OPTION_SLO,
    OPTION_FIND_RATE,
    OPTION_START_ITER,
    OPTION_START_DELAY,
    OPTION_SAMPLES,
    OPTION_OPS,
    OPTION_TRACE,
    OPTION_LOAD_ONLY,
    OPTION_LIVE,
    OPTION_PERCENTILE,
    OPTION_JSON,
    OPTION_CSV,
    OPTION_WINML,
    OPTION_HTML,
    OPTION_TYPE,
    OPTION_SAMPLING,
    OPTION_REPORT_RATE,
    OPTION_REPORT_DIR,
};

/* ---- the command line ---- */

static int take_scenario(const char *text, enum bench_scenario *out_scenario)
{
    static const char *const names[] = { "single", "multi", "server", "offline" };

    for (int i = 0; i < 4; i++) {
        if (strcmp(text, names[i]) == 0) {
            *out_scenario = (enum bench_scenario)i;
            return CLI_YES;
        }
    }
    return cli_usage("bench", "'%s' is not a scenario (single, multi, server, offline)", text);
}

static int take_threads(char *text, struct request *request)
{
    char *rest = text;

    if (!strchr(text, ','))
        return bench_option_take("bench", BENCH_OPTION_THREADS, text, &request->arguments);
    request->thread_count = 0;
    while (rest) {
        char *one = strsep(&rest, ",");
        uint64_t number;

        if (!bench_parse_count(one, 1, 4096, &number) || request->thread_count == THREADS_MAX)
            return cli_usage("bench", "'%s' is not a number of threads (--threads 1,2,4)", one);
        request->threads[request->thread_count++] = one;
    }
    return CLI_YES;
}

static int take_time(const char *option, const char *text, bool zero, double *out_seconds)
{
    if (!cli_parse_seconds(text, out_seconds) || (!zero && !(*out_seconds > 0)))
        return cli_usage("bench", "'%s' is not a time for %s (2, 1.5s, 500ms, 3m)", text, option);
    return CLI_YES;
}

static int take_count(const char *option, const char *text, uint64_t most, uint32_t *out_count)
{
    uint64_t number;

    if (!bench_parse_count(text, 1, most, &number))
        return cli_usage("bench", "'%s' is not a number for %s (1 to %llu)", text, option,
                         (unsigned long long)most);
    *out_count = (uint32_t)number;
    return CLI_YES;
}

static int take_rate(const char *text, double *out_rate)
{
    char *end;

    *out_rate = strtod(text, &end);
    if (strcmp(end, "/s") == 0)
        end += 2;
    if (end == text || *end || !isfinite(*out_rate) || !(*out_rate > 0) || *out_rate > 1e7)
        return cli_usage("bench", "'%s' is not a rate (queries per second: --rate 50)", text);
    return CLI_YES;
}

static int take_how_much(int option, const char *value, struct request *request)
{
    struct bench_options *options = &request->arguments.options;
    uint64_t number;

    switch (option) {
    case 'n':
        request->iterations_given = true;
        return take_count("--iterations", value, ITERATIONS_MAX, &options->iterations);
    case 'w':
        if (strcmp(value, "auto") == 0) {
            options->warmup = -1;
            return CLI_YES;
        }
        if (!bench_parse_count(value, 0, ITERATIONS_MAX, &number))
            return cli_usage("bench", "'%s' is not a number of warm-up iterations, nor 'auto'",
                             value);
        options->warmup = (int64_t)number;
        return CLI_YES;
    case OPTION_DURATION:
        return take_time("--duration", value, false, &request->duration_s);
    case OPTION_WARMUP_MAX:
        return take_time("--warmup-max", value, true, &options->warmup_max_s);
    case OPTION_PROCESSES:
        return take_count("--processes", value, PROCESSES_MAX, &options->processes);
    case OPTION_START_ITER:
        if (!bench_parse_count(value, 0, ITERATIONS_MAX, &options->start_iter))
            return cli_usage("bench", "'%s' is not a number of iterations", value);
        return CLI_YES;
    case OPTION_START_DELAY:
        return take_time("--start-delay", value, true, &options->start_delay_s);
    case OPTION_SAMPLES:
        if (!bench_parse_count(value, 1, ITERATIONS_MAX, &options->keep))
            return cli_usage("bench", "'%s' is not a number of samples (1 and up)", value);
        return CLI_YES;
    default:
        options->ops = OPS_DEFAULT;
        return value ? take_count("--ops", value, OPS_MAX, &options->ops) : CLI_YES;
    }
}

static int take_load(int option, char *value, struct request *request)
{
    struct bench_options *options = &request->arguments.options;
    double seconds;
    int code;

    switch (option) {
    case OPTION_SCENARIO:
        return take_scenario(value, &options->scenario);
    case OPTION_CONCURRENCY:
        return take_count("--concurrency", value, WORKERS_MAX, &options->concurrency);
    case OPTION_PER_QUERY:
        return take_count("--per-query", value, ITERATIONS_MAX, &options->per_query);
    case OPTION_RATE:
        return take_rate(value, &options->rate_hz);
    case OPTION_SLO:
        code = take_time("--slo", value, false, &seconds);
        options->slo_ms = 1e3 * seconds;
        return code;
    default:
        options->find_rate = true;
        return CLI_YES;
    }
}

static int take_output(int option, char *value, struct request *request)
{
    struct bench_options *options = &request->arguments.options;

    switch (option) {
    case OPTION_TRACE:
        options->trace = value;
        return *value ? CLI_YES : cli_usage("bench", "the file name after --trace is empty");
    case 'f':
        options->trace_overwrite = true;
        return CLI_YES;
    case 'o':
        request->output = value;
        return *value ? CLI_YES : cli_usage("bench", "the file name after -o is empty");
    case OPTION_HTML:
        request->html = value;
        return *value ? CLI_YES : cli_usage("bench", "the file name after --html is empty");
    case 'q':
        request->quiet = true;
        return CLI_YES;
    case OPTION_LIVE:
        request->live = true;
        return CLI_YES;
    case OPTION_PERCENTILE:
        options->nearest = strcmp(value, "nearest") == 0;
        if (!options->nearest && strcmp(value, "linear") != 0)
            return cli_usage("bench", "'%s' is not a rule for percentiles (linear, nearest)",
                             value);
        return CLI_YES;
    default:
        request->format = option == OPTION_JSON  ? FORMAT_JSON
                          : option == OPTION_CSV ? FORMAT_CSV
                                                 : FORMAT_WINML;
        return CLI_YES;
    }
}

static int take_report(int option, const char *value, struct request *request)
{
    switch (option) {
    case OPTION_TYPE:
        return bench_report_type(value, &request->report);
    case OPTION_SAMPLING:
        return bench_report_sampling(value, &request->report);
    case OPTION_REPORT_RATE:
        return bench_report_rate(value, &request->report);
    default:
        request->report.directory = value;
        return *value ? CLI_YES : cli_usage("bench", "the name after --report-dir is empty");
    }
}

/* One option that bench has for itself. */
static int take(int option, char *value, struct request *request)
{
    switch (option) {
    case 'n':
    case 'w':
    case OPTION_DURATION:
    case OPTION_WARMUP_MAX:
    case OPTION_PROCESSES:
    case OPTION_START_ITER:
    case OPTION_START_DELAY:
    case OPTION_SAMPLES:
    case OPTION_OPS:
        return take_how_much(option, value, request);
    case OPTION_SCENARIO:
    case OPTION_CONCURRENCY:
    case OPTION_PER_QUERY:
    case OPTION_RATE:
    case OPTION_SLO:
    case OPTION_FIND_RATE:
        return take_load(option, value, request);
    case OPTION_EP:
    case OPTION_EP_SETS:
        return bench_take_providers("bench", value, option == OPTION_EP_SETS, &request->arguments);
    case OPTION_REQUIRE:
        request->require = true;
        return CLI_YES;
    case OPTION_TYPE:
    case OPTION_SAMPLING:
    case OPTION_REPORT_RATE:
    case OPTION_REPORT_DIR:
        return take_report(option, value, request);
    case OPTION_LOAD_ONLY:
        request->arguments.options.load_only = true;
        return CLI_YES;
    case BENCH_OPTION_THREADS:
        return take_threads(value, request);
    default:
        return take_output(option, value, request);
    }
}

/* A row for each number of threads, for each row that there is. */
static int multiply_rows(struct request *request)
{
    struct bench_arguments *arguments = &request->arguments;
    size_t rows = arguments->options.variant_count;
    size_t threads = request->thread_count;

    if (!threads)
        return CLI_YES;
    /* From the last to the first, so that each is still there when it is copied. */
    for (size_t i = rows; i < (rows ? rows : 1) * threads; i++)
        if (!bench_add_variant("bench", "", arguments))
            return CLI_USAGE;
    for (size_t i = rows ? rows : 1; i-- > 0;) {
        struct bench_variant *variants = arguments->options.variants;
        struct bench_variant base = rows ? variants[i] : (struct bench_variant){ 0 };

        for (size_t j = 0; j < threads; j++) {
            struct bench_variant *variant = &variants[i * threads + j];
            const char *number = request->threads[j];
            char name[128];

            *variant = base;
            snprintf(name, sizeof name, "%s%s%s thread%s", rows ? base.name : "", rows ? ", " : "",
                     number, strcmp(number, "1") == 0 ? "" : "s");
            variant->name = bench_keep_text(name, arguments);
            variant->settings[variant->setting_count].key = "threads";
            variant->settings[variant->setting_count++].value = number;
            if (!variant->name)
                return CLI_NO;
        }
    }
    return CLI_YES;
}

/* What does not go together. */
static int check(struct request *request)
{
    struct bench_options *options = &request->arguments.options;
    bool server = options->scenario == BENCH_SERVER;

    if (request->duration_s > 0 && request->iterations_given)
        return cli_usage("bench", "--duration and --iterations exclude each other");
    if (server && !options->find_rate && !(options->rate_hz > 0))
        return cli_usage("bench",
                         "the scenario server needs --rate R, or --find-rate with --slo T");
    if (options->rate_hz > 0 && !server)
        return cli_usage("bench", "--rate goes with --scenario server");
    if (options->find_rate && !server)
        return cli_usage("bench", "--find-rate goes with --scenario server");
    if (options->find_rate && !(options->slo_ms > 0))
        return cli_usage("bench", "--find-rate needs --slo T: which latency must be met?");
    if (options->find_rate && options->rate_hz > 0)
        return cli_usage("bench", "--rate and --find-rate exclude each other");
    if (options->load_only && bench_report_wanted(&request->report))
        return cli_usage("bench", "--load-only runs no inference to report: leave out --type, "
                                  "--sampling, --report-rate and --report-dir");
    if (options->load_only && (options->ops || request->live))
        return cli_usage("bench", "--load-only runs no inference: leave out --ops and --live");
    if (!(request->duration_s > 0) && options->start_iter >= options->iterations)
        return cli_usage("bench",
                         "--start-iter %llu leaves none of %u iterations; ask for more with -n",
                         (unsigned long long)options->start_iter, options->iterations);
    options->duration_s = request->duration_s / options->processes;
    return multiply_rows(request);
}

static int parse(int argc, char **argv, struct request *request, bool *out_done)
{
    static const struct option options[] = {
        { "iterations", required_argument, NULL, 'n' },
        { "warmup", required_argument, NULL, 'w' },
        { "duration", required_argument, NULL, OPTION_DURATION },
        { "processes", required_argument, NULL, OPTION_PROCESSES },
        { "warmup-max", required_argument, NULL, OPTION_WARMUP_MAX },
        { "ep", required_argument, NULL, OPTION_EP },
        { "ep-sets", required_argument, NULL, OPTION_EP_SETS },
        { "require", no_argument, NULL, OPTION_REQUIRE },
        { "scenario", required_argument, NULL, OPTION_SCENARIO },
        { "concurrency", required_argument, NULL, OPTION_CONCURRENCY },
        { "per-query", required_argument, NULL, OPTION_PER_QUERY },
        { "rate", required_argument, NULL, OPTION_RATE },
        { "slo", required_argument, NULL, OPTION_SLO },
        { "find-rate", no_argument, NULL, OPTION_FIND_RATE },
        { "start-iter", required_argument, NULL, OPTION_START_ITER },
        { "start-delay", required_argument, NULL, OPTION_START_DELAY },
        { "samples", required_argument, NULL, OPTION_SAMPLES },
        { "ops", optional_argument, NULL, OPTION_OPS },
        { "trace", required_argument, NULL, OPTION_TRACE },
        { "force", no_argument, NULL, 'f' },
        { "load-only", no_argument, NULL, OPTION_LOAD_ONLY },
        { "live", no_argument, NULL, OPTION_LIVE },
        { "percentile", required_argument, NULL, OPTION_PERCENTILE },
        { "json", no_argument, NULL, OPTION_JSON },
        { "csv", no_argument, NULL, OPTION_CSV },
        { "winml-json", no_argument, NULL, OPTION_WINML },
        { "output", required_argument, NULL, 'o' },
        { "html", required_argument, NULL, OPTION_HTML },
        { "type", required_argument, NULL, OPTION_TYPE },
        { "sampling", required_argument, NULL, OPTION_SAMPLING },
        { "report-rate", required_argument, NULL, OPTION_REPORT_RATE },
        { "report-dir", required_argument, NULL, OPTION_REPORT_DIR },
        { "quiet", no_argument, NULL, 'q' },
        { "help", no_argument, NULL, 'h' },
        BENCH_COMMON_OPTIONS,
        { NULL, 0, NULL, 0 },
    };
    int option;

    while ((option = getopt_long(argc, argv, ":n:w:fo:qh", options, NULL)) != -1) {
        int code;

        if (option == 'h') {
            fputs(help, stdout);
            *out_done = true;
            return CLI_YES;
        }
        if (option == ':' || option == '?')
            return cli_bad_option("bench", option, argv);
        if (option > BENCH_OPTION_FIRST && option != BENCH_OPTION_THREADS)
            code = bench_option_take("bench", option, optarg, &request->arguments);
        else
            code = take(option, optarg, request);
        if (code)
            return code;
    }
    if (optind == argc)
        return cli_usage("bench", "which model? Give a file");
    if (optind + 1 < argc)
        return cli_usage("bench",
                         "one model at a time; '%s' is too many. To compare two, use "
                         "'inferogram compare'",
                         argv[optind + 1]);
    request->arguments.options.model = argv[optind];
    return check(request);
}

/* ---- before and while it runs ---- */

/* Results and traces are easily taken for models. */
static int check_kind(const char *path)
{
    char head[8] = "";
    size_t length = strlen(path);
    bool json = length > 5 && strcmp(path + length - 5, ".json") == 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t got;

    if (fd < 0)
        return CLI_YES;
    got = read(fd, head, sizeof head);
    close(fd);
    if (got >= 4 && memcmp(head, "\x89IFG", 4) == 0) {
        cli_say("%s is a trace, not a model; 'inferogram report %s' shows what was recorded", path,
                path);
        return CLI_USAGE;
    }
    if (json && got > 0) {
        cli_say("%s is a JSON document, not a model; results of bench are for 'inferogram compare "
                "A.json B.json' and 'inferogram gate --result %s'",
                path, path);
        return CLI_USAGE;
    }
    return CLI_YES;
}

/* Said before minutes are spent. */
static int check_output(struct request *request)
{
    bool overwrite = request->arguments.options.trace_overwrite;

    if ((request->html && html_check(request->html, overwrite)) ||
        (request->output && html_check(request->output, overwrite)))
        return CLI_USAGE;
    return bench_report_wanted(&request->report) ? bench_report_begin(&request->report) : CLI_YES;
}

static void say_library(const struct request *request)
{
    const struct bench_options *options = &request->arguments.options;
    struct found_ort found;

    if (request->quiet || options->runtime || options->library)
        return;
    if (bench_check_model(options->model, false, NULL, NULL) == IFG_OK &&
        find_ort(NULL, &found, NULL) == IFG_OK)
        cli_say("ONNX Runtime is %s (%s)", found.path, found.from);
}

static void show_live(const struct bench_live *live, void *user)
{
    char count[32], p50[32], p99[32], max[32];

    (void)user;
    bench_clear_progress();
    fprintf(stderr, "%6.0f s  %s inferences/s  p50 %s  p99 %s  max %s\n", live->seconds,
            cli_count(live->inferences, count), cli_duration(1e6 * live->p50_ms, p50),
            cli_duration(1e6 * live->p99_ms, p99), cli_duration(1e6 * live->max_ms, max));
}

/* ---- afterwards ---- */

/* Whole or not at all. */
static int write_file(const struct request *request, const struct ifg_bytes *bytes)
{
    struct export_sink sink;
    struct ifg_error err = { 0 };
    enum ifg_status status =
        export_sink_open(&sink, request->output, request->arguments.options.trace_overwrite, &err);

    if (!status) {
        export_put(&sink, (const char *)bytes->data, bytes->size);
        status = export_sink_close(&sink, true, &err);
    }
    if (status)
        cli_say("%s", err.message);
    return status ? CLI_NO : CLI_YES;
}

static int write_result(const struct request *request, const struct bench_result *result)
{
    struct ifg_error err = { 0 };
    struct ifg_bytes out;
    enum ifg_status status = IFG_OK;
    int code = CLI_YES;

    ifg_bytes_init(&out, OUTPUT_MAX);
    if (request->output) {
        status = bench_result_write_json(result, &out, &err);
        if (!status)
            code = write_file(request, &out);
        ifg_bytes_clear(&out);
    }
    if (!status && request->html) {
        status = bench_result_write_json(result, &out, &err);
        if (!status && html_write_document("bench", "Inferogram benchmark", &out, request->html,
                                           request->arguments.options.trace_overwrite))
            code = CLI_NO;
        ifg_bytes_clear(&out);
    }
    if (request->html && strcmp(request->html, "-") == 0)
        goto out; /* the page is what was printed */
    if (!status && request->format == FORMAT_JSON)
        status = bench_result_write_json(result, &out, &err);
    else if (!status && request->format == FORMAT_CSV)
        status = bench_result_write_csv(result, &out, &err);
    else if (!status && request->format == FORMAT_WINML)
        status = bench_result_write_winml(result, &out, &err);
    else if (!status)
        bench_write_text(&request->arguments.options, result, &out);
    if (status) {
        cli_say("%s", err.message);
        code = CLI_NO;
    } else if (cli_write_out(&out)) {
        code = CLI_NO;
    }
out:
    ifg_bytes_fini(&out);
    return code;
}

static int exit_after(const struct request *request, const struct bench_result *result)
{
    size_t measured = 0, lacking = 0, failed = 0;

    if (result->interrupted)
        return CLI_UNSURE;
    for (size_t i = 0; i < result->row_count; i++) {
        const struct bench_row *row = &result->rows[i];

        measured += row->available;
        lacking += !row->available && row->status == IFG_UNSUPPORTED;
        failed += *row->reason && row->status != IFG_UNSUPPORTED;
    }
    if (request->require && (lacking || failed)) {
        cli_say("%zu of %zu rows could not be measured, and --require wants all of them",
                lacking + failed, result->row_count);
        return lacking ? CLI_LACKS : CLI_NO;
    }
    if (!measured)
        return lacking ? CLI_LACKS : CLI_NO;
    if (result->row_count > 1 || !failed)
        return CLI_YES;
    cli_say("it ended early: %s", result->rows[0].reason);
    return CLI_NO;
}

static int measure(struct request *request)
{
    struct bench_options *options = &request->arguments.options;
    struct bench_result *result = NULL;
    struct ifg_error err = { 0 };
    enum ifg_status status;
    int reported;
    int code;

    bench_catch_interrupt(&request->arguments);
    options->progress = request->quiet ? NULL : bench_show_progress;
    options->live = request->live ? show_live : NULL;
    if (bench_report_wanted(&request->report)) {
        request->report.model = options->model;
        request->report.overwrite = options->trace_overwrite;
        options->kept = bench_report_take;
        options->user = &request->report;
    }
    status = bench_measure(options, &result, &err);
    bench_clear_progress();
    reported = bench_report_end(&request->report);
    if (request->report.written && !request->quiet)
        cli_say("%u report%s in %s", request->report.written,
                request->report.written == 1 ? "" : "s", request->report.directory);
    if (status) {
        cli_say("%s", err.message);
        return bench_exit_for(status);
    }
    if (result->interrupted && !bench_result_main(result) && !options->load_only) {
        cli_say("interrupted before anything was measured");
        code = CLI_UNSURE;
    } else {
        code = write_result(request, result);
        code = code ? code : exit_after(request, result);
        code = code ? code : reported;
    }
    bench_result_destroy(result);
    return code;
}

int cmd_bench(int argc, char **argv)
{
    static struct request request; /* too large for the stack */
    bool done = false;
    int code;

    bench_arguments_init(&request.arguments, argc, argv);
    code = parse(argc, argv, &request, &done);
    if (!code && !done)
        code = check_kind(request.arguments.options.model);
    if (!code && !done)
        code = check_output(&request);
    if (!code && !done) {
        say_library(&request);
        if (!request.quiet && !bench_check_model(request.arguments.options.model,
                                                 request.arguments.options.runtime, NULL, NULL))
            bench_say_plan(&request.arguments.options);
        code = measure(&request);
    }
    bench_arguments_fini(&request.arguments);
    return code;
}
