// SPDX-License-Identifier: Apache-2.0
/*
 * What a call of ONNX Runtime's interface means for the trace. The events are those of the launch
 * hooks (docs/runtimes.md), as far as arguments and results tell them.
 */
#include "collect/ort_attach/attach_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/ticks.h"
#include "collect/ort_attach/names.h"
#include "ort_abi/api.h"
#include "trace/keys.h"

#define RETURN UPROBE_RETURN
#define LASTS  (UPROBE_RETURN | UPROBE_OPEN)
#define CPU    "CPUExecutionProvider"

static const char why_unknown[] =
    "attached: from outside it is not seen what the runtime does while it loads";
static const char why_async[] = "attached: when the program is called back is not seen";

/* Creations first: whoever attaches to a program that starts wants to be in time for them. Slot,
 * function, flags, and which argument is the text, what is returned, the session options. */
const struct attach_probe attach_probes[] = {
    { ORT_CreateSession, ATTACH_CREATE_FILE, LASTS, 2, 4, 3, NULL },
    { ORT_CreateSessionFromArray, ATTACH_CREATE_ARRAY, LASTS, 0, 5, 4, NULL },
    { ORT_CreateSessionWithContainer, ATTACH_CREATE_FILE, LASTS, 2, 5, 3, NULL },
    { ORT_CreateSessionFromArrayWithContainer, ATTACH_CREATE_ARRAY, LASTS, 0, 6, 4, NULL },
    { ORT_Run, ATTACH_RUN, RETURN, 0, 0, 0, NULL },
    { ORT_RunWithBinding, ATTACH_RUN, RETURN, 0, 0, 0, NULL },
    { ORT_RunAsync, ATTACH_RUN_ASYNC, RETURN, 0, 0, 0, NULL },
    { ORT_ReleaseSession, ATTACH_RELEASE, LASTS, 0, 0, 0, NULL },
    { ORT_CreateEnv, ATTACH_ENVIRONMENT, RETURN, 0, 0, 0, NULL },
    { ORT_CreateEnvWithCustomLogger, ATTACH_ENVIRONMENT, RETURN, 0, 0, 0, NULL },
    { ORT_CreateEnvWithGlobalThreadPools, ATTACH_ENVIRONMENT, RETURN, 0, 0, 0, NULL },
    { ORT_CreateEnvWithLoggerAndPools, ATTACH_ENVIRONMENT, RETURN, 0, 0, 0, NULL },
    { ORT_CreateEnvWithOptions, ATTACH_ENVIRONMENT, RETURN, 0, 0, 0, NULL },
    { ORT_AppendExecutionProvider, ATTACH_PROVIDER, RETURN, 2, 0, 1, NULL },
    { ORT_AppendExecutionProvider_CUDA, ATTACH_PROVIDER, RETURN, 0, 0, 1, "CUDA" },
    { ORT_AppendExecutionProvider_ROCM, ATTACH_PROVIDER, RETURN, 0, 0, 1, "ROCM" },
    { ORT_AppendExecutionProvider_OpenVINO, ATTACH_PROVIDER, RETURN, 0, 0, 1, "OpenVINO" },
    { ORT_AppendExecutionProvider_TensorRT, ATTACH_PROVIDER, RETURN, 0, 0, 1, "Tensorrt" },
    { ORT_AppendExecutionProvider_TensorRT_V2, ATTACH_PROVIDER, RETURN, 0, 0, 1, "Tensorrt" },
    { ORT_AppendExecutionProvider_CUDA_V2, ATTACH_PROVIDER, RETURN, 0, 0, 1, "CUDA" },
    { ORT_AppendExecutionProvider_MIGraphX, ATTACH_PROVIDER, RETURN, 0, 0, 1, "MIGraphX" },
    { ORT_AppendExecutionProvider_CANN, ATTACH_PROVIDER, RETURN, 0, 0, 1, "CANN" },
    { ORT_AppendExecutionProvider_Dnnl, ATTACH_PROVIDER, RETURN, 0, 0, 1, "Dnnl" },
    { ORT_AppendExecutionProvider_OpenVINO_V2, ATTACH_PROVIDER, RETURN, 0, 0, 1, "OpenVINO" },
    { ORT_AppendExecutionProvider_VitisAI, ATTACH_PROVIDER, RETURN, 0, 0, 1, "VitisAI" },
    { ORT_AppendExecutionProvider_V2, ATTACH_PROVIDER, RETURN, 0, 0, 1,
      "unknown (chosen by device)" },
    { ORT_RegisterProviderLibrary, ATTACH_PROVIDER_LIBRARY, RETURN, 2, 0, 0, NULL },
    { ORT_ReleaseSessionOptions, ATTACH_OPTIONS_RELEASED, 0, 0, 0, 1, NULL },
};
const size_t attach_probe_count = sizeof attach_probes / sizeof attach_probes[0];

_Static_assert(sizeof attach_probes / sizeof attach_probes[0] <= ATTACH_INNER, "numbers of others");
_Static_assert(ATTACH_KERNEL < 64, "six bits of the id");

static const char *runtime_of(const struct attach_process *process, uint32_t library)
{
    return process->runtimes[library];
}

void attach_put_text(struct attach_thread *thread, uint64_t start, uint32_t location,
                     const char *key, const char *value)
{
    if (thread->attach->muted)
        return;
    trace_stream_attribute(thread->base.stream, start, location, TRACE_VALUE_STRING, key,
                           strlen(key), value, strlen(value));
}

void attach_put_number(struct attach_thread *thread, uint64_t start, uint32_t location,
                       const char *key, uint32_t number)
{
    int64_t value = number;

    if (thread->attach->muted)
        return;
    trace_stream_attribute(thread->base.stream, start, location, TRACE_VALUE_SIGNED, key,
                           strlen(key), &value, sizeof value);
}

void attach_put_zone(struct attach_process *process, struct attach_thread *thread,
                     uint64_t start_ns, uint64_t end_ns, uint32_t location)
{
    if (process->attach->muted)
        return;
    trace_stream_zone(thread->base.stream, start_ns, end_ns - start_ns, location);
    streams_thread_wait(&thread->base, process->attach->now_ns);
    process->attach->counts.events++;
}

static void put_zone(struct attach_process *process, struct attach_thread *thread,
                     const struct uprobe_event *event, uint32_t location)
{
    attach_put_zone(process, thread, event->start_ns, event->end_ns, location);
}

/* ---- steps before there is a session ---- */

static void note_prepare(struct attach_process *process, const struct uprobe_event *event,
                         const char *provider)
{
    struct attach_prepare *prepare;

    if (process->prepare_count == ATTACH_PREPARES) {
        process->lost++;
        return;
    }
    prepare = &process->prepares[process->prepare_count++];
    *prepare = (struct attach_prepare){
        .tid = event->tid,
        .own_tid = event->own_tid,
        .start_ns = event->start_ns,
        .end_ns = event->end_ns,
        .failed = event->result != 0,
    };
    snprintf(prepare->provider, sizeof prepare->provider, "%s", provider);
}

/* They belong to the first session that follows. */
static void write_prepares(struct attach_process *process, struct attach_model *model)
{
    for (size_t i = 0; i < process->prepare_count; i++) {
        const struct attach_prepare *prepare = &process->prepares[i];
        uint32_t location = attach_model_location(process, model, TRACE_CATEGORY_PREPARE_EP);
        struct attach_thread *thread = attach_thread_of(process, prepare->tid, prepare->own_tid);
        const struct uprobe_event span = { .start_ns = prepare->start_ns,
                                           .end_ns = prepare->end_ns };

        if (!thread) {
            process->lost++;
            continue;
        }
        attach_put_text(thread, span.start_ns, location, TRACE_KEY_PROVIDER, prepare->provider);
        if (prepare->failed)
            attach_put_text(thread, span.start_ns, location, TRACE_KEY_STATUS, "error");
        put_zone(process, thread, &span, location);
    }
    process->prepare_count = 0;
}

static void full_name(const char *provider, char *out, size_t size)
{
    bool complete = strstr(provider, "ExecutionProvider") || strchr(provider, ' ');

    snprintf(out, size, "%.40s%s", provider, complete ? "" : "ExecutionProvider");
}

static struct attach_options *options_of(struct attach_process *process, uint64_t address)
{
    for (size_t i = 0; i < ATTACH_OPTIONS; i++)
        if (process->options[i].address == address)
            return &process->options[i];
    return NULL;
}

static void provider_appended(struct attach_process *process, const struct uprobe_event *event,
                              const struct attach_probe *probe)
{
    uint64_t address = event->arguments[probe->options - 1];
    const char *given = probe->provider ? probe->provider : event->text;
    struct attach_options *options;
    char name[64];
    size_t used;

    if (!given || !*given)
        given = "unknown (its name was not readable)";
    full_name(given, name, sizeof name);
    note_prepare(process, event, name);
    if (event->result || !address)
        return;
    options = options_of(process, address);
    if (!options) {
        options = &process->options[process->options_next++ % ATTACH_OPTIONS];
        *options = (struct attach_options){ .address = address };
    }
    used = strlen(options->devices);
    if (!strstr(options->devices, name) && used + strlen(name) + 2 < sizeof options->devices)
        snprintf(options->devices + used, sizeof options->devices - used, "%s%s", used ? "," : "",
                 name);
}

/* The next options may lie at the same address. */
static void options_released(struct attach_process *process, uint64_t address)
{
    struct attach_options *options = address ? options_of(process, address) : NULL;

    if (options)
        *options = (struct attach_options){ 0 };
}

/* ---- sessions ---- */

/* What the session was asked to run on, if we saw it being asked. */
static void take_devices(struct attach_process *process, uint64_t address, char *out, size_t size)
{
    const struct attach_options *options = address ? options_of(process, address) : NULL;

    out[0] = '\0';
    if (options && options->devices[0])
        snprintf(out, size, "%.200s%s", options->devices,
                 strstr(options->devices, CPU) ? "" : "," CPU);
}

/* The path that was given, if it is certain. */
static void take_path(struct attach_process *process, const struct uprobe_event *event, char *out,
                      size_t size)
{
    char text[PATH_MAX];
    uint64_t bytes;

    out[0] = '\0';
    if (!event->text || (event->notes & UPROBE_TEXT_MISSING))
        return;
    if (event->notes & UPROBE_TEXT_CUT) {
        /* What follows has to be read later; it has to go on as it began. */
        if (!names_process_text(process->pid, event->arguments[1], text, sizeof text) ||
            strncmp(text, event->text, strlen(event->text)) != 0)
            return;
    } else {
        snprintf(text, sizeof text, "%s", event->text);
    }
    if (!attach_absolute(process, text, out, size) ||
        ((event->notes & (UPROBE_READ_LATE | UPROBE_TEXT_CUT)) &&
         !names_process_has_file(process->pid, out, &bytes)))
        out[0] = '\0';
}

/* Gives the load its model, by what is known of it now. */
static void settle(struct attach_process *process, struct attach_load *load, const char *nameless)
{
    const char *runtime = runtime_of(process, load->library);
    bool is_memory = attach_probes[load->probe].function != ATTACH_CREATE_FILE;
    bool is_file = !is_memory || load->is_mapped;
    char name[256];

    if (load->location)
        return;
    if (is_file && load->text[0])
        model_name_of(load->text, name, sizeof name);
    else
        snprintf(name, sizeof name, "%.250s", load->text[0] ? load->text : nameless);
    load->model = attach_model_of(
        process,
        &ATTACH_MODEL(name, is_file ? load->text : "", load->content, runtime, load->devices),
        load->is_mapped ? "mapped file" : NULL);
    if (!load->model)
        return;
    if (is_memory)
        trace_writer_model_property(process->attach->sink->writer, process->index, load->model->id,
                                    "source", "memory");
    load->location = attach_model_location(process, load->model, TRACE_CATEGORY_LOAD);
}

void attach_load_settle(struct attach_process *process, struct attach_load *load)
{
    settle(process, load, "(a model that is being loaded)");
}

/* A model that lies in the memory of the process: for as long as it is being loaded. */
static void take_memory(struct attach_process *process, const struct uprobe_event *event,
                        struct attach_load *load)
{
    uint64_t data = event->arguments[1], bytes = event->arguments[2];
    uint64_t hash;

    load->is_mapped =
        names_session_mapped_file(process->pid, data, bytes, load->text, sizeof load->text);
    if (!load->is_mapped)
        names_session_graph_name(process->pid, data, bytes, load->text, 256);
    if (!load->is_mapped && names_session_content(process->pid, data, bytes, &hash))
        snprintf(load->content, sizeof load->content, "%016" PRIx64, hash);
    load->named_ns = ifg_monotonic_ns();
}

static void forget_memory(struct attach_load *load)
{
    load->text[0] = '\0';
    load->content[0] = '\0';
    load->is_mapped = false;
}

static void begin_load(struct attach_process *process, struct attach_thread *thread,
                       const struct uprobe_event *event, uint32_t number)
{
    const struct attach_probe *probe = &attach_probes[number];
    struct attach_load *load;

    /* What was open deeper than this, or at its place, was left without a return. */
    while (thread->base.open_count &&
           thread->open[thread->base.open_count - 1].start_ns >= event->start_ns)
        thread->base.open_count--;
    if (thread->base.open_count == ATTACH_OPEN_MAX)
        thread->base.open_count = 0;
    load = &thread->open[thread->base.open_count++];
    *load = (struct attach_load){
        .start_ns = event->start_ns,
        .probe = number,
        .library = ATTACH_ID_LIBRARY(event->id),
    };
    take_devices(process, event->arguments[probe->options - 1], load->devices,
                 sizeof load->devices);
    if (probe->function == ATTACH_CREATE_FILE)
        take_path(process, event, load->text, sizeof load->text);
    else
        take_memory(process, event, load);
    thread->base.open_changed = true;
    streams_thread_wait(&thread->base, process->attach->now_ns);
}

static void end_load(struct attach_process *process, struct attach_thread *thread,
                     const struct uprobe_event *event, uint32_t number)
{
    uint64_t address = event->notes & UPROBE_OUT_MISSING ? 0 : event->out_word;
    struct attach_session *session = NULL;
    struct attach_load *load = NULL;
    char nameless[32];

    while (thread->base.open_count &&
           thread->open[thread->base.open_count - 1].start_ns > event->start_ns)
        thread->base.open_count--;
    if (!thread->base.open_count ||
        thread->open[thread->base.open_count - 1].start_ns != event->start_ns)
        begin_load(process, thread, event, number);
    load = &thread->open[--thread->base.open_count];
    thread->base.open_changed = true;
    if (!load->location) {
        /* The model lay there for as long as the call lasted; what was read later may be another.
         */
        if (load->named_ns && load->named_ns >= event->end_ns)
            forget_memory(load);
        if (!load->text[0] && attach_probes[number].function == ATTACH_CREATE_FILE)
            take_path(process, event, load->text, sizeof load->text); /* its page is there now */
        if (!load->text[0] && !event->result && address &&
            attach_probes[number].function == ATTACH_CREATE_FILE)
            names_session_object_path(process->pid, address, load->text, sizeof load->text);
        snprintf(nameless, sizeof nameless, "session@%" PRIx64, address);
        settle(process, load, address ? nameless : "(a model that could not be loaded)");
    }
    if (!load->location) {
        process->lost++;
        return;
    }
    write_prepares(process, load->model);
    if (!event->result && address)
        session = attach_session_add(process, address, load->model);
    attach_put_number(thread, event->start_ns, load->location, TRACE_KEY_SESSION,
                      session ? session->number : ++process->next_session);
    attach_put_text(thread, event->start_ns, load->location, TRACE_KEY_SPECIALIZATION, "unknown");
    attach_put_text(thread, event->start_ns, load->location, TRACE_KEY_WHY, why_unknown);
    if (event->result)
        attach_put_text(thread, event->start_ns, load->location, TRACE_KEY_STATUS, "error");
    put_zone(process, thread, event, load->location);
}

void attach_run_ended(struct attach_process *process, struct attach_thread *thread,
                      const struct uprobe_event *event, bool is_async)
{
    const struct sink *sink = process->attach->sink;
    struct attach_session *session = attach_session_find(process, event->arguments[0]);
    uint32_t location;

    if (!session)
        session = attach_session_infer(process, event->arguments[0],
                                       runtime_of(process, ATTACH_ID_LIBRARY(event->id)));
    if (!session) {
        process->lost++;
        return;
    }
    location = is_async ? attach_async_location(process, session->model)
                        : attach_model_location(process, session->model, TRACE_CATEGORY_INFERENCE);
    attach_put_number(thread, event->start_ns, location, TRACE_KEY_SESSION, session->number);
    if (attach_ops_write(process, thread, event, session) && !is_async)
        attach_put_number(thread, event->start_ns, location, TRACE_KEY_OPS, 1);
    if (is_async)
        attach_put_text(thread, event->start_ns, location, TRACE_KEY_WHY, why_async);
    if (event->result)
        attach_put_text(thread, event->start_ns, location, TRACE_KEY_STATUS, "error");
    put_zone(process, thread, event, location);
    process->attach->counts.inferences += !is_async;
    if (sink->inference && !is_async)
        sink->inference(sink->inference_user, location, event->start_ns, event->end_ns);
}

/* The linker may have folded other functions into this one: only sessions that we know. */
static void released(struct attach_process *process, struct attach_thread *thread,
                     const struct uprobe_event *event)
{
    const struct attach_session *session = attach_session_find(process, event->arguments[0]);
    uint32_t location;

    if (!session)
        return;
    location = attach_release_location(process);
    attach_put_number(thread, event->start_ns, location, TRACE_KEY_SESSION, session->number);
    put_zone(process, thread, event, location);
    attach_session_remove(process, event->arguments[0]);
}

static void take_event(struct attach_process *process, const struct uprobe_event *event)
{
    uint32_t number = ATTACH_ID_PROBE(event->id);
    const struct attach_probe *probe;
    struct attach_thread *thread;

    if ((number >= attach_probe_count && number < ATTACH_INNER) ||
        ATTACH_ID_LIBRARY(event->id) >= process->watched_count ||
        (event->kind == UPROBE_CALL && event->end_ns < event->start_ns))
        return;
    if (number >= ATTACH_INNER) {
        if (!process->in_time)
            attach_note_late(process);
        thread = attach_thread_of(process, event->tid, event->own_tid);
        if (thread)
            attach_python_event(process, thread, event);
        else
            process->lost++;
        return;
    }
    probe = &attach_probes[number];
    if (probe->function == ATTACH_ENVIRONMENT)
        process->saw_environment = true;
    else if (!process->saw_environment) /* without it there is no session */
        attach_note_late(process);
    if (probe->function == ATTACH_OPTIONS_RELEASED)
        options_released(process, event->arguments[0]);
    else if (event->kind == UPROBE_CALL && probe->function == ATTACH_ENVIRONMENT)
        note_prepare(process, event, "environment");
    else if (event->kind == UPROBE_CALL && probe->function == ATTACH_PROVIDER)
        provider_appended(process, event, probe);
    else if (event->kind == UPROBE_CALL && probe->function == ATTACH_PROVIDER_LIBRARY)
        note_prepare(process, event, event->text && *event->text ? event->text : "?");
    if (probe->function >= ATTACH_ENVIRONMENT)
        return;
    thread = attach_thread_of(process, event->tid, event->own_tid);
    if (!thread) {
        process->lost++;
        return;
    }
    if (probe->function <= ATTACH_CREATE_ARRAY && event->kind == UPROBE_BEGIN)
        begin_load(process, thread, event, number);
    else if (event->kind != UPROBE_CALL)
        return;
    else if (probe->function <= ATTACH_CREATE_ARRAY)
        end_load(process, thread, event, number);
    else if (probe->function == ATTACH_RELEASE)
        released(process, thread, event);
    else
        attach_run_ended(process, thread, event, probe->function == ATTACH_RUN_ASYNC);
}

/* Probes are set one after the other. What they saw before all were there tells which session is
 * which, and belongs to no recording. */
void attach_event(struct attach_process *process, const struct uprobe_event *event)
{
    uint32_t number = ATTACH_ID_PROBE(event->id);
    struct ort_attach *attach = process->attach;
    bool is_run =
        number == ATTACH_PYTHON_RUN ||
        (number < attach_probe_count && (attach_probes[number].function == ATTACH_RUN ||
                                         attach_probes[number].function == ATTACH_RUN_ASYNC));

    if (event->kind == UPROBE_CALL && is_run && event->start_ns < attach->since_ns)
        return;
    attach->muted = event->kind == UPROBE_CALL && event->end_ns < attach->since_ns;
    take_event(process, event);
    attach->muted = false;
}
