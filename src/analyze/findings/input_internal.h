// SPDX-License-Identifier: Apache-2.0
/* What the parts of input.c share: see input.h. */
#ifndef IFG_ANALYZE_FINDINGS_INPUT_INTERNAL_H
#define IFG_ANALYZE_FINDINGS_INPUT_INTERNAL_H

#include "analyze/device_time.h"
#include "analyze/findings/input.h"
#include "base/index.h"

#define NO_FUNCTION UINT32_MAX

/* Operators of more types than this in all models are summed up under the last one's neighbours. */
#define OPERATORS_MAX 65536u

/* Cells of the histogram of operator times: 32 for each power of two. */
#define CELL_BITS 5u
#define CELLS     IFG_CELLS(CELL_BITS, 64)

/* What is gathered of the operators of one model, beyond their types. */
struct operator_times {
    uint64_t *cells;
    uint64_t count;
    uint64_t whole_us;
};

struct operator_table {
    struct ml_operator *items;
    size_t count;
    size_t capacity;
    struct ifg_index index;
};

struct building {
    const struct timeline *timeline;
    struct ml_input *input;
    struct device_times *device_times; /* NULL: no work of devices was recorded */
    uint32_t *function_of;             /* model function to ml function */
    size_t *next_event;                /* by ml function and category: where the next one goes */
    struct operator_table operators;
    uint32_t *operator_of_location; /* index + 1; 0: look at the slice */
    struct operator_times *operator_times;
    uint32_t *stage_of_location; /* index + 1 */
    uint64_t *requests;
    size_t request_count;
    size_t request_capacity;
};

/* properties.c: what the properties of models say. */
void findings_read_properties(struct ml_input *input);

/* walk.c: the passes over slices. */
enum ifg_status findings_walk(struct building *building);

/* operators.c */
enum ifg_status findings_operator_find(struct operator_table *table, uint32_t model,
                                       const char *type, uint32_t *out_index);
enum ifg_status findings_finish_operators(struct building *building);

/* timing.c */
enum ifg_status findings_time_events(struct ml_input *input);

#endif
