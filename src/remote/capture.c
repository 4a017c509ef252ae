// SPDX-License-Identifier: Apache-2.0
/* The capturing end: see capture.h. */
#include "remote/capture.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/ticks.h"
#include "remote/connection.h"
#include "system/host.h"
#include "system/tcp_peer.h"
#include "trace/output.h"

#define HELD_BYTES      (REMOTE_HEAD_BYTES + REMOTE_PART_MAX)
#define GREETING_MS     10000
#define LISTING_MS      60000
#define PINGS           16
#define PINGS_NS        2000000000ull /* no more are asked then */
#define FILE_MODE       0600
#define CONFIRMED_BYTES (128u << 10)
#define CONFIRMED_NS    1000000000ull
#define RETRY_FIRST_MS  100u
#define RETRY_MOST_MS   3000u
#define NO_TIMEOUT      (-1)

struct capture {
    const struct capture_options *options;
    struct capture_result *result;
    struct ifg_error *err;
    struct remote_connection connection;
    int signals;
    bool wants_token;
    uint16_t agent_minor; /* version */
    bool is_ended;
    bool is_hopeless; /* there is no use in connecting again */
    bool is_kept;     /* by the agent: */
    struct remote_kept kept;
    uint64_t heard;      /* messages since the request */
    size_t untold_bytes; /* that the agent does not know to have come */
    uint64_t told_ns;
    struct trace_output *output;
    uint64_t written; /* to the file, whole pieces or not */
    struct remote_listed *listed;
    size_t held;
    size_t taken; /* of these */
    uint8_t *bytes;
};

static enum capture_end lost(struct capture *capture, const char *why)
{
    const struct capture_options *options = capture->options;

    if (capture->result->bytes && !options->is_temporary)
        ifg_fail(capture->err, IFG_IO,
                 "the connection to %s, port %u was lost: %s; %s is complete up to there (%llu "
                 "bytes)",
                 options->host, (unsigned)options->port, why, options->path,
                 (unsigned long long)capture->result->bytes);
    else
        ifg_fail(capture->err, IFG_IO, "the connection to %s, port %u was lost: %s", options->host,
                 (unsigned)options->port, why);
    return CAPTURE_LOST;
}

/* It would make none the second time either. */
static enum capture_end senseless(struct capture *capture)
{
    capture->is_hopeless = true;
    return lost(capture, "what came makes no sense");
}

static enum capture_end send_all(struct capture *capture, const void *data, size_t size)
{
    const uint8_t *at = data;

    while (size) {
        ssize_t done = remote_connection_send(&capture->connection, at, size);

        if (done > 0) {
            at += done;
            size -= (size_t)done;
        } else if (errno == EAGAIN) {
            struct pollfd polled = { capture->connection.socket, POLLOUT, 0 };

            if (poll(&polled, 1, GREETING_MS) == 0)
                return lost(capture, "it takes nothing");
        } else if (errno != EINTR) {
            return lost(capture, strerror(errno));
        }
    }
    return CAPTURE_DONE;
}

static enum capture_end send_message(struct capture *capture, struct ifg_bytes *message)
{
    enum capture_end end = CAPTURE_FAILED;

    if (message->failed)
        ifg_fail_no_memory(capture->err, "for a message");
    else
        end = send_all(capture, message->data, message->size);
    ifg_bytes_fini(message);
    return end;
}

static enum capture_end send_stop(struct capture *capture)
{
    struct ifg_bytes message;

    ifg_bytes_init(&message, REMOTE_TOLD_MAX);
    remote_put(&message, REMOTE_STOP, 0, NULL, 0);
    return send_message(capture, &message);
}

static enum capture_end send_keep(struct capture *capture, uint32_t keep_ms)
{
    struct remote_keep keep = { .keep_ms = keep_ms };
    struct ifg_bytes message;

    ifg_bytes_init(&message, REMOTE_TOLD_MAX);
    remote_keep_put(&message, &keep);
    return send_message(capture, &message);
}

/* A first signal asks for the end of the recording, a second one does not wait for it. */
static enum capture_end take_signals(struct capture *capture)
{
    struct signalfd_siginfo info;

    while (read(capture->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        if (capture->result->is_stopped) {
            if (capture->is_kept)
                send_keep(capture, 0);
            capture->is_hopeless = true;
            return lost(capture, "stopped before the recording was finished");
        }
        capture->result->is_stopped = true;
        if (send_stop(capture))
            return CAPTURE_LOST;
    }
    return CAPTURE_DONE;
}

/* More bytes behind those that are held. */
static enum capture_end receive(struct capture *capture, int timeout_ms)
{
    uint64_t until_ns = ifg_monotonic_ns() + (uint64_t)(timeout_ms > 0 ? timeout_ms : 0) * 1000000u;

    if (capture->taken) {
        capture->held -= capture->taken;
        memmove(capture->bytes, capture->bytes + capture->taken, capture->held);
        capture->taken = 0;
    }
    for (;;) {
        struct pollfd polled[2] = { { capture->connection.socket, POLLIN, 0 },
                                    { capture->signals, POLLIN, 0 } };
        bool has_more = remote_connection_holds(&capture->connection);
        uint64_t now_ns = ifg_monotonic_ns();
        int wait_ms = -1;
        ssize_t got;

        if (timeout_ms >= 0 && now_ns >= until_ns)
            return lost(capture, "no answer");
        if (has_more)
            wait_ms = 0;
        else if (timeout_ms >= 0)
            wait_ms = (int)((until_ns - now_ns) / 1000000u) + 1;
        if (poll(polled, 2, wait_ms) < 0 && errno != EINTR)
            return lost(capture, strerror(errno));
        if ((polled[1].revents & POLLIN) && take_signals(capture))
            return CAPTURE_LOST;
        if (!polled[0].revents && !has_more)
            continue;
        got = remote_connection_receive(&capture->connection, capture->bytes + capture->held,
                                        HELD_BYTES - capture->held);
        if (got > 0) {
            capture->held += (size_t)got;
            return CAPTURE_DONE;
        }
        if (got == 0)
            return lost(capture, "the other end closed it");
        if (errno != EAGAIN && errno != EINTR)
            return lost(capture, strerror(errno));
    }
}

/* The next message; it is there until the next call. */
static enum capture_end next_message(struct capture *capture, int timeout_ms,
                                     struct remote_message *out_message)
{
    for (;;) {
        size_t bytes;
        enum capture_end end;
        enum remote_taken taken = remote_take(REMOTE_TOLD, capture->bytes + capture->taken,
                                              capture->held - capture->taken, out_message, &bytes);

        if (taken == REMOTE_TAKEN) {
            capture->taken += bytes;
            return CAPTURE_DONE;
        }
        if (taken == REMOTE_GARBAGE)
            return senseless(capture);
        end = receive(capture, timeout_ms);
        if (end)
            return end;
    }
}

static enum capture_end refused(struct capture *capture, const struct remote_message *message)
{
    static const enum capture_end ends[] = {
        [REMOTE_REFUSAL_FAILED] = CAPTURE_FAILED,    [REMOTE_REFUSAL_TOKEN] = CAPTURE_LACKS,
        [REMOTE_REFUSAL_BUSY] = CAPTURE_BUSY,        [REMOTE_REFUSAL_NOT_FOUND] = CAPTURE_FAILED,
        [REMOTE_REFUSAL_PERMISSION] = CAPTURE_LACKS, [REMOTE_REFUSAL_UNSUPPORTED] = CAPTURE_FAILED,
        [REMOTE_REFUSAL_TLS] = CAPTURE_INSECURE,
    };
    struct remote_refused refused;

    if (!remote_refused_get(message, &refused))
        return senseless(capture);
    ifg_fail(capture->err, IFG_INVALID, "%s: %.700s", capture->options->host, refused.text);
    return ends[refused.why];
}

/* ---- greeting ---- */

static enum capture_end compare_versions(struct capture *capture)
{
    const struct capture_options *options = capture->options;
    struct remote_version version;
    enum capture_end end = CAPTURE_DONE;

    while (!end && capture->held < REMOTE_PREFACE_BYTES)
        end = receive(capture, GREETING_MS);
    if (end) {
        ifg_fail(capture->err, IFG_IO,
                 "%s, port %u does not answer as an agent would: is it one, and not something "
                 "else?",
                 options->host, (unsigned)options->port);
        return CAPTURE_FAILED;
    }
    if (!remote_preface_get(capture->bytes, &version)) {
        ifg_fail(capture->err, IFG_CORRUPT, "%s, port %u is not an agent of inferogram",
                 options->host, (unsigned)options->port);
        return CAPTURE_FAILED;
    }
    capture->taken = REMOTE_PREFACE_BYTES;
    capture->agent_minor = version.minor;
    if (version.major == REMOTE_MAJOR)
        return CAPTURE_DONE;
    ifg_fail(capture->err, IFG_UNSUPPORTED,
             "the agent on %s speaks version %u.%u of the protocol, and this program version "
             "%u.%u: install the same release of inferogram on both machines",
             options->host, version.major, version.minor, REMOTE_MAJOR, REMOTE_MINOR);
    return CAPTURE_VERSION;
}

/* A secret goes neither through a network in the clear nor to some other user of this machine who
 * took the port before the agent could. */
static enum capture_end may_show_token(struct capture *capture)
{
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    struct tcp_peer peer;

    if (capture->connection.tls)
        return CAPTURE_DONE; /* with the agent of the fingerprint */
    if (getpeername(capture->connection.socket, (struct sockaddr *)&address, &size) < 0)
        return lost(capture, strerror(errno));
    tcp_peer_set(&peer, (struct sockaddr *)&address);
    if (!peer.is_local) {
        ifg_fail(capture->err, IFG_PERMISSION,
                 "the agent on %s wants its token, which is not sent unencrypted: give the agent's "
                 "--fingerprint, or forward the port with 'ssh -L %u:127.0.0.1:%u %s' and capture "
                 "from 127.0.0.1",
                 capture->options->host, (unsigned)capture->options->port,
                 (unsigned)capture->options->port, capture->options->host);
        return CAPTURE_LACKS;
    }
    tcp_peer_find_user(&peer, capture->connection.socket);
    if (peer.user != geteuid() && peer.user != 0) {
        ifg_fail(capture->err, IFG_PERMISSION,
                 "port %u is held by another user of this machine, who does not get the token: it "
                 "goes to agents and port forwards of your own or of root",
                 (unsigned)capture->options->port);
        return CAPTURE_LACKS;
    }
    return CAPTURE_DONE;
}

static enum capture_end show_token(struct capture *capture)
{
    struct ifg_bytes message;
    enum capture_end end;

    if (!capture->wants_token)
        return CAPTURE_DONE;
    if (!capture->options->token) {
        ifg_fail(capture->err, IFG_PERMISSION,
                 "the agent on %s wants its token, because another user started it, or it cannot "
                 "tell whose this connection is: give it with --token-file, or in the variable "
                 "IFG_AGENT_TOKEN",
                 capture->options->host);
        return CAPTURE_LACKS;
    }
    end = may_show_token(capture);
    if (end)
        return end;
    ifg_bytes_init(&message, REMOTE_TOLD_MAX);
    remote_token_put(&message, capture->options->token);
    return send_message(capture, &message);
}

static enum capture_end greet(struct capture *capture)
{
    uint8_t preface[REMOTE_PREFACE_BYTES];
    struct remote_message message;
    struct remote_welcome welcome;
    enum capture_end end;
    const struct capture_options *options = capture->options;
    enum ifg_status status = remote_connection_open(options->host, options->port,
                                                    options->tls ? &options->fingerprint : NULL,
                                                    &capture->connection, capture->err);

    if (status)
        return status == IFG_PERMISSION ? CAPTURE_INSECURE : CAPTURE_FAILED;
    remote_preface_put(preface);
    end = send_all(capture, preface, sizeof preface);
    if (!end)
        end = compare_versions(capture);
    if (!end)
        end = next_message(capture, GREETING_MS, &message);
    if (end)
        return end;
    if (message.kind == REMOTE_REFUSED)
        return refused(capture, &message);
    if (message.kind != REMOTE_WELCOME || !remote_welcome_get(&message, &welcome))
        return senseless(capture);
    capture->wants_token = welcome.wants_token;
    return show_token(capture);
}

/* Rather than a trace that lacks what was asked for: an agent passes over what it does not know. */
static enum capture_end check_minor(struct capture *capture)
{
    unsigned needed = remote_request_minor(&capture->options->request);

    if (needed <= capture->agent_minor)
        return CAPTURE_DONE;
    ifg_fail(capture->err, IFG_UNSUPPORTED,
             "the agent on %s speaks version %u.%u of the protocol, and some of these options need "
             "version %u.%u: leave out all but -s, --ops and --no-sample, or install the same "
             "release of inferogram on both machines",
             capture->options->host, REMOTE_MAJOR, capture->agent_minor, REMOTE_MAJOR, needed);
    return CAPTURE_VERSION;
}

/* ---- clocks ---- */

/* Bounds of how far the agent's clock is ahead: a question cannot arrive before it was asked, nor
 * an answer before it was given. */
struct clock_bounds {
    int64_t most_ns;
    int64_t least_ns;
};

/* Asks once, and takes the bounds closer if this tells more. */
static enum capture_end ask_time(struct capture *capture, struct clock_bounds *bounds)
{
    struct remote_ping ping = { .asked_ns = ifg_realtime_ns() };
    uint64_t begin_ns = ifg_monotonic_ns();
    struct remote_message message;
    struct remote_pong pong;
    struct ifg_bytes question;
    enum capture_end end;
    int64_t most_ns;
    int64_t least_ns;

    ifg_bytes_init(&question, REMOTE_TOLD_MAX);
    remote_ping_put(&question, &ping);
    end = send_message(capture, &question);
    if (!end)
        end = next_message(capture, GREETING_MS, &message);
    if (end)
        return end;
    least_ns = (int64_t)(ifg_monotonic_ns() - begin_ns);
    if (message.kind == REMOTE_REFUSED)
        return refused(capture, &message);
    if (message.kind != REMOTE_PONG || !remote_pong_get(&message, &pong) ||
        pong.asked_ns != ping.asked_ns)
        return senseless(capture);
    most_ns = (int64_t)(pong.agent_ns - ping.asked_ns);
    least_ns = (int64_t)((uint64_t)most_ns - (uint64_t)least_ns);
    if (most_ns < bounds->most_ns)
        bounds->most_ns = most_ns;
    if (least_ns > bounds->least_ns)
        bounds->least_ns = least_ns;
    return CAPTURE_DONE;
}

/* Each way has its own quickest message: on a busy machine, hardly ever both in one question. */
static enum capture_end compare_clocks(struct capture *capture, struct remote_request *request)
{
    struct clock_bounds bounds = { INT64_MAX, INT64_MIN };
    uint64_t until_ns = ifg_monotonic_ns() + PINGS_NS;
    enum capture_end end = CAPTURE_DONE;
    uint64_t width_ns;

    request->knows_clock = false;
    host_read_boot(&host_system, request->boot_id, sizeof request->boot_id);
    for (int i = 0; i < PINGS && !end && (!i || ifg_monotonic_ns() < until_ns); i++)
        end = ask_time(capture, &bounds);
    width_ns = (uint64_t)bounds.most_ns - (uint64_t)bounds.least_ns;
    if (end || bounds.most_ns < bounds.least_ns) /* one of the clocks was set meanwhile */
        return end;
    request->knows_clock = true;
    request->clock_offset_ns = bounds.least_ns + (int64_t)(width_ns / 2);
    request->clock_error_ns = width_ns / 2 + 1;
    return CAPTURE_DONE;
}

/* ---- the file ---- */

/* Before anybody is recorded for nothing. */
static enum capture_end check_path(struct capture *capture)
{
    const struct capture_options *options = capture->options;
    const char *slash = strrchr(options->path, '/');
    char directory[4096];
    struct stat info;

    if (lstat(options->path, &info) == 0) {
        if (!options->overwrite) {
            ifg_fail(capture->err, IFG_INVALID,
                     "%s exists; give another name with -o or replace it with -f", options->path);
            return CAPTURE_EXISTS;
        }
        if (!S_ISREG(info.st_mode) && !S_ISLNK(info.st_mode)) {
            ifg_fail(capture->err, IFG_INVALID, "%s is not a regular file; it is not replaced",
                     options->path);
            return CAPTURE_CANNOT_WRITE;
        }
    }
    snprintf(directory, sizeof directory, "%.*s",
             slash ? (int)(slash - options->path > 0 ? slash - options->path : 1) : 1,
             slash ? options->path : ".");
    if (access(directory, W_OK) == 0)
        return CAPTURE_DONE;
    ifg_fail_errno(capture->err, "cannot create %s in directory %s", options->path, directory);
    return CAPTURE_CANNOT_WRITE;
}

static enum capture_end open_file(struct capture *capture)
{
    const struct capture_options *options = capture->options;
    enum ifg_status status = trace_output_file(options->path, options->overwrite, FILE_MODE,
                                               &capture->output, capture->err);

    if (!status)
        return CAPTURE_DONE;
    return status == IFG_INVALID && !options->overwrite ? CAPTURE_EXISTS : CAPTURE_CANNOT_WRITE;
}

static enum capture_end append(struct capture *capture, const struct remote_message *message)
{
    enum capture_end end = capture->output ? CAPTURE_DONE : open_file(capture);

    if (end)
        return end;
    if (trace_output_append(capture->output, capture->written, message->content, message->size,
                            capture->err)) {
        capture->output->functions->cut(capture->output, capture->result->bytes);
        return CAPTURE_CANNOT_WRITE;
    }
    capture->written += message->size;
    if (message->flags & REMOTE_PIECE_ENDS)
        capture->result->bytes = capture->written;
    return CAPTURE_DONE;
}

/* Half a piece is of no use to a reader. */
static enum capture_end close_file(struct capture *capture, enum capture_end end)
{
    struct ifg_error *err = end ? NULL : capture->err;

    if (!capture->output)
        return end;
    if (capture->written != capture->result->bytes)
        capture->output->functions->cut(capture->output, capture->result->bytes);
    if (!capture->result->bytes)
        trace_output_remove(capture->output);
    if (trace_output_close(capture->output, err) && !end)
        return CAPTURE_CANNOT_WRITE;
    return end;
}

/* ---- what comes ---- */

static bool hear_told(struct capture *capture, const struct remote_message *message)
{
    const struct capture_options *options = capture->options;
    struct capture_result *result = capture->result;
    struct remote_progress progress;
    struct remote_process process;
    struct remote_note note;

    switch (message->kind) {
    case REMOTE_NOTE:
        if (!remote_note_get(message, &note))
            return false;
        options->note(note.text, options->user);
        return true;
    case REMOTE_STARTED:
        result->is_started = remote_started_get(message, &result->started);
        if (result->is_started)
            options->started(&result->started, options->user);
        return result->is_started;
    case REMOTE_PROGRESS:
        if (!remote_progress_get(message, &progress))
            return false;
        options->progress(&progress, options->user);
        return true;
    case REMOTE_PROCESS:
        if (!capture->listed || !remote_process_get(message, &process))
            return false;
        options->process(&process, options->user);
        return true;
    case REMOTE_LISTED:
        capture->is_ended = true;
        return capture->listed && remote_listed_get(message, capture->listed);
    case REMOTE_KEPT:
        capture->is_kept = remote_kept_get(message, &capture->kept);
        return capture->is_kept;
    case REMOTE_ENDED:
        capture->is_ended = true;
        return remote_ended_get(message, &result->ended);
    default:
        return true; /* of a newer minor version */
    }
}

/* Now and then, so that the agent need not keep much. At the end, that it need not keep anything:
 * what it does not hear then, it finds out by itself. */
static enum capture_end confirm(struct capture *capture, size_t bytes)
{
    struct remote_have have = { .count = ++capture->heard };
    uint64_t now_ns;
    struct ifg_bytes message;

    if (!capture->is_kept)
        return CAPTURE_DONE;
    if (capture->is_ended) {
        send_keep(capture, 0);
        return CAPTURE_DONE;
    }
    capture->untold_bytes += bytes;
    now_ns = ifg_monotonic_ns();
    if (capture->untold_bytes < CONFIRMED_BYTES && now_ns - capture->told_ns < CONFIRMED_NS)
        return CAPTURE_DONE;
    capture->untold_bytes = 0;
    capture->told_ns = now_ns;
    ifg_bytes_init(&message, REMOTE_TOLD_MAX);
    remote_have_put(&message, &have);
    return send_message(capture, &message);
}

static enum capture_end hear_all(struct capture *capture, int timeout_ms)
{
    while (!capture->is_ended) {
        struct remote_message message;
        enum capture_end end = next_message(capture, timeout_ms, &message);

        if (!end && message.kind == REMOTE_REFUSED)
            end = refused(capture, &message);
        else if (!end && message.kind == REMOTE_PART)
            end = capture->listed ? senseless(capture) : append(capture, &message);
        else if (!end && !hear_told(capture, &message))
            end = senseless(capture);
        if (!end)
            end = confirm(capture, message.size);
        if (end)
            return end;
    }
    return CAPTURE_DONE;
}

/* ---- again ---- */

/* Waits, unless somebody wants it to end. */
static bool pause_for(struct capture *capture, unsigned milliseconds)
{
    struct pollfd polled = { capture->signals, POLLIN, 0 };
    struct signalfd_siginfo info;

    if (poll(&polled, 1, (int)milliseconds) <= 0)
        return true;
    capture->result->is_stopped = read(capture->signals, &info, sizeof info) > 0;
    return !capture->result->is_stopped;
}

/* CAPTURE_LOST: not this time. */
static enum capture_end resume(struct capture *capture)
{
    struct remote_resume asked = { .count = capture->heard };
    struct remote_message message;
    struct ifg_bytes question;
    enum capture_end end;

    remote_connection_close(&capture->connection);
    capture->held = capture->taken = 0;
    end = greet(capture);
    if (end)
        return end == CAPTURE_FAILED ? CAPTURE_LOST : end;
    memcpy(asked.key, capture->kept.key, sizeof asked.key);
    ifg_bytes_init(&question, REMOTE_TOLD_MAX);
    remote_resume_put(&question, &asked);
    end = send_message(capture, &question);
    if (!end)
        end = next_message(capture, GREETING_MS, &message);
    if (!end && message.kind != REMOTE_RESUMED) {
        capture->is_hopeless = true;
        end = CAPTURE_LOST; /* it does not have it any more */
    }
    if (!end && capture->result->is_stopped)
        end = send_stop(capture); /* the first may not have come through */
    return end;
}

/* The recording goes on while we try; what it cannot keep is counted there. */
static enum capture_end connect_again(struct capture *capture)
{
    const struct capture_options *options = capture->options;
    struct ifg_error first = *capture->err;
    uint64_t until_ns = ifg_monotonic_ns() + capture->kept.keep_ms * 1000000ull;
    unsigned wait_ms = RETRY_FIRST_MS;
    enum capture_end end = CAPTURE_LOST;
    char text[1024];

    snprintf(text, sizeof text, "%s; trying again for %g s", first.message,
             capture->kept.keep_ms * 1e-3);
    options->note(text, options->user);
    while (end == CAPTURE_LOST && !capture->is_hopeless && ifg_monotonic_ns() < until_ns) {
        if (!pause_for(capture, wait_ms))
            break;
        wait_ms = wait_ms * 2 < RETRY_MOST_MS ? wait_ms * 2 : RETRY_MOST_MS;
        end = resume(capture);
    }
    if (!end)
        options->note("connected again; the recording goes on", options->user);
    else if (end == CAPTURE_LOST)
        *capture->err = first;
    return end;
}

/* ---- from begin to end ---- */

static enum capture_end begin(struct capture *capture)
{
    capture->connection = REMOTE_CONNECTION_NONE;
    capture->signals = -1;
    capture->bytes = ifg_alloc(HELD_BYTES, 1);
    if (capture->bytes)
        return CAPTURE_DONE;
    ifg_fail_no_memory(capture->err, NULL);
    return CAPTURE_FAILED;
}

static enum capture_end begin_signals(struct capture *capture, sigset_t *out_before)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, out_before);
    signal(SIGXFSZ, SIG_IGN); /* a file size limit is an error to report, not a death */
    capture->signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (capture->signals >= 0)
        return CAPTURE_DONE;
    ifg_fail_errno(capture->err, "cannot receive signals");
    return CAPTURE_FAILED;
}

static void finish(struct capture *capture)
{
    remote_connection_close(&capture->connection);
    if (capture->signals >= 0)
        close(capture->signals);
    ifg_free(capture->bytes);
}

enum capture_end capture_run(const struct capture_options *options,
                             struct capture_result *out_result, struct ifg_error *err)
{
    struct capture capture = { .options = options, .result = out_result, .err = err };
    struct remote_request request = options->request;
    struct ifg_bytes message;
    enum capture_end end;
    sigset_t before;

    *out_result = (struct capture_result){ 0 };
    sigemptyset(&before);
    end = begin(&capture);
    if (!end)
        end = begin_signals(&capture, &before);
    if (!end)
        end = check_path(&capture);
    if (!end)
        end = greet(&capture);
    if (!end)
        end = check_minor(&capture);
    if (!end)
        end = compare_clocks(&capture, &request);
    if (!end && options->reconnect_ms && capture.agent_minor >= REMOTE_MINOR_KEEP)
        end = send_keep(&capture, options->reconnect_ms);
    if (!end) {
        ifg_bytes_init(&message, REMOTE_TOLD_MAX);
        remote_request_put(&message, &request);
        end = send_message(&capture, &message);
    }
    if (!end)
        end = hear_all(&capture, NO_TIMEOUT);
    while (end == CAPTURE_LOST && capture.is_kept && !capture.is_hopeless && !capture.is_ended) {
        end = connect_again(&capture);
        if (end)
            break;
        end = hear_all(&capture, NO_TIMEOUT);
    }
    if (end && end != CAPTURE_LOST && capture.is_kept) {
        capture.err = NULL; /* there is one */
        send_keep(&capture, 0);
    }
    end = close_file(&capture, end);
    finish(&capture);
    if (capture.signals >= 0)
        sigprocmask(SIG_SETMASK, &before, NULL);
    return end;
}

enum capture_end capture_list(const struct capture_options *options,
                              struct remote_listed *out_listed, struct ifg_error *err)
{
    struct capture_result result = { 0 };
    struct capture capture = { .options = options, .result = &result, .err = err };
    struct ifg_bytes message;
    enum capture_end end;

    *out_listed = (struct remote_listed){ 0 };
    end = begin(&capture);
    if (!end)
        end = greet(&capture);
    if (!end) {
        capture.listed = out_listed;
        ifg_bytes_init(&message, REMOTE_TOLD_MAX);
        remote_put(&message, REMOTE_LIST, 0, NULL, 0);
        end = send_message(&capture, &message);
    }
    if (!end)
        end = hear_all(&capture, LISTING_MS);
    finish(&capture);
    return end;
}
