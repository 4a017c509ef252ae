// SPDX-License-Identifier: Apache-2.0
/* Rings and what goes into them: nothing is lost without being counted, whatever the consumer does.
 */
#include "client/fake_recorder.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "tap.h"

#define SMALL_RING  86u
#define SMALL_SLOTS 1024u

static ifg_location zone_here = { "zone", "f", "file.c", 1, 0, IFG_LOCATION_ZONE, 0 };
static ifg_location frame_here = { "frame", "f", "file.c", 2, 0, IFG_LOCATION_FRAME, 0 };
static ifg_location counter_here = { "counter", "f", "file.c", 3, 0, IFG_LOCATION_COUNTER, 0 };
static ifg_location pool_here = { "pool", "f", "file.c", 4, 0, IFG_LOCATION_POOL, 0 };
static ifg_location async_here = { "async", "f", "file.c", 5, 0, IFG_LOCATION_ASYNC, 0 };
static ifg_location flow_here = { "flow", "f", "file.c", 6, 0, IFG_LOCATION_FLOW, 0 };
static ifg_location stage_here = { "stage", "f", "file.c", 6, 0, IFG_LOCATION_STAGE, 0 };

static void start(bool small)
{
    REQUIRE(client_control != NULL);
    fake_recorder_start();
    for (uint32_t i = 0; small && i < SMALL_RING; i++)
        ifg_wire_states(client_control)[i] = IFG_WIRE_ACTIVE;
}

static void emit_zone(void)
{
    ifg_zone zone = ifg_zone_begin(&zone_here);

    if (zone.depth)
        ifg_zone_end(zone);
}

static void a_full_ring_drops_and_counts(void)
{
    uint64_t nonsense = 0;

    start(true);
    for (int i = 0; i < 5000; i++)
        emit_zone();
    CHECK_UINT(client_ring->dropped, 5000 - SMALL_SLOTS);
    CHECK_UINT(fake_drain(client_ring, UINT64_MAX, NULL, NULL, &nonsense), SMALL_SLOTS);
    for (int i = 0; i < 100; i++)
        emit_zone();
    CHECK_UINT(client_ring->dropped, 5000 - SMALL_SLOTS);
    CHECK_UINT(fake_drain(client_ring, UINT64_MAX, NULL, NULL, &nonsense), 100);
    CHECK_UINT(nonsense, 0);
    CHECK_UINT(client_ring->depth, 0);
}

static void a_record_that_does_not_fit_leaves_room_for_a_smaller_one(void)
{
    uint64_t nonsense = 0;
    char text[64] = "";

    start(true);
    for (unsigned i = 0; i < SMALL_SLOTS - 2; i++)
        ifg_frame(&frame_here);
    ifg_message(IFG_LEVEL_INFO, text, sizeof text); /* six slots */
    CHECK_UINT(client_ring->dropped, 1);
    emit_zone();
    ifg_frame(&frame_here);
    CHECK_UINT(client_ring->dropped, 1);
    ifg_frame(&frame_here);
    CHECK_UINT(client_ring->dropped, 2);
    CHECK_UINT(fake_drain(client_ring, UINT64_MAX, NULL, NULL, &nonsense), SMALL_SLOTS);
    CHECK_UINT(nonsense, 0);
}

/* Messages of every length, over many laps: the text tells its own length and number. */
struct expected {
    uint32_t next;
    unsigned wrong;
};

static uint32_t length_of(uint32_t number)
{
    return (number * 7919u) % 1025u;
}

static void check_message(const struct fake_record *record, void *user)
{
    struct expected *expected = user;
    uint32_t number = expected->next++;
    uint32_t length;
    bool good;

    memcpy(&length, record->payload, sizeof length);
    good = record->kind == IFG_WIRE_MESSAGE && length == length_of(number) &&
           length <= record->payload_bytes - sizeof length;
    for (uint32_t i = 0; good && i < length; i++)
        good = record->payload[sizeof length + i] == (unsigned char)(number + i);
    if (!good)
        expected->wrong++;
}

static void long_records_wrap_around_whole(void)
{
    struct expected expected = { 0, 0 };
    uint64_t nonsense = 0;
    char text[1024];

    start(true);
    for (uint32_t n = 0; n < 3000; n++) {
        for (uint32_t i = 0; i < length_of(n); i++)
            text[i] = (char)(n + i);
        ifg_message(IFG_LEVEL_INFO, text, length_of(n));
        if (n % 7 == 0)
            fake_drain(client_ring, UINT64_MAX, check_message, &expected, &nonsense);
    }
    fake_drain(client_ring, UINT64_MAX, check_message, &expected, &nonsense);
    CHECK_UINT(expected.next, 3000);
    CHECK_UINT(expected.wrong, 0);
    CHECK_UINT(nonsense, 0);
    CHECK_UINT(client_ring->dropped, 0);
}

static void remember(const struct fake_record *record, void *user)
{
    *(struct fake_record *)user = *record;
}

static void a_zone_of_more_than_32_bits_is_whole(void)
{
    struct fake_record seen = { 0 };
    uint64_t nonsense = 0;
    ifg_zone zone;

    start(true);
    zone = ifg_zone_begin(&zone_here);
    zone.start -= 5ull << 32; /* as if it had begun then */
    ifg_zone_end(zone);
    CHECK_UINT(fake_drain(client_ring, UINT64_MAX, remember, &seen, &nonsense), 1);
    CHECK_UINT(seen.kind, IFG_WIRE_LONG_ZONE);
    CHECK_UINT(seen.ticks, zone.start);
    CHECK_UINT(seen.reference, zone_here.id);
    CHECK(fake_u64(&seen, 0) >= 5ull << 32);
    CHECK(fake_u64(&seen, 0) < 6ull << 32);
    CHECK_UINT(client_ring->depth, 0);
}

static void ends_that_do_not_match_are_counted_and_heal(void)
{
    uint64_t nonsense = 0;
    ifg_zone outer;
    ifg_zone middle;

    start(true);
    outer = ifg_zone_begin(&zone_here);
    middle = ifg_zone_begin(&zone_here);
    for (int i = 0; i < 3; i++)
        (void)ifg_zone_begin(&zone_here); /* never ended: a longjmp went over them */
    CHECK_UINT(client_ring->depth, 5);
    ifg_zone_end(middle);
    CHECK_UINT(client_ring->unbalanced, 3);
    CHECK_UINT(client_ring->depth, 1);
    ifg_zone_end(middle); /* a second time */
    CHECK_UINT(client_ring->unbalanced, 4);
    emit_zone();
    ifg_zone_end(outer);
    CHECK_UINT(client_ring->depth, 0);
    CHECK_UINT(client_ring->unbalanced, 4);
    CHECK_UINT(fake_drain(client_ring, UINT64_MAX, NULL, NULL, &nonsense), 3);
}

static void ten_thousand_nested_zones_all_come_out(void)
{
    static ifg_zone zones[10000];
    uint64_t nonsense = 0;

    start(false);
    for (int i = 0; i < 10000; i++)
        zones[i] = ifg_zone_begin(&zone_here);
    CHECK_UINT(client_ring->depth, 10000);
    for (int i = 10000; i-- > 0;)
        ifg_zone_end(zones[i]);
    CHECK_UINT(client_ring->depth, 0);
    CHECK_UINT(client_ring->unbalanced, 0);
    CHECK_UINT(fake_drain(client_ring, UINT64_MAX, NULL, NULL, &nonsense), 10000);
}

/* ---- threads ---- */

#define PRODUCERS 4
#define EACH      60000

static void *produce(void *unused)
{
    (void)unused;
    for (int i = 0; i < EACH; i++) {
        if (i % 3 == 0)
            ifg_counter(&counter_here, i);
        else
            emit_zone();
    }
    return NULL;
}

/* One pass over all rings, as a recorder does it. */
static uint64_t drain_all(uint64_t *dropped, uint64_t *nonsense)
{
    uint32_t used = __atomic_load_n(&client_control->rings_used, __ATOMIC_ACQUIRE);
    uint64_t taken = 0;

    for (uint32_t i = 0; i < used; i++) {
        uint32_t *state = &ifg_wire_states(client_control)[i];
        uint32_t now = __atomic_load_n(state, __ATOMIC_ACQUIRE);
        struct ifg_wire_ring *ring = fake_ring(i);

        if (now == IFG_WIRE_FREE_RING || !__atomic_load_n(&ring->generation, __ATOMIC_ACQUIRE))
            continue;
        taken += fake_drain(ring, UINT64_MAX, NULL, NULL, nonsense);
        if (now == IFG_WIRE_EXITED) {
            *dropped += ring->dropped;
            __atomic_store_n(state, IFG_WIRE_FREE_RING, __ATOMIC_RELEASE);
        }
    }
    return taken;
}

static bool stop_consuming;
static uint64_t consumed;
static uint64_t consumed_dropped;
static uint64_t consumed_nonsense;

static void *consume(void *unused)
{
    static const struct timespec nap = { 0, 200000 };
    bool last;

    (void)unused;
    do {
        last = __atomic_load_n(&stop_consuming, __ATOMIC_ACQUIRE);
        consumed += drain_all(&consumed_dropped, &consumed_nonsense);
        nanosleep(&nap, NULL);
    } while (!last);
    return NULL;
}

static void run_producers(void)
{
    pthread_t consumer;
    pthread_t producers[PRODUCERS];

    REQUIRE_INT(pthread_create(&consumer, NULL, consume, NULL), 0);
    for (int i = 0; i < PRODUCERS; i++)
        REQUIRE_INT(pthread_create(&producers[i], NULL, produce, NULL), 0);
    for (int i = 0; i < PRODUCERS; i++)
        pthread_join(producers[i], NULL);
    __atomic_store_n(&stop_consuming, true, __ATOMIC_RELEASE);
    pthread_join(consumer, NULL);
}

static void threads_lose_nothing_uncounted(void)
{
    start(true); /* small rings: a good part is dropped */
    for (uint32_t i = 0; i < SMALL_RING; i++)
        fake_ring(i)->generation = 0;
    run_producers();
    CHECK_UINT(consumed + consumed_dropped, PRODUCERS * EACH);
    CHECK_UINT(consumed_nonsense, 0);
    CHECK_UINT(client_control->ringless_dropped, 0);
}

static void lossless_threads_lose_nothing(void)
{
    start(true);
    __atomic_store_n(&client_control->lossless, 1, __ATOMIC_RELEASE);
    run_producers();
    CHECK_UINT(consumed, PRODUCERS * EACH);
    CHECK_UINT(consumed_dropped, 0);
    CHECK_UINT(consumed_nonsense, 0);
}

static void *one_zone(void *unused)
{
    (void)unused;
    emit_zone();
    return NULL;
}

static void short_threads_recycle_rings(void)
{
    uint64_t dropped = 0;
    uint64_t nonsense = 0;
    uint64_t taken = 0;

    start(false);
    for (int i = 0; i < 3000; i++) {
        pthread_t thread;

        REQUIRE_INT(pthread_create(&thread, NULL, one_zone, NULL), 0);
        pthread_join(thread, NULL);
        if (i % 50 == 0)
            taken += drain_all(&dropped, &nonsense);
    }
    taken += drain_all(&dropped, &nonsense);
    CHECK_UINT(taken, 3000);
    CHECK_UINT(dropped, 0);
    CHECK(client_control->rings_used <= 51);
}

static void threads_beyond_the_last_ring_are_counted(void)
{
    start(false);
    for (uint32_t i = 0; i < IFG_WIRE_RINGS; i++)
        ifg_wire_states(client_control)[i] = IFG_WIRE_ACTIVE;
    for (int i = 0; i < 10; i++)
        emit_zone();
    ifg_counter(&counter_here, 1);
    ifg_message(IFG_LEVEL_INFO, "x", 1);
    CHECK(client_ring == NULL);
    CHECK_UINT(client_control->ringless_dropped, 12);
}

/* ---- arguments ---- */

static unsigned seen_count;
static void note_attribute(const struct fake_record *record, void *user)
{
    struct ifg_wire_attribute *last = user;

    seen_count++;
    memcpy(last, record->payload, sizeof *last);
}

static void texts_are_cut_and_may_be_missing(void)
{
    struct ifg_wire_attribute last = { 0 };
    uint64_t nonsense = 0;
    char long_text[3000];
    ifg_zone none = { 0, 0, 0 };
    ifg_zone zone;

    memset(long_text, 'x', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    start(true);
    zone = ifg_zone_begin(&zone_here);
    ifg_zone_text(zone, long_text, SIZE_MAX);
    fake_drain(client_ring, UINT64_MAX, note_attribute, &last, &nonsense);
    CHECK_UINT(last.value_bytes, 1024);
    ifg_zone_name(zone, long_text, 2000);
    fake_drain(client_ring, UINT64_MAX, note_attribute, &last, &nonsense);
    CHECK_UINT(last.value_bytes, 1024);
    ifg_zone_detail_string(zone, long_text, long_text);
    fake_drain(client_ring, UINT64_MAX, note_attribute, &last, &nonsense);
    CHECK_UINT(last.key_bytes, 255);
    CHECK_UINT(last.value_bytes, 1024);
    ifg_zone_text(zone, NULL, SIZE_MAX);
    fake_drain(client_ring, UINT64_MAX, note_attribute, &last, &nonsense);
    CHECK_UINT(last.value_bytes, 0);
    ifg_zone_detail_string(zone, NULL, NULL);
    fake_drain(client_ring, UINT64_MAX, note_attribute, &last, &nonsense);
    CHECK_UINT(last.key_bytes, 0);
    CHECK_UINT(seen_count, 5);
    /* A zone that is not recorded takes no facts. */
    ifg_zone_text(none, "text", SIZE_MAX);
    ifg_zone_value(none, 1);
    ifg_event_load_state(none, IFG_LOAD_COLD);
    CHECK_UINT(fake_drain(client_ring, UINT64_MAX, NULL, NULL, &nonsense), 0);
    ifg_message((enum ifg_level)99, NULL, SIZE_MAX);
    CHECK_UINT(fake_drain(client_ring, UINT64_MAX, NULL, NULL, &nonsense), 1);
    ifg_zone_end(zone);
    CHECK_UINT(nonsense, 0);
}

static void call_everything(void)
{
    ifg_model_options options = { .struct_size = sizeof options, .name = "m" };
    ifg_model *model = ifg_model_create(&options);
    ifg_zone zone = ifg_zone_begin(&zone_here);
    ifg_zone event = ifg_event_begin(model, "f", IFG_LOAD);
    ifg_zone stage = ifg_stage_begin(&stage_here, ifg_request_new());

    ifg_zone_name(zone, "n", SIZE_MAX);
    ifg_zone_text(zone, "t", SIZE_MAX);
    ifg_zone_value(zone, 1);
    ifg_zone_color(zone, 1);
    ifg_zone_detail_string(zone, "k", "v");
    ifg_zone_detail_int(zone, "k", -1);
    ifg_zone_detail_float(zone, "k", 0.5);
    ifg_event_load_state(event, IFG_LOAD_CACHED);
    if (stage.depth)
        ifg_zone_end(stage);
    if (event.depth)
        ifg_zone_end(event);
    if (zone.depth)
        ifg_zone_end(zone);
    ifg_message(IFG_LEVEL_INFO, "m", SIZE_MAX);
    ifg_counter(&counter_here, 1);
    ifg_async_begin(&async_here, 1);
    ifg_async_end(&async_here, 1);
    ifg_flow_begin(&flow_here, 1);
    ifg_flow_step(&flow_here, 1);
    ifg_flow_end(&flow_here, 1);
    ifg_memory_alloc(&pool_here, &pool_here, 1);
    ifg_memory_free(&pool_here, &pool_here);
    ifg_frame(&frame_here);
    ifg_thread_name("thread");
    ifg_model_property(model, "k", "v");
    ifg_event_async_begin(model, "g", IFG_INFERENCE, 1);
    ifg_event_async_end(model, "g", IFG_INFERENCE, 1);
    ifg_model_destroy(model);
    (void)ifg_is_recording();
}

static void errno_is_never_changed(void)
{
    start(true);
    errno = 4711;
    call_everything(); /* first use of everything */
    CHECK_INT(errno, 4711);
    for (int i = 0; i < 200; i++)
        call_everything(); /* until the ring is full */
    CHECK_INT(errno, 4711);
    CHECK(client_ring->dropped > 0);
    client_ring = NULL;
    for (uint32_t i = 0; i < IFG_WIRE_RINGS; i++)
        ifg_wire_states(client_control)[i] = IFG_WIRE_ACTIVE;
    call_everything(); /* no ring */
    CHECK_INT(errno, 4711);
}

static void a_dead_recorder_is_noticed(void)
{
    uint64_t nonsense = 0;

    start(true);
    client_control->recorder_pid = 0x3ffffff; /* larger than any pid */
    for (int i = 0; i < (1 << 20) + (int)SMALL_SLOTS; i++)
        emit_zone();
    CHECK_INT(ifg_is_recording(), 0);
    CHECK_UINT(client_control->recording, 0);
    /* The same while waiting for it. */
    fake_drain(client_ring, UINT64_MAX, NULL, NULL, &nonsense);
    fake_recorder_start();
    client_control->lossless = 1;
    for (unsigned i = 0; i < SMALL_SLOTS + 1; i++)
        emit_zone();
    CHECK_UINT(client_control->recording, 0);
    CHECK_UINT(client_control->lossless, 0);
}

static void nonsense_from_the_consumer_does_no_harm(void)
{
    start(true);
    emit_zone();
    client_ring->tail = UINT64_MAX / 2;
    for (unsigned i = 0; i < 3 * SMALL_SLOTS; i++)
        emit_zone();
    CHECK_UINT(client_ring->depth, 0);
    CHECK_UINT(client_ring->dropped + client_ring->head, 3 * SMALL_SLOTS + 1);
}

TAP_MAIN(TAP_CASE(a_full_ring_drops_and_counts),
         TAP_CASE(a_record_that_does_not_fit_leaves_room_for_a_smaller_one),
         TAP_CASE(long_records_wrap_around_whole), TAP_CASE(a_zone_of_more_than_32_bits_is_whole),
         TAP_CASE(ends_that_do_not_match_are_counted_and_heal),
         TAP_CASE(ten_thousand_nested_zones_all_come_out), TAP_CASE(threads_lose_nothing_uncounted),
         TAP_CASE(lossless_threads_lose_nothing), TAP_CASE(short_threads_recycle_rings),
         TAP_CASE(threads_beyond_the_last_ring_are_counted),
         TAP_CASE(texts_are_cut_and_may_be_missing), TAP_CASE(errno_is_never_changed),
         TAP_CASE(a_dead_recorder_is_noticed), TAP_CASE(nonsense_from_the_consumer_does_no_harm))
