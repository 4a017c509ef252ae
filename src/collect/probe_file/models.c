// SPDX-License-Identifier: Apache-2.0
/*
 * The models and places of a watched process, and which pointer belongs to which model. All names
 * come from the process: they have limits, and what is beyond shares the last place.
 */
#include "collect/probe_file/watch_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "trace/keys.h"

#define EXTENSION_MAX 9 /* with the dot: .safetensors is part of a name, .gguf is not */
#define OBJECTS_FIRST 64u

/* ---- models ---- */

static uint32_t find_model(const struct watched_names *names, const char *key)
{
    for (uint32_t i = names->model_count; i > 0; i--)
        if (strcmp(names->models[i - 1].key, key) == 0)
            return i;
    return 0;
}

static uint32_t add_model(struct watched_process *process, const struct probe_file *file,
                          const char *key, const char *name, const char *path, const char *source)
{
    struct watched_names *names = &process->names;
    struct trace_writer *writer = process->watch->sink->writer;
    struct watched_model *grown;
    struct trace_model model = { 0 };
    bool last = names->model_count == WATCH_MODELS_MAX - 1;

    if (names->model_count == WATCH_MODELS_MAX)
        return WATCH_MODELS_MAX;
    grown = ifg_realloc(names->models, names->model_count + 1u, sizeof *grown);
    if (!grown)
        return 0;
    names->models = grown;
    grown[names->model_count].key = ifg_strdup(key);
    if (!grown[names->model_count].key)
        return 0;
    names->model_count++;
    model = (struct trace_model){
        .process = process->process,
        .id = names->model_count,
        .name = last ? "other models" : name,
        .path = last ? "" : path,
        .runtime = file->runtime,
    };
    trace_writer_model(writer, &model);
    trace_writer_model_property(writer, process->process, model.id, TRACE_PROPERTY_NAME_SOURCE,
                                source);
    process->watch->counts.models++;
    return model.id;
}

/* The path of a text as seen by the process; false: there is no such file. */
static bool find_path(pid_t pid, const char *text, char *out_path, size_t size)
{
    char link[64];
    char directory[PATH_MAX];
    char inside[PATH_MAX * 2 + 64];
    struct stat info;
    ssize_t length;

    if (text[0] == '/') {
        snprintf(out_path, size, "%s", text);
    } else {
        snprintf(link, sizeof link, "/proc/%d/cwd", (int)pid);
        length = readlink(link, directory, sizeof directory - 1);
        if (length <= 0)
            return false;
        directory[length] = '\0';
        snprintf(out_path, size, "%s/%s", directory, strncmp(text, "./", 2) == 0 ? text + 2 : text);
    }
    snprintf(inside, sizeof inside, "/proc/%d/root%s", (int)pid, out_path);
    return stat(inside, &info) == 0 && S_ISREG(info.st_mode);
}

/* The file name without its extension. */
static void stem_of(const char *path, char *out_name, size_t size)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash && slash[1] ? slash + 1 : path;
    const char *dot = strrchr(base, '.');
    size_t length = strlen(base);

    if (dot && dot > base && strlen(dot) <= EXTENSION_MAX)
        length = (size_t)(dot - base);
    snprintf(out_name, size, "%.*s", (int)length, base);
}

uint32_t watch_model_by_text(struct watched_process *process, const struct probe_file *file,
                             const char *text, bool is_late)
{
    char path[PATH_MAX * 2];
    char name[UPROBE_TEXT_MAX];
    uint32_t id = find_model(&process->names, text);
    bool is_path;

    if (id)
        return id;
    is_path = find_path(process->pid, text, path, sizeof path);
    if (is_late && !is_path)
        return 0; /* the memory was somebody else's by then: better no name than a wrong one */
    if (!is_path && strchr(text, '/')) { /* gone, or never there: what was said counts */
        snprintf(path, sizeof path, "%s", text);
        is_path = true;
    }
    if (is_path)
        stem_of(text, name, sizeof name);
    else
        snprintf(name, sizeof name, "%s", text);
    return add_model(process, file, text, name, is_path ? path : "",
                     is_late ? "inferred: read after the call had begun" : "the call");
}

uint32_t watch_model_by_name(struct watched_process *process, const struct probe_file *file,
                             const char *name)
{
    uint32_t id = find_model(&process->names, name);

    return id ? id : add_model(process, file, name, name, "", "the description");
}

uint32_t watch_model_by_address(struct watched_process *process, const struct probe_file *file,
                                uint64_t address)
{
    char name[48];
    uint32_t id;

    if (address)
        snprintf(name, sizeof name, "session@0x%" PRIx64, address);
    else
        snprintf(name, sizeof name, "unknown model");
    id = find_model(&process->names, name);
    return id ? id
              : add_model(process, file, name, name, "",
                          "unknown: it was made before the recording, or in a way that is not "
                          "described");
}

/* ---- places ---- */

uint32_t watch_location(struct watched_process *process, const struct watched_function *function,
                        uint32_t model, const char *function_name)
{
    const struct probe_rule *rule = function->rule;
    struct watched_names *names = &process->names;
    bool is_zone = rule->shows == PROBE_SHOWS_ZONE;
    const char *name = is_zone ? rule->zone : function_name;
    enum trace_category category = is_zone ? TRACE_CATEGORY_NONE : rule->category;
    struct watched_location *grown;
    struct trace_location location;

    if (is_zone)
        model = 0;
    for (uint32_t i = 0; i < names->location_count; i++) {
        const struct watched_location *known = &names->locations[i];

        if (known->model == model && known->category == category && strcmp(known->name, name) == 0)
            return known->id;
    }
    if (names->location_count == WATCH_LOCATIONS_MAX)
        return 0;
    grown = ifg_realloc(names->locations, names->location_count + 1u, sizeof *grown);
    if (!grown)
        return 0;
    names->locations = grown;
    grown += names->location_count;
    *grown = (struct watched_location){ model, category, ifg_strdup(name), 0 };
    if (!grown->name)
        return 0;
    names->location_count++;
    location = (struct trace_location){
        .process = process->process,
        .kind = is_zone ? TRACE_LOCATION_ZONE : TRACE_LOCATION_ML,
        .category = category,
        .model = model,
        .name = is_zone ? name : "",
        .function = is_zone ? function->symbol : name,
    };
    grown->id = sink_location(process->watch->sink, location);
    return grown->id;
}

/* ---- pointers ---- */

static size_t home_of(const struct watched_names *names, uint64_t address)
{
    return (size_t)((address >> 4) * 0x9e3779b97f4a7c15u >> 32) & (names->object_capacity - 1);
}

static size_t location_of(const struct watched_names *names, uint64_t address)
{
    size_t at = home_of(names, address);

    while (names->objects[at].address && names->objects[at].address != address)
        at = (at + 1) & (names->object_capacity - 1);
    return at;
}

struct watched_object *watch_object(struct watched_names *names, uint64_t address)
{
    size_t at;

    if (!address || !names->object_count)
        return NULL;
    at = location_of(names, address);
    return names->objects[at].address ? &names->objects[at] : NULL;
}

static bool grow_objects(struct watched_names *names)
{
    struct watched_names larger = *names;
    size_t capacity = names->object_capacity ? names->object_capacity * 2 : OBJECTS_FIRST;

    larger.object_capacity = capacity;
    larger.objects = ifg_alloc(capacity, sizeof *larger.objects);
    if (!larger.objects)
        return false;
    for (size_t i = 0; i < names->object_capacity; i++)
        if (names->objects[i].address)
            larger.objects[location_of(&larger, names->objects[i].address)] = names->objects[i];
    ifg_free(names->objects);
    *names = larger;
    return true;
}

bool watch_learn(struct watched_names *names, uint64_t address, uint32_t model, uint32_t session)
{
    struct watched_object *object = watch_object(names, address);

    if (!address)
        return true;
    if (!object) {
        if (names->object_count == WATCH_OBJECTS_MAX)
            return false;
        if (names->object_count * 2 >= names->object_capacity && !grow_objects(names))
            return false;
        object = &names->objects[location_of(names, address)];
        names->object_count++;
    }
    *object = (struct watched_object){ address, model, session };
    return true;
}

void watch_forget(struct watched_names *names, uint64_t address)
{
    struct watched_object *object = watch_object(names, address);
    size_t hole;
    size_t at;

    if (!object)
        return;
    hole = (size_t)(object - names->objects);
    names->object_count--;
    /* Whatever was pushed aside by it moves back, so that there are no gaps on any way. */
    for (at = (hole + 1) & (names->object_capacity - 1); names->objects[at].address;
         at = (at + 1) & (names->object_capacity - 1)) {
        size_t home = home_of(names, names->objects[at].address);

        if (((at - home) & (names->object_capacity - 1)) >=
            ((at - hole) & (names->object_capacity - 1))) {
            names->objects[hole] = names->objects[at];
            hole = at;
        }
    }
    names->objects[hole] = (struct watched_object){ 0 };
}

void watch_names_fini(struct watched_names *names)
{
    for (uint32_t i = 0; i < names->model_count; i++)
        ifg_free(names->models[i].key);
    for (uint32_t i = 0; i < names->location_count; i++)
        ifg_free(names->locations[i].name);
    ifg_free(names->models);
    ifg_free(names->locations);
    ifg_free(names->objects);
    *names = (struct watched_names){ 0 };
}
