// SPDX-License-Identifier: Apache-2.0
/* The benchmark: rows and processes in turn, and what is put into the result. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/rest.h"
#include "base/array.h"
#include "base/quantile.h"
#include "base/ticks.h"
#include "bench/measure/measure_internal.h"
#include "runtimes/runtimes.h"

#define IDLE_PIECE_MS    500u /* idle power is measured in pieces: their range says how well */
#define IDLE_PIECES      4u   /* it is known. So many are enough, */
#define IDLE_PIECES_MOST 12u  /* and so many at most, if a device comes down from earlier work */
#define COUNTER_STEP_S   0.1  /* counters of NVIDIA's devices move in steps of up to that */
#define LIVE_SAMPLES_MAX 1000000u /* of one second */

void bench_options_init(struct bench_options *options)
{
    memset(options, 0, sizeof *options);
    options->iterations = 100;
    options->warmup = -1;
    options->warmup_max_s = 10;
    options->processes = 5;
    options->per_query = 8;
    options->inputs.seed = 1;
    options->pin_cpu = -1;
    options->patience_s = 600;
}

uint32_t bench_workers(const struct bench_options *options, const struct host_facts *host)
{
    if (options->concurrency)
        return options->concurrency;
    if (options->scenario == BENCH_SINGLE || options->scenario == BENCH_MULTI)
        return 1;
    return host->cpus ? host->cpus : 1;
}

bool measure_stopped(const struct bench_options *options)
{
    return options->stop && *options->stop;
}

static bool set_text(char **text, const char *value)
{
    char *copy = ifg_strdup(value ? value : "");

    if (copy) {
        ifg_free(*text);
        *text = copy;
    }
    return copy != NULL;
}

/* ---- telling how it goes ---- */

void measure_show(const struct measure_process *process, const char *phase, uint64_t done,
                  uint64_t wanted, double seconds, double wanted_s, double last_p50_ms)
{
    const struct bench_options *options = process->all->options;
    struct bench_progress progress = {
        .row = process->row->variant ? process->row->row->name : "",
        .process = process->number + 1,
        .processes = options->processes,
        .phase = phase,
        .done = done,
        .wanted = wanted,
        .seconds = seconds,
        .wanted_s = wanted_s,
        .last_p50_ms = last_p50_ms,
    };

    if (options->progress)
        options->progress(&progress, options->user);
}

void measure_tell_kept(const struct measure_process *process, const struct runner_samples *samples,
                       size_t first)
{
    const struct bench_options *options = process->all->options;
    struct bench_batch batch = {
        .row = (size_t)(process->row - process->all->rows),
        .name = process->row->variant ? process->row->row->name : "",
        .process = process->number,
        .epoch_ns = samples->epoch_ns,
    };

    if (!options->kept || samples->count <= first)
        return;
    batch.due_ns = samples->due_ns + first;
    batch.start_ns = samples->start_ns + first;
    batch.end_ns = samples->end_ns + first;
    batch.count = samples->count - first;
    options->kept(&batch, options->user);
}

static void end_second(struct measurement *all, uint64_t now)
{
    struct measure_live *live = &all->live;
    struct bench_live line = {
        .seconds = 1e-9 * (double)(now - live->began_ns),
        .inferences = live->inferences,
        .p50_ms = NAN,
        .p99_ms = NAN,
        .max_ms = NAN,
    };

    if (live->count) {
        statistics_sort(live->times_ms, live->count);
        line.p50_ms = ifg_quantile_sorted(live->times_ms, live->count, 0.5, IFG_QUANTILE_LINEAR);
        line.p99_ms = ifg_quantile_sorted(live->times_ms, live->count, 0.99, IFG_QUANTILE_LINEAR);
        line.max_ms = live->times_ms[live->count - 1];
    }
    all->options->live(&line, all->options->user);
    live->count = 0;
    live->inferences = 0;
    live->second_ns = now;
}

void measure_show_live(struct measurement *all, const double *times_ms, size_t count,
                       uint32_t per_query)
{
    struct measure_live *live = &all->live;
    uint64_t now = ifg_monotonic_ns();

    if (!all->options->live)
        return;
    if (!live->began_ns)
        live->began_ns = live->second_ns = now;
    for (size_t i = 0; i < count; i++) {
        live->inferences += per_query;
        if (!IFG_ARRAY_ROOM(live->times_ms, live->capacity, live->count + 1, LIVE_SAMPLES_MAX))
            continue; /* counted, and the quantiles are of the others */
        live->times_ms[live->count++] = times_ms[i];
    }
    if (now - live->second_ns >= 1000000000u)
        end_second(all, now);
}

/* ---- rows ---- */

enum ifg_status measure_find_runtime(const struct bench_options *options,
                                     struct measure_runtime *out_found, struct ifg_error *err)
{
    enum ifg_status status = IFG_OK;

    memset(out_found, 0, sizeof *out_found);
    if (options->runner)
        snprintf(out_found->runner, sizeof out_found->runner, "%s", options->runner);
    else
        status = find_runner(out_found->runner, err);
    if (status)
        return status;
    if (options->runtime) {
        if (access(options->runtime, R_OK) != 0)
            return ifg_fail(err, IFG_INVALID, "the plugin %s cannot be read: %m", options->runtime);
        if (options->library)
            snprintf(out_found->ort.path, sizeof out_found->ort.path, "%s", options->library);
        snprintf(out_found->ort.from, sizeof out_found->ort.from, "%s",
                 options->library ? "--ort" : "");
        return IFG_OK;
    }
    status = find_ort(options->library, &out_found->ort, err);
    return status ? IFG_UNSUPPORTED : IFG_OK; /* whatever it was, this machine lacks it */
}

/* The common settings, and the variant's own over them. */
static void join_settings(const struct bench_options *options, const struct bench_variant *variant,
                          struct measure_row *row)
{
    for (size_t i = 0; i < options->setting_count && i < BENCH_SETTINGS_MAX; i++) {
        bool overruled = false;

        for (size_t j = 0; variant && j < variant->setting_count; j++)
            overruled =
                overruled || strcmp(variant->settings[j].key, options->settings[i].key) == 0;
        if (!overruled)
            row->settings[row->setting_count++] = options->settings[i];
    }
    for (size_t i = 0; variant && i < variant->setting_count && i < BENCH_SETTINGS_MAX; i++)
        row->settings[row->setting_count++] = variant->settings[i];
}

enum ifg_status measure_row_init(const struct bench_options *options,
                                 const struct bench_variant *variant, struct measure_row *row,
                                 struct ifg_error *err)
{
    struct onnx_bound bounds[MEASURE_BOUNDS_MAX];
    enum ifg_status status;

    row->variant = variant;
    row->rate_hz = options->rate_hz;
    row->model = variant && variant->model ? variant->model : options->model;
    join_settings(options, variant, row);
    status = measure_open_model(row->model, options->runtime != NULL, NULL, &row->onnx, err);
    if (status || !row->onnx)
        return status;
    row->bound_count = onnx_input_bounds(row->onnx, bounds, MEASURE_BOUNDS_MAX);
    for (size_t i = 0; i < row->bound_count; i++)
        row->bounds[i] = (struct inputs_bound){ bounds[i].input, bounds[i].below };
    return IFG_OK;
}

void measure_row_fini(struct measure_row *row)
{
    inputs_fini(&row->own_sets);
    onnx_close(row->onnx);
    ifg_free(row->readings);
    ifg_free(row->lateness_ms);
}

static bool describe_row(const struct measure_row *from, struct bench_row *row)
{
    char settings[512] = "";
    size_t used = 0;

    for (size_t i = 0; i < from->setting_count && used < sizeof settings; i++)
        used += (size_t)snprintf(settings + used, sizeof settings - used, "%s%s=%s", i ? ", " : "",
                                 from->settings[i].key, from->settings[i].value);
    row->available = true;
    row->steady = true;
    row->energy_cpu_j = row->energy_gpu_j = NAN;
    row->energy_cpu_low_j = row->energy_cpu_high_j = NAN;
    row->energy_gpu_low_j = row->energy_gpu_high_j = NAN;
    row->energy_idle_cpu_w = row->energy_idle_gpu_w = row->energy_idle_s = NAN;
    row->open.found_hz = NAN;
    return set_text(&row->name, from->variant ? from->variant->name : "default") &&
           set_text(&row->settings, settings) && set_text(&row->reason, "") &&
           set_text(&row->placement_reason, "") && set_text(&row->ops_reason, "") &&
           set_text(&row->energy_reason, "");
}

static enum ifg_status make_rows(struct measurement *all, struct ifg_error *err)
{
    const struct bench_options *options = all->options;
    struct bench_result *result = all->result;
    size_t count = options->variant_count ? options->variant_count : 1;

    all->rows = ifg_alloc(count, sizeof *all->rows);
    result->rows = ifg_alloc(count, sizeof *result->rows);
    if (!all->rows || !result->rows)
        return ifg_fail_no_memory(err, NULL);
    for (size_t i = 0; i < count; i++) {
        struct measure_row *row = &all->rows[i];
        enum ifg_status status;

        all->row_count = result->row_count = i + 1;
        row->row = &result->rows[i];
        status = measure_row_init(options, options->variant_count ? &options->variants[i] : NULL,
                                  row, err);
        if (status)
            return status;
        if (!describe_row(row, row->row))
            return ifg_fail_no_memory(err, NULL);
        row->row->slo_ms = options->slo_ms;
        row->row->per_query = options->scenario == BENCH_MULTI ? options->per_query : 1;
    }
    return IFG_OK;
}

/* ---- context ---- */

static uint32_t threads_of(const struct measure_row *row)
{
    for (size_t i = 0; i < row->setting_count; i++)
        if (strcmp(row->settings[i].key, "threads") == 0)
            return (uint32_t)strtoul(row->settings[i].value, NULL, 10);
    return 0;
}

static enum ifg_status describe_context(struct measurement *all, struct ifg_error *err)
{
    static const char *const scenarios[] = { "single", "multi", "server", "offline" };
    const struct bench_options *options = all->options;
    struct bench_result *result = all->result;
    struct onnx_model *model;
    char when[40] = "";
    time_t now = time(NULL);
    struct tm parts;
    enum ifg_status status =
        measure_open_model(options->model, options->runtime != NULL, result, &model, err);

    if (status)
        return status;
    onnx_close(model);
    if (gmtime_r(&now, &parts))
        strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &parts);
    result->batch = options->inputs.batch > 0 ? options->inputs.batch : 1;
    result->seed = options->inputs.seed;
    result->iterations = options->iterations;
    result->processes = options->processes;
    result->percentile_nearest = options->nearest;
    host_read(&host_system, &result->host);
    if ((result->model_hash || set_text(&result->model_hash, "")) &&
        (result->precision || set_text(&result->precision, "")) &&
        (result->opsets || set_text(&result->opsets, "")) && set_text(&result->when, when) &&
        set_text(&result->options, options->command_line) &&
        set_text(&result->tool_version, options->tool_version) &&
        set_text(&result->scenario, scenarios[options->scenario]) &&
        set_text(&result->library, all->found.ort.path) &&
        set_text(&result->library_from, all->found.ort.from) && set_text(&result->inputs, "") &&
        set_text(&result->inputs_shape, "") && set_text(&result->runtime, "") &&
        set_text(&result->runtime_version, "") && set_text(&result->trace, ""))
        return IFG_OK;
    return ifg_fail_no_memory(err, NULL);
}

/* "x:float32:1x3x320x320,y:int64:scalar": the same work has the same text. */
static bool describe_inputs(struct bench_result *result, const struct input_sets *sets)
{
    char text[2048] = "";
    char shape[256];
    size_t used = 0;

    for (size_t i = 0; i < sets->sets[0].count && used < sizeof text; i++) {
        const struct tensor *tensor = &sets->sets[0].items[i];

        tensor_shape_text(tensor->dims, NULL, tensor->rank, shape, sizeof shape);
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s:%s:%s", i ? "," : "",
                                 tensor->name, tensor_type_name(tensor->type), shape);
    }
    return set_text(&result->inputs, sets->summary) && set_text(&result->inputs_shape, text);
}

/* ---- after a process has failed ---- */

/* What a row that ends early is: without samples it is not available, else it has fewer. */
static enum ifg_status end_row(struct measurement *all, struct measure_row *row,
                               enum ifg_status status, const struct ifg_error *err)
{
    bool loaded = all->options->load_only && row->row->process_count;

    row->failed = true;
    row->row->status = status;
    if (!row->row->sample_count && !loaded)
        row->row->available = false;
    return set_text(&row->row->reason, err->message) ? IFG_OK : IFG_NO_MEMORY;
}

static enum ifg_status run_rounds(struct measurement *all, struct ifg_error *err)
{
    /* Row after row within a round, so that a slow drift of the machine meets all of them. */
    for (uint32_t process = 0; process < all->options->processes; process++) {
        for (size_t i = 0; i < all->row_count; i++) {
            struct measure_row *row = &all->rows[i];
            struct ifg_error reason = { 0 };
            enum ifg_status status;

            if (row->failed)
                continue;
            status = measure_stopped(all->options)
                         ? ifg_fail(&reason, IFG_CANCELLED, "interrupted")
                         : measure_one_process(all, row, process, &reason);
            if (status == IFG_CANCELLED || measure_stopped(all->options)) {
                all->result->interrupted = true;
                return IFG_OK;
            }
            if (!status)
                continue;
            if (all->fatal || status == IFG_NO_MEMORY) {
                if (err)
                    *err = reason;
                return status;
            }
            if (end_row(all, row, status, &reason))
                return ifg_fail_no_memory(err, NULL);
        }
    }
    return IFG_OK;
}

/* ---- finishing ---- */

static uint64_t usual(const uint64_t *values, size_t count)
{
    uint64_t *sorted = ifg_alloc(count ? count : 1, sizeof *sorted);
    size_t used = 0;
    uint64_t middle;

    if (!sorted)
        return 0;
    for (size_t i = 0; i < count; i++)
        if (values[i])
            sorted[used++] = values[i];
    middle = used ? (uint64_t)ifg_median_u64(sorted, used) : 0;
    ifg_free(sorted);
    return middle;
}

/* Which blocks the machine disturbed, and what can be said of all of them. */
static enum ifg_status judge_machine(struct measure_row *from, struct ifg_error *err)
{
    struct bench_row *row = from->row;
    struct trust_reading before, after;
    struct trust_work work = { .threads = threads_of(from), .blocks = row->block_count };
    uint64_t *references = ifg_alloc(row->block_count + 1, sizeof *references);
    uint64_t usual_ns;

    if (!references)
        return ifg_fail_no_memory(err, NULL);
    memset(&before, 0, sizeof before);
    memset(&after, 0, sizeof after);
    for (size_t i = 0; i < row->block_count; i++) {
        double reference_ms = row->blocks[i].reference_ms;

        references[i] = isfinite(reference_ms) ? (uint64_t)llround(1e6 * reference_ms) : 0;
    }
    usual_ns = usual(references, row->block_count);
    for (size_t i = 0; i < row->block_count; i++) {
        struct bench_block *block = &row->blocks[i];
        uint64_t inferences = block->where.count * (row->per_query ? row->per_query : 1);

        block->disturbed = trust_disturbed(&from->readings[i][0], &from->readings[i][1], inferences,
                                           references[i], usual_ns);
        work.disturbed += block->disturbed;
        work.inferences += inferences;
        trust_add(&before, &after, &from->readings[i][0], &from->readings[i][1]);
    }
    work.reference_ns = references;
    work.reference_count = row->block_count;
    trust_judge(&host_system, &before, &after, &work, &row->trust);
    ifg_free(references);
    return IFG_OK;
}

/* ---- energy ---- */

/* The pieces from which on a device is at rest; all of a device that tells nothing. */
static size_t find_rest(const double *watts, size_t count, struct measure_idle *out)
{
    size_t from = 0;

    *out = (struct measure_idle){ .low = (double)NAN, .high = (double)NAN };
    for (size_t i = 0; i < count; i++)
        if (!isfinite(watts[i]))
            return 0;
    from = ifg_rest_from(watts, count, COUNTER_STEP_S * 1e3 / IDLE_PIECE_MS, &out->falls);
    if (from && watts[0] > 0)
        out->fell_pct = fmax(0, 100 * (watts[0] - watts[count - 1]) / watts[0]);
    return from;
}

/* What it took since then; a device that is not at rest may take anything less. */
static void find_range(const double *watts, size_t from, size_t count, struct measure_idle *out)
{
    for (size_t i = from; i < count; i++) {
        out->low = watts[i] > out->low ? out->low : watts[i];
        out->high = watts[i] < out->high ? out->high : watts[i];
    }
    if (out->falls && !isnan(out->low))
        out->low = 0;
}

/* What the machine takes when nothing of this runs: it is no row's. A device that still comes down
 * from earlier work takes more: then only the rest of it counts, for which it is waited. */
static void measure_idle(struct measurement *all)
{
    uint64_t end_ns = ifg_monotonic_ns();
    struct energy_use piece, pieces[IDLE_PIECES_MOST];
    double cpu_w[IDLE_PIECES_MOST], gpu_w[IDLE_PIECES_MOST];
    size_t count = 0, from = 0, from_gpu = 0;
    struct bench_progress progress = { .row = "",
                                       .phase = "measuring idle power",
                                       .last_p50_ms = NAN };

    if (!all->energy || all->options->load_only)
        return;
    if (all->options->progress)
        all->options->progress(&progress, all->options->user);
    energy_read(all->energy, &piece);
    for (unsigned i = 0; i < IDLE_PIECES || (all->idle_gpu_w.falls && i < IDLE_PIECES_MOST); i++) {
        end_ns += IDLE_PIECE_MS * 1000000ull;
        while (ifg_monotonic_ns() < end_ns && !measure_stopped(all->options))
            usleep(20000);
        energy_read(all->energy, &piece);
        if (!(piece.seconds > 0))
            continue;
        cpu_w[count] = piece.cpu_j / piece.seconds;
        gpu_w[count] = piece.gpu_j / piece.seconds;
        pieces[count++] = piece;
        from_gpu = find_rest(gpu_w, count, &all->idle_gpu_w);
    }
    from = find_rest(cpu_w, count, &all->idle_cpu_w);
    from = from > from_gpu ? from : from_gpu;
    find_range(cpu_w, from, count, &all->idle_cpu_w);
    find_range(gpu_w, from, count, &all->idle_gpu_w);
    for (size_t i = from; i < count; i++) {
        all->idle.cpu_j += pieces[i].cpu_j;
        all->idle.gpu_j += pieces[i].gpu_j;
        all->idle.seconds += pieces[i].seconds;
    }
}

/* The bounds of what an inference took: idle power may have been anything in its range, and each
 * block begins and ends somewhere in a step of the counter. Such errors are independent. */
static void bound_energy(double used_j, double seconds, const struct measure_idle *idle_w,
                         double step_s, double blocks, double inferences, double *out_low,
                         double *out_high)
{
    double step_j = step_s * sqrt(blocks) * fmax(0, used_j / seconds - idle_w->low);

    *out_low = fmax(0, (used_j - seconds * idle_w->high - step_j) / inferences);
    *out_high = (used_j - seconds * idle_w->low + step_j) / inferences;
}

/* Idle power that was measured too early is too high, and what is above it too low. */
static void judge_idle(const struct measure_idle *idle, const char *device, struct trust *trust)
{
    char text[120];

    if (isnan(idle->low) || !(idle->fell_pct > 0))
        return;
    snprintf(text, sizeof text,
             idle->falls ? "of the %s still fell, by %.0f %%: joules may be higher"
                         : "of the %s fell by %.0f %% at first; measured after that",
             device, idle->fell_pct);
    trust_put(trust, TRUST_IDLE_POWER, idle->falls ? TRUST_WARN : TRUST_OK, idle->fell_pct, text);
}

/* Whether nodes of a row run on an NVIDIA device; where that is not known, whether one was asked
 * for: "cuda+cpu". */
static bool uses_nvidia(const struct measure_row *from)
{
    const struct bench_row *row = from->row;

    for (size_t i = 0; i < row->placement_count; i++)
        if (row->placements[i].nodes &&
            runtime_provider_uses_nvidia(row->placements[i].provider,
                                         strlen(row->placements[i].provider)))
            return true;
    for (size_t i = 0; !row->placement_count && i < from->setting_count; i++) {
        const char *list = strcmp(from->settings[i].key, "ep") == 0 ? from->settings[i].value : "";

        while (*list) {
            size_t bytes = strcspn(list, "+,");

            if (runtime_provider_uses_nvidia(list, bytes))
                return true;
            list += bytes + (list[bytes] != '\0');
        }
    }
    return false;
}

static bool finish_energy(const struct measurement *all, const struct measure_row *from,
                          double inferences)
{
    const struct energy_use *use = &from->energy, *idle = &all->idle;
    struct bench_row *row = from->row;
    bool nvidia = uses_nvidia(from);
    char reason[160] = "";

    row->energy_idle_s = idle->seconds;
    row->energy_idle_cpu_w = idle->cpu_j / idle->seconds;
    row->energy_idle_gpu_w = idle->gpu_j / idle->seconds;
    row->energy_cpu_j =
        energy_above_idle(use->cpu_j, use->seconds, row->energy_idle_cpu_w) / inferences;
    if (nvidia)
        row->energy_gpu_j =
            energy_above_idle(use->gpu_j, use->seconds, row->energy_idle_gpu_w) / inferences;
    if (!isnan(row->energy_cpu_j))
        bound_energy(use->cpu_j, use->seconds, &all->idle_cpu_w, 0, (double)row->block_count,
                     inferences, &row->energy_cpu_low_j, &row->energy_cpu_high_j);
    if (!isnan(row->energy_gpu_j))
        bound_energy(use->gpu_j, use->seconds, &all->idle_gpu_w, COUNTER_STEP_S,
                     (double)row->block_count, inferences, &row->energy_gpu_low_j,
                     &row->energy_gpu_high_j);
    if (!isnan(use->cpu_j) && isnan(row->energy_cpu_j))
        snprintf(reason, sizeof reason, "CPU: not above idle power");
    if (!isnan(use->gpu_j) && isnan(row->energy_gpu_j))
        snprintf(reason + strlen(reason), sizeof reason - strlen(reason), "%sGPU: %s",
                 *reason ? "; " : "",
                 !nvidia                 ? "not used"
                 : all->idle_gpu_w.falls ? "not above idle power, which was measured too early"
                                         : "not above idle power");
    return set_text(&row->energy_reason, reason);
}

static enum ifg_status finish_row(struct measurement *all, struct measure_row *from,
                                  struct ifg_error *err)
{
    struct bench_row *row = from->row;
    double inferences = (double)row->sample_count * (double)(row->per_query ? row->per_query : 1);
    enum ifg_status status;

    for (size_t i = 0; i < row->process_count; i++)
        row->steady = row->steady && row->processes[i].steady;
    if (!row->sample_count) {
        row->trust.level = TRUST_NOT_AVAILABLE;
        if (all->options->load_only)
            return IFG_OK;
        row->available = false;
        if (all->result->interrupted && !*row->reason &&
            !set_text(&row->reason, "interrupted before anything of it was measured"))
            return ifg_fail_no_memory(err, NULL);
        return IFG_OK;
    }
    if (all->energy && !finish_energy(all, from, inferences))
        return ifg_fail_no_memory(err, NULL);
    status = judge_machine(from, err);
    if (!status && all->energy && !isnan(from->energy.cpu_j))
        judge_idle(&all->idle_cpu_w, "CPU", &row->trust);
    if (!status && all->energy && !isnan(from->energy.gpu_j) && uses_nvidia(from))
        judge_idle(&all->idle_gpu_w, "GPU", &row->trust);
    if (!status && all->options->scenario == BENCH_SERVER)
        status = measure_finish_open(from, err);
    if (!status)
        status = bench_row_finish(row, all->options->nearest, all->options->inputs.seed, err);
    return status;
}

/* The trace comes first: a file that cannot be written is told before minutes have passed. */
static enum ifg_status record_trace(struct measurement *all, struct ifg_error *err)
{
    const struct bench_options *options = all->options;
    bool with_ops = options->ops && !options->load_only;
    uint32_t inferences = options->load_only ? 0 : with_ops ? options->ops : options->iterations;
    enum ifg_status status;

    if (!options->trace)
        return IFG_OK;
    status = measure_recorded(options, &all->found, all->rows, all->row_count, inferences, with_ops,
                              options->trace, err);
    if (!status && !set_text(&all->result->trace, options->trace))
        status = ifg_fail_no_memory(err, NULL);
    return status;
}

/* What goes wrong with operators is told in the row, and harms nothing. */
static enum ifg_status record_ops(struct measurement *all, struct ifg_error *err)
{
    const struct bench_options *options = all->options;
    bool in_trace = options->trace && all->row_count == 1;

    for (size_t i = 0; options->ops && !options->load_only && i < all->row_count; i++) {
        struct bench_row *row = all->rows[i].row;
        struct ifg_error reason = { 0 };
        enum ifg_status status;

        if (!row->available || measure_stopped(options))
            continue;
        status = in_trace
                     ? measure_read_ops(options->trace, row, &reason)
                     : bench_measure_ops(options, all->rows[i].variant, options->ops, row, &reason);
        all->result->interrupted = all->result->interrupted || status == IFG_CANCELLED;
        if (status && !set_text(&row->ops_reason, reason.message))
            return ifg_fail_no_memory(err, NULL);
    }
    return IFG_OK;
}

/* A single row that could not be measured is the error itself. */
static enum ifg_status check_something(const struct measurement *all, struct ifg_error *err)
{
    const struct bench_row *row = &all->result->rows[0];

    if (all->row_count > 1 || row->available || all->result->interrupted)
        return IFG_OK;
    /* The file was a model when we looked: that this runtime cannot run it is no fault of the
     * command line. */
    return ifg_fail(err, row->status == IFG_CORRUPT ? IFG_INTERNAL : row->status, "%s",
                    row->reason);
}

static enum ifg_status check_options(const struct bench_options *options, struct ifg_error *err)
{
    if (!options->iterations || !options->processes)
        return ifg_fail(err, IFG_INVALID, "at least one iteration and one process are needed");
    if (options->scenario == BENCH_SERVER && !options->find_rate && !(options->rate_hz > 0))
        return ifg_fail(err, IFG_INVALID, "the scenario server needs a rate");
    if (options->find_rate && !(options->slo_ms > 0))
        return ifg_fail(err, IFG_INVALID, "finding the rate needs a latency that must be met");
    if (options->trace && !options->trace_overwrite && access(options->trace, F_OK) == 0)
        return ifg_fail(err, IFG_INVALID, "%s exists; name another file, or replace it with -f",
                        options->trace);
    return IFG_OK;
}

enum ifg_status bench_measure(const struct bench_options *options, struct bench_result **out_result,
                              struct ifg_error *err)
{
    struct measurement all = { .options = options };
    struct ifg_error own;
    const char *no_energy = "";
    enum ifg_status status;

    if (!err)
        err = &own;
    *out_result = NULL;
    status = check_options(options, err);
    all.result = status ? NULL : bench_result_create();
    if (!status && !all.result)
        status = ifg_fail_no_memory(err, NULL);
    /* The model first: that it is missing is more worth saying than that a runtime is. */
    if (!status)
        status = describe_context(&all, err);
    if (!status)
        status = measure_find_runtime(options, &all.found, err);
    if (!status && (!set_text(&all.result->library, all.found.ort.path) ||
                    !set_text(&all.result->library_from, all.found.ort.from)))
        status = ifg_fail_no_memory(err, NULL);
    if (!status)
        status = make_rows(&all, err);
    if (status)
        goto out;
    all.energy = energy_open(&host_system, &no_energy);
    measure_idle(&all);
    status = record_trace(&all, err);
    if (status == IFG_CANCELLED)
        all.result->interrupted = true;
    else if (!status)
        status = run_rounds(&all, err);
    status = status == IFG_CANCELLED ? IFG_OK : status;
    all.result->threads = threads_of(&all.rows[0]);
    for (size_t i = 0; i < all.row_count && !status; i++)
        status = finish_row(&all, &all.rows[i], err);
    for (size_t i = 0; i < all.row_count && !status; i++)
        if (!all.energy && !set_text(&all.rows[i].row->energy_reason, no_energy))
            status = ifg_fail_no_memory(err, NULL);
    for (size_t i = 0; i < all.row_count && !status; i++) {
        if (all.rows[i].sets) {
            if (!describe_inputs(all.result, all.rows[i].sets))
                status = ifg_fail_no_memory(err, NULL);
            break;
        }
    }
    if (!status)
        status = check_something(&all, err);
    if (!status)
        status = record_ops(&all, err);
out:
    energy_close(all.energy);
    for (size_t i = 0; all.rows && i < all.row_count; i++)
        measure_row_fini(&all.rows[i]);
    ifg_free(all.rows);
    ifg_free(all.live.times_ms);
    if (status)
        bench_result_destroy(all.result);
    else
        *out_result = all.result;
    return status;
}
