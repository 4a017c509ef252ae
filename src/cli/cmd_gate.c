// SPDX-License-Identifier: Apache-2.0
/* inferogram gate: pass or fail, for CI. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "bench/gate/gate_run.h"
#include "cli/bench_options.h"
#include "cli/gate_output.h"

#define OUTPUT_MAX (1u << 28)

struct outputs {
    bool json;
    bool github;
    bool explain;
    const char *junit;
    const char *markdown;
};

struct command {
    struct bench_arguments arguments; /* first: the rows of bench go there */
    struct gate_request request;
    struct gate_report report;
    struct outputs outputs;
    /* Budgets are read when it is known whether they are of a trace. */
    struct {
        const char *text;
        bool at_least;
    } budgets[GATE_BUDGETS_MAX];
    size_t budget_count;
    bool run;
    char subject[300];
    char against[300];
};

/* ---- options ---- */

static int take_on_unsure(const struct option_use *use, void *user)
{
    struct command *command = user;
    uint64_t number;
    size_t index;

    if (strncmp(use->value, "retry:", strlen("retry:")) == 0) {
        if (!bench_parse_count(use->value + strlen("retry:"), 1, GATE_RETRIES_MAX, &number))
            return cli_usage("gate", "'%s' is not retry:N with N from 1 to %d (--on-unsure)",
                             use->value, GATE_RETRIES_MAX);
        command->request.plan.unsure = (uint32_t)number;
        return CLI_YES;
    }
    if (options_take_choice(use, &index) || index > GATE_UNSURE_WARNS)
        return CLI_USAGE;
    command->request.on_unsure = (enum gate_on_unsure)index;
    return CLI_YES;
}

static int take_metric(const struct option_use *use, void *user)
{
    struct command *command = user;
    struct bench_metric metric;

    if (!bench_parse_metric(use->value, &metric))
        return options_bad_value(use, "wall, cpu or json:KEY");
    command->request.measure = metric.measure;
    command->request.measure_key = metric.key;
    return CLI_YES;
}

static int take_budget(const struct option_use *use, void *user)
{
    struct command *command = user;

    if (command->budget_count == GATE_BUDGETS_MAX)
        return cli_usage("gate", "more than %d budgets", GATE_BUDGETS_MAX);
    command->budgets[command->budget_count].text = use->value;
    command->budgets[command->budget_count++].at_least = strcmp(use->row->name, "min") == 0;
    return CLI_YES;
}

static const char *const metrics[] = { "wall", "cpu", "json:", NULL };
static const char *const unsure[] = {
    [GATE_UNSURE_STAYS] = "unsure",     [GATE_UNSURE_PASSES] = "pass",
    [GATE_UNSURE_FAILS] = "fail",       [GATE_UNSURE_WARNS] = "warn",
    [GATE_UNSURE_WARNS + 1] = "retry:", [GATE_UNSURE_WARNS + 2] = NULL,
};

#define AT(member)        IFG_AT(struct command, request.member)
#define AT_OPTION(member) IFG_AT(struct command, arguments.options.member)
#define MEASURING         IFG_GIVEN(struct command, arguments.given)

static const struct option_row judging_rows[] = {
    { .kind = OPTION_HEADING, .help = "What to judge" },
    { "result", 0, "FILE", "judge a result of `bench --json`, without measuring", OPTION_PATH,
      AT(result), .files = "*.json" },
    { "trace", 0, "FILE", "judge a trace of `record`, without measuring", OPTION_PATH, AT(trace),
      .files = "*.ifg" },
    { "run", 0, NULL, "judge commands, measured interleaved", OPTION_FLAG,
      IFG_AT(struct command, run) },
    { "measure", 0, "W", "of commands: wall, cpu or json:KEY [wall]", OPTION_CALL,
      .choices = metrics, .take = take_metric },
    { "row", 0, "NAME", "judge this row of the result [the first measured one]", OPTION_TEXT,
      AT(row) },
    { .kind = OPTION_HEADING, .help = "Criteria" },
    { "max", 0, "M=V", "upper limit: --max p99=50ms --max peak_rss=500MB", OPTION_CALL,
      .take = take_budget },
    { "min", 0, "M=V", "lower limit of a metric: --min fps=30", OPTION_CALL, .take = take_budget },
    { "against", 0, "BASE", "no slower than this model (recommended)", OPTION_PATH, AT(against),
      .files = "*.onnx" },
    { "baseline", 0, "FILE", "no slower than an earlier result", OPTION_PATH, AT(baseline),
      .files = "*.json" },
    { "update-baseline", 0, NULL, "write the baseline after a pass", OPTION_FLAG,
      AT(update_baseline) },
    { "force", 0, NULL, "compare even if the work differs", OPTION_FLAG, AT(force) },
    { "threshold", 0, "PCT", "allowed slowdown [2; earlier results 10]", OPTION_PERCENT,
      AT(threshold) },
    { "slo", 0, "T", "target latency of goodput [the result's]", OPTION_SECONDS, AT(slo_ms),
      .scale = 1e3 },
    { "min-cosine", 0, "C", "fail on outputs less similar than this [0.95]", OPTION_NUMBER,
      AT(limits.min_cosine), IFG_GIVEN(struct command, request.limits_given), .zero = true,
      .least = -1, .most = 1, .what = "a cosine from -1 to 1" },
    { "max-diff", 0, "X", "fail on outputs with an element off by more [any]", OPTION_NUMBER,
      AT(limits.max_abs), IFG_GIVEN(struct command, request.limits_given), .zero = true,
      .what = "a difference of 0 or more" },
    { "no-accuracy", 0, NULL, "do not compare outputs", OPTION_FLAG, AT(no_accuracy) },
    { "history", 0, "DIR", "keep every result here and detect slow drift", OPTION_PATH, AT(history),
      .files = "/" },
    { "drift", 0, "PCT", "report drift beyond this many percent [2]", OPTION_PERCENT, AT(drift) },
    { "fail-on-drift", 0, NULL, "fail on drift", OPTION_FLAG, AT(fail_on_drift) },
    { .kind = OPTION_HEADING, .help = "Inconclusive results" },
    { "on-unsure", 0, "W", "unsure (status 3), warn, pass, fail or retry:N [unsure]", OPTION_CALL,
      .choices = unsure, .take = take_on_unsure },
    { "retries", 0, "N", "measure failed and unsure metrics again [2]", OPTION_COUNT,
      AT(plan.retries), MEASURING, .most = GATE_RETRIES_MAX },
    { "max-time", 0, "T", "measure for at most this long [5m]", OPTION_SECONDS, AT(max_s),
      MEASURING },
    { "allow-noisy", 0, NULL, "judge even on a noisy machine", OPTION_FLAG, AT(allow_noisy) },
    { 0 },
};

static const struct option_row measuring_rows[] = {
    { .kind = OPTION_HEADING, .help = "How much to measure" },
    { "iterations", 'n', "N", "inferences of each process", OPTION_COUNT, AT_OPTION(iterations),
      IFG_GIVEN(struct command, request.iterations_given), .least = 1, .most = 100000000 },
    { "duration", 0, "T", "measure each process this long, instead of N inferences", OPTION_SECONDS,
      AT_OPTION(duration_s), IFG_GIVEN(struct command, request.iterations_given) },
    { "processes", 0, "N", "measure in this many fresh processes", OPTION_COUNT,
      AT_OPTION(processes), MEASURING, .least = 1, .most = 1000 },
    { "pairs", 0, "N", "interleaved: pairs before the first decision", OPTION_COUNT, AT(pairs),
      MEASURING, .least = 2, .most = 100000 },
    { "warmup", 'w', "N", "warm-up inferences [until times are steady]", OPTION_COUNT,
      AT_OPTION(warmup), MEASURING, .most = 100000000 },
    { "warmup-max", 0, "T", "limit an automatic warm-up [10s]", OPTION_SECONDS,
      AT_OPTION(warmup_max_s), MEASURING },
    { "ep", 0, "LIST", "execution providers: cpu,cuda", OPTION_CALL, MEASURING,
      .take = bench_take_providers },
    { 0 },
};

static const struct option_row output_rows[] = {
    { .kind = OPTION_HEADING, .help = "Output" },
    { "json", 0, NULL, "print JSON, described in docs/json.md", OPTION_FLAG,
      IFG_AT(struct command, outputs.json) },
    { "junit", 0, "FILE", "write JUnit XML; '-' for stdout", OPTION_PATH,
      IFG_AT(struct command, outputs.junit), .files = "*.xml" },
    { "markdown", 0, "FILE", "write Markdown; '-' for stdout", OPTION_PATH,
      IFG_AT(struct command, outputs.markdown), .files = "*.md" },
    { "github", 0, NULL, "annotate the job [if GITHUB_ACTIONS is true]", OPTION_FLAG,
      IFG_AT(struct command, outputs.github) },
    { "explain", 0, NULL, "explain each verdict", OPTION_FLAG,
      IFG_AT(struct command, outputs.explain) },
    { 0 },
};

#undef AT
#undef AT_OPTION
#undef MEASURING

/* ---- what is what ---- */

/* "CMD --- BASE_CMD", or one command if --against has the other. */
static int take_commands(char **words, struct command *command)
{
    struct gate_request *request = &command->request;
    char **separator = words;

    while (*separator && strcmp(*separator, "---") != 0)
        separator++;
    if (*separator) {
        if (request->against)
            return cli_usage("gate", "--against or --- BASE_CMD, not both");
        *separator = NULL;
        request->base_command = separator + 1;
    }
    if (!words[0] || (request->base_command && !request->base_command[0]))
        return cli_usage("gate", "a command is empty; write: --run -- CMD --- BASE_CMD");
    if (!request->base_command && !request->against)
        return cli_usage("gate",
                         "%s against what? Write: -- CMD --- BASE_CMD, or --against "
                         "'BASE_CMD' -- CMD",
                         words[0]);
    request->command = words;
    return CLI_YES;
}

static void join_words(char **words, char *out, size_t size)
{
    size_t used = 0;

    out[0] = '\0';
    for (; *words && used < size; words++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", used ? " " : "", *words);
}

static void name_sides(struct command *command)
{
    struct gate_request *request = &command->request;
    struct gate_report *report = &command->report;

    report->subject = request->model    ? request->model
                      : request->result ? request->result
                                        : request->trace;
    if (request->command) {
        join_words(request->command, command->subject, sizeof command->subject);
        report->subject = command->subject;
    }
    report->against = request->against ? request->against : request->baseline;
    if (request->base_command) {
        join_words(request->base_command, command->against, sizeof command->against);
        report->against = command->against;
    }
}

static int check_together(const struct command *command)
{
    const struct gate_request *request = &command->request;
    bool measured = request->model || request->command;
    bool measures = command->arguments.given || request->iterations_given;
    int subjects = !!request->model + !!request->command + !!request->result + !!request->trace;

    if (!subjects)
        return cli_usage("gate", "what is to be judged? Give a MODEL, --result FILE, --trace FILE "
                                 "or --run -- CMD --- BASE_CMD");
    if (subjects > 1)
        return cli_usage("gate", "one of MODEL, --result, --trace and commands at a time");
    if (!measured && (request->against || measures))
        return cli_usage("gate", "%s is for a MODEL: a file cannot be measured again",
                         request->against ? "--against" : "an option for measuring");
    if ((request->trace || request->command) &&
        (request->baseline || request->history || request->row))
        return cli_usage("gate", "--baseline, --history and --row are for a MODEL or --result");
    if (request->command && command->budget_count)
        return cli_usage("gate", "commands are only compared; for budgets give a MODEL, a --result "
                                 "or a --trace");
    if ((request->limits_given || request->no_accuracy) && !(request->model && request->against))
        return cli_usage("gate", "--min-cosine, --max-diff and --no-accuracy are for a MODEL with "
                                 "--against BASE_MODEL: a result has no outputs");
    if (request->update_baseline && !request->baseline)
        return cli_usage("gate", "--update-baseline needs --baseline FILE");
    if (!command->budget_count && !request->against && !request->base_command &&
        !request->baseline && !request->history)
        return cli_usage("gate", "nothing to judge it by: give --max, --min, --against, --baseline "
                                 "or --history");
    if (command->outputs.json + (command->outputs.junit && !strcmp(command->outputs.junit, "-")) +
            (command->outputs.markdown && !strcmp(command->outputs.markdown, "-")) >
        1)
        return cli_usage("gate", "only one of --json, --junit - and --markdown - can have stdout");
    return CLI_YES;
}

static int read_budgets(struct command *command)
{
    struct gate_request *request = &command->request;

    for (size_t i = 0; i < command->budget_count; i++) {
        struct ifg_error err = { 0 };

        if (gate_budget_parse(command->budgets[i].text, command->budgets[i].at_least,
                              request->trace != NULL, &request->budgets[i], &err))
            return cli_usage("gate", "%s", err.message);
        request->budget_count++;
    }
    return CLI_YES;
}

static int parse(int argc, char **argv, struct command *command)
{
    struct gate_request *request = &command->request;
    struct option_words words;
    char **commands = NULL;
    int code;

    /* getopt would move the commands about. */
    for (int i = 1; i < argc && !commands; i++) {
        if (strcmp(argv[i], "--") == 0) {
            commands = argv + i + 1;
            argc = i;
        }
    }
    code = options_parse(&gate_command, argc, argv, command, &words);
    if (code)
        return code;
    if (command->run && !commands)
        return cli_usage("gate", "--run needs commands: --run -- CMD --- BASE_CMD");
    if (words.count > 1)
        return cli_usage("gate", "one model at a time; '%s' is too many", words.items[1]);
    if (words.count)
        request->model = words.items[0];
    if (commands) {
        code = take_commands(commands, command);
        if (code)
            return code;
    }
    if (request->plan.unsure == UINT32_MAX) /* as often as what failed: that costs no certainty */
        request->plan.unsure = request->plan.retries;
    code = check_together(command);
    if (!code)
        code = read_budgets(command);
    if (!code)
        name_sides(command);
    return code;
}

/* ---- outputs ---- */

static int write_file(const char *path, const struct ifg_bytes *bytes)
{
    struct ifg_error err = { 0 };

    if (bytes->failed) {
        cli_say("not enough memory");
        return CLI_USAGE;
    }
    if (strcmp(path, "-") == 0)
        return cli_write_out(bytes) ? CLI_USAGE : CLI_YES;
    if (!gate_write_file(path, bytes->data, bytes->size, &err))
        return CLI_YES;
    cli_say("%s", err.message);
    return CLI_USAGE;
}

/* Steps of one job add to the same files. */
static void append_to(const char *variable, const void *data, size_t size)
{
    const char *path = getenv(variable);
    FILE *file = path && *path ? fopen(path, "ae") : NULL;

    if (!path || !*path)
        return;
    if (!file || fwrite(data, 1, size, file) != size || fflush(file) != 0)
        cli_say("cannot write %s (%s): %s", path, variable, strerror(errno));
    if (file)
        fclose(file);
}

static void tell_github(const struct command *command, bool stdout_taken)
{
    struct ifg_bytes out;
    char line[64];
    int length;

    ifg_bytes_init(&out, OUTPUT_MAX);
    gate_write_github(&command->report, &out);
    fflush(stdout);
    if (!out.failed)
        fwrite(out.data, 1, out.size, stdout_taken ? stderr : stdout);
    ifg_bytes_clear(&out);
    gate_write_markdown(&command->report, &out);
    if (!out.failed)
        append_to("GITHUB_STEP_SUMMARY", out.data, out.size);
    ifg_bytes_fini(&out);
    length = snprintf(line, sizeof line, "verdict=%s\nstatus=%d\n",
                      gate_verdict_name(command->report.verdict), command->report.status);
    append_to("GITHUB_OUTPUT", line, (size_t)length);
}

static int write_outputs(const struct command *command)
{
    const struct outputs *outputs = &command->outputs;
    const struct gate_report *report = &command->report;
    const char *actions = getenv("GITHUB_ACTIONS");
    bool stdout_taken = outputs->json || (outputs->junit && !strcmp(outputs->junit, "-")) ||
                        (outputs->markdown && !strcmp(outputs->markdown, "-"));
    struct ifg_bytes out;
    int code = CLI_YES;

    ifg_bytes_init(&out, OUTPUT_MAX);
    if (outputs->json)
        gate_write_json(report, &out);
    else if (!stdout_taken)
        gate_write_text(report, outputs->explain, STDOUT_FILENO, &out);
    if (out.size || out.failed)
        code = write_file("-", &out);
    if (!code && outputs->junit) {
        ifg_bytes_clear(&out);
        gate_write_junit(report, &out);
        code = write_file(outputs->junit, &out);
    }
    if (!code && outputs->markdown) {
        ifg_bytes_clear(&out);
        gate_write_markdown(report, &out);
        code = write_file(outputs->markdown, &out);
    }
    ifg_bytes_fini(&out);
    if (outputs->github || (actions && strcmp(actions, "true") == 0))
        tell_github(command, stdout_taken);
    return code;
}

/* ---- running ---- */

_Static_assert((int)GATE_STATUS_PASS == CLI_YES && (int)GATE_STATUS_FAIL == CLI_NO &&
                   (int)GATE_STATUS_UNSURE == CLI_UNSURE && (int)GATE_STATUS_LACKS == CLI_LACKS,
               "a gate's status is an exit status");

static void say_plan(const struct bench_options *options, double max_s, void *user)
{
    (void)user;
    if (options)
        bench_say_plan(options);
    cli_say("what is unsure then is measured again, for %.0f s in all at most (--max-time)", max_s);
}

static void say_line(const char *text, void *user)
{
    struct command *command = user;

    bench_clear_progress(&command->arguments);
    cli_say("%s", text);
}

static int exit_without_verdict(enum ifg_status status)
{
    switch (status) {
    case IFG_INTERNAL:
        return CLI_NO;
    case IFG_UNSUPPORTED:
        return CLI_LACKS;
    case IFG_CANCELLED:
        return CLI_UNSURE;
    default:
        return CLI_USAGE;
    }
}

static int judge(struct command *command)
{
    struct gate_request *request = &command->request;
    struct trace_reader *reader = NULL;
    const struct timeline *timeline = NULL;
    struct ifg_error err = { 0 };
    enum ifg_status status;
    int code = request->trace ? cli_load(request->trace, &reader, &timeline) : CLI_YES;

    if (code)
        goto out;
    bench_catch_interrupt(&command->arguments);
    command->arguments.options.progress = bench_show_progress;
    command->arguments.options.user = &command->arguments;
    request->options = command->arguments.options;
    request->timeline = timeline;
    request->plan_made = say_plan;
    request->say = say_line;
    request->drift_text = gate_drift_text;
    request->user = command;
    status = gate_run(request, &command->report, &err);
    bench_clear_progress(&command->arguments);
    if (status) {
        cli_say("%s", err.message);
        code = exit_without_verdict(status);
        goto out;
    }
    code = write_outputs(command);
    if (!code)
        code = (int)command->report.status;
out:
    timeline_destroy(timeline);
    trace_reader_close(reader);
    return code;
}

static int run(int argc, char **argv)
{
    struct command *command = ifg_alloc(1, sizeof *command);
    int code;

    if (!command) {
        cli_say("not enough memory");
        return CLI_LACKS;
    }
    command->request.threshold = NAN;
    command->request.drift = GATE_DRIFT;
    command->request.limits = (struct accuracy_limits){ INFINITY, ACCURACY_MIN_COSINE };
    command->request.plan = (struct gate_plan){ GATE_ALPHA, GATE_RETRIES, UINT32_MAX };
    bench_arguments_init(&command->arguments, argc, argv);
    code = parse(argc, argv, command);
    if (!code)
        code = judge(command);
    bench_arguments_fini(&command->arguments);
    ifg_free(command);
    return code;
}

const struct cli_command gate_command = {
    .name = "gate",
    .summary = "pass or fail in CI: budgets, regressions, slow drift",
    .usage = "MODEL [--against BASE_MODEL] [BUDGETS] [OPTIONS]\n"
             "--result FILE | --trace FILE [BUDGETS] [OPTIONS]\n"
             "--run -- CMD --- BASE_CMD    (or: --against 'BASE_CMD' -- CMD)",
    .about = "Passes or fails by budgets and by earlier measurements.\n"
             "Metrics: p50 p90 p95 p99 p999 mean max first load specialization start fps goodput "
             "peak_rss memory_delta after_load energy size parameters; of a trace: "
             "[MODEL/]inference.p99, zone:NAME.max, op:NAME.total.",
    .tables = { judging_rows, measuring_rows, bench_rows, output_rows },
    .examples = "inferogram gate model.onnx --max p99=50ms --max peak_rss=500MB\n"
                "inferogram gate model.onnx --against main/model.onnx --threshold 3\n"
                "inferogram gate --trace run.ifg --max inference.p99=20ms --junit gate.xml",
    .exits = "0 pass, 1 fail, 2 usage error or unreadable input, 3 inconclusive, 4 the machine is "
             "too noisy or lacks something",
    .operands = OPERANDS_MODELS,
    .reads = true,
    .run = run,
};
