// SPDX-License-Identifier: Apache-2.0
/* What happened besides slices: async spans, flows, messages, counters, allocations, frames. */
#include "query/query_internal.h"

/* ---- async_span -------------------------------------------------------------------------- */

static void async_duration(struct query *query, const void *row, sqlite3_context *out)
{
    const struct timeline_async *span = row;

    (void)query;
    sqlite3_result_int64(out, query_clamp(span->end_ns - span->start_ns));
}

static void async_unfinished(struct query *query, const void *row, sqlite3_context *out)
{
    (void)query;
    query_result_uint(out, ((const struct timeline_async *)row)->end_thread == TIMELINE_NONE);
}

static const struct query_column async_columns[] = {
    { "id", "INTEGER", "row number", ROW_NUMBER },
    { "process", "INTEGER", "process number",
      OF(GET_THREAD_PROCESS, timeline_async, begin_thread) },
    { "name", "TEXT", "name", OF(GET_LOCATION_NAME, timeline_async, location) },
    { "span", "INTEGER", "the number that its begin and its end have in common",
      OF(GET_UINT, timeline_async, id) },
    { "start_ns", "INTEGER", "when it began", OF_SORTED(GET_TIME, timeline_async, start_ns) },
    { "dur_ns", "INTEGER", "how long it took; to the end of the trace if unfinished",
      BY(async_duration) },
    { "end_ns", "INTEGER", "when it ended", OF(GET_TIME, timeline_async, end_ns) },
    { "begin_thread", "INTEGER", "thread number", OF(GET_THREAD, timeline_async, begin_thread) },
    { "end_thread", "INTEGER", "thread number, or NULL",
      OF_OR_NULL(GET_THREAD, timeline_async, end_thread, NULL_NONE) },
    { "unfinished", "INTEGER", "1 if its end was not seen", BY(async_unfinished) },
    { "location", "INTEGER", "id of its location", OF(GET_UINT, timeline_async, location) },
};

const struct row_table async_table = {
    .table = { "async_span", "spans that begin and end on any threads, for example requests",
               COLUMNS(async_columns) },
    ROWS_OF(timeline, asyncs, async_count),
};

/* ---- flow -------------------------------------------------------------------------------- */

static size_t flow_count(struct query *query)
{
    return query->timeline->arrow_count;
}

/* The point where an arrow begins; it ends at the next. */
static const void *flow_row(struct query *query, size_t row)
{
    return &query->timeline->flow_points[query->timeline->arrows[row]];
}

static void flow_kind(struct query *query, const void *row, sqlite3_context *out)
{
    const struct timeline_flow_point *from = row;

    (void)query;
    query_result_text(out, from[1].kind == TIMELINE_FLOW_END ? "end" : "step");
}

/* Of the point at the other end. */
#define TO(member) sizeof(struct timeline_flow_point) + offsetof(struct timeline_flow_point, member)
#define OF_TO(kind, member, when)                                                                  \
    GETTER(.get = kind, .offset = TO(member),                                                      \
           .bytes = sizeof(((struct timeline_flow_point *)0)->member), .null = when)

static const struct query_column flow_columns[] = {
    { "id", "INTEGER", "row number", ROW_NUMBER },
    { "name", "TEXT", "name of the flow", OF(GET_LOCATION_NAME, timeline_flow_point, location) },
    { "span", "INTEGER", "the number that its points have in common",
      OF(GET_UINT, timeline_flow_point, id) },
    { "chain", "INTEGER", "the same for all arrows of one flow; a span may be used again",
      OF(GET_UINT, timeline_flow_point, flow) },
    { "kind", "TEXT", "what it leads to: step or end", BY(flow_kind) },
    { "from_ns", "INTEGER", "when it begins", OF_SORTED(GET_TIME, timeline_flow_point, ns) },
    { "from_process", "INTEGER", "process number",
      OF(GET_THREAD_PROCESS, timeline_flow_point, thread) },
    { "from_thread", "INTEGER", "thread number", OF(GET_THREAD, timeline_flow_point, thread) },
    { "from_slice", "INTEGER", "id of the slice, or NULL outside of any",
      OF_OR_NULL(GET_UINT, timeline_flow_point, slice, NULL_NONE) },
    { "to_ns", "INTEGER", "when it ends", OF_TO(GET_TIME, ns, NULL_NEVER) },
    { "to_process", "INTEGER", "process number", OF_TO(GET_THREAD_PROCESS, thread, NULL_NEVER) },
    { "to_thread", "INTEGER", "thread number", OF_TO(GET_THREAD, thread, NULL_NEVER) },
    { "to_slice", "INTEGER", "id of the slice, or NULL outside of any",
      OF_TO(GET_UINT, slice, NULL_NONE) },
    { "location", "INTEGER", "id of the location where it begins",
      OF(GET_UINT, timeline_flow_point, location) },
};

const struct row_table flow_table = {
    .table = { "flow", "arrows from slice to slice, mostly across threads", COLUMNS(flow_columns) },
    .count = flow_count,
    .row = flow_row,
};

/* ---- message, counter, allocation, frame ------------------------------------------------- */

static const char *const levels[] = { "trace", "debug", "info", "warning", "error" };

static const struct query_column message_columns[] = {
    { "id", "INTEGER", "row number", ROW_NUMBER },
    { "process", "INTEGER", "process number", OF(GET_THREAD_PROCESS, timeline_message, thread) },
    { "thread", "INTEGER", "thread number", OF(GET_THREAD, timeline_message, thread) },
    { "time_ns", "INTEGER", "when", OF_SORTED(GET_TIME, timeline_message, ns) },
    { "level", "TEXT", "trace, debug, info, warning, error",
      OF_NAMES(levels, timeline_message, level) },
    { "text", "TEXT", "what it says", OF(GET_STRING, timeline_message, text) },
};

const struct row_table message_table = {
    .table = { "message", "messages", COLUMNS(message_columns) },
    ROWS_OF(timeline, messages, message_count),
};

static const struct query_column counter_columns[] = {
    { "id", "INTEGER", "row number", ROW_NUMBER },
    { "process", "INTEGER", "process number", OF(GET_THREAD_PROCESS, timeline_counter, thread) },
    { "thread", "INTEGER", "thread number", OF(GET_THREAD, timeline_counter, thread) },
    { "name", "TEXT", "name", OF(GET_LOCATION_NAME, timeline_counter, location) },
    { "time_ns", "INTEGER", "when", OF_SORTED(GET_TIME, timeline_counter, ns) },
    { "value", "REAL", "its value from then on", OF(GET_REAL, timeline_counter, value) },
    { "location", "INTEGER", "id of its location", OF(GET_UINT, timeline_counter, location) },
};

const struct row_table counter_table = {
    .table = { "counter", "values over time", COLUMNS(counter_columns) },
    ROWS_OF(timeline, counters, counter_count),
};

static const struct query_column allocation_columns[] = {
    { "id", "INTEGER", "row number", ROW_NUMBER },
    { "process", "INTEGER", "process number", OF(GET_THREAD_PROCESS, timeline_allocation, thread) },
    { "thread", "INTEGER", "thread number", OF(GET_THREAD, timeline_allocation, thread) },
    { "pool", "TEXT", "name of the pool", OF(GET_LOCATION_NAME, timeline_allocation, location) },
    { "time_ns", "INTEGER", "when", OF_SORTED(GET_TIME, timeline_allocation, ns) },
    { "is_free", "INTEGER", "1: memory was given back",
      OF(GET_UINT, timeline_allocation, is_free) },
    { "address", "INTEGER", "where it is", OF(GET_UINT, timeline_allocation, address) },
    { "bytes", "INTEGER", "how much was taken; 0 if given back",
      OF(GET_COUNT, timeline_allocation, bytes) },
    { "location", "INTEGER", "id of its location", OF(GET_UINT, timeline_allocation, location) },
};

const struct row_table allocation_table = {
    .table = { "allocation", "memory taken from and given back to pools",
               COLUMNS(allocation_columns) },
    ROWS_OF(timeline, allocations, allocation_count),
};

static const struct query_column frame_columns[] = {
    { "id", "INTEGER", "row number", ROW_NUMBER },
    { "process", "INTEGER", "process number", OF(GET_THREAD_PROCESS, timeline_frame, thread) },
    { "thread", "INTEGER", "thread number", OF(GET_THREAD, timeline_frame, thread) },
    { "name", "TEXT", "name of the sequence, or NULL",
      OF(GET_LOCATION_NAME, timeline_frame, location) },
    { "time_ns", "INTEGER", "when the frame ended", OF_SORTED(GET_TIME, timeline_frame, ns) },
    { "location", "INTEGER", "id of its location", OF(GET_UINT, timeline_frame, location) },
};

const struct row_table frame_table = {
    .table = { "frame", "ends of frames", COLUMNS(frame_columns) },
    ROWS_OF(timeline, frames, frame_count),
};
