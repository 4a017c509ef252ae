// SPDX-License-Identifier: Apache-2.0
/*
 * Inferences for profiling handles, whether or not somebody records.
 *
 * Plain zones know nothing of it. The begin of an event or a stage marks its zone with
 * CLIENT_TAPPED; a marked depth does not fit the ring's, so the quick end of a zone takes its
 * checked way, and that one looks for the mark.
 */
#include "client/event_tap.h"

#include <stdlib.h>
#include <string.h>

#include "client/client_internal.h"

/* Events and stages that are open on a thread. */
#define OPEN_MAX 16u

/* ifg_event_async_begin() without its end yet; more at a time are not seen. */
#define ASYNC_MAX 1024u

#define CHUNK  1024u
#define CHUNKS 1024u /* a million locations: more than the definition log has room for */

ifg_tap_function *client_tap;

struct open_zone {
    uint64_t start;
    uint64_t request; /* a stage's */
    ifg_model *model; /* an inference's */
    uint32_t location;
    uint32_t running;
};

static __thread struct {
    struct open_zone open[OPEN_MAX];
    uint32_t depth;
    ifg_model *setup_model; /* setups since the last inference */
    uint64_t setup_start;
    uint64_t setup;
} mine __attribute__((tls_model("initial-exec")));

/* A slot is free (location 0), taken by one thread (SPAN_BUSY) or open. No lock: these calls may
 * come from signal handlers. */
#define SPAN_BUSY UINT32_MAX

struct open_span {
    uint64_t id;
    uint64_t start;
    uint32_t location;
    uint32_t running;
};

static struct open_span spans[ASYNC_MAX];

/* By number: the model of an event's location, its category in the low bits. */
static uintptr_t *chunks[CHUNKS];

void client_tap_location(uint32_t location, ifg_model *model, enum ifg_category category)
{
    uintptr_t **chunk = &chunks[location / CHUNK % CHUNKS];
    uintptr_t *entries = __atomic_load_n(chunk, __ATOMIC_ACQUIRE);

    if (location / CHUNK >= CHUNKS)
        return;
    if (!entries) {
        uintptr_t *expected = NULL;

        entries = calloc(CHUNK, sizeof *entries);
        if (!entries)
            return;
        if (!__atomic_compare_exchange_n(chunk, &expected, entries, false, __ATOMIC_ACQ_REL,
                                         __ATOMIC_ACQUIRE)) {
            free(entries);
            entries = expected;
        }
    }
    __atomic_store_n(&entries[location % CHUNK], (uintptr_t)model | category, __ATOMIC_RELEASE);
}

static ifg_model *model_of(uint32_t location, enum ifg_category *out_category)
{
    uintptr_t *entries = location / CHUNK < CHUNKS
                             ? __atomic_load_n(&chunks[location / CHUNK], __ATOMIC_ACQUIRE)
                             : NULL;
    uintptr_t entry = entries ? __atomic_load_n(&entries[location % CHUNK], __ATOMIC_ACQUIRE) : 0;

    *out_category = (enum ifg_category)(entry & 7);
    return (ifg_model *)(entry & ~(uintptr_t)7);
}

static void tell(const struct ifg_tap_event *event)
{
    ifg_tap_function *tap = __atomic_load_n(&client_tap, __ATOMIC_ACQUIRE);

    if (tap)
        tap(event);
}

void client_tap_model(ifg_model *model, enum ifg_tap_kind kind)
{
    tell(&(struct ifg_tap_event){ .model = model, .kind = kind });
}

/* Sixteen that never ended (a longjmp, a thread that gave up) must not blind this thread. */
static void forget_open(void)
{
    while (mine.depth > 0) {
        const struct open_zone *open = &mine.open[--mine.depth];

        if (open->model)
            client_model_ends(open->model);
    }
}

static ifg_zone open_zone(ifg_zone zone, ifg_model *model, uint64_t request)
{
    struct open_zone *open;

    if (mine.depth >= OPEN_MAX)
        forget_open();
    if (!zone.start)
        zone.start = client_now();
    open = &mine.open[mine.depth++];
    *open = (struct open_zone){ zone.start, request, model, zone.location,
                                model ? client_model_begins(model) : 0 };
    zone.depth |= CLIENT_TAPPED;
    return zone;
}

ifg_zone client_tap_begin(ifg_zone zone)
{
    enum ifg_category category;
    ifg_model *model = model_of(zone.location, &category);

    return model && category == IFG_INFERENCE ? open_zone(zone, model, 0)
           : model && category == IFG_SETUP   ? open_zone(zone, NULL, 0)
                                              : zone;
}

ifg_zone client_tap_stage(ifg_zone zone, uint64_t request)
{
    return open_zone(zone, NULL, request);
}

static const struct open_zone *innermost_stage(void)
{
    static const struct open_zone none;

    for (uint32_t i = mine.depth; i-- > 0;)
        if (mine.open[i].request)
            return &mine.open[i];
    return &none;
}

static void tell_inference(ifg_model *model, uint64_t start, uint64_t end, uint32_t running)
{
    const struct open_zone *stage = innermost_stage();
    struct ifg_tap_event event = {
        .model = model,
        .start = start,
        .end = end,
        .request = stage->request,
        .stage_start = stage->start,
        .kind = IFG_TAP_INFERENCE,
        .running = running,
        .thread = client_thread_id(),
    };

    if (mine.setup_model == model) {
        event.setup_start = mine.setup_start;
        event.setup = mine.setup;
    }
    mine.setup_model = NULL;
    tell(&event);
}

static void add_setup(ifg_model *model, uint64_t start, uint64_t end)
{
    if (mine.setup_model != model) {
        mine.setup_model = model;
        mine.setup_start = start;
        mine.setup = 0;
    }
    mine.setup += end - start;
}

void client_tap_end(ifg_zone zone, uint64_t end)
{
    struct open_zone open = { 0 };
    enum ifg_category category;
    uint32_t depth = mine.depth;
    ifg_model *model;

    while (depth > 0) {
        open = mine.open[--depth];
        if (open.start == zone.start && open.location == zone.location)
            break;
        if (open.model) /* it was never ended */
            client_model_ends(open.model);
        open.location = 0;
    }
    mine.depth = depth;
    if (open.location != zone.location)
        return;
    if (open.request) {
        tell(&(struct ifg_tap_event){ .start = zone.start,
                                      .end = end,
                                      .request = open.request,
                                      .kind = IFG_TAP_STAGE,
                                      .thread = client_thread_id() });
    } else if (open.model) {
        client_model_ends(open.model);
        tell_inference(open.model, zone.start, end, open.running);
    } else if ((model = model_of(zone.location, &category))) {
        add_setup(model, zone.start, end);
    }
}

void client_tap_span(uint32_t location, uint64_t start, uint64_t end)
{
    enum ifg_category category;
    ifg_model *model = model_of(location, &category);

    if (model && category == IFG_INFERENCE)
        tell_inference(model, start, end, client_model_running(model) + 1);
    else if (model && category == IFG_SETUP)
        add_setup(model, start, end);
}

/* ---- spans that end on another thread ---- */

static bool span_claim(struct open_span *span, uint32_t expected)
{
    return __atomic_compare_exchange_n(&span->location, &expected, SPAN_BUSY, false,
                                       __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

void client_tap_async_begin(uint32_t location, uint64_t id)
{
    enum ifg_category category;
    ifg_model *model = model_of(location, &category);

    if (!model || category != IFG_INFERENCE)
        return;
    for (size_t i = 0; i < ASYNC_MAX; i++) {
        struct open_span *span = &spans[i];

        if (__atomic_load_n(&span->location, __ATOMIC_RELAXED) || !span_claim(span, 0))
            continue;
        __atomic_store_n(&span->id, id, __ATOMIC_RELAXED);
        span->start = client_now();
        span->running = client_model_begins(model);
        __atomic_store_n(&span->location, location, __ATOMIC_RELEASE);
        return;
    }
}

void client_tap_async_end(uint32_t location, uint64_t id)
{
    enum ifg_category category;
    ifg_model *model = model_of(location, &category);

    for (size_t i = 0; i < ASYNC_MAX && model; i++) {
        struct open_span *span = &spans[i];
        struct open_span ended;

        if (__atomic_load_n(&span->location, __ATOMIC_RELAXED) != location ||
            __atomic_load_n(&span->id, __ATOMIC_RELAXED) != id || !span_claim(span, location))
            continue;
        ended = *span;
        /* Another thread may have freed it and begun the next one here since its id was read. */
        __atomic_store_n(&span->location, ended.id == id ? 0 : location, __ATOMIC_RELEASE);
        if (ended.id != id)
            continue;
        client_model_ends(model);
        tell_inference(model, ended.start, client_now(), ended.running);
        return;
    }
}

/* ---- for the other library ---- */

void ifg_tap_set(ifg_tap_function *tap)
{
    __atomic_store_n(&client_tap, tap, __ATOMIC_RELEASE);
    client_event_word_choose();
}

int ifg_tap_may_call(void)
{
    return client_may_call();
}

void client_tap_forked(void)
{
    memset(&mine, 0, sizeof mine);
    memset(spans, 0, sizeof spans);
}
