// SPDX-License-Identifier: Apache-2.0
/* Listening, letting in, and children that answer: see agent.h. */
#include "remote/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/ticks.h"
#include "remote/listener.h"
#include "remote/socket.h"
#include "remote/tls_door.h"
#include "remote/token.h"
#include "system/tcp_peer.h"

#define VISITORS_MOST (AGENT_WAITING_MOST + AGENT_ANSWERS_MOST)
#define DOORS_MOST    (2 * VISITORS_MOST) /* some of them leave */
#define HELD_BYTES    (REMOTE_HEAD_BYTES + REMOTE_ASKED_MAX)

struct visitor {
    int socket; /* -1: it is gone, but its child may not be */
    pid_t child;
    bool is_asked_to_stop;
    bool has_greeted; /* its preface was there */
    bool is_trusted;
    bool is_done; /* nothing it says is heard any more; it closes when it has read all */
    uint64_t since_ns;
    uint32_t keep_ms; /* the recording, when the connection is lost; 0: not at all */
    char key[REMOTE_KEY_DIGITS + 1];
    int control;      /* of the child that keeps it (link.h); -1: none does */
    uint64_t lost_ns; /* since when it is kept */
    struct remote_request request;
    pid_t waits_for; /* the end of this child, before its own begins */
    struct tcp_peer peer;
    size_t held; /* bytes */
    uint8_t bytes[HELD_BYTES];
};

struct agent {
    const struct agent_options *options;
    int listener;
    int signals;
    sigset_t mask_before;
    struct visitor visitors[VISITORS_MOST];
    size_t count;
    size_t doors; /* processes that speak TLS */
    bool is_ending;
};

static void say(const struct agent *agent, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void say(const struct agent *agent, const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (agent->options->say)
        agent->options->say(text, agent->options->user);
}

/* ---- listening ---- */

static enum ifg_status start_listening(struct agent *agent, struct ifg_error *err)
{
    const struct agent_options *options = agent->options;
    const char *address = options->address ? options->address : "127.0.0.1";
    bool is_loopback;
    uint16_t port = 0;
    enum ifg_status status = remote_listener_check(address, &is_loopback, err);

    if (!status && (!is_loopback || options->identity) && (!options->identity || !options->token))
        status = ifg_fail(err, IFG_INTERNAL, "no listening on %s without TLS and a token", address);
    if (!status)
        status = remote_listener_open(address, options->port, &agent->listener, &port, err);
    if (!status && options->listening)
        options->listening(address, port, options->user);
    return status;
}

/* ---- visitors ---- */

static void let_go(struct visitor *visitor)
{
    if (visitor->control >= 0)
        close(visitor->control);
    visitor->control = -1;
}

static void forget(struct agent *agent, size_t at)
{
    if (agent->visitors[at].socket >= 0)
        close(agent->visitors[at].socket);
    let_go(&agent->visitors[at]);
    agent->visitors[at] = agent->visitors[--agent->count];
}

/* What is small goes into the buffer of a fresh socket; if it does not, nobody reads it. */
static void send_now(const struct visitor *visitor, const void *data, size_t size)
{
    if (send(visitor->socket, data, size, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)size)
        shutdown(visitor->socket, SHUT_RDWR);
}

/* Closed at once, with something unread that the other end has still sent, the connection would be
 * reset, and what is under way to it lost. */
static void let_read(struct visitor *visitor)
{
    shutdown(visitor->socket, SHUT_WR);
    visitor->is_done = true;
    visitor->since_ns = ifg_monotonic_ns();
}

static void refuse(struct visitor *visitor, enum remote_refusal why, const char *text)
{
    struct remote_refused refused = { .why = why };
    struct ifg_bytes message;

    snprintf(refused.text, sizeof refused.text, "%s", text);
    ifg_bytes_init(&message, REMOTE_TOLD_MAX);
    remote_refused_put(&message, &refused);
    send_now(visitor, message.data, message.size);
    let_read(visitor);
    ifg_bytes_fini(&message);
}

static size_t count_waiting(const struct agent *agent, size_t *out_oldest)
{
    size_t count = 0;

    *out_oldest = 0;
    for (size_t i = 0; i < agent->count; i++) {
        if (agent->visitors[i].child)
            continue;
        if (!count || agent->visitors[i].since_ns < agent->visitors[*out_oldest].since_ns)
            *out_oldest = i;
        count++;
    }
    return count;
}

static void close_all_but(struct agent *agent, int kept)
{
    close(agent->listener);
    close(agent->signals);
    for (size_t i = 0; i < agent->count; i++) {
        if (agent->visitors[i].socket >= 0 && agent->visitors[i].socket != kept)
            close(agent->visitors[i].socket);
        if (agent->visitors[i].control >= 0)
            close(agent->visitors[i].control);
    }
}

/* A process of its own speaks TLS with it; the end of that for us, or -1. Takes the socket. */
static int start_door(struct agent *agent, int outside)
{
    int ends[2];
    pid_t door;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0) {
        close(outside);
        return -1;
    }
    door = fork();
    if (door == 0) {
        close(ends[0]);
        close_all_but(agent, -1);
        remote_tls_door(agent->options->identity, outside, ends[1]);
    }
    close(outside);
    close(ends[1]);
    if (door > 0) {
        agent->doors++;
        return ends[0];
    }
    close(ends[0]);
    return -1;
}

/* Others wait in the kernel until one has left. */
static bool has_room(const struct agent *agent)
{
    return !agent->is_ending && agent->doors < DOORS_MOST;
}

static void accept_all(struct agent *agent)
{
    struct sockaddr_storage address;
    uint8_t preface[REMOTE_PREFACE_BYTES];
    size_t oldest;

    remote_preface_put(preface);
    while (has_room(agent)) {
        socklen_t size = sizeof address;
        int socket = accept4(agent->listener, (struct sockaddr *)&address, &size,
                             SOCK_CLOEXEC | SOCK_NONBLOCK);
        struct visitor *visitor;

        if (socket < 0)
            return;
        remote_socket_keep_alive(socket);
        if (count_waiting(agent, &oldest) >= AGENT_WAITING_MOST)
            forget(agent, oldest);
        if (agent->options->identity && (socket = start_door(agent, socket)) < 0)
            continue;
        visitor = &agent->visitors[agent->count++];
        *visitor =
            (struct visitor){ .socket = socket, .control = -1, .since_ns = ifg_monotonic_ns() };
        tcp_peer_set(&visitor->peer, (struct sockaddr *)&address);
        send_now(visitor, preface, sizeof preface);
    }
}

/* ---- answering ---- */

/* SIGTERM waits until the recorder takes it: who asks it to stop wants a trace that is whole. */
static void reset_signals(const struct agent *agent)
{
    sigset_t mask = agent->mask_before;

    sigaddset(&mask, SIGTERM);
    sigprocmask(SIG_SETMASK, &mask, NULL);
}

static const char *name_peer(const struct visitor *visitor, char *out, size_t size)
{
    if (visitor->peer.user == TCP_PEER_UNKNOWN)
        snprintf(out, size, "a capture of an unknown user");
    else
        snprintf(out, size, "a capture of user %u", (unsigned)visitor->peer.user);
    return out;
}

/* In the child. An agent that dies must not leave recorders behind that nobody can stop. */
static void answer(struct agent *agent, const struct visitor *visitor, pid_t parent, int control,
                   const struct remote_request *request)
{
    struct remote_kept kept = { .keep_ms = visitor->keep_ms };
    int socket = visitor->socket;
    struct remote_link *link = NULL;
    char name[64];

    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        return;
    close_all_but(agent, socket);
    reset_signals(agent);
    if (remote_link_create(socket, name_peer(visitor, name, sizeof name), &link, NULL))
        return;
    if (control >= 0) {
        memcpy(kept.key, visitor->key, sizeof kept.key);
        remote_link_keep(link, control, &kept);
    }
    if (request)
        agent->options->record(request, link, agent->options->user);
    else
        agent->options->list(link, agent->options->user);
    remote_link_flush(link);
    remote_link_destroy(link);
}

/* What a child needs that is to keep its recording; its end of the pair, or -1: it does without. */
static int prepare_keeping(struct visitor *visitor)
{
    struct remote_token key;
    int ends[2];

    if (!visitor->keep_ms || remote_token_make(&key, NULL) ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
        return -1;
    snprintf(visitor->key, sizeof visitor->key, "%.32s", key.text);
    visitor->control = ends[0];
    return ends[1];
}

static void start_answer(struct agent *agent, size_t at, const struct remote_request *request)
{
    struct visitor *visitor = &agent->visitors[at];
    pid_t parent = getpid();
    size_t oldest;
    int control;

    if (agent->count - count_waiting(agent, &oldest) >= AGENT_ANSWERS_MOST) {
        refuse(visitor, REMOTE_REFUSAL_BUSY,
               "the agent has as many captures as it can take; try again when one has ended");
        return;
    }
    control = request ? prepare_keeping(visitor) : -1;
    fflush(NULL);
    visitor->child = fork();
    if (visitor->child == 0) {
        answer(agent, visitor, parent, control, request);
        _exit(0);
    }
    if (control >= 0)
        close(control);
    if (visitor->child < 0) {
        visitor->child = 0;
        let_go(visitor);
        refuse(visitor, REMOTE_REFUSAL_FAILED, "the agent cannot start a recorder");
    }
}

/* ---- what a visitor says ---- */

static bool hear_preface(struct agent *agent, struct visitor *visitor)
{
    struct remote_version version;
    struct remote_welcome welcome = { .wants_token = true };
    struct ifg_bytes message;

    if (visitor->held < REMOTE_PREFACE_BYTES)
        return true;
    if (!remote_preface_get(visitor->bytes, &version))
        return false;
    if (version.major != REMOTE_MAJOR) {
        say(agent, "refused a capture: it speaks version %u.%u of the protocol, this agent %u.%u",
            version.major, version.minor, REMOTE_MAJOR, REMOTE_MINOR);
        return false; /* it has our version and says the same */
    }
    visitor->has_greeted = true;
    visitor->held -= REMOTE_PREFACE_BYTES;
    memmove(visitor->bytes, visitor->bytes + REMOTE_PREFACE_BYTES, visitor->held);
    if (!agent->options->identity) {
        tcp_peer_find_user(&visitor->peer, visitor->socket);
        visitor->is_trusted =
            visitor->peer.is_local && (visitor->peer.user == geteuid() || visitor->peer.user == 0);
    }
    welcome.wants_token = !visitor->is_trusted;
    snprintf(welcome.version, sizeof welcome.version, "%s", agent->options->version);
    gethostname(welcome.host, sizeof welcome.host - 1);
    ifg_bytes_init(&message, REMOTE_TOLD_MAX);
    remote_welcome_put(&message, &welcome);
    send_now(visitor, message.data, message.size);
    ifg_bytes_fini(&message);
    return true;
}

static bool hear_token(struct agent *agent, struct visitor *visitor,
                       const struct remote_message *message)
{
    struct remote_token token = { .text = "" };

    if (!remote_token_get(message, &token))
        return false;
    if (visitor->is_trusted)
        return true;
    visitor->is_trusted = agent->options->token && remote_token_same(agent->options->token, &token);
    if (!visitor->is_trusted) {
        say(agent, "refused a capture of user %d: its token is wrong", (int)visitor->peer.user);
        refuse(visitor, REMOTE_REFUSAL_TOKEN, "the token is wrong");
    }
    return true;
}

static bool hear_ping(const struct visitor *visitor, const struct remote_message *message)
{
    struct remote_pong pong = { .agent_ns = ifg_realtime_ns() };
    struct remote_ping ping;
    struct ifg_bytes answer;

    if (!remote_ping_get(message, &ping))
        return false;
    pong.asked_ns = ping.asked_ns;
    ifg_bytes_init(&answer, REMOTE_TOLD_MAX);
    remote_pong_put(&answer, &pong);
    send_now(visitor, answer.data, answer.size);
    ifg_bytes_fini(&answer);
    return true;
}

static void ask_to_stop(struct visitor *visitor)
{
    if (!visitor->is_asked_to_stop)
        kill(visitor->child, SIGTERM);
    visitor->is_asked_to_stop = true;
}

static bool is_kept(const struct visitor *visitor)
{
    return visitor->child && visitor->socket < 0 && visitor->control >= 0;
}

/* Whoever asks for the same again will not come back for what was kept for him: his capture was
 * killed. The child that is to end first, or 0. */
static pid_t end_kept(struct agent *agent, const struct visitor *asking)
{
    const struct remote_request *asked = &asking->request;

    for (size_t i = 0; i < agent->count; i++) {
        struct visitor *kept = &agent->visitors[i];

        if (!is_kept(kept) || kept->request.target != asked->target ||
            kept->request.pid != asked->pid || strcmp(kept->request.name, asked->name) != 0 ||
            !tcp_peer_same(&kept->peer, &asking->peer))
            continue;
        let_go(kept);
        ask_to_stop(kept);
        return kept->child;
    }
    return 0;
}

static bool hear_request(struct agent *agent, size_t at, const struct remote_message *message)
{
    struct visitor *visitor = &agent->visitors[at];

    if (!visitor->is_trusted) {
        refuse(visitor, REMOTE_REFUSAL_TOKEN,
               agent->options->token
                   ? "this agent wants its token: the user who started it can give it to you"
                   : "this agent is for the user who started it, and has no token for others");
        return true;
    }
    if (visitor->waits_for)
        return false;
    if (message->kind == REMOTE_LIST) {
        start_answer(agent, at, NULL);
        return true;
    }
    if (!remote_request_get(message, &visitor->request))
        return false;
    visitor->waits_for = end_kept(agent, visitor);
    if (!visitor->waits_for)
        start_answer(agent, at, &visitor->request);
    return true;
}

static bool hear_keep(struct visitor *visitor, const struct remote_message *message)
{
    struct remote_keep keep;

    if (!remote_keep_get(message, &keep))
        return false;
    visitor->keep_ms = keep.keep_ms;
    if (!keep.keep_ms)
        let_go(visitor);
    return true;
}

/* An order that does not get through is no loss: the next one says more. */
static bool hear_have(const struct visitor *visitor, const struct remote_message *message)
{
    struct remote_have have;

    if (visitor->control < 0 || !remote_have_get(message, &have))
        return false;
    remote_link_order_have(visitor->control, have.count);
    return true;
}

static struct visitor *find_kept(struct agent *agent, const char *key)
{
    struct visitor *found = NULL;

    for (size_t i = 0; i < agent->count; i++) {
        volatile unsigned char different = 0;

        for (size_t k = 0; k < REMOTE_KEY_DIGITS; k++)
            different = (unsigned char)(different | (agent->visitors[i].key[k] ^ key[k]));
        if (!different && agent->visitors[i].child && agent->visitors[i].control >= 0)
            found = &agent->visitors[i];
    }
    return found;
}

/* The connection of this visitor goes to the child that kept the recording of another, who is the
 * same person. What he sends from now on is that one's. */
static bool hear_resume(struct agent *agent, struct visitor *visitor,
                        const struct remote_message *message)
{
    struct remote_resume resume;
    struct ifg_bytes resumed;
    struct visitor *kept;

    if (!remote_resume_get(message, &resume))
        return false;
    kept = visitor->is_trusted ? find_kept(agent, resume.key) : NULL;
    if (!kept) {
        refuse(visitor, visitor->is_trusted ? REMOTE_REFUSAL_NOT_FOUND : REMOTE_REFUSAL_TOKEN,
               "the agent does not have that recording any more");
        return true;
    }
    ifg_bytes_init(&resumed, REMOTE_TOLD_MAX);
    remote_put(&resumed, REMOTE_RESUMED, 0, NULL, 0);
    send_now(visitor, resumed.data, resumed.size);
    ifg_bytes_fini(&resumed);
    if (!remote_link_order_resume(kept->control, visitor->socket, resume.count))
        return false; /* its recorder is busy; he will try again */
    if (kept->socket >= 0)
        close(kept->socket);
    kept->socket = visitor->socket;
    kept->held = 0;
    kept->lost_ns = 0;
    visitor->socket = -1;
    say(agent, "a capture is connected again");
    return false; /* there is nobody here any more */
}

/* False: that makes no sense. */
static bool hear_message(struct agent *agent, size_t at, const struct remote_message *message)
{
    struct visitor *visitor = &agent->visitors[at];

    if (visitor->child && message->kind == REMOTE_HAVE)
        return hear_have(visitor, message);
    if (visitor->child && message->kind == REMOTE_KEEP)
        return hear_keep(visitor, message);
    if (visitor->child) {
        if (message->kind == REMOTE_STOP)
            ask_to_stop(visitor);
        return message->kind == REMOTE_STOP;
    }
    switch (message->kind) {
    case REMOTE_KEEP:
        return hear_keep(visitor, message);
    case REMOTE_RESUME:
        return hear_resume(agent, visitor, message);
    case REMOTE_HAVE:
        return true; /* of a recording that has ended just now */
    case REMOTE_TOKEN:
        return hear_token(agent, visitor, message);
    case REMOTE_PING:
        return hear_ping(visitor, message);
    case REMOTE_LIST:
    case REMOTE_RECORD:
        return hear_request(agent, at, message);
    default:
        return false;
    }
}

static bool hear(struct agent *agent, size_t at)
{
    struct visitor *visitor = &agent->visitors[at];

    if (!visitor->has_greeted && !hear_preface(agent, visitor))
        return false;
    while (visitor->has_greeted && !visitor->is_done) {
        struct remote_message message;
        size_t bytes;
        enum remote_taken taken =
            remote_take(REMOTE_ASKED, visitor->bytes, visitor->held, &message, &bytes);

        if (taken == REMOTE_NOT_YET)
            return true;
        if (taken == REMOTE_GARBAGE || !hear_message(agent, at, &message))
            return false;
        visitor->held -= bytes;
        memmove(visitor->bytes, visitor->bytes + bytes, visitor->held);
    }
    if (visitor->is_done)
        visitor->held = 0;
    return true;
}

/* The other end is gone, or says what makes no sense. Its child ends the recording. */
static void dismiss(struct agent *agent, size_t at)
{
    struct visitor *visitor = &agent->visitors[at];

    if (!visitor->child) {
        forget(agent, at);
        return;
    }
    close(visitor->socket);
    visitor->socket = -1;
    visitor->held = 0;
    visitor->lost_ns = ifg_monotonic_ns();
    if (visitor->control < 0 || !remote_link_order_wait(visitor->control)) {
        let_go(visitor);
        ask_to_stop(visitor);
    } else {
        say(agent, "the connection of a capture is lost; its recording is kept for %g s",
            visitor->keep_ms * 1e-3);
    }
}

static void listen_to(struct agent *agent, size_t at)
{
    struct visitor *visitor = &agent->visitors[at];
    ssize_t got = recv(visitor->socket, visitor->bytes + visitor->held,
                       sizeof visitor->bytes - visitor->held, MSG_DONTWAIT);

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got > 0)
        visitor->held += (size_t)got;
    if (got <= 0 || !hear(agent, at))
        dismiss(agent, at);
}

/* ---- the loop ---- */

static void reap(struct agent *agent)
{
    pid_t pid;

    while ((pid = waitpid(-1, NULL, WNOHANG)) > 0) {
        size_t at = 0;

        while (at < agent->count && agent->visitors[at].child != pid)
            at++;
        if (at == agent->count) {
            agent->doors -= agent->doors > 0; /* or a child that is not ours to count */
            continue;
        }
        agent->visitors[at].child = 0;
        if (agent->visitors[at].socket < 0)
            forget(agent, at);
        else
            let_read(&agent->visitors[at]);
        for (size_t i = 0; i < agent->count; i++)
            if (agent->visitors[i].waits_for == pid && !agent->is_ending) {
                agent->visitors[i].waits_for = 0;
                start_answer(agent, i, &agent->visitors[i].request);
            }
    }
}

static void take_signals(struct agent *agent)
{
    struct signalfd_siginfo info;

    while (read(agent->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGCHLD) {
            reap(agent);
            continue;
        }
        agent->is_ending = true;
        for (size_t i = 0; i < agent->count; i++) {
            let_go(&agent->visitors[i]);
            if (agent->visitors[i].child)
                ask_to_stop(&agent->visitors[i]);
        }
    }
}

static void drop_late(struct agent *agent)
{
    uint64_t now_ns = ifg_monotonic_ns();

    for (size_t i = agent->count; i-- > 0;) {
        struct visitor *visitor = &agent->visitors[i];

        if (is_kept(visitor) && now_ns - visitor->lost_ns > visitor->keep_ms * 1000000ull) {
            let_go(visitor);
            ask_to_stop(visitor);
        }
        /* Who waits for a recorder to end is not late himself. */
        if (!visitor->child &&
            ((agent->is_ending && !visitor->is_done) ||
             (!visitor->waits_for && now_ns - visitor->since_ns > AGENT_WAITING_MS * 1000000ull)))
            forget(agent, i);
    }
}

static void work(struct agent *agent)
{
    while (!agent->is_ending || agent->count) {
        struct pollfd polled[VISITORS_MOST + 2];
        size_t visitors = agent->count;
        size_t oldest;
        int wait_ms = count_waiting(agent, &oldest) ? 200 : -1;

        for (size_t i = 0; i < visitors; i++) {
            polled[i] = (struct pollfd){ agent->visitors[i].socket, POLLIN, 0 };
            if (is_kept(&agent->visitors[i]))
                wait_ms = 200;
        }
        polled[visitors] = (struct pollfd){ agent->signals, POLLIN, 0 };
        polled[visitors + 1] = (struct pollfd){ has_room(agent) ? agent->listener : -1, POLLIN, 0 };
        if (poll(polled, visitors + 2, wait_ms) > 0) {
            /* From the last to the first: who is forgotten is replaced by the last. */
            for (size_t i = visitors; i-- > 0;)
                if (polled[i].revents)
                    listen_to(agent, i);
            if (polled[visitors].revents)
                take_signals(agent);
            if (polled[visitors + 1].revents)
                accept_all(agent);
        }
        drop_late(agent);
    }
}

static enum ifg_status begin_signals(struct agent *agent, struct ifg_error *err)
{
    struct sigaction hangup;
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN) /* nohup */
        sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, &agent->mask_before);
    signal(SIGCHLD, SIG_DFL);
    signal(SIGPIPE, SIG_IGN); /* nobody reads what we say: no reason to lose recordings */
    agent->signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    return agent->signals < 0 ? ifg_fail_errno(err, "cannot receive signals") : IFG_OK;
}

enum ifg_status agent_run(const struct agent_options *options, struct ifg_error *err)
{
    struct agent *agent = ifg_alloc(1, sizeof *agent);
    enum ifg_status status;

    if (!agent)
        return ifg_fail_no_memory(err, NULL);
    agent->options = options;
    agent->listener = -1;
    agent->signals = -1;
    status = begin_signals(agent, err);
    if (!status)
        status = start_listening(agent, err);
    if (!status)
        work(agent);
    if (agent->listener >= 0)
        close(agent->listener);
    if (agent->signals >= 0) {
        close(agent->signals);
        sigprocmask(SIG_SETMASK, &agent->mask_before, NULL);
    }
    ifg_free(agent);
    return status;
}
