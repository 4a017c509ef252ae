// SPDX-License-Identifier: Apache-2.0
/* What is made of a whole trace on first use and kept: slices by location, and the report. */
#include "analyze/device_time.h"
#include "base/alloc.h"
#include "server/trace.h"

static struct location_index *make_index(const struct timeline *timeline)
{
    struct location_index *index = ifg_alloc(1, sizeof *index);
    size_t *next = ifg_alloc(timeline->location_count + 1, sizeof *next);
    size_t at = 0;

    if (!index || !next)
        goto fail;
    index->by_location = ifg_alloc(timeline->slice_count + 1, sizeof *index->by_location);
    index->first = ifg_alloc(timeline->location_count + 1, sizeof *index->first);
    index->sums = ifg_alloc(timeline->location_count + 1, sizeof *index->sums);
    if (!index->by_location || !index->first || !index->sums)
        goto fail;
    for (size_t i = 0; i < timeline->slice_count; i++) {
        struct location_sum *sum = &index->sums[timeline->location[i]];

        sum->count++;
        sum->total_ns += timeline_duration_ns(timeline, i);
    }
    for (size_t p = 0; p < timeline->location_count; p++) {
        index->first[p] = next[p] = at;
        at += index->sums[p].count;
    }
    index->first[timeline->location_count] = at;
    for (size_t i = 0; i < timeline->slice_count; i++)
        index->by_location[next[timeline->location[i]]++] = (uint32_t)i;
    for (size_t p = 0; p < timeline->location_count; p++)
        index->sums[p].first =
            index->sums[p].count ? index->by_location[index->first[p]] : LOCATION_SUM_NONE;
    for (size_t i = 0; i < timeline->async_count; i++) {
        const struct timeline_async *async = &timeline->asyncs[i];
        struct location_sum *sum = &index->sums[async->location];

        sum->count++;
        sum->total_ns += async->end_ns > async->start_ns ? async->end_ns - async->start_ns : 0;
        if (sum->first == LOCATION_SUM_NONE)
            sum->first = timeline->slice_count + i;
    }
    ifg_free(next);
    return index;
fail:
    if (index) {
        ifg_free(index->by_location);
        ifg_free(index->first);
        ifg_free(index->sums);
    }
    ifg_free(index);
    ifg_free(next);
    return NULL;
}

enum ifg_status trace_locations(struct server_trace *trace, const struct location_index **out_index,
                                struct ifg_error *err)
{
    pthread_mutex_lock(&trace->index_lock);
    if (!trace->index)
        trace->index = make_index(trace->timeline);
    *out_index = trace->index;
    pthread_mutex_unlock(&trace->index_lock);
    return *out_index ? IFG_OK : ifg_fail_no_memory(err, "for the index of locations");
}

const struct device_times *trace_device_times(struct server_trace *trace)
{
    pthread_mutex_lock(&trace->index_lock);
    if (!trace->device_times &&
        device_times_create(trace->timeline, &trace->device_times, NULL) != IFG_OK)
        trace->device_times = NULL;
    pthread_mutex_unlock(&trace->index_lock);
    return trace->device_times;
}

enum ifg_status trace_report(struct server_trace *trace, const struct report **out_report,
                             struct ifg_error *err)
{
    enum ifg_status status = IFG_OK;
    struct report *report;

    pthread_mutex_lock(&trace->report_lock);
    report = atomic_load(&trace->report);
    if (!report) {
        status = report_create(trace->timeline, &report, err);
        if (!status)
            atomic_store(&trace->report, report);
    }
    pthread_mutex_unlock(&trace->report_lock);
    *out_report = status ? NULL : report;
    return status;
}

const struct report *trace_report_if_ready(struct server_trace *trace)
{
    return atomic_load(&trace->report);
}
