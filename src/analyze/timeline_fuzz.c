// SPDX-License-Identifier: Apache-2.0
/*
 * A model, its statistics, its samples and its report, from whatever a trace file may say.
 *
 * Strategies:
 *   - the input is a trace file; the checksums of its header and of every block that can be found
 *     are made right first, so that mutations reach what is behind them
 *   - one decoding thread and several
 *   - everything that a timeline answers is asked for every slice
 *   - functions by samples with every kind of filter, and the code of the hottest ones
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/annotate.h"
#include "analyze/hot.h"
#include "analyze/report.h"
#include "analyze/stats.h"
#include "analyze/waiting.h"
#include "timeline/allocations.h"
#include "timeline/timeline.h"
#include "mended.h"

static void ask_everything(const struct timeline *timeline)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < timeline->slice_count; i++) {
        sum += timeline_end_ns(timeline, i) + timeline->depth[i] + timeline_parent(timeline, i);
        sum += timeline_is_unfinished(timeline, i) + timeline_thread_of(timeline, i);
        sum += (uint64_t)(unsigned char)timeline_slice_name(timeline, i)[0];
        if (timeline->location[i] >= timeline->location_count)
            abort();
    }
    for (size_t i = 0; i < timeline->attribute_count; i++)
        if (timeline->attributes[i].slice >= timeline->slice_count)
            abort();
    __asm__ volatile("" : : "r"(sum));
}

/* Numbers lead where they should, whatever the file says. */
static void check_profile(const struct timeline *timeline, const struct timeline_profile *profile)
{
    for (size_t i = 0; i < profile->sample_count; i++) {
        const struct timeline_sample *sample = &profile->samples[i];

        if (sample->thread >= profile->thread_count || sample->stack > profile->trace->node_count ||
            (sample->slice != SIZE_MAX && sample->slice >= timeline->slice_count) ||
            (sample->ml != TIMELINE_NONE && sample->ml >= timeline->location_count) ||
            (sample->op != TIMELINE_NONE && sample->op >= timeline->location_count))
            abort();
    }
    for (size_t i = 0; i < profile->state_count; i++)
        if (profile->states[i].end_ns < profile->states[i].start_ns ||
            profile->states[i].thread >= profile->thread_count)
            abort();
}

static void ask_allocations(const struct timeline *timeline)
{
    const struct timeline_allocations *heap;

    if (timeline_allocations_get(timeline, &heap, NULL) != IFG_OK || !heap)
        return;
    for (size_t i = 0; i < heap->count; i++) {
        const struct timeline_heap_allocation *one = &heap->items[i];

        if (one->freed_ns < one->ns || (i && one->ns < heap->items[i - 1].ns) ||
            (one->slice != SIZE_MAX && one->slice >= timeline->slice_count) ||
            (one->ml != TIMELINE_NONE && one->ml >= timeline->location_count) ||
            (one->op != TIMELINE_NONE && one->op >= timeline->location_count) ||
            (one->process != TIMELINE_NONE && one->process >= timeline->process_count) ||
            (one->thread != TIMELINE_NONE && one->thread >= timeline->thread_count))
            abort();
    }
}

static void ask_functions(const struct timeline *timeline, const struct hot_filter *filter)
{
    struct hot *hot;
    uint64_t self = 0;

    if (hot_create(timeline, filter, &hot, NULL) != IFG_OK)
        return;
    for (size_t i = 0; i < hot->row_count; i++) {
        struct annotation *annotation;

        self += hot->rows[i].self;
        if (hot->rows[i].total > hot->samples || hot->rows[i].self > hot->rows[i].total)
            abort();
        if (i < 4 && annotate_create(timeline, hot, i, &annotation, NULL) == IFG_OK)
            annotate_destroy(annotation);
    }
    if (self != hot->samples)
        abort();
    hot_destroy(hot);
}

static void ask_samples(const struct timeline *timeline)
{
    const struct timeline_profile *profile;
    struct waiting *waiting;

    if (timeline_profile_get(timeline, &profile, NULL) != IFG_OK || !profile)
        return;
    check_profile(timeline, profile);
    ask_functions(timeline, &(struct hot_filter){ 0 });
    ask_functions(timeline, &(struct hot_filter){ .model = "ocr", .thread = "5000" });
    ask_functions(timeline, &(struct hot_filter){ .op = "Conv", .zone = "inference" });
    if (waiting_create(timeline, &waiting, NULL) == IFG_OK)
        waiting_destroy(waiting);
}

static void ask_report(const struct timeline *timeline)
{
    struct report *report;
    char text[64];

    if (report_create(timeline, &report, NULL) != IFG_OK)
        return;
    for (size_t i = 0; i < report->model_count; i++) {
        const struct ml_model *model = &report->input->models[report->models[i]];

        report_placement(model, text, sizeof text);
        report_load_states(model, text, sizeof text);
    }
    for (size_t i = 0; i < report->findings->count; i++) {
        const struct finding *finding = &report->findings->items[i];

        for (size_t e = 0; e < finding->event_count && e < FINDING_EVENTS; e++)
            if (finding->events[e] >= timeline->slice_count)
                abort();
        if (!finding->title[0] || !finding->fix[0] || !finding->evidence[0])
            abort();
    }
    report_destroy(report);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *file = malloc(size ? size : 1);
    struct trace_reader *reader;

    if (!file)
        return 0;
    if (size)
        memcpy(file, data, size);
    mended_trace(file, size);
    if (trace_reader_open_memory(file, size, "fuzz", &reader, NULL) == IFG_OK) {
        for (unsigned threads = 1; threads <= 3; threads += 2) {
            struct timeline_options options = { .threads = threads };
            const struct timeline *timeline;

            if (timeline_create(reader, &options, &timeline, NULL) != IFG_OK)
                continue;
            ask_everything(timeline);
            for (int by = STATS_BY_ZONE; by <= STATS_BY_THREAD; by++) {
                struct stats_options wanted = { .by = (enum stats_by)by };
                struct stats *stats;

                if (stats_create(timeline, &wanted, &stats, NULL) == IFG_OK)
                    stats_destroy(stats);
            }
            ask_samples(timeline);
            ask_allocations(timeline);
            ask_report(timeline);
            timeline_destroy(timeline);
        }
        trace_reader_close(reader);
    }
    free(file);
    return 0;
}
