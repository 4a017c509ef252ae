// SPDX-License-Identifier: Apache-2.0
/* Numbers as text, quoting, nesting, the sink, and every format when memory runs out. */
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "export/export_internal.h"
#include "export/npz.h"
#include "export/perfetto_internal.h"
#include "tap.h"
#include "trace/fixture.h"

static void check_uint(uint64_t value)
{
    char got[EXPORT_DIGITS + 1];
    char expected[64];

    *export_uint(got, value) = '\0';
    snprintf(expected, sizeof expected, "%" PRIu64, value);
    CHECK_STR(got, expected);
    *export_int(got, (int64_t)value) = '\0';
    snprintf(expected, sizeof expected, "%" PRId64, (int64_t)value);
    CHECK_STR(got, expected);
    *export_us(got, value) = '\0';
    snprintf(expected, sizeof expected, "%" PRIu64 ".%03u", value / 1000, (unsigned)(value % 1000));
    CHECK_STR(got, expected);
}

static void integers_are_what_printf_writes(void)
{
    uint64_t random = 1;

    for (uint64_t power = 1, i = 0; i < 20; i++, power *= 10) {
        check_uint(power);
        check_uint(power - 1);
        check_uint(power + 1);
    }
    check_uint(0);
    check_uint(UINT64_MAX);
    check_uint((uint64_t)INT64_MIN);
    for (int i = 0; i < 20000; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        check_uint(random >> (i % 64));
    }
}

static void doubles_read_back_the_same(void)
{
    static const double values[] = { 0,
                                     -0.0,
                                     1,
                                     -1,
                                     0.1,
                                     1.0 / 3,
                                     1e15,
                                     123456789.125,
                                     1e300,
                                     5e-324,
                                     -2.5,
                                     1e15 + 0.5,
                                     999999999999999,
                                     1e21 };
    char text[EXPORT_DIGITS + 1];

    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        *export_double(text, values[i]) = '\0';
        CHECK(strtod(text, NULL) == values[i]);
    }
    *export_double(text, 1.5) = '\0';
    CHECK_STR(text, "1.5");
    *export_double(text, 42) = '\0';
    CHECK_STR(text, "42");
}

static void lanes_never_overlap(void)
{
    struct lanes lanes = { 0 };
    uint64_t ends[64] = { 0 };
    uint64_t random = 7;
    uint32_t most = 0;

    for (uint64_t start = 0; start < 5000; start += 3) {
        struct lane *lane;

        random = random * 6364136223846793005u + 1442695040888963407u;
        lane = perfetto_lane(&lanes, start, start + (random >> 33) % 100);
        REQUIRE(lane != NULL);
        REQUIRE(lane->number < 64);
        CHECK(ends[lane->number] <= start);
        ends[lane->number] = lane->end_ns;
        if (lane->number > most)
            most = lane->number;
    }
    CHECK(most >= 20 && most < 40); /* as many as spans at a time, not more */
    ifg_free(lanes.items);
}

/* ---- the sink ------------------------------------------------------------------- */

static void the_sink_writes_everything(void)
{
    const char *path = fixture_path();
    struct export_sink sink;
    struct ifg_error err;
    size_t size;
    size_t total = 0;
    uint8_t *data;
    char *large = ifg_alloc(3 * EXPORT_BUFFER, 1);

    REQUIRE(large != NULL);
    memset(large, 'L', 3 * EXPORT_BUFFER);
    REQUIRE_INT(export_sink_open(&sink, path, false, &err), IFG_OK);
    for (size_t i = 0; i < 3000; i++) {
        export_put(&sink, large, i);
        total += i;
        *export_room(&sink, 1) = 'x';
        export_advance(&sink, sink.buffer + sink.used + 1);
        total++;
    }
    export_put(&sink, large, 3 * EXPORT_BUFFER);
    total += 3 * EXPORT_BUFFER;
    REQUIRE_INT(export_sink_close(&sink, true, &err), IFG_OK);
    data = fixture_read(path, &size);
    CHECK_UINT(size, total);
    CHECK_INT(export_sink_open(&sink, path, false, &err), IFG_INVALID);
    CHECK_CONTAINS(err.message, "exists already");
    REQUIRE_INT(export_sink_open(&sink, path, true, &err), IFG_OK);
    export_put(&sink, "new", 3);
    REQUIRE_INT(export_sink_close(&sink, false, &err), IFG_OK);
    ifg_free(data);
    data = fixture_read(path, &size);
    CHECK_UINT(size, total); /* an export that failed replaces nothing */
    ifg_free(data);
    unlink(path);
    ifg_free(large);
}

static void a_full_disk_is_told_once_at_the_end(void)
{
    struct export_sink sink;
    struct ifg_error err;

    REQUIRE_INT(export_sink_open(&sink, "/dev/full", false, &err), IFG_OK);
    for (size_t i = 0; i < 2 * EXPORT_BUFFER; i++)
        export_put(&sink, "x", 1);
    CHECK(sink.failed);
    CHECK_INT(export_sink_close(&sink, true, &err), IFG_IO);
    CHECK_CONTAINS(err.message, "No space left");
}

static void a_cancelled_export_leaves_nothing(void)
{
    static volatile sig_atomic_t cancel;
    const char *path = fixture_path();
    struct export_sink sink;
    struct ifg_error err;

    REQUIRE_INT(export_sink_open(&sink, path, false, &err), IFG_OK);
    sink.cancel = &cancel;
    export_put(&sink, "x", 1);
    cancel = 1;
    CHECK_INT(export_sink_close(&sink, true, &err), IFG_CANCELLED);
    CHECK(access(path, F_OK) != 0);
}

/* ---- formats -------------------------------------------------------------------- */

static enum ifg_status run(const struct timeline *timeline, const struct export_format *format,
                           const struct export_options *options)
{
    struct export_result result;
    struct export_sink sink;
    enum ifg_status status = export_sink_open(&sink, "/dev/null", false, NULL);
    enum ifg_status written;

    if (status)
        return status;
    status = export_run(timeline, format, options, &sink, &result, NULL);
    written = export_sink_close(&sink, status == IFG_OK, NULL);
    return status ? status : written;
}

static void every_format_survives_any_failed_allocation(void)
{
    const struct export_options options[] = {
        { 0 },
        { .compress = true, .unwrap = true, .self = true, .by_thread = true, .thread = "main" }
    };
    struct trace_reader *reader;
    const struct timeline *timeline;
    size_t size;
    uint8_t *data = fixture_bytes(&size);

    REQUIRE(data != NULL);
    REQUIRE_INT(trace_reader_open_memory(data, size, "fixture", &reader, NULL), IFG_OK);
    REQUIRE_INT(timeline_create(reader, NULL, &timeline, NULL), IFG_OK);
    for (size_t f = 0; export_formats[f]; f++) {
        const struct export_format *format = export_formats[f];

        for (size_t o = 0; o < 2 && !format->one_event; o++) {
            enum ifg_status status = IFG_NO_MEMORY;

            for (long n = 0; n < 2000 && status != IFG_OK; n++) {
                tap_note("%s, options %zu, allocation %ld fails", format->name, o, n);
                ifg_alloc_fail_after(n);
                status = run(timeline, format, &options[o]);
                ifg_alloc_fail_after(-1);
                CHECK(status == IFG_OK || status == IFG_NO_MEMORY);
            }
            CHECK_INT(status, IFG_OK);
        }
    }
    timeline_destroy(timeline);
    trace_reader_close(reader);
    ifg_free(data);
}

/* ---- inputs --------------------------------------------------------------------- */

static void collect(const void *data, size_t bytes, void *user)
{
    ifg_bytes_put(user, data, bytes);
}

static uint32_t u32_at(const struct ifg_bytes *bytes, size_t at)
{
    uint32_t value;

    REQUIRE(at + sizeof value <= bytes->size);
    memcpy(&value, bytes->data + at, sizeof value);
    return value;
}

/* An archive of three, the second of them without elements; and any allocation may fail. */
static void inputs_are_an_archive_of_arrays(void)
{
    char path[] = "/tmp/export_inputs_test_XXXXXX";
    const struct export_format *format = export_find_format("npz");
    const struct timeline *timeline = NULL;
    const struct trace_inputs *inputs;
    struct trace_reader *reader = NULL;
    enum ifg_status status = IFG_NO_MEMORY;
    struct ifg_error err = { 0 };
    struct ifg_bytes got;
    size_t slice;
    int fd = mkstemp(path);

    REQUIRE(fd >= 0);
    close(fd);
    REQUIRE_INT(fixture_write_inputs(path, NULL), IFG_OK);
    REQUIRE_INT(trace_reader_open(path, &reader, NULL), IFG_OK);
    unlink(path);
    REQUIRE_INT(timeline_create(reader, NULL, &timeline, NULL), IFG_OK);
    for (long n = 0; n < 2000 && status != IFG_OK; n++) {
        ifg_alloc_fail_after(n);
        status = run(timeline, format, &(struct export_options){ 0 });
        ifg_alloc_fail_after(-1);
        CHECK(status == IFG_OK || status == IFG_NO_MEMORY);
    }
    CHECK_INT(status, IFG_OK);
    CHECK_INT(run(timeline, format, &(struct export_options){ .has_event = true, .event = 1 }),
              IFG_NOT_FOUND);
    REQUIRE_INT(export_inputs_choose(timeline, SIZE_MAX, &inputs, &slice, &err), IFG_OK);
    CHECK_UINT(slice, 0);
    CHECK_STR(export_inputs_extension(inputs), ".npz");
    ifg_bytes_init(&got, 1u << 20);
    REQUIRE_INT(export_inputs_write(timeline, inputs, collect, &got, &err), IFG_OK);
    CHECK(got.size <= export_inputs_bytes(inputs));
    CHECK_UINT(u32_at(&got, 0), 0x04034b50);    /* the first entry */
    CHECK_UINT(u32_at(&got, 18), 128 + 24);     /* its bytes */
    CHECK_BYTES(got.data + 30, "image.npy", 9); /* its name */
    CHECK_BYTES(got.data + 39,
                "\x93NUMPY\1\0\x76\0{'descr': '<f4', 'fortran_order': False, "
                "'shape': (2, 3), }",
                69);
    CHECK_UINT(u32_at(&got, got.size - 22), 0x06054b50);              /* the end of the directory */
    CHECK_UINT(u32_at(&got, u32_at(&got, got.size - 6)), 0x02014b50); /* and its beginning */
    ifg_bytes_fini(&got);
    timeline_destroy(timeline);
    trace_reader_close(reader);
}

static enum ifg_status write_dummy(struct export_job *job)
{
    job->result->slices = job->timeline->slice_count;
    return IFG_OK;
}

/* All that a format needs besides its file. */
static void a_format_is_one_row(void)
{
    const struct export_format dummy = {
        .name = "dummy", .extension = ".dummy", .summary = "a test", .write = write_dummy
    };
    const struct export_options options = { 0 };
    struct export_result result = { 0 };
    struct trace_reader *reader;
    const struct timeline *timeline;
    struct export_sink sink;
    size_t size;
    uint8_t *data = fixture_bytes(&size);

    REQUIRE(data != NULL);
    REQUIRE_INT(trace_reader_open_memory(data, size, "fixture", &reader, NULL), IFG_OK);
    REQUIRE_INT(timeline_create(reader, NULL, &timeline, NULL), IFG_OK);
    REQUIRE_INT(export_sink_open(&sink, "/dev/null", false, NULL), IFG_OK);
    CHECK_INT(export_run(timeline, &dummy, &options, &sink, &result, NULL), IFG_OK);
    CHECK_INT(export_sink_close(&sink, true, NULL), IFG_OK);
    CHECK_UINT(result.slices, timeline->slice_count);
    timeline_destroy(timeline);
    trace_reader_close(reader);
    ifg_free(data);
}

TAP_MAIN(TAP_CASE(integers_are_what_printf_writes), TAP_CASE(doubles_read_back_the_same),
         TAP_CASE(lanes_never_overlap), TAP_CASE(the_sink_writes_everything),
         TAP_CASE(a_full_disk_is_told_once_at_the_end), TAP_CASE(a_cancelled_export_leaves_nothing),
         TAP_CASE(every_format_survives_any_failed_allocation), TAP_CASE(a_format_is_one_row),
         TAP_CASE(inputs_are_an_archive_of_arrays))
