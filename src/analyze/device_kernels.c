// SPDX-License-Identifier: Apache-2.0
/* Work of devices by name: see device_kernels.h. */
#include "analyze/device_kernels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/device_time.h"
#include "base/alloc.h"
#include "base/quantile.h"

struct gathering {
    const struct timeline *timeline;
    const struct timeline_devices *devices;
    const struct device_kernels_options *options;
    struct device_kernels *kernels;
    uint32_t *row_of; /* by location; TIMELINE_NONE: does not count */
    uint32_t *chosen; /* positions in works, by start at first, then row by row */
    size_t chosen_count;
    uint64_t *values;
};

static int compare_locations(const struct timeline *timeline, uint32_t a, uint32_t b)
{
    int order = strcmp(timeline->locations[a].name, timeline->locations[b].name);

    return order ? order : strcmp(timeline->locations[a].function, timeline->locations[b].function);
}

static int by_name(const void *a, const void *b, void *user)
{
    uint32_t left = *(const uint32_t *)a;
    uint32_t right = *(const uint32_t *)b;
    int order = compare_locations(user, left, right);

    return order ? order : left < right ? -1 : left > right;
}

static bool make_rows(struct gathering *gathering)
{
    const struct timeline *timeline = gathering->timeline;
    const struct device_kernels_options *options = gathering->options;
    uint32_t *order = ifg_alloc(timeline->location_count, sizeof *order);
    struct device_kernels *kernels = gathering->kernels;
    size_t count = 0;

    gathering->row_of = ifg_alloc(timeline->location_count, sizeof *gathering->row_of);
    if (!order || !gathering->row_of) {
        ifg_free(order);
        return false;
    }
    for (uint32_t i = 0; i < timeline->location_count; i++) {
        gathering->row_of[i] = TIMELINE_NONE;
        if (timeline->locations[i].kind == TRACE_LOCATION_DEVICE &&
            (!options->name_matches ||
             options->name_matches(timeline->locations[i].name, options->user)))
            order[count++] = i;
    }
    if (count)
        qsort_r(order, count, sizeof *order, by_name, (void *)(uintptr_t)timeline);
    kernels->rows = ifg_alloc(count, sizeof *kernels->rows);
    for (size_t i = 0; kernels->rows && i < count; i++) {
        if (!i || compare_locations(timeline, order[i - 1], order[i]) != 0)
            kernels->rows[kernels->row_count++] = (struct device_kernel){
                .name = timeline->locations[order[i]].name,
                .location = order[i],
                .longest = SIZE_MAX,
                .bytes = UINT64_MAX,
                .min_ns = UINT64_MAX,
            };
        gathering->row_of[order[i]] = (uint32_t)kernels->row_count - 1;
    }
    ifg_free(order);
    return kernels->rows != NULL;
}

static bool is_thread(const struct timeline *timeline, uint32_t thread, const char *wanted)
{
    char tid[16];

    snprintf(tid, sizeof tid, "%u", timeline->threads[thread].tid);
    return strcmp(timeline->threads[thread].name, wanted) == 0 || strcmp(tid, wanted) == 0;
}

static bool is_op(const struct timeline *timeline, const struct timeline_device_call *call,
                  const char *wanted)
{
    const struct timeline_location *location;

    if (!call || call->op == SIZE_MAX)
        return false;
    location = &timeline->locations[timeline->location[call->op]];
    return strcmp(location->name, wanted) == 0 || strcmp(location->function, wanted) == 0;
}

static bool counts(const struct gathering *gathering, const struct timeline_device_work *work)
{
    const struct device_kernels_options *options = gathering->options;
    const struct timeline *timeline = gathering->timeline;
    const struct timeline_device_call *call = timeline_call_of(gathering->devices, work);

    if (!device_is_busy_kind(work->kind) || gathering->row_of[work->location] == TIMELINE_NONE ||
        timeline_is_unfinished(timeline, work->slice) ||
        work->start_ns < timeline->begin_ns + options->from_ns ||
        (options->to_ns && work->start_ns >= timeline->begin_ns + options->to_ns))
        return false;
    if (options->model &&
        (!call || call->model == TIMELINE_NONE ||
         !timeline_model_is_called(&timeline->models[call->model], options->model)))
        return false;
    if (options->one_model && (!call || call->model == TIMELINE_NONE ||
                               &timeline->models[call->model] != options->one_model))
        return false;
    if (options->op && !is_op(timeline, call, options->op))
        return false;
    return !options->thread ||
           is_thread(timeline, gathering->devices->streams[work->stream].thread, options->thread) ||
           (call && is_thread(timeline, call->thread, options->thread));
}

static int by_row(const void *a, const void *b, void *user)
{
    const struct gathering *gathering = user;
    uint32_t left = *(const uint32_t *)a;
    uint32_t right = *(const uint32_t *)b;
    uint32_t left_row = gathering->row_of[gathering->devices->works[left].location];
    uint32_t right_row = gathering->row_of[gathering->devices->works[right].location];

    if (left_row != right_row)
        return left_row < right_row ? -1 : 1;
    return left < right ? -1 : left > right;
}

static int by_value(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a;
    uint64_t right = *(const uint64_t *)b;

    return left < right ? -1 : left > right;
}

/* The row of chosen[first .. end). */
static void fill_row(struct gathering *gathering, size_t first, size_t end)
{
    static const double wanted[STATS_PERCENTILES] = { 0.50, 0.90, 0.95, 0.99, 0.999 };
    const struct timeline_device_work *works = gathering->devices->works;
    struct device_kernel *row =
        &gathering->kernels->rows[gathering->row_of[works[gathering->chosen[first]].location]];
    uint64_t *values = gathering->values;
    size_t count = end - first;
    size_t queued = 0;
    double squares = 0;

    row->count = count;
    row->kind = works[gathering->chosen[first]].kind;
    for (size_t i = first; i < end; i++) {
        const struct timeline_device_work *work = &works[gathering->chosen[i]];
        const struct timeline_device_call *call = timeline_call_of(gathering->devices, work);

        if (call)
            values[queued++] = work->start_ns > call->end_ns ? work->start_ns - call->end_ns : 0;
    }
    row->queue_median_ns = queued ? ifg_median_u64(values, queued) : (double)NAN;
    for (size_t i = first; i < end; i++) {
        const struct timeline_device_work *work = &works[gathering->chosen[i]];

        values[i - first] = work->end_ns - work->start_ns;
        row->total_ns += values[i - first];
        if (row->longest == SIZE_MAX || values[i - first] > row->max_ns) {
            row->longest = work->slice;
            row->max_ns = values[i - first];
        }
        if (work->bytes != UINT64_MAX)
            row->bytes = (row->bytes == UINT64_MAX ? 0 : row->bytes) + work->bytes;
    }
    qsort(values, count, sizeof *values, by_value);
    row->min_ns = values[0];
    row->mean_ns = (double)row->total_ns / (double)count;
    for (size_t i = 0; i < count; i++)
        squares += ((double)values[i] - row->mean_ns) * ((double)values[i] - row->mean_ns);
    row->sd_ns = count > 1 ? sqrt(squares / (double)(count - 1)) : 0;
    for (int p = 0; p < STATS_PERCENTILES; p++)
        row->percentile_ns[p] =
            ifg_quantile_sorted_u64(values, count, wanted[p], gathering->options->percentile);
}

static int longest_first(const void *a, const void *b)
{
    const struct device_kernel *left = a;
    const struct device_kernel *right = b;

    if (left->total_ns != right->total_ns)
        return left->total_ns > right->total_ns ? -1 : 1;
    return strcmp(left->name, right->name);
}

/* chosen is still in the order of starts. */
static uint64_t busy_of(const struct gathering *gathering)
{
    const struct timeline_devices *devices = gathering->devices;
    uint64_t sum = 0;

    for (size_t s = 0; s < devices->stream_count; s++) {
        uint64_t until = 0;
        bool again = false;

        for (size_t before = 0; before < s && !again; before++)
            again = device_is_same(&devices->streams[before], &devices->streams[s]);
        for (size_t i = 0; i < gathering->chosen_count && !again; i++) {
            const struct timeline_device_work *work = &devices->works[gathering->chosen[i]];
            uint64_t from = work->start_ns > until ? work->start_ns : until;

            if (!device_is_same(&devices->streams[work->stream], &devices->streams[s]) ||
                work->end_ns <= from)
                continue;
            sum += work->end_ns - from;
            until = work->end_ns;
        }
    }
    return sum;
}

static void fill(struct gathering *gathering)
{
    struct device_kernels *kernels = gathering->kernels;
    const struct timeline_device_work *works = gathering->devices->works;
    size_t first = 0;
    size_t kept = 0;

    for (uint32_t i = 0; i < gathering->devices->work_count; i++)
        if (counts(gathering, &works[i]))
            gathering->chosen[gathering->chosen_count++] = i;
    kernels->busy_ns = busy_of(gathering);
    if (gathering->chosen_count)
        qsort_r(gathering->chosen, gathering->chosen_count, sizeof *gathering->chosen, by_row,
                gathering);
    for (size_t i = 1; i <= gathering->chosen_count; i++)
        if (i == gathering->chosen_count ||
            gathering->row_of[works[gathering->chosen[i]].location] !=
                gathering->row_of[works[gathering->chosen[first]].location]) {
            fill_row(gathering, first, i);
            first = i;
        }
    for (size_t i = 0; i < kernels->row_count; i++) {
        struct device_kernel *row = &kernels->rows[i];

        if (!row->count)
            continue;
        row->share =
            kernels->busy_ns ? (double)row->total_ns / (double)kernels->busy_ns : (double)NAN;
        kernels->rows[kept++] = *row;
    }
    kernels->row_count = kept;
    if (kept)
        qsort(kernels->rows, kept, sizeof *kernels->rows, longest_first);
}

enum ifg_status device_kernels_create(const struct timeline *timeline,
                                      const struct device_kernels_options *options,
                                      struct device_kernels **out_kernels, struct ifg_error *err)
{
    struct gathering gathering = { .timeline = timeline, .options = options };
    enum ifg_status status = timeline_devices_get(timeline, &gathering.devices, err);
    size_t most = status ? 0 : gathering.devices->work_count;

    *out_kernels = NULL;
    if (status)
        return status;
    gathering.kernels = ifg_alloc(1, sizeof *gathering.kernels);
    gathering.chosen = ifg_alloc(most, sizeof *gathering.chosen);
    gathering.values = ifg_alloc(most, sizeof *gathering.values);
    if (gathering.kernels && gathering.chosen && gathering.values && make_rows(&gathering)) {
        fill(&gathering);
        *out_kernels = gathering.kernels;
    } else {
        device_kernels_destroy(gathering.kernels);
        status = ifg_fail_no_memory(err, "for %zu pieces of work of devices", most);
    }
    ifg_free(gathering.row_of);
    ifg_free(gathering.chosen);
    ifg_free(gathering.values);
    return status;
}

void device_kernels_destroy(struct device_kernels *kernels)
{
    if (!kernels)
        return;
    ifg_free(kernels->rows);
    ifg_free(kernels);
}
