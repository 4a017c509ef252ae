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

void gate_write_text(const struct gate_report *report, bool explain, int fd, struct ifg_bytes *out);
void gate_write_json(const struct gate_report *report, struct ifg_bytes *out);
void gate_write_junit(const struct gate_report *report, struct ifg_bytes *out);
void gate_write_github(const struct gate_report *report, struct ifg_bytes *out);
void gate_write_markdown(const struct gate_report *report, struct ifg_bytes *out);

#endif
