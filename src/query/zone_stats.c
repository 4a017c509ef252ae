// SPDX-License-Identifier: Apache-2.0
/* The table-valued function zone_stats([from_ns [, to_ns]]): what `inferogram stats --by zone`
 * counts. */
#include "analyze/stats.h"
#include "base/alloc.h"
#include "query/query_internal.h"

enum {
    STATS_NAME,
    STATS_KIND,
    STATS_MODEL,
    STATS_CATEGORY,
    STATS_COUNT,
    STATS_TOTAL,
    STATS_SELF,
    STATS_MEAN,
    STATS_SD,
    STATS_MIN,
    STATS_FIRST_PERCENTILE,
    STATS_MAX = STATS_FIRST_PERCENTILE + STATS_PERCENTILES,
    STATS_SHARE,
    STATS_UNFINISHED,
    STATS_FROM,
    STATS_TO,
    STATS_COLUMNS,
};

static const struct query_column columns[STATS_COLUMNS] = {
    { "name", "TEXT", "name; ML events: model and category", NULL },
    { "kind", "TEXT", "zone, ml, op, stage, device, driver", NULL },
    { "model", "TEXT", "name of the model, or NULL", NULL },
    { "category", "TEXT", "of ML events, else NULL", NULL },
    { "count", "INTEGER", "finished slices", NULL },
    { "total_ns", "INTEGER", "sum of their durations", NULL },
    { "self_ns", "INTEGER", "the same without the slices directly inside", NULL },
    { "mean_ns", "REAL", "total_ns / count", NULL },
    { "sd_ns", "REAL", "standard deviation of the sample", NULL },
    { "min_ns", "INTEGER", "the shortest", NULL },
    { "p50_ns", "REAL", "median; percentiles are exact, with linear interpolation", NULL },
    { "p90_ns", "REAL", "90th percentile", NULL },
    { "p95_ns", "REAL", "95th percentile", NULL },
    { "p99_ns", "REAL", "99th percentile", NULL },
    { "p999_ns", "REAL", "99.9th percentile", NULL },
    { "max_ns", "INTEGER", "the longest", NULL },
    { "share", "REAL", "total_ns / length of the time range; threads add up", NULL },
    { "unfinished", "INTEGER", "slices that had not ended; in none of the other numbers", NULL },
    { "from_ns", "INTEGER HIDDEN", "argument 1: only slices that begin at this time or later",
      NULL },
    { "to_ns", "INTEGER HIDDEN", "argument 2: only slices that begin before this time", NULL },
};

const struct query_table zone_stats_table = {
    "zone_stats", "function: statistics of slices by name, zone_stats([from_ns [, to_ns]])",
    columns, STATS_COLUMNS
};

struct stats_cursor {
    sqlite3_vtab_cursor base;
    struct stats *stats; /* NULL: no rows */
    size_t row;
    int64_t from;
    int64_t to;
    bool has_from;
    bool has_to;
};

static int stats_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
                         sqlite3_vtab **out_vtab, char **out_message)
{
    (void)argc, (void)argv, (void)out_message;
    return table_connect(db, aux, &zone_stats_table, out_vtab);
}

/* idxNum: bit 0 for from_ns, bit 1 for to_ns. */
static int stats_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
    const struct table_vtab *table = (const struct table_vtab *)vtab;
    int at[2] = { -1, -1 };
    int used = 0;

    for (int i = 0; i < info->nConstraint; i++) {
        int argument = info->aConstraint[i].iColumn - STATS_FROM;

        if (argument < 0 || argument > 1 || info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ)
            continue;
        if (!info->aConstraint[i].usable)
            return SQLITE_CONSTRAINT;
        if (at[argument] < 0)
            at[argument] = i;
    }
    for (int argument = 0; argument < 2; argument++) {
        if (at[argument] < 0)
            continue;
        info->aConstraintUsage[at[argument]].argvIndex = ++used;
        info->aConstraintUsage[at[argument]].omit = 1;
        info->idxNum |= 1 << argument;
    }
    info->estimatedRows = (sqlite3_int64)table->query->timeline->location_count + 1;
    info->estimatedCost = (double)table->query->timeline->slice_count + 1;
    return SQLITE_OK;
}

static int stats_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **out_cursor)
{
    struct stats_cursor *cursor = ifg_alloc(1, sizeof *cursor);

    (void)vtab;
    if (!cursor)
        return SQLITE_NOMEM;
    *out_cursor = &cursor->base;
    return SQLITE_OK;
}

static int stats_close(sqlite3_vtab_cursor *base)
{
    stats_destroy(((struct stats_cursor *)base)->stats);
    ifg_free(base);
    return SQLITE_OK;
}

static int stats_filter(sqlite3_vtab_cursor *base, int number, const char *plan, int argc,
                        sqlite3_value **argv)
{
    struct stats_cursor *cursor = (struct stats_cursor *)base;
    struct query *query = ((struct table_vtab *)base->pVtab)->query;
    struct stats_options options = { .by = STATS_BY_ZONE };

    (void)plan;
    stats_destroy(cursor->stats);
    cursor->stats = NULL;
    cursor->row = 0;
    cursor->has_from = (number & 1) && argc > 0 && sqlite3_value_type(argv[0]) != SQLITE_NULL;
    cursor->has_to = (number & 2) && argc > 0 && sqlite3_value_type(argv[argc - 1]) != SQLITE_NULL;
    cursor->from = cursor->has_from ? sqlite3_value_int64(argv[0]) : 0;
    cursor->to = cursor->has_to ? sqlite3_value_int64(argv[argc - 1]) : 0;
    if (cursor->has_to && (cursor->to <= 0 || cursor->to <= cursor->from))
        return SQLITE_OK; /* nothing begins in an empty range */
    options.filter.from_ns = cursor->from > 0 ? (uint64_t)cursor->from : 0;
    options.filter.to_ns = cursor->has_to ? (uint64_t)cursor->to : 0;
    return stats_create(query->timeline, &options, &cursor->stats, NULL) ? SQLITE_NOMEM : SQLITE_OK;
}

static int stats_next(sqlite3_vtab_cursor *base)
{
    ((struct stats_cursor *)base)->row++;
    return SQLITE_OK;
}

static int stats_eof(sqlite3_vtab_cursor *base)
{
    const struct stats_cursor *cursor = (const struct stats_cursor *)base;

    return !cursor->stats || cursor->row >= cursor->stats->row_count;
}

/* Numbers of rows without any finished slice are NULL, as aggregates of nothing are in SQL. */
static void result_number(sqlite3_context *out, const struct stats_row *row, int column)
{
    if (!row->count)
        return;
    if (column == STATS_MEAN)
        sqlite3_result_double(out, row->mean_ns);
    else if (column == STATS_SD)
        sqlite3_result_double(out, row->sd_ns);
    else if (column == STATS_MIN)
        sqlite3_result_int64(out, query_clamp(row->min_ns));
    else if (column == STATS_MAX)
        sqlite3_result_int64(out, query_clamp(row->max_ns));
    else
        sqlite3_result_double(out, row->percentile_ns[column - STATS_FIRST_PERCENTILE]);
}

static int stats_column(sqlite3_vtab_cursor *base, sqlite3_context *out, int column)
{
    const struct stats_cursor *cursor = (const struct stats_cursor *)base;
    const struct stats_row *row = &cursor->stats->rows[cursor->row];

    switch (column) {
    case STATS_NAME:
        sqlite3_result_text(out, row->name, -1, SQLITE_TRANSIENT);
        break;
    case STATS_KIND:
        query_result_text(out, timeline_kind_name(row->kind));
        break;
    case STATS_MODEL:
        query_result_text(out, row->model);
        break;
    case STATS_CATEGORY:
        query_result_text(out, timeline_category_name(row->category));
        break;
    case STATS_COUNT:
        sqlite3_result_int64(out, query_clamp(row->count));
        break;
    case STATS_TOTAL:
        sqlite3_result_int64(out, query_clamp(row->total_ns));
        break;
    case STATS_SELF:
        sqlite3_result_int64(out, row->self_ns);
        break;
    case STATS_SHARE:
        sqlite3_result_double(out, row->share);
        break;
    case STATS_UNFINISHED:
        sqlite3_result_int64(out, query_clamp(row->unfinished));
        break;
    case STATS_FROM:
        if (cursor->has_from)
            sqlite3_result_int64(out, cursor->from);
        break;
    case STATS_TO:
        if (cursor->has_to)
            sqlite3_result_int64(out, cursor->to);
        break;
    default:
        result_number(out, row, column);
        break;
    }
    return SQLITE_OK;
}

static int stats_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out_rowid)
{
    *out_rowid = (sqlite3_int64)((const struct stats_cursor *)base)->row;
    return SQLITE_OK;
}

const sqlite3_module zone_stats_module = {
    .xConnect = stats_connect,
    .xBestIndex = stats_best_index,
    .xDisconnect = table_disconnect,
    .xOpen = stats_open,
    .xClose = stats_close,
    .xFilter = stats_filter,
    .xNext = stats_next,
    .xEof = stats_eof,
    .xColumn = stats_column,
    .xRowid = stats_rowid,
};
