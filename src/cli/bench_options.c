// SPDX-License-Identifier: Apache-2.0
/* Options that bench, compare and gate share; interrupting them; their progress line. */
#include "cli/bench_options.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "bench/measure/rate_search.h"
#include "cli/cli.h"

#define THREADS_MAX    4096u
#define BATCH_MAX      1000000u
#define PATIENCE_MAX_S 86400.0

bool bench_parse_count(const char *text, uint64_t least, uint64_t most, uint64_t *out_count)
{
    char *end;

    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    *out_count = strtoull(text, &end, 10);
    return !errno && !*end && *out_count >= least && *out_count <= most;
}

static char *keep(char *text, struct bench_arguments *arguments)
{
    if (text && arguments->text_count < BENCH_TEXTS_MAX) {
        arguments->texts[arguments->text_count++] = text;
        return text;
    }
    cli_say("%s", text ? "too many options" : "out of memory");
    ifg_free(text);
    return NULL;
}

const char *bench_keep_text(const char *text, struct bench_arguments *arguments)
{
    return keep(ifg_strdup(text), arguments);
}

static char *join_words(int argc, char **argv)
{
    size_t bytes = sizeof "inferogram";
    char *joined;
    char *at;

    for (int i = 0; i < argc; i++)
        bytes += strlen(argv[i]) + 1;
    joined = ifg_alloc(bytes, 1);
    if (!joined)
        return NULL;
    at = stpcpy(joined, "inferogram");
    for (int i = 0; i < argc; i++) {
        *at++ = ' ';
        at = stpcpy(at, argv[i]);
    }
    return joined;
}

void bench_arguments_init(struct bench_arguments *arguments, int argc, char **argv)
{
    ssize_t length = readlink("/proc/self/exe", arguments->tool, sizeof arguments->tool - 1);
    char *command_line = keep(join_words(argc, argv), arguments);

    bench_options_init(&arguments->options);
    arguments->tool[length < 0 ? 0 : length] = '\0';
    arguments->options.tool = arguments->tool;
    arguments->options.tool_version = INFEROGRAM_VERSION;
    arguments->options.command_line = command_line ? command_line : "";
    arguments->options.inputs.dims = arguments->dims;
    arguments->options.inputs.shapes = arguments->shapes;
    arguments->options.inputs.values = arguments->values;
}

void bench_arguments_fini(struct bench_arguments *arguments)
{
    for (size_t i = 0; i < arguments->text_count; i++)
        ifg_free(arguments->texts[i]);
    arguments->text_count = 0;
    ifg_free(arguments->options.variants);
    arguments->options.variants = NULL;
    arguments->options.variant_count = 0;
}

/* Later ones win, so that a script's defaults can be overruled. */
static int add_setting(const char *command, const char *key, const char *value,
                       struct bench_arguments *arguments)
{
    struct bench_options *options = &arguments->options;

    for (size_t i = 0; i < options->setting_count; i++) {
        if (strcmp(options->settings[i].key, key) == 0) {
            options->settings[i].value = value;
            return CLI_YES;
        }
    }
    if (options->setting_count == BENCH_SETTINGS_MAX)
        return cli_usage(command, "more than %d settings", BENCH_SETTINGS_MAX);
    options->settings[options->setting_count].key = key;
    options->settings[options->setting_count++].value = value;
    return CLI_YES;
}

/* KEY=VALUE, with a prefix put before the key. */
static int take_pair(const char *command, const char *option, const char *prefix, char *text,
                     struct bench_arguments *arguments)
{
    char *equals = strchr(text, '=');
    size_t bytes = strlen(prefix) + strlen(text) + 1;
    char *key;

    if (!equals || equals == text)
        return cli_usage(command, "'%s' is not of the form KEY=VALUE (%s)", text, option);
    key = ifg_alloc(bytes, 1);
    if (key)
        snprintf(key, bytes, "%s%s", prefix, text);
    key = keep(key, arguments);
    if (!key)
        return CLI_NO;
    equals = key + strlen(prefix) + (equals - text);
    *equals = '\0';
    return add_setting(command, key, equals + 1, arguments);
}

/* What a list of dimensions, shapes or values gets next; the texts are changed by the parsers, so
 * they are copies. */
static int take_input(const char *command, int option, const char *value,
                      struct bench_arguments *arguments)
{
    struct inputs_options *inputs = &arguments->options.inputs;
    size_t count = option == BENCH_OPTION_DIM     ? inputs->dim_count
                   : option == BENCH_OPTION_SHAPE ? inputs->shape_count
                                                  : inputs->value_count;
    char *text;

    if (count == BENCH_LISTS_MAX)
        return cli_usage(command, "more than %d dimensions, shapes or values", BENCH_LISTS_MAX);
    text = keep(ifg_strdup(value), arguments);
    if (!text)
        return CLI_NO;
    switch (option) {
    case BENCH_OPTION_DIM:
        if (!inputs_parse_dim(text, &arguments->dims[count]))
            return cli_usage(command, "'%s' is not a dimension (--dim batch=4)", value);
        inputs->dim_count++;
        break;
    case BENCH_OPTION_SHAPE:
        if (!inputs_parse_shape(text, &arguments->shapes[count]))
            return cli_usage(
                command, "'%s' is not a shape (--shape input:1x3x224x224, or 1x3x224x224)", value);
        inputs->shape_count++;
        break;
    default:
        if (!inputs_parse_value(text, &arguments->values[count]))
            return cli_usage(command, "'%s' is not a value of an input (--value sr=16000)", value);
        inputs->value_count++;
    }
    return CLI_YES;
}

static const char *const levels[] = { "none", "basic", "extended", "all", NULL };
static const char *const policies[] = { "DEFAULT",           "PREFER_CPU",
                                        "PREFER_NPU",        "PREFER_GPU",
                                        "MAX_PERFORMANCE",   "MAX_EFFICIENCY",
                                        "MIN_OVERALL_POWER", NULL };

static bool is_one_of(const char *text, const char *const *names)
{
    while (*names && strcmp(*names, text) != 0)
        names++;
    return *names != NULL;
}

int bench_option_take(const char *command, int option, char *value,
                      struct bench_arguments *arguments)
{
    struct bench_options *options = &arguments->options;
    uint64_t number;
    double seconds;

    if (!*value)
        return cli_usage(command, "an option has an empty value");
    switch (option) {
    case BENCH_OPTION_ORT:
        options->library = value;
        return CLI_YES;
    case BENCH_OPTION_RUNTIME:
        options->runtime = value;
        return CLI_YES;
    case BENCH_OPTION_BATCH:
        if (!bench_parse_count(value, 1, BATCH_MAX, &number))
            return cli_usage(command, "'%s' is not a batch size (1 and up)", value);
        options->inputs.batch = (int64_t)number;
        return CLI_YES;
    case BENCH_OPTION_DIM:
    case BENCH_OPTION_SHAPE:
    case BENCH_OPTION_VALUE:
        return take_input(command, option, value, arguments);
    case BENCH_OPTION_INPUT_DATA:
        options->inputs.data_path = value;
        return CLI_YES;
    case BENCH_OPTION_SEED:
        if (!bench_parse_count(value, 0, UINT64_MAX, &options->inputs.seed))
            return cli_usage(command, "'%s' is not a seed (a whole number)", value);
        return CLI_YES;
    case BENCH_OPTION_THREADS:
        if (!bench_parse_count(value, 1, THREADS_MAX, &number))
            return cli_usage(command, "'%s' is not a number of threads (1 and up)", value);
        return add_setting(command, "threads", value, arguments);
    case BENCH_OPTION_OPT:
        if (!is_one_of(value, levels))
            return cli_usage(
                command, "'%s' is not a level of optimization (none, basic, extended, all)", value);
        return add_setting(command, "opt", value, arguments);
    case BENCH_OPTION_POLICY:
        if (!is_one_of(value, policies))
            return cli_usage(command,
                             "'%s' is not a policy (DEFAULT, PREFER_CPU, PREFER_NPU, PREFER_GPU, "
                             "MAX_PERFORMANCE, MAX_EFFICIENCY, MIN_OVERALL_POWER)",
                             value);
        return add_setting(command, "policy", value, arguments);
    case BENCH_OPTION_SESSION_CONFIG:
        return take_pair(command, "--session-config", "config.", value, arguments);
    case BENCH_OPTION_SET:
        return take_pair(command, "--set", "", value, arguments);
    case BENCH_OPTION_PIN:
        if (!bench_parse_count(value, 0, 65535, &number))
            return cli_usage(command, "'%s' is not the number of a CPU (0 and up)", value);
        options->pin_cpu = (int)number;
        return CLI_YES;
    case BENCH_OPTION_PATIENCE:
        if (!cli_parse_seconds(value, &seconds) || seconds < 0 || seconds > PATIENCE_MAX_S)
            return cli_usage(command, "'%s' is not a time (30, 2m; 0 waits for ever)", value);
        options->patience_s = (uint32_t)ceil(seconds);
        return CLI_YES;
    default:
        return cli_usage(command, "unknown option");
    }
}

struct bench_variant *bench_add_variant(const char *command, const char *name,
                                        struct bench_arguments *arguments)
{
    struct bench_options *options = &arguments->options;
    struct bench_variant *variant;

    if (!options->variants) {
        options->variants = ifg_alloc(BENCH_VARIANTS_MAX, sizeof *options->variants);
        if (!options->variants) {
            cli_say("out of memory");
            return NULL;
        }
    }
    if (options->variant_count == BENCH_VARIANTS_MAX) {
        cli_usage(command, "more than %d rows at once", BENCH_VARIANTS_MAX);
        return NULL;
    }
    variant = &options->variants[options->variant_count++];
    variant->name = name;
    return variant;
}

static char *trimmed(char *text)
{
    size_t length;

    text += strspn(text, " \t");
    length = strlen(text);
    while (length && (text[length - 1] == ' ' || text[length - 1] == '\t'))
        text[--length] = '\0';
    return text;
}

int bench_take_providers(const char *command, char *list, bool sets,
                         struct bench_arguments *arguments)
{
    char *rest = keep(ifg_strdup(list), arguments);

    if (!rest)
        return CLI_NO;
    while (rest) {
        char *name = trimmed(strsep(&rest, sets ? ";" : ","));
        struct bench_variant *variant;

        if (!*name || *name == '+' || name[strlen(name) - 1] == '+')
            return cli_usage(command,
                             sets ? "'%s' is not a list of sets of providers (--ep-sets "
                                    "\"all;cpu+gpu;cpu\")"
                                  : "'%s' is not a list of providers (--ep cpu,cuda)",
                             list);
        variant = bench_add_variant(command, name, arguments);
        if (!variant)
            return CLI_USAGE;
        variant->settings[variant->setting_count].key = "ep";
        variant->settings[variant->setting_count++].value = name;
    }
    return CLI_YES;
}

int bench_take_accuracy(const char *command, bool cosine, const char *text,
                        struct accuracy_limits *limits)
{
    char *end;
    double value = strtod(text, &end);

    if (end == text || *end || isnan(value) || (cosine ? value < -1 || value > 1 : value < 0))
        return cosine
                   ? cli_usage(command, "'%s' is not a cosine from -1 to 1 (--min-cosine)", text)
                   : cli_usage(command, "'%s' is not a difference of 0 or more (--max-diff)", text);
    *(cosine ? &limits->min_cosine : &limits->max_abs) = value;
    return CLI_YES;
}

/* ---- interrupting ---- */

static volatile sig_atomic_t stopped;

static void on_interrupt(int signal_number)
{
    if (stopped) { /* asked twice: now */
        signal(signal_number, SIG_DFL);
        raise(signal_number);
    }
    stopped = signal_number;
}

void bench_catch_interrupt(struct bench_arguments *arguments)
{
    struct sigaction action = { .sa_handler = on_interrupt };

    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    arguments->options.stop = &stopped;
}

/* ---- the plan ---- */

#define WORTH_SAYING_S 5.0

const char *bench_seconds_text(double seconds, char out[32])
{
    if (seconds < 120)
        snprintf(out, 32, "%.3g s", seconds);
    else
        snprintf(out, 32, "%.0f min", ceil(seconds / 60));
    return out;
}

void bench_say_plan(const struct bench_options *options)
{
    size_t rows = options->variant_count ? options->variant_count : 1;
    double each_s = options->warmup < 0 ? options->warmup_max_s : 0;
    double search_s = 0, most_s = 0;
    char plan[400], text[3][32];
    size_t used;

    used = (size_t)snprintf(plan, sizeof plan, "%u process%s", options->processes,
                            options->processes == 1 ? "" : "es");
    if (rows > 1)
        used += (size_t)snprintf(plan + used, sizeof plan - used, " for each of %zu rows", rows);
    if (options->load_only)
        return;
    if (options->duration_s > 0)
        used += (size_t)snprintf(plan + used, sizeof plan - used, ", %s of measuring in each",
                                 bench_seconds_text(options->duration_s, text[0]));
    else
        used += (size_t)snprintf(plan + used, sizeof plan - used, ", %u inferences in each",
                                 options->iterations);
    if (options->warmup < 0)
        used += (size_t)snprintf(plan + used, sizeof plan - used,
                                 " after a warm-up until its times are steady, %s at most",
                                 bench_seconds_text(options->warmup_max_s, text[1]));
    if (options->find_rate)
        search_s = rate_search_seconds(options->duration_s * options->processes, &most_s);
    if (options->find_rate)
        snprintf(plan + used, sizeof plan - used, "; before that the search for the rate, about %s",
                 bench_seconds_text(search_s * (double)rows, text[2]));
    most_s = (double)rows * (options->processes * (each_s + options->duration_s) + most_s);
    if (most_s < WORTH_SAYING_S && !isatty(STDERR_FILENO))
        return;
    if (most_s > 0 && options->duration_s > 0)
        cli_say("plan: %s; %s at most, and loading", plan, bench_seconds_text(most_s, text[0]));
    else if (most_s > 0)
        cli_say("plan: %s; %s at most, loading and the inferences", plan,
                bench_seconds_text(most_s, text[0]));
    else
        cli_say("plan: %s", plan);
}

/* ---- the progress line ---- */

#define REDRAW_S 0.1

static bool line_shown;

void bench_clear_progress(void)
{
    if (line_shown)
        fputs("\r\033[K", stderr);
    line_shown = false;
}

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void bench_show_progress(const struct bench_progress *progress, void *user)
{
    static double drawn_s;
    static const char *drawn_phase;
    char row[64], number[32], wanted[32];

    (void)user;
    if (!isatty(STDERR_FILENO) || (now_s() - drawn_s < REDRAW_S && drawn_phase == progress->phase))
        return;
    drawn_s = now_s();
    drawn_phase = progress->phase;
    fprintf(stderr, "\r\033[K            ");
    if (progress->row && *progress->row)
        fprintf(stderr, "%s · ", cli_clean(progress->row, row, sizeof row));
    if (progress->processes > 1)
        fprintf(stderr, "process %u of %u · ", progress->process, progress->processes);
    fputs(progress->phase, stderr);
    if (progress->wanted)
        fprintf(stderr, " %s of %s", cli_count(progress->done, number),
                cli_count(progress->wanted, wanted));
    else if (progress->wanted_s > 0)
        fprintf(stderr, " %.1f of %.1f s", progress->seconds, progress->wanted_s);
    if (isfinite(progress->last_p50_ms))
        fprintf(stderr, " · p50 %s", cli_duration(1e6 * progress->last_p50_ms, number));
    fflush(stderr);
    line_shown = true;
}

int bench_exit_for(enum ifg_status status)
{
    switch (status) {
    case IFG_OK:
        return CLI_YES;
    case IFG_INVALID:
    case IFG_NOT_FOUND:
    case IFG_PERMISSION:
    case IFG_CORRUPT:
        return CLI_USAGE;
    case IFG_CANCELLED:
        return CLI_UNSURE;
    case IFG_UNSUPPORTED:
        return CLI_LACKS;
    default:
        return CLI_NO;
    }
}
