// SPDX-License-Identifier: Apache-2.0
/*
 * What happens before there is a model: the environment starts, libraries of providers are loaded,
 * providers are appended. These steps wait until a session tells whose they were, and become its
 * prepare-ep events.
 */
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hooks/ort/observer.h"
#include "hooks/ort/wrap.h"
#include "trace/keys.h"

uint64_t ort_thread_id(void)
{
    static __thread uint64_t id;

    if (!id)
        id = (uint64_t)syscall(SYS_gettid);
    return id;
}

bool ort_prepares_add(struct ort_prepares *list, const char *provider, const char *library,
                      uint64_t start, uint64_t end, const char *status)
{
    struct ort_prepare *item;

    if (list->count == ORT_PREPARES)
        return false;
    item = &list->items[list->count++];
    item->start = start;
    item->end = end;
    item->thread = ort_thread_id();
    snprintf(item->provider, sizeof item->provider, "%s", provider);
    snprintf(item->library, sizeof item->library, "%s", library ? library : "");
    snprintf(item->status, sizeof item->status, "%s", status ? status : "");
    return true;
}

void ort_prepares_write(struct ort_prepares *list, ifg_model *model)
{
    uint32_t location = ifg_event_location(model, NULL, IFG_PREPARE_EP);

    for (unsigned i = 0; i < list->count; i++) {
        const struct ort_prepare *item = &list->items[i];
        ifg_zone zone = ifg_location_begin_at(location, item->start);

        if (item->thread != ort_thread_id()) { /* it would lie across what this one did meanwhile */
            ifg_location_async(location, ifg_request_new(), item->start, item->end);
            continue;
        }
        ifg_zone_detail_string(zone, TRACE_KEY_PROVIDER, item->provider);
        if (item->library[0])
            ifg_zone_detail_string(zone, TRACE_KEY_LIBRARY, item->library);
        if (item->status[0])
            ifg_zone_detail_string(zone, TRACE_KEY_STATUS, item->status);
        ifg_zone_end_at(zone, item->end);
    }
    list->count = 0;
}

void ort_prepares_move(struct ort_prepares *from, struct ort_prepares *to)
{
    for (unsigned i = 0; i < from->count && to->count < ORT_PREPARES; i++)
        to->items[to->count++] = from->items[i];
    from->count = 0;
}

/* Notes a step of the whole process. */
static void note(struct ort_runtime *rt, const char *provider, const char *library, uint64_t start,
                 struct ort_status *status)
{
    char text[ORT_TEXT] = "";

    if (!ifg_is_recording())
        return;
    if (status)
        ort_status_text(rt, status, text, sizeof text);
    pthread_mutex_lock(&rt->lock);
    ort_prepares_add(&rt->prepares, provider, library, start, ifg_ticks(), text);
    pthread_mutex_unlock(&rt->lock);
}

static struct ort_status *env_made(struct ort_runtime *rt, int level, uint64_t start,
                                   struct ort_status *status)
{
    if (!status)
        rt->log_level = level;
    note(rt, "environment", NULL, start, status);
    return status;
}

struct ort_status *ort_CreateEnv(struct ort_runtime *rt, int level, ort_text id,
                                 struct ort_env **out)
{
    uint64_t start = ifg_ticks();

    return env_made(rt, level, start,
                    ORT_FN(rt, CreateEnv, int, ort_text, struct ort_env **)(level, id, out));
}

struct ort_status *ort_CreateEnvWithCustomLogger(struct ort_runtime *rt, void *logger, void *user,
                                                 int level, ort_text id, struct ort_env **out)
{
    uint64_t start = ifg_ticks();

    return env_made(rt, level, start,
                    ORT_FN(rt, CreateEnvWithCustomLogger, void *, void *, int, ort_text,
                           struct ort_env **)(logger, user, level, id, out));
}

struct ort_status *ort_CreateEnvWithGlobalThreadPools(struct ort_runtime *rt, int level,
                                                      ort_text id, const void *pools,
                                                      struct ort_env **out)
{
    uint64_t start = ifg_ticks();

    return env_made(rt, level, start,
                    ORT_FN(rt, CreateEnvWithGlobalThreadPools, int, ort_text, const void *,
                           struct ort_env **)(level, id, pools, out));
}

struct ort_status *ort_CreateEnvWithLoggerAndPools(struct ort_runtime *rt, void *logger, void *user,
                                                   int level, ort_text id, const void *pools,
                                                   struct ort_env **out)
{
    uint64_t start = ifg_ticks();

    return env_made(rt, level, start,
                    ORT_FN(rt, CreateEnvWithLoggerAndPools, void *, void *, int, ort_text,
                           const void *, struct ort_env **)(logger, user, level, id, pools, out));
}

struct ort_status *ort_CreateEnvWithOptions(struct ort_runtime *rt, const void *options,
                                            struct ort_env **out)
{
    uint64_t start = ifg_ticks();

    /* The level is inside of something that we do not read: take the most talkative, to be
     * quiet. */
    return env_made(
        rt, 0, start,
        ORT_FN(rt, CreateEnvWithOptions, const void *, struct ort_env **)(options, out));
}

struct ort_status *ort_RegisterProviderLibrary(struct ort_runtime *rt, struct ort_env *env,
                                               ort_text name, ort_text path)
{
    uint64_t start = ifg_ticks();
    struct ort_status *status =
        ORT_FN(rt, RegisterProviderLibrary, struct ort_env *, ort_text, ort_text)(env, name, path);

    note(rt, name ? name : "?", path, start, status);
    return status;
}
