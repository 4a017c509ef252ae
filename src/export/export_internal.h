// SPDX-License-Identifier: Apache-2.0
/* What the formats share: the job, going through a thread's slices, nesting, cached texts. */
#ifndef IFG_EXPORT_EXPORT_INTERNAL_H
#define IFG_EXPORT_EXPORT_INTERNAL_H

#include "base/array.h"
#include "base/bytes.h"
#include "base/csv.h"
#include "export/digits.h"
#include "export/export.h"

/* ---- the job ----------------------------------------------------------------- */

struct export_filter {
    bool active;
    bool *locations; /* NULL: all */
    bool *threads;   /* NULL: all */
    uint32_t model;  /* TIMELINE_NONE, or only what belongs to it or lies inside its events */
    uint64_t from_ns;
    uint64_t to_ns;
};

struct export_job {
    const struct timeline *timeline;
    const struct export_options *options;
    struct export_sink *sink;
    struct export_result *result;
    struct export_filter filter;
    struct ifg_error *err;
};

/* A sentence for the user. */
void export_note(struct export_job *job, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
enum ifg_status export_no_memory(struct export_job *job);

/* Whether events that belong to no slice pass the filter. */
bool export_wants_event(const struct export_job *job, uint32_t thread, uint32_t location,
                        uint64_t ns);
bool export_wants_span(const struct export_job *job, const struct timeline_async *span);

/* ---- the slices of a thread -------------------------------------------------- */

struct export_slice {
    size_t index;
    uint64_t start_ns;
    uint64_t end_ns;
    uint32_t location;
    bool unfinished;
    const char *name; /* a name of its own, or NULL */
    const struct timeline_attribute *attributes;
    size_t attribute_count;
};

struct export_cursor {
    struct export_job *job;
    const struct timeline *timeline;
    size_t at;
    size_t last;
    size_t special;   /* the next slice with attributes or without an end */
    size_t attribute; /* the next ones of both */
    size_t unfinished;
    uint64_t model_until_ns; /* slices before this lie inside the wanted model's events */
};

/* False: this thread is not wanted. */
bool export_cursor_init(struct export_cursor *cursor, struct export_job *job, uint32_t thread);
void export_special(struct export_cursor *cursor, struct export_slice *slice);
bool export_wants_slice(struct export_cursor *cursor, const struct export_slice *slice);

static inline bool export_next(struct export_cursor *cursor, struct export_slice *out)
{
    const struct timeline *timeline = cursor->timeline;

    while (cursor->at < cursor->last) {
        size_t i = cursor->at++;

        out->index = i;
        out->start_ns = timeline->start_ns[i];
        out->end_ns = out->start_ns + timeline_duration_ns(timeline, i);
        out->location = timeline->location[i];
        out->unfinished = false;
        out->name = NULL;
        out->attribute_count = 0;
        if (__builtin_expect(cursor->special <= i, 0))
            export_special(cursor, out);
        if (__builtin_expect(cursor->job->filter.active, 0) && !export_wants_slice(cursor, out))
            continue;
        cursor->job->sink->done++;
        return true;
    }
    return false;
}

/* Its name: its own, or its location's. */
static inline const char *export_name(const struct export_cursor *cursor,
                                      const struct export_slice *slice)
{
    return slice->name ? slice->name : cursor->timeline->locations[slice->location].name;
}

/* ---- nesting ----------------------------------------------------------------- */

/* The slices around the current one. Formats that need strict nesting ask whether the next slice
 * would stick out of the one around it: that happens when the end of a zone was lost or clocks
 * disagree. */
struct export_open {
    uint64_t end_ns;
    uint64_t children_ns;
    size_t index;
    uint32_t location;
    uint32_t node;
    bool flag; /* the format's own */
};

struct export_nest {
    struct export_open *items;
    size_t count;
    size_t capacity;
};

static inline struct export_open *export_nest_top(const struct export_nest *nest)
{
    return nest->count ? &nest->items[nest->count - 1] : NULL;
}

static inline bool export_nest_ended(const struct export_nest *nest, uint64_t start_ns)
{
    return nest->count && nest->items[nest->count - 1].end_ns <= start_ns;
}

/* Once what has ended is gone. */
static inline bool export_nest_overlaps(const struct export_nest *nest, uint64_t end_ns)
{
    return nest->count && nest->items[nest->count - 1].end_ns < end_ns;
}

void export_nest_fini(struct export_nest *nest);

static inline bool export_nest_push(struct export_nest *nest, const struct export_slice *slice)
{
    if (!IFG_ARRAY_ROOM(nest->items, nest->capacity, nest->count + 1, IFG_ARRAY_ANY))
        return false;
    nest->items[nest->count++] = (struct export_open){ .end_ns = slice->end_ns,
                                                       .index = slice->index,
                                                       .location = slice->location };
    return true;
}

/* ---- texts made once --------------------------------------------------------- */

struct export_text {
    size_t offset;
    size_t size;
};

/* One text for each location or thread. */
struct export_texts {
    struct ifg_bytes bytes;
    struct export_text *items;
};

bool export_texts_init(struct export_texts *texts, size_t count);
void export_texts_fini(struct export_texts *texts);

static inline void export_texts_begin(struct export_texts *texts, size_t index)
{
    texts->items[index].offset = texts->bytes.size;
}

static inline void export_texts_end(struct export_texts *texts, size_t index)
{
    texts->items[index].size = texts->bytes.size - texts->items[index].offset;
}

static inline void export_put_cached(struct export_sink *sink, const struct export_texts *texts,
                                     size_t index)
{
    export_put(sink, texts->bytes.data + texts->items[index].offset, texts->items[index].size);
}

void export_bytes_text(struct ifg_bytes *bytes, const char *text);
void export_bytes_uint(struct ifg_bytes *bytes, uint64_t value);

/* A string as JSON, quotes included. */
void export_bytes_json(struct ifg_bytes *bytes, const char *text);

/* An attribute's value as JSON; numbers that JavaScript could not hold are strings. */
void export_bytes_json_value(struct ifg_bytes *bytes, const struct timeline_attribute *attribute);

/* The attribute comes again later with another value: the last one counts. */
bool export_attribute_repeats(const struct export_slice *slice, size_t index);

/* A frame of a flame graph: the location's name; of ML events with model and function. */
void export_frame_name(const struct timeline *timeline, uint32_t location, struct ifg_bytes *out);

/* ---- numbers of processes and threads ---------------------------------------- */

/* The system's numbers; where one is used again by a later process or thread (exec, reuse), with 10
 * million added, so that (pid, tid) is unique. Devices are processes
 * too: they follow those of the trace, and their streams are their threads. */
#define EXPORT_DEVICE_NAME 200u

struct export_ids {
    uint32_t *pids;  /* per process */
    uint32_t *tids;  /* per thread */
    uint32_t *homes; /* per thread: its process, which may be that of a device */
    char (*devices)[EXPORT_DEVICE_NAME]; /* names of those that are devices */
    size_t device_count;
    uint64_t changed;
};

/* What a thread is called: a stream of a device that several processes use, with its process. */
const char *export_thread_name(const struct export_ids *ids, const struct timeline *timeline,
                               uint32_t thread, char out[EXPORT_DEVICE_NAME]);

/* devices.c: homes of streams, and names of devices. */
enum ifg_status export_devices_find(struct export_ids *ids, struct export_job *job);

enum ifg_status export_ids_init(struct export_ids *ids, struct export_job *job);
void export_ids_fini(struct export_ids *ids);

/* ---- requests ---------------------------------------------------------------- */

/* A call of a driver, or the first work that it asked for. */
struct export_launch {
    size_t slice;
    uint64_t id; /* of the call, from 1 */
    bool is_work;
};

struct export_launches {
    struct export_launch *items; /* by slice */
    size_t count;
};

/* None if the trace has flows for them. */
enum ifg_status export_launches_init(struct export_launches *launches, struct export_job *job);
void export_launches_fini(struct export_launches *launches);
const struct export_launch *export_launch_of(const struct export_launches *launches, size_t slice);

enum export_flow_step { EXPORT_FLOW_FIRST, EXPORT_FLOW_MIDDLE, EXPORT_FLOW_LAST };

/* A stage of a request that has several. */
struct export_flow {
    size_t slice;
    uint64_t id; /* of the request, unique in the trace, from 1 */
    enum export_flow_step step;
};

struct export_flows {
    struct export_flow *items; /* by slice */
    size_t count;
};

enum ifg_status export_flows_init(struct export_flows *flows, struct export_job *job);
void export_flows_fini(struct export_flows *flows);

/* The flow of a slice, or NULL. */
const struct export_flow *export_flow_of(const struct export_flows *flows, size_t slice);

/* ---- memory in use ----------------------------------------------------------- */

/* For each location the first one of the same process, kind and name: a counter or a pool is one
 * thing wherever in the source it is mentioned. NULL if memory is short; for ifg_free. */
uint32_t *export_same_names(const struct timeline *timeline);

/* The bytes in use of each pool, allocation by allocation. */
struct export_memory;

struct export_memory *export_memory_create(const struct timeline *timeline,
                                           const uint32_t *same_names);
void export_memory_destroy(struct export_memory *memory);

/* Takes the next allocation or free; returns the bytes then in use by its pool. */
uint64_t export_memory_next(struct export_memory *memory, const struct timeline_allocation *event);

#endif
