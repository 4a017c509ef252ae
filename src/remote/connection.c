// SPDX-License-Identifier: Apache-2.0
/* A socket, with TLS or without: see connection.h. */
#include "remote/connection.h"

#include <sys/socket.h>
#include <unistd.h>

#include "remote/socket.h"
#include "remote/tls.h"

enum ifg_status remote_connection_open(const char *host, uint16_t port,
                                       const struct remote_fingerprint *fingerprint,
                                       struct remote_connection *out, struct ifg_error *err)
{
    enum ifg_status status;

    *out = REMOTE_CONNECTION_NONE;
    status = remote_socket_connect(host, port, &out->socket, err);
    if (status)
        return status == IFG_PERMISSION ? IFG_IO : status;
    if (!fingerprint)
        return IFG_OK;
    status = remote_tls_connect(out->socket, fingerprint, &out->tls, err);
    if (status) {
        ifg_fail_context(err, status, "%s, port %u", host, (unsigned)port);
        remote_connection_close(out);
    }
    return status;
}

void remote_connection_close(struct remote_connection *connection)
{
    remote_tls_close(connection->tls);
    if (connection->socket >= 0)
        close(connection->socket);
    *connection = REMOTE_CONNECTION_NONE;
}

ssize_t remote_connection_send(const struct remote_connection *connection, const void *data,
                               size_t size)
{
    if (connection->tls)
        return remote_tls_send(connection->tls, data, size);
    return send(connection->socket, data, size, MSG_NOSIGNAL);
}

ssize_t remote_connection_receive(const struct remote_connection *connection, void *out,
                                  size_t size)
{
    if (connection->tls)
        return remote_tls_receive(connection->tls, out, size);
    return recv(connection->socket, out, size, 0);
}

bool remote_connection_holds(const struct remote_connection *connection)
{
    return connection->tls && remote_tls_holds(connection->tls);
}
