// SPDX-License-Identifier: Apache-2.0
/* The functions of <inferogram/handles.h>, and how an inference gets into the handles that want
 * it. */
#include "handles/handle.h"

#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/latency_table.h"
#include "handles/command.h"
#include "handles/queue.h"

#define REPORT_MS_DEFAULT 500u
#define REPORT_MS_MIN     50u
#define REPORT_MS_MAX     3600000u

/* A writer of the queue that lost its processor between its two steps is waited for so long. */
#define YIELDS_MAX 100000

/* Stages that ended lately: those of a request come before its inference does. */
#define STAGES 1024u
/* So many of a program's newest samples are looked at for the request of a stage. */
#define SAMPLES_BACK 256u

struct ifg_profile {
    struct handle handle;
};

struct ifg_stream {
    struct handle handle;
};

struct handle *handles;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct ifg_tap_event stages[STAGES];
static uint64_t stage_count;
static __thread char error_text[256];

/* ---- the lock ---- */

void handles_lock(void)
{
    pthread_mutex_lock(&lock);
}

void handles_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

void handles_changed(void)
{
    pthread_cond_broadcast(&changed);
}

void handles_wait(void)
{
    pthread_cond_wait(&changed, &lock);
}

/* In the child there is no thread of ours; its handles are stopped and can be started again. */
static void forked(void)
{
    for (struct handle *handle = handles; handle; handle = handle->next) {
        handle->state = HANDLE_STOPPED;
        handle->reporting = false;
        handle->flush_done = handle->flush_wanted;
    }
    queue_reset();
    handles_thread_forked();
    pthread_cond_init(&changed, NULL);
    unattended_wait();
    pthread_mutex_unlock(&lock);
}

static void watch_forks(void)
{
    pthread_atfork(handles_lock, handles_unlock, forked);
}

int handle_fail(int status, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(error_text, sizeof error_text, format, args);
    va_end(args);
    return status;
}

const char *ifg_handle_error(void)
{
    return error_text[0] ? error_text : "no error";
}

/* ---- programs ---- */

static struct program *find_program(const struct handle *handle, const ifg_model *model)
{
    for (size_t i = 0; i < handle->program_count; i++)
        if (handle->programs[i].model == model)
            return &handle->programs[i];
    return NULL;
}

struct program *handle_join(struct handle *handle, ifg_model *model, uint64_t since)
{
    struct program *program = find_program(handle, model);

    if (!program) {
        if (!IFG_ARRAY_ROOM(handle->programs, handle->program_capacity, handle->program_count + 1,
                            IFG_ARRAY_ANY))
            return NULL;
        program = &handle->programs[handle->program_count++];
        *program = (struct program){ .model = model, .number = ++handle->next_program };
    }
    if (!program->present) {
        program->since = since;
        program->present = true;
        program->seen = program->reported = program->count ? program->seen : 0;
    }
    program->removed = false;
    return program;
}

static void forget_program(struct handle *handle, struct program *program)
{
    size_t index = (size_t)(program - handle->programs);

    ifg_free(program->samples);
    memmove(program, program + 1, (handle->program_count - index - 1) * sizeof *program);
    handle->program_count--;
}

static void leave(struct handle *handle, const ifg_model *model)
{
    struct program *program = find_program(handle, model);

    if (!program)
        return;
    program->present = program->removed = false;
    if (!program->count) /* else its samples are reported first */
        forget_program(handle, program);
}

static void forget_programs(struct handle *handle)
{
    while (handle->program_count)
        forget_program(handle, &handle->programs[handle->program_count - 1]);
}

/* ---- events ---- */

/* The stages of its request that ended before it began: the time in them, and the wait after the
 * last one until the stage began that it lies in. */
static void add_stages_before(struct sample *sample, uint64_t stage_start)
{
    uint64_t last_end = 0;
    uint64_t setup_ns = sample->pre;
    uint64_t setup_start = sample->trip_start;

    for (uint64_t i = 0; i < STAGES; i++) {
        const struct ifg_tap_event *stage = &stages[i];

        if (stage->request != sample->request || stage->end > sample->start)
            continue;
        sample->pre += stage->end - stage->start;
        sample->known |= LATENCY_KNOWN(LATENCY_PRE);
        if (stage->start < sample->trip_start)
            sample->trip_start = stage->start;
        if (stage->end > last_end)
            last_end = stage->end;
    }
    if (last_end > setup_start)
        sample->pre -= setup_ns; /* the setup lies in one of the stages */
    if (last_end && stage_start >= last_end) {
        sample->enqueue = stage_start - last_end;
        sample->known |= LATENCY_KNOWN(LATENCY_ENQUEUE);
    }
}

static struct sample sample_of(const struct ifg_tap_event *event, uint64_t number)
{
    struct sample sample = {
        .number = number,
        .start = event->start,
        .end = event->end,
        .trip_start = event->start,
        .trip_end = event->end,
        .request = event->request,
        .running = event->running,
        .thread = event->thread,
    };

    if (event->setup_start && event->setup_start < event->start) {
        sample.trip_start = event->setup_start;
        sample.pre = event->setup;
        sample.known |= LATENCY_KNOWN(LATENCY_PRE);
    }
    if (event->request)
        add_stages_before(&sample, event->stage_start);
    return sample;
}

static void take_inference(struct handle *handle, const struct ifg_tap_event *event)
{
    struct program *program = find_program(handle, event->model);
    uint64_t number;

    if (!program || !program->present || event->start < program->since)
        return;
    number = program->seen++;
    if (number % handle->every)
        return;
    if (!IFG_ARRAY_ROOM(program->samples, program->capacity, program->count + 1, SAMPLES_MAX))
        return; /* it took place (requested), but is not in the report */
    program->samples[program->count++] = sample_of(event, number);
    if (!handle->is_stream && program->count == handle->wanted)
        handle->state = HANDLE_STOPPING;
}

/* The stage that an inference lies in, or a later one, has ended. */
static void take_stage(struct handle *handle, const struct ifg_tap_event *stage)
{
    for (size_t i = 0; i < handle->program_count; i++) {
        struct program *program = &handle->programs[i];
        size_t least = program->count > SAMPLES_BACK ? program->count - SAMPLES_BACK : 0;

        for (size_t j = program->count; j-- > least;) {
            struct sample *sample = &program->samples[j];

            if (sample->request != stage->request || stage->end <= sample->start)
                continue;
            if (stage->start >= sample->end) {
                sample->post += stage->end - stage->start;
                sample->known |= LATENCY_KNOWN(LATENCY_POST);
            }
            if (stage->start < sample->trip_start)
                sample->trip_start = stage->start;
            if (stage->end > sample->trip_end)
                sample->trip_end = stage->end;
        }
    }
}

/* A model that the pattern takes. A profile has one. */
static void join_by_name(ifg_model *model, const char *name, void *user)
{
    struct handle *handle = user;

    if ((handle->is_stream || !handle->program_count) && !find_program(handle, model) &&
        pattern_takes(&handle->pattern, name))
        handle_join(handle, model, 0);
}

static void dispatch(const struct ifg_tap_event *event)
{
    if (event->kind == IFG_TAP_STAGE)
        stages[stage_count++ % STAGES] = *event;
    for (struct handle *handle = handles; handle; handle = handle->next) {
        if (handle->state != HANDLE_STARTED)
            continue;
        switch ((enum ifg_tap_kind)event->kind) {
        case IFG_TAP_INFERENCE:
            take_inference(handle, event);
            break;
        case IFG_TAP_STAGE:
            take_stage(handle, event);
            break;
        case IFG_TAP_CREATED:
            join_by_name(event->model, ifg_tap_model_name(event->model), handle);
            break;
        case IFG_TAP_RELEASED:
            if (handle->is_stream)
                leave(handle, event->model);
            break;
        }
    }
}

void handles_drain(void)
{
    uint64_t until = queue_put_count();
    struct ifg_tap_event event;

    for (int yields = 0; queue_taken_count() < until && yields < YIELDS_MAX;) {
        if (queue_take(&event))
            dispatch(&event);
        else if (++yields)
            sched_yield();
    }
}

/* ---- what both kinds of handles do ---- */

static void link_handle(struct handle *handle)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    /* Not when the library is loaded: before a fork, our lock comes before that of the models, so
     * libinferogram must have asked for its turn already. */
    pthread_once(&once, watch_forks);
    handles_lock();
    handle->next = handles;
    handles = handle;
    handles_unlock();
}

void handle_free(struct handle *handle)
{
    struct handle **at = &handles;

    while (*at && *at != handle)
        at = &(*at)->next;
    if (*at)
        *at = handle->next;
    forget_programs(handle);
    ifg_free(handle->programs);
    pattern_fini(&handle->pattern);
    ifg_free(handle->name);
    ifg_free(handle);
}

/* With the lock. `since`: ticks; what began before does not count. */
static int start_at(struct handle *handle, uint64_t since)
{
    int status = handles_thread_start();

    if (status)
        return status;
    for (size_t i = 0; i < handle->program_count; i++) {
        struct program *program = &handle->programs[i];

        program->seen = program->reported = program->count = 0;
    }
    handle->lost_before = queue_lost();
    handle->state = HANDLE_STARTED;
    ifg_tap_models(join_by_name, handle);
    for (size_t i = 0; i < handle->program_count; i++)
        handle->programs[i].since = since;
    if (handle->is_stream)
        handle->next_ns = handle_boundary(handles_realtime_ns(), handle->report_ns);
    handles_ring();
    return 0;
}

int handle_start(struct handle *handle)
{
    int status;

    handles_lock();
    if (handle->state != HANDLE_STOPPED) {
        status = handle_fail(-EALREADY, "the handle is started already");
    } else if (!queue_prepare()) {
        status = handle_fail(-ENOMEM, "not enough memory");
    } else {
        handles_drain(); /* what took place before is nobody's */
        status = handles_thread_start();
        if (!status)
            status = start_at(handle, ifg_ticks());
    }
    handles_unlock();
    return status;
}

int handle_start_waiting(struct handle *handle)
{
    int status;

    handles_lock();
    status = start_at(handle, 0);
    handles_unlock();
    return status;
}

static void ask_to_stop(struct handle *handle)
{
    handles_drain();
    if (handle->state == HANDLE_STARTED)
        handle->state = HANDLE_STOPPING;
    handles_ring();
}

void handle_stop_soon(struct handle *handle)
{
    handles_lock();
    ask_to_stop(handle);
    handles_unlock();
}

void handle_flush_soon(struct handle *handle)
{
    handles_lock();
    if (handle->state == HANDLE_STARTED && handle->is_stream) {
        handle->flush_wanted++;
        handles_ring();
    }
    handles_unlock();
}

bool handle_is_started(const struct handle *handle)
{
    bool started;

    handles_lock();
    started = handle->state == HANDLE_STARTED;
    handles_unlock();
    return started;
}

int handle_stop(struct handle *handle)
{
    uint64_t ended;

    handles_lock();
    ask_to_stop(handle);
    ended = handle->ended;
    while (handle->state != HANDLE_STOPPED && handle->ended == ended && !handles_on_own_thread())
        handles_wait();
    handles_unlock();
    return 0;
}

void handle_destroy(struct handle *handle)
{
    handles_lock();
    handle->state = HANDLE_STOPPED;
    handle->callback = NULL;
    handles_changed();
    while (handle->reporting && !handles_on_own_thread())
        handles_wait();
    if (handle->reporting)
        handle->doomed = true;
    else
        handle_free(handle);
    handles_ring();
    handles_unlock();
}

uint64_t handle_boundary(uint64_t now_ns, uint64_t report_ns)
{
    return (now_ns / report_ns + 1) * report_ns;
}

/* ---- profiles ---- */

int ifg_profile_create(const ifg_profile_options *options, ifg_profile **out)
{
    ifg_profile_options known = { 0 };
    ifg_profile *profile;

    if (!out || !options || !options->struct_size)
        return handle_fail(-EINVAL, "options with their struct_size are needed");
    *out = NULL;
    memcpy(&known, options,
           options->struct_size < sizeof known ? options->struct_size : sizeof known);
    if (!known.model || !known.callback)
        return handle_fail(-EINVAL, "a profile needs a model and a callback");
    if (known.samples == 0 || known.samples > SAMPLES_MAX)
        return handle_fail(-EINVAL, "samples: 1 to %u, not %llu", SAMPLES_MAX,
                           (unsigned long long)known.samples);
    if ((unsigned)known.type > IFG_REPORT_TRACE)
        return handle_fail(-EINVAL, "there is no report type %u", (unsigned)known.type);
    profile = ifg_alloc(1, sizeof *profile);
    if (!profile)
        return handle_fail(-ENOMEM, "not enough memory");
    profile->handle = (struct handle){ .type = known.type,
                                       .callback = known.callback,
                                       .user = known.user,
                                       .wanted = known.samples,
                                       .every = 1 };
    profile->handle.name = ifg_strdup(ifg_tap_model_name(known.model));
    if (!profile->handle.name || !handle_join(&profile->handle, known.model, 0)) {
        handle_free(&profile->handle);
        return handle_fail(-ENOMEM, "not enough memory");
    }
    link_handle(&profile->handle);
    *out = profile;
    return 0;
}

int ifg_profile_start(ifg_profile *profile)
{
    return profile ? handle_start(&profile->handle) : handle_fail(-EINVAL, "no profile");
}

int ifg_profile_stop(ifg_profile *profile)
{
    return profile ? handle_stop(&profile->handle) : handle_fail(-EINVAL, "no profile");
}

void ifg_profile_destroy(ifg_profile *profile)
{
    if (profile)
        handle_destroy(&profile->handle);
}

/* ---- streams ---- */

static int check_stream(ifg_stream_options *known, const ifg_stream_options *options)
{
    if (!options || !options->struct_size)
        return handle_fail(-EINVAL, "options with their struct_size are needed");
    memcpy(known, options,
           options->struct_size < sizeof *known ? options->struct_size : sizeof *known);
    if (!known->callback)
        return handle_fail(-EINVAL, "a stream needs a callback");
    if (!known->report_ms)
        known->report_ms = REPORT_MS_DEFAULT;
    if (known->report_ms < REPORT_MS_MIN || known->report_ms > REPORT_MS_MAX)
        return handle_fail(-EINVAL, "report_ms: %u to %u, not %u", REPORT_MS_MIN, REPORT_MS_MAX,
                           known->report_ms);
    if ((unsigned)known->sampling > IFG_SAMPLING_SIXTEENTH)
        return handle_fail(-EINVAL, "there is no sampling %u", (unsigned)known->sampling);
    if ((unsigned)known->type > IFG_REPORT_TRACE)
        return handle_fail(-EINVAL, "there is no report type %u", (unsigned)known->type);
    return 0;
}

int ifg_stream_create(const ifg_stream_options *options, ifg_stream **out)
{
    ifg_stream_options known = { 0 };
    struct pattern pattern;
    ifg_stream *stream;
    char why[200];
    int status;

    if (!out)
        return handle_fail(-EINVAL, "a place for the stream is needed");
    *out = NULL;
    status = check_stream(&known, options);
    if (status)
        return status;
    status = pattern_init(&pattern, known.regex, known.glob, why, sizeof why);
    if (status)
        return handle_fail(status, "%s", why);
    stream = ifg_alloc(1, sizeof *stream);
    if (!stream) {
        pattern_fini(&pattern);
        return handle_fail(-ENOMEM, "not enough memory");
    }
    stream->handle = (struct handle){ .is_stream = true,
                                      .type = known.type,
                                      .callback = known.callback,
                                      .user = known.user,
                                      .every = 1u << known.sampling,
                                      .report_ns = known.report_ms * 1000000ull,
                                      .pattern = pattern };
    stream->handle.name = ifg_strdup(known.name ? known.name : "stream");
    if (!stream->handle.name) {
        handle_free(&stream->handle);
        return handle_fail(-ENOMEM, "not enough memory");
    }
    link_handle(&stream->handle);
    *out = stream;
    return 0;
}

int ifg_stream_start(ifg_stream *stream)
{
    return stream ? handle_start(&stream->handle) : handle_fail(-EINVAL, "no stream");
}

int ifg_stream_stop(ifg_stream *stream)
{
    return stream ? handle_stop(&stream->handle) : handle_fail(-EINVAL, "no stream");
}

int ifg_stream_flush(ifg_stream *stream)
{
    struct handle *handle = stream ? &stream->handle : NULL;
    uint64_t mine;

    if (!handle)
        return handle_fail(-EINVAL, "no stream");
    handles_lock();
    if (handle->state != HANDLE_STARTED) {
        handles_unlock();
        return handle_fail(-EINVAL, "the stream is not started");
    }
    mine = ++handle->flush_wanted;
    handles_ring();
    while (handle->flush_done < mine && !handles_on_own_thread())
        handles_wait();
    handles_unlock();
    return 0;
}

int ifg_stream_add(ifg_stream *stream, ifg_model *model)
{
    struct program *program;
    int status = 0;

    if (!stream || !model)
        return handle_fail(-EINVAL, "a stream and a model are needed");
    handles_lock();
    handles_drain();
    program = find_program(&stream->handle, model);
    if (program && program->present)
        status = handle_fail(-EALREADY, "the model is in the stream");
    else if (!handle_join(&stream->handle, model, ifg_ticks()))
        status = handle_fail(-ENOMEM, "not enough memory");
    handles_unlock();
    return status;
}

int ifg_stream_remove(ifg_stream *stream, ifg_model *model)
{
    struct program *program;
    int status = 0;

    if (!stream || !model)
        return handle_fail(-EINVAL, "a stream and a model are needed");
    handles_lock();
    handles_drain();
    program = find_program(&stream->handle, model);
    if (program && program->present) {
        program->present = false;
        program->removed = true;
    } else {
        status = handle_fail(-ENOENT, "the model is not in the stream");
    }
    handles_unlock();
    return status;
}

void ifg_stream_destroy(ifg_stream *stream)
{
    if (stream)
        handle_destroy(&stream->handle);
}

/* ---- for programs that know nothing of handles ---- */

static void no_callback(const ifg_report *report, void *user)
{
    (void)report;
    (void)user;
}

struct handle *handle_create_unattended(const struct command *command, unattended_keep *keep,
                                        void *user)
{
    ifg_stream_options options = { .struct_size = sizeof options,
                                   .report_ms = command->report_ms,
                                   .sampling = command->sampling,
                                   .type = command->type,
                                   .regex = command->regex[0] ? command->regex : NULL,
                                   .glob = command->glob[0] ? command->glob : NULL,
                                   .name = command->name,
                                   .callback = no_callback,
                                   .user = user };
    ifg_stream *stream;

    if (command->samples == 0 || command->samples > SAMPLES_MAX) {
        handle_fail(-EINVAL, "samples=: 1 to %u", SAMPLES_MAX);
        return NULL;
    }
    if (ifg_stream_create(&options, &stream) < 0)
        return NULL;
    stream->handle.is_stream = command->is_stream;
    stream->handle.wanted = command->samples;
    stream->handle.keep = keep;
    return &stream->handle;
}

/* ---- models ---- */

struct search {
    const char *name;
    ifg_model *found;
};

static void look_at(ifg_model *model, const char *name, void *user)
{
    struct search *search = user;

    if (strcmp(name, search->name) == 0)
        search->found = model;
}

ifg_model *ifg_model_find(const char *name)
{
    struct search search = { name, NULL };

    if (name)
        ifg_tap_models(look_at, &search);
    return search.found;
}
