// SPDX-License-Identifier: Apache-2.0
/* ITT as a program uses it: every function that we take, counted in what was recorded. */
#include "hooks/itt/itt.h"

#include <string.h>

#include "hooks/annotations/watched.h"
#include "itt_program.h"
#include "tap.h"

itt_init_function __itt_api_init;
void __itt_api_fini(struct itt_global *global);

static struct watched watched;
static const struct itt_id no_id;

static bool has_text(const char *text)
{
    for (size_t i = 0; i < watched.count; i++)
        if (watched.records[i].payload_bytes &&
            memmem(watched.records[i].payload, watched.records[i].payload_bytes, text,
                   strlen(text)))
            return true;
    return false;
}

static double counter_value(size_t index)
{
    double value = -1;

    if (index < watched.count && watched.records[index].kind == IFG_WIRE_COUNTER)
        memcpy(&value, watched.records[index].payload, sizeof value);
    return value;
}

static void what_is_not_ours_stays_unbound(void)
{
    itt_begin(__itt_api_init);
    CHECK(itt_pointers[ITT_SYNC_CREATE] == NULL); /* as if there were no collector */
    CHECK(itt_pointers[ITT_TASK_BEGIN] != NULL);
    CHECK(itt_pointers[ITT_TASK_BEGIN] != (void *)&itt_initial);
    CHECK_INT(itt_early_domain.flags, 1); /* made before us: the program calls for it now */
    __itt_api_fini(&itt_global);
}

static void a_global_that_is_not_known_is_left_alone(void)
{
    itt_global.magic[1] = 0;
    itt_begin(__itt_api_init);
    CHECK(itt_pointers[ITT_TASK_BEGIN] == (void *)&itt_initial);
    itt_global.magic[1] = ITT_MAGIC_1;
    itt_global.version[0] = 4;
    itt_begin(__itt_api_init);
    CHECK(itt_pointers[ITT_TASK_BEGIN] == (void *)&itt_initial);
}

static void every_task_is_a_zone(void)
{
    struct itt_domain *domain;
    struct itt_string *name;

    itt_begin(__itt_api_init);
    domain = itt_domain_create("work");
    REQUIRE(domain != NULL);
    CHECK_INT(domain->flags, 1);
    CHECK_STR(domain->name, "work");
    CHECK(itt_domain_create("work") == domain);
    name = itt_string_create("task");
    REQUIRE(name != NULL);
    CHECK_STR(name->text, "task");
    CHECK(itt_string_create("task") == name);
    itt_task_begin(domain, no_id, name); /* nobody records */
    itt_task_end(domain);
    CHECK(client_ring == NULL);
    fake_recorder_start();
    for (int i = 0; i < 1000; i++) {
        itt_task_begin(domain, no_id, name);
        itt_task_begin(&itt_early_domain, no_id, itt_string_create("early task"));
        itt_task_end(&itt_early_domain);
        itt_task_end(domain);
    }
    watched_read(&watched);
    CHECK_UINT(watched.count, 2000);
    CHECK_STR(watched_name(watched.records[0].reference), "early task");
    CHECK_STR(watched_name(watched.records[1].reference), "task");
    CHECK(watched_nest(&watched));
}

static void a_domain_that_is_left_out_is_switched_off(void)
{
    setenv("IFG_ANNOTATIONS", "other,none", 1);
    itt_begin(__itt_api_init);
    CHECK_INT(itt_domain_create("work")->flags, 0);
    CHECK_INT(itt_domain_create("other")->flags, 1);
    CHECK_INT(itt_early_domain.flags, 0);
}

static void overlapped_tasks_and_frames_are_spans(void)
{
    void (*begin)(const struct itt_domain *, struct itt_id, struct itt_id, struct itt_string *);
    void (*end)(const struct itt_domain *, struct itt_id);
    void (*frame_begin)(const struct itt_domain *, struct itt_id *);
    void (*frame_end)(const struct itt_domain *, struct itt_id *);
    void (*submit)(const struct itt_domain *, struct itt_id *, unsigned long long,
                   unsigned long long);
    unsigned long long (*timestamp)(void);
    struct itt_id first = { { 1, 2, 3 } };
    struct itt_id second = { { 1, 2, 4 } };
    struct itt_domain *domain;
    unsigned long long start;

    itt_begin(__itt_api_init);
    ITT_CALL(begin, ITT_OVERLAPPED_BEGIN);
    ITT_CALL(end, ITT_OVERLAPPED_END);
    ITT_CALL(frame_begin, ITT_FRAME_BEGIN);
    ITT_CALL(frame_end, ITT_FRAME_END);
    ITT_CALL(submit, ITT_FRAME_SUBMIT);
    ITT_CALL(timestamp, ITT_TIMESTAMP);
    domain = itt_domain_create("work");
    fake_recorder_start();
    begin(domain, first, no_id, itt_string_create("one"));
    begin(domain, second, no_id, itt_string_create("two"));
    end(domain, first);
    end(domain, second);
    end(domain, second);
    watched_read(&watched);
    CHECK_UINT(watched.count, 4);
    CHECK_STR(watched_name(watched.records[2].reference), "one");
    frame_begin(domain, NULL);
    frame_end(domain, NULL);
    frame_end(domain, NULL);
    start = timestamp();
    submit(domain, NULL, start, timestamp());
    submit(domain, NULL, 5, 4); /* makes no sense */
    watched_read(&watched);
    CHECK_UINT(watched_count(&watched, IFG_WIRE_ASYNC_BEGIN), 2);
    CHECK_UINT(watched_count(&watched, IFG_WIRE_ASYNC_END), 2);
    CHECK_UINT(watched_count(&watched, IFG_WIRE_FRAME), 1);
    CHECK_UINT(watched.records[3].ticks, start);
}

static void counters_add_up(void)
{
    void *(*create)(const char *, const char *);
    void (*add)(void *, unsigned long long);
    void (*set)(void *, void *);
    void (*inc)(const struct itt_domain *, struct itt_string *);
    uint64_t value = 100;
    void *counter;

    itt_begin(__itt_api_init);
    ITT_CALL(create, ITT_COUNTER_CREATE);
    ITT_CALL(add, ITT_COUNTER_INC_DELTA);
    ITT_CALL(set, ITT_COUNTER_SET);
    ITT_CALL(inc, ITT_COUNTER_INC_V3);
    counter = create("queue", "work");
    REQUIRE(counter != NULL);
    CHECK(create("queue", "work") == counter);
    add(counter, 5); /* counts also while nobody records */
    fake_recorder_start();
    add(counter, 2);
    set(counter, &value);
    add(counter, 1);
    inc(itt_domain_create("work"), itt_string_create("named"));
    inc(itt_domain_create("work"), itt_string_create("named"));
    add(&value, 1); /* a handle that is none */
    watched_read(&watched);
    REQUIRE_UINT(watched.count, 5);
    CHECK_UINT((uint64_t)counter_value(0), 7);
    CHECK_UINT((uint64_t)counter_value(1), 100);
    CHECK_UINT((uint64_t)counter_value(2), 101);
    CHECK_UINT((uint64_t)counter_value(3), 1);
    CHECK_UINT((uint64_t)counter_value(4), 2);
}

static void markers_events_and_facts(void)
{
    void (*marker)(const struct itt_domain *, struct itt_id, struct itt_string *, int);
    void (*number)(const struct itt_domain *, struct itt_id, struct itt_string *, int, size_t,
                   void *);
    void (*text)(const struct itt_domain *, struct itt_id, struct itt_string *, const char *,
                 size_t);
    int (*create)(const char *, int);
    int (*event_start)(int);
    int (*event_end)(int);
    struct itt_id id = { { 9, 0, 0 } };
    struct itt_domain *domain;
    int32_t minus = -3;
    int event;

    itt_begin(__itt_api_init);
    ITT_CALL(marker, ITT_MARKER);
    ITT_CALL(number, ITT_METADATA);
    ITT_CALL(text, ITT_METADATA_STR);
    ITT_CALL(create, ITT_EVENT_CREATE);
    ITT_CALL(event_start, ITT_EVENT_START);
    ITT_CALL(event_end, ITT_EVENT_END);
    domain = itt_domain_create("work");
    event = create("an event with more", 8);
    CHECK_INT(create("an event", 8), event);
    fake_recorder_start();
    marker(domain, no_id, itt_string_create("here"), 0);
    itt_task_begin(domain, id, itt_string_create("task"));
    number(domain, id, itt_string_create("rows"), ITT_S32, 1, &minus);
    text(domain, no_id, itt_string_create("layer"), "conv1 and more", 5);
    itt_task_end(domain);
    text(domain, id, itt_string_create("late"), "gone", 4); /* no task any more */
    event_start(event);
    event_end(event);
    event_end(event);
    event_start(12345);
    watched_read(&watched);
    CHECK(has_text("work: here"));
    CHECK(has_text("rows"));
    CHECK(has_text("layerconv1"));
    CHECK(!has_text("layerconv1 "));
    CHECK(!has_text("late"));
    CHECK_STR(watched_zones(&watched), "task an event");
}

static void nothing_is_recorded_while_paused(void)
{
    void (*pause)(void);
    void (*resume)(void);
    void (*set_name)(const char *);
    struct itt_domain *domain;

    itt_begin(__itt_api_init);
    ITT_CALL(pause, ITT_PAUSE);
    ITT_CALL(resume, ITT_RESUME);
    ITT_CALL(set_name, ITT_THREAD_NAME);
    domain = itt_domain_create("work");
    fake_recorder_start();
    set_name("a worker");
    itt_task_begin(domain, no_id, itt_string_create("around"));
    pause();
    itt_task_begin(domain, no_id, itt_string_create("unseen"));
    itt_task_end(domain);
    resume();
    itt_task_end(domain);
    watched_read(&watched);
    CHECK_STR(watched_zones(&watched), "around");
    CHECK_UINT(watched_count(&watched, IFG_WIRE_MESSAGE), 2);
    CHECK_STR(client_ring->name, "a worker");
}

static void names_are_limited(void)
{
    struct itt_string *last = NULL;
    char name[64];

    itt_begin(__itt_api_init);
    for (int i = 0; i < 9000; i++) {
        snprintf(name, sizeof name, "name %d", i);
        last = itt_string_create(name);
    }
    REQUIRE(last != NULL);
    CHECK_STR(last->text, "(more names than can be told apart)");
    CHECK_STR(itt_string_create("name 8000")->text, "name 8000");
}

TAP_MAIN(TAP_CASE(what_is_not_ours_stays_unbound),
         TAP_CASE(a_global_that_is_not_known_is_left_alone), TAP_CASE(every_task_is_a_zone),
         TAP_CASE(a_domain_that_is_left_out_is_switched_off),
         TAP_CASE(overlapped_tasks_and_frames_are_spans), TAP_CASE(counters_add_up),
         TAP_CASE(markers_events_and_facts), TAP_CASE(nothing_is_recorded_while_paused),
         TAP_CASE(names_are_limited))
