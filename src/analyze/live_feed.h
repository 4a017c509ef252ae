// SPDX-License-Identifier: Apache-2.0
/*
 * A gauge of a trace that is still being written: follows the file and keeps the books of live.h.
 * Call live_feed_step often; it never waits. Not thread-safe.
 */
#ifndef IFG_ANALYZE_LIVE_FEED_H
#define IFG_ANALYZE_LIVE_FEED_H

#include "analyze/live.h"
#include "base/status.h"

enum live_state {
    LIVE_WAITING, /* there is no file with a header yet */
    LIVE_RUNNING,
    LIVE_SILENT, /* the recorder lives, it seems, but writes nothing */
    LIVE_ENDED,
};

struct live_info {
    char program[128];
    char host[128];
    uint32_t pid;
    uint32_t cpus;
    uint64_t created_realtime_ns;
    uint64_t changed; /* version of live */
};

struct live_feed {
    struct live *live;
    enum live_state state;
    char why[256];
    struct live_info info;
    uint64_t generation; /* how often another file took the place */
    uint64_t zones;
    uint64_t dropped;
    uint64_t damaged;
    uint64_t bytes;
    struct live_feed_own *own;
};

/* The file need not be there yet. */
enum ifg_status live_feed_open(const char *path, struct live_feed **out_feed,
                               struct ifg_error *err) IFG_MUST_CHECK;
void live_feed_close(struct live_feed *feed); /* accepts NULL */

/* Takes what is new, but not too much at once: *out_more says that there is more. Errors: what is
 * there is no trace, or cannot be read, or memory is short. */
enum ifg_status live_feed_step(struct live_feed *feed, bool *out_more,
                               struct ifg_error *err) IFG_MUST_CHECK;

/* Events that got no row in the table because there were too many. */
uint64_t live_feed_thinned(const struct live_feed *feed);

const char *live_state_name(enum live_state state);

#endif
