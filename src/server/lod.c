// SPDX-License-Identifier: Apache-2.0
/* Level of detail: see lod.h. */
#include "server/lod.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "server/columns.h"

#define FAN_BITS 4u
#define FAN      (1u << FAN_BITS)

/* An answer of this many items is cheap enough to hold the neighbouring views too. */
#define CHEAP_ITEMS 40000u

/* ---- items ---- */

static inline uint64_t item_start(const struct lod *lod, uint32_t id)
{
    return id < lod->slice_count ? lod->timeline->start_ns[id]
                                 : lod->spans[id - lod->slice_count].start_ns;
}

static inline uint64_t item_duration(const struct lod *lod, uint32_t id)
{
    return id < lod->slice_count ? timeline_duration_ns(lod->timeline, id)
                                 : lod->spans[id - lod->slice_count].duration_ns;
}

/* What the pyramid is made of: UINT32_MAX stands for that and more. */
static inline uint32_t item_short(const struct lod *lod, uint32_t id)
{
    uint64_t ns;

    if (id < lod->slice_count)
        return lod->timeline->duration_ns[id];
    ns = lod->spans[id - lod->slice_count].duration_ns;
    return ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

static inline uint64_t row_start(const struct lod *lod, const struct lod_row *row, size_t index)
{
    return item_start(lod, row->items[index]);
}

static inline uint64_t row_end(const struct lod *lod, const struct lod_row *row, size_t index)
{
    return row_start(lod, row, index) + item_duration(lod, row->items[index]);
}

static inline uint32_t row_value(const struct lod *lod, const struct lod_row *row, unsigned level,
                                 size_t index)
{
    return level ? row->levels[level][index] : item_short(lod, row->items[index]);
}

/* ---- building ---- */

static size_t pyramid_size(size_t count)
{
    size_t total = 0;

    while (count > FAN) {
        count = (count + FAN - 1) >> FAN_BITS;
        total += count;
    }
    return total;
}

static uint32_t *build_pyramid(const struct lod *lod, struct lod_row *row, uint32_t *memory)
{
    size_t count = row->count;

    row->level_count = 1;
    while (count > FAN && row->level_count < LOD_LEVELS) {
        unsigned level = row->level_count;
        size_t next = (count + FAN - 1) >> FAN_BITS;

        for (size_t i = 0; i < next; i++) {
            size_t end = (i + 1) << FAN_BITS < count ? (i + 1) << FAN_BITS : count;
            uint32_t most = 0;

            for (size_t k = i << FAN_BITS; k < end; k++) {
                uint32_t value = row_value(lod, row, level - 1, k);

                most = value > most ? value : most;
            }
            memory[i] = most;
        }
        row->levels[level] = memory;
        memory += next;
        count = next;
        row->level_count++;
    }
    return memory;
}

static enum ifg_status build_pyramids(struct lod *lod)
{
    size_t total = 0;
    uint32_t *memory;

    for (size_t r = 0; r < lod->row_count; r++)
        total += pyramid_size(lod->rows[r].count);
    lod->pyramid = ifg_alloc(total + 1, sizeof *lod->pyramid);
    if (!lod->pyramid)
        return IFG_NO_MEMORY;
    memory = lod->pyramid;
    for (size_t r = 0; r < lod->row_count; r++)
        memory = build_pyramid(lod, &lod->rows[r], memory);
    return IFG_OK;
}

/* Room for rows of these sizes; row_items[r] is where the items of row r begin. */
static enum ifg_status make_rows(struct lod *lod, const size_t *sizes, size_t row_count,
                                 size_t item_count, uint32_t **row_items)
{
    size_t at = 0;

    lod->rows = ifg_alloc(row_count + 1, sizeof *lod->rows);
    lod->items = ifg_alloc(item_count + 1, sizeof *lod->items);
    if (!lod->rows || !lod->items)
        return IFG_NO_MEMORY;
    lod->row_count = row_count;
    for (size_t r = 0; r < row_count; r++) {
        lod->rows[r].items = lod->items + at;
        lod->rows[r].count = sizes[r];
        row_items[r] = lod->items + at;
        at += sizes[r];
    }
    return IFG_OK;
}

static struct lod *lod_new(const struct timeline *timeline, size_t slice_count,
                           const struct lod_span *spans)
{
    struct lod *lod = ifg_alloc(1, sizeof *lod);

    if (lod) {
        lod->timeline = timeline;
        lod->slice_count = slice_count;
        lod->spans = spans;
    }
    return lod;
}

/* Ids and their rows, counted and then put behind one another; ids may be NULL for first + i. */
static enum ifg_status split_rows(struct lod *lod, const uint32_t *ids, size_t first,
                                  const uint16_t *row_of, size_t count)
{
    enum ifg_status status = IFG_NO_MEMORY;
    size_t *sizes = ifg_alloc((size_t)UINT16_MAX + 1, sizeof *sizes);
    uint32_t **row_items = ifg_alloc((size_t)UINT16_MAX + 1, sizeof *row_items);
    size_t rows = 0;

    if (!sizes || !row_items)
        goto out;
    for (size_t i = 0; i < count; i++) {
        sizes[row_of[i]]++;
        rows = row_of[i] >= rows ? (size_t)row_of[i] + 1 : rows;
    }
    status = make_rows(lod, sizes, rows, count, row_items);
    if (status)
        goto out;
    if (ids)
        for (size_t i = 0; i < count; i++)
            *row_items[row_of[i]]++ = ids[i];
    else
        for (size_t i = 0; i < count; i++)
            *row_items[row_of[i]]++ = (uint32_t)(first + i);
    status = build_pyramids(lod);
out:
    ifg_free(row_items);
    ifg_free(sizes);
    return status;
}

enum ifg_status lod_create_rows(const struct timeline *timeline, size_t slice_count,
                                const struct lod_span *spans, const uint32_t *ids,
                                const uint16_t *row_of, size_t count, struct lod **out_lod)
{
    struct lod *lod = lod_new(timeline, slice_count, spans);
    enum ifg_status status;

    *out_lod = NULL;
    if (!lod)
        return IFG_NO_MEMORY;
    status = split_rows(lod, ids, 0, row_of, count);
    if (status) {
        lod_destroy(lod);
        return status;
    }
    *out_lod = lod;
    return IFG_OK;
}

enum ifg_status lod_create_thread(const struct timeline *timeline, uint32_t thread,
                                  struct lod **out_lod)
{
    const struct timeline_thread *of = &timeline->threads[thread];
    struct lod *lod = lod_new(timeline, timeline->slice_count, NULL);
    enum ifg_status status;

    *out_lod = NULL;
    if (!lod)
        return IFG_NO_MEMORY;
    status =
        split_rows(lod, NULL, of->first_slice, timeline->depth + of->first_slice, of->slice_count);
    if (status) {
        lod_destroy(lod);
        return status;
    }
    *out_lod = lod;
    return IFG_OK;
}

void lod_destroy(struct lod *lod)
{
    if (!lod)
        return;
    ifg_free(lod->pyramid);
    ifg_free(lod->items);
    ifg_free(lod->rows);
    ifg_free(lod);
}

size_t lod_count(const struct lod *lod)
{
    size_t count = 0;

    for (size_t r = 0; r < lod->row_count; r++)
        count += lod->rows[r].count;
    return count;
}

size_t lod_bytes(const struct lod *lod)
{
    size_t bytes = sizeof *lod + lod->row_count * sizeof *lod->rows;

    for (size_t r = 0; r < lod->row_count; r++)
        bytes += (lod->rows[r].count + pyramid_size(lod->rows[r].count)) * sizeof(uint32_t);
    return bytes;
}

/* ---- answers ---- */

void lod_items_init(struct lod_items *items, size_t most)
{
    *items = (struct lod_items){ .most = most };
}

void lod_items_fini(struct lod_items *items)
{
    ifg_free(items->items);
    *items = (struct lod_items){ 0 };
}

enum ifg_status lod_items_add(struct lod_items *items, const struct lod_item *item)
{
    if (items->count == items->most) {
        items->full = true;
        return IFG_OK;
    }
    if (!IFG_ARRAY_ROOM(items->items, items->capacity, items->count + 1, IFG_ARRAY_ANY))
        return IFG_NO_MEMORY;
    items->items[items->count++] = *item;
    return IFG_OK;
}

/* The first index from `from` on whose start is not before ns. Near ones are found fastest. */
static size_t first_from(const struct lod *lod, const struct lod_row *row, size_t from, uint64_t ns)
{
    size_t low = from;
    size_t step = 1;
    size_t high;

    while (low < row->count && row_start(lod, row, low) < ns) {
        from = low + 1;
        low += step;
        step *= 2;
    }
    high = low < row->count ? low : row->count;
    low = from;
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (row_start(lod, row, middle) < ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The first index from `from` on whose duration is at least least_ns; count if there is none. */
static size_t next_long(const struct lod *lod, const struct lod_row *row, size_t from,
                        uint64_t least_ns)
{
    uint32_t least = least_ns < UINT32_MAX ? (uint32_t)least_ns : UINT32_MAX;
    size_t index = from;
    unsigned level = 0;

    for (;;) {
        size_t at = index >> (FAN_BITS * level);

        if (index >= row->count)
            return row->count;
        if (row_value(lod, row, level, at) < least) {
            /* Nothing here: on to the next, and up where the next begins a larger block. */
            at++;
            index = at << (FAN_BITS * level);
            while (level + 1 < row->level_count && (at & (FAN - 1)) == 0) {
                at >>= FAN_BITS;
                level++;
            }
        } else if (level > 0) {
            level--;
        } else if (least != UINT32_MAX || item_duration(lod, row->items[index]) >= least_ns) {
            return index;
        } else {
            index++;
        }
    }
}

/* The index of the longest of [from, to). */
static size_t longest_of(const struct lod *lod, const struct lod_row *row, size_t from, size_t to)
{
    uint32_t most = 0;
    size_t best = from; /* at best_level */
    unsigned best_level = 0;
    bool found = false;

    for (size_t i = from; i < to;) {
        unsigned level = 0;
        uint32_t value;

        while (level + 1 < row->level_count &&
               (i & (((size_t)1 << (FAN_BITS * (level + 1))) - 1)) == 0 &&
               to - i >= (size_t)1 << (FAN_BITS * (level + 1)))
            level++;
        value = row_value(lod, row, level, i >> (FAN_BITS * level));
        if (!found || value > most) {
            most = value;
            best = i >> (FAN_BITS * level);
            best_level = level;
            found = true;
        }
        i += (size_t)1 << (FAN_BITS * level);
    }
    while (best_level > 0) {
        best_level--;
        best <<= FAN_BITS;
        while (row_value(lod, row, best_level, best) < most)
            best++;
    }
    return best;
}

static enum ifg_status add_range(const struct lod *lod, size_t r, size_t from, size_t to,
                                 struct lod_items *out)
{
    const struct lod_row *row = &lod->rows[r];
    size_t longest = to - from == 1 ? from : longest_of(lod, row, from, to);
    uint32_t id = row->items[longest];
    bool slice = id < lod->slice_count;
    const struct lod_span *span = slice ? NULL : &lod->spans[id - lod->slice_count];
    struct lod_item item = {
        .start_ns = row_start(lod, row, from),
        .location = slice ? lod->timeline->location[id] : span->location,
        .count = (uint32_t)(to - from),
        .id = id,
        .row = (uint16_t)r,
        .flags = span ? span->flags : 0,
    };
    uint64_t end = row_end(lod, row, to - 1);

    item.duration_ns = end > item.start_ns ? end - item.start_ns : 0;
    if (slice && lod->outlines && lod->timeline->locations[item.location].kind == TRACE_LOCATION_ML)
        item.flags |= LOD_OUTLINE;
    if (to - from > 1) {
        item.flags |= LOD_MERGED;
        item.flags &= (uint8_t)~LOD_UNFINISHED;
        if (span) { /* what is made of several counts as these */
            uint64_t sum = 0;

            for (size_t i = from; i < to && i - from < 65536; i++)
                sum += row->items[i] < lod->slice_count
                           ? 1
                           : lod->spans[row->items[i] - lod->slice_count].count;
            if (sum > item.count)
                item.count = sum < UINT32_MAX ? (uint32_t)sum : UINT32_MAX;
        }
    } else if (slice && timeline_is_unfinished(lod->timeline, id)) {
        item.flags |= LOD_UNFINISHED;
    } else if (span) {
        item.count = span->count;
    }
    return lod_items_add(out, &item);
}

static enum ifg_status query_row(const struct lod *lod, size_t r, uint64_t t0_ns, uint64_t t1_ns,
                                 uint64_t least_ns, uint64_t grid_ns, struct lod_items *out)
{
    const struct lod_row *row = &lod->rows[r];
    size_t at = first_from(lod, row, 0, t0_ns);
    size_t end = first_from(lod, row, at, t1_ns);
    size_t next = 0; /* long one; valid from `at` on */

    if (at > 0 && row_end(lod, row, at - 1) > t0_ns)
        at--; /* it began before the range */
    next = next_long(lod, row, at, least_ns);
    while (at < end && !out->full) {
        size_t to = at + 1;
        enum ifg_status status;

        if (next < at)
            next = next_long(lod, row, at, least_ns);
        if (next != at) {
            uint64_t start = row_start(lod, row, at);
            uint64_t line = start - start % grid_ns;

            line = line > UINT64_MAX - grid_ns ? UINT64_MAX : line + grid_ns;
            to = first_from(lod, row, to, line);
            to = to > end ? end : to;
            to = to > next ? next : to;
        }
        status = add_range(lod, r, at, to, out);
        if (status)
            return status;
        at = to;
    }
    return IFG_OK;
}

uint64_t lod_grid_ns(double least_ns)
{
    int exponent;
    double fraction;

    if (!(least_ns > 1))
        return 1;
    if (least_ns > 1e18)
        return (uint64_t)1e18;
    fraction = frexp(least_ns, &exponent); /* [0.5, 1): six bits of it are enough */
    return (uint64_t)ceil(ldexp(ceil(fraction * 64) / 64, exponent));
}

enum ifg_status lod_query(const struct lod *lod, uint64_t t0_ns, uint64_t t1_ns, double least_ns,
                          struct lod_items *out)
{
    uint64_t grid_ns = lod_grid_ns(least_ns);
    uint64_t least =
        least_ns > 1 ? (least_ns < 1e18 ? (uint64_t)ceil(least_ns) : (uint64_t)1e18) : 1;

    out->count = 0;
    out->full = false;
    for (size_t r = 0; r < lod->row_count && !out->full; r++) {
        enum ifg_status status = query_row(lod, r, t0_ns, t1_ns, least, grid_ns, out);

        if (status)
            return status;
    }
    return IFG_OK;
}

enum ifg_status lod_view(const struct lod *lod, unsigned px, uint64_t *t0_ns, uint64_t *t1_ns,
                         struct lod_items *out)
{
    uint64_t width = *t1_ns - *t0_ns;
    double least_ns = (double)width / px * LOD_MERGE_PX;
    uint64_t begin = lod->timeline->begin_ns;
    uint64_t end = lod->timeline->end_ns + 1;
    uint64_t before = *t0_ns > begin ? *t0_ns - begin : 0;
    uint64_t after = end > *t1_ns ? end - *t1_ns : 0;
    uint64_t wide_t0 = *t0_ns - (before < width ? before : width);
    uint64_t wide_t1 = *t1_ns + (after < width ? after : width);
    enum ifg_status status;

    lod_items_init(out, CHEAP_ITEMS);
    status = lod_query(lod, wide_t0, wide_t1, least_ns, out);
    if (!status && !out->full) {
        *t0_ns = wide_t0;
        *t1_ns = wide_t1;
        return IFG_OK;
    }
    out->most = LOD_ITEMS_MOST;
    /* More than an answer may have: coarser, until it fits or every row has but one item. */
    for (int i = 0; !status && i < 64; i++) {
        status = lod_query(lod, *t0_ns, *t1_ns, least_ns, out);
        if (!out->full || least_ns > 2 * (double)width)
            break;
        least_ns *= 2;
    }
    return status;
}

void lod_write(const struct timeline *timeline, const struct lod_items *items, size_t rows,
               uint64_t t0_ns, uint64_t t1_ns, struct ifg_bytes *out)
{
    size_t n = items->count;
    size_t size = 32 + n * 31 + 64;
    double *start;
    float *duration;
    uint32_t *words;

    columns_header(out, COLUMNS_SLICES, (uint32_t)n, (uint32_t)rows,
                   (double)(int64_t)(t0_ns - timeline->begin_ns),
                   (double)(int64_t)(t1_ns - timeline->begin_ns));
    if (!ifg_bytes_reserve(out, size))
        return;
    start = ifg_alloc(n + 1, sizeof *start);
    if (!start) {
        out->failed = true;
        return;
    }
    duration = (float *)start;
    words = (uint32_t *)start;
    for (size_t i = 0; i < n; i++)
        start[i] = (double)(int64_t)(items->items[i].start_ns - timeline->begin_ns);
    columns_put(out, start, n, sizeof *start);
    for (size_t i = 0; i < n; i++)
        duration[i] = (float)items->items[i].duration_ns;
    columns_put(out, duration, n, sizeof *duration);
    for (size_t i = 0; i < n; i++)
        words[i] = items->items[i].location;
    columns_put(out, words, n, sizeof *words);
    for (size_t i = 0; i < n; i++)
        words[i] = items->items[i].count;
    columns_put(out, words, n, sizeof *words);
    for (size_t i = 0; i < n; i++)
        words[i] = items->items[i].id;
    columns_put(out, words, n, sizeof *words);
    for (size_t i = 0; i < n; i++)
        ((uint16_t *)words)[i] = items->items[i].row;
    columns_put(out, words, n, sizeof(uint16_t));
    for (size_t i = 0; i < n; i++)
        ((uint8_t *)words)[i] = items->items[i].flags;
    columns_put(out, words, n, sizeof(uint8_t));
    ifg_free(start);
}
