// SPDX-License-Identifier: Apache-2.0
/* What is known of the trace as a whole, and how values become SQL results. */
#include "query/query_internal.h"

#include <time.h>

void query_result_text(sqlite3_context *out, const char *text)
{
    if (text && *text)
        sqlite3_result_text(out, text, -1, SQLITE_STATIC);
    else
        sqlite3_result_null(out);
}

void query_result_uint(sqlite3_context *out, uint64_t value)
{
    sqlite3_result_int64(out, (sqlite3_int64)value);
}

void query_result_time(sqlite3_context *out, const struct query *query, uint64_t ns)
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

const char *query_location_name(const struct query *query, uint32_t location)
{
    return location < query->timeline->location_count ? query->timeline->locations[location].name
                                                      : NULL;
}

const char *query_location_model(const struct query *query, uint32_t location)
{
    uint32_t model = query->timeline->locations[location].model;

    return model < query->timeline->model_count ? query->timeline->models[model].name : NULL;
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

static const void *whole_timeline(struct query *query, size_t row)
{
    (void)row;
    return query->timeline;
}

static void info_realtime(struct query *query, const void *row, sqlite3_context *out)
{
    const struct timeline *timeline = row;

    (void)query;
    if (timeline->realtime_offset_ns)
        query_result_uint(out, timeline->begin_ns + (uint64_t)timeline->realtime_offset_ns);
}

static void info_utc(struct query *query, const void *row, sqlite3_context *out)
{
    const struct timeline *timeline = row;
    time_t seconds =
        (time_t)(((int64_t)timeline->begin_ns + timeline->realtime_offset_ns) / 1000000000);
    struct tm parts;
    char text[64];

    (void)query;
    if (timeline->realtime_offset_ns && gmtime_r(&seconds, &parts) &&
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts))
        sqlite3_result_text(out, text, -1, SQLITE_TRANSIENT);
}

static void info_finished(struct query *query, const void *row, sqlite3_context *out)
{
    (void)row;
    query_result_uint(out, trace_reader_file(query->timeline->reader)->finished);
}

static const struct query_column info_columns[] = {
    { "begin_monotonic_ns", "INTEGER", "CLOCK_MONOTONIC at time 0 of all other tables",
      OF(GET_UINT, timeline, begin_ns) },
    { "dur_ns", "INTEGER", "from the first to the last thing known",
      OF(GET_TIME, timeline, end_ns) },
    { "begin_realtime_ns", "INTEGER", "CLOCK_REALTIME at time 0 (since 1970), or NULL",
      BY(info_realtime) },
    { "begin_utc", "TEXT", "the same for people", BY(info_utc) },
    { "slices", "INTEGER", "rows of slice", OF(GET_UINT, timeline, slice_count) },
    { "unfinished", "INTEGER", "slices that had not ended",
      OF(GET_UINT, timeline, unfinished_count) },
    { "dropped", "INTEGER", "events lost while recording", OF(GET_UINT, timeline, dropped) },
    { "undecoded_blocks", "INTEGER", "damaged parts of the file that are not here",
      OF(GET_UINT, timeline, undecoded_blocks) },
    { "async_ends_without_begin", "INTEGER", "not in async_span",
      OF(GET_UINT, timeline, async_ends_without_begin) },
    { "attributes_without_slice", "INTEGER", "not in attribute",
      OF(GET_UINT, timeline, attributes_without_slice) },
    { "flow_points_without_begin", "INTEGER", "flows that begin with a step or an end",
      OF(GET_UINT, timeline, flow_points_without_begin) },
    { "finished", "INTEGER", "0: the recorder was killed, and the file read by scanning",
      BY(info_finished) },
};

const struct row_table info_table = {
    .table = { "trace_info", "the trace as a whole: one row", COLUMNS(info_columns) },
    .count = one,
    .row = whole_timeline,
};

/* ---- fact, instrument, loss, clock ------------------------------------------------------- */

static const struct query_column fact_columns[] = {
    { "key", "TEXT", "for example record.program", OF(GET_STRING, trace_fact_entry, key) },
    { "value", "TEXT", "always text", OF(GET_STRING, trace_fact_entry, value) },
};

const struct row_table fact_table = {
    .table = { "fact", "what the recorder knew of program and machine", COLUMNS(fact_columns) },
    .of_trace = true,
    ROWS_OF(trace_tables, facts, fact_count),
};

static const char *const instrument_states[] = { "off", "on", "unavailable" };

static const struct query_column instrument_columns[] = {
    { "name", "TEXT", "what could be recorded", OF(GET_TEXT, trace_instrument_entry, name) },
    { "state", "TEXT", "on, off, unavailable",
      OF_NAMES(instrument_states, trace_instrument_entry, state) },
    { "reason", "TEXT", "why it is not on", OF(GET_TEXT, trace_instrument_entry, reason) },
};

const struct row_table instrument_table = {
    .table = { "instrument", "what could be recorded, and what was", COLUMNS(instrument_columns) },
    .of_trace = true,
    ROWS_OF(trace_tables, instruments, instrument_count),
};

static const struct query_column loss_columns[] = {
    { "process", "INTEGER", "process number", OF(GET_PROCESS, trace_loss_entry, process) },
    { "what", "TEXT", "what was lost, as a sentence", OF(GET_TEXT, trace_loss_entry, what) },
    { "count", "INTEGER", "how many", OF(GET_COUNT, trace_loss_entry, count) },
};

const struct row_table loss_table = {
    .table = { "loss", "losses that belong to no single thread", COLUMNS(loss_columns) },
    .of_trace = true,
    ROWS_OF(trace_tables, losses, loss_count),
};

static struct trace_clock_rate rate_of(struct query *query, const struct trace_clock_entry *clock)
{
    return trace_clock_rate(query->timeline->reader,
                            (uint32_t)(clock - query_trace(query)->clocks));
}

static void clock_kind(struct query *query, const void *row, sqlite3_context *out)
{
    const struct trace_clock_entry *clock = row;

    (void)query;
    query_result_text(out, trace_clock_kind_name(clock->kind));
}

static void clock_hz(struct query *query, const void *row, sqlite3_context *out)
{
    double hz = rate_of(query, row).hz;

    if (hz > 0)
        sqlite3_result_double(out, hz);
}

static void clock_pairs(struct query *query, const void *row, sqlite3_context *out)
{
    query_result_uint(out, rate_of(query, row).pairs);
}

static void clock_contradictions(struct query *query, const void *row, sqlite3_context *out)
{
    query_result_uint(out, rate_of(query, row).contradictions);
}

static const struct query_column clock_columns[] = {
    { "id", "INTEGER", "row number", ROW_NUMBER },
    { "kind", "TEXT", "tsc, monotonic, cntvct, device", BY(clock_kind) },
    { "nominal_hz", "INTEGER", "ticks per second as announced; 0 if unknown",
      OF(GET_COUNT, trace_clock_entry, nominal_hz) },
    { "name", "TEXT", "name, or NULL", OF(GET_TEXT, trace_clock_entry, name) },
    { "hz", "REAL", "ticks per second as measured, or NULL", BY(clock_hz) },
    { "pairs", "INTEGER", "how often it was read beside CLOCK_MONOTONIC", BY(clock_pairs) },
    { "contradictions", "INTEGER", "readings that make no sense beside the others",
      BY(clock_contradictions) },
};

const struct row_table clock_table = {
    .table = { "clock", "clocks that times were taken from", COLUMNS(clock_columns) },
    .of_trace = true,
    ROWS_OF(trace_tables, clocks, clock_count),
};
