// SPDX-License-Identifier: Apache-2.0
/* The GPUs of rocprofiler-sdk's agents: numbers, names, and what they are known by elsewhere. */
#include <stdio.h>

#include "client/device.h"
#include "hooks/rocm/hook.h"
#include "wire/device.h"

#define MOST 64u

static struct {
    uint64_t agent;
    char name[128];
    char id[64];
} gpus[MOST];
static uint32_t count;
static uint64_t described; /* by bit */

/* Parts of a device are agents of their own at one address: the node tells them apart. */
static void add(const void *agent)
{
    const char *name = rocm_pointer(agent, ROCM_AGENT_PRODUCT);
    uint32_t location = rocm_u32(agent, ROCM_AGENT_LOCATION);

    if (!name || !*name)
        name = rocm_pointer(agent, ROCM_AGENT_NAME);
    gpus[count].agent = rocm_u64(agent, ROCM_AGENT_ID);
    snprintf(gpus[count].name, sizeof gpus[count].name, "%s", name ? name : "");
    snprintf(gpus[count].id, sizeof gpus[count].id, IFG_ROCM_ID "%04x:%02x:%02x.%x node %u",
             rocm_u32(agent, ROCM_AGENT_DOMAIN) & 0xffff, location >> 8 & 0xff,
             location >> 3 & 0x1f, location & 7, rocm_u32(agent, ROCM_AGENT_NODE));
    count++;
}

static int take(int version, const void **agents, size_t agent_count, void *user)
{
    (void)user;
    if (version != ROCM_AGENT_VERSION || !agents)
        return ROCM_OK;
    for (size_t i = 0; i < agent_count && count < MOST; i++)
        if (agents[i] && rocm_u64(agents[i], 0) >= ROCM_AGENT_BYTES &&
            rocm_u32(agents[i], ROCM_AGENT_TYPE) == ROCM_AGENT_GPU)
            add(agents[i]);
    return ROCM_OK;
}

bool agents_learn(char *reason, size_t size)
{
    int result;

    count = 0;
    result = rocm.query_available_agents(ROCM_AGENT_VERSION, take, ROCM_AGENT_BYTES, NULL);
    if (result != ROCM_OK)
        rocm_explain(result, "list devices", reason, size);
    else if (!count)
        snprintf(reason, size, "rocprofiler-sdk lists no GPU");
    return result == ROCM_OK && count;
}

bool agents_device(uint64_t agent, uint32_t *out_device)
{
    for (uint32_t i = 0; i < count; i++)
        if (gpus[i].agent == agent) {
            *out_device = i;
            return true;
        }
    return false;
}

void agents_describe(uint32_t device)
{
    if (device < count &&
        !(__atomic_fetch_or(&described, 1ull << device, __ATOMIC_RELAXED) >> device & 1))
        ifg_device_define(device, gpus[device].name, gpus[device].id);
}
