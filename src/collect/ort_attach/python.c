// SPDX-License-Identifier: Apache-2.0
/*
 * Python's module has ONNX Runtime inside, without a table of functions: probes at the functions
 * that the helper found in it. They are methods of the session, which return a status: argument 1
 * is where it goes, a word that is 0 if all went well.
 */
#include "collect/ort_attach/attach_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/ticks.h"
#include "collect/ort_attach/names.h"
#include "trace/keys.h"

static const char why_unknown[] =
    "attached: from outside it is not seen what the runtime does while it loads";

/* ---- probes ---- */

static bool is_usable(const struct ort_point *point)
{
    return point->file_offset && point->argument == 2;
}

static void add_spec(struct uprobe_spec *specs, size_t *count, const struct ort_library *library,
                     uint64_t offset, uint32_t id, uint32_t flags)
{
    specs[(*count)++] = (struct uprobe_spec){
        .file = library->file,
        .offset = offset,
        .id = id,
        .flags = flags,
        .out_argument = flags & UPROBE_RETURN ? 1 : 0,
    };
}

static size_t describe(const struct attach_process *process, const struct ort_library *library,
                       const struct ort_backtrace *functions, uint32_t slot,
                       struct uprobe_spec *specs)
{
    size_t number = process->watched_count;
    size_t count = 0;

    if (functions->load_path.file_offset && functions->load_path.path >= 1 &&
        functions->load_path.path <= UPROBE_ARGUMENTS &&
        functions->load_path.file_offset != functions->load.file_offset) {
        add_spec(specs, &count, library, functions->load_path.file_offset,
                 attach_id(slot, number, ATTACH_PYTHON_PATH), UPROBE_TEXT_BEHIND);
        specs[0].text_argument = (uint8_t)functions->load_path.path;
    }
    if (is_usable(&functions->load) && is_usable(&functions->initialize)) {
        add_spec(specs, &count, library, functions->load.file_offset,
                 attach_id(slot, number, ATTACH_PYTHON_LOAD), UPROBE_RETURN | UPROBE_OPEN);
        add_spec(specs, &count, library, functions->initialize.file_offset,
                 attach_id(slot, number, ATTACH_PYTHON_INITIALIZE), UPROBE_RETURN);
    }
    add_spec(specs, &count, library, functions->run.file_offset,
             attach_id(slot, number, ATTACH_PYTHON_RUN), UPROBE_RETURN);
    return count;
}

void attach_python_watch(struct attach_process *process, const struct ort_library *library)
{
    struct ort_attach *attach = process->attach;
    struct ort_backtrace *functions = ifg_alloc(1, sizeof *functions);
    uint32_t slot = process->slot ? process->slot : attach->next_slot + 1;
    size_t number = process->watched_count;
    struct ifg_error err = { .message = "not enough memory" };
    struct uprobe_spec specs[8];
    enum ifg_status status = functions ? ort_attach_prepare(attach, &err) : IFG_NO_MEMORY;

    if (!status && library->reason[0])
        status = ifg_fail(&err, IFG_PERMISSION, "%s", library->reason);
    if (!status)
        status = attach_functions_find(attach, process->pid, library, true, functions, &err);
    if (!status && !is_usable(&functions->run))
        status = ifg_fail(&err, IFG_NOT_FOUND, "the function that runs a session was not found");
    if (!status && slot >= ATTACH_SLOTS_MAX)
        status = ifg_fail(&err, IFG_UNSUPPORTED, "more processes than can be told apart");
    if (!status)
        status = uprobe_add(attach->engine, process->pid, specs,
                            describe(process, library, functions, slot, specs), &err);
    if (status) {
        char reason[700];

        snprintf(reason, sizeof reason, "the Python package onnxruntime: %.600s", err.message);
        process->refused_python = !process->sight.refused;
        attach_refuse(process, library, status, reason);
    } else {
        if (!process->slot)
            process->slot = ++attach->next_slot;
        process->watched[number] = library->key;
        process->is_python[number] = true;
        attach->lags = true;
        snprintf(process->runtimes[number], sizeof process->runtimes[0], "ONNX Runtime %.20s",
                 functions->version);
        process->watched_count++;
        process->sight.watched++;
        attach_define(process);
        attach_ops_watch(process, library, number, functions);
    }
    ifg_free(functions);
}

/* ---- calls ---- */

static bool has_failed(const struct uprobe_event *event)
{
    return !(event->notes & (UPROBE_OUT_MISSING | UPROBE_READ_LATE)) && event->out_word;
}

/* A path that was not read in time may be somebody else's. */
static void take_path(struct attach_process *process, struct attach_thread *thread,
                      const struct uprobe_event *event)
{
    struct attach_python_load *load = &thread->python;

    *load = (struct attach_python_load){ .session = event->arguments[1] };
    if ((event->notes & (UPROBE_TEXT_MISSING | UPROBE_TEXT_CUT | UPROBE_READ_LATE)) ||
        !event->text || !event->text[0] ||
        !attach_absolute(process, event->text, load->path, sizeof load->path))
        load->path[0] = '\0';
}

void attach_python_name(const struct attach_process *process, struct uprobe_event *event,
                        char text[ATTACH_TEXT])
{
    char path[PATH_MAX];

    event->text = text;
    text[0] = '\0';
    if (!has_failed(event) &&
        names_session_object_path(process->pid, event->arguments[1], path, sizeof path) &&
        strlen(path) < ATTACH_TEXT)
        snprintf(text, ATTACH_TEXT, "%s", path);
    event->result = ifg_monotonic_ns();
}

/* The model of a session that is loaded, or could not be. */
static struct attach_model *model_of(struct attach_process *process,
                                     const struct attach_python_load *load,
                                     const struct uprobe_event *event, bool failed)
{
    const char *runtime = process->runtimes[ATTACH_ID_LIBRARY(event->id)];
    const char *path = load->path;
    const char *inferred = NULL;
    char name[256];

    if (!path[0] && !failed && event->text && event->text[0] &&
        event->result < attach_trusted_until(process, load->session, event->end_ns)) {
        path = event->text;
        inferred = "session object";
    }
    if (path[0])
        model_name_of(path, name, sizeof name);
    else if (failed)
        snprintf(name, sizeof name, "(a model that could not be loaded)");
    else
        snprintf(name, sizeof name, "session@%" PRIx64, load->session);
    return attach_model_of(process, &ATTACH_MODEL(name, path, "", runtime, ""), inferred);
}

static void write_load(struct attach_process *process, struct attach_thread *thread,
                       const struct uprobe_event *event, bool failed)
{
    struct attach_python_load *load = &thread->python;
    struct attach_model *model = model_of(process, load, event, failed);
    const struct attach_session *session = NULL;
    uint32_t location;

    if (!model) {
        process->lost++;
        return;
    }
    location = attach_model_location(process, model, TRACE_CATEGORY_LOAD);
    if (!failed)
        session = attach_session_add(process, load->session, model);
    attach_put_number(thread, load->start_ns, location, TRACE_KEY_SESSION,
                      session ? session->number : ++process->next_session);
    attach_put_text(thread, load->start_ns, location, TRACE_KEY_SPECIALIZATION, "unknown");
    attach_put_text(thread, load->start_ns, location, TRACE_KEY_WHY, why_unknown);
    if (failed)
        attach_put_text(thread, load->start_ns, location, TRACE_KEY_STATUS, "error");
    attach_put_zone(process, thread, load->start_ns, event->end_ns, location);
    *load = (struct attach_python_load){ 0 };
}

/* The first part of a load. */
static void loaded(struct attach_process *process, struct attach_thread *thread,
                   const struct uprobe_event *event)
{
    struct attach_python_load *load = &thread->python;

    if (load->session != event->arguments[1])
        *load = (struct attach_python_load){ .session = event->arguments[1] };
    load->start_ns = event->start_ns;
    attach_put_zone(process, thread, event->start_ns, event->end_ns,
                    attach_zone_location(process, &process->read_location, "read model"));
    if (has_failed(event))
        write_load(process, thread, event, true);
}

static void initialized(struct attach_process *process, struct attach_thread *thread,
                        const struct uprobe_event *event)
{
    attach_put_zone(process, thread, event->start_ns, event->end_ns,
                    attach_zone_location(process, &process->initialize_location, "initialize"));
    if (thread->python.session == event->arguments[1] && thread->python.start_ns)
        write_load(process, thread, event, has_failed(event));
}

void attach_python_event(struct attach_process *process, struct attach_thread *thread,
                         const struct uprobe_event *event)
{
    uint32_t number = ATTACH_ID_PROBE(event->id);
    struct uprobe_event run = *event;

    if (number == ATTACH_PYTHON_PATH && event->kind == UPROBE_POINT)
        take_path(process, thread, event);
    if (event->kind != UPROBE_CALL)
        return;
    if (number == ATTACH_PYTHON_RUN) {
        run.arguments[0] = event->arguments[1];
        run.result = has_failed(event);
        attach_run_ended(process, thread, &run, false);
    } else if (number == ATTACH_PYTHON_LOAD) {
        loaded(process, thread, event);
    } else if (number == ATTACH_PYTHON_INITIALIZE) {
        initialized(process, thread, event);
    }
}
