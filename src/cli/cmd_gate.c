// SPDX-License-Identifier: Apache-2.0
/* inferogram gate: pass or fail, for CI. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "bench/gate/gate_run.h"
#include "cli/bench_options.h"
#include "cli/gate_config.h"
#include "cli/gate_output.h"

#define CONFIG "inferogram.toml"

struct command {
    struct bench_arguments arguments; /* first: the rows of bench go there */
    struct gate_request request;
    struct gate_report report;
    struct gate_outputs outputs;
    /* Budgets are read when it is known whether they are of a trace. */
    struct {
        const char *text;
        bool at_least;
        uint32_t line; /* of the settings; 0: of the command line */
    } budgets[GATE_BUDGETS_MAX];
    size_t budget_count;
    bool run;
    const char *config;
    const char *only;
    uint32_t line; /* of the settings that are read now */
    char place[PATH_MAX + 16];
    char error[GATE_MESSAGE]; /* why it was not judged */
    bool judged;
    bool interrupted;
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
    command->budgets[command->budget_count].line = command->line;
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
    { "config", 0, "FILE", "judge the models of these settings [inferogram.toml]", OPTION_PATH,
      IFG_AT(struct command, config), .files = "*.toml" },
    { "only", 0, "NAME", "of the settings: judge this model", OPTION_TEXT,
      IFG_AT(struct command, only) },
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
                                 "or --run -- CMD --- BASE_CMD, or write models into " CONFIG);
    if (command->only && !command->line)
        return cli_usage("gate", "--only picks a model of settings (" CONFIG ", --config FILE)");
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

/* Where messages of a wrong setting point to; line 0: the command line. */
static void set_place(struct command *command, uint32_t line)
{
    snprintf(command->place, sizeof command->place, "%s:%u", command->config, (unsigned)line);
    cli_set_place(line ? command->place : NULL);
}

static int read_budgets(struct command *command)
{
    struct gate_request *request = &command->request;

    for (size_t i = 0; i < command->budget_count; i++) {
        struct ifg_error err = { 0 };

        if (command->line)
            set_place(command, command->budgets[i].line);
        if (gate_budget_parse(command->budgets[i].text, command->budgets[i].at_least,
                              request->trace != NULL, &request->budgets[i], &err))
            return cli_usage("gate", "%s", err.message);
        request->budget_count++;
    }
    return CLI_YES;
}

/* What the words of the command line are. */
static int parse(int argc, char **argv, struct command *command)
{
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
        command->request.model = words.items[0];
    return commands ? take_commands(commands, command) : CLI_YES;
}

/* What they mean together. */
static int finish(struct command *command)
{
    struct gate_request *request = &command->request;
    int code;

    if (request->plan.unsure == UINT32_MAX) /* as often as what failed: that costs no certainty */
        request->plan.unsure = request->plan.retries;
    code = check_together(command);
    if (!code)
        code = read_budgets(command);
    if (!code)
        name_sides(command);
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

/* The report, or why there is none. Returns the exit status. */
static int judge(struct command *command)
{
    struct gate_request *request = &command->request;
    struct trace_reader *reader = NULL;
    const struct timeline *timeline = NULL;
    struct ifg_error err = { 0 };
    enum ifg_status status;
    int code = request->trace ? cli_load(request->trace, &reader, &timeline) : CLI_YES;

    if (code) {
        snprintf(command->error, sizeof command->error, "the trace cannot be read");
        goto out;
    }
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
    command->interrupted = *request->options.stop;
    if (status) {
        cli_say("%s", err.message);
        snprintf(command->error, sizeof command->error, "%s", err.message);
        code = command->interrupted ? CLI_UNSURE : exit_without_verdict(status);
        goto out;
    }
    command->judged = true;
    code = (int)command->report.status;
out:
    timeline_destroy(timeline);
    trace_reader_close(reader);
    return code;
}

static void fill_part(const struct command *command, const char *name, int status,
                      struct gate_part *out)
{
    *out = (struct gate_part){ name, command->report.subject,
                               command->judged ? &command->report : NULL, command->error, status };
}

static int judge_one(struct command *command)
{
    int status = judge(command);
    struct gate_part part;
    struct gate_parts parts = { &part, 1, NULL, status };
    int code;

    if (!command->judged)
        return status;
    fill_part(command, NULL, status, &part);
    code = gate_write_outputs(&command->outputs, &parts);
    return code ? code : status;
}

static void destroy(struct command *command)
{
    if (command)
        bench_arguments_fini(&command->arguments);
    ifg_free(command);
}

static struct command *create(int argc, char **argv)
{
    struct command *command = ifg_alloc(1, sizeof *command);

    if (!command) {
        cli_say("not enough memory");
        return NULL;
    }
    command->request.threshold = NAN;
    command->request.drift = GATE_DRIFT;
    command->request.limits = (struct accuracy_limits){ INFINITY, ACCURACY_MIN_COSINE };
    command->request.plan = (struct gate_plan){ GATE_ALPHA, GATE_RETRIES, UINT32_MAX };
    bench_arguments_init(&command->arguments, argc, argv);
    return command;
}

/* ---- the models of a file of settings ---- */

struct series {
    struct gate_config config;
    struct command *commands[GATE_MODELS_MAX];
    struct gate_part parts[GATE_MODELS_MAX];
    size_t count;
};

static int take_setting(const struct gate_setting *setting, void *user)
{
    struct command *command = user;
    char *argv[] = { command->place, setting->word, NULL };
    struct option_words words;

    command->line = setting->line;
    if (setting->is_model) {
        command->request.model = setting->word;
        return CLI_YES;
    }
    set_place(command, setting->line);
    return options_parse(&gate_command, 2, argv, command, &words);
}

/* Settings, then the command line, which overrides them. */
static int add_model(int argc, char **argv, size_t model, struct series *series)
{
    struct command *command = create(argc, argv);
    int code;

    if (!command)
        return CLI_LACKS;
    series->commands[series->count++] = command;
    command->config = series->config.path;
    code = gate_config_apply(&series->config, &gate_command, model, take_setting, command);
    cli_set_place(NULL);
    command->line = 0;
    if (!code)
        code = parse(argc, argv, command);
    command->config = series->config.path;
    command->line = gate_config_line(&series->config, model);
    set_place(command, command->line);
    if (!code)
        code = finish(command);
    cli_set_place(NULL);
    return code;
}

static int worse(int a, int b)
{
    static const int order[] = { CLI_NO, CLI_USAGE, CLI_LACKS, CLI_UNSURE };

    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++)
        if (a == order[i] || b == order[i])
            return order[i];
    return CLI_YES;
}

static int judge_all(struct series *series)
{
    struct gate_parts parts = { series->parts, series->count, series->config.path, CLI_YES };
    const struct gate_outputs *outputs = &series->commands[0]->outputs;
    bool interrupted = false;
    int code;

    for (size_t i = 0; i < series->count; i++) {
        struct command *command = series->commands[i];
        struct gate_part *part = &series->parts[i];
        int status = CLI_UNSURE;

        if (interrupted) {
            snprintf(command->error, sizeof command->error, "interrupted before it was judged");
        } else {
            cli_set_place(part->name);
            status = judge(command);
            cli_set_place(NULL);
        }
        interrupted |= command->interrupted;
        fill_part(command, part->name, status, part);
        parts.status = worse(parts.status, status);
        code = gate_print_part(outputs, part);
        if (code)
            return code;
    }
    code = gate_write_outputs(outputs, &parts);
    return code ? code : parts.status;
}

static int add_models(int argc, char **argv, const char *only, struct series *series)
{
    for (size_t i = 0; i < series->config.model_count; i++) {
        const char *name = gate_config_name(&series->config, i);
        int code;

        if (only && strcmp(only, name) != 0)
            continue;
        series->parts[series->count].name = name;
        code = add_model(argc, argv, i, series);
        if (code)
            return code;
    }
    if (!series->count) {
        char names[512];

        gate_config_names(&series->config, names, sizeof names);
        return cli_usage("gate", "--only: %s has no model '%s', but %s", series->config.path, only,
                         names);
    }
    return CLI_YES;
}

/* All settings are checked before anything is measured. */
static int judge_config(int argc, char **argv, const struct command *command)
{
    struct series *series = ifg_alloc(1, sizeof *series);
    struct ifg_error err = { 0 };
    enum ifg_status status;
    int code;

    if (!series) {
        cli_say("not enough memory");
        return CLI_LACKS;
    }
    status = gate_config_open(command->config, &gate_command, &series->config, &err);
    if (status) {
        cli_say("%s", err.message);
        code = status == IFG_NO_MEMORY ? CLI_LACKS : CLI_USAGE;
        goto out;
    }
    code = add_models(argc, argv, command->only, series);
    if (!code)
        code = judge_all(series);
    for (size_t i = 0; i < series->count; i++)
        destroy(series->commands[i]);
    gate_config_close(&series->config);
out:
    ifg_free(series);
    return code;
}

static int run(int argc, char **argv)
{
    struct command *command = create(argc, argv);
    const struct gate_request *request;
    bool subject;
    int code;

    if (!command)
        return CLI_LACKS;
    request = &command->request;
    code = parse(argc, argv, command);
    subject = request->model || request->result || request->trace || request->command;
    if (code)
        goto out;
    if (command->config && subject) {
        code = cli_usage("gate", "--config has models of its own: leave out the other one");
        goto out;
    }
    if (!command->config && !subject && access(CONFIG, F_OK) == 0)
        command->config = CONFIG;
    if (command->config) {
        code = judge_config(argc, argv, command);
        goto out;
    }
    code = finish(command);
    if (!code)
        code = judge_one(command);
out:
    destroy(command);
    return code;
}

const struct cli_command gate_command = {
    .name = "gate",
    .summary = "pass or fail in CI: budgets, regressions, slow drift",
    .usage = "[--config FILE] [--only NAME]    (by default ./inferogram.toml)\n"
             "MODEL [--against BASE_MODEL] [BUDGETS] [OPTIONS]\n"
             "--result FILE | --trace FILE [BUDGETS] [OPTIONS]\n"
             "--run -- CMD --- BASE_CMD    (or: --against 'BASE_CMD' -- CMD)",
    .about = "Passes or fails by budgets and by earlier measurements.\n"
             "Metrics: p50 p90 p95 p99 p999 mean max first load specialization start fps goodput "
             "peak_rss memory_delta after_load energy size parameters; of a trace: "
             "[MODEL/]inference.p99, zone:NAME.max, op:NAME.total.",
    .tables = { judging_rows, measuring_rows, bench_rows, output_rows },
    .examples = "inferogram gate                  # the models and budgets of inferogram.toml\n"
                "inferogram gate model.onnx --max p99=50ms --max peak_rss=500MB\n"
                "inferogram gate model.onnx --against main/model.onnx --threshold 3\n"
                "inferogram gate --trace run.ifg --max inference.p99=20ms --junit gate.xml",
    .exits = "0 pass, 1 fail, 2 usage error or unreadable input, 3 inconclusive, 4 the machine is "
             "too noisy or lacks something",
    .operands = OPERANDS_MODELS,
    .reads = true,
    .run = run,
};
