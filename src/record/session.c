// SPDX-License-Identifier: Apache-2.0
/* The beginning and the end of a recording: see session.h. */
#include "record/session_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/ticks.h"
#include "record/confined.h"
#include "record/fault.h"
#include "record/process.h"
#include "record/program.h"
#include "record/redact.h"
#include "runtimes/runtimes.h"
#include "system/host.h"
#include "trace/keys.h"
#include "trace/output.h"
#include "wire/wire.h"

/* A recorder that is killed loses at most this much, plus one pass of the loop. */
#define FLUSH_AFTER_NS 150000000ull
#define FLUSH_SOON_NS  100000000ull /* while somebody looks */
#define WORKERS_MAX    512

static void default_path(const char *program, pid_t pid, char *out, size_t size)
{
    const char *slash = strrchr(program, '/');
    time_t now = time(NULL);
    struct tm local;
    char when[16];

    localtime_r(&now, &local);
    strftime(when, sizeof when, "%H%M%S", &local);
    snprintf(out, size, "inferogram-%.64s-%d-%s.ifg", slash && slash[1] ? slash + 1 : program,
             (int)pid, when);
    for (; *out; out++)
        if ((unsigned char)*out < 0x20 || *out == 0x7f || *out == '/')
            *out = '_'; /* a name that a terminal shows as it is */
}

static enum ifg_status open_given_output(struct session *session, struct ifg_error *err)
{
    struct trace_output *output;
    enum ifg_status status = session->options->open_output(&output, session->options->user, err);

    if (status)
        return status;
    snprintf(session->result->path, sizeof session->result->path, "%s", output->name);
    status = trace_writer_create_on(output, &session->recording.sink.writer, err);
    if (!status && session->options->makes_own_index)
        trace_writer_keep_no_index(session->recording.sink.writer);
    return status;
}

enum ifg_status session_open_output(struct session *session, const char *program, pid_t pid,
                                    struct ifg_error *err)
{
    char *path = session->result->path;
    size_t size = sizeof session->result->path;
    enum ifg_status status;

    if (session->options->output && strlen(session->options->output) >= size)
        return ifg_fail(err, IFG_INVALID, "the name of the output file is too long");
    if (session->options->output)
        snprintf(path, size, "%s", session->options->output);
    else
        default_path(program, pid, path, size);
    if (session->options->open_output)
        status = open_given_output(session, err);
    else if (session->options->flight.is_on)
        status = flight_open(session, path, err);
    else
        status =
            trace_writer_create_private(path, session->options->overwrite, session->options->mode,
                                        &session->recording.sink.writer, err);
    if (status)
        return status;
    session->recording.begin_ns = ifg_monotonic_ns();
    session->context.monotonic_begin_ns = session->recording.begin_ns;
    session->context.counter_begin = ifg_counter_read();
    session->context.overhead_pct = session->options->overhead_pct;
    session_write_facts(session);
    return IFG_OK;
}

static enum ifg_status prepare_environment(struct session *session, const char *path,
                                           struct ifg_error *err)
{
    struct hooks *hooks = &session->hooks;
    struct program program;
    char value[256];
    enum ifg_status status;

    snprintf(value, sizeof value, "%d:%sF%u:%s", (int)getpid(),
             session->options->lossless ? "L" : "", confined_own_filters(),
             session->rendezvous.directory);
    status = hooks_add_variable(hooks, IFG_ENV_SESSION, value, err);
    if (status || session->options->hook == SESSION_HOOK_NONE ||
        session->options->hook == SESSION_HOOK_UPROBE)
        return status;
    program_probe(path, &program);
    unhooked_add_program(&session->runtimes, program.path);
    status = hooks_prepare(hooks, &program, session->options->ops, err);
    session->result->hooked = hooks->preload;
    if (!status && !session_annotations_are_off(session))
        status = hooks_add_annotations(hooks, &program, session->options->annotations, err);
    return status;
}

static enum ifg_status begin_launch(struct session *session, bool *out_cannot_start,
                                    struct ifg_error *err)
{
    char *const *command = session->options->command;
    const char *slash = strrchr(command[0], '/');
    char path[PATH_MAX];
    struct launch launch;
    enum ifg_status status;

    snprintf(session->result->program, sizeof session->result->program, "%s",
             slash ? slash + 1 : command[0]);
    status = launch_find(command, path, sizeof path, err);
    if (status) {
        *out_cannot_start = true;
        return status;
    }
    status = prepare_environment(session, path, err);
    if (!status)
        status = sources_open(&session->sources, &session->recording, err);
    if (!status && session->options->hook == SESSION_HOOK_UPROBE)
        session->result->hooked = true;
    if (!status)
        status = launch_prepare(command, &session->surroundings, session->hooks.variables,
                                session->hooks.variable_count, &launch, err);
    if (status)
        return status;
    session->recording.root = launch.pid;
    session->result->pid = launch.pid;
    session->context.launched = launch.pid;
    session->context.command = command;
    /* The file before the program: a program must not run for nothing. */
    status = session_open_output(session, command[0], launch.pid, err);
    if (status) {
        launch_abandon(&launch);
        return status;
    }
    session->recording.root_waits = true;
    sources_begin(&session->sources);
    session->recording.root_waits = false;
    session->ready_ns = ifg_monotonic_ns();
    status = launch_go(&launch, command, err);
    if (status) {
        *out_cannot_start = true;
        return status;
    }
    session->root_is_child = true;
    session->result->command_started = true;
    return IFG_OK;
}

/* The region of the process, and whether it is free; -1 with the reason if there is none. */
static enum ifg_status find_region(pid_t pid, int *out_fd, enum ifg_status *out_why,
                                   struct ifg_error *why, struct ifg_error *err)
{
    enum ifg_status status = IFG_OK;

    *out_why = process_open_region(pid, out_fd, why);
    if (!*out_why)
        status = target_check_free(*out_fd, pid, err); /* before a file is created, or replaced */
    if (status)
        close(*out_fd);
    return status;
}

static const char *device_wish(enum session_gpu gpu)
{
    if (gpu == SESSION_GPU_OFF)
        return NULL;
    return gpu == SESSION_GPU_FULL ? "full" : "kernels";
}

/* Loads the hooks into the process. What is recorded then comes through its region. */
static enum ifg_status begin_injection(struct session *session, pid_t pid, int *fd,
                                       enum ifg_status *out_region, struct ifg_error *no_region,
                                       struct ifg_error *err)
{
    char directory[PATH_MAX];
    char reason[512];
    enum ifg_status status;

    if (!hooks_find_directory(directory, reason, sizeof reason))
        return ifg_fail(err, IFG_UNSUPPORTED, "cannot inject into pid %d: %s", (int)pid, reason);
    if (confined_more_than_born(pid))
        return ifg_fail(err, IFG_UNSUPPORTED,
                        "cannot inject into pid %d: it has confined itself (seccomp), and what is "
                        "injected makes system calls; leave --hook inject out",
                        (int)pid);
    status = inject_begin(&(struct inject_options){ .pid = pid,
                                                    .hooks_dir = directory,
                                                    .device = device_wish(session->options->gpu) },
                          &session->injection, err);
    session->recording.device_reason = session->injection.device_reason;
    if (!status && *fd < 0)
        *out_region = process_open_region(pid, fd, no_region);
    return status;
}

#define DEVICES_WAIT_NS 300000000ull
#define DEVICES_LOOK_US 2000u
#define EJECT_TRIES     10
#define EJECT_WAIT_US   100000

/* Puts the program's table back. A moment at which that is safe may have to be waited for. */
static void end_injection(struct session *session)
{
    struct ifg_error err = { .message = "" };

    for (int i = 0; session->injection.start_time && i < EJECT_TRIES; i++) {
        if (inject_end(&session->injection, &err) == IFG_OK) {
            session->injection.start_time = 0;
            return;
        }
        usleep(EJECT_WAIT_US);
    }
    if (session->injection.start_time)
        snprintf(session->result->still_injected, sizeof session->result->still_injected, "%.511s",
                 err.message);
}

enum ifg_status session_confirm(const struct session *session, struct ifg_error *err)
{
    return session->traced.pid ? trace_rule_confirm(&session->traced, err) : IFG_OK;
}

/* Why there is nothing to be recorded in a process that does not carry the library. `region` is
 * what was found out about that, and its sentence. */
static enum ifg_status explain(const struct session *session, const struct process_info *info,
                               const struct source_sight *sight, enum ifg_status region,
                               const struct ifg_error *region_error, struct ifg_error *err)
{
    const char *name = process_short_name(info);

    if (sight->why)
        return ifg_fail(err, sight->why, "cannot attach to process %d (%s): %s", (int)info->pid,
                        name, sight->reason);
    if (region != IFG_NOT_FOUND || !sources_any_attach(&session->sources))
        return ifg_fail(err, region, "%s", region_error->message);
    return ifg_fail(
        err, IFG_NOT_FOUND,
        "process %d (%s) does not carry libinferogram and has not loaded %s: there is nothing to "
        "record in it but its call stacks (--sample). Start it with "
        "'inferogram record -- %s ...', wait for a program with --next, or see 'inferogram ls'",
        (int)info->pid, name, runtimes_watched(RUNTIME_ATTACHED).text, name);
}

/* A supervisor has nothing to record, and its workers do. True if any has something. */
static bool attach_descendants(struct session *session, pid_t root)
{
    pid_t pids[WORKERS_MAX];
    size_t count = process_descendants(root, pids, WORKERS_MAX);
    bool found = false;

    for (size_t i = 0; i < count; i++) {
        struct source_sight sight = { .why = IFG_OK };
        int fd;

        if (sources_attach(&session->sources, pids[i], &sight, NULL) == IFG_OK)
            found = found || sight.watched || sight.hooked || sight.python_hooked;
        if (!found && process_open_region(pids[i], &fd, NULL) == IFG_OK) {
            close(fd);
            found = true;
        }
    }
    return found;
}

/* One more process that runs already; its region is found as those of descendants are. */
static enum ifg_status attach_other(struct session *session, size_t index, struct ifg_error *err)
{
    pid_t pid = session->options->others[index];
    struct source_sight sight = { .why = IFG_OK };
    struct ifg_error no_region = { .message = "" };
    enum ifg_status region;
    struct process_info info;
    enum ifg_status status = process_describe(pid, &info, err);
    int fd = -1;

    if (status)
        return status;
    session->other_pidfds[index] = (int)syscall(SYS_pidfd_open, pid, 0);
    if (session->other_pidfds[index] < 0)
        return ifg_fail_errno(err, "cannot watch process %d", (int)pid);
    status = find_region(pid, &fd, &region, &no_region, err);
    if (!status)
        status = sources_attach(&session->sources, pid, &sight, err);
    if (!status && !attach_descendants(session, pid) && region && !sight.watched &&
        !session->options->machine_alone)
        status = explain(session, &info, &sight, region, &no_region, err);
    if (fd >= 0)
        close(fd);
    return status;
}

static enum ifg_status attach_others(struct session *session, struct ifg_error *err)
{
    enum ifg_status status = IFG_OK;

    if (session->options->other_count && trace_rule_applies())
        return ifg_fail(err, IFG_PERMISSION,
                        "with rights by file capabilities one process at a time can be recorded: "
                        "use sudo, or one --pid");
    for (size_t i = 0; i < session->options->other_count && !status; i++)
        status = attach_other(session, i, err);
    return status;
}

static enum ifg_status begin_attach(struct session *session, struct ifg_error *err)
{
    pid_t pid = session->options->pid;
    struct source_sight sight = { .why = IFG_OK };
    struct process_info info;
    struct ifg_error no_region = { .message = "" };
    enum ifg_status region;
    enum ifg_status status = process_describe(pid, &info, err);
    int fd = -1;

    if (!status && trace_rule_applies())
        status = trace_rule_open(pid, &session->traced, err);
    if (status)
        return status;
    status = find_region(pid, &fd, &region, &no_region, err);
    if (status)
        return status;
    if (session->options->hook == SESSION_HOOK_INJECT) {
        status = begin_injection(session, pid, &fd, &region, &no_region, err);
        if (status) {
            if (fd >= 0)
                close(fd);
            return status;
        }
    }
    session->recording.root = pid;
    session->result->pid = pid;
    snprintf(session->result->program, sizeof session->result->program, "%s",
             process_short_name(&info));
    status = sources_open(&session->sources, &session->recording, err);
    if (!status)
        status = sources_attach(&session->sources, pid, &sight, err);
    session->context.is_injected = session->options->hook == SESSION_HOOK_INJECT || sight.hooked;
    if (!status && !attach_descendants(session, pid) && region && !sight.watched &&
        !session->options->machine_alone)
        status = explain(session, &info, &sight, region, &no_region, err);
    if (!status)
        status = session_confirm(session, err);
    if (!status)
        status = attach_others(session, err);
    if (!status)
        status = session_open_output(session, session->result->program, pid, err);
    if (status) {
        if (fd >= 0)
            close(fd);
        return status;
    }
    if (sight.is_refused)
        snprintf(session->hooks.reason, sizeof session->hooks.reason, "%.500s", sight.reason);
    sources_begin(&session->sources);
    if (fd < 0)
        return IFG_OK;
    session->ready_ns = ifg_monotonic_ns(); /* before its first event */
    status = session_add_target(session, fd, pid, err);
    /* Left alone: what is seen from outside does it no harm. */
    if (status == IFG_UNSUPPORTED && (sight.watched || sources_need_no_runtime(&session->sources)))
        status = IFG_OK;
    return status;
}

static bool is_ignored(int number)
{
    struct sigaction action;

    return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

static enum ifg_status begin_signals(struct session *session, struct ifg_error *err)
{
    sigset_t set;

    fault_begin();
    signal(SIGXFSZ, SIG_IGN); /* a file size limit is an error to report, not a death */
    signal(SIGPIPE, SIG_IGN); /* nobody reads what we say: no reason to lose a recording */
    signal(SIGCHLD, SIG_DFL); /* ignored by whoever started us, there would be no exit status */
    session->terminal_interrupts_ignored = is_ignored(SIGINT);
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    if (!is_ignored(SIGHUP)) /* nohup */
        sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGCHLD);
    if (session->options->flight.on_signal)
        sigaddset(&set, SIGUSR2);
    sigprocmask(SIG_BLOCK, &set, NULL);
    session->signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (session->signal_fd < 0)
        return ifg_fail_errno(err, "cannot receive signals");
    return IFG_OK;
}

/* Many processes need many descriptors; ours may be raised, theirs are theirs. */
static void raise_descriptor_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

double session_cpu_seconds(uint64_t *out_memory_bytes)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    *out_memory_bytes = (uint64_t)usage.ru_maxrss * 1024;
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static void write_ending(struct session *session)
{
    static const char *const reasons[] = {
        [SESSION_PROGRAM_ENDED] = "the program ended",
        [SESSION_DURATION_OVER] = "the duration was over",
        [SESSION_INTERRUPTED] = "stopped by the user",
        [SESSION_WRITE_FAILED] = "the file could not be written",
        [SESSION_SIZE_REACHED] = "the file had its size",
    };

    session_write_end(session, session->flight && session->result->end == SESSION_SIZE_REACHED
                                   ? "definitions took half of the memory"
                                   : reasons[session->result->end]);
    if (session->flight)
        flight_end(session);
}

void session_limit(struct session *session, uint64_t end_ns)
{
    const struct target_context *context = &session->context;
    uint64_t tightest = UINT64_MAX;
    uint64_t now_ns = 0;
    uint64_t now = 0;

    /* The tightest of a few tries: what may come between two reads would be added to the end. */
    for (int i = 0; i < 5; i++) {
        uint64_t before = ifg_counter_read();
        uint64_t monotonic = ifg_monotonic_ns();
        uint64_t after = ifg_counter_read();

        if (after - before < tightest) {
            tightest = after - before;
            now_ns = monotonic;
            now = before + (after - before) / 2;
        }
    }
    if (now_ns > context->monotonic_begin_ns)
        session->recording.sink.until[SINK_CLOCK_COUNTER] =
            now + (uint64_t)(int64_t)((double)(int64_t)(end_ns - now_ns) *
                                      (double)(now - context->counter_begin) /
                                      (double)(now_ns - context->monotonic_begin_ns));
    session->recording.sink.until[SINK_CLOCK_MONOTONIC] = end_ns;
}

/* Work of devices is told a little later than it was done. The programs go on meanwhile. */
static void await_devices(struct session *session)
{
    uint64_t until_ns = ifg_monotonic_ns() + DEVICES_WAIT_NS;
    bool is_waiting = false;

    for (struct target *t = session->targets; t; t = target_next(t))
        is_waiting |= process_exists(target_pid(t)) && target_ask_devices(t);
    while (is_waiting && ifg_monotonic_ns() < until_ns) {
        usleep(DEVICES_LOOK_US);
        is_waiting = false;
        for (struct target *t = session->targets; t; t = target_next(t)) {
            bool any = false;

            if (!process_exists(target_pid(t)))
                continue;
            is_waiting |= target_awaits_devices(t);
            target_drain(t, ifg_monotonic_ns(), &any);
        }
    }
}

/* All sources at once, as nearly as can be: to take probes out and to look up names takes long. */
static void stop(struct session *session)
{
    uint64_t now_ns = ifg_monotonic_ns();
    uint64_t end_ns = session->recording.until_ns ? session->recording.until_ns : now_ns;

    if (end_ns > session->ready_ns) /* not before --delay was over */
        session->result->recorded_s = (double)(end_ns - session->ready_ns) * 1e-9;
    if (!session->recording.until_ns)
        return;
    session_limit(session, end_ns);
    await_devices(session);
    for (struct target *t = session->targets; t; t = target_next(t))
        if (process_exists(target_pid(t)))
            target_stop(t);
    sources_stop(&session->sources);
}

static enum ifg_status finish(struct session *session, struct ifg_error *err)
{
    struct session_result *result = session->result;
    enum ifg_status status;

    result->left_running = 0;
    if (session->flight)
        flight_stop(session->flight);
    stop(session);
    while (session->targets) {
        bool alive = process_exists(target_pid(session->targets));

        if (alive && target_pid(session->targets) != session->recording.root &&
            !session->options->other_count)
            result->left_running++;
        session_close_target(session, session->targets,
                             alive ? TRACE_FATE_RUNNING : TRACE_FATE_UNKNOWN, 0);
    }
    sources_finish(&session->sources);
    session_fill_progress(session, &result->totals);
    /* A disk that is full: what came after that is not in the file. */
    if (trace_writer_status(session->recording.sink.writer, NULL) &&
        session->ended.events > session->context.written) {
        result->not_written = session->ended.events - session->context.written;
        result->totals.events -= result->not_written;
    }
    result->recorder_cpu_s = session_cpu_seconds(&result->memory_bytes);
    result->interrupted = session->interrupts > 0;
    result->no_library =
        result->totals.processes == 0 && !sources_need_no_runtime(&session->sources);
    write_ending(session);
    status = trace_writer_close(session->recording.sink.writer, err);
    session->recording.sink.writer = NULL;
    if (session->flight) {
        enum ifg_status saved = flight_save(session, status ? NULL : err);

        status = status ? status : saved;
    }
    return status;
}

static void tell_start(const struct session *session)
{
    const struct session_start start = {
        .program = session->result->program,
        .pid = session->recording.root,
        .path = session->result->path,
        .not_hooked = session->hooks.reason,
    };

    if (session->options->started)
        session->options->started(&start, session->options->user);
}

/* Everything is there. A program that was running before is recorded from now on. */
static void begin(struct session *session)
{
    if (!session->ready_ns)
        session->ready_ns = ifg_monotonic_ns();
    if (session->options->command && session->options->delay_s > 0) {
        session->ready_ns += (uint64_t)(session->options->delay_s * 1e9);
        session->context.since_ns = session->ready_ns;
    } else if (session->options->command || session->options->next) {
        return;
    }
    session->recording.since_ns = session->ready_ns;
}

static enum ifg_status begin_target(struct session *session, bool *out_cannot_start,
                                    struct ifg_error *err)
{
    enum ifg_status status;

    if (session->options->command)
        return begin_launch(session, out_cannot_start, err);
    status = session_delay_attach(session, err);
    if (status)
        return status;
    return session->options->next ? session_begin_next(session, err) : begin_attach(session, err);
}

static void close_pidfds(const struct session *session)
{
    if (session->root_pidfd >= 0)
        close(session->root_pidfd);
    for (size_t i = 0; i < session->options->other_count; i++)
        if (session->other_pidfds[i] >= 0)
            close(session->other_pidfds[i]);
}

/* If there is a writer still, nothing was recorded: leaves no empty file behind. */
static void abandon_output(struct session *session, enum ifg_status status)
{
    if (session->recording.sink.writer) {
        enum ifg_status closed = trace_writer_close(session->recording.sink.writer, NULL);

        if ((closed == IFG_OK || status) && !session->flight && !session->options->open_output)
            unlink(session->result->path);
    }
    flight_destroy(session->flight);
}

enum ifg_status session_run(const struct session_options *options,
                            struct session_result *out_result, bool *out_cannot_start,
                            struct ifg_error *err)
{
    struct session session = {
        .options = options,
        .result = out_result,
        .root_pidfd = -1,
        .signal_fd = -1,
        .traced = TRACED_INIT,
        .context = { .lossless = options->lossless },
        .recording = { .options = options,
                       .result = out_result,
                       .sink = { .flush_after_ns = options->prompt ? FLUSH_SOON_NS : FLUSH_AFTER_NS,
                                 .calls = &session_sink_calls } },
    };
    enum ifg_status status;
    struct ifg_error write_error = { 0 };

    memset(out_result, 0, sizeof *out_result);
    memset(session.other_pidfds, -1, sizeof session.other_pidfds);
    *out_cannot_start = false;
    session.rendezvous.inotify = -1;
    session.rendezvous.lock = -1;
    launch_remember(&session.surroundings);
    raise_descriptor_limit();
    prctl(PR_SET_TIMERSLACK, 1ul, 0, 0, 0);
    status = begin_signals(&session, err);
    if (status)
        goto out;
    status = rendezvous_create(&session.rendezvous, err);
    if (status)
        goto out;
    session.recording.sink.user = &session;
    session.recording.hooks = &session.hooks;
    session.recording.directory = session.rendezvous.directory;
    session.context.sink = &session.recording.sink;
    session.context.redaction = options->redaction;
    session.context.session_directory = session.rendezvous.directory;
    session.context.instruments = &out_result->instruments;
    session.context.runtimes = &session.runtimes;
    status = begin_target(&session, out_cannot_start, err);
    if (status)
        goto out;
    session.root_pidfd = (int)syscall(SYS_pidfd_open, session.recording.root, 0);
    begin(&session);
    sources_start(&session.sources);
    tell_start(&session);
    if (session_delay(&session))
        session_loop(&session);
    if (finish(&session, &write_error))
        out_result->end = SESSION_WRITE_FAILED;
    if (out_result->end == SESSION_WRITE_FAILED && err)
        *err = write_error;
    session_await_command(&session);
out:
    end_injection(&session);
    sources_close(&session.sources); /* while there is a file: their streams go with it */
    abandon_output(&session, status);
    sink_fini(&session.recording.sink);
    rendezvous_destroy(&session.rendezvous);
    hooks_fini(&session.hooks);
    trace_rule_close(&session.traced);
    close_pidfds(&session);
    if (session.signal_fd >= 0) {
        close(session.signal_fd);
        sigprocmask(SIG_SETMASK, &session.surroundings.mask, NULL);
    }
    return status;
}
