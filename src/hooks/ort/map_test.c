// SPDX-License-Identifier: Apache-2.0
/* Objects that come and go, in numbers, and while others look. */
#include "hooks/ort/map.h"

#include <pthread.h>
#include <string.h>

#include "tap.h"

static struct ort_map map = ORT_MAP_INIT;
static char objects[20000];
static int values[4];

static void reset(void)
{
    memset(map.entries, 0, sizeof map.entries);
    map.live = 0;
    map.refused = 0;
}

static void what_is_added_is_found_until_it_is_removed(void)
{
    reset();
    CHECK(ort_map_find(&map, &objects[1]) == NULL);
    CHECK(ort_map_add(&map, &objects[1], &values[0]));
    CHECK(ort_map_add(&map, &objects[2], &values[1]));
    CHECK(ort_map_find(&map, &objects[1]) == &values[0]);
    CHECK(ort_map_add(&map, &objects[1], &values[2])); /* the same address, a new object */
    CHECK(ort_map_find(&map, &objects[1]) == &values[2]);
    CHECK_UINT(map.live, 2);
    CHECK(ort_map_remove(&map, &objects[1]) == &values[2]);
    CHECK(ort_map_remove(&map, &objects[1]) == NULL);
    CHECK(ort_map_find(&map, &objects[1]) == NULL);
    CHECK(ort_map_find(&map, &objects[2]) == &values[1]);
    CHECK(!ort_map_add(&map, NULL, &values[0]));
    CHECK(!ort_map_add(&map, &objects[3], NULL));
    CHECK(ort_map_find(&map, NULL) == NULL);
    CHECK(ort_map_remove(&map, NULL) == NULL);
}

static void too_many_are_refused_and_counted(void)
{
    unsigned added = 0;

    reset();
    for (unsigned i = 0; i < ORT_MAP_SLOTS; i++)
        added += ort_map_add(&map, &objects[i], &values[0]);
    CHECK_UINT(added, ORT_MAP_SLOTS / 4 * 3);
    CHECK_UINT(map.refused, ORT_MAP_SLOTS - added);
    for (unsigned i = 0; i < added; i++)
        REQUIRE(ort_map_find(&map, &objects[i]) == &values[0]);
}

/* A session for each request: addresses come and go, and nothing may pile up. */
static void many_generations_leave_the_map_usable(void)
{
    unsigned used = 0;

    reset();
    for (unsigned i = 0; i < 200000; i++) {
        const void *key = &objects[i * 7919u % sizeof objects];

        REQUIRE(ort_map_add(&map, key, &values[0]));
        REQUIRE(ort_map_remove(&map, key) == &values[0]);
    }
    CHECK_UINT(map.live, 0);
    for (unsigned i = 0; i < ORT_MAP_SLOTS; i++)
        used += map.entries[i].key != NULL;
    CHECK_UINT(used, 0);
}

static int stop;

static void *look(void *unused)
{
    (void)unused;
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
        for (unsigned i = 0; i < 100; i++) {
            const void *found = ort_map_find(&map, &objects[i]);

            if (found && found != &values[0])
                return (void *)1;
        }
    return NULL;
}

static void looking_needs_no_lock(void)
{
    pthread_t thread;
    void *bad = NULL;

    reset();
    REQUIRE_INT(pthread_create(&thread, NULL, look, NULL), 0);
    for (unsigned round = 0; round < 2000; round++) {
        for (unsigned i = 0; i < 100; i++)
            ort_map_add(&map, &objects[i], &values[0]);
        for (unsigned i = 0; i < 100; i++)
            ort_map_remove(&map, &objects[i]);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    pthread_join(thread, &bad);
    CHECK(bad == NULL);
}

TAP_MAIN(TAP_CASE(what_is_added_is_found_until_it_is_removed),
         TAP_CASE(too_many_are_refused_and_counted),
         TAP_CASE(many_generations_leave_the_map_usable), TAP_CASE(looking_needs_no_lock))
