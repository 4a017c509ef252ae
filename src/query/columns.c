// SPDX-License-Identifier: Apache-2.0
/* Whole columns of slices: see columns.h. */
#include "query/columns.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "query/slice_internal.h"
#include "trace/keys.h"

#define NO_TEXT   (-1)
#define ASKED_MAX (2 * SLICE_COLUMNS)

struct column {
    enum slice_column column;
    struct ifg_strings texts;
    int32_t *codes; /* of columns of texts: by location, or by thread */
    bool has_nulls; /* of columns of texts */
};

struct query_columns {
    struct query *query;
    size_t count;
    struct column items[ASKED_MAX];
};

/* ---- the statement ------------------------------------------------------------------------ */

/* The next word of the statement, '*', ',' or ';'; an empty one at the end, NULL for anything
 * else. */
static const char *next_word(const char **at, size_t *out_length)
{
    const char *word;

    *at += strspn(*at, " \t\r\n");
    word = *at;
    *out_length = 0;
    if (!*word)
        return word;
    if (strchr("*,;", *word))
        *out_length = 1;
    else
        while (isalnum((unsigned char)word[*out_length]) || word[*out_length] == '_')
            ++*out_length;
    *at += *out_length;
    return *out_length ? word : NULL;
}

static bool is_word(const char *word, size_t length, const char *wanted)
{
    return word && length == strlen(wanted) && strncasecmp(word, wanted, length) == 0;
}

static bool add_column(struct query_columns *columns, const char *word, size_t length)
{
    for (int i = 0; word && i < SLICE_COLUMNS; i++)
        if (is_word(word, length, slice_table.columns[i].name) && columns->count < ASKED_MAX) {
            columns->items[columns->count++].column = (enum slice_column)i;
            return true;
        }
    return false;
}

static bool parse(struct query_columns *columns, const char *sql)
{
    size_t length;
    const char *word = next_word(&sql, &length);

    if (!is_word(word, length, "select"))
        return false;
    do {
        word = next_word(&sql, &length);
        if (is_word(word, length, "*") && !columns->count) {
            for (int i = 0; i < SLICE_COLUMNS; i++)
                columns->items[columns->count++].column = (enum slice_column)i;
        } else if (!add_column(columns, word, length)) {
            return false;
        }
        word = next_word(&sql, &length);
    } while (is_word(word, length, ","));
    if (!is_word(word, length, "from"))
        return false;
    word = next_word(&sql, &length);
    if (!is_word(word, length, slice_table.name))
        return false;
    word = next_word(&sql, &length);
    if (is_word(word, length, ";"))
        word = next_word(&sql, &length);
    return word && !length;
}

/* ---- texts -------------------------------------------------------------------------------- */

static bool is_text(enum slice_column column)
{
    return strcmp(slice_table.columns[column].type, "TEXT") == 0;
}

static bool add_code(struct column *column, const char *text, int32_t *out_code)
{
    uint32_t number;

    *out_code = NO_TEXT;
    if (!text) {
        column->has_nulls = true;
        return true;
    }
    number = ifg_strings_add(&column->texts, text, strlen(text));
    *out_code = (int32_t)number;
    return number <= INT32_MAX;
}

/* The texts of threads or locations that have slices: those alone are in the table. */
static bool code_groups(struct query_columns *columns, struct column *column, const bool *used)
{
    const struct timeline *timeline = columns->query->timeline;
    bool of_thread = slice_is_of_thread(column->column);
    enum slice_column of = column->column == SLICE_LABEL ? SLICE_NAME : column->column;
    size_t groups = of_thread ? timeline->thread_count : timeline->location_count;

    column->texts.limit = INT32_MAX;
    column->codes = ifg_alloc(groups + 1, sizeof *column->codes);
    if (!column->codes)
        return false;
    for (size_t i = 0; i < groups; i++) {
        struct slice_cell cell;

        if (of_thread ? !timeline->threads[i].slice_count : !used[i])
            continue;
        cell = slice_cell_of(columns->query, of, (uint32_t)i);
        if (!add_code(column, cell.is_null ? NULL : cell.text, &column->codes[i]))
            return false;
    }
    return true;
}

static bool is_label(const struct timeline_attribute *attribute)
{
    return attribute->type == TRACE_VALUE_STRING && strcmp(attribute->key, TRACE_KEY_NAME) == 0;
}

static bool code_labels(const struct query_columns *columns, struct column *column)
{
    const struct timeline *timeline = columns->query->timeline;
    int32_t code;

    for (size_t i = 0; i < timeline->attribute_count; i++)
        if (is_label(&timeline->attributes[i]) &&
            !add_code(column, timeline->attributes[i].text, &code))
            return false;
    return true;
}

static bool prepare(struct query_columns *columns)
{
    const struct timeline *timeline = columns->query->timeline;
    bool *used = ifg_alloc(timeline->location_count + 1, sizeof *used);
    bool good = used != NULL;

    for (size_t i = 0; good && i < timeline->slice_count; i++)
        used[timeline->location[i]] = true;
    for (size_t i = 0; good && i < columns->count; i++) {
        struct column *column = &columns->items[i];

        if (is_text(column->column))
            good = code_groups(columns, column, used);
        if (good && column->column == SLICE_LABEL)
            good = code_labels(columns, column);
        if (good && column->column == SLICE_PARENT)
            good = query_need_parents(columns->query);
        if (good && column->column == SLICE_SELF)
            good = query_need_self(columns->query);
    }
    ifg_free(used);
    return good;
}

enum ifg_status query_columns_create(struct query *query, const char *sql,
                                     struct query_columns **out_columns, struct ifg_error *err)
{
    struct query_columns *columns = ifg_alloc(1, sizeof *columns);

    *out_columns = NULL;
    if (!columns)
        return ifg_fail_no_memory(err, NULL);
    columns->query = query;
    if (!parse(columns, sql) || !query_can_index(query)) {
        query_columns_destroy(columns);
        return IFG_OK;
    }
    if (!prepare(columns)) {
        query_columns_destroy(columns);
        return ifg_fail_no_memory(err, NULL);
    }
    *out_columns = columns;
    return IFG_OK;
}

void query_columns_destroy(struct query_columns *columns)
{
    for (size_t i = 0; columns && i < columns->count; i++) {
        ifg_strings_fini(&columns->items[i].texts);
        ifg_free(columns->items[i].codes);
    }
    ifg_free(columns);
}

size_t query_columns_rows(const struct query_columns *columns)
{
    return columns->query->timeline->slice_count;
}

size_t query_columns_count(const struct query_columns *columns)
{
    return columns->count;
}

const char *query_columns_name(const struct query_columns *columns, size_t column)
{
    return slice_table.columns[columns->items[column].column].name;
}

const struct ifg_strings *query_columns_texts(const struct query_columns *columns, size_t column)
{
    const struct column *item = &columns->items[column];

    return is_text(item->column) ? &item->texts : NULL;
}

/* ---- values ------------------------------------------------------------------------------- */

static size_t mark_null(uint8_t *valid, size_t row)
{
    valid[row / 8] &= (uint8_t) ~(1u << row % 8);
    return 1;
}

static size_t fill_texts(const struct column *column, const uint32_t *keys, size_t count,
                         int32_t *out, uint8_t *valid)
{
    size_t nulls = 0;

    if (!column->has_nulls) {
        for (size_t i = 0; i < count; i++)
            out[i] = column->codes[keys[i]];
        return 0;
    }
    memset(valid, 0xff, (count + 7) / 8);
    for (size_t i = 0; i < count; i++) {
        int32_t code = column->codes[keys[i]];

        out[i] = code & ~(code >> 31); /* 0 where there is none */
        if (code < 0)
            nulls += mark_null(valid, i);
    }
    return nulls;
}

/* The first attribute of a slice from this one on. */
static size_t first_attribute(const struct timeline *timeline, size_t slice)
{
    size_t low = 0;
    size_t high = timeline->attribute_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (timeline->attributes[middle].slice < slice)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Backwards: of two names of one slice the first counts, as in timeline_slice_name. */
static void fill_labels(const struct query_columns *columns, const struct column *column,
                        size_t first, size_t count, int32_t *out)
{
    const struct timeline *timeline = columns->query->timeline;
    size_t low = first_attribute(timeline, first);

    for (size_t i = first_attribute(timeline, first + count); i > low; i--) {
        const struct timeline_attribute *attribute = &timeline->attributes[i - 1];
        int32_t *label = &out[attribute->slice - first];

        if (is_label(attribute))
            *label =
                (int32_t)ifg_strings_find(&column->texts, attribute->text, strlen(attribute->text));
        else if (strcmp(attribute->key, TRACE_KEY_NAME) == 0)
            *label = column->codes[timeline->location[attribute->slice]];
    }
}

/* What belongs to threads, which lie one after the other. */
static size_t fill_threads(const struct query_columns *columns, const struct column *column,
                           size_t first, size_t count, void *values, uint8_t *valid)
{
    const struct query *query = columns->query;
    const struct timeline *timeline = query->timeline;
    uint32_t thread = count ? timeline_thread_of(timeline, first) : 0;
    size_t nulls = 0;

    memset(valid, 0xff, (count + 7) / 8);
    for (size_t at = 0; at < count; thread++) {
        const struct timeline_thread *item = query_thread(query, thread);
        size_t end = item->first_slice + item->slice_count - first;
        struct slice_cell cell = { .is_null = true };
        int32_t code = column->codes ? column->codes[thread] : 0;

        if (item->first_slice + item->slice_count <= first + at)
            continue;
        if (!column->codes)
            cell = slice_cell_of(query, column->column, thread);
        for (end = end < count ? end : count; at < end; at++) {
            if (!column->codes)
                ((int64_t *)values)[at] = cell.number;
            else
                ((int32_t *)values)[at] = code & ~(code >> 31);
            if (code < 0)
                nulls += mark_null(valid, at);
        }
    }
    return nulls;
}

static void fill_unfinished(const struct timeline *timeline, size_t first, size_t count,
                            int64_t *out)
{
    memset(out, 0, count * sizeof *out);
    for (size_t i = 0; i < timeline->unfinished_count; i++)
        if (timeline->unfinished[i] >= first && timeline->unfinished[i] - first < count)
            out[timeline->unfinished[i] - first] = 1;
}

static size_t fill_parents(const struct query *query, size_t first, size_t count, int64_t *out,
                           uint8_t *valid)
{
    size_t nulls = 0;

    memset(valid, 0xff, (count + 7) / 8);
    for (size_t i = 0; i < count; i++) {
        uint32_t parent = query->parents[first + i];

        out[i] = parent == TIMELINE_NONE ? 0 : parent;
        if (parent == TIMELINE_NONE)
            nulls += mark_null(valid, i);
    }
    return nulls;
}

static size_t fill_lines(const struct timeline *timeline, size_t first, size_t count, int64_t *out,
                         uint8_t *valid)
{
    size_t nulls = 0;

    memset(valid, 0xff, (count + 7) / 8);
    for (size_t i = 0; i < count; i++) {
        out[i] = timeline->locations[timeline->location[first + i]].line;
        if (!out[i])
            nulls += mark_null(valid, i);
    }
    return nulls;
}

static void fill_numbers(const struct query *query, enum slice_column column, size_t first,
                         size_t count, int64_t *out)
{
    const struct timeline *timeline = query->timeline;

    for (size_t i = 0; i < count; i++) {
        size_t slice = first + i;

        switch (column) {
        case SLICE_ID:
            out[i] = (int64_t)slice;
            break;
        case SLICE_DEPTH:
            out[i] = timeline->depth[slice];
            break;
        case SLICE_START:
            out[i] = query_time(query, timeline->start_ns[slice]);
            break;
        case SLICE_DURATION:
            out[i] = query_clamp(timeline_duration_ns(timeline, slice));
            break;
        case SLICE_END:
            out[i] = query_time(query, timeline_end_ns(timeline, slice));
            break;
        case SLICE_SELF:
            out[i] = query_self_ns(query, slice);
            break;
        default:
            out[i] = timeline->location[slice];
            break;
        }
    }
}

size_t query_columns_fill(const struct query_columns *columns, size_t number, size_t first,
                          size_t count, void *values, uint8_t *valid)
{
    const struct column *column = &columns->items[number];
    const struct query *query = columns->query;
    const uint32_t *locations = query->timeline->location + first;

    switch (column->column) {
    case SLICE_PROCESS:
    case SLICE_THREAD:
    case SLICE_THREAD_NAME:
        return fill_threads(columns, column, first, count, values, valid);
    case SLICE_PARENT:
        return fill_parents(query, first, count, values, valid);
    case SLICE_LINE:
        return fill_lines(query->timeline, first, count, values, valid);
    case SLICE_UNFINISHED:
        fill_unfinished(query->timeline, first, count, values);
        return 0;
    case SLICE_LABEL:
        fill_texts(column, locations, count, values, valid);
        fill_labels(columns, column, first, count, values);
        return 0;
    default:
        break;
    }
    if (column->codes)
        return fill_texts(column, locations, count, values, valid);
    fill_numbers(query, column->column, first, count, values);
    return 0;
}
