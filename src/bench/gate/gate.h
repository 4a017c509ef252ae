// SPDX-License-Identifier: Apache-2.0
/*
 * Pass or fail: budgets on a benchmark's result or on a trace, changes against a baseline, and slow
 * drift over many runs. Everything here is numbers and verdicts; the words are the command's.
 *
 * A check compares a limit with what is known of a metric: not one number but two ends, `low` and
 * `high`. "At most": PASS if high <= limit, FAIL if low > limit, else UNSURE. What the ends are
 * depends on the metric's rule (docs/gate.md has every formula).
 */
#ifndef IFG_BENCH_GATE_H
#define IFG_BENCH_GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/perturbed.h"
#include "bench/compare/compare.h"
#include "bench/result/result.h"
#include "timeline/timeline.h"

#define GATE_ALPHA       0.05
#define GATE_RETRIES     2 /* repeats of what failed, by default */
#define GATE_RETRIES_MAX 8
#define GATE_BUDGETS_MAX 256
#define GATE_TEXT        256 /* bytes of a metric's name */

enum gate_verdict {
    GATE_PASS,
    GATE_FAIL,
    GATE_UNSURE,
    GATE_UNFIT, /* the machine was too noisy to tell */
    GATE_LACKS, /* was not measured, and cannot be here */
};
const char *gate_verdict_name(enum gate_verdict verdict); /* "PASS", ... */

enum gate_unit {
    GATE_MS,
    GATE_BYTES,
    GATE_PER_SECOND,
    GATE_JOULE,
    GATE_SHARE, /* 0 .. 1 */
    GATE_NUMBER,
};
const char *gate_unit_name(enum gate_unit unit); /* "ms", "bytes", "per second", ... */

enum gate_rule {
    GATE_BY_ORDER,    /* a quantile, by order statistics */
    GATE_BY_INTERVAL, /* bootstrap over processes and blocks */
    GATE_BY_PROCESS,  /* one value of each process */
    GATE_BY_SHARE,    /* hits of a number of tries */
    GATE_EXACT,       /* a fact */
    GATE_BY_CHANGE,   /* a relative change with its interval */
};
const char *gate_rule_name(enum gate_rule rule); /* "order statistics", ... */

/* What is known of a metric. */
struct gate_estimate {
    enum gate_rule rule;
    double value;
    bool low_known, high_known;
    double low, high;
    double least, most;    /* of the single values it comes from; NAN: there are none */
    double quantile;       /* by order */
    double confidence;     /* of `high` for a limit from above, of `low` for one from below */
    uint64_t count;        /* samples, processes, tries, units */
    uint64_t groups;       /* by interval: blocks; by share: hits */
    uint64_t beyond;       /* by order, by process: of count, on the wrong side of the limit */
    bool iterations_alone; /* a median without blocks: iterations were taken for independent */
    uint64_t needs; /* UNSURE: with about so many (of count) it would be decided; 0: not known */
    const char *missing; /* not NULL: there is no such number, and this is why */
};

/* ---- budgets ---- */

struct gate_metric;

enum gate_scope { GATE_IN_CATEGORY, GATE_IN_ZONE, GATE_IN_OP };
enum gate_stat {
    GATE_COUNT,
    GATE_TOTAL,
    GATE_MEAN,
    GATE_MIN,
    GATE_MAX,
    GATE_FIRST,
    GATE_P50,
    GATE_P90,
    GATE_P95,
    GATE_P99,
    GATE_P999,
    GATE_STATS
};

struct gate_budget {
    char metric[GATE_TEXT];
    bool at_least;
    double limit;
    enum gate_unit unit;
    const struct gate_metric *of; /* of a result; NULL: of a trace, and the rest counts */
    enum gate_scope scope;
    enum trace_category category;
    char model[GATE_TEXT]; /* "" for all */
    char name[GATE_TEXT];  /* of a zone or operator */
    enum gate_stat stat;
};

/* "p99=50ms", on_trace: "ocr/inference.p99=50ms", "zone:decode.max=2ms". The message of a wrong one
 * names what there is. */
enum ifg_status gate_budget_parse(const char *text, bool at_least, bool on_trace,
                                  struct gate_budget *out_budget,
                                  struct ifg_error *err) IFG_MUST_CHECK;
/* 1.5 with a unit ("ms", "MiB", "%"), for this kind of metric. */
enum ifg_status gate_parse_value(const char *text, enum gate_unit unit, double *out_value,
                                 struct ifg_error *err) IFG_MUST_CHECK;
/* Samples that the budgets need, so that a percentile can be judged at all. */
uint64_t gate_samples_needed(const struct gate_budget *budgets, size_t count, double alpha);

/* Whether the machine's noise, or the lack of a steady state, matters to it. */
bool gate_budget_is_timing(const struct gate_budget *budget);
bool gate_budget_is_steady(const struct gate_budget *budget);

/* Several measurements of the same thing as one; destroy with gate_pool_fini. The texts of the
 * first are borrowed. */
enum ifg_status gate_pool_rows(const struct bench_row *const *rows, size_t count, bool nearest,
                               uint64_t seed, struct bench_row *out_row,
                               struct ifg_error *err) IFG_MUST_CHECK;
void gate_pool_fini(struct bench_row *row);

/* slo_ms > 0: for goodput, instead of the row's own. */
enum ifg_status gate_estimate_result(const struct gate_budget *budget,
                                     const struct bench_result *result, const struct bench_row *row,
                                     double slo_ms, double alpha, uint64_t seed,
                                     struct gate_estimate *out_estimate,
                                     struct ifg_error *err) IFG_MUST_CHECK;
/* What is in no number: had not ended; took longer because operators were recorded in it. */
struct gate_left_out {
    uint64_t unfinished, perturbed;
};
/* IFG_NOT_FOUND: nothing of that name, the message lists what there is; or nothing that counts.
 * perturbed: of this trace. */
enum ifg_status gate_estimate_trace(const struct gate_budget *budget,
                                    const struct timeline *timeline,
                                    const struct perturbed *perturbed, double alpha, uint64_t seed,
                                    struct gate_estimate *out_estimate,
                                    struct gate_left_out *out_left,
                                    struct ifg_error *err) IFG_MUST_CHECK;

enum gate_verdict gate_judge(const struct gate_estimate *estimate, bool at_least, double limit);

/* A bad machine, or one that was not steady, makes times uncertain, but not without bound. Whether
 * the verdict (PASS or FAIL) is so clear that it stands all the same: PASS if every single value is
 * within the limit, or the end that passes is within it by a factor; FAIL if even the best single
 * value is beyond it by that factor. */
#define GATE_NOISE_FACTOR 2.0
bool gate_beyond_noise(const struct gate_estimate *estimate, bool at_least, double limit,
                       enum gate_verdict verdict);
/* How many would decide; 0 if that cannot be said. */
uint64_t gate_needs(const struct gate_estimate *estimate, double limit);

/* ---- the plan: what is looked at again, and at what price ---- */

struct gate_plan {
    double alpha;     /* of each check, all its looks together */
    uint32_t retries; /* of what failed */
    uint32_t unsure;  /* of what was unsure */
};
uint32_t gate_plan_looks(const struct gate_plan *plan);
double gate_plan_alpha(const struct gate_plan *plan); /* of one look */

enum gate_kind {
    GATE_BUDGET,
    GATE_RELATIVE,
    GATE_OUTPUTS, /* of interleaved comparisons: value and limit are cosines, reason says more */
};

struct gate_check {
    enum gate_kind kind;
    const struct gate_budget *budget; /* GATE_BUDGET */
    char metric[GATE_TEXT];
    struct gate_estimate estimate;
    double limit;
    enum gate_verdict verdict; /* of the last look */
    enum gate_verdict looks[GATE_RETRIES_MAX + 1];
    uint32_t look_count;
    bool settled;
    double needs_s; /* UNSURE: with about so many seconds of measuring it would be decided; 0 */
    char reason[GATE_TEXT]; /* why it is UNSURE, UNFIT, LACKS; or "" */
    /* GATE_RELATIVE */
    const char *against;
    enum compare_unit unit;
    struct statistics_change change;
};

/* Takes what the next look says, and decides whether that is the last word:
 *   PASS and LACKS are; so is a FAIL of an exact number;
 *   a FAIL has to be confirmed by the next look, at all the data so far, if the plan has one left;
 *   what failed once and is UNSURE now is looked at again while looks are left;
 *   what was UNSURE from the start only as often as the plan says for unsure ones. */
void gate_take_look(struct gate_check *check, const struct gate_plan *plan, enum gate_verdict seen);

/* A change with its pairs of units of several measurements as one. Strata keep them apart. */
enum ifg_status gate_pool_changes(const struct compare *const *compares, size_t count,
                                  struct statistics_change *out_change,
                                  struct ifg_error *err) IFG_MUST_CHECK;
enum gate_verdict gate_verdict_of_change(const struct statistics_change *change, double threshold);
void gate_estimate_change(const struct statistics_change *change, double threshold,
                          double confidence, struct gate_estimate *out_estimate);

enum gate_on_unsure {
    GATE_UNSURE_STAYS, /* a status of its own */
    GATE_UNSURE_PASSES,
    GATE_UNSURE_FAILS,
    GATE_UNSURE_WARNS, /* passes, but is called unsure */
};
/* What all checks say together: FAIL, then UNFIT or LACKS, then UNSURE, then PASS. */
enum gate_verdict gate_overall(const struct gate_check *checks, size_t count,
                               enum gate_on_unsure on_unsure);

/* ---- history ---- */

#define GATE_HISTORY_FILES_MAX 2000        /* the latest so many are read */
#define GATE_HISTORY_BYTES_MAX (64u << 20) /* of one file */
#define GATE_HISTORY_LEAST     10          /* runs, for a change between two segments of 5 */
#define GATE_DRIFT             0.02

enum { GATE_SERIES_P50, GATE_SERIES_LOAD, GATE_SERIES_PEAK, GATE_SERIES };
extern const char *const gate_series_names[GATE_SERIES]; /* "p50", "load", "peak_rss" */

struct gate_run {
    char file[GATE_TEXT];
    char when[40];   /* RFC 3339 */
    char commit[48]; /* from the file's name; "" */
    uint64_t
        context; /* a hash of what must be equal: model's name, CPU, runtime, settings, inputs */
    double value[GATE_SERIES]; /* ms, ms, bytes; NAN */
};

struct gate_history {
    struct gate_run *runs; /* those with the same context, oldest first */
    size_t run_count;
    size_t others;   /* read, with another context */
    size_t not_read; /* older than the latest GATE_HISTORY_FILES_MAX */
    char **skipped;  /* a sentence for each damaged file */
    size_t skipped_count;
};

/* Documents are hostile. The file's name gives the commit. */
enum ifg_status gate_run_parse(const char *name, const void *json, size_t bytes,
                               struct gate_run *out_run, struct ifg_error *err) IFG_MUST_CHECK;
/* Writes the document as a new file of the directory, which is created if it is missing. */
enum ifg_status gate_history_append(const char *directory, const struct ifg_bytes *document,
                                    const char *when, const char *commit, char *out_file,
                                    size_t out_size, struct ifg_error *err) IFG_MUST_CHECK;
/* Runs whose context is that of the named file, which must be in the directory. */
enum ifg_status gate_history_read(const char *directory, const char *file,
                                  struct gate_history **out_history,
                                  struct ifg_error *err) IFG_MUST_CHECK;
void gate_history_destroy(struct gate_history *history);

struct gate_drift {
    int series;
    bool known;    /* enough runs */
    size_t runs;   /* that have a value */
    bool changed;  /* there is a level that differs from the one before */
    double change; /* from the level before the rise (or fall) to the present one */
    double before, now;
    struct gate_run since; /* the first run of the rise */
    size_t number;         /* of that run, from 1 */
};
/* The present level against the one before the last rise (several rises in a row are one: slow
 * drift comes in steps). */
enum ifg_status gate_history_drift(const struct gate_history *history, int series,
                                   struct gate_drift *out_drift,
                                   struct ifg_error *err) IFG_MUST_CHECK;

/* Whole or not at all: a new file in the same directory, then rename. */
enum ifg_status gate_write_file(const char *path, const void *data, size_t size,
                                struct ifg_error *err) IFG_MUST_CHECK;

#endif
