// SPDX-License-Identifier: Apache-2.0
/* inferogram gate: pass or fail, for CI. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/cli.h"
#include "cli/gate_run.h"

static const char help[] =
    "usage: inferogram gate MODEL [--against BASE_MODEL] [BUDGETS] [OPTIONS]\n"
    "       inferogram gate --result FILE | --trace FILE [BUDGETS] [OPTIONS]\n"
    "       inferogram gate --run -- CMD --- BASE_CMD    (or: --against 'BASE_CMD' -- CMD)\n"
    "  --result FILE, --trace FILE  judge what `bench --json` or `record` wrote, not measuring\n"
    "  --max M=V, --min M=V  M: p50 p90 p95 p99 p999 mean max first load specialization start fps\n"
    "                   goodput peak_rss memory_delta after_load energy size parameters; of a "
    "trace:\n"
    "                   [MODEL/]inference.p99, zone:NAME.max, op:NAME.total; V: 50ms, 500MB, 30\n"
    "  --against BASE   no slower than this model, measured in turns (recommended)\n"
    "  --run, --measure W  commands, measured in turns; W is wall, cpu or json:KEY\n"
    "  --baseline FILE, --update-baseline, --force  no slower than an earlier result; write it "
    "after\n"
    "                   a pass; compare what is not the same work\n"
    "  --min-cosine C, --max-diff X, --no-accuracy  outputs less alike than this fail (0.95)\n"
    "  --threshold PCT  that much slower is allowed (in turns 2, an earlier result 10)\n"
    "  --on-unsure W    what to make of what stays unsure: unsure (status 3), warn, pass, fail, "
    "retry:N\n"
    "  --retries N, --max-time T, --allow-noisy  measure what failed or is unsure again (2), for "
    "so "
    "long\n"
    "                   at most (5m); judge also on an unfit machine\n"
    "  --history DIR, --drift PCT, --fail-on-drift  keep every result; look for slow changes (2)\n"
    "  --json, --junit FILE, --markdown FILE, --github, --explain  outputs; FILE - is stdout\n"
    "  -n, --iterations N, -w, --warmup N, --warmup-max T, --duration T, --processes N, --slo T\n"
    "  --pairs N, --patience T, --row NAME, --ep LIST, --max-memory SIZE\n"
    "  --ort PATH, --runtime FILE, --threads N, --opt L, --policy P, --set K=V, --session-config "
    "K=V\n"
    "  --batch N, --dim D=N, --shape I:1x3x8x8, --value I=X, --input-data PATH, --seed N, --pin "
    "CPU\n"
    "  --help           this text\n"
    "Exit status: 0 pass, 1 fail, 2 wrong or unreadable input, 3 unsure, 4 the machine is not fit\n"
    "for it or lacks something.\n";

#define OUTPUT_MAX (1u << 28)

enum {
    OPTION_RESULT = 1,
    OPTION_TRACE,
    OPTION_MAX,
    OPTION_MIN,
    OPTION_AGAINST,
    OPTION_RUN,
    OPTION_MEASURE,
    OPTION_BASELINE,
    OPTION_UPDATE_BASELINE,
    OPTION_FORCE,
    OPTION_THRESHOLD,
    OPTION_RETRIES,
    OPTION_ON_UNSURE,
    OPTION_ALLOW_NOISY,
    OPTION_HISTORY,
    OPTION_DRIFT,
    OPTION_FAIL_ON_DRIFT,
    OPTION_JSON,
    OPTION_JUNIT,
    OPTION_MARKDOWN,
    OPTION_GITHUB,
    OPTION_EXPLAIN,
    OPTION_WARMUP_MAX,
    OPTION_DURATION,
    OPTION_PROCESSES,
    OPTION_SLO,
    OPTION_PAIRS,
    OPTION_MAX_TIME,
    OPTION_ROW,
    OPTION_EP,
    OPTION_MIN_COSINE,
    OPTION_MAX_DIFF,
    OPTION_NO_ACCURACY,
};

struct outputs {
    bool json, github, explain;
    const char *junit, *markdown;
};

struct command {
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
    bool measures; /* an option was given that only measuring can obey */
    char subject[300], against[300];
};

/* ---- options ---- */

static int take_percent(const char *option, const char *text, double *out)
{
    char *end;

    *out = strtod(text, &end) / 100;
    if (end == text || (*end && strcmp(end, "%") != 0) || !(*out > 0) || *out > 100)
        return cli_usage("gate", "'%s' is not a percentage above 0 (%s)", text, option);
    return CLI_YES;
}

static int take_count(const char *option, const char *text, uint64_t least, uint64_t most,
                      uint32_t *out)
{
    uint64_t number;

    if (!bench_parse_count(text, least, most, &number))
        return cli_usage("gate", "'%s' is not a number from %llu to %llu (%s)", text,
                         (unsigned long long)least, (unsigned long long)most, option);
    *out = (uint32_t)number;
    return CLI_YES;
}

static int take_seconds(const char *option, const char *text, double *out)
{
    if (!cli_parse_seconds(text, out) || !(*out > 0))
        return cli_usage("gate", "'%s' is not a time above 0 such as 30, 2m or 500ms (%s)", text,
                         option);
    return CLI_YES;
}

static int take_on_unsure(const char *text, struct gate_request *request)
{
    if (strcmp(text, "pass") == 0)
        request->on_unsure = GATE_UNSURE_PASSES;
    else if (strcmp(text, "warn") == 0)
        request->on_unsure = GATE_UNSURE_WARNS;
    else if (strcmp(text, "unsure") == 0)
        request->on_unsure = GATE_UNSURE_STAYS;
    else if (strcmp(text, "fail") == 0)
        request->on_unsure = GATE_UNSURE_FAILS;
    else if (strncmp(text, "retry:", 6) == 0)
        return take_count("--on-unsure retry:N", text + 6, 1, GATE_RETRIES_MAX,
                          &request->plan.unsure);
    else
        return cli_usage("gate", "--on-unsure is unsure, warn, pass, fail or retry:N, not '%s'",
                         text);
    return CLI_YES;
}

static int take_measure(const char *text, struct gate_request *request)
{
    if (strcmp(text, "wall") == 0) {
        request->measure = COMPARE_WALL;
    } else if (strcmp(text, "cpu") == 0) {
        request->measure = COMPARE_CPU;
    } else if (strncmp(text, "json:", 5) == 0 && text[5]) {
        request->measure = COMPARE_JSON_KEY;
        request->measure_key = text + 5;
    } else {
        return cli_usage("gate", "'%s' cannot be measured; use wall, cpu or json:KEY", text);
    }
    return CLI_YES;
}

static int take_bench_option(int option, struct command *command)
{
    struct gate_request *request = &command->request;
    struct bench_options *options = &request->arguments.options;
    uint32_t number = 0;
    int code;

    command->measures = true;
    switch (option) {
    case 'n':
        request->iterations_given = true;
        return take_count("--iterations", optarg, 1, 100000000, &options->iterations);
    case 'w':
        code = take_count("--warmup", optarg, 0, 100000000, &number);
        options->warmup = number;
        return code;
    case OPTION_WARMUP_MAX:
        return take_seconds("--warmup-max", optarg, &options->warmup_max_s);
    case OPTION_DURATION:
        request->iterations_given = true;
        return take_seconds("--duration", optarg, &options->duration_s);
    case OPTION_PROCESSES:
        return take_count("--processes", optarg, 1, 1000, &options->processes);
    case OPTION_PAIRS:
        return take_count("--pairs", optarg, 2, 100000, &request->pairs);
    case OPTION_MAX_TIME:
        return take_seconds("--max-time", optarg, &request->max_s);
    case OPTION_RETRIES:
        return take_count("--retries", optarg, 0, GATE_RETRIES_MAX, &request->plan.retries);
    case OPTION_EP:
        return bench_take_providers("gate", optarg, false, &request->arguments);
    default:
        return bench_option_take("gate", option, optarg, &request->arguments);
    }
}

static int take_switch(int option, struct command *command)
{
    struct gate_request *request = &command->request;
    struct outputs *outputs = &command->outputs;

    switch (option) {
    case OPTION_RUN:
        command->run = true;
        break;
    case OPTION_UPDATE_BASELINE:
        request->update_baseline = true;
        break;
    case OPTION_FORCE:
        request->force = true;
        break;
    case OPTION_ALLOW_NOISY:
        request->allow_noisy = true;
        break;
    case OPTION_FAIL_ON_DRIFT:
        request->fail_on_drift = true;
        break;
    case OPTION_JSON:
        outputs->json = true;
        break;
    case OPTION_JUNIT:
        outputs->junit = optarg;
        break;
    case OPTION_MARKDOWN:
        outputs->markdown = optarg;
        break;
    case OPTION_GITHUB:
        outputs->github = true;
        break;
    default:
        outputs->explain = true;
    }
    return CLI_YES;
}

static int take_option(int option, char **argv, struct command *command)
{
    struct gate_request *request = &command->request;
    double seconds = 0;
    int code;

    switch (option) {
    case OPTION_RESULT:
        request->result = optarg;
        return CLI_YES;
    case OPTION_TRACE:
        request->trace = optarg;
        return CLI_YES;
    case OPTION_MAX:
    case OPTION_MIN:
        if (command->budget_count == GATE_BUDGETS_MAX)
            return cli_usage("gate", "more than %d budgets", GATE_BUDGETS_MAX);
        command->budgets[command->budget_count].text = optarg;
        command->budgets[command->budget_count++].at_least = option == OPTION_MIN;
        return CLI_YES;
    case OPTION_AGAINST:
        request->against = optarg;
        return CLI_YES;
    case OPTION_MEASURE:
        return take_measure(optarg, request);
    case OPTION_BASELINE:
        request->baseline = optarg;
        return CLI_YES;
    case OPTION_THRESHOLD:
        return take_percent("--threshold", optarg, &request->threshold);
    case OPTION_MIN_COSINE:
    case OPTION_MAX_DIFF:
        request->limits_given = true;
        return bench_take_accuracy("gate", option == OPTION_MIN_COSINE, optarg, &request->limits);
    case OPTION_NO_ACCURACY:
        request->no_accuracy = true;
        return CLI_YES;
    case OPTION_ON_UNSURE:
        return take_on_unsure(optarg, request);
    case OPTION_HISTORY:
        request->history = optarg;
        return CLI_YES;
    case OPTION_DRIFT:
        return take_percent("--drift", optarg, &request->drift);
    case OPTION_ROW:
        request->row = optarg;
        return CLI_YES;
    case OPTION_SLO:
        code = take_seconds("--slo", optarg, &seconds);
        request->slo_ms = 1e3 * seconds;
        return code;
    case '?':
    case ':':
        return cli_bad_option("gate", option, argv);
    default:
        if ((option >= OPTION_WARMUP_MAX && option <= OPTION_EP) || option == 'n' ||
            option == 'w' || option == OPTION_RETRIES || option > BENCH_OPTION_FIRST)
            return take_bench_option(option, command);
        return take_switch(option, command);
    }
}

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
    int subjects = !!request->model + !!request->command + !!request->result + !!request->trace;

    if (!subjects)
        return cli_usage("gate", "what is to be judged? Give a MODEL, --result FILE, --trace FILE "
                                 "or --run -- CMD --- BASE_CMD");
    if (subjects > 1)
        return cli_usage("gate", "one of MODEL, --result, --trace and commands at a time");
    if (!measured && (request->against || command->measures))
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

static const struct option long_options[] = {
    { "result", required_argument, NULL, OPTION_RESULT },
    { "trace", required_argument, NULL, OPTION_TRACE },
    { "max", required_argument, NULL, OPTION_MAX },
    { "min", required_argument, NULL, OPTION_MIN },
    { "against", required_argument, NULL, OPTION_AGAINST },
    { "run", no_argument, NULL, OPTION_RUN },
    { "measure", required_argument, NULL, OPTION_MEASURE },
    { "baseline", required_argument, NULL, OPTION_BASELINE },
    { "update-baseline", no_argument, NULL, OPTION_UPDATE_BASELINE },
    { "force", no_argument, NULL, OPTION_FORCE },
    { "threshold", required_argument, NULL, OPTION_THRESHOLD },
    { "min-cosine", required_argument, NULL, OPTION_MIN_COSINE },
    { "max-diff", required_argument, NULL, OPTION_MAX_DIFF },
    { "no-accuracy", no_argument, NULL, OPTION_NO_ACCURACY },
    { "retries", required_argument, NULL, OPTION_RETRIES },
    { "on-unsure", required_argument, NULL, OPTION_ON_UNSURE },
    { "allow-noisy", no_argument, NULL, OPTION_ALLOW_NOISY },
    { "history", required_argument, NULL, OPTION_HISTORY },
    { "drift", required_argument, NULL, OPTION_DRIFT },
    { "fail-on-drift", no_argument, NULL, OPTION_FAIL_ON_DRIFT },
    { "json", no_argument, NULL, OPTION_JSON },
    { "junit", required_argument, NULL, OPTION_JUNIT },
    { "markdown", required_argument, NULL, OPTION_MARKDOWN },
    { "github", no_argument, NULL, OPTION_GITHUB },
    { "explain", no_argument, NULL, OPTION_EXPLAIN },
    { "iterations", required_argument, NULL, 'n' },
    { "warmup", required_argument, NULL, 'w' },
    { "warmup-max", required_argument, NULL, OPTION_WARMUP_MAX },
    { "duration", required_argument, NULL, OPTION_DURATION },
    { "processes", required_argument, NULL, OPTION_PROCESSES },
    { "slo", required_argument, NULL, OPTION_SLO },
    { "pairs", required_argument, NULL, OPTION_PAIRS },
    { "max-time", required_argument, NULL, OPTION_MAX_TIME },
    { "row", required_argument, NULL, OPTION_ROW },
    { "ep", required_argument, NULL, OPTION_EP },
    BENCH_COMMON_OPTIONS,
    { "help", no_argument, NULL, 'h' },
    { NULL, 0, NULL, 0 },
};

static int parse(int argc, char **argv, struct command *command, bool *out_done)
{
    struct gate_request *request = &command->request;
    char **commands = NULL;
    int option, code;

    /* getopt would move the commands about. */
    for (int i = 1; i < argc && !commands; i++) {
        if (strcmp(argv[i], "--") == 0) {
            commands = argv + i + 1;
            argc = i;
        }
    }
    while ((option = getopt_long(argc, argv, ":hn:w:", long_options, NULL)) != -1) {
        if (option == 'h') {
            fputs(help, stdout);
            *out_done = true;
            return CLI_YES;
        }
        code = take_option(option, argv, command);
        if (code)
            return code;
    }
    if (command->run && !commands)
        return cli_usage("gate", "--run needs commands: --run -- CMD --- BASE_CMD");
    if (optind < argc)
        request->model = argv[optind++];
    if (optind < argc)
        return cli_usage("gate", "one model at a time; '%s' is too many", argv[optind]);
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
        cli_say("out of memory");
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

int cmd_gate(int argc, char **argv)
{
    struct command *command = ifg_alloc(1, sizeof *command);
    bool done = false;
    int code;

    if (!command) {
        cli_say("out of memory");
        return CLI_LACKS;
    }
    command->request.threshold = NAN;
    command->request.drift = GATE_DRIFT;
    command->request.limits = (struct accuracy_limits){ INFINITY, ACCURACY_MIN_COSINE };
    command->request.plan = (struct gate_plan){ GATE_ALPHA, GATE_RETRIES, UINT32_MAX };
    bench_arguments_init(&command->request.arguments, argc, argv);
    code = parse(argc, argv, command, &done);
    if (!code && !done) {
        code = gate_run(&command->request, &command->report);
        if (!code)
            code = write_outputs(command);
        if (!code)
            code = command->report.status;
    }
    bench_arguments_fini(&command->request.arguments);
    ifg_free(command);
    return code;
}
