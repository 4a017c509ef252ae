// SPDX-License-Identifier: Apache-2.0
/* When to send, and what became of it: see otlp_export.h. */
#include "metrics/otlp_export.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/ticks.h"

#define NS_PER_MS      1000000ull
#define WAIT_MOST_MS   30000u
#define SPANS_EARLY    (SPAN_QUEUE_MOST / 2) /* so many do not wait for the interval */
#define EARLY_PAUSE_MS 1000u
#define DOUBLINGS_MOST 5u
#define SPANS_AT_ONCE  2048u

struct otlp_export *otlp_export_create(const struct otlp_target *target, uint32_t interval_ms)
{
    struct otlp_export *own = ifg_alloc(1, sizeof *own);

    if (!own)
        return NULL;
    own->target = target;
    own->interval_ms = interval_ms;
    own->start_ns = ifg_realtime_ns();
    own->next_ns = ifg_monotonic_ns() + interval_ms * NS_PER_MS;
    if (gethostname(own->host, sizeof own->host - 1) != 0)
        snprintf(own->host, sizeof own->host, "localhost");
    return own;
}

bool otlp_export_is_due(const struct otlp_export *own)
{
    uint64_t now_ns = ifg_monotonic_ns();
    uint64_t early_ns =
        own->interval_ms > EARLY_PAUSE_MS ? (own->interval_ms - EARLY_PAUSE_MS) * NS_PER_MS : 0;

    return now_ns >= own->next_ns ||
           (!own->failures && own->queue.count >= SPANS_EARLY && now_ns + early_ns >= own->next_ns);
}

void otlp_export_begin(struct otlp_export *own)
{
    own->spans_under_way = own->queue.count < SPANS_AT_ONCE ? own->queue.count : SPANS_AT_ONCE;
}

void otlp_export_fill(const struct otlp_export *own, const struct metrics_view *view,
                      struct otlp_load *out_load)
{
    const struct otlp_view all = {
        .metrics = view,
        .host = own->host,
        .start_ns = own->start_ns,
        .now_ns = ifg_realtime_ns(),
        .spans_sent = own->spans_sent,
        .spans_not_sent = own->queue.not_sent,
        .exports_failed = own->exports_failed,
    };

    otlp_load_clear(out_load);
    otlp_put_metrics(&out_load->metrics, &all);
    otlp_put_spans(&out_load->spans, own->queue.spans, own->spans_under_way, &all);
    out_load->span_count = own->spans_under_way;
}

/* One address may refuse what another takes: both reasons are told, but neither twice. When a
 * collector was away and came back, the next time is news. */
static bool note_problem(struct otlp_export *own, const char *problem, bool has_come_back)
{
    if (has_come_back && !*problem)
        memset(own->told, 0, sizeof own->told);
    if (!*problem || strcmp(own->told[0], problem) == 0 || strcmp(own->told[1], problem) == 0)
        return false;
    memcpy(own->told[1], own->told[0], sizeof own->told[0]);
    snprintf(own->told[0], sizeof own->told[0], "%s", problem);
    return true;
}

/* In milliseconds. */
static uint64_t pause_after_failure(const struct otlp_export *own, uint32_t wanted_s)
{
    unsigned doublings = own->failures < DOUBLINGS_MOST ? own->failures : DOUBLINGS_MOST;
    uint64_t wait_ms = (uint64_t)1000 << doublings;

    if (wait_ms > WAIT_MOST_MS)
        wait_ms = WAIT_MOST_MS;
    return wait_ms < wanted_s * 1000ull ? wanted_s * 1000ull : wait_ms;
}

bool otlp_export_take(struct otlp_export *own, const struct otlp_outcome *outcome)
{
    bool has_failed = !outcome->is_known || outcome->is_to_repeat;
    bool has_come_back = !has_failed && own->failures;
    uint64_t wait_ms = own->interval_ms;

    if (has_failed) {
        wait_ms = pause_after_failure(own, outcome->wait_s);
        own->failures++;
    } else {
        own->failures = 0;
        own->spans_sent += outcome->spans_sent;
        own->queue.not_sent += outcome->spans_lost;
        span_queue_remove(&own->queue, own->spans_under_way);
    }
    own->exports_failed += has_failed || *outcome->problem;
    own->spans_under_way = 0;
    own->next_ns = ifg_monotonic_ns() + wait_ms * NS_PER_MS;
    return note_problem(own, outcome->problem, has_come_back);
}
