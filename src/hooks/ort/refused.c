// SPDX-License-Identifier: Apache-2.0
/* What was refused: see refused.h. */
#include "hooks/ort/refused.h"
#include "trace/keys.h"

#include <stdio.h>
#include <string.h>

#define REFUSED_MAX 16u

struct refused {
    uint64_t thread; /* 0: free */
    bool is_session;
    uint64_t model_hash; /* sessions */
    char provider[48];
    char reason[ORT_TEXT];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct refused list[REFUSED_MAX];
static unsigned added; /* the oldest makes room */
static unsigned kept;  /* mostly 0: then there is nothing to look for */

static void add(bool is_session, uint64_t model_hash, const char *provider, const char *reason)
{
    struct refused *to;

    pthread_mutex_lock(&lock);
    to = &list[added++ % REFUSED_MAX];
    to->thread = ort_thread_id();
    to->is_session = is_session;
    to->model_hash = model_hash;
    snprintf(to->provider, sizeof to->provider, "%s", provider);
    snprintf(to->reason, sizeof to->reason, "%s", reason);
    __atomic_store_n(&kept, 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock);
}

void refused_provider(const char *provider, const char *reason)
{
    add(false, 0, provider, reason);
}

void refused_session(const struct ort_options *asked, uint64_t model_hash, const char *reason)
{
    for (unsigned i = 0; i < asked->provider_count; i++)
        if (strcmp(asked->providers[i], ORT_CPU) != 0)
            add(true, model_hash, asked->providers[i], reason);
}

static bool is_asked_for(const struct ort_options *asked, const char *provider)
{
    for (unsigned i = 0; i < asked->provider_count; i++)
        if (strcmp(asked->providers[i], provider) == 0)
            return true;
    return false;
}

void refused_tell(const struct ort_options *asked, uint64_t model_hash, ifg_model *model)
{
    uint64_t thread = ort_thread_id();

    if (!__atomic_load_n(&kept, __ATOMIC_RELAXED))
        return;
    pthread_mutex_lock(&lock);
    __atomic_store_n(&kept, 0, __ATOMIC_RELAXED);
    for (unsigned i = 0; i < REFUSED_MAX; i++) {
        struct refused *refused = &list[i];
        char key[96];

        if (refused->thread && refused->thread != thread)
            __atomic_store_n(&kept, 1, __ATOMIC_RELAXED);
        if (refused->thread != thread)
            continue;
        refused->thread = 0;
        if (is_asked_for(asked, refused->provider) ||
            (refused->is_session && refused->model_hash != model_hash))
            continue; /* it is said already, or was another model's */
        snprintf(key, sizeof key, TRACE_PROPERTY_REQUESTED_FAILED "%s", refused->provider);
        ifg_model_property(model, key, refused->reason);
    }
    pthread_mutex_unlock(&lock);
}
