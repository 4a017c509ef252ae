// SPDX-License-Identifier: Apache-2.0
/* inferogram compare: which is faster, and is it certain? */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "bench/compare/compare.h"
#include "cli/bench_options.h"
#include "cli/cli.h"
#include "cli/compare_output.h"

static const char help[] =
    "usage: inferogram compare A.onnx B.onnx ...            models, the baseline first\n"
    "       inferogram compare MODEL --vary KEY=V1,V2,...   settings of one model\n"
    "       inferogram compare --run -- CMD A --- CMD B     commands, in turns\n"
    "       inferogram compare A.json B.json ...            results of `bench --json`\n"
    "\n"
    "Measures in turns and says REGRESSED, IMPROVED, SAME, or UNSURE and how much more would "
    "tell.\n"
    "\n"
    "  --vary KEY=V1,...    threads, opt, ep, config.KEY, ort (libraries), or a key of --set\n"
    "  --run, --measure W   commands; W is wall (default), cpu or json:KEY (a number they print)\n"
    "  --threshold PCT      changes up to this many percent do not matter (default 2)\n"
    "  --alpha A            share of wrong verdicts that is accepted (default 0.05)\n"
    "  --pairs N            pairs of the first look (default 40; of processes 8)\n"
    "  --pairs-max N        of the last look (default 16 times that; of processes 4 times)\n"
    "  --processes N, --max-time T  spread the first look's pairs over (10); stop after (5m)\n"
    "  --min-cosine C       outputs less alike than this are no improvement (default 0.95)\n"
    "  --max-diff X         nor those with an element that is off by more (default: any)\n"
    "  --no-accuracy, --ops, --force  no outputs; operators too; even what is not the same work\n"
    "  --ort PATH, --runtime FILE, --threads N, --opt LEVEL, --policy P, --pin CPU, --patience T\n"
    "  --session-config K=V, --set K=V, --seed N, --batch N, --dim D=N\n"
    "  --shape I:1x3x8x8, --value I=X, --input-data PATH\n"
    "  --json, --csv, --explain, -q, --quiet  for scripts; why a verdict is so; verdicts only\n"
    "  --help               this text\n"
    "\n"
    "Exit status: 0 nothing regressed; 1 something did, or outputs differ; 2 wrong or unreadable "
    "input;\n"
    "3 unsure or interrupted; 4 the baseline, or all else, is not available here.\n";

#define OUTPUT_MAX     (1u << 30)
#define NAME_MAX_BYTES 60u

enum {
    OPTION_VARY = 1,
    OPTION_RUN,
    OPTION_MEASURE,
    OPTION_THRESHOLD,
    OPTION_ALPHA,
    OPTION_PAIRS,
    OPTION_PAIRS_MAX,
    OPTION_PROCESSES,
    OPTION_MAX_TIME,
    OPTION_NO_ACCURACY,
    OPTION_MIN_COSINE,
    OPTION_MAX_DIFF,
    OPTION_OPS,
    OPTION_FORCE,
    OPTION_JSON,
    OPTION_CSV,
    OPTION_EXPLAIN
};

struct request {
    struct bench_arguments arguments;
    struct compare_options compare; /* .bench is filled from arguments at the end */
    struct compare_output output;
    const char *vary;
    bool run;
    enum compare_measure measure;
    const char *key;
    bool measure_given;
    bool json, csv;
    struct compare_command commands[BENCH_VARIANTS_MAX];
    size_t command_count;
    char **rest;
    int rest_count;
};

/* ---- the command line ---- */

static int take_percent(const char *text, double *out)
{
    char *end;

    *out = strtod(text, &end) / 100;
    if (end == text || (*end && strcmp(end, "%") != 0) || !(*out > 0) || *out > 100)
        return cli_usage("compare", "'%s' is not a percentage above 0", text);
    return CLI_YES;
}

static int take_measure(const char *text, struct request *request)
{
    request->measure_given = true;
    if (strcmp(text, "wall") == 0) {
        request->measure = COMPARE_WALL;
    } else if (strcmp(text, "cpu") == 0) {
        request->measure = COMPARE_CPU;
    } else if (strncmp(text, "json:", 5) == 0 && text[5]) {
        request->measure = COMPARE_JSON_KEY;
        request->key = text + 5;
    } else {
        return cli_usage("compare", "'%s' cannot be measured; use wall, cpu or json:KEY", text);
    }
    return CLI_YES;
}

static int take_number(int option, const char *text, struct request *request)
{
    struct compare_options *options = &request->compare;
    uint64_t number = 0;
    char *end;

    switch (option) {
    case OPTION_ALPHA:
        options->alpha = strtod(text, &end);
        if (end == text || *end || !(options->alpha > 0) || !(options->alpha < 0.5))
            return cli_usage("compare", "'%s' is not a share between 0 and 0.5 (--alpha)", text);
        return CLI_YES;
    case OPTION_MAX_TIME:
        if (!cli_parse_seconds(text, &options->max_s) || !(options->max_s > 0))
            return cli_usage("compare", "'%s' is not a time such as 30, 2m or 500ms", text);
        return CLI_YES;
    case OPTION_PROCESSES:
        if (!bench_parse_count(text, 1, 1000, &number))
            return cli_usage("compare", "'%s' is not a number of processes (1 and up)", text);
        options->processes = (uint32_t)number;
        return CLI_YES;
    default:
        if (!bench_parse_count(text, 2, 100000, &number))
            return cli_usage("compare", "'%s' is not a number of pairs (2 and up)", text);
        *(option == OPTION_PAIRS ? &options->pairs : &options->pairs_max) = (uint32_t)number;
        return CLI_YES;
    }
}

static int take_option(int option, char **argv, struct request *request)
{
    switch (option) {
    case OPTION_VARY:
        if (request->vary)
            return cli_usage("compare", "one --vary at a time");
        request->vary = optarg;
        return CLI_YES;
    case OPTION_RUN:
        request->run = true;
        return CLI_YES;
    case OPTION_MEASURE:
        return take_measure(optarg, request);
    case OPTION_THRESHOLD:
        return take_percent(optarg, &request->compare.threshold);
    case OPTION_ALPHA:
    case OPTION_PAIRS:
    case OPTION_PAIRS_MAX:
    case OPTION_PROCESSES:
    case OPTION_MAX_TIME:
        return take_number(option, optarg, request);
    case OPTION_NO_ACCURACY:
        request->compare.accuracy = false;
        return CLI_YES;
    case OPTION_MIN_COSINE:
    case OPTION_MAX_DIFF:
        return bench_take_accuracy("compare", option == OPTION_MIN_COSINE, optarg,
                                   &request->compare.limits);
    case OPTION_OPS:
        request->compare.ops = request->output.ops = true;
        return CLI_YES;
    case OPTION_FORCE:
        request->compare.force = true;
        return CLI_YES;
    case OPTION_JSON:
        request->json = true;
        return CLI_YES;
    case OPTION_CSV:
        request->csv = true;
        return CLI_YES;
    case OPTION_EXPLAIN:
        request->output.explain = true;
        return CLI_YES;
    case 'q':
        request->output.quiet = true;
        return CLI_YES;
    default:
        if (option > BENCH_OPTION_FIRST && option < BENCH_OPTION_LAST)
            return bench_option_take("compare", option, optarg, &request->arguments);
        return cli_bad_option("compare", option, argv);
    }
}

static int parse(int argc, char **argv, struct request *request, bool *out_done)
{
    static const struct option options[] = {
        { "vary", required_argument, NULL, OPTION_VARY },
        { "run", no_argument, NULL, OPTION_RUN },
        { "measure", required_argument, NULL, OPTION_MEASURE },
        { "threshold", required_argument, NULL, OPTION_THRESHOLD },
        { "alpha", required_argument, NULL, OPTION_ALPHA },
        { "pairs", required_argument, NULL, OPTION_PAIRS },
        { "pairs-max", required_argument, NULL, OPTION_PAIRS_MAX },
        { "processes", required_argument, NULL, OPTION_PROCESSES },
        { "max-time", required_argument, NULL, OPTION_MAX_TIME },
        { "no-accuracy", no_argument, NULL, OPTION_NO_ACCURACY },
        { "min-cosine", required_argument, NULL, OPTION_MIN_COSINE },
        { "max-diff", required_argument, NULL, OPTION_MAX_DIFF },
        { "ops", no_argument, NULL, OPTION_OPS },
        { "force", no_argument, NULL, OPTION_FORCE },
        { "json", no_argument, NULL, OPTION_JSON },
        { "csv", no_argument, NULL, OPTION_CSV },
        { "explain", no_argument, NULL, OPTION_EXPLAIN },
        { "quiet", no_argument, NULL, 'q' },
        { "help", no_argument, NULL, 'h' },
        BENCH_COMMON_OPTIONS,
        { NULL, 0, NULL, 0 },
    };
    int option;

    while ((option = getopt_long(argc, argv, ":hq", options, NULL)) != -1) {
        int code;

        if (option == 'h') {
            fputs(help, stdout);
            *out_done = true;
            return CLI_YES;
        }
        code = take_option(option, argv, request);
        if (code)
            return code;
    }
    if (request->json && request->csv)
        return cli_usage("compare", "--json or --csv, not both");
    if (request->compare.pairs_max && request->compare.pairs > request->compare.pairs_max)
        return cli_usage("compare", "--pairs is more than --pairs-max");
    if (request->measure_given && !request->run)
        return cli_usage("compare", "--measure is for commands (--run)");
    request->rest = argv + optind;
    request->rest_count = argc - optind;
    return CLI_YES;
}

/* ---- commands ---- */

static const char *name_command(char *const *argv, size_t number, struct request *request)
{
    char name[NAME_MAX_BYTES + 8];
    size_t used = (size_t)snprintf(name, sizeof name, "%c:", (char)('A' + number % 26));

    for (; *argv && used < NAME_MAX_BYTES; argv++)
        used += (size_t)snprintf(name + used, sizeof name - used, " %s", *argv);
    if (used >= NAME_MAX_BYTES)
        snprintf(name + NAME_MAX_BYTES - 3, 4, "...");
    return bench_keep_text(name, &request->arguments);
}

/* The words between "---" become commands; the separators their ends. */
static int split_commands(struct request *request)
{
    char **words = request->rest;
    int begin = 0;

    for (int i = 0; i <= request->rest_count; i++) {
        struct compare_command *command = &request->commands[request->command_count];

        if (i < request->rest_count && strcmp(words[i], "---") != 0)
            continue;
        if (i == begin)
            return cli_usage("compare", "a command is empty; write: --run -- CMD A --- CMD B");
        if (request->command_count == BENCH_VARIANTS_MAX)
            return cli_usage("compare", "more than %d commands", BENCH_VARIANTS_MAX);
        words[i] = NULL; /* the last one is argv's own end */
        command->argv = words + begin;
        command->name = name_command(command->argv, request->command_count, request);
        if (!command->name)
            return CLI_USAGE;
        request->command_count++;
        begin = i + 1;
    }
    if (request->command_count < 2)
        return cli_usage("compare", "one command only; write: --run -- CMD A --- CMD B");
    return CLI_YES;
}

static enum ifg_status run_commands(struct request *request, struct compare **out,
                                    struct ifg_error *err)
{
    return compare_commands(&request->compare, request->commands, request->command_count,
                            request->measure, request->key, out, err);
}

/* ---- models and settings ---- */

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

/* The file's name, or its path when another has that name, with a number when that is the same. */
static const char *name_path(char *const *paths, int count, int number, struct request *request)
{
    const char *name = last_part(paths[number]);
    int same_path = 0;
    char numbered[1024];

    for (int i = 0; i < number; i++)
        same_path += strcmp(paths[i], paths[number]) == 0;
    if (same_path) {
        snprintf(numbered, sizeof numbered, "%.1000s (%d)", name, same_path + 1);
        return bench_keep_text(numbered, &request->arguments);
    }
    for (int i = 0; i < count; i++)
        if (strcmp(last_part(paths[i]), name) == 0 && strcmp(paths[i], paths[number]) != 0)
            return paths[number];
    return name;
}

static int take_models(struct request *request)
{
    for (int i = 0; i < request->rest_count; i++) {
        const char *name = name_path(request->rest, request->rest_count, i, request);
        struct bench_variant *variant =
            name ? bench_add_variant("compare", name, &request->arguments) : NULL;

        if (!variant)
            return CLI_USAGE;
        variant->model = request->rest[i];
    }
    request->arguments.options.model = request->rest[0];
    return CLI_YES;
}

static int take_vary(struct request *request)
{
    char *text = (char *)bench_keep_text(request->vary, &request->arguments);
    char *values = text ? strchr(text, '=') : NULL;
    const char *separator;
    char name[512];

    if (!text)
        return CLI_USAGE;
    if (!values || values == text || !values[1])
        return cli_usage("compare", "'%s' is not of the form KEY=V1,V2 (--vary)", request->vary);
    *values++ = '\0';
    if (strcmp(text, "batch") == 0)
        return cli_usage("compare", "another batch is other work; use `bench --batch` for each");
    separator = strchr(values, ';') ? ";" : ",";
    while (values) {
        char *value = strsep(&values, separator);
        struct bench_variant *variant;
        const char *kept;

        if (!*value)
            return cli_usage("compare", "--vary %s has an empty value", text);
        snprintf(name, sizeof name, "%s=%s", text, value);
        kept = bench_keep_text(name, &request->arguments);
        variant = kept ? bench_add_variant("compare", kept, &request->arguments) : NULL;
        if (!variant)
            return CLI_USAGE;
        variant->settings[0].key = text;
        variant->settings[0].value = value;
        variant->setting_count = 1;
    }
    if (request->arguments.options.variant_count < 2)
        return cli_usage("compare", "--vary needs two values or more: %s=V1,V2", text);
    request->arguments.options.model = request->rest[0];
    return CLI_YES;
}

/* ---- result files ---- */

static enum ifg_status compare_files(struct request *request, struct compare **out,
                                     struct ifg_error *err)
{
    size_t count = (size_t)request->rest_count;
    struct bench_result **results = ifg_alloc(count, sizeof *results);
    const char **names = ifg_alloc(count, sizeof *names);
    enum ifg_status status = IFG_OK;

    if (!results || !names)
        status = ifg_fail(err, IFG_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < count && !status; i++) {
        names[i] = name_path(request->rest, request->rest_count, (int)i, request);
        if (!names[i])
            status = ifg_fail(err, IFG_NO_MEMORY, "out of memory");
        else
            status = bench_result_read(request->rest[i], &results[i], err);
    }
    if (!status)
        status = compare_results(&request->compare, results, names, count, out, err);
    for (size_t i = 0; i < count && results; i++)
        bench_result_destroy(results[i]);
    ifg_free(results);
    ifg_free(names);
    return status;
}

/* ---- together ---- */

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text);

    return length >= strlen(end) && strcmp(text + length - strlen(end), end) == 0;
}

static bool all_json(const struct request *request)
{
    for (int i = 0; i < request->rest_count; i++)
        if (!ends_with(request->rest[i], ".json"))
            return false;
    return request->rest_count > 0;
}

static int check_words(struct request *request)
{
    if (request->run)
        return request->vary ? cli_usage("compare", "--vary is for models, not for --run")
                             : split_commands(request);
    if (request->rest_count == 0)
        return cli_usage("compare", "what with what? Give models, results, or --run -- CMD A --- "
                                    "CMD B");
    if (request->vary)
        return request->rest_count == 1
                   ? take_vary(request)
                   : cli_usage("compare", "--vary takes one model; '%s' is too many",
                               request->rest[1]);
    if (request->rest_count == 1)
        return cli_usage("compare", "'%s' with what? Give another one, or --vary KEY=V1,V2",
                         request->rest[0]);
    if (request->rest_count > BENCH_VARIANTS_MAX)
        return cli_usage("compare", "more than %d at once", BENCH_VARIANTS_MAX);
    return all_json(request) ? CLI_YES : take_models(request);
}

static int exit_for(const struct compare *compare)
{
    size_t counts[SAMPLES_UNSURE + 1] = { 0 };
    size_t available = 0, differ = 0;

    for (size_t i = 1; i < compare->row_count; i++) {
        if (!compare->rows[i].available)
            continue;
        available++;
        differ += compare->rows[i].outputs_differ;
        counts[compare->rows[i].verdict]++;
    }
    if (compare->interrupted)
        return CLI_UNSURE;
    if (!available || !compare->rows[0].available)
        return CLI_LACKS;
    if (counts[SAMPLES_REGRESSED] || differ)
        return CLI_NO;
    return counts[SAMPLES_SAME] || counts[SAMPLES_IMPROVED] ? CLI_YES : CLI_UNSURE;
}

/* 1 is "something regressed" and nothing else. */
static int exit_for_failure(enum ifg_status status)
{
    int code = bench_exit_for(status);

    return code == CLI_NO ? CLI_LACKS : code;
}

static int write_out(const struct request *request, const struct compare *compare)
{
    struct ifg_bytes out;
    int code = CLI_YES;

    ifg_bytes_init(&out, OUTPUT_MAX);
    if (request->json)
        compare_write_json(compare, &request->output, &out);
    else if (request->csv)
        compare_write_csv(compare, &out);
    else
        compare_write_text(compare, &request->output, &out);
    if (cli_write_out(&out))
        code = CLI_USAGE;
    ifg_bytes_fini(&out);
    return code;
}

/* Minutes must not pass unannounced. */
static void say_plan(const struct request *request)
{
    size_t sides = request->run ? request->command_count : request->arguments.options.variant_count;
    struct compare_plan plan;
    char most[32];

    if (request->output.quiet)
        return;
    compare_make_plan(&request->compare,
                      request->run || compare_needs_turns(&request->arguments.options), &plan);
    bench_seconds_text(plan.max_s, most);
    if (!plan.turns)
        cli_say("plan: %u process%s with all %zu in turn, and more if that is not certain; at most "
                "%s (--max-time)",
                plan.processes, plan.processes == 1 ? "" : "es", sides, most);
    else if (plan.processes_most > plan.processes)
        cli_say("plan: %u %s of each of %zu in turn, up to %u if that is not certain; at most %s "
                "(--max-time)",
                plan.processes, request->run ? "runs" : "processes", sides, plan.processes_most,
                most);
    else
        cli_say("plan: %u %s of each of %zu in turn; at most %s (--max-time)", plan.processes,
                request->run ? "runs" : "processes", sides, most);
}

static int compare_and_tell(struct request *request)
{
    struct bench_options *bench = &request->arguments.options;
    struct compare *compare = NULL;
    struct ifg_error err = { 0 };
    enum ifg_status status;
    int code;

    bench_catch_interrupt(&request->arguments);
    if (!request->output.quiet)
        bench->progress = bench_show_progress;
    request->compare.bench = *bench;
    request->output.command_line = bench->command_line;
    request->output.tool_version = bench->tool_version;
    if (request->run || !all_json(request) || request->vary)
        say_plan(request);
    if (request->run)
        status = run_commands(request, &compare, &err);
    else if (all_json(request) && !request->vary)
        status = compare_files(request, &compare, &err);
    else
        status = compare_models(&request->compare, &compare, &err);
    bench_clear_progress();
    if (status) {
        cli_say("%s", err.message);
        return exit_for_failure(status);
    }
    request->output.code = exit_for(compare);
    code = write_out(request, compare);
    if (!code)
        code = request->output.code;
    compare_destroy(compare);
    return code;
}

int cmd_compare(int argc, char **argv)
{
    struct request *request = ifg_alloc(1, sizeof *request);
    bool done = false;
    int code;

    if (!request) {
        cli_say("out of memory");
        return CLI_LACKS;
    }
    compare_options_init(&request->compare);
    bench_arguments_init(&request->arguments, argc, argv);
    code = parse(argc, argv, request, &done);
    if (!code && !done)
        code = check_words(request);
    if (!code && !done)
        code = compare_and_tell(request);
    bench_arguments_fini(&request->arguments);
    ifg_free(request);
    return code;
}
