// SPDX-License-Identifier: Apache-2.0
/*
 * Sessions: every way to create one is a load event of its model. ONNX Runtime is given a copy of
 * the program's options, to which questions are added: which provider got which nodes, how long
 * the initialization took. The program's own object is never changed.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "hooks/ort/arena.h"
#include "hooks/ort/cache_watch.h"
#include "hooks/ort/capture.h"
#include "hooks/ort/creation.h"
#include "hooks/ort/observer.h"
#include "hooks/ort/ops.h"
#include "hooks/ort/refused.h"
#include "ort_abi/content.h"
#include "trace/keys.h"

/* ---- the states of sessions: a few, used again and again ---- */

static pthread_mutex_t states_lock = PTHREAD_MUTEX_INITIALIZER;
static struct ort_session_state *free_states;
static uint32_t session_count;

static struct ort_session_state *new_state(void)
{
    struct ort_session_state *state;

    pthread_mutex_lock(&states_lock);
    state = free_states;
    if (state)
        free_states = state->next_free;
    pthread_mutex_unlock(&states_lock);
    if (!state)
        state = malloc(sizeof *state);
    if (state) {
        memset(state, 0, sizeof *state);
        state->cache_watch.fd = -1;
    }
    return state;
}

/* Never freed: a run that is still going on in another thread must find something sane. */
static void put_state(struct ort_session_state *state)
{
    pthread_mutex_lock(&states_lock);
    state->next_free = free_states;
    free_states = state;
    pthread_mutex_unlock(&states_lock);
}

/* ---- which model ---- */

static void model_name(const struct creation *creation, char *out, size_t size)
{
    const char *slash = creation->path ? strrchr(creation->path, '/') : NULL;
    const char *base = slash ? slash + 1 : creation->path;
    size_t bytes;

    if (!base || !*base) {
        snprintf(out, size, "%s",
                 creation->identity.graph_name[0] ? creation->identity.graph_name : "model");
        return;
    }
    snprintf(out, size, "%s", base);
    bytes = strlen(out);
    if (bytes > 5 && strcmp(out + bytes - 5, ".onnx") == 0)
        out[bytes - 5] = '\0';
    else if (bytes > 4 && strcmp(out + bytes - 4, ".ort") == 0)
        out[bytes - 4] = '\0';
}

static void tell_properties(const struct creation *creation, const char *options_text)
{
    static const char *const policies[] = {
        "DEFAULT",         "PREFER_CPU",     "PREFER_NPU",        "PREFER_GPU",
        "MAX_PERFORMANCE", "MAX_EFFICIENCY", "MIN_OVERALL_POWER",
    };
    const struct ort_options *asked = creation->asked;
    ifg_model *model = creation->model;
    char text[32];
    char key[ORT_TEXT];

    snprintf(text, sizeof text, "%016llx", (unsigned long long)creation->identity.hash);
    ifg_model_property(model, TRACE_PROPERTY_CONTENT, text);
    ifg_model_property(model, TRACE_PROPERTY_OPTIONS, options_text);
    snprintf(text, sizeof text, "%llu", (unsigned long long)creation->identity.bytes);
    ifg_model_property(model, TRACE_PROPERTY_FILE_BYTES, text);
    ifg_model_property(model, TRACE_PROPERTY_SOURCE, creation->path ? "file" : "memory");
    if (creation->identity.graph_name[0])
        ifg_model_property(model, TRACE_PROPERTY_GRAPH_NAME, creation->identity.graph_name);
    if (asked->policy >= 0 && asked->policy < (int)(sizeof policies / sizeof *policies))
        ifg_model_property(model, TRACE_PROPERTY_POLICY, policies[asked->policy]);
    else if (asked->policy != -1)
        ifg_model_property(model, TRACE_PROPERTY_POLICY,
                           asked->policy == -2 ? "the program's own" : "unknown");
    for (unsigned i = 0; i < asked->failed_count; i++) {
        snprintf(key, sizeof key, TRACE_PROPERTY_REQUESTED_FAILED "%.64s", asked->failed[i][0]);
        ifg_model_property(model, key, asked->failed[i][1]);
    }
}

/* The same model, providers and options again are the same model; properties are told once. */
static void name_model(struct creation *creation)
{
    const struct ort_options *asked = creation->asked;
    char options_text[ORT_TEXT];
    char requested[ORT_TEXT * 2];
    char absolute[PATH_MAX] = "";
    char content_id[32];
    char name[ORT_TEXT];
    uint64_t options_hash;
    int saved_errno = errno;

    model_name(creation, name, sizeof name);
    if (creation->path && !realpath(creation->path, absolute))
        snprintf(absolute, sizeof absolute, "%s", creation->path);
    errno = saved_errno;
    ort_options_text(asked, options_text, sizeof options_text);
    ort_requested_text(asked, requested, sizeof requested);
    options_hash = ort_content_mix(asked->config_hash, options_text, strlen(options_text));
    options_hash =
        ort_content_mix(options_hash + (uint64_t)asked->policy, requested, strlen(requested));
    snprintf(content_id, sizeof content_id, "%016llx-%08x",
             (unsigned long long)creation->identity.hash, (unsigned)options_hash);
    creation->model = ifg_model_create(&(ifg_model_options){
        .struct_size = sizeof(ifg_model_options),
        .name = name,
        .path = absolute,
        .content_id = content_id,
        .runtime = creation->rt->name,
        .requested_devices = requested,
    });
    creation->is_new_model = ort_models_note(content_id, absolute);
    if (creation->is_new_model)
        tell_properties(creation, options_text);
}

/* Whether this text has been seen for the first time: properties need to be told once only. */
bool ort_models_note(const char *content_id, const char *path)
{
    static uint64_t seen[256];
    static unsigned count;
    uint64_t hash = ort_content_mix(1, content_id, strlen(content_id));
    bool is_new = true;

    hash = ort_content_mix(hash, path, strlen(path));
    pthread_mutex_lock(&states_lock);
    for (unsigned i = 0; i < count && i < 256; i++)
        is_new = is_new && seen[i] != hash;
    if (is_new)
        seen[count++ % 256] = hash;
    pthread_mutex_unlock(&states_lock);
    return is_new;
}

/* ---- before, during, after ---- */

static struct ort_status *call(const struct creation *creation,
                               const struct ort_session_options *options, struct ort_session **out)
{
    struct ort_runtime *rt = creation->rt;

    switch (creation->how) {
    case FROM_PATH:
        return ORT_FN(rt, CreateSession, const struct ort_env *, ort_text,
                      const struct ort_session_options *,
                      struct ort_session **)(creation->env, creation->path, options, out);
    case FROM_ARRAY:
        return ORT_FN(rt, CreateSessionFromArray, const struct ort_env *, const void *, size_t,
                      const struct ort_session_options *, struct ort_session **)(
            creation->env, creation->data, creation->bytes, options, out);
    case FROM_PATH_WITH_CONTAINER:
        return ORT_FN(rt, CreateSessionWithContainer, const struct ort_env *, ort_text,
                      const struct ort_session_options *, void *, struct ort_session **)(
            creation->env, creation->path, options, creation->container, out);
    case FROM_ARRAY_WITH_CONTAINER:
        return ORT_FN(rt, CreateSessionFromArrayWithContainer, const struct ort_env *, const void *,
                      size_t, const struct ort_session_options *, void *, struct ort_session **)(
            creation->env, creation->data, creation->bytes, options, creation->container, out);
    default:
        return ((struct ort_status * (*)(const struct ort_env *, const void *,
                                         const struct ort_session_options *, struct ort_session **))
                    rt->editor_api[ORT_EDITOR_CreateSessionFromModel])(
            creation->env, creation->data, options, out);
    }
}

static struct ort_session_options *copy_options(const struct creation *creation)
{
    struct ort_session_options *ours = NULL;
    struct ort_runtime *rt = creation->rt;
    struct ort_status *status;

    if (creation->options)
        status = ORT_FN(rt, CloneSessionOptions, const struct ort_session_options *,
                        struct ort_session_options **)(creation->options, &ours);
    else
        status = ORT_FN(rt, CreateSessionOptions, struct ort_session_options **)(&ours);
    return ort_ok(rt, status) ? ours : NULL;
}

static void write_prepares(struct creation *creation)
{
    struct ort_options *noted = ort_map_find(&ort_options_map, creation->options);

    pthread_mutex_lock(&creation->rt->lock);
    ort_prepares_write(&creation->rt->prepares, creation->model);
    pthread_mutex_unlock(&creation->rt->lock);
    if (noted)
        ort_prepares_write(&noted->prepares, creation->model);
}

static void keep(struct creation *creation, struct ort_session *session,
                 struct ort_cache_watch *watch)
{
    struct ort_session_state *state = new_state();

    if (state) {
        state->rt = creation->rt;
        state->model = creation->model;
        state->number = creation->number;
        state->inference_location = ifg_event_location(creation->model, NULL, IFG_INFERENCE);
        state->setup_location = ifg_event_location(creation->model, NULL, IFG_SETUP);
        state->observed = creation->observed;
        state->cpu_only = capture_is_cpu_only(creation->asked);
        state->cache_watch = *watch;
        ops_created(creation->profile, creation->identity.nodes, state, session);
        if (arena_wanted && creation->asked) {
            char name[ORT_TEXT];

            model_name(creation, name, sizeof name);
            arena_created(state, name, creation->asked, creation->is_new_model);
        }
        if (ort_map_add(&ort_sessions, session, state))
            return;
        put_state(state);
    }
    cache_watch_end(watch);
}

struct ort_session_state *ort_session_adopt(struct ort_runtime *rt, struct ort_session *session,
                                            ifg_model *model)
{
    struct creation creation = {
        .rt = rt,
        .model = model,
        .number = __atomic_add_fetch(&session_count, 1, __ATOMIC_RELAXED),
    };
    struct ort_cache_watch none = { .fd = -1 };

    keep(&creation, session, &none);
    return ort_map_find(&ort_sessions, session);
}

static struct ort_status *create(struct creation *creation, struct ort_session **out)
{
    struct ort_status *status;
    struct cache_news news = { 0 };
    ifg_zone load = { 0, 0, 0 };
    struct ort_cache_watch watch;
    char reason[ORT_TEXT];

    if (ifg_is_confined()) /* files and directories would be looked at, which may kill */
        return call(creation, creation->options, out);
    creation->asked = ort_options_of(creation->options);
    creation->number = __atomic_add_fetch(&session_count, 1, __ATOMIC_RELAXED);
    name_model(creation);
    cache_watch_begin(&watch, creation->asked, creation->path);
    if (ifg_is_recording()) {
        write_prepares(creation);
        ifg_ort_observe(creation->model);
        if (creation->rt->untried)
            creation_ask_nothing();
        else
            creation->ours = copy_options(creation);
        if (creation->ours)
            creation_ask(creation);
        load = ifg_event_begin(creation->model, NULL, IFG_LOAD);
    }
    creation_clock(&creation->begin);
    status = call(creation, creation->ours ? creation->ours : creation->options, out);
    creation_clock(&creation->end);
    ifg_ort_observe(NULL);
    cache_watch_read(&watch, &news);
    if (load.depth) {
        creation_tell(creation, load, status ? NULL : *out, status, &news);
        ifg_zone_end_at(load, creation->end.ticks);
    }
    if (creation->ours)
        ORT_VOID(creation->rt, ReleaseSessionOptions)(creation->ours);
    if (!status) {
        refused_tell(creation->asked, creation->identity.hash, creation->model);
        creation_placement(creation, *out);
        keep(creation, *out, &watch);
    } else {
        ort_status_text(creation->rt, status, reason, sizeof reason);
        refused_session(creation->asked, creation->identity.hash, reason);
        ops_created(creation->profile, 0, NULL, NULL);
        cache_watch_end(&watch);
        ifg_model_destroy(creation->model);
    }
    return status;
}

struct ort_status *ort_CreateSession(struct ort_runtime *rt, const struct ort_env *env,
                                     ort_text path, const struct ort_session_options *options,
                                     struct ort_session **out)
{
    struct creation creation = {
        .rt = rt, .how = FROM_PATH, .env = env, .path = path, .options = options
    };

    if (!ifg_is_confined())
        identity_of_file(path, &creation.identity);
    return create(&creation, out);
}

struct ort_status *ort_CreateSessionFromArray(struct ort_runtime *rt, const struct ort_env *env,
                                              const void *data, size_t bytes,
                                              const struct ort_session_options *options,
                                              struct ort_session **out)
{
    struct creation creation = {
        .rt = rt, .how = FROM_ARRAY, .env = env, .data = data, .bytes = bytes, .options = options
    };

    identity_of_model(data, bytes, &creation.identity);
    return create(&creation, out);
}

struct ort_status *ort_CreateSessionWithContainer(struct ort_runtime *rt, const struct ort_env *env,
                                                  ort_text path,
                                                  const struct ort_session_options *options,
                                                  void *container, struct ort_session **out)
{
    struct creation creation = { .rt = rt,
                                 .how = FROM_PATH_WITH_CONTAINER,
                                 .env = env,
                                 .path = path,
                                 .options = options,
                                 .container = container };

    if (!ifg_is_confined())
        identity_of_file(path, &creation.identity);
    return create(&creation, out);
}

struct ort_status *ort_CreateSessionFromArrayWithContainer(
    struct ort_runtime *rt, const struct ort_env *env, const void *data, size_t bytes,
    const struct ort_session_options *options, void *container, struct ort_session **out)
{
    struct creation creation = { .rt = rt,
                                 .how = FROM_ARRAY_WITH_CONTAINER,
                                 .env = env,
                                 .data = data,
                                 .bytes = bytes,
                                 .options = options,
                                 .container = container };

    identity_of_model(data, bytes, &creation.identity);
    return create(&creation, out);
}

struct ort_status *ort_CreateSessionFromModel(struct ort_runtime *rt, const struct ort_env *env,
                                              const void *model,
                                              const struct ort_session_options *options,
                                              struct ort_session **out)
{
    struct creation creation = {
        .rt = rt, .how = FROM_EDITOR, .env = env, .data = model, .options = options
    };

    return create(&creation, out);
}

void ort_ReleaseSession(struct ort_runtime *rt, struct ort_session *session)
{
    struct ort_session_state *state = ort_map_remove(&ort_sessions, session);

    if (state) {
        ops_release(state);
        if (arena_wanted && ifg_is_recording() && !ifg_is_confined())
            arena_ending(state, session);
    }
    {
        IFG_BEGIN(zone, "release session");
        if (state)
            IFG_DETAIL_INT(zone, "session", state->number);
        ORT_VOID(rt, ReleaseSession)(session);
        IFG_END(zone);
    }
    if (state) {
        arena_ended(state);
        cache_watch_end(&state->cache_watch);
        ifg_model_destroy(state->model);
        put_state(state);
    }
}

struct ort_status *ort_SessionEndProfiling(struct ort_runtime *rt, struct ort_session *session,
                                           struct ort_allocator *allocator, char **out)
{
    struct ort_session_state *state = ort_map_find(&ort_sessions, session);

    if (state)
        ops_release(state); /* ours first: it is not what the program asks for */
    return ORT_FN(rt, SessionEndProfiling, struct ort_session *, struct ort_allocator *,
                  char **)(session, allocator, out);
}
