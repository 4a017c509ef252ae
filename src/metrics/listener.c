// SPDX-License-Identifier: Apache-2.0
/* HTTP for one page: see listener.h. */
#include "metrics/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/ticks.h"
#include "server/guard.h"
#include "system/tcp_peer.h"

#define IDLE_S        10u
#define REQUEST_BYTES (16u << 10)

struct connection {
    int socket; /* -1: a free place */
    uint64_t since_ns;
};

struct metrics_listener {
    struct MHD_Daemon *daemon;
    int poll; /* the library's */
    bool is_loopback;
    void (*fill)(struct ifg_bytes *out, enum metrics_format format, void *user);
    void *user;
    struct connection connections[LISTENER_CONNECTIONS_MOST];
};

/* ---- the address ---- */

enum ifg_status metrics_address_open(const char *address, uint16_t port,
                                     struct metrics_address *out_address, struct ifg_error *err)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } name = { .v6 = { 0 } };
    socklen_t size = sizeof name.v4;
    struct tcp_peer peer;
    int one = 1;

    *out_address = (struct metrics_address){ .socket = -1 };
    if (inet_pton(AF_INET, address, &name.v4.sin_addr) == 1) {
        name.v4.sin_family = AF_INET;
        name.v4.sin_port = htons(port);
    } else if (inet_pton(AF_INET6, address, &name.v6.sin6_addr) == 1) {
        name.v6.sin6_family = AF_INET6;
        name.v6.sin6_port = htons(port);
        size = sizeof name.v6;
    } else {
        return ifg_fail(err, IFG_INVALID,
                        "--metrics: '%s' is not an address in numbers, such as 127.0.0.1 or ::1",
                        address);
    }
    tcp_peer_set(&peer, &name.any);
    out_address->is_loopback = peer.is_local;
    out_address->socket = socket(name.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (out_address->socket < 0)
        return ifg_fail_errno(err, "cannot make a socket for metrics");
    setsockopt(out_address->socket, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(out_address->socket, &name.any, size) != 0 ||
        listen(out_address->socket, (int)LISTENER_CONNECTIONS_MOST) != 0 ||
        getsockname(out_address->socket, &name.any, &size) != 0) {
        enum ifg_status status = ifg_fail_errno(
            err, "cannot serve metrics on %s, port %u (choose another with --metrics)", address,
            (unsigned)port);

        metrics_address_close(out_address);
        return status;
    }
    port = ntohs(name.any.sa_family == AF_INET ? name.v4.sin_port : name.v6.sin6_port);
    snprintf(out_address->url, sizeof out_address->url,
             strchr(address, ':') ? "http://[%.64s]:%u/metrics" : "http://%.64s:%u/metrics",
             address, (unsigned)port);
    return IFG_OK;
}

void metrics_address_close(struct metrics_address *address)
{
    if (address->socket >= 0)
        close(address->socket);
    address->socket = -1;
}

/* ---- who is connected ---- */

static int socket_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);

    return info ? info->connect_fd : -1;
}

static struct connection *find(struct metrics_listener *listener, int socket)
{
    for (size_t i = 0; i < LISTENER_CONNECTIONS_MOST; i++)
        if (listener->connections[i].socket == socket)
            return &listener->connections[i];
    return NULL;
}

/* The library closes it when it finds it shut. */
static void shut_oldest_if_crowded(struct metrics_listener *listener)
{
    struct connection *oldest = NULL;
    size_t count = 0;

    for (size_t i = 0; i < LISTENER_CONNECTIONS_MOST; i++) {
        struct connection *connection = &listener->connections[i];

        if (connection->socket < 0)
            continue;
        count++;
        if (!oldest || connection->since_ns < oldest->since_ns)
            oldest = connection;
    }
    if (oldest && count + 2 >= LISTENER_CONNECTIONS_MOST)
        shutdown(oldest->socket, SHUT_RDWR);
}

static void note_connection(void *user, struct MHD_Connection *connection, void **context,
                            enum MHD_ConnectionNotificationCode what)
{
    struct metrics_listener *listener = user;
    int socket = socket_of(connection);
    struct connection *place;

    (void)context;
    if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
        place = find(listener, socket);
        if (place)
            place->socket = -1;
        return;
    }
    shut_oldest_if_crowded(listener);
    place = find(listener, -1);
    if (place)
        *place = (struct connection){ socket, ifg_monotonic_ns() };
}

static void shut_late(struct metrics_listener *listener)
{
    uint64_t now_ns = ifg_monotonic_ns();

    for (size_t i = 0; i < LISTENER_CONNECTIONS_MOST; i++)
        if (listener->connections[i].socket >= 0 &&
            now_ns - listener->connections[i].since_ns > LISTENER_DEADLINE_S * 1000000000ull)
            shutdown(listener->connections[i].socket, SHUT_RDWR);
}

/* ---- answers ---- */

static enum MHD_Result send_bytes(struct MHD_Connection *connection, unsigned status,
                                  const char *content_type, struct ifg_bytes *body)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer_with_free_callback(body->size, body->data, ifg_free);
    enum MHD_Result result;

    if (!response) {
        ifg_bytes_fini(body);
        return MHD_NO;
    }
    MHD_add_response_header(response, "Content-Type", content_type);
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(response, "Cache-Control", "no-store");
    /* A connection that stays would take the place of another one, and costs nothing to make. */
    MHD_add_response_header(response, "Connection", "close");
    if (status == 405)
        MHD_add_response_header(response, "Allow", "GET, HEAD");
    result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result send_line(struct MHD_Connection *connection, unsigned status,
                                 const char *line)
{
    struct ifg_bytes body;

    ifg_bytes_init(&body, 1024);
    ifg_bytes_put(&body, line, strlen(line));
    ifg_bytes_put(&body, "\n", 1);
    return send_bytes(connection, status, "text/plain; charset=utf-8", &body);
}

/* Through a forwarded port it is another one: only the name matters here. */
static bool is_own_name(const char *host)
{
    const char *colon = host ? strrchr(host, ':') : NULL;
    struct guard guard = { .port = 0 };

    if (!colon || colon[1] < '0' || colon[1] > '9')
        return false;
    guard.port = (uint16_t)strtoul(colon + 1, NULL, 10);
    return guard_host(&guard, host);
}

static enum MHD_Result answer(void *user, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_size, void **state)
{
    static int has_begun;
    struct metrics_listener *listener = user;
    enum metrics_format format;
    struct ifg_bytes body;

    (void)version;
    (void)upload;
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return send_line(connection, 405, "only GET is answered here");
    if (!*state) { /* the headers; the end of the request is still to come */
        *state = &has_begun;
        return MHD_YES;
    }
    if (*upload_size)
        return MHD_NO;
    if (listener->is_loopback &&
        !is_own_name(MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Host")))
        return send_line(connection, 421,
                         "only requests to 127.0.0.1, [::1] or localhost are "
                         "answered here");
    if (strcmp(url, "/metrics") != 0)
        return send_line(connection, 404, "metrics are at /metrics");
    format = metrics_format_for(MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Accept"));
    ifg_bytes_init(&body, METRICS_TEXT_MOST);
    listener->fill(&body, format, listener->user);
    if (body.failed) {
        ifg_bytes_fini(&body);
        return send_line(connection, 500, "not enough memory");
    }
    return send_bytes(connection, 200, metrics_content_type(format), &body);
}

/* ---- the listener ---- */

enum ifg_status
metrics_listener_create(struct metrics_address *address,
                        void (*fill)(struct ifg_bytes *out, enum metrics_format format, void *user),
                        void *user, struct metrics_listener **out_listener, struct ifg_error *err)
{
    struct metrics_listener *listener = ifg_alloc(1, sizeof *listener);
    const union MHD_DaemonInfo *info;

    *out_listener = NULL;
    if (!listener)
        return ifg_fail_no_memory(err, "to serve metrics");
    listener->is_loopback = address->is_loopback;
    listener->fill = fill;
    listener->user = user;
    for (size_t i = 0; i < LISTENER_CONNECTIONS_MOST; i++)
        listener->connections[i].socket = -1;
    listener->daemon = MHD_start_daemon(
        MHD_USE_EPOLL, 0, NULL, NULL, answer, listener, MHD_OPTION_LISTEN_SOCKET, address->socket,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_CONNECTION_LIMIT, LISTENER_CONNECTIONS_MOST,
        MHD_OPTION_CONNECTION_TIMEOUT, IDLE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)REQUEST_BYTES, MHD_OPTION_NOTIFY_CONNECTION, note_connection, listener,
        MHD_OPTION_END);
    if (!listener->daemon) {
        ifg_free(listener);
        return ifg_fail_errno(err, "cannot serve metrics");
    }
    address->socket = -1; /* the library's from now on */
    info = MHD_get_daemon_info(listener->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    listener->poll = info ? info->epoll_fd : -1;
    *out_listener = listener;
    return IFG_OK;
}

void metrics_listener_destroy(struct metrics_listener *listener)
{
    if (!listener)
        return;
    MHD_stop_daemon(listener->daemon);
    ifg_free(listener);
}

int metrics_listener_fd(const struct metrics_listener *listener)
{
    return listener->poll;
}

void metrics_listener_work(struct metrics_listener *listener)
{
    shut_late(listener);
    MHD_run(listener->daemon);
}
