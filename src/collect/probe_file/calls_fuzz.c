// SPDX-License-Identifier: Apache-2.0
/*
 * Calls of a watched program, as the engine tells of them. Strategies:
 *
 * The input is a list of events of EVENT bytes: which function, its kind, thread and depth, how
 * time goes on (also backwards), small numbers or wild ones as arguments and results, a text that
 * may be missing. Calls end that never began, begin and never end, and nest in ways that no stack
 * has.
 *
 * The trace must be readable afterwards.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "collect/probe_file/watch_internal.h"
#include "trace/reader.h"

#define EVENT      24u
#define EVENTS_MAX 256u
#define TEXT       8u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* One of everything that a rule can say. */
static const char description[] = "version 1\n"
                                  "runtime test\n"
                                  "library x\n"
                                  "probe load load\n"
                                  "  model text 1\n"
                                  "  object result\n"
                                  "  failed result == null\n"
                                  "probe context setup\n"
                                  "  model object 1\n"
                                  "  object stored 2\n"
                                  "  failed result != 0\n"
                                  "probe run inference\n"
                                  "  model object 1\n"
                                  "  failed result < 0\n"
                                  "  attribute n argument 3\n"
                                  "probe free nothing\n"
                                  "  forget argument 1\n"
                                  "probe read zone read weights\n"
                                  "probe memory load\n"
                                  "  model unnamed\n"
                                  "  object stored 2\n"
                                  "  attribute device text 1\n"
                                  "probe step inference\n"
                                  "  model object 1\n"
                                  "  function text 2\n";

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

static uint64_t number_of(const uint8_t *at)
{
    uint64_t number;

    memcpy(&number, at, sizeof number);
    return at[7] & 1 ? number : at[0] % 8u * 16u;
}

static void see(struct probe_watch *watch, const uint8_t *at, uint64_t *clock_ns)
{
    char text[TEXT + 1] = { 0 };
    struct uprobe_event event = { .kind = at[1] % 3u,
                                  .id = at[0] % (watch->function_count + 1),
                                  .notes = at[2] & 15u,
                                  .depth = at[3] & 63u,
                                  .pid = 1,
                                  .tid = 1 + at[4] % 4,
                                  .own_tid = at[4] & 64 ? 7 : 0 };

    *clock_ns = at[5] & 128 ? *clock_ns - at[5] % 128u : *clock_ns + at[5];
    event.start_ns = *clock_ns;
    if (event.kind == UPROBE_CALL) {
        event.end_ns = *clock_ns + at[6];
        event.result = number_of(at + 8);
        event.out_word = number_of(at + 16);
    }
    event.arguments[0] = number_of(at + 16);
    event.arguments[1] = number_of(at + 8);
    event.arguments[2] = at[7];
    memcpy(text, at + 16, TEXT);
    event.text = at[7] & 2 ? text : NULL;
    watch_seen(&event, watch);
}

static void free_process(struct watched_process *process)
{
    streams_fini(&process->threads);
    watch_names_fini(&process->names);
    ifg_free(process);
}

static void follow(const struct probe_file *file, const uint8_t *data, size_t size)
{
    static const struct sink_calls calls = { .define_process = define_process };
    struct sink sink = { .writer = writer, .calls = &calls };
    struct probe_watch watch = { .sink = &sink };
    struct watched_process *process = ifg_alloc(1, sizeof *process);
    uint64_t clock_ns = 1000000;

    watch.functions = ifg_alloc(file->rule_count, sizeof *watch.functions);
    if (!process || !watch.functions)
        abort();
    process->watch = &watch;
    process->pid = 1;
    for (size_t i = 0; i < file->rule_count; i++)
        watch.functions[i] =
            (struct watched_function){ process, file, &file->rules[i], file->rules[i].symbol };
    watch.function_count = (uint32_t)file->rule_count;
    for (size_t i = 0; i < EVENTS_MAX && size >= EVENT; i++, data += EVENT, size -= EVENT) {
        see(&watch, data, &clock_ns);
        if (data[6] == 0xff)
            streams_flush(&process->threads, clock_ns, false);
    }
    streams_flush(&process->threads, clock_ns, true);
    free_process(process);
    ifg_free(watch.functions);
    sink_fini(&sink);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct probe_file *file = NULL;
    struct trace_reader *reader = NULL;
    struct ifg_error err;

    if (!trace_path[0])
        snprintf(trace_path, sizeof trace_path, "/tmp/ifg-calls-fuzz-%d.ifg", (int)getpid());
    if (probe_file_parse("t", description, sizeof description - 1, &file, NULL) != IFG_OK ||
        trace_writer_create(trace_path, true, &writer, NULL) != IFG_OK)
        abort();
    trace_writer_clock(writer, 0, TRACE_CLOCK_MONOTONIC, 1000000000u, "ns");
    follow(file, data, size);
    probe_file_free(file);
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
