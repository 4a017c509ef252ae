// SPDX-License-Identifier: Apache-2.0
/* What a benchmark measured: derived numbers, what differs between two results. See result.h. */
#include "bench/result/result.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/quantile.h"
#include "bench/result/result_internal.h"
#include "runtimes/runtimes.h"

#define DIFFERENCES_MAX 32u

struct bench_result *bench_result_create(void)
{
    return ifg_alloc(1, sizeof(struct bench_result));
}

void bench_row_fini(struct bench_row *row)
{
    for (size_t i = 0; i < row->op_count; i++) {
        ifg_free(row->ops[i].name);
        ifg_free(row->ops[i].op_type);
        ifg_free(row->ops[i].provider);
    }
    ifg_free(row->ops);
    ifg_free(row->name);
    ifg_free(row->settings);
    ifg_free(row->reason);
    ifg_free(row->samples_ms);
    ifg_free(row->blocks);
    ifg_free(row->processes);
    ifg_free(row->open.service_ms);
    ifg_free(row->placement_reason);
    ifg_free(row->ops_reason);
    ifg_free(row->energy_reason);
    memset(row, 0, sizeof *row);
}

void bench_result_destroy(struct bench_result *result)
{
    if (!result)
        return;
    for (size_t i = 0; i < result->row_count; i++)
        bench_row_fini(&result->rows[i]);
    ifg_free(result->rows);
    for (size_t i = 0; i < result->text_count; i++)
        ifg_free(result->texts[i]);
    ifg_free(result->texts);
    ifg_free(result->model_path);
    ifg_free(result->model_name);
    ifg_free(result->model_hash);
    ifg_free(result->precision);
    ifg_free(result->opsets);
    ifg_free(result->runtime);
    ifg_free(result->runtime_version);
    ifg_free(result->library);
    ifg_free(result->library_from);
    ifg_free(result->inputs);
    ifg_free(result->inputs_shape);
    ifg_free(result->options);
    ifg_free(result->tool_version);
    ifg_free(result->when);
    ifg_free(result->scenario);
    ifg_free(result->trace);
    ifg_free(result);
}

const struct bench_row *bench_result_main(const struct bench_result *result)
{
    for (size_t i = 0; i < result->row_count; i++)
        if (result->rows[i].available && result->rows[i].sample_count)
            return &result->rows[i];
    return NULL;
}

const struct bench_row *result_top_row(const struct bench_result *result)
{
    const struct bench_row *row = bench_result_main(result);

    return row || !result->row_count ? row : &result->rows[0];
}

const char *result_text_or_empty(const char *text)
{
    return text ? text : "";
}

enum ifg_status result_written(const struct ifg_bytes *out, struct ifg_error *err)
{
    return out->failed ? ifg_fail_no_memory(err, "to write the result") : IFG_OK;
}

/* ---- derived numbers ---------------------------------------------------------------------------
 */

/* How long a block took. Results of other tools do not tell; one inference after the other then. */
static double block_wall_ms(const struct bench_row *row, const struct bench_block *block)
{
    double sum = 0;

    if (block->wall_ms > 0)
        return block->wall_ms;
    for (size_t i = 0; i < block->where.count; i++)
        sum += row->samples_ms[block->where.first + i];
    return sum;
}

static enum ifg_status find_throughput(struct bench_row *row, const struct statistics_block *where,
                                       double *scratch, uint64_t seed, struct ifg_error *err)
{
    double per_query = row->per_query ? row->per_query : 1;
    struct statistics_interval each;
    long double wall = 0;
    enum ifg_status status;

    for (size_t i = 0; i < row->block_count; i++) {
        double block = block_wall_ms(row, &row->blocks[i]);

        wall += block;
        scratch[i] = block / ((double)row->blocks[i].where.count * per_query);
    }
    row->throughput =
        wall > 0 ? (double)(1000 * (long double)row->sample_count * per_query / wall) : NAN;
    /* The mean time of an inference over drawn blocks; its inverse is a throughput. */
    status = statistics_block_interval(scratch, where, row->block_count, STATISTICS_CONFIDENCE,
                                       seed, &each, err);
    row->throughput_interval = each;
    row->throughput_interval.known = each.known && each.low > 0;
    if (row->throughput_interval.known) {
        row->throughput_interval.low = 1000 / each.high;
        row->throughput_interval.high = 1000 / each.low;
    }
    return status;
}

static enum ifg_status describe_blocks(struct bench_row *row, double *scratch,
                                       struct ifg_error *err)
{
    double *block = ifg_alloc(row->sample_count, sizeof *block);
    struct statistics_summary medians;
    enum ifg_status status;

    if (!block)
        return ifg_fail_no_memory(err, "for %zu samples", row->sample_count);
    for (size_t i = 0; i < row->block_count; i++) {
        const struct statistics_block *where = &row->blocks[i].where;

        memcpy(block, row->samples_ms + where->first, where->count * sizeof *block);
        scratch[i] = ifg_median(block, where->count);
    }
    ifg_free(block);
    status = statistics_summarize(scratch, row->block_count, IFG_QUANTILE_LINEAR,
                                  STATISTICS_CONFIDENCE, &medians, err);
    if (status)
        return status;
    row->block_cv = medians.mean > 0 ? medians.sd / medians.mean : 0;
    row->block_autocorrelation = statistics_autocorrelation(scratch, row->block_count);
    row->effective = statistics_effective(row->block_count, row->block_autocorrelation);
    row->change_point_count =
        statistics_change_points(scratch, row->block_count, row->change_points,
                                 sizeof row->change_points / sizeof row->change_points[0]);
    return IFG_OK;
}

/* The summary's outliers are around the linear median, whatever the rule of the percentiles. */
static enum ifg_status count_samples(struct bench_row *row, struct ifg_error *err)
{
    double *copy = ifg_alloc(row->sample_count, sizeof *copy);
    double median;
    size_t met = 0;

    if (!copy)
        return ifg_fail_no_memory(err, "for %zu samples", row->sample_count);
    memcpy(copy, row->samples_ms, row->sample_count * sizeof *copy);
    median = ifg_median(copy, row->sample_count);
    ifg_free(copy);
    for (size_t i = 0; i < row->sample_count; i++)
        met += row->samples_ms[i] <= row->slo_ms;
    row->goodput = row->slo_ms > 0 ? (double)met / (double)row->sample_count : NAN;
    row->outliers_disturbed = 0;
    for (size_t i = 0; i < row->block_count && row->summary.outliers; i++) {
        const struct statistics_block *where = &row->blocks[i].where;

        for (size_t j = 0; row->blocks[i].disturbed && j < where->count; j++)
            row->outliers_disturbed +=
                fabs(row->samples_ms[where->first + j] - median) > 14.826 * row->summary.mad;
    }
    return IFG_OK;
}

enum ifg_status bench_row_finish(struct bench_row *row, bool nearest, uint64_t seed,
                                 struct ifg_error *err)
{
    struct statistics_block *where;
    double *scratch;
    enum ifg_status status = statistics_summarize(
        row->samples_ms, row->sample_count, nearest ? IFG_QUANTILE_NEAREST : IFG_QUANTILE_LINEAR,
        STATISTICS_CONFIDENCE, &row->summary, err);

    row->median = row->throughput_interval =
        (struct statistics_interval){ .low = NAN, .high = NAN };
    row->throughput = NAN;
    row->block_cv = row->block_autocorrelation = row->effective = 0;
    row->change_point_count = 0;
    row->steady = row->process_count > 0;
    for (size_t i = 0; i < row->process_count; i++)
        row->steady = row->steady && row->processes[i].steady;
    if (!status)
        status = count_samples(row, err);
    if (status || !row->block_count)
        return status;
    where = ifg_alloc(row->block_count, sizeof *where);
    scratch = ifg_alloc(row->block_count, sizeof *scratch);
    if (!where || !scratch)
        status = ifg_fail_no_memory(err, "for %zu blocks", row->block_count);
    for (size_t i = 0; i < row->block_count && !status; i++)
        where[i] = row->blocks[i].where;
    /* First, because it checks that the blocks cover the samples. */
    if (!status)
        status =
            statistics_median_interval(row->samples_ms, row->sample_count, where, row->block_count,
                                       STATISTICS_CONFIDENCE, seed, &row->median, err);
    if (!status)
        status = find_throughput(row, where, scratch, seed, err);
    if (!status)
        status = describe_blocks(row, scratch, err);
    ifg_free(scratch);
    ifg_free(where);
    return status;
}

#define PROCESSES_LOOKED 1024u /* medians of more are those of the first so many */

double bench_row_process_median(const struct bench_row *row, size_t offset)
{
    double values[PROCESSES_LOOKED];
    size_t count = 0;

    for (size_t i = 0; i < row->process_count && count < PROCESSES_LOOKED; i++) {
        memcpy(&values[count], (const char *)&row->processes[i] + offset, sizeof values[0]);
        count += isfinite(values[count]) ? 1 : 0;
    }
    return ifg_median(values, count);
}

static uint64_t bytes_median(const struct bench_row *row, size_t offset)
{
    double values[PROCESSES_LOOKED]; /* exact up to 2^53 */
    size_t count = 0;

    for (size_t i = 0; i < row->process_count && count < PROCESSES_LOOKED; i++) {
        uint64_t bytes;

        memcpy(&bytes, (const char *)&row->processes[i] + offset, sizeof bytes);
        if (bytes)
            values[count++] = (double)(bytes < UINT64_C(1) << 53 ? bytes : UINT64_C(1) << 53);
    }
    return count ? (uint64_t)ifg_median(values, count) : 0;
}

const char *bench_row_policy(const struct bench_row *row, char out[64])
{
    const char *at = row->settings ? row->settings : "";

    out[0] = '\0';
    while (at && strncmp(at, "policy=", 7) != 0) {
        at = strstr(at, ", ");
        at = at ? at + 2 : NULL;
    }
    if (at)
        snprintf(out, 64, "%.*s", (int)strcspn(at + 7, ","), at + 7);
    return out;
}

bool bench_row_has_host_times(const struct bench_row *row)
{
    for (size_t i = 0; i < row->op_count; i++)
        if (runtime_provider_is_asynchronous(row->ops[i].provider, strlen(row->ops[i].provider)))
            return true;
    return false;
}

bool bench_row_fell_back(const struct bench_row *row)
{
    char policy[64];

    bench_row_policy(row, policy);
    if (!row->placement_count ||
        (strcasecmp(policy, "PREFER_NPU") != 0 && strcasecmp(policy, "PREFER_GPU") != 0))
        return false;
    for (size_t i = 0; i < row->placement_count; i++)
        if (strcmp(row->placements[i].provider, "CPUExecutionProvider") != 0)
            return false;
    return true;
}

void bench_row_memory(const struct bench_row *row, struct bench_memory *out_memory)
{
    *out_memory = (struct bench_memory){
        .before_bytes = bytes_median(row, offsetof(struct bench_process, before_bytes)),
        .after_load_bytes = bytes_median(row, offsetof(struct bench_process, after_load_bytes)),
        .after_runs_bytes = bytes_median(row, offsetof(struct bench_process, after_runs_bytes)),
        .peak_bytes = bytes_median(row, offsetof(struct bench_process, peak_bytes)),
    };
    if (out_memory->before_bytes && out_memory->peak_bytes)
        out_memory->delta_bytes =
            (int64_t)out_memory->peak_bytes - (int64_t)out_memory->before_bytes;
}

/* ---- what differs ------------------------------------------------------------------------------
 */

struct differences {
    char **lines;
    size_t count;
    bool failed;
};

static void add_texts(struct differences *differences, const char *what, const char *a,
                      const char *b)
{
    char line[768];

    a = result_text_or_empty(a);
    b = result_text_or_empty(b);
    /* What one of them does not tell cannot be said to differ. */
    if (!*a || !*b || strcmp(a, b) == 0 || differences->count == DIFFERENCES_MAX)
        return;
    snprintf(line, sizeof line, "%s: %.300s | %.300s", what, a, b);
    differences->lines[differences->count] = ifg_strdup(line);
    differences->failed = differences->failed || !differences->lines[differences->count];
    differences->count += differences->lines[differences->count] != NULL;
}

static void add_numbers(struct differences *differences, const char *what, int64_t a, int64_t b,
                        const char *zero)
{
    char text_a[32], text_b[32];

    snprintf(text_a, sizeof text_a, "%" PRId64, a);
    snprintf(text_b, sizeof text_b, "%" PRId64, b);
    add_texts(differences, what, a ? text_a : zero, b ? text_b : zero);
}

/* The providers that got nodes: "CPUExecutionProvider, CUDAExecutionProvider". */
static void list_providers(const struct bench_row *row, char *out, size_t size)
{
    size_t used = 0;

    out[0] = '\0';
    for (size_t i = 0; i < row->placement_count && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : "",
                                 row->placements[i].provider);
}

static void add_rows(struct differences *differences, const struct bench_row *a,
                     const struct bench_row *b, bool both_tell)
{
    char providers_a[256], providers_b[256];
    const char *settings_a = result_text_or_empty(a->settings);
    const char *settings_b = result_text_or_empty(b->settings);

    if (both_tell) {
        settings_a = *settings_a ? settings_a : "none";
        settings_b = *settings_b ? settings_b : "none";
    }
    add_texts(differences, "settings", settings_a, settings_b);
    list_providers(a, providers_a, sizeof providers_a);
    list_providers(b, providers_b, sizeof providers_b);
    add_texts(differences, "providers", providers_a, providers_b);
}

enum ifg_status bench_result_differences(const struct bench_result *a, const struct bench_result *b,
                                         bool other_model, char ***out_lines, size_t *out_count,
                                         struct ifg_error *err)
{
    struct differences differences = { ifg_alloc(DIFFERENCES_MAX, sizeof(char *)), 0, false };
    const struct bench_row *row_a = result_top_row(a);
    const struct bench_row *row_b = result_top_row(b);
    /* Documents of other tools know nothing of this; then 0 is "not told", not a choice. */
    bool both_tell = *result_text_or_empty(a->options) && *result_text_or_empty(b->options);

    *out_lines = NULL;
    *out_count = 0;
    if (!differences.lines)
        return ifg_fail_no_memory(err, "to compare two results");
    if (!other_model) {
        add_texts(&differences, "model hash", a->model_hash, b->model_hash);
        add_numbers(&differences, "model bytes", (int64_t)a->model_bytes, (int64_t)b->model_bytes,
                    "");
        add_texts(&differences, "precision", a->precision, b->precision);
    }
    if (row_a && row_b)
        add_rows(&differences, row_a, row_b, both_tell);
    add_numbers(&differences, "batch", a->batch, b->batch, "");
    add_numbers(&differences, "threads", a->threads, b->threads,
                both_tell ? "the runtime's choice" : "");
    add_texts(&differences, "inputs", a->inputs_shape, b->inputs_shape);
    add_texts(&differences, "scenario", a->scenario, b->scenario);
    add_texts(&differences, "host", a->host.name, b->host.name);
    add_texts(&differences, "CPU", a->host.cpu, b->host.cpu);
    add_texts(&differences, "kernel", a->host.kernel, b->host.kernel);
    add_texts(&differences, "runtime", a->runtime, b->runtime);
    add_texts(&differences, "runtime version", a->runtime_version, b->runtime_version);
    add_texts(&differences, "clock source", a->host.clock_source, b->host.clock_source);
    if (differences.failed) {
        for (size_t i = 0; i < differences.count; i++)
            ifg_free(differences.lines[i]);
        ifg_free(differences.lines);
        return ifg_fail_no_memory(err, "to compare two results");
    }
    *out_lines = differences.lines;
    *out_count = differences.count;
    return IFG_OK;
}
