// SPDX-License-Identifier: Apache-2.0
/* The table of addresses: one line for each. */
#include "server/routes.h"

#include <string.h>

/* clang-format off */
static const struct route routes[] = {
    { "traces", ROUTE_SERVER, serve_traces },
    { "meta", ROUTE_TRACE, serve_meta },
    { "lod", ROUTE_TRACE, serve_lod },
    { "counter", ROUTE_TRACE, serve_counter },
    { "states", ROUTE_TRACE, serve_states },
    { "sampled_calls", ROUTE_TRACE, serve_sampled_calls },
    { "functions", ROUTE_TRACE, serve_functions },
    { "busy", ROUTE_TRACE, serve_busy },
    { "slice", ROUTE_TRACE, serve_slice },
    { "inputs", ROUTE_TRACE, serve_inputs },
    { "flows", ROUTE_TRACE, serve_flows },
    { "find", ROUTE_TRACE, serve_find },
    { "next", ROUTE_TRACE, serve_next },
    { "marks", ROUTE_TRACE, serve_marks },
    { "range", ROUTE_TRACE, serve_range },
    { "runs", ROUTE_TRACE, serve_runs },
    { "report", ROUTE_TRACE, serve_report },
    { "stats", ROUTE_TRACE, serve_stats },
    { "ops", ROUTE_TRACE, serve_ops },
    { "flame", ROUTE_TRACE, serve_flame },
    { "annotate", ROUTE_TRACE, serve_annotate },
    { "memory", ROUTE_TRACE, serve_memory },
    { "switches", ROUTE_TRACE, serve_switches },
    { "compare", ROUTE_SERVER, serve_compare },
    { "live/state", ROUTE_SERVER, serve_live_state },
    { "live/stream", ROUTE_SERVER, serve_live_stream },
    { "live/save", ROUTE_SERVER, serve_live_save },
};
/* clang-format on */

const struct route *route_find(const char *name, enum route_scope scope)
{
    for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++)
        if (routes[i].scope == scope && strcmp(routes[i].name, name) == 0)
            return &routes[i];
    return NULL;
}
