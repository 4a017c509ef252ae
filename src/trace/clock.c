// SPDX-License-Identifier: Apache-2.0
/*
 * Counter values to nanoseconds: straight lines between the moments at which both were read. All in
 * integers, because a double cannot hold nanoseconds since boot to the nanosecond for long.
 */
#include "trace/reader_internal.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/array.h"

#define NS_PER_S UINT64_C(1000000000)

static bool add_pair(struct trace_clock_line *line, const struct trace_pair *pair)
{
    if (!IFG_ARRAY_ROOM(line->pairs, line->capacity, line->count + 1, IFG_ARRAY_ANY))
        return false;
    line->pairs[line->count++] = *pair;
    return true;
}

static struct trace_clock_line *find_or_add_line(struct trace_clock_set *set, uint32_t clock)
{
    if (!IFG_ARRAY_ROOM_ZEROED(set->lines, set->capacity, (size_t)clock + 1, TRACE_CLOCK_MAX))
        return NULL;
    if (clock >= set->count)
        set->count = (size_t)clock + 1;
    return &set->lines[clock];
}

enum ifg_status trace_clocks_add(struct trace_clock_set *set, uint32_t clock, uint32_t count,
                                 const uint8_t *data, size_t size)
{
    struct ifg_cursor cursor = ifg_cursor_over(data, size);
    struct trace_pair pair = { 0 };
    struct trace_clock_line *line;

    if (clock >= TRACE_CLOCK_MAX || count > TRACE_COUNT_MAX)
        return IFG_CORRUPT;
    line = find_or_add_line(set, clock);
    if (!line)
        return IFG_NO_MEMORY;
    for (uint32_t i = 0; i < count; i++) {
        pair.ticks += (uint64_t)ifg_unzigzag(ifg_cursor_varint(&cursor));
        pair.monotonic_ns += (uint64_t)ifg_unzigzag(ifg_cursor_varint(&cursor));
        pair.realtime_ns += (uint64_t)ifg_unzigzag(ifg_cursor_varint(&cursor));
        if (cursor.failed)
            return IFG_CORRUPT;
        if (!add_pair(line, &pair))
            return IFG_NO_MEMORY;
    }
    return IFG_OK;
}

static int by_ticks(const void *left, const void *right)
{
    const struct trace_pair *a = left;
    const struct trace_pair *b = right;

    if (a->ticks != b->ticks)
        return a->ticks < b->ticks ? -1 : 1;
    if (a->monotonic_ns != b->monotonic_ns)
        return a->monotonic_ns < b->monotonic_ns ? -1 : 1;
    return 0;
}

/* Of pairs in the order of ticks, where nanoseconds fall: the most of them that agree. A reading
 * that was forged or went wrong is alone against the others. Of a clock that was set back without
 * telling it is one of the two parts, and the other is off by as much.
 *
 * The longest sequence that does not fall: `ends[k]` is the pair that one of k + 1 pairs ends with,
 * the lowest there is; `before` leads back from each. */
static size_t keep_agreeing(struct trace_pair *pairs, size_t count)
{
    size_t *ends = ifg_alloc(count, 2 * sizeof *ends);
    size_t *before = ends + count;
    size_t length = 0;
    size_t at;

    if (!ends)
        return 1; /* better one pair and the nominal rate than a clock that falls */
    for (size_t i = 0; i < count; i++) {
        size_t low = 0;
        size_t high = length;

        while (low < high) {
            size_t middle = low + (high - low) / 2;

            if (pairs[ends[middle]].monotonic_ns <= pairs[i].monotonic_ns)
                low = middle + 1;
            else
                high = middle;
        }
        before[i] = low ? ends[low - 1] : SIZE_MAX;
        ends[low] = i;
        if (low == length)
            length++;
    }
    at = ends[length - 1];
    for (size_t i = length; i--; at = before[at])
        ends[i] = at;
    for (size_t i = 0; i < length; i++)
        pairs[i] = pairs[ends[i]];
    ifg_free(ends);
    return length;
}

static void settle_line(struct trace_clock_line *line)
{
    struct trace_pair *pairs = line->pairs;
    bool falls = false;
    size_t kept = 0;

    if (line->count == 0)
        return;
    qsort(pairs, line->count, sizeof *pairs, by_ticks);
    for (size_t i = 0; i < line->count; i++) {
        if (kept && pairs[kept - 1].ticks == pairs[i].ticks) {
            line->contradictions += pairs[kept - 1].monotonic_ns != pairs[i].monotonic_ns;
            continue;
        }
        falls |= kept && pairs[i].monotonic_ns < pairs[kept - 1].monotonic_ns;
        pairs[kept++] = pairs[i];
    }
    line->count = falls ? keep_agreeing(pairs, kept) : kept;
    line->contradictions += kept - line->count;
}

void trace_clocks_finish(struct trace_clock_set *set, const struct trace_tables *tables)
{
    for (size_t i = 0; i < set->count; i++) {
        struct trace_clock_line *line = &set->lines[i];

        settle_line(line);
        atomic_store_explicit(&line->hint, 0, memory_order_relaxed);
        if (i < tables->clock_count)
            line->nominal_hz = tables->clocks[i].nominal_hz;
        if (line->nominal_hz == 0)
            line->nominal_hz = NS_PER_S;
    }
}

void trace_clocks_fini(struct trace_clock_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        ifg_free(set->lines[i].pairs);
    ifg_free(set->lines);
    memset(set, 0, sizeof *set);
}

/* distance * rise / run, rounded down; all that does not fit becomes the largest number. */
static uint64_t scale(uint64_t distance, uint64_t rise, uint64_t run)
{
    uint64_t product;
    unsigned __int128 wide;

    if (!__builtin_mul_overflow(distance, rise, &product))
        return product / run;
    wide = (unsigned __int128)distance * rise / run;
    return wide > UINT64_MAX ? UINT64_MAX : (uint64_t)wide;
}

static uint64_t add_clamped(uint64_t value, uint64_t more)
{
    return value > UINT64_MAX - more ? UINT64_MAX : value + more;
}

static uint64_t subtract_clamped(uint64_t value, uint64_t less)
{
    return value < less ? 0 : value - less;
}

/* The line through `from` that rises by `rise` in `run` ticks, at ticks on either side of it. */
static uint64_t along(const struct trace_pair *from, uint64_t run, uint64_t rise, uint64_t ticks)
{
    if (ticks < from->ticks)
        return subtract_clamped(from->monotonic_ns, scale(from->ticks - ticks, rise, run));
    return add_clamped(from->monotonic_ns, scale(ticks - from->ticks, rise, run));
}

/* The interval [i, i + 1] that holds ticks, which lies between the first and the last pair. */
static size_t find_interval(struct trace_clock_line *line, uint64_t ticks)
{
    const struct trace_pair *pairs = line->pairs;
    size_t low = atomic_load_explicit(&line->hint, memory_order_relaxed);
    size_t high = line->count - 1;

    if (pairs[low].ticks <= ticks && ticks <= pairs[low + 1].ticks)
        return low;
    low = 0;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (pairs[middle].ticks <= ticks)
            low = middle;
        else
            high = middle;
    }
    atomic_store_explicit(&line->hint, low, memory_order_relaxed);
    return low;
}

uint64_t trace_clock_line_to_ns(struct trace_clock_line *line, uint64_t ticks)
{
    const struct trace_pair *first = line->pairs;
    const struct trace_pair *last;
    const struct trace_pair *from;

    if (line->count == 0)
        return ticks;
    last = first + line->count - 1;
    if (line->count == 1)
        return along(first, line->nominal_hz, NS_PER_S, ticks);
    if (ticks <= first->ticks || ticks >= last->ticks)
        return along(ticks <= first->ticks ? first : last, last->ticks - first->ticks,
                     last->monotonic_ns - first->monotonic_ns, ticks);
    from = first + find_interval(line, ticks);
    return along(from, from[1].ticks - from->ticks, from[1].monotonic_ns - from->monotonic_ns,
                 ticks);
}

uint64_t trace_clock_to_ns(const struct trace_reader *reader, uint32_t clock, uint64_t ticks)
{
    if (clock >= reader->clocks.count)
        return ticks;
    return trace_clock_line_to_ns(&reader->clocks.lines[clock], ticks);
}

/* One straight piece of a clock's line, with its division turned into a multiplication: for
 * columns. */
struct clock_piece {
    uint64_t low; /* ticks low .. high are on it */
    uint64_t high;
    uint64_t low_ns;
    uint64_t slope; /* rise / run * 2^63, rounded up */
};

/* The piece that holds ticks; false where the general way has to be taken: outside the pairs, and
 * on pieces too long for the arithmetic.
 *
 * distance * slope / 2^63 is too large by less than distance / 2^63 < 2^-32, while a quotient by
 * run is at least 1 / run > 2^-31 below the next whole number: so rounding down gives the exact
 * result. */
static bool find_piece(struct trace_clock_line *line, uint64_t ticks, struct clock_piece *out)
{
    const struct trace_pair *from;
    uint64_t rise;
    uint64_t run;

    if (line->count < 2 || ticks <= line->pairs[0].ticks ||
        ticks >= line->pairs[line->count - 1].ticks)
        return false;
    from = line->pairs + find_interval(line, ticks);
    rise = from[1].monotonic_ns - from->monotonic_ns;
    run = from[1].ticks - from->ticks;
    if (!run || run >> 31 || rise / 2 >= run)
        return false;
    out->low = from->ticks;
    out->high = from[1].ticks;
    out->low_ns = from->monotonic_ns;
    out->slope = (uint64_t)((((unsigned __int128)rise << 63) + run - 1) / run);
    return true;
}

/* The loop, with and without something to add: inlined into both. */
static inline __attribute__((always_inline)) void
convert(struct trace_clock_line *line, uint64_t *times, const uint64_t *add, size_t count)
{
    struct clock_piece piece = { .low = 1, .high = 0 };

    for (size_t i = 0; i < count; i++) {
        uint64_t ticks = times[i] + (add ? add[i] : 0);

        if (__builtin_expect(ticks < piece.low || ticks > piece.high, 0) &&
            !find_piece(line, ticks, &piece)) {
            piece.low = 1;
            piece.high = 0;
            times[i] = trace_clock_line_to_ns(line, ticks);
            continue;
        }
        times[i] =
            piece.low_ns + (uint64_t)(((unsigned __int128)(ticks - piece.low) * piece.slope) >> 63);
    }
}

void trace_clock_convert(const struct trace_reader *reader, uint32_t clock, uint64_t *times,
                         size_t count)
{
    if (clock < reader->clocks.count && reader->clocks.lines[clock].count)
        convert(&reader->clocks.lines[clock], times, NULL, count);
}

void trace_clock_convert_sums(const struct trace_reader *reader, uint32_t clock, uint64_t *times,
                              const uint64_t *add, size_t count)
{
    if (clock < reader->clocks.count && reader->clocks.lines[clock].count)
        convert(&reader->clocks.lines[clock], times, add, count);
    else
        for (size_t i = 0; i < count; i++)
            times[i] += add[i];
}

const char *trace_clock_kind_name(enum trace_clock_kind kind)
{
    static const char *const names[TRACE_CLOCK_KINDS] = {
        [TRACE_CLOCK_TSC] = "tsc",
        [TRACE_CLOCK_MONOTONIC] = "monotonic",
        [TRACE_CLOCK_CNTVCT] = "cntvct",
        [TRACE_CLOCK_DEVICE] = "device",
    };

    return (unsigned)kind < TRACE_CLOCK_KINDS ? names[kind] : NULL;
}

struct trace_clock_rate trace_clock_rate(const struct trace_reader *reader, uint32_t clock)
{
    struct trace_clock_rate rate = { 0 };
    const struct trace_clock_line *line;

    if (clock >= reader->clocks.count || !reader->clocks.lines[clock].count)
        return rate;
    line = &reader->clocks.lines[clock];
    rate.pairs = line->count;
    rate.contradictions = line->contradictions;
    rate.begin_ns = line->pairs[0].monotonic_ns;
    rate.end_ns = line->pairs[line->count - 1].monotonic_ns;
    if (rate.end_ns > rate.begin_ns)
        rate.hz = (double)(line->pairs[line->count - 1].ticks - line->pairs[0].ticks) /
                  (double)(rate.end_ns - rate.begin_ns) * (double)NS_PER_S;
    return rate;
}

int64_t trace_realtime_offset_ns(const struct trace_reader *reader)
{
    for (size_t i = 0; i < reader->clocks.count; i++) {
        const struct trace_clock_line *line = &reader->clocks.lines[i];

        if (line->count)
            return (int64_t)(line->pairs[0].realtime_ns - line->pairs[0].monotonic_ns);
    }
    return 0;
}
