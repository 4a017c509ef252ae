// SPDX-License-Identifier: Apache-2.0
/*
 * Reading a trace that is still being written: block after block, as they come.
 *
 * What was read is not kept, but for definitions and the last clock pairs, so that memory does not
 * grow with the recording. A block that is only half there is waited for; a damaged one is counted
 * and stepped over. When another file takes the path's place, or the file is cut, everything begins
 * anew. Nothing is mapped: a file that shrinks harms nobody. Not thread-safe.
 *
 *     while (trace_follow_next(follow, &news, &err) == IFG_OK && news.kind != TRACE_NEWS_NONE)
 *         ...
 */
#ifndef IFG_TRACE_FOLLOW_H
#define IFG_TRACE_FOLLOW_H

#include "trace/reader.h"

struct trace_follow;
struct trace_input;

enum trace_news_kind {
    TRACE_NEWS_NONE,        /* nothing whole is there yet: come back later */
    TRACE_NEWS_RESTARTED,   /* another file, or the same one cut: forget what you know */
    TRACE_NEWS_DEFINITIONS, /* the tables have more */
    TRACE_NEWS_ZONES,
    TRACE_NEWS_EVENTS,
    TRACE_NEWS_OTHER,    /* clocks, samples: nothing to be told */
    TRACE_NEWS_FINISHED, /* the recorder has finished the file; only NONE follows */
};

struct trace_news {
    enum trace_news_kind kind;
    uint32_t thread;                   /* of zones and events */
    uint64_t dropped;                  /* by this thread, in all */
    const struct trace_zones *zones;   /* until the next call; likewise: */
    const struct trace_events *events; /* the attributes among them included */
};

struct trace_follow_info {
    bool opened;                /* there is a file with a good header */
    bool finished;              /* it has its footer */
    uint64_t bytes;             /* of the file when it was last looked at */
    uint64_t read_to;           /* offset */
    uint64_t damaged;           /* blocks that were missing or failed their checks */
    uint64_t begin_ns;          /* CLOCK_MONOTONIC of the first clock pair; 0: none was read yet */
    uint64_t begin_realtime_ns; /* CLOCK_REALTIME of it */
    uint64_t clock_span_ns;     /* between the first and the last pair: how well rates are known */
    uint64_t created_realtime_ns;
};

/* The file need not be there yet. Fails only for want of memory. */
enum ifg_status trace_follow_open(const char *path, struct trace_follow **out_follow,
                                  struct ifg_error *err) IFG_MUST_CHECK;

/* The same from any input, which is closed with it, also on failure. */
enum ifg_status trace_follow_open_input(struct trace_input *input, struct trace_follow **out_follow,
                                        struct ifg_error *err) IFG_MUST_CHECK;
void trace_follow_close(struct trace_follow *follow); /* accepts NULL */

/* The next thing. IFG_CORRUPT, IFG_UNSUPPORTED: this is no trace that can be read; another file may
 * take its place. IFG_PERMISSION, IFG_IO: it cannot be read now. */
enum ifg_status trace_follow_next(struct trace_follow *follow, struct trace_news *out_news,
                                  struct ifg_error *err) IFG_MUST_CHECK;

const struct trace_follow_info *trace_follow_info(const struct trace_follow *follow);

/* All definitions so far; entries and strings are good until the next call of trace_follow_next. */
const struct trace_tables *trace_follow_tables(const struct trace_follow *follow);

/* A time of a thread's stream in nanoseconds of CLOCK_MONOTONIC. */
uint64_t trace_follow_ns(const struct trace_follow *follow, uint32_t thread, uint64_t ticks);

/* Whether nobody writes the trace any more: its recorder is gone. False where the system does not
 * tell. */
bool trace_follow_is_abandoned(const struct trace_follow *follow);

#endif
