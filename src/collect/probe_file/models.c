// SPDX-License-Identifier: Apache-2.0
/*
 * The models and locations of a watched process, and which pointer belongs to which model. All
 * names come from the process: they have limits, and what is beyond shares the last location.
 */
#include "collect/probe_file/watch_internal.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/hash.h"
#include "system/process_folder.h"
#include "trace/keys.h"

#define EXTENSION_MAX 9 /* with the dot: .safetensors is part of a name, .gguf is not */

/* ---- models ---- */

static uint32_t find_model(const struct watched_names *names, const char *key)
{
    uint32_t number = ifg_strings_find(&names->models, key, strlen(key));

    return number == IFG_STRINGS_NONE ? 0 : number + 1;
}

static uint32_t add_model(struct watched_process *process, const struct probe_file *file,
                          const char *key, const char *name, const char *path, const char *source)
{
    struct watched_names *names = &process->names;
    struct trace_writer *writer = process->watch->sink->writer;
    struct trace_model model = { 0 };
    bool last = names->models.count == WATCH_MODELS_MAX - 1;

    if (names->models.count == WATCH_MODELS_MAX)
        return WATCH_MODELS_MAX;
    if (ifg_strings_add(&names->models, key, strlen(key)) == IFG_STRINGS_NONE)
        return 0;
    model = (struct trace_model){
        .process = process->process,
        .id = names->models.count,
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
    char directory[PATH_MAX];
    char inside[PATH_MAX * 2 + 64];
    struct stat info;

    if (text[0] == '/') {
        snprintf(out_path, size, "%s", text);
    } else {
        if (!process_link(pid, "cwd", directory, sizeof directory))
            return false;
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

/* ---- locations ---- */

uint32_t watch_location(struct watched_process *process, const struct watched_function *function,
                        uint32_t model, const char *function_name)
{
    const struct probe_rule *rule = function->rule;
    struct watched_names *names = &process->names;
    bool is_zone = rule->shows == PROBE_SHOWS_ZONE;
    const char *name = is_zone ? rule->zone : function_name;
    enum trace_category category = is_zone ? TRACE_CATEGORY_NONE : rule->category;
    struct watched_location *added;
    struct trace_location location;

    if (is_zone)
        model = 0;
    for (size_t i = 0; i < names->location_count; i++) {
        const struct watched_location *known = &names->locations[i];

        if (known->model == model && known->category == category && strcmp(known->name, name) == 0)
            return known->id;
    }
    if (!IFG_ARRAY_ROOM(names->locations, names->location_capacity, names->location_count + 1,
                        WATCH_LOCATIONS_MAX))
        return 0;
    added = &names->locations[names->location_count];
    *added = (struct watched_location){ model, category,
                                        ifg_strings_copy(&names->models, name, strlen(name)), 0 };
    if (!added->name)
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
    added->id = sink_location(process->watch->sink, location);
    return added->id;
}

/* ---- pointers ---- */

static uint64_t hash_object(const void *objects, size_t position)
{
    return ifg_hash_pair(((const struct watched_object *)objects)[position].address, 0);
}

static bool is_same_object(const void *objects, size_t position, const void *wanted)
{
    const struct watched_object *object = wanted;

    return ((const struct watched_object *)objects)[position].address == object->address;
}

struct watched_object *watch_object(struct watched_names *names, uint64_t address)
{
    struct watched_object wanted = { .address = address };
    uint32_t found = ifg_index_find(&names->object_index, hash_object(&wanted, 0), is_same_object,
                                    names->objects, &wanted);

    return found ? &names->objects[found - 1] : NULL;
}

bool watch_learn(struct watched_names *names, uint64_t address, uint32_t model, uint32_t session)
{
    struct watched_object learned = { address, model, session };
    struct watched_object *object = watch_object(names, address);

    if (!address)
        return true;
    if (object) {
        *object = learned;
        return true;
    }
    if (!IFG_ARRAY_ROOM(names->objects, names->object_capacity, names->object_count + 1,
                        WATCH_OBJECTS_MAX) ||
        !ifg_index_room(&names->object_index, names->object_count, hash_object, names->objects))
        return false;
    names->objects[names->object_count] = learned;
    ifg_index_put(&names->object_index, hash_object(&learned, 0), names->object_count++);
    return true;
}

void watch_forget(struct watched_names *names, uint64_t address)
{
    struct watched_object *object = watch_object(names, address);

    if (object)
        ifg_index_remove(&names->object_index, (size_t)(object - names->objects),
                         names->object_count--, hash_object, names->objects, sizeof *object);
}

void watch_names_fini(struct watched_names *names)
{
    ifg_strings_fini(&names->models);
    ifg_free(names->locations);
    ifg_free(names->objects);
    ifg_index_fini(&names->object_index);
    *names = (struct watched_names){ 0 };
}
