// SPDX-License-Identifier: Apache-2.0
/*
 * A whole gate: measuring or reading, judging, measuring again what failed, the baseline and the
 * history. The plan is in docs/gate.md.
 */
#ifndef IFG_BENCH_GATE_RUN_H
#define IFG_BENCH_GATE_RUN_H

#include "bench/gate/gate.h"

#define GATE_MAX_S 300.0

/* What the process that asks ends with. */
enum gate_status {
    GATE_STATUS_PASS = 0,
    GATE_STATUS_FAIL = 1,
    GATE_STATUS_UNSURE = 3,
    GATE_STATUS_LACKS = 4, /* or the machine is not fit */
};

#define GATE_WARNINGS_MAX 64
#define GATE_MESSAGE      768

struct gate_warning {
    char text[GATE_MESSAGE];
    bool drift; /* a change in the history */
    bool fatal; /* ... that fails */
};

struct gate_report {
    const char *subject; /* the model, result, trace or command */
    const char *against; /* or NULL */
    struct gate_plan plan;
    bool planned;          /* it may be measured again: the plan's looks count */
    double alpha;          /* of one look */
    uint32_t measurements; /* that were made; 0: of a file */
    enum gate_on_unsure on_unsure;
    struct gate_check checks[GATE_BUDGETS_MAX + 4];
    size_t check_count;
    struct gate_warning warnings[GATE_WARNINGS_MAX];
    size_t warning_count;
    enum gate_verdict verdict;
    enum gate_status status;
    char measured[320]; /* "500 inferences in 5 processes, ..." or "" */
    char trust[640];    /* a sentence, or "" */
    struct gate_drift drifts[GATE_SERIES];
    size_t drift_count;
    const char *history;  /* directory, or NULL */
    const char *baseline; /* that was to be written, or NULL */
    bool baseline_written;
    size_t history_runs;
};

void gate_warn(struct gate_report *report, bool drift, bool fatal, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

struct gate_request {
    struct bench_options options; /* of measuring, with stop and progress */
    /* one of these */
    const char *result;
    const char *trace;
    const struct timeline *timeline; /* of the trace */
    const char *model;
    char **command; /* the candidate */

    struct gate_budget budgets[GATE_BUDGETS_MAX];
    size_t budget_count;
    const char *against; /* a model, or a command for sh */
    char **base_command; /* NULL: against, or none */
    enum compare_measure measure;
    const char *measure_key;
    uint32_t pairs;                /* 0: as compare does */
    double max_s;                  /* of all measuring together; 0: GATE_MAX_S */
    struct accuracy_limits limits; /* of the outputs of interleaved comparisons */
    bool no_accuracy;
    bool limits_given;
    const char *baseline;
    bool update_baseline;
    bool force;
    double threshold; /* NAN: by the kind of comparison */
    struct gate_plan plan;
    enum gate_on_unsure on_unsure;
    bool allow_noisy;
    const char *row; /* by name; NULL: the first that was measured */
    double slo_ms;   /* 0: the result's */
    bool iterations_given;
    const char *history;
    double drift;
    bool fail_on_drift;

    /* Before measuring: what is going to be measured, if it is more than comparing, and for how
     * long in all. */
    void (*plan_made)(const struct bench_options *options, double max_s, void *user);
    void (*say)(const char *text, void *user); /* what keeps it from being judged, line by line */
    void (*drift_text)(const struct gate_drift *drift, char *out, size_t size, void *user);
    void *user;
};

/* IFG_OK: the report is filled. Else there is no verdict: IFG_INTERNAL if what is to be judged does
 * not run, which is a failure; IFG_UNSUPPORTED if something is not available here; IFG_CANCELLED;
 * anything else: the input. */
enum ifg_status gate_run(struct gate_request *request, struct gate_report *report,
                         struct ifg_error *err) IFG_MUST_CHECK;

#endif
