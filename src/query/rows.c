// SPDX-License-Identifier: Apache-2.0
/* The virtual table behind every small table: rows in a fixed order, some columns of which are
 * sorted. */
#include "query/query_internal.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"

struct row_cursor {
    sqlite3_vtab_cursor base;
    size_t low; /* rows left: low <= row < high */
    size_t high;
    const char *items; /* the array of rows; NULL: the table's function has them */
    bool descending;
};

char query_range_operator(unsigned char sqlite_operator)
{
    switch (sqlite_operator) {
    case SQLITE_INDEX_CONSTRAINT_EQ:
        return '=';
    case SQLITE_INDEX_CONSTRAINT_LT:
        return '<';
    case SQLITE_INDEX_CONSTRAINT_LE:
        return '{';
    case SQLITE_INDEX_CONSTRAINT_GT:
        return '>';
    case SQLITE_INDEX_CONSTRAINT_GE:
        return '}';
    default:
        return 0;
    }
}

static int64_t saturate(double value)
{
    if (value >= 9223372036854775807.0)
        return INT64_MAX;
    return value <= -9223372036854775808.0 ? INT64_MIN : (int64_t)value;
}

void query_range_narrow(struct range *range, char op, sqlite3_value *value)
{
    struct range asked = { INT64_MIN, INT64_MAX };
    int64_t low;
    int64_t high;

    switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER:
        low = high = sqlite3_value_int64(value);
        if (op == '>' && low < INT64_MAX)
            low++;
        else if (op == '<' && high > INT64_MIN)
            high--;
        break;
    case SQLITE_FLOAT:
        low = saturate(floor(sqlite3_value_double(value)));
        high = saturate(ceil(sqlite3_value_double(value)));
        break;
    case SQLITE_NULL:
        *range = (struct range){ 1, 0 };
        return;
    default:
        return; /* SQLite may convert it; it will look at every row then */
    }
    if (op == '=' || op == '>' || op == '}')
        asked.low = low;
    if (op == '=' || op == '<' || op == '{')
        asked.high = high;
    if (asked.low > range->low)
        range->low = asked.low;
    if (asked.high < range->high)
        range->high = asked.high;
}

/* "CREATE TABLE x(...)" for sqlite3_declare_vtab. */
static char *declaration(const struct query_table *table)
{
    sqlite3_str *text = sqlite3_str_new(NULL);

    for (size_t i = 0; i < table->column_count; i++)
        sqlite3_str_appendf(text, "%s\"%w\" %s", i ? ", " : "CREATE TABLE x(",
                            table->columns[i].name, table->columns[i].type);
    sqlite3_str_appendall(text, ")");
    return sqlite3_str_finish(text);
}

int table_connect(sqlite3 *db, void *aux, const struct query_table *table, sqlite3_vtab **out_vtab)
{
    const struct table_binding *binding = aux;
    struct table_vtab *vtab;
    char *text = declaration(table);
    int code;

    if (!text)
        return SQLITE_NOMEM;
    binding->query->declaring = true; /* this statement is ours: the authorizer lets it pass */
    code = sqlite3_declare_vtab(db, text);
    binding->query->declaring = false;
    sqlite3_free(text);
    if (code)
        return code;
    vtab = ifg_alloc(1, sizeof *vtab);
    if (!vtab)
        return SQLITE_NOMEM;
    vtab->query = binding->query;
    vtab->rows = binding->rows;
    *out_vtab = &vtab->base;
    return SQLITE_OK;
}

int table_disconnect(sqlite3_vtab *vtab)
{
    ifg_free(vtab);
    return SQLITE_OK;
}

static int rows_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
                        sqlite3_vtab **out_vtab, char **out_message)
{
    const struct table_binding *binding = aux;

    (void)argc, (void)argv, (void)out_message;
    return table_connect(db, aux, &binding->rows->table, out_vtab);
}

/* Row numbers are sorted and unique too. */
static bool is_sorted(const struct row_table *table, int column)
{
    return column < 0 || table->table.columns[column].get->sorted;
}

static bool is_unique(const struct row_table *table, int column)
{
    return column < 0 || table->table.columns[column].get->unique;
}

static const char *rows_of(const struct table_vtab *vtab)
{
    return vtab->rows->of_trace ? (const char *)query_trace(vtab->query)
                                : (const char *)vtab->query->timeline;
}

static size_t count_of(const struct table_vtab *vtab)
{
    const struct row_table *table = vtab->rows;

    return table->count ? table->count(vtab->query)
                        : *(const size_t *)(const void *)(rows_of(vtab) + table->number);
}

/* NULL: the table's function has the rows. */
static const char *items_of(const struct table_vtab *vtab)
{
    const struct row_table *table = vtab->rows;

    return table->row ? NULL : *(const char *const *)(const void *)(rows_of(vtab) + table->items);
}

static const void *row_of(const struct table_vtab *vtab, const char *items, size_t row)
{
    return items ? items + row * vtab->rows->bytes : vtab->rows->row(vtab->query, row);
}

/* Columns that are each sorted are sorted together, as long as all go the same way. */
static bool consumes_order(const struct row_table *table, const sqlite3_index_info *info)
{
    for (int i = 0; i < info->nOrderBy; i++)
        if (!is_sorted(table, info->aOrderBy[i].iColumn) ||
            info->aOrderBy[i].desc != info->aOrderBy[0].desc)
            return false;
    return true;
}

/* idxStr has two characters for each argument: its column, and the operator. idxNum 1: downwards.
 */
static int rows_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    const struct table_vtab *vtab = (const struct table_vtab *)base;
    const struct row_table *table = vtab->rows;
    size_t count = count_of(vtab);
    double rows = (double)count;
    char *plan;
    int used = 0;

    if (count == SIZE_MAX)
        return SQLITE_NOMEM;
    plan = sqlite3_malloc(2 * info->nConstraint + 1);
    if (!plan)
        return SQLITE_NOMEM;
    for (int i = 0; i < info->nConstraint; i++) {
        int column = info->aConstraint[i].iColumn;
        char op = query_range_operator(info->aConstraint[i].op);

        if (!op || !info->aConstraint[i].usable || !is_sorted(table, column))
            continue;
        plan[2 * used] = (char)('B' + column);
        plan[2 * used + 1] = op;
        info->aConstraintUsage[i].argvIndex = ++used;
        if (op == '=' && is_unique(table, column)) {
            rows = 1;
            info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
        } else {
            rows /= op == '=' ? 16 : 4;
        }
    }
    plan[2 * used] = '\0';
    info->idxStr = plan;
    info->needToFreeIdxStr = 1;
    info->estimatedRows = rows < 1 ? 1 : (sqlite3_int64)rows;
    info->estimatedCost = rows + (used ? 2 * log2((double)count + 2) : 0) + 1;
    if (info->nOrderBy && consumes_order(table, info)) {
        info->orderByConsumed = 1;
        info->idxNum = info->aOrderBy[0].desc;
    }
    return SQLITE_OK;
}

static int rows_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **out_cursor)
{
    struct row_cursor *cursor = ifg_alloc(1, sizeof *cursor);

    (void)vtab;
    if (!cursor)
        return SQLITE_NOMEM;
    *out_cursor = &cursor->base;
    return SQLITE_OK;
}

static int rows_close(sqlite3_vtab_cursor *cursor)
{
    ifg_free(cursor);
    return SQLITE_OK;
}

static uint64_t member(const struct query_getter *get, const char *row)
{
    const void *at = row + get->offset;

    switch (get->bytes) {
    case 1:
        return *(const uint8_t *)at;
    case 4:
        return *(const uint32_t *)at;
    default:
        return *(const uint64_t *)at;
    }
}

/* The value of a sorted column. */
static int64_t key_of(const struct table_vtab *vtab, const char *items, size_t row, int column)
{
    const struct query_getter *get = column < 0 ? NULL : vtab->rows->table.columns[column].get;
    const void *at;

    if (!get || get->get == GET_ROW)
        return (int64_t)row;
    at = row_of(vtab, items, row);
    if (get->get == GET_NUMBER)
        return get->number(vtab->query, at);
    return get->get == GET_TIME ? query_time(vtab->query, member(get, at))
                                : (int64_t)member(get, at);
}

/* The first row from low on, but before high, whose key is at least (or, strictly, above) this one.
 */
static size_t search(const struct table_vtab *vtab, const char *items, size_t low, size_t high,
                     int column, int64_t key, bool strictly)
{
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int64_t found = key_of(vtab, items, middle, column);

        if (found < key || (strictly && found == key))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int rows_filter(sqlite3_vtab_cursor *base, int number, const char *plan, int argc,
                       sqlite3_value **argv)
{
    struct row_cursor *cursor = (struct row_cursor *)base;
    const struct table_vtab *vtab = (const struct table_vtab *)base->pVtab;
    size_t count = count_of(vtab);

    if (count == SIZE_MAX)
        return SQLITE_NOMEM;
    cursor->low = 0;
    cursor->high = count;
    cursor->items = items_of(vtab);
    cursor->descending = number;
    for (int i = 0; i < argc && cursor->low < cursor->high; i++) {
        struct range range = { INT64_MIN, INT64_MAX };
        int column = plan[2 * i] - 'B';

        query_range_narrow(&range, plan[2 * i + 1], argv[i]);
        if (range.low > range.high) {
            cursor->high = cursor->low;
            break;
        }
        cursor->low =
            search(vtab, cursor->items, cursor->low, cursor->high, column, range.low, false);
        cursor->high =
            search(vtab, cursor->items, cursor->low, cursor->high, column, range.high, true);
    }
    return SQLITE_OK;
}

static int rows_next(sqlite3_vtab_cursor *base)
{
    struct row_cursor *cursor = (struct row_cursor *)base;

    if (cursor->descending)
        cursor->high--;
    else
        cursor->low++;
    return SQLITE_OK;
}

static int rows_eof(sqlite3_vtab_cursor *base)
{
    const struct row_cursor *cursor = (const struct row_cursor *)base;

    return cursor->low >= cursor->high;
}

static size_t current(const struct row_cursor *cursor)
{
    return cursor->descending ? cursor->high - 1 : cursor->low;
}

static bool is_null(const struct query_getter *get, const char *row)
{
    uint64_t value = member(get, row);

    if (get->null == NULL_ZERO)
        return value == 0;
    return value == (get->bytes == 4 ? UINT32_MAX : UINT64_MAX);
}

static void put_member(struct query *query, const struct query_getter *get, const char *row,
                       sqlite3_context *out)
{
    const void *at = row + get->offset;
    uint32_t index;

    switch (get->get) {
    case GET_REAL:
        sqlite3_result_double(out, *(const double *)at);
        break;
    case GET_TEXT:
        query_result_text(out, *(const char *const *)at);
        break;
    case GET_STRING:
        sqlite3_result_text(out, *(const char *const *)at, -1, SQLITE_STATIC);
        break;
    case GET_COUNT:
        sqlite3_result_int64(out, query_clamp(member(get, row)));
        break;
    case GET_NAME:
        index = (uint32_t)member(get, row);
        query_result_text(out, index < get->name_count ? get->names[index] : NULL);
        break;
    case GET_TIME:
        sqlite3_result_int64(out, query_time(query, *(const uint64_t *)at));
        break;
    case GET_PROCESS:
        query_result_uint(out, query_pid(query, *(const uint32_t *)at));
        break;
    case GET_THREAD_PROCESS:
        index = *(const uint32_t *)at;
        query_result_uint(out, query_pid(query, query_thread(query, index)->process));
        break;
    case GET_THREAD:
        query_result_uint(out, query_thread(query, *(const uint32_t *)at)->tid);
        break;
    case GET_LOCATION_NAME:
        query_result_text(out, query_location_name(query, *(const uint32_t *)at));
        break;
    default:
        sqlite3_result_int64(out, (sqlite3_int64)member(get, row));
        break;
    }
}

static int rows_column(sqlite3_vtab_cursor *base, sqlite3_context *out, int column)
{
    const struct row_cursor *cursor = (const struct row_cursor *)base;
    const struct table_vtab *vtab = (const struct table_vtab *)base->pVtab;
    const struct query_getter *get = vtab->rows->table.columns[column].get;
    const void *row;

    if (get->get == GET_ROW) {
        sqlite3_result_int64(out, (sqlite3_int64)current(cursor));
        return SQLITE_OK;
    }
    row = row_of(vtab, cursor->items, current(cursor));
    if (get->get == GET_VALUE)
        get->value(vtab->query, row, out);
    else if (get->get == GET_NUMBER)
        sqlite3_result_int64(out, get->number(vtab->query, row));
    else if (get->null == NULL_NEVER || !is_null(get, row))
        put_member(vtab->query, get, row, out);
    return SQLITE_OK;
}

static int rows_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out_rowid)
{
    *out_rowid = (sqlite3_int64)current((const struct row_cursor *)base);
    return SQLITE_OK;
}

const sqlite3_module row_module = {
    .xConnect = rows_connect,
    .xBestIndex = rows_best_index,
    .xDisconnect = table_disconnect,
    .xOpen = rows_open,
    .xClose = rows_close,
    .xFilter = rows_filter,
    .xNext = rows_next,
    .xEof = rows_eof,
    .xColumn = rows_column,
    .xRowid = rows_rowid,
};
