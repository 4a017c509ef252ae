// SPDX-License-Identifier: Apache-2.0
/* The table `input`: tensors that inferences were fed with, as far as they were kept. */
#include "query/query_internal.h"
#include "timeline/inputs.h"

static size_t input_count(struct query *query)
{
    const struct timeline_inputs *inputs;

    return timeline_inputs_get(query->timeline, &inputs, NULL) == IFG_OK ? inputs->count : SIZE_MAX;
}

static const void *input_row(struct query *query, size_t row)
{
    const struct timeline_inputs *inputs;

    return timeline_inputs_get(query->timeline, &inputs, NULL) == IFG_OK ? &inputs->items[row]
                                                                         : NULL;
}

static void input_model(struct query *query, const void *row, sqlite3_context *out)
{
    size_t slice = ((const struct timeline_input *)row)->slice;

    if (slice < query->timeline->slice_count)
        query_result_text(out, query_location_model(query, query->timeline->location[slice]));
}

static void input_name(struct query *query, const void *row, sqlite3_context *out)
{
    (void)query;
    sqlite3_result_text(out, ((const struct timeline_input *)row)->tensor->name, -1, SQLITE_STATIC);
}

static void input_type(struct query *query, const void *row, sqlite3_context *out)
{
    (void)query;
    query_result_text(out, timeline_input_type(((const struct timeline_input *)row)->tensor->type));
}

static void input_shape(struct query *query, const void *row, sqlite3_context *out)
{
    char text[512];

    (void)query;
    timeline_input_shape(((const struct timeline_input *)row)->tensor, text, sizeof text);
    sqlite3_result_text(out, text, -1, SQLITE_TRANSIENT);
}

static void input_bytes(struct query *query, const void *row, sqlite3_context *out)
{
    (void)query;
    sqlite3_result_int64(out, query_clamp(((const struct timeline_input *)row)->tensor->bytes));
}

static void input_failed(struct query *query, const void *row, sqlite3_context *out)
{
    (void)query;
    sqlite3_result_int(out, ((const struct timeline_input *)row)->inputs->failed);
}

static const struct query_column input_columns[] = {
    { "slice", "INTEGER", "id of the inference; NULL if its event was lost",
      OF_OR_NULL(GET_UINT, timeline_input, slice, NULL_NONE) },
    { "position", "INTEGER", "of the input in the call, from 0",
      OF(GET_UINT, timeline_input, position) },
    { "model", "TEXT", "name of the model", BY(input_model) },
    { "name", "TEXT", "name of the input", BY(input_name) },
    { "type", "TEXT", "float32, int64, ...; NULL if unknown", BY(input_type) },
    { "shape", "TEXT", "1x3x224x224, or scalar", BY(input_shape) },
    { "bytes", "INTEGER", "of its elements", BY(input_bytes) },
    { "failed", "INTEGER", "1 if the inference returned an error", BY(input_failed) },
};

const struct row_table input_table = {
    .table = { "input", "inputs of inferences that were kept (record --capture-inputs)",
               COLUMNS(input_columns) },
    .count = input_count,
    .row = input_row,
};
