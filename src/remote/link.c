// SPDX-License-Identifier: Apache-2.0
/* A queue with a limit between a recorder and a socket: see link.h. */
#include "remote/link.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/ticks.h"
#include "remote/protocol.h"
#include "trace/output.h"

#define PATIENCE_NS    30000000000ull
#define TIDY_BYTES     (1u << 20) /* sent ones, before the rest moves to the front */
#define OWN_WORDS_ROOM (1u << 20) /* above the limit, for messages that are not the trace */

struct remote_link {
    int socket;
    char *name;
    struct ifg_bytes queue;
    size_t sent;    /* of the queue */
    size_t arrived; /* of that; what is sent, if nobody confirms anything */
    uint64_t patience_ns;
    uint64_t moved_ns; /* when something was sent or confirmed, or nothing was to be */
    int error;         /* why it is lost; 0: it is not */

    /* Of a link that is kept: */
    int control;      /* -1: it is not */
    bool owns_socket; /* it came through that */
    uint64_t count;   /* messages that have arrived */
    uint64_t keep_ns;
    uint64_t gone_ns; /* since when there is no connection; 0: there is one */
    int gone_error;   /* why */
};

enum order_kind { ORDER_HAVE, ORDER_WAIT, ORDER_RESUME };

struct order {
    enum order_kind kind;
    uint64_t count;
};

enum ifg_status remote_link_create(int socket, const char *name, struct remote_link **out_link,
                                   struct ifg_error *err)
{
    struct remote_link *link = ifg_alloc(1, sizeof *link);

    *out_link = NULL;
    if (link)
        link->name = ifg_strdup(name);
    if (!link || !link->name) {
        ifg_free(link);
        return ifg_fail_no_memory(err, "for a connection");
    }
    link->socket = socket;
    link->control = -1;
    link->patience_ns = PATIENCE_NS;
    link->moved_ns = ifg_monotonic_ns();
    ifg_bytes_init(&link->queue, REMOTE_LINK_LIMIT_BYTES + OWN_WORDS_ROOM);
    *out_link = link;
    return IFG_OK;
}

void remote_link_destroy(struct remote_link *link)
{
    if (!link)
        return;
    if (link->owns_socket)
        close(link->socket);
    if (link->control >= 0)
        close(link->control);
    ifg_bytes_fini(&link->queue);
    ifg_free(link->name);
    ifg_free(link);
}

void remote_link_set_patience(struct remote_link *link, unsigned milliseconds)
{
    link->patience_ns = milliseconds * 1000000ull;
}

struct ifg_bytes *remote_link_queue(struct remote_link *link)
{
    return &link->queue;
}

/* What may have to be sent, or sent again. */
static size_t pending(const struct remote_link *link)
{
    return link->queue.size - link->arrived;
}

static void tidy(struct remote_link *link)
{
    if (link->control < 0)
        link->arrived = link->sent;
    if (!pending(link)) {
        ifg_bytes_clear(&link->queue);
        link->sent = link->arrived = 0;
    } else if (link->arrived >= TIDY_BYTES && link->arrived >= link->queue.size / 2) {
        memmove(link->queue.data, link->queue.data + link->arrived, pending(link));
        link->queue.size -= link->arrived;
        link->sent -= link->arrived;
        link->arrived = 0;
    }
}

/* ---- a link that is kept ---- */

void remote_link_keep(struct remote_link *link, int control, const struct remote_kept *kept)
{
    link->control = control;
    link->keep_ns = kept->keep_ms * 1000000ull;
    remote_kept_put(&link->queue, kept);
}

static bool give_order(int control, const struct order *order, int socket)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } room = { 0 };
    struct iovec part = { (void *)order, sizeof *order };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

    if (socket >= 0) {
        struct cmsghdr *head;

        message.msg_control = room.bytes;
        message.msg_controllen = sizeof room.bytes;
        head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(sizeof socket);
        memcpy(CMSG_DATA(head), &socket, sizeof socket);
    }
    return sendmsg(control, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)sizeof *order;
}

bool remote_link_order_have(int control, uint64_t count)
{
    return give_order(control, &(struct order){ ORDER_HAVE, count }, -1);
}

bool remote_link_order_wait(int control)
{
    return give_order(control, &(struct order){ ORDER_WAIT, 0 }, -1);
}

bool remote_link_order_resume(int control, int socket, uint64_t count)
{
    return give_order(control, &(struct order){ ORDER_RESUME, count }, socket);
}

/* A socket that came with an order, or -1. */
static int socket_of(struct msghdr *message)
{
    struct cmsghdr *head = CMSG_FIRSTHDR(message);
    int socket = -1;

    if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS &&
        head->cmsg_len == CMSG_LEN(sizeof socket))
        memcpy(&socket, CMSG_DATA(head), sizeof socket);
    return socket;
}

/* So many messages have arrived in all: those of them that are in the queue need not stay. */
static void take_have(struct remote_link *link, uint64_t count, uint64_t now_ns)
{
    while (link->count < count && link->arrived < link->sent) {
        struct remote_message message;
        size_t bytes;

        if (remote_take(REMOTE_TOLD, link->queue.data + link->arrived, link->sent - link->arrived,
                        &message, &bytes) != REMOTE_TAKEN)
            return;
        link->arrived += bytes;
        link->count++;
        link->moved_ns = now_ns;
    }
}

static void lose(struct remote_link *link, int why, uint64_t now_ns)
{
    if (link->gone_ns)
        return;
    shutdown(link->socket, SHUT_RDWR); /* so that the other end knows, if it is there */
    link->gone_ns = now_ns;
    link->gone_error = why;
}

/* What was sent and has not arrived is sent again. */
static void take_socket(struct remote_link *link, int socket, uint64_t count, uint64_t now_ns)
{
    if (socket < 0)
        return;
    take_have(link, count, now_ns);
    if (link->count != count) { /* it has what was never sent, or wants what is gone */
        shutdown(socket, SHUT_RDWR);
        close(socket);
        return;
    }
    if (link->owns_socket)
        close(link->socket);
    link->socket = socket;
    link->owns_socket = true;
    link->sent = link->arrived;
    link->gone_ns = 0;
    link->moved_ns = now_ns;
}

static void hear_orders(struct remote_link *link, uint64_t now_ns)
{
    while (link->control >= 0) {
        union {
            struct cmsghdr align;
            char bytes[CMSG_SPACE(sizeof(int))];
        } room;
        struct order order;
        struct iovec part = { &order, sizeof order };
        struct msghdr message = { .msg_iov = &part,
                                  .msg_iovlen = 1,
                                  .msg_control = room.bytes,
                                  .msg_controllen = sizeof room.bytes };
        ssize_t got = recvmsg(link->control, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (got != (ssize_t)sizeof order) { /* the agent has ended, or does not keep it any more */
            close(link->control);
            link->control = -1;
            if (link->gone_ns && !link->error)
                link->error = link->gone_error;
            return;
        }
        if (order.kind == ORDER_HAVE)
            take_have(link, order.count, now_ns);
        else if (order.kind == ORDER_WAIT)
            lose(link, ECONNRESET, now_ns);
        else
            take_socket(link, socket_of(&message), order.count, now_ns);
    }
}

/* ---- sending ---- */

/* The connection is of no use any more. */
static void fail(struct remote_link *link, int why, uint64_t now_ns)
{
    if (link->control >= 0)
        lose(link, why, now_ns);
    else
        link->error = why;
}

bool remote_link_push(struct remote_link *link)
{
    uint64_t now_ns = ifg_monotonic_ns();

    hear_orders(link, now_ns);
    if (link->queue.failed && !link->error)
        link->error = ENOBUFS;
    while (!link->error && !link->gone_ns && link->sent < link->queue.size) {
        ssize_t done = send(link->socket, link->queue.data + link->sent,
                            link->queue.size - link->sent, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (done > 0) {
            link->sent += (size_t)done;
            link->moved_ns = now_ns;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            break;
        } else if (errno != EINTR) {
            fail(link, errno, now_ns);
        }
    }
    tidy(link);
    if (!pending(link))
        link->moved_ns = now_ns;
    else if (!link->error && !link->gone_ns && now_ns - link->moved_ns > link->patience_ns)
        fail(link, ETIMEDOUT, now_ns);
    if (link->gone_ns && !link->error && now_ns - link->gone_ns > link->keep_ns)
        link->error = link->gone_error;
    return !link->error;
}

/* Until so many bytes at most wait. */
static bool wait_for_room(struct remote_link *link, size_t most)
{
    while (remote_link_push(link) && pending(link) > most) {
        bool can_send = !link->gone_ns && link->sent < link->queue.size;
        struct pollfd polled[2] = { { can_send ? link->socket : -1, POLLOUT, 0 },
                                    { link->control, POLLIN, 0 } };

        poll(polled, 2, 100);
    }
    return !link->error;
}

bool remote_link_flush(struct remote_link *link)
{
    return wait_for_room(link, 0);
}

/* ---- the trace ---- */

struct link_output {
    struct trace_output output;
    struct remote_link *link;
};

static struct remote_link *link_of(struct trace_output *output)
{
    return ((struct link_output *)output)->link;
}

static ssize_t link_write(struct trace_output *output, const void *data, size_t size)
{
    struct remote_link *link = link_of(output);
    size_t done = 0;

    while (done < size) {
        size_t part = size - done < REMOTE_PART_MAX ? size - done : REMOTE_PART_MAX;
        bool is_last = done + part == size;

        if (pending(link) + part + REMOTE_HEAD_BYTES > REMOTE_LINK_LIMIT_BYTES &&
            !wait_for_room(link, REMOTE_LINK_LIMIT_BYTES - part - REMOTE_HEAD_BYTES))
            break;
        remote_put(&link->queue, REMOTE_PART, is_last ? REMOTE_PIECE_ENDS : 0,
                   (const uint8_t *)data + done, part);
        if (!remote_link_push(link))
            break;
        done += part;
    }
    if (done == size)
        return (ssize_t)size;
    errno = link->error;
    return -1;
}

/* What is under way cannot be taken back: the other end keeps whole pieces only. */
static void link_cut(struct trace_output *output, uint64_t bytes)
{
    (void)output;
    (void)bytes;
}

static bool link_accepts(struct trace_output *output)
{
    struct remote_link *link = link_of(output);

    return remote_link_push(link) && pending(link) < REMOTE_LINK_MUCH_BYTES;
}

static int link_close(struct trace_output *output)
{
    struct remote_link *link = link_of(output);

    /* What is kept is confirmed when all has been said, and more is to come. */
    if (link->control >= 0 ? remote_link_push(link) : remote_link_flush(link))
        return 0;
    errno = link->error;
    return -1;
}

static const struct trace_output_functions link_output_functions = {
    .write = link_write,
    .cut = link_cut,
    .accepts = link_accepts,
    .close = link_close,
};

enum ifg_status remote_link_output(struct remote_link *link, struct trace_output **out_output,
                                   struct ifg_error *err)
{
    struct link_output *own = ifg_alloc(1, sizeof *own);

    *out_output = NULL;
    if (own)
        own->output.name = ifg_strdup(link->name);
    if (!own || !own->output.name) {
        ifg_free(own);
        return ifg_fail_no_memory(err, "to send a trace");
    }
    own->output.functions = &link_output_functions;
    own->link = link;
    *out_output = &own->output;
    return IFG_OK;
}
