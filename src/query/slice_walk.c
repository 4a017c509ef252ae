// SPDX-License-Identifier: Apache-2.0
/* Walking through slices as a plan says. Everything dropped here cannot fulfil the plan's
 * constraints; SQLite looks at the rest again. */
#include "query/slice_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* What the arguments of a plan say. */
struct wish {
    const char *order;
    size_t order_length;
    const char *operators;
    int argc;
    sqlite3_value **argv;
    struct range id;
    struct range start;
    bool narrows_threads;
};

static struct slice_cell text_cell(const char *text)
{
    return (struct slice_cell){ .is_null = !text || !*text, .text = text };
}

static struct slice_cell number_cell(int64_t number)
{
    return (struct slice_cell){ .number = number };
}

struct slice_cell slice_cell_of(const struct query *query, int column, uint32_t group)
{
    const struct timeline *timeline = query->timeline;
    const struct timeline_location *location =
        slice_is_of_location(column) ? &timeline->locations[group] : NULL;

    switch (column) {
    case SLICE_PROCESS:
        return number_cell(query_pid(query, query_thread(query, group)->process));
    case SLICE_THREAD:
        return number_cell(query_thread(query, group)->tid);
    case SLICE_THREAD_NAME:
        return text_cell(query_thread(query, group)->name);
    case SLICE_NAME:
        return (struct slice_cell){ .text = location->name };
    case SLICE_KIND:
        return text_cell(timeline_kind_name(location->kind));
    case SLICE_CATEGORY:
        return text_cell(timeline_category_name(location->category));
    case SLICE_MODEL:
        return text_cell(query_location_model(query, group));
    case SLICE_FUNCTION:
        return text_cell(location->function);
    case SLICE_LOCATION:
        return number_cell(group);
    case SLICE_FILE:
        return text_cell(location->file);
    case SLICE_LINE:
        return (struct slice_cell){ .is_null = !location->line, .number = location->line };
    default:
        return (struct slice_cell){ .is_null = true };
    }
}

/* As SQLite orders: NULL first, numbers by value, texts by bytes. */
static int compare_cells(struct slice_cell a, struct slice_cell b)
{
    if (a.is_null || b.is_null)
        return b.is_null - a.is_null;
    if (a.text)
        return strcmp(a.text, b.text);
    return (a.number > b.number) - (a.number < b.number);
}

/* Can "cell op value" be true? */
static bool may_match(struct slice_cell cell, char op, sqlite3_value *value)
{
    struct range range = { INT64_MIN, INT64_MAX };
    const char *text;

    if (cell.is_null || sqlite3_value_type(value) == SQLITE_NULL)
        return false;
    if (!cell.text) {
        query_range_narrow(&range, op, value);
        return cell.number >= range.low && cell.number <= range.high;
    }
    if (sqlite3_value_type(value) != SQLITE_TEXT)
        return true; /* SQLite may convert one of the two */
    text = (const char *)sqlite3_value_text(value);
    if (!text)
        return true;
    if (op == 'L')
        return sqlite3_strlike(text, cell.text, 0) == 0;
    if (op == 'G')
        return sqlite3_strglob(text, cell.text) == 0;
    return strcmp(text, cell.text) == 0;
}

static bool group_may_match(const struct query *query, const struct wish *wish, uint32_t group,
                            bool (*is_of_group)(int))
{
    for (int i = 0; i < wish->argc; i++) {
        int column = wish->operators[2 * i] - SLICE_COLUMN_CODE;

        if (is_of_group(column) && !may_match(slice_cell_of(query, column, group),
                                              wish->operators[2 * i + 1], wish->argv[i]))
            return false;
    }
    return true;
}

/* The slices inside a slice: those that it is the parent of are among them. */
static void narrow_to_children(const struct query *query, struct range *id, sqlite3_value *parent)
{
    struct range inside = { 1, 0 };
    int64_t slice = sqlite3_value_int64(parent);

    if (sqlite3_value_type(parent) != SQLITE_INTEGER && sqlite3_value_type(parent) != SQLITE_NULL)
        return;
    if (sqlite3_value_type(parent) == SQLITE_INTEGER && slice >= 0 &&
        (uint64_t)slice < query->timeline->slice_count) {
        inside.low = slice + 1;
        inside.high = (int64_t)query_subtree_end(query, (size_t)slice) - 1;
    }
    if (inside.low > id->low)
        id->low = inside.low;
    if (inside.high < id->high)
        id->high = inside.high;
}

static struct wish read_plan(const struct query *query, const char *plan, int argc,
                             sqlite3_value **argv)
{
    const char *colon = strchr(plan, ':');
    struct wish wish = {
        .order = plan,
        .order_length = (size_t)(colon - plan),
        .operators = colon + 1,
        .argc = argc,
        .argv = argv,
        .id = { 0, (int64_t)query->timeline->slice_count - 1 },
        .start = { INT64_MIN, INT64_MAX },
    };

    for (int i = 0; i < argc; i++) {
        int column = wish.operators[2 * i] - SLICE_COLUMN_CODE;
        char op = wish.operators[2 * i + 1];

        if (column == SLICE_ID)
            query_range_narrow(&wish.id, op, argv[i]);
        else if (column == SLICE_START)
            query_range_narrow(&wish.start, op, argv[i]);
        else if (column == SLICE_PARENT)
            narrow_to_children(query, &wish.id, argv[i]);
        wish.narrows_threads |= slice_is_of_thread(column) || column == SLICE_START;
    }
    return wish;
}

static void put_segment(struct slice_cursor *cursor, size_t at, size_t end, uint32_t group)
{
    if (at < end)
        cursor->segments[cursor->segment_count++] = (struct segment){ at, end, group };
}

/* The first slice in [low, high) that starts at this time or later; strictly: later. */
static size_t search_start(const struct query *query, size_t low, size_t high, int64_t time,
                           bool strictly)
{
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int64_t start = query_time(query, query->timeline->start_ns[middle]);

        if (start < time || (strictly && start == time))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void find_threads(struct slice_cursor *cursor, const struct query *query,
                         const struct wish *wish)
{
    size_t low = (size_t)wish->id.low;
    size_t high = (size_t)wish->id.high + 1;

    for (size_t t = 0; t < query->timeline->thread_count; t++) {
        const struct timeline_thread *thread = &query->timeline->threads[t];
        size_t at = thread->first_slice > low ? thread->first_slice : low;
        size_t end = thread->first_slice + thread->slice_count;

        if (end > high)
            end = high;
        if (at >= end || !group_may_match(query, wish, (uint32_t)t, slice_is_of_thread))
            continue;
        if (wish->start.low != INT64_MIN)
            at = search_start(query, at, end, wish->start.low, false);
        if (wish->start.high != INT64_MAX)
            end = search_start(query, at, end, wish->start.high, true);
        put_segment(cursor, at, end, (uint32_t)t);
    }
}

static void find_locations(struct slice_cursor *cursor, const struct query *query,
                           const struct wish *wish)
{
    for (size_t p = 0; p < query->timeline->location_count; p++)
        if (query->location_first[p] < query->location_first[p + 1] &&
            group_may_match(query, wish, (uint32_t)p, slice_is_of_location))
            put_segment(cursor, query->location_first[p], query->location_first[p + 1],
                        (uint32_t)p);
}

struct sorting {
    const struct query *query;
    const struct wish *wish;
};

static int compare_segments(const void *a, const void *b, void *user)
{
    const struct segment *left = a;
    const struct segment *right = b;
    const struct sorting *sorting = user;

    for (size_t i = 0; i < sorting->wish->order_length; i += 2) {
        int column = sorting->wish->order[i] - SLICE_COLUMN_CODE;
        int order = compare_cells(slice_cell_of(sorting->query, column, left->group),
                                  slice_cell_of(sorting->query, column, right->group));

        if (order)
            return sorting->wish->order[i + 1] == '-' ? -order : order;
    }
    return (left->group > right->group) - (left->group < right->group);
}

/* ---- merging by time --------------------------------------------------------------------- */

/* The slice that a segment offers next. */
static size_t head_of(const struct slice_cursor *cursor, uint32_t segment)
{
    return cursor->plan == SLICE_BY_TIME ? cursor->segments[segment].at
                                         : cursor->segments[segment].end - 1;
}

static bool comes_first(const struct slice_cursor *cursor, const struct query *query, uint32_t a,
                        uint32_t b)
{
    size_t left = head_of(cursor, a);
    size_t right = head_of(cursor, b);
    int64_t left_start = query_time(query, query->timeline->start_ns[left]);
    int64_t right_start = query_time(query, query->timeline->start_ns[right]);
    bool earlier = left_start != right_start ? left_start < right_start : left < right;

    return cursor->plan == SLICE_BY_TIME ? earlier : !earlier;
}

static void sift_down(struct slice_cursor *cursor, const struct query *query, size_t at)
{
    uint32_t *heap = cursor->heap;
    uint32_t moved = heap[at];

    for (;;) {
        size_t child = 2 * at + 1;

        if (child >= cursor->segment_count)
            break;
        if (child + 1 < cursor->segment_count &&
            comes_first(cursor, query, heap[child + 1], heap[child]))
            child++;
        if (comes_first(cursor, query, moved, heap[child]))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
}

static void merge_next(struct slice_cursor *cursor, const struct query *query)
{
    struct segment *segment;

    if (!cursor->segment_count) {
        cursor->slice = SIZE_MAX;
        return;
    }
    cursor->slice = head_of(cursor, cursor->heap[0]);
    segment = &cursor->segments[cursor->heap[0]];
    if (cursor->plan == SLICE_BY_TIME)
        segment->at++;
    else
        segment->end--;
    if (segment->at == segment->end)
        cursor->heap[0] = cursor->heap[--cursor->segment_count];
    if (cursor->segment_count)
        sift_down(cursor, query, 0);
}

void slice_walk_next(struct slice_cursor *cursor, const struct query *query)
{
    struct segment *segment;
    size_t position;

    if (cursor->plan == SLICE_BY_TIME || cursor->plan == SLICE_BY_TIME_DOWN) {
        merge_next(cursor, query);
        return;
    }
    if (!cursor->segment_count) {
        cursor->slice = SIZE_MAX;
        return;
    }
    /* The segments left are the last segment_count of them, or when walking down the first. */
    if (cursor->plan == SLICE_BY_ID_DOWN) {
        segment = &cursor->segments[cursor->segment_count - 1];
        position = --segment->end;
    } else {
        segment = &cursor->segments[cursor->segment_capacity - cursor->segment_count];
        position = segment->at++;
    }
    if (segment->at == segment->end)
        cursor->segment_count--;
    cursor->slice = cursor->plan == SLICE_BY_LOCATION ? query->by_location[position] : position;
}

static bool reserve(struct slice_cursor *cursor, const struct query *query)
{
    size_t needed = query->timeline->thread_count > query->timeline->location_count
                        ? query->timeline->thread_count
                        : query->timeline->location_count;

    if (cursor->segments)
        return true;
    cursor->segment_capacity = needed + 1;
    cursor->segments = ifg_alloc(needed + 1, sizeof *cursor->segments);
    cursor->heap = ifg_alloc(needed + 1, sizeof *cursor->heap);
    return cursor->segments && cursor->heap;
}

int slice_walk_start(struct slice_cursor *cursor, struct query *query, const char *plan, int argc,
                     sqlite3_value **argv)
{
    struct wish wish = read_plan(query, plan, argc, argv);

    if (!reserve(cursor, query) ||
        (cursor->plan == SLICE_BY_LOCATION && !query_need_locations(query)))
        return SQLITE_NOMEM;
    cursor->segment_count = 0;
    if (wish.id.low > wish.id.high || wish.start.low > wish.start.high)
        ; /* nothing */
    else if (cursor->plan == SLICE_BY_LOCATION)
        find_locations(cursor, query, &wish);
    else if (cursor->plan <= SLICE_BY_ID_DOWN && !wish.narrows_threads)
        put_segment(cursor, (size_t)wish.id.low, (size_t)wish.id.high + 1, 0);
    else
        find_threads(cursor, query, &wish);

    if (cursor->plan >= SLICE_BY_THREAD && wish.order_length) {
        struct sorting sorting = { query, &wish };

        qsort_r(cursor->segments, cursor->segment_count, sizeof *cursor->segments, compare_segments,
                &sorting);
    }
    if (cursor->plan == SLICE_BY_TIME || cursor->plan == SLICE_BY_TIME_DOWN) {
        for (size_t i = 0; i < cursor->segment_count; i++)
            cursor->heap[i] = (uint32_t)i;
        for (size_t i = cursor->segment_count / 2; i-- > 0;)
            sift_down(cursor, query, i);
    } else if (cursor->plan != SLICE_BY_ID_DOWN) {
        memmove(cursor->segments + cursor->segment_capacity - cursor->segment_count,
                cursor->segments, cursor->segment_count * sizeof *cursor->segments);
    }
    slice_walk_next(cursor, query);
    return SQLITE_OK;
}
