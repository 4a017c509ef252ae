// SPDX-License-Identifier: Apache-2.0
/*
 * Single ML events on their way to a collector, in two steps of fixed size: a ring, into which the
 * one who reads a trace puts them, and which may be in memory shared between processes; and a
 * queue, where they wait until the collector has taken them. What does not fit is counted.
 */
#ifndef IFG_METRICS_SPANS_H
#define IFG_METRICS_SPANS_H

#include "metrics/tally.h"

#define SPANS_PER_SECOND 100u /* of one program */
#define SPAN_RING_MOST   1024u
#define SPAN_QUEUE_MOST  4096u

struct span {
    uint64_t start_ns; /* CLOCK_REALTIME; likewise: */
    uint64_t end_ns;
    uint32_t series; /* of the tally that counts it */
    uint32_t pid;
    uint32_t has_failed;
};

/* One puts, one takes. All zero is empty. */
struct span_ring {
    _Atomic uint64_t head; /* moved by who puts */
    _Atomic uint64_t tail;
    _Atomic uint64_t not_sent;
    struct span spans[SPAN_RING_MOST];
};

void span_ring_put(struct span_ring *ring, const struct span *span);

struct queued_span {
    struct tally_labels labels;
    uint64_t start_ns;
    uint64_t end_ns;
    uint32_t pid;
    bool has_failed;
    uint8_t trace_id[16]; /* random; the same ones if it is sent again */
    uint8_t span_id[8];
};

/* All zero is empty. */
struct span_queue {
    size_t count;
    uint64_t not_sent; /* in all, those of the rings included */
    struct queued_span spans[SPAN_QUEUE_MOST];
};

/* Takes all of a ring. The ring and the tally may be another process's, which is not trusted. */
void span_queue_take(struct span_queue *queue, struct span_ring *ring, const struct tally *tally);

/* The oldest ones have gone. */
void span_queue_remove(struct span_queue *queue, size_t count);

#endif
