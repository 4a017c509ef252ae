// SPDX-License-Identifier: Apache-2.0
/*
 * One trace of the server: its file, its model once it is loaded, its tracks, and what handlers
 * make of it on first use and keep.
 *
 * Loading happens on a thread of its own. When the state is TRACE_READY, everything here but what
 * is behind a lock is never changed again. What is made later has a lock of its own and is never
 * changed or freed once made: a pointer that was handed out stays good until the server has
 * stopped.
 */
#ifndef IFG_SERVER_TRACE_H
#define IFG_SERVER_TRACE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/report.h"
#include "base/status.h"
#include "timeline/timeline.h"
#include "timeline/samples.h"
#include "server/lod.h"

enum trace_state {
    TRACE_IDLE, /* nobody has asked for it */
    TRACE_LOADING,
    TRACE_READY,
    TRACE_BAD,
};

enum track_kind {
    TRACK_COUNTER,
    TRACK_ML,
    TRACK_MODEL,
    TRACK_FUNCTION,
    TRACK_LANE, /* of a function: its data, its computing */
    TRACK_OPS,
    TRACK_PROCESS,
    TRACK_THREAD,
    TRACK_ASYNC,
    TRACK_MESSAGES,
    TRACK_FRAMES,
};

#define TRACK_NONE UINT32_MAX

struct track {
    char id[16];
    enum track_kind kind;
    uint32_t parent; /* index of a track, or TRACK_NONE */
    char label[96];
    char sub[64];
    bool open;

    uint32_t process;  /* index in the timeline, or TIMELINE_NONE; likewise these */
    uint32_t thread;   /* of timeline->threads */
    uint32_t sampled;  /* of the profile's threads */
    uint32_t model;    /* of timeline->models */
    uint32_t function; /* of timeline->functions */
    uint32_t location; /* counters, frames */
    uint32_t lane;     /* bits of the categories that belong to it */

    size_t rows;
    size_t count; /* slices, values, spans, messages */
    size_t first; /* counters: of counter_order; messages, frames: of extra_order */
    bool has_states;

    const char *unit; /* counters: "%", "bytes", ... */
    const char *stack;
    double min, max;
    double scale; /* natural maximum, or NAN */
    bool grows;   /* a count since the program's start */

    pthread_mutex_t lock; /* of the following, which are made on first use */
    struct lod *lod;
    struct lod *sampled_calls;
    struct lod_span *sampled_call_spans;
};

/* Slices by their numbers, ascending: thread by thread, by start. */
struct id_list {
    uint32_t *ids;
    size_t count;
};

#define LOCATION_SUM_NONE UINT64_MAX

/* What a location amounts to, over the whole trace: its slices and its async spans. */
struct location_sum {
    uint64_t count;
    uint64_t total_ns;
    uint64_t first; /* the first of its slices, else of its spans, as numbered; or NONE */
};

/* The slices of each location: by_location[first[p]] to by_location[first[p + 1]], ascending. */
struct location_index {
    uint32_t *by_location;
    size_t *first;
    struct location_sum *sums;
};

struct server_trace {
    uint32_t id;
    char *path;
    const char *name; /* last part of path */
    atomic_int state; /* enum trace_state */
    _Atomic uint64_t begun_ns;

    pthread_mutex_t lock; /* of the next ones, until the state is READY or BAD */
    bool thread_running;
    pthread_t thread;
    char why[768];
    char program[128];
    char title[256]; /* the command with its arguments */
    char start[32];  /* when it was recorded, as text; empty: not known */
    uint64_t bytes;
    double length_ns; /* NAN: not known */

    struct trace_reader *reader;
    const struct timeline *timeline;
    const struct timeline_profile *profile; /* NULL: there are neither samples nor switches */
    struct track *tracks;                   /* in drawing order */
    size_t track_count;
    uint32_t *counter_order; /* indices of model->counters, track by track, by time */
    uint32_t *extra_order;   /* ids of messages and frames, the same */
    struct lod_span *extras; /* async spans, then messages, then frames; id slice_count + i */
    size_t extra_count;
    struct id_list ml;     /* slices that are ML events */
    struct id_list models; /* the same and operators */

    pthread_mutex_t index_lock;
    struct location_index *index;
    struct crossing_index *crossings;  /* async spans that change threads (flows_internal.h) */
    struct device_times *device_times; /* of index_lock, too; NULL: none, or not asked for */
    pthread_mutex_t report_lock;
    _Atomic(struct report *) report;
};

/* The track of that id; NULL if there is none. */
struct track *trace_track(struct server_trace *trace, const char *id);

/* Slices, spans, messages or frames of a track, made on first use. A track of other things gives
 * IFG_INVALID. */
enum ifg_status track_lod(struct server_trace *trace, struct track *track,
                          const struct lod **out_lod, struct ifg_error *err) IFG_MUST_CHECK;

/* Sampled calls of a thread; *out_lod is NULL if it has no samples. */
enum ifg_status track_sampled_calls(struct server_trace *trace, struct track *track,
                                    const struct lod **out_lod,
                                    struct ifg_error *err) IFG_MUST_CHECK;

/* Slices by location, made on first use. */
enum ifg_status trace_locations(struct server_trace *trace, const struct location_index **out_index,
                                struct ifg_error *err) IFG_MUST_CHECK;

/* The times of devices, made on first use; NULL: there are none, or no memory. */
const struct device_times *trace_device_times(struct server_trace *trace);

/* The report, made on first use: takes seconds for a large trace. */
enum ifg_status trace_report(struct server_trace *trace, const struct report **out_report,
                             struct ifg_error *err) IFG_MUST_CHECK;

/* The same if it is already there, else NULL. */
const struct report *trace_report_if_ready(struct server_trace *trace);

/* The kind as the page knows it. */
const char *track_kind_name(enum track_kind kind);

/* The tracks of a loaded model; all of it belongs to the trace. */
enum ifg_status trace_build_tracks(struct server_trace *trace,
                                   struct ifg_error *err) IFG_MUST_CHECK;
void trace_destroy_tracks(struct server_trace *trace);
void trace_destroy_crossings(struct server_trace *trace);

#endif
