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

static const struct timeline_heap_allocation *heap_row(struct query *query, size_t row)
{
    bool failed;

    return &heap_of(query, &failed)->items[row]; /* it is there: its rows were counted */
}

static int64_t heap_key(struct query *query, size_t row, int column)
{
    return column ? query_time(query, heap_row(query, row)->ns) : (int64_t)row;
}

/* The innermost frame that does more than hand out memory. Where it has no name, the nearest one
 * around it that has, in the same module: whose work it is, at least. */
static uint32_t named_frame(const struct timeline_profile *profile, uint32_t node)
{
    uint32_t site = 0;

    for (uint32_t i = 0; node && i < DEPTH_MAX; i++) {
        uint32_t frame = profile->trace->nodes[node - 1].frame;
        const struct timeline_routine *routine = &profile->routines[profile->routine_of[frame]];
        bool same = !site || routine->module == profile->routines[profile->routine_of[site]].module;

        if (same &&
            !heap_is_allocator(routine->name, timeline_module_name(profile, routine->module))) {
            if (*routine->name)
                return frame;
            site = site ? site : frame;
        }
        node = profile->trace->nodes[node - 1].parent;
    }
    return site;
}

static void heap_function(struct query *query, uint32_t stack, bool module, sqlite3_context *out)
{
    const struct timeline_profile *profile;
    char text[256];
    const char *name;
    uint32_t frame;

    if (!stack || timeline_profile_get(query->timeline, &profile, NULL) != IFG_OK || !profile)
        return;
    frame = named_frame(profile, stack);
    if (module) {
        name = timeline_module_name(profile, frame ? profile->trace->frames[frame - 1].module : 0);
        result_text(out, name);
        return;
    }
    name = timeline_routine_name(profile, profile->routine_of[frame], text, sizeof text);
    sqlite3_result_text(out, name, -1, name == text ? SQLITE_TRANSIENT : SQLITE_STATIC);
}

static void heap_join(struct query *query, const struct timeline_heap_allocation *one, int column,
                      sqlite3_context *out)
{
    static const char *const joins[] = { NULL, "own", "lent", "several" };

    switch (column) {
    case 11:
        if (one->slice != SIZE_MAX)
            result_uint(out, one->slice);
        break;
    case 12:
        result_text(out, timeline_allocation_net(query->timeline, one));
        break;
    case 13:
        if (one->ml != TIMELINE_NONE)
            result_text(out, timeline_category_name(query->timeline->places[one->ml].category));
        break;
    case 14:
        if (one->op != TIMELINE_NONE)
            result_text(out, query_place_name(query, one->op));
        break;
    default:
        result_text(out, one->join < 4 ? joins[one->join] : NULL);
        break;
    }
}

static void heap_column(struct query *query, size_t row, int column, sqlite3_context *out)
{
    const struct timeline_heap_allocation *one = heap_row(query, row);

    switch (column) {
    case 0:
        result_uint(out, row);
        break;
    case 1:
        result_time(out, query, one->ns);
        break;
    case 2:
        if (one->freed_ns != UINT64_MAX)
            result_time(out, query, one->freed_ns);
        break;
    case 3:
        result_uint(out, one->pid);
        break;
    case 4:
        result_uint(out, one->tid);
        break;
    case 5:
        sqlite3_result_int64(out, query_clamp(one->bytes));
        break;
    case 6:
        sqlite3_result_int64(out, query_clamp(one->weight));
        break;
    case 7:
        sqlite3_result_int64(out, query_clamp(one->address));
        break;
    case 8:
        if (one->stack)
            result_uint(out, one->stack);
        break;
    case 9:
    case 10:
        heap_function(query, one->stack, column == 10, out);
        break;
    default:
        heap_join(query, one, column, out);
        break;
    }
}

static const struct query_column heap_columns[] = {
    { "id", "INTEGER", "row number" },
    { "time_ns", "INTEGER", "when it was made" },
    { "freed_ns", "INTEGER", "when it was given back; NULL: not while it was recorded" },
    { "process", "INTEGER", "process number" },
    { "thread", "INTEGER", "thread number; it may have no row in thread" },
    { "bytes", "INTEGER", "how much was asked for" },
    { "weight", "INTEGER", "how many bytes it stands for: sums of this are estimates of all" },
    { "address", "INTEGER", "where it is" },
    { "stack", "INTEGER", "stack of stack_frame; NULL if nothing is known" },
    { "function", "TEXT", "innermost function that does more than hand out memory" },
    { "module", "TEXT", "program or library it is in" },
    { "slice", "INTEGER", "id of the innermost slice at that time, or NULL" },
    { "model", "TEXT", "model whose work it was, or NULL" },
    { "category", "TEXT", "what the model did: load, setup, inference ..., or NULL" },
    { "operator", "TEXT", "operator around, or NULL" },
    { "attribution", "TEXT", "as in sample" },
};

const struct row_table heap_allocation_table = {
    .table = { "heap_allocation", "allocations of the program that were picked (record --memory)",
               COLUMNS(heap_columns) },
    .count = heap_count,
    .column = heap_column,
    .key = heap_key,
    .sorted = 3,
    .unique = 1,
};
