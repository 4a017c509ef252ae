// SPDX-License-Identifier: Apache-2.0
/* NVTX as a program uses it: every call of the two tables, counted in what was recorded. */
#include "hooks/nvtx/nvtx.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "hooks/annotations/watched.h"
#include "nvtx_program.h"
#include "tap.h"

nvtx_initialize InitializeInjectionNvtx2;
nvtx_initialize_extension InitializeInjectionNvtxExtension;

static struct watched watched;

static bool has_text(size_t index, const char *text)
{
    const struct fake_record *record = &watched.records[index];

    return record->payload_bytes &&
           memmem(record->payload, record->payload_bytes, text, strlen(text));
}

static void idle_calls_answer_as_without_a_tool(void)
{
    REQUIRE(nvtx_begin(InitializeInjectionNvtx2));
    for (int i = 0; i < 1000; i++) {
        CHECK_INT(nvtx_push("idle"), NVTX_NO_PUSH_POP_TRACKING);
        nvtx_mark("idle");
        CHECK_UINT(nvtx_start("idle"), 0);
        nvtx_end(0);
        CHECK_INT(nvtx_pop(), NVTX_NO_PUSH_POP_TRACKING);
    }
    CHECK(client_ring == NULL);
}

static void every_push_is_a_zone(void)
{
    REQUIRE(nvtx_begin(InitializeInjectionNvtx2));
    fake_recorder_start();
    for (int i = 0; i < 1000; i++) {
        nvtx_push("outer");
        nvtx_push("inner");
        nvtx_pop();
        nvtx_pop();
    }
    watched_read(&watched);
    CHECK_UINT(watched_count(&watched, 0), 2000);
    CHECK_UINT(watched.count, 2000);
    CHECK_STR(watched_name(watched.records[0].reference), "inner");
    CHECK_STR(watched_name(watched.records[1].reference), "outer");
    CHECK(watched_nest(&watched));
}

static void two_libraries_share_a_process(void)
{
    REQUIRE(nvtx_begin(InitializeInjectionNvtx2));
    REQUIRE(nvtx_begin(InitializeInjectionNvtx2)); /* each copy of the header asks */
    fake_recorder_start();
    nvtx_push("once");
    nvtx_pop();
    watched_read(&watched);
    CHECK_STR(watched_zones(&watched), "once");
}

static void events_have_all_their_parts(void)
{
    struct nvtx_event event = nvtx_text(NULL);
    void *domain;
    const void *string;

    REQUIRE(nvtx_begin(InitializeInjectionNvtx2));
    domain = nvtx_domain("mine");
    REQUIRE(domain != NULL);
    CHECK(nvtx_domain("mine") == domain);
    string = nvtx_string(domain, "registered");
    CHECK(nvtx_string(domain, "registered") == string);
    CHECK(nvtx_string(NULL, "registered") != string);
    nvtx_category(domain, 4, "fourth");
    fake_recorder_start();
    event.message_type = NVTX_MESSAGE_REGISTERED;
    event.message.registered = string;
    event.category = 4;
    event.payload_type = NVTX_PAYLOAD_I32;
    event.payload.i32 = -5;
    for (int i = 0; i < 2; i++) { /* the second time, the name is known */
        nvtx_domain_push(domain, &event);
        nvtx_domain_pop(domain);
        watched_read(&watched);
        REQUIRE_UINT(watched.count, 3);
        CHECK(has_text(0, "payload"));
        CHECK(has_text(1, "categoryfourth"));
        CHECK_STR(watched_zones(&watched), "registered");
    }
    event.message_type = NVTX_MESSAGE_WIDE;
    event.message.wide = L"wide \u20ac";
    event.payload_type = NVTX_PAYLOAD_F64;
    event.payload.f64 = 2.5;
    nvtx_domain_mark(domain, &event);
    watched_read(&watched);
    REQUIRE_UINT(watched_count(&watched, IFG_WIRE_MESSAGE), 1);
    CHECK(has_text(0, "mine: fourth: wide \xe2\x82\xac (2.5)"));
    event.size = 40; /* smaller than any that there is */
    nvtx_domain_push(domain, &event);
    nvtx_domain_pop(domain);
    nvtx_domain_push(domain, NULL);
    nvtx_domain_pop(domain);
    nvtx_domain_push(&event, NULL); /* a handle that is none */
    nvtx_domain_pop(&event);
    watched_read(&watched);
    CHECK_STR(watched_zones(&watched), "(no message) (no message)");
}

static void *end_it(void *id)
{
    nvtx_end((uintptr_t)id);
    return NULL;
}

static void start_and_end_on_two_threads(void)
{
    pthread_t thread;
    uint64_t id;

    REQUIRE(nvtx_begin(InitializeInjectionNvtx2));
    fake_recorder_start();
    id = nvtx_start("across");
    CHECK(id != 0);
    CHECK(nvtx_start("another") != id);
    REQUIRE(pthread_create(&thread, NULL, end_it, (void *)(uintptr_t)id) == 0);
    pthread_join(thread, NULL);
    watched_read(&watched);
    CHECK_UINT(watched_count(&watched, IFG_WIRE_ASYNC_BEGIN), 2);
}

static void a_domain_that_is_left_out_is_silent(void)
{
    struct nvtx_event event = nvtx_text("x");
    struct nvtx_segment segment = { 0, 63, (intptr_t[63]){ 0 } };
    struct nvtx_extension payload = { .struct_size = sizeof payload,
                                      .module = NVTX_EXTENSION_PAYLOAD,
                                      .segment_count = 1,
                                      .segments = &segment };
    uint8_t (*is_enabled)(const void *);
    void *out;
    void *in;

    setenv("IFG_ANNOTATIONS", "-quiet", 1);
    REQUIRE(nvtx_begin(InitializeInjectionNvtx2));
    CHECK_INT(InitializeInjectionNvtxExtension(&payload), 1);
    is_enabled = (uint8_t(*)(const void *))segment.slots[NVTX_DOMAIN_IS_ENABLED];
    out = nvtx_domain("quiet");
    in = nvtx_domain("loud");
    REQUIRE(is_enabled != NULL);
    CHECK_UINT(is_enabled(out), 0);
    CHECK_UINT(is_enabled(in), 1);
    CHECK_UINT(is_enabled(NULL), 1);
    fake_recorder_start();
    nvtx_domain_push(out, &event);
    nvtx_domain_mark(out, &event);
    nvtx_domain_push(in, &event);
    nvtx_domain_pop(in);
    nvtx_domain_pop(out);
    watched_read(&watched);
    CHECK_UINT(watched.count, 1);
    payload.struct_size = 8;
    CHECK_INT(InitializeInjectionNvtxExtension(&payload), 0);
}

static void *arrive(void *user)
{
    (void)user;
    nvtx_push("in a thread");
    nvtx_pop();
    return client_ring;
}

static void *name_itself(void *user)
{
    (void)user;
    nvtx_name_thread((uint32_t)gettid(), "named itself");
    return arrive(NULL);
}

static void threads_get_names(void)
{
    pthread_t thread;
    void *ring = NULL;

    REQUIRE(nvtx_begin(InitializeInjectionNvtx2));
    fake_recorder_start();
    REQUIRE(pthread_create(&thread, NULL, name_itself, NULL) == 0);
    pthread_join(thread, &ring);
    REQUIRE(ring != NULL);
    CHECK_STR(((struct ifg_wire_ring *)ring)->name, "named itself");
}

static pthread_barrier_t known;
static pthread_barrier_t named;
static uint32_t other;

static void *wait_for_name(void *user)
{
    (void)user;
    other = (uint32_t)gettid();
    pthread_barrier_wait(&known);
    pthread_barrier_wait(&named);
    return arrive(NULL);
}

static void a_thread_names_another(void)
{
    pthread_t thread;
    void *ring = NULL;

    REQUIRE(nvtx_begin(InitializeInjectionNvtx2));
    fake_recorder_start();
    pthread_barrier_init(&known, NULL, 2);
    pthread_barrier_init(&named, NULL, 2);
    REQUIRE(pthread_create(&thread, NULL, wait_for_name, NULL) == 0);
    pthread_barrier_wait(&known);
    nvtx_name_thread(other, "named by another");
    pthread_barrier_wait(&named);
    pthread_join(thread, &ring);
    REQUIRE(ring != NULL);
    CHECK_STR(((struct ifg_wire_ring *)ring)->name, "named by another");
}

static const void *nothing(uint32_t id)
{
    (void)id;
    return NULL;
}

static const void *too_small(uint32_t id)
{
    static const struct nvtx_callbacks callbacks = { 4, NULL };

    (void)id;
    return &callbacks;
}

static void tables_that_are_not_known_are_left_alone(void)
{
    CHECK_INT(InitializeInjectionNvtx2(NULL), 0);
    CHECK_INT(InitializeInjectionNvtx2(nothing), 0);
    CHECK_INT(InitializeInjectionNvtx2(too_small), 0);
    CHECK_INT(InitializeInjectionNvtxExtension(NULL), 0);
}

static void *push_and_pop(void *domain)
{
    for (int i = 0; i < 200; i++) {
        nvtx_push_in(domain, "mine");
        nvtx_push("everybody's");
        nvtx_string(domain, "registered by all");
        nvtx_end(nvtx_start("span"));
        nvtx_pop();
        nvtx_domain_pop(domain);
    }
    return NULL;
}

static void threads_use_everything_at_once(void)
{
    pthread_t threads[6];
    uint64_t records = 0;
    uint64_t nonsense = 0;

    REQUIRE(nvtx_begin(InitializeInjectionNvtx2));
    fake_recorder_start();
    for (int t = 0; t < 6; t++)
        REQUIRE(pthread_create(&threads[t], NULL, push_and_pop,
                               nvtx_domain(t % 2 ? "odd" : "even")) == 0);
    for (int t = 0; t < 6; t++)
        pthread_join(threads[t], NULL);
    for (uint32_t i = 0; i < client_control->rings_used; i++)
        records += fake_drain(fake_ring(i), UINT64_MAX, NULL, NULL, &nonsense);
    CHECK_UINT(nonsense, 0);
    CHECK_UINT(records, 6 * 200 * 4);
}

TAP_MAIN(TAP_CASE(idle_calls_answer_as_without_a_tool), TAP_CASE(every_push_is_a_zone),
         TAP_CASE(two_libraries_share_a_process), TAP_CASE(events_have_all_their_parts),
         TAP_CASE(start_and_end_on_two_threads), TAP_CASE(a_domain_that_is_left_out_is_silent),
         TAP_CASE(threads_get_names), TAP_CASE(a_thread_names_another),
         TAP_CASE(tables_that_are_not_known_are_left_alone),
         TAP_CASE(threads_use_everything_at_once))
