// SPDX-License-Identifier: Apache-2.0
/* Choosing how to walk through slices: which constraints narrow, which order comes for free. */
#include "query/slice_internal.h"

#include <math.h>

bool slice_is_of_thread(int column)
{
    return column == SLICE_PROCESS || column == SLICE_THREAD || column == SLICE_THREAD_NAME;
}

bool slice_is_of_location(int column)
{
    switch (column) {
    case SLICE_NAME:
    case SLICE_KIND:
    case SLICE_CATEGORY:
    case SLICE_MODEL:
    case SLICE_FUNCTION:
    case SLICE_LOCATION:
    case SLICE_FILE:
    case SLICE_LINE:
        return true;
    default:
        return false;
    }
}

static bool is_text(int column)
{
    return column == SLICE_THREAD_NAME ||
           (slice_is_of_location(column) && column != SLICE_LOCATION && column != SLICE_LINE);
}

/* How a plan can use a constraint, or 0. */
static char usable_operator(const sqlite3_index_info *info, int i, bool by_location)
{
    int column = info->aConstraint[i].iColumn;
    unsigned char given = info->aConstraint[i].op;
    char op = query_range_operator(given);
    bool of_group = by_location ? slice_is_of_location(column) : slice_is_of_thread(column);

    if (!info->aConstraint[i].usable)
        return 0;
    if (is_text(column) && of_group) {
        if (given == SQLITE_INDEX_CONSTRAINT_LIKE)
            return 'L';
        if (given == SQLITE_INDEX_CONSTRAINT_GLOB)
            return 'G';
        /* Texts are compared byte by byte here. */
        return op == '=' && sqlite3_stricmp(sqlite3_vtab_collation((sqlite3_index_info *)info, i),
                                            "BINARY") == 0
                   ? op
                   : 0;
    }
    if (of_group)
        return op;
    if (by_location || !op)
        return 0;
    if (column < 0 || column == SLICE_ID || column == SLICE_START)
        return op;
    return column == SLICE_PARENT && op == '=' ? op : 0;
}

/* What part of all slices is left, roughly. */
static double share_left(const struct timeline *timeline, int column, char op)
{
    double threads = (double)timeline->thread_count + 1;
    double locations = (double)timeline->location_count + 1;

    if (op != '=')
        return 0.25;
    switch (column) {
    case SLICE_THREAD:
    case SLICE_THREAD_NAME:
        return 1 / threads;
    case SLICE_PROCESS:
        return 1 / ((double)timeline->process_count + 1);
    case SLICE_NAME:
    case SLICE_LOCATION:
    case SLICE_FUNCTION:
    case SLICE_LINE:
        return 1 / locations;
    case SLICE_MODEL:
        return 1 / ((double)timeline->model_count + 1);
    case SLICE_START:
        return 1e-6;
    case SLICE_PARENT:
        return 10 / ((double)timeline->slice_count + 10);
    default:
        return 0.25;
    }
}

static int order_column(const sqlite3_index_info *info, int i)
{
    return info->aOrderBy[i].iColumn < 0 ? SLICE_ID : info->aOrderBy[i].iColumn;
}

/* Does walking this way give the order that is asked for? */
static bool gives_order(const sqlite3_index_info *info, enum slice_plan plan)
{
    bool down = plan == SLICE_BY_ID_DOWN || plan == SLICE_BY_TIME_DOWN;

    for (int i = 0; i < info->nOrderBy; i++) {
        int column = order_column(info, i);
        bool good;

        if (plan == SLICE_BY_LOCATION)
            good = slice_is_of_location(column);
        else if (plan == SLICE_BY_THREAD)
            good = slice_is_of_thread(column);
        else if (plan == SLICE_BY_TIME || plan == SLICE_BY_TIME_DOWN)
            good = column == (i ? SLICE_ID : SLICE_START) && info->aOrderBy[i].desc == down;
        else
            good = column == SLICE_ID && info->aOrderBy[i].desc == down;
        if (!good)
            return false;
        if (column == SLICE_ID)
            return true; /* nothing is left to be decided */
    }
    return info->nOrderBy > 0;
}

struct estimate {
    double rows;
    double cost; /* with sorting, if SQLite has to */
    double walk; /* without */
    bool unique;
    bool ordered;
};

static struct estimate weigh(const struct query *query, const sqlite3_index_info *info,
                             enum slice_plan plan)
{
    const struct timeline *timeline = query->timeline;
    struct estimate estimate = { .rows = (double)timeline->slice_count };
    bool by_location = plan == SLICE_BY_LOCATION;

    for (int i = 0; i < info->nConstraint; i++) {
        int column = info->aConstraint[i].iColumn;
        char op = usable_operator(info, i, by_location);

        if (op == '=' && (column < 0 || column == SLICE_ID))
            estimate.unique = true;
        else if (op)
            estimate.rows *= share_left(timeline, column, op);
    }
    if (estimate.unique || estimate.rows < 1)
        estimate.rows = 1;
    estimate.ordered = gives_order(info, plan);
    estimate.walk = estimate.rows + 1;
    if (by_location)
        estimate.walk = estimate.rows * 1.5 + (double)timeline->location_count;
    else if (plan != SLICE_BY_ID && plan != SLICE_BY_ID_DOWN)
        estimate.walk = estimate.rows * 1.2 + (double)timeline->thread_count;
    estimate.cost = estimate.walk;
    if (info->nOrderBy && !estimate.ordered)
        estimate.cost += estimate.rows * 0.3 * log2(estimate.rows + 1);
    return estimate;
}

static int write_plan(sqlite3_index_info *info, enum slice_plan plan, bool ordered)
{
    char *text = sqlite3_malloc(2 * (info->nOrderBy + info->nConstraint) + 2);
    int length = 0;
    int used = 0;

    if (!text)
        return SQLITE_NOMEM;
    for (int i = 0; ordered && i < info->nOrderBy; i++) {
        text[length++] = (char)(SLICE_COLUMN_CODE + order_column(info, i));
        text[length++] = info->aOrderBy[i].desc ? '-' : '+';
    }
    text[length++] = ':';
    for (int i = 0; i < info->nConstraint; i++) {
        int column = info->aConstraint[i].iColumn;
        char op = usable_operator(info, i, plan == SLICE_BY_LOCATION);

        if (!op)
            continue;
        text[length++] = (char)(SLICE_COLUMN_CODE + (column < 0 ? SLICE_ID : column));
        text[length++] = op;
        info->aConstraintUsage[i].argvIndex = ++used;
    }
    text[length] = '\0';
    info->idxStr = text;
    info->needToFreeIdxStr = 1;
    info->idxNum = plan;
    info->orderByConsumed = ordered;
    return SQLITE_OK;
}

int slice_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    const struct query *query = ((const struct table_vtab *)base)->query;
    enum slice_plan best = SLICE_BY_ID;
    struct estimate chosen = weigh(query, info, best);

    for (enum slice_plan plan = SLICE_BY_ID + 1; plan <= SLICE_BY_LOCATION; plan++) {
        struct estimate other = weigh(query, info, plan);

        if (plan == SLICE_BY_LOCATION && !query_can_index(query))
            continue;
        if (plan != SLICE_BY_LOCATION && !other.ordered)
            continue; /* no better than by id */
        if (other.cost < chosen.cost) {
            chosen = other;
            best = plan;
        }
    }
    info->estimatedRows = (sqlite3_int64)chosen.rows;
    info->estimatedCost = chosen.walk;
    if (chosen.unique)
        info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
    return write_plan(info, best, chosen.ordered);
}
