// SPDX-License-Identifier: Apache-2.0
/* The server: see server.h. Listens, guards, and passes requests on to the table of routes. */
#include "server/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "server/assets.h"
#include "server/door.h"
#include "server/guard.h"
#include "server/handler.h"
#include "server/live.h"
#include "server/routes.h"
#include "server/traces.h"

#define CONNECTION_SECONDS 120u
#define ANSWERS_AT_ONCE    16u /* so much memory they can take together */
#define CONTENT_POLICY                                                                             \
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' "     \
    "data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

struct server {
    struct MHD_Daemon *daemon;
    struct door *door;
    struct guard guard;
    struct traces traces;
    struct live_server *live; /* NULL: nothing is being recorded */
    sem_t answers;
    bool has_answers;
    int socket;
    char url[256];
};

/* What is known of a request before it is answered. */
struct exchange {
    const char *path;
    size_t path_length;
    enum request_result result;
    const char *why;
    bool begun; /* the library has told of the headers */
    struct request request;
    char target[REQUEST_TARGET_MAX + 1];
};

/* ---- one request ---- */

/* Called with the address as it came, before anybody has changed it. */
static void *begin_exchange(void *cls, const char *uri, struct MHD_Connection *connection)
{
    struct exchange *exchange = ifg_alloc(1, sizeof *exchange);
    size_t length = strlen(uri);
    const char *question;

    (void)cls;
    (void)connection;
    if (!exchange)
        return NULL;
    exchange->result = request_parse(uri, length, &exchange->request, &exchange->why);
    if (length <= REQUEST_TARGET_MAX) {
        memcpy(exchange->target, uri, length);
        question = memchr(uri, '?', length);
        exchange->path = exchange->target;
        exchange->path_length = question ? (size_t)(question - uri) : length;
    }
    return exchange;
}

static void end_exchange(void *cls, struct MHD_Connection *connection, void **exchange,
                         enum MHD_RequestTerminationCode how)
{
    (void)cls;
    (void)connection;
    (void)how;
    ifg_free(*exchange);
    *exchange = NULL;
}

static int connection_socket(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);

    return info ? info->connect_fd : -1;
}

static void note_end(void *cls, struct MHD_Connection *connection, void **socket_context,
                     enum MHD_ConnectionNotificationCode what)
{
    const struct server *server = cls;

    (void)socket_context;
    if (what == MHD_CONNECTION_NOTIFY_CLOSED)
        door_left(server->door, connection_socket(connection));
}

static enum MHD_Result send_response(struct MHD_Connection *connection, unsigned status,
                                     const char *content_type, struct MHD_Response *response)
{
    static const struct {
        const char *name;
        const char *value;
    } headers[] = {
        { "Content-Security-Policy", CONTENT_POLICY },
        { "X-Content-Type-Options", "nosniff" },
        { "Referrer-Policy", "no-referrer" },
        { "Cache-Control", "no-store" },
        /* Nor may another page load these files, or hold on to the window in which they are. */
        { "Cross-Origin-Resource-Policy", "same-origin" },
        { "Cross-Origin-Opener-Policy", "same-origin" },
    };
    enum MHD_Result result;

    if (!response)
        return MHD_NO;
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++)
        MHD_add_response_header(response, headers[i].name, headers[i].value);
    MHD_add_response_header(response, "Content-Type", content_type);
    if (status == 401)
        MHD_add_response_header(response, "WWW-Authenticate", "Bearer");
    if (status == 405)
        MHD_add_response_header(response, "Allow", "GET");
    result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result send_answer(struct MHD_Connection *connection, struct server_answer *answer)
{
    struct MHD_Response *response;

    if (answer->stream) {
        ifg_bytes_fini(&answer->body);
        return send_response(connection, 200, answer->content_type, answer->stream);
    }
    if (answer->body.failed) {
        ifg_bytes_fini(&answer->body);
        ifg_bytes_init(&answer->body, SERVER_ANSWER_MAX);
        answer_error(answer, 500, "the answer is larger than %zu MB, or memory is short",
                     SERVER_ANSWER_MAX >> 20);
    }
    response = MHD_create_response_from_buffer_with_free_callback(answer->body.size,
                                                                  answer->body.data, ifg_free);
    if (!response)
        ifg_bytes_fini(&answer->body);
    return send_response(connection, answer->status, answer->content_type, response);
}

static enum MHD_Result send_error(struct MHD_Connection *connection, unsigned status,
                                  const char *sentence)
{
    struct server_answer answer = { 0 };

    ifg_bytes_init(&answer.body, SERVER_ANSWER_MAX);
    answer_error(&answer, status, "%s", sentence);
    return send_answer(connection, &answer);
}

static enum MHD_Result send_asset(struct MHD_Connection *connection, const struct asset *asset)
{
    /* The library takes it as not const, and only reads it. */
    return send_response(connection, 200, asset->content_type,
                         MHD_create_response_from_buffer(
                             asset->size, (void *)(uintptr_t)asset->data, MHD_RESPMEM_PERSISTENT));
}

static void answer_loading(struct server_trace *trace, struct server_answer *answer)
{
    struct ifg_json json = answer_json(answer);

    answer->status = 503;
    ifg_json_open(&json, '{');
    ifg_json_put_string(&json, "error", "loading");
    ifg_json_put_double(&json, "progress", trace_progress(trace));
    ifg_json_close(&json, '}');
}

/* Finds the trace that a request is about; false: the answer is already there. */
static bool find_trace(struct server *server, struct server_request *request,
                       struct server_answer *answer)
{
    uint32_t id = request->query->trace;
    struct server_trace *trace;

    if (id >= server->traces.count) {
        answer_error(answer, 404, "there is no trace %u", id);
        return false;
    }
    if (server->live && !live_server_is_over(server->live)) {
        answer_error(answer, 503, "recording");
        return false;
    }
    trace = &server->traces.items[id];
    switch (trace_use(trace)) {
    case TRACE_READY:
        break;
    case TRACE_BAD:
        answer_error(answer, 422, "%s", trace->why);
        return false;
    default:
        answer_loading(trace, answer);
        return false;
    }
    request->trace = trace;
    request->timeline = trace->timeline;
    return true;
}

static enum MHD_Result serve_api(struct server *server, struct MHD_Connection *connection,
                                 const struct exchange *exchange, bool is_get)
{
    bool of_trace = exchange->request.trace != REQUEST_NO_TRACE;
    enum route_scope scope = of_trace ? ROUTE_TRACE : is_get ? ROUTE_SERVER : ROUTE_ACTION;
    enum route_scope other = is_get ? ROUTE_ACTION : ROUTE_SERVER;
    const struct route *route = route_find(exchange->request.name, scope);
    struct server_request request = { .traces = &server->traces,
                                      .query = &exchange->request,
                                      .live = server->live };
    struct server_answer answer = { .status = 200 };

    if ((!route && !of_trace && route_find(exchange->request.name, other)) ||
        (route && of_trace && !is_get))
        return send_error(connection, 405, "this address is not for this method");
    if (!route)
        return send_error(connection, 404, "there is nothing at this address");
    ifg_bytes_init(&answer.body, SERVER_ANSWER_MAX);
    while (sem_wait(&server->answers) != 0 && errno == EINTR)
        ;
    if (!of_trace || find_trace(server, &request, &answer))
        route->handler(&request, &answer);
    sem_post(&server->answers);
    return send_answer(connection, &answer);
}

static bool is_api(const struct exchange *exchange)
{
    static const char api[] = "/api/";

    return exchange->path_length >= sizeof api - 1 &&
           memcmp(exchange->path, api, sizeof api - 1) == 0;
}

static enum MHD_Result handle(void *cls, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *upload_data,
                              size_t *upload_size, void **con_cls)
{
    struct server *server = cls;
    struct exchange *exchange = *con_cls;
    bool is_get = strcmp(method, "GET") == 0;
    struct asset asset;

    (void)url;
    (void)version;
    (void)upload_data;
    if (!exchange)
        return send_error(connection, 500, "not enough memory");
    /* Answered at the first call, the connection is closed behind it: right for what is not GET,
     * whose body nobody wants. */
    if (is_get && !exchange->begun) {
        exchange->begun = true;
        return MHD_YES;
    }
    if (*upload_size) /* a GET with a body */
        return MHD_NO;
    if (!guard_host(&server->guard,
                    MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Host")))
        return send_error(connection, 421, "this server answers only to its own name");
    if (!is_get && strcmp(method, "POST") != 0)
        return send_error(connection, 405, "only GET is answered here");
    if (exchange->result == REQUEST_TOO_LONG)
        return send_error(connection, 414, exchange->why);
    if (!is_api(exchange)) {
        if (!asset_find(exchange->path, exchange->path_length, &asset))
            return send_error(connection, 404, "there is nothing at this address");
        if (!is_get)
            return send_error(connection, 405, "only GET is answered here");
        return send_asset(connection, &asset);
    }
    if (!guard_token(&server->guard,
                     MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Authorization")))
        return send_error(connection, 401,
                          "the token is missing or wrong: open the address that inferogram serve "
                          "has printed");
    door_know(server->door, connection_socket(connection));
    if (!is_get && !guard_origin(&server->guard, MHD_lookup_connection_value(
                                                     connection, MHD_HEADER_KIND, "Origin")))
        return send_error(connection, 403, "requests of other pages are refused");
    if (exchange->result != REQUEST_OK)
        return send_error(connection, exchange->result == REQUEST_UNKNOWN ? 404 : 400,
                          exchange->why);
    return serve_api(server, connection, exchange, is_get);
}

/* ---- listening ---- */

struct listen_address {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    };
    socklen_t size;
};

static enum ifg_status parse_address(const char *text, uint16_t port, struct listen_address *out,
                                     struct ifg_error *err)
{
    memset(out, 0, sizeof *out);
    if (inet_pton(AF_INET, text, &out->v4.sin_addr) == 1) {
        out->v4.sin_family = AF_INET;
        out->v4.sin_port = htons(port);
        out->size = sizeof out->v4;
        return IFG_OK;
    }
    if (inet_pton(AF_INET6, text, &out->v6.sin6_addr) == 1) {
        out->v6.sin6_family = AF_INET6;
        out->v6.sin6_port = htons(port);
        out->size = sizeof out->v6;
        return IFG_OK;
    }
    return ifg_fail(err, IFG_INVALID, "'%s' is not an address such as 127.0.0.1 or ::1", text);
}

static enum ifg_status listen_on(struct server *server, const struct server_options *options,
                                 uint16_t *out_port, struct ifg_error *err)
{
    const char *text = options->address ? options->address : "127.0.0.1";
    struct listen_address address;
    enum ifg_status status = parse_address(text, options->port, &address, err);
    int one = 1;

    if (status)
        return status;
    server->socket = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (server->socket < 0)
        return ifg_fail_errno(err, "cannot make a socket");
    setsockopt(server->socket, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(server->socket, &address.any, address.size) != 0 ||
        listen(server->socket, SOMAXCONN) != 0)
        return ifg_fail_errno(err, "cannot listen on %s port %u", text, (unsigned)options->port);
    if (getsockname(server->socket, &address.any, &address.size) != 0)
        return ifg_fail_errno(err, "cannot learn the port");
    *out_port =
        ntohs(address.any.sa_family == AF_INET ? address.v4.sin_port : address.v6.sin6_port);
    snprintf(server->url, sizeof server->url,
             strchr(text, ':') ? "http://[%.64s]:%u/" : "http://%.64s:%u/", text,
             (unsigned)*out_port);
    return IFG_OK;
}

static enum ifg_status start_daemon(struct server *server, struct ifg_error *err)
{
    enum ifg_status status = door_create(server->socket, &server->guard, &server->door, err);

    if (status)
        return status;
    server->socket = -1; /* the door's from now on */
    server->daemon = MHD_start_daemon(
        MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_ITC |
            MHD_USE_NO_LISTEN_SOCKET,
        0, NULL, NULL, handle, server, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_CONNECTION_LIMIT,
        2 * DOOR_INSIDE_MOST, MHD_OPTION_CONNECTION_TIMEOUT, CONNECTION_SECONDS,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)DOOR_REQUEST_BYTES, MHD_OPTION_URI_LOG_CALLBACK,
        begin_exchange, NULL, MHD_OPTION_NOTIFY_COMPLETED, end_exchange, NULL,
        MHD_OPTION_NOTIFY_CONNECTION, note_end, server, MHD_OPTION_END);
    if (!server->daemon)
        return ifg_fail_errno(err, "cannot start the server");
    return door_open(server->door, server->daemon, err);
}

enum ifg_status server_start(const struct server_options *options, struct server **out_server,
                             struct ifg_error *err)
{
    struct server *server = ifg_alloc(1, sizeof *server);
    enum ifg_status status = IFG_OK;
    uint16_t port = 0;
    size_t length;

    *out_server = NULL;
    if (!server)
        return ifg_fail_no_memory(err, NULL);
    server->socket = -1;
    for (size_t i = 0; !status && i < options->path_count; i++)
        status = traces_add(&server->traces, options->paths[i], err);
    if (!status)
        status = listen_on(server, options, &port, err);
    if (!status)
        status = guard_init(&server->guard, port, options->address, err);
    if (!status) {
        length = strlen(server->url);
        snprintf(server->url + length, sizeof server->url - length, "#token=%s",
                 server->guard.token);
        sem_init(&server->answers, 0, ANSWERS_AT_ONCE);
        server->has_answers = true;
        server->traces.live = options->live;
        status = traces_start(&server->traces, err);
    }
    if (!status && options->live)
        status = live_server_start(options, &server->live, err);
    if (!status)
        status = start_daemon(server, err);
    if (status) {
        server_stop(server);
        return status;
    }
    *out_server = server;
    return IFG_OK;
}

void server_stop(struct server *server)
{
    if (!server)
        return;
    live_server_hush(server->live);
    door_close(server->door);
    if (server->daemon)
        MHD_stop_daemon(server->daemon);
    door_destroy(server->door);
    if (server->socket >= 0)
        close(server->socket);
    live_server_stop(server->live);
    traces_fini(&server->traces);
    if (server->has_answers)
        sem_destroy(&server->answers);
    ifg_free(server);
}

const char *server_url(const struct server *server)
{
    return server->url;
}

bool server_was_visited(const void *server)
{
    return door_was_used(((const struct server *)server)->door);
}

bool server_is_to_be_kept(const struct server *server)
{
    return server->live && live_server_is_to_be_kept(server->live);
}

bool server_has_page(void)
{
    return assets_have_page();
}
