// SPDX-License-Identifier: Apache-2.0
/*
 * One attempt to send to a collector: OTLP over HTTP, compressed. Waits for the answer, so whoever
 * calls it has nothing else to do. Goes to the address that the user gave and to no other: no
 * redirects, no proxies, nothing but http and https.
 */
#ifndef IFG_METRICS_OTLP_SEND_H
#define IFG_METRICS_OTLP_SEND_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/bytes.h"
#include "base/status.h"

#define OTLP_HEADERS_VARIABLE "OTEL_EXPORTER_OTLP_HEADERS"
#define OTLP_HEADERS_MOST     16u

struct otlp_target {
    char base[512]; /* without a slash at the end */
    char headers[OTLP_HEADERS_MOST][512];
    size_t header_count;
};

/* url: http://HOST[:PORT][/PATH]. headers: "name=value,name=value", values percent-encoded, or
 * NULL; they may hold tokens and are never in a message. */
enum ifg_status otlp_target_set(const char *url, const char *headers,
                                struct otlp_target *out_target,
                                struct ifg_error *err) IFG_MUST_CHECK;

/* What is to be sent, and the number of spans in it. */
struct otlp_load {
    struct ifg_bytes metrics;
    struct ifg_bytes spans;
    size_t span_count; /* 0: no spans are sent */
};

void otlp_load_init(struct otlp_load *load);
void otlp_load_clear(struct otlp_load *load);
void otlp_load_fini(struct otlp_load *load);

/* How it went. Without pointers, so that a child can leave it in memory that it shares. */
struct otlp_outcome {
    bool is_known;       /* else the attempt was cut off */
    bool is_to_repeat;   /* later, and with what has been counted until then */
    uint32_t wait_s;     /* not before; 0: the collector does not say */
    uint64_t spans_sent; /* the collector has them */
    uint64_t spans_lost; /* it does not want them */
    char problem[400];   /* "": none */
};

/* Loads what sends, before anything else here is called: once, before threads and children. */
enum ifg_status otlp_send_prepare(struct ifg_error *err) IFG_MUST_CHECK;

/* Once in a process, before it has threads that send. False: it cannot send. */
bool otlp_send_begin(void);

/* stop: gives up when it becomes true; may be NULL. */
void otlp_send(const struct otlp_target *target, const struct otlp_load *load, unsigned timeout_ms,
               const atomic_bool *stop, struct otlp_outcome *out_outcome);

#endif
