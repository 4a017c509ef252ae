// SPDX-License-Identifier: Apache-2.0
/*
 * Small files that ask for much memory: forged_traces KIND FILE. Checksums are good; what the file
 * declares is a lie, or is true and compresses to next to nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "trace/fixture.h"

#define MUCH (1u << 20)

static struct forge forge;
static struct ifg_bytes definitions;

static void define(enum trace_definition_kind kind, const uint64_t *numbers, size_t count)
{
    uint8_t fields[16 * IFG_VARINT_MAX];
    uint8_t *at = fields;

    for (size_t i = 0; i < count; i++)
        at = ifg_varint_write(at, numbers[i]);
    ifg_bytes_put_varint(&definitions, (uint64_t)kind);
    ifg_bytes_put_string(&definitions, (const char *)fields, (size_t)(at - fields));
}
#define DEFINE(kind, ...)                                                                          \
    define(kind, (const uint64_t[]){ __VA_ARGS__ },                                                \
           sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

static void put_definitions(void)
{
    struct trace_column column = { definitions.data, definitions.size };

    if (!fixture_forge_block(&forge, (struct trace_block_head){ .type = TRACE_BLOCK_DEFINITIONS },
                             &column, 1))
        abort();
}

/* Columns of zeros: a number for each entry that says "as before". */
static void put_zeros(enum trace_block_type type, uint32_t stream, uint32_t count, size_t columns)
{
    static uint8_t zeros[MUCH + 64];
    struct trace_column all[TRACE_COLUMNS_MAX];

    for (size_t i = 0; i < columns; i++)
        all[i] = (struct trace_column){ zeros, type == TRACE_BLOCK_CLOCK ? MUCH : count + 2u };
    if (type == TRACE_BLOCK_ZONES)
        all[ZONE_CHILDREN].size = all[ZONE_OPEN].size = 0;
    if (!fixture_forge_block(
            &forge,
            (struct trace_block_head){ .type = type, .stream = stream, .count = count, .t1 = 1 },
            all, columns))
        abort();
}

static void put_thread(void)
{
    DEFINE(TRACE_DEF_PROCESS, 0, 1);
    DEFINE(TRACE_DEF_THREAD, 0, 0, 1);
    put_definitions();
}

/* As many zones as a block may hold, again and again. */
static void forge_zones(void)
{
    put_thread();
    while (forge.file.size < 58u << 10)
        put_zeros(TRACE_BLOCK_ZONES, 0, MUCH, ZONE_COLUMNS);
}

static void forge_events(void)
{
    put_thread();
    while (forge.file.size < 58u << 10)
        put_zeros(TRACE_BLOCK_EVENTS, 0, MUCH, EVENT_PAYLOADS + 1);
}

/* The same, in blocks as a writer would make them. */
static void forge_plain_zones(void)
{
    put_thread();
    while (forge.file.size < 58u << 10)
        put_zeros(TRACE_BLOCK_ZONES, 0, TRACE_BLOCK_LIMIT, ZONE_COLUMNS);
}

/* Blocks that claim more zones than anything backs. */
static void forge_counts(void)
{
    uint8_t nothing[4] = { 0 };

    put_thread();
    while (forge.file.size < 58u << 10)
        if (!fixture_forge_payload(&forge,
                                   (struct trace_block_head){
                                       .type = TRACE_BLOCK_ZONES, .count = UINT32_MAX, .t1 = 1 },
                                   nothing, sizeof nothing))
            abort();
}

static void forge_samples(void)
{
    put_thread();
    while (forge.file.size < 58u << 10)
        put_zeros(TRACE_BLOCK_SAMPLES, 0, MUCH, 6);
}

static void forge_switches(void)
{
    put_thread();
    while (forge.file.size < 58u << 10)
        put_zeros(TRACE_BLOCK_SWITCHES, 0, MUCH, 7);
}

static void forge_clocks(void)
{
    put_thread();
    while (forge.file.size < 58u << 10)
        put_zeros(TRACE_BLOCK_CLOCK, 0, MUCH / 3, 1);
}

/* One thread, with the largest number that there is. */
static void forge_threads(void)
{
    DEFINE(TRACE_DEF_PROCESS, 0, 1);
    DEFINE(TRACE_DEF_THREAD, MUCH - 1, 0, 1);
    put_definitions();
    put_zeros(TRACE_BLOCK_ZONES, MUCH - 1, 16, ZONE_COLUMNS);
}

static void forge_processes(void)
{
    DEFINE(TRACE_DEF_PROCESS, MUCH - 1, 1);
    DEFINE(TRACE_DEF_THREAD, 0, MUCH - 1, 1);
    put_definitions();
    put_zeros(TRACE_BLOCK_ZONES, 0, 16, ZONE_COLUMNS);
}

/* The same definition, millions of times. */
static void forge_definitions(void)
{
    DEFINE(TRACE_DEF_PROCESS, 0, 1);
    DEFINE(TRACE_DEF_THREAD, 0, 0, 1);
    while (definitions.size < 15u << 20)
        ifg_bytes_put(&definitions, "\x04\x00\x05\x00\x06\x00\x0a\x00\x09\x00", 10);
    put_definitions();
    put_zeros(TRACE_BLOCK_ZONES, 0, 16, ZONE_COLUMNS);
}

/* Many processes with a location each, whose number is as large as an array may have. */
static void forge_maps(void)
{
    for (uint64_t i = 0; i < 60000; i++) {
        DEFINE(TRACE_DEF_PROCESS, i, 1);
        DEFINE(TRACE_DEF_LOCATION, i, 4095);
    }
    DEFINE(TRACE_DEF_THREAD, 0, 0, 1);
    put_definitions();
    put_zeros(TRACE_BLOCK_ZONES, 0, 16, ZONE_COLUMNS);
}

/* Not small but large: times, counters and facts at the ends of what a number can be. */
static int write_numbers(const char *path)
{
    static const char *const facts[] = { "samples.hz", "samples.taken", "samples.lost",
                                         "samples.count", "samples.on_share" };
    static const double values[] = { 1e300, -1e300, (double)UINT64_MAX, 1e-300 };
    struct trace_process process = { .pid = 1, .program = "/bin/numbers" };
    struct trace_model model = { .id = 1, .name = "net" };
    struct trace_location inference = { .id = 1,
                                        .kind = TRACE_LOCATION_ML,
                                        .category = TRACE_CATEGORY_INFERENCE,
                                        .model = 1,
                                        .function = "main" };
    struct trace_location counter = { .id = 2, .kind = TRACE_LOCATION_COUNTER, .name = "cpu %" };
    struct ifg_error err = { 0 };
    struct trace_writer *writer;
    struct trace_stream *stream;

    if (trace_writer_create(path, true, &writer, &err))
        return 1;
    trace_writer_clock(writer, 0, TRACE_CLOCK_MONOTONIC, 1000000000, "");
    trace_writer_process(writer, &process);
    trace_writer_thread(writer, 0, 0, 1, "");
    trace_writer_model(writer, &model);
    trace_writer_location(writer, &inference);
    trace_writer_location(writer, &counter);
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++)
        trace_writer_fact(writer, facts[i], i % 2 ? "1e300" : "1e-300");
    stream = trace_stream_create(writer, 0);
    if (!stream)
        return 1;
    trace_stream_zone(stream, 10, 10, 1);
    trace_stream_flush(stream, NULL, 0, 0); /* what begins before its block may be longest */
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        trace_stream_event(stream, TRACE_EVENT_COUNTER, (i + 1) << 60, 2, &values[i],
                           sizeof values[i]);
    trace_stream_zone(stream, 1, UINT64_MAX - 1, 1);
    trace_stream_zone(stream, UINT64_MAX - 1, 1, 1);
    return trace_writer_close(writer, &err) != IFG_OK;
}

static const struct {
    const char *name;
    void (*make)(void);
} kinds[] = {
    { "zones", forge_zones },         { "plain-zones", forge_plain_zones },
    { "events", forge_events },       { "counts", forge_counts },
    { "samples", forge_samples },     { "switches", forge_switches },
    { "clocks", forge_clocks },       { "threads", forge_threads },
    { "processes", forge_processes }, { "definitions", forge_definitions },
    { "maps", forge_maps },
};

int main(int argc, char **argv)
{
    FILE *out;

    if (argc == 3 && strcmp(argv[1], "numbers") == 0)
        return write_numbers(argv[2]);
    out = argc == 3 ? fopen(argv[2], "we") : NULL;
    if (!out || !fixture_forge_init(&forge))
        return 2;
    ifg_bytes_init(&definitions, 16u << 20);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(argv[1], kinds[i].name) == 0)
            kinds[i].make();
    if (!forge.sequence || fwrite(forge.file.data, 1, forge.file.size, out) != forge.file.size ||
        fclose(out) != 0)
        return 1;
    ifg_bytes_fini(&definitions);
    fixture_forge_fini(&forge);
    return 0;
}
