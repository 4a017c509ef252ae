// SPDX-License-Identifier: Apache-2.0
/* TCP connections: see socket.h. */
#include "remote/socket.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECT_MS 10000

void remote_socket_keep_alive(int socket)
{
    int on = 1;
    int idle_s = 10;
    int between_s = 5;
    int probes = 4;
    unsigned unanswered_ms = 30000;

    /* Each is a help, none a must. */
    setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
    setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &between_s, sizeof between_s);
    setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
    setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &unanswered_ms, sizeof unanswered_ms);
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/* 0, or the errno. */
static int try_address(const struct addrinfo *address, int *out_socket)
{
    int connection = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct pollfd polled = { connection, POLLOUT, 0 };
    int error = 0;
    socklen_t size = sizeof error;

    if (connection < 0)
        return errno;
    if (connect(connection, address->ai_addr, address->ai_addrlen) < 0) {
        if (errno != EINPROGRESS)
            error = errno;
        else if (poll(&polled, 1, CONNECT_MS) <= 0)
            error = ETIMEDOUT;
        else
            getsockopt(connection, SOL_SOCKET, SO_ERROR, &error, &size);
    }
    if (error)
        close(connection);
    else
        *out_socket = connection;
    return error;
}

enum ifg_status remote_socket_connect(const char *host, uint16_t port, int *out_socket,
                                      struct ifg_error *err)
{
    struct addrinfo wanted = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
    struct addrinfo *found = NULL;
    char service[8];
    int error = EHOSTUNREACH;
    int problem;

    *out_socket = -1;
    snprintf(service, sizeof service, "%u", (unsigned)port);
    problem = getaddrinfo(host, service, &wanted, &found);
    if (problem)
        return ifg_fail(err, IFG_NOT_FOUND, "cannot find host '%s': %s", host,
                        gai_strerror(problem));
    for (const struct addrinfo *a = found; a && *out_socket < 0; a = a->ai_next)
        error = try_address(a, out_socket);
    freeaddrinfo(found);
    if (*out_socket >= 0) {
        remote_socket_keep_alive(*out_socket);
        return IFG_OK;
    }
    return ifg_fail(err, IFG_IO,
                    "cannot connect to %s, port %u: %s; is 'inferogram agent' running there, and "
                    "its port forwarded (ssh -L %u:127.0.0.1:%u %s)?",
                    host, (unsigned)port, strerror(error), (unsigned)port, (unsigned)port, host);
}
