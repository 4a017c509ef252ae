// SPDX-License-Identifier: Apache-2.0
/*
 * The benchmark itself: processes one after the other, each with its cold phase, its warm-up until
 * the times are steady, and blocks of iterations with a look at the machine between them.
 */
#ifndef IFG_BENCH_MEASURE_H
#define IFG_BENCH_MEASURE_H

#include <signal.h>

#include "bench/inputs/inputs.h"
#include "bench/result/result.h"
#include "bench/runner/runner.h"

enum bench_scenario { BENCH_SINGLE, BENCH_MULTI, BENCH_SERVER, BENCH_OFFLINE };

#define BENCH_SETTINGS_MAX 64
#define BENCH_VARIANTS_MAX 32

/* What a row is: a name, and settings on top of the common ones. */
struct bench_variant {
    const char *name;
    const char *model; /* NULL: the common one */
    struct runner_setting settings[BENCH_SETTINGS_MAX];
    size_t setting_count;
};

struct bench_progress {
    const char *row;
    uint32_t process, processes; /* from 1 */
    const char *phase;           /* "loading", "warming up", "measuring", "operators" */
    uint64_t done, wanted;       /* inferences; wanted 0: by time */
    double seconds, wanted_s;    /* in this phase */
    double last_p50_ms;          /* of the last block; NAN */
};

/* --live: one per second. */
struct bench_live {
    double seconds;
    uint64_t inferences; /* in this second */
    double p50_ms, p99_ms, max_ms;
};

/* Queries that were kept, in order of their starts; told between blocks, never while one runs. */
struct bench_batch {
    size_t row;
    const char *name;  /* of the row; "" if there is only one */
    uint32_t process;  /* from 0 */
    uint64_t epoch_ns; /* CLOCK_MONOTONIC; the times count from here */
    const uint64_t *due_ns, *start_ns, *end_ns;
    size_t count;
};

struct bench_options {
    const char *model;
    const char *runtime; /* plugin, or NULL */
    const char *library; /* --ort, or NULL: search */
    const char *runner;  /* NULL: find it */
    const char *tool;    /* our own executable, for `record` */
    const char *tool_version;
    const char *command_line;

    uint32_t iterations; /* of each process; default 100 */
    int64_t warmup;      /* -1: until steady, at least 10 */
    double warmup_max_s; /* default 10 */
    double duration_s;   /* 0: by iterations; else of each process */
    uint32_t processes;  /* default 5 */
    struct inputs_options inputs;
    struct runner_setting settings[BENCH_SETTINGS_MAX]; /* common to all rows */
    size_t setting_count;
    struct bench_variant *variants; /* none: one row */
    size_t variant_count;

    enum bench_scenario scenario;
    uint32_t concurrency; /* workers; 0: 1, or as many as CPUs for server and offline */
    uint32_t per_query;   /* multi: inferences per query, default 8 */
    double rate_hz;
    double slo_ms;
    bool find_rate;

    uint32_t ops;      /* 0: none; else this many recorded inferences */
    const char *trace; /* write a trace here as well */
    bool trace_overwrite;
    uint64_t start_iter;  /* iterations that are not kept, after the warm-up */
    double start_delay_s; /* nor those in the first so many seconds */
    uint64_t keep;        /* --samples: keep at most so many per process; 0: all */
    bool load_only;       /* no inference at all */
    int pin_cpu;          /* -1: no */
    uint32_t patience_s;  /* a load or inference that takes longer hangs; default 600, 0: none */
    bool nearest;         /* percentile rule */

    const volatile sig_atomic_t *stop;
    void (*progress)(const struct bench_progress *progress, void *user);
    void (*live)(const struct bench_live *live, void *user);
    void (*kept)(const struct bench_batch *batch, void *user);
    void *user;
};

/* Defaults for everything. */
void bench_options_init(struct bench_options *options);

/* How many threads run inferences: what was asked for, or what the scenario wants. */
uint32_t bench_workers(const struct bench_options *options, const struct host_facts *host);

/* IFG_OK also when single rows failed (their reason tells) and when the user stopped it
 * (result->interrupted). Else nothing was measured: IFG_NOT_FOUND the model, IFG_CORRUPT no model,
 * IFG_INVALID options or inputs do not fit, IFG_UNSUPPORTED no runtime, IFG_INTERNAL it failed. */
enum ifg_status bench_measure(const struct bench_options *options, struct bench_result **out_result,
                              struct ifg_error *err) IFG_MUST_CHECK;

/* Looks at the model file before anything is started: missing, a directory, HTML, an LFS pointer,
 * truncated... with the right sentence. Fills the model's part of result (may be NULL). For plugins
 * only that it exists. */
enum ifg_status bench_check_model(const char *path, bool plugin, struct bench_result *result,
                                  struct ifg_error *err) IFG_MUST_CHECK;

/* Runs the model once more under `inferogram record --ops` and reads the operators from the trace
 * into row->ops: medians per node. Used by bench --ops and by compare. */
enum ifg_status bench_measure_ops(const struct bench_options *options,
                                  const struct bench_variant *variant, uint32_t inferences,
                                  struct bench_row *row, struct ifg_error *err) IFG_MUST_CHECK;

#endif
