// SPDX-License-Identifier: Apache-2.0
/*
 * What takes time in ITT: tasks are zones; overlapped tasks, regions and frames are spans, because
 * they may end on another thread; markers are messages. The times are ours: a program that brings
 * its own clock (the _ex functions) is not asked for it.
 */
#include "hooks/itt/itt.h"

#include <dlfcn.h>
#include <stdio.h>

enum {
    TASK_BEGIN,
    TASK_BEGIN_FN,
    TASK_END,
    TASK_BEGIN_OVERLAPPED,
    TASK_END_OVERLAPPED,
    REGION_BEGIN,
    REGION_END,
    FRAME_BEGIN,
    FRAME_END,
    FRAME_SUBMIT,
    TIMESTAMP,
    MARKER,
    METADATA_ADD,
    METADATA_STR_ADD,
    EVENT_CREATE,
    EVENT_START,
    EVENT_END,
};

#define EVENTS 256

static char task_space; /* addresses that tell spans of one kind from those of others */
static char region_space;
static char frame_space;

/* ---- tasks ---- */

static __attribute__((noinline)) void begin(const struct itt_domain *given, const struct itt_id *id,
                                            const struct itt_string *name)
{
    const struct annotations_domain *domain = itt_domain(given);
    struct annotations_detail detail = { .id = itt_id_number(id) };
    struct annotations_text text;
    ifg_location *location = NULL;
    int saved_errno = errno;

    if (!domain)
        return;
    text.bytes = NULL; /* not asked for when the name is known already */
    if (itt_is_recording())
        location = itt_location(domain, IFG_LOCATION_ZONE, name, &text);
    annotations_range_begin(domain, location, text.bytes ? &text : NULL, &detail);
    errno = saved_errno;
}

static __attribute__((noinline)) void end(const struct itt_domain *given)
{
    const struct annotations_domain *domain = itt_domain(given);
    int saved_errno = errno;

    if (domain)
        annotations_range_end(domain);
    errno = saved_errno;
}

static void task_begin(const struct itt_domain *domain, struct itt_id id, struct itt_id parent,
                       struct itt_string *name)
{
    void (*next)(const struct itt_domain *, struct itt_id, struct itt_id, struct itt_string *) =
        ITT_NEXT(next, itt_task_functions, TASK_BEGIN);

    if (next)
        next(domain, id, parent, name);
    if (annotations_matter())
        begin(domain, &id, name);
}

static void task_begin_fn(const struct itt_domain *domain, struct itt_id id, struct itt_id parent,
                          void *function)
{
    void (*next)(const struct itt_domain *, struct itt_id, struct itt_id, void *) =
        ITT_NEXT(next, itt_task_functions, TASK_BEGIN_FN);
    struct itt_string name = { .text = NULL };
    char address[24];
    Dl_info info;

    if (next)
        next(domain, id, parent, function);
    if (!annotations_matter())
        return;
    snprintf(address, sizeof address, "%p", function);
    name.text = dladdr(function, &info) && info.dli_sname && info.dli_saddr == function
                    ? info.dli_sname
                    : address;
    begin(domain, &id, &name);
}

static void task_end(const struct itt_domain *domain)
{
    void (*next)(const struct itt_domain *) = ITT_NEXT(next, itt_task_functions, TASK_END);

    if (annotations_matter())
        end(domain);
    if (next)
        next(domain);
}

/* ---- spans ---- */

static struct annotations_key key_of(const void *space, const struct itt_id *id)
{
    return (struct annotations_key){ { id->words[0], id->words[1], id->words[2] }, space };
}

static void span_begin(const struct itt_domain *given, const void *space, const struct itt_id *id,
                       const struct itt_string *name)
{
    const struct annotations_domain *domain;
    struct annotations_text text;
    struct annotations_key key = key_of(space, id);
    int saved_errno = errno;

    if (!itt_is_recording())
        return;
    domain = itt_domain(given);
    if (domain)
        annotations_span_begin(&key, itt_location(domain, IFG_LOCATION_ASYNC, name, &text));
    errno = saved_errno;
}

static void span_end(const void *space, const struct itt_id *id)
{
    struct annotations_key key = key_of(space, id);
    int saved_errno = errno;

    annotations_span_end(&key);
    errno = saved_errno;
}

static void overlapped_begin(const struct itt_domain *domain, struct itt_id id,
                             struct itt_id parent, struct itt_string *name)
{
    void (*next)(const struct itt_domain *, struct itt_id, struct itt_id, struct itt_string *) =
        ITT_NEXT(next, itt_task_functions, TASK_BEGIN_OVERLAPPED);

    if (next)
        next(domain, id, parent, name);
    span_begin(domain, &task_space, &id, name);
}

static void overlapped_end(const struct itt_domain *domain, struct itt_id id)
{
    void (*next)(const struct itt_domain *, struct itt_id) =
        ITT_NEXT(next, itt_task_functions, TASK_END_OVERLAPPED);

    span_end(&task_space, &id);
    if (next)
        next(domain, id);
}

static void region_begin(const struct itt_domain *domain, struct itt_id id, struct itt_id parent,
                         struct itt_string *name)
{
    void (*next)(const struct itt_domain *, struct itt_id, struct itt_id, struct itt_string *) =
        ITT_NEXT(next, itt_task_functions, REGION_BEGIN);

    if (next)
        next(domain, id, parent, name);
    span_begin(domain, &region_space, &id, name);
}

static void region_end(const struct itt_domain *domain, struct itt_id id)
{
    void (*next)(const struct itt_domain *, struct itt_id) =
        ITT_NEXT(next, itt_task_functions, REGION_END);

    span_end(&region_space, &id);
    if (next)
        next(domain, id);
}

/* ---- frames ---- */

/* A frame has no name but that of its domain; without an id there is one at a time. */
static struct annotations_key frame_key(const struct itt_domain *domain, const struct itt_id *id)
{
    static const struct itt_id none;
    struct annotations_key key = key_of(&frame_space, id ? id : &none);

    key.words[2] ^= (uintptr_t)domain;
    return key;
}

static ifg_location *frame_location(const struct annotations_domain *domain, uint32_t kind)
{
    return annotations_location(domain, kind, domain->name, SIZE_MAX, 0);
}

static void frame_begin(const struct itt_domain *given, struct itt_id *id)
{
    void (*next)(const struct itt_domain *, struct itt_id *) =
        ITT_NEXT(next, itt_task_functions, FRAME_BEGIN);
    const struct annotations_domain *domain;
    struct annotations_key key;
    int saved_errno = errno;

    if (next)
        next(given, id);
    if (!itt_is_recording())
        return;
    domain = itt_domain(given);
    key = frame_key(given, id);
    if (domain)
        annotations_span_begin(&key, frame_location(domain, IFG_LOCATION_ASYNC));
    errno = saved_errno;
}

static void frame_end(const struct itt_domain *given, struct itt_id *id)
{
    void (*next)(const struct itt_domain *, struct itt_id *) =
        ITT_NEXT(next, itt_task_functions, FRAME_END);
    struct annotations_key key = frame_key(given, id);
    const struct annotations_domain *domain;
    int saved_errno = errno;

    if (annotations_span_end(&key) && (domain = itt_domain(given)))
        ifg_frame(frame_location(domain, IFG_LOCATION_FRAME));
    errno = saved_errno;
    if (next)
        next(given, id);
}

/* The times are what timestamp() gave, or the next collector's, which we cannot read. */
static void frame_submit(const struct itt_domain *given, struct itt_id *id,
                         unsigned long long start, unsigned long long stop)
{
    void (*next)(const struct itt_domain *, struct itt_id *, unsigned long long,
                 unsigned long long) = ITT_NEXT(next, itt_task_functions, FRAME_SUBMIT);
    bool is_our_clock = !ITT_HAS_NEXT(itt_task_functions, TIMESTAMP);
    const struct annotations_domain *domain;
    int saved_errno = errno;

    if (next)
        next(given, id, start, stop);
    if (!itt_is_recording() || !is_our_clock || start > stop)
        return;
    domain = itt_domain(given);
    if (domain)
        annotations_span(frame_location(domain, IFG_LOCATION_ASYNC), start, stop);
    errno = saved_errno;
}

static unsigned long long timestamp(void)
{
    unsigned long long (*next)(void) = ITT_NEXT(next, itt_task_functions, TIMESTAMP);

    return next ? next() : ifg_ticks();
}

/* ---- markers and facts ---- */

static void marker(const struct itt_domain *given, struct itt_id id, struct itt_string *name,
                   int scope)
{
    void (*next)(const struct itt_domain *, struct itt_id, struct itt_string *, int) =
        ITT_NEXT(next, itt_task_functions, MARKER);
    const struct annotations_domain *domain;
    char line[ANNOTATIONS_TEXT_MAX];
    int saved_errno = errno;

    if (next)
        next(given, id, name, scope);
    if (!itt_is_recording() || !(domain = itt_domain(given)))
        return;
    snprintf(line, sizeof line, "%s: %.850s", domain->name,
             name && name->text ? name->text : "(no name)");
    ifg_message(IFG_LEVEL_INFO, line, SIZE_MAX);
    errno = saved_errno;
}

static bool read_number(int type, const void *data, struct annotations_detail *out)
{
    out->value_kind = ANNOTATIONS_INTEGER;
    switch (type) {
    case ITT_U64:
        out->value_kind = ANNOTATIONS_UNSIGNED;
        out->value.natural = *(const uint64_t *)data;
        return true;
    case ITT_S64:
        out->value.integer = *(const int64_t *)data;
        return true;
    case ITT_U32:
        out->value.integer = *(const uint32_t *)data;
        return true;
    case ITT_S32:
        out->value.integer = *(const int32_t *)data;
        return true;
    case ITT_U16:
        out->value.integer = *(const uint16_t *)data;
        return true;
    case ITT_S16:
        out->value.integer = *(const int16_t *)data;
        return true;
    case ITT_FLOAT:
        out->value_kind = ANNOTATIONS_FLOAT;
        out->value.real = (double)*(const float *)data;
        return true;
    case ITT_DOUBLE:
        out->value_kind = ANNOTATIONS_FLOAT;
        out->value.real = *(const double *)data;
        return true;
    default:
        return false;
    }
}

/* The task on this thread that is meant: by its id, or the innermost one. */
static ifg_zone task_of(const struct itt_domain *given, const struct itt_id *id)
{
    const struct annotations_domain *domain = itt_is_recording() ? itt_domain(given) : NULL;
    ifg_zone none = { 0, 0, 0 };

    return domain ? annotations_range_find(domain, itt_id_number(id)) : none;
}

static void metadata_add(const struct itt_domain *domain, struct itt_id id, struct itt_string *key,
                         int type, size_t count, void *data)
{
    void (*next)(const struct itt_domain *, struct itt_id, struct itt_string *, int, size_t,
                 void *) = ITT_NEXT(next, itt_task_functions, METADATA_ADD);
    struct annotations_detail detail = { .id = 0 };
    ifg_zone zone;
    int saved_errno = errno;

    if (next)
        next(domain, id, key, type, count, data);
    if (!annotations_matter() || !key || !key->text || !data || !count)
        return;
    zone = task_of(domain, &id);
    if (zone.depth && read_number(type, data, &detail)) /* of several, the first */
        annotations_tell(zone, key->text, &detail);
    errno = saved_errno;
}

static void metadata_str_add(const struct itt_domain *domain, struct itt_id id,
                             struct itt_string *key, const char *data, size_t length)
{
    void (*next)(const struct itt_domain *, struct itt_id, struct itt_string *, const char *,
                 size_t) = ITT_NEXT(next, itt_task_functions, METADATA_STR_ADD);
    char text[ANNOTATIONS_TEXT_MAX];
    ifg_zone zone;
    int saved_errno = errno;

    if (next)
        next(domain, id, key, data, length);
    if (!annotations_matter() || !key || !key->text || !data)
        return;
    zone = task_of(domain, &id);
    if (zone.depth) { /* a length of 0: it ends with a 0 */
        snprintf(text, sizeof text, "%.*s",
                 length && length < sizeof text ? (int)length : (int)sizeof text - 1, data);
        ifg_zone_detail_string(zone, key->text, text);
    }
    errno = saved_errno;
}

/* ---- events: tasks without a domain ---- */

struct event {
    struct annotations_domain *domain; /* one each, in which it nests with itself alone */
    struct itt_string name;
    int theirs; /* what the next collector calls it */
};

static struct event events[EVENTS];
static int event_count;

/* Ours for a number that a program has; NULL: none. */
static struct event *event_of(int number)
{
    int count = __atomic_load_n(&event_count, __ATOMIC_ACQUIRE);

    if (!ITT_HAS_NEXT(itt_task_functions, EVENT_CREATE))
        return number >= 1 && number <= count ? &events[number - 1] : NULL;
    for (int i = 0; i < count; i++)
        if (events[i].theirs == number)
            return &events[i];
    return NULL;
}

static int event_create(const char *name, int length)
{
    int (*next)(const char *, int) = ITT_NEXT(next, itt_task_functions, EVENT_CREATE);
    int number = next ? next(name, length) : 0;
    struct annotations_domain *domain;
    struct annotations_text text;
    const char *kept;
    int saved_errno = errno;
    int at = 0;

    annotations_text_narrow(&text, name);
    if (length >= 0 && (size_t)length < text.length)
        text.length = (size_t)length;
    kept = annotations_keep(&text);
    domain = annotations_domain(ANNOTATIONS_ITT, kept);
    annotations_lock();
    while (at < event_count && events[at].name.text != kept)
        at++;
    if (at < EVENTS) {
        events[at].domain = domain;
        events[at].name.text = kept;
        events[at].theirs = number;
        if (at == event_count)
            __atomic_store_n(&event_count, at + 1, __ATOMIC_RELEASE);
    }
    annotations_unlock();
    errno = saved_errno;
    return next ? number : at < EVENTS ? at + 1 : 0;
}

static int event_start(int number)
{
    int (*next)(int) = ITT_NEXT(next, itt_task_functions, EVENT_START);
    int result = next ? next(number) : 0;
    struct annotations_text text;
    ifg_location *location = NULL;
    struct event *event;
    int saved_errno = errno;

    if (!annotations_matter() || !(event = event_of(number)) || !event->domain->is_wanted)
        return result;
    text.bytes = NULL;
    if (itt_is_recording())
        location = itt_location(event->domain, IFG_LOCATION_ZONE, &event->name, &text);
    annotations_range_begin(event->domain, location, text.bytes ? &text : NULL, NULL);
    errno = saved_errno;
    return result;
}

static int event_end(int number)
{
    int (*next)(int) = ITT_NEXT(next, itt_task_functions, EVENT_END);
    struct event *event;
    int saved_errno = errno;

    if (annotations_matter() && (event = event_of(number)) && event->domain->is_wanted)
        annotations_range_end(event->domain);
    errno = saved_errno;
    return next ? next(number) : 0;
}

struct itt_binding itt_task_functions[] = {
    [TASK_BEGIN] = ITT_BIND(task_begin, task_begin),
    [TASK_BEGIN_FN] = ITT_BIND(task_begin_fn, task_begin_fn),
    [TASK_END] = ITT_BIND(task_end, task_end),
    [TASK_BEGIN_OVERLAPPED] = ITT_BIND(task_begin_overlapped, overlapped_begin),
    [TASK_END_OVERLAPPED] = ITT_BIND(task_end_overlapped, overlapped_end),
    [REGION_BEGIN] = ITT_BIND(region_begin, region_begin),
    [REGION_END] = ITT_BIND(region_end, region_end),
    [FRAME_BEGIN] = ITT_BIND(frame_begin_v3, frame_begin),
    [FRAME_END] = ITT_BIND(frame_end_v3, frame_end),
    [FRAME_SUBMIT] = ITT_BIND(frame_submit_v3, frame_submit),
    [TIMESTAMP] = ITT_BIND(get_timestamp, timestamp),
    [MARKER] = ITT_BIND(marker, marker),
    [METADATA_ADD] = ITT_BIND(metadata_add, metadata_add),
    [METADATA_STR_ADD] = ITT_BIND(metadata_str_add, metadata_str_add),
    [EVENT_CREATE] = ITT_BIND(event_create, event_create),
    [EVENT_START] = ITT_BIND(event_start, event_start),
    [EVENT_END] = ITT_BIND(event_end, event_end),
    { NULL, NULL, NULL },
};
