// SPDX-License-Identifier: Apache-2.0
/*
 * The keeper of `agent --metrics` and `agent --otlp`: see metrics_watch.h. One thread, because it
 * forks: a loop over scrapes, signals, and the list of programs that a child makes every few
 * seconds. What goes to a collector is sent by a child, which has a copy of everything.
 */
#include "cli/metrics_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/ticks.h"
#include "cli/cli.h"
#include "cli/own_cost.h"
#include "cli/process_list.h"
#include "metrics/otlp_export.h"

#define NS_PER_S      1000000000ull
#define LOOK_MS       500
#define SCAN_NS       (5 * NS_PER_S)
#define FAILED_NS     (60 * NS_PER_S) /* until another attempt */
#define RELEASE_NS    (5 * NS_PER_S)
#define END_NS        (10 * NS_PER_S)
#define PAUSES_MOST   256u
#define SEEN_AT_ONCE  64u
#define LAST_ATTEMPTS 3

/* What the scanning child says of a program, in one write. */
struct seen {
    pid_t pid;
    bool is_elsewhere; /* another recorder has it */
    char program[64];
};

/* A program that is not to be watched for a while, */
struct pause {
    pid_t pid;
    pid_t holder;      /* as long as this process lives, */
    uint64_t until_ns; /* or, without one, until then */
};

struct metrics_watch {
    struct metrics_watch_options options;
    struct watch_slot *slots[WATCH_PROGRAMS_MOST]; /* each in shared memory */
    pid_t keeper;
    int keeper_fd; /* a number may be somebody else's, once the keeper has gone */
};

struct keeper {
    struct metrics_watch *watch;
    struct metrics_listener *listener; /* NULL: nobody scrapes */
    struct otlp_export *export;        /* NULL: nothing is sent; likewise: */
    struct otlp_outcome *outcome;      /* shared with the sender */
    pid_t sender;                      /* 0: none */
    int signals;
    sigset_t mask_before;
    pid_t recorders[WATCH_PROGRAMS_MOST]; /* of the slots; 0: none */
    struct tally *gone;                   /* of programs that have ended */
    struct tally *sum;                    /* for a scrape */
    struct problems *problems;
    struct pause pauses[PAUSES_MOST];
    pid_t scanner; /* 0: none */
    int scan;      /* what it writes to; -1 */
    uint64_t next_scan_ns;
    uint32_t refused, elsewhere;               /* of the scan that runs, */
    uint32_t refused_before, elsewhere_before; /* and of the last one */
    uint64_t scrapes;
    uint64_t ending_ns; /* 0: not yet */
};

/* ---- scrapes ---- */

static struct metrics_view view_of(struct keeper *keeper, struct own_cost cost)
{
    struct metrics_view view = {
        .version = INFEROGRAM_VERSION,
        .tally = keeper->sum,
        .problems = keeper->problems,
        .programs[PROGRAM_ELSEWHERE] = keeper->elsewhere_before,
        .programs[PROGRAM_REFUSED] = keeper->refused_before,
        .cpu_s = cost.cpu_s,
        .memory_bytes = cost.memory_bytes,
        .scrapes = keeper->scrapes,
    };

    memset(keeper->sum, 0, sizeof *keeper->sum);
    memset(keeper->problems, 0, sizeof *keeper->problems);
    tally_merge(keeper->sum, keeper->gone);
    for (size_t i = 0; i < WATCH_PROGRAMS_MOST; i++) {
        const struct watch_slot *slot = keeper->watch->slots[i];

        if (!keeper->recorders[i])
            continue;
        view.programs[PROGRAM_WATCHED]++;
        view.cpu_s += (double)atomic_load(&slot->cpu_us) * 1e-6;
        view.memory_bytes += (double)atomic_load(&slot->memory_bytes);
        tally_merge(keeper->sum, &slot->tally);
        problems_merge(keeper->problems, &slot->problems[atomic_load(&slot->problems_at) & 1]);
    }
    return view;
}

static void fill(struct ifg_bytes *out, enum metrics_format format, void *user)
{
    struct keeper *keeper = user;
    struct metrics_view view = view_of(keeper, own_cost_now());

    keeper->scrapes++;
    metrics_text_put(out, format, &view);
}

/* ---- programs that are not to be watched for a while ---- */

static bool is_over(const struct pause *pause)
{
    return pause->holder ? kill(pause->holder, 0) != 0 && errno == ESRCH
                         : pause->until_ns <= ifg_monotonic_ns();
}

static const struct pause *find_pause(const struct keeper *keeper, pid_t pid)
{
    for (size_t i = 0; i < PAUSES_MOST; i++)
        if (keeper->pauses[i].pid == pid && !is_over(&keeper->pauses[i]))
            return &keeper->pauses[i];
    return NULL;
}

/* If there are too many, the first one is forgotten: that program is tried again early. */
static void pause_program(struct keeper *keeper, struct pause pause)
{
    struct pause *place = &keeper->pauses[0];

    for (size_t i = 0; i < PAUSES_MOST; i++) {
        if (keeper->pauses[i].pid == pause.pid || is_over(&keeper->pauses[i])) {
            place = &keeper->pauses[i];
            break;
        }
    }
    *place = pause;
}

/* ---- children ---- */

/* In a child: it ends with its parent, has its signals, and none of its sockets. */
static bool begin_child(const struct keeper *keeper, pid_t parent, int keep_fd)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        return false;
    if (keep_fd >= 0 && dup2(keep_fd, STDERR_FILENO + 1) < 0)
        return false;
    syscall(SYS_close_range, STDERR_FILENO + (keep_fd >= 0 ? 2 : 1), ~0u, 0);
    sigprocmask(SIG_SETMASK, &keeper->mask_before, NULL);
    return true;
}

/* ---- what is sent ---- */

static void take_spans(struct keeper *keeper)
{
    for (size_t i = 0; keeper->export && i < WATCH_PROGRAMS_MOST; i++)
        if (keeper->recorders[i])
            span_queue_take(&keeper->export->queue, &keeper->watch->slots[i]->spans,
                            &keeper->watch->slots[i]->tally);
}

/* In a child. What programs, threads and time it has, it has for this; what it costs is not what
 * the keeper costs. */
static void send_all(struct keeper *keeper, struct own_cost cost, unsigned timeout_ms)
{
    struct metrics_view view = view_of(keeper, cost);
    struct otlp_load load;

    alarm(2 + 3 * timeout_ms / 1000); /* whatever the library waits for */
    otlp_load_init(&load);
    otlp_export_fill(keeper->export, &view, &load);
    if (otlp_send_begin())
        otlp_send(keeper->export->target, &load, timeout_ms, NULL, keeper->outcome);
}

static void start_sender(struct keeper *keeper, unsigned timeout_ms)
{
    struct own_cost cost = own_cost_now();
    pid_t parent = getpid();

    memset(keeper->outcome, 0, sizeof *keeper->outcome);
    otlp_export_begin(keeper->export);
    keeper->sender = fork();
    if (keeper->sender == 0) {
        if (begin_child(keeper, parent, -1))
            send_all(keeper, cost, timeout_ms);
        _exit(0);
    }
    if (keeper->sender < 0) {
        keeper->sender = 0;
        otlp_export_take(keeper->export, keeper->outcome); /* another time */
    }
}

static void end_sender(struct keeper *keeper)
{
    keeper->sender = 0;
    if (otlp_export_take(keeper->export, keeper->outcome) && !keeper->watch->options.quiet)
        cli_say("OTLP: %s", keeper->export->told[0]);
}

/* What is being sent may come to its end; then it is given up. */
static void await_sender(struct keeper *keeper)
{
    uint64_t until_ns = ifg_monotonic_ns() + OTLP_LAST_WAIT_MS * 1000000ull;
    const struct timespec moment = { 0, 5000000 };

    while (keeper->sender && waitpid(keeper->sender, NULL, WNOHANG) == 0) {
        if (ifg_monotonic_ns() >= until_ns)
            kill(keeper->sender, SIGKILL);
        nanosleep(&moment, NULL);
    }
    if (keeper->sender)
        end_sender(keeper);
}

/* All once more, when the recorders have ended. */
static void send_last(struct keeper *keeper)
{
    if (keeper->export)
        await_sender(keeper);
    for (int i = 0; keeper->export && i < LAST_ATTEMPTS; i++) {
        start_sender(keeper, OTLP_LAST_TIMEOUT_MS);
        if (!keeper->sender || waitpid(keeper->sender, NULL, 0) != keeper->sender)
            return;
        end_sender(keeper);
        if (keeper->export->failures || !keeper->export->queue.count)
            return;
    }
}

/* ---- recorders ---- */

static void start_recorder(struct keeper *keeper, size_t at, const struct seen *seen)
{
    struct watch_slot *slot = keeper->watch->slots[at];
    pid_t parent = getpid();
    pid_t child;

    snprintf(slot->program, sizeof slot->program, "%s", seen->program);
    atomic_store(&slot->pid, seen->pid);
    child = fork();
    if (child == 0)
        _exit(begin_child(keeper, parent, -1) ? metrics_watcher_run(slot, &keeper->watch->options)
                                              : 1);
    if (child < 0) {
        atomic_store(&slot->pid, 0);
        keeper->refused++;
        return;
    }
    atomic_store(&slot->recorder, child);
    keeper->recorders[at] = child;
}

/* What was counted stays; the memory goes back. */
static void end_recorder(struct keeper *keeper, size_t at, int status)
{
    struct watch_slot *slot = keeper->watch->slots[at];

    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        pause_program(keeper, (struct pause){ .pid = atomic_load(&slot->pid),
                                              .until_ns = ifg_monotonic_ns() + FAILED_NS });
    if (keeper->export)
        span_queue_take(&keeper->export->queue, &slot->spans, &slot->tally);
    tally_merge(keeper->gone, &slot->tally);
    keeper->recorders[at] = 0;
    /* Shared with a capture that waits for pid to become 0. */
    if (madvise(slot, sizeof *slot, MADV_REMOVE) != 0)
        memset(slot, 0, sizeof *slot);
}

static void reap(struct keeper *keeper)
{
    pid_t pid;
    int status;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid == keeper->scanner)
            keeper->scanner = 0;
        if (keeper->sender && pid == keeper->sender)
            end_sender(keeper);
        for (size_t i = 0; i < WATCH_PROGRAMS_MOST; i++)
            if (keeper->recorders[i] == pid)
                end_recorder(keeper, i, status);
    }
}

/* ---- looking for programs ---- */

struct scan {
    const struct metrics_watch *watch;
    int fd;
};

static bool is_chosen(const struct metrics_watch_options *options, const char *name)
{
    for (size_t i = 0; i < options->name_count; i++)
        if (fnmatch(options->names[i], name, 0) == 0)
            return true;
    return !options->name_count;
}

static void tell_seen(const struct remote_process *process, void *user)
{
    const struct scan *scan = user;
    struct seen seen = { .pid = (pid_t)process->pid };

    if (!is_chosen(&scan->watch->options, process->name) ||
        metrics_watch_is_ours(scan->watch, (pid_t)process->recorder))
        return;
    seen.is_elsewhere = process->recorder != 0;
    if (!seen.is_elsewhere && !process_list_is_ready(process))
        return;
    snprintf(seen.program, sizeof seen.program, "%.63s", process->name);
    if (write(scan->fd, &seen, sizeof seen) != (ssize_t)sizeof seen)
        _exit(1); /* nobody reads it any more */
}

static void start_scan(struct keeper *keeper)
{
    struct remote_listed listed;
    pid_t parent = getpid();
    int ends[2];

    keeper->next_scan_ns = ifg_monotonic_ns() + SCAN_NS;
    if (keeper->scanner || keeper->scan >= 0 || pipe2(ends, O_CLOEXEC) < 0)
        return;
    keeper->scanner = fork();
    if (keeper->scanner == 0) {
        struct scan scan = { keeper->watch, STDERR_FILENO + 1 };

        if (begin_child(keeper, parent, ends[1]))
            process_list_each(tell_seen, &scan, &listed);
        _exit(0);
    }
    close(ends[1]);
    if (keeper->scanner < 0) {
        keeper->scanner = 0;
        close(ends[0]);
        return;
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    keeper->scan = ends[0];
    keeper->refused = keeper->elsewhere = 0;
}

static void consider(struct keeper *keeper, const struct seen *seen)
{
    const struct pause *pause = find_pause(keeper, seen->pid);
    size_t at = WATCH_PROGRAMS_MOST;

    if (seen->is_elsewhere || (pause && pause->holder)) {
        keeper->elsewhere++;
        return;
    }
    for (size_t i = WATCH_PROGRAMS_MOST; i-- > 0;) {
        if (atomic_load(&keeper->watch->slots[i]->pid) == seen->pid)
            return;
        if (!keeper->recorders[i])
            at = i;
    }
    if (at == WATCH_PROGRAMS_MOST || pause)
        keeper->refused++;
    else if (!keeper->ending_ns)
        start_recorder(keeper, at, seen);
}

static void take_scan(struct keeper *keeper)
{
    struct seen seen[SEEN_AT_ONCE];
    ssize_t got;

    while ((got = read(keeper->scan, seen, sizeof seen)) > 0)
        for (size_t i = 0; i < (size_t)got / sizeof seen[0]; i++)
            consider(keeper, &seen[i]);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    close(keeper->scan);
    keeper->scan = -1;
    keeper->refused_before = keeper->refused;
    keeper->elsewhere_before = keeper->elsewhere;
}

/* ---- signals ---- */

static void let_go_of_wanted(struct keeper *keeper)
{
    for (size_t i = 0; i < WATCH_PROGRAMS_MOST; i++) {
        struct watch_slot *slot = keeper->watch->slots[i];
        pid_t holder;

        if (!keeper->recorders[i] || !(holder = atomic_exchange(&slot->wanted_by, 0)))
            continue;
        pause_program(keeper, (struct pause){ .pid = atomic_load(&slot->pid), .holder = holder });
        kill(keeper->recorders[i], SIGTERM);
    }
}

static void end(struct keeper *keeper)
{
    if (keeper->ending_ns)
        return;
    keeper->ending_ns = ifg_monotonic_ns() + END_NS;
    if (keeper->scanner)
        kill(keeper->scanner, SIGKILL);
    for (size_t i = 0; i < WATCH_PROGRAMS_MOST; i++)
        if (keeper->recorders[i])
            kill(keeper->recorders[i], SIGTERM);
}

static void take_signals(struct keeper *keeper)
{
    struct signalfd_siginfo info;

    while (read(keeper->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGCHLD)
            reap(keeper);
        else if (info.ssi_signo == SIGUSR1)
            let_go_of_wanted(keeper);
        else
            end(keeper);
    }
}

static bool begin_signals(struct keeper *keeper)
{
    struct sigaction hangup;
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGCHLD);
    if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN) /* nohup */
        sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, &keeper->mask_before);
    signal(SIGCHLD, SIG_DFL);
    keeper->signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    return keeper->signals >= 0;
}

/* ---- the keeper ---- */

static bool has_children(const struct keeper *keeper)
{
    for (size_t i = 0; i < WATCH_PROGRAMS_MOST; i++)
        if (keeper->recorders[i])
            return true;
    return keeper->scanner != 0;
}

static void work(struct keeper *keeper)
{
    int listener = keeper->listener ? metrics_listener_fd(keeper->listener) : -1;

    while (!keeper->ending_ns || (has_children(keeper) && ifg_monotonic_ns() < keeper->ending_ns)) {
        struct pollfd polled[] = { { keeper->signals, POLLIN, 0 },
                                   { listener, POLLIN, 0 },
                                   { keeper->scan, POLLIN, 0 } };

        if (!keeper->ending_ns && ifg_monotonic_ns() >= keeper->next_scan_ns)
            start_scan(keeper);
        polled[2].fd = keeper->scan;
        if (poll(polled, 3, LOOK_MS) < 0 && errno != EINTR)
            return;
        take_signals(keeper);
        if (keeper->listener)
            metrics_listener_work(keeper->listener);
        if (keeper->scan >= 0)
            take_scan(keeper);
        take_spans(keeper);
        if (keeper->export && !keeper->sender && !keeper->ending_ns &&
            otlp_export_is_due(keeper->export))
            start_sender(keeper, OTLP_TIMEOUT_MS);
    }
}

static bool begin_export(struct keeper *keeper)
{
    const struct otlp_options *options = &keeper->watch->options.otlp;
    void *shared;

    if (!options->interval_ms)
        return true;
    shared = mmap(NULL, sizeof *keeper->outcome, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                  -1, 0);
    keeper->export = otlp_export_create(&options->target, options->interval_ms);
    keeper->outcome = shared;
    return keeper->export && shared != MAP_FAILED;
}

static int keep(struct metrics_watch *watch, struct metrics_address *address, pid_t parent)
{
    struct keeper *keeper = ifg_alloc(1, sizeof *keeper);
    struct ifg_error err = { .message = "not enough memory" };

    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (!keeper || getppid() != parent)
        return 1;
    keeper->watch = watch;
    keeper->scan = -1;
    keeper->gone = ifg_alloc(1, sizeof *keeper->gone);
    keeper->sum = ifg_alloc(1, sizeof *keeper->sum);
    keeper->problems = ifg_alloc(1, sizeof *keeper->problems);
    if (!keeper->gone || !keeper->sum || !keeper->problems || !begin_signals(keeper) ||
        !begin_export(keeper) ||
        (address->socket >= 0 &&
         metrics_listener_create(address, fill, keeper, &keeper->listener, &err))) {
        cli_say("no metrics: %s", err.message);
        return 1;
    }
    work(keeper);
    send_last(keeper);
    metrics_listener_destroy(keeper->listener);
    return 0;
}

/* ---- the agent ---- */

static void destroy(struct metrics_watch *watch)
{
    if (watch->keeper_fd >= 0)
        close(watch->keeper_fd);
    for (size_t i = 0; i < WATCH_PROGRAMS_MOST; i++)
        if (watch->slots[i])
            munmap(watch->slots[i], sizeof *watch->slots[i]);
    ifg_free(watch);
}

enum ifg_status metrics_watch_start(const struct metrics_watch_options *options,
                                    struct metrics_address *address,
                                    struct metrics_watch **out_watch, struct ifg_error *err)
{
    struct metrics_watch *watch = ifg_alloc(1, sizeof *watch);
    enum ifg_status status = watch ? IFG_OK : ifg_fail_no_memory(err, "for metrics");
    pid_t parent = getpid();

    *out_watch = NULL;
    if (watch)
        watch->keeper_fd = -1;
    for (size_t i = 0; !status && i < WATCH_PROGRAMS_MOST; i++) {
        void *memory = mmap(NULL, sizeof *watch->slots[i], PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        if (memory == MAP_FAILED)
            status = ifg_fail_errno(err, "cannot make memory for metrics");
        else
            watch->slots[i] = memory;
    }
    if (!status) {
        watch->options = *options;
        fflush(NULL);
        watch->keeper = fork();
        if (watch->keeper == 0)
            _exit(keep(watch, address, parent));
        if (watch->keeper > 0)
            watch->keeper_fd = (int)syscall(SYS_pidfd_open, watch->keeper, 0);
        else
            status = ifg_fail_errno(err, "cannot start the process that serves metrics");
    }
    metrics_address_close(address);
    if (status && watch)
        destroy(watch);
    else
        *out_watch = watch;
    return status;
}

void metrics_watch_stop(struct metrics_watch *watch)
{
    if (!watch)
        return;
    if (waitpid(watch->keeper, NULL, WNOHANG) == 0) { /* else the agent has reaped it */
        kill(watch->keeper, SIGTERM);
        while (waitpid(watch->keeper, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    destroy(watch);
}

bool metrics_watch_is_ours(const struct metrics_watch *watch, pid_t recorder)
{
    for (size_t i = 0; watch && recorder && i < WATCH_PROGRAMS_MOST; i++)
        if (atomic_load(&watch->slots[i]->pid) &&
            atomic_load(&watch->slots[i]->recorder) == recorder)
            return true;
    return false;
}

void metrics_watch_release(struct metrics_watch *watch, pid_t pid)
{
    uint64_t until_ns = ifg_monotonic_ns() + RELEASE_NS;
    const struct timespec moment = { 0, 5000000 };
    struct watch_slot *slot = NULL;

    for (size_t i = 0; watch && i < WATCH_PROGRAMS_MOST && !slot; i++)
        if (pid && atomic_load(&watch->slots[i]->pid) == pid)
            slot = watch->slots[i];
    if (!slot)
        return;
    atomic_store(&slot->wanted_by, getpid());
    syscall(SYS_pidfd_send_signal, watch->keeper_fd, SIGUSR1, NULL, 0);
    while (atomic_load(&slot->pid) == pid && ifg_monotonic_ns() < until_ns)
        nanosleep(&moment, NULL);
}
