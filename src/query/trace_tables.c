// SPDX-License-Identifier: Apache-2.0
/* What is known of the trace as a whole, and how values become SQL results. */
#include "query/query_internal.h"

#include <time.h>

void result_text(sqlite3_context *out, const char *text)
{
    if (text && *text)
        sqlite3_result_text(out, text, -1, SQLITE_STATIC);
    else
        sqlite3_result_null(out);
}

void result_uint(sqlite3_context *out, uint64_t value)
{
    sqlite3_result_int64(out, (sqlite3_int64)value);
}

void result_time(sqlite3_context *out, const struct query *query, uint64_t ns)
{
    sqlite3_result_int64(out, query_time(query, ns));
}

uint32_t query_pid(const struct query *query, uint32_t process)
{
    return process < query->timeline->process_count ? query->timeline->processes[process].pid : 0;
}

const struct timeline_thread *query_thread(const struct query *query, uint32_t thread)
{
    static const struct timeline_thread none = { .process = TIMELINE_NONE, .name = "" };

    return thread < query->timeline->thread_count ? &query->timeline->threads[thread] : &none;
}

const char *query_place_name(const struct query *query, uint32_t place)
{
    return place < query->timeline->place_count ? query->timeline->places[place].name : NULL;
}

const char *query_place_model(const struct query *query, uint32_t place)
{
    uint32_t net = query->timeline->places[place].net;

    return net < query->timeline->net_count ? query->timeline->nets[net].name : NULL;
}

const struct trace_tables *query_trace(const struct query *query)
{
    return trace_reader_tables(query->timeline->reader);
}

/* ---- trace_info -------------------------------------------------------------------------- */

static size_t one(struct query *query)
{
    (void)query;
    return 1;
}

static void result_utc(sqlite3_context *out, const struct timeline *timeline)
{
    time_t seconds =
        (time_t)(((int64_t)timeline->begin_ns + timeline->realtime_offset_ns) / 1000000000);
    struct tm parts;
    char text[64];

    if (!timeline->realtime_offset_ns || !gmtime_r(&seconds, &parts) ||
        !strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts))
        sqlite3_result_null(out);
    else
        sqlite3_result_text(out, text, -1, SQLITE_TRANSIENT);
}

static void info_column(struct query *query, size_t row, int column, sqlite3_context *out)
{
    const struct timeline *timeline = query->timeline;

    (void)row;
    switch (column) {
    case 0:
        result_uint(out, timeline->begin_ns);
        break;
    case 1:
        sqlite3_result_int64(out, query_time(query, timeline->end_ns));
        break;
    case 2:
        if (timeline->realtime_offset_ns)
            result_uint(out, timeline->begin_ns + (uint64_t)timeline->realtime_offset_ns);
        break;
    case 3:
        result_utc(out, timeline);
        break;
    case 4:
        result_uint(out, timeline->slice_count);
        break;
    case 5:
        result_uint(out, timeline->unfinished_count);
        break;
    case 6:
        result_uint(out, timeline->dropped);
        break;
    case 7:
        result_uint(out, timeline->undecoded_blocks);
        break;
    case 8:
        result_uint(out, timeline->async_ends_without_begin);
        break;
    case 9:
        result_uint(out, timeline->attributes_without_slice);
        break;
    case 10:
        result_uint(out, timeline->flow_points_without_begin);
        break;
    default:
        result_uint(out, trace_reader_file(timeline->reader)->finished);
        break;
    }
}

static const struct query_column info_columns[] = {
    { "begin_monotonic_ns", "INTEGER", "CLOCK_MONOTONIC at time 0 of all other tables" },
    { "dur_ns", "INTEGER", "from the first to the last thing known" },
    { "begin_realtime_ns", "INTEGER", "CLOCK_REALTIME at time 0 (since 1970), or NULL" },
    { "begin_utc", "TEXT", "the same for people" },
    { "slices", "INTEGER", "rows of slice" },
    { "unfinished", "INTEGER", "slices that had not ended" },
    { "dropped", "INTEGER", "events lost while recording" },
    { "undecoded_blocks", "INTEGER", "damaged parts of the file that are not here" },
    { "async_ends_without_begin", "INTEGER", "not in async_span" },
    { "attributes_without_slice", "INTEGER", "not in attribute" },
    { "flow_points_without_begin", "INTEGER", "flows that begin with a step or an end" },
    { "finished", "INTEGER", "0: the recorder was killed, and the file read by scanning" },
};

const struct row_table info_table = {
    .table = { "trace_info", "the trace as a whole: one row", COLUMNS(info_columns) },
    .count = one,
    .column = info_column,
};

/* ---- fact, instrument, loss, clock ------------------------------------------------------- */

static size_t fact_count(struct query *query)
{
    return query_trace(query)->fact_count;
}

static void fact_column(struct query *query, size_t row, int column, sqlite3_context *out)
{
    const struct trace_fact_entry *fact = &query_trace(query)->facts[row];

    sqlite3_result_text(out, column ? fact->value : fact->key, -1, SQLITE_STATIC);
}

static const struct query_column fact_columns[] = {
    { "key", "TEXT", "for example record.program" },
    { "value", "TEXT", "always text" },
};

const struct row_table fact_table = {
    .table = { "fact", "what the recorder knew of program and machine", COLUMNS(fact_columns) },
    .count = fact_count,
    .column = fact_column,
};

static size_t instrument_count(struct query *query)
{
    return query_trace(query)->instrument_count;
}

static void instrument_column(struct query *query, size_t row, int column, sqlite3_context *out)
{
    static const char *const states[] = { "off", "on", "unavailable" };
    const struct trace_instrument_entry *instrument = &query_trace(query)->instruments[row];
    unsigned state = (unsigned)instrument->state;

    if (column == 1)
        result_text(out, state < 3 ? states[state] : NULL);
    else
        result_text(out, column ? instrument->reason : instrument->name);
}

static const struct query_column instrument_columns[] = {
    { "name", "TEXT", "what could be recorded" },
    { "state", "TEXT", "on, off, unavailable" },
    { "reason", "TEXT", "why it is not on" },
};

const struct row_table instrument_table = {
    .table = { "instrument", "what could be recorded, and what was", COLUMNS(instrument_columns) },
    .count = instrument_count,
    .column = instrument_column,
};

static size_t loss_count(struct query *query)
{
    return query_trace(query)->loss_count;
}

static void loss_column(struct query *query, size_t row, int column, sqlite3_context *out)
{
    const struct trace_loss_entry *loss = &query_trace(query)->losses[row];

    if (column == 0)
        result_uint(out, query_pid(query, loss->process));
    else if (column == 1)
        result_text(out, loss->what);
    else
        sqlite3_result_int64(out, query_clamp(loss->count));
}

static const struct query_column loss_columns[] = {
    { "process", "INTEGER", "process number" },
    { "what", "TEXT", "what was lost, as a sentence" },
    { "count", "INTEGER", "how many" },
};

const struct row_table loss_table = {
    .table = { "loss", "losses that belong to no single thread", COLUMNS(loss_columns) },
    .count = loss_count,
    .column = loss_column,
};

static size_t clock_count(struct query *query)
{
    return query_trace(query)->clock_count;
}

static void clock_column(struct query *query, size_t row, int column, sqlite3_context *out)
{
    static const char *const kinds[] = { NULL, "tsc", "monotonic", "cntvct" };
    const struct trace_clock_entry *clock = &query_trace(query)->clocks[row];
    unsigned kind = (unsigned)clock->kind;

    switch (column) {
    case 0:
        result_uint(out, row);
        break;
    case 1:
        result_text(out, kind < 4 ? kinds[kind] : NULL);
        break;
    case 2:
        sqlite3_result_int64(out, query_clamp(clock->nominal_hz));
        break;
    default:
        result_text(out, clock->name);
        break;
    }
}

static const struct query_column clock_columns[] = {
    { "id", "INTEGER", "row number" },
    { "kind", "TEXT", "tsc, monotonic, cntvct" },
    { "nominal_hz", "INTEGER", "ticks per second as announced; 0 if unknown" },
    { "name", "TEXT", "name, or NULL" },
};

const struct row_table clock_table = {
    .table = { "clock", "clocks that times were taken from", COLUMNS(clock_columns) },
    .count = clock_count,
    .column = clock_column,
    .sorted = 1,
    .unique = 1,
};
