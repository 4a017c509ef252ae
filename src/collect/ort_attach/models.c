// SPDX-License-Identifier: Apache-2.0
/* Sessions and models of a watched process, and the places of their events. */
#include "collect/ort_attach/attach_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "collect/ort_attach/names.h"

#define FUNCTION "main" /* ONNX Runtime knows no functions of a model */

static const char too_many[] = "(more models than can be told apart)";

static void free_model(struct attach_model *model)
{
    if (!model)
        return;
    ifg_free(model->name);
    ifg_free(model->path);
    ifg_free(model->runtime);
    ifg_free(model->devices);
    ifg_free(model);
}

static bool is_same(const struct attach_model *model, const char *name, const char *path,
                    const char *runtime, const char *devices)
{
    return strcmp(model->name, name) == 0 && strcmp(model->path, path) == 0 &&
           strcmp(model->runtime, runtime) == 0 && strcmp(model->devices, devices) == 0;
}

static void define(struct attach_process *process, const struct attach_model *model,
                   const char *inferred)
{
    struct trace_writer *writer = process->attach->sink.writer;
    const struct trace_model definition = {
        .process = process->index,
        .id = model->id,
        .name = model->name,
        .path = model->path,
        .runtime = model->runtime,
        .requested_devices = model->devices,
    };
    uint64_t bytes;
    char number[32];

    trace_writer_model(writer, &definition);
    trace_writer_model_property(writer, process->index, model->id, "attach", "uprobes");
    if (model->path[0]) {
        trace_writer_model_property(writer, process->index, model->id, "source", "file");
        if (process_has_file(process->pid, model->path, &bytes)) {
            snprintf(number, sizeof number, "%" PRIu64, bytes);
            trace_writer_model_property(writer, process->index, model->id, "file_bytes", number);
        }
    }
    if (inferred)
        trace_writer_model_property(writer, process->index, model->id, "inferred", inferred);
    process->attach->counts.models++;
}

static struct attach_model *new_model(struct attach_process *process, const char *name,
                                      const char *path, const char *runtime, const char *devices)
{
    struct attach_model *model;

    if (process->model_count == process->model_capacity) {
        size_t capacity = process->model_capacity ? 2 * process->model_capacity : 16;
        struct attach_model **models = ifg_realloc(process->models, capacity, sizeof *models);

        if (!models)
            return NULL;
        process->models = models;
        process->model_capacity = capacity;
    }
    model = ifg_alloc(1, sizeof *model);
    if (!model)
        return NULL;
    model->name = ifg_strdup(name);
    model->path = ifg_strdup(path);
    model->runtime = ifg_strdup(runtime);
    model->devices = ifg_strdup(devices);
    if (!model->name || !model->path || !model->runtime || !model->devices) {
        free_model(model);
        return NULL;
    }
    process->models[process->model_count++] = model;
    model->id = (uint32_t)process->model_count;
    return model;
}

struct attach_model *attach_model_of(struct attach_process *process, const char *name,
                                     const char *path, const char *runtime, const char *devices,
                                     const char *inferred)
{
    struct attach_model *model = NULL;

    if (process->model_count >= ATTACH_MODELS_MAX - 1) {
        name = too_many;
        path = "";
    }
    for (size_t i = process->model_count; i > 0; i--)
        if (is_same(process->models[i - 1], name, path, runtime, devices))
            return process->models[i - 1];
    model = new_model(process, name, path, runtime, devices);
    if (model)
        define(process, model, inferred);
    return model;
}

static uint32_t new_place(struct attach_process *process, struct trace_location location)
{
    location.process = process->index;
    location.id = ++process->next_place;
    trace_writer_location(process->attach->sink.writer, &location);
    return location.id;
}

uint32_t attach_model_place(struct attach_process *process, struct attach_model *model,
                            enum trace_category category)
{
    if (!model->places[category])
        model->places[category] = new_place(process, (struct trace_location){
                                                         .kind = TRACE_LOCATION_ML,
                                                         .category = category,
                                                         .model = model->id,
                                                         .function = FUNCTION,
                                                     });
    return model->places[category];
}

uint32_t attach_async_place(struct attach_process *process, struct attach_model *model)
{
    if (!model->async_place)
        model->async_place = new_place(process, (struct trace_location){
                                                    .kind = TRACE_LOCATION_ZONE,
                                                    .model = model->id,
                                                    .name = "RunAsync (the call only)",
                                                });
    return model->async_place;
}

uint32_t attach_zone_place(struct attach_process *process, uint32_t *place, const char *name)
{
    if (!*place)
        *place = new_place(process,
                           (struct trace_location){ .kind = TRACE_LOCATION_ZONE, .name = name });
    return *place;
}

uint32_t attach_release_place(struct attach_process *process)
{
    return attach_zone_place(process, &process->release_place, "release session");
}

uint32_t attach_node_place(struct attach_process *process, const struct attach_model *model,
                           const char *name, const char *type)
{
    return new_place(process, (struct trace_location){ .kind = TRACE_LOCATION_OP,
                                                       .model = model->id,
                                                       .name = name,
                                                       .function = type });
}

/* ---- sessions ---- */

static size_t position(const struct attach_process *process, uint64_t address)
{
    size_t low = 0;
    size_t high = process->session_count;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (process->sessions[middle].address < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct attach_session *attach_session_find(struct attach_process *process, uint64_t address)
{
    size_t at = position(process, address);

    return at < process->session_count && process->sessions[at].address == address
               ? &process->sessions[at]
               : NULL;
}

struct attach_session *attach_session_add(struct attach_process *process, uint64_t address,
                                          struct attach_model *model)
{
    size_t at = position(process, address);
    struct attach_session *session;

    if (at == process->session_count || process->sessions[at].address != address) {
        if (process->session_count == process->session_capacity) {
            size_t capacity = process->session_capacity ? 2 * process->session_capacity : 16;
            struct attach_session *sessions =
                capacity <= ATTACH_SESSIONS_MAX
                    ? ifg_realloc(process->sessions, capacity, sizeof *sessions)
                    : NULL;

            if (!sessions)
                return NULL;
            process->sessions = sessions;
            process->session_capacity = capacity;
        }
        memmove(process->sessions + at + 1, process->sessions + at,
                (process->session_count - at) * sizeof *process->sessions);
        process->session_count++;
    }
    session = &process->sessions[at];
    session->address = address;
    session->number = ++process->next_session;
    session->runs = 0;
    session->model = model;
    return session;
}

void attach_session_remove(struct attach_process *process, uint64_t address)
{
    size_t at = position(process, address);

    if (at == process->session_count || process->sessions[at].address != address)
        return;
    process->session_count--;
    memmove(process->sessions + at, process->sessions + at + 1,
            (process->session_count - at) * sizeof *process->sessions);
}

struct attach_session *attach_session_infer(struct attach_process *process, uint64_t address,
                                            const char *runtime)
{
    const char *inferred = NULL;
    struct attach_model *model;
    char path[PATH_MAX];
    char name[256];

    if (session_object_path(process->pid, address, path, sizeof path))
        inferred = "session object";
    else if (!process->nameless++ && session_open_file(process->pid, path, sizeof path))
        inferred = "open files";
    else
        path[0] = '\0';
    if (inferred)
        model_name_of(path, name, sizeof name);
    else
        snprintf(name, sizeof name, "session@%" PRIx64, address);
    model = attach_model_of(process, name, path, runtime, "", inferred);
    return model ? attach_session_add(process, address, model) : NULL;
}

void attach_models_free(struct attach_process *process)
{
    for (size_t i = 0; i < process->model_count; i++)
        free_model(process->models[i]);
    ifg_free(process->models);
    ifg_free(process->sessions);
    process->models = NULL;
    process->sessions = NULL;
    process->model_count = process->model_capacity = 0;
    process->session_count = process->session_capacity = 0;
}
