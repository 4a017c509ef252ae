// SPDX-License-Identifier: Apache-2.0
/* Inputs find their inference. */
#include "timeline/inputs.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tap.h"
#include "trace/fixture.h"

static void found_by_start_and_location(void)
{
    char path[] = "/tmp/timeline_inputs_test_XXXXXX";
    const struct timeline *timeline = NULL;
    const struct timeline_inputs *inputs;
    struct trace_reader *reader = NULL;
    char shape[64];
    int fd = mkstemp(path);

    REQUIRE(fd >= 0);
    close(fd);
    REQUIRE(fixture_write_inputs(path, NULL) == IFG_OK);
    REQUIRE(trace_reader_open(path, &reader, NULL) == IFG_OK);
    unlink(path);
    REQUIRE(timeline_create(reader, NULL, &timeline, NULL) == IFG_OK);
    REQUIRE(timeline_inputs_get(timeline, &inputs, NULL) == IFG_OK);
    CHECK_UINT(inputs->inferences, 1);
    REQUIRE_UINT(inputs->count, 3);
    CHECK_UINT(inputs->items[0].slice, 0);
    CHECK_STR(inputs->items[2].tensor->name, "step");
    CHECK_UINT(inputs->items[2].position, 2);
    CHECK_STR(timeline_input_shape(inputs->items[0].tensor, shape, sizeof shape), "2x3");
    CHECK_STR(timeline_input_shape(inputs->items[2].tensor, shape, sizeof shape), "scalar");
    CHECK_STR(timeline_input_type(inputs->items[2].tensor->type), "int64");
    CHECK(timeline_inputs_of(timeline, 0) == inputs->items[0].inputs);
    CHECK(timeline_inputs_of(timeline, 1) == NULL);
    CHECK(timeline_input_type(23) == NULL);
    timeline_destroy(timeline);
    trace_reader_close(reader);
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = { TAP_CASE(found_by_start_and_location) };

    return tap_run(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
