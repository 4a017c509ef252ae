// SPDX-License-Identifier: Apache-2.0
/*
 * The functions of NVTX: push and pop are zones, start and end are spans, marks are messages.
 *
 * Each calls the next injection with the same arguments, whether anybody records or not, and gives
 * the program what that returns: handles of domains and strings and numbers of ranges are then the
 * next one's, and `domains` and `strings` know ours by them. Without one, a program gets what it
 * would get without a tool, except for handles.
 */
#include "hooks/nvtx/nvtx.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "hooks/ort/map.h"

#define DEFAULT_DOMAIN "NVTX"
#define STRINGS        8192u

/* A string that a program has registered: its handle is where it lies here. */
struct registered {
    const struct annotations_domain *domain;
    const char *text;
    ifg_location *zone; /* its location as a range, once it was one */
};

static struct registered strings[STRINGS];
static unsigned string_count;

static struct ort_map next_domains = ORT_MAP_INIT;
static struct ort_map next_strings = ORT_MAP_INIT;
static char range_space; /* its address tells our spans from others */

/* The next one's function of this table and number, or NULL. */
#define NEXT(variable, table, number)                                                              \
    ((__typeof__(variable))__atomic_load_n(&nvtx_next_##table[number], __ATOMIC_ACQUIRE))

static struct annotations_domain *default_domain(void)
{
    static struct annotations_domain *domain;
    struct annotations_domain *found = __atomic_load_n(&domain, __ATOMIC_ACQUIRE);

    if (!found) {
        found = annotations_domain(ANNOTATIONS_NVTX, DEFAULT_DOMAIN);
        __atomic_store_n(&domain, found, __ATOMIC_RELEASE);
    }
    return found;
}

/* NULL: not one that we know, and not recorded. */
static const struct annotations_domain *domain_of(const void *handle)
{
    if (!handle)
        return default_domain();
    return annotations_is_domain(handle) ? handle : ort_map_find(&next_domains, handle);
}

static struct registered *string_of(const void *handle)
{
    const struct registered *string = handle;

    if (string >= strings && string < strings + STRINGS &&
        (size_t)((const char *)handle - (const char *)strings) % sizeof *strings == 0)
        return (struct registered *)handle;
    return ort_map_find(&next_strings, handle);
}

/* ---- what comes with an event ---- */

struct message {
    struct annotations_text text;
    struct annotations_detail detail;
    struct registered *registered;
};

static void read_payload(const struct nvtx_event *event, struct annotations_detail *detail)
{
    detail->value_kind = ANNOTATIONS_INTEGER;
    switch (event->payload_type) {
    case NVTX_PAYLOAD_U64:
        detail->value_kind = ANNOTATIONS_UNSIGNED;
        detail->value.natural = event->payload.u64;
        break;
    case NVTX_PAYLOAD_I64:
        detail->value.integer = event->payload.i64;
        break;
    case NVTX_PAYLOAD_U32:
        detail->value.integer = event->payload.u32;
        break;
    case NVTX_PAYLOAD_I32:
        detail->value.integer = event->payload.i32;
        break;
    case NVTX_PAYLOAD_F64:
        detail->value_kind = ANNOTATIONS_FLOAT;
        detail->value.real = event->payload.f64;
        break;
    case NVTX_PAYLOAD_F32:
        detail->value_kind = ANNOTATIONS_FLOAT;
        detail->value.real = (double)event->payload.f32;
        break;
    default:
        detail->value_kind = ANNOTATIONS_NO_VALUE;
    }
}

static void read_event(const struct nvtx_event *event, struct message *out)
{
    out->registered = NULL;
    memset(&out->detail, 0, sizeof out->detail);
    annotations_text_narrow(&out->text, NULL);
    if (!event || event->size < sizeof *event)
        return; /* smaller than version 1, the first there is */
    if (event->color_type == NVTX_COLOR_ARGB && event->color)
        out->detail.rgb = 0x1000000u | (event->color & 0xffffffu);
    out->detail.category = event->category;
    read_payload(event, &out->detail);
    if (event->message_type == NVTX_MESSAGE_ASCII)
        annotations_text_narrow(&out->text, event->message.ascii);
    else if (event->message_type == NVTX_MESSAGE_WIDE)
        annotations_text_wide(&out->text, event->message.wide);
    else if (event->message_type == NVTX_MESSAGE_REGISTERED) {
        out->registered = string_of(event->message.registered);
        annotations_text_narrow(&out->text, out->registered ? out->registered->text : NULL);
    }
}

static ifg_location *location_of(const struct annotations_domain *domain, uint32_t kind,
                                 struct message *message)
{
    struct registered *string = message->registered;
    ifg_location *location;

    if (kind == IFG_LOCATION_ZONE && string && string->domain == domain) {
        location = __atomic_load_n(&string->zone, __ATOMIC_ACQUIRE);
        if (location)
            return location;
    }
    if (!message->text.length)
        annotations_text_narrow(&message->text, "(no message)");
    location = annotations_location(domain, kind, message->text.bytes, message->text.length,
                                    message->detail.rgb);
    if (kind == IFG_LOCATION_ZONE && string && string->domain == domain)
        __atomic_store_n(&string->zone, location, __ATOMIC_RELEASE);
    return location;
}

/* ---- marks ---- */

static void mark(const struct annotations_domain *domain, const struct message *message)
{
    const struct annotations_detail *detail = &message->detail;
    const char *category = detail->category ? annotations_category(domain, detail->category) : NULL;
    char line[ANNOTATIONS_TEXT_MAX + 256];
    char value[48] = "";
    bool is_default = domain == default_domain();
    int length;

    if (detail->value_kind == ANNOTATIONS_UNSIGNED)
        snprintf(value, sizeof value, " (%llu)", (unsigned long long)detail->value.natural);
    else if (detail->value_kind == ANNOTATIONS_INTEGER)
        snprintf(value, sizeof value, " (%lld)", (long long)detail->value.integer);
    else if (detail->value_kind == ANNOTATIONS_FLOAT)
        snprintf(value, sizeof value, " (%g)", detail->value.real);
    length = snprintf(line, sizeof line, "%s%s%s%s%.*s%s", is_default ? "" : domain->name,
                      is_default ? "" : ": ", category ? category : "", category ? ": " : "",
                      (int)message->text.length, message->text.bytes, value);
    if (length > 0)
        ifg_message(IFG_LEVEL_INFO, line, SIZE_MAX);
}

static void mark_event(const void *handle, const struct nvtx_event *event)
{
    const struct annotations_domain *domain;
    struct message message;
    int saved_errno = errno;

    if (!ifg_is_recording())
        return;
    domain = domain_of(handle);
    if (!domain || !domain->is_wanted)
        return;
    read_event(event, &message);
    mark(domain, &message);
    errno = saved_errno;
}

static struct nvtx_event event_a(const char *text)
{
    struct nvtx_event event = { .size = sizeof event, .message_type = NVTX_MESSAGE_ASCII };

    event.message.ascii = text;
    return event;
}

static struct nvtx_event event_w(const wchar_t *text)
{
    struct nvtx_event event = { .size = sizeof event, .message_type = NVTX_MESSAGE_WIDE };

    event.message.wide = text;
    return event;
}

static void mark_ex(const struct nvtx_event *event)
{
    void (*next)(const struct nvtx_event *) = NEXT(next, core, NVTX_MARK_EX);

    if (next)
        next(event);
    mark_event(NULL, event);
}

static void mark_a(const char *text)
{
    void (*next)(const char *) = NEXT(next, core, NVTX_MARK_A);
    struct nvtx_event event = event_a(text);

    if (next)
        next(text);
    mark_event(NULL, &event);
}

static void mark_w(const wchar_t *text)
{
    void (*next)(const wchar_t *) = NEXT(next, core, NVTX_MARK_W);
    struct nvtx_event event = event_w(text);

    if (next)
        next(text);
    mark_event(NULL, &event);
}

static void domain_mark_ex(const void *domain, const struct nvtx_event *event)
{
    void (*next)(const void *, const struct nvtx_event *) = NEXT(next, core2, NVTX_DOMAIN_MARK_EX);

    if (next)
        next(domain, event);
    mark_event(domain, event);
}

/* ---- push and pop ---- */

static __attribute__((noinline)) void push(const void *handle, const struct nvtx_event *event)
{
    const struct annotations_domain *domain = domain_of(handle);
    struct message message;
    ifg_location *location = NULL;
    int saved_errno = errno;

    if (!domain || !domain->is_wanted)
        return;
    if (ifg_is_recording()) {
        read_event(event, &message);
        location = location_of(domain, IFG_LOCATION_ZONE, &message);
    }
    annotations_range_begin(domain, location, location ? &message.text : NULL,
                            location ? &message.detail : NULL);
    errno = saved_errno;
}

static __attribute__((noinline)) void pop(const void *handle)
{
    const struct annotations_domain *domain = domain_of(handle);
    int saved_errno = errno;

    if (domain && domain->is_wanted)
        annotations_range_end(domain);
    errno = saved_errno;
}

static int push_ex(const struct nvtx_event *event)
{
    int (*next)(const struct nvtx_event *) = NEXT(next, core, NVTX_RANGE_PUSH_EX);
    int level = next ? next(event) : NVTX_NO_PUSH_POP_TRACKING;

    if (annotations_matter())
        push(NULL, event);
    return level;
}

static int push_a(const char *text)
{
    int (*next)(const char *) = NEXT(next, core, NVTX_RANGE_PUSH_A);
    int level = next ? next(text) : NVTX_NO_PUSH_POP_TRACKING;

    if (annotations_matter()) {
        struct nvtx_event event = event_a(text);

        push(NULL, &event);
    }
    return level;
}

static int push_w(const wchar_t *text)
{
    int (*next)(const wchar_t *) = NEXT(next, core, NVTX_RANGE_PUSH_W);
    int level = next ? next(text) : NVTX_NO_PUSH_POP_TRACKING;

    if (annotations_matter()) {
        struct nvtx_event event = event_w(text);

        push(NULL, &event);
    }
    return level;
}

static int pop_default(void)
{
    int (*next)(void) = NEXT(next, core, NVTX_RANGE_POP);

    if (annotations_matter())
        pop(NULL);
    return next ? next() : NVTX_NO_PUSH_POP_TRACKING;
}

static int domain_push_ex(const void *domain, const struct nvtx_event *event)
{
    int (*next)(const void *, const struct nvtx_event *) =
        NEXT(next, core2, NVTX_DOMAIN_RANGE_PUSH_EX);
    int level = next ? next(domain, event) : NVTX_NO_PUSH_POP_TRACKING;

    if (annotations_matter())
        push(domain, event);
    return level;
}

static int domain_pop(const void *domain)
{
    int (*next)(const void *) = NEXT(next, core2, NVTX_DOMAIN_RANGE_POP);

    if (annotations_matter())
        pop(domain);
    return next ? next(domain) : NVTX_NO_PUSH_POP_TRACKING;
}

/* ---- start and end ---- */

/* id: 0, or what the next one calls it. Returns what the program gets. */
static uint64_t start(const void *handle, const struct nvtx_event *event, bool has_next,
                      uint64_t id)
{
    static uint64_t last;
    const struct annotations_domain *domain;
    struct message message;
    int saved_errno = errno;

    if (!ifg_is_recording())
        return id;
    domain = domain_of(handle);
    if (!domain || !domain->is_wanted)
        return id;
    if (!has_next)
        id = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
    read_event(event, &message);
    annotations_span_begin(&(struct annotations_key){ { id }, &range_space },
                           location_of(domain, IFG_LOCATION_ASYNC, &message));
    errno = saved_errno;
    return id;
}

static void end(uint64_t id)
{
    int saved_errno = errno;

    annotations_span_end(&(struct annotations_key){ { id }, &range_space });
    errno = saved_errno;
}

static uint64_t start_ex(const struct nvtx_event *event)
{
    uint64_t (*next)(const struct nvtx_event *) = NEXT(next, core, NVTX_RANGE_START_EX);

    return start(NULL, event, next != NULL, next ? next(event) : 0);
}

static uint64_t start_a(const char *text)
{
    uint64_t (*next)(const char *) = NEXT(next, core, NVTX_RANGE_START_A);
    struct nvtx_event event = event_a(text);

    return start(NULL, &event, next != NULL, next ? next(text) : 0);
}

static uint64_t start_w(const wchar_t *text)
{
    uint64_t (*next)(const wchar_t *) = NEXT(next, core, NVTX_RANGE_START_W);
    struct nvtx_event event = event_w(text);

    return start(NULL, &event, next != NULL, next ? next(text) : 0);
}

static void end_default(uint64_t id)
{
    void (*next)(uint64_t) = NEXT(next, core, NVTX_RANGE_END);

    end(id);
    if (next)
        next(id);
}

static uint64_t domain_start_ex(const void *domain, const struct nvtx_event *event)
{
    uint64_t (*next)(const void *, const struct nvtx_event *) =
        NEXT(next, core2, NVTX_DOMAIN_RANGE_START_EX);

    return start(domain, event, next != NULL, next ? next(domain, event) : 0);
}

static void domain_end(const void *domain, uint64_t id)
{
    void (*next)(const void *, uint64_t) = NEXT(next, core2, NVTX_DOMAIN_RANGE_END);

    end(id);
    if (next)
        next(domain, id);
}

/* ---- names ---- */

static void *create_domain(const struct annotations_text *name, void *theirs, bool has_next)
{
    struct annotations_domain *domain;
    int saved_errno = errno;
    char text[sizeof domain->name];

    snprintf(text, sizeof text, "%.*s", (int)name->length, name->bytes);
    domain = annotations_domain(ANNOTATIONS_NVTX, text);
    if (has_next)
        annotations_remember(&next_domains, theirs, domain);
    errno = saved_errno;
    return has_next ? theirs : domain;
}

static void *domain_create_a(const char *name)
{
    void *(*next)(const char *) = NEXT(next, core2, NVTX_DOMAIN_CREATE_A);
    struct annotations_text text;

    annotations_text_narrow(&text, name);
    return create_domain(&text, next ? next(name) : NULL, next != NULL);
}

static void *domain_create_w(const wchar_t *name)
{
    void *(*next)(const wchar_t *) = NEXT(next, core2, NVTX_DOMAIN_CREATE_W);
    struct annotations_text text;

    annotations_text_wide(&text, name);
    return create_domain(&text, next ? next(name) : NULL, next != NULL);
}

/* The same string is the same handle, so that a program that registers in a loop needs one. */
static struct registered *find_string(const struct annotations_domain *domain, const char *kept)
{
    unsigned count = __atomic_load_n(&string_count, __ATOMIC_ACQUIRE);

    for (unsigned i = count; i-- > 0;)
        if (strings[i].text == kept && strings[i].domain == domain)
            return &strings[i];
    return NULL;
}

static void *register_string(const void *handle, const struct annotations_text *text, void *theirs,
                             bool has_next)
{
    const struct annotations_domain *domain = domain_of(handle);
    struct registered *string;
    const char *kept;
    int saved_errno = errno;

    if (!domain)
        return theirs;
    kept = annotations_keep(text);
    string = find_string(domain, kept);
    if (!string) {
        annotations_lock();
        string = find_string(domain, kept);
        if (!string && string_count < STRINGS) {
            string = &strings[string_count];
            *string = (struct registered){ domain, kept, NULL };
            __atomic_store_n(&string_count, string_count + 1, __ATOMIC_RELEASE);
        }
        annotations_unlock();
    }
    if (has_next && string)
        annotations_remember(&next_strings, theirs, string);
    errno = saved_errno;
    return has_next ? theirs : string;
}

static void *register_string_a(const void *domain, const char *given)
{
    void *(*next)(const void *, const char *) = NEXT(next, core2, NVTX_DOMAIN_REGISTER_STRING_A);
    struct annotations_text text;

    annotations_text_narrow(&text, given);
    return register_string(domain, &text, next ? next(domain, given) : NULL, next != NULL);
}

static void *register_string_w(const void *domain, const wchar_t *given)
{
    void *(*next)(const void *, const wchar_t *) = NEXT(next, core2, NVTX_DOMAIN_REGISTER_STRING_W);
    struct annotations_text text;

    annotations_text_wide(&text, given);
    return register_string(domain, &text, next ? next(domain, given) : NULL, next != NULL);
}

static void name_category(const void *handle, uint32_t category,
                          const struct annotations_text *name)
{
    const struct annotations_domain *domain = domain_of(handle);
    int saved_errno = errno;

    if (domain)
        annotations_category_name(domain, category, name);
    errno = saved_errno;
}

static void name_category_a(uint32_t category, const char *name)
{
    void (*next)(uint32_t, const char *) = NEXT(next, core, NVTX_NAME_CATEGORY_A);
    struct annotations_text text;

    if (next)
        next(category, name);
    annotations_text_narrow(&text, name);
    name_category(NULL, category, &text);
}

static void name_category_w(uint32_t category, const wchar_t *name)
{
    void (*next)(uint32_t, const wchar_t *) = NEXT(next, core, NVTX_NAME_CATEGORY_W);
    struct annotations_text text;

    if (next)
        next(category, name);
    annotations_text_wide(&text, name);
    name_category(NULL, category, &text);
}

static void domain_name_category_a(const void *domain, uint32_t category, const char *name)
{
    void (*next)(const void *, uint32_t, const char *) =
        NEXT(next, core2, NVTX_DOMAIN_NAME_CATEGORY_A);
    struct annotations_text text;

    if (next)
        next(domain, category, name);
    annotations_text_narrow(&text, name);
    name_category(domain, category, &text);
}

static void domain_name_category_w(const void *domain, uint32_t category, const wchar_t *name)
{
    void (*next)(const void *, uint32_t, const wchar_t *) =
        NEXT(next, core2, NVTX_DOMAIN_NAME_CATEGORY_W);
    struct annotations_text text;

    if (next)
        next(domain, category, name);
    annotations_text_wide(&text, name);
    name_category(domain, category, &text);
}

static void name_thread_a(uint32_t thread, const char *name)
{
    void (*next)(uint32_t, const char *) = NEXT(next, core, NVTX_NAME_OS_THREAD_A);
    struct annotations_text text;

    if (next)
        next(thread, name);
    annotations_text_narrow(&text, name);
    annotations_thread_name(thread, &text);
}

static void name_thread_w(uint32_t thread, const wchar_t *name)
{
    void (*next)(uint32_t, const wchar_t *) = NEXT(next, core, NVTX_NAME_OS_THREAD_W);
    struct annotations_text text;

    if (next)
        next(thread, name);
    annotations_text_wide(&text, name);
    annotations_thread_name(thread, &text);
}

uint8_t nvtx_is_enabled(const void *handle)
{
    nvtx_is_enabled_function *next = __atomic_load_n(&nvtx_next_is_enabled, __ATOMIC_ACQUIRE);
    const struct annotations_domain *domain = domain_of(handle);
    uint8_t theirs = next ? next(handle) : 0;

    return theirs ? theirs : domain && domain->is_wanted;
}

#define OURS(function) ((nvtx_function *)(function))

nvtx_function *const nvtx_core_functions[NVTX_CORE_COUNT] = {
    [NVTX_MARK_EX] = OURS(mark_ex),
    [NVTX_MARK_A] = OURS(mark_a),
    [NVTX_MARK_W] = OURS(mark_w),
    [NVTX_RANGE_START_EX] = OURS(start_ex),
    [NVTX_RANGE_START_A] = OURS(start_a),
    [NVTX_RANGE_START_W] = OURS(start_w),
    [NVTX_RANGE_END] = OURS(end_default),
    [NVTX_RANGE_PUSH_EX] = OURS(push_ex),
    [NVTX_RANGE_PUSH_A] = OURS(push_a),
    [NVTX_RANGE_PUSH_W] = OURS(push_w),
    [NVTX_RANGE_POP] = OURS(pop_default),
    [NVTX_NAME_CATEGORY_A] = OURS(name_category_a),
    [NVTX_NAME_CATEGORY_W] = OURS(name_category_w),
    [NVTX_NAME_OS_THREAD_A] = OURS(name_thread_a),
    [NVTX_NAME_OS_THREAD_W] = OURS(name_thread_w),
};

nvtx_function *const nvtx_core2_functions[NVTX_CORE2_COUNT] = {
    [NVTX_DOMAIN_MARK_EX] = OURS(domain_mark_ex),
    [NVTX_DOMAIN_RANGE_START_EX] = OURS(domain_start_ex),
    [NVTX_DOMAIN_RANGE_END] = OURS(domain_end),
    [NVTX_DOMAIN_RANGE_PUSH_EX] = OURS(domain_push_ex),
    [NVTX_DOMAIN_RANGE_POP] = OURS(domain_pop),
    [NVTX_DOMAIN_NAME_CATEGORY_A] = OURS(domain_name_category_a),
    [NVTX_DOMAIN_NAME_CATEGORY_W] = OURS(domain_name_category_w),
    [NVTX_DOMAIN_REGISTER_STRING_A] = OURS(register_string_a),
    [NVTX_DOMAIN_REGISTER_STRING_W] = OURS(register_string_w),
    [NVTX_DOMAIN_CREATE_A] = OURS(domain_create_a),
    [NVTX_DOMAIN_CREATE_W] = OURS(domain_create_w),
};
