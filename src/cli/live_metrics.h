// SPDX-License-Identifier: Apache-2.0
/*
 * `live --metrics` and `live --otlp`: a thread that follows the trace, counts, and answers scrapes;
 * another one sends.
 */
#ifndef IFG_CLI_LIVE_METRICS_H
#define IFG_CLI_LIVE_METRICS_H

#include "cli/metrics_options.h"
#include "metrics/listener.h"

struct live_metrics;

struct live_metrics_options {
    struct metrics_address *address; /* NULL: nobody scrapes. Its socket is taken */
    const struct otlp_options *otlp; /* NULL: nothing is sent. Outlives the rest */
    const char *path;                /* of the trace */
    const char *program;
};

/* NULL: not enough memory. */
struct live_metrics *live_metrics_start(const struct live_metrics_options *options);

/* With a last export, which takes some seconds at most. */
void live_metrics_stop(struct live_metrics *metrics); /* accepts NULL */

#endif
