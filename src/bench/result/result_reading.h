// SPDX-License-Identifier: Apache-2.0
/* Reading a result's JSON document: its state, and its two halves: walking through the document
 * (result_walk.c), and what is checked and computed afterwards (result_read.c). */
#ifndef IFG_BENCH_RESULT_READING_H
#define IFG_BENCH_RESULT_READING_H

#include <yajl/yajl_parse.h>

#include "bench/result/result_fields.h"

#define READING_DEPTH_MAX 64
#define READING_WAY_OUT   "was it made by `inferogram bench --json`?"

/* What the row that is being read had, besides what it keeps. */
struct row_state {
    bool has_samples;
    size_t service_count;
};

struct level {
    bool list;
    enum object object;        /* that this is, or of the list's elements */
    char *base;                /* the struct that it fills, or that has the list */
    const struct field *field; /* of a list; of an object, the key that was just read */
    char *field_base;          /* the struct that the field is in */
    size_t capacity;           /* of a list */
};

struct reading {
    const char *name;
    struct bench_result *result;
    struct bench_row *flat; /* the row whose keys stand at the top */
    struct row_state flat_state, state;
    struct level levels[READING_DEPTH_MAX];
    size_t depth;
    size_t passed_over; /* levels inside something unknown */
    size_t text_capacity;
    struct ifg_error *err;
    enum ifg_status status;
};

/* Ends the reading: the message says where, and a way out. Both return 0, for yajl to stop. */
int result_reading_refuse(struct reading *reading, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int result_reading_no_memory(struct reading *reading);

/* 0 if the row has no samples, or service times that are not as many. */
int result_reading_check_row(struct reading *reading, const struct bench_row *row,
                             const struct row_state *state);

void result_reading_row_init(struct bench_row *row);

extern const yajl_callbacks result_reading_callbacks; /* their context is the struct reading */

#endif
