// SPDX-License-Identifier: Apache-2.0
/*
 * A tracepoint of the kernel: its number, and where its fields are in a record. Both are told by
 * text files of tracefs. Where that is not mounted, who may mount it is given a look at it that
 * nobody else sees.
 */
#ifndef IFG_COLLECT_PERF_TRACEPOINT_H
#define IFG_COLLECT_PERF_TRACEPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct tracepoint_field {
    uint32_t offset;
    uint32_t size; /* 1, 2, 4 or 8; 0: there is no such field */
    bool is_signed;
};

/* name: "sched/sched_waking". A field that is not there has size 0. IFG_NOT_FOUND, IFG_PERMISSION:
 * err says what is missing and the command that changes that. */
enum ifg_status tracepoint_read(const char *name, const char *const *fields, size_t field_count,
                                struct tracepoint_field *out_fields, uint64_t *out_id,
                                struct ifg_error *err) IFG_MUST_CHECK;

/* Finds a field in the text of a `format` file. False: none of that name, or it makes no sense. */
bool tracepoint_find_field(const char *format, const char *name, struct tracepoint_field *out);

/* The value of a field; `missing` if the record has none. */
int64_t tracepoint_value(const struct tracepoint_field *field, const uint8_t *record, size_t size,
                         int64_t missing);

#endif
