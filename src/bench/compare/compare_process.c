// SPDX-License-Identifier: Apache-2.0
/* A process with one or more models in it: loading, warming up, blocks. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/quantile.h"
#include "bench/compare/compare_models.h"

#define WARMUP_LEAST   10u
#define WARMUP_FIRST_S 1.0  /* the least number is cut short when it takes so long */
#define WARMUP_MAX_S   2.0  /* pairs need less of a steady state than a benchmark does */
#define WARMUP_CHANGE  0.05 /* of the medians of windows */
#define BLOCK_LEAST    5u
#define BLOCK_MOST     1000000u
#define BLOCK_MS       20.0
#define SAMPLES_MOST   (1u << 27)
#define MS             1e-6

static void tell(const struct model_job *job, const char *row, const char *phase)
{
    const struct bench_options *bench = &job->options->bench;
    struct bench_progress progress = {
        .row = row, .process = job->compare->processes + 1, .phase = phase, .last_p50_ms = NAN
    };

    if (bench->progress)
        bench->progress(&progress, bench->user);
}

enum ifg_status compare_process_start(struct model_job *job, const struct contender *contender,
                                      struct ifg_error *err)
{
    const struct bench_options *bench = &job->options->bench;
    const struct runner_options how = {
        .program = contender->found.runner,
        .runtime = contender->runtime,
        .library = *contender->found.ort.path ? contender->found.ort.path : NULL,
        .stop = bench->stop,
        .pin_cpu = bench->pin_cpu,
        .patience_s = bench->patience_s,
    };

    tell(job, contender->row->name, "loading");
    memset(&job->facts, 0, sizeof job->facts);
    return runner_start(&how, &job->runner, &job->facts, err);
}

void compare_process_end(struct model_job *job)
{
    runner_stop(job->runner);
    job->runner = NULL;
    for (size_t i = 0; job->contenders && i < job->compare->row_count; i++)
        job->contenders[i].loaded = false;
}

enum ifg_status compare_process_load(struct model_job *job, struct contender *contender,
                                     struct runner_loaded *out_loaded, struct ifg_error *err)
{
    const struct measure_row *base = &contender->base;
    const struct runner_model model = { base->model, base->settings, base->setting_count };
    struct runner_loaded own;
    struct runner_loaded *loaded = out_loaded ? out_loaded : &own;
    enum ifg_status status;

    memset(loaded, 0, sizeof *loaded);
    status = runner_load(job->runner, &model, loaded, err);
    contender->slot = loaded->slot;
    contender->loaded = !status;
    if (!status && job->sets)
        status =
            runner_bind(job->runner, contender->slot, job->sets->sets, job->sets->count, 1, err);
    if (!out_loaded)
        runner_loaded_fini(loaded);
    return status;
}

enum ifg_status compare_process_run(struct model_job *job, const struct contender *contender,
                                    uint64_t queries, uint64_t duration_ns, uint64_t first_set,
                                    struct runner_samples *samples, struct ifg_error *err)
{
    const struct runner_work work = {
        .kind = RUNNER_CLOSED,
        .workers = 1,
        .per_query = 1,
        .queries = queries,
        .duration_ns = duration_ns,
        .first_set = first_set,
    };
    enum ifg_status status;

    if (measure_stopped(&job->options->bench))
        return ifg_fail(err, IFG_CANCELLED, "interrupted");
    status = runner_run(job->runner, contender->slot, &work, samples, err);
    if (!status && samples->stopped)
        status = ifg_fail(err, IFG_CANCELLED, "interrupted");
    if (!status && !samples->count)
        status = ifg_fail(err, IFG_INTERNAL, "the runtime ran nothing");
    return status;
}

/* Times in ms, to be freed; NULL: out of memory. */
static double *times_of(const struct runner_samples *samples, size_t from)
{
    double *times = ifg_alloc(samples->count - from + 1, sizeof *times);

    for (size_t i = from; i < samples->count && times; i++)
        times[i - from] = MS * (double)(samples->end_ns[i] - samples->start_ns[i]);
    return times;
}

/* ---- warm-up ---- */

/* So many that a block takes 20 ms, at least 5, and each input set as often as the others. */
static enum ifg_status choose_block(struct model_job *job, struct contender *contender,
                                    const struct runner_samples *samples, struct ifg_error *err)
{
    double *times = times_of(samples, samples->count / 2);
    double wanted;
    size_t sets = job->sets->count;

    if (!times)
        return ifg_fail_no_memory(err, NULL);
    wanted = ceil(BLOCK_MS / fmax(ifg_median(times, samples->count - samples->count / 2), MS));
    ifg_free(times);
    wanted = fmin(fmax(wanted, BLOCK_LEAST), BLOCK_MOST);
    if (sets > 1 && sets <= BLOCK_MOST)
        wanted = ceil(wanted / (double)sets) * (double)sets;
    contender->row->block_iterations = (uint32_t)wanted;
    return IFG_OK;
}

static enum ifg_status warm_until_steady(struct model_job *job, struct contender *contender,
                                         struct runner_samples *samples, struct ifg_error *err)
{
    double limit = fmin(job->options->bench.warmup_max_s, WARMUP_MAX_S);
    double begun = compare_now();
    enum ifg_status status = compare_process_run(job, contender, WARMUP_LEAST,
                                                 (uint64_t)(1e9 * WARMUP_FIRST_S), 0, samples, err);

    while (!status && compare_now() - begun < limit) {
        struct statistics_steady steady;
        double *times = times_of(samples, 0);
        size_t more = samples->count / 2;

        if (!times)
            return ifg_fail_no_memory(err, NULL);
        steady = statistics_find_steady(times, samples->count, WARMUP_CHANGE);
        ifg_free(times);
        if (steady.steady)
            break;
        status = compare_process_run(job, contender, more > WARMUP_LEAST ? more : WARMUP_LEAST,
                                     (uint64_t)(1e9 * limit), samples->count, samples, err);
    }
    return status;
}

enum ifg_status compare_process_warm_up(struct model_job *job, struct contender *contender,
                                        struct ifg_error *err)
{
    int64_t asked = job->options->bench.warmup;
    struct runner_samples samples = { 0 };
    enum ifg_status status;

    tell(job, contender->row->name, "warming up");
    if (asked > 0)
        contender->warmup = (uint64_t)asked;
    /* Later processes are warmed by what the first one needed: the same for all, and no slower on a
     * machine that is never steady. */
    if (contender->warmup)
        status = compare_process_run(job, contender, contender->warmup, 0, 0, &samples, err);
    else
        status = warm_until_steady(job, contender, &samples, err);
    if (!status && !contender->warmup)
        contender->warmup = samples.count;
    if (!status && !contender->row->block_iterations)
        status = choose_block(job, contender, &samples, err);
    runner_samples_fini(&samples);
    return status;
}

/* ---- blocks ---- */

static bool keep_block(struct model_job *job, struct contender *contender,
                       const struct seen_block *seen, const double *times, size_t count)
{
    struct statistics_block *block;

    if (!IFG_ARRAY_ROOM(contender->samples_ms, contender->sample_capacity,
                        contender->sample_count + count, SAMPLES_MOST) ||
        !IFG_ARRAY_ROOM(contender->blocks, contender->block_capacity, contender->block_count + 1,
                        SAMPLES_MOST) ||
        !IFG_ARRAY_ROOM(job->seen, job->seen_capacity, job->seen_count + 1, SAMPLES_MOST))
        return false;
    block = &contender->blocks[contender->block_count++];
    block->process = job->compare->processes;
    block->first = contender->sample_count;
    block->count = count;
    memcpy(contender->samples_ms + contender->sample_count, times, count * sizeof *times);
    contender->sample_count += count;
    job->seen[job->seen_count++] = *seen;
    return true;
}

enum ifg_status compare_process_block(struct model_job *job, struct contender *contender,
                                      uint64_t first_set, uint64_t reference_ns, double *out_ms,
                                      struct ifg_error *err)
{
    struct runner_samples samples = { 0 };
    struct seen_block seen = { .reference_ns = reference_ns };
    double *times = NULL;
    enum ifg_status status;

    trust_read(&host_system, job->facts.pid, &seen.before);
    status = compare_process_run(job, contender, contender->row->block_iterations, 0, first_set,
                                 &samples, err);
    trust_read(&host_system, job->facts.pid, &seen.after);
    seen.inferences = samples.count;
    if (!status) {
        times = times_of(&samples, 0);
        if (!times || !keep_block(job, contender, &seen, times, samples.count))
            status = ifg_fail_no_memory(err, NULL);
    }
    if (!status)
        *out_ms = ifg_median(times, samples.count);
    ifg_free(times);
    runner_samples_fini(&samples);
    return status;
}
