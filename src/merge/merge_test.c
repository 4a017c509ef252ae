// SPDX-License-Identifier: Apache-2.0
/* One of everything, merged: tables, blocks and numbers are those of both traces. */
#include "merge/merge.h"

#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "tap.h"
#include "trace/fixture.h"
#include "trace/inputs.h"
#include "trace/samples.h"

struct opened {
    struct trace_reader *reader;
    const struct trace_tables *tables;
    struct trace_profile profile;
    struct trace_input_list inputs;
    size_t samples, switches, allocations;
    uint64_t lost, allocations_lost;
    uint64_t zones;
};

static void open_trace(const char *path, struct opened *out)
{
    struct trace_sample *samples;
    struct trace_switch *switches;
    struct trace_allocation *allocations;
    struct ifg_error err = { 0 };

    memset(out, 0, sizeof *out);
    REQUIRE_INT(trace_reader_open(path, &out->reader, &err), IFG_OK);
    out->tables = trace_reader_tables(out->reader);
    REQUIRE_INT(trace_profile_read(out->reader, &out->profile, &err), IFG_OK);
    REQUIRE_INT(trace_inputs_read(out->reader, &out->inputs, &err), IFG_OK);
    REQUIRE_INT(
        trace_samples_read(out->reader, &out->profile, &samples, &out->samples, &out->lost, &err),
        IFG_OK);
    REQUIRE_INT(trace_switches_read(out->reader, &switches, &out->switches, &err), IFG_OK);
    REQUIRE_INT(trace_allocations_read(out->reader, &out->profile, &allocations, &out->allocations,
                                       &out->allocations_lost, &err),
                IFG_OK);
    for (size_t i = 0; i < trace_reader_block_count(out->reader); i++) {
        const struct trace_block *block = trace_reader_block(out->reader, i);

        out->zones += block->type == TRACE_BLOCK_ZONES ? block->count : 0;
    }
    ifg_free(samples);
    ifg_free(switches);
    ifg_free(allocations);
}

static void close_trace(struct opened *opened)
{
    trace_profile_fini(&opened->profile);
    trace_inputs_fini(&opened->inputs);
    trace_reader_close(opened->reader);
}

static enum ifg_status merge(const char *const *paths, size_t count, const char *output)
{
    struct merge_input inputs[4] = { { 0 } };
    struct merge_options options = {
        .inputs = inputs, .count = count, .output = output, .tool_version = "test"
    };
    struct merge_result result;
    struct ifg_error err = { 0 };
    enum ifg_status status;

    for (size_t i = 0; i < count; i++)
        inputs[i].path = paths[i];
    status = merge_run(&options, &result, &err);
    if (!status)
        CHECK_UINT(result.part_count, count);
    merge_result_fini(&result);
    return status;
}

/* Files for one case; the last is the output. */
static void name_files(char paths[][200], size_t count)
{
    for (size_t i = 0; i < count; i++)
        snprintf(paths[i], sizeof paths[i], "%s", fixture_path());
}

/* The last thread is the stream of the device, with its new number. */
static void check_device(const struct trace_tables *tables)
{
    const struct trace_thread_entry *last = &tables->threads[tables->thread_count - 1];

    CHECK(last->is_device);
    CHECK_UINT(last->device.thread, tables->thread_count - 1);
    CHECK_UINT(last->device.device, 2);
    CHECK_UINT(last->device.stream, 7);
    CHECK_STR(last->device.name, "Test GPU");
    for (size_t i = 0; i + 1 < tables->thread_count; i++)
        CHECK(!tables->threads[i].is_device);
}

static void everything_is_there(void)
{
    char names[5][200];
    const char *paths[4] = { names[0], names[1], names[2], names[3] };
    struct opened part, all;
    struct opened sum = { 0 };
    struct trace_tables tables = { 0 };

    name_files(names, 5);
    REQUIRE_INT(fixture_write(names[0], NULL), IFG_OK);
    REQUIRE_INT(fixture_write_inputs(names[1], NULL), IFG_OK);
    REQUIRE_INT(fixture_write_clocks(names[2], NULL), IFG_OK);
    REQUIRE_INT(fixture_write_device(names[3], NULL), IFG_OK);
    REQUIRE_INT(merge(paths, 4, names[4]), IFG_OK);
    open_trace(names[4], &all);
    for (size_t i = 0; i < 4; i++) {
        open_trace(names[i], &part);
        tables.process_count += part.tables->process_count;
        tables.thread_count += part.tables->thread_count;
        tables.location_count += part.tables->location_count;
        tables.model_count += part.tables->model_count;
        tables.property_count += part.tables->property_count;
        tables.loss_count += part.tables->loss_count;
        sum.inputs.count += part.inputs.count;
        sum.profile.frame_count += part.profile.frame_count;
        sum.profile.node_count += part.profile.node_count;
        sum.samples += part.samples;
        sum.switches += part.switches;
        sum.allocations += part.allocations;
        sum.lost += part.lost;
        sum.allocations_lost += part.allocations_lost;
        sum.zones += part.zones;
        close_trace(&part);
        unlink(names[i]);
    }
    CHECK_UINT(all.tables->process_count, tables.process_count);
    CHECK_UINT(all.tables->thread_count, tables.thread_count);
    CHECK_UINT(all.tables->location_count, tables.location_count);
    CHECK_UINT(all.tables->model_count, tables.model_count);
    CHECK_UINT(all.tables->property_count, tables.property_count);
    CHECK_UINT(all.tables->loss_count, tables.loss_count);
    CHECK_UINT(all.inputs.count, sum.inputs.count);
    CHECK_UINT(all.profile.frame_count, sum.profile.frame_count);
    CHECK_UINT(all.profile.node_count, sum.profile.node_count);
    CHECK_UINT(all.samples, sum.samples);
    CHECK_UINT(all.switches, sum.switches);
    CHECK_UINT(all.allocations, sum.allocations);
    CHECK_UINT(all.lost, sum.lost);
    CHECK_UINT(all.allocations_lost, sum.allocations_lost);
    CHECK_UINT(all.zones, sum.zones);
    CHECK_UINT(all.profile.damaged + all.inputs.damaged, 0);
    CHECK(trace_reader_file(all.reader)->finished);
    check_device(all.tables);
    close_trace(&all);
    unlink(names[4]);
}

static void the_same_trace_is_refused(void)
{
    char names[3][200];
    const char *paths[2] = { names[0], names[1] };

    name_files(names, 3);
    REQUIRE_INT(fixture_write(names[0], NULL), IFG_OK);
    REQUIRE_INT(fixture_write(names[1], NULL), IFG_OK); /* its id is no chance */
    CHECK_INT(merge(paths, 2, names[2]), IFG_INVALID);
    CHECK(access(names[2], F_OK) != 0);
    unlink(names[0]);
    unlink(names[1]);
}

TAP_MAIN(TAP_CASE(everything_is_there), TAP_CASE(the_same_trace_is_refused))
