// SPDX-License-Identifier: Apache-2.0
/* The virtual table `slice`: every zone, ML event, operator and stage. */
#include <string.h>

#include "base/alloc.h"
#include "query/slice_internal.h"

static const struct query_column columns[SLICE_COLUMNS] = {
    [SLICE_ID] = { "id", "INTEGER", "number of the slice, by thread and start; fastest to look up",
                   NULL },
    [SLICE_PROCESS] = { "process", "INTEGER", "process number", NULL },
    [SLICE_THREAD] = { "thread", "INTEGER", "thread number", NULL },
    [SLICE_THREAD_NAME] = { "thread_name", "TEXT", "name, or NULL", NULL },
    [SLICE_NAME] = { "name", "TEXT", "name of its location; ML events: the category if it has none",
                     NULL },
    [SLICE_LABEL] = { "label", "TEXT", "its own name (attribute name) if it has one, else name",
                      NULL },
    [SLICE_KIND] = { "kind", "TEXT", "zone, ml, op, stage, device, driver", NULL },
    [SLICE_CATEGORY] = { "category", "TEXT", "of ML events, else NULL", NULL },
    [SLICE_MODEL] = { "model", "TEXT", "name of the model, or NULL", NULL },
    [SLICE_FUNCTION] = { "function", "TEXT", "function of the model, or of the program, or NULL",
                         NULL },
    [SLICE_DEPTH] = { "depth", "INTEGER", "how many slices it is inside of", NULL },
    [SLICE_PARENT] = { "parent_id", "INTEGER", "id of the slice directly around it, or NULL",
                       NULL },
    [SLICE_START] = { "start_ns", "INTEGER", "when it began", NULL },
    [SLICE_DURATION] = { "dur_ns", "INTEGER", "how long it took, or was seen if unfinished", NULL },
    [SLICE_END] = { "end_ns", "INTEGER", "start_ns + dur_ns", NULL },
    [SLICE_SELF] = { "self_ns", "INTEGER", "dur_ns without the slices directly inside", NULL },
    [SLICE_UNFINISHED] = { "unfinished", "INTEGER", "1 if it had not ended", NULL },
    [SLICE_LOCATION] = { "location", "INTEGER", "id of its location", NULL },
    [SLICE_FILE] = { "file", "TEXT", "source file, or NULL", NULL },
    [SLICE_LINE] = { "line", "INTEGER", "line in it, or NULL", NULL },
};

const struct query_table slice_table = {
    "slice", "zones, ML events, operators, stages: whatever has a begin and an end on a thread",
    columns, SLICE_COLUMNS
};

static int slice_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
                         sqlite3_vtab **out_vtab, char **out_message)
{
    (void)argc, (void)argv, (void)out_message;
    return table_connect(db, aux, &slice_table, out_vtab);
}

static int slice_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **out_cursor)
{
    struct slice_cursor *cursor = ifg_alloc(1, sizeof *cursor);

    (void)vtab;
    if (!cursor)
        return SQLITE_NOMEM;
    *out_cursor = &cursor->base;
    return SQLITE_OK;
}

static int slice_close(sqlite3_vtab_cursor *base)
{
    struct slice_cursor *cursor = (struct slice_cursor *)base;

    ifg_free(cursor->segments);
    ifg_free(cursor->heap);
    ifg_free(cursor);
    return SQLITE_OK;
}

static struct query *query_of(const sqlite3_vtab_cursor *base)
{
    return ((const struct table_vtab *)base->pVtab)->query;
}

static int slice_filter(sqlite3_vtab_cursor *base, int number, const char *plan, int argc,
                        sqlite3_value **argv)
{
    struct slice_cursor *cursor = (struct slice_cursor *)base;

    cursor->plan = (enum slice_plan)number;
    return slice_walk_start(cursor, query_of(base), plan, argc, argv);
}

static int slice_next(sqlite3_vtab_cursor *base)
{
    slice_walk_next((struct slice_cursor *)base, query_of(base));
    return SQLITE_OK;
}

static int slice_eof(sqlite3_vtab_cursor *base)
{
    return ((const struct slice_cursor *)base)->slice == SIZE_MAX;
}

static int slice_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out_rowid)
{
    *out_rowid = (sqlite3_int64)((const struct slice_cursor *)base)->slice;
    return SQLITE_OK;
}

static uint32_t thread_of(struct slice_cursor *cursor, const struct query *query)
{
    if (cursor->slice < cursor->thread_first || cursor->slice >= cursor->thread_end) {
        const struct timeline_thread *thread;

        cursor->thread = timeline_thread_of(query->timeline, cursor->slice);
        thread = query_thread(query, cursor->thread);
        cursor->thread_first = thread->first_slice;
        cursor->thread_end = thread->first_slice + thread->slice_count;
    }
    return cursor->thread;
}

static void result_cell(sqlite3_context *out, struct slice_cell cell)
{
    if (cell.is_null)
        sqlite3_result_null(out);
    else if (cell.text)
        sqlite3_result_text(out, cell.text, -1, SQLITE_STATIC);
    else
        sqlite3_result_int64(out, cell.number);
}

static int result_parent(sqlite3_context *out, struct query *query, size_t slice)
{
    if (!query_need_parents(query))
        return SQLITE_NOMEM;
    if (query->parents[slice] != TIMELINE_NONE)
        sqlite3_result_int64(out, query->parents[slice]);
    return SQLITE_OK;
}

static int result_self(sqlite3_context *out, struct query *query, size_t slice)
{
    if (!query_need_self(query))
        return SQLITE_NOMEM;
    sqlite3_result_int64(out, query_self_ns(query, slice));
    return SQLITE_OK;
}

static int slice_column(sqlite3_vtab_cursor *base, sqlite3_context *out, int column)
{
    struct slice_cursor *cursor = (struct slice_cursor *)base;
    struct query *query = query_of(base);
    const struct timeline *timeline = query->timeline;
    size_t slice = cursor->slice;

    switch (column) {
    case SLICE_ID:
        sqlite3_result_int64(out, (sqlite3_int64)slice);
        return SQLITE_OK;
    case SLICE_LABEL:
        sqlite3_result_text(out, timeline_slice_name(timeline, slice), -1, SQLITE_STATIC);
        return SQLITE_OK;
    case SLICE_DEPTH:
        sqlite3_result_int(out, timeline->depth[slice]);
        return SQLITE_OK;
    case SLICE_PARENT:
        return result_parent(out, query, slice);
    case SLICE_START:
        sqlite3_result_int64(out, query_time(query, timeline->start_ns[slice]));
        return SQLITE_OK;
    case SLICE_DURATION:
        sqlite3_result_int64(out, query_clamp(timeline_duration_ns(timeline, slice)));
        return SQLITE_OK;
    case SLICE_END:
        sqlite3_result_int64(out, query_time(query, timeline_end_ns(timeline, slice)));
        return SQLITE_OK;
    case SLICE_SELF:
        return result_self(out, query, slice);
    case SLICE_UNFINISHED:
        sqlite3_result_int(out, timeline_is_unfinished(timeline, slice));
        return SQLITE_OK;
    case SLICE_PROCESS:
    case SLICE_THREAD:
    case SLICE_THREAD_NAME:
        result_cell(out, slice_cell_of(query, column, thread_of(cursor, query)));
        return SQLITE_OK;
    default:
        result_cell(out, slice_cell_of(query, column, timeline->location[slice]));
        return SQLITE_OK;
    }
}

const sqlite3_module slice_module = {
    .xConnect = slice_connect,
    .xBestIndex = slice_best_index,
    .xDisconnect = table_disconnect,
    .xOpen = slice_open,
    .xClose = slice_close,
    .xFilter = slice_filter,
    .xNext = slice_next,
    .xEof = slice_eof,
    .xColumn = slice_column,
    .xRowid = slice_rowid,
};
