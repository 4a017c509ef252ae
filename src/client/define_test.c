// SPDX-License-Identifier: Apache-2.0
/* Locations and models: what gets an id, when two are the same, and what happens when there are too
 * many. */
#include "client/fake_recorder.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

#define THREADS 8

/* Entries of one kind in the log; `name` restricts locations and models to those with it. */
static unsigned entries(uint32_t kind, const char *name)
{
    const char *log = (const char *)client_control + IFG_WIRE_DEFINITIONS_OFFSET;
    uint64_t end = client_control->definitions_reserved;
    unsigned found = 0;

    for (uint64_t at = 0; at < end;) {
        const struct ifg_wire_definition *entry = (const void *)(log + at);
        const char *payload = (const char *)(entry + 1);
        size_t head = kind == IFG_WIRE_DEFINE_LOCATION ? sizeof(struct ifg_wire_location)
                      : kind == IFG_WIRE_DEFINE_MODEL  ? sizeof(struct ifg_wire_model)
                                                       : sizeof(struct ifg_wire_property);

        REQUIRE(entry->bytes >= sizeof *entry && entry->bytes % 8 == 0 && entry->bytes <= end - at);
        if (entry->kind == kind && (!name || strncmp(payload + head, name, strlen(name)) == 0))
            found++;
        at += entry->bytes;
    }
    return found;
}

static ifg_location raced = { "raced", "f", "file.c", 1, 0, IFG_LOCATION_ZONE, 0 };
static pthread_barrier_t barrier;

static void *race(void *out)
{
    ifg_zone zone;

    pthread_barrier_wait(&barrier);
    zone = ifg_zone_begin(&raced);
    *(uint32_t *)out = zone.location;
    ifg_zone_end(zone);
    return NULL;
}

static void a_location_that_threads_race_for_has_one_id(void)
{
    REQUIRE(client_control != NULL);
    fake_recorder_start();
    for (int round = 0; round < 200; round++) {
        pthread_t threads[THREADS];
        uint32_t ids[THREADS];

        __atomic_store_n(&raced.id, 0, __ATOMIC_RELAXED);
        pthread_barrier_init(&barrier, NULL, THREADS);
        for (int i = 0; i < THREADS; i++)
            REQUIRE_INT(pthread_create(&threads[i], NULL, race, &ids[i]), 0);
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        pthread_barrier_destroy(&barrier);
        for (int i = 0; i < THREADS; i++)
            REQUIRE_UINT(ids[i], raced.id);
        for (uint32_t i = 0; i < IFG_WIRE_RINGS; i++) /* nobody drains here */
            ifg_wire_states(client_control)[i] = IFG_WIRE_FREE_RING;
    }
}

static void a_full_log_is_counted_and_survived(void)
{
    enum { COUNT = 100000 };
    ifg_location *locations = calloc(COUNT, sizeof *locations);
    unsigned defined;

    REQUIRE(locations != NULL && client_control != NULL);
    fake_recorder_start();
    for (int i = 0; i < COUNT; i++) {
        ifg_zone zone;

        locations[i] = (ifg_location){ "made at run time", "f", "file.c", 1, 0, 1, 0 };
        zone = ifg_zone_begin(&locations[i]);
        if (zone.depth)
            ifg_zone_end(zone);
        REQUIRE(locations[i].id != 0);
    }
    defined = entries(IFG_WIRE_DEFINE_LOCATION, NULL);
    CHECK(defined > 10000);
    CHECK_UINT(defined + client_control->definitions_lost, COUNT);
    CHECK_UINT(locations[COUNT - 1].id, 1);
    CHECK(client_control->definitions_reserved <= IFG_WIRE_DEFINITIONS_BYTES);
    free(locations);
}

static void long_names_are_cut(void)
{
    static char name[5000];
    ifg_location location = { name, NULL, name, 1, 0, IFG_LOCATION_ZONE, 0 };

    memset(name, 'n', sizeof name - 1);
    REQUIRE(client_control != NULL);
    fake_recorder_start();
    ifg_zone_end(ifg_zone_begin(&location));
    CHECK(location.id >= 2);
    CHECK_UINT(entries(IFG_WIRE_DEFINE_LOCATION, "nnnn"), 1);
    CHECK(client_control->definitions_reserved < 2 * IFG_WIRE_STRING_MAX + 64);
}

/* ---- models ---- */

static void the_same_texts_are_the_same_model(void)
{
    char name[] = "ocr";
    ifg_model_options options = { .struct_size = sizeof options, .name = name, .path = "/a" };
    ifg_model *first = ifg_model_create(&options);
    ifg_model *second;

    REQUIRE(first != NULL);
    name[0] = 'x'; /* the library has its own copy */
    options.name = "ocr";
    second = ifg_model_create(&options);
    CHECK(first == second);
    ifg_model_destroy(first);
    ifg_model_destroy(second);
    ifg_model_destroy(second); /* once too often */
    CHECK(ifg_model_create(&options) == first);
    options.runtime = "other";
    CHECK(ifg_model_create(&options) != first);
    CHECK_UINT(entries(IFG_WIRE_DEFINE_MODEL, "ocr"), 2);
}

/* A program built against an older header has a shorter struct; what lies behind it is not read. */
static void older_and_missing_options_are_understood(void)
{
    struct {
        size_t struct_size;
        const char *name;
        const char *not_a_string;
    } old = { 2 * sizeof(void *), "old", (const char *)1 };
    ifg_model *model = ifg_model_create((const ifg_model_options *)(const void *)&old);

    CHECK(model != NULL);
    CHECK_UINT(entries(IFG_WIRE_DEFINE_MODEL, "old"), 1);
    CHECK(ifg_model_create(NULL) != NULL);
    CHECK(ifg_model_create(NULL) != model);
}

static void models_may_be_missing_and_arguments_wrong(void)
{
    ifg_model_options options = { .struct_size = sizeof options, .name = "m" };
    ifg_model *model = ifg_model_create(&options);

    REQUIRE(client_control != NULL);
    fake_recorder_start();
    CHECK_UINT(ifg_event_begin(NULL, "f", IFG_LOAD).depth, 0);
    CHECK_UINT(ifg_event_begin(model, "f", (enum ifg_category)0).depth, 0);
    CHECK_UINT(ifg_event_begin(model, "f", (enum ifg_category)6).depth, 0);
    ifg_event_async_begin(NULL, "f", IFG_LOAD, 1);
    ifg_event_async_end(NULL, "f", IFG_LOAD, 1);
    ifg_model_property(NULL, "k", "v");
    ifg_model_property(model, NULL, "v");
    ifg_model_property(model, "k", NULL);
    ifg_model_destroy(NULL);
    CHECK_UINT(entries(IFG_WIRE_DEFINE_PROPERTY, NULL), 1);
    CHECK(client_ring == NULL);
    /* No function, and an empty one, are "main". */
    ifg_zone_end(ifg_event_begin(model, NULL, IFG_LOAD));
    ifg_zone_end(ifg_event_begin(model, "", IFG_LOAD));
    ifg_zone_end(ifg_event_begin(model, "main", IFG_LOAD));
    CHECK_UINT(entries(IFG_WIRE_DEFINE_LOCATION, NULL), 1);
}

static void too_many_models_share_one(void)
{
    ifg_model *last = NULL;
    char name[32];

    for (int i = 0; i < 5000; i++) {
        ifg_model_options options = { .struct_size = sizeof options, .name = name };

        snprintf(name, sizeof name, "model %d", i);
        last = ifg_model_create(&options);
        REQUIRE(last != NULL);
    }
    CHECK(ifg_model_create(&(ifg_model_options){ .struct_size = sizeof(ifg_model_options),
                                                 .name = "one more" }) == last);
    CHECK_UINT(entries(IFG_WIRE_DEFINE_MODEL, NULL), 4096);
    CHECK_UINT(entries(IFG_WIRE_DEFINE_MODEL, "(more models"), 1);
}

static void too_many_functions_share_one(void)
{
    ifg_model_options options = { .struct_size = sizeof options, .name = "m" };
    ifg_model *model = ifg_model_create(&options);
    char name[32];

    REQUIRE(client_control != NULL);
    fake_recorder_start();
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "function %d", i);
        ifg_zone_end(ifg_event_begin(model, name, IFG_INFERENCE));
    }
    CHECK_UINT(entries(IFG_WIRE_DEFINE_LOCATION, NULL), 256);
    CHECK_UINT(client_ring->dropped, 0);
    CHECK_UINT(client_ring->head, 1000);
}

static void *make_models(void *unused)
{
    (void)unused;
    for (int i = 0; i < 100; i++) {
        char name[32];
        ifg_model_options options = { .struct_size = sizeof options, .name = name };
        ifg_model *model;

        snprintf(name, sizeof name, "model %d", i % 10);
        model = ifg_model_create(&options);
        ifg_zone_end(ifg_event_begin(model, i % 2 ? "a" : "b", IFG_LOAD));
        ifg_model_destroy(model);
    }
    return NULL;
}

static void threads_may_make_the_same_models(void)
{
    pthread_t threads[THREADS];

    REQUIRE(client_control != NULL);
    fake_recorder_start();
    for (int i = 0; i < THREADS; i++)
        REQUIRE_INT(pthread_create(&threads[i], NULL, make_models, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK_UINT(entries(IFG_WIRE_DEFINE_MODEL, NULL), 10);
}

/* ---- fork ---- */

static void the_child_of_a_fork_has_all_definitions_and_nothing_else(void)
{
    ifg_location known = { "known", "f", "file.c", 1, 0, IFG_LOCATION_ZONE, 0 };
    ifg_location later = { "later", "f", "file.c", 2, 0, IFG_LOCATION_ZONE, 0 };
    ifg_model_options options = { .struct_size = sizeof options, .name = "m" };
    ifg_model *model = ifg_model_create(&options);
    struct ifg_wire_control *parent = client_control;
    uint32_t known_id;
    ifg_zone open;
    pid_t pid;
    int status = 0;

    REQUIRE(parent != NULL);
    fake_recorder_start();
    ifg_zone_end(ifg_zone_begin(&known));
    ifg_zone_end(ifg_event_begin(model, "f", IFG_LOAD));
    known_id = known.id;
    open = ifg_zone_begin(&known);
    pid = fork();
    if (pid == 0) {
        bool good = client_control && client_control != parent && client_ring == NULL &&
                    client_control->pid == (uint32_t)getpid() && !ifg_is_recording() &&
                    entries(IFG_WIRE_DEFINE_LOCATION, NULL) == 2 &&
                    entries(IFG_WIRE_DEFINE_MODEL, "m") == 1 && client_control->rings_used == 0;

        fake_recorder_start();
        good = good && ifg_is_recording();
        ifg_zone_end(open); /* it was the parent's */
        good = good && client_ring == NULL;
        ifg_zone_end(ifg_zone_begin(&known));
        ifg_zone_end(ifg_zone_begin(&later));
        ifg_zone_end(open); /* and still is */
        good = good && known.id == known_id && later.id > known_id && client_ring &&
               client_ring->head == 2 && client_ring->depth == 0 &&
               entries(IFG_WIRE_DEFINE_LOCATION, "later") == 1;
        _exit(good ? 0 : 1);
    }
    REQUIRE(pid > 0);
    waitpid(pid, &status, 0);
    CHECK_INT(status, 0);
    ifg_zone_end(open);
    CHECK_UINT(client_ring->head, 3);
    CHECK_UINT(entries(IFG_WIRE_DEFINE_LOCATION, "later"), 0);
}

TAP_MAIN(TAP_CASE(a_location_that_threads_race_for_has_one_id),
         TAP_CASE(a_full_log_is_counted_and_survived), TAP_CASE(long_names_are_cut),
         TAP_CASE(the_same_texts_are_the_same_model),
         TAP_CASE(older_and_missing_options_are_understood),
         TAP_CASE(models_may_be_missing_and_arguments_wrong), TAP_CASE(too_many_models_share_one),
         TAP_CASE(too_many_functions_share_one), TAP_CASE(threads_may_make_the_same_models),
         TAP_CASE(the_child_of_a_fork_has_all_definitions_and_nothing_else))
