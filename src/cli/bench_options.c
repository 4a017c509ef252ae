// SPDX-License-Identifier: Apache-2.0
/* Options that bench, compare and gate share; interrupting them; their progress line. */
#include "cli/bench_options.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/ticks.h"
#include "bench/measure/rate_search.h"
#include "cli/cli.h"
#include "system/process_folder.h"

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
    cli_say("%s", text ? "too many options" : "not enough memory");
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
    char *command_line = keep(join_words(argc, argv), arguments);

    bench_options_init(&arguments->options);
    (void)process_link(PROCESS_SELF, "exe", arguments->tool, sizeof arguments->tool);
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
static int take_pair(const struct option_use *use, const char *prefix,
                     struct bench_arguments *arguments)
{
    char *equals = strchr(use->value, '=');
    size_t bytes = strlen(prefix) + strlen(use->value) + 1;
    char *key;

    if (!equals || equals == use->value)
        return options_bad_value(use, "of the form KEY=VALUE");
    key = ifg_alloc(bytes, 1);
    if (key)
        snprintf(key, bytes, "%s%s", prefix, use->value);
    key = keep(key, arguments);
    if (!key)
        return CLI_NO;
    equals = key + strlen(prefix) + (equals - use->value);
    *equals = '\0';
    return add_setting(use->command, key, equals + 1, arguments);
}

static int take_session_config(const struct option_use *use, void *arguments)
{
    return take_pair(use, "config.", arguments);
}

static int take_setting(const struct option_use *use, void *arguments)
{
    return take_pair(use, "", arguments);
}

/* A copy of the value for a parser that changes it; NULL after a message. */
static char *copy_for_list(const struct option_use *use, size_t count,
                           struct bench_arguments *arguments)
{
    if (count < BENCH_LISTS_MAX)
        return keep(ifg_strdup(use->value), arguments);
    cli_usage(use->command, "more than %d dimensions, shapes or values", BENCH_LISTS_MAX);
    return NULL;
}

static int take_dim(const struct option_use *use, void *user)
{
    struct bench_arguments *arguments = user;
    size_t *count = &arguments->options.inputs.dim_count;
    char *text = copy_for_list(use, *count, arguments);

    if (!text)
        return CLI_USAGE;
    if (!inputs_parse_dim(text, &arguments->dims[*count]))
        return options_bad_value(use, "a dimension (--dim batch=4)");
    ++*count;
    return CLI_YES;
}

static int take_shape(const struct option_use *use, void *user)
{
    struct bench_arguments *arguments = user;
    size_t *count = &arguments->options.inputs.shape_count;
    char *text = copy_for_list(use, *count, arguments);

    if (!text)
        return CLI_USAGE;
    if (!inputs_parse_shape(text, &arguments->shapes[*count]))
        return options_bad_value(use, "a shape (--shape input:1x3x224x224, or 1x3x224x224)");
    ++*count;
    return CLI_YES;
}

static int take_value(const struct option_use *use, void *user)
{
    struct bench_arguments *arguments = user;
    size_t *count = &arguments->options.inputs.value_count;
    char *text = copy_for_list(use, *count, arguments);

    if (!text)
        return CLI_USAGE;
    if (!inputs_parse_value(text, &arguments->values[*count]))
        return options_bad_value(use, "a value of an input (--value sr=16000)");
    ++*count;
    return CLI_YES;
}

int bench_take_threads(const struct option_use *use, void *arguments)
{
    uint64_t number;

    if (!bench_parse_count(use->value, 1, THREADS_MAX, &number))
        return options_bad_value(use, "a number of threads (1 and up)");
    return add_setting(use->command, "threads", use->value, arguments);
}

/* A setting that is called as its option is. */
static int take_named(const struct option_use *use, void *arguments)
{
    size_t index;
    int code = options_take_choice(use, &index);

    return code ? code : add_setting(use->command, use->row->name, use->value, arguments);
}

static int take_patience(const struct option_use *use, void *user)
{
    struct bench_arguments *arguments = user;
    double seconds;

    if (!cli_parse_seconds(use->value, &seconds) || seconds > PATIENCE_MAX_S)
        return options_bad_value(use, "a time (30, 2m; 0 waits for ever)");
    arguments->options.patience_s = (uint32_t)ceil(seconds);
    return CLI_YES;
}

static const char *const levels[] = { "none", "basic", "extended", "all", NULL };
static const char *const policies[] = { "DEFAULT",           "PREFER_CPU",
                                        "PREFER_NPU",        "PREFER_GPU",
                                        "MAX_PERFORMANCE",   "MAX_EFFICIENCY",
                                        "MIN_OVERALL_POWER", NULL };

#define MEASURING IFG_GIVEN(struct bench_arguments, given)

const struct option_row bench_rows[] = {
    { .kind = OPTION_HEADING, .help = "Inputs" },
    { "batch", 0, "N", "size of free first dimensions [1]", OPTION_COUNT,
      IFG_AT(struct bench_arguments, options.inputs.batch), MEASURING, .least = 1, .most = 1e6,
      .what = "a batch size (1 and up)" },
    { "dim", 0, "NAME=N", "size of a free dimension", OPTION_CALL, MEASURING, .take = take_dim },
    { "shape", 0, "[INPUT:]1x3x8x8", "shape of an input", OPTION_CALL, MEASURING,
      .take = take_shape },
    { "value", 0, "INPUT=X", "set every element of an input to this value", OPTION_CALL, MEASURING,
      .take = take_value },
    { "input-data", 0, "PATH", "inputs from .npy, .npz or a directory of them", OPTION_PATH,
      IFG_AT(struct bench_arguments, options.inputs.data_path), MEASURING },
    { "seed", 0, "N", "seed of random inputs, arrivals and resampling [1]", OPTION_COUNT,
      IFG_AT(struct bench_arguments, options.inputs.seed), MEASURING,
      .what = "a seed (a whole number)" },
    { .kind = OPTION_HEADING, .help = "Runtime" },
    { "ort", 0, "PATH", "ONNX Runtime: library or directory [searched]", OPTION_PATH,
      IFG_AT(struct bench_arguments, options.library), MEASURING },
    { "runtime", 0, "PLUGIN", "use another runtime through a plugin (.so)", OPTION_PATH,
      IFG_AT(struct bench_arguments, options.runtime), MEASURING, .files = "*.so" },
    { "threads", 0, "N", "intra-op threads [the runtime's default]", OPTION_CALL, MEASURING,
      .take = bench_take_threads },
    { "opt", 0, "LEVEL", "graph optimization: {}", OPTION_CALL, MEASURING, .choices = levels,
      .take = take_named },
    { "policy", 0, "P", "device policy, such as PREFER_NPU", OPTION_CALL, MEASURING,
      .choices = policies, .take = take_named },
    { "session-config", 0, "KEY=VALUE", "a session configuration entry of ONNX Runtime",
      OPTION_CALL, MEASURING, .take = take_session_config },
    { "set", 0, "KEY=VALUE", "a setting of the runtime", OPTION_CALL, MEASURING,
      .take = take_setting },
    { "pin", 0, "CPU", "run on this CPU only", OPTION_COUNT,
      IFG_AT(struct bench_arguments, options.pin_cpu), MEASURING, .most = 65535,
      .what = "the number of a CPU (0 and up)" },
    { "patience", 0, "T", "what takes longer is hung; 0: never [10m]", OPTION_CALL, MEASURING,
      .take = take_patience },
    { 0 },
};

bool bench_parse_metric(const char *text, struct bench_metric *out_metric)
{
    *out_metric = (struct bench_metric){ COMPARE_WALL, NULL };
    if (strcmp(text, "wall") == 0)
        return true;
    out_metric->measure = COMPARE_CPU;
    if (strcmp(text, "cpu") == 0)
        return true;
    out_metric->measure = COMPARE_JSON_KEY;
    out_metric->key = text + strlen("json:");
    return strncmp(text, "json:", strlen("json:")) == 0 && *out_metric->key;
}

struct bench_variant *bench_add_variant(const char *command, const char *name,
                                        struct bench_arguments *arguments)
{
    struct bench_options *options = &arguments->options;
    struct bench_variant *variant;

    if (!options->variants) {
        options->variants = ifg_alloc(BENCH_VARIANTS_MAX, sizeof *options->variants);
        if (!options->variants) {
            cli_say("not enough memory");
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

static int take_providers(const struct option_use *use, bool sets,
                          struct bench_arguments *arguments)
{
    char *rest = keep(ifg_strdup(use->value), arguments);

    if (!rest)
        return CLI_NO;
    while (rest) {
        char *name = trimmed(strsep(&rest, sets ? ";" : ","));
        struct bench_variant *variant;

        if (!*name || *name == '+' || name[strlen(name) - 1] == '+')
            return options_bad_value(
                use, sets ? "a list of sets of providers (--ep-sets \"all;cpu+gpu;cpu\")"
                          : "a list of providers (--ep cpu,cuda)");
        variant = bench_add_variant(use->command, name, arguments);
        if (!variant)
            return CLI_USAGE;
        variant->settings[variant->setting_count].key = "ep";
        variant->settings[variant->setting_count++].value = name;
    }
    return CLI_YES;
}

int bench_take_providers(const struct option_use *use, void *arguments)
{
    return take_providers(use, false, arguments);
}

int bench_take_provider_sets(const struct option_use *use, void *arguments)
{
    return take_providers(use, true, arguments);
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
    double search_s = 0;
    double most_s = 0;
    char plan[400];
    char text[3][32];
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

void bench_clear_progress(struct bench_arguments *arguments)
{
    if (arguments->screen.shown)
        fputs("\r\033[K", stderr);
    arguments->screen.shown = false;
}

static double now_s(void)
{
    return 1e-9 * (double)ifg_monotonic_ns();
}

void bench_show_progress(const struct bench_progress *progress, void *user)
{
    struct bench_screen *screen = &((struct bench_arguments *)user)->screen;
    char row[64];
    char number[32];
    char wanted[32];

    if (!isatty(STDERR_FILENO) ||
        (now_s() - screen->drawn_s < REDRAW_S && screen->phase == progress->phase))
        return;
    screen->drawn_s = now_s();
    screen->phase = progress->phase;
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
    screen->shown = true;
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
