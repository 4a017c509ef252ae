// SPDX-License-Identifier: Apache-2.0
/*
 * Calls of ONNX Runtime in a process that lies, as the probes tell of them. Strategies:
 *
 * The first byte chooses whether calls wait for their names (operators, Python). Then come events
 * of EVENT bytes: which probe, its kind, thread and depth, how time goes on (also backwards),
 * sessions that are small numbers or addresses in the memory that is the input itself, texts. Loads
 * that never begin, runs of sessions that were never made, kernels without a run, releases twice.
 *
 * The trace must be readable afterwards.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "collect/ort_attach/attach_internal.h"
#include "trace/reader.h"
#include "fixed_memory.h"

#define EVENT      24u
#define EVENTS_MAX 256u
#define TEXT       8u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct trace_writer *writer;
static char trace_path[64];

static void define_process(void *user, const struct sink_process *seen, uint32_t index)
{
    const struct trace_process defined = { .index = index,
                                           .pid = (uint32_t)seen->pid,
                                           .program = "/bin/fuzzed" };

    (void)user;
    trace_writer_process(writer, &defined);
}

/* A session: one of few, one in the memory, or anything. */
static uint64_t number_of(const uint8_t *at)
{
    uint64_t number;

    memcpy(&number, at, sizeof number);
    if (at[7] & 1)
        return number;
    return at[7] & 2 ? FIXED_MEMORY_BASE + at[0] * 8u : at[0] % 8u * 16u;
}

static void see(struct attach_process *process, const uint8_t *at, uint64_t *clock_ns)
{
    struct ort_attach *attach = process->attach;
    char text[TEXT + 1] = { 0 };
    struct uprobe_event event = { .kind = at[1] % 3u,
                                  .id = 1u << 12 | (at[2] & 64u) | at[0] % 64u,
                                  .notes = at[2] & 15u,
                                  .depth = at[3] & 63u,
                                  .pid = getpid(),
                                  .tid = getpid() + at[4] % 4,
                                  .own_tid = at[4] & 64 ? 7 : 0 };

    *clock_ns = at[5] & 128 ? *clock_ns - at[5] % 128u : *clock_ns + at[5];
    event.start_ns = *clock_ns;
    event.end_ns = event.kind == UPROBE_CALL ? *clock_ns + at[6] : 0;
    for (size_t i = 0; i < UPROBE_ARGUMENTS; i++)
        event.arguments[i] = number_of(at + (i & 1 ? 8 : 16));
    event.result = at[7] & 4 ? number_of(at + 8) : 0;
    event.out_word = number_of(at + 8);
    memcpy(text, at + 16, TEXT);
    event.text = at[7] & 2 ? text : NULL;
    if (ATTACH_ID_PROBE(event.id) == ATTACH_KERNEL)
        attach_op_seen(process, &event);
    else if (attach->lags)
        attach_queue_add(process, &event);
    else
        attach_event(process, &event);
    if (attach->lags && at[6] == 0xff)
        attach_queue_pass(attach);
}

static void follow(uint8_t choice, const uint8_t *data, size_t size)
{
    static const struct sink_calls calls = { .define_process = define_process };
    struct sink sink = { .writer = writer, .calls = &calls };
    struct attach_process *process = ifg_alloc(1, sizeof *process);
    struct ort_attach attach = { .begun = true,
                                 .lags = choice & 1,
                                 .ops = choice >> 1 & 3,
                                 .processes = &process,
                                 .process_count = 1,
                                 .sink = &sink };
    uint64_t clock_ns = 1000000;

    if (!process)
        abort();
    process->attach = &attach;
    process->pid = getpid();
    process->pidfd = -1;
    process->slot = 1;
    process->watched_count = 1;
    snprintf(process->runtimes[0], sizeof process->runtimes[0], "ONNX Runtime 1.20.1");
    if (attach.ops)
        process->kernels[0] = (struct attach_kernels){ 1, 1, { 0, 8, 16, 8, 16 } };
    process->index = sink_process(&sink, &(struct sink_process){ .pid = process->pid });
    process->defined = true;
    attach_threads_begin(process);
    for (size_t i = 0; i < EVENTS_MAX && size >= EVENT; i++, data += EVENT, size -= EVENT)
        see(process, data, &clock_ns);
    attach_queue_pass(&attach);
    attach_queue_pass(&attach);
    streams_flush(&process->threads, clock_ns, true);
    streams_fini(&process->threads);
    attach_models_free(process);
    attach_nodes_free(process);
    ifg_free(process);
    ifg_free(attach.queue);
    sink_fini(&sink);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct trace_reader *reader = NULL;
    struct ifg_error err;

    if (!size)
        return 0;
    if (!trace_path[0])
        snprintf(trace_path, sizeof trace_path, "/tmp/ifg-events-fuzz-%d.ifg", (int)getpid());
    if (trace_writer_create(trace_path, true, &writer, NULL) != IFG_OK)
        abort();
    trace_writer_clock(writer, 0, TRACE_CLOCK_MONOTONIC, 1000000000u, "ns");
    fixed_memory_fill(data + 1, size - 1);
    follow(data[0], data + 1, size - 1);
    if (trace_writer_close(writer, NULL) != IFG_OK)
        abort();
    if (trace_reader_open(trace_path, &reader, &err) != IFG_OK) {
        fprintf(stderr, "%s\n", err.message);
        abort();
    }
    trace_reader_close(reader);
    unlink(trace_path);
    return 0;
}
