// SPDX-License-Identifier: Apache-2.0
/*
 * The door that ITT looks for in the library that INTEL_LIBITTNOTIFY64 names.
 *
 * Each library of a program that was linked with ITT has a static part of its own, and each calls
 * the door once, at its first annotation, with the list of its functions. We take those that we
 * know; the rest stays as if there were no collector: some libraries check what others return, and
 * all of them run faster without a call.
 *
 * A collector that was configured before ours is asked first. It binds the program's functions as
 * if we were not there; then ours take the places that we need, and call it.
 */
#include "hooks/itt/itt.h"

#include <string.h>

#include "wire/wire.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT void __itt_api_init(struct itt_global *global, int groups);
EXPORT void __itt_api_fini(struct itt_global *global);

static struct annotations_next next = { .variable = IFG_ENV_ITT_NEXT };

/* By names, as collectors of the first kind have it. */
static bool next_resolve(struct itt_global *global)
{
    if (!annotations_next_function(&next, "__itt_api_version"))
        return false;
    for (struct itt_api *api = global->functions; api->name; api++) {
        void *found = annotations_next_function(&next, api->name);

        *api->function = found ? found : api->none;
    }
    return true;
}

static bool next_init(struct itt_global *global, int groups)
{
    void (*init)(struct itt_global *, int) = NULL;
    void *found;

    annotations_next_open(&next);
    if (!next.path)
        return false;
    found = annotations_next_function(&next, "__itt_api_init");
    memcpy(&init, &found, sizeof init);
    if (!init)
        return next_resolve(global);
    init(global, groups);
    return true;
}

static struct itt_binding *binding_of(const char *name)
{
    struct itt_binding *const lists[] = { itt_object_functions, itt_task_functions,
                                          itt_counter_functions };

    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        for (struct itt_binding *binding = lists[i]; binding->name; binding++)
            if (strcmp(binding->name, name) == 0)
                return binding;
    return NULL;
}

static void bind(struct itt_api *api, bool has_next)
{
    struct itt_binding *binding = binding_of(api->name);
    itt_function *found;

    if (!binding) {
        if (!has_next)
            *api->function = api->none;
        return;
    }
    memcpy(&found, api->function, sizeof found);
    if (has_next && found && *api->function != api->initial && *api->function != api->none &&
        found != binding->ours)
        __atomic_store_n(&binding->next, found, __ATOMIC_RELEASE);
    memcpy(api->function, &binding->ours, sizeof binding->ours);
}

/* What does not look as expected is left alone: then the program has no collector. */
static bool is_known(const struct itt_global *global)
{
    return global && global->magic[0] == ITT_MAGIC_0 && global->magic[1] == ITT_MAGIC_1 &&
           global->version[0] == 3 && global->functions && global->functions->name &&
           strncmp(global->functions->name, "__itt_", 6) == 0;
}

void __itt_api_init(struct itt_global *global, int groups)
{
    int saved_errno = errno;
    bool has_next;

    if (!is_known(global))
        return;
    annotations_start();
    has_next = next_init(global, groups);
    for (struct itt_api *api = global->functions; api->name; api++)
        if (api->function)
            bind(api, has_next);
    /* What was made before we came: a collector sees to it that the program calls for these. */
    for (struct itt_domain *domain = global->domains; domain; domain = domain->next)
        itt_domain_seen(domain);
    annotations_report_source(ANNOTATIONS_ITT, has_next ? next.path : NULL);
    errno = saved_errno;
}

void __itt_api_fini(struct itt_global *global)
{
    void (*fini)(struct itt_global *) = NULL;
    void *found = annotations_next_function(&next, "__itt_api_fini");

    memcpy(&fini, &found, sizeof fini);
    if (fini)
        fini(global);
}
