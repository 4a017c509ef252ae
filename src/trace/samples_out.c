// SPDX-License-Identifier: Apache-2.0
/*
 * Writing samples and what explains them. Numbers are stored as differences where neighbours are
 * alike; the rest is left to zstd. See samples.h and docs/trace-format.md.
 */
#include "trace/samples.h"

#include "trace/samples_internal.h"
#include "trace/writer_internal.h"

#define LANES_MAX 8

/* The columns of a block while it is filled. */
struct lanes {
    struct ifg_bytes lane[LANES_MAX];
    size_t count;
};

static void lanes_init(struct lanes *lanes, size_t count)
{
    lanes->count = count;
    for (size_t i = 0; i < count; i++)
        ifg_bytes_init(&lanes->lane[i], TRACE_PAYLOAD_MAX - 4096);
}

static void put(struct lanes *lanes, size_t lane, uint64_t value)
{
    ifg_bytes_put_varint(&lanes->lane[lane], value);
}

static void put_text(struct lanes *lanes, size_t lane, const char *text)
{
    ifg_bytes_put_string(&lanes->lane[lane], text ? text : "", text ? strlen(text) : 0);
}

/* Differences wrap around, and so do the sums that the reader makes of them. */
static void put_difference(struct lanes *lanes, size_t lane, uint64_t value, uint64_t *last)
{
    put(lanes, lane, ifg_zigzag((int64_t)(value - *last)));
    *last = value;
}

static void emit(struct trace_writer *writer, struct trace_block_head *head, struct lanes *lanes)
{
    struct trace_column columns[LANES_MAX];
    bool failed = false;

    for (size_t i = 0; i < lanes->count; i++) {
        columns[i] = (struct trace_column){ lanes->lane[i].data, lanes->lane[i].size };
        failed = failed || lanes->lane[i].failed;
    }
    if (failed)
        trace_writer_no_memory(writer, "samples");
    else
        trace_writer_emit(writer, head, columns, lanes->count);
    for (size_t i = 0; i < lanes->count; i++)
        ifg_bytes_fini(&lanes->lane[i]);
}

/* How many of the entries that are left go into the next block. */
static size_t part_of(size_t left)
{
    return left < TRACE_BLOCK_LIMIT ? left : TRACE_BLOCK_LIMIT;
}

void trace_writer_modules(struct trace_writer *writer, const struct trace_module *modules,
                          size_t count)
{
    for (size_t at = 0, part; at < count; at += part) {
        struct trace_block_head head = { .type = TRACE_BLOCK_MODULES };
        struct lanes lanes;

        part = part_of(count - at);
        lanes_init(&lanes, 1);
        for (size_t i = at; i < at + part; i++) {
            put(&lanes, 0, (uint64_t)modules[i].kind);
            put(&lanes, 0, modules[i].pid);
            put_text(&lanes, 0, modules[i].path);
            put_text(&lanes, 0, modules[i].build_id);
            put_text(&lanes, 0, modules[i].note);
        }
        head.count = (uint32_t)part;
        emit(writer, &head, &lanes);
    }
}

void trace_writer_frames(struct trace_writer *writer, const struct trace_frame *frames,
                         size_t count)
{
    for (size_t at = 0, part; at < count; at += part) {
        struct trace_block_head head = { .type = TRACE_BLOCK_FRAMES };
        struct lanes lanes;
        uint64_t address = 0;

        part = part_of(count - at);
        lanes_init(&lanes, FRAME_LANES);
        for (size_t i = at; i < at + part; i++) {
            put(&lanes, FRAME_MODULE, frames[i].module);
            put_difference(&lanes, FRAME_ADDRESS, frames[i].address, &address);
        }
        head.count = (uint32_t)part;
        emit(writer, &head, &lanes);
    }
}

void trace_writer_stacks(struct trace_writer *writer, const struct trace_stack_node *nodes,
                         size_t count)
{
    for (size_t at = 0, part; at < count; at += part) {
        struct trace_block_head head = { .type = TRACE_BLOCK_STACKS };
        struct lanes lanes;
        uint64_t parent = 0, frame = 0;

        part = part_of(count - at);
        lanes_init(&lanes, STACK_LANES);
        for (size_t i = at; i < at + part; i++) {
            put_difference(&lanes, STACK_PARENT, nodes[i].parent, &parent);
            put_difference(&lanes, STACK_FRAME, nodes[i].frame, &frame);
            put(&lanes, STACK_FLAGS, nodes[i].inferred);
        }
        head.count = (uint32_t)part;
        emit(writer, &head, &lanes);
    }
}

void trace_writer_samples(struct trace_writer *writer, const struct trace_sample *samples,
                          size_t count, uint64_t lost)
{
    for (size_t at = 0, part; at < count; at += part) {
        struct trace_block_head head = { .type = TRACE_BLOCK_SAMPLES, .dropped = lost };
        struct lanes lanes;
        uint64_t time = 0, pid = 0, tid = 0, stack = 0;

        part = part_of(count - at);
        lanes_init(&lanes, SAMPLE_LANES);
        head.t0 = UINT64_MAX;
        for (size_t i = at; i < at + part; i++) {
            const struct trace_sample *sample = &samples[i];

            head.t0 = sample->time_ns < head.t0 ? sample->time_ns : head.t0;
            head.t1 = sample->time_ns > head.t1 ? sample->time_ns : head.t1;
            put_difference(&lanes, SAMPLE_TIME, sample->time_ns, &time);
            put_difference(&lanes, SAMPLE_PID, sample->pid, &pid);
            put_difference(&lanes, SAMPLE_TID, sample->tid, &tid);
            put(&lanes, SAMPLE_CPU, sample->cpu);
            put_difference(&lanes, SAMPLE_STACK, sample->stack, &stack);
            put(&lanes, SAMPLE_FLAGS, (uint64_t)sample->in_kernel | (uint64_t)sample->end << 1);
        }
        head.count = (uint32_t)part;
        emit(writer, &head, &lanes);
    }
}

void trace_writer_switches(struct trace_writer *writer, const struct trace_switch *switches,
                           size_t count)
{
    for (size_t at = 0, part; at < count; at += part) {
        struct trace_block_head head = { .type = TRACE_BLOCK_SWITCHES };
        struct lanes lanes;
        uint64_t time = 0, pid = 0, tid = 0;

        part = part_of(count - at);
        lanes_init(&lanes, SWITCH_LANES);
        head.t0 = UINT64_MAX;
        for (size_t i = at; i < at + part; i++) {
            const struct trace_switch *change = &switches[i];

            head.t0 = change->time_ns < head.t0 ? change->time_ns : head.t0;
            head.t1 = change->time_ns > head.t1 ? change->time_ns : head.t1;
            put_difference(&lanes, SWITCH_TIME, change->time_ns, &time);
            put_difference(&lanes, SWITCH_PID, change->pid, &pid);
            put_difference(&lanes, SWITCH_TID, change->tid, &tid);
            put(&lanes, SWITCH_CPU, change->cpu);
            put(&lanes, SWITCH_KIND, change->kind);
            put(&lanes, SWITCH_OTHER_PID, change->other_pid);
            put(&lanes, SWITCH_OTHER_TID, change->other_tid);
        }
        head.count = (uint32_t)part;
        emit(writer, &head, &lanes);
    }
}

void trace_writer_thread_names(struct trace_writer *writer, const struct trace_thread_name *names,
                               size_t count)
{
    for (size_t at = 0, part; at < count; at += part) {
        struct trace_block_head head = { .type = TRACE_BLOCK_THREAD_NAMES };
        struct lanes lanes;

        part = part_of(count - at);
        lanes_init(&lanes, 1);
        for (size_t i = at; i < at + part; i++) {
            put(&lanes, 0, names[i].pid);
            put(&lanes, 0, names[i].tid);
            put_text(&lanes, 0, names[i].name);
        }
        head.count = (uint32_t)part;
        emit(writer, &head, &lanes);
    }
}

void trace_writer_allocations(struct trace_writer *writer,
                              const struct trace_allocation *allocations, size_t count,
                              uint64_t lost)
{
    for (size_t at = 0, part; at < count; at += part) {
        struct trace_block_head head = { .type = TRACE_BLOCK_ALLOCATIONS, .dropped = lost };
        struct lanes lanes;
        uint64_t time = 0, pid = 0, tid = 0, address = 0, stack = 0;

        part = part_of(count - at);
        lanes_init(&lanes, ALLOCATION_LANES);
        head.t0 = UINT64_MAX;
        for (size_t i = at; i < at + part; i++) {
            const struct trace_allocation *one = &allocations[i];

            head.t0 = one->time_ns < head.t0 ? one->time_ns : head.t0;
            head.t1 = one->time_ns > head.t1 ? one->time_ns : head.t1;
            put_difference(&lanes, ALLOCATION_TIME, one->time_ns, &time);
            put_difference(&lanes, ALLOCATION_PID, one->pid, &pid);
            put_difference(&lanes, ALLOCATION_TID, one->tid, &tid);
            put_difference(&lanes, ALLOCATION_ADDRESS, one->address, &address);
            put(&lanes, ALLOCATION_FLAGS, one->freed);
            if (one->freed)
                continue;
            put(&lanes, ALLOCATION_BYTES, one->bytes);
            put(&lanes, ALLOCATION_WEIGHT, one->weight);
            put_difference(&lanes, ALLOCATION_STACK, one->stack, &stack);
        }
        head.count = (uint32_t)part;
        emit(writer, &head, &lanes);
    }
}

void trace_writer_symbols(struct trace_writer *writer, const struct trace_symbol *symbols,
                          size_t count)
{
    for (size_t at = 0, part; at < count; at += part) {
        struct trace_block_head head = { .type = TRACE_BLOCK_SYMBOLS };
        struct lanes lanes;
        uint64_t frame = 0, start = 0;

        part = part_of(count - at);
        lanes_init(&lanes, SYMBOL_LANES);
        for (size_t i = at; i < at + part; i++) {
            const struct trace_symbol *symbol = &symbols[i];

            put_difference(&lanes, SYMBOL_NUMBERS, symbol->frame, &frame);
            put(&lanes, SYMBOL_NUMBERS, (uint64_t)symbol->guessed | (uint64_t)symbol->inlined << 1);
            put_difference(&lanes, SYMBOL_NUMBERS, symbol->start, &start);
            put(&lanes, SYMBOL_NUMBERS, symbol->size);
            put(&lanes, SYMBOL_NUMBERS, symbol->line);
            put_text(&lanes, SYMBOL_NAMES, symbol->function);
            put_text(&lanes, SYMBOL_NAMES, symbol->file);
        }
        head.count = (uint32_t)part;
        emit(writer, &head, &lanes);
    }
}

void trace_writer_code(struct trace_writer *writer, const struct trace_code *code, size_t count)
{
    for (size_t at = 0; at < count;) {
        struct trace_block_head head = { .type = TRACE_BLOCK_CODE };
        struct lanes lanes;
        size_t bytes = 0;

        lanes_init(&lanes, CODE_LANES);
        for (; at < count && head.count < TRACE_BLOCK_LIMIT && bytes < CODE_BLOCK_BYTES; at++) {
            size_t size = code[at].size < CODE_BYTES_MAX ? code[at].size : CODE_BYTES_MAX;

            put(&lanes, CODE_NUMBERS, code[at].module);
            put(&lanes, CODE_NUMBERS, code[at].address);
            put(&lanes, CODE_NUMBERS, size);
            ifg_bytes_put(&lanes.lane[CODE_BYTES], code[at].bytes, size);
            bytes += size;
            head.count++;
        }
        emit(writer, &head, &lanes);
    }
}

void trace_writer_source(struct trace_writer *writer, const struct trace_source *source)
{
    struct trace_block_head head = { .type = TRACE_BLOCK_SOURCE, .count = 1 };
    struct lanes lanes;

    if (source->size > CODE_BLOCK_BYTES)
        return; /* nobody wrote this by hand */
    lanes_init(&lanes, SOURCE_LANES);
    put_text(&lanes, SOURCE_NAMES, source->path);
    put_text(&lanes, SOURCE_NAMES, source->sha256);
    ifg_bytes_put_string(&lanes.lane[SOURCE_TEXT], source->text, source->size);
    emit(writer, &head, &lanes);
}
