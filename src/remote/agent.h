// SPDX-License-Identifier: Apache-2.0
/*
 * The agent: listens, lets in who may, and has each request answered by a child of its own. So one
 * recording cannot disturb another, and a child that dies takes one with it.
 *
 * On the loopback, whoever connects is this user or root, as the kernel tells, or shows the token.
 * Elsewhere, and wherever TLS is wanted, everybody shows the token, inside TLS. What is not asked
 * for in time is closed; when too many wait, the one that has waited longest leaves.
 */
#ifndef IFG_REMOTE_AGENT_H
#define IFG_REMOTE_AGENT_H

#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"
#include "remote/identity.h"
#include "remote/link.h"
#include "remote/protocol.h"

#define AGENT_WAITING_MOST 32u /* have not asked for anything yet */
#define AGENT_ANSWERS_MOST 16u /* children at a time */
#define AGENT_WAITING_MS   5000u

struct agent_options {
    const char *address; /* in numbers; NULL: 127.0.0.1 */
    uint16_t port;       /* 0: the first of REMOTE_PORTS from REMOTE_PORT on that is free */
    const struct remote_token *token;       /* NULL: nobody but this user and root */
    const struct remote_identity *identity; /* NULL: no TLS, and no address but the loopback's */
    const char *version;                    /* of this tool */

    /* In a child, which ends when they return. What they queue is sent then. SIGTERM: the other end
     * has enough, or is gone. */
    void (*list)(struct remote_link *link, void *user);
    void (*record)(const struct remote_request *request, struct remote_link *link, void *user);

    /* In the agent itself. */
    void (*listening)(const char *address, uint16_t port, void *user);
    void (*say)(const char *text, void *user);
    void *user;
};

/* Until a signal (SIGINT, SIGTERM, SIGHUP) ends it; recordings that run are finished first. */
enum ifg_status agent_run(const struct agent_options *options,
                          struct ifg_error *err) IFG_MUST_CHECK;

#endif
