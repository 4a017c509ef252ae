// SPDX-License-Identifier: Apache-2.0
/*
 * Work of devices (kernels, copies, ...), the calls of a driver that asked for it, and what of the
 * program these calls are part of.
 *
 * Both are slices like any other: work on the threads that are streams of devices, calls on the
 * threads that made them. A call and its work share a number, the correlation. Where a call began
 * tells its operator, inference and zone: the innermost one of its thread that was open then. That
 * was seen, not guessed: what has no call, or a call outside of everything, belongs to nothing.
 *
 * All arrays belong to the timeline and are made when they are first asked for.
 */
#ifndef IFG_TIMELINE_DEVICE_H
#define IFG_TIMELINE_DEVICE_H

#include "timeline/timeline.h"

enum timeline_work {
    TIMELINE_WORK_OTHER,
    TIMELINE_WORK_KERNEL,
    TIMELINE_WORK_MEMCPY,
    TIMELINE_WORK_MEMSET,
    TIMELINE_WORK_SYNC,
    TIMELINE_WORK_GRAPH, /* as one whole; where its nodes are known, these are there instead */
    TIMELINE_WORK_MEMORY,
    TIMELINE_WORK_KINDS,
};

/* A stream of a device. */
struct timeline_device_stream {
    uint32_t thread; /* of the timeline: its slices are the work */
    uint32_t process;
    uint32_t device; /* numbers in the process; TIMELINE_NONE: the trace does not say */
    uint32_t context;
    uint32_t stream;
    const char *api;       /* CUDA */
    const char *name;      /* of the device; "" unknown, as the others */
    const char *device_id; /* the same in every process */
    size_t first_work;     /* its work: by_stream[first_work .. first_work + work_count) */
    size_t work_count;
};

/* A call of a driver: a launch, a copy, a wait. Slices are SIZE_MAX where there is none. */
struct timeline_device_call {
    size_t slice;
    uint64_t start_ns;
    uint64_t end_ns;
    uint64_t correlation; /* 0: none */
    uint64_t busy_ns;     /* sum of the durations of its work that keeps the device busy */
    size_t inference;     /* the innermost inference around its start, */
    size_t ml;            /* ML event of any category, */
    size_t op;            /* operator, */
    size_t zone;          /* zone or stage */
    uint32_t thread;
    uint32_t location;
    uint32_t model;      /* of the ML event or operator; TIMELINE_NONE */
    uint32_t work_count; /* how much of that: one, many for a graph, none for a wait */
    enum timeline_work kind;
};

/* Something that a device did. */
struct timeline_device_work {
    size_t slice;
    uint64_t start_ns;
    uint64_t end_ns;
    uint64_t bytes;       /* UINT64_MAX: not known, or makes no sense */
    uint64_t correlation; /* 0: none */
    const char *shape;    /* of a kernel: "grid 8x1x1 block 256x1x1 ..."; NULL: not known */
    uint32_t stream;      /* position in streams */
    uint32_t location;
    uint32_t call; /* position in calls; TIMELINE_NONE: it was not seen */
    enum timeline_work kind;
};

struct timeline_devices {
    const struct timeline_device_stream *streams; /* by process, device, context, stream */
    size_t stream_count;
    const struct timeline_device_call *calls; /* by slice: thread by thread, by start in each */
    size_t call_count;
    const struct timeline_device_work *works; /* by start */
    size_t work_count;
    const uint32_t *by_stream;    /* positions in works, stream by stream, by start in each */
    const uint32_t *by_inference; /* by slice of the inference, by start in each; the rest last */
    const uint32_t *by_op;        /* the same by operator */
    size_t in_inferences;         /* how many of by_inference have one */
    size_t in_ops;
    size_t busy_count;         /* of work_count, without waits and memory; of these: */
    size_t busy_in_inferences; /* launched in one */
    size_t without_call;       /* their call was not seen */
    size_t too_early;          /* seem to begin before their call: the device's clock is off, */
    uint64_t early_ns;         /* by that much at least */
};

/* IFG_NO_MEMORY, or *out_devices; without any work all counts are 0. */
enum ifg_status timeline_devices_get(const struct timeline *timeline,
                                     const struct timeline_devices **out_devices,
                                     struct ifg_error *err) IFG_MUST_CHECK;

/* The work of one inference or operator: returns how much; it stands together in by_inference
 * (by_op) from *out_first on. */
size_t timeline_work_of_inference(const struct timeline_devices *devices, size_t inference,
                                  size_t *out_first);
size_t timeline_work_of_op(const struct timeline_devices *devices, size_t op, size_t *out_first);

/* The calls made inside a slice, in that thread: they stand together in calls. */
size_t timeline_calls_in(const struct timeline *timeline, const struct timeline_devices *devices,
                         size_t slice, size_t *out_first);

/* The call of some work, or NULL. */
static inline const struct timeline_device_call *
timeline_call_of(const struct timeline_devices *devices, const struct timeline_device_work *work)
{
    return work->call == TIMELINE_NONE ? NULL : &devices->calls[work->call];
}

/* How long before its start the work was queued, or the device had it; false: not known. */
bool timeline_work_queued(const struct timeline *timeline, const struct timeline_device_work *work,
                          uint64_t *out_queued_ns, uint64_t *out_submitted_ns);

/* The number of the graph that the work is part of, and of its node (0: not known). False: none. */
bool timeline_work_graph(const struct timeline *timeline, const struct timeline_device_work *work,
                         uint64_t *out_graph, uint64_t *out_node);

/* Where a copy went: "HtoD", "DtoH", "DtoD", ...; "" if it is no copy, or not known. */
const char *timeline_copy_kind(const struct timeline *timeline,
                               const struct timeline_device_work *work);

/* Whether it keeps the device busy: waits are the host's, and memory is a moment. */
static inline bool timeline_work_is_busy(enum timeline_work kind)
{
    return kind != TIMELINE_WORK_SYNC && kind != TIMELINE_WORK_MEMORY;
}

const char *timeline_work_name(enum timeline_work kind); /* kernel, memcpy, ... */

#endif
