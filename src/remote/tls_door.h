// SPDX-License-Identifier: Apache-2.0
/*
 * The agent's end of an encrypted connection: a process for each, which turns TLS outside into
 * plain bytes inside and back. It is the first to read what strangers send, so it can do nothing
 * else: no rights of root, no process, no network but the two sockets that it has.
 *
 * It holds no more than a record or two of each direction; who does not read makes the other side
 * wait, as without it.
 */
#ifndef IFG_REMOTE_TLS_DOOR_H
#define IFG_REMOTE_TLS_DOOR_H

#include <sys/types.h>

#include "remote/identity.h"

/* In a child of the agent, which has closed everything else. Neither socket blocks. Does not
 * return. */
void remote_tls_door(const struct remote_identity *identity, int outside, int inside)
    __attribute__((noreturn));

#endif
