// SPDX-License-Identifier: Apache-2.0
/*
 * An injection of somebody else, for NVTX and ITT: counts what it gets, and appends the counts to
 * the file that ANNOTATION_NEXT names when the process ends. Its handles and numbers are its own,
 * and it insists on getting them back.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hooks/itt/itt_abi.h"
#include "hooks/nvtx/nvtx_abi.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT nvtx_initialize InitializeInjectionNvtx2;
EXPORT void __itt_api_init(struct itt_global *global, int groups);

static long inits, pushes, pops, marks, starts, ends, domains, strings, categories, strangers;
static long itt_inits, task_begins, task_ends, itt_domains, itt_strings, counters, markers, syncs;
static uint64_t last_id = 1000;
static char our_domains[256]; /* a handle is an address in here */
static char our_strings[4096];

#define COUNT(counter) __atomic_add_fetch(&(counter), 1, __ATOMIC_RELAXED)

static void check_domain(const void *domain)
{
    const char *handle = domain;

    if (handle && (handle < our_domains || handle >= our_domains + sizeof our_domains))
        COUNT(strangers);
}

static int push_a(const char *text)
{
    (void)text;
    return (int)COUNT(pushes);
}

static int pop(void)
{
    return (int)COUNT(pops);
}

static void mark_a(const char *text)
{
    (void)text;
    COUNT(marks);
}

static uint64_t start_a(const char *text)
{
    (void)text;
    COUNT(starts);
    return COUNT(last_id);
}

static void end(uint64_t id)
{
    if (id <= 1000)
        COUNT(strangers);
    COUNT(ends);
}

static int domain_push(const void *domain, const struct nvtx_event *event)
{
    const char *string = event->message.registered;

    check_domain(domain);
    if (event->message_type == NVTX_MESSAGE_REGISTERED &&
        (string < our_strings || string >= our_strings + sizeof our_strings))
        COUNT(strangers);
    return (int)COUNT(pushes);
}

static int domain_pop(const void *domain)
{
    check_domain(domain);
    return (int)COUNT(pops);
}

static void domain_mark(const void *domain, const struct nvtx_event *event)
{
    (void)event;
    check_domain(domain);
    COUNT(marks);
}

static uint64_t domain_start(const void *domain, const struct nvtx_event *event)
{
    (void)event;
    check_domain(domain);
    COUNT(starts);
    return COUNT(last_id);
}

static void domain_end(const void *domain, uint64_t id)
{
    check_domain(domain);
    end(id);
}

static void *domain_create(const char *name)
{
    (void)name;
    return &our_domains[COUNT(domains) % (long)sizeof our_domains];
}

static const void *register_string(const void *domain, const char *text)
{
    (void)text;
    check_domain(domain);
    return &our_strings[COUNT(strings) % (long)sizeof our_strings];
}

static void name_category(const void *domain, uint32_t category, const char *name)
{
    (void)category;
    (void)name;
    check_domain(domain);
    COUNT(categories);
}

static void put(nvtx_function ***table, unsigned size, unsigned number, nvtx_function *function)
{
    if (number < size)
        *table[number] = function;
}

int InitializeInjectionNvtx2(nvtx_get_export *get_export)
{
    const struct nvtx_callbacks *callbacks = get_export(NVTX_EXPORT_CALLBACKS);
    nvtx_function ***table;
    unsigned size;

    COUNT(inits);
    if (callbacks->get_module_table(NVTX_MODULE_CORE, &table, &size)) {
        put(table, size, NVTX_RANGE_PUSH_A, (nvtx_function *)push_a);
        put(table, size, NVTX_RANGE_POP, (nvtx_function *)pop);
        put(table, size, NVTX_MARK_A, (nvtx_function *)mark_a);
        put(table, size, NVTX_RANGE_START_A, (nvtx_function *)start_a);
        put(table, size, NVTX_RANGE_END, (nvtx_function *)end);
    }
    if (callbacks->get_module_table(NVTX_MODULE_CORE2, &table, &size)) {
        put(table, size, NVTX_DOMAIN_RANGE_PUSH_EX, (nvtx_function *)domain_push);
        put(table, size, NVTX_DOMAIN_RANGE_POP, (nvtx_function *)domain_pop);
        put(table, size, NVTX_DOMAIN_MARK_EX, (nvtx_function *)domain_mark);
        put(table, size, NVTX_DOMAIN_RANGE_START_EX, (nvtx_function *)domain_start);
        put(table, size, NVTX_DOMAIN_RANGE_END, (nvtx_function *)domain_end);
        put(table, size, NVTX_DOMAIN_CREATE_A, (nvtx_function *)domain_create);
        put(table, size, NVTX_DOMAIN_REGISTER_STRING_A, (nvtx_function *)register_string);
        put(table, size, NVTX_DOMAIN_NAME_CATEGORY_A, (nvtx_function *)name_category);
    }
    return 1;
}

/* ---- ITT ---- */

static struct itt_domain *itt_domain(const char *name)
{
    struct itt_domain *domain = calloc(1, sizeof *domain);

    COUNT(itt_domains);
    if (domain) {
        domain->flags = 1;
        domain->name = strdup(name);
        domain->extra1 = 77; /* known by this */
    }
    return domain;
}

static struct itt_string *itt_string(const char *text)
{
    struct itt_string *string = calloc(1, sizeof *string);

    COUNT(itt_strings);
    if (string)
        string->text = strdup(text);
    return string;
}

static void task_begin(const struct itt_domain *domain, struct itt_id id, struct itt_id parent,
                       struct itt_string *name)
{
    (void)id;
    (void)parent;
    if (domain->extra1 != 77 || !name)
        COUNT(strangers);
    COUNT(task_begins);
}

static void task_end(const struct itt_domain *domain)
{
    if (domain->extra1 != 77)
        COUNT(strangers);
    COUNT(task_ends);
}

static void counter_inc(const struct itt_domain *domain, struct itt_string *name)
{
    (void)domain;
    (void)name;
    COUNT(counters);
}

static void marker(const struct itt_domain *domain, struct itt_id id, struct itt_string *name,
                   int scope)
{
    (void)domain;
    (void)id;
    (void)name;
    (void)scope;
    COUNT(markers);
}

static void sync_create(void)
{
    COUNT(syncs);
}

static void bind(struct itt_api *api, const char *name, void (*function)(void))
{
    if (strcmp(api->name, name) == 0)
        memcpy(api->function, &function, sizeof function);
}

void __itt_api_init(struct itt_global *global, int groups)
{
    (void)groups;
    COUNT(itt_inits);
    for (struct itt_api *api = global->functions; api->name; api++) {
        *api->function = api->none;
        bind(api, "__itt_domain_create", (void (*)(void))itt_domain);
        bind(api, "__itt_string_handle_create", (void (*)(void))itt_string);
        bind(api, "__itt_task_begin", (void (*)(void))task_begin);
        bind(api, "__itt_task_end", (void (*)(void))task_end);
        bind(api, "__itt_counter_inc_v3", (void (*)(void))counter_inc);
        bind(api, "__itt_marker", (void (*)(void))marker);
        bind(api, "__itt_sync_create", sync_create);
    }
}

static __attribute__((destructor)) void tell(void)
{
    const char *path = getenv("ANNOTATION_NEXT");
    FILE *file = path && (inits || itt_inits) ? fopen(path, "a") : NULL;

    if (!file)
        return;
    fprintf(file,
            "push %ld pop %ld mark %ld start %ld end %ld domain %ld string %ld category %ld "
            "task %ld %ld domain %ld counter %ld marker %ld strangers %ld\n",
            pushes, pops, marks, starts, ends, domains, strings, categories, task_begins, task_ends,
            itt_domains, counters, markers, strangers);
    fclose(file);
}
