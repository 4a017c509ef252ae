// SPDX-License-Identifier: Apache-2.0
/*
 * Inputs of inferences that were kept (record --capture-inputs), and the slices that they belong
 * to. Made when first asked for; read-only, the timeline's own. Their bytes stay in the file:
 * trace_inputs_each_part.
 */
#ifndef IFG_TIMELINE_INPUTS_H
#define IFG_TIMELINE_INPUTS_H

#include "timeline/timeline.h"
#include "trace/inputs.h"

/* One tensor. Those of one inference stand together, in the order of the model's call. */
struct timeline_input {
    size_t slice; /* the inference; SIZE_MAX: it is not in the trace */
    const struct trace_inputs *inputs;
    const struct trace_input_tensor *tensor;
    uint32_t position;
};

struct timeline_inputs {
    const struct timeline_input *items; /* by slice */
    size_t count;
    size_t inferences; /* in the trace that have any */
    uint64_t damaged;
};

enum ifg_status timeline_inputs_get(const struct timeline *timeline,
                                    const struct timeline_inputs **out_inputs,
                                    struct ifg_error *err) IFG_MUST_CHECK;

/* Of one inference; NULL: none were kept, or there is no memory to know. */
const struct trace_inputs *timeline_inputs_of(const struct timeline *timeline, size_t slice);

/* "float32"; NULL: unknown. */
const char *timeline_input_type(uint32_t type);
/* "1x3x224x224", "scalar" */
const char *timeline_input_shape(const struct trace_input_tensor *tensor, char *out, size_t size);

#endif
