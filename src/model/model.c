// SPDX-License-Identifier: Apache-2.0
/* Making a model from a trace, and the questions that need more than a look at a column. */
#include "model/model.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "model/model_internal.h"

#define WORKERS_MAX 64
#define HUGE_PAGE   ((size_t)2 << 20)

void *column_alloc(size_t count, size_t size)
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

void column_free(void *column, size_t count, size_t size)
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

static unsigned worker_count(const struct model_options *options)
{
    long wanted =
        options && options->threads ? (long)options->threads : sysconf(_SC_NPROCESSORS_ONLN);

    return wanted < 1 ? 1 : wanted > WORKERS_MAX ? WORKERS_MAX : (unsigned)wanted;
}

/* Samples are read later, but the trace begins and ends with them too. */
static void take_times_of_samples(struct model *model)
{
    for (size_t i = 0; i < trace_reader_block_count(model->reader); i++) {
        const struct trace_block *block = trace_reader_block(model->reader, i);

        if ((block->type != TRACE_BLOCK_SAMPLES && block->type != TRACE_BLOCK_SWITCHES) ||
            !block->count || block->t0 > block->t1)
            continue;
        if (block->t0 < model->begin_ns)
            model->begin_ns = block->t0;
        if (block->t1 > model->end_ns)
            model->end_ns = block->t1;
    }
}

uint64_t model_length_from_blocks_ns(const struct trace_reader *reader)
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
            uint32_t process = block->stream < tables->thread_count
                                   ? tables->threads[block->stream].process
                                   : UINT32_MAX;

            if (process >= tables->process_count)
                continue;
            t0 = trace_clock_to_ns(reader, tables->processes[process].clock, t0);
            t1 = trace_clock_to_ns(reader, tables->processes[process].clock, t1);
        } else if (block->type != TRACE_BLOCK_SAMPLES && block->type != TRACE_BLOCK_SWITCHES) {
            continue;
        }
        begin_ns = t0 < begin_ns ? t0 : begin_ns;
        end_ns = t1 > end_ns ? t1 : end_ns;
    }
    return end_ns > begin_ns ? end_ns - begin_ns : 0;
}

/* The first time of any slice (the last is known from the blocks), and all that was lost. */
static void take_stock(struct model_builder *builder)
{
    struct model *model = &builder->model;

    take_times_of_samples(model);

    for (size_t t = 0; t < model->thread_count; t++) {
        const struct model_thread *thread = &model->threads[t];

        model->dropped += thread->dropped;
        if (thread->slice_count && model->start_ns[thread->first_slice] < model->begin_ns)
            model->begin_ns = model->start_ns[thread->first_slice];
    }
    for (size_t i = 0; i < builder->tables->loss_count; i++)
        if (strncmp(builder->tables->losses[i].what, "events", 6) == 0)
            model->dropped += builder->tables->losses[i].count;
}

enum ifg_status model_create(const struct trace_reader *reader, const struct model_options *options,
                             const struct model **out_model, struct ifg_error *err)
{
    struct model_builder *builder = ifg_alloc(1, sizeof *builder);
    enum ifg_status status = IFG_NO_MEMORY;

    *out_model = NULL;
    if (builder) {
        builder->model.reader = reader;
        builder->profile_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
        builder->model.begin_ns = UINT64_MAX; /* until something is known */
        builder->model.realtime_offset_ns = trace_realtime_offset_ns(reader);
        builder->tables = trace_reader_tables(reader);
        builder->workers = worker_count(options);
        status = build_tables(builder);
        if (!status)
            status = build_slices(builder);
        if (!status) {
            take_stock(builder);
            status = build_events(builder);
            if (builder->model.begin_ns == UINT64_MAX)
                builder->model.begin_ns = builder->model.end_ns; /* nothing happened */
        }
    }
    if (status) {
        ifg_fail(err, status, "%s: not enough memory to load the trace (%zu slices)%s",
                 trace_reader_name(reader), builder ? builder->column_slots : 0, ifg_alloc_why());
        model_destroy(builder ? &builder->model : NULL);
        return status;
    }
    *out_model = &builder->model;
    return IFG_OK;
}

void model_destroy(const struct model *model)
{
    struct model_builder *builder = (struct model_builder *)(uintptr_t)model;

    if (!builder)
        return;
    column_free(builder->start_ns, builder->column_slots, sizeof *builder->start_ns);
    column_free(builder->duration_ns, builder->column_slots, sizeof *builder->duration_ns);
    column_free(builder->place, builder->column_slots, sizeof *builder->place);
    column_free(builder->depth, builder->column_slots, sizeof *builder->depth);
    for (size_t i = 0; builder->maps && i < builder->tables->process_count; i++)
        ifg_free(builder->maps[i].by_id);
    ifg_free(builder->maps);
    ifg_free(builder->threads);
    ifg_free(builder->functions);
    ifg_free((void *)(uintptr_t)model->processes);
    ifg_free((void *)(uintptr_t)model->nets);
    ifg_free((void *)(uintptr_t)model->places);
    ifg_free((void *)(uintptr_t)model->longs);
    ifg_free((void *)(uintptr_t)model->unfinished);
    ifg_free((void *)(uintptr_t)model->messages);
    ifg_free((void *)(uintptr_t)model->counters);
    ifg_free((void *)(uintptr_t)model->asyncs);
    ifg_free((void *)(uintptr_t)model->allocations);
    ifg_free((void *)(uintptr_t)model->frames);
    ifg_free((void *)(uintptr_t)model->attributes);
    ifg_free((void *)(uintptr_t)model->flow_points);
    ifg_free((void *)(uintptr_t)model->arrows);
    ifg_free((void *)(uintptr_t)model->flow_by_slice);
    string_pool_fini(&builder->strings);
    heap_destroy(builder->heap);
    profile_destroy(builder->profile);
    pthread_mutex_destroy(&builder->profile_lock);
    ifg_free(builder);
}

uint64_t model_long_duration(const struct model *model, size_t slice)
{
    size_t low = 0;
    size_t high = model->long_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (model->longs[middle].slice < slice)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < model->long_count && model->longs[low].slice == slice)
        return model->longs[low].duration_ns;
    return UINT32_MAX; /* exactly that long */
}

bool model_is_unfinished(const struct model *model, size_t slice)
{
    size_t low = 0;
    size_t high = model->unfinished_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (model->unfinished[middle] < slice)
            low = middle + 1;
        else
            high = middle;
    }
    return low < model->unfinished_count && model->unfinished[low] == slice;
}

uint32_t model_thread_of(const struct model *model, size_t slice)
{
    size_t low = 0;
    size_t high = model->thread_count;

    /* The last thread whose slices begin at or before this one; empty threads begin where the next
     * does. */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (model->threads[middle].first_slice <= slice)
            low = middle;
        else
            high = middle;
    }
    return (uint32_t)low;
}

size_t model_parent(const struct model *model, size_t slice)
{
    uint16_t depth = model->depth[slice];

    if (!depth)
        return SIZE_MAX;
    for (size_t i = slice; i-- > 0;)
        if (model->depth[i] < depth)
            return i;
    return SIZE_MAX;
}

size_t model_attributes_of(const struct model *model, size_t slice,
                           const struct model_attribute **out_first)
{
    size_t low = 0;
    size_t high = model->attribute_count;
    size_t count = 0;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (model->attributes[middle].slice < slice)
            low = middle + 1;
        else
            high = middle;
    }
    *out_first = model->attributes ? model->attributes + low : NULL;
    while (low + count < model->attribute_count && model->attributes[low + count].slice == slice)
        count++;
    return count;
}

const struct model_attribute *model_find_attribute(const struct model *model, size_t slice,
                                                   const char *key)
{
    const struct model_attribute *first;
    size_t count = model_attributes_of(model, slice, &first);

    for (size_t i = 0; i < count; i++)
        if (strcmp(first[i].key, key) == 0)
            return &first[i];
    return NULL;
}

const char *model_slice_name(const struct model *model, size_t slice)
{
    if (model->attribute_count) {
        const struct model_attribute *name = model_find_attribute(model, slice, "name");

        if (name && name->type == TRACE_VALUE_STRING)
            return name->text;
    }
    return model->places[model->place[slice]].name;
}

const char *model_category_name(enum trace_category category)
{
    static const char *const names[TRACE_CATEGORIES] = {
        "", "prepare-ep", "specialization", "load", "setup", "inference",
    };

    return (unsigned)category < TRACE_CATEGORIES ? names[category] : "";
}

const char *model_kind_name(enum trace_location_kind kind)
{
    static const char *const names[] = { "",        "zone", "ml",    "op",    "stage",
                                         "counter", "pool", "frame", "async", "flow" };

    return (unsigned)kind < sizeof names / sizeof names[0] ? names[kind] : "";
}
