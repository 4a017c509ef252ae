// SPDX-License-Identifier: Apache-2.0
/* One process of one row: cold phase, warm-up until the times are steady, then blocks. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/convert.h"
#include "base/quantile.h"
#include "base/ticks.h"
#include "bench/measure/measure_internal.h"

#define WARMUP_LEAST          10u
#define BLOCK_LEAST           5u
#define BLOCK_NS              20e6
#define BLOCKS_MOST           200u /* of a process: the look at the machine takes time too */
#define STEADY_TOLERANCE      0.01
#define STEADY_TOLERANCE_MOST 0.05
#define SAMPLES_MOST          (1u << 26)
#define MS                    1e-6

/* ---- beginning ---- */

static bool set_text(char **text, const char *value)
{
    char *copy = ifg_strdup(value);

    if (copy) {
        ifg_free(*text);
        *text = copy;
    }
    return copy != NULL;
}

static bool describe_load(struct measure_process *process)
{
    struct bench_result *result = process->all->result;
    struct bench_row *row = process->row->row;
    const struct runner_loaded *loaded = &process->loaded;

    row->placement_count = 0;
    for (size_t i = 0; i < loaded->placement_count; i++) {
        struct bench_placement *to = &row->placements[row->placement_count++];

        memcpy(to->provider, loaded->placements[i].provider, sizeof to->provider);
        to->nodes = loaded->placements[i].nodes;
    }
    return set_text(&row->placement_reason, loaded->placement_reason) &&
           set_text(&result->runtime, process->facts.runtime) &&
           set_text(&result->runtime_version, process->facts.version);
}

/* A new entry in the row's list of processes. */
static bool begin_entry(struct measure_process *process)
{
    struct bench_row *row = process->row->row;

    if (!IFG_ARRAY_ROOM(row->processes, row->process_capacity, row->process_count + 1,
                        IFG_ARRAY_ANY))
        return false;
    process->out = &row->processes[row->process_count++];
    memset(process->out, 0, sizeof *process->out);
    process->out->start_ms = MS * (double)process->facts.start_ns;
    process->out->load_ms = MS * (double)process->loaded.load_ns;
    process->out->specialization_ms =
        process->loaded.specialization_ns ? MS * (double)process->loaded.specialization_ns : NAN;
    process->out->first_ms = NAN;
    process->out->warmup_mean_ms = NAN;
    process->out->before_bytes = process->facts.rss_bytes;
    process->out->after_load_bytes = process->loaded.rss_bytes;
    return true;
}

enum ifg_status measure_make_inputs(const struct bench_options *options, struct measure_row *row,
                                    const struct port_list *ports, struct ifg_error *err)
{
    struct inputs_options inputs = options->inputs;
    enum ifg_status status;

    if (row->sets)
        return IFG_OK;
    inputs.bounds = row->bounds;
    inputs.bound_count = row->bound_count;
    status = inputs_make(ports, &inputs, &row->own_sets, err);
    if (!status)
        row->sets = &row->own_sets;
    return status;
}

static enum ifg_status start(struct measure_process *process, struct ifg_error *err)
{
    struct measurement *all = process->all;
    const struct bench_options *options = all->options;
    struct measure_row *row = process->row;
    const struct runner_options how = {
        .program = all->found.runner,
        .runtime = options->runtime,
        .library = *all->found.ort.path ? all->found.ort.path : NULL,
        .stop = options->stop,
        .pin_cpu = options->pin_cpu,
        .patience_s = options->patience_s,
    };
    const struct runner_model model = { row->model, row->settings, row->setting_count };
    enum ifg_status status;

    measure_show(process, "loading", 0, 0, 0, 0, NAN);
    status = runner_start(&how, &process->runner, &process->facts, err);
    if (status) {
        /* No runtime, no row: the others need the same one. */
        all->fatal = status != IFG_CANCELLED;
        return status == IFG_NOT_FOUND ? IFG_UNSUPPORTED : status;
    }
    status = runner_load(process->runner, &model, &process->loaded, err);
    if (status)
        return status;
    if (!describe_load(process) || !begin_entry(process))
        return ifg_fail_no_memory(err, NULL);
    if (options->load_only)
        return IFG_OK;
    /* Rows of one model are fed with the same. */
    if (!row->sets && row != all->rows && strcmp(row->model, all->rows[0].model) == 0)
        row->sets = all->rows[0].sets;
    status = measure_make_inputs(options, row, &process->loaded.inputs, err);
    if (!status)
        status = runner_bind(process->runner, process->loaded.slot, row->sets->sets,
                             row->sets->count, process->workers, err);
    if (status == IFG_INVALID || status == IFG_NOT_FOUND ||
        (status == IFG_CORRUPT && !row->sets)) /* the data, and all rows get the same */
        all->fatal = true;
    return status;
}

/* ---- queries ---- */

enum ifg_status measure_run_closed(struct measure_process *process, uint64_t queries,
                                   uint64_t duration_ns, struct runner_samples *samples,
                                   struct ifg_error *err)
{
    const struct runner_work work = {
        .kind = RUNNER_CLOSED,
        .workers = process->workers,
        .per_query = process->per_query,
        .queries = queries,
        .duration_ns = duration_ns,
        .first_set = process->next_set,
    };
    size_t before = samples->count;
    enum ifg_status status = runner_run(process->runner, process->loaded.slot, &work, samples, err);
    size_t count = samples->count - before;
    double *times;

    if (status == IFG_INVALID) /* what the model is fed with does not fit it */
        process->all->fatal = true;
    if (!status && samples->stopped)
        status = ifg_fail(err, IFG_CANCELLED, "interrupted");
    if (!count)
        return status;
    process->next_set += count;
    if (!IFG_ARRAY_ROOM(process->times_ms, process->time_capacity, process->time_count + count,
                        SAMPLES_MOST))
        return ifg_fail_no_memory(err, NULL);
    times = process->times_ms + process->time_count;
    for (size_t i = 0; i < count; i++)
        times[i] = MS * (double)(samples->end_ns[before + i] - samples->start_ns[before + i]);
    process->time_count += count;
    measure_show_live(process->all, times, count, process->per_query);
    return status;
}

/* Queries whose times are only remembered. */
static enum ifg_status run_unkept(struct measure_process *process, uint64_t queries,
                                  uint64_t duration_ns, struct ifg_error *err)
{
    struct runner_samples samples = { 0 };
    enum ifg_status status = measure_run_closed(process, queries, duration_ns, &samples, err);

    runner_samples_fini(&samples);
    return status;
}

/* ---- warm-up ---- */

/* Times cannot be steadier than the machine: how far runs of the reference kernel are apart. */
static enum ifg_status find_tolerance(struct measure_process *process, double *out_tolerance,
                                      struct ifg_error *err)
{
    uint64_t least = UINT64_MAX, most = 0;
    double spread;

    for (int i = 0; i < 3; i++) {
        uint64_t ns;
        enum ifg_status status = runner_reference(process->runner, &ns, err);

        if (status)
            return status;
        least = ns < least ? ns : least;
        most = ns > most ? ns : most;
    }
    spread = least ? (double)(most - least) / (double)least : 0;
    *out_tolerance = fmin(fmax(STEADY_TOLERANCE, spread), STEADY_TOLERANCE_MOST);
    return IFG_OK;
}

static void note_steady(struct measure_process *process, double tolerance)
{
    struct statistics_steady steady =
        statistics_find_steady(process->times_ms, process->time_count, tolerance);

    process->out->steady = steady.steady;
    process->out->steady_after = steady.steady ? steady.from : 0;
}

/* Until steady, by time at most. The parts grow, so that looking at them does not. */
static enum ifg_status warm_until_steady(struct measure_process *process, double tolerance,
                                         struct ifg_error *err)
{
    double limit_s = process->all->options->warmup_max_s;
    uint64_t began = ifg_monotonic_ns();

    while (!process->out->steady) {
        double seconds = 1e-9 * (double)(ifg_monotonic_ns() - began);
        uint64_t more = process->time_count / 2;
        enum ifg_status status;

        if (seconds >= limit_s)
            break;
        measure_show(process, "warming up", 0, 0, seconds, limit_s, NAN);
        status = run_unkept(process, more > WARMUP_LEAST ? more : WARMUP_LEAST,
                            (uint64_t)(1e9 * (limit_s - seconds)) + 1, err);
        if (status)
            return status;
        note_steady(process, tolerance);
    }
    return IFG_OK;
}

static enum ifg_status warm_up(struct measure_process *process, double *out_tolerance,
                               struct ifg_error *err)
{
    const struct bench_options *options = process->all->options;
    enum ifg_status status = find_tolerance(process, out_tolerance, err);

    if (status)
        return status;
    measure_show(process, "warming up", 0, 0, 0, options->warmup_max_s, NAN);
    if (options->warmup) {
        /* A query of one thread, even where several will be used: that is what a user meets. */
        uint32_t workers = process->workers;
        uint32_t per_query = process->per_query;

        process->workers = process->per_query = 1;
        status = run_unkept(process, 1, 0, err);
        process->workers = workers;
        process->per_query = per_query;
        if (!status && !process->time_count)
            status = ifg_fail(err, IFG_INTERNAL, "the first inference was not made");
        if (status)
            return status;
        process->out->first_ms = process->times_ms[0];
    }
    if (options->warmup > 1)
        status = run_unkept(process, (uint64_t)options->warmup - 1, 0, err);
    else if (options->warmup < 0)
        status = warm_until_steady(process, *out_tolerance, err);
    return status;
}

/* Iterations that the user does not want: --start-iter, --start-delay. */
static enum ifg_status skip_first(struct measure_process *process, uint64_t *out_skipped,
                                  struct ifg_error *err)
{
    const struct bench_options *options = process->all->options;
    size_t before = process->time_count;
    uint64_t began = ifg_monotonic_ns();
    enum ifg_status status = IFG_OK;

    if (options->start_iter)
        status = run_unkept(process, options->start_iter, 0, err);
    if (!status && options->start_delay_s > 0) {
        double left_s = options->start_delay_s - 1e-9 * (double)(ifg_monotonic_ns() - began);

        if (left_s > 0)
            status = run_unkept(process, 0, (uint64_t)(1e9 * left_s) + 1, err);
    }
    *out_skipped = process->time_count - before;
    return status;
}

/* ---- blocks ---- */

enum ifg_status measure_add_block(struct measure_process *process, const double *times_ms,
                                  size_t count, uint64_t reference_ns, uint64_t wall_ns,
                                  const struct trust_reading readings[2], struct ifg_error *err)
{
    struct measure_row *row = process->row;
    struct bench_row *out = row->row;
    size_t blocks = row->block_capacity;
    struct bench_block *block;

    if (!count)
        return IFG_OK;
    if (!IFG_ARRAY_ROOM(out->samples_ms, row->sample_capacity, out->sample_count + count,
                        SAMPLES_MOST) ||
        !IFG_ARRAY_ROOM(row->readings, blocks, out->block_count + 1, SAMPLES_MOST) ||
        !IFG_ARRAY_ROOM(out->blocks, row->block_capacity, out->block_count + 1, SAMPLES_MOST))
        return ifg_fail_no_memory(err, NULL);
    memcpy(out->samples_ms + out->sample_count, times_ms, count * sizeof *times_ms);
    memcpy(row->readings[out->block_count], readings, sizeof row->readings[0]);
    block = &out->blocks[out->block_count++];
    memset(block, 0, sizeof *block);
    block->where.process = process->number;
    block->where.first = out->sample_count;
    block->where.count = count;
    block->reference_ms = reference_ns ? MS * (double)reference_ns : NAN;
    block->wall_ms = MS * (double)wall_ns;
    out->sample_count += count;
    return IFG_OK;
}

void measure_add_energy(struct measure_process *process, bool count)
{
    struct energy_use use;

    if (!process->all->energy)
        return;
    energy_read(process->all->energy, &use);
    if (count) {
        process->row->energy.cpu_j += use.cpu_j;
        process->row->energy.gpu_j += use.gpu_j;
        process->row->energy.seconds += use.seconds;
    }
}

/* One block of so many queries, or of a time. */
static enum ifg_status run_block(struct measure_process *process, uint64_t queries,
                                 uint64_t duration_ns, uint64_t *out_wall_ns, size_t *out_count,
                                 struct ifg_error *err)
{
    struct runner_samples samples = { 0 };
    struct trust_reading readings[2];
    size_t before = process->time_count;
    uint64_t reference_ns = 0;
    enum ifg_status status = runner_reference(process->runner, &reference_ns, err);
    enum ifg_status added;

    *out_count = 0;
    if (status)
        return status;
    measure_add_energy(process, false);
    trust_read(&host_system, process->facts.pid, &readings[0]);
    status = measure_run_closed(process, queries, duration_ns, &samples, err);
    trust_read(&host_system, process->facts.pid, &readings[1]);
    measure_add_energy(process, true);
    *out_wall_ns = samples.wall_ns;
    *out_count = samples.count;
    added = samples.count
                ? measure_add_block(process, process->times_ms + before, samples.count,
                                    reference_ns, samples.wall_ns, readings, status ? NULL : err)
                : IFG_OK;
    if (!added)
        measure_tell_kept(process, &samples, 0);
    runner_samples_fini(&samples);
    return status ? status : added;
}

/* So many queries fill a block; all of them together are not too many blocks. */
static uint64_t block_size(const struct measure_process *process, uint64_t wanted, double wanted_s)
{
    size_t from = process->time_count > 20 ? process->time_count - 20 : 0;
    double median_ns = process->time_count ? 1e6 * ifg_median_of_copy(process->times_ms + from,
                                                                      process->time_count - from)
                                           : NAN; /* -w 0 */
    double block_ns = fmax(BLOCK_NS, 1e9 * wanted_s / BLOCKS_MOST);
    double fill = median_ns > 0 ? ceil(block_ns * process->workers / median_ns) : BLOCK_LEAST;
    uint64_t size = fill < BLOCK_LEAST ? BLOCK_LEAST : fill > 1e9 ? 1000000000u : (uint64_t)fill;

    if (!wanted)
        return size;
    if (size < wanted / BLOCKS_MOST)
        size = wanted / BLOCKS_MOST;
    return size < wanted ? size : wanted;
}

static enum ifg_status run_blocks(struct measure_process *process, uint64_t skipped,
                                  struct ifg_error *err)
{
    const struct bench_options *options = process->all->options;
    bool by_time = options->duration_s > 0;
    uint64_t wanted = by_time ? 0 : options->iterations - skipped;
    uint64_t size, blocks, done = 0, wall_ns = 0;
    uint64_t limit_ns = ifg_u64_of(1e9 * options->duration_s);

    if (options->keep && (by_time || options->keep < wanted))
        wanted = options->keep;
    size = block_size(process, wanted, options->duration_s);
    blocks = wanted / size ? wanted / size : 1;
    for (uint64_t block = 0;
         by_time ? wall_ns < limit_ns && (!wanted || done < wanted) : done < wanted; block++) {
        uint64_t next = by_time ? size : (wanted - done) / (blocks - block);
        uint64_t took_ns = 0;
        size_t count = 0;
        enum ifg_status status;

        if (by_time && wanted && next > wanted - done)
            next = wanted - done;
        status = run_block(process, next, by_time ? limit_ns - wall_ns : 0, &took_ns, &count, err);
        if (status)
            return status;
        done += count;
        wall_ns += took_ns;
        if (!count || !took_ns)
            break;
        measure_show(process, "measuring", done, wanted, 1e-9 * (double)wall_ns,
                     options->duration_s,
                     ifg_median_of_copy(process->times_ms + process->time_count - count, count));
    }
    return IFG_OK;
}

/* ---- together ---- */

static void end_entry(struct measure_process *process, size_t warmup, double tolerance)
{
    struct bench_process *out = process->out;
    struct trust_reading last;
    double sum = 0;

    trust_read(&host_system, process->facts.pid, &last);
    out->after_runs_bytes = last.rss_bytes == UINT64_MAX ? 0 : last.rss_bytes;
    out->peak_bytes = last.peak_rss_bytes == UINT64_MAX ? 0 : last.peak_rss_bytes;
    if (!process->time_count)
        return;
    if (!isfinite(out->first_ms)) /* -w 0: the first one was kept */
        out->first_ms = process->times_ms[0];
    warmup = warmup < process->time_count ? warmup : process->time_count;
    for (size_t i = 0; i < warmup; i++)
        sum += process->times_ms[i];
    out->warmup = warmup;
    out->warmup_mean_ms = warmup ? sum / (double)warmup : NAN;
    /* What the warm-up could not show (too few, or a fixed number of them) may be seen with the
     * samples after it; they count as steady only from before the first of them. */
    if (!out->steady) {
        note_steady(process, tolerance);
        out->steady = out->steady && out->steady_after <= warmup;
    }
}

static enum ifg_status measure_loaded(struct measure_process *process, struct ifg_error *err)
{
    const struct bench_options *options = process->all->options;
    double tolerance = STEADY_TOLERANCE;
    uint64_t skipped = 0;
    size_t warmup = 0;
    enum ifg_status status = warm_up(process, &tolerance, err);

    warmup = process->time_count;
    if (!status && options->scenario == BENCH_SERVER) {
        if (options->find_rate && !process->row->rate_found)
            status = measure_find_rate(process, err);
        warmup = process->time_count;
        if (!status)
            status = measure_open_loop(process, err);
    } else if (!status) {
        status = skip_first(process, &skipped, err);
        warmup = process->time_count;
        if (!status && !(options->duration_s > 0) && skipped >= options->iterations)
            status = ifg_fail(err, IFG_INVALID,
                              "no iteration is kept: %llu of %u are over before the first one "
                              "(--start-iter, --start-delay); ask for more with -n",
                              (unsigned long long)skipped, options->iterations);
        if (!status)
            status = run_blocks(process, skipped, err);
    }
    end_entry(process, warmup, tolerance);
    return status;
}

enum ifg_status measure_one_process(struct measurement *all, struct measure_row *row,
                                    uint32_t number, struct ifg_error *err)
{
    struct measure_process process = {
        .all = all,
        .row = row,
        .number = number,
        .workers = bench_workers(all->options, &all->result->host),
        .per_query = all->options->scenario == BENCH_MULTI && all->options->per_query
                         ? all->options->per_query
                         : 1,
    };
    enum ifg_status status = start(&process, err);

    if (!status && all->options->load_only)
        end_entry(&process, 0, STEADY_TOLERANCE);
    else if (!status)
        status = measure_loaded(&process, err);
    if (status && status != IFG_CANCELLED && process.runner && runner_crashed(process.runner))
        row->row->crashed = true;
    runner_loaded_fini(&process.loaded);
    runner_stop(process.runner);
    ifg_free(process.times_ms);
    return status;
}
