// SPDX-License-Identifier: Apache-2.0
/* From TLS to plain bytes and back: see tls_door.h. The sandbox has no calls for sockets: what is
 * done here is read, write and poll. */
#include "remote/tls_door.h"

#include <errno.h>
#include <gnutls/gnutls.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/ticks.h"
#include "remote/protocol.h"
#include "remote/tls.h"
#include "system/credentials.h"
#include "system/sandbox.h"

#define HANDSHAKE_NS 5000000000ull
#define PATIENCE_NS  30000000000ull /* once nobody is inside: as a link's */
#define LEAVING_NS   2000000000ull
#define PART_BYTES   (16u << 10) /* a record */

/* Bytes on their way in one direction. */
struct flow {
    size_t size;
    size_t done;
    bool is_over; /* no more will come */
    uint8_t bytes[PART_BYTES];
};

struct door {
    gnutls_session_t session;
    int outside;
    int inside;
    size_t ahead; /* of what came outside, before it was clear what it is */
    size_t ahead_read;
    uint8_t head[REMOTE_PREFACE_BYTES];
    struct flow in;
    struct flow out;
};

static ssize_t pull(gnutls_transport_ptr_t pointer, void *out, size_t size)
{
    struct door *door = pointer;
    size_t left = door->ahead - door->ahead_read;

    if (!left)
        return read(door->outside, out, size);
    if (size > left)
        size = left;
    memcpy(out, door->head + door->ahead_read, size);
    door->ahead_read += size;
    return (ssize_t)size;
}

static ssize_t push(gnutls_transport_ptr_t pointer, const void *data, size_t size)
{
    struct door *door = pointer;

    return write(door->outside, data, size);
}

/* Until the time, for either of them; ends the process when it has come, or nobody is inside. */
static void wait_outside(struct door *door, short events, uint64_t until_ns)
{
    struct pollfd polled[2] = { { door->outside, events, 0 }, { door->inside, 0, 0 } };
    uint64_t now_ns = ifg_monotonic_ns();

    if (now_ns >= until_ns)
        _exit(0);
    poll(polled, 2, (int)((until_ns - now_ns) / 1000000u) + 1);
    if (polled[1].revents & (POLLHUP | POLLERR))
        _exit(0);
}

/* Reads until the other end has closed, so that what was sent to it is not lost. A stranger leaves
 * at once when the agent has no time for him. */
static void leave(struct door *door, bool is_stranger)
{
    uint64_t until_ns = ifg_monotonic_ns() + LEAVING_NS;
    ssize_t got;

    while ((got = read(door->outside, door->in.bytes, sizeof door->in.bytes)) != 0) {
        struct pollfd polled[2] = { { door->outside, POLLIN, 0 },
                                    { is_stranger ? door->inside : -1, 0, 0 } };
        uint64_t now_ns = ifg_monotonic_ns();

        if ((got < 0 && errno != EAGAIN && errno != EINTR) || now_ns >= until_ns)
            break;
        if (got < 0 && poll(polled, 2, (int)((until_ns - now_ns) / 1000000u) + 1) > 0 &&
            polled[1].revents)
            break;
    }
    _exit(0);
}

/* Whoever speaks the protocol in the clear is told what is missing. He has sent no secret yet: that
 * comes after the welcome. */
static void refuse_plain(struct door *door)
{
    struct remote_refused refused = { .why = REMOTE_REFUSAL_TLS };
    uint8_t preface[REMOTE_PREFACE_BYTES];
    struct ifg_bytes message;

    snprintf(refused.text, sizeof refused.text,
             "this agent speaks TLS only: give --fingerprint with what it printed when it started");
    remote_preface_put(preface);
    ifg_bytes_init(&message, REMOTE_TOLD_MAX);
    ifg_bytes_put(&message, preface, sizeof preface);
    remote_refused_put(&message, &refused);
    if (write(door->outside, message.data, message.size) != (ssize_t)message.size)
        _exit(0);
    leave(door, true);
}

static void look_at_head(struct door *door, uint64_t until_ns)
{
    uint8_t preface[REMOTE_PREFACE_BYTES];
    ssize_t got;

    remote_preface_put(preface);
    do {
        wait_outside(door, POLLIN, until_ns);
        got = read(door->outside, door->head + door->ahead, sizeof door->head - door->ahead);
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
            _exit(0);
        if (got > 0)
            door->ahead += (size_t)got;
    } while (!door->ahead || (door->head[0] == preface[0] && door->ahead < sizeof door->head));
    if (memcmp(door->head, preface, 8) == 0)
        refuse_plain(door);
}

static void begin_session(struct door *door, const struct remote_identity *identity)
{
    if (gnutls_init(&door->session, GNUTLS_SERVER | GNUTLS_NONBLOCK | GNUTLS_NO_TICKETS) ||
        gnutls_priority_set_direct(door->session, REMOTE_TLS_RULES, NULL) ||
        gnutls_credentials_set(door->session, GNUTLS_CRD_CERTIFICATE,
                               remote_identity_credentials(identity)))
        _exit(1);
    gnutls_certificate_server_set_request(door->session, GNUTLS_CERT_IGNORE);
    gnutls_transport_set_ptr(door->session, door);
    gnutls_transport_set_pull_function(door->session, pull);
    gnutls_transport_set_push_function(door->session, push);
}

static void shake_hands(struct door *door, uint64_t until_ns)
{
    int problem;

    while ((problem = gnutls_handshake(door->session)) < 0) {
        if (problem != GNUTLS_E_AGAIN && problem != GNUTLS_E_INTERRUPTED &&
            gnutls_error_is_fatal(problem)) {
            gnutls_alert_send_appropriate(door->session, problem);
            leave(door, true);
        }
        wait_outside(door, gnutls_record_get_direction(door->session) ? POLLOUT : POLLIN, until_ns);
    }
}

static bool is_passing(ssize_t done)
{
    return done == GNUTLS_E_AGAIN || done == GNUTLS_E_INTERRUPTED ||
           !gnutls_error_is_fatal((int)done);
}

/* Whether anything moved. */
static bool move_in(struct door *door)
{
    struct flow *in = &door->in;
    ssize_t done;

    if (in->done == in->size && !in->is_over) {
        done = gnutls_record_recv(door->session, in->bytes, sizeof in->bytes);
        in->is_over = done == 0 || (done < 0 && !is_passing(done));
        in->size = done > 0 ? (size_t)done : 0;
        in->done = 0;
    }
    if (in->done == in->size)
        return false;
    done = write(door->inside, in->bytes + in->done, in->size - in->done);
    if (done > 0)
        in->done += (size_t)done;
    else if (errno != EAGAIN && errno != EINTR)
        in->is_over = true;
    return done > 0;
}

static bool move_out(struct door *door)
{
    struct flow *out = &door->out;
    ssize_t done;

    if (out->done == out->size && !out->is_over) {
        done = read(door->inside, out->bytes, sizeof out->bytes);
        out->is_over = done == 0 || (done < 0 && errno != EAGAIN && errno != EINTR);
        out->size = done > 0 ? (size_t)done : 0;
        out->done = 0;
    }
    if (out->done == out->size)
        return false;
    done = gnutls_record_send(door->session, out->bytes + out->done, out->size - out->done);
    if (done > 0)
        out->done += (size_t)done;
    else if (!is_passing(done))
        _exit(0); /* the other end is gone; whoever is inside sees that we are */
    return done > 0;
}

static void wait_for_both(struct door *door, int most_ms)
{
    bool in_waits = door->in.done < door->in.size;
    bool out_waits = door->out.done < door->out.size;
    short outside = (short)((in_waits ? 0 : POLLIN) | (out_waits ? POLLOUT : 0));
    short inside =
        (short)((out_waits || door->out.is_over ? 0 : POLLIN) | (in_waits ? POLLOUT : 0));
    struct pollfd polled[2] = { { door->outside, outside, 0 },
                                { inside ? door->inside : -1, inside, 0 } };

    poll(polled, 2, most_ms);
    /* Gone without a word, while what came from there before waits inside. */
    if ((polled[0].revents & (POLLERR | POLLHUP)) && in_waits)
        _exit(0);
}

static void pass_on(struct door *door)
{
    uint64_t moved_ns = ifg_monotonic_ns();

    for (;;) {
        bool has_moved = move_in(door);

        has_moved |= move_out(door);
        if (door->in.is_over)
            _exit(0);
        if (door->out.is_over && door->out.done == door->out.size) {
            gnutls_bye(door->session, GNUTLS_SHUT_WR);
            leave(door, false);
        }
        if (has_moved)
            moved_ns = ifg_monotonic_ns();
        else if (!door->out.is_over)
            wait_for_both(door, -1);
        else if (ifg_monotonic_ns() - moved_ns > PATIENCE_NS)
            _exit(0);
        else
            wait_for_both(door, 1000);
    }
}

/* Signals are for the agent and its recorders, who still need us to finish; we end with them. */
static void confine(void)
{
    struct credentials nobody;

    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    credentials_nobody(&nobody);
    if ((geteuid() == 0 && !credentials_become(&nobody)) || !sandbox_enter())
        _exit(1);
}

void remote_tls_door(const struct remote_identity *identity, int outside, int inside)
{
    static struct door door;
    uint64_t until_ns = ifg_monotonic_ns() + HANDSHAKE_NS;

    door = (struct door){ .outside = outside, .inside = inside };
    confine();
    look_at_head(&door, until_ns);
    begin_session(&door, identity);
    shake_hands(&door, until_ns);
    pass_on(&door);
    _exit(0);
}
