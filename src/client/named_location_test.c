// SPDX-License-Identifier: Apache-2.0
/* Locations by their texts: the same texts are the same location, memory is bounded; and fibers. */
#include "client/fake_recorder.h"

#include <pthread.h>
#include <stdio.h>

#include "tap.h"

static ifg_location_texts texts_of(uint32_t kind, const char *name, size_t length)
{
    return (ifg_location_texts){
        .struct_size = sizeof(ifg_location_texts), .name = name, .name_length = length, .kind = kind
    };
}

static ifg_location *named(uint32_t kind, const char *name, size_t length)
{
    ifg_location_texts texts = texts_of(kind, name, length);

    return ifg_location_named(&texts);
}

static void the_same_texts_are_the_same_location(void)
{
    ifg_location *queue = named(IFG_LOCATION_COUNTER, "queue", SIZE_MAX);
    ifg_location_texts place = texts_of(0, "dispatch", SIZE_MAX);
    ifg_location *here;

    CHECK_STR(queue->name, "queue");
    CHECK_STR(queue->function, "");
    CHECK_UINT(queue->kind, IFG_LOCATION_COUNTER);
    CHECK(named(IFG_LOCATION_COUNTER, "queue of jobs", 5) == queue);
    CHECK(named(IFG_LOCATION_COUNTER, "queue\0of jobs", 13) == queue);
    CHECK(named(IFG_LOCATION_COUNTER, "queu", SIZE_MAX) != queue);
    CHECK(named(IFG_LOCATION_POOL, "queue", SIZE_MAX) != queue);
    here = ifg_location_named(&place);
    CHECK_UINT(here->kind, IFG_LOCATION_ZONE);
    place.line = 7;
    CHECK(ifg_location_named(&place) != here);
    place.line = 0;
    place.file = "a.mlir";
    place.file_length = 6;
    CHECK(ifg_location_named(&place) != here);
    CHECK_STR(ifg_location_named(&place)->file, "a.mlir");
    place.file = NULL;
    CHECK(ifg_location_named(&place) == here);
    place.color = 0x1ff0000; /* is not part of what it is */
    CHECK(ifg_location_named(&place) == here);
    CHECK_UINT(here->color, 0);
    place.name = "colored";
    CHECK_UINT(ifg_location_named(&place)->color, 0x1ff0000);
}

static void nonsense_is_a_zone(void)
{
    ifg_location_texts older = texts_of(IFG_LOCATION_POOL, "pool", SIZE_MAX);
    char big[3000];

    older.struct_size = offsetof(ifg_location_texts, kind); /* of a program from before kinds */
    CHECK_UINT(ifg_location_named(&older)->kind, IFG_LOCATION_ZONE);
    CHECK_UINT(named(2, "an event without a model", SIZE_MAX)->kind, IFG_LOCATION_ZONE);
    CHECK_UINT(named(99, "no kind", SIZE_MAX)->kind, IFG_LOCATION_ZONE);
    CHECK_STR(ifg_location_named(NULL)->name, "");
    memset(big, 'x', sizeof big);
    CHECK_UINT(strlen(named(IFG_LOCATION_ZONE, big, sizeof big)->name), IFG_WIRE_STRING_MAX);
}

#define THREADS 4
#define NAMES   500

static void *find_all(void *out)
{
    ifg_location **found = out;
    char name[32];

    for (int i = 0; i < NAMES; i++) {
        snprintf(name, sizeof name, "name %d", i);
        found[i] = named(IFG_LOCATION_ZONE, name, SIZE_MAX);
    }
    return NULL;
}

static void threads_agree(void)
{
    static ifg_location *found[THREADS][NAMES];
    pthread_t threads[THREADS];
    unsigned different = 0;

    for (int t = 0; t < THREADS; t++)
        REQUIRE(pthread_create(&threads[t], NULL, find_all, found[t]) == 0);
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    for (int t = 1; t < THREADS; t++)
        for (int i = 0; i < NAMES; i++)
            different += found[t][i] != found[0][i];
    CHECK_UINT(different, 0);
    CHECK_STR(found[0][42]->name, "name 42");
}

static void too_many_names_share_a_location(void)
{
    ifg_location *first = named(IFG_LOCATION_ZONE, "first", SIZE_MAX);
    ifg_location *last = NULL;
    char name[200];

    for (int i = 0; i < 20000; i++) {
        snprintf(name, sizeof name, "%0150d", i);
        last = named(IFG_LOCATION_ZONE, name, SIZE_MAX);
    }
    CHECK_STR(last->name, "(more names than can be told apart)");
    CHECK(named(IFG_LOCATION_ZONE, "one more that is new and does not fit, because it is long",
                SIZE_MAX) == last);
    CHECK_UINT(last->kind, IFG_LOCATION_ZONE);
    CHECK(named(IFG_LOCATION_ZONE, "first", SIZE_MAX) == first);
}

static void count_ends(const struct fake_record *record, void *user)
{
    uint64_t *ids = user;

    if (record->kind == IFG_WIRE_ASYNC_BEGIN)
        ids[0] = ids[0] * 10 + fake_u64(record, 0);
    if (record->kind == IFG_WIRE_ASYNC_END)
        ids[1] = ids[1] * 10 + fake_u64(record, 0);
}

static void a_fiber_is_a_span(void)
{
    ifg_location *fiber = named(IFG_LOCATION_ASYNC, "fiber", SIZE_MAX);
    uint64_t ids[2] = { 0, 0 };
    uint64_t nonsense = 0;

    ifg_fiber_enter(fiber, 9); /* nobody records: its end must not come either */
    fake_recorder_start();
    ifg_fiber_leave();
    ifg_fiber_enter(fiber, 1);
    ifg_fiber_enter(fiber, 2); /* leaves the first */
    ifg_fiber_leave();
    ifg_fiber_leave();
    REQUIRE(client_ring != NULL);
    CHECK_UINT(fake_drain(client_ring, 100, count_ends, ids, &nonsense), 4);
    CHECK_UINT(nonsense, 0);
    CHECK_UINT(ids[0], 12);
    CHECK_UINT(ids[1], 12);
}

TAP_MAIN(TAP_CASE(the_same_texts_are_the_same_location), TAP_CASE(nonsense_is_a_zone),
         TAP_CASE(threads_agree), TAP_CASE(too_many_names_share_a_location),
         TAP_CASE(a_fiber_is_a_span))
