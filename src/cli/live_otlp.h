// SPDX-License-Identifier: Apache-2.0
/*
 * `live --otlp`: a thread that sends what another one fills in. The one that fills is never kept
 * waiting: while something is sent, nothing new is filled.
 */
#ifndef IFG_CLI_LIVE_OTLP_H
#define IFG_CLI_LIVE_OTLP_H

#include "cli/metrics_options.h"
#include "metrics/otlp_export.h"

struct live_otlp;

/* NULL: not enough memory. */
struct live_otlp *live_otlp_start(const struct otlp_options *options);

/* Where feeds hand out their events. */
struct span_ring *live_otlp_ring(struct live_otlp *otlp);

/* Takes events, takes the result of what was sent, and says whether something is to be sent. All on
 * the thread that fills. */
bool live_otlp_is_due(struct live_otlp *otlp, const struct tally *tally);
void live_otlp_send(struct live_otlp *otlp, const struct metrics_view *view);

/* Gives up what is being sent; sends all once more, and ends. Accepts NULL. */
void live_otlp_stop(struct live_otlp *otlp, const struct metrics_view *view);

#endif
