// SPDX-License-Identifier: Apache-2.0
/*
 * Which device a context is of. Records of waits name only the context; those of contexts, and of
 * all work, name both. Where the driver has one device there is nothing to ask.
 */
#include <pthread.h>

#include "hooks/cupti/hook.h"

#define MOST 256u

static struct {
    uint32_t context, device;
} known[MOST];
static uint32_t count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint32_t find(uint32_t context)
{
    uint32_t i = 0;

    while (i < count && known[i].context != context)
        i++;
    return i;
}

void contexts_learn(uint32_t context, uint32_t device)
{
    uint32_t at;

    pthread_mutex_lock(&lock);
    at = find(context);
    if (at == count && count < MOST)
        known[count++].context = context;
    if (at < count)
        known[at].device = device;
    pthread_mutex_unlock(&lock);
}

bool contexts_device(uint32_t context, uint32_t *out_device)
{
    static unsigned devices;
    uint32_t at;
    bool is_known;

    pthread_mutex_lock(&lock);
    at = find(context);
    is_known = at < count;
    if (is_known)
        *out_device = known[at].device;
    pthread_mutex_unlock(&lock);
    if (is_known)
        return true;
    if (!__atomic_load_n(&devices, __ATOMIC_RELAXED))
        __atomic_store_n(&devices, cupti_device_count(), __ATOMIC_RELAXED);
    *out_device = 0;
    return __atomic_load_n(&devices, __ATOMIC_RELAXED) == 1;
}
