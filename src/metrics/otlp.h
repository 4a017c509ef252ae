// SPDX-License-Identifier: Apache-2.0
/*
 * What a collector of OpenTelemetry gets, and what it says: messages of OTLP 1, in protobuf, by the
 * definitions of opentelemetry-proto. Names are those that become the names of text.h when the
 * collector hands them on to Prometheus.
 */
#ifndef IFG_METRICS_OTLP_H
#define IFG_METRICS_OTLP_H

#include "base/bytes.h"
#include "metrics/spans.h"
#include "metrics/text.h"

#define OTLP_BYTES_MOST (16u << 20)

struct otlp_view {
    const struct metrics_view *metrics;
    const char *host;
    uint64_t start_ns; /* CLOCK_REALTIME since when all is counted; likewise: */
    uint64_t now_ns;
    uint64_t spans_sent;
    uint64_t spans_not_sent;
    uint64_t exports_failed;
};

/* Appends an ExportMetricsServiceRequest. */
void otlp_put_metrics(struct ifg_bytes *out, const struct otlp_view *view);

/* Appends an ExportTraceServiceRequest: each program is a service. */
void otlp_put_spans(struct ifg_bytes *out, const struct queued_span *spans, size_t count,
                    const struct otlp_view *view);

/* What the collector did not want of a request that it took. */
struct otlp_reply {
    uint64_t rejected;
    char message[160]; /* printable */
};

/* Either response; false: it is none. */
bool otlp_read_reply(const void *data, size_t size, struct otlp_reply *out_reply);

#endif
