// SPDX-License-Identifier: Apache-2.0
/*
 * The recorder's loop: drain, look for new processes, notice ends and signals, sleep.
 *
 * How long it sleeps follows how full the rings were: not at all while one is filling fast, a
 * millisecond while something happens, up to four when all is quiet. A thread's first ring holds
 * ten milliseconds of the tightest possible loop, so a burst out of silence is not lost either.
 */
#include "record/session_internal.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/ticks.h"
#include "system/process_status.h"

#define MS 1000000ull

#define SLEEP_BUSY_NS    (1 * MS)
#define SLEEP_QUIET_NS   (4 * MS)
#define SLEEP_OUTSIDE_NS (10 * MS) /* only probes: they wake us when there is much */
#define FULL_PERCENT     6         /* a ring fuller than this is drained again at once */
#define CLOCK_EVERY_NS   (500 * MS)
#define CLOCK_FIRST_NS   (4 * MS)
#define SCAN_EVERY_NS    (100 * MS)
#define SCAN_MOST_NS     (1000 * MS)
#define SCAN_OFTEN_NS    (5000 * MS) /* so long at first: a short program is to be found */
#define SCAN_PART        200u        /* then a scan takes one part in so many of the time */
#define EXEC_CHECK_NS    (400 * MS)
#define RUNTIME_SOON_NS  (250 * MS) /* looking for runtimes that no hook told of, at first */
#define RUNTIME_LOOK_NS  (1000 * MS)
#define FILES_EVERY_NS   (500 * MS)
#define PROGRESS_NS      (200 * MS)
#define LOOK_EVERY_NS    (5 * MS) /* for ends, signals and new processes, while not sleeping */
#define DELAY_LOOK_MS    20
#define POLLED_TARGETS   64
#define POLLED_SOURCES   (SOURCES_MAX * SOURCE_FDS_MAX)
#define DESCENDANTS_MAX  4096

enum ifg_status session_add_target(struct session *session, int fd, pid_t pid,
                                   struct ifg_error *err)
{
    struct target *target;
    struct target *older = session->targets;
    bool replaced = false;
    enum ifg_status status;

    for (struct target *t = session->targets; t; t = target_next(t)) {
        if (target_is_same(t, fd)) {
            close(fd);
            return IFG_OK;
        }
    }
    status = target_open(&session->context, fd, pid, &target, err);
    if (status)
        return status;
    /* The same pid with another region: the program was replaced by exec. Both may be found at
     * once, and in any order; the one that started later is the one that lives. */
    while (older) {
        struct target *next = target_next(older);

        if (pid == PROCESS_GONE)
            break;
        if (target_pid(older) == pid && target_start_ns(older) > target_start_ns(target))
            replaced = true;
        else if (target_pid(older) == pid)
            session_close_target(session, older, TRACE_FATE_EXEC, 0);
        older = next;
    }
    target_set_next(target, session->targets);
    session->targets = target;
    session->target_count++;
    session->processes++;
    instruments_report(&session->result->instruments, session->recording.sink.writer, "zones",
                       TRACE_INSTRUMENT_ON, "");
    instruments_report(&session->result->instruments, session->recording.sink.writer, "models",
                       TRACE_INSTRUMENT_ON, "");
    if (replaced) {
        session_close_target(session, target, TRACE_FATE_EXEC, 0);
    } else {
        uint32_t clock;
        uint32_t process = target_process(target, &clock);

        sources_defined(&session->sources, pid, process, clock);
    }
    return IFG_OK;
}

void session_close_target(struct session *session, struct target *target,
                          enum trace_process_fate fate, uint32_t code)
{
    struct target *before = NULL;
    bool any;

    if (session->targets == target) {
        session->targets = target_next(target);
    } else {
        for (before = session->targets; target_next(before) != target; before = target_next(before))
            ;
        target_set_next(before, target_next(target));
    }
    session->target_count--;
    target_drain(target, ifg_monotonic_ns(), &any);
    target_count(target, &session->ended);
    target_close(target, fate, code);
}

void session_fill_progress(struct session *session, struct session_progress *out_progress)
{
    struct target_counts counts = session->ended;
    for (struct target *t = session->targets; t; t = target_next(t))
        target_count(t, &counts);
    out_progress->seconds = (double)(ifg_monotonic_ns() - session->recording.begin_ns) * 1e-9;
    out_progress->events = counts.events;
    out_progress->inferences = counts.inferences;
    out_progress->dropped = counts.dropped;
    out_progress->models = counts.models;
    out_progress->threads = counts.threads;
    out_progress->bytes = session->flight ? flight_bytes(session->flight)
                                          : trace_writer_bytes(session->recording.sink.writer);
    out_progress->processes = session->processes;
    sources_count(&session->sources, out_progress);
}

/* The counter and the clocks, read as close together as we can: the tightest of a few tries. */
void session_write_clock_pair(struct session *session)
{
    struct trace_clock_pair best = { 0 };
    uint64_t tightest = UINT64_MAX;

    for (int i = 0; i < 5; i++) {
        uint64_t before = ifg_counter_read();
        uint64_t monotonic = ifg_monotonic_ns();
        uint64_t realtime = ifg_realtime_ns();
        uint64_t after = ifg_counter_read();

        if (after - before < tightest) {
            tightest = after - before;
            best.ticks = before + (after - before) / 3; /* the first of three reads in between */
            best.monotonic_ns = monotonic;
            best.realtime_ns = realtime;
        }
    }
    trace_writer_clock_pairs(session->recording.sink.writer, SINK_CLOCK_COUNTER, &best, 1);
    best.ticks = best.monotonic_ns;
    trace_writer_clock_pairs(session->recording.sink.writer, SINK_CLOCK_MONOTONIC, &best, 1);
}

/* A region's file has the number that its process has for itself. In another pid namespace that is
 * not ours, and may be somebody else's. */
static pid_t owner_of(const struct session *session, int fd, pid_t own)
{
    static pid_t pids[DESCENDANTS_MAX];
    enum ifg_status status;
    size_t count;
    int other;

    if (own == session->recording.root)
        return own;
    count = process_descendants(session->recording.root, pids, DESCENDANTS_MAX);
    for (size_t i = 0; i < count; i++)
        if (pids[i] == own && process_own_number(own) == own)
            return own;
    for (size_t i = 0; i < count; i++)
        if (pids[i] != own && process_own_number(pids[i]) == own && process_has_region(pids[i], fd))
            return pids[i];
    if (!process_exists(own) || process_has_region(own, fd))
        return own; /* gone, or a daemon by now */
    status = process_open_region(own, &other, NULL);
    if (!status)
        close(other);
    /* Who has ended has no region any more, and may have done so since the question above. */
    return (!status || status == IFG_NOT_FOUND) && !process_has_ended(own) ? PROCESS_GONE : own;
}

/* Adds a region that was found. One that was refused is tried again: it may be free by now. That of
 * a process which has ended is free as well, and there is nothing to come from it. */
static void add_found(struct session *session, int fd, pid_t pid)
{
    struct ifg_error err = { .message = "" };
    struct refused *refused = session->refused;
    struct refused *end = refused + session->refused_count;

    while (refused < end && refused->pid != pid)
        refused++;
    if (refused < end && (target_check_free(fd, pid, NULL) || process_has_ended(pid))) {
        close(fd);
    } else if (!session_add_target(session, fd, pid, &err)) {
        if (refused < end)
            *refused = session->refused[--session->refused_count];
    } else if (refused == end && session->refused_count < REFUSED_MAX) {
        refused->pid = pid;
        snprintf(refused->why, sizeof refused->why, "%.255s", err.message);
        session->refused_count++;
    }
}

static void take_new_regions(struct session *session)
{
    pid_t pid;
    int fd;

    if (!rendezvous_has_news(&session->rendezvous))
        return;
    while (rendezvous_take(&session->rendezvous, &fd, &pid))
        add_found(session, fd, owner_of(session, fd, pid));
}

static bool has_target(const struct session *session, pid_t pid)
{
    for (struct target *t = session->targets; t; t = target_next(t))
        if (target_pid(t) == pid)
            return true;
    return false;
}

static bool has_told_runtime(const struct session *session, pid_t pid)
{
    for (struct target *t = session->targets; t; t = target_next(t))
        if (target_pid(t) == pid && target_told_runtime(t))
            return true;
    return false;
}

/* Most programs load their runtime soon; later ones are seen as well, but not as soon. */
static void look_for_runtimes(struct session *session, const pid_t *pids, size_t count,
                              uint64_t now_ns)
{
    if (now_ns < session->next_runtime_look_ns ||
        (!session->hooks.preload && !session->hooks.python))
        return;
    session->next_runtime_look_ns =
        now_ns + (now_ns - session->recording.begin_ns < 3 * RUNTIME_LOOK_NS ? RUNTIME_SOON_NS
                                                                             : RUNTIME_LOOK_NS);
    for (size_t i = 0; i < count; i++)
        if (!has_told_runtime(session, pids[i]))
            unhooked_look(&session->runtimes, pids[i]);
}

/* Programs that did not get our environment (or cleared it) and load the library all the same; less
 * often also those we have already: an exec may have put another program with another region in
 * their place. */
static void scan_descendants(struct session *session, uint64_t now_ns)
{
    static pid_t pids[DESCENDANTS_MAX];
    bool known_too = now_ns >= session->next_exec_check_ns;
    bool is_outside = sources_any_creator(&session->sources);
    size_t count = 0;

    if (session->root_ended)
        return;
    if (known_too)
        session->next_exec_check_ns = now_ns + EXEC_CHECK_NS;
    if (!session->root_gone) {
        pids[count++] = session->recording.root;
        count += process_descendants(session->recording.root, pids + 1, DESCENDANTS_MAX - 1);
    }
    for (size_t i = 0; i < session->options->other_count && count < DESCENDANTS_MAX; i++) {
        pid_t pid = session->options->others[i];

        if (session->other_pidfds[i] < 0)
            continue;
        pids[count++] = pid;
        count += process_descendants(pid, pids + count, DESCENDANTS_MAX - count);
    }
    look_for_runtimes(session, pids, count, now_ns);
    sources_processes(&session->sources, pids, count);
    for (size_t i = 0; i < count; i++) {
        int fd;

        /* What is watched from outside rarely gets the library later. */
        if ((!known_too && (is_outside || has_target(session, pids[i]))) ||
            process_open_region(pids[i], &fd, NULL) != IFG_OK)
            continue;
        if (!target_belongs_to(fd, pids[i]))
            close(fd);
        else
            add_found(session, fd, pids[i]);
    }
}

void session_note_command(struct session *session)
{
    siginfo_t info = { .si_pid = 0 };
    int status;

    /* A thread of ours that holds it (map_hold.h) waits for its stops, which are seen here too and
     * must be left to that one. */
    if (session->root_ended ||
        waitid(P_PID, (id_t)session->recording.root, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
        !info.si_pid || info.si_code == CLD_TRAPPED || info.si_code == CLD_STOPPED)
        return;
    if (sources_any_ended(&session->sources))
        sources_ended(&session->sources, session->recording.root);
    if (waitpid(session->recording.root, &status, WNOHANG) == session->recording.root) {
        session->root_ended = true;
        session->result->command_ended = true;
        session->result->wait_status = status;
    }
}

/* Closes targets whose process has ended. A last drain happens inside: the memory outlives them. */
static void reap_targets(struct session *session)
{
    struct target *target = session->targets;

    while (target) {
        struct target *next = target_next(target);
        struct pollfd ended = { target_pidfd(target), POLLIN, 0 };
        bool gone = ended.fd >= 0 ? poll(&ended, 1, 0) > 0 : !process_exists(target_pid(target));

        if (gone) {
            enum trace_process_fate fate = TRACE_FATE_UNKNOWN;
            uint32_t code = 0;

            if (target_pid(target) == session->recording.root && session->root_is_child) {
                session_note_command(session);
                if (session->root_ended) {
                    int status = session->result->wait_status;

                    fate = WIFSIGNALED(status) ? TRACE_FATE_KILLED : TRACE_FATE_EXITED;
                    code = (uint32_t)(WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
                }
            }
            session_close_target(session, target, fate, code);
        }
        target = next;
    }
}

/* True when the user wants to stop. A terminal sends Ctrl-C to the command as well; a signal sent
 * to us alone is passed on to it. */
static bool handle_signals(struct session *session)
{
    struct signalfd_siginfo info;
    bool stop = false;

    while (read(session->signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
        int number = (int)info.ssi_signo;

        if (number == SIGCHLD || (number == SIGINT && info.ssi_code == SI_KERNEL &&
                                  session->terminal_interrupts_ignored))
            continue;
        if (number == SIGUSR2) { /* only with --dump-on-signal */
            if (session->flight)
                flight_signal(session->flight);
            continue;
        }
        session->interrupts++;
        if (session->root_is_child && !session->root_ended) {
            bool from_terminal = info.ssi_code == SI_KERNEL;

            if (!from_terminal)
                kill(session->recording.root, number);
            /* The command decides whether to end; the second time the user means us. */
            if (session->interrupts < 2)
                continue;
        }
        stop = true;
    }
    return stop;
}

/* What it took to get ready is not the user's. 0: there is none. */
static uint64_t session_deadline_ns(const struct session *session)
{
    uint64_t duration_ns = (uint64_t)(session->options->duration_s * 1e9);

    return duration_ns ? session->ready_ns + duration_ns : 0;
}

static void sleep_until_something(struct session *session)
{
    struct pollfd polled[POLLED_TARGETS + 8 + POLLED_SOURCES];
    int fds[POLLED_SOURCES];
    uint64_t now_ns = ifg_monotonic_ns();
    uint64_t end_ns = session_deadline_ns(session);
    uint64_t sleep_ns = end_ns && now_ns + session->sleep_ns > end_ns
                            ? (end_ns > now_ns ? end_ns - now_ns : 0)
                            : session->sleep_ns;
    struct timespec limit = { 0, (long)sleep_ns };
    nfds_t count = 0;
    nfds_t first_source;
    unsigned pids = 0;

    polled[count++] = (struct pollfd){ session->signal_fd, POLLIN, 0 };
    if (session->rendezvous.inotify >= 0)
        polled[count++] = (struct pollfd){ session->rendezvous.inotify, POLLIN, 0 };
    if (session->root_pidfd >= 0)
        polled[count++] = (struct pollfd){ session->root_pidfd, POLLIN, 0 };
    first_source = count;
    for (size_t i = 0, last = sources_fds(&session->sources, fds, POLLED_SOURCES); i < last; i++)
        polled[count++] = (struct pollfd){ fds[i], POLLIN, 0 };
    for (struct target *t = session->targets; t && pids < POLLED_TARGETS; t = target_next(t))
        if (target_pidfd(t) >= 0)
            polled[count + pids++] = (struct pollfd){ target_pidfd(t), POLLIN, 0 };
    if (ppoll(polled, count + pids, &limit, NULL) <= 0)
        return;
    session->next_look_ns = 0;
    for (nfds_t i = first_source; i < count; i++)
        if (polled[i].revents & (POLLERR | POLLHUP | POLLNVAL))
            sources_hung_up(&session->sources, polled[i].fd);
}

/* Whether any of the other processes goes on. Their numbers may be somebody else's later. */
static bool note_others(struct session *session)
{
    bool any = false;

    for (size_t i = 0; i < session->options->other_count; i++) {
        struct pollfd ended = { session->other_pidfds[i], POLLIN, 0 };

        if (ended.fd >= 0 && poll(&ended, 1, 0) > 0) {
            close(ended.fd);
            session->other_pidfds[i] = -1;
        }
        any = any || session->other_pidfds[i] >= 0;
    }
    return any;
}

static void note_root_end(struct session *session)
{
    if (session->root_ended)
        return;
    if (session->root_is_child) {
        session_note_command(session);
    } else {
        struct pollfd ended = { session->root_pidfd, POLLIN, 0 };
        bool gone = session->root_gone ||
                    (session->root_pidfd >= 0 ? poll(&ended, 1, 0) > 0
                                              : !process_exists(session->recording.root));

        session->root_ended = !note_others(session) && gone;
        if (gone && !session->root_ended && session->root_pidfd >= 0) {
            close(session->root_pidfd); /* it would wake us for ever */
            session->root_pidfd = -1;
        }
        session->root_gone = gone;
    }
}

static void drain_all(struct session *session, uint64_t now_ns)
{
    bool accepts = trace_writer_accepts(session->recording.sink.writer);
    unsigned fullest = 0;
    bool any = false;

    if (session->last_pass_ns) {
        uint64_t pass_ns = now_ns - session->last_pass_ns;
        uint64_t before_ns = session->context.pass_ns;

        /* The longest of late: it shrinks slowly. */
        session->context.pass_ns = pass_ns > before_ns ? pass_ns : before_ns - before_ns / 8;
    }
    session->last_pass_ns = now_ns;
    session->sources.hold_back = !accepts;
    /* What an output cannot take now stays in the rings: what they lose is counted there, thread by
     * thread, and nobody waits. */
    for (struct target *t = session->targets; t && accepts; t = target_next(t)) {
        unsigned full = target_drain(t, now_ns, &any);

        if (full > fullest)
            fullest = full;
    }
    if (sources_work(&session->sources, now_ns, !session->targets))
        any = true;
    if (fullest >= FULL_PERCENT)
        session->sleep_ns = 0;
    else if (any || !accepts)
        session->sleep_ns = SLEEP_BUSY_NS;
    else if (!session->targets && sources_any_wakes(&session->sources))
        session->sleep_ns = SLEEP_OUTSIDE_NS;
    else if (session->sleep_ns < SLEEP_QUIET_NS)
        session->sleep_ns += session->sleep_ns / 4 + 100000;
}

/* It executed a program with more rights than we have a right to look into. Nothing of that one was
 * recorded: probes and samples ended with the old program. */
static void let_go_if_forbidden(struct session *session)
{
    struct ifg_error err = { .message = "" };

    if (session->root_ended || session_confirm(session, &err) != IFG_PERMISSION)
        return;
    session->root_ended = true;
    snprintf(session->result->let_go, sizeof session->result->let_go, "%.500s", err.message);
    instruments_report(&session->result->instruments, session->recording.sink.writer, "attach",
                       TRACE_INSTRUMENT_UNAVAILABLE, session->result->let_go);
}

/* Soon again at first, and then less and less often: whoever reads along needs two pairs that are
 * some time apart to know how fast the counter runs. */
static uint64_t clock_interval_ns(const struct session *session, uint64_t now_ns)
{
    uint64_t passed_ns = now_ns - session->context.monotonic_begin_ns;

    if (passed_ns < CLOCK_FIRST_NS)
        return CLOCK_FIRST_NS;
    return passed_ns < CLOCK_EVERY_NS ? passed_ns : CLOCK_EVERY_NS;
}

static void do_periodic_work(struct session *session, uint64_t now_ns)
{
    if (now_ns >= session->next_clock_ns) {
        session_write_clock_pair(session);
        session->next_clock_ns = now_ns + clock_interval_ns(session, now_ns);
    }
    if (now_ns >= session->next_scan_ns) {
        uint64_t used_ns = ifg_thread_cpu_ns(), pause_ns;

        let_go_if_forbidden(session);
        scan_descendants(session, now_ns);
        /* Programs for GPUs have thousands of mappings, which take milliseconds. */
        pause_ns = SCAN_PART * (ifg_thread_cpu_ns() - used_ns);
        pause_ns = pause_ns < SCAN_MOST_NS ? pause_ns : SCAN_MOST_NS;
        if (pause_ns < SCAN_EVERY_NS ||
            now_ns - session->context.monotonic_begin_ns < SCAN_OFTEN_NS)
            pause_ns = SCAN_EVERY_NS;
        session->next_scan_ns = now_ns + pause_ns;
    }
    if (session->sleep_ns && now_ns >= session->next_files_ns) { /* not while rings fill */
        for (struct target *t = session->targets; t; t = target_next(t))
            target_take_files(t, 1);
        session->next_files_ns = now_ns + FILES_EVERY_NS;
    }
    if (session->flight)
        flight_work(session, now_ns);
    if (session->options->progress && now_ns >= session->next_progress_ns) {
        struct session_progress progress;

        session_fill_progress(session, &progress);
        session->options->progress(&progress, session->options->user);
        session->next_progress_ns = now_ns + PROGRESS_NS;
    }
}

enum ifg_status session_delay_attach(struct session *session, struct ifg_error *err)
{
    uint64_t until_ns = ifg_monotonic_ns() + (uint64_t)(session->options->delay_s * 1e9);
    uint64_t now_ns;

    while ((now_ns = ifg_monotonic_ns()) < until_ns) {
        struct pollfd polled = { session->signal_fd, POLLIN, 0 };

        poll(&polled, 1, (int)((until_ns - now_ns) / MS % INT32_MAX) + 1);
        if (handle_signals(session))
            return ifg_fail(err, IFG_CANCELLED, "stopped before the --delay was over");
    }
    return IFG_OK;
}

/* Sources are asked for what they have, so that nothing of theirs overflows: they leave out what
 * was before. Regions are opened later. */
bool session_delay(struct session *session)
{
    uint64_t now_ns;

    session->result->end = SESSION_PROGRAM_ENDED;
    while ((now_ns = ifg_monotonic_ns()) < session->context.since_ns) {
        struct pollfd polled[2] = { { session->signal_fd, POLLIN, 0 },
                                    { session->root_pidfd, POLLIN, 0 } };
        uint64_t left_ms = (session->context.since_ns - now_ns) / MS + 1;

        poll(polled, session->root_pidfd >= 0 ? 2 : 1,
             left_ms < DELAY_LOOK_MS ? (int)left_ms : DELAY_LOOK_MS);
        sources_work(&session->sources, ifg_monotonic_ns(), true);
        if (handle_signals(session)) {
            session->result->end = SESSION_INTERRUPTED;
            return false;
        }
        note_root_end(session);
        if (session->root_ended) {
            snprintf(session->result->let_go, sizeof session->result->let_go,
                     "the program ended before the --delay was over");
            return false;
        }
    }
    return true;
}

static bool is_large_enough(const struct session *session)
{
    if (session->flight)
        return flight_is_full(session->flight);
    return session->options->max_bytes &&
           trace_writer_bytes(session->recording.sink.writer) >= session->options->max_bytes;
}

void session_loop(struct session *session)
{
    uint64_t deadline_ns = session_deadline_ns(session);

    session->result->end = SESSION_PROGRAM_ENDED;
    session->recording.deadline_ns = deadline_ns;
    for (;;) {
        uint64_t now_ns = ifg_monotonic_ns();
        bool ended_before = session->root_ended;
        bool look = now_ns >= session->next_look_ns;

        if (deadline_ns && now_ns >= deadline_ns) {
            session->result->end = SESSION_DURATION_OVER;
            session->recording.until_ns = deadline_ns;
            return;
        }
        /* A pass that begins in time may end late: it leaves what came after the deadline. */
        if (deadline_ns)
            session_limit(session, deadline_ns);
        if (look) {
            take_new_regions(session);
            session->next_look_ns = now_ns + LOOK_EVERY_NS;
        }
        drain_all(session, now_ns);
        if (look)
            reap_targets(session);
        do_periodic_work(session, now_ns);
        if (trace_writer_status(session->recording.sink.writer, NULL)) {
            session->result->end = SESSION_WRITE_FAILED;
            return;
        }
        if (is_large_enough(session)) {
            session->result->end = SESSION_SIZE_REACHED;
            session->recording.until_ns = ifg_monotonic_ns();
            return;
        }
        if (look && handle_signals(session)) {
            session->result->end = SESSION_INTERRUPTED;
            session->recording.until_ns = ifg_monotonic_ns();
            return;
        }
        if (ended_before) /* one whole pass after the end: nothing it left behind is missed */
            return;
        if (look)
            note_root_end(session);
        if (session->root_ended)
            session->next_look_ns = 0;
        else if (session->sleep_ns)
            sleep_until_something(session);
    }
}

void session_await_command(struct session *session)
{
    if (!session->root_is_child || session->root_ended)
        return;
    if (session->interrupts >= 2)
        return; /* the user insisted: leave it running */
    if (session->options->waiting)
        session->options->waiting(session->result->program, session->options->user);
    while (!session->root_ended) {
        struct pollfd polled[2] = { { session->signal_fd, POLLIN, 0 },
                                    { session->root_pidfd, POLLIN, 0 } };

        poll(polled, session->root_pidfd >= 0 ? 2 : 1, 100);
        if (handle_signals(session))
            return;
        session_note_command(session);
    }
}
