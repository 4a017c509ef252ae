// SPDX-License-Identifier: Apache-2.0
/* Domains by their names, and which of them `record --annotations` wants. */
#include "hooks/annotations/annotations.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/wire.h"

/* OpenMP has one for every parallel region of a program. */
#define DOMAINS 1024

static struct annotations_domain domains[DOMAINS];
static unsigned domain_count;

/* One more than there is room for: what it says is not recorded. */
static struct annotations_domain over[2] = {
    { "(more domains)", ANNOTATIONS_NVTX, false },
    { "(more domains)", ANNOTATIONS_ITT, false },
};

static bool word_is(const char *word, size_t length, const char *name)
{
    if (length && word[length - 1] == '*')
        return strncmp(word, name, length - 1) == 0;
    return strlen(name) == length && memcmp(word, name, length) == 0;
}

/* Words with commas between them. Those with a minus are left out; if there are no others, all the
 * rest is wanted. The last word that fits a name decides. */
bool annotations_list_has(const char *list, const char *name)
{
    bool only_named = false;
    int decided = -1;

    while (*list) {
        size_t length = strcspn(list, ",");
        bool leaves_out = *list == '-';

        if (length && !leaves_out)
            only_named = true;
        if (length > leaves_out && word_is(list + leaves_out, length - leaves_out, name))
            decided = !leaves_out;
        list += length;
        list += *list == ',';
    }
    return decided >= 0 ? decided : !only_named;
}

static bool is_wanted(const char *name)
{
    const char *list = secure_getenv(IFG_ENV_ANNOTATIONS);

    return !list || annotations_list_has(list, name);
}

static struct annotations_domain *find(enum annotations_source source, const char *name,
                                       unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (domains[i].source == source &&
            strncmp(domains[i].name, name, sizeof domains[i].name - 1) == 0)
            return &domains[i];
    return NULL;
}

struct annotations_domain *annotations_domain(enum annotations_source source, const char *name)
{
    struct annotations_domain *domain =
        find(source, name, __atomic_load_n(&domain_count, __ATOMIC_ACQUIRE));

    if (domain)
        return domain;
    annotations_lock();
    domain = find(source, name, domain_count);
    if (!domain && domain_count < DOMAINS) {
        domain = &domains[domain_count];
        snprintf(domain->name, sizeof domain->name, "%s", name);
        domain->source = source;
        domain->is_wanted = is_wanted(domain->name);
        __atomic_store_n(&domain_count, domain_count + 1, __ATOMIC_RELEASE);
        annotations_report_domain(domain);
    }
    annotations_unlock();
    if (domain)
        return domain;
    annotations_lose(ANNOTATIONS_TOO_MANY_DOMAINS);
    return &over[source == ANNOTATIONS_ITT];
}

bool annotations_is_domain(const void *pointer)
{
    const struct annotations_domain *domain = pointer;

    if (domain == &over[0] || domain == &over[1])
        return true;
    return domain >= domains && domain < domains + DOMAINS &&
           (size_t)((const char *)pointer - (const char *)domains) % sizeof *domains == 0;
}
