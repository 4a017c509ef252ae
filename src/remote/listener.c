// SPDX-License-Identifier: Apache-2.0
/* Where an agent listens: see listener.h. */
#include "remote/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "remote/protocol.h"
#include "system/tcp_peer.h"

#define BACKLOG 64

static enum ifg_status read_address(const char *text, struct sockaddr_storage *out,
                                    socklen_t *out_size, struct ifg_error *err)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)out;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)out;

    memset(out, 0, sizeof *out);
    if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        *out_size = sizeof *v4;
        return IFG_OK;
    }
    if (inet_pton(AF_INET6, text, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        *out_size = sizeof *v6;
        return IFG_OK;
    }
    return ifg_fail(err, IFG_INVALID, "'%s' is not an address in numbers, such as 127.0.0.1 or ::1",
                    text);
}

enum ifg_status remote_listener_check(const char *address, bool *out_is_loopback,
                                      struct ifg_error *err)
{
    struct sockaddr_storage parsed;
    struct tcp_peer peer;
    socklen_t size;
    enum ifg_status status = read_address(address, &parsed, &size, err);

    *out_is_loopback = false;
    if (status)
        return status;
    tcp_peer_set(&peer, (const struct sockaddr *)&parsed);
    *out_is_loopback = peer.is_local;
    return IFG_OK;
}

/* -1 and errno. */
static int try_port(struct sockaddr_storage *address, socklen_t size, uint16_t port)
{
    int on = 1;
    int listener = socket(address->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (listener < 0)
        return -1;
    if (address->ss_family == AF_INET)
        ((struct sockaddr_in *)address)->sin_port = htons(port);
    else
        ((struct sockaddr_in6 *)address)->sin6_port = htons(port);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener, (struct sockaddr *)address, size) < 0 || listen(listener, BACKLOG) < 0) {
        int saved = errno;

        close(listener);
        errno = saved;
        return -1;
    }
    return listener;
}

enum ifg_status remote_listener_open(const char *address, uint16_t port, int *out_socket,
                                     uint16_t *out_port, struct ifg_error *err)
{
    uint16_t first = port ? port : REMOTE_PORT;
    uint16_t last = port ? port : (uint16_t)(REMOTE_PORT + REMOTE_PORTS - 1);
    struct sockaddr_storage parsed;
    socklen_t size = 0;
    enum ifg_status status = read_address(address, &parsed, &size, err);

    *out_socket = -1;
    if (status)
        return status;
    for (uint32_t at = first; at <= last; at++) {
        *out_socket = try_port(&parsed, size, (uint16_t)at);
        *out_port = (uint16_t)at;
        if (*out_socket >= 0)
            return IFG_OK;
        if (errno != EADDRINUSE)
            break;
    }
    if (errno == EADDRINUSE && first != last)
        return ifg_fail(err, IFG_BUSY,
                        "all ports from %u to %u of %s are in use; give another with --listen "
                        "%s:PORT",
                        (unsigned)first, (unsigned)last, address, address);
    return ifg_fail_errno(err, "cannot listen on %s, port %u", address, (unsigned)first);
}
