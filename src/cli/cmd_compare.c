// SPDX-License-Identifier: Apache-2.0
/* inferogram compare: which is faster, and is it certain? */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "bench/compare/compare.h"
#include "bench/gate/gate.h"
#include "cli/bench_options.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/compare_output.h"

#define OUTPUT_MAX     (1u << 30)
#define NAME_MAX_BYTES 60u

struct request {
    struct bench_arguments arguments;
    struct compare_options compare; /* .bench is filled from arguments at the end */
    struct compare_output output;
    const char *vary;
    bool run;
    struct bench_metric metric;
    bool metric_given;
    bool json;
    bool csv;
    bool markdown;
    bool command_given;
    const char *file;
    struct compare_command commands[BENCH_VARIANTS_MAX];
    size_t command_count;
    char **rest;
    int rest_count;
};

/* ---- the command line ---- */

static int take_vary_text(const struct option_use *use, void *user)
{
    struct request *request = user;

    if (request->vary)
        return cli_usage("compare", "one --vary at a time");
    request->vary = use->value;
    return CLI_YES;
}

static int take_metric(const struct option_use *use, void *user)
{
    struct request *request = user;

    if (!bench_parse_metric(use->value, &request->metric))
        return options_bad_value(use, "wall, cpu or json:KEY");
    return CLI_YES;
}

static const char *const metrics[] = { "wall", "cpu", "json:", NULL };

#define AT(member) IFG_AT(struct request, member)

static const struct option_row option_rows[] = {
    { .kind = OPTION_HEADING, .help = "What" },
    { "vary", 0, "KEY=V1,V2...", "threads, opt, ep, config.KEY, ort, a key of --set", OPTION_CALL,
      .take = take_vary_text },
    { "run", 0, NULL, "compare commands", OPTION_FLAG, AT(run) },
    { "measure", 0, "W", "of commands: wall, cpu or json:KEY [wall]", OPTION_CALL,
      IFG_GIVEN(struct request, metric_given), .choices = metrics, .take = take_metric },
    { "prepare", 0, "CMD", "run this in a shell before each run of a command", OPTION_TEXT,
      AT(compare.prepare), IFG_GIVEN(struct request, command_given) },
    { "warmup", 0, "N", "runs of each command that do not count [1]", OPTION_COUNT,
      AT(compare.warmups), IFG_GIVEN(struct request, command_given), .most = 1000 },
    { "ops", 0, NULL, "also compare operators", OPTION_FLAG, AT(compare.ops) },
    { "force", 0, NULL, "compare even if the work differs", OPTION_FLAG, AT(compare.force) },
    { .kind = OPTION_HEADING, .help = "How certain" },
    { "threshold", 0, "PCT", "ignore changes up to this many percent [2]", OPTION_PERCENT,
      AT(compare.threshold) },
    { "alpha", 0, "A", "accepted rate of wrong verdicts [0.05]", OPTION_NUMBER, AT(compare.alpha),
      .most = 0.499999999, .what = "a share between 0 and 0.5" },
    { "pairs", 0, "N", "pairs before the first decision [40; of processes 8]", OPTION_COUNT,
      AT(compare.pairs), .least = 2, .most = 100000, .what = "a number of pairs (2 and up)" },
    { "pairs-max", 0, "N", "most pairs [16 times --pairs; of processes 4]", OPTION_COUNT,
      AT(compare.pairs_max), .least = 2, .most = 100000, .what = "a number of pairs (2 and up)" },
    { "processes", 0, "N", "spread the first pairs over N processes [10]", OPTION_COUNT,
      AT(compare.processes), .least = 1, .most = 1000 },
    { "max-time", 0, "T", "stop after this long [5m]", OPTION_SECONDS, AT(compare.max_s) },
    { .kind = OPTION_HEADING, .help = "Outputs of the models" },
    BENCH_ACCURACY_ROWS(struct request, compare.limits),
    { "no-accuracy", 0, NULL, "do not compare outputs", OPTION_OFF, AT(compare.accuracy) },
    { 0 },
};

static const struct option_row output_rows[] = {
    { .kind = OPTION_HEADING, .help = "Output" },
    { "json", 0, NULL, "print JSON, described in docs/json.md", OPTION_FLAG, AT(json) },
    { "csv", 0, NULL, "print CSV", OPTION_FLAG, AT(csv) },
    { "markdown", 0, NULL, "print a Markdown table", OPTION_FLAG, AT(markdown) },
    { "output", 'o', "FILE", "write to FILE instead of stdout", OPTION_PATH, AT(file) },
    { "explain", 0, NULL, "explain each verdict", OPTION_FLAG, AT(output.explain) },
    { "quiet", 'q', NULL, "print verdicts only", OPTION_FLAG, AT(output.quiet) },
    { 0 },
};

#undef AT

static int check(struct request *request, const struct option_words *words)
{
    if (request->json + request->csv + request->markdown > 1)
        return cli_usage("compare", "--json, --csv and --markdown exclude each other");
    if (request->command_given && !request->run)
        return cli_usage("compare", "--prepare and --warmup are for commands (--run)");
    if (request->compare.pairs_max && request->compare.pairs > request->compare.pairs_max)
        return cli_usage("compare", "--pairs is more than --pairs-max");
    if (request->metric_given && !request->run)
        return cli_usage("compare", "--measure is for commands (--run)");
    request->output.ops = request->compare.ops;
    request->rest = words->items;
    request->rest_count = (int)words->count;
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
                            request->metric.measure, request->metric.key, out, err);
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
        status = ifg_fail_no_memory(err, NULL);
    for (size_t i = 0; i < count && !status; i++) {
        names[i] = name_path(request->rest, request->rest_count, (int)i, request);
        if (!names[i])
            status = ifg_fail_no_memory(err, NULL);
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
    size_t counts[STATISTICS_UNSURE + 1] = { 0 };
    size_t available = 0;
    size_t differ = 0;

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
    if (counts[STATISTICS_REGRESSED] || differ)
        return CLI_NO;
    return counts[STATISTICS_SAME] || counts[STATISTICS_IMPROVED] ? CLI_YES : CLI_UNSURE;
}

/* 1 is "something regressed" and nothing else. */
static int exit_for_failure(enum ifg_status status)
{
    int code = bench_exit_for(status);

    return code == CLI_NO ? CLI_LACKS : code;
}

static int write_out(const struct request *request, const struct compare *compare)
{
    struct ifg_error err = { 0 };
    struct ifg_bytes out;
    int code = CLI_YES;

    ifg_bytes_init(&out, OUTPUT_MAX);
    if (request->json)
        compare_write_json(compare, &request->output, &out);
    else if (request->csv)
        compare_write_csv(compare, &out);
    else if (request->markdown)
        compare_write_markdown(compare, &out);
    else
        compare_write_text(compare, &request->output, &out);
    if (request->file && !out.failed) {
        if (gate_write_file(request->file, out.data, out.size, &err)) {
            cli_say("%s", err.message);
            code = CLI_USAGE;
        }
    } else if (cli_write_out(&out)) {
        code = CLI_USAGE;
    }
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
        cli_say("plan: %u process%s with all %zu interleaved, and more if that is not certain; at "
                "most %s (--max-time)",
                plan.processes, plan.processes == 1 ? "" : "es", sides, most);
    else if (plan.processes_most > plan.processes)
        cli_say("plan: %u %s of each of %zu, interleaved, up to %u if that is not certain; at most "
                "%s (--max-time)",
                plan.processes, request->run ? "runs" : "processes", sides, plan.processes_most,
                most);
    else
        cli_say("plan: %u %s of each of %zu, interleaved; at most %s (--max-time)", plan.processes,
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
    bench->user = &request->arguments;
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
    bench_clear_progress(&request->arguments);
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

static int run(int argc, char **argv)
{
    struct request *request = ifg_alloc(1, sizeof *request);
    struct option_words words;
    int code;

    if (!request) {
        cli_say("not enough memory");
        return CLI_LACKS;
    }
    compare_options_init(&request->compare);
    bench_arguments_init(&request->arguments, argc, argv);
    code = options_parse(&compare_command, argc, argv, request, &words);
    if (!code)
        code = check(request, &words);
    if (!code)
        code = check_words(request);
    if (!code)
        code = compare_and_tell(request);
    bench_arguments_fini(&request->arguments);
    ifg_free(request);
    return code;
}

const struct cli_command compare_command = {
    .name = "compare",
    .summary = "find out which model, setting, library or command is faster",
    .usage = "A.onnx B.onnx ...            models, the baseline first\n"
             "MODEL --vary KEY=V1,V2,...   settings of one model\n"
             "--run -- CMD A --- CMD B     commands, interleaved\n"
             "A.json B.json ...            results of `bench --json`",
    .about = "Measures interleaved and reports REGRESSED, IMPROVED, SAME, or UNSURE with the "
             "number of measurements that would decide.",
    .tables = { option_rows, bench_rows, output_rows },
    .examples = "inferogram compare old.onnx new.onnx\n"
                "inferogram compare model.onnx --vary threads=1,2,4\n"
                "inferogram compare --run -- ./old --- ./new",
    .exits = "0 nothing regressed, 1 a regression or different outputs, 2 usage error or "
             "unreadable input, 3 inconclusive or interrupted, 4 the baseline, or everything "
             "else, is not available here",
    .operands = OPERANDS_MODELS,
    .run = run,
};
