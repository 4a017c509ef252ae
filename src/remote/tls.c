// SPDX-License-Identifier: Apache-2.0
/* The capturing end of an encrypted connection: see tls.h. */
#include "remote/tls.h"

#include <errno.h>
#include <gnutls/gnutls.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "base/ticks.h"
#include "remote/protocol.h"

#define HANDSHAKE_NS 10000000000ull

struct remote_tls {
    gnutls_session_t session;
    gnutls_certificate_credentials_t credentials;
    struct remote_fingerprint expected;
    struct remote_fingerprint found;
    int socket;
    int error;      /* of the socket, the last time it had one */
    bool has_heard; /* anything at all */
    bool is_plain;  /* what it begins with is not TLS, but what an agent says without it */
    bool is_other;  /* who answered is not who was expected */
};

/* An agent without TLS speaks first, and its first byte is none of TLS. */
static ssize_t pull(gnutls_transport_ptr_t pointer, void *out, size_t size)
{
    struct remote_tls *tls = pointer;
    uint8_t preface[REMOTE_PREFACE_BYTES];
    ssize_t got = recv(tls->socket, out, size, MSG_DONTWAIT);

    if (got < 0)
        tls->error = errno;
    if (got > 0 && !tls->has_heard) {
        remote_preface_put(preface);
        tls->has_heard = true;
        tls->is_plain = *(uint8_t *)out == preface[0];
    }
    return got;
}

/* In the handshake, before anything of ours is sent. */
static int check_peer(gnutls_session_t session)
{
    struct remote_tls *tls = gnutls_session_get_ptr(session);
    size_t size = sizeof tls->found.bytes;
    unsigned count = 0;
    const gnutls_datum_t *chain = gnutls_certificate_get_peers(session, &count);

    if (!chain || !count ||
        gnutls_fingerprint(GNUTLS_DIG_SHA256, &chain[0], tls->found.bytes, &size))
        return GNUTLS_E_CERTIFICATE_ERROR;
    tls->is_other = !remote_fingerprint_same(&tls->expected, &tls->found);
    return tls->is_other ? GNUTLS_E_CERTIFICATE_ERROR : 0;
}

static enum ifg_status begin(struct remote_tls *tls, int socket, struct ifg_error *err)
{
    int problem = gnutls_certificate_allocate_credentials(&tls->credentials);

    if (!problem)
        problem = gnutls_init(&tls->session, GNUTLS_CLIENT | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL);
    if (!problem)
        problem = gnutls_priority_set_direct(tls->session, REMOTE_TLS_RULES, NULL);
    if (!problem)
        problem = gnutls_credentials_set(tls->session, GNUTLS_CRD_CERTIFICATE, tls->credentials);
    if (problem)
        return ifg_fail(err, IFG_INTERNAL, "cannot begin TLS: %s", gnutls_strerror(problem));
    gnutls_session_set_ptr(tls->session, tls);
    gnutls_certificate_set_verify_function(tls->credentials, check_peer);
    tls->socket = socket;
    gnutls_transport_set_ptr2(tls->session, tls, (gnutls_transport_ptr_t)(intptr_t)socket);
    gnutls_transport_set_pull_function(tls->session, pull);
    return IFG_OK;
}

static enum ifg_status tell_other(const struct remote_tls *tls, struct ifg_error *err)
{
    char expected[REMOTE_FINGERPRINT_TEXT];
    char found[REMOTE_FINGERPRINT_TEXT];

    remote_fingerprint_write(&tls->expected, expected);
    remote_fingerprint_write(&tls->found, found);
    return ifg_fail(err, IFG_PERMISSION,
                    "its certificate has the fingerprint %s, not %s: another agent answers, or "
                    "somebody between; nothing was sent. Compare with what the agent printed when "
                    "it started",
                    found, expected);
}

static enum ifg_status shake_hands(struct remote_tls *tls, struct ifg_error *err)
{
    uint64_t until_ns = ifg_monotonic_ns() + HANDSHAKE_NS;
    uint64_t now_ns;
    int problem;

    while ((problem = gnutls_handshake(tls->session)) < 0) {
        struct pollfd polled = { tls->socket, POLLIN, 0 };

        if (problem != GNUTLS_E_AGAIN && problem != GNUTLS_E_INTERRUPTED &&
            gnutls_error_is_fatal(problem))
            break;
        if (gnutls_record_get_direction(tls->session))
            polled.events = POLLOUT;
        now_ns = ifg_monotonic_ns();
        if (now_ns >= until_ns)
            return ifg_fail(err, IFG_IO, "no answer in TLS; is it an agent?");
        poll(&polled, 1, (int)((until_ns - now_ns) / 1000000u) + 1);
    }
    if (problem >= 0)
        return IFG_OK;
    if (tls->is_plain)
        return ifg_fail(
            err, IFG_PERMISSION,
            "it does not encrypt, and is not spoken to without: nothing was sent. Start "
            "the agent with --tls");
    if (tls->is_other)
        return tell_other(tls, err);
    return ifg_fail(err, IFG_IO, "no TLS with it: %s", gnutls_strerror(problem));
}

enum ifg_status remote_tls_connect(int socket, const struct remote_fingerprint *expected,
                                   struct remote_tls **out_tls, struct ifg_error *err)
{
    struct remote_tls *tls = ifg_alloc(1, sizeof *tls);
    enum ifg_status status;

    *out_tls = NULL;
    if (!tls)
        return ifg_fail_no_memory(err, "for a connection");
    tls->expected = *expected;
    status = begin(tls, socket, err);
    if (!status)
        status = shake_hands(tls, err);
    if (status)
        remote_tls_close(tls);
    else
        *out_tls = tls;
    return status;
}

/* What recv and send would have said. */
static ssize_t result_of(const struct remote_tls *tls, ssize_t done)
{
    if (done >= 0)
        return done;
    if (done == GNUTLS_E_AGAIN || done == GNUTLS_E_INTERRUPTED || !gnutls_error_is_fatal((int)done))
        errno = EAGAIN;
    else if (done == GNUTLS_E_PULL_ERROR)
        errno = tls->error;
    else if (done == GNUTLS_E_PUSH_ERROR || done == GNUTLS_E_PREMATURE_TERMINATION)
        errno = ECONNRESET;
    else
        errno = EPROTO;
    return -1;
}

ssize_t remote_tls_send(struct remote_tls *tls, const void *data, size_t size)
{
    return result_of(tls, gnutls_record_send(tls->session, data, size));
}

ssize_t remote_tls_receive(struct remote_tls *tls, void *out, size_t size)
{
    return result_of(tls, gnutls_record_recv(tls->session, out, size));
}

bool remote_tls_holds(const struct remote_tls *tls)
{
    return gnutls_record_check_pending(tls->session) > 0;
}

void remote_tls_close(struct remote_tls *tls)
{
    if (!tls)
        return;
    if (tls->session) {
        gnutls_bye(tls->session, GNUTLS_SHUT_WR);
        gnutls_deinit(tls->session);
    }
    if (tls->credentials)
        gnutls_certificate_free_credentials(tls->credentials);
    ifg_free(tls);
}
