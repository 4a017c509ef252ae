// SPDX-License-Identifier: Apache-2.0
/* What the user asked a gate for, and getting it measured and judged. */
#ifndef IFG_CLI_GATE_RUN_H
#define IFG_CLI_GATE_RUN_H

#include "cli/bench_options.h"
#include "cli/gate_output.h"

#define GATE_MAX_S 300.0

struct gate_request {
    struct bench_arguments arguments;
    /* one of these */
    const char *result;
    const char *trace;
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
    struct accuracy_limits limits; /* of the outputs of what is compared in turns */
    bool no_accuracy, limits_given;
    const char *baseline;
    bool update_baseline, force;
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
};

/* What was measured so far. */
struct gate_work {
    struct gate_request *request;
    struct gate_report *report;
    struct bench_result *results[GATE_RETRIES_MAX + 1];
    bool fit[GATE_RETRIES_MAX + 1];
    size_t result_count;
    struct compare *compares[GATE_RETRIES_MAX + 1];
    size_t compare_count;
    struct bench_result *baseline;
    struct gate_history *history;
    bool interrupted;
    double deadline_s;       /* nothing new is begun after it, unless a failure waits for it */
    double turns_s, alone_s; /* that measuring took so far */
    double last_s;           /* the last one that was not in turns */
    bool out_of_time;
    char in_turns[120], alone[120]; /* what was measured */
};

/* CLI_YES, or the exit status after a message. */
int gate_read_baseline(struct gate_work *run);
int gate_update_baseline(struct gate_work *run); /* after the verdict; may change the status */
int gate_keep_in_history(struct gate_work *run);

/* CLI_YES: the report is filled, with the exit status in it. Else the exit status, and it has been
 * said why. */
int gate_run(struct gate_request *request, struct gate_report *report);

#endif
