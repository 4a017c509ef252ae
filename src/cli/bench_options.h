// SPDX-License-Identifier: Apache-2.0
/*
 * Options that bench, compare and gate share: which model, runtime, inputs and settings.
 */
#ifndef IFG_CLI_BENCH_OPTIONS_H
#define IFG_CLI_BENCH_OPTIONS_H

#include <limits.h>

#include "bench/compare/compare.h"
#include "bench/inputs/accuracy.h"
#include "bench/measure/measure.h"
#include "cli/options.h"

#define BENCH_LISTS_MAX 64
#define BENCH_TEXTS_MAX 256

/* The progress line. */
struct bench_screen {
    bool shown;
    double drawn_s;
    const char *phase;
};

/* The memory behind the lists that struct bench_options points into. */
struct bench_arguments {
    struct bench_options options;
    bool given; /* an option that only measuring can obey */
    struct inputs_dim dims[BENCH_LISTS_MAX];
    struct inputs_shape shapes[BENCH_LISTS_MAX];
    struct inputs_value values[BENCH_LISTS_MAX];
    char tool[PATH_MAX];
    char *texts[BENCH_TEXTS_MAX]; /* owned: what options and variants point to and argv has not */
    size_t text_count;
    struct bench_screen screen;
};

/* Which model, inputs and runtime. They go into a struct bench_arguments: it must be the first
 * member of the command's request. */
extern const struct option_row bench_rows[];

/* Sets defaults, finds our own executable, and keeps the command line for the result. */
void bench_arguments_init(struct bench_arguments *arguments, int argc, char **argv);
void bench_arguments_fini(struct bench_arguments *arguments);

/* For OPTION_CALL. --threads N; --ep and --ep-sets add rows: "cpu,cuda" gives one variant each,
 * "all;cpu+npu" (sets) likewise, split at ';'. Names and settings live until fini. */
int bench_take_threads(const struct option_use *use, void *arguments);
int bench_take_providers(const struct option_use *use, void *arguments);
int bench_take_provider_sets(const struct option_use *use, void *arguments);

/* A new row, empty; NULL after a message: too many, or out of memory. */
struct bench_variant *bench_add_variant(const char *command, const char *name,
                                        struct bench_arguments *arguments);

/* Rows of --min-cosine C, --max-diff X and --measure W, which have no place of their own. */
#define BENCH_ACCURACY_ROWS(type, limits_)                                                         \
    { "min-cosine",  0,                                                                            \
      "C",           "outputs less similar than this differ [0.95]",                               \
      OPTION_NUMBER, IFG_AT(type, limits_.min_cosine),                                             \
      .zero = true,  .least = -1,                                                                  \
      .most = 1,     .what = "a cosine from -1 to 1" },                                            \
    {                                                                                              \
        "max-diff", 0, "X", "outputs with an element that is off by more differ [any]",            \
            OPTION_NUMBER, IFG_AT(type, limits_.max_abs), .zero = true,                            \
                                                          .what = "a difference of 0 or more"      \
    }

/* What of a command is measured: wall, cpu, json:KEY. */
struct bench_metric {
    enum compare_measure measure;
    const char *key;
};

bool bench_parse_metric(const char *text, struct bench_metric *out_metric);

/* Keeps a copy until fini; NULL after a message. */
const char *bench_keep_text(const char *text, struct bench_arguments *arguments);

/* A whole number from least to most and nothing else. */
bool bench_parse_count(const char *text, uint64_t least, uint64_t most, uint64_t *out_count);

/* "2.5 s", "5 min". */
const char *bench_seconds_text(double seconds, char out[32]);

/* What is going to be measured and how long that takes at most, in a sentence on stderr: minutes
 * must not pass unannounced. */
void bench_say_plan(const struct bench_options *options);

/* Ctrl-C sets the flag that options.stop points to; a second one ends the process. */
void bench_catch_interrupt(struct bench_arguments *arguments);

/* The progress line on stderr when it is a terminal, for options whose user is the arguments; clear
 * it before printing anything. */
void bench_show_progress(const struct bench_progress *progress, void *user);
void bench_clear_progress(struct bench_arguments *arguments);

/* A status of bench_measure or compare as exit status. */
int bench_exit_for(enum ifg_status status);

#endif
