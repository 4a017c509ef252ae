// SPDX-License-Identifier: Apache-2.0
/*
 * The open loop: queries come when they come, whether or not earlier ones have ended, so that a
 * stall is paid by everybody who waits for it. And the search for the highest rate that keeps a
 * promise.
 */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/convert.h"
#include "base/quantile.h"
#include "bench/measure/measure_internal.h"
#include "bench/measure/rate_search.h"

#define MS         1e-6
#define LATE_MS    0.1
#define OVERLOADED 0.98
#define LAST_TIMES 20u

static enum ifg_status run_open(struct measure_process *process, double rate_hz, uint64_t queries,
                                double duration_s, uint64_t seed, struct runner_samples *samples,
                                struct ifg_error *err)
{
    const struct runner_work work = {
        .kind = RUNNER_OPEN,
        .workers = process->workers,
        .per_query = 1,
        .queries = queries,
        .duration_ns = ifg_u64_of(1e9 * duration_s),
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
    size_t wanted = out->sample_count + count + 1; /* some memory even for none */
    size_t capacity = row->open_capacity;

    if (!IFG_ARRAY_ROOM(out->open.service_ms, capacity, wanted, IFG_ARRAY_ANY) ||
        !IFG_ARRAY_ROOM(row->lateness_ms, row->open_capacity, wanted, IFG_ARRAY_ANY))
        return false;
    for (size_t i = 0; i < count; i++) {
        size_t from = first + i;

        out->open.service_ms[out->sample_count + i] =
            MS * (double)(samples->end_ns[from] - samples->start_ns[from]);
        row->lateness_ms[out->sample_count + i] =
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
    row->queue_grew += third && ifg_median_of_copy(latencies + samples->count - third, third) >
                                    3 * ifg_median_of_copy(latencies, third);
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
    trust_read(&host_system, process->facts.pid, &readings[0]);
    status = run_open(process, process->row->rate_hz, by_time ? 0 : options->iterations,
                      options->duration_s, options->inputs.seed + process->number, &samples, err);
    trust_read(&host_system, process->facts.pid, &readings[1]);
    measure_add_energy(process, true);
    times = latencies_of(&samples);
    if (times)
        add_spans(process->row, &samples, times);
    choose_kept(options, &samples, &first);
    if (!times || !keep_open(process->row, &samples, first))
        added = ifg_fail_no_memory(status ? NULL : err, NULL);
    if (!added) {
        measure_show_live(all, times + first, samples.count - first, 1);
        added = measure_add_block(process, times + first, samples.count - first, reference_ns,
                                  samples.wall_ns, readings, status ? NULL : err);
        measure_tell_kept(process, &samples, first);
    }
    process->row->row->open.used = true;
    ifg_free(times);
    runner_samples_fini(&samples);
    return status ? status : added;
}

/* How many of the queries at this rate were too slow; those that were given up are. */
static enum ifg_status try_rate(void *user, double rate_hz, double seconds, uint32_t number,
                                struct rate_trial *out_trial, struct ifg_error *err)
{
    struct measure_process *process = user;
    const struct bench_options *options = process->all->options;
    struct runner_samples samples = { 0 };
    enum ifg_status status;

    measure_show(process, "looking for the rate, run", (uint64_t)number + 1, 0, 0, seconds, NAN);
    status = run_open(process, rate_hz, 0, seconds, options->inputs.seed + number, &samples, err);
    for (size_t i = 0; i < samples.count; i++)
        out_trial->too_slow +=
            MS * (double)(samples.end_ns[i] - samples.due_ns[i]) > options->slo_ms;
    out_trial->too_slow += samples.unserved;
    out_trial->queries = samples.count + samples.unserved;
    runner_samples_fini(&samples);
    return status;
}

/* How fast it can be at best, from the last of the warm-up; -w 0 leaves none. */
static enum ifg_status best_service(struct measure_process *process, double *out_ms,
                                    struct ifg_error *err)
{
    struct runner_samples few = { 0 };
    size_t from, count;

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
    *out_ms = fmax(ifg_median_of_copy(process->times_ms + from, count), 1e-3);
    return IFG_OK;
}

enum ifg_status measure_find_rate(struct measure_process *process, struct ifg_error *err)
{
    const struct bench_options *options = process->all->options;
    struct bench_open_loop *open = &process->row->row->open;
    struct rate_found found = { 0 };
    double service_ms = 0;
    double most_hz;
    enum ifg_status status = best_service(process, &service_ms, err);

    if (status)
        return status;
    most_hz = 1e3 * process->workers / service_ms;
    if (service_ms <= options->slo_ms) /* else one alone is too slow already */
        status = rate_search(most_hz, options->duration_s * options->processes, try_rate, process,
                             &found, err);
    if (status)
        return status;
    open->found_hz = found.rate_hz;
    open->confirmed_s = found.confirmed_s;
    open->confirmed_queries = found.confirmed.queries;
    open->confirmed_too_slow = found.confirmed.too_slow;
    open->missed_hz = found.missed_hz;
    process->row->rate_found = true;
    /* Without one: what happens at half of what it could do shows why. */
    process->row->rate_hz = found.rate_hz > 0 ? found.rate_hz : 0.5 * most_hz;
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
        return ifg_fail_no_memory(err, NULL);
    open->asked_hz = row->rate_hz;
    open->achieved_hz = row->rate_hz * fmin(1, share);
    /* Or so much that the runner gave up on what was still due. */
    open->overloaded = row->unserved || (open->achieved_hz < OVERLOADED * open->asked_hz &&
                                         2 * row->queue_grew > row->open_runs);
    for (size_t i = 0; i < out->sample_count; i++)
        open->late += row->lateness_ms[i] > LATE_MS;
    memcpy(sorted, row->lateness_ms, out->sample_count * sizeof *sorted);
    statistics_sort(sorted, out->sample_count);
    open->lateness_p99_ms =
        ifg_quantile_sorted(sorted, out->sample_count, 0.99, IFG_QUANTILE_LINEAR);
    ifg_free(sorted);
    return IFG_OK;
}
