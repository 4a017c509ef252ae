// SPDX-License-Identifier: Apache-2.0
/*
 * Options that bench, compare and gate share: which model, runtime, inputs and settings. A command
 * puts BENCH_COMMON_OPTIONS into its getopt table and hands what it does not know itself to
 * bench_option_take.
 */
#ifndef IFG_CLI_BENCH_OPTIONS_H
#define IFG_CLI_BENCH_OPTIONS_H

#include <getopt.h>
#include <limits.h>

#include "bench/inputs/accuracy.h"
#include "bench/measure/measure.h"

#define BENCH_LISTS_MAX 64
#define BENCH_TEXTS_MAX 256

/* The memory behind the lists that struct bench_options points into. */
struct bench_arguments {
    struct bench_options options;
    struct inputs_dim dims[BENCH_LISTS_MAX];
    struct inputs_shape shapes[BENCH_LISTS_MAX];
    struct inputs_value values[BENCH_LISTS_MAX];
    char tool[PATH_MAX];
    char *texts[BENCH_TEXTS_MAX]; /* owned: what options and variants point to and argv has not */
    size_t text_count;
};

enum {
    BENCH_OPTION_FIRST = 2000,
    BENCH_OPTION_ORT,
    BENCH_OPTION_RUNTIME,
    BENCH_OPTION_BATCH,
    BENCH_OPTION_DIM,
    BENCH_OPTION_SHAPE,
    BENCH_OPTION_VALUE,
    BENCH_OPTION_INPUT_DATA,
    BENCH_OPTION_SEED,
    BENCH_OPTION_THREADS,
    BENCH_OPTION_OPT,
    BENCH_OPTION_POLICY,
    BENCH_OPTION_SESSION_CONFIG,
    BENCH_OPTION_SET,
    BENCH_OPTION_PIN,
    BENCH_OPTION_PATIENCE,
    BENCH_OPTION_LAST,
};

#define BENCH_COMMON_OPTIONS                                                                       \
    { "ort", required_argument, NULL, BENCH_OPTION_ORT },                                          \
        { "runtime", required_argument, NULL, BENCH_OPTION_RUNTIME },                              \
        { "batch", required_argument, NULL, BENCH_OPTION_BATCH },                                  \
        { "dim", required_argument, NULL, BENCH_OPTION_DIM },                                      \
        { "shape", required_argument, NULL, BENCH_OPTION_SHAPE },                                  \
        { "value", required_argument, NULL, BENCH_OPTION_VALUE },                                  \
        { "input-data", required_argument, NULL, BENCH_OPTION_INPUT_DATA },                        \
        { "seed", required_argument, NULL, BENCH_OPTION_SEED },                                    \
        { "threads", required_argument, NULL, BENCH_OPTION_THREADS },                              \
        { "opt", required_argument, NULL, BENCH_OPTION_OPT },                                      \
        { "policy", required_argument, NULL, BENCH_OPTION_POLICY },                                \
        { "session-config", required_argument, NULL, BENCH_OPTION_SESSION_CONFIG },                \
        { "patience", required_argument, NULL, BENCH_OPTION_PATIENCE },                            \
        { "set", required_argument, NULL, BENCH_OPTION_SET },                                      \
    {                                                                                              \
        "pin", required_argument, NULL, BENCH_OPTION_PIN                                           \
    }

/* Sets defaults, finds our own executable, and keeps the command line for the result. */
void bench_arguments_init(struct bench_arguments *arguments, int argc, char **argv);
void bench_arguments_fini(struct bench_arguments *arguments);

/* CLI_YES, or the exit status after a message about a wrong value. */
int bench_option_take(const char *command, int option, char *value,
                      struct bench_arguments *arguments);

/* Adds "ep" rows: "cpu,cuda" gives one variant each; "all;cpu+npu" (sets) likewise, split at ';'.
 * Names and settings live until fini. */
int bench_take_providers(const char *command, char *list, bool sets,
                         struct bench_arguments *arguments);

/* A new row, empty; NULL after a message: too many, or out of memory. */
struct bench_variant *bench_add_variant(const char *command, const char *name,
                                        struct bench_arguments *arguments);

/* --min-cosine C and --max-diff X. */
int bench_take_accuracy(const char *command, bool cosine, const char *text,
                        struct accuracy_limits *limits);

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

/* The progress line on stderr when it is a terminal; clear it before printing results. */
void bench_show_progress(const struct bench_progress *progress, void *user);
void bench_clear_progress(void);

/* A status of bench_measure or compare as exit status. */
int bench_exit_for(enum ifg_status status);

#endif
