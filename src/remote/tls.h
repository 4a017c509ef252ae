// SPDX-License-Identifier: Apache-2.0
/*
 * A connection that is encrypted: TLS 1.3 and nothing older, and on the capturing end only with the
 * agent whose fingerprint was given. The agent's end has a process of its own that knows nothing
 * but keys and bytes (tls_door.h).
 */
#ifndef IFG_REMOTE_TLS_H
#define IFG_REMOTE_TLS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/status.h"
#include "remote/identity.h"

#define REMOTE_TLS_RULES "SECURE128:-VERS-ALL:+VERS-TLS1.3"

struct remote_tls;

/* Over a socket that does not block and stays the caller's; within some seconds. IFG_PERMISSION: it
 * is another agent, or does not encrypt. */
enum ifg_status remote_tls_connect(int socket, const struct remote_fingerprint *expected,
                                   struct remote_tls **out_tls,
                                   struct ifg_error *err) IFG_MUST_CHECK;

/* As send(2) and recv(2) on a socket that does not block. What send did not take is to be given
 * again. */
ssize_t remote_tls_send(struct remote_tls *tls, const void *data, size_t size);
ssize_t remote_tls_receive(struct remote_tls *tls, void *out, size_t size);

/* Whether something is there that poll does not see. */
bool remote_tls_holds(const struct remote_tls *tls);

void remote_tls_close(struct remote_tls *tls); /* accepts NULL; not the socket */

#endif
