// SPDX-License-Identifier: Apache-2.0
/*
 * The open loop: queries come when they come, whether or not earlier ones have ended, so that a
 * stall is paid by everybody who waits for it. And the search for the highest rate that keeps a
 * promise.
 */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "bench/measure_internal.h"

#define MS             1e-6
#define LATE_MS        0.1
#define OVERLOADED     0.98
#define PROMISED_SHARE 0.01 /* p99 */
#define CONFIDENCE     0.95
/* One query of so many may be too slow, and still the bound on the share is below 1 %. */
#define SEARCH_QUERIES 480u
#define LAST_TIMES     20u
#define SEARCH_STEPS   7
#define SEARCH_LEAST   0.05 /* of what the workers could do at best */

static enum ifg_status no_memory(struct ifg_error *err)
{
    return ifg_fail(err, IFG_NO_MEMORY, "out of memory");
}

static enum ifg_status run_open(struct measure_process *process, double rate_hz, uint64_t queries,
                                double duration_s, uint64_t seed, struct runner_samples *samples,
                                struct ifg_error *err)
{
    const struct runner_work work = {
        .kind = RUNNER_OPEN,
        .workers = process->workers,
        .per_query = 1,
        .queries = queries,
        .duration_ns = (uint64_t)(1e9 * duration_s),
        .rate_hz = rate_hz,
        .seed = seed,
        .first_set = process->next_set,
    };
    enum ifg_status status = runner_run(process->runner, process->loaded.slot, &work, samples, err);

    process->next_set += samples->count;
    if (!status && samples->stopped)
        status = ifg_fail(err, IFG_CANCELLED, "interrupted");
    return status;
}

/* Latencies from the moment each was due, into new memory. */
static double *latencies_of(const struct runner_samples *samples)
{
    double *times = ifg_alloc(samples->count ? samples->count : 1, sizeof *times);

    for (size_t i = 0; times && i < samples->count; i++)
        times[i] = MS * (double)(samples->end_ns[i] - samples->due_ns[i]);
    return times;
}

/* Service times and lateness grow with the samples. */
static bool keep_open(struct measure_row *row, const struct runner_samples *samples, size_t first)
{
    struct bench_row *out = row->row;
    size_t count = samples->count - first;
    double *service =
        ifg_realloc(out->open.service_ms, out->sample_count + count + 1, sizeof *service);
    double *lateness;

    if (!service)
        return false;
    out->open.service_ms = service;
    lateness = ifg_realloc(row->lateness_ms, out->sample_count + count + 1, sizeof *lateness);
    if (!lateness)
        return false;
    row->lateness_ms = lateness;
    for (size_t i = 0; i < count; i++) {
        size_t from = first + i;

        service[out->sample_count + i] =
            MS * (double)(samples->end_ns[from] - samples->start_ns[from]);
        lateness[out->sample_count + i] =
            samples->start_ns[from] > samples->due_ns[from]
                ? MS * (double)(samples->start_ns[from] - samples->due_ns[from])
                : 0;
    }
    return true;
}

/* Which samples are kept, after --start-iter, --start-delay and --samples. */
static void choose_kept(const struct bench_options *options, struct runner_samples *samples,
                        size_t *out_first)
{
    size_t first = 0;

    while (first < samples->count &&
           (first < options->start_iter ||
            1e-9 * (double)samples->due_ns[first] < options->start_delay_s))
        first++;
    if (options->keep && samples->count - first > options->keep)
        samples->count = first + options->keep;
    *out_first = first;
}

static double median_of(const double *values, size_t count)
{
    double *sorted = count ? ifg_alloc(count, sizeof *sorted) : NULL;
    double median = NAN;

    if (sorted) {
        memcpy(sorted, values, count * sizeof *sorted);
        samples_sort(sorted, count);
        median = samples_quantile(sorted, count, 0.5, SAMPLES_LINEAR);
    }
    ifg_free(sorted);
    return median;
}

/* How long the arrivals took and how long it took to serve them: the randomness of the arrivals is
 * in both, so that only a queue makes a difference. A queue that happens to be there at the end of
 * a short run is not one that grows: those who come last must wait much longer than the first. */
static void add_spans(struct measure_row *row, const struct runner_samples *samples,
                      const double *latencies)
{
    uint64_t last_end = 0, service_ns = UINT64_MAX;
    size_t third = samples->count / 3;

    if (!samples->count)
        return;
    row->open_runs++;
    row->unserved += samples->unserved;
    row->queue_grew += third && median_of(latencies + samples->count - third, third) >
                                    3 * median_of(latencies, third);
    for (size_t i = 0; i < samples->count; i++) {
        uint64_t took = samples->end_ns[i] - samples->start_ns[i];

        last_end = samples->end_ns[i] > last_end ? samples->end_ns[i] : last_end;
        service_ns = took < service_ns ? took : service_ns;
    }
    row->spans_due_ns += samples->due_ns[samples->count - 1] + service_ns;
    row->spans_needed_ns += last_end;
}

enum ifg_status measure_open_loop(struct measure_process *process, struct ifg_error *err)
{
    struct measurement *all = process->all;
    const struct bench_options *options = all->options;
    bool by_time = options->duration_s > 0;
    struct runner_samples samples = { 0 };
    struct trust_reading readings[2];
    double *times = NULL;
    uint64_t reference_ns = 0;
    size_t first = 0;
    enum ifg_status status = runner_reference(process->runner, &reference_ns, err);
    enum ifg_status added = IFG_OK;

    if (status)
        return status;
    measure_show(process, "measuring", 0, by_time ? 0 : options->iterations, 0,
                 by_time ? options->duration_s : 0, NAN);
    measure_add_energy(process, false);
    trust_read(&trust_system, process->facts.pid, &readings[0]);
    status = run_open(process, process->row->rate_hz, by_time ? 0 : options->iterations,
                      options->duration_s, options->inputs.seed + process->number, &samples, err);
    trust_read(&trust_system, process->facts.pid, &readings[1]);
    measure_add_energy(process, true);
    times = latencies_of(&samples);
    if (times)
        add_spans(process->row, &samples, times);
    choose_kept(options, &samples, &first);
    if (!times || !keep_open(process->row, &samples, first))
        added = no_memory(status ? NULL : err);
    if (!added) {
        measure_show_live(all, times + first, samples.count - first, 1);
        added = measure_add_block(process, times + first, samples.count - first, reference_ns,
                                  samples.wall_ns, readings, status ? NULL : err);
    }
    process->row->row->open.used = true;
    ifg_free(times);
    runner_samples_fini(&samples);
    return status ? status : added;
}

/* Whether the promise is kept at this rate, certain enough. */
static enum ifg_status try_rate(struct measure_process *process, double rate_hz, uint64_t seed,
                                bool *out_kept, struct ifg_error *err)
{
    const struct bench_options *options = process->all->options;
    uint64_t queries = options->iterations > SEARCH_QUERIES ? options->iterations : SEARCH_QUERIES;
    struct runner_samples samples = { 0 };
    uint64_t too_slow = 0;
    enum ifg_status status = run_open(process, rate_hz, queries, 0, seed, &samples, err);

    for (size_t i = 0; i < samples.count; i++)
        too_slow += MS * (double)(samples.end_ns[i] - samples.due_ns[i]) > options->slo_ms;
    *out_kept =
        samples.count && samples_share_bound(too_slow, samples.count, CONFIDENCE) <= PROMISED_SHARE;
    runner_samples_fini(&samples);
    return status;
}

enum ifg_status measure_find_rate(struct measure_process *process, struct ifg_error *err)
{
    struct measurement *all = process->all;
    struct runner_samples few = { 0 };
    double sorted[LAST_TIMES];
    size_t from, count;
    double service_ms, most_hz, low_hz, high_hz;

    /* How fast it can be at best, from the last of the warm-up; -w 0 leaves none. */
    if (!process->time_count) {
        enum ifg_status status = measure_run_closed(process, LAST_TIMES, 0, &few, err);

        runner_samples_fini(&few);
        if (status)
            return status;
    }
    from = process->time_count > LAST_TIMES ? process->time_count - LAST_TIMES : 0;
    count = process->time_count - from;
    if (!count)
        return ifg_fail(err, IFG_INTERNAL, "no inference was made");
    memcpy(sorted, process->times_ms + from, count * sizeof *sorted);
    samples_sort(sorted, count);
    service_ms = samples_quantile(sorted, count, 0.5, SAMPLES_LINEAR);
    most_hz = 1e3 * process->workers / fmax(service_ms, 1e-3);
    low_hz = 0;
    high_hz = most_hz;
    /* Halves between what is kept and what is not, down to the least rate worth having. */
    for (int step = 0; step < SEARCH_STEPS; step++) {
        double rate_hz = 0.5 * (low_hz + high_hz);
        bool kept = false;
        enum ifg_status status;

        measure_show(process, "looking for the rate, step", (uint64_t)step + 1, SEARCH_STEPS, 0, 0,
                     NAN);
        if (rate_hz < SEARCH_LEAST * most_hz || service_ms > all->options->slo_ms)
            break; /* one alone is too slow already */
        status = try_rate(process, rate_hz, all->options->inputs.seed + (uint64_t)step, &kept, err);
        if (status)
            return status;
        if (kept)
            low_hz = rate_hz;
        else
            high_hz = rate_hz;
    }
    process->row->row->open.found_hz = low_hz;
    process->row->rate_found = true;
    /* Without one: what happens at half of what it could do shows why. */
    process->row->rate_hz = low_hz > 0 ? low_hz : 0.5 * most_hz;
    return IFG_OK;
}

enum ifg_status measure_finish_open(struct measure_row *row, struct ifg_error *err)
{
    struct bench_row *out = row->row;
    struct bench_open_loop *open = &out->open;
    double *sorted = ifg_alloc(out->sample_count, sizeof *sorted);
    double share =
        row->spans_needed_ns ? (double)row->spans_due_ns / (double)row->spans_needed_ns : 1;

    if (!sorted)
        return no_memory(err);
    open->asked_hz = row->rate_hz;
    open->achieved_hz = row->rate_hz * fmin(1, share);
    /* Or so much that the runner gave up on what was still due. */
    open->overloaded = row->unserved || (open->achieved_hz < OVERLOADED * open->asked_hz &&
                                         2 * row->queue_grew > row->open_runs);
    for (size_t i = 0; i < out->sample_count; i++)
        open->late += row->lateness_ms[i] > LATE_MS;
    memcpy(sorted, row->lateness_ms, out->sample_count * sizeof *sorted);
    samples_sort(sorted, out->sample_count);
    open->lateness_p99_ms = samples_quantile(sorted, out->sample_count, 0.99, SAMPLES_LINEAR);
    ifg_free(sorted);
    return IFG_OK;
}
