// SPDX-License-Identifier: Apache-2.0
/* Sessions and models of a watched process, and the locations of their events. */
#include "collect/ort_attach/attach_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "collect/ort_attach/names.h"
#include "trace/keys.h"

#define FUNCTION "main" /* ONNX Runtime knows no functions of a model */

static const char too_many[] = "(more models than can be told apart)";

static void free_model(struct attach_model *model)
{
    if (!model)
        return;
    ifg_free(model->name);
    ifg_free(model->path);
    ifg_free(model->content);
    ifg_free(model->runtime);
    ifg_free(model->devices);
    ifg_free(model);
}

/*
 * Whether this is that model again. Its file says so, or the bytes that were read; a name is not
 * enough, since most exporters give every graph the same one, and neither is the address of a
 * session, which goes to the next one when it is released.
 */
static bool is_same(const struct attach_model *model, const struct attach_model *other)
{
    if (strcmp(model->runtime, other->runtime) != 0 || strcmp(model->devices, other->devices) != 0)
        return false;
    if (model->path[0] || other->path[0])
        return strcmp(model->path, other->path) == 0;
    return model->content[0] && strcmp(model->content, other->content) == 0;
}

/* Two that people could not tell apart get a number. */
static void make_name(const struct attach_process *process, const struct attach_model *wanted,
                      char *out, size_t size)
{
    unsigned number = 1;

    snprintf(out, size, "%s", wanted->name);
    for (size_t i = 0; !wanted->path[0] && i < process->model_count; i++)
        if (strcmp(process->models[i]->name, out) == 0) {
            snprintf(out, size, "%.230s (%u)", wanted->name, ++number);
            i = (size_t)-1; /* from the start */
        }
}

static void define(struct attach_process *process, const struct attach_model *model,
                   const char *inferred)
{
    struct trace_writer *writer = process->attach->sink->writer;
    const struct trace_model definition = {
        .process = process->index,
        .id = model->id,
        .name = model->name,
        .path = model->path,
        .content_id = model->content,
        .runtime = model->runtime,
        .requested_devices = model->devices,
    };
    uint64_t bytes;
    char number[32];

    trace_writer_model(writer, &definition);
    trace_writer_model_property(writer, process->index, model->id, TRACE_PROPERTY_ATTACH,
                                "uprobes");
    if (model->path[0]) {
        trace_writer_model_property(writer, process->index, model->id, TRACE_PROPERTY_SOURCE,
                                    "file");
        if (names_process_has_file(process->pid, model->path, &bytes)) {
            snprintf(number, sizeof number, "%" PRIu64, bytes);
            trace_writer_model_property(writer, process->index, model->id,
                                        TRACE_PROPERTY_FILE_BYTES, number);
        }
    }
    if (model->content[0])
        trace_writer_model_property(writer, process->index, model->id, TRACE_PROPERTY_CONTENT,
                                    model->content);
    if (inferred)
        trace_writer_model_property(writer, process->index, model->id, TRACE_PROPERTY_INFERRED,
                                    inferred);
    process->attach->counts.models++;
}

static struct attach_model *new_model(struct attach_process *process,
                                      const struct attach_model *wanted)
{
    struct attach_model *model;
    char name[256];

    if (!IFG_ARRAY_ROOM(process->models, process->model_capacity, process->model_count + 1,
                        IFG_ARRAY_ANY))
        return NULL;
    model = ifg_alloc(1, sizeof *model);
    if (!model)
        return NULL;
    make_name(process, wanted, name, sizeof name);
    model->name = ifg_strdup(name);
    model->path = ifg_strdup(wanted->path);
    model->content = ifg_strdup(wanted->content);
    model->runtime = ifg_strdup(wanted->runtime);
    model->devices = ifg_strdup(wanted->devices);
    if (!model->name || !model->path || !model->content || !model->runtime || !model->devices) {
        free_model(model);
        return NULL;
    }
    process->models[process->model_count++] = model;
    model->id = (uint32_t)process->model_count;
    return model;
}

struct attach_model *attach_model_of(struct attach_process *process,
                                     const struct attach_model *wanted, const char *inferred)
{
    struct attach_model all_others = { .name = (char *)(uintptr_t)too_many,
                                       .path = (char *)(uintptr_t) "",
                                       .content = (char *)(uintptr_t) "others",
                                       .runtime = wanted->runtime,
                                       .devices = wanted->devices };
    struct attach_model *model = NULL;

    if (process->model_count >= ATTACH_MODELS_MAX - 1)
        wanted = &all_others;
    for (size_t i = process->model_count; i > 0; i--)
        if (is_same(process->models[i - 1], wanted))
            return process->models[i - 1];
    model = new_model(process, wanted);
    if (model)
        define(process, model, inferred);
    return model;
}

static uint32_t new_location(struct attach_process *process, struct trace_location location)
{
    location.process = process->index;
    return sink_location(process->attach->sink, location);
}

uint32_t attach_model_location(struct attach_process *process, struct attach_model *model,
                               enum trace_category category)
{
    if (!model->locations[category])
        model->locations[category] = new_location(process, (struct trace_location){
                                                               .kind = TRACE_LOCATION_ML,
                                                               .category = category,
                                                               .model = model->id,
                                                               .function = FUNCTION,
                                                           });
    return model->locations[category];
}

uint32_t attach_async_location(struct attach_process *process, struct attach_model *model)
{
    if (!model->async_location)
        model->async_location = new_location(process, (struct trace_location){
                                                          .kind = TRACE_LOCATION_ZONE,
                                                          .model = model->id,
                                                          .name = "RunAsync (the call only)",
                                                      });
    return model->async_location;
}

uint32_t attach_zone_location(struct attach_process *process, uint32_t *location, const char *name)
{
    if (!*location)
        *location = new_location(
            process, (struct trace_location){ .kind = TRACE_LOCATION_ZONE, .name = name });
    return *location;
}

uint32_t attach_release_location(struct attach_process *process)
{
    return attach_zone_location(process, &process->release_location, "release session");
}

uint32_t attach_node_location(struct attach_process *process, const struct attach_model *model,
                              const char *name, const char *type)
{
    return new_location(process, (struct trace_location){ .kind = TRACE_LOCATION_OP,
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
        if (!IFG_ARRAY_ROOM(process->sessions, process->session_capacity,
                            process->session_count + 1, ATTACH_SESSIONS_MAX))
            return NULL;
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

    if (names_session_object_path(process->pid, address, path, sizeof path)) {
        inferred = "session object";
        model_name_of(path, name, sizeof name);
    } else {
        path[0] = '\0';
        snprintf(name, sizeof name, "session@%" PRIx64, address);
    }
    model = attach_model_of(process, &ATTACH_MODEL(name, path, "", runtime, ""), inferred);
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
