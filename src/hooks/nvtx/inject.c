// SPDX-License-Identifier: Apache-2.0
/*
 * The door that NVTX looks for in the library that NVTX_INJECTION64_PATH names.
 *
 * NVTX is in a header: each library of a program has its own copy, and each copy calls the door
 * once, at its first annotation. What is behind the door belongs to the process.
 *
 * An injection that was configured before ours is asked first. It writes its functions into the
 * program's table as if we were not there; then ours take the slots that we need, and call it.
 */
#include "hooks/nvtx/nvtx.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "wire/wire.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT nvtx_initialize InitializeInjectionNvtx2;
EXPORT nvtx_initialize_extension InitializeInjectionNvtxExtension;

nvtx_function *nvtx_next_core[NVTX_CORE_COUNT];
nvtx_function *nvtx_next_core2[NVTX_CORE2_COUNT];
nvtx_is_enabled_function *nvtx_next_is_enabled;

static struct annotations_next next = { .variable = IFG_ENV_NVTX_NEXT };

struct table {
    nvtx_function ***slots;
    unsigned count;
    nvtx_function *before[NVTX_CORE_COUNT];
};

static_assert((int)NVTX_CORE_COUNT == (int)NVTX_CORE2_COUNT, "one struct for both");

static void table_get(const struct nvtx_callbacks *callbacks, enum nvtx_module module,
                      struct table *out)
{
    memset(out, 0, sizeof *out);
    if (!callbacks->get_module_table((int)module, &out->slots, &out->count) || !out->slots)
        out->count = 0;
    if (out->count > NVTX_CORE_COUNT)
        out->count = NVTX_CORE_COUNT;
    for (unsigned i = 1; i < out->count; i++)
        out->before[i] = out->slots[i] ? *out->slots[i] : NULL;
}

static void table_put_back(const struct table *table)
{
    for (unsigned i = 1; i < table->count; i++)
        if (table->slots[i])
            *table->slots[i] = table->before[i];
}

/* Ours into the table. What the next injection has put there is called by them. */
static void table_take(const struct table *table, nvtx_function *const *ours, nvtx_function **nexts)
{
    for (unsigned i = 1; i < table->count; i++) {
        if (!table->slots[i] || !ours[i])
            continue;
        if (*table->slots[i] != table->before[i] && *table->slots[i] != ours[i])
            __atomic_store_n(&nexts[i], *table->slots[i], __ATOMIC_RELEASE);
        *table->slots[i] = ours[i];
    }
}

static bool next_initialize(nvtx_get_export *get_export)
{
    nvtx_initialize *initialize = NULL;
    void *found;

    annotations_next_open(&next);
    found = annotations_next_function(&next, "InitializeInjectionNvtx2");
    memcpy(&initialize, &found, sizeof initialize);
    return initialize && initialize(get_export);
}

int InitializeInjectionNvtx2(nvtx_get_export *get_export)
{
    const struct nvtx_callbacks *callbacks = get_export ? get_export(NVTX_EXPORT_CALLBACKS) : NULL;
    struct table core;
    struct table core2;
    bool has_next;
    int saved_errno = errno;

    if (!callbacks || callbacks->struct_size < sizeof *callbacks || !callbacks->get_module_table)
        return 0;
    annotations_start();
    table_get(callbacks, NVTX_MODULE_CORE, &core);
    table_get(callbacks, NVTX_MODULE_CORE2, &core2);
    has_next = next_initialize(get_export);
    if (!has_next) {
        table_put_back(&core);
        table_put_back(&core2);
    }
    table_take(&core, nvtx_core_functions, nvtx_next_core);
    table_take(&core2, nvtx_core2_functions, nvtx_next_core2);
    annotations_report_source(ANNOTATIONS_NVTX, has_next ? next.path : NULL);
    errno = saved_errno;
    return 1;
}

/* Of the extensions, one question is for us: programs that hear that a domain is not enabled do not
 * annotate at all. Payloads with a schema, counters and the rest are for the next one, if there is
 * one. */
int InitializeInjectionNvtxExtension(struct nvtx_extension *extension)
{
    nvtx_initialize_extension *initialize = NULL;
    intptr_t before = 0;
    intptr_t *slot = NULL;
    void *found;

    if (!extension || extension->struct_size < offsetof(struct nvtx_extension, get_export))
        return 0;
    if (extension->module == NVTX_EXTENSION_PAYLOAD && extension->segment_count &&
        extension->segments && extension->segments->slot_count > NVTX_DOMAIN_IS_ENABLED)
        slot = &extension->segments->slots[NVTX_DOMAIN_IS_ENABLED];
    if (slot)
        before = *slot;
    annotations_next_open(&next);
    found = annotations_next_function(&next, "InitializeInjectionNvtxExtension");
    memcpy(&initialize, &found, sizeof initialize);
    if (initialize && initialize(extension) && slot && *slot != before)
        __atomic_store_n(&nvtx_next_is_enabled, (nvtx_is_enabled_function *)*slot,
                         __ATOMIC_RELEASE);
    if (slot)
        *slot = (intptr_t)nvtx_is_enabled;
    return 1;
}
