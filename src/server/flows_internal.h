// SPDX-License-Identifier: Apache-2.0
/* Arrows on their way into an answer. */
#ifndef IFG_SERVER_FLOWS_INTERNAL_H
#define IFG_SERVER_FLOWS_INTERNAL_H

#include "server/trace.h"

enum arrow_kind { ARROW_FLOW, ARROW_WAKE, ARROW_ASYNC, ARROW_KINDS };

struct arrow_end {
    uint64_t ns;
    size_t slice;     /* SIZE_MAX: none */
    uint32_t thread;  /* of timeline->threads, or TIMELINE_NONE */
    uint32_t sampled; /* of the profile's threads, where that is all that is known */
};

struct arrow {
    enum arrow_kind kind;
    uint64_t id;
    uint32_t flow; /* TIMELINE_NONE: it is no part of one */
    const char *name;
    struct arrow_end from;
    struct arrow_end to;
};

/* An async span that ends on another thread than it began on. */
struct crossing {
    size_t span; /* of timeline->asyncs */
    size_t from_slice;
    size_t to_slice;
};

struct crossing_index {
    struct crossing *items; /* by start */
    size_t count;
};

/* Made on first use, like everything that is kept. */
enum ifg_status trace_crossings(struct server_trace *trace, const struct crossing_index **out_index,
                                struct ifg_error *err) IFG_MUST_CHECK;
struct arrow flows_crossing_arrow(const struct timeline *timeline, const struct crossing *crossing);

/* Who woke the thread of a slice so that it could begin or go on: those after the longest waits, by
 * time. Returns how many there are, which may be more than `most`. SIZE_MAX: memory is short. */
size_t flows_wakes(const struct server_trace *trace, size_t slice, struct arrow *out, size_t most);

/* From a call of a driver to its work, the earliest first; of work, from its call. Returns as the
 * one above. */
size_t flows_launches(const struct timeline *timeline, size_t slice, struct arrow *out,
                      size_t most);

#endif
