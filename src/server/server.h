// SPDX-License-Identifier: Apache-2.0
/*
 * The page and what it asks for, over HTTP on this machine: docs/server.md.
 *
 * A connection has a thread of its own, so that an answer that takes long keeps nobody waiting; how
 * many connections there are and how many answers are made at once is limited, and who has not
 * shown the token has to give way to who has: door.h.
 */
#ifndef IFG_SERVER_SERVER_H
#define IFG_SERVER_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct server;

struct server_options {
    const char *const *paths; /* files and directories */
    size_t path_count;
    uint16_t port;              /* 0: any free one */
    const char *address;        /* NULL: 127.0.0.1; else an address of this machine */
    bool live;                  /* the only path is a recording that goes on: follow it */
    bool live_temporary;        /* it is removed at its end, unless a page wants it to be kept, */
    const char *live_kept_path; /* and then it will be here */
};

/* Listens; a single trace is loaded at once. Signals that the caller waits for should be blocked
 * before, so that threads inherit it. */
enum ifg_status server_start(const struct server_options *options, struct server **out_server,
                             struct ifg_error *err) IFG_MUST_CHECK;

/* Ends connections, waits for what is being answered or loaded, and frees everything. */
void server_stop(struct server *server); /* accepts NULL */

/* "http://127.0.0.1:4711/#token=..." */
const char *server_url(const struct server *server);

/* Whether somebody with the token has come in. The argument is a struct server. */
bool server_was_visited(const void *server);

/* Whether a page asked for a temporary recording to be kept. */
bool server_is_to_be_kept(const struct server *server);

/* Whether the page was there when the program was built. */
bool server_has_page(void);

#endif
