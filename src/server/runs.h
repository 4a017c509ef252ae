// SPDX-License-Identifier: Apache-2.0
/* The inferences of a model, for the page of the server and for the one that is mailed. */
#ifndef IFG_SERVER_RUNS_H
#define IFG_SERVER_RUNS_H

#include "server/handler.h"
#include "server/lod.h"

/* Adds the finished ones, slices first; of very many only those that stand out. `out` was
 * initialized by the caller. */
enum ifg_status runs_of_model(const struct server_trace *trace, uint32_t model,
                              struct lod_items *out) IFG_MUST_CHECK;

#endif
