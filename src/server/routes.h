// SPDX-License-Identifier: Apache-2.0
/* The addresses under /api/ and who answers them; see handler.h for how to add one. */
#ifndef IFG_SERVER_ROUTES_H
#define IFG_SERVER_ROUTES_H

#include "server/handler.h"

enum route_scope {
    ROUTE_SERVER, /* /api/NAME */
    ROUTE_TRACE,  /* /api/t/ID/NAME, of a loaded trace */
    ROUTE_ACTION, /* /api/NAME by POST, from our own page: it changes something */
};

struct route {
    const char *name;
    enum route_scope scope;
    server_handler *handler;
};

/* NULL if there is no such address. */
const struct route *route_find(const char *name, enum route_scope scope);

server_handler serve_traces;
server_handler serve_meta;
server_handler serve_lod;
server_handler serve_counter;
server_handler serve_states;
server_handler serve_sampled_calls;
server_handler serve_functions;
server_handler serve_busy;
server_handler serve_slice;
server_handler serve_inputs;
server_handler serve_flows;
server_handler serve_find;
server_handler serve_next;
server_handler serve_marks;
server_handler serve_range;
server_handler serve_runs;
server_handler serve_live_state;
server_handler serve_live_stream;
server_handler serve_live_save;
server_handler serve_report;
server_handler serve_stats;
server_handler serve_ops;
server_handler serve_flame;
server_handler serve_annotate;
server_handler serve_memory;
server_handler serve_switches;
server_handler serve_compare;

#endif
