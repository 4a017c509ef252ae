// SPDX-License-Identifier: Apache-2.0
/*
 * Waiting for the next process that runs a model.
 *
 * The kernel tells of every library that any process maps. Who maps a runtime gets probes; the
 * first of them that creates a session is recorded, from that call on, and the others are let go.
 * So does who has mapped one already. Nothing else is touched.
 */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/ticks.h"
#include "collect/runtime_files.h"
#include "record/thread_hold.h"
#include "record/map_hold.h"
#include "record/session_internal.h"
#include "runtimes/runtimes.h"

#define PAUSE_MS       10
#define POLL_EVERY_NS  50000000ull
#define CANDIDATES_MAX 16

/* A process that has a runtime, described while it is there. */
struct waiting {
    struct session *session;
    struct map_watch *maps; /* NULL: nobody tells of libraries as they are mapped */
    struct process_info candidates[CANDIDATES_MAX];
    size_t candidate_count;
};

static bool is_wanted(const struct session_options *options, pid_t pid)
{
    struct process_info info;

    if (!options->next_name && !options->next_path)
        return true;
    if (process_describe(pid, &info, NULL) != IFG_OK)
        return false;
    return options->next_name ? process_matches_name(&info, options->next_name)
                              : process_matches_path(&info, options->next_path);
}

static void consider(struct waiting *waiting, pid_t pid, enum source_look how)
{
    struct process_info *info = &waiting->candidates[waiting->candidate_count % CANDIDATES_MAX];

    if (pid == getpid() || trace_rule_check(pid, NULL) ||
        !is_wanted(waiting->session->options, pid) ||
        !sources_consider(&waiting->session->sources, pid, how))
        return;
    for (size_t i = 0; i < CANDIDATES_MAX; i++)
        if (waiting->candidates[i].pid == pid)
            return;
    if (process_describe(pid, info, NULL) == IFG_OK)
        waiting->candidate_count++;
}

/* In the threads of map_hold.h. Other people's programs are held for a runtime only. */
static bool may_be_next(void *user, pid_t pid, bool is_named)
{
    const struct session_options *options = user;
    struct process_info info;

    if (pid == getpid())
        return false;
    if (is_named)
        return !trace_rule_check(pid, NULL) && is_wanted(options, pid);
    if ((!options->next_name && !options->next_path) ||
        process_glance(pid, &info, NULL) != IFG_OK ||
        !(options->next_name ? process_matches_name(&info, options->next_name)
                             : strcmp(info.program, options->next_path) == 0))
        return false;
    return !trace_rule_check(pid, NULL);
}

static void look_now(void *user, pid_t pid)
{
    consider(user, pid, SOURCE_LOOK_MAPPED);
}

static void looked(void *user, pid_t pid, bool in_time)
{
    const struct waiting *waiting = user;

    if (in_time)
        sources_held(&waiting->session->sources, pid);
}

/* Any file of any program may have a runtime inside of it. Those whose name does not say so are
 * looked into here, without haste. */
static void on_mapping(const struct map_seen *seen, void *user)
{
    struct waiting *waiting = user;
    struct thread_hold hold;

    if (runtime_file_is_named(seen->path, NULL) || trace_rule_check(seen->pid, NULL) ||
        !sources_may_be(&waiting->session->sources, seen) ||
        !is_wanted(waiting->session->options, seen->pid))
        return;
    thread_hold_thread(&hold, seen->tid, false, NULL);
    consider(waiting, seen->pid, SOURCE_LOOK_MAPPED);
    thread_hold_release(&hold);
}

/* Who has a runtime already may create a session any time: a notebook whose import is done. */
static bool watch_earlier(pid_t pid, void *user)
{
    consider(user, pid, SOURCE_LOOK_EARLIER);
    return true;
}

/* Where the kernel does not tell. */
static bool look_at(pid_t pid, void *user)
{
    consider(user, pid, SOURCE_LOOK_POLLED);
    return true;
}

/* ---- the wait ---- */

static bool is_stopped(const struct session *session)
{
    struct signalfd_siginfo info;

    while (read(session->signal_fd, &info, sizeof info) == (ssize_t)sizeof info)
        if (info.ssi_signo != SIGCHLD && !(info.ssi_signo == SIGINT && info.ssi_code == SI_KERNEL &&
                                           session->terminal_interrupts_ignored))
            return true;
    return false;
}

static enum ifg_status wait_for_creator(struct waiting *waiting, pid_t *out_pid,
                                        struct ifg_error *err)
{
    struct session *session = waiting->session;
    double timeout_s = session->options->timeout_s;
    uint64_t begin_ns = ifg_monotonic_ns();
    uint64_t next_poll_ns = 0;

    for (;;) {
        struct pollfd polled[3] = { { session->signal_fd, POLLIN, 0 },
                                    { -1, POLLIN, 0 },
                                    { -1, POLLIN, 0 } };
        uint64_t now_ns = ifg_monotonic_ns();
        bool watches;

        if (waiting->maps) {
            map_watch_read(waiting->maps, on_mapping, waiting);
            polled[1].fd = map_watch_fd(waiting->maps);
            map_hold_work(session->recording.holds, look_now, looked, waiting);
            polled[2].fd = map_hold_fd(session->recording.holds);
        } else if (now_ns >= next_poll_ns) {
            process_each(look_at, waiting);
            next_poll_ns = now_ns + POLL_EVERY_NS;
        }
        *out_pid = sources_creator(&session->sources, now_ns, &watches);
        if (*out_pid)
            return IFG_OK;
        if (is_stopped(session))
            return ifg_fail(err, IFG_CANCELLED,
                            "stopped: no process had run a model, and nothing was recorded");
        if (timeout_s > 0 && (double)(now_ns - begin_ns) * 1e-9 >= timeout_s)
            return ifg_fail(err, IFG_NOT_FOUND,
                            "no process created a session of %s within %g s, and nothing was "
                            "recorded",
                            runtimes_watched(RUNTIME_ATTACHED).text, timeout_s);
        /* Probes do not wake anybody for a single call: while there are some, look often. */
        poll(polled, 3, watches ? PAUSE_MS : 5 * PAUSE_MS);
    }
}

enum ifg_status session_begin_next(struct session *session, struct ifg_error *err)
{
    struct waiting *waiting = ifg_alloc(1, sizeof *waiting);
    struct ifg_error why = { .message = "" };
    enum ifg_status status;
    pid_t pid = 0;

    if (!waiting)
        return ifg_fail_no_memory(err, NULL);
    waiting->session = session;
    status = sources_open(&session->sources, &session->recording, err);
    if (!status) {
        const struct map_hold_options options = {
            .wants = may_be_next,
            .user = (void *)(uintptr_t)session->options,
        };

        if (map_watch_open(&waiting->maps, &why) == IFG_OK &&
            map_hold_open(&options, &session->recording.holds, &why) != IFG_OK) {
            map_watch_close(waiting->maps);
            waiting->maps = NULL;
        }
        process_each(watch_earlier, waiting);
    }
    if (!status && session->options->expecting)
        session->options->expecting(why.message, session->options->user);
    if (!status)
        status = wait_for_creator(waiting, &pid, err);
    for (size_t i = 0; !status && i < CANDIDATES_MAX; i++)
        if (waiting->candidates[i].pid == pid)
            session->next = waiting->candidates[i];
    map_hold_close(session->recording.holds);
    session->recording.holds = NULL;
    map_watch_close(waiting->maps);
    ifg_free(waiting);
    if (!status && trace_rule_applies())
        status = trace_rule_open(pid, &session->traced, err);
    if (status)
        return status;
    session->recording.root = pid;
    session->result->pid = pid;
    snprintf(session->result->program, sizeof session->result->program, "%s",
             session->next.pid ? process_short_name(&session->next) : "program");
    status = session_open_output(session, session->result->program, pid, err);
    if (!status)
        sources_begin(&session->sources);
    return status;
}
