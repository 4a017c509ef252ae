// SPDX-License-Identifier: Apache-2.0
/*
 * Events that may end on another thread than they began on: both ends are told apart, and the
 * thread of the end may be read first. Puts them together; what has no other end yet is kept, up to
 * a number, and the oldest goes when there are more. Pure bookkeeping, memory stays the same.
 */
#ifndef IFG_ANALYZE_LIVE_SPANS_H
#define IFG_ANALYZE_LIVE_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LIVE_SPANS_MOST 1024u

/* One end. The same process, location and id make it part of the same span. */
struct live_span_end {
    uint64_t ns;
    uint64_t id;
    uint32_t process;
    uint32_t location;
    uint32_t thread;
};

struct live_span_ends {
    struct live_span_end ends[LIVE_SPANS_MOST]; /* in the order in which they became known */
    size_t count;
};

struct live_spans {
    struct live_span_ends begun; /* what is open */
    struct live_span_ends ended; /* whose begin is not known yet */
    bool changed;                /* what is open, since somebody set this to false */
};

/* True: *out_other is the other end, and the span is complete. */
bool live_spans_begin(struct live_spans *spans, const struct live_span_end *begin,
                      struct live_span_end *out_other);
bool live_spans_end(struct live_spans *spans, const struct live_span_end *end,
                    struct live_span_end *out_other);

/* A process has ended: its spans will not. */
void live_spans_forget(struct live_spans *spans, uint32_t process);

#endif
