// SPDX-License-Identifier: Apache-2.0
/*
 * The traces that a server has: files, and what is in directories. A file that cannot be read stays
 * in the list with the reason.
 */
#ifndef IFG_SERVER_TRACES_H
#define IFG_SERVER_TRACES_H

#include "base/status.h"
#include "server/trace.h"

#define TRACES_MOST 4096u

struct traces {
    struct server_trace *items;
    size_t count;
    size_t capacity;
    pthread_t looker; /* reads what can be said of each without loading it */
    bool looker_running;
    bool live; /* still being recorded: not to be loaded before somebody asks */
    atomic_bool stopping;
};

/* A file, or a directory whose *.ifg files are taken, by name. IFG_NOT_FOUND for what is not there:
 * nothing was added then. */
enum ifg_status traces_add(struct traces *traces, const char *path,
                           struct ifg_error *err) IFG_MUST_CHECK;

/* Begins to look at all of them; a single one is loaded at once. */
enum ifg_status traces_start(struct traces *traces, struct ifg_error *err) IFG_MUST_CHECK;

/* Waits for threads that load, then frees everything. */
void traces_fini(struct traces *traces);

/* Where a trace stands; begins to load it if nobody has. */
enum trace_state trace_use(struct server_trace *trace);

/* 0 to 1. */
double trace_progress(struct server_trace *trace);

#endif
