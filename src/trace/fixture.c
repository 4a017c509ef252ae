// SPDX-License-Identifier: Apache-2.0
/* Traces for tests: see fixture.h. */
#include "trace/fixture.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "trace/inputs.h"
#include "trace/writer_internal.h"

#define AT(ticks) (FIXTURE_BASE + (ticks))

/* In the order of their ends: two leaves in a parent, recursion, a zone without length, and two
 * that overlap in ways that nesting cannot explain. */
const struct fixture_zone fixture_zones[FIXTURE_ZONES] = {
    { AT(100), 50, 4 },
    { AT(160), 300, 5 },
    { AT(90), 400, 3 },
    { AT(510), 0, 1 },
    { AT(520), 10, 1 },
    { AT(515), 20, 1 },
    { AT(500), 100, 2 },
    { AT(550), 100, 4 }, /* overlaps the end of the one before */
    { AT(10), 20, 5 },   /* ended long before */
    { AT(0), UINT64_C(1) << 40, 200000 },
};

const char *fixture_path(void)
{
    static char path[4096];
    static unsigned serial;
    const char *directory = getenv("TMPDIR");

    snprintf(path, sizeof path, "%s/ifg-trace-test-%ld-%u.ifg", directory ? directory : "/tmp",
             (long)getpid(), serial++);
    return path;
}

uint8_t *fixture_read(const char *path, size_t *out_size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    uint8_t *data = NULL;
    struct stat info;
    ssize_t got = 0;

    if (fd < 0)
        return NULL;
    if (fstat(fd, &info) == 0) {
        data = ifg_alloc((size_t)info.st_size + 1, 1);
        if (data)
            got = read(fd, data, (size_t)info.st_size);
    }
    close(fd);
    *out_size = got > 0 ? (size_t)got : 0;
    return data;
}

uint8_t *fixture_bytes(size_t *out_size)
{
    const char *path = fixture_path();
    uint8_t *data = NULL;

    if (fixture_write(path, NULL) == IFG_OK)
        data = fixture_read(path, out_size);
    unlink(path);
    return data;
}

static void write_tables(struct trace_writer *writer)
{
    static const char arguments[] = "./demo\0--model\0resnet 50.onnx";
    const struct trace_process process = {
        0, 4242, 1, 0, AT(0), "/usr/bin/demo", arguments, sizeof arguments, "/srv/demo"
    };
    const struct trace_model model = { 0,        7,     "resnet",  "/models/resnet.onnx",
                                       "abc123", "ort", "gpu,cpu", "cpu" };

    trace_writer_clock(writer, 0, TRACE_CLOCK_TSC, FIXTURE_CLOCK_HZ, "tsc");
    trace_writer_process(writer, &process);
    trace_writer_thread(writer, 0, 0, 4242, "");
    trace_writer_thread(writer, 1, 0, 4243, "worker \xff");
    trace_writer_thread(writer, 0, 0, 4242, "main");
    for (uint32_t id = 1; id <= 8; id++) {
        char name[16];
        struct trace_location location = { 0,
                                           9 - id,
                                           (enum trace_location_kind)(9 - id),
                                           id == 7 ? TRACE_CATEGORY_INFERENCE : TRACE_CATEGORY_NONE,
                                           0x1ff8000,
                                           10 * id,
                                           id == 7 ? 7 : 0,
                                           name,
                                           "work",
                                           "demo.c" };

        snprintf(name, sizeof name, "place %u", 9 - id);
        trace_writer_location(writer, &location);
    }
    trace_writer_model(writer, &model);
    trace_writer_model_property(writer, 0, 7, "precision", "fp32");
    trace_writer_model_property(writer, 0, 7, "precision", "fp16");
    trace_writer_instrument(writer, "sampling", TRACE_INSTRUMENT_ON, NULL);
    trace_writer_instrument(writer, "gpu", TRACE_INSTRUMENT_UNAVAILABLE, "no driver");
    trace_writer_instrument(writer, "sampling", TRACE_INSTRUMENT_OFF, "asked");
    trace_writer_fact(writer, "host.name", "box");
    trace_writer_fact(writer, "tool.version", "0.1.0");
    trace_writer_loss(writer, 0, "names", 2);
    trace_writer_loss(writer, 0, "names", 3);
}

static void write_clock(struct trace_writer *writer)
{
    static const struct trace_clock_pair pairs[] = {
        { AT(0), 1000000, 1700000000001000000 },
        { AT(2000), 1001000, 1700000000001001000 },
        { AT(6000), 1003000, 1700000000001003000 },
    };

    trace_writer_clock_pairs(writer, 0, pairs, 3);
}

static size_t put_f64(uint8_t *out, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    store_u64(out, bits);
    return sizeof bits;
}

static void write_events(struct trace_stream *stream)
{
    uint8_t payload[64];
    uint8_t *end;
    int64_t number = -12345678901;
    uint64_t size = UINT64_MAX;
    double ratio = 0.25;

    trace_stream_event(stream, TRACE_EVENT_MESSAGE, AT(5), 3, "careful", 7);
    trace_stream_event(stream, TRACE_EVENT_COUNTER, AT(6), 5, payload, put_f64(payload, 1.5));
    end = ifg_varint_write(payload, 77);
    trace_stream_event(stream, TRACE_EVENT_ASYNC_BEGIN, AT(7), 8, payload, (size_t)(end - payload));
    trace_stream_event(stream, TRACE_EVENT_ASYNC_END, AT(9), 8, payload, (size_t)(end - payload));
    end = ifg_varint_write(ifg_varint_write(payload, 0x7fff12345678), 4096);
    trace_stream_event(stream, TRACE_EVENT_ALLOC, AT(8), 6, payload, (size_t)(end - payload));
    end = ifg_varint_write(payload, 0x7fff12345678);
    trace_stream_event(stream, TRACE_EVENT_FREE, AT(10), 6, payload, (size_t)(end - payload));
    trace_stream_event(stream, TRACE_EVENT_FRAME, AT(11), 7, NULL, 0);
    trace_stream_attribute(stream, AT(90), 3, TRACE_VALUE_STRING, "device", 6, "cpu", 3);
    trace_stream_attribute(stream, AT(90), 3, TRACE_VALUE_SIGNED, "value", 5, &number, 8);
    trace_stream_attribute(stream, AT(90), 3, TRACE_VALUE_UNSIGNED, "value", 5, &size, 8);
    trace_stream_attribute(stream, AT(90), 3, TRACE_VALUE_F64, "ratio", 5, &ratio, 8);
}

static void write_streams(struct trace_writer *writer)
{
    static const struct trace_open_zone open[] = { { AT(1000), 2 }, { AT(1100), 3 } };
    struct trace_stream *first = trace_stream_create(writer, 0);
    struct trace_stream *second = trace_stream_create(writer, 1);
    struct trace_stream *third = trace_stream_create(writer, 2); /* of no known thread */
    uint64_t late = 1;

    if (!first || !second || !third)
        return;
    write_events(first);
    for (size_t i = 0; i < FIXTURE_ZONES; i++) {
        if (i == FIXTURE_ZONES - 1)
            trace_stream_attribute(first, AT(0), 200000, TRACE_VALUE_UNSIGNED, "value", 5, &late,
                                   8);
        trace_stream_zone(first, fixture_zones[i].start, fixture_zones[i].duration,
                          fixture_zones[i].location);
    }
    trace_stream_set_dropped(first, FIXTURE_DROPPED);
    trace_stream_flush(first, open, 2, AT(1200));
    trace_stream_zone(first, AT(900), 500, 1); /* its children are in the block before */
    trace_stream_flush(second, open, 0, AT(1300));
    trace_stream_zone(third, AT(1), 2, 4);
}

enum ifg_status fixture_write(const char *path, struct ifg_error *err)
{
    struct trace_output *output;
    enum ifg_status status = trace_output_file(path, true, 0, &output, err);

    return status ? status : fixture_write_on(output, err);
}

enum ifg_status fixture_write_on(struct trace_output *output, struct ifg_error *err)
{
    struct trace_identity identity = { .created_realtime_ns = FIXTURE_CREATED };
    struct trace_writer *writer;
    enum ifg_status status;

    for (size_t i = 0; i < sizeof identity.trace_id; i++)
        identity.trace_id[i] = (uint8_t)(i * 17);
    status = trace_writer_create_as(output, &identity, &writer, err);
    if (status)
        return status;
    write_tables(writer);
    write_clock(writer);
    write_streams(writer);
    trace_writer_process_end(writer, 0, AT(5000), TRACE_FATE_KILLED, 11);
    return trace_writer_close(writer, err);
}

bool fixture_forge_init(struct forge *forge)
{
    struct trace_identity identity = { .created_realtime_ns = FIXTURE_CREATED };
    uint8_t header[TRACE_FILE_HEADER_BYTES];

    memset(forge, 0, sizeof *forge);
    ifg_bytes_init(&forge->file, 64u << 20);
    ifg_bytes_init(&forge->index.bytes, 1u << 20);
    trace_file_header_put(header, &identity);
    ifg_bytes_put(&forge->file, header, sizeof header);
    return trace_packer_init(&forge->packer) == IFG_OK && !forge->file.failed;
}

void fixture_forge_fini(struct forge *forge)
{
    ifg_bytes_fini(&forge->file);
    ifg_bytes_fini(&forge->index.bytes);
    trace_packer_fini(&forge->packer);
}

bool fixture_forge_payload(struct forge *forge, struct trace_block_head head, const void *payload,
                           size_t size)
{
    uint8_t header[TRACE_BLOCK_HEADER_BYTES];

    head.payload_bytes = (uint32_t)size;
    head.payload_crc = trace_crc(payload, size);
    head.sequence = forge->sequence++;
    trace_block_head_put(header, &head);
    trace_index_add(&forge->index, &head, forge->file.size);
    ifg_bytes_put(&forge->file, header, sizeof header);
    ifg_bytes_put(&forge->file, payload, size);
    return !forge->file.failed;
}

bool fixture_forge_block(struct forge *forge, struct trace_block_head head,
                         const struct trace_column *columns, size_t count)
{
    if (trace_pack(&forge->packer, &head, columns, count))
        return false;
    return fixture_forge_payload(forge, head, forge->packer.data + TRACE_BLOCK_HEADER_BYTES,
                                 forge->packer.size - TRACE_BLOCK_HEADER_BYTES);
}

bool fixture_forge_footer(struct forge *forge, const void *definitions, size_t size)
{
    struct trace_block_head head = { .type = TRACE_BLOCK_FOOTER };
    struct ifg_bytes index = forge->index.bytes;
    struct trace_column columns[FOOTER_COLUMNS] = { { index.data, index.size },
                                                    { definitions, size } };
    uint64_t blocks = forge->sequence;
    uint64_t offset = forge->file.size;
    uint8_t trailer[TRACE_TRAILER_BYTES];

    /* The index must not change while it is packed: the footer is not in it. */
    if (trace_pack(&forge->packer, &head, columns, FOOTER_COLUMNS) ||
        !fixture_forge_payload(forge, head, forge->packer.data + TRACE_BLOCK_HEADER_BYTES,
                               forge->packer.size - TRACE_BLOCK_HEADER_BYTES))
        return false;
    trace_trailer_put(trailer, offset, forge->file.size, blocks);
    ifg_bytes_put(&forge->file, trailer, sizeof trailer);
    return !forge->file.failed;
}

static void write_point(struct trace_stream *stream, enum trace_event_kind kind, uint64_t ticks,
                        uint64_t id, unsigned flags)
{
    uint8_t payload[2 * IFG_VARINT_MAX];
    uint8_t *end = ifg_varint_write(payload, id);

    if (flags)
        end = ifg_varint_write(end, flags);
    trace_stream_event(stream, kind, ticks, 2, payload, (size_t)(end - payload));
}

static void write_flow_streams(struct trace_writer *writer)
{
    struct trace_stream *first = trace_stream_create(writer, 0);
    struct trace_stream *second = trace_stream_create(writer, 1);

    if (!first || !second)
        return;
    write_point(first, TRACE_EVENT_FLOW_BEGIN, AT(10), 7, 0);
    write_point(first, TRACE_EVENT_FLOW_STEP, AT(20), 7, 0);
    write_point(first, TRACE_EVENT_FLOW_END, AT(30), 7, 0);
    write_point(first, TRACE_EVENT_FLOW_BEGIN, AT(40), UINT64_MAX, TRACE_FLOW_WORLD);
    trace_stream_zone(first, AT(0), 100, 1);
    write_point(second, TRACE_EVENT_FLOW_END, AT(110), UINT64_MAX,
                TRACE_FLOW_NEXT | TRACE_FLOW_WORLD);
    trace_stream_zone(second, AT(120), 100, 1);
}

enum ifg_status fixture_write_flows(const char *path, struct ifg_error *err)
{
    struct trace_identity identity = { .created_realtime_ns = FIXTURE_CREATED };
    struct trace_output *output;
    struct trace_writer *writer;
    enum ifg_status status = trace_output_file(path, true, 0, &output, err);

    if (!status)
        status = trace_writer_create_as(output, &identity, &writer, err);
    if (status)
        return status;
    trace_writer_clock(writer, 0, TRACE_CLOCK_TSC, FIXTURE_CLOCK_HZ, "tsc");
    for (uint32_t i = 0; i < 2; i++) {
        struct trace_process process = { .index = i, .pid = 4242 + i, .program = "/usr/bin/demo" };
        struct trace_location zone = {
            .process = i, .id = 1, .kind = TRACE_LOCATION_ZONE, .name = "work"
        };
        struct trace_location flow = {
            .process = i, .id = 2, .kind = TRACE_LOCATION_FLOW, .name = "job"
        };

        trace_writer_process(writer, &process);
        trace_writer_thread(writer, i, i, 4242 + i, "");
        trace_writer_location(writer, &zone);
        trace_writer_location(writer, &flow);
    }
    write_clock(writer);
    write_flow_streams(writer);
    return trace_writer_close(writer, err);
}

static void write_clocked_streams(struct trace_writer *writer)
{
    static const struct trace_clock_pair device[] = {
        { FIXTURE_DEVICE_BASE, 1000000, 1700000000001000000 },
        { FIXTURE_DEVICE_BASE + 3000, 1001500, 1700000000001001500 },
        { FIXTURE_DEVICE_BASE + 5000, 1003500, 1700000000001003500 },
    };
    struct trace_stream *first = trace_stream_create(writer, 0);
    struct trace_stream *second = trace_stream_create(writer, 1);

    if (!first || !second)
        return;
    trace_stream_set_clock(second, 3);
    trace_writer_thread(writer, 1, 0, 0, "queue 7"); /* its name comes late, its clock stays */
    trace_writer_clock_pairs(writer, 3, device, 3);
    trace_stream_zone(first, AT(1000), 1000, 1);
    trace_stream_event(first, TRACE_EVENT_MESSAGE, AT(1500), 2, "launched", 8);
    trace_stream_zone(second, FIXTURE_DEVICE_BASE + 1000, 3000, 1);
    trace_stream_event(second, TRACE_EVENT_MESSAGE, FIXTURE_DEVICE_BASE + 2000, 2, "kernel", 6);
}

enum ifg_status fixture_write_clocks(const char *path, struct ifg_error *err)
{
    const struct trace_identity identity = { .created_realtime_ns = FIXTURE_CREATED };
    const struct trace_process process = { .pid = 4242, .program = "/usr/bin/demo" };
    const struct trace_location zone = { .id = 1, .kind = TRACE_LOCATION_ZONE, .name = "work" };
    struct trace_output *output;
    struct trace_writer *writer;
    enum ifg_status status = trace_output_file(path, true, 0, &output, err);

    if (!status)
        status = trace_writer_create_as(output, &identity, &writer, err);
    if (status)
        return status;
    trace_writer_clock(writer, 0, TRACE_CLOCK_TSC, FIXTURE_CLOCK_HZ, "tsc");
    trace_writer_clock(writer, 3, TRACE_CLOCK_DEVICE, 2000000000, "gpu 0");
    trace_writer_process(writer, &process);
    trace_writer_thread(writer, 0, 0, 4242, "main");
    trace_writer_thread(writer, 1, 0, 0, "");
    trace_writer_location(writer, &zone);
    write_clock(writer);
    write_clocked_streams(writer);
    return trace_writer_close(writer, err);
}

void fixture_put_inputs(struct trace_writer *writer)
{
    static const float image[6] = { 0, -1, 2, -3, 4, -5 };
    static const int64_t step = 7;
    const struct trace_input_tensor tensors[] = {
        { .name = "image", .type = 1, .rank = 2, .dims = { 2, 3 }, .bytes = sizeof image },
        { .name = "empty", .type = 1, .rank = 2, .dims = { 0, 3 } },
        { .name = "step", .type = 7, .bytes = sizeof step },
    };
    const struct trace_inputs inputs = { .number = 1,
                                         .process = 0,
                                         .tid = 4242,
                                         .location = 1,
                                         .start = FIXTURE_BASE + 100,
                                         .failed = true,
                                         .tensors = tensors,
                                         .tensor_count = 3 };

    trace_writer_input_bytes(writer, 1, 0, 0, image, 16);
    trace_writer_input_bytes(writer, 1, 0, 16, image + 4, 8);
    trace_writer_input_bytes(writer, 1, 2, 0, &step, sizeof step);
    trace_writer_inputs(writer, &inputs);
}

enum ifg_status fixture_write_inputs(const char *path, struct ifg_error *err)
{
    const struct trace_identity identity = { .created_realtime_ns = FIXTURE_CREATED };
    const struct trace_process process = { .pid = 4242, .program = "/usr/bin/demo" };
    const struct trace_location inference = { .id = 1,
                                              .kind = TRACE_LOCATION_ML,
                                              .category = TRACE_CATEGORY_INFERENCE,
                                              .model = 1,
                                              .function = "main" };
    const struct trace_model model = { .id = 1, .name = "resize", .path = "/m/resize.onnx" };
    struct trace_output *output;
    struct trace_writer *writer;
    struct trace_stream *stream;
    enum ifg_status status = trace_output_file(path, true, 0, &output, err);

    if (!status)
        status = trace_writer_create_as(output, &identity, &writer, err);
    if (status)
        return status;
    trace_writer_clock(writer, 0, TRACE_CLOCK_TSC, FIXTURE_CLOCK_HZ, "tsc");
    trace_writer_process(writer, &process);
    trace_writer_thread(writer, 0, 0, 4242, "main");
    trace_writer_model(writer, &model);
    trace_writer_location(writer, &inference);
    write_clock(writer);
    stream = trace_stream_create(writer, 0);
    if (stream) {
        trace_stream_zone(stream, FIXTURE_BASE + 100, 50, 1);
        trace_stream_zone(stream, FIXTURE_BASE + 200, 60, 1);
        trace_stream_destroy(stream);
    }
    fixture_put_inputs(writer);
    return trace_writer_close(writer, err);
}

/* Times of the stream are nanoseconds of a clock that stands 1000 before CLOCK_MONOTONIC. */
static void write_device(struct trace_writer *writer)
{
    static const struct trace_clock_pair pair = { 0, 1000, 1700000000000001000 };
    static const uint64_t correlation = 9;
    struct trace_stream *host = trace_stream_create(writer, 0);
    struct trace_stream *device = trace_stream_create(writer, 1);

    if (!host || !device)
        return;
    trace_stream_set_clock(device, 3);
    trace_writer_clock_pairs(writer, 3, &pair, 1);
    trace_stream_attribute(host, FIXTURE_BASE + 100, 1, TRACE_VALUE_UNSIGNED, "correlation", 11,
                           &correlation, sizeof correlation);
    trace_stream_event(host, TRACE_EVENT_FLOW_BEGIN, FIXTURE_BASE + 100, 3, "\11", 1);
    trace_stream_zone(host, FIXTURE_BASE + 100, 50, 1);
    trace_stream_attribute(device, 2000000, 2, TRACE_VALUE_UNSIGNED, "correlation", 11,
                           &correlation, sizeof correlation);
    trace_stream_event(device, TRACE_EVENT_FLOW_END, 2000000, 3, "\11", 1);
    trace_stream_zone(device, 2000000, 7000, 2);
}

enum ifg_status fixture_write_device(const char *path, struct ifg_error *err)
{
    static const struct trace_location locations[] = {
        { .id = 1, .kind = TRACE_LOCATION_DRIVER, .name = "cuLaunchKernel", .function = "kernel" },
        { .id = 2, .kind = TRACE_LOCATION_DEVICE, .name = "relu(float*)", .function = "kernel" },
        { .id = 3, .kind = TRACE_LOCATION_FLOW, .name = "launch" },
    };
    static const struct trace_device_stream stream = { .thread = 1,
                                                       .device = 2,
                                                       .context = 1,
                                                       .stream = 7,
                                                       .api = "CUDA",
                                                       .name = "Test GPU",
                                                       .device_id = "GPU-01" };
    const struct trace_identity identity = { .created_realtime_ns = FIXTURE_CREATED };
    const struct trace_process process = { .pid = 4242, .program = "/usr/bin/demo" };
    struct trace_output *output;
    struct trace_writer *writer;
    enum ifg_status status = trace_output_file(path, true, 0, &output, err);

    if (!status)
        status = trace_writer_create_as(output, &identity, &writer, err);
    if (status)
        return status;
    trace_writer_clock(writer, 0, TRACE_CLOCK_TSC, FIXTURE_CLOCK_HZ, "tsc");
    trace_writer_clock(writer, 3, TRACE_CLOCK_DEVICE, 1000000000, "CUDA");
    trace_writer_process(writer, &process);
    trace_writer_thread(writer, 0, 0, 4242, "main");
    trace_writer_device_stream(writer, &stream);
    trace_writer_thread(writer, 1, 0, 0, "GPU 2 stream 7"); /* comes late, what it is stays */
    for (size_t i = 0; i < sizeof locations / sizeof locations[0]; i++)
        trace_writer_location(writer, &locations[i]);
    write_clock(writer);
    write_device(writer);
    return trace_writer_close(writer, err);
}
