// SPDX-License-Identifier: Apache-2.0
/* Operators of a profile against the inferences that they belong to. Ticks are nanoseconds here. */
#include "collect/ort_profile/stitch.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "timeline/timeline.h"
#include "tap.h"

#define THREADS   3u
#define FIRST_TID 100u
#define INFERENCE 2u

static char path[64];
static struct trace_writer *writer;
static struct trace_stream *streams[THREADS];
static uint32_t next_location;
static char json[8u << 20];
static size_t json_bytes;
static char list[1u << 16];
static size_t list_bytes;

static void put(char *text, size_t size, size_t *used, const char *format, va_list arguments)
{
    *used += (size_t)vsnprintf(text + *used, size - *used, format, arguments);
    REQUIRE(*used < size);
}

__attribute__((format(printf, 1, 2))) static void add_json(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    put(json, sizeof json, &json_bytes, format, arguments);
    va_end(arguments);
}

__attribute__((format(printf, 1, 2))) static void add_list(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    put(list, sizeof list, &list_bytes, format, arguments);
    va_end(arguments);
}

/* As ONNX Runtime 1.20 lays it out. */
static void add_run(uint32_t tid, unsigned ts, unsigned dur)
{
    add_json("{\"cat\" : \"Session\",\"pid\" :7,\"tid\" :%u,\"dur\" :%u,\"ts\" :%u,\"ph\" : \"X\","
             "\"name\" :\"model_run\",\"args\" : {}},\n",
             tid, dur, ts);
}

static void add_op(uint32_t tid, unsigned ts, unsigned dur, const char *name, unsigned index)
{
    add_json("{\"cat\" : \"Node\",\"pid\" :7,\"tid\" :%u,\"dur\" :%u,\"ts\" :%u,\"ph\" : \"X\","
             "\"name\" :\"%s_kernel_time\",\"args\" : {\"op_name\" : \"Conv\",\"provider\" : "
             "\"CPUExecutionProvider\",\"node_index\" : \"%u\",\"output_size\" : \"128\","
             "\"input_type_shape\" : [{\"float\":[4,8]}],\"thread_scheduling_stats\" : "
             "{\"main_thread\": {\"block_size\": [1]}}}},\n",
             tid, dur, ts, name, index);
}

static struct trace_stream *give_stream(void *user, uint32_t tid)
{
    (void)user;
    if (tid < FIRST_TID || tid >= FIRST_TID + THREADS)
        return NULL;
    trace_stream_flush(streams[tid - FIRST_TID], NULL, 0, 0);
    return streams[tid - FIRST_TID];
}

static uint32_t give_location(void *user, const char *name, const char *type)
{
    struct trace_location location = {
        .id = next_location++, .kind = TRACE_LOCATION_OP, .model = 1, .name = name, .function = type
    };

    (void)user;
    trace_writer_location(writer, &location);
    return location.id;
}

static void begin(void)
{
    struct trace_process process = { .pid = 7, .program = "/bin/tested" };
    struct trace_model model = { .id = 1, .name = "net" };
    struct trace_location location = { .id = INFERENCE,
                                       .kind = TRACE_LOCATION_ML,
                                       .category = TRACE_CATEGORY_INFERENCE,
                                       .model = 1,
                                       .function = "main" };
    struct trace_clock_pair pair = { 0, 0, 5000 };
    int fd;

    snprintf(path, sizeof path, "/tmp/inferogram-stitch-XXXXXX");
    fd = mkstemp(path);
    REQUIRE(fd >= 0);
    close(fd);
    REQUIRE(trace_writer_create(path, true, &writer, NULL) == IFG_OK);
    trace_writer_clock(writer, 0, TRACE_CLOCK_MONOTONIC, 1000000000u, "ns");
    trace_writer_clock_pairs(writer, 0, &pair, 1);
    trace_writer_process(writer, &process);
    trace_writer_model(writer, &model);
    trace_writer_location(writer, &location);
    for (uint32_t i = 0; i < THREADS; i++) {
        trace_writer_thread(writer, i, 0, FIRST_TID + i, "");
        streams[i] = trace_stream_create(writer, i);
    }
    next_location = 10;
    json_bytes = 0;
    list_bytes = 0;
    add_json("[\n");
    add_list("inferogram ort-profile 1\nprofile /d/file-7-1.json\nsession 1\n");
}

/* One of our Runs: an inference in the trace, and a line of the list. */
static void add_inference(uint32_t tid, uint64_t start, uint64_t end)
{
    trace_stream_zone(streams[tid - FIRST_TID], start, end - start, INFERENCE);
    add_list("run %u %" PRIu64 " %" PRIu64 "\n", tid, start, end);
}

static struct stitch_result stitch(void)
{
    struct stitch_sink sink = { NULL, give_stream, give_location };
    struct stitch_result result;
    struct ort_runs runs;

    add_json("{}]\n");
    REQUIRE(ort_runs_parse(list, list_bytes, &runs, NULL) == IFG_OK);
    REQUIRE(ort_profile_stitch(&runs, json, json_bytes, 1, &sink, &result, NULL) == IFG_OK);
    ort_runs_fini(&runs);
    return result;
}

static const struct timeline *load(struct trace_reader **out_reader)
{
    const struct timeline *timeline = NULL;

    REQUIRE(trace_writer_close(writer, NULL) == IFG_OK);
    REQUIRE(trace_reader_open(path, out_reader, NULL) == IFG_OK);
    REQUIRE(timeline_create(*out_reader, NULL, &timeline, NULL) == IFG_OK);
    unlink(path);
    return timeline;
}

static void unload(const struct timeline *timeline, struct trace_reader *reader)
{
    timeline_destroy(timeline);
    trace_reader_close(reader);
}

/* The slice with this name; SIZE_MAX if there is none. */
static size_t find(const struct timeline *timeline, const char *name)
{
    for (size_t i = 0; i < timeline->slice_count; i++)
        if (strcmp(timeline->locations[timeline->location[i]].name, name) == 0)
            return i;
    return SIZE_MAX;
}

static void operators_lie_in_the_middle_of_their_run(void)
{
    struct trace_reader *reader;
    const struct timeline *timeline;
    const struct timeline_attribute *attribute;
    struct stitch_result result;
    size_t a;
    size_t b;

    begin();
    add_inference(100, 1000000, 1110000); /* 110 us; ONNX Runtime says 100 */
    add_op(100, 5010, 40, "a", 3);
    add_op(100, 5050, 49, "b", 4);
    add_run(100, 5000, 100);
    result = stitch();
    CHECK_UINT(result.written, 2);
    CHECK_UINT(result.lost, 0);
    timeline = load(&reader);
    a = find(timeline, "a");
    b = find(timeline, "b");
    REQUIRE(a != SIZE_MAX && b != SIZE_MAX);
    CHECK_UINT(timeline->start_ns[a], 1000000 + 5000 + 10000);
    CHECK_UINT(timeline_end_ns(timeline, a), 1000000 + 5000 + 50000);
    CHECK_UINT(timeline->start_ns[b], 1000000 + 5000 + 50000);
    CHECK_UINT(timeline->depth[a], 1);
    CHECK_UINT(timeline->depth[b], 1);
    CHECK_UINT(timeline_parent(timeline, b), 0);
    CHECK_STR(timeline->locations[timeline->location[a]].function, "Conv");
    CHECK_UINT(timeline->locations[timeline->location[a]].kind, TRACE_LOCATION_OP);
    CHECK_STR(timeline->models[timeline->locations[timeline->location[a]].model].name, "net");
    attribute = timeline_find_attribute(timeline, a, "node_index");
    REQUIRE(attribute != NULL);
    CHECK_UINT(attribute->type, TRACE_VALUE_SIGNED);
    CHECK_INT(attribute->signed_value, 3);
    attribute = timeline_find_attribute(timeline, b, "input_type_shape");
    REQUIRE(attribute != NULL);
    CHECK_STR(attribute->text, "[{\"float\":[4,8]}]");
    attribute = timeline_find_attribute(timeline, b, "thread_scheduling_stats");
    REQUIRE(attribute != NULL);
    CHECK_CONTAINS(attribute->text, "main_thread");
    REQUIRE(timeline_find_attribute(timeline, b, "provider") != NULL);
    unload(timeline, reader);
}

static void runs_are_paired_thread_by_thread(void)
{
    struct trace_reader *reader;
    const struct timeline *timeline;
    struct stitch_result result;

    begin();
    add_inference(100, 1000000, 1100000);
    add_inference(101, 1050000, 1150000);
    add_inference(100, 2000000, 2100000);
    add_op(101, 60, 10, "first of 101", 1);
    add_op(100, 20, 10, "first of 100", 1);
    add_run(101, 50, 100);
    add_run(100, 0, 100);
    add_op(100, 1020, 10, "second of 100", 1);
    add_run(100, 1000, 100);
    result = stitch();
    CHECK_UINT(result.written, 3);
    timeline = load(&reader);
    CHECK_UINT(timeline->start_ns[find(timeline, "first of 100")], 1020000);
    CHECK_UINT(timeline->start_ns[find(timeline, "first of 101")], 1060000);
    CHECK_UINT(timeline->start_ns[find(timeline, "second of 100")], 2020000);
    CHECK_UINT(timeline->threads[timeline_thread_of(timeline, find(timeline, "first of 101"))].tid,
               101);
    unload(timeline, reader);
}

static void nothing_reaches_out_of_its_run(void)
{
    struct trace_reader *reader;
    const struct timeline *timeline;
    struct stitch_result result;

    begin();
    add_inference(100, 1000000, 1100000);
    add_op(100, 0, 3, "begins before", 1);
    add_op(100, 90, 14, "ends behind", 2); /* a loop: its body ends two microseconds later */
    add_op(100, 95, 11, "body", 2);
    add_run(100, 0, 104); /* longer than ours */
    result = stitch();
    CHECK_UINT(result.written, 3);
    timeline = load(&reader);
    CHECK_UINT(timeline->start_ns[find(timeline, "begins before")], 1000000);
    CHECK_UINT(timeline_end_ns(timeline, find(timeline, "ends behind")), 1100000);
    CHECK_UINT(timeline_end_ns(timeline, find(timeline, "body")), 1100000);
    CHECK_UINT(timeline->depth[find(timeline, "begins before")], 1);
    CHECK_UINT(timeline->depth[find(timeline, "ends behind")], 1);
    CHECK_UINT(timeline->depth[find(timeline, "body")], 2);
    unload(timeline, reader);
}

static void what_has_no_inference_is_counted(void)
{
    struct stitch_result result;

    begin();
    add_inference(100, 1000000, 1100000);
    add_op(100, 10, 5, "good", 1);
    add_run(100, 0, 100);
    add_op(100, 2010, 5, "behind the list", 1);
    add_run(100, 2000, 100);
    add_op(100, 5000, 5, "in no run", 1);
    add_op(999, 20, 5, "of an unknown thread", 1); /* in a run, but nobody knows the thread */
    add_json(
        "{\"cat\" : \"Node\",\"tid\" :100,\"dur\" :1,\"ts\" :15,\"name\" :\"x_fence_before\"},\n");
    add_json("{\"cat\" : \"Node\",\"tid\" :100,\"name\" :\"timeless_kernel_time\"},\n");
    result = stitch();
    CHECK_UINT(result.written, 1);
    CHECK_UINT(result.lost, 4);
    REQUIRE(trace_writer_close(writer, NULL) == IFG_OK);
    unlink(path);

    begin();
    add_inference(100, 1000000, 1010000);
    add_op(100, 10, 5, "in a run that cannot be this one", 1);
    add_run(100, 0, 100000);
    result = stitch();
    CHECK_UINT(result.written, 0);
    CHECK_UINT(result.lost, 1);
    REQUIRE(trace_writer_close(writer, NULL) == IFG_OK);
    unlink(path);
}

/* ONNX Runtime before 1.31 writes names as they are; nodes of a parallel session run on threads of
 * the pool. */
static void odd_names_and_other_threads(void)
{
    struct trace_reader *reader;
    const struct timeline *timeline;
    struct stitch_result result;

    begin();
    add_inference(100, 1000000, 1100000);
    add_op(100, 10, 5, "C:\\net\\zoo\\relu\"", 1);
    add_op(102, 20, 5, "a \"quoted\" name", 2);
    add_op(100, 30, 5, "quote \" backslash \\ and\nnewline", 3);
    add_op(100, 36, 5, "\\\nb\"", 4);
    add_op(100, 42, 5, "line\n{\"cat\" : \"Node\" \\ in \" it", 5);
    add_op(100, 50, 5, "after those", 6);
    add_run(100, 0, 100);
    result = stitch();
    CHECK_UINT(result.written + result.lost, 6);
    CHECK_UINT(result.written, 6);
    timeline = load(&reader);
    REQUIRE(find(timeline, "C:\\net\\zoo\\relu\"") != SIZE_MAX);
    REQUIRE(find(timeline, "a \"quoted\" name") != SIZE_MAX);
    REQUIRE(find(timeline, "quote \" backslash \\ and\nnewline") != SIZE_MAX);
    REQUIRE(find(timeline, "after those") != SIZE_MAX);
    CHECK_UINT(timeline->start_ns[find(timeline, "a \"quoted\" name")], 1020000);
    CHECK_UINT(
        timeline->threads[timeline_thread_of(timeline, find(timeline, "a \"quoted\" name"))].tid,
        102);
    unload(timeline, reader);
}

static void twenty_thousand(void)
{
    struct trace_reader *reader;
    const struct timeline *timeline;
    struct stitch_result result;
    size_t inside = 0;

    begin();
    for (unsigned i = 0; i < 64; i++) {
        char name[32];

        add_inference(100, 1000000 + 1000000ull * i, 1000000 + 1000000ull * i + 700000);
        for (unsigned k = 0; k < 310; k++) {
            snprintf(name, sizeof name, "node %u", k);
            add_op(100, 1000 * i + 2 * k, 2, name, k);
        }
        add_run(100, 1000 * i, 650);
    }
    result = stitch();
    CHECK_UINT(result.written, 64 * 310);
    CHECK_UINT(next_location - 10, 310); /* one location for each node */
    timeline = load(&reader);
    for (size_t i = 0; i < timeline->slice_count; i++)
        inside += timeline->depth[i] == 1 && timeline_parent(timeline, i) == i - i % 311;
    CHECK_UINT(inside, 64 * 310);
    unload(timeline, reader);
}

/* The session's profile has its creation as well. */
static void parts_of_a_load(void)
{
    struct trace_location read_model = { .id = 3, .name = "read model" };
    struct trace_location initialize = { .id = 4,
                                         .kind = TRACE_LOCATION_ML,
                                         .category = TRACE_CATEGORY_SPECIALIZATION,
                                         .model = 1,
                                         .function = "main",
                                         .name = "" };
    const struct timeline_attribute *attribute;
    struct trace_reader *reader;
    const struct timeline *timeline;
    struct stitch_result result;
    size_t part = SIZE_MAX;

    begin();
    trace_writer_location(writer, &read_model);
    trace_writer_location(writer, &initialize);
    add_list("load 100 1000000 1500000 3 4 1\n");
    add_json("{\"cat\" : \"Session\",\"pid\" :7,\"tid\" :100,\"dur\" :90,\"ts\" :5,\"ph\" : \"X\","
             "\"name\" :\"model_loading_uri\",\"args\" : {}},\n");
    add_json(
        "{\"cat\" : \"Session\",\"pid\" :7,\"tid\" :100,\"dur\" :300,\"ts\" :100,\"ph\" : \"X\","
        "\"name\" :\"session_initialization\",\"args\" : {}},\n");
    add_inference(100, 2000000, 2100000);
    add_op(100, 1010, 5, "a", 1);
    add_run(100, 1000, 100);
    result = stitch();
    CHECK_UINT(result.written, 3);
    CHECK_UINT(result.lost, 0);
    timeline = load(&reader);
    for (size_t i = 0; i < timeline->slice_count; i++)
        if (timeline->locations[timeline->location[i]].category == TRACE_CATEGORY_SPECIALIZATION)
            part = i;
    REQUIRE(part != SIZE_MAX);
    CHECK_UINT(timeline->start_ns[part], 1200000);
    CHECK_UINT(timeline_end_ns(timeline, part), 1500000);
    attribute = timeline_find_attribute(timeline, part, "session");
    REQUIRE(attribute != NULL);
    CHECK_INT(attribute->signed_value, 1);
    part = find(timeline, "read model");
    REQUIRE(part != SIZE_MAX);
    CHECK_UINT(timeline->start_ns[part], 1105000);
    CHECK_UINT(timeline_end_ns(timeline, part), 1195000);
    unload(timeline, reader);
}

static void lists_of_runs(void)
{
    static const char *const bad[] = {
        "",
        "inferogram ort-profile 2\nprofile /x\nsession 1\n",
        "inferogram ort-profile 1\n",
        "inferogram ort-profile 1\nprofile \nsession 1\n",
        "inferogram ort-profile 1\nprofile /x\nsession x\n",
        "inferogram ort-profile 1\nprofile /x\nsession 99999999999999999999\n",
    };
    static const char cut[] = "inferogram ort-profile 1\nprofile /d/f\nsession 3\nrun 1 2 3\n"
                              "run 4 5 6\nrun 7 9 8\nrun 1 2 3\n";
    struct ort_runs runs;

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CHECK_INT(ort_runs_parse(bad[i], strlen(bad[i]), &runs, NULL), IFG_CORRUPT);
    REQUIRE(ort_runs_parse(cut, strlen(cut), &runs, NULL) == IFG_OK);
    CHECK_STR(runs.profile, "/d/f");
    CHECK_UINT(runs.session, 3);
    CHECK_UINT(runs.count, 2); /* the third ends before it begins */
    CHECK_UINT(runs.items[1].tid, 4);
    CHECK_UINT(runs.items[1].end, 6);
    ort_runs_fini(&runs);
}

TAP_MAIN(TAP_CASE(operators_lie_in_the_middle_of_their_run),
         TAP_CASE(runs_are_paired_thread_by_thread), TAP_CASE(nothing_reaches_out_of_its_run),
         TAP_CASE(what_has_no_inference_is_counted), TAP_CASE(odd_names_and_other_threads),
         TAP_CASE(twenty_thousand), TAP_CASE(parts_of_a_load), TAP_CASE(lists_of_runs))
