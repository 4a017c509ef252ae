// SPDX-License-Identifier: Apache-2.0
/* What hooks use: locations made at run time, zones written afterwards, words to the recorder; and
 * flows. */
#include "client/fake_recorder.h"

#include <stdio.h>

#include "tap.h"

struct seen {
    struct fake_record records[16];
    unsigned count;
};

static void keep(const struct fake_record *record, void *user)
{
    struct seen *seen = user;

    if (seen->count < 16)
        seen->records[seen->count++] = *record;
}

static void take_all(struct seen *seen)
{
    uint64_t nonsense = 0;

    seen->count = 0;
    fake_drain(client_ring, 1000, keep, seen, &nonsense);
    CHECK_UINT(nonsense, 0);
}

/* The last entry of a kind: its head word and both strings as one. */
static bool last_pair(uint32_t kind, uint32_t *out_head, char *out_text, size_t size)
{
    const char *log = (const char *)client_control + IFG_WIRE_DEFINITIONS_OFFSET;
    bool found = false;

    for (uint64_t at = 0; at < client_control->definitions_reserved;) {
        const struct ifg_wire_definition *entry = (const void *)(log + at);
        const struct ifg_wire_property *pair = (const void *)(entry + 1);

        if (entry->kind == kind) {
            *out_head = pair->model;
            snprintf(out_text, size, "%.*s", pair->string_bytes[0] + pair->string_bytes[1],
                     (const char *)(pair + 1));
            found = true;
        }
        at += entry->bytes;
    }
    return found;
}

static void a_zone_can_be_written_afterwards(void)
{
    uint32_t location = ifg_location_create(&(ifg_location_options){
        .struct_size = sizeof(ifg_location_options),
        .name = "conv1",
        .function = "Conv",
        .kind = IFG_LOCATION_OPERATOR,
    });
    uint64_t start = ifg_ticks();
    struct seen seen;
    ifg_zone zone;

    fake_recorder_start();
    REQUIRE(location > 1);
    zone = ifg_location_begin_at(location, start);
    CHECK_UINT(zone.start, start);
    ifg_zone_detail_int(zone, "n", 7);
    ifg_zone_end_at(zone, start + 1000);
    REQUIRE(client_ring != NULL);
    CHECK_UINT(client_ring->depth, 0);
    take_all(&seen);
    REQUIRE_UINT(seen.count, 2);
    CHECK_UINT(seen.records[0].kind, IFG_WIRE_ATTRIBUTE);
    CHECK_UINT(seen.records[1].kind, 0);
    CHECK_UINT(seen.records[1].ticks, start);
    CHECK_UINT(seen.records[1].duration, 1000);
    CHECK_UINT(seen.records[1].reference, location);
}

static void odd_times_and_locations_do_no_harm(void)
{
    struct seen seen;
    uint32_t location = ifg_location_create(NULL);

    fake_recorder_start();
    ifg_zone_end_at(ifg_location_begin_at(0, 5), 10);        /* no location: nothing */
    ifg_zone_end_at(ifg_location_begin_at(location, 10), 5); /* ends before it began: empty */
    ifg_zone_end_at(ifg_location_begin_at(location, 0), 1ull << 40); /* long */
    CHECK_UINT(ifg_location_begin(0).depth, 0);
    take_all(&seen);
    REQUIRE_UINT(seen.count, 2);
    CHECK_UINT(seen.records[0].duration, 0);
    CHECK_UINT(seen.records[1].kind, IFG_WIRE_LONG_ZONE);
    CHECK_UINT(fake_u64(&seen.records[1], 0), 1ull << 40);
}

static void a_zone_written_afterwards_leaves_open_ones_alone(void)
{
    uint32_t location = ifg_location_create(NULL);
    struct seen seen;
    ifg_zone open;

    fake_recorder_start();
    open = ifg_location_begin(location);
    ifg_zone_end_at(ifg_location_begin_at(location, open.start), open.start + 1);
    CHECK_UINT(client_ring->depth, 1);
    ifg_zone_end_at(open, open.start + 77); /* an ordinary one whose end was read before */
    CHECK_UINT(client_ring->depth, 0);
    CHECK_UINT(client_ring->unbalanced, 0);
    take_all(&seen);
    REQUIRE_UINT(seen.count, 2);
    CHECK_UINT(seen.records[1].duration, 77);
}

static void a_span_of_another_thread_can_be_written(void)
{
    struct seen seen;
    uint32_t location = ifg_location_create(NULL);

    fake_recorder_start();
    ifg_location_async(0, 1, 2, 3);
    ifg_location_async(location, 9, 100, 200);
    take_all(&seen);
    REQUIRE_UINT(seen.count, 2);
    CHECK_UINT(seen.records[0].kind, IFG_WIRE_ASYNC_BEGIN);
    CHECK_UINT(seen.records[0].ticks, 100);
    CHECK_UINT(seen.records[1].kind, IFG_WIRE_ASYNC_END);
    CHECK_UINT(seen.records[1].ticks, 200);
    CHECK_UINT(fake_u64(&seen.records[1], 0), 9);
}

/* Two slots each, whatever the id; the macros make a location of their own each, with one name. */
static void flows_are_points_with_an_id(void)
{
    static const uint32_t kinds[] = { IFG_WIRE_FLOW_BEGIN, IFG_WIRE_FLOW_STEP, IFG_WIRE_FLOW_END };
    struct seen seen;

    IFG_FLOW_BEGIN("job", 1); /* nobody records */
    fake_recorder_start();
    IFG_FLOW_BEGIN("job", UINT64_MAX);
    IFG_FLOW_STEP("job", UINT64_MAX);
    IFG_FLOW_END("job", UINT64_MAX);
    take_all(&seen);
    REQUIRE_UINT(seen.count, 3);
    for (unsigned i = 0; i < 3; i++) {
        CHECK_UINT(seen.records[i].kind, kinds[i]);
        CHECK_UINT(seen.records[i].payload_bytes, IFG_WIRE_SLOT);
        CHECK_UINT(fake_u64(&seen.records[i], 0), UINT64_MAX);
        CHECK(!i || seen.records[i].ticks >= seen.records[i - 1].ticks);
        CHECK(seen.records[i].reference != 0);
    }
}

static void instruments_and_files_reach_the_log(void)
{
    uint32_t head = 0;
    char text[256];
    ifg_model *model = ifg_model_create(&(ifg_model_options){
        .struct_size = sizeof(ifg_model_options),
        .name = "m",
    });

    ifg_instrument_report("ONNX Runtime 9", IFG_INSTRUMENT_UNAVAILABLE, "unknown table");
    REQUIRE(last_pair(IFG_WIRE_DEFINE_INSTRUMENT, &head, text, sizeof text));
    CHECK_UINT(head, IFG_INSTRUMENT_UNAVAILABLE);
    CHECK_STR(text, "ONNX Runtime 9unknown table");
    ifg_instrument_report(NULL, IFG_INSTRUMENT_ON, NULL);
    ifg_file_hand_over(model, "ort-profile", "/d/file-1");
    REQUIRE(last_pair(IFG_WIRE_DEFINE_FILE, &head, text, sizeof text));
    CHECK_STR(text, "ort-profile/d/file-1");
    CHECK(head >= 2);
    ifg_file_hand_over(NULL, NULL, NULL);
    CHECK_STR(ifg_session_directory(), ""); /* nobody launched this test */
}

TAP_MAIN(TAP_CASE(a_zone_can_be_written_afterwards), TAP_CASE(odd_times_and_locations_do_no_harm),
         TAP_CASE(a_zone_written_afterwards_leaves_open_ones_alone),
         TAP_CASE(a_span_of_another_thread_can_be_written), TAP_CASE(flows_are_points_with_an_id),
         TAP_CASE(instruments_and_files_reach_the_log))
