// SPDX-License-Identifier: Apache-2.0
/* Messages between the tool and the process that runs models: see protocol.h. */
#include "bench/runner/protocol.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "base/alloc.h"

/* ---- a socket with messages ---- */

static enum ifg_status fail_gone(struct ifg_error *err)
{
    return ifg_fail(err, IFG_IO, "the other side of the socket has gone");
}

/* After a call that failed: waits if that is the way, or says why it is over. */
static enum ifg_status cope(struct channel *channel, short events, struct ifg_error *err)
{
    if (errno == EINTR && !channel->wait)
        return IFG_OK;
    if ((errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) && channel->wait)
        return channel->wait(channel->user, events, err);
    if (errno == EPIPE || errno == ECONNRESET)
        return fail_gone(err);
    return ifg_fail_errno(err, "the socket to the process that runs models failed");
}

static enum ifg_status send_all(struct channel *channel, const void *data, size_t bytes, int flags,
                                struct ifg_error *err)
{
    const uint8_t *at = data;

    while (bytes) {
        ssize_t sent = send(channel->fd, at, bytes, MSG_NOSIGNAL | flags);

        if (sent < 0) {
            enum ifg_status status = cope(channel, POLLOUT, err);

            if (status)
                return status;
            continue;
        }
        at += sent;
        bytes -= (size_t)sent;
    }
    return IFG_OK;
}

static void take_sender(struct channel *channel, struct msghdr *header)
{
    struct cmsghdr *control = CMSG_FIRSTHDR(header);

    for (; control; control = CMSG_NXTHDR(header, control)) {
        struct ucred sender;

        if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_CREDENTIALS)
            continue;
        memcpy(&sender, CMSG_DATA(control), sizeof sender);
        channel->peer = sender.pid;
    }
}

static enum ifg_status receive_all(struct channel *channel, void *data, size_t bytes,
                                   struct ifg_error *err)
{
    uint8_t *at = data;

    while (bytes) {
        union {
            struct cmsghdr align;
            char room[CMSG_SPACE(sizeof(struct ucred))];
        } control;
        struct iovec piece = { at, bytes };
        struct msghdr header = { .msg_iov = &piece,
                                 .msg_iovlen = 1,
                                 .msg_control = &control,
                                 .msg_controllen = sizeof control };
        ssize_t got = recvmsg(channel->fd, &header, MSG_CMSG_CLOEXEC);

        if (got == 0)
            return fail_gone(err);
        if (got < 0) {
            enum ifg_status status = cope(channel, POLLIN, err);

            if (status)
                return status;
            continue;
        }
        take_sender(channel, &header);
        at += got;
        bytes -= (size_t)got;
    }
    return IFG_OK;
}

static enum ifg_status send_head(struct channel *channel, enum message_kind kind, size_t bytes,
                                 struct ifg_error *err)
{
    uint8_t head[PROTOCOL_HEAD_BYTES] = { (uint8_t)bytes, (uint8_t)(bytes >> 8),
                                          (uint8_t)(bytes >> 16), (uint8_t)(bytes >> 24),
                                          (uint8_t)kind };

    return send_all(channel, head, sizeof head, bytes ? MSG_MORE : 0, err);
}

static enum ifg_status receive_head(struct channel *channel, uint8_t *out_kind, size_t *out_bytes,
                                    struct ifg_error *err)
{
    uint8_t head[PROTOCOL_HEAD_BYTES];
    enum ifg_status status = receive_all(channel, head, sizeof head, err);

    if (status)
        return status;
    *out_bytes =
        (size_t)head[0] | (size_t)head[1] << 8 | (size_t)head[2] << 16 | (size_t)head[3] << 24;
    *out_kind = head[4];
    if (*out_bytes > PROTOCOL_MESSAGE_MAX)
        return ifg_fail(err, IFG_CORRUPT, "a message of %zu bytes is more than any can have",
                        *out_bytes);
    return IFG_OK;
}

enum ifg_status protocol_send(struct channel *channel, enum message_kind kind,
                              const struct ifg_bytes *body, struct ifg_error *err)
{
    enum ifg_status status;

    if (body && (body->failed || body->size > PROTOCOL_MESSAGE_MAX))
        return ifg_fail_no_memory(err, "for a message");
    status = send_head(channel, kind, body ? body->size : 0, err);
    if (!status && body)
        status = send_all(channel, body->data, body->size, 0, err);
    return status;
}

enum ifg_status protocol_receive(struct channel *channel, struct message *message,
                                 struct ifg_error *err)
{
    size_t bytes = 0;
    enum ifg_status status = receive_head(channel, &message->kind, &bytes, err);

    ifg_bytes_clear(&message->body);
    if (status)
        return status;
    if (!ifg_bytes_reserve(&message->body, bytes))
        return ifg_fail_no_memory(err, "for a message of %zu bytes", bytes);
    status = receive_all(channel, message->body.data, bytes, err);
    message->body.size = status ? 0 : bytes;
    return status;
}

enum ifg_status protocol_send_data(struct channel *channel, const void *data, size_t bytes,
                                   struct ifg_error *err)
{
    const uint8_t *at = data;
    enum ifg_status status = IFG_OK;

    while (bytes && !status) {
        size_t piece = bytes < PROTOCOL_DATA_MAX ? bytes : PROTOCOL_DATA_MAX;

        status = send_head(channel, MESSAGE_DATA, piece, err);
        if (!status)
            status = send_all(channel, at, piece, 0, err);
        at += piece;
        bytes -= piece;
    }
    return status;
}

enum ifg_status protocol_receive_data(struct channel *channel, void *data, size_t bytes,
                                      struct ifg_error *err)
{
    uint8_t *at = data;
    uint8_t forgotten[4096];

    while (bytes) {
        uint8_t kind = 0;
        size_t piece = 0;
        enum ifg_status status = receive_head(channel, &kind, &piece, err);

        if (status)
            return status;
        if (kind != MESSAGE_DATA || piece == 0 || piece > PROTOCOL_DATA_MAX || piece > bytes)
            return ifg_fail(err, IFG_CORRUPT,
                            "a message of kind %u and %zu bytes came where %zu bytes of a tensor "
                            "were missing",
                            kind, piece, bytes);
        bytes -= piece;
        while (piece) {
            size_t now = at || piece < sizeof forgotten ? piece : sizeof forgotten;

            status = receive_all(channel, at ? at : forgotten, now, err);
            if (status)
                return status;
            at = at ? at + now : NULL;
            piece -= now;
        }
    }
    return IFG_OK;
}

/* ---- bodies ---- */

void protocol_put_text(struct ifg_bytes *body, const char *text)
{
    size_t length = text ? strlen(text) : 0;

    ifg_bytes_put_string(body, text, length < PROTOCOL_TEXT_MAX ? length : PROTOCOL_TEXT_MAX);
}

static const char *take_text(struct ifg_cursor *cursor, size_t *out_length)
{
    const char *text = ifg_cursor_string(cursor, out_length);

    if (!cursor->failed &&
        (*out_length > PROTOCOL_TEXT_MAX || (*out_length && memchr(text, '\0', *out_length))))
        cursor->failed = true;
    return cursor->failed ? NULL : text;
}

char *protocol_get_text(struct ifg_cursor *cursor)
{
    size_t length = 0;
    const char *text = take_text(cursor, &length);
    char *copy = cursor->failed ? NULL : ifg_strndup(length ? text : "", length);

    if (!copy)
        cursor->failed = true;
    return copy;
}

void protocol_get_line(struct ifg_cursor *cursor, char *out, size_t size)
{
    size_t length = 0;
    const char *text = take_text(cursor, &length);

    if (cursor->failed)
        length = 0;
    if (length >= size) {
        length = size - 1;
        while (length && ((unsigned char)text[length] & 0xc0) == 0x80)
            length--; /* no half characters */
    }
    for (size_t i = 0; i < length; i++)
        out[i] = (unsigned char)text[i] < ' ' || text[i] == 0x7f ? ' ' : text[i];
    while (length && out[length - 1] == ' ')
        length--;
    out[length] = '\0';
}

uint64_t protocol_get_number(struct ifg_cursor *cursor, uint64_t most)
{
    uint64_t number = ifg_cursor_varint(cursor);

    if (number > most)
        cursor->failed = true;
    return cursor->failed ? 0 : number;
}

/* How many come, each of at least one byte: nothing is allocated for what cannot be there. */
static size_t get_count(struct ifg_cursor *cursor, size_t most)
{
    uint64_t count = protocol_get_number(cursor, most);

    if (count > ifg_cursor_left(cursor))
        cursor->failed = true;
    return cursor->failed ? 0 : (size_t)count;
}

static void put_shape(struct ifg_bytes *body, int32_t type, uint32_t rank, const int64_t *dims)
{
    ifg_bytes_put_varint(body, ifg_zigzag(type));
    ifg_bytes_put_varint(body, rank);
    for (uint32_t i = 0; i < rank && i < IFG_BENCH_RANK_MAX; i++)
        ifg_bytes_put_varint(body, ifg_zigzag(dims[i]));
}

static void get_shape(struct ifg_cursor *cursor, int32_t *out_type, uint32_t *out_rank,
                      int64_t *out_dims)
{
    int64_t type = ifg_unzigzag(ifg_cursor_varint(cursor));

    if (type < INT32_MIN || type > INT32_MAX)
        cursor->failed = true;
    *out_rank = (uint32_t)protocol_get_number(cursor, IFG_BENCH_RANK_MAX);
    *out_type = cursor->failed ? 0 : (int32_t)type;
    for (uint32_t i = 0; i < *out_rank; i++)
        out_dims[i] = ifg_unzigzag(ifg_cursor_varint(cursor));
}

void protocol_put_ports(struct ifg_bytes *body, const struct ifg_bench_port *ports, size_t count)
{
    ifg_bytes_put_varint(body, count);
    for (size_t i = 0; i < count; i++) {
        protocol_put_text(body, ports[i].name);
        put_shape(body, ports[i].type, ports[i].rank, ports[i].dims);
        for (uint32_t dim = 0; dim < ports[i].rank && dim < IFG_BENCH_RANK_MAX; dim++)
            protocol_put_text(body, ports[i].dim_names[dim]);
    }
}

static void get_port(struct ifg_cursor *cursor, struct port *port)
{
    port->name = protocol_get_text(cursor);
    get_shape(cursor, &port->type, &port->rank, port->dims);
    for (uint32_t dim = 0; dim < port->rank && !cursor->failed; dim++) {
        port->dim_names[dim] = protocol_get_text(cursor);
        if (port->dim_names[dim] && !port->dim_names[dim][0]) {
            ifg_free(port->dim_names[dim]);
            port->dim_names[dim] = NULL;
        }
    }
}

bool protocol_get_ports(struct ifg_cursor *cursor, struct port_list *out_ports)
{
    size_t count = get_count(cursor, PROTOCOL_LIST_MAX);

    *out_ports = (struct port_list){ 0 };
    if (count)
        out_ports->items = ifg_alloc(count, sizeof *out_ports->items);
    if (count && !out_ports->items)
        cursor->failed = true;
    while (out_ports->count < count && !cursor->failed)
        get_port(cursor, &out_ports->items[out_ports->count++]);
    if (cursor->failed)
        tensor_port_list_fini(out_ports);
    return !cursor->failed;
}

void protocol_put_tensor(struct ifg_bytes *body, const struct ifg_bench_tensor *tensor)
{
    protocol_put_text(body, tensor->name);
    put_shape(body, tensor->type, tensor->rank, tensor->dims);
    ifg_bytes_put_varint(body, tensor->bytes);
}

/* Types of unknown size are taken as they are: nobody looks at their elements. */
bool protocol_size_fits(int32_t type, const int64_t *dims, uint32_t rank, uint64_t size)
{
    uint64_t elements, bytes;
    size_t each = tensor_type_bytes(type);

    if (rank > IFG_BENCH_RANK_MAX || !tensor_elements(dims, rank, &elements))
        return false;
    if (type == IFG_BENCH_STRING)
        return size >= elements;
    return each == 0 ||
           (!__builtin_mul_overflow(elements, (uint64_t)each, &bytes) && bytes == size);
}

bool protocol_get_tensors(struct ifg_cursor *cursor, struct tensor_list *out_tensors)
{
    size_t count = get_count(cursor, PROTOCOL_LIST_MAX);
    uint64_t left = PROTOCOL_TENSORS_MAX;

    *out_tensors = (struct tensor_list){ 0 };
    if (count)
        out_tensors->items = ifg_alloc(count, sizeof *out_tensors->items);
    if (count && !out_tensors->items)
        cursor->failed = true;
    while (out_tensors->count < count && !cursor->failed) {
        struct tensor *tensor = &out_tensors->items[out_tensors->count++];

        tensor->name = protocol_get_text(cursor);
        get_shape(cursor, &tensor->type, &tensor->rank, tensor->dims);
        tensor->bytes = (size_t)protocol_get_number(cursor, left);
        left -= tensor->bytes;
        if (!cursor->failed &&
            !protocol_size_fits(tensor->type, tensor->dims, tensor->rank, tensor->bytes))
            cursor->failed = true;
    }
    if (cursor->failed)
        tensor_list_fini(out_tensors);
    return !cursor->failed;
}

bool protocol_texts_fit(const struct tensor *tensor)
{
    uint64_t elements, ends = 0;

    if (tensor->type != IFG_BENCH_STRING)
        return true;
    if (!tensor_elements(tensor->dims, tensor->rank, &elements))
        return false;
    for (size_t i = 0; i < tensor->bytes; i++)
        ends += tensor->data[i] == 0;
    return ends == elements && (tensor->bytes == 0 || tensor->data[tensor->bytes - 1] == 0);
}

void protocol_put_work(struct ifg_bytes *body, const struct runner_work *work)
{
    uint64_t rate;

    memcpy(&rate, &work->rate_hz, sizeof rate);
    ifg_bytes_put_varint(body, work->kind);
    ifg_bytes_put_varint(body, work->workers);
    ifg_bytes_put_varint(body, work->per_query);
    ifg_bytes_put_varint(body, work->queries);
    ifg_bytes_put_varint(body, work->duration_ns);
    ifg_bytes_put_varint(body, rate);
    ifg_bytes_put_varint(body, work->seed);
    ifg_bytes_put_varint(body, work->first_set);
}

bool protocol_get_work(struct ifg_cursor *cursor, struct runner_work *out_work)
{
    uint64_t rate;

    out_work->kind = protocol_get_number(cursor, RUNNER_OPEN) ? RUNNER_OPEN : RUNNER_CLOSED;
    out_work->workers = (uint32_t)protocol_get_number(cursor, PROTOCOL_WORKERS_MAX);
    out_work->per_query = (uint32_t)protocol_get_number(cursor, UINT32_MAX);
    out_work->queries = ifg_cursor_varint(cursor);
    out_work->duration_ns = protocol_get_number(cursor, INT64_MAX / 4);
    rate = ifg_cursor_varint(cursor);
    out_work->seed = ifg_cursor_varint(cursor);
    out_work->first_set = ifg_cursor_varint(cursor);
    memcpy(&out_work->rate_hz, &rate, sizeof rate);
    if (out_work->workers == 0)
        out_work->workers = 1;
    if (out_work->per_query == 0)
        out_work->per_query = 1;
    return !cursor->failed;
}

static void get_placements(struct ifg_cursor *cursor, struct runner_loaded *loaded)
{
    size_t count = get_count(cursor, PROTOCOL_LIST_MAX);

    for (size_t i = 0; i < count && !cursor->failed; i++) {
        struct runner_placement placement;

        protocol_get_line(cursor, placement.provider, sizeof placement.provider);
        placement.nodes = (uint32_t)protocol_get_number(cursor, UINT32_MAX);
        if (loaded->placement_count < RUNNER_PLACEMENTS)
            loaded->placements[loaded->placement_count++] = placement;
    }
    protocol_get_line(cursor, loaded->placement_reason, sizeof loaded->placement_reason);
}

static void get_nodes(struct ifg_cursor *cursor, struct runner_loaded *loaded)
{
    size_t count = get_count(cursor, PROTOCOL_NODES_MAX);

    if (count)
        loaded->nodes = ifg_alloc(count, sizeof *loaded->nodes);
    if (count && !loaded->nodes)
        cursor->failed = true;
    while (loaded->node_count < count && !cursor->failed) {
        struct runner_node *node = &loaded->nodes[loaded->node_count++];

        node->name = protocol_get_text(cursor);
        node->op_type = protocol_get_text(cursor);
        node->provider = protocol_get_text(cursor);
    }
}

void runner_loaded_fini(struct runner_loaded *loaded)
{
    tensor_port_list_fini(&loaded->inputs);
    tensor_port_list_fini(&loaded->outputs);
    for (size_t i = 0; i < loaded->node_count; i++) {
        ifg_free(loaded->nodes[i].name);
        ifg_free(loaded->nodes[i].op_type);
        ifg_free(loaded->nodes[i].provider);
    }
    ifg_free(loaded->nodes);
    memset(loaded, 0, sizeof *loaded);
}

bool protocol_get_loaded(struct ifg_cursor *cursor, struct runner_loaded *out_loaded)
{
    memset(out_loaded, 0, sizeof *out_loaded);
    out_loaded->slot = (unsigned)protocol_get_number(cursor, PROTOCOL_SLOTS_MAX - 1);
    out_loaded->load_ns = ifg_cursor_varint(cursor);
    out_loaded->specialization_ns = ifg_cursor_varint(cursor);
    out_loaded->rss_bytes = ifg_cursor_varint(cursor);
    if (protocol_get_ports(cursor, &out_loaded->inputs))
        protocol_get_ports(cursor, &out_loaded->outputs);
    get_placements(cursor, out_loaded);
    get_nodes(cursor, out_loaded);
    if (cursor->failed)
        runner_loaded_fini(out_loaded);
    return !cursor->failed;
}

bool protocol_get_lines(struct ifg_cursor *cursor, char ***out_lines, size_t *out_count)
{
    size_t count = get_count(cursor, PROTOCOL_LIST_MAX);
    char **lines = ifg_alloc(count + 1, sizeof *lines);

    *out_lines = NULL;
    *out_count = 0;
    if (!lines)
        cursor->failed = true;
    for (size_t i = 0; i < count && !cursor->failed; i++)
        lines[i] = protocol_get_text(cursor);
    if (cursor->failed) {
        for (size_t i = 0; lines && i < count; i++)
            ifg_free(lines[i]);
        ifg_free(lines);
        return false;
    }
    *out_lines = lines;
    *out_count = count;
    return true;
}

enum ifg_status protocol_get_status(struct ifg_cursor *cursor, struct ifg_error *err)
{
    uint64_t number = protocol_get_number(cursor, -(int)IFG_INTERNAL);
    char text[sizeof err->message];

    protocol_get_line(cursor, text, sizeof text);
    if (cursor->failed)
        return ifg_fail(err, IFG_CORRUPT,
                        "an answer of the process that runs models makes no sense");
    if (number == 0)
        return IFG_OK;
    return ifg_fail(err, (enum ifg_status) - (int)number, "%s",
                    text[0] ? text : "the runtime gave no reason");
}
