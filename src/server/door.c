// SPDX-License-Identifier: Apache-2.0
/* The door of the server: see door.h. */
#include "server/door.h"

#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/ticks.h"
#include "system/tcp_peer.h"

#define VISITORS_MOST    (DOOR_WAITING_MOST + DOOR_INSIDE_MOST)
#define LEAVING_MS       5000u /* until one that was told to leave is forgotten */
#define LOOK_MS          100   /* how often deadlines are looked at */
#define ACCEPT_AT_A_TIME 64
#define EVENTS_AT_A_TIME 64
#define LEAVE_AT_A_TIME  8u

enum visitor_state {
    VISITOR_NONE,
    VISITOR_WAITING, /* for the headers of its first request */
    VISITOR_READY,   /* they are there */
    VISITOR_INSIDE,  /* the library has it */
    VISITOR_LEAVING, /* the library has it and finds it shut */
};

struct visitor {
    enum visitor_state state;
    bool known;
    int socket;       /* ours */
    int given_socket; /* the library's, of the same connection */
    uint64_t number;  /* in the order of their coming */
    uint64_t deadline_ms;
    struct tcp_peer peer;
};

struct door {
    const struct guard *guard;
    struct MHD_Daemon *daemon;
    int listener;
    int poll;
    int wake;
    bool running;
    pthread_t thread;
    atomic_bool over;
    atomic_bool used;
    uint64_t comers;
    pthread_mutex_t lock; /* for what follows */
    struct visitor visitors[VISITORS_MOST];
    char request[DOOR_REQUEST_BYTES + 1]; /* of the door's own thread */
};

static uint64_t now_ms(void)
{
    return ifg_monotonic_ns() / 1000000;
}

/* ---- the list; all with the lock held ---- */

static void forget(struct visitor *visitor)
{
    close(visitor->socket);
    *visitor = (struct visitor){ .state = VISITOR_NONE };
}

static bool is_outside(const struct visitor *visitor)
{
    return visitor->state == VISITOR_WAITING || visitor->state == VISITOR_READY;
}

static bool is_unknown_inside(const struct visitor *visitor)
{
    return visitor->state == VISITOR_INSIDE && !visitor->known;
}

static bool is_leaving(const struct visitor *visitor)
{
    return visitor->state == VISITOR_LEAVING;
}

static bool has_library(const struct visitor *visitor)
{
    return visitor->state == VISITOR_INSIDE || visitor->state == VISITOR_LEAVING;
}

static size_t count_those(const struct door *door, bool (*are)(const struct visitor *visitor))
{
    size_t count = 0;

    for (size_t i = 0; i < VISITORS_MOST; i++)
        count += are(&door->visitors[i]);
    return count;
}

static struct visitor *find_given(struct door *door, int socket)
{
    struct visitor *found = NULL;

    for (size_t i = 0; i < VISITORS_MOST; i++)
        if (has_library(&door->visitors[i]) && door->visitors[i].given_socket == socket &&
            (!found || door->visitors[i].number > found->number))
            found = &door->visitors[i];
    return found;
}

static void send_away(struct visitor *visitor)
{
    if (!has_library(visitor)) {
        forget(visitor);
        return;
    }
    shutdown(visitor->socket, SHUT_RDWR);
    visitor->state = VISITOR_LEAVING;
    visitor->deadline_ms = now_ms() + LEAVING_MS;
}

/* Of those, the oldest of the peer that has most of them. */
static struct visitor *find_next_to_leave(struct door *door,
                                          bool (*are)(const struct visitor *visitor))
{
    struct visitor *found = NULL;
    size_t most = 0;

    for (size_t i = 0; i < VISITORS_MOST; i++) {
        struct visitor *visitor = &door->visitors[i];
        size_t same = 0;

        if (!are(visitor))
            continue;
        for (size_t k = 0; k < VISITORS_MOST; k++)
            same +=
                are(&door->visitors[k]) && tcp_peer_same(&visitor->peer, &door->visitors[k].peer);
        if (!found || same > most || (same == most && visitor->number < found->number)) {
            found = visitor;
            most = same;
        }
    }
    return found;
}

static void make_room(struct door *door, bool (*are)(const struct visitor *visitor))
{
    struct visitor *visitor;

    for (size_t i = 0; i < VISITORS_MOST; i++)
        if (are(&door->visitors[i]))
            tcp_peer_find_user(&door->visitors[i].peer, door->visitors[i].socket);
    for (unsigned i = 0; i < LEAVE_AT_A_TIME && (visitor = find_next_to_leave(door, are)); i++)
        send_away(visitor);
}

/* ---- the first request ---- */

/* Behind the empty line that ends the headers; NULL: there is none yet. */
static const char *end_of_headers(const char *request, size_t size)
{
    for (size_t i = 0; i + 1 < size; i++)
        if (request[i] == '\n' &&
            (request[i + 1] == '\n' ||
             (request[i + 1] == '\r' && i + 2 < size && request[i + 2] == '\n')))
            return request + i + 1;
    return NULL;
}

/* Only to tell friends from strangers; what they may ask for is decided when they do. */
static bool shows_token(const struct guard *guard, const char *request, const char *end)
{
    static const char name[] = "authorization:";
    char value[128];

    for (const char *line = request; line < end;) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        size_t length = (size_t)((stop ? stop : end) - line);

        if (length >= sizeof name && strncasecmp(line, name, sizeof name - 1) == 0) {
            const char *at = line + sizeof name - 1;

            while (at < line + length && (*at == ' ' || *at == '\t'))
                at++;
            length -= (size_t)(at - line);
            while (length && (at[length - 1] == '\r' || at[length - 1] == ' '))
                length--;
            if (length >= sizeof value)
                return false;
            memcpy(value, at, length);
            value[length] = '\0';
            return guard_token(guard, value);
        }
        line = stop ? stop + 1 : end;
    }
    return false;
}

static void look_at_request(struct door *door, struct visitor *visitor)
{
    ssize_t size =
        recv(visitor->socket, door->request, DOOR_REQUEST_BYTES, MSG_PEEK | MSG_DONTWAIT);
    const char *end;

    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (size <= 0) {
        forget(visitor); /* it ended before it asked */
        return;
    }
    end = end_of_headers(door->request, (size_t)size);
    if (!end && size < (ssize_t)DOOR_REQUEST_BYTES)
        return;
    /* Headers that are too long are for the library to refuse. */
    visitor->known = end && shows_token(door->guard, door->request, end);
    visitor->state = VISITOR_READY;
    visitor->deadline_ms = now_ms() + DOOR_READY_MS; /* it is not its fault that it waits */
    epoll_ctl(door->poll, EPOLL_CTL_DEL, visitor->socket, NULL);
}

/* ---- coming in ---- */

static struct visitor *free_place(struct door *door)
{
    if (count_those(door, is_outside) >= DOOR_WAITING_MOST)
        make_room(door, is_outside);
    for (size_t i = 0; i < VISITORS_MOST; i++)
        if (door->visitors[i].state == VISITOR_NONE)
            return &door->visitors[i];
    return NULL;
}

static void admit(struct door *door, int socket, const struct sockaddr *address)
{
    struct visitor *visitor = free_place(door);
    struct epoll_event event = { .events = EPOLLIN | EPOLLRDHUP | EPOLLET };

    if (!visitor) {
        close(socket);
        return;
    }
    *visitor = (struct visitor){ .state = VISITOR_WAITING,
                                 .socket = socket,
                                 .given_socket = -1,
                                 .number = door->comers++,
                                 .deadline_ms = now_ms() + DOOR_WAITING_MS };
    tcp_peer_set(&visitor->peer, address);
    event.data.u64 = visitor->number;
    if (epoll_ctl(door->poll, EPOLL_CTL_ADD, socket, &event) != 0) {
        forget(visitor);
        return;
    }
    look_at_request(door, visitor); /* mostly it is there already */
}

static void accept_some(struct door *door)
{
    union {
        struct sockaddr any;
        struct sockaddr_in6 v6;
    } address;

    for (int i = 0; i < ACCEPT_AT_A_TIME; i++) {
        socklen_t size = sizeof address;
        int socket = accept4(door->listener, &address.any, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);

        if (socket >= 0) {
            admit(door, socket, &address.any);
            continue;
        }
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            make_room(door, is_outside);
            return;
        }
        if (errno != EINTR && errno != ECONNABORTED)
            return;
    }
}

/* To the library. Our own copy of the socket stays ours, so that it can be shut without asking
 * whether the number still means the same connection. */
static void let_in(struct door *door, struct visitor *visitor)
{
    struct sockaddr_in6 address = { 0 };
    socklen_t size = sizeof address;
    int given = fcntl(visitor->socket, F_DUPFD_CLOEXEC, 0);
    enum MHD_Result taken = MHD_NO;

    if (given < 0 || getpeername(visitor->socket, (struct sockaddr *)&address, &size) != 0) {
        if (given >= 0)
            close(given);
        forget(visitor);
        return;
    }
    visitor->given_socket = given;
    visitor->state = VISITOR_INSIDE;
    visitor->deadline_ms = now_ms() + DOOR_UNKNOWN_INSIDE_MS;
    /* It may call door_left from here. */
    pthread_mutex_unlock(&door->lock);
    taken = MHD_add_connection(door->daemon, given, (struct sockaddr *)&address, size);
    pthread_mutex_lock(&door->lock);
    if (!taken && (visitor = find_given(door, given)))
        forget(visitor);
}

/* How many strangers are inside that come from where this one does. */
static size_t count_inside(const struct door *door, const struct visitor *visitor)
{
    size_t count = 0;

    for (size_t i = 0; i < VISITORS_MOST; i++)
        count += is_unknown_inside(&door->visitors[i]) &&
                 tcp_peer_same(&visitor->peer, &door->visitors[i].peer);
    return count;
}

/* The known ones first. Of the others, one of the peer that has fewest inside, so that nobody waits
 * behind a crowd; of one peer in the order of their coming. */
static struct visitor *find_next_ready(struct door *door)
{
    struct visitor *found = NULL;
    size_t found_inside = 0;

    for (size_t i = 0; i < VISITORS_MOST; i++) {
        struct visitor *visitor = &door->visitors[i];
        size_t inside = 0;

        if (visitor->state != VISITOR_READY || (found && found->known > visitor->known))
            continue;
        if (!visitor->known) {
            tcp_peer_find_user(&visitor->peer, visitor->socket);
            inside = count_inside(door, visitor);
        }
        if (!found || visitor->known > found->known || inside < found_inside ||
            (inside == found_inside && visitor->number < found->number)) {
            found = visitor;
            found_inside = inside;
        }
    }
    return found;
}

static void let_some_in(struct door *door)
{
    struct visitor *visitor;

    while ((visitor = find_next_ready(door))) {
        if (!visitor->known && count_those(door, is_unknown_inside) >= DOOR_UNKNOWN_INSIDE_MOST)
            make_room(door, is_unknown_inside);
        if (count_those(door, has_library) >= DOOR_INSIDE_MOST) {
            /* Who was told to leave and is still there makes room: nobody else has to go. */
            if (!count_those(door, is_leaving))
                make_room(door, is_unknown_inside);
            return; /* those that leave wake us */
        }
        let_in(door, visitor);
    }
}

static void look_at_deadlines(struct door *door)
{
    uint64_t now = now_ms();

    for (size_t i = 0; i < VISITORS_MOST; i++) {
        struct visitor *visitor = &door->visitors[i];

        if (visitor->state == VISITOR_NONE || now < visitor->deadline_ms)
            continue;
        /* It may have asked in time, and we not have come to look. */
        if (visitor->state == VISITOR_WAITING)
            look_at_request(door, visitor);
        if (visitor->state == VISITOR_NONE || now < visitor->deadline_ms)
            continue;
        if (visitor->state == VISITOR_LEAVING)
            forget(visitor);
        else if (visitor->state != VISITOR_INSIDE || !visitor->known)
            send_away(visitor);
    }
}

/* ---- the thread ---- */

#define LISTENER_EVENT UINT64_MAX
#define WAKE_EVENT     (UINT64_MAX - 1)

static void take_event(struct door *door, uint64_t what)
{
    uint64_t ignored;

    if (what == LISTENER_EVENT) {
        accept_some(door);
        return;
    }
    if (what == WAKE_EVENT) {
        if (read(door->wake, &ignored, sizeof ignored) < 0)
            return;
        return;
    }
    for (size_t i = 0; i < VISITORS_MOST; i++)
        if (door->visitors[i].state == VISITOR_WAITING && door->visitors[i].number == what) {
            look_at_request(door, &door->visitors[i]);
            return;
        }
}

static void *keep_door(void *argument)
{
    struct door *door = argument;
    struct epoll_event events[EVENTS_AT_A_TIME];

    while (!atomic_load(&door->over)) {
        int count = epoll_wait(door->poll, events, EVENTS_AT_A_TIME, LOOK_MS);

        pthread_mutex_lock(&door->lock);
        for (int i = 0; i < count; i++)
            take_event(door, events[i].data.u64);
        look_at_deadlines(door);
        let_some_in(door);
        pthread_mutex_unlock(&door->lock);
    }
    return NULL;
}

enum ifg_status door_create(int listener, const struct guard *guard, struct door **out_door,
                            struct ifg_error *err)
{
    struct door *door = ifg_alloc(1, sizeof *door);
    struct epoll_event events[] = { { .events = EPOLLIN, .data.u64 = LISTENER_EVENT },
                                    { .events = EPOLLIN, .data.u64 = WAKE_EVENT } };

    *out_door = NULL;
    if (!door) {
        close(listener);
        return ifg_fail_no_memory(err, NULL);
    }
    door->guard = guard;
    door->listener = listener;
    door->poll = epoll_create1(EPOLL_CLOEXEC);
    door->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_init(&door->lock, NULL);
    *out_door = door;
    if (door->poll < 0 || door->wake < 0 ||
        epoll_ctl(door->poll, EPOLL_CTL_ADD, listener, &events[0]) != 0 ||
        epoll_ctl(door->poll, EPOLL_CTL_ADD, door->wake, &events[1]) != 0)
        return ifg_fail_errno(err, "cannot wait for connections");
    return IFG_OK;
}

enum ifg_status door_open(struct door *door, struct MHD_Daemon *daemon, struct ifg_error *err)
{
    sigset_t all;
    sigset_t before;

    door->daemon = daemon;
    sigfillset(&all); /* signals are for the thread that waits for them */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    door->running = pthread_create(&door->thread, NULL, keep_door, door) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return door->running ? IFG_OK : ifg_fail_errno(err, "cannot start the server");
}

static void wake(struct door *door)
{
    const uint64_t one = 1;

    if (write(door->wake, &one, sizeof one) < 0)
        return; /* it is awake */
}

void door_close(struct door *door)
{
    if (!door || !door->running)
        return;
    atomic_store(&door->over, true);
    wake(door);
    pthread_join(door->thread, NULL);
    door->running = false;
    close(door->listener);
    door->listener = -1;
}

void door_destroy(struct door *door)
{
    if (!door)
        return;
    for (size_t i = 0; i < VISITORS_MOST; i++)
        if (door->visitors[i].state != VISITOR_NONE)
            forget(&door->visitors[i]);
    if (door->listener >= 0)
        close(door->listener);
    if (door->poll >= 0)
        close(door->poll);
    if (door->wake >= 0)
        close(door->wake);
    pthread_mutex_destroy(&door->lock);
    ifg_free(door);
}

void door_know(struct door *door, int socket)
{
    struct visitor *visitor;

    atomic_store(&door->used, true);
    pthread_mutex_lock(&door->lock);
    visitor = find_given(door, socket);
    if (visitor)
        visitor->known = true;
    pthread_mutex_unlock(&door->lock);
}

void door_left(struct door *door, int socket)
{
    struct visitor *visitor;

    pthread_mutex_lock(&door->lock);
    visitor = find_given(door, socket);
    if (visitor)
        forget(visitor);
    pthread_mutex_unlock(&door->lock);
    wake(door);
}

bool door_was_used(const struct door *door)
{
    return atomic_load(&door->used);
}
