// SPDX-License-Identifier: Apache-2.0
/*
 * A trace in memory: read-only columns on one clock.
 *
 * Slices (zones, ML events, operators, stages) lie thread by thread; within a thread they are
 * sorted by start, a parent before its children. 18 bytes each. All times are CLOCK_MONOTONIC
 * nanoseconds. What had not ended is there too, as long as it was seen, and is marked unfinished.
 *
 * Everything belongs to the timeline and stays valid until timeline_destroy; the reader may not be
 * closed before. Once created a timeline is never changed: any number of threads may read it.
 */
#ifndef IFG_TIMELINE_TIMELINE_H
#define IFG_TIMELINE_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "trace/reader.h"

#define TIMELINE_NONE UINT32_MAX

struct timeline_process {
    uint32_t pid;
    uint32_t parent_pid;
    const char *name; /* file name of the program; with its machine, if the trace is of several */
    const char *program;
    const char *arguments;
    const char *host;  /* the machine it ran on; "" unknown */
    uint64_t start_ns; /* when the library started in it */
    uint64_t end_ns;   /* 0 if unknown */
    enum trace_process_fate fate;
    uint32_t fate_code;
};

struct timeline_thread {
    uint32_t process;
    uint32_t tid;
    const char *name; /* may be empty */
    size_t first_slice;
    size_t slice_count;
    uint64_t dropped;
};

/* A machine-learning model of one process. */
struct timeline_model {
    uint32_t process;
    uint32_t id;
    const char *name;       /* tells it from models of other files: "en/model" */
    const char *given_name; /* as the program or its file has it: "model" */
    const char *path;
    const char *content_id;
    const char *runtime;
    const char *requested_devices;
    const char *actual_devices;
};

/* A function of a model: the leaves of the tree all activity → model → function. */
struct timeline_model_function {
    uint32_t model;
    const char *name;
    uint64_t events[TRACE_CATEGORIES];
};

/* What a slice, counter or span is an instance of. */
struct timeline_location {
    uint32_t process;
    enum trace_location_kind kind;
    enum trace_category category; /* ML events */
    uint32_t color;               /* 0, or 0x1RRGGBB */
    uint32_t line;
    uint32_t model;          /* index of its model, or TIMELINE_NONE */
    uint32_t function_index; /* ML events: index into functions, else TIMELINE_NONE */
    const char *name;        /* ML events: the category's name if the location has none */
    const char *function;
    const char *file;
};

struct timeline_message {
    uint64_t ns;
    uint32_t thread;
    uint32_t level;
    const char *text;
};

struct timeline_counter {
    uint64_t ns;
    double value;
    uint32_t thread;
    uint32_t location;
};

/* Begin and end matched by (process, name, id). An end without a begin is not here but counted. */
struct timeline_async {
    uint64_t start_ns;
    uint64_t end_ns; /* the end of the trace if unfinished */
    uint64_t id;
    uint32_t location;
    uint32_t begin_thread;
    uint32_t end_thread; /* TIMELINE_NONE if unfinished */
};

struct timeline_allocation {
    uint64_t ns;
    uint64_t address;
    uint64_t bytes; /* 0 for a free */
    uint32_t thread;
    uint32_t location; /* the pool */
    bool is_free;
};

enum timeline_flow_kind { TIMELINE_FLOW_BEGIN, TIMELINE_FLOW_STEP, TIMELINE_FLOW_END };

/* One point of a flow. Points are matched by (process, name, id), or by (name, id) alone where ids
 * mean the same in every process. See flows.h for questions about them. */
struct timeline_flow_point {
    uint64_t ns;
    uint64_t id;
    size_t slice; /* SIZE_MAX: outside of any */
    uint32_t thread;
    uint32_t location;
    uint32_t flow; /* its number; the same id after an end is another flow */
    uint8_t kind;  /* enum timeline_flow_kind */
    uint8_t flags; /* enum trace_flow_flag */
};

struct timeline_frame {
    uint64_t ns;
    uint32_t thread;
    uint32_t location;
};

/* A fact about one slice. */
struct timeline_attribute {
    size_t slice;
    const char *key;
    enum trace_value_type type;
    union {
        const char *text;
        int64_t signed_value;
        uint64_t unsigned_value;
        double f64_value;
    };
};

/* A slice longer than 4.29 s; the column holds UINT32_MAX then. */
struct timeline_long {
    size_t slice;
    uint64_t duration_ns;
};

struct timeline {
    /* slices, by thread and start */
    size_t slice_count;
    const uint64_t *start_ns;
    const uint32_t *duration_ns; /* UINT32_MAX: see timeline_duration_ns */
    const uint32_t *location;
    const uint16_t *depth;
    const struct timeline_long *longs; /* by slice */
    size_t long_count;
    const size_t *unfinished; /* slices that had not ended, ascending */
    size_t unfinished_count;

    const struct timeline_process *processes;
    size_t process_count;
    size_t machine_count;  /* processes that are a machine: several in a merged trace */
    bool several_machines; /* the processes are of more than one */
    const struct timeline_thread *threads;
    size_t thread_count;
    const struct timeline_model *models;
    size_t model_count;
    const struct timeline_model_function *functions;
    size_t function_count;
    const struct timeline_location *locations;
    size_t location_count;

    /* each sorted by time (attributes by slice) */
    const struct timeline_message *messages;
    size_t message_count;
    const struct timeline_counter *counters;
    size_t counter_count;
    const struct timeline_async *asyncs;
    size_t async_count;
    const struct timeline_allocation *allocations;
    size_t allocation_count;
    const struct timeline_frame *frames;
    size_t frame_count;
    const struct timeline_attribute *attributes;
    size_t attribute_count;

    /* flow by flow, by time in each */
    const struct timeline_flow_point *flow_points;
    size_t flow_point_count;
    size_t flow_count;
    const size_t *arrows; /* the point at which each begins, by its time; it ends at the next */
    size_t arrow_count;
    const size_t *flow_by_slice; /* points that are in slices, by slice */
    size_t flow_by_slice_count;

    uint64_t begin_ns; /* first and last time of anything */
    uint64_t end_ns;
    int64_t realtime_offset_ns; /* add to get CLOCK_REALTIME; 0 unknown */

    /* what could not be used; shown, never hidden */
    uint64_t dropped; /* lost while recording */
    uint64_t undecoded_blocks;
    uint64_t async_ends_without_begin;
    uint64_t flow_points_without_begin; /* their flows begin with a step or an end */
    uint64_t attributes_without_slice;

    const struct trace_reader *reader;
};

struct timeline_options {
    unsigned threads; /* that decode; 0: one per CPU */
};

enum ifg_status timeline_create(const struct trace_reader *reader,
                                const struct timeline_options *options,
                                const struct timeline **out_timeline,
                                struct ifg_error *err) IFG_MUST_CHECK;
void timeline_destroy(const struct timeline *timeline);

uint64_t timeline_long_duration(const struct timeline *timeline, size_t slice);

/* How long a recording is, the same for every reader: from the first to the last thing in it. How
 * long the recorder ran ("record.seconds") is more: it prepares, and looks up names afterwards. */
static inline uint64_t timeline_length_ns(const struct timeline *timeline)
{
    return timeline->end_ns > timeline->begin_ns ? timeline->end_ns - timeline->begin_ns : 0;
}

/* Nearly the same of a trace that is not loaded, by what its blocks say; 0 if they say nothing. */
uint64_t timeline_length_from_blocks_ns(const struct trace_reader *reader);

static inline uint64_t timeline_duration_ns(const struct timeline *timeline, size_t slice)
{
    uint32_t duration = timeline->duration_ns[slice];

    return __builtin_expect(duration != UINT32_MAX, 1) ? duration
                                                       : timeline_long_duration(timeline, slice);
}

static inline uint64_t timeline_end_ns(const struct timeline *timeline, size_t slice)
{
    return timeline->start_ns[slice] + timeline_duration_ns(timeline, slice);
}

bool timeline_is_unfinished(const struct timeline *timeline, size_t slice);
uint32_t timeline_thread_of(const struct timeline *timeline, size_t slice);

/* The slice that directly contains this one, or SIZE_MAX. */
size_t timeline_parent(const struct timeline *timeline, size_t slice);

/* The attributes of one slice: *out_first is valid if the count returned is not 0. */
size_t timeline_attributes_of(const struct timeline *timeline, size_t slice,
                              const struct timeline_attribute **out_first);
const struct timeline_attribute *timeline_find_attribute(const struct timeline *timeline,
                                                         size_t slice, const char *key);

/* Is this what somebody may mean by a name: the one shown, the one given (several may have it), or
 * the path? */
bool timeline_model_is_called(const struct timeline_model *model, const char *name);

/* A name for people: the attribute "name" if there is one, else the location's name. */
const char *timeline_slice_name(const struct timeline *timeline, size_t slice);

const char *timeline_category_name(enum trace_category category);
const char *timeline_kind_name(enum trace_location_kind kind);

#endif
