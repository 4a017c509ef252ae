// SPDX-License-Identifier: Apache-2.0
/*
 * When something is sent to a collector, and what became of it. Metrics are sums since the
 * beginning, so an attempt that failed is not repeated: the next one says more. Spans wait in a
 * queue until the collector has taken or refused them.
 */
#ifndef IFG_METRICS_OTLP_EXPORT_H
#define IFG_METRICS_OTLP_EXPORT_H

#include "metrics/otlp.h"
#include "metrics/otlp_send.h"

#define OTLP_INTERVAL_VARIABLE "OTEL_METRIC_EXPORT_INTERVAL"
#define OTLP_INTERVAL_MS       10000u
#define OTLP_TIMEOUT_MS        10000u
#define OTLP_LAST_TIMEOUT_MS   3000u
#define OTLP_LAST_WAIT_MS      1000u /* for what is being sent at the end */

struct otlp_export {
    const struct otlp_target *target; /* the caller's */
    uint32_t interval_ms;
    uint64_t next_ns; /* CLOCK_MONOTONIC */
    uint64_t start_ns;
    unsigned failures;
    uint64_t spans_sent;
    uint64_t exports_failed;
    size_t spans_under_way;
    char host[256];
    char told[2][sizeof((struct otlp_outcome *)0)->problem]; /* what was reported, newest first */
    struct span_queue queue;
};

/* NULL: not enough memory. Destroyed with ifg_free. */
struct otlp_export *otlp_export_create(const struct otlp_target *target, uint32_t interval_ms);

bool otlp_export_is_due(const struct otlp_export *own);

/* Something is to be sent, perhaps by another thread or process, which calls otlp_export_fill. */
void otlp_export_begin(struct otlp_export *own);
void otlp_export_fill(const struct otlp_export *own, const struct metrics_view *view,
                      struct otlp_load *out_load);

/* After each one that was begun. True: own->told[0] is new, and to be reported. */
bool otlp_export_take(struct otlp_export *own, const struct otlp_outcome *outcome);

#endif
