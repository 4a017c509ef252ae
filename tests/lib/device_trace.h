// SPDX-License-Identifier: Apache-2.0
/*
 * Small traces of devices, written by hand, on top of ml_trace.h.
 *
 *     struct device_trace trace;
 *     device_trace_begin(&trace, NULL);
 *     uint32_t stream = device_trace_stream(&trace, 0, 0, 7);
 *     struct ml_trace_open run = ml_trace_enter(&trace.ml, 0, ...);
 *     device_trace_launch(&trace, 0, stream, 5 * ML_US, &(struct device_trace_work){
 *         .name = "gemm", .ns = 40 * ML_US });
 *     device_trace_sync(&trace, 0, stream, 0);
 *     ml_trace_leave(&trace.ml, 0, run);
 *     ml_trace_load(&trace.ml);
 *     device_trace_end(&trace);
 *
 * A call moves the time of its thread. Its work begins when the call is over, its delay has passed,
 * and the stream is through with what it had. Streams are timed by a clock of their own that stands
 * DEVICE_TRACE_BEHIND before CLOCK_MONOTONIC.
 */
#ifndef IFG_TESTS_DEVICE_TRACE_H
#define IFG_TESTS_DEVICE_TRACE_H

#include "ml_trace.h"

#define DEVICE_TRACE_STREAMS   8u
#define DEVICE_TRACE_LOCATIONS 64u
#define DEVICE_TRACE_BEHIND    (ML_TRACE_START / 2)

struct device_trace_location {
    char name[96];
    char function[32];
    enum trace_location_kind kind;
    uint32_t id;
};

struct device_trace {
    struct ml_trace ml;
    struct trace_stream *streams[DEVICE_TRACE_STREAMS];
    uint64_t free_ns[DEVICE_TRACE_STREAMS]; /* when each is through with what it has */
    uint32_t stream_count;
    struct device_trace_location locations[DEVICE_TRACE_LOCATIONS];
    uint32_t location_count;
    uint64_t correlation; /* the last one */
};

struct device_trace_work {
    const char *kind;  /* NULL: "kernel"; "memcpy HtoD", "memset" */
    const char *name;  /* NULL: the kind */
    uint64_t ns;       /* how long it takes */
    uint64_t delay_ns; /* between the end of its call and its start, at least */
    uint64_t bytes;    /* 0: says none */
    const char *shape; /* NULL: says none */
    uint64_t graph;    /* 0: says none */
};

void device_trace_begin(struct device_trace *trace, const char *path);
void device_trace_end(struct device_trace *trace);

/* A stream of process 0, "GPU 0 stream 7". */
uint32_t device_trace_stream(struct device_trace *trace, uint32_t device, uint32_t context,
                             uint32_t stream);

/* A call of so long and its work; returns when the work begins (CLOCK_MONOTONIC). */
uint64_t device_trace_launch(struct device_trace *trace, uint32_t thread, uint32_t stream,
                             uint64_t call_ns, const struct device_trace_work *work);

/* One call whose work is all of these, one after the other: a graph. */
void device_trace_graph(struct device_trace *trace, uint32_t thread, uint32_t stream,
                        uint64_t call_ns, const struct device_trace_work *works, size_t count);

/* Waits until the stream is through, and so long at least. */
void device_trace_sync(struct device_trace *trace, uint32_t thread, uint32_t stream,
                       uint64_t call_ns);

/* The same, and a record of the wait on a track of its own (another stream). */
void device_trace_sync_seen(struct device_trace *trace, uint32_t thread, uint32_t stream,
                            uint32_t track, uint64_t call_ns);

/* Work whose call was not seen, from this moment on (or when the stream is free). */
void device_trace_orphan(struct device_trace *trace, uint32_t stream, uint64_t at_ns,
                         const struct device_trace_work *work);

/* Three inferences of a model "net" (id 1) on thread 0, all alike, then some more. Of each
 * inference, with times from its start in microseconds; the call of an operator is its whole:
 *
 *   call 0-4    memcpy HtoD 602112 bytes   device 4-14
 *   call 4-9    conv (operator conv1)      device 14-114
 *   call 9-14   gemm (operator fc)         device 114-154
 *   call 14-19  bias (operator fc)         device 154-159
 *   call 19-23  memcpy DtoH 4000 bytes     device 159-164
 *   call 23-164 cuStreamSynchronize
 *   the inference ends at 170; the next begins at 200
 *
 * Then, at 600, outside of all: zone "warm" 600-620 with a graph of three kernels of 10 (call 5,
 * device 605-635, stream 7), a kernel "lost" of 10 without a call at 700, and a memset of 4096
 * bytes on stream 13 launched at 620 (call 2, device 622-625). */
#define DEVICE_TRACE_INFERENCES 3u
#define DEVICE_TRACE_BUSY_NS    (160u * ML_US) /* of an inference: 10 + 100 + 40 + 5 + 5 */
#define DEVICE_TRACE_KERNELS_NS (145u * ML_US)
#define DEVICE_TRACE_COPIES_NS  (15u * ML_US)
#define DEVICE_TRACE_LENGTH_NS  (170u * ML_US)
#define DEVICE_TRACE_WORKS      (DEVICE_TRACE_INFERENCES * 5u + 3u + 1u + 1u)
#define DEVICE_TRACE_CALLS      (DEVICE_TRACE_INFERENCES * 6u + 1u + 1u)
void device_trace_showcase(struct device_trace *trace);

#endif
