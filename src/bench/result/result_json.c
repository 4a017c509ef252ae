// SPDX-License-Identifier: Apache-2.0
/* A result as one JSON document: docs/json.md, "inferogram bench --json". */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "bench/result/result_internal.h"

static const char *const quantile_names[SAMPLES_QUANTILES] = { "p50", "p90", "p95", "p99", "p999" };
static const char *const quantile_keys[SAMPLES_QUANTILES] = { "p50_ms", "p90_ms", "p95_ms",
                                                              "p99_ms", "p999_ms" };

static void put_text(struct ifg_json *json, const char *key, const char *text)
{
    ifg_json_put_string(json, key, text_or_empty(text));
}

static void open_key(struct ifg_json *json, const char *key, char bracket)
{
    ifg_json_key(json, key);
    ifg_json_open(json, bracket);
}

static void put_null(struct ifg_json *json, const char *key)
{
    ifg_json_put_double(json, key, NAN);
}

static void put_numbers(struct ifg_json *json, const char *key, const double *values, size_t count)
{
    open_key(json, key, '[');
    for (size_t i = 0; i < count; i++)
        ifg_json_double(json, values[i]);
    ifg_json_close(json, ']');
}

/* ---- context -----------------------------------------------------------------------------------
 */

static void put_host(struct ifg_json *json, const struct host_facts *host)
{
    open_key(json, "host", '{');
    put_text(json, "name", host->name);
    put_text(json, "cpu", host->cpu);
    ifg_json_put_uint(json, "cpus", host->cpus);
    put_text(json, "kernel", host->kernel);
    put_text(json, "distribution", host->distribution);
    put_text(json, "hypervisor", host->hypervisor);
    put_text(json, "governor", host->governor);
    put_text(json, "clock_source", host->clock_source);
    ifg_json_put_uint(json, "memory_bytes", host->memory_bytes);
    ifg_json_put_uint(json, "cgroup_cpu_permille", host->cgroup_cpu_permille);
    ifg_json_put_uint(json, "numa_nodes", host->numa_nodes);
    ifg_json_put_bool(json, "aslr", host->aslr);
    ifg_json_close(json, '}');
}

static void put_definitions(struct ifg_json *json, bool nearest)
{
    put_text(json, "percentile_rule", nearest ? "nearest" : "linear");
    open_key(json, "definitions", '{');
    put_text(json, "percentile",
             nearest ? "element floor(n q) of the sorted samples, from 0, at most the last"
                     : "linear interpolation between order statistics, rank (n - 1) q from 0");
    put_text(json, "std_ms", "of the sample: divided by n - 1");
    put_text(json, "mad_ms", "median of |x - median|, not scaled");
    put_text(json, "outliers", "|x - median| > 14.826 mad_ms; counted, never removed");
    put_text(
        json, "p50_interval",
        "hierarchical bootstrap: processes, then blocks; 2000 resamples, expanded percentiles");
    put_text(json, "other_intervals", "order statistics by binomial tails");
    put_text(json, "throughput_fps", "inferences / sum of the blocks' wall time");
    ifg_json_close(json, '}');
}

static void put_context(struct ifg_json *json, const struct bench_result *result)
{
    put_text(json, "tool_version", result->tool_version);
    put_text(json, "when", result->when);
    ifg_json_put_bool(json, "interrupted", result->interrupted);
    open_key(json, "model", '{');
    put_text(json, "path", result->model_path);
    put_text(json, "name", result->model_name);
    put_text(json, "hash", result->model_hash);
    ifg_json_put_uint(json, "bytes", result->model_bytes);
    ifg_json_put_uint(json, "parameters", result->parameters);
    put_text(json, "precision", result->precision);
    put_text(json, "opsets", result->opsets);
    ifg_json_close(json, '}');
    open_key(json, "runtime", '{');
    put_text(json, "name", result->runtime);
    put_text(json, "version", result->runtime_version);
    put_text(json, "library", result->library);
    put_text(json, "from", result->library_from);
    ifg_json_close(json, '}');
    put_text(json, "inputs", result->inputs);
    put_text(json, "inputs_shape", result->inputs_shape);
    open_key(json, "options", '{');
    put_text(json, "command_line", result->options);
    ifg_json_put_uint(json, "iterations", result->iterations);
    ifg_json_put_uint(json, "processes", result->processes);
    ifg_json_put_uint(json, "seed", result->seed);
    put_text(json, "scenario", result->scenario);
    ifg_json_put_int(json, "batch", result->batch);
    ifg_json_put_uint(json, "threads", result->threads);
    ifg_json_close(json, '}');
    put_host(json, &result->host);
    put_text(json, "trace", result->trace);
    put_definitions(json, result->percentile_nearest);
}

/* ---- rows --------------------------------------------------------------------------------------
 */

static void put_interval(struct ifg_json *json, const char *key,
                         const struct samples_interval *interval, const char *method)
{
    open_key(json, key, '{');
    ifg_json_put_double(json, "low", interval->known ? interval->low : NAN);
    ifg_json_put_double(json, "high", interval->known ? interval->high : NAN);
    put_text(json, "method", method);
    ifg_json_put_uint(json, "needs", interval->known ? 0 : interval->needs);
    ifg_json_close(json, '}');
}

static void put_statistics(struct ifg_json *json, const struct bench_row *row, int64_t batch)
{
    const struct samples_summary *summary = &row->summary;
    bool measured = row->sample_count > 0;

    ifg_json_put_uint(json, "count", row->sample_count);
    ifg_json_put_double(json, "mean_ms", measured ? summary->mean : NAN);
    ifg_json_put_double(json, "std_ms", measured ? summary->sd : NAN);
    ifg_json_put_double(json, "min_ms", measured ? summary->min : NAN);
    ifg_json_put_double(json, "max_ms", measured ? summary->max : NAN);
    for (int i = 0; i < SAMPLES_QUANTILES; i++)
        ifg_json_put_double(json, quantile_keys[i], measured ? summary->p[i] : NAN);
    ifg_json_put_double(json, "mad_ms", measured ? summary->mad : NAN);
    ifg_json_put_uint(json, "outliers", summary->outliers);
    ifg_json_put_uint(json, "outliers_disturbed", row->outliers_disturbed);
    ifg_json_put_double(json, "first_ms",
                        bench_row_process_median(row, offsetof(struct bench_process, first_ms)));
    ifg_json_put_double(
        json, "warmup_mean_ms",
        bench_row_process_median(row, offsetof(struct bench_process, warmup_mean_ms)));
    ifg_json_put_double(json, "start_ms",
                        bench_row_process_median(row, offsetof(struct bench_process, start_ms)));
    ifg_json_put_double(json, "load_ms",
                        bench_row_process_median(row, offsetof(struct bench_process, load_ms)));
    ifg_json_put_double(
        json, "specialization_ms",
        bench_row_process_median(row, offsetof(struct bench_process, specialization_ms)));
    ifg_json_put_double(json, "throughput_fps", measured ? row->throughput : NAN);
    ifg_json_put_double(json, "samples_per_s",
                        measured ? row->throughput * (double)(batch > 0 ? batch : 1) : NAN);
    ifg_json_put_uint(json, "per_query", row->per_query ? row->per_query : 1);
    ifg_json_put_double(json, "slo_ms", row->slo_ms > 0 ? row->slo_ms : NAN);
    ifg_json_put_double(json, "goodput", row->slo_ms > 0 && measured ? row->goodput : NAN);
    ifg_json_put_bool(json, "steady", row->steady);
    ifg_json_put_double(json, "block_cv", measured ? row->block_cv : NAN);
    ifg_json_put_double(json, "block_autocorrelation", measured ? row->block_autocorrelation : NAN);
    ifg_json_put_double(json, "effective_blocks", measured ? row->effective : NAN);
    open_key(json, "change_points", '[');
    for (size_t i = 0; i < row->change_point_count; i++)
        ifg_json_uint(json, row->change_points[i]);
    ifg_json_close(json, ']');
}

static void put_intervals(struct ifg_json *json, const struct bench_row *row)
{
    open_key(json, "intervals", '{');
    ifg_json_put_double(json, "confidence", SAMPLES_CONFIDENCE);
    put_interval(json, "p50", &row->median, "hierarchical bootstrap");
    for (int i = SAMPLES_P90; i < SAMPLES_QUANTILES; i++)
        put_interval(json, quantile_names[i], &row->summary.interval[i], "order statistics");
    put_interval(json, "throughput_fps", &row->throughput_interval, "hierarchical bootstrap");
    ifg_json_close(json, '}');
}

static void put_bytes(struct ifg_json *json, const char *key, uint64_t bytes)
{
    if (bytes)
        ifg_json_put_uint(json, key, bytes);
    else
        put_null(json, key);
}

static void put_memory(struct ifg_json *json, const struct bench_row *row)
{
    struct bench_memory memory;

    bench_row_memory(row, &memory);
    open_key(json, "memory", '{');
    put_bytes(json, "before_bytes", memory.before_bytes);
    put_bytes(json, "after_load_bytes", memory.after_load_bytes);
    put_bytes(json, "after_runs_bytes", memory.after_runs_bytes);
    put_bytes(json, "peak_bytes", memory.peak_bytes);
    if (memory.before_bytes && memory.peak_bytes)
        ifg_json_put_int(json, "delta_bytes", memory.delta_bytes);
    else
        put_null(json, "delta_bytes");
    ifg_json_close(json, '}');
}

static void put_where_it_ran(struct ifg_json *json, const struct bench_row *row)
{
    char policy[64];

    open_key(json, "placement", '[');
    for (size_t i = 0; i < row->placement_count; i++) {
        ifg_json_open(json, '{');
        put_text(json, "provider", row->placements[i].provider);
        ifg_json_put_uint(json, "nodes", row->placements[i].nodes);
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
    put_text(json, "placement_reason", row->placement_reason);
    put_text(json, "policy", bench_row_policy(row, policy));
    if (*policy && row->placement_count)
        ifg_json_put_bool(json, "policy_fallback", bench_row_fell_back(row));
    else
        put_null(json, "policy_fallback");
    open_key(json, "operators", '[');
    for (size_t i = 0; i < row->op_count; i++) {
        ifg_json_open(json, '{');
        put_text(json, "name", row->ops[i].name);
        put_text(json, "op_type", row->ops[i].op_type);
        put_text(json, "provider", row->ops[i].provider);
        ifg_json_put_uint(json, "count", row->ops[i].count);
        ifg_json_put_double(json, "p50_ms", row->ops[i].p50_ms);
        ifg_json_put_double(json, "total_ms", row->ops[i].total_ms);
        ifg_json_put_double(json, "share", row->ops[i].share);
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
    put_text(json, "operators_reason", row->ops_reason);
}

static void put_trust(struct ifg_json *json, const struct bench_row *row)
{
    const struct trust *trust = &row->trust;

    open_key(json, "trust", '{');
    put_text(json, "level", trust_level_name(trust->level));
    ifg_json_put_double(json, "reference_drift",
                        trust->level == TRUST_NOT_AVAILABLE ? NAN : trust->reference_drift);
    open_key(json, "lines", '[');
    for (size_t i = 0; i < trust->count && i < TRUST_LINES; i++) {
        const struct trust_line *line = &trust->lines[i];

        ifg_json_open(json, '{');
        put_text(json, "name", line->name);
        put_text(json, "level", trust_level_name(line->level));
        ifg_json_put_double(json, "value", line->value);
        put_text(json, "unit", line->unit);
        put_text(json, "text", line->text);
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
    ifg_json_close(json, '}');
    open_key(json, "energy", '{');
    ifg_json_put_double(json, "cpu_j", row->energy_cpu_j);
    ifg_json_put_double(json, "gpu_j", row->energy_gpu_j);
    put_text(json, "reason", row->energy_reason);
    ifg_json_close(json, '}');
}

static enum ifg_status put_open_loop(struct ifg_json *json, const struct bench_row *row,
                                     bool nearest, struct ifg_error *err)
{
    static const char *const keys[SAMPLES_QUANTILES] = { "service_p50_ms", "service_p90_ms",
                                                         "service_p95_ms", "service_p99_ms",
                                                         "service_p999_ms" };
    const struct bench_open_loop *open = &row->open;
    bool measured = open->service_ms && row->sample_count;
    struct samples_summary service = { 0 };
    enum ifg_status status;

    if (!open->used) {
        put_null(json, "open_loop");
        return IFG_OK;
    }
    if (measured) {
        status = samples_summarize(open->service_ms, row->sample_count,
                                   nearest ? SAMPLES_NEAREST : SAMPLES_LINEAR, SAMPLES_CONFIDENCE,
                                   &service, err);
        if (status)
            return status;
    }
    open_key(json, "open_loop", '{');
    ifg_json_put_double(json, "asked_hz", open->asked_hz);
    ifg_json_put_double(json, "achieved_hz", open->achieved_hz);
    ifg_json_put_bool(json, "overloaded", open->overloaded);
    ifg_json_put_uint(json, "late", open->late);
    ifg_json_put_double(json, "lateness_p99_ms", open->lateness_p99_ms);
    ifg_json_put_double(json, "found_hz", open->found_hz);
    ifg_json_put_double(json, "confirmed_s", open->confirmed_s > 0 ? open->confirmed_s : NAN);
    ifg_json_put_uint(json, "confirmed_queries", open->confirmed_queries);
    ifg_json_put_uint(json, "confirmed_too_slow", open->confirmed_too_slow);
    ifg_json_put_double(json, "confirmed_bound",
                        open->confirmed_queries
                            ? samples_share_bound(open->confirmed_too_slow, open->confirmed_queries,
                                                  SAMPLES_CONFIDENCE)
                            : NAN);
    ifg_json_put_double(json, "missed_hz", open->missed_hz > 0 ? open->missed_hz : NAN);
    ifg_json_put_double(json, "service_mean_ms", measured ? service.mean : NAN);
    for (int i = 0; i < SAMPLES_QUANTILES; i++)
        ifg_json_put_double(json, keys[i], measured ? service.p[i] : NAN);
    put_numbers(json, "service_ms", open->service_ms, measured ? row->sample_count : 0);
    ifg_json_close(json, '}');
    return IFG_OK;
}

static void put_processes(struct ifg_json *json, const struct bench_row *row)
{
    open_key(json, "processes", '[');
    for (size_t i = 0; i < row->process_count; i++) {
        const struct bench_process *process = &row->processes[i];

        ifg_json_open(json, '{');
        ifg_json_put_double(json, "start_ms", process->start_ms);
        ifg_json_put_double(json, "load_ms", process->load_ms);
        ifg_json_put_double(json, "specialization_ms", process->specialization_ms);
        ifg_json_put_double(json, "first_ms", process->first_ms);
        ifg_json_put_uint(json, "warmup", process->warmup);
        ifg_json_put_double(json, "warmup_mean_ms", process->warmup_mean_ms);
        ifg_json_put_bool(json, "steady", process->steady);
        if (process->steady)
            ifg_json_put_uint(json, "steady_after", process->steady_after);
        else
            put_null(json, "steady_after");
        put_bytes(json, "before_bytes", process->before_bytes);
        put_bytes(json, "after_load_bytes", process->after_load_bytes);
        put_bytes(json, "after_runs_bytes", process->after_runs_bytes);
        put_bytes(json, "peak_bytes", process->peak_bytes);
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
}

static void put_blocks(struct ifg_json *json, const struct bench_row *row)
{
    open_key(json, "blocks", '[');
    for (size_t i = 0; i < row->block_count; i++) {
        const struct bench_block *block = &row->blocks[i];

        ifg_json_open(json, '{');
        ifg_json_put_uint(json, "process", block->where.process);
        ifg_json_put_uint(json, "first", block->where.first);
        ifg_json_put_uint(json, "count", block->where.count);
        ifg_json_put_double(json, "wall_ms", block->wall_ms > 0 ? block->wall_ms : NAN);
        ifg_json_put_double(json, "reference_ms", block->reference_ms);
        ifg_json_put_bool(json, "disturbed", block->disturbed);
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
}

static enum ifg_status put_row(struct ifg_json *json, const struct bench_result *result,
                               const struct bench_row *row, struct ifg_error *err)
{
    enum ifg_status status;

    put_text(json, "name", row->name);
    put_text(json, "settings", row->settings);
    ifg_json_put_bool(json, "available", row->available);
    put_text(json, "reason", row->reason);
    ifg_json_put_bool(json, "crashed", row->crashed);
    put_statistics(json, row, result->batch);
    put_intervals(json, row);
    put_memory(json, row);
    put_where_it_ran(json, row);
    put_trust(json, row);
    status = put_open_loop(json, row, result->percentile_nearest, err);
    put_processes(json, row);
    put_blocks(json, row);
    put_numbers(json, "raw_samples_ms", row->samples_ms, row->sample_count);
    return status;
}

enum ifg_status bench_result_write_json(const struct bench_result *result, struct ifg_bytes *out,
                                        struct ifg_error *err)
{
    struct ifg_json json = { out, false };
    const struct bench_row *top = result_top_row(result);
    enum ifg_status status = IFG_OK;

    ifg_json_open(&json, '{');
    ifg_json_put_uint(&json, "schema", 1);
    put_text(&json, "kind", "bench");
    put_context(&json, result);
    if (top)
        status = put_row(&json, result, top, err);
    if (result->row_count > 1) {
        open_key(&json, "rows", '[');
        for (size_t i = 0; i < result->row_count && !status; i++) {
            ifg_json_open(&json, '{');
            status = put_row(&json, result, &result->rows[i], err);
            ifg_json_close(&json, '}');
        }
        ifg_json_close(&json, ']');
    }
    ifg_json_close(&json, '}');
    ifg_bytes_put(out, "\n", 1);
    return status ? status : result_written(out, err);
}
