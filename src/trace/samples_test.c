// SPDX-License-Identifier: Apache-2.0
/* Samples and what explains them: written, read back, cut, and forged. */
#include "trace/samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "tap.h"
#include "trace/reader.h"
#include "trace/writer.h"

#define SAMPLES  50000u
#define SWITCHES 20000u
#define NODES    3000u
#define BLOCKS   40000u

static char path[64];

static struct trace_writer *begin(void)
{
    struct trace_writer *writer = NULL;
    int fd;

    snprintf(path, sizeof path, "/tmp/samples_test_XXXXXX");
    fd = mkstemp(path);
    REQUIRE(fd >= 0);
    close(fd);
    REQUIRE(trace_writer_create(path, true, &writer, NULL) == IFG_OK);
    return writer;
}

static struct trace_sample sample_number(uint32_t i)
{
    return (struct trace_sample){
        .time_ns = 1000000000ull + i * 4000ull,
        .pid = 100 + i % 3,
        .tid = 4000000000u - i % 5,
        .cpu = i % 64,
        .stack = i % (NODES + 1),
        .in_kernel = i % 7 == 0,
        .end = (uint8_t)(i % 3),
    };
}

static struct trace_switch switch_number(uint32_t i)
{
    return (struct trace_switch){ .time_ns = 5 + i * 3ull,
                                  .pid = i % 9,
                                  .tid = i % 11,
                                  .cpu = i % 2,
                                  .kind = (uint8_t)(i % 4),
                                  .other_pid = i % 4 == 3 ? 7 : 0,
                                  .other_tid = i % 4 == 3 ? 8 : 0 };
}

/* Every third one is a free. */
static struct trace_allocation allocation_number(uint32_t i)
{
    bool freed = i % 3 == 2;

    return (struct trace_allocation){ .time_ns = 7 + i * 5ull,
                                      .pid = i % 4 + 1,
                                      .tid = i % 6 + 1,
                                      .address = 0x7ffff7000000ull + i % 100 * 4096ull,
                                      .bytes = freed ? 0 : i * 16ull,
                                      .weight = freed ? 0 : 524288 + i,
                                      .stack = freed ? 0 : i % (NODES + 1),
                                      .freed = freed };
}

static void write_all(struct trace_writer *writer)
{
    static struct trace_frame frames[NODES];
    static struct trace_stack_node nodes[NODES];
    static struct trace_sample samples[SAMPLES];
    static struct trace_switch switches[SWITCHES];
    static struct trace_allocation blocks[BLOCKS];
    static const uint8_t code[] = { 0x55, 0x48, 0x89, 0xe5, 0xc3 };
    const struct trace_module modules[] = {
        { TRACE_MODULE_FILE, 0, "/lib/a.so", "00ff", "" },
        { TRACE_MODULE_KERNEL, 0, "", "", "" },
        { TRACE_MODULE_RUNTIME, 100, "", "", "memory of the process" },
    };
    const struct trace_symbol symbols[] = {
        { 2, "inner", 0x1000, 64, "a.c", 10, false, true },
        { 2, "middle", 0x1000, 64, "a.c", 20, false, true },
        { 2, "outer", 0x1000, 64, "a.c", 30, false, false },
        { 1, "NchwcConv::Compute", 0x2000, 100, "", 0, true, false },
    };
    const struct trace_code codes[] = { { 2, 0x9000, code, 5 }, { 1, 0x1000, code, 3 } };
    const struct trace_source source = { "a.c", "abcd", "int x;\nint y;\n", 14 };

    for (uint32_t i = 0; i < NODES; i++) {
        frames[i] = (struct trace_frame){ i % 4, 0xffffffff81000000ull - i * 77ull };
        nodes[i] = (struct trace_stack_node){ i / 2, i % NODES + 1, i % 5 == 0 };
    }
    for (uint32_t i = 0; i < SAMPLES; i++)
        samples[i] = sample_number(i);
    for (uint32_t i = 0; i < SWITCHES; i++)
        switches[i] = switch_number(i);
    for (uint32_t i = 0; i < BLOCKS; i++)
        blocks[i] = allocation_number(i);
    trace_writer_modules(writer, modules, 3);
    trace_writer_frames(writer, frames, NODES / 2);
    trace_writer_frames(writer, frames + NODES / 2, NODES - NODES / 2);
    trace_writer_stacks(writer, nodes, NODES);
    trace_writer_samples(writer, samples, SAMPLES, 42);
    trace_writer_switches(writer, switches, SWITCHES);
    trace_writer_allocations(writer, blocks, BLOCKS, 17);
    trace_writer_symbols(writer, symbols, 4);
    trace_writer_code(writer, codes, 2);
    trace_writer_source(writer, &source);
}

static void check_profile(const struct trace_profile *profile)
{
    CHECK_UINT(profile->damaged, 0);
    REQUIRE(profile->module_count == 3 && profile->frame_count == NODES &&
            profile->node_count == NODES && profile->symbol_count == 4 &&
            profile->code_count == 2 && profile->source_count == 1);
    CHECK_STR(profile->modules[0].path, "/lib/a.so");
    CHECK_STR(profile->modules[2].note, "memory of the process");
    for (uint32_t i = 0; i < NODES; i++)
        if (profile->frames[i].module != i % 4 ||
            profile->frames[i].address != 0xffffffff81000000ull - i * 77ull ||
            profile->nodes[i].parent != i / 2 || profile->nodes[i].frame != i % NODES + 1 ||
            profile->nodes[i].inferred != (i % 5 == 0)) {
            CHECK_UINT(i, NODES); /* tells which one */
            break;
        }
    CHECK_STR(profile->symbols[0].function, "NchwcConv::Compute");
    CHECK(profile->symbols[0].guessed);
    CHECK_STR(profile->symbols[1].function, "inner");
    CHECK_STR(profile->symbols[2].function, "middle");
    CHECK_STR(profile->symbols[3].function, "outer");
    CHECK(profile->symbols[2].inlined && !profile->symbols[3].inlined);
    CHECK_UINT(profile->symbols[3].start, 0x1000);
    CHECK_UINT(profile->code[0].module, 1);
    CHECK_UINT(profile->code[1].size, 5);
    CHECK_UINT(profile->code[1].bytes[4], 0xc3);
    CHECK_STR(profile->sources[0].text, "int x;\nint y;\n");
}

static void back_again(void)
{
    struct trace_writer *writer = begin();
    struct trace_reader *reader;
    struct trace_profile profile;
    struct trace_sample *samples;
    struct trace_switch *switches;
    size_t count;
    uint64_t lost;

    write_all(writer);
    REQUIRE(trace_writer_close(writer, NULL) == IFG_OK);
    REQUIRE(trace_reader_open(path, &reader, NULL) == IFG_OK);
    REQUIRE(trace_profile_read(reader, &profile, NULL) == IFG_OK);
    check_profile(&profile);
    REQUIRE(trace_samples_read(reader, &profile, &samples, &count, &lost, NULL) == IFG_OK);
    CHECK_UINT(count, SAMPLES);
    CHECK_UINT(lost, 42);
    for (uint32_t i = 0; i < count; i++) {
        struct trace_sample expected = sample_number(i);

        if (samples[i].time_ns != expected.time_ns || samples[i].pid != expected.pid ||
            samples[i].tid != expected.tid || samples[i].cpu != expected.cpu ||
            samples[i].stack != expected.stack || samples[i].in_kernel != expected.in_kernel ||
            samples[i].end != expected.end) {
            CHECK_UINT(i, SAMPLES);
            break;
        }
    }
    REQUIRE(trace_switches_read(reader, &switches, &count, NULL) == IFG_OK);
    CHECK_UINT(count, SWITCHES);
    for (uint32_t i = 0; i < count; i++) {
        struct trace_switch expected = switch_number(i);

        if (memcmp(&switches[i].time_ns, &expected.time_ns, 8) || switches[i].pid != expected.pid ||
            switches[i].tid != expected.tid || switches[i].kind != expected.kind ||
            switches[i].other_tid != expected.other_tid) {
            CHECK_UINT(i, SWITCHES);
            break;
        }
    }
    ifg_free(samples);
    ifg_free(switches);
    trace_profile_fini(&profile);
    trace_reader_close(reader);
    unlink(path);
}

static void allocations_back_again(void)
{
    struct trace_writer *writer = begin();
    struct trace_reader *reader;
    struct trace_profile profile;
    struct trace_allocation *read;
    size_t count;
    uint64_t lost;

    write_all(writer);
    REQUIRE(trace_writer_close(writer, NULL) == IFG_OK);
    REQUIRE(trace_reader_open(path, &reader, NULL) == IFG_OK);
    REQUIRE(trace_profile_read(reader, &profile, NULL) == IFG_OK);
    REQUIRE(trace_allocations_read(reader, &profile, &read, &count, &lost, NULL) == IFG_OK);
    CHECK_UINT(count, BLOCKS);
    CHECK_UINT(lost, 17);
    for (uint32_t i = 0; i < count; i++) {
        struct trace_allocation expected = allocation_number(i);

        if (read[i].time_ns != expected.time_ns || read[i].pid != expected.pid ||
            read[i].tid != expected.tid || read[i].address != expected.address ||
            read[i].bytes != expected.bytes || read[i].weight != expected.weight ||
            read[i].stack != expected.stack || read[i].freed != expected.freed) {
            CHECK_UINT(i, BLOCKS);
            break;
        }
    }
    ifg_free(read);
    trace_profile_fini(&profile);
    trace_reader_close(reader);
    unlink(path);
}

/* At the same time the end comes first; a stack that leads nowhere becomes none. */
static void allocations_in_order(void)
{
    const struct trace_allocation all[] = {
        { .time_ns = 9, .address = 64, .bytes = 3, .weight = 5, .stack = 99 },
        { .time_ns = 4, .address = 64, .bytes = 1, .weight = 1 },
        { .time_ns = 9, .address = 64, .freed = true },
    };
    struct trace_writer *writer = begin();
    struct trace_reader *reader;
    struct trace_profile none = { 0 };
    struct trace_allocation *read;
    size_t count;
    uint64_t lost;

    trace_writer_allocations(writer, all, 3, 0);
    REQUIRE(trace_writer_close(writer, NULL) == IFG_OK);
    REQUIRE(trace_reader_open(path, &reader, NULL) == IFG_OK);
    REQUIRE(trace_allocations_read(reader, &none, &read, &count, &lost, NULL) == IFG_OK);
    REQUIRE(count == 3);
    CHECK_UINT(read[0].time_ns, 4);
    CHECK(read[1].freed && !read[2].freed);
    CHECK_UINT(read[2].stack, 0);
    ifg_free(read);
    for (long n = 0; n < 100; n++) {
        enum ifg_status status;

        ifg_alloc_fail_after(n);
        status = trace_allocations_read(reader, &none, &read, &count, &lost, NULL);
        ifg_alloc_fail_after(-1);
        ifg_free(read);
        if (!status)
            break;
        CHECK_INT(status, IFG_NO_MEMORY);
    }
    trace_reader_close(reader);
    unlink(path);
}

/* A trace without samples, and numbers that lead nowhere. */
static void nothing_and_nonsense(void)
{
    const struct trace_frame frames[] = { { 9, 1 }, { 0, 2 } };
    const struct trace_stack_node nodes[] = { { 5, 1, false }, { 1, 99, false }, { 1, 2, false } };
    const struct trace_symbol symbols[] = { { 7, "nobody", 0, 0, "", 0, false, false } };
    const struct trace_sample samples[] = { { .time_ns = 1, .stack = 44 }, { .time_ns = 2 } };
    struct trace_writer *writer = begin();
    struct trace_reader *reader;
    struct trace_profile profile;
    struct trace_sample *read;
    size_t count;
    uint64_t lost;

    REQUIRE(trace_writer_close(writer, NULL) == IFG_OK);
    REQUIRE(trace_reader_open(path, &reader, NULL) == IFG_OK);
    REQUIRE(trace_profile_read(reader, &profile, NULL) == IFG_OK);
    CHECK_UINT(profile.node_count + profile.symbol_count + profile.damaged, 0);
    REQUIRE(trace_samples_read(reader, &profile, &read, &count, &lost, NULL) == IFG_OK);
    CHECK(count == 0 && lost == 0);
    ifg_free(read);
    trace_profile_fini(&profile);
    trace_reader_close(reader);

    REQUIRE(trace_writer_create(path, true, &writer, NULL) == IFG_OK);
    trace_writer_frames(writer, frames, 2);
    trace_writer_stacks(writer, nodes, 3);
    trace_writer_symbols(writer, symbols, 1);
    trace_writer_samples(writer, samples, 2, 0);
    REQUIRE(trace_writer_close(writer, NULL) == IFG_OK);
    REQUIRE(trace_reader_open(path, &reader, NULL) == IFG_OK);
    REQUIRE(trace_profile_read(reader, &profile, NULL) == IFG_OK);
    CHECK_UINT(profile.damaged, 4);
    CHECK_UINT(profile.frames[0].module, 0);
    CHECK_UINT(profile.nodes[0].parent, 0);
    CHECK_UINT(profile.nodes[1].frame, 0);
    CHECK_UINT(profile.symbol_count, 0);
    REQUIRE(trace_samples_read(reader, &profile, &read, &count, &lost, NULL) == IFG_OK);
    REQUIRE(count == 2);
    CHECK_UINT(read[0].stack, 0);
    ifg_free(read);
    trace_profile_fini(&profile);
    trace_reader_close(reader);
    unlink(path);
}

static void out_of_memory(void)
{
    struct trace_writer *writer = begin();
    struct trace_reader *reader;
    struct trace_profile profile;
    unsigned failures = 0;

    write_all(writer);
    REQUIRE(trace_writer_close(writer, NULL) == IFG_OK);
    REQUIRE(trace_reader_open(path, &reader, NULL) == IFG_OK);
    for (long n = 0; n < 1000; n++) {
        enum ifg_status status;

        ifg_alloc_fail_after(n);
        status = trace_profile_read(reader, &profile, NULL);
        ifg_alloc_fail_after(-1);
        if (!status) {
            trace_profile_fini(&profile);
            break;
        }
        CHECK_INT(status, IFG_NO_MEMORY);
        failures++;
    }
    CHECK(failures > 5 && failures < 1000);
    trace_reader_close(reader);
    unlink(path);
}

TAP_MAIN(TAP_CASE(back_again), TAP_CASE(allocations_back_again), TAP_CASE(allocations_in_order),
         TAP_CASE(nothing_and_nonsense), TAP_CASE(out_of_memory))
