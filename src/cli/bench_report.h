// SPDX-License-Identifier: Apache-2.0
/*
 * Reports of single inferences that bench writes while it runs, as AIC100's runner does: a latency
 * file or a Chrome trace for each row, one at the end or one per interval.
 */
#ifndef IFG_CLI_BENCH_REPORT_H
#define IFG_CLI_BENCH_REPORT_H

#include "bench/measure/measure.h"

struct bench_arguments;
struct bench_report_row;

enum { BENCH_REPORT_LATENCY, BENCH_REPORT_TRACE, BENCH_REPORT_TYPES };

struct bench_report {
    bool types[BENCH_REPORT_TYPES]; /* none, but another option: latency */
    uint32_t sampling;              /* 1: all, 2: every 2nd, 3: every 4th, ...; 0: not said */
    uint32_t rate_ms;               /* 0: one report at the end */
    const char *directory;
    struct bench_arguments *arguments; /* their progress line makes way for messages */
    const char *model;                 /* the name of a report's program */
    bool overwrite;
    struct bench_report_row *rows;
    size_t row_count; /* all that there is room for */
    uint32_t written;
    bool failed; /* told already */
};

/* The choices of --type and --sampling. */
extern const char *const bench_report_types[];
extern const char *const bench_report_samplings[];

/* --report-rate: milliseconds, or a time with its unit; false if it is none. */
bool bench_report_parse_rate(const char *text, uint32_t *out_ms);

bool bench_report_wanted(const struct bench_report *report);

/* Makes the directory, before minutes are spent. CLI_YES, or the exit status after a message. */
int bench_report_begin(struct bench_report *report);

/* For bench_options.kept; user is the report. */
void bench_report_take(const struct bench_batch *batch, void *user);

/* Writes what is left and forgets everything. CLI_YES, or CLI_NO if a report could not be written.
 */
int bench_report_end(struct bench_report *report);

#endif
