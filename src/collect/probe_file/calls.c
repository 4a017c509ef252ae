// SPDX-License-Identifier: Apache-2.0
/*
 * Calls that were seen, as events of the trace: which model, which session, did it fail, is it part
 * of another call that says the same.
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "collect/probe_file/watch_internal.h"
#include "trace/keys.h"

/* ---- threads ---- */

static bool open_zone(void *user, struct thread_stream *thread, size_t number,
                      struct trace_open_zone *out_zone)
{
    const struct open_call *call = &((struct watched_thread *)thread)->open[number];

    (void)user;
    *out_zone = (struct trace_open_zone){ call->start, call->location };
    return call->location && !call->hidden;
}

static void define_process(struct watched_process *process)
{
    static const struct streams_kind kind = { .bytes = sizeof(struct watched_thread),
                                              .most = WATCH_THREADS_MAX,
                                              .open_zone = open_zone };
    struct probe_watch *watch = process->watch;

    if (process->defined)
        return;
    process->process = sink_process(
        watch->sink, &(struct sink_process){ .pid = process->pid, .clock = SINK_CLOCK_MONOTONIC });
    process->threads = (struct streams){
        .kind = &kind, .sink = watch->sink, .pid = process->pid, .process = process->process
    };
    process->defined = true;
    if (!watch->counts.processes++)
        watch->first_process = process->process;
}

static struct watched_thread *find_thread(struct watched_process *process, pid_t tid)
{
    bool is_new;
    struct thread_stream *thread =
        streams_take(&process->threads, tid, 0, process->watch->now_ns, &is_new);

    process->watch->counts.threads += is_new;
    return (struct watched_thread *)thread;
}

/* ---- calls ---- */

static uint64_t argument(const struct uprobe_event *event, uint8_t number)
{
    return number ? event->arguments[number - 1] : 0;
}

/* The text of the call, if it was read as a whole. */
static const char *whole_text(const struct uprobe_event *event)
{
    if (!event->text || !*event->text || (event->notes & (UPROBE_TEXT_CUT | UPROBE_TEXT_MISSING)))
        return NULL;
    return event->text;
}

static uint64_t object_of(const struct probe_rule *rule, const struct uprobe_event *event)
{
    switch (rule->object_from) {
    case PROBE_OBJECT_NONE:
        break;
    case PROBE_OBJECT_RESULT:
        return event->result;
    case PROBE_OBJECT_STORED:
        return event->notes & UPROBE_OUT_MISSING ? 0 : event->out_word;
    case PROBE_OBJECT_ARGUMENT:
        return argument(event, rule->object_argument);
    }
    return 0;
}

/* The model of a call that makes one. */
static void resolve_new(struct watched_process *process, const struct watched_function *function,
                        const struct uprobe_event *event, struct open_call *call)
{
    const struct probe_rule *rule = function->rule;
    const char *text = whole_text(event);

    if (rule->model_from == PROBE_MODEL_NAME)
        call->model = watch_model_by_name(process, function->file, rule->model_name);
    else if (rule->model_from == PROBE_MODEL_TEXT && text)
        call->model =
            watch_model_by_text(process, function->file, text, event->notes & UPROBE_READ_LATE);
    if (!call->model && event->kind != UPROBE_BEGIN)
        call->model = watch_model_by_address(process, function->file, object_of(rule, event));
    if (call->model && rule->object_from && !call->session)
        call->session = ++process->names.sessions;
}

static void resolve_object(struct watched_process *process, const struct watched_function *function,
                           const struct uprobe_event *event, struct open_call *call)
{
    struct watched_names *names = &process->names;
    uint64_t address = argument(event, function->rule->model_argument);
    const struct watched_object *object = watch_object(names, address);

    if (!object) {
        call->model = watch_model_by_address(process, function->file, address);
        call->session = call->model && address ? ++names->sessions : 0;
        if (call->session)
            watch_learn(names, address, call->model, call->session);
        return;
    }
    call->model = object->model;
    call->session = object->session;
}

/* Which model, which location; as far as it can be known now. */
static void resolve(struct watched_process *process, const struct watched_function *function,
                    const struct uprobe_event *event, struct open_call *call)
{
    const struct probe_rule *rule = function->rule;
    const char *name = rule->function ? rule->function : "main";

    if (!call->model && rule->model_from == PROBE_MODEL_OBJECT)
        resolve_object(process, function, event, call);
    else if (!call->model && rule->model_from)
        resolve_new(process, function, event, call);
    if (call->location || rule->shows == PROBE_SHOWS_NOTHING)
        return;
    if (rule->function_argument && whole_text(event) && !(event->notes & UPROBE_READ_LATE))
        name = whole_text(event);
    if (call->model || rule->shows == PROBE_SHOWS_ZONE)
        call->location = watch_location(process, function, call->model, name);
}

/* A call inside of one that says the same of the same model is a part of it. */
static void look_around(struct watched_process *process, const struct watched_thread *thread,
                        struct open_call *call)
{
    const struct probe_watch *watch = process->watch;
    const struct probe_rule *rule = watch->functions[call->function].rule;

    for (uint32_t i = 0; i < thread->base.open_count; i++) {
        const struct open_call *outer = &thread->open[i];
        const struct probe_rule *outer_rule = watch->functions[outer->function].rule;

        if (rule->shows == PROBE_SHOWS_EVENT && outer_rule->shows == PROBE_SHOWS_EVENT &&
            rule->category == outer_rule->category && call->model && call->model == outer->model) {
            if (call->session != outer->session && call->session == process->names.sessions)
                process->names.sessions--; /* it was not a session of its own */
            call->hidden = true;
            call->session = outer->session;
            return;
        }
    }
}

static void write_attributes(const struct watched_thread *thread, const struct open_call *call,
                             const struct watched_function *function,
                             const struct uprobe_event *event, const char *failure)
{
    const struct probe_rule *rule = function->rule;
    int64_t session = call->session;
    char status[PROBE_SYMBOL_MAX + 64];

    if (session)
        trace_stream_attribute(thread->base.stream, call->start, call->location, TRACE_VALUE_SIGNED,
                               TRACE_KEY_SESSION, strlen(TRACE_KEY_SESSION), &session,
                               sizeof session);
    for (size_t i = 0; i < rule->attribute_count; i++) {
        const struct probe_attribute *attribute = &rule->attributes[i];
        int64_t number = (int64_t)argument(event, attribute->argument);
        const char *text = attribute->is_text ? event->text : NULL;

        if (attribute->is_text &&
            (!text || (event->notes & (UPROBE_TEXT_MISSING | UPROBE_READ_LATE))))
            continue;
        trace_stream_attribute(thread->base.stream, call->start, call->location,
                               text ? TRACE_VALUE_STRING : TRACE_VALUE_SIGNED, attribute->key,
                               strlen(attribute->key), text ? (const void *)text : &number,
                               text ? strlen(text) : sizeof number);
    }
    if (failure) {
        int length = snprintf(status, sizeof status, "error: %.*s gave %s", (int)PROBE_SYMBOL_MAX,
                              function->symbol, failure);

        trace_stream_attribute(thread->base.stream, call->start, call->location, TRACE_VALUE_STRING,
                               TRACE_KEY_STATUS, strlen(TRACE_KEY_STATUS), status, (size_t)length);
    }
}

static void finish_call(struct watched_process *process, struct watched_thread *thread,
                        const struct open_call *call, const struct uprobe_event *event)
{
    struct probe_watch *watch = process->watch;
    const struct watched_function *function = &watch->functions[call->function];
    const struct probe_rule *rule = function->rule;
    char result[40];
    bool failed =
        event->kind == UPROBE_CALL && probe_rule_failed(rule, event->result, result, sizeof result);

    if (!failed && rule->object_from && call->model &&
        !watch_learn(&process->names, object_of(rule, event), call->model, call->session))
        watch->unnamed++;
    if (rule->forget_argument)
        watch_forget(&process->names, argument(event, rule->forget_argument));
    if (rule->shows == PROBE_SHOWS_NOTHING || call->hidden)
        return;
    if (!call->location || event->kind != UPROBE_CALL) {
        watch->unnamed++;
        return;
    }
    write_attributes(thread, call, function, event, failed ? result : NULL);
    trace_stream_zone(thread->base.stream, call->start,
                      event->end_ns > call->start ? event->end_ns - call->start : 0,
                      call->location);
    streams_thread_wait(&thread->base, watch->now_ns);
    watch->counts.events++;
    watch->counts.inferences += rule->category == TRACE_CATEGORY_INFERENCE;
}

/* The call that ends now, as it began; those inside of it are over. */
static bool take_open(struct watched_thread *thread, const struct uprobe_event *event,
                      struct open_call *out_call)
{
    for (size_t i = thread->base.open_count; i > 0; i--) {
        const struct open_call *call = &thread->open[i - 1];

        if (call->start == event->start_ns && call->function == event->id) {
            *out_call = *call;
            thread->base.open_count = i - 1;
            return true;
        }
    }
    return false;
}

void watch_seen(const struct uprobe_event *event, void *user)
{
    struct probe_watch *watch = user;
    const struct watched_function *function;
    struct watched_process *process;
    struct watched_thread *thread;
    struct open_call call = { .start = event->start_ns, .function = event->id };
    uint32_t depth = event->depth < UPROBE_DEPTH_MAX ? event->depth : UPROBE_DEPTH_MAX - 1;

    if (event->id >= watch->function_count)
        return;
    function = &watch->functions[event->id];
    process = function->process;
    if (!process || !watch->sink)
        return;
    define_process(process);
    thread = find_thread(process, event->tid);
    if (!thread) {
        watch->unnamed++;
        return;
    }
    if (event->kind != UPROBE_CALL || !take_open(thread, event, &call)) {
        if (depth < thread->base.open_count) /* what was open further in has ended unseen */
            thread->base.open_count = depth;
        resolve(process, function, event, &call);
        look_around(process, thread, &call);
    } else {
        resolve(process, function, event, &call); /* what the return tells */
    }
    if (event->kind == UPROBE_BEGIN) {
        thread->open[thread->base.open_count++] = call;
        streams_thread_wait(&thread->base, watch->now_ns);
        return;
    }
    finish_call(process, thread, &call, event);
}
