// SPDX-License-Identifier: Apache-2.0
/* Making a timeline from a trace, and the questions that need more than a look at a column. */
#include "timeline/timeline.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "timeline/timeline_internal.h"
#include "trace/keys.h"

#define WORKERS_MAX 64
#define HUGE_PAGE   ((size_t)2 << 20)

void *timeline_column_alloc(size_t count, size_t size)
{
    size_t bytes;
    void *column;

    if (__builtin_mul_overflow(count ? count : 1, size, &bytes))
        return NULL;
    if (bytes < HUGE_PAGE)
        return ifg_alloc(bytes, 1);
    if (!ifg_alloc_take(bytes))
        return NULL;
    column = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (column == MAP_FAILED) {
        ifg_alloc_give_back(bytes);
        return NULL;
    }
    madvise(column, bytes, MADV_HUGEPAGE);
    return column;
}

void timeline_column_free(void *column, size_t count, size_t size)
{
    size_t bytes = (count ? count : 1) * size;

    if (!column)
        return;
    if (bytes < HUGE_PAGE) {
        ifg_free(column);
    } else {
        munmap(column, bytes);
        ifg_alloc_give_back(bytes);
    }
}

static unsigned worker_count(const struct timeline_options *options)
{
    long wanted =
        options && options->threads ? (long)options->threads : sysconf(_SC_NPROCESSORS_ONLN);

    return wanted < 1 ? 1 : wanted > WORKERS_MAX ? WORKERS_MAX : (unsigned)wanted;
}

/* Samples are read later, but the trace begins and ends with them too. */
static void take_times_of_samples(struct timeline *timeline)
{
    for (size_t i = 0; i < trace_reader_block_count(timeline->reader); i++) {
        const struct trace_block *block = trace_reader_block(timeline->reader, i);

        if ((block->type != TRACE_BLOCK_SAMPLES && block->type != TRACE_BLOCK_SWITCHES) ||
            !block->count || block->t0 > block->t1)
            continue;
        if (block->t0 < timeline->begin_ns)
            timeline->begin_ns = block->t0;
        if (block->t1 > timeline->end_ns)
            timeline->end_ns = block->t1;
    }
}

uint64_t timeline_length_from_blocks_ns(const struct trace_reader *reader)
{
    const struct trace_tables *tables = trace_reader_tables(reader);
    uint64_t begin_ns = UINT64_MAX;
    uint64_t end_ns = 0;

    for (size_t i = 0; i < trace_reader_block_count(reader); i++) {
        const struct trace_block *block = trace_reader_block(reader, i);
        uint64_t t0 = block->t0;
        uint64_t t1 = block->t1;

        if (!block->count || t0 > t1)
            continue;
        if (block->type == TRACE_BLOCK_ZONES || block->type == TRACE_BLOCK_EVENTS) {
            uint32_t clock = trace_thread_clock(tables, block->stream);

            t0 = trace_clock_to_ns(reader, clock, t0);
            t1 = trace_clock_to_ns(reader, clock, t1);
        } else if (block->type != TRACE_BLOCK_SAMPLES && block->type != TRACE_BLOCK_SWITCHES) {
            continue;
        }
        begin_ns = t0 < begin_ns ? t0 : begin_ns;
        end_ns = t1 > end_ns ? t1 : end_ns;
    }
    return end_ns > begin_ns ? end_ns - begin_ns : 0;
}

/* The first time of any slice (the last is known from the blocks), and all that was lost. */
static void take_stock(struct timeline_builder *builder)
{
    struct timeline *timeline = &builder->timeline;

    take_times_of_samples(timeline);

    for (size_t t = 0; t < timeline->thread_count; t++) {
        const struct timeline_thread *thread = &timeline->threads[t];

        timeline->dropped += thread->dropped;
        if (thread->slice_count && timeline->start_ns[thread->first_slice] < timeline->begin_ns)
            timeline->begin_ns = timeline->start_ns[thread->first_slice];
    }
    for (size_t i = 0; i < builder->tables->loss_count; i++)
        if (strncmp(builder->tables->losses[i].what, "events", 6) == 0)
            timeline->dropped += builder->tables->losses[i].count;
}

enum ifg_status timeline_create(const struct trace_reader *reader,
                                const struct timeline_options *options,
                                const struct timeline **out_timeline, struct ifg_error *err)
{
    struct timeline_builder *builder = ifg_alloc(1, sizeof *builder);
    enum ifg_status status = IFG_NO_MEMORY;

    *out_timeline = NULL;
    if (builder) {
        builder->timeline.reader = reader;
        builder->profile_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
        builder->timeline.begin_ns = UINT64_MAX; /* until something is known */
        builder->timeline.realtime_offset_ns = trace_realtime_offset_ns(reader);
        builder->tables = trace_reader_tables(reader);
        builder->workers = worker_count(options);
        status = timeline_build_tables(builder);
        if (!status)
            status = timeline_build_slices(builder);
        if (!status) {
            take_stock(builder);
            status = timeline_build_events(builder);
            if (builder->timeline.begin_ns == UINT64_MAX)
                builder->timeline.begin_ns = builder->timeline.end_ns; /* nothing happened */
        }
    }
    if (status) {
        ifg_fail_no_memory(err, "to load %s (%zu slices)", trace_reader_name(reader),
                           builder ? builder->column_slots : 0);
        timeline_destroy(builder ? &builder->timeline : NULL);
        return status;
    }
    *out_timeline = &builder->timeline;
    return IFG_OK;
}

void timeline_destroy(const struct timeline *timeline)
{
    struct timeline_builder *builder = (struct timeline_builder *)(uintptr_t)timeline;

    if (!builder)
        return;
    timeline_column_free(builder->start_ns, builder->column_slots, sizeof *builder->start_ns);
    timeline_column_free(builder->duration_ns, builder->column_slots, sizeof *builder->duration_ns);
    timeline_column_free(builder->location, builder->column_slots, sizeof *builder->location);
    timeline_column_free(builder->depth, builder->column_slots, sizeof *builder->depth);
    for (size_t i = 0; builder->maps && i < builder->tables->process_count; i++)
        ifg_free(builder->maps[i].by_id);
    ifg_free(builder->maps);
    ifg_free(builder->threads);
    ifg_free(builder->functions);
    ifg_free((void *)(uintptr_t)timeline->processes);
    ifg_free((void *)(uintptr_t)timeline->models);
    ifg_free((void *)(uintptr_t)timeline->locations);
    ifg_free((void *)(uintptr_t)timeline->longs);
    ifg_free((void *)(uintptr_t)timeline->unfinished);
    ifg_free((void *)(uintptr_t)timeline->messages);
    ifg_free((void *)(uintptr_t)timeline->counters);
    ifg_free((void *)(uintptr_t)timeline->asyncs);
    ifg_free((void *)(uintptr_t)timeline->allocations);
    ifg_free((void *)(uintptr_t)timeline->frames);
    ifg_free((void *)(uintptr_t)timeline->attributes);
    ifg_free((void *)(uintptr_t)timeline->flow_points);
    ifg_free((void *)(uintptr_t)timeline->arrows);
    ifg_free((void *)(uintptr_t)timeline->flow_by_slice);
    ifg_strings_fini(&builder->strings);
    timeline_heap_destroy(builder->heap);
    timeline_inputs_destroy(builder->inputs);
    timeline_devices_destroy(builder->devices);
    timeline_profile_destroy(builder->profile);
    pthread_mutex_destroy(&builder->profile_lock);
    ifg_free(builder);
}

uint64_t timeline_long_duration(const struct timeline *timeline, size_t slice)
{
    size_t low = 0;
    size_t high = timeline->long_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (timeline->longs[middle].slice < slice)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < timeline->long_count && timeline->longs[low].slice == slice)
        return timeline->longs[low].duration_ns;
    return UINT32_MAX; /* exactly that long */
}

bool timeline_is_unfinished(const struct timeline *timeline, size_t slice)
{
    size_t low = 0;
    size_t high = timeline->unfinished_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (timeline->unfinished[middle] < slice)
            low = middle + 1;
        else
            high = middle;
    }
    return low < timeline->unfinished_count && timeline->unfinished[low] == slice;
}

uint32_t timeline_thread_of(const struct timeline *timeline, size_t slice)
{
    size_t low = 0;
    size_t high = timeline->thread_count;

    /* The last thread whose slices begin at or before this one; empty threads begin where the next
     * does. */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (timeline->threads[middle].first_slice <= slice)
            low = middle;
        else
            high = middle;
    }
    return (uint32_t)low;
}

size_t timeline_parent(const struct timeline *timeline, size_t slice)
{
    uint16_t depth = timeline->depth[slice];

    if (!depth)
        return SIZE_MAX;
    for (size_t i = slice; i-- > 0;)
        if (timeline->depth[i] < depth)
            return i;
    return SIZE_MAX;
}

size_t timeline_attributes_of(const struct timeline *timeline, size_t slice,
                              const struct timeline_attribute **out_first)
{
    size_t low = 0;
    size_t high = timeline->attribute_count;
    size_t count = 0;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (timeline->attributes[middle].slice < slice)
            low = middle + 1;
        else
            high = middle;
    }
    *out_first = timeline->attributes ? timeline->attributes + low : NULL;
    while (low + count < timeline->attribute_count &&
           timeline->attributes[low + count].slice == slice)
        count++;
    return count;
}

const struct timeline_attribute *timeline_find_attribute(const struct timeline *timeline,
                                                         size_t slice, const char *key)
{
    const struct timeline_attribute *first;
    size_t count = timeline_attributes_of(timeline, slice, &first);

    for (size_t i = 0; i < count; i++)
        if (strcmp(first[i].key, key) == 0)
            return &first[i];
    return NULL;
}

const char *timeline_slice_name(const struct timeline *timeline, size_t slice)
{
    if (timeline->attribute_count) {
        const struct timeline_attribute *name =
            timeline_find_attribute(timeline, slice, TRACE_KEY_NAME);

        if (name && name->type == TRACE_VALUE_STRING)
            return name->text;
    }
    return timeline->locations[timeline->location[slice]].name;
}

const char *timeline_category_name(enum trace_category category)
{
    static const char *const names[TRACE_CATEGORIES] = {
        "", "prepare-ep", "specialization", "load", "setup", "inference",
    };

    return (unsigned)category < TRACE_CATEGORIES ? names[category] : "";
}

const char *timeline_kind_name(enum trace_location_kind kind)
{
    static const char *const names[] = { "",     "zone",  "ml",    "op",   "stage",  "counter",
                                         "pool", "frame", "async", "flow", "device", "driver" };

    return (unsigned)kind < sizeof names / sizeof names[0] ? names[kind] : "";
}
