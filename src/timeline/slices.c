// SPDX-License-Identifier: Apache-2.0
/*
 * From zones blocks to the slice columns.
 *
 * A block holds zones in the order of their ends. Workers decode blocks side by side, turn each
 * into the order of starts, and put it where the sum of the counts before it says. Zones that began
 * before the block did ("early" ones: the parents that a block boundary cut) are few; they are kept
 * aside, and one pass from right to left inserts them where they belong. Then depths follow from
 * times. "Late" zones were written when others around them had long been (operators that a runtime
 * tells of when it is through with all of them); they go the same way, and their threads are walked
 * through once more for the depths. So are threads whose zones overlap (slice_order.c).
 */
#include "timeline/timeline_internal.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"

/* Room for zones that had not ended, per thread. A recorder shows at most 240. */
#define UNFINISHED_MAX 256u

/* A zone that does not lie where its block lies, or that is too long for the column. */
struct loose_slice {
    uint64_t start_ns;
    uint64_t duration_ns;
    uint32_t location;
    uint32_t thread;
    size_t block; /* position in the list of blocks; later ones end later */
    size_t slice; /* where it was put */
    bool unfinished;
    bool late; /* it had ended before what earlier blocks of its thread tell of */
};

struct loose_list {
    struct loose_slice *items;
    size_t count;
    size_t capacity;
};

/* One zones block of the trace and its part of the columns. */
struct slice_block {
    size_t block; /* number in the reader */
    uint32_t thread;
    uint64_t earlier_end; /* ticks at which everything before it on the thread had ended */
    size_t first;         /* its slots in the columns: first .. first + count */
    size_t count;
    size_t kept;   /* slots in use, at the right end; the rest are holes */
    bool overlaps; /* some of its zones overlap others without lying inside them */
    bool has_open;
    struct loose_slice *open; /* zones that were open when the block was written */
    size_t open_count;
};

struct slice_work {
    struct timeline_builder *builder;
    struct slice_block *blocks;
    size_t block_count;
    size_t *first_block; /* per thread, and one more */
    atomic_size_t next;
    atomic_bool out_of_memory;
    atomic_ullong undecoded;
};

struct worker {
    pthread_t thread;
    struct slice_work *work;
    struct loose_list early;
    struct loose_list longs;
    struct trace_zones zones;
    uint32_t *bounds; /* scratch, as large as the largest block */
    size_t scratch;
};

static bool loose_add(struct loose_list *list, const struct loose_slice *slice)
{
    if (!IFG_ARRAY_ROOM(list->items, list->capacity, list->count + 1, IFG_ARRAY_ANY))
        return false;
    list->items[list->count++] = *slice;
    return true;
}

static bool reserve_scratch(struct worker *worker, size_t count)
{
    if (count <= worker->scratch)
        return true;
    ifg_free(worker->bounds);
    worker->bounds = ifg_alloc(count, sizeof *worker->bounds);
    worker->scratch = worker->bounds ? count : 0;
    return worker->bounds != NULL;
}

/* Moves early zones out of the decoded arrays; returns how many stay. durations hold ends (ns). */
static size_t set_early_aside(struct worker *worker, const struct slice_block *block,
                              uint64_t earlier_ns, uint32_t process)
{
    struct trace_zones *zones = &worker->zones;
    size_t kept = 0;

    while (kept < zones->count && zones->starts[kept] >= earlier_ns)
        kept++;
    for (size_t i = kept; i < zones->count; i++) {
        if (__builtin_expect(zones->starts[i] < earlier_ns, 0)) {
            struct loose_slice slice = {
                .start_ns = zones->starts[i],
                .duration_ns = zones->durations[i] - zones->starts[i],
                .location =
                    timeline_builder_location(worker->work->builder, process, zones->locations[i]),
                .thread = block->thread,
                .block = (size_t)(block - worker->work->blocks),
                .late = zones->durations[i] <= earlier_ns,
            };

            if (!loose_add(&worker->early, &slice))
                atomic_store(&worker->work->out_of_memory, true);
            continue;
        }
        zones->starts[kept] = zones->starts[i];
        zones->durations[kept] = zones->durations[i];
        zones->locations[kept] = zones->locations[i];
        zones->inside[kept] = zones->inside[i];
        kept++;
    }
    return kept;
}

/* Puts zones in the order of their starts: a zone's place in that order is its place in the order
 * of ends, plus the zones around it, minus the zones inside it. False where that may not be the
 * order: some begin before the last one that is not inside them had ended. */
static bool scatter(struct worker *worker, const struct slice_block *block, size_t count,
                    uint32_t process)
{
    struct timeline_builder *builder = worker->work->builder;
    const struct trace_zones *zones = &worker->zones;
    size_t base = block->first + (block->count - count);
    uint32_t *bounds = worker->bounds; /* the first zone inside each zone around this one */
    size_t depth = 0;
    bool nested = true;
    const struct location_map *map = &builder->maps[process];

    for (size_t i = count; i-- > 0;) {
        uint32_t id = zones->locations[i];
        uint32_t location = __builtin_expect(id < map->limit, 1)
                                ? map->by_id[id]
                                : timeline_builder_location(builder, process, id);
        uint32_t inside = zones->inside[i];
        uint64_t duration = zones->durations[i] - zones->starts[i];
        size_t depth_here;
        size_t to;

        if (__builtin_expect((int64_t)duration < 0, 0))
            duration = 0; /* only the clock of a damaged file runs backwards */

        while (depth && i < bounds[depth - 1])
            depth--;
        if (__builtin_expect(inside > i, 0))
            inside =
                (uint32_t)i; /* only where a damaged file has parents that begin after children */
        nested &= inside == i || zones->durations[i - inside - 1] <= zones->starts[i];
        to = base + i + depth - inside;
        if (__builtin_expect(to - base >= count, 0))
            to = base + i; /* likewise */
        depth_here = depth;
        if (inside)
            bounds[depth++] = (uint32_t)i - inside;
        builder->start_ns[to] = zones->starts[i];
        builder->duration_ns[to] = duration < UINT32_MAX ? (uint32_t)duration : UINT32_MAX;
        builder->location[to] = location;
        builder->depth[to] = (uint16_t)(depth_here < UINT16_MAX ? depth_here : UINT16_MAX);
        if (__builtin_expect(duration >= UINT32_MAX, 0)) {
            struct loose_slice slice = {
                .start_ns = zones->starts[i],
                .duration_ns = duration,
                .location = location,
                .thread = block->thread,
            };

            if (!loose_add(&worker->longs, &slice))
                atomic_store(&worker->work->out_of_memory, true);
        }
    }
    return nested;
}

/* Keeps what a block says of zones that were open then; only the last such block of a thread
 * counts. */
static bool note_open(struct worker *worker, struct slice_block *block, uint32_t clock)
{
    const struct timeline_builder *builder = worker->work->builder;
    const struct trace_zones *zones = &worker->zones;
    uint64_t seen = trace_clock_to_ns(builder->timeline.reader, clock, zones->open_as_of);
    size_t count = zones->open_count < UNFINISHED_MAX ? zones->open_count : UNFINISHED_MAX;

    block->has_open = true;
    if (!count)
        return true;
    block->open = ifg_alloc(count, sizeof *block->open);
    if (!block->open)
        return false;
    for (size_t i = 0; i < count; i++) {
        uint64_t start = trace_clock_to_ns(builder->timeline.reader, clock, zones->open_starts[i]);

        block->open[i] = (struct loose_slice){
            .start_ns = start,
            .duration_ns = seen > start ? seen - start : 0,
            .location = timeline_builder_location(builder, builder->threads[block->thread].process,
                                                  zones->open_locations[i]),
            .thread = block->thread,
            .block = SIZE_MAX,
            .unfinished = true,
        };
    }
    block->open_count = count;
    return true;
}

static void take_block(struct worker *worker, struct slice_block *block)
{
    struct slice_work *work = worker->work;
    struct timeline_builder *builder = work->builder;
    struct trace_zones *zones = &worker->zones;
    uint32_t process = builder->threads[block->thread].process;
    uint32_t clock = timeline_builder_clock(builder, block->thread);
    uint64_t earlier_ns = block->earlier_end;
    enum ifg_status status =
        trace_decode_zones(builder->timeline.reader, block->block, zones, NULL);

    if (status == IFG_OK && (!reserve_scratch(worker, zones->count) ||
                             (zones->has_open && !note_open(worker, block, clock))))
        status = IFG_NO_MEMORY;
    if (status) {
        if (status == IFG_NO_MEMORY)
            atomic_store(&work->out_of_memory, true);
        else
            atomic_fetch_add(&work->undecoded, 1);
        return;
    }
    if (zones->count > block->count)
        zones->count = block->count; /* the index and the block disagree: a damaged file */
    trace_clock_convert_sums(builder->timeline.reader, clock, zones->durations, zones->starts,
                             zones->count);
    trace_clock_convert(builder->timeline.reader, clock, zones->starts, zones->count);
    if (earlier_ns)
        trace_clock_convert(builder->timeline.reader, clock, &earlier_ns, 1);
    block->kept = set_early_aside(worker, block, earlier_ns, process);
    block->overlaps = !scatter(worker, block, block->kept, process);
    if (block->overlaps &&
        !timeline_order_slices(builder, block->first + (block->count - block->kept),
                               block->first + block->count))
        atomic_store(&work->out_of_memory, true);
}

static void *work_on_blocks(void *argument)
{
    struct worker *worker = argument;
    struct slice_work *work = worker->work;
    size_t i;

    while (!atomic_load(&work->out_of_memory) &&
           (i = atomic_fetch_add(&work->next, 1)) < work->block_count)
        take_block(worker, &work->blocks[i]);
    return NULL;
}

static int by_thread(const void *a, const void *b)
{
    const struct slice_block *left = a;
    const struct slice_block *right = b;

    if (left->thread != right->thread)
        return left->thread < right->thread ? -1 : 1;
    return left->block < right->block ? -1 : left->block > right->block;
}

/* Lists the zones blocks thread by thread, in the order in which they were written. */
static enum ifg_status list_blocks(struct slice_work *work)
{
    const struct timeline_builder *builder = work->builder;
    size_t total = trace_reader_block_count(builder->timeline.reader);
    size_t threads = builder->timeline.thread_count;
    size_t at = 0;

    work->blocks = ifg_alloc(total, sizeof *work->blocks);
    work->first_block = ifg_alloc(threads + 1, sizeof *work->first_block);
    if (!work->blocks || !work->first_block)
        return IFG_NO_MEMORY;
    for (size_t i = 0; i < total; i++) {
        const struct trace_block *block = trace_reader_block(builder->timeline.reader, i);

        if (block->type != TRACE_BLOCK_ZONES || block->stream >= threads)
            continue;
        if (block->dropped > builder->threads[block->stream].dropped)
            builder->threads[block->stream].dropped = block->dropped;
        work->blocks[work->block_count++] =
            (struct slice_block){ .block = i, .thread = block->stream, .count = block->count };
    }
    qsort(work->blocks, work->block_count, sizeof *work->blocks, by_thread);
    for (uint32_t t = 0; t < threads; t++) {
        uint64_t end = 0;

        work->first_block[t] = at;
        for (; at < work->block_count && work->blocks[at].thread == t; at++) {
            const struct trace_block *block =
                trace_reader_block(builder->timeline.reader, work->blocks[at].block);

            work->blocks[at].earlier_end = end;
            if (block->count && block->t1 > end)
                end = block->t1;
        }
        if (end) {
            uint64_t end_ns = trace_clock_to_ns(builder->timeline.reader,
                                                timeline_builder_clock(builder, t), end);

            if (end_ns > work->builder->timeline.end_ns)
                work->builder->timeline.end_ns = end_ns;
        }
    }
    work->first_block[threads] = at;
    return IFG_OK;
}

/* ---- what had not ended ---- */

/* The open zones that the last block of each thread tells of; they end the thread's part of the
 * columns. */
static enum ifg_status collect_unfinished(struct slice_work *work, struct loose_list *list,
                                          size_t *region_ends)
{
    size_t before = 0;

    for (uint32_t t = 0; t < work->builder->timeline.thread_count; t++) {
        size_t i = work->first_block[t + 1];

        while (i-- > work->first_block[t]) {
            const struct slice_block *block = &work->blocks[i];

            if (!block->has_open)
                continue;
            for (size_t k = 0; k < block->open_count; k++)
                if (!loose_add(list, &block->open[k]))
                    return IFG_NO_MEMORY;
            before += block->open_count;
            break;
        }
        region_ends[t] += before;
    }
    return IFG_OK;
}

/* ---- putting the parts together ---- */

static int by_thread_and_start(const void *a, const void *b)
{
    const struct loose_slice *left = a;
    const struct loose_slice *right = b;

    if (left->thread != right->thread)
        return left->thread < right->thread ? -1 : 1;
    if (left->start_ns != right->start_ns)
        return left->start_ns < right->start_ns ? -1 : 1;
    /* The longer one is the outer one. */
    if (left->duration_ns != right->duration_ns)
        return left->duration_ns > right->duration_ns ? -1 : 1;
    return left->block > right->block ? -1 : left->block < right->block;
}

static void move_slices(struct timeline_builder *builder, size_t from, size_t to, size_t count)
{
    if (from == to || !count)
        return;
    memmove(builder->start_ns + to, builder->start_ns + from, count * sizeof *builder->start_ns);
    memmove(builder->duration_ns + to, builder->duration_ns + from,
            count * sizeof *builder->duration_ns);
    memmove(builder->location + to, builder->location + from, count * sizeof *builder->location);
    memmove(builder->depth + to, builder->depth + from, count * sizeof *builder->depth);
}

static size_t lower_bound(const uint64_t *starts, size_t low, size_t high, uint64_t wanted)
{
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (starts[middle] < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Where a loose slice goes: before all that begin with it or after it, except that a late one is
 * no parent of what has been there. */
static size_t find_location(const struct timeline_builder *builder, const struct loose_slice *slice,
                            size_t low, size_t high)
{
    size_t at = lower_bound(builder->start_ns, low, high, slice->start_ns);

    if (!slice->late || at == high || builder->start_ns[at] != slice->start_ns)
        return at;
    /* Those that begin with it, the longest first. */
    high = slice->start_ns < UINT64_MAX
               ? lower_bound(builder->start_ns, at, high, slice->start_ns + 1)
               : high;
    while (at < high) {
        size_t middle = at + (high - at) / 2;
        uint32_t duration = builder->duration_ns[middle];

        if (duration >= slice->duration_ns || duration == UINT32_MAX)
            at = middle + 1;
        else
            high = middle;
    }
    return at;
}

static void put_slice(struct timeline_builder *builder, size_t at, struct loose_slice *slice)
{
    slice->slice = at;
    builder->start_ns[at] = slice->start_ns;
    builder->duration_ns[at] =
        slice->duration_ns < UINT32_MAX ? (uint32_t)slice->duration_ns : UINT32_MAX;
    builder->location[at] = slice->location;
    builder->depth[at] = 0;
}

/* One thread, from right to left: blocks slide into the holes, loose slices go in between.
 * Everything only ever moves to the right, so nothing is overwritten before it is read. */
static void merge_thread(struct slice_work *work, uint32_t t, struct loose_slice *loose,
                         size_t loose_count, size_t region_end)
{
    struct timeline_builder *builder = work->builder;
    size_t to = region_end;

    for (size_t i = work->first_block[t + 1]; i-- > work->first_block[t];) {
        const struct slice_block *block = &work->blocks[i];
        size_t low = block->first + (block->count - block->kept);
        size_t high = block->first + block->count;

        while (loose_count && low < high &&
               (loose[loose_count - 1].start_ns > builder->start_ns[low] ||
                (loose[loose_count - 1].late &&
                 loose[loose_count - 1].start_ns == builder->start_ns[low]))) {
            size_t at = find_location(builder, &loose[loose_count - 1], low, high);

            to -= high - at;
            move_slices(builder, at, to, high - at);
            put_slice(builder, --to, &loose[--loose_count]);
            high = at;
        }
        to -= high - low;
        move_slices(builder, low, to, high - low);
    }
    while (loose_count)
        put_slice(builder, --to, &loose[--loose_count]);
    builder->threads[t].first_slice = to;
    builder->threads[t].slice_count = region_end - to;
}

/* Gives every block and every thread its slots: first a thread's blocks, then room for what had not
 * ended. (How many of a block's zones are early is not known yet; those leave holes that the merge
 * fills. Slots that are never touched cost nothing.) */
static enum ifg_status allocate_columns(struct slice_work *work, size_t *region_ends)
{
    struct timeline_builder *builder = work->builder;
    size_t spare = 0;
    size_t at = 0;

    for (uint32_t t = 0; t < builder->timeline.thread_count; t++) {
        for (size_t i = work->first_block[t]; i < work->first_block[t + 1]; i++) {
            work->blocks[i].first = at;
            at += work->blocks[i].count;
        }
        region_ends[t] = at;
        if (work->first_block[t + 1] > work->first_block[t])
            spare += UNFINISHED_MAX;
    }
    at += spare;
    builder->column_slots = at;
    builder->start_ns = timeline_column_alloc(at, sizeof *builder->start_ns);
    builder->duration_ns = timeline_column_alloc(at, sizeof *builder->duration_ns);
    builder->location = timeline_column_alloc(at, sizeof *builder->location);
    builder->depth = timeline_column_alloc(at, sizeof *builder->depth);
    if (!builder->start_ns || !builder->duration_ns || !builder->location || !builder->depth)
        return IFG_NO_MEMORY;
    return IFG_OK;
}

static enum ifg_status run_workers(struct slice_work *work, struct loose_list *loose,
                                   struct loose_list *longs)
{
    unsigned count = work->builder->workers;
    struct worker *workers = ifg_alloc(count, sizeof *workers);
    enum ifg_status status = IFG_OK;
    unsigned started = 1;

    if (!workers)
        return IFG_NO_MEMORY;
    for (unsigned i = 0; i < count; i++)
        workers[i].work = work;
    while (started < count &&
           pthread_create(&workers[started].thread, NULL, work_on_blocks, &workers[started]) == 0)
        started++;
    work_on_blocks(&workers[0]);
    for (unsigned i = 0; i < count; i++) {
        if (i && i < started)
            pthread_join(workers[i].thread, NULL);
        for (size_t k = 0; k < workers[i].early.count; k++)
            if (!loose_add(loose, &workers[i].early.items[k]))
                status = IFG_NO_MEMORY;
        for (size_t k = 0; k < workers[i].longs.count; k++)
            if (!loose_add(longs, &workers[i].longs.items[k]))
                status = IFG_NO_MEMORY;
        ifg_free(workers[i].early.items);
        ifg_free(workers[i].longs.items);
        ifg_free(workers[i].bounds);
        trace_zones_fini(&workers[i].zones);
    }
    ifg_free(workers);
    return atomic_load(&work->out_of_memory) ? IFG_NO_MEMORY : status;
}

/* The slice of a thread with this start, location and column value that is not taken yet. */
static size_t find_slice(const struct timeline_builder *builder, const struct loose_slice *wanted,
                         size_t not_before)
{
    const struct timeline_thread *thread = &builder->threads[wanted->thread];
    size_t end = thread->first_slice + thread->slice_count;
    uint32_t column = wanted->duration_ns < UINT32_MAX ? (uint32_t)wanted->duration_ns : UINT32_MAX;
    size_t at = lower_bound(builder->start_ns, thread->first_slice, end, wanted->start_ns);

    if (at < not_before)
        at = not_before;
    for (; at < end && builder->start_ns[at] == wanted->start_ns; at++)
        if (builder->location[at] == wanted->location && builder->duration_ns[at] == column)
            return at;
    return SIZE_MAX;
}

static enum ifg_status find_longs(struct timeline_builder *builder, struct loose_list *longs)
{
    struct timeline_long *found = ifg_alloc(longs->count, sizeof *found);
    size_t last = 0;

    if (!found)
        return IFG_NO_MEMORY;
    if (longs->count)
        qsort(longs->items, longs->count, sizeof *longs->items, by_thread_and_start);
    builder->timeline.longs = found;
    for (size_t i = 0; i < longs->count; i++) {
        size_t slice = find_slice(builder, &longs->items[i], last);

        if (slice == SIZE_MAX)
            continue;
        found[builder->timeline.long_count++] =
            (struct timeline_long){ slice, longs->items[i].duration_ns };
        last = slice + 1;
    }
    return IFG_OK;
}

static enum ifg_status find_unfinished(struct timeline_builder *builder,
                                       const struct loose_list *unfinished)
{
    size_t *found = ifg_alloc(unfinished->count, sizeof *found);
    size_t last = 0;

    if (!found)
        return IFG_NO_MEMORY;
    builder->timeline.unfinished = found;
    for (size_t i = 0; i < unfinished->count; i++) {
        size_t slice = find_slice(builder, &unfinished->items[i], last);

        if (slice == SIZE_MAX)
            continue;
        found[builder->timeline.unfinished_count++] = slice;
        last = slice + 1;
    }
    return IFG_OK;
}

/* ---- depths ---- */

/* Where the number of loose slices around changes. */
struct boundary {
    size_t slice; /* from this one on */
    int change;
};

static int by_boundary(const void *a, const void *b)
{
    const struct boundary *left = a;
    const struct boundary *right = b;

    return left->slice < right->slice ? -1 : left->slice > right->slice;
}

/* Depths within blocks are known from decoding; what the loose slices contain lies deeper by one
 * for each of them. */
static void deepen(struct timeline_builder *builder, const struct boundary *boundaries,
                   size_t count)
{
    unsigned around = 0;

    for (size_t i = 0; i < count; i++) {
        size_t end = i + 1 < count ? boundaries[i + 1].slice : boundaries[i].slice;

        around += (unsigned)boundaries[i].change;
        for (size_t k = boundaries[i].slice; around && k < end; k++) {
            unsigned depth = builder->depth[k] + around;

            builder->depth[k] = (uint16_t)(depth < UINT16_MAX ? depth : UINT16_MAX);
        }
    }
}

/* Of the loose slices of one thread; the number of boundaries is added to. */
static void note_boundaries(const struct timeline_builder *builder,
                            const struct loose_slice *slices, size_t count, struct boundary *out,
                            size_t *out_count)
{
    for (size_t i = 0; i < count; i++) {
        const struct loose_slice *slice = &slices[i];
        const struct timeline_thread *thread = &builder->threads[slice->thread];
        size_t end = lower_bound(builder->start_ns, slice->slice + 1,
                                 thread->first_slice + thread->slice_count,
                                 slice->start_ns + slice->duration_ns);

        out[(*out_count)++] = (struct boundary){ slice->slice + 1, 1 };
        out[(*out_count)++] = (struct boundary){ end, -1 };
    }
}

/* The threads whose depths cannot be put together from those of their blocks. */
static void mark_walked(const struct slice_work *work, const struct loose_list *loose, bool *walked)
{
    for (size_t i = 0; i < work->block_count; i++)
        walked[work->blocks[i].thread] |= work->blocks[i].overlaps;
    for (size_t i = 0; i < loose->count; i++)
        walked[loose->items[i].thread] |= loose->items[i].late;
}

/* loose is sorted by thread and start. */
static enum ifg_status find_depths(const struct slice_work *work, const struct loose_list *loose)
{
    struct timeline_builder *builder = work->builder;
    struct boundary *boundaries = ifg_alloc(2 * loose->count, sizeof *boundaries);
    bool *walked = ifg_alloc(builder->timeline.thread_count, sizeof *walked);
    enum ifg_status status = boundaries && walked ? IFG_OK : IFG_NO_MEMORY;
    size_t count = 0;
    size_t end;

    if (!status)
        mark_walked(work, loose, walked);
    for (size_t i = 0; i < loose->count && !status; i = end) {
        uint32_t thread = loose->items[i].thread;

        for (end = i; end < loose->count && loose->items[end].thread == thread;)
            end++;
        if (!walked[thread])
            note_boundaries(builder, &loose->items[i], end - i, boundaries, &count);
    }
    if (!status) {
        if (count)
            qsort(boundaries, count, sizeof *boundaries, by_boundary);
        deepen(builder, boundaries, count);
    }
    for (size_t t = 0; t < builder->timeline.thread_count && !status; t++)
        if (walked[t])
            status = timeline_walk_depths(builder, &builder->threads[t]);
    ifg_free(boundaries);
    ifg_free(walked);
    return status;
}

static void count_function_events(struct timeline_builder *builder)
{
    if (!builder->timeline.function_count)
        return;
    for (size_t t = 0; t < builder->timeline.thread_count; t++) {
        const struct timeline_thread *thread = &builder->threads[t];

        for (size_t i = thread->first_slice; i < thread->first_slice + thread->slice_count; i++) {
            const struct timeline_location *location =
                &builder->timeline.locations[builder->location[i]];

            if (__builtin_expect(location->function_index != TIMELINE_NONE, 0))
                builder->functions[location->function_index].events[location->category]++;
        }
    }
}

/* Blocks that could not be decoded leave holes at the left of their thread: close them, so that
 * slices are numbered without gaps. */
static void close_gaps(struct timeline_builder *builder, struct loose_list *loose)
{
    size_t to = 0;
    size_t at = 0;

    for (size_t t = 0; t < builder->timeline.thread_count; t++) {
        move_slices(builder, builder->threads[t].first_slice, to, builder->threads[t].slice_count);
        for (; at < loose->count && loose->items[at].thread == t; at++)
            loose->items[at].slice -= builder->threads[t].first_slice - to;
        builder->threads[t].first_slice = to;
        to += builder->threads[t].slice_count;
    }
    builder->timeline.slice_count = to;
}

static enum ifg_status put_together(struct slice_work *work, struct loose_list *loose,
                                    struct loose_list *longs, const struct loose_list *unfinished,
                                    const size_t *region_ends)
{
    struct timeline_builder *builder = work->builder;
    enum ifg_status status;
    size_t at;

    for (size_t i = 0; i < unfinished->count; i++) {
        const struct loose_slice *open = &unfinished->items[i];

        if (open->start_ns + open->duration_ns > builder->timeline.end_ns)
            builder->timeline.end_ns = open->start_ns + open->duration_ns;
        if (!loose_add(loose, open))
            return IFG_NO_MEMORY;
    }
    if (loose->count)
        qsort(loose->items, loose->count, sizeof *loose->items, by_thread_and_start);
    /* From the last thread to the first: each moves to the right, into slots that are free then. */
    at = loose->count;
    for (uint32_t t = (uint32_t)builder->timeline.thread_count; t-- > 0;) {
        size_t end = at;

        while (at > 0 && loose->items[at - 1].thread == t)
            at--;
        merge_thread(work, t, end > at ? &loose->items[at] : NULL, end - at, region_ends[t]);
    }
    close_gaps(builder, loose);
    for (size_t i = 0; i < loose->count; i++)
        if (loose->items[i].duration_ns >= UINT32_MAX && !loose_add(longs, &loose->items[i]))
            return IFG_NO_MEMORY;
    builder->timeline.start_ns = builder->start_ns;
    builder->timeline.duration_ns = builder->duration_ns;
    builder->timeline.location = builder->location;
    builder->timeline.depth = builder->depth;
    status = find_longs(builder, longs);
    if (!status)
        status = find_unfinished(builder, unfinished);
    if (!status)
        status = find_depths(work, loose);
    return status;
}

enum ifg_status timeline_build_slices(struct timeline_builder *builder)
{
    struct slice_work work = { .builder = builder };
    struct loose_list loose = { 0 };
    struct loose_list longs = { 0 };
    struct loose_list unfinished = { 0 };
    size_t *region_ends = ifg_alloc(builder->timeline.thread_count, sizeof *region_ends);
    enum ifg_status status = region_ends ? list_blocks(&work) : IFG_NO_MEMORY;

    if (!status)
        status = allocate_columns(&work, region_ends);
    if (!status)
        status = run_workers(&work, &loose, &longs);
    if (!status)
        status = collect_unfinished(&work, &unfinished, region_ends);
    if (!status && unfinished.count)
        qsort(unfinished.items, unfinished.count, sizeof *unfinished.items, by_thread_and_start);
    if (!status)
        status = put_together(&work, &loose, &longs, &unfinished, region_ends);
    if (!status) {
        builder->timeline.undecoded_blocks += atomic_load(&work.undecoded);
        count_function_events(builder);
    }
    ifg_free(loose.items);
    ifg_free(longs.items);
    ifg_free(unfinished.items);
    ifg_free(region_ends);
    for (size_t i = 0; i < work.block_count; i++)
        ifg_free(work.blocks[i].open);
    ifg_free(work.blocks);
    ifg_free(work.first_block);
    return status;
}
