// SPDX-License-Identifier: Apache-2.0
/* The parts of the list of tracks; each adds its own, in drawing order. */
#ifndef IFG_SERVER_TRACKS_INTERNAL_H
#define IFG_SERVER_TRACKS_INTERNAL_H

#include "server/trace.h"

struct tracks {
    struct track *items;
    size_t count;
    size_t capacity;
};

/* A track with id "prefixNUMBER" (number SIZE_MAX: the prefix alone); NULL: no memory. */
struct track *tracks_add(struct tracks *out, enum track_kind kind, const char *prefix,
                         size_t number, uint32_t parent);

enum ifg_status tracks_add_counters(struct server_trace *trace, struct tracks *out) IFG_MUST_CHECK;
enum ifg_status tracks_add_threads(struct server_trace *trace, struct tracks *out) IFG_MUST_CHECK;
enum ifg_status tracks_add_extras(struct server_trace *trace, struct tracks *out) IFG_MUST_CHECK;

#endif
