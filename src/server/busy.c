// SPDX-License-Identifier: Apache-2.0
/* The minimap: how busy the CPUs were, which categories ran, where findings are. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/convert.h"
#include "server/handler.h"
#include "server/routes.h"

/* Adds the part of each pixel that [start, end) covers. */
static void cover(double *shares, unsigned px, size_t stride, double start, double end,
                  double ns_per_px)
{
    double from = start / ns_per_px;
    double to = end / ns_per_px;
    size_t last;

    from = from < 0 ? 0 : from;
    to = to > px ? px : to;
    if (!(to > from))
        return;
    last = (size_t)to < px ? (size_t)to : px - 1;
    for (size_t i = (size_t)from; i <= last; i++) {
        double left = from > (double)i ? from : (double)i;
        double right = to < (double)(i + 1) ? to : (double)(i + 1);

        if (right > left)
            shares[i * stride] += right - left;
    }
}

static void put_categories(struct ifg_json *json, const struct server_trace *trace, unsigned px,
                           double ns_per_px, double *shares)
{
    const struct timeline *timeline = trace->timeline;

    for (size_t i = 0; i < trace->ml.count; i++) {
        uint32_t id = trace->ml.ids[i];

        cover(shares + timeline->locations[timeline->location[id]].category, px, TRACE_CATEGORIES,
              answer_ns(timeline, timeline->start_ns[id]),
              answer_ns(timeline, timeline_end_ns(timeline, id)), ns_per_px);
    }
    for (size_t i = 0; i < timeline->async_count; i++) {
        const struct timeline_async *async = &timeline->asyncs[i];

        if (timeline->locations[async->location].kind == TRACE_LOCATION_ML)
            cover(shares + timeline->locations[async->location].category, px, TRACE_CATEGORIES,
                  answer_ns(timeline, async->start_ns), answer_ns(timeline, async->end_ns),
                  ns_per_px);
    }
    ifg_json_put_open(json, "categories", '[');
    for (size_t i = 0; i < px; i++) {
        ifg_json_open(json, '[');
        for (size_t c = 0; c < TRACE_CATEGORIES; c++) {
            double share = shares[i * TRACE_CATEGORIES + c];

            ifg_json_double(json, share > 1 ? 1 : round(share * 1000) / 1000);
        }
        ifg_json_close(json, ']');
    }
    ifg_json_close(json, ']');
}

/* Values stand for the time since the one before. */
static void put_cpu(struct ifg_json *json, const struct server_trace *trace, unsigned px,
                    double ns_per_px, double *sums)
{
    const struct timeline *timeline = trace->timeline;
    double *times = sums + px;
    const struct track *track = NULL;

    for (size_t i = 0; i < trace->track_count && !track; i++)
        if (trace->tracks[i].kind == TRACK_COUNTER &&
            strcmp(timeline->locations[trace->tracks[i].location].name, "cpu total %") == 0)
            track = &trace->tracks[i];
    for (size_t i = 1; track && i < track->count; i++) {
        const struct timeline_counter *before =
            &timeline->counters[trace->counter_order[track->first + i - 1]];
        const struct timeline_counter *counter =
            &timeline->counters[trace->counter_order[track->first + i]];
        double start = answer_ns(timeline, before->ns) / ns_per_px;
        double end = answer_ns(timeline, counter->ns) / ns_per_px;
        double value = counter->value / 100;

        if (!isfinite(value) || !(end > start))
            continue;
        start = start < 0 ? 0 : start;
        for (size_t p = ifg_u64_of(start); p < px && (double)p < end; p++) {
            double left = start > (double)p ? start : (double)p;
            double right = end < (double)(p + 1) ? end : (double)(p + 1);

            if (right > left) {
                sums[p] += value * (right - left);
                times[p] += right - left;
            }
        }
    }
    ifg_json_put_open(json, "cpu", '[');
    for (size_t p = 0; p < px; p++) {
        double share = times[p] > 0 ? round(sums[p] / times[p] * 1000) / 1000 : NAN;

        ifg_json_double(json, share > 1 ? 1 : share < 0 ? 0 : share);
    }
    ifg_json_close(json, ']');
}

static void put_findings(struct ifg_json *json, struct server_trace *trace)
{
    const struct report *report = trace_report_if_ready(trace);

    ifg_json_put_bool(json, "findings_known", report != NULL);
    ifg_json_put_open(json, "findings", '[');
    for (size_t i = 0; report && i < report->findings->count; i++) {
        const struct finding *finding = &report->findings->items[i];

        for (size_t e = 0; e < finding->event_count && e < FINDING_EVENTS; e++) {
            if (finding->events[e] >= trace->timeline->slice_count)
                continue;
            ifg_json_open(json, '{');
            ifg_json_put_double(
                json, "ns",
                answer_ns(trace->timeline, trace->timeline->start_ns[finding->events[e]]));
            ifg_json_put_string(json, "severity", finding_severity_name(finding->severity));
            ifg_json_put_uint(json, "finding", i);
            ifg_json_close(json, '}');
        }
    }
    ifg_json_close(json, ']');
}

void serve_busy(const struct server_request *request, struct server_answer *answer)
{
    const struct timeline *timeline = request->timeline;
    struct ifg_json json;
    double ns_per_px;
    double *shares;
    double *sums;
    unsigned px;

    if (!request_px(request, &px, answer))
        return;
    ns_per_px = ((double)(timeline->end_ns - timeline->begin_ns) + 1) / px;
    shares = ifg_alloc((size_t)px * TRACE_CATEGORIES, sizeof *shares);
    sums = ifg_alloc((size_t)px * 2, sizeof *sums);
    if (shares && sums) {
        json = answer_json(answer);
        ifg_json_open(&json, '{');
        ifg_json_put_int(&json, "schema", 1);
        put_cpu(&json, request->trace, px, ns_per_px, sums);
        put_categories(&json, request->trace, px, ns_per_px, shares);
        put_findings(&json, request->trace);
        ifg_json_close(&json, '}');
    } else {
        answer_error(answer, 500, "not enough memory");
    }
    ifg_free(sums);
    ifg_free(shares);
}
