// SPDX-License-Identifier: Apache-2.0
/* A trace with samples: see profile_trace.h. */
#include "profile_trace.h"

#include <string.h>

#include "trace/samples.h"

#define PID    4711u
#define MAIN   5000u
#define WORKER 9001u

enum { NODE_RUN = 2, NODE_MUL = 3, NODE_KERNEL = 4, NODE_RECURSE = 6, NODE_SPIN = 8, NODE_FAR = 9 };

static void write_code(struct trace_writer *writer)
{
    uint8_t run[0x100];
    uint8_t spin[0x20];

    memset(run, 0x90, sizeof run);
    run[0x30] = 0xeb; /* jmp 0x1020 */
    run[0x31] = 0xee;
    run[0xff] = 0xc3;
    memset(spin, 0x90, sizeof spin);
    spin[2] = 0xf3; /* pause */
    trace_writer_code(
        writer,
        (struct trace_code[]){ { 1, 0x1000, run, sizeof run }, { 1, 0x2000, spin, sizeof spin } },
        2);
}

static void write_names(struct trace_writer *writer)
{
    static const char text[] = "1\n2\n3\n4\n5\n6\n7\n8\n9\n  sum = 0;\n  sum += mul(a, b);\n}\n";

    trace_writer_symbols(writer,
                         (struct trace_symbol[]){
                             { 1, "run(int)", 0x1000, 0x100, "/src/run.c", 10, false, false },
                             { 2, "mul", 0x1000, 0x100, "/src/mul.h", 3, false, true },
                             { 2, "run(int)", 0x1000, 0x100, "/src/run.c", 11, false, false },
                             { 3, "spin", 0x2000, 0x20, "", 0, false, false },
                             { 4, "main", 0x480, 0x100, "/src/app.c", 20, false, false },
                             { 5, "do_page", 0xffffffff81000000, 0x100, "", 0, false, false },
                             { 7, "recurse", 0x4000, 0x40, "", 0, false, false },
                             { 8, "pool::Worker::(virtual 2)", 0x5000, 0x40, "", 0, true, false },
                         },
                         8);
    trace_writer_source(writer, &(struct trace_source){ "/src/run.c", "00", text, strlen(text) });
}

static void write_stacks(struct trace_writer *writer)
{
    trace_writer_modules(
        writer,
        (struct trace_module[]){ { TRACE_MODULE_FILE, 0, "/usr/lib/librun.so", "abcd", "" },
                                 { TRACE_MODULE_KERNEL, 0, "", "", "" },
                                 { TRACE_MODULE_FILE, 0, "/opt/app", "", "deleted file" } },
        3);
    trace_writer_frames(writer,
                        (struct trace_frame[]){ { 1, 0x1010 },
                                                { 1, 0x1020 },
                                                { 1, 0x2004 },
                                                { 3, 0x500 },
                                                { 2, 0xffffffff81000010 },
                                                { 1, 0x3000 },
                                                { 1, 0x4010 },
                                                { 1, 0x5008 } },
                        8);
    trace_writer_stacks(writer,
                        (struct trace_stack_node[]){ { 0, 4, false },
                                                     { 1, 1, false },
                                                     { 1, 2, false },
                                                     { 2, 5, false },
                                                     { 1, 7, false },
                                                     { 5, 7, false },
                                                     { 0, 8, false },
                                                     { 7, 3, false },
                                                     { 7, 6, true } },
                        9);
}

static void write_samples(struct trace_writer *writer)
{
    static const struct {
        uint32_t at_us;
        uint32_t tid;
        uint32_t node;
    } each[] = {
        { 2000, MAIN, NODE_RUN },     { 2500, WORKER, NODE_SPIN }, { 3000, MAIN, NODE_MUL },
        { 3500, WORKER, NODE_SPIN },  { 4000, MAIN, NODE_KERNEL }, { 7100, WORKER, NODE_SPIN },
        { 8000, MAIN, NODE_RECURSE }, { 8500, WORKER, NODE_FAR },  { 11000, MAIN, NODE_RUN },
        { 11500, WORKER, NODE_SPIN },
    };
    struct trace_sample samples[PROFILE_TRACE_SAMPLES];

    for (unsigned i = 0; i < PROFILE_TRACE_SAMPLES; i++) {
        samples[i] = (struct trace_sample){
            .time_ns = ML_TRACE_START + i / 10 * PROFILE_TRACE_STEP + each[i % 10].at_us * ML_US,
            .pid = PID,
            .tid = each[i % 10].tid,
            .cpu = each[i % 10].tid == MAIN ? 0 : 1,
            .stack = each[i % 10].node,
            .in_kernel = each[i % 10].node == NODE_KERNEL,
            .end = each[i % 10].node == NODE_FAR ? TRACE_STACK_CUT : TRACE_STACK_ROOT,
        };
    }
    trace_writer_samples(writer, samples, PROFILE_TRACE_SAMPLES, 3);
}

static void write_switches(struct trace_writer *writer)
{
    struct trace_switch switches[2 * PROFILE_TRACE_RUNS + 6];
    uint64_t end = ML_TRACE_START + PROFILE_TRACE_RUNS * PROFILE_TRACE_STEP;
    size_t count = 0;

    switches[count++] =
        (struct trace_switch){ ML_TRACE_START - ML_MS, PID, MAIN, 0, TRACE_SWITCH_IN, 0, 0 };
    for (unsigned i = 0; i < PROFILE_TRACE_RUNS; i++) {
        uint64_t start = ML_TRACE_START + i * PROFILE_TRACE_STEP;

        switches[count++] =
            (struct trace_switch){ start + 5 * ML_MS, PID, MAIN, 0, TRACE_SWITCH_PREEMPTED, 0, 0 };
        switches[count++] =
            (struct trace_switch){ start + 7 * ML_MS, PID, MAIN, 1, TRACE_SWITCH_IN, 0, 0 };
    }
    switches[count++] = (struct trace_switch){ end, PID, MAIN, 1, TRACE_SWITCH_BLOCKED, 0, 0 };
    switches[count++] =
        (struct trace_switch){ end + 3 * ML_MS, PID, MAIN, 1, TRACE_SWITCH_WOKEN, PID, WORKER };
    switches[count++] =
        (struct trace_switch){ end + 4 * ML_MS, PID, MAIN, 1, TRACE_SWITCH_IN, 0, 0 };
    switches[count++] =
        (struct trace_switch){ ML_TRACE_START, PID, WORKER, 1, TRACE_SWITCH_IN, 0, 0 };
    switches[count++] = (struct trace_switch){ end, PID, WORKER, 1, TRACE_SWITCH_BLOCKED, 0, 0 };
    trace_writer_switches(writer, switches, count);
}

uint32_t profile_trace_write(struct ml_trace *trace)
{
    uint32_t model = ml_trace_model(trace, &(struct ml_trace_model){ .name = "ocr" });
    uint32_t conv = ml_trace_location(trace, TRACE_LOCATION_OP, model, "Conv", "");
    uint32_t run = ml_trace_category(trace, model, TRACE_CATEGORY_INFERENCE);

    for (unsigned i = 0; i < PROFILE_TRACE_RUNS; i++) {
        struct ml_trace_open open = ml_trace_enter(trace, 0, run);

        ml_trace_wait(trace, 0, ML_MS);
        ml_trace_slice(trace, 0, conv, 5 * ML_MS);
        ml_trace_wait(trace, 0, 4 * ML_MS);
        ml_trace_leave(trace, 0, open);
        ml_trace_wait(trace, 0, 2 * ML_MS);
    }
    write_stacks(trace->writer);
    write_samples(trace->writer);
    write_switches(trace->writer);
    write_names(trace->writer);
    write_code(trace->writer);
    trace_writer_instrument(trace->writer, "samples", TRACE_INSTRUMENT_ON, "100 Hz by cpu-clock");
    trace_writer_fact(trace->writer, "host.machine", "x86_64");
    trace_writer_fact(trace->writer, "samples.hz", "100");
    trace_writer_fact(trace->writer, "samples.count", "100");
    trace_writer_fact(trace->writer, "samples.lost", "3");
    trace_writer_fact(trace->writer, "samples.rooted", "90");
    trace_writer_fact(trace->writer, "samples.inferred", "10");
    trace_writer_fact(trace->writer, "samples.unwind_ns", "250000");
    return model;
}
