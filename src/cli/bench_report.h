// SPDX-License-Identifier: Apache-2.0
/*
 * Reports of single inferences that bench writes while it runs, as AIC100's runner does: a latency
 * file or a Chrome trace for each row, one at the end or one per interval.
 */
#ifndef IFG_CLI_BENCH_REPORT_H
#define IFG_CLI_BENCH_REPORT_H

#include "bench/measure/measure.h"

struct bench_report_row;

struct bench_report {
    bool latency, trace; /* types; none, but another option: latency */
    uint32_t every;      /* --sampling; 0: all */
    uint32_t rate_ms;    /* 0: one report at the end */
    const char *directory;
    const char *model; /* the name of a report's program */
    bool overwrite;
    struct bench_report_row *rows;
    size_t row_count;
    uint32_t written;
    bool failed; /* told already */
};

/* --type, --sampling, --report-rate, --report-dir; CLI_YES, or the exit status after a message. */
int bench_report_type(const char *text, struct bench_report *report);
int bench_report_sampling(const char *text, struct bench_report *report);
int bench_report_rate(const char *text, struct bench_report *report);

bool bench_report_wanted(const struct bench_report *report);

/* Makes the directory, before minutes are spent. CLI_YES, or the exit status after a message. */
int bench_report_begin(struct bench_report *report);

/* For bench_options.kept; user is the report. */
void bench_report_take(const struct bench_batch *batch, void *user);

/* Writes what is left and forgets everything. CLI_YES, or CLI_NO if a report could not be written.
 */
int bench_report_end(struct bench_report *report);

#endif
