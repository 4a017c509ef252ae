// SPDX-License-Identifier: Apache-2.0
/*
 * Work of the devices of one process on its way into a trace: a stream of its own for each stream
 * of each device, by CLOCK_MONOTONIC, with what docs/trace-format.md says of work.
 */
#ifndef IFG_COLLECT_DEVICE_H
#define IFG_COLLECT_DEVICE_H

#include "collect/sink.h"

#define DEVICE_STREAMS_MAX 1024u /* in one process */
#define DEVICE_NAMES_MAX   64u

/* Waits may overlap with work of their stream, and memory belongs to no stream: they have tracks of
 * their own, of each stream and of each device. */
enum device_track { DEVICE_TRACK_WORK, DEVICE_TRACK_WAITS, DEVICE_TRACK_MEMORY };

#define DEVICE_NO_STREAM UINT32_MAX

/* What was seen; 0 or, of bytes, UINT64_MAX: not known. */
struct device_work {
    enum device_track track;
    uint64_t start_ns; /* CLOCK_MONOTONIC */
    uint64_t duration_ns;
    uint64_t bytes;
    uint64_t graph_node;
    uint32_t graph;
    uint32_t correlation;
    uint32_t device, context, stream;
    uint32_t location;
    uint32_t grid[3], block[3];
    uint32_t registers;
    uint32_t static_shared, dynamic_shared;
};

struct device_streams;

/* Of a process in the trace. NULL: no memory. */
struct device_streams *device_streams_create(struct sink *sink, uint32_t process);
void device_streams_destroy(struct device_streams *streams); /* writes what waits; accepts NULL */

/* Names a device; streams that are known already are told as well. */
void device_streams_name(struct device_streams *streams, uint32_t device, const char *api,
                         const char *name, const char *id);

/* False: it is lost, since there are too many streams, or no memory. */
bool device_streams_put(struct device_streams *streams, const struct device_work *work,
                        uint64_t now_ns);

/* A counter of a device, by CLOCK_MONOTONIC, on the track of its memory. False: it is lost. */
bool device_streams_level(struct device_streams *streams, uint32_t device, uint32_t location,
                          uint64_t ns, double value, uint64_t now_ns);

/* A call of the driver, in the stream of its thread. */
void device_call_put(struct trace_stream *stream, uint64_t start, uint64_t duration,
                     uint32_t location, uint64_t correlation);

/* Writes what is old; with final, all. */
void device_streams_flush(struct device_streams *streams, uint64_t now_ns, bool final);
uint64_t device_streams_written(const struct device_streams *streams); /* zones and events */

/* The name of a kernel for people, of two parts of it as they came. Free with ifg_free. NULL: no
 * memory. */
char *device_kernel_name(const char *name, const char *rest);

#endif
