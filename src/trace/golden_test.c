// SPDX-License-Identifier: Apache-2.0
/*
 * The stored traces of formats 1.0 and 1.1 read as they did on the day they were made, value by
 * value.
 *
 * golden_test --update-golden [FILE] writes the first anew; only right before 1.0 is released,
 * never after. --update-golden-flows [FILE] does so with what 1.1 brought.
 */
#include <stdio.h>

#include "base/alloc.h"
#include "tap.h"
#include "trace/fixture.h"
#include "trace/inputs.h"

static struct trace_reader *open_file(const char *path)
{
    struct trace_reader *reader = NULL;
    struct ifg_error err = { 0 };

    if (trace_reader_open(path, &reader, &err))
        tap_diag("%s", err.message);
    REQUIRE(reader != NULL);
    return reader;
}

static struct trace_reader *open_golden(void)
{
    return open_file(TRACE_GOLDEN);
}

static void file_header(void)
{
    struct trace_reader *reader = open_golden();
    const struct trace_file_info *info = trace_reader_file(reader);

    CHECK_UINT(info->major, 1);
    CHECK_UINT(info->minor, 0);
    CHECK_UINT(info->created_realtime_ns, FIXTURE_CREATED);
    for (size_t i = 0; i < sizeof info->trace_id; i++)
        CHECK_UINT(info->trace_id[i], (uint8_t)(i * 17));
    CHECK(info->finished);
    CHECK_UINT(info->skipped_bytes, 0);
    CHECK_UINT(info->damaged_blocks, 0);
    trace_reader_close(reader);
}

static void processes_threads_clocks(void)
{
    struct trace_reader *reader = open_golden();
    const struct trace_tables *tables = trace_reader_tables(reader);

    REQUIRE_UINT(tables->process_count, 1);
    CHECK_UINT(tables->processes[0].pid, 4242);
    CHECK_UINT(tables->processes[0].parent_pid, 1);
    CHECK_UINT(tables->processes[0].clock, 0);
    CHECK_UINT(tables->processes[0].start_ticks, FIXTURE_BASE);
    CHECK_STR(tables->processes[0].program, "/usr/bin/demo");
    CHECK_STR(tables->processes[0].arguments, "./demo --model resnet 50.onnx");
    CHECK_STR(tables->processes[0].directory, "/srv/demo");
    CHECK(tables->processes[0].ended);
    CHECK_UINT(tables->processes[0].end_ticks, FIXTURE_BASE + 5000);
    CHECK_INT(tables->processes[0].fate, TRACE_FATE_KILLED);
    CHECK_UINT(tables->processes[0].fate_code, 11);
    REQUIRE_UINT(tables->thread_count, FIXTURE_THREADS);
    CHECK_STR(tables->threads[0].name, "main");
    CHECK_UINT(tables->threads[0].tid, 4242);
    CHECK_STR(tables->threads[1].name, "worker \xef\xbf\xbd");
    CHECK_UINT(tables->threads[1].tid, 4243);
    CHECK_STR(tables->threads[2].name, "");
    REQUIRE_UINT(tables->clock_count, 1);
    CHECK_INT(tables->clocks[0].kind, TRACE_CLOCK_TSC);
    CHECK_UINT(tables->clocks[0].nominal_hz, FIXTURE_CLOCK_HZ);
    CHECK_STR(tables->clocks[0].name, "tsc");
    CHECK_UINT(trace_clock_to_ns(reader, 0, FIXTURE_BASE), 1000000);
    CHECK_UINT(trace_clock_to_ns(reader, 0, FIXTURE_BASE + 1000), 1000500);
    CHECK_UINT(trace_clock_to_ns(reader, 0, FIXTURE_BASE + 4000), 1002000);
    CHECK_UINT(trace_clock_to_ns(reader, 0, FIXTURE_BASE + 8000), 1004000);
    CHECK_INT(trace_realtime_offset_ns(reader), 1700000000000000000);
    trace_reader_close(reader);
}

static void locations_and_models(void)
{
    struct trace_reader *reader = open_golden();
    const struct trace_tables *tables = trace_reader_tables(reader);

    REQUIRE_UINT(tables->location_count, 8);
    for (uint32_t id = 1; id <= 8; id++) {
        const struct trace_location *location = trace_find_location(tables, 0, id);
        char name[16];

        snprintf(name, sizeof name, "place %u", id);
        REQUIRE(location == &tables->locations[id - 1]);
        CHECK_UINT(location->process, 0);
        CHECK_UINT(location->id, id);
        CHECK_UINT(location->kind, id);
        CHECK_UINT(location->category, id == 2 ? TRACE_CATEGORY_INFERENCE : 0);
        CHECK_UINT(location->color, 0x1ff8000);
        CHECK_UINT(location->line, 10 * (9 - id));
        CHECK_UINT(location->model, id == 2 ? 7 : 0);
        CHECK_STR(location->name, name);
        CHECK_STR(location->function, "work");
        CHECK_STR(location->file, "demo.c");
    }
    CHECK(trace_find_location(tables, 0, 9) == NULL);
    REQUIRE_UINT(tables->model_count, 1);
    REQUIRE(trace_find_model(tables, 0, 7) == &tables->models[0]);
    CHECK(trace_find_model(tables, 1, 7) == NULL);
    CHECK_STR(tables->models[0].name, "resnet");
    CHECK_STR(tables->models[0].path, "/models/resnet.onnx");
    CHECK_STR(tables->models[0].content_id, "abc123");
    CHECK_STR(tables->models[0].runtime, "ort");
    CHECK_STR(tables->models[0].requested_devices, "gpu,cpu");
    CHECK_STR(tables->models[0].actual_devices, "cpu");
    REQUIRE_UINT(tables->property_count, 1);
    CHECK_UINT(tables->properties[0].model, 7);
    CHECK_STR(tables->properties[0].key, "precision");
    CHECK_STR(tables->properties[0].value, "fp16");
    trace_reader_close(reader);
}

static void instruments_facts_losses(void)
{
    struct trace_reader *reader = open_golden();
    const struct trace_tables *tables = trace_reader_tables(reader);

    REQUIRE_UINT(tables->instrument_count, 2);
    CHECK_STR(tables->instruments[0].name, "sampling");
    CHECK_INT(tables->instruments[0].state, TRACE_INSTRUMENT_OFF);
    CHECK_STR(tables->instruments[0].reason, "asked");
    CHECK_STR(tables->instruments[1].name, "gpu");
    CHECK_INT(tables->instruments[1].state, TRACE_INSTRUMENT_UNAVAILABLE);
    CHECK_STR(tables->instruments[1].reason, "no driver");
    REQUIRE_UINT(tables->fact_count, 2);
    CHECK_STR(trace_find_fact(tables, "host.name"), "box");
    CHECK_STR(trace_find_fact(tables, "tool.version"), "0.1.0");
    CHECK(trace_find_fact(tables, "host") == NULL);
    REQUIRE_UINT(tables->loss_count, 1);
    CHECK_UINT(tables->losses[0].process, 0);
    CHECK_STR(tables->losses[0].what, "names");
    CHECK_UINT(tables->losses[0].count, 3);
    trace_reader_close(reader);
}

/* The block of a type and stream, counted from 0. */
static size_t find_block(const struct trace_reader *reader, enum trace_block_type type,
                         uint32_t stream, size_t number)
{
    for (size_t i = 0; i < trace_reader_block_count(reader); i++) {
        const struct trace_block *block = trace_reader_block(reader, i);

        if (block->type == type && block->stream == stream && number-- == 0)
            return i;
    }
    tap_diag("no block of type %d for stream %u", (int)type, stream);
    tap_end_case();
}

static void zones_of_every_shape(void)
{
    struct trace_reader *reader = open_golden();
    struct trace_zones zones = { 0 };
    size_t index = find_block(reader, TRACE_BLOCK_ZONES, 0, 0);
    const struct trace_block *block = trace_reader_block(reader, index);

    CHECK_UINT(block->t0, FIXTURE_BASE);
    CHECK_UINT(block->t1, FIXTURE_BASE + (UINT64_C(1) << 40));
    CHECK_UINT(block->dropped, FIXTURE_DROPPED);
    REQUIRE_INT(trace_decode_zones(reader, index, &zones, NULL), IFG_OK);
    REQUIRE_UINT(zones.count, FIXTURE_ZONES);
    CHECK_UINT(zones.first_zone, 0);
    for (size_t i = 0; i < FIXTURE_ZONES; i++) {
        CHECK_UINT(zones.starts[i], fixture_zones[i].start);
        CHECK_UINT(zones.durations[i], fixture_zones[i].duration);
        CHECK_UINT(zones.locations[i], fixture_zones[i].location);
    }
    CHECK(zones.has_open);
    CHECK_UINT(zones.open_as_of, FIXTURE_BASE + 1200);
    REQUIRE_UINT(zones.open_count, 2);
    CHECK_UINT(zones.open_starts[0], FIXTURE_BASE + 1000);
    CHECK_UINT(zones.open_starts[1], FIXTURE_BASE + 1100);
    CHECK_UINT(zones.open_locations[0], 2);
    CHECK_UINT(zones.open_locations[1], 3);
    REQUIRE_INT(
        trace_decode_zones(reader, find_block(reader, TRACE_BLOCK_ZONES, 0, 1), &zones, NULL),
        IFG_OK);
    REQUIRE_UINT(zones.count, 1);
    CHECK_UINT(zones.first_zone, FIXTURE_ZONES);
    CHECK_UINT(zones.starts[0], FIXTURE_BASE + 900);
    CHECK_UINT(zones.durations[0], 500);
    CHECK(!zones.has_open);
    REQUIRE_INT(
        trace_decode_zones(reader, find_block(reader, TRACE_BLOCK_ZONES, 1, 0), &zones, NULL),
        IFG_OK);
    CHECK_UINT(zones.count, 0);
    CHECK(zones.has_open);
    CHECK_UINT(zones.open_count, 0);
    CHECK_UINT(zones.open_as_of, FIXTURE_BASE + 1300);
    trace_zones_fini(&zones);
    trace_reader_close(reader);
}

static void events_of_every_kind(void)
{
    static const struct {
        enum trace_event_kind kind;
        uint64_t ticks;
        uint32_t reference;
        size_t bytes;
        const char *payload;
    } expected[] = {
        { TRACE_EVENT_MESSAGE, 5, 3, 7, "careful" },
        { TRACE_EVENT_COUNTER, 6, 5, 8, "\0\0\0\0\0\0\xf8\x3f" },
        { TRACE_EVENT_ASYNC_BEGIN, 7, 8, 1, "M" },
        { TRACE_EVENT_ASYNC_END, 9, 8, 1, "M" },
        { TRACE_EVENT_ALLOC, 8, 6, 9, "\xf8\xac\xd1\x91\xf1\xff\x1f\x80\x20" },
        { TRACE_EVENT_FREE, 10, 6, 7, "\xf8\xac\xd1\x91\xf1\xff\x1f" },
        { TRACE_EVENT_FRAME, 11, 7, 0, "" },
    };
    enum { PLAIN = sizeof expected / sizeof expected[0] };
    struct trace_reader *reader = open_golden();
    struct trace_events events = { 0 };
    struct trace_attribute attribute;
    size_t index = find_block(reader, TRACE_BLOCK_EVENTS, 0, 0);

    REQUIRE_INT(trace_decode_events(reader, index, &events, NULL), IFG_OK);
    REQUIRE_UINT(events.count, PLAIN + 5);
    for (size_t i = 0; i < PLAIN; i++) {
        CHECK_INT(events.events[i].kind, expected[i].kind);
        CHECK_UINT(events.events[i].ticks, FIXTURE_BASE + expected[i].ticks);
        CHECK_UINT(events.events[i].reference, expected[i].reference);
        REQUIRE_UINT(events.events[i].payload_bytes, expected[i].bytes);
        CHECK_BYTES(events.events[i].payload, expected[i].payload, expected[i].bytes);
        CHECK_INT(trace_parse_attribute(&events.events[i], &attribute), IFG_CORRUPT);
    }
    REQUIRE_INT(trace_parse_attribute(&events.events[PLAIN], &attribute), IFG_OK);
    CHECK_UINT(attribute.zone_start, FIXTURE_BASE + 90);
    CHECK_UINT(attribute.zone_location, 3);
    CHECK_UINT(attribute.first_zone, 0);
    CHECK_INT(attribute.type, TRACE_VALUE_STRING);
    REQUIRE_UINT(attribute.key_bytes, 6);
    CHECK_BYTES(attribute.key, "device", 6);
    REQUIRE_UINT(attribute.text_bytes, 3);
    CHECK_BYTES(attribute.text, "cpu", 3);
    REQUIRE_INT(trace_parse_attribute(&events.events[PLAIN + 1], &attribute), IFG_OK);
    CHECK_INT(attribute.type, TRACE_VALUE_SIGNED);
    CHECK_INT(attribute.signed_value, -12345678901);
    REQUIRE_INT(trace_parse_attribute(&events.events[PLAIN + 2], &attribute), IFG_OK);
    CHECK_INT(attribute.type, TRACE_VALUE_UNSIGNED);
    CHECK_UINT(attribute.unsigned_value, UINT64_MAX);
    CHECK_BYTES(attribute.key, "value", 5);
    REQUIRE_INT(trace_parse_attribute(&events.events[PLAIN + 3], &attribute), IFG_OK);
    CHECK_INT(attribute.type, TRACE_VALUE_F64);
    CHECK(attribute.f64_value == 0.25);
    REQUIRE_INT(trace_parse_attribute(&events.events[PLAIN + 4], &attribute), IFG_OK);
    CHECK_UINT(attribute.first_zone, FIXTURE_ZONES - 1);
    CHECK_UINT(attribute.zone_location, 200000);
    CHECK_UINT(attribute.unsigned_value, 1);
    trace_events_fini(&events);
    trace_reader_close(reader);
}

static void flows_of_minor_1(void)
{
    static const struct {
        enum trace_event_kind kind;
        uint64_t ticks;
        size_t bytes;
        const char *payload;
    } expected[] = {
        { TRACE_EVENT_FLOW_BEGIN, 10, 1, "\7" },
        { TRACE_EVENT_FLOW_STEP, 20, 1, "\7" },
        { TRACE_EVENT_FLOW_END, 30, 1, "\7" },
        { TRACE_EVENT_FLOW_BEGIN, 40, 11, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\1\2" },
        { TRACE_EVENT_FLOW_END, 110, 11, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\1\3" },
    };
    struct trace_reader *reader = open_file(TRACE_GOLDEN_FLOWS);
    const struct trace_tables *tables = trace_reader_tables(reader);
    struct trace_events events = { 0 };

    CHECK_UINT(trace_reader_file(reader)->major, 1);
    CHECK_UINT(trace_reader_file(reader)->minor, 1);
    CHECK(trace_reader_file(reader)->finished);
    REQUIRE(trace_find_location(tables, 1, 2) != NULL);
    CHECK_INT(trace_find_location(tables, 1, 2)->kind, TRACE_LOCATION_FLOW);
    for (size_t i = 0; i < 5; i++) {
        size_t block = find_block(reader, TRACE_BLOCK_EVENTS, i == 4, 0);
        const struct trace_event *event;

        REQUIRE_INT(trace_decode_events(reader, block, &events, NULL), IFG_OK);
        REQUIRE_UINT(events.count, i == 4 ? 1 : 4);
        event = &events.events[i == 4 ? 0 : i];
        CHECK_INT(event->kind, expected[i].kind);
        CHECK_UINT(event->ticks, FIXTURE_BASE + expected[i].ticks);
        CHECK_UINT(event->reference, 2);
        REQUIRE_UINT(event->payload_bytes, expected[i].bytes);
        CHECK_BYTES(event->payload, expected[i].payload, expected[i].bytes);
    }
    trace_events_fini(&events);
    trace_reader_close(reader);
}

static void clocks_of_minor_2(void)
{
    struct trace_reader *reader = open_file(TRACE_GOLDEN_CLOCKS);
    const struct trace_tables *tables = trace_reader_tables(reader);
    struct trace_events events = { 0 };
    struct trace_zones zones = { 0 };
    struct trace_clock_rate rate = trace_clock_rate(reader, 3);

    CHECK_UINT(trace_reader_file(reader)->major, 1);
    CHECK_UINT(trace_reader_file(reader)->minor, 2);
    CHECK(trace_reader_file(reader)->finished);
    REQUIRE_UINT(tables->clock_count, 4);
    CHECK_INT(tables->clocks[3].kind, TRACE_CLOCK_DEVICE);
    CHECK_STR(tables->clocks[3].name, "gpu 0");
    REQUIRE_UINT(tables->thread_count, 2);
    CHECK_STR(tables->threads[1].name, "queue 7");
    CHECK_UINT(trace_thread_clock(tables, 0), 0);
    CHECK_UINT(trace_thread_clock(tables, 1), 3);
    CHECK_UINT(rate.pairs, 3);
    CHECK_UINT(rate.contradictions, 0);
    CHECK(rate.hz > 1428571428 && rate.hz < 1428571429);
    REQUIRE_INT(
        trace_decode_zones(reader, find_block(reader, TRACE_BLOCK_ZONES, 1, 0), &zones, NULL),
        IFG_OK);
    REQUIRE_UINT(zones.count, 1);
    CHECK_UINT(trace_clock_to_ns(reader, 3, zones.starts[0]), 1000500);
    CHECK_UINT(trace_clock_to_ns(reader, 3, zones.starts[0] + zones.durations[0]), 1002500);
    REQUIRE_INT(
        trace_decode_events(reader, find_block(reader, TRACE_BLOCK_EVENTS, 1, 0), &events, NULL),
        IFG_OK);
    REQUIRE_UINT(events.count, 1);
    CHECK_UINT(trace_clock_to_ns(reader, 3, events.events[0].ticks), 1001000);
    trace_zones_fini(&zones);
    trace_events_fini(&events);
    trace_reader_close(reader);
}

static enum ifg_status add_part(size_t tensor, const void *data, size_t bytes, void *user,
                                struct ifg_error *err)
{
    struct ifg_bytes *all = user;

    (void)err;
    ifg_bytes_put_varint(all, tensor);
    ifg_bytes_put(all, data, bytes);
    return IFG_OK;
}

static void inputs_of_minor_3(void)
{
    static const uint8_t expected[] = { 0,    0,    0, 0,    0,    0, 0, 0x80, 0xbf, 0,    0, 0,
                                        0x40, 0,    0, 0x40, 0xc0, 0, 0, 0,    0x80, 0x40, 0, 0,
                                        0xa0, 0xc0, 2, 7,    0,    0, 0, 0,    0,    0,    0 };
    struct trace_reader *reader = open_file(TRACE_GOLDEN_INPUTS);
    struct trace_input_list list;
    struct ifg_bytes all;

    CHECK_UINT(trace_reader_file(reader)->major, 1);
    CHECK_UINT(trace_reader_file(reader)->minor, 3);
    REQUIRE_INT(trace_inputs_read(reader, &list, NULL), IFG_OK);
    CHECK_UINT(list.damaged, 0);
    REQUIRE_UINT(list.count, 1);
    CHECK_UINT(list.items[0].tid, 4242);
    CHECK_UINT(list.items[0].location, 1);
    CHECK_UINT(list.items[0].start, FIXTURE_BASE + 100);
    CHECK(list.items[0].failed);
    REQUIRE_UINT(list.items[0].tensor_count, 3);
    CHECK_STR(list.items[0].tensors[0].name, "image");
    CHECK_UINT(list.items[0].tensors[0].rank, 2);
    CHECK_INT(list.items[0].tensors[0].dims[1], 3);
    CHECK_UINT(list.items[0].tensors[1].bytes, 0);
    CHECK_UINT(list.items[0].tensors[2].type, 7);
    ifg_bytes_init(&all, 4096);
    REQUIRE_INT(trace_inputs_each_part(reader, &list.items[0], add_part, &all, NULL), IFG_OK);
    REQUIRE_UINT(all.size, sizeof expected);
    CHECK_BYTES(all.data, expected, sizeof expected);
    ifg_bytes_fini(&all);
    trace_inputs_fini(&list);
    trace_reader_close(reader);
}

static bool write_file(const char *directory, const char *name, const uint8_t *data, size_t size)
{
    char path[4096];
    FILE *file;
    bool good;

    snprintf(path, sizeof path, "%s/%s", directory, name);
    file = fopen(path, "wb");
    if (!file)
        return false;
    good = fwrite(data, 1, size, file) == size;
    return fclose(file) == 0 && good;
}

/* The blocks of a trace as the list that reader_fuzz.c understands. */
static void list_blocks(const uint8_t *data, size_t end, uint8_t mode, struct ifg_bytes *out)
{
    struct trace_unpacker unpacker = { 0 };
    size_t at = TRACE_FILE_HEADER_BYTES;
    struct trace_block_head head;

    ifg_bytes_put(out, &mode, 1);
    while (at < end && trace_block_head_get(data + at, &head)) {
        uint8_t start[4] = { (uint8_t)head.type, (uint8_t)head.stream, (uint8_t)head.count };

        at += TRACE_BLOCK_HEADER_BYTES;
        if (trace_unpack(&unpacker, head.type, data + at, head.payload_bytes))
            break;
        start[3] = (uint8_t)unpacker.count;
        ifg_bytes_put(out, start, sizeof start);
        for (size_t i = 0; i < unpacker.count; i++) {
            size_t size = unpacker.sizes[i];
            uint8_t column[3] = { mode == 'F' ? 2 : 0, (uint8_t)size, (uint8_t)(size >> 8) };

            ifg_bytes_put(out, column, sizeof column);
            ifg_bytes_put(out, unpacker.columns[i], size);
        }
        at += head.payload_bytes;
    }
    trace_unpacker_fini(&unpacker);
}

static bool write_corpus(const char *directory)
{
    static const uint8_t modes[] = { 'B', 'F' };
    size_t size = 0;
    uint8_t *data = fixture_bytes(&size);
    size_t footer;
    bool good;

    if (!data || size < TRACE_TRAILER_BYTES)
        return false;
    footer = (size_t)load_u64(data + size - TRACE_TRAILER_BYTES);
    good = write_file(directory, "finished.ifg", data, size) &&
           write_file(directory, "unfinished.ifg", data, footer) &&
           write_file(directory, "cut.ifg", data, footer - 100) &&
           write_file(directory, "header.ifg", data, TRACE_FILE_HEADER_BYTES);
    for (size_t i = 0; i < sizeof modes; i++) {
        struct ifg_bytes blocks;

        ifg_bytes_init(&blocks, 1u << 20);
        list_blocks(data, footer, modes[i], &blocks);
        good = good && write_file(directory, modes[i] == 'B' ? "blocks" : "blocks_and_footer",
                                  blocks.data, blocks.size);
        ifg_bytes_fini(&blocks);
    }
    ifg_free(data);
    return good;
}

static void device_of_minor_4(void)
{
    struct trace_reader *reader = open_file(TRACE_GOLDEN_DEVICE);
    const struct trace_tables *tables = trace_reader_tables(reader);
    struct trace_zones zones = { 0 };

    CHECK_UINT(trace_reader_file(reader)->major, 1);
    CHECK_UINT(trace_reader_file(reader)->minor, 4);
    CHECK(trace_reader_file(reader)->finished);
    REQUIRE_UINT(tables->thread_count, 2);
    CHECK(!tables->threads[0].is_device);
    REQUIRE(tables->threads[1].is_device);
    CHECK_STR(tables->threads[1].name, "GPU 2 stream 7");
    CHECK_UINT(tables->threads[1].device.thread, 1);
    CHECK_UINT(tables->threads[1].device.device, 2);
    CHECK_UINT(tables->threads[1].device.context, 1);
    CHECK_UINT(tables->threads[1].device.stream, 7);
    CHECK_STR(tables->threads[1].device.api, "CUDA");
    CHECK_STR(tables->threads[1].device.name, "Test GPU");
    CHECK_STR(tables->threads[1].device.device_id, "GPU-01");
    REQUIRE_UINT(tables->location_count, 3);
    CHECK_INT(tables->locations[0].kind, TRACE_LOCATION_DRIVER);
    CHECK_INT(tables->locations[1].kind, TRACE_LOCATION_DEVICE);
    CHECK_STR(tables->locations[1].function, "kernel");
    REQUIRE_INT(
        trace_decode_zones(reader, find_block(reader, TRACE_BLOCK_ZONES, 1, 0), &zones, NULL),
        IFG_OK);
    REQUIRE_UINT(zones.count, 1);
    CHECK_UINT(trace_clock_to_ns(reader, 3, zones.starts[0]), 2001000);
    CHECK_UINT(zones.durations[0], 7000);
    trace_zones_fini(&zones);
    trace_reader_close(reader);
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        TAP_CASE(file_header),          TAP_CASE(processes_threads_clocks),
        TAP_CASE(locations_and_models), TAP_CASE(instruments_facts_losses),
        TAP_CASE(zones_of_every_shape), TAP_CASE(events_of_every_kind),
        TAP_CASE(flows_of_minor_1),     TAP_CASE(clocks_of_minor_2),
        TAP_CASE(inputs_of_minor_3),    TAP_CASE(device_of_minor_4),
    };

    if (argc > 1 && strncmp(argv[1], "--update-golden", 15) == 0) {
        static const struct {
            const char *option;
            const char *path;
            enum ifg_status (*write)(const char *path, struct ifg_error *err);
        } files[] = {
            { "--update-golden", TRACE_GOLDEN, fixture_write },
            { "--update-golden-flows", TRACE_GOLDEN_FLOWS, fixture_write_flows },
            { "--update-golden-clocks", TRACE_GOLDEN_CLOCKS, fixture_write_clocks },
            { "--update-golden-inputs", TRACE_GOLDEN_INPUTS, fixture_write_inputs },
            { "--update-golden-device", TRACE_GOLDEN_DEVICE, fixture_write_device },
        };
        struct ifg_error err = { 0 };
        size_t i = 0;

        while (i + 1 < sizeof files / sizeof files[0] && strcmp(argv[1], files[i].option) != 0)
            i++;
        if (files[i].write(argc > 2 ? argv[2] : files[i].path, &err)) {
            fprintf(stderr, "%s\n", err.message);
            return 1;
        }
        return 0;
    }
    if (argc > 2 && strcmp(argv[1], "--write-corpus") == 0)
        return write_corpus(argv[2]) ? 0 : 1;
    return tap_run(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
