// SPDX-License-Identifier: Apache-2.0
/* A result as CSV (RFC 4180): a line per row. Columns are only ever added, at the end. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/csv.h"
#include "bench/result/result_internal.h"

/* docs/bench.md lists what each is; values are those of the JSON. */
static const char header[] =
    "name,settings,available,reason,count,processes,blocks,mean_ms,std_ms,min_ms,max_ms,"
    "p50_ms,p50_low_ms,p50_high_ms,p90_ms,p90_low_ms,p90_high_ms,p95_ms,p95_low_ms,p95_high_ms,"
    "p99_ms,p99_low_ms,p99_high_ms,p999_ms,p999_low_ms,p999_high_ms,mad_ms,outliers,"
    "throughput_fps,throughput_low_fps,throughput_high_fps,goodput,first_ms,warmup_mean_ms,load_ms,"
    "steady,before_bytes,after_load_bytes,after_runs_bytes,peak_bytes,delta_bytes,trust,"
    "energy_cpu_j,energy_gpu_j,model,model_hash,runtime,runtime_version,scenario,batch,threads,"
    "host,when\r\n";

static void put_plain(struct ifg_bytes *out, const char *text)
{
    ifg_bytes_put(out, text, strlen(text));
}

static void put_text(struct ifg_bytes *out, const char *text)
{
    ifg_csv_put(out, result_text_or_empty(text), ",");
    put_plain(out, ",");
}

/* Empty if it is not known. */
static void put_number(struct ifg_bytes *out, double value)
{
    char text[40] = ",";

    if (isfinite(value))
        snprintf(text, sizeof text, "%.17g,", value);
    put_plain(out, text);
}

static void put_count(struct ifg_bytes *out, uint64_t value)
{
    char text[40];

    snprintf(text, sizeof text, "%llu,", (unsigned long long)value);
    put_plain(out, text);
}

static void put_bytes(struct ifg_bytes *out, uint64_t bytes)
{
    if (bytes)
        put_count(out, bytes);
    else
        put_plain(out, ",");
}

static void put_interval(struct ifg_bytes *out, const struct statistics_interval *interval)
{
    put_number(out, interval->known ? interval->low : NAN);
    put_number(out, interval->known ? interval->high : NAN);
}

static void put_statistics(struct ifg_bytes *out, const struct bench_row *row)
{
    const struct statistics_summary *summary = &row->summary;
    bool measured = row->sample_count > 0;

    put_count(out, row->sample_count);
    put_count(out, row->process_count);
    put_count(out, row->block_count);
    put_number(out, measured ? summary->mean : NAN);
    put_number(out, measured ? summary->sd : NAN);
    put_number(out, measured ? summary->min : NAN);
    put_number(out, measured ? summary->max : NAN);
    for (int i = 0; i < STATISTICS_QUANTILES; i++) {
        put_number(out, measured ? summary->p[i] : NAN);
        put_interval(out, i == STATISTICS_P50 ? &row->median : &summary->interval[i]);
    }
    put_number(out, measured ? summary->mad : NAN);
    put_count(out, summary->outliers);
    put_number(out, measured ? row->throughput : NAN);
    put_interval(out, &row->throughput_interval);
    put_number(out, measured && row->slo_ms > 0 ? row->goodput : NAN);
    put_number(out, bench_row_process_median(row, offsetof(struct bench_process, first_ms)));
    put_number(out, bench_row_process_median(row, offsetof(struct bench_process, warmup_mean_ms)));
    put_number(out, bench_row_process_median(row, offsetof(struct bench_process, load_ms)));
    put_plain(out, row->steady ? "true," : "false,");
}

static void put_row(struct ifg_bytes *out, const struct bench_result *result,
                    const struct bench_row *row)
{
    struct bench_memory memory;
    char delta[40] = ",";

    put_text(out, row->name);
    put_text(out, row->settings);
    put_plain(out, row->available ? "true," : "false,");
    put_text(out, row->reason);
    put_statistics(out, row);
    bench_row_memory(row, &memory);
    put_bytes(out, memory.before_bytes);
    put_bytes(out, memory.after_load_bytes);
    put_bytes(out, memory.after_runs_bytes);
    put_bytes(out, memory.peak_bytes);
    if (memory.before_bytes && memory.peak_bytes)
        snprintf(delta, sizeof delta, "%lld,", (long long)memory.delta_bytes);
    put_plain(out, delta);
    put_text(out, trust_level_name(row->trust.level));
    put_number(out, row->energy_cpu_j);
    put_number(out, row->energy_gpu_j);
    put_text(out, result->model_name);
    put_text(out, result->model_hash);
    put_text(out, result->runtime);
    put_text(out, result->runtime_version);
    put_text(out, result->scenario);
    put_count(out, result->batch > 0 ? (uint64_t)result->batch : 1);
    put_count(out, result->threads);
    put_text(out, result->host.name);
    put_text(out, result->when);
    if (!out->failed)
        out->size--; /* the comma after the last one */
    put_plain(out, "\r\n");
}

enum ifg_status bench_result_write_csv(const struct bench_result *result, struct ifg_bytes *out,
                                       struct ifg_error *err)
{
    put_plain(out, header);
    for (size_t i = 0; i < result->row_count; i++)
        put_row(out, result, &result->rows[i]);
    return result_written(out, err);
}
