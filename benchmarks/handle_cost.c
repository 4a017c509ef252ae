// SPDX-License-Identifier: Apache-2.0
/*
 * What a started profiling handle adds to an inference, and how close to the clock's boundaries a
 * stream reports. Rounds with and without a handle take turns; the best of each counts.
 *
 *   added_ns       thread CPU time per inference, with a stream on (bar 1,000)
 *   counted        inferences in the reports, of those that took place (bar: all)
 *   late_p95_ms    a report behind its multiple of 500 ms, 20 reports (bar 10, on an idle machine)
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <inferogram/handles.h>

#include "base/ticks.h"
#include "bench.h"

#define ROUNDS   7
#define EVENTS   20000L
#define REPORTS  20
#define RATE_NS  500000000u
#define NAP_EACH 1000L /* a burst longer than the queue would be cut */

static uint64_t reported;
static uint64_t lost;
static double late_ms[REPORTS];
static size_t late_count;

static void count(const ifg_report *report, void *user)
{
    (void)user;
    __atomic_add_fetch(&reported, report->samples, __ATOMIC_RELAXED);
    __atomic_add_fetch(&lost, report->lost, __ATOMIC_RELAXED);
}

static void note_time(const ifg_report *report, void *user)
{
    uint64_t late = ifg_realtime_ns() % RATE_NS;
    size_t at = __atomic_load_n(&late_count, __ATOMIC_RELAXED);

    (void)report;
    (void)user;
    if (at < REPORTS) {
        late_ms[at] = (double)late / 1e6;
        __atomic_store_n(&late_count, at + 1, __ATOMIC_RELEASE);
    }
}

static double inference_ns(ifg_model *model)
{
    double seconds = 0;

    for (long i = 0; i < EVENTS; i += NAP_EACH) {
        double begin = bench_cpu_seconds();

        for (long j = 0; j < NAP_EACH; j++) {
            IFG_EVENT_BEGIN(event, model, "main", IFG_INFERENCE);
            IFG_EVENT_END(event);
        }
        seconds += bench_cpu_seconds() - begin;
        usleep(1000);
    }
    return seconds / EVENTS * 1e9;
}

static int by_value(const void *a, const void *b)
{
    const double *left = a;
    const double *right = b;

    return (*left > *right) - (*left < *right);
}

static ifg_stream *stream_of(ifg_model *model, ifg_report_callback *callback)
{
    ifg_stream_options options = { .struct_size = sizeof options,
                                   .report_ms = 500,
                                   .callback = callback };
    ifg_stream *stream;

    if (ifg_stream_create(&options, &stream) < 0 || ifg_stream_add(stream, model) < 0)
        exit(1);
    return stream;
}

int main(int argc, char **argv)
{
    ifg_model_options options = { .struct_size = sizeof options, .name = "model" };
    ifg_model *model = ifg_model_create(&options);
    ifg_stream *stream = stream_of(model, count);
    double best_off = 1e9;
    double best_on = 1e9;

    bench_begin("handle_cost", argc, argv);
    for (int round = 0; round < ROUNDS; round++) {
        double off = inference_ns(model);
        double on;

        ifg_stream_start(stream);
        on = inference_ns(model);
        ifg_stream_stop(stream);
        best_off = off < best_off ? off : best_off;
        best_on = on < best_on ? on : best_on;
    }
    ifg_stream_destroy(stream);
    bench_result("off_ns", best_off, "ns per inference");
    bench_bar("added_ns", best_on - best_off, 1000, "ns per inference");
    bench_result("counted", (double)reported, "inferences");
    bench_bar("not_counted", (double)(ROUNDS * EVENTS) - (double)reported, 0, "inferences");

    stream = stream_of(model, note_time);
    ifg_stream_start(stream);
    while (__atomic_load_n(&late_count, __ATOMIC_ACQUIRE) < REPORTS)
        usleep(10000);
    ifg_stream_destroy(stream);
    qsort(late_ms, REPORTS, sizeof *late_ms, by_value);
    bench_result("late_p50_ms", late_ms[REPORTS / 2], "ms behind the boundary");
    bench_bar("late_p95_ms", late_ms[REPORTS * 95 / 100 - 1], 10, "ms behind the boundary");
    return bench_end();
}
