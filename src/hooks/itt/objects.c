// SPDX-License-Identifier: Apache-2.0
/*
 * Domains and names of ITT. Both are structures that the collector makes and the program reads; the
 * program does not call for a domain whose flags are 0, which is how one is left out.
 *
 * The next collector makes them if there is one: it may keep more in them than is published.
 */
#include "hooks/itt/itt.h"

#include <string.h>

#include "hooks/ort/map.h"

#define DOMAINS 1024u
#define STRINGS 8192u
#define BUCKETS 2048u

struct our_string {
    struct itt_string string; /* what the program has */
    struct our_string *next;  /* in the same bucket */
    const struct annotations_domain *zone_domain;
    ifg_location *zone; /* its location as a task of that domain */
};

static struct itt_domain domains[DOMAINS];
static unsigned domain_count;
static struct our_string strings[STRINGS];
static unsigned string_count;

static struct ort_map known_domains = ORT_MAP_INIT;
static struct our_string *buckets[BUCKETS]; /* by the address of the text, which is kept once */

bool itt_is_paused;

enum { DOMAIN_CREATE, STRING_CREATE, PAUSE, RESUME, SET_NAME };

static struct annotations_domain *named(const char *name)
{
    return annotations_domain(ANNOTATIONS_ITT, name && *name ? name : "ITT");
}

/* Domains of another collector, or from before us. */
static const struct annotations_domain *look_up(const struct itt_domain *domain)
{
    struct annotations_domain *ours = ort_map_find(&known_domains, domain);

    if (!ours) {
        ours = named(domain->name);
        annotations_remember(&known_domains, domain, ours);
    }
    return ours;
}

const struct annotations_domain *itt_domain(const struct itt_domain *domain)
{
    const struct annotations_domain *ours;

    if (!domain)
        return NULL;
    if (domain >= domains && domain < domains + DOMAINS)
        ours = domain->extra2;
    else
        ours = look_up(domain);
    return ours && ours->is_wanted ? ours : NULL;
}

void itt_domain_seen(struct itt_domain *domain)
{
    const struct annotations_domain *ours = look_up(domain);

    if (!ITT_HAS_NEXT(itt_object_functions, DOMAIN_CREATE))
        domain->flags = ours->is_wanted;
}

static struct itt_domain *domain_create(const char *name)
{
    struct itt_domain *(*next)(const char *) = ITT_NEXT(next, itt_object_functions, DOMAIN_CREATE);
    struct itt_domain *domain = NULL;
    struct annotations_domain *ours;
    int saved_errno = errno;

    if (!name)
        return next ? next(name) : NULL;
    ours = named(name);
    if (next) {
        domain = next(name);
        if (domain)
            annotations_remember(&known_domains, domain, ours);
        return domain;
    }
    annotations_lock();
    for (unsigned i = 0; i < domain_count && !domain; i++)
        if (domains[i].extra2 == ours)
            domain = &domains[i];
    if (!domain && domain_count < DOMAINS) {
        domain = &domains[domain_count++];
        *domain =
            (struct itt_domain){ .flags = ours->is_wanted, .name = ours->name, .extra2 = ours };
    }
    annotations_unlock();
    errno = saved_errno;
    return domain;
}

/* ---- names ---- */

static bool is_our_string(const struct itt_string *string)
{
    const struct our_string *ours = (const struct our_string *)(const void *)string;

    return ours >= strings && ours < strings + STRINGS;
}

static struct our_string **bucket_of(const char *kept)
{
    return &buckets[((uintptr_t)kept >> 3) % BUCKETS];
}

static struct our_string *find_string(const char *kept)
{
    struct our_string *ours = __atomic_load_n(bucket_of(kept), __ATOMIC_ACQUIRE);

    while (ours && ours->string.text != kept)
        ours = ours->next;
    return ours;
}

/* NULL: no room. The lock is held. */
static struct our_string *add_string(const char *kept)
{
    struct our_string *ours = find_string(kept);

    if (ours || string_count == STRINGS)
        return ours;
    ours = &strings[string_count++];
    ours->string.text = kept;
    ours->next = *bucket_of(kept);
    __atomic_store_n(bucket_of(kept), ours, __ATOMIC_RELEASE);
    return ours;
}

/* The same text is the same handle: some programs ask for one at every task. */
static struct itt_string *string_create(const char *text)
{
    static struct itt_string shared = { .text = "(more names than can be told apart)" };
    struct itt_string *(*next)(const char *) = ITT_NEXT(next, itt_object_functions, STRING_CREATE);
    struct annotations_text words;
    struct our_string *ours;
    const char *kept;
    int saved_errno = errno;

    if (next || !text)
        return next ? next(text) : NULL;
    annotations_text_narrow(&words, text);
    kept = annotations_keep(&words);
    ours = find_string(kept);
    if (!ours) {
        annotations_lock();
        ours = add_string(kept);
        annotations_unlock();
    }
    errno = saved_errno;
    return ours ? &ours->string : &shared;
}

ifg_location *itt_location(const struct annotations_domain *domain, uint32_t kind,
                           const struct itt_string *name, struct annotations_text *text)
{
    struct our_string *ours = NULL;
    ifg_location *location;

    if (kind == IFG_LOCATION_ZONE && is_our_string(name)) {
        const struct annotations_domain *of;

        ours = (struct our_string *)(void *)name;
        of = __atomic_load_n(&ours->zone_domain, __ATOMIC_ACQUIRE);
        location = __atomic_load_n(&ours->zone, __ATOMIC_ACQUIRE);
        if (of == domain && location && !annotations_is_shared(location))
            return location;
    }
    annotations_text_narrow(text, name && name->text ? name->text : "(no name)");
    location = annotations_location(domain, kind, text->bytes, text->length, 0);
    if (ours) { /* the first domain that uses a name has it at hand from now on */
        const struct annotations_domain *none = NULL;

        if (__atomic_compare_exchange_n(&ours->zone_domain, &none, domain, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE))
            __atomic_store_n(&ours->zone, location, __ATOMIC_RELEASE);
    }
    return location;
}

uint64_t itt_id_number(const struct itt_id *id)
{
    uint64_t number = 0;

    for (int i = 0; i < 3; i++)
        number = (number ^ id->words[i]) * 0x9e3779b97f4a7c15u;
    return number;
}

/* ---- the thread, and the whole collection ---- */

static void set_name(const char *name)
{
    void (*next)(const char *) = ITT_NEXT(next, itt_object_functions, SET_NAME);

    if (next)
        next(name);
    ifg_thread_name(name);
}

static void tell(const char *text)
{
    if (ifg_is_recording())
        ifg_message(IFG_LEVEL_INFO, text, SIZE_MAX);
}

static void pause_collection(void)
{
    void (*next)(void) = ITT_NEXT(next, itt_object_functions, PAUSE);

    if (next)
        next();
    if (!__atomic_exchange_n(&itt_is_paused, true, __ATOMIC_RELAXED))
        tell("ITT: paused by the program");
}

static void resume_collection(void)
{
    void (*next)(void) = ITT_NEXT(next, itt_object_functions, RESUME);

    if (next)
        next();
    if (__atomic_exchange_n(&itt_is_paused, false, __ATOMIC_RELAXED))
        tell("ITT: resumed by the program");
}

struct itt_binding itt_object_functions[] = {
    [DOMAIN_CREATE] = ITT_BIND(domain_create, domain_create),
    [STRING_CREATE] = ITT_BIND(string_handle_create, string_create),
    [PAUSE] = ITT_BIND(pause, pause_collection),
    [RESUME] = ITT_BIND(resume, resume_collection),
    [SET_NAME] = ITT_BIND(thread_set_name, set_name),
    { NULL, NULL, NULL },
};
