// SPDX-License-Identifier: Apache-2.0
/*
 * Where the events of a source go, and the numbers that all sources of one recording share: those
 * of processes, threads, locations and clocks. Nobody else hands any out, so that sources that tell
 * of the same process cannot take each other's.
 *
 * One thread, that of the recording's loop.
 */
#ifndef IFG_COLLECT_SINK_H
#define IFG_COLLECT_SINK_H

#include <sys/types.h>

#include "trace/writer.h"

/* The clocks that every recording has. A source with another one names it (sink_clock) and gives it
 * to its streams (trace_stream_set_clock). */
#define SINK_CLOCK_COUNTER   0u /* of the CPU */
#define SINK_CLOCK_MONOTONIC 1u
#define SINK_CLOCK_NONE      UINT32_MAX

/* Locations that are added to a process whose library numbers its own. More than its definition log
 * has room for, and few enough to be short in a trace. */
#define SINK_LOCATIONS_ADDED (1u << 18)

/* A process that a source has seen. */
struct sink_process {
    pid_t pid;           /* 0: the machine */
    uint32_t clock;      /* of its start, and of its threads unless they have another */
    uint64_t start;      /* by that clock; 0: when the process began, by CLOCK_MONOTONIC */
    const char *program; /* what to call it if it is gone; NULL: nothing is known */
};

/* What the recording does for its sources. */
struct sink_calls {
    /* Writes the definition of a process, and tells those that want to know. */
    void (*define_process)(void *user, const struct sink_process *process, uint32_t index);
    /* How a process that is gone ended. */
    enum trace_process_fate (*fate)(void *user, pid_t pid, uint32_t *out_code);
    void (*instrument)(void *user, const char *name, enum trace_instrument_state state,
                       const char *reason);
};

/* What a collector has brought so far. */
struct sink_counts {
    uint64_t events;
    uint64_t inferences;
    uint64_t dropped;
    uint32_t models;
    uint32_t threads;
    uint32_t processes; /* of which something was seen, also those that are gone */
};

struct sink {
    struct trace_writer *writer; /* NULL: there is no file yet, or no more */
    uint64_t flush_after_ns;     /* no event waits longer than this to be written */
    uint64_t until[2];           /* what came later is not recorded, by clock; 0: all is */
    const struct sink_calls *calls;
    void *user;
    /* Who wants to know of each inference that is over, by CLOCK_MONOTONIC; NULL: nobody. */
    void (*inference)(void *user, uint32_t key, uint64_t start_ns, uint64_t end_ns);
    void *inference_user;
    /* ours: */
    uint32_t clock_count, process_count, thread_count;
    uint32_t *next_locations; /* by process */
    size_t numbered;          /* processes that have one */
};

void sink_fini(struct sink *sink);

/* A clock of the trace; whoever names one writes its pairs. SINK_CLOCK_NONE: there are too many. */
uint32_t sink_clock(struct sink *sink, enum trace_clock_kind kind, uint64_t nominal_hz,
                    const char *name);

/* Defines a process. */
uint32_t sink_process(struct sink *sink, const struct sink_process *process);
/* The index of a process that the caller defines, and whose library numbers its own locations. */
uint32_t sink_library_process(struct sink *sink);

/* Defines a thread. */
uint32_t sink_thread(struct sink *sink, uint32_t process, uint32_t tid, const char *name);

/* Gives a location of its process a number and defines it. 0: there are too many. */
uint32_t sink_location(struct sink *sink, struct trace_location location);

void sink_instrument(struct sink *sink, const char *name, enum trace_instrument_state state,
                     const char *reason);
/* A fact of the trace that is a number. */
void sink_count(struct sink *sink, const char *key, uint64_t value);

#endif
