// SPDX-License-Identifier: Apache-2.0
/* Keeping the last seconds, and writing them when something happens: see flight.h. */
#include "record/flight.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/ticks.h"
#include "record/dump_watch.h"
#include "record/flight_control.h"
#include "record/session_internal.h"
#include "trace/keys.h"
#include "trace/output.h"

#define WORK_EVERY_NS 50000000ull
#define AGE_EVERY_NS  250000000ull
#define SETTLE_NS     300000000ull /* until what happened is written by all sources */
#define WHY_BYTES     480u
#define NUMBER_MAX    100000u
#define LEVEL_WARNING 3u

/* What the child says when it is done. */
struct dump_result {
    enum ifg_status status;
    uint32_t number; /* of the file */
    uint64_t bytes;
    char path[PATH_MAX];
    char message[512];
};

struct flight {
    struct trace_memory *memory;
    struct dump_watch *watch; /* NULL: there are no rules */
    struct flight_control control;
    struct trace_stream *marks; /* of triggers; NULL: none yet */
    bool has_home;              /* the process that they are shown with */
    uint32_t home;
    uint64_t limit;   /* bytes of memory */
    uint64_t keep_ns; /* 0: what there is memory for */
    uint64_t next_work_ns, next_age_ns;
    bool is_signalled;
    /* The file to come: */
    bool is_wanted;
    uint64_t trigger_ns; /* CLOCK_MONOTONIC */
    uint64_t due_ns;
    uint64_t end_ns; /* of the recording */
    char why[WHY_BYTES];
    /* The file that a child writes: */
    pid_t child; /* 0: none */
    int result_fd;
    struct dump_result result;
    size_t result_bytes; /* read so far */
    char child_why[WHY_BYTES];

    uint32_t next_number;
    uint32_t by_rules;         /* files */
    uint64_t last_by_rules_ns; /* 0: none */
};

/* ---- the beginning ---- */

/* That it cannot be written should be known before a program runs for nothing. */
static enum ifg_status try_path(const struct session *session, const char *path,
                                struct ifg_error *err)
{
    struct trace_output *output;
    enum ifg_status status = trace_output_file(path, false, 0600, &output, err);

    if (status == IFG_INVALID && session->options->overwrite)
        return IFG_OK; /* it is replaced at the end */
    if (status)
        return status;
    trace_output_remove(output);
    trace_output_close(output, NULL);
    return IFG_OK;
}

enum ifg_status flight_open(struct session *session, const char *path, struct ifg_error *err)
{
    const struct session_flight *options = &session->options->flight;
    struct trace_writer **writer = &session->recording.sink.writer;
    struct trace_output *output;
    struct flight *flight;
    enum ifg_status status = try_path(session, path, err);

    if (status)
        return status;
    flight = ifg_alloc(1, sizeof *flight);
    if (!flight)
        return ifg_fail_no_memory(err, "for a flight recorder");
    session->flight = flight;
    session->result->is_flight = true;
    flight->control.fd = -1;
    flight->result_fd = -1;
    flight->next_number = 1;
    flight->limit = options->bytes;
    flight->keep_ns = (uint64_t)(options->seconds * 1e9);
    status =
        trace_memory_create("the flight recorder's memory", options->bytes, &flight->memory, err);
    if (!status)
        status = trace_output_memory(flight->memory, &output, err);
    if (!status)
        status = trace_writer_create_on(output, writer, err);
    if (!status && options->rule_count)
        status = dump_watch_create(flight->memory, options->rules, options->rule_count,
                                   &flight->watch, err);
    if (status)
        return status;
    trace_writer_keep_no_index(*writer);
    flight_control_open(&flight->control, session->rendezvous.directory);
    return IFG_OK;
}

void flight_destroy(struct flight *flight)
{
    if (!flight)
        return;
    flight_control_close(&flight->control);
    dump_watch_destroy(flight->watch);
    trace_memory_destroy(flight->memory);
    if (flight->result_fd >= 0)
        close(flight->result_fd);
    ifg_free(flight);
}

void flight_signal(struct flight *flight)
{
    flight->is_signalled = true;
    flight->next_work_ns = 0;
}

bool flight_is_full(const struct flight *flight)
{
    return trace_memory_fixed_bytes(flight->memory) > flight->limit / 2;
}

uint64_t flight_bytes(const struct flight *flight)
{
    return trace_memory_bytes(flight->memory);
}

/* ---- what a file says of itself ---- */

static double not_kept_s(const struct session *session, uint64_t now_ns)
{
    uint64_t since_ns = trace_memory_kept_since(session->flight->memory);
    uint64_t begin_ns = session->recording.begin_ns;

    if (since_ns == UINT64_MAX)
        since_ns = now_ns;
    return since_ns > begin_ns ? (double)(since_ns - begin_ns) * 1e-9 : 0;
}

static void write_dump_facts(struct session *session, const char *why, uint64_t trigger_ns)
{
    const struct session_flight *options = &session->options->flight;
    struct trace_writer *writer = session->recording.sink.writer;
    uint64_t now_ns = ifg_monotonic_ns();
    uint64_t wall_ns = ifg_realtime_ns() - (now_ns > trigger_ns ? now_ns - trigger_ns : 0);
    time_t seconds = (time_t)(wall_ns / 1000000000u);
    struct tm utc;
    char text[96];
    char when[40];

    if (options->seconds > 0)
        snprintf(text, sizeof text, "%.6g s, at most %.6g MB", options->seconds,
                 (double)options->bytes / 1e6);
    else
        snprintf(text, sizeof text, "%.6g MB", (double)options->bytes / 1e6);
    trace_writer_fact(writer, TRACE_FACT_FLIGHT_KEEPS, text);
    trace_writer_fact(writer, TRACE_FACT_FLIGHT_TRIGGER, why);
    if (gmtime_r(&seconds, &utc) && strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc)) {
        snprintf(when, sizeof when, "%.30s.%03uZ", text,
                 (unsigned)(wall_ns % 1000000000u / 1000000u));
        trace_writer_fact(writer, TRACE_FACT_FLIGHT_TRIGGER_TIME, when);
    }
    snprintf(text, sizeof text, "%llu", (unsigned long long)trigger_ns);
    trace_writer_fact(writer, TRACE_FACT_FLIGHT_TRIGGER_NS, text);
    snprintf(text, sizeof text, "%.3f", not_kept_s(session, now_ns));
    trace_writer_fact(writer, TRACE_FACT_FLIGHT_NOT_KEPT_S, text);
}

/* On the timeline, beside the process; in later files as well, as long as it is kept. */
static void mark(struct session *session, uint64_t trigger_ns, const char *why)
{
    struct flight *flight = session->flight;
    struct sink *sink = &session->recording.sink;
    char text[WHY_BYTES + 16];

    if (!flight->marks) {
        uint32_t process =
            flight->has_home
                ? flight->home
                : sink_process(sink, &(struct sink_process){ .clock = SINK_CLOCK_MONOTONIC,
                                                             .start = session->recording.begin_ns,
                                                             .program = "system" });

        flight->marks =
            trace_stream_create(sink->writer, sink_thread(sink, process, 0, TRACE_THREAD_FLIGHT));
        if (!flight->marks)
            return;
        trace_stream_set_clock(flight->marks, SINK_CLOCK_MONOTONIC);
    }
    snprintf(text, sizeof text, "trigger: %s", why);
    trace_stream_event(flight->marks, TRACE_EVENT_MESSAGE, trigger_ns, LEVEL_WARNING, text,
                       strlen(text));
    trace_stream_flush(flight->marks, NULL, 0, 0);
}

/* ---- files ---- */

/* run.ifg becomes run-1.ifg. */
static void numbered_path(const char *path, uint32_t number, char out[PATH_MAX])
{
    size_t length = strlen(path);
    size_t stem = length > 4 && strcmp(path + length - 4, ".ifg") == 0 ? length - 4 : length;

    snprintf(out, PATH_MAX, "%.*s-%u%s", (int)stem, path, number, path + stem);
}

/* Never one that is there: the next number is free some time. */
static enum ifg_status save_numbered(const struct session *session, uint32_t *number,
                                     char out_path[PATH_MAX], struct ifg_error *err)
{
    enum ifg_status status;

    do {
        numbered_path(session->result->path, (*number)++, out_path);
        status = trace_memory_save(session->flight->memory, out_path, false, session->options->mode,
                                   err);
    } while (status == IFG_INVALID && access(out_path, F_OK) == 0 && *number < NUMBER_MAX);
    return status;
}

/* In the child: all that is there is a copy, and nobody waits for it. */
static _Noreturn void child_main(struct session *session, int fd)
{
    struct flight *flight = session->flight;
    struct dump_result result = { .number = flight->next_number };
    struct ifg_error err = { .message = "" };
    struct stat file;
    const char *at = (const char *)&result;
    size_t left = sizeof result;

    trace_memory_set_limit(flight->memory, UINT64_MAX); /* names come on top */
    sources_explain(&session->sources);
    for (struct target *t = session->targets; t; t = target_next(t)) {
        uint32_t clock;
        uint32_t process = target_process(t, &clock);

        trace_writer_process_end(session->recording.sink.writer, process,
                                 clock == SINK_CLOCK_COUNTER ? ifg_counter_read()
                                                             : ifg_monotonic_ns(),
                                 TRACE_FATE_RUNNING, 0);
    }
    session_write_end(session, "the recording went on");
    write_dump_facts(session, flight->child_why, flight->trigger_ns);
    trace_writer_flush_definitions(session->recording.sink.writer);
    result.status = save_numbered(session, &result.number, result.path, &err);
    if (!result.status && stat(result.path, &file) == 0)
        result.bytes = (uint64_t)file.st_size;
    snprintf(result.message, sizeof result.message, "%.511s", err.message);
    while (left) {
        ssize_t done = write(fd, at, left);

        if (done < 0 && errno != EINTR)
            break;
        if (done > 0) {
            at += done;
            left -= (size_t)done;
        }
    }
    _exit(0);
}

/* Who asks may be elsewhere. */
static void answer(struct flight *flight, const char *path, const char *why)
{
    char whole[PATH_MAX];

    if (!why && realpath(path, whole))
        path = whole;
    flight_control_answer(&flight->control, path, why);
}

static void tell(struct session *session, const struct dump_result *result)
{
    struct flight *flight = session->flight;
    const struct session_dump dump = {
        .path = result->path,
        .why = flight->child_why,
        .bytes = result->bytes,
        .problem = result->status ? result->message : NULL,
    };

    session->result->dumps += !result->status;
    session->result->dumps_failed += result->status != IFG_OK;
    answer(flight, dump.path, dump.problem);
    if (session->options->dumped)
        session->options->dumped(&dump, session->options->user);
}

static void fail_dump(struct session *session, const char *what)
{
    struct dump_result result = { .status = IFG_IO };

    snprintf(result.message, sizeof result.message, "cannot write what was kept: %s", what);
    tell(session, &result);
}

static void begin_dump(struct session *session, uint64_t now_ns)
{
    struct flight *flight = session->flight;
    int pipe_fds[2];

    flight->is_wanted = false;
    flight_control_serve(&flight->control);
    memcpy(flight->child_why, flight->why, sizeof flight->child_why);
    for (struct target *t = session->targets; t; t = target_next(t))
        target_flush(t, now_ns);
    session_fill_progress(session, &session->result->totals);
    session->result->recorder_cpu_s = session_cpu_seconds(&session->result->memory_bytes);
    if (pipe2(pipe_fds, O_CLOEXEC) < 0) {
        fail_dump(session, strerror(errno));
        return;
    }
    flight->child = fork();
    if (flight->child == 0)
        child_main(session, pipe_fds[1]);
    close(pipe_fds[1]);
    if (flight->child < 0) {
        flight->child = 0;
        close(pipe_fds[0]);
        fail_dump(session, strerror(errno));
        return;
    }
    fcntl(pipe_fds[0], F_SETFL, O_NONBLOCK);
    flight->result_fd = pipe_fds[0];
    flight->result_bytes = 0;
}

/* True when the child is done, one way or the other. */
static bool end_dump(struct session *session)
{
    struct flight *flight = session->flight;
    ssize_t got;
    int status;

    do {
        got = read(flight->result_fd, (char *)&flight->result + flight->result_bytes,
                   sizeof flight->result - flight->result_bytes);
        if (got > 0)
            flight->result_bytes += (size_t)got;
    } while (got > 0 || (got < 0 && errno == EINTR));
    if (got < 0)
        return false;
    close(flight->result_fd);
    flight->result_fd = -1;
    while (waitpid(flight->child, &status, 0) < 0 && errno == EINTR)
        ;
    flight->child = 0;
    if (flight->result_bytes == sizeof flight->result) {
        flight->next_number = flight->result.number;
        tell(session, &flight->result);
    } else {
        fail_dump(session, "the process that wrote it died");
    }
    return true;
}

/* ---- triggers ---- */

static void trigger(struct session *session, uint64_t time_ns, const char *why)
{
    struct flight *flight = session->flight;
    uint64_t after_ns = (uint64_t)(session->options->flight.after_s * 1e9);

    mark(session, time_ns, why);
    if (flight->is_wanted)
        return; /* it is in that file, too */
    flight->is_wanted = true;
    flight->trigger_ns = time_ns;
    flight->due_ns = time_ns + after_ns + SETTLE_NS;
    snprintf(flight->why, sizeof flight->why, "%s", why);
}

static void trigger_by_rule(struct session *session, const struct dump_alarm *alarm)
{
    struct flight *flight = session->flight;
    const struct session_flight *options = &session->options->flight;
    uint64_t interval_ns = (uint64_t)(options->interval_s * 1e9);
    bool is_soon =
        flight->last_by_rules_ns && alarm->time_ns < flight->last_by_rules_ns + interval_ns;

    if (flight->is_wanted)
        return; /* the same trouble */
    if (is_soon || flight->by_rules >= options->most) {
        session->result->dumps_skipped++;
        return;
    }
    flight->by_rules++;
    flight->last_by_rules_ns = alarm->time_ns;
    trigger(session, alarm->time_ns, alarm->what);
}

static bool is_ours(void *user, pid_t pid)
{
    static pid_t pids[4096];
    struct session *session = user;
    size_t count;

    if (pid == getpid() || pid == session->recording.root)
        return true;
    for (struct target *t = session->targets; t; t = target_next(t))
        if (target_pid(t) == pid)
            return true;
    for (size_t i = 0; i < session->options->other_count; i++)
        if (session->options->others[i] == pid)
            return true;
    count = process_descendants(session->recording.root, pids, sizeof pids / sizeof pids[0]);
    for (size_t i = 0; i < count; i++)
        if (pids[i] == pid)
            return true;
    return false;
}

static void look_for_triggers(struct session *session, uint64_t now_ns)
{
    struct flight *flight = session->flight;
    struct dump_alarm alarm;

    if (flight->is_signalled)
        trigger(session, now_ns, "SIGUSR2");
    flight->is_signalled = false;
    if (flight_control_work(&flight->control, is_ours, session))
        trigger(session, now_ns, "inferogram ctl snapshot");
    if (flight->watch && dump_watch_look(flight->watch, now_ns, &alarm))
        trigger_by_rule(session, &alarm);
}

void flight_work(struct session *session, uint64_t now_ns)
{
    struct flight *flight = session->flight;

    if (now_ns < flight->next_work_ns)
        return;
    flight->next_work_ns = now_ns + WORK_EVERY_NS;
    if (!flight->has_home && session->targets) {
        uint32_t clock;

        flight->home = target_process(session->targets, &clock);
        flight->has_home = true;
    }
    look_for_triggers(session, now_ns);
    if (flight->child)
        end_dump(session);
    else if (flight->is_wanted && now_ns >= flight->due_ns)
        begin_dump(session, now_ns);
    if (now_ns >= flight->next_age_ns) {
        /* What was before a trigger stays until it is written. */
        uint64_t from_ns =
            flight->is_wanted && flight->trigger_ns < now_ns ? flight->trigger_ns : now_ns;

        trace_memory_age(flight->memory, flight->keep_ns && from_ns > flight->keep_ns
                                             ? from_ns - flight->keep_ns
                                             : 0);
        flight->next_age_ns = now_ns + AGE_EVERY_NS;
    }
}

/* ---- the end ---- */

void flight_stop(struct flight *flight)
{
    flight->end_ns = ifg_monotonic_ns();
    trace_memory_set_limit(flight->memory, UINT64_MAX);
}

void flight_end(struct session *session)
{
    static const char *const reasons[] = {
        [SESSION_PROGRAM_ENDED] = "the end of the program",
        [SESSION_DURATION_OVER] = "the end of the recording: the duration was over",
        [SESSION_INTERRUPTED] = "the end of the recording: stopped by the user",
        [SESSION_WRITE_FAILED] = "the end of the recording: its memory is too small",
        [SESSION_SIZE_REACHED] = "the end of the recording: definitions took half of its memory",
    };
    struct flight *flight = session->flight;
    uint64_t now_ns = ifg_monotonic_ns();

    if (flight->child)
        fcntl(flight->result_fd, F_SETFL, 0);
    while (flight->child && !end_dump(session))
        ;
    flight_control_work(&flight->control, is_ours, session); /* whoever still waits: this is it */
    flight_control_serve(&flight->control);
    if (flight->is_wanted) {
        size_t length = strlen(flight->why);

        snprintf(flight->why + length, sizeof flight->why - length, ", then %s",
                 reasons[session->result->end]);
    } else {
        flight->trigger_ns = flight->end_ns;
        snprintf(flight->why, sizeof flight->why, "%s", reasons[session->result->end]);
        mark(session, flight->end_ns, flight->why);
    }
    session->result->not_kept_s = not_kept_s(session, now_ns);
    write_dump_facts(session, flight->why, flight->trigger_ns);
    trace_stream_destroy(flight->marks);
    flight->marks = NULL;
}

enum ifg_status flight_save(struct session *session, struct ifg_error *err)
{
    struct flight *flight = session->flight;
    char *path = session->result->path;
    char numbered[PATH_MAX];
    struct ifg_error own = { .message = "" };
    enum ifg_status status = trace_memory_save(flight->memory, path, session->options->overwrite,
                                               session->options->mode, &own);

    if (status == IFG_INVALID && access(path, F_OK) == 0) {
        status = save_numbered(session, &flight->next_number, numbered, &own);
        snprintf(path, sizeof session->result->path, "%s", numbered);
    }
    answer(flight, path, status ? own.message : NULL);
    if (status && err)
        *err = own;
    return status;
}
