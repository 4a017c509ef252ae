// SPDX-License-Identifier: Apache-2.0
/*
 * The events of models as the report and its rules want them: by model, function and category, in
 * the order of their starts, with the attributes that matter, and with timings.
 *
 * Made in a fixed number of passes over the slices, whatever the trace holds. Everything here is
 * read-only afterwards and lives until findings_input_destroy; texts belong to the timeline.
 */
#ifndef IFG_ANALYZE_FINDINGS_INPUT_H
#define IFG_ANALYZE_FINDINGS_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/resources.h"
#include "base/quantile.h"
#include "base/status.h"
#include "timeline/timeline.h"

struct device_use;
struct heap_use;
struct memory;
struct timeline_profile;
struct waiting;

/* Percentiles of fewer values say nothing. */
#define ML_P90_LEAST 10u
#define ML_P99_LEAST 100u

/* Inferences whose operators were recorded take longer: with so many others they are left out. */
#define ML_UNPERTURBED_LEAST 5u

#define ML_EPS_MAX 16u /* execution providers of one model that are looked at */

enum ml_event_flag {
    ML_WITH_OPS = 1,    /* its operators were recorded, so its time is perturbed */
    ML_FAILED = 2,      /* its attribute status says so */
    ML_ASYNC = 4,       /* a span that may end on another thread; it has no slice */
    ML_SPECIALIZES = 8, /* a specialization lies inside (inferences) */
    ML_NESTED = 16,     /* lies inside another event of its category and model */
    ML_HAS_OPS = 32,    /* operators of it are in the trace (attached: not of all that paid) */
};

struct ml_event {
    uint64_t start_ns;
    uint64_t duration_ns;
    union {
        uint64_t gap_ns;            /* inferences: since the one before on the thread, without setup
                                       events; UINT64_MAX: there is none, or a load came between */
        uint64_t specialization_ns; /* loads: what lies inside of that category */
    };
    size_t slice;       /* as in SQL; SIZE_MAX for async events */
    const char *detail; /* inference: shapes; load: specialization; prepare-ep: provider; never
                           NULL. Equal texts are equal pointers. */
    uint32_t thread;
    uint32_t session; /* 0: not known */
    uint32_t batch;   /* 0: not known */
    uint32_t flags;
};

/* NAN where there is no such value. */
struct ml_timing {
    uint64_t count; /* that ended well, without perturbed ones if there are enough others */
    uint64_t async; /* of these */
    uint64_t unfinished;
    uint64_t failed;
    uint64_t total_ns;
    double first_ns; /* of the one that began first; NAN if that one is left out */
    double min_ns;
    double median_ns;
    double mean_ns;
    double p90_ns;
    double p99_ns;
    double max_ns;
    double share;            /* of the recording's duration */
    uint64_t perturbed;      /* how many had their operators recorded */
    bool perturbed_included; /* there were too few others */
    uint64_t perturbed_total_ns;
    double perturbed_cost; /* median of perturbed / median of others - 1; NAN if one is missing */
};

struct ml_events {
    const struct ml_event *items; /* by start */
    size_t count;
    struct ml_timing timing;
};

/* Requests as zones show them: the outermost zones with one inference of this function inside. */
struct ml_request {
    uint64_t count;
    uint64_t before_ns;
    uint64_t inference_ns;
    uint64_t after_ns;
};

struct ml_function {
    const char *name;
    uint32_t model; /* index into ml_input.models, the same as timeline->models */
    struct ml_events events[TRACE_CATEGORIES];
    struct ml_request request;
};

struct ml_ep {
    const char *name;
    size_t name_bytes;
    const char *failed; /* why it could not be added, or NULL */
    uint64_t nodes;     /* if nodes_known */
    bool nodes_known;
    bool requested;
    bool actual;
};

struct ml_operator {
    const char *type;
    uint32_t model;
    uint64_t count;
    uint64_t total_ns;
    uint64_t self_ns;   /* without operators inside */
    uint64_t device_ns; /* devices were busy with them; 0 where that was not recorded */
};

enum ml_load_state { ML_UNKNOWN, ML_COLD, ML_CACHED, ML_PRECOMPILED, ML_LOAD_STATES };

struct ml_model {
    const struct timeline_model *model;
    size_t first_function; /* of ml_input.functions */
    size_t function_count;

    struct ml_ep eps[ML_EPS_MAX]; /* requested ones first, in their order */
    size_t ep_count;
    bool placement_known; /* actual devices, or nodes */
    bool nodes_known;
    uint64_t nodes;         /* sum over EPs */
    const char *source;     /* where the placement is known from; "" */
    const char *policy;     /* "" */
    const char *options;    /* "" */
    const char *origin;     /* "file", "memory", "" */
    const char *inferred;   /* what its name was concluded from; "": it was told */
    uint64_t file_bytes;    /* 0: not known */
    uint32_t intra_threads; /* of each session; 0: the runtime's default, or not known */

    uint64_t loads[ML_LOAD_STATES];
    uint64_t total_ns; /* of all outermost events; orders models */

    size_t first_operator; /* of ml_input.operators, longest self time first */
    size_t operator_count;
    uint64_t operator_events;
    uint64_t operator_self_ns;
    uint64_t operator_device_ns; /* see ml_operator */
    bool device_recorded;        /* work of devices was recorded in its process */
    double operator_median_ns;   /* of one execution, to 2 %; NAN */
    uint64_t profiled;           /* inferences whose operators are in the trace */
    bool whole_microseconds;     /* so coarse are the times of operators */
    bool host_time;              /* operators of it are: see operator_is_host_time */
};

struct ml_stage {
    const char *name;
    uint64_t count;
    uint64_t first_ns; /* orders them */
    uint64_t self_ns;  /* without stages inside */
};

struct ml_input {
    const struct timeline *timeline;
    const struct trace_tables *tables;
    uint64_t duration_ns;        /* of the recording, from first to last; never 0 */
    uint64_t recorder_ns;        /* how long the recorder ran; never 0 */
    uint32_t cpus;               /* 0: not known */
    double load_average;         /* when the recording began; NAN */
    struct resources *resources; /* NULL: not recorded */

    struct ml_model *models;
    size_t model_count;
    struct ml_function *functions; /* by model */
    size_t function_count;
    struct ml_operator *operators; /* by model */
    size_t operator_count;
    struct ml_stage *stages; /* by first start */
    size_t stage_count;
    uint64_t requests; /* that stages belong to */

    struct ml_event *events; /* behind ml_events */
    size_t event_count;

    const struct timeline_profile *profile; /* samples; NULL: there are none */
    struct waiting *waiting;                /* NULL: there are no context switches */
    struct memory *memory;                  /* NULL: nothing is known of it */
    struct heap_use *heap;                  /* NULL: allocations were not recorded */
    struct device_use *device;              /* NULL: work of devices was not recorded */
};

enum ifg_status findings_input_create(const struct timeline *timeline, struct ml_input **out_input,
                                      struct ifg_error *err) IFG_MUST_CHECK;
void findings_input_destroy(struct ml_input *input);

/* The operators of a model; NULL if it has none. */
static inline const struct ml_operator *ml_operators_of(const struct ml_input *input,
                                                        const struct ml_model *model)
{
    return model->operator_count ? &input->operators[model->first_operator] : NULL;
}

/* The value of an attribute of an event, or "" */
const char *findings_event_text(const struct ml_input *input, const struct ml_event *event,
                                const char *key);

/* Whether an event belongs into statistics: it did not fail, and is not left out as perturbed. */
bool findings_event_counts(const struct ml_events *events, const struct ml_event *event);

bool findings_is_cpu(const struct ml_ep *ep);

/* "CUDA" for CUDAExecutionProvider. */
const char *findings_ep_name(const struct ml_ep *ep, char *out, size_t size);

/* Puts values in order. */
void findings_sort(uint64_t *values, size_t count);

#endif
