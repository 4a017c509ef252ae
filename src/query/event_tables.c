// SPDX-License-Identifier: Apache-2.0
/* What happened besides slices: async spans, flows, messages, counters, allocations, frames. */
#include "query/query_internal.h"

static size_t async_count(struct query *query)
{
    return query->timeline->async_count;
}

static int64_t async_key(struct query *query, size_t row, int column)
{
    return column ? query_time(query, query->timeline->asyncs[row].start_ns) : (int64_t)row;
}

static void async_column(struct query *query, size_t row, int column, sqlite3_context *out)
{
    const struct timeline_async *span = &query->timeline->asyncs[row];
    const struct timeline_thread *thread = query_thread(query, span->begin_thread);

    switch (column) {
    case 0:
        result_uint(out, row);
        break;
    case 1:
        result_uint(out, query_pid(query, thread->process));
        break;
    case 2:
        result_text(out, query_place_name(query, span->place));
        break;
    case 3:
        result_uint(out, span->id);
        break;
    case 4:
        result_time(out, query, span->start_ns);
        break;
    case 5:
        sqlite3_result_int64(out, query_clamp(span->end_ns - span->start_ns));
        break;
    case 6:
        result_time(out, query, span->end_ns);
        break;
    case 7:
        result_uint(out, thread->tid);
        break;
    case 8:
        if (span->end_thread != TIMELINE_NONE)
            result_uint(out, query_thread(query, span->end_thread)->tid);
        break;
    case 9:
        result_uint(out, span->end_thread == TIMELINE_NONE);
        break;
    default:
        result_uint(out, span->place);
        break;
    }
}

static const struct query_column async_columns[] = {
    { "id", "INTEGER", "row number" },
    { "process", "INTEGER", "process number" },
    { "name", "TEXT", "name" },
    { "span", "INTEGER", "the number that its begin and its end have in common" },
    { "start_ns", "INTEGER", "when it began" },
    { "dur_ns", "INTEGER", "how long it took; to the end of the trace if unfinished" },
    { "end_ns", "INTEGER", "when it ended" },
    { "begin_thread", "INTEGER", "thread number" },
    { "end_thread", "INTEGER", "thread number, or NULL" },
    { "unfinished", "INTEGER", "1 if its end was not seen" },
    { "place", "INTEGER", "id of its place" },
};

const struct row_table async_table = {
    .table = { "async_span", "spans that begin and end on any threads, for example requests",
               COLUMNS(async_columns) },
    .count = async_count,
    .column = async_column,
    .key = async_key,
    .sorted = 1 | 1 << 4,
    .unique = 1,
};

static size_t flow_count(struct query *query)
{
    return query->timeline->arrow_count;
}

static const struct timeline_flow_point *arrow_from(const struct query *query, size_t row)
{
    return &query->timeline->flow_points[query->timeline->arrows[row]];
}

static int64_t flow_key(struct query *query, size_t row, int column)
{
    return column ? query_time(query, arrow_from(query, row)->ns) : (int64_t)row;
}

/* The columns of one end, which look the same. */
static void flow_end_column(struct query *query, const struct timeline_flow_point *point,
                            int column, sqlite3_context *out)
{
    const struct timeline_thread *thread = query_thread(query, point->thread);

    switch (column) {
    case 0:
        result_time(out, query, point->ns);
        break;
    case 1:
        result_uint(out, query_pid(query, thread->process));
        break;
    case 2:
        result_uint(out, thread->tid);
        break;
    default:
        if (point->slice != SIZE_MAX)
            result_uint(out, point->slice);
        break;
    }
}

static void flow_column(struct query *query, size_t row, int column, sqlite3_context *out)
{
    const struct timeline_flow_point *from = arrow_from(query, row);

    switch (column) {
    case 0:
        result_uint(out, row);
        break;
    case 1:
        result_text(out, query_place_name(query, from->place));
        break;
    case 2:
        result_uint(out, from->id);
        break;
    case 3:
        result_uint(out, from->flow);
        break;
    case 4:
        result_text(out, from[1].kind == TIMELINE_FLOW_END ? "end" : "step");
        break;
    case 5:
    case 6:
    case 7:
    case 8:
        flow_end_column(query, from, column - 5, out);
        break;
    case 9:
    case 10:
    case 11:
    case 12:
        flow_end_column(query, from + 1, column - 9, out);
        break;
    default:
        result_uint(out, from->place);
        break;
    }
}

static const struct query_column flow_columns[] = {
    { "id", "INTEGER", "row number" },
    { "name", "TEXT", "name of the flow" },
    { "span", "INTEGER", "the number that its points have in common" },
    { "chain", "INTEGER", "the same for all arrows of one flow; a span may be used again" },
    { "kind", "TEXT", "what it leads to: step or end" },
    { "from_ns", "INTEGER", "when it begins" },
    { "from_process", "INTEGER", "process number" },
    { "from_thread", "INTEGER", "thread number" },
    { "from_slice", "INTEGER", "id of the slice, or NULL outside of any" },
    { "to_ns", "INTEGER", "when it ends" },
    { "to_process", "INTEGER", "process number" },
    { "to_thread", "INTEGER", "thread number" },
    { "to_slice", "INTEGER", "id of the slice, or NULL outside of any" },
    { "place", "INTEGER", "id of the place where it begins" },
};

const struct row_table flow_table = {
    .table = { "flow", "arrows from slice to slice, mostly across threads", COLUMNS(flow_columns) },
    .count = flow_count,
    .column = flow_column,
    .key = flow_key,
    .sorted = 1 | 1 << 5,
    .unique = 1,
};

static size_t message_count(struct query *query)
{
    return query->timeline->message_count;
}

static int64_t message_key(struct query *query, size_t row, int column)
{
    return column ? query_time(query, query->timeline->messages[row].ns) : (int64_t)row;
}

static void message_column(struct query *query, size_t row, int column, sqlite3_context *out)
{
    static const char *const levels[] = { "trace", "debug", "info", "warning", "error" };
    const struct timeline_message *message = &query->timeline->messages[row];
    const struct timeline_thread *thread = query_thread(query, message->thread);

    switch (column) {
    case 0:
        result_uint(out, row);
        break;
    case 1:
        result_uint(out, query_pid(query, thread->process));
        break;
    case 2:
        result_uint(out, thread->tid);
        break;
    case 3:
        result_time(out, query, message->ns);
        break;
    case 4:
        result_text(out, message->level < 5 ? levels[message->level] : NULL);
        break;
    default:
        sqlite3_result_text(out, message->text, -1, SQLITE_STATIC);
        break;
    }
}

static const struct query_column message_columns[] = {
    { "id", "INTEGER", "row number" },
    { "process", "INTEGER", "process number" },
    { "thread", "INTEGER", "thread number" },
    { "time_ns", "INTEGER", "when" },
    { "level", "TEXT", "trace, debug, info, warning, error" },
    { "text", "TEXT", "what it says" },
};

const struct row_table message_table = {
    .table = { "message", "messages", COLUMNS(message_columns) },
    .count = message_count,
    .column = message_column,
    .key = message_key,
    .sorted = 1 | 1 << 3,
    .unique = 1,
};

static size_t counter_count(struct query *query)
{
    return query->timeline->counter_count;
}

static int64_t counter_key(struct query *query, size_t row, int column)
{
    return column ? query_time(query, query->timeline->counters[row].ns) : (int64_t)row;
}

static void counter_column(struct query *query, size_t row, int column, sqlite3_context *out)
{
    const struct timeline_counter *counter = &query->timeline->counters[row];
    const struct timeline_thread *thread = query_thread(query, counter->thread);

    switch (column) {
    case 0:
        result_uint(out, row);
        break;
    case 1:
        result_uint(out, query_pid(query, thread->process));
        break;
    case 2:
        result_uint(out, thread->tid);
        break;
    case 3:
        result_text(out, query_place_name(query, counter->place));
        break;
    case 4:
        result_time(out, query, counter->ns);
        break;
    case 5:
        sqlite3_result_double(out, counter->value);
        break;
    default:
        result_uint(out, counter->place);
        break;
    }
}

static const struct query_column counter_columns[] = {
    { "id", "INTEGER", "row number" },         { "process", "INTEGER", "process number" },
    { "thread", "INTEGER", "thread number" },  { "name", "TEXT", "name" },
    { "time_ns", "INTEGER", "when" },          { "value", "REAL", "its value from then on" },
    { "place", "INTEGER", "id of its place" },
};

const struct row_table counter_table = {
    .table = { "counter", "values over time", COLUMNS(counter_columns) },
    .count = counter_count,
    .column = counter_column,
    .key = counter_key,
    .sorted = 1 | 1 << 4,
    .unique = 1,
};

static size_t allocation_count(struct query *query)
{
    return query->timeline->allocation_count;
}

static int64_t allocation_key(struct query *query, size_t row, int column)
{
    return column ? query_time(query, query->timeline->allocations[row].ns) : (int64_t)row;
}

static void allocation_column(struct query *query, size_t row, int column, sqlite3_context *out)
{
    const struct timeline_allocation *allocation = &query->timeline->allocations[row];
    const struct timeline_thread *thread = query_thread(query, allocation->thread);

    switch (column) {
    case 0:
        result_uint(out, row);
        break;
    case 1:
        result_uint(out, query_pid(query, thread->process));
        break;
    case 2:
        result_uint(out, thread->tid);
        break;
    case 3:
        result_text(out, query_place_name(query, allocation->place));
        break;
    case 4:
        result_time(out, query, allocation->ns);
        break;
    case 5:
        result_uint(out, allocation->is_free);
        break;
    case 6:
        result_uint(out, allocation->address);
        break;
    case 7:
        sqlite3_result_int64(out, query_clamp(allocation->bytes));
        break;
    default:
        result_uint(out, allocation->place);
        break;
    }
}

static const struct query_column allocation_columns[] = {
    { "id", "INTEGER", "row number" },
    { "process", "INTEGER", "process number" },
    { "thread", "INTEGER", "thread number" },
    { "pool", "TEXT", "name of the pool" },
    { "time_ns", "INTEGER", "when" },
    { "is_free", "INTEGER", "1: memory was given back" },
    { "address", "INTEGER", "where it is" },
    { "bytes", "INTEGER", "how much was taken; 0 if given back" },
    { "place", "INTEGER", "id of its place" },
};

const struct row_table allocation_table = {
    .table = { "allocation", "memory taken from and given back to pools",
               COLUMNS(allocation_columns) },
    .count = allocation_count,
    .column = allocation_column,
    .key = allocation_key,
    .sorted = 1 | 1 << 4,
    .unique = 1,
};

static size_t frame_count(struct query *query)
{
    return query->timeline->frame_count;
}

static int64_t frame_key(struct query *query, size_t row, int column)
{
    return column ? query_time(query, query->timeline->frames[row].ns) : (int64_t)row;
}

static void frame_column(struct query *query, size_t row, int column, sqlite3_context *out)
{
    const struct timeline_frame *frame = &query->timeline->frames[row];
    const struct timeline_thread *thread = query_thread(query, frame->thread);

    switch (column) {
    case 0:
        result_uint(out, row);
        break;
    case 1:
        result_uint(out, query_pid(query, thread->process));
        break;
    case 2:
        result_uint(out, thread->tid);
        break;
    case 3:
        result_text(out, query_place_name(query, frame->place));
        break;
    case 4:
        result_time(out, query, frame->ns);
        break;
    default:
        result_uint(out, frame->place);
        break;
    }
}

static const struct query_column frame_columns[] = {
    { "id", "INTEGER", "row number" },
    { "process", "INTEGER", "process number" },
    { "thread", "INTEGER", "thread number" },
    { "name", "TEXT", "name of the sequence, or NULL" },
    { "time_ns", "INTEGER", "when the frame ended" },
    { "place", "INTEGER", "id of its place" },
};

const struct row_table frame_table = {
    .table = { "frame", "ends of frames", COLUMNS(frame_columns) },
    .count = frame_count,
    .column = frame_column,
    .key = frame_key,
    .sorted = 1 | 1 << 4,
    .unique = 1,
};
