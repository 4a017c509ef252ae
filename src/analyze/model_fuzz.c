// SPDX-License-Identifier: Apache-2.0
/*
 * A model, its statistics, its samples and its report, from whatever a trace file may say.
 *
 * Strategies:
 *   - the input is a trace file; the checksums of its header and of every block that can be found
 *     are made right first, so that mutations reach what is behind them
 *   - one decoding thread and several
 *   - everything that a model answers is asked for every slice
 *   - functions by samples with every kind of filter, and the code of the hottest ones
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/annotate.h"
#include "analyze/hot.h"
#include "analyze/report.h"
#include "analyze/stats.h"
#include "analyze/waiting.h"
#include "model/allocations.h"
#include "model/model.h"
#include "mended.h"

static void ask_everything(const struct model *model)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < model->slice_count; i++) {
        sum += model_end_ns(model, i) + model->depth[i] + model_parent(model, i);
        sum += model_is_unfinished(model, i) + model_thread_of(model, i);
        sum += (uint64_t)(unsigned char)model_slice_name(model, i)[0];
        if (model->place[i] >= model->place_count)
            abort();
    }
    for (size_t i = 0; i < model->attribute_count; i++)
        if (model->attributes[i].slice >= model->slice_count)
            abort();
    __asm__ volatile("" : : "r"(sum));
}

/* Numbers lead where they should, whatever the file says. */
static void check_profile(const struct model *model, const struct model_profile *profile)
{
    for (size_t i = 0; i < profile->sample_count; i++) {
        const struct model_sample *sample = &profile->samples[i];

        if (sample->thread >= profile->thread_count || sample->stack > profile->trace->node_count ||
            (sample->slice != SIZE_MAX && sample->slice >= model->slice_count) ||
            (sample->ml != MODEL_NONE && sample->ml >= model->place_count) ||
            (sample->op != MODEL_NONE && sample->op >= model->place_count))
            abort();
    }
    for (size_t i = 0; i < profile->state_count; i++)
        if (profile->states[i].end_ns < profile->states[i].start_ns ||
            profile->states[i].thread >= profile->thread_count)
            abort();
}

static void ask_allocations(const struct model *model)
{
    const struct model_allocations *heap;

    if (model_allocations_get(model, &heap, NULL) != IFG_OK || !heap)
        return;
    for (size_t i = 0; i < heap->count; i++) {
        const struct model_heap_allocation *one = &heap->items[i];

        if (one->freed_ns < one->ns || (i && one->ns < heap->items[i - 1].ns) ||
            (one->slice != SIZE_MAX && one->slice >= model->slice_count) ||
            (one->ml != MODEL_NONE && one->ml >= model->place_count) ||
            (one->op != MODEL_NONE && one->op >= model->place_count) ||
            (one->process != MODEL_NONE && one->process >= model->process_count) ||
            (one->thread != MODEL_NONE && one->thread >= model->thread_count))
            abort();
    }
}

static void ask_functions(const struct model *model, const struct hot_filter *filter)
{
    struct hot *hot;
    uint64_t self = 0;

    if (hot_create(model, filter, &hot, NULL) != IFG_OK)
        return;
    for (size_t i = 0; i < hot->row_count; i++) {
        struct annotation *annotation;

        self += hot->rows[i].self;
        if (hot->rows[i].total > hot->samples || hot->rows[i].self > hot->rows[i].total)
            abort();
        if (i < 4 && annotation_create(model, hot, i, &annotation, NULL) == IFG_OK)
            annotation_destroy(annotation);
    }
    if (self != hot->samples)
        abort();
    hot_destroy(hot);
}

static void ask_samples(const struct model *model)
{
    const struct model_profile *profile;
    struct waiting *waiting;

    if (model_profile_get(model, &profile, NULL) != IFG_OK || !profile)
        return;
    check_profile(model, profile);
    ask_functions(model, &(struct hot_filter){ 0 });
    ask_functions(model, &(struct hot_filter){ .model = "ocr", .thread = "5000" });
    ask_functions(model, &(struct hot_filter){ .op = "Conv", .zone = "inference" });
    if (waiting_create(model, &waiting, NULL) == IFG_OK)
        waiting_destroy(waiting);
}

static void ask_report(const struct model *model)
{
    struct report *report;
    char text[64];

    if (report_create(model, &report, NULL) != IFG_OK)
        return;
    for (size_t i = 0; i < report->net_count; i++) {
        const struct ml_net *net = &report->input->nets[report->nets[i]];

        report_placement(net, text, sizeof text);
        report_load_states(net, text, sizeof text);
    }
    for (size_t i = 0; i < report->findings->count; i++) {
        const struct finding *finding = &report->findings->items[i];

        for (size_t e = 0; e < finding->event_count && e < FINDING_EVENTS; e++)
            if (finding->events[e] >= model->slice_count)
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
            struct model_options options = { .threads = threads };
            const struct model *model;

            if (model_create(reader, &options, &model, NULL) != IFG_OK)
                continue;
            ask_everything(model);
            for (int by = STATS_BY_ZONE; by <= STATS_BY_THREAD; by++) {
                struct stats_options wanted = { .by = (enum stats_by)by };
                struct stats *stats;

                if (stats_create(model, &wanted, &stats, NULL) == IFG_OK)
                    stats_destroy(stats);
            }
            ask_samples(model);
            ask_allocations(model);
            ask_report(model);
            model_destroy(model);
        }
        trace_reader_close(reader);
    }
    free(file);
    return 0;
}
