// SPDX-License-Identifier: Apache-2.0
/* Allocations of the program's heap that were picked while it was recorded with --memory. */
#include "analyze/heap.h"
#include "timeline/allocations.h"
#include "query/query_internal.h"

#define DEPTH_MAX 64u /* frames that are looked at for a name */

static const struct timeline_allocations *heap_of(struct query *query, bool *out_failed)
{
    const struct timeline_allocations *heap = NULL;

    *out_failed = timeline_allocations_get(query->timeline, &heap, NULL) != IFG_OK;
    return heap;
}

static size_t heap_count(struct query *query)
{
    bool failed;
    const struct timeline_allocations *heap = heap_of(query, &failed);

    if (failed)
        return SIZE_MAX;
    return heap ? heap->count : 0;
}

static const void *heap_row(struct query *query, size_t row)
{
    bool failed;

    return &heap_of(query, &failed)->items[row]; /* it is there: its rows were counted */
}

/* The innermost frame that does more than hand out memory. Where it has no name, the nearest one
 * around it that has, in the same module: whose work it is, at least. */
static uint32_t named_frame(const struct timeline_profile *profile, uint32_t node)
{
    uint32_t site = 0;

    for (uint32_t i = 0; node && i < DEPTH_MAX; i++) {
        uint32_t frame = profile->trace->nodes[node - 1].frame;
        const struct timeline_function *function = &profile->functions[profile->function_of[frame]];
        bool same =
            !site || function->module == profile->functions[profile->function_of[site]].module;

        if (same &&
            !heap_is_allocator(function->name, timeline_module_name(profile, function->module))) {
            if (*function->name)
                return frame;
            site = site ? site : frame;
        }
        node = profile->trace->nodes[node - 1].parent;
    }
    return site;
}

/* The profile and the frame that an allocation is shown by; NULL: nothing is known. */
static const struct timeline_profile *heap_frame(struct query *query, const void *row,
                                                 uint32_t *out_frame)
{
    uint32_t stack = ((const struct timeline_heap_allocation *)row)->stack;
    const struct timeline_profile *profile;

    *out_frame = 0;
    if (!stack || timeline_profile_get(query->timeline, &profile, NULL) != IFG_OK || !profile)
        return NULL;
    *out_frame = named_frame(profile, stack);
    return profile;
}

static void heap_function(struct query *query, const void *row, sqlite3_context *out)
{
    uint32_t frame;
    const struct timeline_profile *profile = heap_frame(query, row, &frame);
    char text[256];
    const char *name;

    if (!profile)
        return;
    name = timeline_function_name(profile, profile->function_of[frame], text, sizeof text);
    sqlite3_result_text(out, name, -1, name == text ? SQLITE_TRANSIENT : SQLITE_STATIC);
}

static void heap_module(struct query *query, const void *row, sqlite3_context *out)
{
    uint32_t frame;
    const struct timeline_profile *profile = heap_frame(query, row, &frame);

    if (profile)
        query_result_text(out, timeline_module_name(
                                   profile, frame ? profile->trace->frames[frame - 1].module : 0));
}

static void heap_model(struct query *query, const void *row, sqlite3_context *out)
{
    query_result_text(out, timeline_allocation_model(query->timeline, row));
}

static void heap_category(struct query *query, const void *row, sqlite3_context *out)
{
    uint32_t ml = ((const struct timeline_heap_allocation *)row)->ml;

    if (ml != TIMELINE_NONE)
        query_result_text(out, timeline_category_name(query->timeline->locations[ml].category));
}

static const char *const joins[] = { NULL, "own", "lent", "several" };

static const struct query_column heap_columns[] = {
    { "id", "INTEGER", "row number", ROW_NUMBER },
    { "time_ns", "INTEGER", "when it was made", OF_SORTED(GET_TIME, timeline_heap_allocation, ns) },
    { "freed_ns", "INTEGER", "when it was given back; NULL: not while it was recorded",
      OF_OR_NULL(GET_TIME, timeline_heap_allocation, freed_ns, NULL_NONE) },
    { "process", "INTEGER", "process number", OF(GET_UINT, timeline_heap_allocation, pid) },
    { "thread", "INTEGER", "thread number; it may have no row in thread",
      OF(GET_UINT, timeline_heap_allocation, tid) },
    { "bytes", "INTEGER", "how much was asked for",
      OF(GET_COUNT, timeline_heap_allocation, bytes) },
    { "weight", "INTEGER", "how many bytes it stands for: sums of this are estimates of all",
      OF(GET_COUNT, timeline_heap_allocation, weight) },
    { "address", "INTEGER", "where it is", OF(GET_COUNT, timeline_heap_allocation, address) },
    { "stack", "INTEGER", "stack of stack_frame; NULL if nothing is known",
      OF_OR_NULL(GET_UINT, timeline_heap_allocation, stack, NULL_ZERO) },
    { "function", "TEXT", "innermost function that does more than hand out memory",
      BY(heap_function) },
    { "module", "TEXT", "program or library it is in", BY(heap_module) },
    { "slice", "INTEGER", "id of the innermost slice at that time, or NULL",
      OF_OR_NULL(GET_UINT, timeline_heap_allocation, slice, NULL_NONE) },
    { "model", "TEXT", "model whose work it was, or NULL", BY(heap_model) },
    { "category", "TEXT", "what the model did: load, setup, inference ..., or NULL",
      BY(heap_category) },
    { "operator", "TEXT", "operator around, or NULL",
      OF(GET_LOCATION_NAME, timeline_heap_allocation, op) },
    { "attribution", "TEXT", "as in sample", OF_NAMES(joins, timeline_heap_allocation, join) },
};

const struct row_table heap_allocation_table = {
    .table = { "heap_allocation", "allocations of the program that were picked (record --memory)",
               COLUMNS(heap_columns) },
    .count = heap_count,
    .row = heap_row,
};
