// SPDX-License-Identifier: Apache-2.0
/*
 * A recording that an agent makes for somebody else: `inferogram record`, with a connection instead
 * of a file. Nothing that came through it is a path or a command; it may choose a process, how
 * long and what to record, and the rights are those of the agent.
 */
#include "cli/agent_record.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/metrics_watch.h"
#include "cli/process_list.h"
#include "cli/record.h"
#include "remote/agent.h"
#include "runtimes/runtimes.h"
#include "trace/keys.h"

#define NAMED_PIDS 8u /* in a message */

/* ---- the list ---- */

struct listing {
    struct remote_link *link;
    const struct metrics_watch *watch;
};

static void send_process(const struct remote_process *process, void *user)
{
    const struct listing *listing = user;
    struct remote_process told = *process;

    if (metrics_watch_is_ours(listing->watch, (pid_t)told.recorder))
        told.recorder = 0; /* it makes room for a capture */
    remote_process_put(remote_link_queue(listing->link), &told);
    remote_link_push(listing->link);
}

void agent_list(struct remote_link *link, void *user)
{
    const struct agent_user *own = user;
    struct listing listing = { link, own->watch };
    struct remote_listed listed;

    process_list_each(send_process, &listing, &listed);
    remote_listed_put(remote_link_queue(link), &listed);
}

/* ---- what is said ---- */

static void send_note(struct remote_link *link, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void send_note(struct remote_link *link, const char *format, ...)
{
    struct remote_note note;
    va_list args;

    va_start(args, format);
    vsnprintf(note.text, sizeof note.text, format, args);
    va_end(args);
    remote_note_put(remote_link_queue(link), &note);
    remote_link_push(link);
}

static void send_refusal(struct remote_link *link, enum ifg_status status, const char *text)
{
    struct remote_refused refused = { .why = REMOTE_REFUSAL_FAILED };

    if (status == IFG_BUSY)
        refused.why = REMOTE_REFUSAL_BUSY;
    else if (status == IFG_NOT_FOUND)
        refused.why = REMOTE_REFUSAL_NOT_FOUND;
    else if (status == IFG_PERMISSION)
        refused.why = REMOTE_REFUSAL_PERMISSION;
    else if (status == IFG_UNSUPPORTED)
        refused.why = REMOTE_REFUSAL_UNSUPPORTED;
    snprintf(refused.text, sizeof refused.text, "%s", text);
    remote_refused_put(remote_link_queue(link), &refused);
}

static struct remote_progress progress_of(const struct session_progress *progress)
{
    return (struct remote_progress){
        .elapsed_us = (uint64_t)(progress->seconds * 1e6),
        .events = progress->events,
        .inferences = progress->inferences,
        .dropped = progress->dropped,
        .bytes = progress->bytes,
        .models = progress->models,
    };
}

static void tell_started(const struct session_start *start, void *user)
{
    struct remote_link *link = user;
    struct remote_started started = { .pid = (uint32_t)start->pid };

    snprintf(started.program, sizeof started.program, "%.63s", start->program);
    remote_started_put(remote_link_queue(link), &started);
    remote_link_push(link);
    if (*start->not_hooked)
        send_note(link, "%s is not watched: %.400s", runtimes_watched(RUNTIME_ATTACHED).text,
                  start->not_hooked);
}

static void tell_progress(const struct session_progress *progress, void *user)
{
    struct remote_progress told = progress_of(progress);

    remote_progress_put(remote_link_queue(user), &told);
    remote_link_push(user);
}

static void tell_expecting(const char *how, void *user)
{
    if (*how)
        send_note(user,
                  "looking for new processes 20 times a second, and may miss the first moments of "
                  "one: %.400s",
                  how);
    send_note(user, "waiting for the next process that creates a session of %s (Ctrl-C stops)",
              runtimes_watched(RUNTIME_ATTACHED).text);
}

static void tell_preparing(const char *what, void *user)
{
    send_note(user, "%.500s", what);
}

static enum ifg_status open_output(struct trace_output **out_output, void *user,
                                   struct ifg_error *err)
{
    return remote_link_output(user, out_output, err);
}

/* What `record` would print at its end. */
static void tell_end(struct remote_link *link, const struct session_result *result)
{
    struct remote_ended ended = { .program_ended = result->end == SESSION_PROGRAM_ENDED,
                                  .samples = result->samples,
                                  .totals = progress_of(&result->totals) };

    ended.totals.elapsed_us = (uint64_t)(result->recorded_s * 1e6);
    for (size_t i = 0; i < result->instruments.count; i++) {
        const struct instrument *item = &result->instruments.items[i];

        if (!instrument_is_runtime(item->name) && !instrument_is_probed(item->name))
            continue;
        if (item->state == TRACE_INSTRUMENT_ON)
            send_note(link, "watched %s%s%.200s%s", item->name, *item->reason ? " (" : "",
                      item->reason, *item->reason ? ")" : "");
        else if (item->state == TRACE_INSTRUMENT_UNAVAILABLE)
            send_note(link, "%s not available: %.400s", item->name, item->reason);
    }
    if (result->refused)
        send_note(link, "%u process%s of it %s not recorded: %s", result->refused,
                  result->refused == 1 ? "" : "es", result->refused == 1 ? "was" : "were",
                  result->refusal);
    if (result->no_library)
        send_note(link,
                  "nothing was recorded: neither %s nor its children carry libinferogram, and no "
                  "runtime in them was watched",
                  result->program);
    if (result->end == SESSION_SIZE_REACHED)
        send_note(link, "recording stopped because the trace had reached the size of --max-size");
    if (result->let_go[0])
        send_note(link, "recording ended early: %.450s", result->let_go);
    remote_ended_put(remote_link_queue(link), &ended);
}

/* ---- the process ---- */

struct choice {
    const struct metrics_watch *watch;
    uint32_t pids[NAMED_PIDS];
    size_t count;
};

static void choose(const struct remote_process *process, void *user)
{
    struct choice *choice = user;

    if (!process_list_is_ready(process) &&
        !metrics_watch_is_ours(choice->watch, (pid_t)process->recorder))
        return;
    if (choice->count < NAMED_PIDS)
        choice->pids[choice->count] = process->pid;
    choice->count++;
}

static enum ifg_status find_only(const struct metrics_watch *watch, struct record_request *request,
                                 struct ifg_error *err)
{
    struct choice choice = { .watch = watch };
    struct remote_listed listed;
    char pids[NAMED_PIDS * 12] = "";
    size_t used = 0;

    process_list_each(choose, &choice, &listed);
    if (choice.count == 1) {
        request->session.pid = (pid_t)choice.pids[0];
        return IFG_OK;
    }
    if (!choice.count)
        return ifg_fail(err, IFG_NOT_FOUND,
                        "no process can be recorded now; 'inferogram ls -a HOST' shows what there "
                        "is, and --next waits for one");
    for (size_t i = 0; i < choice.count && i < NAMED_PIDS; i++)
        used += (size_t)snprintf(pids + used, sizeof pids - used, "%s%u", i ? ", " : "",
                                 choice.pids[i]);
    return ifg_fail(err, IFG_NOT_FOUND,
                    "%zu processes can be recorded (%s%s): choose one with --pid or --name",
                    choice.count, pids, choice.count > NAMED_PIDS ? ", ..." : "");
}

static enum ifg_status find_process(const struct remote_request *asked,
                                    const struct metrics_watch *watch,
                                    struct record_request *request, struct ifg_error *err)
{
    switch (asked->target) {
    case REMOTE_TARGET_PID:
        request->session.pid = (pid_t)asked->pid;
        return IFG_OK;
    case REMOTE_TARGET_NAME:
        request->name = asked->name;
        return record_find_process(request, err);
    case REMOTE_TARGET_NEXT:
        request->session.next = true;
        request->session.next_name = *asked->name ? asked->name : NULL;
        return IFG_OK;
    default:
        return find_only(watch, request, err);
    }
}

/* ---- the recording ---- */

static void say(const struct agent_options *agent, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void say(const struct agent_options *agent, const char *format, ...)
{
    char text[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (agent->say)
        agent->say(text, agent->user);
}

static void record(struct record_request *request, struct remote_link *link,
                   const struct agent_options *agent)
{
    struct session_options *session = &request->session;
    struct session_result result;
    struct ifg_error err = { .message = "" };
    bool cannot_start = false;
    enum ifg_status status;

    session->tool_version = INFEROGRAM_VERSION;
    session->redaction = &request->redaction;
    session->open_output = open_output;
    session->started = tell_started;
    session->progress = tell_progress;
    session->expecting = tell_expecting;
    session->preparing = tell_preparing;
    session->user = link;
    status = session_run(session, &result, &cannot_start, &err);
    if (status) {
        send_refusal(link, status, err.message);
    } else if (result.end == SESSION_WRITE_FAILED) {
        say(agent, "the capture of %s (pid %d) is gone, and the program goes on: %s",
            result.program, (int)result.pid, err.message);
    } else {
        tell_end(link, &result);
        if (remote_link_flush(link))
            say(agent, "captured %s (pid %d) for %.1f s", result.program, (int)result.pid,
                result.recorded_s);
    }
}

/* Numbers that were checked when they were read; what is 0 is as `record` has it. */
static void apply_wishes(const struct remote_request *asked, struct record_request *request)
{
    struct session_options *session = &request->session;

    session->prompt = asked->wishes & REMOTE_PROMPT;
    session->no_sources = asked->wishes & REMOTE_NO_SOURCES;
    session->gpu = asked->wishes & REMOTE_NO_GPU ? SESSION_GPU_OFF : SESSION_GPU_AUTO;
    session->sched = asked->wishes & REMOTE_SCHED;
    session->memory = asked->wishes & REMOTE_MEMORY;
    request->redaction.no_args = asked->wishes & REMOTE_NO_ARGS;
    session->ops = asked->ops;
    session->sample_hz = asked->sample_hz;
    if (asked->overhead_ppm)
        session->overhead_pct = asked->overhead_ppm * 1e-4;
    if (asked->no_sample)
        session->overhead_pct = session->sample_hz = 0;
    if (asked->resources_mhz)
        session->resources_hz = asked->resources_mhz * 1e-3;
    if (asked->wishes & REMOTE_NO_RESOURCES)
        session->resources_hz = 0;
    session->machine_alone =
        asked->sample_hz || asked->overhead_ppm || session->sched || session->memory;
    session->duration_s = (double)asked->duration_us * 1e-6;
    session->delay_s = (double)asked->delay_us * 1e-6;
    session->timeout_s = (double)asked->timeout_us * 1e-6;
    session->max_bytes = asked->max_bytes;
}

void agent_record(const struct remote_request *asked, struct remote_link *link, void *user)
{
    struct record_request request = { .session = { .resources_hz = RECORD_RESOURCES_HZ,
                                                   .overhead_pct = RECORD_OVERHEAD_PCT },
                                      .quiet = true };
    char *words[] = { (char[]){ "inferogram" }, (char[]){ "agent" } };
    char offset[24];
    char error[24];
    const struct session_fact facts[] = { { TRACE_FACT_CAPTURE_OFFSET_NS, offset },
                                          { TRACE_FACT_CAPTURE_ERROR_NS, error },
                                          { TRACE_FACT_CAPTURE_BOOT_ID, asked->boot_id } };
    const struct agent_user *own = user;
    struct ifg_error err = { .message = "" };
    enum ifg_status status;

    snprintf(offset, sizeof offset, "%lld", (long long)asked->clock_offset_ns);
    snprintf(error, sizeof error, "%llu", (unsigned long long)asked->clock_error_ns);
    request.session.facts = facts;
    request.session.fact_count = asked->knows_clock ? sizeof facts / sizeof facts[0] : 0;
    apply_wishes(asked, &request);
    request.session.words = words;
    request.session.word_count = sizeof words / sizeof words[0];
    status = find_process(asked, own->watch, &request, &err);
    if (!status)
        metrics_watch_release(own->watch, request.session.pid);
    if (status)
        send_refusal(link, status, err.message);
    else
        record(&request, link, own->agent);
    redact_fini(&request.redaction);
}
