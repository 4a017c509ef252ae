// SPDX-License-Identifier: Apache-2.0
/*
 * Counters of ITT. A program adds to them or sets them; what is recorded is the new value. Each
 * value counts from the start of the process, also while nobody records.
 */
#include "hooks/itt/itt.h"

#include <stdio.h>
#include <string.h>

#include "hooks/ort/map.h"

#define COUNTERS 1024u

enum {
    CREATE,
    CREATE_TYPED,
    CREATE_V3,
    INC,
    INC_DELTA,
    DEC,
    DEC_DELTA,
    SET_VALUE,
    SET_VALUE_V3,
    INC_V3,
    INC_DELTA_V3,
    DEC_V3,
    DEC_DELTA_V3,
};

struct counter {
    const struct annotations_domain *domain;
    const char *name; /* kept */
    ifg_location *location;
    int type;
    int64_t value; /* of those that are added to */
};

static struct counter counters[COUNTERS];
static unsigned counter_count;
static struct ort_map next_counters = ORT_MAP_INIT;

static struct counter *of_handle(const void *handle)
{
    const struct counter *counter = handle;

    if (counter >= counters && counter < counters + COUNTERS &&
        (size_t)((const char *)handle - (const char *)counters) % sizeof *counters == 0)
        return (struct counter *)handle;
    return ort_map_find(&next_counters, handle);
}

static struct counter *find(const struct annotations_domain *domain, const char *kept)
{
    unsigned count = __atomic_load_n(&counter_count, __ATOMIC_ACQUIRE);

    for (unsigned i = 0; i < count; i++)
        if (counters[i].name == kept && counters[i].domain == domain)
            return &counters[i];
    return NULL;
}

/* NULL: no room. */
static struct counter *get(const struct annotations_domain *domain, const char *name, int type)
{
    struct annotations_text text;
    struct counter *counter;
    const char *kept;

    annotations_text_narrow(&text, name);
    kept = annotations_keep(&text);
    counter = find(domain, kept);
    if (counter)
        return counter;
    annotations_lock();
    counter = find(domain, kept);
    if (!counter && counter_count < COUNTERS) {
        counter = &counters[counter_count];
        counter->domain = domain;
        counter->name = kept;
        counter->type = type;
        counter->location = annotations_location(domain, IFG_LOCATION_COUNTER, kept, SIZE_MAX, 0);
        __atomic_store_n(&counter_count, counter_count + 1, __ATOMIC_RELEASE);
    }
    annotations_unlock();
    return counter;
}

static void show(const struct counter *counter, double value)
{
    if (itt_is_recording() && counter->domain->is_wanted)
        ifg_counter(counter->location, value);
}

static void add(struct counter *counter, int64_t amount)
{
    int saved_errno = errno;

    if (counter)
        show(counter, (double)__atomic_add_fetch(&counter->value, amount, __ATOMIC_RELAXED));
    errno = saved_errno;
}

static void set(struct counter *counter, const void *data)
{
    double value = 0;

    if (!counter || !data)
        return;
    switch (counter->type) {
    case ITT_S64:
        value = (double)*(const int64_t *)data;
        break;
    case ITT_U32:
        value = *(const uint32_t *)data;
        break;
    case ITT_S32:
        value = *(const int32_t *)data;
        break;
    case ITT_U16:
        value = *(const uint16_t *)data;
        break;
    case ITT_S16:
        value = *(const int16_t *)data;
        break;
    case ITT_FLOAT:
        value = (double)*(const float *)data;
        break;
    case ITT_DOUBLE:
        value = *(const double *)data;
        break;
    default: /* a counter without a type is one of these */
        value = (double)*(const uint64_t *)data;
    }
    if (counter->type != ITT_FLOAT && counter->type != ITT_DOUBLE)
        __atomic_store_n(&counter->value, (int64_t)value, __ATOMIC_RELAXED);
    show(counter, value);
}

/* ---- by a handle ---- */

static void *made(const struct annotations_domain *domain, const char *name, int type, void *theirs,
                  bool has_next)
{
    int saved_errno = errno;
    struct counter *counter = domain && name ? get(domain, name, type) : NULL;

    if (has_next && counter)
        annotations_remember(&next_counters, theirs, counter);
    errno = saved_errno;
    return has_next ? theirs : counter;
}

static const struct annotations_domain *called(const char *domain)
{
    return annotations_domain(ANNOTATIONS_ITT, domain && *domain ? domain : "ITT");
}

static void *create(const char *name, const char *domain)
{
    void *(*next)(const char *, const char *) = ITT_NEXT(next, itt_counter_functions, CREATE);

    return made(called(domain), name, ITT_U64, next ? next(name, domain) : NULL, next != NULL);
}

static void *create_typed(const char *name, const char *domain, int type)
{
    void *(*next)(const char *, const char *, int) =
        ITT_NEXT(next, itt_counter_functions, CREATE_TYPED);

    return made(called(domain), name, type, next ? next(name, domain, type) : NULL, next != NULL);
}

static void *create_v3(const struct itt_domain *domain, const char *name, int type)
{
    void *(*next)(const struct itt_domain *, const char *, int) =
        ITT_NEXT(next, itt_counter_functions, CREATE_V3);

    return made(domain ? called(domain->name) : NULL, name, type,
                next ? next(domain, name, type) : NULL, next != NULL);
}

static void inc(void *handle)
{
    void (*next)(void *) = ITT_NEXT(next, itt_counter_functions, INC);

    add(of_handle(handle), 1);
    if (next)
        next(handle);
}

static void inc_delta(void *handle, unsigned long long amount)
{
    void (*next)(void *, unsigned long long) = ITT_NEXT(next, itt_counter_functions, INC_DELTA);

    add(of_handle(handle), (int64_t)amount);
    if (next)
        next(handle, amount);
}

static void dec(void *handle)
{
    void (*next)(void *) = ITT_NEXT(next, itt_counter_functions, DEC);

    add(of_handle(handle), -1);
    if (next)
        next(handle);
}

static void dec_delta(void *handle, unsigned long long amount)
{
    void (*next)(void *, unsigned long long) = ITT_NEXT(next, itt_counter_functions, DEC_DELTA);

    add(of_handle(handle), -(int64_t)amount);
    if (next)
        next(handle, amount);
}

static void set_value(void *handle, void *value)
{
    void (*next)(void *, void *) = ITT_NEXT(next, itt_counter_functions, SET_VALUE);

    set(of_handle(handle), value);
    if (next)
        next(handle, value);
}

static void set_value_v3(void *handle, void *value)
{
    void (*next)(void *, void *) = ITT_NEXT(next, itt_counter_functions, SET_VALUE_V3);

    set(of_handle(handle), value);
    if (next)
        next(handle, value);
}

/* ---- by domain and name ---- */

static void add_named(const struct itt_domain *given, const struct itt_string *name, int64_t amount)
{
    const struct annotations_domain *domain = itt_domain(given);

    if (domain && name && name->text)
        add(get(domain, name->text, ITT_U64), amount);
}

static void inc_v3(const struct itt_domain *domain, struct itt_string *name)
{
    void (*next)(const struct itt_domain *, struct itt_string *) =
        ITT_NEXT(next, itt_counter_functions, INC_V3);

    add_named(domain, name, 1);
    if (next)
        next(domain, name);
}

static void inc_delta_v3(const struct itt_domain *domain, struct itt_string *name,
                         unsigned long long amount)
{
    void (*next)(const struct itt_domain *, struct itt_string *, unsigned long long) =
        ITT_NEXT(next, itt_counter_functions, INC_DELTA_V3);

    add_named(domain, name, (int64_t)amount);
    if (next)
        next(domain, name, amount);
}

static void dec_v3(const struct itt_domain *domain, struct itt_string *name)
{
    void (*next)(const struct itt_domain *, struct itt_string *) =
        ITT_NEXT(next, itt_counter_functions, DEC_V3);

    add_named(domain, name, -1);
    if (next)
        next(domain, name);
}

static void dec_delta_v3(const struct itt_domain *domain, struct itt_string *name,
                         unsigned long long amount)
{
    void (*next)(const struct itt_domain *, struct itt_string *, unsigned long long) =
        ITT_NEXT(next, itt_counter_functions, DEC_DELTA_V3);

    add_named(domain, name, -(int64_t)amount);
    if (next)
        next(domain, name, amount);
}

struct itt_binding itt_counter_functions[] = {
    [CREATE] = ITT_BIND(counter_create, create),
    [CREATE_TYPED] = ITT_BIND(counter_create_typed, create_typed),
    [CREATE_V3] = ITT_BIND(counter_create_v3, create_v3),
    [INC] = ITT_BIND(counter_inc, inc),
    [INC_DELTA] = ITT_BIND(counter_inc_delta, inc_delta),
    [DEC] = ITT_BIND(counter_dec, dec),
    [DEC_DELTA] = ITT_BIND(counter_dec_delta, dec_delta),
    [SET_VALUE] = ITT_BIND(counter_set_value, set_value),
    [SET_VALUE_V3] = ITT_BIND(counter_set_value_v3, set_value_v3),
    [INC_V3] = ITT_BIND(counter_inc_v3, inc_v3),
    [INC_DELTA_V3] = ITT_BIND(counter_inc_delta_v3, inc_delta_v3),
    [DEC_V3] = ITT_BIND(counter_dec_v3, dec_v3),
    [DEC_DELTA_V3] = ITT_BIND(counter_dec_delta_v3, dec_delta_v3),
    { NULL, NULL, NULL },
};
