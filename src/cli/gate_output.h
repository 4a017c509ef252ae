// SPDX-License-Identifier: Apache-2.0
/* What a gate found, in words and in the forms that other programs read. */
#ifndef IFG_CLI_GATE_OUTPUT_H
#define IFG_CLI_GATE_OUTPUT_H

#include "bench/gate/gate.h"

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
    int status;         /* the exit status */
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

/* "<= 31.0 ms with 95 % confidence, allowed 50 ms" */
const char *gate_check_text(const struct gate_check *check, char *out, size_t size);
/* The formula and its numbers. */
void gate_explain(const struct gate_report *report, const struct gate_check *check,
                  struct ifg_bytes *out);
/* 31.0 ms, 54.1 MB, 30.2/s, 99.1 % */
const char *gate_value_text(double value, enum gate_unit unit, char out[48]);

void gate_write_text(const struct gate_report *report, bool explain, int fd, struct ifg_bytes *out);
void gate_write_json(const struct gate_report *report, struct ifg_bytes *out);
void gate_write_junit(const struct gate_report *report, struct ifg_bytes *out);
void gate_write_github(const struct gate_report *report, struct ifg_bytes *out);
void gate_write_markdown(const struct gate_report *report, struct ifg_bytes *out);

#endif
