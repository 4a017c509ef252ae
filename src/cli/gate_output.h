// SPDX-License-Identifier: Apache-2.0
/* What a gate found, in words and in the forms that other programs read. */
#ifndef IFG_CLI_GATE_OUTPUT_H
#define IFG_CLI_GATE_OUTPUT_H

#include "bench/gate/gate_run.h"

/* "<= 31.0 ms with 95 % confidence, allowed 50 ms" */
const char *gate_check_text(const struct gate_check *check, char *out, size_t size);
/* The formula and its numbers. */
void gate_explain(const struct gate_report *report, const struct gate_check *check,
                  struct ifg_bytes *out);
/* 31.0 ms, 54.1 MB, 30.2/s, 99.1 % */
const char *gate_value_text(double value, enum gate_unit unit, char out[48]);

/* For gate_request.drift_text: "p50 rose 4.1 % since 2026-08-01 ..." */
void gate_drift_text(const struct gate_drift *drift, char *out, size_t size, void *user);

/* One that was judged, of several if a file of settings names them. */
struct gate_part {
    const char *name; /* NULL: there is only one */
    const char *subject;
    const struct gate_report *report; /* NULL: there is no verdict */
    const char *error;                /* why not */
    int status;                       /* exit status */
};

struct gate_parts {
    const struct gate_part *items;
    size_t count;
    const char *config; /* NULL: one part, without a name */
    int status;
};

/* PASS, FAIL ..., or ERROR without a verdict. */
const char *gate_parts_title(const struct gate_parts *parts);

void gate_write_text(const struct gate_report *report, bool explain, int fd, struct ifg_bytes *out);
void gate_write_json(const struct gate_parts *parts, struct ifg_bytes *out);
void gate_write_junit(const struct gate_parts *parts, struct ifg_bytes *out);
void gate_write_github(const struct gate_parts *parts, struct ifg_bytes *out);
void gate_write_markdown(const struct gate_parts *parts, struct ifg_bytes *out);

/* ---- gate_files.c ---- */

struct gate_outputs {
    bool json;
    bool github;
    bool explain;
    const char *junit;
    const char *markdown;
};

/* The text of one of several, unless stdout gets a document; all the rest at the end. Exit
 * statuses. */
int gate_print_part(const struct gate_outputs *outputs, const struct gate_part *part);
int gate_write_outputs(const struct gate_outputs *outputs, const struct gate_parts *parts);

#endif
