// SPDX-License-Identifier: Apache-2.0
/* What a report is made of: timings, perturbed inferences, operators, async, order, sentences. */
#include "analyze/report.h"

#include <math.h>
#include <string.h>

#include "analyze/stats.h"
#include "base/alloc.h"
#include "ml_trace.h"
#include "sample_trace.h"
#include "tap.h"

static struct ml_trace trace;

static struct report *make(void)
{
    struct report *report = NULL;

    REQUIRE(ml_trace_load(&trace));
    REQUIRE(report_create(trace.timeline, &report, NULL) == IFG_OK);
    return report;
}

static void done(struct report *report)
{
    report_destroy(report);
    ml_trace_end(&trace);
}

static void timings(void)
{
    const struct ml_timing *timing;
    struct report *report;
    uint32_t model;

    ml_trace_begin(&trace, NULL);
    model = ml_trace_model(&trace, &(struct ml_trace_model){ .name = "ocr" });
    trace_writer_fact(trace.writer, "record.seconds", "10.0");
    for (uint64_t i = 100; i > 0; i--) /* 100, 99, ... 1 ms */
        ml_trace_event(&trace, 0, model, TRACE_CATEGORY_INFERENCE, i * ML_MS);
    for (int i = 0; i < 9; i++)
        ml_trace_event(&trace, 0, model, TRACE_CATEGORY_LOAD, ML_MS);
    report = make();
    REQUIRE(report->model_count == 1);
    timing = &report->input->functions[0].events[TRACE_CATEGORY_INFERENCE].timing;
    CHECK_UINT(timing->count, 100);
    CHECK(timing->first_ns == 100e6);
    CHECK(timing->min_ns == 1e6 && timing->max_ns == 100e6);
    CHECK(timing->median_ns == 50.5e6 && timing->mean_ns == 50.5e6);
    CHECK(fabs(timing->p90_ns - 90.1e6) < 1);
    CHECK(fabs(timing->p99_ns - 99.01e6) < 1);
    CHECK_UINT(timing->total_ns, 5050ull * ML_MS);
    CHECK(fabs(timing->share - 5050e6 / (double)timeline_length_ns(trace.timeline)) < 1e-9);
    /* What is in the trace counts, not how long the recorder ran; and as much is known before. */
    CHECK_UINT(report->input->duration_ns, timeline_length_ns(trace.timeline));
    CHECK(timeline_length_ns(trace.timeline) < 6 * (uint64_t)ML_S);
    CHECK_UINT(timeline_length_from_blocks_ns(trace.timeline->reader),
               timeline_length_ns(trace.timeline));
    CHECK_UINT(report->input->recorder_ns, 10 * (uint64_t)ML_S + 1);
    timing = &report->input->functions[0].events[TRACE_CATEGORY_LOAD].timing;
    CHECK_UINT(timing->count, 9);
    CHECK(isnan(timing->p90_ns) && isnan(timing->p99_ns)); /* too few */
    timing = &report->input->functions[0].events[TRACE_CATEGORY_SETUP].timing;
    CHECK_UINT(timing->count, 0);
    CHECK(isnan(timing->median_ns));
    done(report);
}

/* Inferences with operators are left out where there are others, and tell what operators cost. */
static void perturbed(void)
{
    static const struct ml_trace_details ops = { .ops = true };
    const struct ml_timing *timing;
    struct report *report;
    uint32_t models[2];

    ml_trace_begin(&trace, NULL);
    models[0] = ml_trace_model(&trace, &(struct ml_trace_model){ .name = "a" });
    models[1] = ml_trace_model(&trace, &(struct ml_trace_model){ .name = "b" });
    for (int i = 0; i < 12; i++) {
        ml_trace_event(&trace, 0, models[0], TRACE_CATEGORY_INFERENCE, 10 * ML_MS);
        ml_trace_event_with(&trace, 0, models[0], TRACE_CATEGORY_INFERENCE, 12 * ML_MS, &ops);
        ml_trace_event_with(&trace, 0, models[1], TRACE_CATEGORY_INFERENCE, 7 * ML_MS, &ops);
    }
    report = make();
    timing = &report->input->functions[0].events[TRACE_CATEGORY_INFERENCE].timing;
    CHECK_UINT(timing->count, 12);
    CHECK_UINT(timing->perturbed, 12);
    CHECK(!timing->perturbed_included);
    CHECK(timing->max_ns == 10e6);
    CHECK(fabs(timing->perturbed_cost - 0.2) < 1e-9);
    CHECK(fabs(report->operator_cost - 0.2) < 1e-9);
    CHECK(fabs(report->operator_share_ns - 24e6) < 1);
    timing = &report->input->functions[1].events[TRACE_CATEGORY_INFERENCE].timing;
    CHECK_UINT(timing->count, 12); /* all there is */
    CHECK(timing->perturbed_included);
    CHECK(isnan(timing->perturbed_cost));
    done(report);
}

/* Operators nest: an If contains others. Types come from the location, or from the attribute. */
static void operators(void)
{
    uint32_t model, outer, conv, add;
    struct ml_trace_open run, around, open;
    const struct ml_operator *items;
    struct report *report;

    ml_trace_begin(&trace, NULL);
    model = ml_trace_model(&trace, &(struct ml_trace_model){ .name = "ocr" });
    outer = ml_trace_location(&trace, TRACE_LOCATION_OP, model, "if_1", "If");
    conv = ml_trace_location(&trace, TRACE_LOCATION_OP, model, "conv_1", "Conv");
    add = ml_trace_location(&trace, TRACE_LOCATION_OP, 0, "add_1", ""); /* of whatever runs */
    for (int i = 0; i < 4; i++) {
        run = ml_trace_enter(&trace, 0, ml_trace_category(&trace, model, TRACE_CATEGORY_INFERENCE));
        around = ml_trace_enter(&trace, 0, outer);
        ml_trace_wait(&trace, 0, 10 * ML_US);
        ml_trace_slice(&trace, 0, conv, 60 * ML_US);
        ml_trace_slice(&trace, 0, conv, 60 * ML_US);
        ml_trace_leave(&trace, 0, around);
        open = ml_trace_enter(&trace, 0, add);
        ml_trace_text(&trace, 0, open, "op_name", "Add");
        ml_trace_wait(&trace, 0, 30 * ML_US);
        ml_trace_leave(&trace, 0, open);
        ml_trace_leave(&trace, 0, run);
    }
    for (int i = 0; i < 6; i++)
        ml_trace_event(&trace, 0, model, TRACE_CATEGORY_INFERENCE, 100 * ML_US);
    report = make();
    REQUIRE(report->input->operator_count == 3);
    items = report->input->operators;
    CHECK_STR(items[0].type, "Conv");
    CHECK_UINT(items[0].count, 8);
    CHECK_UINT(items[0].self_ns, 480 * ML_US);
    CHECK_STR(items[1].type, "Add");
    CHECK_UINT(items[1].self_ns, 120 * ML_US);
    CHECK_STR(items[2].type, "If");
    CHECK_UINT(items[2].total_ns, 520 * ML_US);
    CHECK_UINT(items[2].self_ns, 40 * ML_US);
    CHECK_UINT(report->input->models[0].operator_self_ns, 640 * ML_US);
    CHECK_UINT(report->input->models[0].profiled, 4); /* without being told */
    CHECK_UINT(report->input->models[0].operator_events, 16);
    CHECK(!report->input->models[0].whole_microseconds); /* too few to say */
    CHECK(fabs(report->input->models[0].operator_median_ns - 60e3) < 2e3);
    done(report);
}

static void async_inferences(void)
{
    const struct ml_timing *timing;
    struct report *report;
    uint32_t model;

    ml_trace_begin(&trace, NULL);
    model = ml_trace_model(&trace, &(struct ml_trace_model){ .name = "ocr" });
    for (uint64_t i = 0; i < 5; i++) {
        ml_trace_async(&trace, 1, model, i, 7 * ML_MS); /* they overlap */
        ml_trace_wait(&trace, 1, ML_MS);
    }
    ml_trace_event(&trace, 0, model, TRACE_CATEGORY_INFERENCE, 8 * ML_MS);
    report = make();
    timing = &report->input->functions[0].events[TRACE_CATEGORY_INFERENCE].timing;
    CHECK_UINT(timing->count, 6);
    CHECK_UINT(timing->async, 5);
    CHECK(timing->median_ns == 7e6);
    CHECK_UINT(timing->total_ns, 43 * ML_MS);
    done(report);
}

static void order_and_sentences(void)
{
    struct report *report;
    char text[128];

    ml_trace_begin(&trace, NULL);
    ml_trace_showcase(&trace);
    report = make();
    REQUIRE(report->model_count == 3);
    CHECK_STR(report->input->models[report->models[0]].model->name, "det");
    CHECK_STR(report->input->models[report->models[1]].model->name, "cls");
    CHECK(report->several_processes);
    CHECK_UINT(report->runtime_count, 1);
    REQUIRE(report->sentence_count == REPORT_SENTENCES);
    CHECK_STR(report->sentences[0],
              "det: CUDA was requested and refused (CUDA execution provider is not enabled in this "
              "build); CPU runs all 400 nodes.");
    CHECK_STR(report->findings->items[0].id, "ep-fallback");
    CHECK_STR(report_placement(&report->input->models[0], text, sizeof text), "CPU 400/400 nodes");
    CHECK_STR(report_load_states(&report->input->models[0], text, sizeof text), "cold");
    CHECK_STR(report_load_states(&report->input->models[1], text, sizeof text),
              "specialization unknown");
    CHECK_UINT(report->input->stage_count, 3);
    CHECK_STR(report->input->stages[0].name, "pre");
    CHECK_STR(report->input->stages[2].name, "post");
    done(report);
}

static void all_is_well(void)
{
    struct report *report;
    uint32_t model;

    ml_trace_begin(&trace, NULL);
    model = ml_trace_model(&trace, &(struct ml_trace_model){ .name = "vad" });
    ml_trace_property(&trace, model, "nodes.CPUExecutionProvider", "57");
    ml_trace_event(&trace, 0, model, TRACE_CATEGORY_LOAD, 5 * ML_MS);
    for (int i = 0; i < 30; i++)
        ml_trace_event(&trace, 0, model, TRACE_CATEGORY_INFERENCE, 10 * ML_MS);
    report = make();
    REQUIRE(report->sentence_count == 2);
    CHECK_STR(report->sentences[0], "CPU runs all 57 nodes, as asked.");
    CHECK_STR(report->sentences[1], "No rule found anything to improve.");
    CHECK_UINT(report->findings->count, 0);
    done(report);
}

/* Files of one name in several folders: the folder tells them apart, wherever a model is named. */
static void models_of_one_name(void)
{
    static const char *const paths[] = { "/srv/en/v1/model.onnx", "/srv/de/v1/model.onnx",
                                         "/srv/de/v2/model.onnx", "/srv/de/v2/model.ort",
                                         "/srv/de/v2/model.onnx" };
    static const char *const names[] = { "en/v1/model", "de/v1/model", "v2/model", "model.ort",
                                         "v2/model" };
    struct stats_options options = { .by = STATS_BY_MODEL };
    struct stats *stats = NULL;
    struct report *report;

    ml_trace_begin(&trace, NULL);
    for (size_t i = 0; i < 5; i++) {
        uint32_t model =
            ml_trace_model(&trace, &(struct ml_trace_model){ .name = "model", .path = paths[i] });

        ml_trace_event(&trace, 0, model, TRACE_CATEGORY_INFERENCE, (i + 1) * ML_MS);
    }
    report = make();
    REQUIRE(trace.timeline->model_count == 5);
    for (size_t i = 0; i < 5; i++) {
        CHECK_STR(trace.timeline->models[i].name, names[i]);
        CHECK_STR(trace.timeline->models[i].given_name, "model");
    }
    REQUIRE(stats_create(trace.timeline, &options, &stats, NULL) == IFG_OK);
    REQUIRE(stats->row_count == 4);
    CHECK_STR(stats->rows[0].name, "v2/model"); /* 3 ms and 5 ms: the same file */
    CHECK_UINT(stats->rows[0].count, 2);
    CHECK_STR(stats->rows[3].name, "en/v1/model");
    stats_destroy(stats);
    options.filter.model = "en/v1/model";
    REQUIRE(stats_create(trace.timeline, &options, &stats, NULL) == IFG_OK);
    CHECK_UINT(stats->row_count, 1);
    stats_destroy(stats);
    options.filter.model = "model"; /* all of them */
    REQUIRE(stats_create(trace.timeline, &options, &stats, NULL) == IFG_OK);
    CHECK_UINT(stats->row_count, 4);
    stats_destroy(stats);
    done(report);
}

static void partly_placed(void)
{
    struct report *report;
    uint32_t model;

    ml_trace_begin(&trace, NULL);
    model = ml_trace_model(
        &trace, &(struct ml_trace_model){
                    .name = "vad", .requested = "CUDAExecutionProvider,CPUExecutionProvider" });
    ml_trace_property(&trace, model, "nodes.CUDAExecutionProvider", "409");
    ml_trace_property(&trace, model, "nodes.CPUExecutionProvider", "3");
    ml_trace_event(&trace, 0, model, TRACE_CATEGORY_LOAD, 5 * ML_MS);
    report = make();
    REQUIRE(report->sentence_count > 0);
    CHECK_STR(report->sentences[0], "CUDA runs 409 of 412 nodes, CPU 3, as asked.");
    done(report);
    ml_trace_begin(&trace, NULL);
    model = ml_trace_model(&trace, &(struct ml_trace_model){ .name = "vad", .actual = "" });
    ml_trace_property(&trace, model, "placement.source", "unknown: ONNX Runtime before 1.24");
    ml_trace_event(&trace, 0, model, TRACE_CATEGORY_LOAD, 5 * ML_MS);
    report = make();
    REQUIRE(report->sentence_count > 0);
    CHECK_STR(report->sentences[0], "It is unknown where the nodes run: ONNX Runtime before 1.24.");
    done(report);
}

/* The script, not the interpreter or what started it. */
static void titles(void)
{
    static const char arguments[] = "node\0--max-old-space-size=99\0/srv/app/ocr.js\0receipts";
    struct report *report;
    uint32_t model;

    ml_trace_begin(&trace, NULL);
    trace_writer_process(trace.writer,
                         &(struct trace_process){ .index = 0,
                                                  .pid = 7,
                                                  .program = "/usr/bin/node",
                                                  .arguments = arguments,
                                                  .arguments_bytes = sizeof arguments });
    model = ml_trace_model(&trace, &(struct ml_trace_model){ .name = "vad" });
    ml_trace_event(&trace, 0, model, TRACE_CATEGORY_LOAD, 5 * ML_MS);
    report = make();
    CHECK_STR(report->title, "node ocr.js");
    CHECK_STR(report->program, "app");
    done(report);
}

static void nothing_there(void)
{
    struct report *report;

    ml_trace_begin(&trace, NULL);
    report = make();
    CHECK_UINT(report->model_count, 0);
    CHECK_UINT(report->findings->count, 0);
    CHECK_UINT(report->sentence_count, 0);
    done(report);
}

/* Numbers and texts that make no sense are not believed. */
static void odd_properties(void)
{
    struct report *report;
    uint32_t model;

    ml_trace_begin(&trace, NULL);
    model = ml_trace_model(
        &trace, &(struct ml_trace_model){ .name = "", .requested = ",, ,A,A,,B ,", .actual = "," });
    ml_trace_property(&trace, model, "nodes.A", "-5");
    ml_trace_property(&trace, model, "nodes.B", "99999999999999999999999");
    ml_trace_property(&trace, model, "nodes.", "5");
    ml_trace_property(&trace, model, "requested_failed.", "x");
    ml_trace_property(&trace, model, "options", "intra_op_threads=99999999999 intra_op_threads=");
    for (char name[] = "nodes.a"; name[6] <= 'z'; name[6]++)
        ml_trace_property(&trace, model, name, "1000000000");
    trace_writer_fact(trace.writer, "host.cpus", "-1");
    trace_writer_fact(trace.writer, "host.load", "nan nan");
    trace_writer_fact(trace.writer, "record.seconds", "-inf");
    trace_writer_fact(trace.writer, "record.cpu_seconds", "nan");
    ml_trace_event(&trace, 0, model, TRACE_CATEGORY_INFERENCE, 0);
    report = make();
    CHECK_UINT(report->input->models[0].ep_count, ML_EPS_MAX);
    CHECK_STR(report->input->models[0].eps[0].name, "A,A,,B ,");
    CHECK_UINT(report->input->models[0].eps[0].name_bytes, 1);
    CHECK_UINT(report->input->models[0].eps[1].name_bytes, 1);
    CHECK(!report->input->models[0].eps[0].nodes_known);
    CHECK_UINT(report->input->models[0].intra_threads, 0);
    CHECK_UINT(report->input->cpus, 0);
    CHECK(isnan(report->input->load_average));
    CHECK(isnan(report->recorder_cpu_s));
    done(report);
}

/* Every number of the timings against the plainest computation, over random traces. */
static void random_traces(void)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct sample_trace sample;
        struct report *report;
        size_t events = 0;
        size_t expected = 0;

        REQUIRE(sample_trace_init(&sample, seed, 400));
        REQUIRE(report_create(sample.timeline, &report, NULL) == IFG_OK);
        for (size_t i = 0; i < sample.timeline->slice_count; i++) {
            const struct timeline_location *location =
                &sample.timeline->locations[sample.timeline->location[i]];

            expected +=
                location->kind == TRACE_LOCATION_ML && !timeline_is_unfinished(sample.timeline, i);
        }
        for (size_t f = 0; f < report->input->function_count; f++) {
            for (int c = 1; c < TRACE_CATEGORIES; c++) {
                const struct ml_events *list = &report->input->functions[f].events[c];
                uint64_t total = 0;

                for (size_t i = 0; i < list->count; i++) {
                    const struct ml_event *event = &list->items[i];

                    CHECK(!i || list->items[i - 1].start_ns <= event->start_ns);
                    CHECK_UINT(event->duration_ns,
                               timeline_duration_ns(sample.timeline, event->slice));
                    if (findings_event_counts(list, event))
                        total += event->duration_ns;
                }
                CHECK_UINT(list->timing.total_ns, total);
                events += list->count;
            }
        }
        CHECK_UINT(events, expected);
        report_destroy(report);
        sample_trace_fini(&sample);
    }
}

static void out_of_memory(void)
{
    struct report *report = NULL;
    long failures = 0;

    ml_trace_begin(&trace, NULL);
    ml_trace_showcase(&trace);
    REQUIRE(ml_trace_load(&trace));
    for (long n = 0; n < 1000; n++) {
        enum ifg_status status;

        ifg_alloc_fail_after(n);
        status = report_create(trace.timeline, &report, NULL);
        ifg_alloc_fail_after(-1);
        if (!status)
            break;
        CHECK_INT(status, IFG_NO_MEMORY);
        CHECK(report == NULL);
        failures++;
    }
    CHECK(failures > 20 && failures < 1000);
    report_destroy(report);
    ml_trace_end(&trace);
}

TAP_MAIN(TAP_CASE(timings), TAP_CASE(models_of_one_name), TAP_CASE(perturbed), TAP_CASE(operators),
         TAP_CASE(async_inferences), TAP_CASE(order_and_sentences), TAP_CASE(all_is_well),
         TAP_CASE(partly_placed), TAP_CASE(titles), TAP_CASE(nothing_there),
         TAP_CASE(odd_properties), TAP_CASE(random_traces), TAP_CASE(out_of_memory))
