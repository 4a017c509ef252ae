// SPDX-License-Identifier: Apache-2.0
/*
 * Hostile traces. Strategies:
 *
 * 1. The input is a file: header, footer, scan, checksums. Corpus: whole, cut and unfinished
 * traces.
 * 2. The input begins with 'B': the rest is a list of blocks, each
 *      u8 type (above 17: mod 16), u8 stream, u8 count, u8 columns (mod 16),
 *      then per column: u8 codec (mod 4: 2 compresses the bytes here, so that they reach the
 * decoder as a good zstd frame), u16 bytes, the bytes and the harness puts good headers and
 * checksums around them, so that what is behind the checksums is reached at once. 'F' instead of
 * 'B' also ends the file with a footer, whose definitions are the input itself.
 *
 * In both cases everything a caller can ask for is asked for: tables, every block, every attribute,
 * every clock. Then the trace is copied twice into another one, as merging does, and that is read.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "trace/copy.h"
#include "trace/fixture.h"
#include "trace/inputs.h"
#include "trace/samples.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint64_t sink; /* so that nothing is optimised away */

static void touch(const void *data, size_t size)
{
    const uint8_t *bytes = data;

    for (size_t i = 0; i < size; i++)
        sink += bytes[i];
}

static void use_tables(const struct trace_reader *reader)
{
    const struct trace_tables *tables = trace_reader_tables(reader);

    for (size_t i = 0; i < tables->thread_count; i++) {
        uint32_t clock = trace_thread_clock(tables, (uint32_t)i);

        if (clock >= tables->clock_count)
            abort();
        sink += tables->clocks[clock].nominal_hz;
        touch(tables->threads[i].name, strlen(tables->threads[i].name));
        sink += trace_clock_to_ns(reader, clock, sink);
    }
    for (size_t i = 0; i < tables->location_count; i++) {
        const struct trace_location *location = &tables->locations[i];

        touch(location->name, strlen(location->name));
        if (trace_find_location(tables, location->process, location->id) != location ||
            location->category >= TRACE_CATEGORIES || location->process >= tables->process_count)
            abort();
    }
    for (size_t i = 0; i < tables->model_count; i++)
        if (trace_find_model(tables, tables->models[i].process, tables->models[i].id) !=
            &tables->models[i])
            abort();
    for (size_t i = 0; i < tables->process_count; i++)
        touch(tables->processes[i].arguments, strlen(tables->processes[i].arguments));
    for (size_t i = 0; i < tables->property_count; i++)
        touch(tables->properties[i].value, strlen(tables->properties[i].value));
    for (size_t i = 0; i < tables->instrument_count; i++)
        touch(tables->instruments[i].reason, strlen(tables->instruments[i].reason));
    for (size_t i = 0; i < tables->loss_count; i++)
        touch(tables->losses[i].what, strlen(tables->losses[i].what));
    for (uint32_t i = 0; i <= tables->clock_count; i++) {
        uint64_t before = 0;

        sink += trace_clock_rate(reader, i).pairs;
        for (uint64_t ticks = 1; ticks; ticks <<= 9) {
            uint64_t ns = trace_clock_to_ns(reader, i, ticks - 1);

            if (ns < before)
                abort(); /* whatever the pairs are, time does not run backwards */
            before = ns;
        }
    }
    if (tables->fact_count && !trace_find_fact(tables, tables->facts[0].key))
        abort();
    sink += (uint64_t)trace_realtime_offset_ns(reader);
}

static void use_blocks(const struct trace_reader *reader)
{
    const struct trace_tables *tables = trace_reader_tables(reader);
    struct trace_zones zones = { 0 };
    struct trace_events events = { 0 };

    for (size_t i = 0; i < trace_reader_block_count(reader); i++) {
        const struct trace_block *block = trace_reader_block(reader, i);

        if ((block->type == TRACE_BLOCK_ZONES || block->type == TRACE_BLOCK_EVENTS) &&
            block->stream >= tables->thread_count)
            abort();
        if (trace_decode_zones(reader, i, &zones, NULL) == IFG_OK) {
            touch(zones.starts, zones.count * sizeof *zones.starts);
            touch(zones.durations, zones.count * sizeof *zones.durations);
            touch(zones.locations, zones.count * sizeof *zones.locations);
            touch(zones.open_starts, zones.open_count * sizeof *zones.open_starts);
            touch(zones.open_locations, zones.open_count * sizeof *zones.open_locations);
        }
        if (trace_decode_events(reader, i, &events, NULL))
            continue;
        for (size_t j = 0; j < events.count; j++) {
            struct trace_attribute attribute;

            touch(events.events[j].payload, events.events[j].payload_bytes);
            if (trace_parse_attribute(&events.events[j], &attribute))
                continue;
            touch(attribute.key, attribute.key_bytes);
            touch(attribute.text, attribute.text_bytes);
        }
    }
    trace_zones_fini(&zones);
    trace_events_fini(&events);
}

/* Every number leads somewhere, and every way to a root ends. */
static void use_samples(const struct trace_reader *reader)
{
    struct trace_profile profile;
    struct trace_sample *samples = NULL;
    struct trace_switch *switches = NULL;
    struct trace_allocation *allocations = NULL;
    size_t count;
    uint64_t lost;

    if (trace_profile_read(reader, &profile, NULL))
        return;
    for (size_t i = 0; i < profile.node_count; i++)
        if (profile.nodes[i].parent > i || profile.nodes[i].frame > profile.frame_count)
            abort();
    for (size_t i = 0; i < profile.frame_count; i++)
        if (profile.frames[i].module > profile.module_count)
            abort();
    for (size_t i = 0; i < profile.symbol_count; i++)
        touch(profile.symbols[i].function, strlen(profile.symbols[i].function));
    for (size_t i = 0; i < profile.code_count; i++)
        touch(profile.code[i].bytes, profile.code[i].size);
    for (size_t i = 0; i < profile.source_count; i++)
        touch(profile.sources[i].text, profile.sources[i].size);
    if (!trace_samples_read(reader, &profile, &samples, &count, &lost, NULL))
        for (size_t i = 0; i < count; i++)
            if (samples[i].stack > profile.node_count)
                abort();
    if (!trace_switches_read(reader, &switches, &count, NULL))
        touch(switches, count * sizeof *switches);
    if (!trace_allocations_read(reader, &profile, &allocations, &count, &lost, NULL))
        for (size_t i = 0; i < count; i++)
            if (allocations[i].stack > profile.node_count ||
                (i && allocations[i].time_ns < allocations[i - 1].time_ns))
                abort();
    ifg_free(allocations);
    ifg_free(samples);
    ifg_free(switches);
    trace_profile_fini(&profile);
}

static enum ifg_status touch_part(size_t tensor, const void *data, size_t bytes, void *user,
                                  struct ifg_error *err)
{
    uint64_t *left = user;

    (void)err;
    if (bytes > left[tensor])
        abort();
    left[tensor] -= bytes;
    touch(data, bytes);
    return IFG_OK;
}

/* No tensor gets more bytes than it says, and each gets all of them if none are missing. */
static void use_inputs(const struct trace_reader *reader)
{
    struct trace_input_list list;

    if (trace_inputs_read(reader, &list, NULL))
        return;
    for (size_t i = 0; i < list.count; i++) {
        const struct trace_inputs *inputs = &list.items[i];
        uint64_t left[TRACE_INPUTS_TENSORS_MAX];

        if (inputs->tensor_count > TRACE_INPUTS_TENSORS_MAX)
            abort();
        for (size_t t = 0; t < inputs->tensor_count; t++) {
            left[t] = inputs->tensors[t].bytes;
            touch(inputs->tensors[t].name, strlen(inputs->tensors[t].name));
            if (inputs->tensors[t].rank > TRACE_INPUTS_RANK_MAX)
                abort();
        }
        if (trace_inputs_each_part(reader, inputs, touch_part, left, NULL))
            continue;
        for (size_t t = 0; t < inputs->tensor_count; t++)
            if (left[t])
                abort();
    }
    trace_inputs_fini(&list);
}

/* ---- what merging does: the trace twice in another one, which must be as good as this ---- */

struct kept_output {
    struct trace_output output;
    struct ifg_bytes *bytes;
};

static ssize_t keep(struct trace_output *output, const void *data, size_t size)
{
    ifg_bytes_put(((struct kept_output *)output)->bytes, data, size);
    return (ssize_t)size;
}

static void keep_cut(struct trace_output *output, uint64_t bytes)
{
    (void)output;
    (void)bytes;
}

static int keep_close(struct trace_output *output)
{
    (void)output;
    return 0;
}

static const struct trace_output_functions kept_functions = { .write = keep,
                                                              .cut = keep_cut,
                                                              .close = keep_close };

static struct trace_output *kept_output(struct ifg_bytes *bytes)
{
    struct kept_output *output = ifg_alloc(1, sizeof *output);

    if (!output)
        abort();
    output->output.functions = &kept_functions;
    output->output.name = ifg_strdup("copy");
    output->bytes = bytes;
    return &output->output;
}

static uint32_t same_number(uint32_t number, void *user)
{
    (void)user;
    return number;
}

static size_t count_streams(const struct trace_reader *reader)
{
    size_t count = 0;

    for (size_t i = 0; i < trace_reader_block_count(reader); i++) {
        enum trace_block_type type = trace_reader_block(reader, i)->type;

        count += type == TRACE_BLOCK_ZONES || type == TRACE_BLOCK_EVENTS;
    }
    return count;
}

/* How many blocks of zones and events got there. */
static size_t copy_once(struct trace_copier *copier, const struct trace_reader *reader)
{
    const struct trace_copy_options options = { .shift_ns = -5, .number = same_number };
    size_t copied = 0;
    uint32_t first;

    if (trace_copier_begin(copier, reader, &options, &first, NULL))
        return 0;
    for (size_t i = 0; i < trace_reader_block_count(reader); i++) {
        enum trace_block_type type = trace_reader_block(reader, i)->type;

        copied += trace_copier_block(copier, i, NULL) == IFG_OK &&
                  (type == TRACE_BLOCK_ZONES || type == TRACE_BLOCK_EVENTS);
    }
    return copied;
}

static void use_copy(const struct trace_reader *reader)
{
    struct trace_reader *again;
    struct trace_copier *copier;
    struct trace_writer *writer;
    struct ifg_bytes bytes;
    size_t copied;

    ifg_bytes_init(&bytes, 64u << 20);
    if (trace_writer_create_on(kept_output(&bytes), &writer, NULL) ||
        trace_copier_create(writer, &copier, NULL))
        abort();
    copied = copy_once(copier, reader);
    copied += copy_once(copier, reader);
    trace_copier_destroy(copier);
    if (!trace_writer_close(writer, NULL) && !bytes.failed) {
        if (trace_reader_open_memory(bytes.data, bytes.size, "copy", &again, NULL) ||
            !trace_reader_file(again)->finished || count_streams(again) != copied)
            abort();
        use_tables(again);
        use_samples(again);
        use_inputs(again);
        trace_reader_close(again);
    }
    ifg_bytes_fini(&bytes);
}

static void read_everything(const uint8_t *data, size_t size)
{
    struct trace_reader *reader;
    struct ifg_error err;

    if (trace_reader_open_memory(data, size, "fuzz", &reader, &err))
        return;
    use_tables(reader);
    use_blocks(reader);
    use_samples(reader);
    use_inputs(reader);
    /* Tables full of what is not defined take long, and show nothing new. */
    if (trace_reader_tables(reader)->process_count + trace_reader_tables(reader)->thread_count <
        4096)
        use_copy(reader);
    trace_reader_close(reader);
}

/* Takes one block off the input; false at its end. */
static bool forge_next(struct forge *forge, struct ifg_cursor *input)
{
    struct trace_column columns[16];
    struct trace_block_head head = { 0 };
    struct ifg_bytes payload;
    size_t count;
    bool compress = false;
    bool good;

    if (ifg_cursor_left(input) < 4)
        return false;
    head.type = ifg_cursor_byte(input);
    if (head.type >= TRACE_BLOCK_TYPES)
        head.type &= 15;
    head.stream = ifg_cursor_byte(input);
    head.count = ifg_cursor_byte(input);
    count = ifg_cursor_byte(input) & 15;
    ifg_bytes_init(&payload, 1u << 20);
    ifg_bytes_put(&payload, (uint8_t[4]){ (uint8_t)count }, 4);
    for (size_t i = 0; i < count; i++) {
        uint8_t codec = ifg_cursor_byte(input) & 3;
        size_t size = ifg_cursor_byte(input);
        uint8_t header[12];

        size |= (size_t)ifg_cursor_byte(input) << 8;
        if (size > ifg_cursor_left(input))
            size = ifg_cursor_left(input);
        columns[i].data = ifg_cursor_take(input, size);
        columns[i].size = columns[i].data ? size : 0;
        compress |= codec == 2;
        store_u32(header, codec == 2 ? 0 : codec);
        store_u32(header + 4, (uint32_t)columns[i].size);
        store_u32(header + 8, (uint32_t)columns[i].size);
        ifg_bytes_put(&payload, header, sizeof header);
    }
    for (size_t i = 0; i < count; i++)
        ifg_bytes_put(&payload, columns[i].data, columns[i].size);
    good = compress ? fixture_forge_block(forge, head, columns, count)
                    : fixture_forge_payload(forge, head, payload.data, payload.size);
    ifg_bytes_fini(&payload);
    return good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ifg_cursor input = ifg_cursor_over(data, size);
    struct forge forge;
    uint8_t mode = ifg_cursor_byte(&input);

    if (mode != 'B' && mode != 'F') {
        read_everything(data, size);
        return 0;
    }
    if (fixture_forge_init(&forge)) {
        while (forge_next(&forge, &input))
            continue;
        if (mode == 'F')
            fixture_forge_footer(&forge, data + 1, size - 1);
        read_everything(forge.file.data, forge.file.size);
    }
    fixture_forge_fini(&forge);
    return 0;
}
