// SPDX-License-Identifier: Apache-2.0
/*
 * A recording that goes on while it is looked at: a thread follows its file, and each page that
 * asks gets what has changed since it was last told. What a page is told is made when it can take
 * it, so that a slow one costs nothing but gets larger messages.
 */
#ifndef IFG_SERVER_LIVE_H
#define IFG_SERVER_LIVE_H

#include "server/server.h"

struct live_server;

/* Begins to follow the file; threads that are started inherit the signal mask. */
enum ifg_status live_server_start(const struct server_options *options,
                                  struct live_server **out_live,
                                  struct ifg_error *err) IFG_MUST_CHECK;

/* Ends the streams; to be called before the connections are closed. */
void live_server_hush(struct live_server *live); /* accepts NULL */
void live_server_stop(struct live_server *live); /* accepts NULL */

/* Whether the recording is over, and the file can be loaded as a trace. */
bool live_server_is_over(struct live_server *live);

/* Whether a page asked for a temporary trace to be kept. */
bool live_server_is_to_be_kept(struct live_server *live);

#endif
