// SPDX-License-Identifier: Apache-2.0
/*
 * A result under the keys that `winml perf` writes (schema_version 2), for tools that read those.
 * Device memory and utilisation are not measured here: hw_monitor is null.
 */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "bench/result/result_internal.h"

#define MEGABYTE (1024.0 * 1024.0)

static void open_key(struct ifg_json *json, const char *key, char bracket)
{
    ifg_json_key(json, key);
    ifg_json_open(json, bracket);
}

static void put_text(struct ifg_json *json, const char *key, const char *text)
{
    ifg_json_put_string(json, key, result_text_or_empty(text));
}

static void put_mb(struct ifg_json *json, const char *key, uint64_t bytes)
{
    ifg_json_put_double(json, key, bytes ? (double)bytes / MEGABYTE : NAN);
}

static void put_delta(struct ifg_json *json, const char *key, uint64_t from, uint64_t to)
{
    ifg_json_put_double(json, key, from && to ? ((double)to - (double)from) / MEGABYTE : NAN);
}

/* One of "x:float32:1x3x224x224,y:int64:1": its name, type and shape. Names may hold colons. */
static void split_input(const char *text, size_t length, size_t out_ends[2])
{
    size_t found = 2;

    out_ends[0] = out_ends[1] = length;
    for (size_t i = length; i-- > 0 && found > 0;)
        if (text[i] == ':')
            out_ends[--found] = i;
    if (found) /* not what we write */
        out_ends[0] = out_ends[1] = length;
}

enum input_part { INPUT_NAME, INPUT_SHAPE, INPUT_TYPE };

static void put_shape(struct ifg_json *json, const char *text, size_t length)
{
    uint64_t dim = 0;
    bool digits = false;

    ifg_json_open(json, '[');
    for (size_t i = 0; i <= length; i++) {
        if (i < length && text[i] >= '0' && text[i] <= '9') {
            dim = dim * 10 + (uint64_t)(text[i] - '0');
            digits = true;
            continue;
        }
        if (digits)
            ifg_json_uint(json, dim);
        dim = 0;
        digits = false;
    }
    ifg_json_close(json, ']');
}

static void put_inputs(struct ifg_json *json, const char *key, const char *inputs,
                       enum input_part part)
{
    open_key(json, key, '[');
    while (*inputs) {
        size_t length = strcspn(inputs, ",");
        size_t ends[2];

        split_input(inputs, length, ends);
        if (part == INPUT_NAME)
            ifg_json_string_n(json, inputs, ends[0]);
        else if (part == INPUT_TYPE)
            ifg_json_string_n(json, inputs + ends[0] + (ends[0] < length),
                              ends[1] > ends[0] ? ends[1] - ends[0] - 1 : 0);
        else
            put_shape(json, inputs + ends[1], length - ends[1]);
        inputs += length + (inputs[length] == ',');
    }
    ifg_json_close(json, ']');
}

static void put_info(struct ifg_json *json, const struct bench_result *result,
                     const struct bench_row *row)
{
    const char *shape = result_text_or_empty(result->inputs_shape);
    char policy[64];

    open_key(json, "benchmark_info", '{');
    put_text(json, "runtime", result->runtime);
    put_text(json, "model_id", result->model_name);
    put_text(json, "running_model_path", result->model_path);
    put_text(json, "task", "");
    put_text(json, "device", row->name);
    put_text(json, "requested_policy", bench_row_policy(row, policy));
    ifg_json_put_bool(json, "policy_fallback", bench_row_fell_back(row));
    put_text(json, "ep", row->placement_count ? row->placements[0].provider : "");
    put_text(json, "ep_source", result->library);
    put_text(json, "ep_options", row->settings);
    put_text(json, "precision", result->precision);
    ifg_json_put_uint(json, "iterations", row->sample_count);
    ifg_json_put_uint(json, "warmup", row->process_count ? row->processes[0].warmup : 0);
    ifg_json_put_double(json, "duration_sec", NAN);
    ifg_json_put_int(json, "batch_size", result->batch > 0 ? result->batch : 1);
    ifg_json_put_int(json, "effective_batch_size", result->batch > 0 ? result->batch : 1);
    put_text(json, "timestamp", result->when);
    put_text(json, "runtime_version", result->runtime_version);
    put_text(json, "tool", "inferogram");
    put_text(json, "tool_version", result->tool_version);
    open_key(json, "actual_providers", '[');
    for (size_t i = 0; i < row->placement_count; i++)
        ifg_json_string(json, row->placements[i].provider);
    ifg_json_close(json, ']');
    ifg_json_close(json, '}');
    open_key(json, "model_info", '{');
    put_inputs(json, "input_names", shape, INPUT_NAME);
    put_inputs(json, "input_shapes", shape, INPUT_SHAPE);
    put_inputs(json, "input_types", shape, INPUT_TYPE);
    put_text(json, "precision", result->precision);
    put_text(json, "hash", result->model_hash);
    ifg_json_put_uint(json, "size_bytes", result->model_bytes);
    ifg_json_put_uint(json, "parameters", result->parameters);
    ifg_json_close(json, '}');
}

static void put_latency(struct ifg_json *json, const struct bench_result *result,
                        const struct bench_row *row)
{
    const struct statistics_summary *summary = &row->summary;
    bool measured = row->sample_count > 0;
    double batch = (double)(result->batch > 0 ? result->batch : 1);
    double warmup = bench_row_process_median(row, offsetof(struct bench_process, warmup_mean_ms));

    open_key(json, "latency_ms", '{');
    ifg_json_put_double(json, "mean", measured ? summary->mean : NAN);
    ifg_json_put_double(json, "p50", measured ? summary->p[STATISTICS_P50] : NAN);
    ifg_json_put_double(json, "p90", measured ? summary->p[STATISTICS_P90] : NAN);
    ifg_json_put_double(json, "p95", measured ? summary->p[STATISTICS_P95] : NAN);
    ifg_json_put_double(json, "p99", measured ? summary->p[STATISTICS_P99] : NAN);
    ifg_json_put_double(json, "min", measured ? summary->min : NAN);
    ifg_json_put_double(json, "max", measured ? summary->max : NAN);
    ifg_json_put_double(json, "std", measured ? summary->sd : NAN);
    ifg_json_put_double(json, "warmup_mean", isfinite(warmup) ? warmup : 0); /* theirs: no null */
    ifg_json_close(json, '}');
    open_key(json, "throughput", '{');
    ifg_json_put_double(json, "samples_per_sec", measured ? row->throughput * batch : NAN);
    ifg_json_put_double(json, "batches_per_sec", measured ? row->throughput : NAN);
    ifg_json_close(json, '}');
    open_key(json, "raw_samples_ms", '[');
    for (size_t i = 0; i < row->sample_count; i++)
        ifg_json_double(json, row->samples_ms[i]);
    ifg_json_close(json, ']');
}

static void put_memory(struct ifg_json *json, const struct bench_row *row)
{
    struct bench_memory memory;

    bench_row_memory(row, &memory);
    open_key(json, "memory", '{');
    put_mb(json, "rss_baseline_mb", memory.before_bytes);
    put_mb(json, "rss_before_session_mb", memory.before_bytes);
    put_mb(json, "rss_after_compile_mb", memory.after_load_bytes);
    put_mb(json, "rss_after_session_mb", memory.after_load_bytes);
    put_mb(json, "rss_after_inference_mb", memory.after_runs_bytes);
    put_mb(json, "rss_peak_during_inference_mb", memory.peak_bytes);
    put_delta(json, "rss_session_delta_mb", memory.before_bytes, memory.after_load_bytes);
    put_delta(json, "rss_model_load_delta_mb", memory.before_bytes, memory.after_load_bytes);
    put_delta(json, "rss_inference_delta_mb", memory.after_load_bytes, memory.after_runs_bytes);
    put_delta(json, "rss_peak_delta_mb", memory.before_bytes, memory.peak_bytes);
    put_delta(json, "rss_total_delta_mb", memory.before_bytes, memory.after_runs_bytes);
    put_delta(json, "rss_end_delta_mb", memory.before_bytes, memory.after_runs_bytes);
    ifg_json_close(json, '}');
    ifg_json_put_double(json, "hw_monitor", NAN); /* null */
    put_text(json, "hw_monitor_reason",
             "bench does not measure how busy CPU, GPU and NPU are; 'inferogram record' samples "
             "them (docs/resources.md)");
}

enum ifg_status bench_result_write_winml(const struct bench_result *result, struct ifg_bytes *out,
                                         struct ifg_error *err)
{
    static const struct bench_row none;
    struct ifg_json json = { out, false };
    const struct bench_row *row = result_top_row(result);

    row = row ? row : &none;
    ifg_json_open(&json, '{');
    ifg_json_put_uint(&json, "schema_version", 2);
    put_info(&json, result, row);
    put_latency(&json, result, row);
    put_memory(&json, row);
    ifg_json_close(&json, '}');
    ifg_bytes_put(out, "\n", 1);
    return result_written(out, err);
}
