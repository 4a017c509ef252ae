// SPDX-License-Identifier: Apache-2.0
/* ML events on their way to a collector: see spans.h. */
#include "metrics/spans.h"

#include <string.h>
#include <sys/random.h>

void span_ring_put(struct span_ring *ring, const struct span *span)
{
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);

    if (head - atomic_load_explicit(&ring->tail, memory_order_acquire) >= SPAN_RING_MOST) {
        atomic_fetch_add_explicit(&ring->not_sent, 1, memory_order_relaxed);
        return;
    }
    ring->spans[head % SPAN_RING_MOST] = *span;
    atomic_store_explicit(&ring->head, head + 1, memory_order_release);
}

static void end_text(char *text, size_t size)
{
    text[size - 1] = '\0';
}

static void add(struct span_queue *queue, const struct span *span, const struct tally *tally)
{
    uint32_t count = atomic_load_explicit(&tally->count, memory_order_acquire);
    struct queued_span *to = &queue->spans[queue->count];
    uint8_t random[sizeof to->trace_id + sizeof to->span_id];

    if (queue->count == SPAN_QUEUE_MOST || span->series >= count ||
        span->series >= TALLY_SERIES_MOST ||
        getrandom(random, sizeof random, GRND_NONBLOCK) != (ssize_t)sizeof random) {
        queue->not_sent++;
        return;
    }
    to->labels = tally->series[span->series].labels;
    end_text(to->labels.program, sizeof to->labels.program);
    end_text(to->labels.model, sizeof to->labels.model);
    end_text(to->labels.function, sizeof to->labels.function);
    end_text(to->labels.device, sizeof to->labels.device);
    to->start_ns = span->start_ns;
    to->end_ns = span->end_ns;
    to->pid = span->pid;
    to->has_failed = span->has_failed != 0;
    memcpy(to->trace_id, random, sizeof to->trace_id);
    memcpy(to->span_id, random + sizeof to->trace_id, sizeof to->span_id);
    queue->count++;
}

void span_queue_take(struct span_queue *queue, struct span_ring *ring, const struct tally *tally)
{
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_acquire);
    uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);

    queue->not_sent += atomic_exchange_explicit(&ring->not_sent, 0, memory_order_relaxed);
    if (head - tail > SPAN_RING_MOST)
        tail = head; /* whoever puts is out of order */
    for (; tail != head; tail++) {
        struct span span = ring->spans[tail % SPAN_RING_MOST];

        add(queue, &span, tally);
    }
    atomic_store_explicit(&ring->tail, tail, memory_order_release);
}

void span_queue_remove(struct span_queue *queue, size_t count)
{
    if (count > queue->count)
        count = queue->count;
    memmove(queue->spans, queue->spans + count, (queue->count - count) * sizeof queue->spans[0]);
    queue->count -= count;
}
