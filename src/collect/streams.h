// SPDX-License-Identifier: Apache-2.0
/*
 * The threads that a source tells of, and the streams that their events go to: made at the first
 * event of a thread, written when they are full or old, given up when the thread is gone.
 *
 * What a source itself keeps of a thread stands behind struct thread_stream, in one piece of
 * memory.
 */
#ifndef IFG_COLLECT_STREAMS_H
#define IFG_COLLECT_STREAMS_H

#include "collect/sink.h"

struct thread_stream {
    pid_t tid;
    pid_t own_tid;   /* in its own pid namespace; 0: not known */
    uint32_t thread; /* index in the trace */
    struct trace_stream *stream;
    uint64_t oldest_ns; /* when the oldest thing arrived that is not written; 0: none */
    uint64_t seen_ns;
    size_t open_count; /* what has begun and not ended */
    bool open_changed; /* and is to be shown soon */
};

/* How a source uses its threads. */
struct streams_kind {
    size_t bytes; /* of one, with struct thread_stream in front */
    size_t most;  /* in one process */
    /* What is open there, from the outside in. False: it is not shown. */
    bool (*open_zone)(void *user, struct thread_stream *thread, size_t number,
                      struct trace_open_zone *out_zone);
    void (*release)(struct thread_stream *thread); /* what it points to; NULL: nothing */
};

/* The threads of one process. */
struct streams {
    const struct streams_kind *kind;
    struct sink *sink;
    void *user; /* of the calls */
    pid_t pid;
    uint32_t process;             /* in the trace */
    struct thread_stream **items; /* by tid */
    size_t count, capacity;
};

/* NULL: no memory. Its times are ticks of the clock of its process, unless trace_stream_set_clock
 * names one that the source has of its own (sink_clock), before anything is in it. */
struct thread_stream *streams_thread_create(struct sink *sink, uint32_t process, uint32_t tid,
                                            const char *name, size_t bytes);
/* Writes what waits. Accepts NULL. */
void streams_thread_destroy(struct thread_stream *thread);
void streams_thread_wait(struct thread_stream *thread, uint64_t now_ns); /* something was added */

/* The thread, a new one if need be. NULL: there are too many, or no memory. */
struct thread_stream *streams_take(struct streams *streams, pid_t tid, pid_t own_tid,
                                   uint64_t now_ns, bool *out_new);

/* Writes what is full, old or to be shown soon; with final, all. */
void streams_flush(struct streams *streams, uint64_t now_ns, bool final);

/* Gives up threads that are gone. Programs that make one for each request would have streams
 * without end. */
void streams_sweep(struct streams *streams, uint64_t now_ns);

void streams_fini(struct streams *streams);

#endif
