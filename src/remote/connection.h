// SPDX-License-Identifier: Apache-2.0
/* The capturing end's way to an agent: a socket, with TLS over it if a fingerprint was given. */
#ifndef IFG_REMOTE_CONNECTION_H
#define IFG_REMOTE_CONNECTION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"
#include "remote/identity.h"

struct remote_tls;

struct remote_connection {
    int socket;             /* -1: there is none; does not block */
    struct remote_tls *tls; /* NULL: in the clear */
};

#define REMOTE_CONNECTION_NONE ((struct remote_connection){ .socket = -1 })

/* fingerprint: NULL for none. IFG_PERMISSION: who is there is not who was expected, or does not
 * encrypt. */
enum ifg_status remote_connection_open(const char *host, uint16_t port,
                                       const struct remote_fingerprint *fingerprint,
                                       struct remote_connection *out,
                                       struct ifg_error *err) IFG_MUST_CHECK;
void remote_connection_close(struct remote_connection *connection);

/* As send(2) and recv(2). */
ssize_t remote_connection_send(const struct remote_connection *connection, const void *data,
                               size_t size);
ssize_t remote_connection_receive(const struct remote_connection *connection, void *out,
                                  size_t size);

/* Whether something is there that poll does not see. */
bool remote_connection_holds(const struct remote_connection *connection);

#endif
