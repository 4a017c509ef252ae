// SPDX-License-Identifier: Apache-2.0
/* The names that a program gives to the numbers of its categories. */
#include "hooks/annotations/annotations.h"

#define CATEGORIES 1024u

struct category {
    const struct annotations_domain *domain;
    const char *name;
    uint32_t number;
};

static struct category categories[CATEGORIES];
static unsigned category_count;

static struct category *find(const struct annotations_domain *domain, uint32_t number)
{
    unsigned count = __atomic_load_n(&category_count, __ATOMIC_ACQUIRE);

    for (unsigned i = 0; i < count; i++)
        if (categories[i].domain == domain && categories[i].number == number)
            return &categories[i];
    return NULL;
}

void annotations_category_name(const struct annotations_domain *domain, uint32_t category,
                               const struct annotations_text *name)
{
    const char *kept = annotations_keep(name);
    struct category *known;

    annotations_lock();
    known = find(domain, category);
    if (known) {
        __atomic_store_n(&known->name, kept, __ATOMIC_RELEASE);
    } else if (category_count < CATEGORIES) {
        categories[category_count] = (struct category){ domain, kept, category };
        __atomic_store_n(&category_count, category_count + 1, __ATOMIC_RELEASE);
    }
    annotations_unlock();
}

const char *annotations_category(const struct annotations_domain *domain, uint32_t category)
{
    const struct category *known = find(domain, category);

    return known ? __atomic_load_n(&known->name, __ATOMIC_ACQUIRE) : NULL;
}
