// SPDX-License-Identifier: Apache-2.0
/* Times of devices: every number here was worked out by hand from the picture in its comment. */
#include "analyze/device_time.h"

#include <math.h>
#include <string.h>

#include "analyze/device_flame.h"
#include "analyze/device_use.h"
#include "analyze/operator_use.h"
#include "base/alloc.h"
#include "device_trace.h"
#include "tap.h"

#define US ML_US

struct made {
    struct device_trace trace;
    struct device_times *times;
    uint32_t net;
    uint32_t inference;
    uint32_t stream;
};

static void begin(struct made *made)
{
    device_trace_begin(&made->trace, NULL);
    made->stream = device_trace_stream(&made->trace, 0, 1, 7);
    made->net = ml_trace_model(
        &made->trace.ml,
        &(struct ml_trace_model){ .name = "net", .requested = "CUDAExecutionProvider" });
    made->inference = ml_trace_category(&made->trace.ml, made->net, TRACE_CATEGORY_INFERENCE);
}

static void load(struct made *made)
{
    REQUIRE(ml_trace_load(&made->trace.ml));
    REQUIRE(device_times_create(made->trace.ml.timeline, &made->times, NULL) == IFG_OK);
}

static void end(struct made *made)
{
    device_times_destroy(made->times);
    device_trace_end(&made->trace);
}

static size_t find(const struct made *made, enum trace_location_kind kind, const char *name,
                   size_t number)
{
    const struct timeline *timeline = made->trace.ml.timeline;

    for (size_t i = 0; i < timeline->slice_count; i++) {
        const struct timeline_location *location = &timeline->locations[timeline->location[i]];

        if (location->kind == kind && (!*name || strcmp(location->name, name) == 0) && !number--)
            return i;
    }
    REQUIRE(false);
    return 0;
}

static struct device_time time_of(const struct made *made, enum trace_location_kind kind,
                                  const char *name, size_t number)
{
    struct device_time time;

    device_time_of(made->times, find(made, kind, name, number), &time);
    return time;
}

/* The picture is in device_trace.h. */
static void showcase(void)
{
    struct made made;
    struct device_time time, sum = { 0 };

    device_trace_begin(&made.trace, NULL);
    device_trace_showcase(&made.trace);
    load(&made);
    REQUIRE(made.times != NULL);
    for (size_t i = 0; i < DEVICE_TRACE_INFERENCES; i++) {
        time = time_of(&made, TRACE_LOCATION_ML, "", i);
        CHECK_UINT(time.host_ns, 170 * US);
        CHECK_UINT(time.span_ns, 170 * US);
        CHECK_UINT(time.busy_ns, DEVICE_TRACE_BUSY_NS);
        CHECK_UINT(time.kernel_ns, DEVICE_TRACE_KERNELS_NS);
        CHECK_UINT(time.copy_ns, DEVICE_TRACE_COPIES_NS);
        CHECK_UINT(time.overlap_ns, 0);
        CHECK_UINT(time.after_ns, 0);
        CHECK_UINT(time.foreign_ns, 0);
        CHECK_UINT(time.works, 5);
        CHECK_UINT(time.kernels, 3);
        CHECK_UINT(time.launches, 5);
        CHECK_UINT(time.queue_ns, (0 + 5 + 100 + 135 + 136) * US);
        CHECK_UINT(time.call_ns, (4 + 5 + 5 + 5 + 4) * US);
        CHECK_UINT(time.waits, 1);
        CHECK_UINT(time.wait_ns, 141 * US);
        CHECK_UINT(time.launch_gap_ns, 0);
        CHECK_UINT(time.idle_ns[DEVICE_IDLE_LAUNCHING], 4 * US); /* the first copy's call */
        CHECK_UINT(time.idle_ns[DEVICE_IDLE_OUTSIDE], 6 * US);   /* 164 to 170 */
        CHECK_UINT(device_time_idle(&time), 10 * US);
        CHECK_UINT(time.copies[DEVICE_HTOD].count, 1);
        CHECK_UINT(time.copies[DEVICE_HTOD].bytes, 602112);
        CHECK_UINT(time.copies[DEVICE_HTOD].ns, 10 * US);
        CHECK_UINT(time.copies[DEVICE_DTOH].bytes, 4000);
        CHECK_UINT(time.copies[DEVICE_DTOD].count, 0);
        device_time_add(&sum, &time);
    }
    CHECK_UINT(sum.slices, 3);
    CHECK_UINT(sum.busy_ns, 3 * DEVICE_TRACE_BUSY_NS);
    CHECK_UINT(sum.copies[DEVICE_HTOD].bytes, 3 * 602112);
    /* fc: the host is in it from 9 to 19, the device works for it from 114 to 159. */
    time = time_of(&made, TRACE_LOCATION_OP, "fc", 0);
    CHECK_UINT(time.host_ns, 10 * US);
    CHECK_UINT(time.span_ns, 150 * US);
    CHECK_UINT(time.busy_ns, 45 * US);
    CHECK_UINT(time.after_ns, 45 * US);
    CHECK_UINT(time.foreign_ns, 105 * US);
    CHECK_UINT(device_time_idle(&time), 0);
    CHECK_UINT(time.queue_ns, 235 * US);
    /* All: 3 inferences, the graph (605-635), the memset beside it, the lost one. */
    CHECK_UINT(device_busy_between(made.times, 0, UINT64_MAX), (3 * 160 + 30 + 10) * US);
    end(&made);
}

/*  0-5 call a, device 5-15;  operator "sort" (CPU) 5-35;  35-40 call b in operator "late" 37-45,
 *  which begins at 35, device 42-52;  wait 45-60 (device idle 52-60);  ends at 70. */
static void gaps_are_named(void)
{
    struct made made;
    struct device_time time;
    struct ml_trace_open run, op;
    struct ml_trace *ml = &made.trace.ml;

    begin(&made);
    run = ml_trace_enter(ml, 0, made.inference);
    device_trace_launch(&made.trace, 0, made.stream, 5 * US,
                        &(struct device_trace_work){ .name = "a", .ns = 10 * US });
    ml_trace_slice(ml, 0, ml_trace_location(ml, TRACE_LOCATION_OP, made.net, "sort", "Sort"),
                   30 * US);
    op = ml_trace_enter(ml, 0, ml_trace_location(ml, TRACE_LOCATION_OP, made.net, "late", "Late"));
    ml_trace_wait(ml, 0, 2 * US);
    device_trace_launch(&made.trace, 0, made.stream, 5 * US,
                        &(struct device_trace_work){ .name = "b", .ns = 10 * US });
    ml_trace_wait(ml, 0, 3 * US);
    ml_trace_leave(ml, 0, op);
    device_trace_sync(&made.trace, 0, made.stream, 15 * US);
    ml_trace_wait(ml, 0, 10 * US);
    ml_trace_leave(ml, 0, run);
    load(&made);
    time = time_of(&made, TRACE_LOCATION_ML, "", 0);
    CHECK_UINT(time.host_ns, 70 * US);
    CHECK_UINT(time.busy_ns, 20 * US);
    /* call a 0-5, preparing 35-37, call b 37-42 */
    CHECK_UINT(time.idle_ns[DEVICE_IDLE_LAUNCHING], 12 * US);
    CHECK_UINT(time.idle_ns[DEVICE_IDLE_OPERATOR], 20 * US); /* 15-35 */
    CHECK_UINT(time.idle_ns[DEVICE_IDLE_WAITING], 8 * US);   /* 52-60 */
    CHECK_UINT(time.idle_ns[DEVICE_IDLE_OUTSIDE], 10 * US);  /* 60-70 */
    CHECK_UINT(time.launch_gap_ns, 27 * US);                 /* 15-42 */
    CHECK_UINT(time.busy_ns + device_time_idle(&time), time.span_ns);
    end(&made);
}

/*  first inference 0-10: call 0-2, device 2-32;  second 10-20: call 10-12, device 32-42. */
static void work_runs_over_the_end(void)
{
    struct made made;
    struct device_time time;

    begin(&made);
    for (int i = 0; i < 2; i++) {
        struct ml_trace_open run = ml_trace_enter(&made.trace.ml, 0, made.inference);

        device_trace_launch(&made.trace, 0, made.stream, 2 * US,
                            &(struct device_trace_work){ .name = "k", .ns = (i ? 10 : 30) * US });
        ml_trace_wait(&made.trace.ml, 0, 8 * US);
        ml_trace_leave(&made.trace.ml, 0, run);
    }
    load(&made);
    time = time_of(&made, TRACE_LOCATION_ML, "", 0);
    CHECK_UINT(time.host_ns, 10 * US);
    CHECK_UINT(time.span_ns, 32 * US);
    CHECK_UINT(time.busy_ns, 30 * US);
    CHECK_UINT(time.after_ns, 22 * US);
    CHECK_UINT(device_time_idle(&time), 2 * US);
    time = time_of(&made, TRACE_LOCATION_ML, "", 1);
    CHECK_UINT(time.span_ns, 32 * US); /* 10-42 */
    CHECK_UINT(time.busy_ns, 10 * US);
    CHECK_UINT(time.after_ns, 10 * US);
    CHECK_UINT(time.foreign_ns, 22 * US); /* 10-32, the first one's */
    CHECK_UINT(device_time_idle(&time), 0);
    CHECK_UINT(time.queue_ns, 20 * US);
    CHECK_UINT(device_busy_between(made.times, 0, UINT64_MAX), 40 * US);
    end(&made);
}

/*  stream 7: kernel 1-11, stream 13: copy 2-22; device 1: kernel 3-8; ends at 30. */
static void overlap_and_devices(void)
{
    struct made made;
    struct device_time time;
    struct ml_trace_open run;
    uint32_t copies;

    begin(&made);
    copies = device_trace_stream(&made.trace, 0, 1, 13);
    run = ml_trace_enter(&made.trace.ml, 0, made.inference);
    device_trace_launch(&made.trace, 0, made.stream, 1 * US,
                        &(struct device_trace_work){ .name = "k", .ns = 10 * US });
    device_trace_launch(
        &made.trace, 0, copies, 1 * US,
        &(struct device_trace_work){ .kind = "memcpy DtoD", .ns = 20 * US, .bytes = 77 });
    ml_trace_wait(&made.trace.ml, 0, 28 * US);
    ml_trace_leave(&made.trace.ml, 0, run);
    load(&made);
    time = time_of(&made, TRACE_LOCATION_ML, "", 0);
    CHECK_UINT(time.kernel_ns, 10 * US);
    CHECK_UINT(time.copy_ns, 20 * US);
    CHECK_UINT(time.overlap_ns, 9 * US);
    CHECK_UINT(time.busy_ns, 21 * US); /* and not 30 */
    CHECK_UINT(time.copies[DEVICE_DTOD].bytes, 77);
    CHECK_UINT(time.busy_ns + device_time_idle(&time), time.span_ns);
    end(&made);
}

/*  call 0-2, kernel 2-12, wait 2-12 with a record of its own; memory at 12; call 12-14, kernel
 *  14-24, wait 14-24; ends at 30. */
static void waits_and_memory_are_no_work(void)
{
    struct made made;
    struct device_time time;
    struct ml_trace_open run;
    const struct timeline_devices *devices;
    uint32_t waits, memory;

    begin(&made);
    waits = device_trace_stream(&made.trace, 0, 1, 7);
    memory = device_trace_stream(&made.trace, 0, 1, UINT32_MAX);
    run = ml_trace_enter(&made.trace.ml, 0, made.inference);
    for (int i = 0; i < 2; i++) {
        device_trace_launch(&made.trace, 0, made.stream, 2 * US,
                            &(struct device_trace_work){ .name = "k", .ns = 10 * US });
        device_trace_sync_seen(&made.trace, 0, made.stream, waits, 0);
        device_trace_orphan(&made.trace, memory, made.trace.ml.now[0],
                            &(struct device_trace_work){ .kind = "memory", .name = "allocate" });
    }
    ml_trace_wait(&made.trace.ml, 0, 6 * US);
    ml_trace_leave(&made.trace.ml, 0, run);
    load(&made);
    time = time_of(&made, TRACE_LOCATION_ML, "", 0);
    CHECK_UINT(time.busy_ns, 20 * US);
    CHECK_UINT(time.kernels, 2);
    CHECK_UINT(time.works, 2);
    CHECK_UINT(time.launches, 2);
    CHECK_UINT(time.waits, 2);
    CHECK_UINT(time.wait_ns, 20 * US); /* and not 40 */
    CHECK_UINT(time.idle_ns[DEVICE_IDLE_WAITING], 0);
    CHECK_UINT(time.idle_ns[DEVICE_IDLE_LAUNCHING], 4 * US);
    CHECK_UINT(time.busy_ns + device_time_idle(&time), time.span_ns);
    REQUIRE(timeline_devices_get(made.trace.ml.timeline, &devices, NULL) == IFG_OK);
    CHECK_UINT(devices->work_count, 6);
    CHECK_UINT(devices->busy_count, 2);
    CHECK_UINT(devices->busy_in_inferences, 2);
    CHECK_UINT(devices->without_call, 0); /* memory needs none */
    CHECK_UINT(devices->too_early, 0);
    for (size_t i = 0; i < devices->call_count; i++) {
        bool is_wait = devices->calls[i].kind == TIMELINE_WORK_SYNC;

        CHECK_UINT(devices->calls[i].work_count, is_wait ? 0 : 1);
        CHECK_UINT(devices->calls[i].busy_ns, is_wait ? 0 : 10 * US);
    }
    end(&made);
}

static void models_and_operators(void)
{
    struct device_trace trace;
    struct ml_input *input = NULL;
    struct operator_use *use = NULL;
    const struct device_model *model;

    device_trace_begin(&trace, NULL);
    device_trace_showcase(&trace);
    REQUIRE(ml_trace_load(&trace.ml));
    REQUIRE(findings_input_create(trace.ml.timeline, &input, NULL) == IFG_OK);
    model = device_model_of(input, &input->models[0]);
    REQUIRE(model != NULL);
    CHECK_UINT(model->sum.slices, 3);
    CHECK_UINT(model->sum.used, 3);
    CHECK(model->host_median_ns == 170 * US && model->busy_median_ns == 160 * US);
    CHECK(model->idle_median_ns == 10 * US && model->wait_median_ns == 141 * US);
    CHECK_UINT(input->device->works, DEVICE_TRACE_WORKS);
    CHECK_UINT(input->device->without_call, 1);
    CHECK_UINT(input->device->without_inference, 5);
    CHECK_UINT(input->device->device_count, 1);
    CHECK_STR(input->device->names[0], "Test GPU");
    CHECK_UINT(model->kernels->row_count, 5);
    CHECK_STR(model->kernels->rows[0].name, "conv");
    CHECK_UINT(model->kernels->rows[0].count, 3);
    CHECK(fabs(model->kernels->rows[0].share - 100.0 / 160) < 1e-9);
    CHECK(model->kernels->rows[0].queue_median_ns == 5 * US);
    /* The device's times are there, so the host's need no mark. */
    CHECK(!input->models[0].host_time && input->models[0].device_recorded);
    CHECK_UINT(input->models[0].operator_device_ns, 3 * 145 * US);
    REQUIRE(operator_use_create(trace.ml.timeline, 0, &use, NULL) == IFG_OK);
    CHECK(!use->host_time && use->device_recorded);
    CHECK_UINT(use->device_ns, 3 * 145 * US);
    for (size_t i = 0; i < use->node_count; i++)
        CHECK_UINT(use->nodes[i].device_ns,
                   (strcmp(use->nodes[i].name, "conv1") == 0 ? 300u : 135u) * US);
    operator_use_destroy(use);
    findings_input_destroy(input);
    device_trace_end(&trace);
}

static void kernels_by_filter(void)
{
    struct device_trace trace;
    struct device_kernels *kernels = NULL;
    static const struct {
        struct device_kernels_options options;
        size_t rows;
        uint64_t busy_us;
    } cases[] = {
        { { 0 }, 9, 3 * 160 + 30 + 10 },    { { .model = "net" }, 5, 3 * 160 },
        { { .model = "other" }, 0, 0 },     { { .op = "fc" }, 2, 3 * 45 },
        { { .op = "MatMul" }, 2, 3 * 45 },  { { .to_ns = 200 * US }, 5, 160 },
        { { .from_ns = 600 * US }, 4, 40 }, { { .thread = "GPU 0 stream 13" }, 1, 3 },
    };

    device_trace_begin(&trace, NULL);
    device_trace_showcase(&trace);
    REQUIRE(ml_trace_load(&trace.ml));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t sum = 0;

        REQUIRE(device_kernels_create(trace.ml.timeline, &cases[i].options, &kernels, NULL) ==
                IFG_OK);
        CHECK_UINT(kernels->row_count, cases[i].rows);
        CHECK_UINT(kernels->busy_ns, cases[i].busy_us * US);
        for (size_t r = 0; r < kernels->row_count; r++)
            sum += kernels->rows[r].total_ns;
        CHECK(sum >= kernels->busy_ns);
        device_kernels_destroy(kernels);
    }
    device_trace_end(&trace);
}

/* By model, operator and kernel; the graph, the memset and the lost kernel are nobody's. */
static void flame_of_kernels(void)
{
    static const struct {
        const char *name;
        uint32_t parent;
        uint64_t us;
    } wanted[] = {
        { "net", DEVICE_FLAME_NONE, 480 },
        { "conv1", 0, 300 },
        { "conv", 1, 300 },
        { "fc", 0, 135 },
        { "gemm", 3, 120 },
        { "bias", 3, 15 },
        { "no operator", 0, 45 },
        { "memcpy HtoD", 6, 30 },
        { "memcpy DtoH", 6, 15 },
    };
    struct device_flame_filter filter = { .model = TIMELINE_NONE };
    struct device_trace trace;
    struct device_flame *flame = NULL;

    device_trace_begin(&trace, NULL);
    device_trace_showcase(&trace);
    REQUIRE(ml_trace_load(&trace.ml));
    REQUIRE(device_flame_create(trace.ml.timeline, &filter, &flame, NULL) == IFG_OK);
    CHECK_UINT(flame->total_ns, (480 + 30 + 10 + 3) * US);
    CHECK_UINT(flame->node_count, sizeof wanted / sizeof wanted[0] + 6);
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        CHECK_STR(flame->nodes[i].name, wanted[i].name);
        CHECK_UINT(flame->nodes[i].parent, wanted[i].parent);
        CHECK_UINT(flame->nodes[i].value_ns, wanted[i].us * US);
    }
    CHECK_STR(flame->nodes[9].name, "outside of inferences");
    device_flame_destroy(flame);
    filter.op = "fc";
    REQUIRE(device_flame_create(trace.ml.timeline, &filter, &flame, NULL) == IFG_OK);
    CHECK_UINT(flame->total_ns, 135 * US);
    device_flame_destroy(flame);
    device_trace_end(&trace);
}

static void names_get_short(void)
{
    char out[64];

    CHECK_STR(device_short_name("void at::native::add<4, float>(int)", out, sizeof out),
              "at::native::add");
    CHECK_STR(device_short_name("sm90_xmma_gemm_f16", out, sizeof out), "sm90_xmma_gemm_f16");
    CHECK_STR(device_short_name("(anonymous namespace)::k(int)", out, sizeof out),
              "(anonymous namespace)::k(int)");
}

static void without_devices(void)
{
    struct made made;

    ml_trace_begin(&made.trace.ml, NULL);
    ml_trace_showcase(&made.trace.ml);
    load(&made);
    CHECK(made.times == NULL);
    CHECK(!device_is_recorded(made.trace.ml.timeline, 0));
    ml_trace_end(&made.trace.ml);
}

/* Each allocation fails once. */
static void no_memory(void)
{
    struct device_trace trace;
    bool done = false;

    device_trace_begin(&trace, NULL);
    device_trace_showcase(&trace);
    REQUIRE(ml_trace_load(&trace.ml));
    for (long n = 0; n < 100 && !done; n++) {
        struct device_times *times = NULL;
        struct device_kernels *kernels = NULL;
        enum ifg_status first, second;

        ifg_alloc_fail_after(n);
        first = device_times_create(trace.ml.timeline, &times, NULL);
        second = device_kernels_create(trace.ml.timeline, &(struct device_kernels_options){ 0 },
                                       &kernels, NULL);
        ifg_alloc_fail_after(-1);
        CHECK((first == IFG_OK) == (times != NULL));
        CHECK((second == IFG_OK) == (kernels != NULL));
        done = !first && !second;
        device_times_destroy(times);
        device_kernels_destroy(kernels);
    }
    CHECK(done);
    device_trace_end(&trace);
}

TAP_MAIN(TAP_CASE(showcase), TAP_CASE(gaps_are_named), TAP_CASE(work_runs_over_the_end),
         TAP_CASE(overlap_and_devices), TAP_CASE(waits_and_memory_are_no_work),
         TAP_CASE(models_and_operators), TAP_CASE(kernels_by_filter), TAP_CASE(flame_of_kernels),
         TAP_CASE(names_get_short), TAP_CASE(without_devices), TAP_CASE(no_memory))
