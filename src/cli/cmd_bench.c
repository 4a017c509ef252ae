// SPDX-License-Identifier: Apache-2.0
/* inferogram bench: how long a model takes, how certain that is, and whether to trust it. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "bench/runner/find_ort.h"
#include "cli/bench_options.h"
#include "cli/bench_report.h"
#include "cli/bench_text.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/html_file.h"
#include "export/sink.h"
#include "runtimes/runtimes.h"

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
    uint32_t percentile; /* the rule: linear, nearest */
    const char *output;
    const char *html;
    struct bench_report report;
    char *threads[THREADS_MAX]; /* a row for each */
    size_t thread_count;
    double duration_s;
    bool iterations_given;
    bool require;
    bool live;
    bool quiet;
};

/* ---- the command line ---- */

static int take_threads(const struct option_use *use, void *user)
{
    struct request *request = user;
    char *rest = use->value;

    if (!strchr(rest, ','))
        return bench_take_threads(use, &request->arguments);
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

static int take_warmup(const struct option_use *use, void *user)
{
    struct request *request = user;
    uint64_t number;

    if (strcmp(use->value, "auto") == 0) {
        request->arguments.options.warmup = -1;
        return CLI_YES;
    }
    if (!bench_parse_count(use->value, 0, ITERATIONS_MAX, &number))
        return options_bad_value(use, "a number of warm-up iterations, nor 'auto'");
    request->arguments.options.warmup = (int64_t)number;
    return CLI_YES;
}

static int take_report_rate(const struct option_use *use, void *user)
{
    struct request *request = user;

    if (!bench_report_parse_rate(use->value, &request->report.rate_ms))
        return options_bad_value(use, "a time (50 and up, in ms, or 2s)");
    return CLI_YES;
}

static const char *const scenarios[] = { "single", "multi", "server", "offline", NULL };
static const char *const rules[] = { "linear", "nearest", NULL };

#define AT(member)        IFG_AT(struct request, member)
#define AT_OPTION(member) IFG_AT(struct request, arguments.options.member)

static const struct option_row measuring_rows[] = {
    { .kind = OPTION_HEADING, .help = "How much" },
    { "iterations", 'n', "N", "inferences in each process [100]", OPTION_COUNT,
      AT_OPTION(iterations), IFG_GIVEN(struct request, iterations_given), .least = 1,
      .most = ITERATIONS_MAX },
    { "duration", 0, "T", "measure this long in total, instead of N inferences", OPTION_SECONDS,
      AT(duration_s) },
    { "processes", 0, "N", "measure in this many fresh processes [5]", OPTION_COUNT,
      AT_OPTION(processes), .least = 1, .most = PROCESSES_MAX },
    { "warmup", 'w', "N", "warm-up inferences; auto: until steady [auto]", OPTION_CALL,
      .take = take_warmup },
    { "warmup-max", 0, "T", "limit an automatic warm-up [10s]", OPTION_SECONDS,
      AT_OPTION(warmup_max_s), .zero = true },
    { "start-iter", 0, "N", "leave out the first N iterations of a process [0]", OPTION_COUNT,
      AT_OPTION(start_iter), .most = ITERATIONS_MAX },
    { "start-delay", 0, "T", "leave out iterations that start earlier than this [0]",
      OPTION_SECONDS, AT_OPTION(start_delay_s), .zero = true },
    { "samples", 0, "N", "keep at most N iterations of a process [all]", OPTION_COUNT,
      AT_OPTION(keep), .least = 1, .most = ITERATIONS_MAX },
    { "load-only", 0, NULL, "load the model and run no inference", OPTION_FLAG,
      AT_OPTION(load_only) },
    { .kind = OPTION_HEADING, .help = "One row for each" },
    { "threads", 0, "N[,N...]", "numbers of intra-op threads", OPTION_CALL, .take = take_threads },
    { "ep", 0, "LIST", "execution providers: cpu,cuda", OPTION_CALL, .take = bench_take_providers },
    { "ep-sets", 0, "LIST", "sets of providers: 'all;cpu+npu;cpu'", OPTION_CALL,
      .take = bench_take_provider_sets },
    { "require", 0, NULL, "fail if a row cannot be measured", OPTION_FLAG, AT(require) },
    { .kind = OPTION_HEADING, .help = "Load" },
    { "scenario", 0, "S", "{} [single]", OPTION_CHOICE, AT_OPTION(scenario), .choices = scenarios },
    { "concurrency", 0, "N", "workers [1; server, offline: one per CPU]", OPTION_COUNT,
      AT_OPTION(concurrency), .least = 1, .most = WORKERS_MAX },
    { "per-query", 0, "N", "multi: inferences per query [8]", OPTION_COUNT, AT_OPTION(per_query),
      .least = 1, .most = ITERATIONS_MAX },
    { "rate", 0, "R", "server: queries per second", OPTION_NUMBER, AT_OPTION(rate_hz), .most = 1e7,
      .suffix = "/s", .what = "a rate (queries per second: --rate 50)" },
    { "slo", 0, "T", "target latency", OPTION_SECONDS, AT_OPTION(slo_ms), .scale = 1e3 },
    { "find-rate", 0, NULL, "server: find the highest rate that meets --slo", OPTION_FLAG,
      AT_OPTION(find_rate) },
    { 0 },
};

static const struct option_row output_rows[] = {
    { .kind = OPTION_HEADING, .help = "Output" },
    { "json", 0, NULL, "print JSON, described in docs/json.md", OPTION_SET, AT(format),
      .value = FORMAT_JSON },
    { "csv", 0, NULL, "print CSV", OPTION_SET, AT(format), .value = FORMAT_CSV },
    { "winml-json", 0, NULL, "print JSON as WinMLRunner does", OPTION_SET, AT(format),
      .value = FORMAT_WINML },
    { "output", 'o', "FILE", "write the JSON to FILE as well", OPTION_PATH, AT(output),
      .files = "*.json" },
    { "html", 0, "FILE", "also write one HTML file; - for stdout", OPTION_PATH, AT(html),
      .files = "*.html" },
    { "percentile", 0, "RULE", "{} [linear]", OPTION_CHOICE, AT(percentile), .choices = rules },
    { "ops", 0, "N", "also record the operators of N inferences [50]", OPTION_COUNT, AT_OPTION(ops),
      .optional = true, .value = OPS_DEFAULT, .least = 1, .most = OPS_MAX },
    { "trace", 0, "FILE", "also write a trace", OPTION_PATH, AT_OPTION(trace), .files = "*.ifg" },
    { "force", 'f', NULL, "replace files that exist", OPTION_FLAG, AT_OPTION(trace_overwrite) },
    { "live", 0, NULL, "print a line every second", OPTION_FLAG, AT(live) },
    { "quiet", 'q', NULL, "print no plan and no progress", OPTION_FLAG, AT(quiet) },
    { .kind = OPTION_HEADING, .help = "Reports of single inferences" },
    { "type", 0, "TYPE", "{}; repeatable [latency]", OPTION_LIST, AT(report.types),
      .choices = bench_report_types },
    { "sampling", 0, "S", "{} [full]", OPTION_CHOICE, AT(report.sampling), .value = 1,
      .choices = bench_report_samplings },
    { "report-rate", 0, "MS", "write a report at this interval [one at the end]", OPTION_CALL,
      .take = take_report_rate },
    { "report-dir", 0, "DIR", "write reports here [.]", OPTION_PATH, AT(report.directory),
      .files = "/" },
    { 0 },
};

#undef AT
#undef AT_OPTION

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
    options->nearest = request->percentile != 0;
    return multiply_rows(request);
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
        cli_say("%s is %s (%s)", runtime_ort.name, found.path, found.from);
}

static void show_live(const struct bench_live *live, void *user)
{
    char count[32];
    char p50[32];
    char p99[32];
    char max[32];

    bench_clear_progress(user);
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
    size_t measured = 0;
    size_t lacking = 0;
    size_t failed = 0;

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

static void take_batch(const struct bench_batch *batch, void *user)
{
    struct request *request = user; /* the arguments come first in it */

    bench_report_take(batch, &request->report);
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
    options->user = &request->arguments;
    request->report.arguments = &request->arguments;
    options->progress = request->quiet ? NULL : bench_show_progress;
    options->live = request->live ? show_live : NULL;
    if (bench_report_wanted(&request->report)) {
        request->report.model = options->model;
        request->report.overwrite = options->trace_overwrite;
        options->kept = take_batch;
    }
    status = bench_measure(options, &result, &err);
    bench_clear_progress(&request->arguments);
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

static int bench(struct request *request, int argc, char **argv)
{
    struct bench_options *options = &request->arguments.options;
    struct option_words words;
    int code = options_parse(&bench_command, argc, argv, request, &words);

    if (!code)
        code = options_one_word(&bench_command, &words, "which model? Give a file",
                                "one model at a time, and 'inferogram compare' for two",
                                &options->model);
    if (!code)
        code = check(request);
    if (!code)
        code = check_kind(options->model);
    if (!code)
        code = check_output(request);
    if (code)
        return code;
    say_library(request);
    if (!request->quiet && !bench_check_model(options->model, options->runtime, NULL, NULL))
        bench_say_plan(options);
    return measure(request);
}

static int run(int argc, char **argv)
{
    struct request *request = ifg_alloc(1, sizeof *request);
    int code;

    if (!request) {
        cli_say("not enough memory");
        return CLI_NO;
    }
    bench_arguments_init(&request->arguments, argc, argv);
    code = bench(request, argc, argv);
    bench_arguments_fini(&request->arguments);
    ifg_free(request);
    return code;
}

const struct cli_command bench_command = {
    .name = "bench",
    .summary = "measure how long a model takes, with confidence intervals",
    .usage = "MODEL [OPTIONS]",
    .about = "Runs a model and reports how long it takes, with confidence intervals, and whether "
             "this machine is quiet enough to trust the result. inferogram-bench(1) explains "
             "everything.",
    .tables = { measuring_rows, bench_rows, output_rows },
    .examples = "inferogram bench model.onnx\n"
                "inferogram bench model.onnx --threads 1,2,4 --ep cpu,cuda\n"
                "inferogram bench model.onnx --scenario server --find-rate --slo 20ms",
    .exits = "0 measured, 1 the model cannot be run, 2 usage error or unreadable input, 3 "
             "interrupted, 4 the runtime or the execution provider is missing",
    .operands = OPERANDS_MODELS,
    .run = run,
};
