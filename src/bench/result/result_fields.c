// SPDX-License-Identifier: Apache-2.0
/* The keys of a result's JSON document, and how those are written that are more than a value of a
 * struct: see result_fields.h and docs/json.md. */
#include "bench/result/result_fields.h"

#include <math.h>
#include <string.h>

#include "bench/result/result_internal.h"

#define AT(type, member) offsetof(struct type, member)
#define R(member)        AT(bench_result, member)
#define W(member)        AT(bench_row, member)
#define P(member)        AT(bench_process, member)
#define FIELD_AS(name, kind, where, ...)                                                           \
    {                                                                                              \
        .key = name, .type = kind, .offset = where, __VA_ARGS__                                    \
    }
#define FIELD(name, kind, where)          FIELD_AS(name, kind, where, .put = NULL)
#define NULLED_FIELD(name, kind, where)   FIELD_AS(name, kind, where, .null = ZERO)
#define DERIVED_FIELD(name, kind, where)  FIELD_AS(name, kind, where, .derived = true)
#define PUT_FIELD(name, kind, where, how) FIELD_AS(name, kind, where, .put = how)
#define INSIDE_FIELD(name, where, what)   FIELD_AS(name, INSIDE, where, .object = what)
#define DERIVED_PUT(name, where, how)     FIELD_AS(name, NUMBER, where, .derived = true, .put = how)
#define MEASURED_FIELD(name, where)                                                                \
    FIELD_AS(name, NUMBER, where, .derived = true, .null = UNMEASURED)
#define CHARS_FIELD(name, structure, member)                                                       \
    FIELD_AS(name, CHARS, AT(structure, member), .limit = sizeof(((struct structure *)0)->member))
#define LIST_FIELD(name, kind, where, number, most, what)                                          \
    FIELD_AS(name, kind, where, .count = number, .limit = most, .object = what)

static const struct bench_row *as_row(const char *base)
{
    return (const struct bench_row *)(const void *)base;
}

/* ---- the top -----------------------------------------------------------------------------------
 */

static void put_schema(struct writing *writing, const struct field *field, const char *base)
{
    (void)base;
    ifg_json_put_uint(&writing->json, field->key, 1);
}

static void put_kind(struct writing *writing, const struct field *field, const char *base)
{
    (void)base;
    ifg_json_put_string(&writing->json, field->key, "bench");
}

static void put_definitions(struct writing *writing, const struct field *field, const char *base)
{
    static const char *const texts[][2] = {
        { "std_ms", "of the sample: divided by n - 1" },
        { "mad_ms", "median of |x - median|, not scaled" },
        { "outliers", "|x - median| > 14.826 mad_ms; counted, never removed" },
        { "p50_interval", "hierarchical bootstrap: processes, then blocks; 2000 resamples, "
                          "expanded percentiles" },
        { "other_intervals", "order statistics by binomial tails" },
        { "throughput_fps", "inferences / sum of the blocks' wall time" },
    };

    (void)base;
    result_open_key(writing, field->key, '{');
    ifg_json_put_string(&writing->json, "percentile",
                        writing->result->percentile_nearest
                            ? "element floor(n q) of the sorted samples, from 0, at most the last"
                            : "linear interpolation between order statistics, rank (n - 1) q from "
                              "0");
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        ifg_json_put_string(&writing->json, texts[i][0], texts[i][1]);
    ifg_json_close(&writing->json, '}');
}

/* One row stands flat at the top; several are a list besides. */
static void put_rows(struct writing *writing, const struct field *field, const char *base)
{
    const struct bench_result *result = writing->result;
    const struct bench_row *top = result_top_row(result);

    (void)base;
    if (top)
        result_put_fields(writing, ROW, top);
    if (result->row_count < 2)
        return;
    result_open_key(writing, field->key, '[');
    for (size_t i = 0; i < result->row_count && !writing->status; i++) {
        ifg_json_open(&writing->json, '{');
        result_put_fields(writing, ROW, &result->rows[i]);
        ifg_json_close(&writing->json, '}');
    }
    ifg_json_close(&writing->json, ']');
}

/* ---- rows --------------------------------------------------------------------------------------
 */

static void put_process_median(struct writing *writing, const struct field *field, const char *base)
{
    ifg_json_put_double(&writing->json, field->key,
                        bench_row_process_median(as_row(base), field->offset));
}

static void put_samples_per_s(struct writing *writing, const struct field *field, const char *base)
{
    const struct bench_row *row = as_row(base);
    int64_t batch = writing->result->batch;

    ifg_json_put_double(&writing->json, field->key,
                        row->sample_count ? row->throughput * (double)(batch > 0 ? batch : 1)
                                          : NAN);
}

static void put_per_query(struct writing *writing, const struct field *field, const char *base)
{
    uint32_t per_query = as_row(base)->per_query;

    ifg_json_put_uint(&writing->json, field->key, per_query ? per_query : 1);
}

static void put_goodput(struct writing *writing, const struct field *field, const char *base)
{
    const struct bench_row *row = as_row(base);

    ifg_json_put_double(&writing->json, field->key,
                        row->slo_ms > 0 && row->sample_count ? row->goodput : NAN);
}

static void put_change_points(struct writing *writing, const struct field *field, const char *base)
{
    const struct bench_row *row = as_row(base);

    result_open_key(writing, field->key, '[');
    for (size_t i = 0; i < row->change_point_count; i++)
        ifg_json_uint(&writing->json, row->change_points[i]);
    ifg_json_close(&writing->json, ']');
}

static void put_confidence(struct writing *writing, const struct field *field, const char *base)
{
    (void)base;
    ifg_json_put_double(&writing->json, field->key, STATISTICS_CONFIDENCE);
}

static void put_interval(struct writing *writing, const struct field *field,
                         const struct statistics_interval *interval, const char *method)
{
    struct ifg_json *json = &writing->json;

    result_open_key(writing, field->key, '{');
    ifg_json_put_double(json, "low", interval->known ? interval->low : NAN);
    ifg_json_put_double(json, "high", interval->known ? interval->high : NAN);
    ifg_json_put_string(json, "method", method);
    ifg_json_put_uint(json, "needs", interval->known ? 0 : interval->needs);
    ifg_json_close(json, '}');
}

static void put_bootstrap(struct writing *writing, const struct field *field, const char *base)
{
    put_interval(writing, field, (const void *)(base + field->offset), "hierarchical bootstrap");
}

static void put_order(struct writing *writing, const struct field *field, const char *base)
{
    put_interval(writing, field, (const void *)(base + field->offset), "order statistics");
}

static void put_memory(struct writing *writing, const struct field *field, const char *base)
{
    struct bench_memory memory;

    bench_row_memory(as_row(base), &memory);
    result_open_key(writing, field->key, '{');
    result_put_fields(writing, MEMORY, &memory);
    ifg_json_close(&writing->json, '}');
}

static void put_delta(struct writing *writing, const struct field *field, const char *base)
{
    const struct bench_memory *memory = (const void *)base;

    if (memory->before_bytes && memory->peak_bytes)
        ifg_json_put_int(&writing->json, field->key, memory->delta_bytes);
    else
        ifg_json_put_double(&writing->json, field->key, NAN);
}

static void put_policy(struct writing *writing, const struct field *field, const char *base)
{
    char policy[64];

    ifg_json_put_string(&writing->json, field->key, bench_row_policy(as_row(base), policy));
}

static void put_fallback(struct writing *writing, const struct field *field, const char *base)
{
    const struct bench_row *row = as_row(base);
    char policy[64];

    if (*bench_row_policy(row, policy) && row->placement_count)
        ifg_json_put_bool(&writing->json, field->key, bench_row_fell_back(row));
    else
        ifg_json_put_double(&writing->json, field->key, NAN);
}

static void put_host_time(struct writing *writing, const struct field *field, const char *base)
{
    ifg_json_put_bool(&writing->json, field->key, bench_row_has_host_times(as_row(base)));
}

static void put_drift(struct writing *writing, const struct field *field, const char *base)
{
    const struct trust *trust = (const void *)base;

    ifg_json_put_double(&writing->json, field->key,
                        trust->level == TRUST_NOT_AVAILABLE ? NAN : trust->reference_drift);
}

static void put_steady_after(struct writing *writing, const struct field *field, const char *base)
{
    const struct bench_process *process = (const void *)base;

    if (process->steady)
        ifg_json_put_uint(&writing->json, field->key, process->steady_after);
    else
        ifg_json_put_double(&writing->json, field->key, NAN);
}

/* ---- open loops --------------------------------------------------------------------------------
 */

static void put_open_loop(struct writing *writing, const struct field *field, const char *base)
{
    const struct bench_row *row = as_row(base);

    if (!row->open.used) {
        ifg_json_put_double(&writing->json, field->key, NAN);
        return;
    }
    writing->measured = row->open.service_ms && row->sample_count;
    if (writing->measured)
        writing->status = statistics_summarize(
            row->open.service_ms, row->sample_count,
            writing->result->percentile_nearest ? IFG_QUANTILE_NEAREST : IFG_QUANTILE_LINEAR,
            STATISTICS_CONFIDENCE, &writing->service, writing->err);
    if (writing->status)
        return;
    result_open_key(writing, field->key, '{');
    result_put_fields(writing, OPEN_LOOP, base);
    ifg_json_close(&writing->json, '}');
}

static void put_confirmed_bound(struct writing *writing, const struct field *field,
                                const char *base)
{
    const struct bench_open_loop *open = &as_row(base)->open;

    ifg_json_put_double(&writing->json, field->key,
                        open->confirmed_queries
                            ? statistics_share_bound(open->confirmed_too_slow,
                                                     open->confirmed_queries, STATISTICS_CONFIDENCE)
                            : NAN);
}

static void put_service(struct writing *writing, const struct field *field, const char *base)
{
    double value;

    (void)base;
    memcpy(&value, (const char *)&writing->service + field->offset, sizeof value);
    ifg_json_put_double(&writing->json, field->key, writing->measured ? value : NAN);
}

/* ---- the table ---------------------------------------------------------------------------------
 */

static const struct field top_fields[] = {
    PUT_FIELD("schema", U64, SIZE_MAX, put_schema),
    PUT_FIELD("kind", KEPT, SIZE_MAX, put_kind),
    FIELD("tool_version", TEXT, R(tool_version)),
    FIELD("when", TEXT, R(when)),
    FIELD("interrupted", BOOLEAN, R(interrupted)),
    INSIDE_FIELD("model", 0, MODEL),
    INSIDE_FIELD("runtime", 0, RUNTIME),
    FIELD("inputs", TEXT, R(inputs)),
    FIELD("inputs_shape", TEXT, R(inputs_shape)),
    INSIDE_FIELD("options", 0, OPTIONS),
    INSIDE_FIELD("host", R(host), HOST),
    FIELD("trace", TEXT, R(trace)),
    FIELD("percentile_rule", RULE, R(percentile_nearest)),
    DERIVED_PUT("definitions", 0, put_definitions),
    FIELD_AS("rows", LIST, R(rows), .count = R(row_count), .limit = 1000, .object = ROW,
             .put = put_rows),
    { .key = NULL },
};

static const struct field model_fields[] = {
    FIELD("path", TEXT, R(model_path)),      FIELD("name", TEXT, R(model_name)),
    FIELD("hash", TEXT, R(model_hash)),      FIELD("bytes", U64, R(model_bytes)),
    FIELD("parameters", U64, R(parameters)), FIELD("precision", TEXT, R(precision)),
    FIELD("opsets", TEXT, R(opsets)),        { .key = NULL },
};

static const struct field runtime_fields[] = {
    FIELD("name", TEXT, R(runtime)),
    FIELD("version", TEXT, R(runtime_version)),
    FIELD("library", TEXT, R(library)),
    FIELD("from", TEXT, R(library_from)),
    { .key = NULL },
};

static const struct field options_fields[] = {
    FIELD("command_line", TEXT, R(options)), FIELD("iterations", U32, R(iterations)),
    FIELD("processes", U32, R(processes)),   FIELD("seed", U64, R(seed)),
    FIELD("scenario", TEXT, R(scenario)),    FIELD("batch", I64, R(batch)),
    FIELD("threads", U32, R(threads)),       { .key = NULL },
};

static const struct field host_fields[] = {
    CHARS_FIELD("name", host_facts, name),
    CHARS_FIELD("cpu", host_facts, cpu),
    FIELD("cpus", U32, AT(host_facts, cpus)),
    CHARS_FIELD("kernel", host_facts, kernel),
    CHARS_FIELD("distribution", host_facts, distribution),
    CHARS_FIELD("hypervisor", host_facts, hypervisor),
    CHARS_FIELD("governor", host_facts, governor),
    CHARS_FIELD("clock_source", host_facts, clock_source),
    FIELD("memory_bytes", U64, AT(host_facts, memory_bytes)),
    FIELD("cgroup_cpu_permille", U64, AT(host_facts, cgroup_cpu_permille)),
    FIELD("numa_nodes", U32, AT(host_facts, numa_nodes)),
    FIELD("aslr", BOOLEAN, AT(host_facts, aslr)),
    { .key = NULL },
};

static const struct field row_fields[] = {
    FIELD("name", TEXT, W(name)),
    FIELD("settings", TEXT, W(settings)),
    FIELD("available", BOOLEAN, W(available)),
    FIELD("reason", TEXT, W(reason)),
    FIELD("crashed", BOOLEAN, W(crashed)),
    DERIVED_FIELD("count", SIZE, W(sample_count)),
    MEASURED_FIELD("mean_ms", W(summary.mean)),
    MEASURED_FIELD("std_ms", W(summary.sd)),
    MEASURED_FIELD("min_ms", W(summary.min)),
    MEASURED_FIELD("max_ms", W(summary.max)),
    MEASURED_FIELD("p50_ms", W(summary.p[STATISTICS_P50])),
    MEASURED_FIELD("p90_ms", W(summary.p[STATISTICS_P90])),
    MEASURED_FIELD("p95_ms", W(summary.p[STATISTICS_P95])),
    MEASURED_FIELD("p99_ms", W(summary.p[STATISTICS_P99])),
    MEASURED_FIELD("p999_ms", W(summary.p[STATISTICS_P999])),
    MEASURED_FIELD("mad_ms", W(summary.mad)),
    DERIVED_FIELD("outliers", SIZE, W(summary.outliers)),
    DERIVED_FIELD("outliers_disturbed", SIZE, W(outliers_disturbed)),
    DERIVED_PUT("first_ms", P(first_ms), put_process_median),
    DERIVED_PUT("warmup_mean_ms", P(warmup_mean_ms), put_process_median),
    DERIVED_PUT("start_ms", P(start_ms), put_process_median),
    DERIVED_PUT("load_ms", P(load_ms), put_process_median),
    DERIVED_PUT("specialization_ms", P(specialization_ms), put_process_median),
    MEASURED_FIELD("throughput_fps", W(throughput)),
    DERIVED_PUT("samples_per_s", 0, put_samples_per_s),
    PUT_FIELD("per_query", U32, W(per_query), put_per_query),
    NULLED_FIELD("slo_ms", TIME, W(slo_ms)),
    DERIVED_PUT("goodput", 0, put_goodput),
    DERIVED_FIELD("steady", BOOLEAN, W(steady)),
    MEASURED_FIELD("block_cv", W(block_cv)),
    MEASURED_FIELD("block_autocorrelation", W(block_autocorrelation)),
    MEASURED_FIELD("effective_blocks", W(effective)),
    DERIVED_PUT("change_points", 0, put_change_points),
    FIELD_AS("intervals", INSIDE, 0, .object = INTERVALS, .derived = true),
    DERIVED_PUT("memory", 0, put_memory),
    LIST_FIELD("placement", FIXED, W(placements), W(placement_count), 16, PLACEMENT),
    FIELD("placement_reason", TEXT, W(placement_reason)),
    DERIVED_PUT("policy", 0, put_policy),
    DERIVED_PUT("policy_fallback", 0, put_fallback),
    LIST_FIELD("operators", LIST, W(ops), W(op_count), 1000000, OPERATOR),
    FIELD("operators_reason", TEXT, W(ops_reason)),
    DERIVED_PUT("operators_host_time", 0, put_host_time),
    INSIDE_FIELD("trust", W(trust), TRUST),
    INSIDE_FIELD("energy", 0, ENERGY),
    FIELD_AS("open_loop", INSIDE, 0, .object = OPEN_LOOP, .put = put_open_loop),
    LIST_FIELD("processes", LIST, W(processes), W(process_count), 100000, PROCESS),
    LIST_FIELD("blocks", LIST, W(blocks), W(block_count), 10000000, BLOCK),
    FIELD_AS("raw_samples_ms", TIMES, W(samples_ms), .count = W(sample_count)),
    { .key = NULL },
};

static const struct field intervals_fields[] = {
    DERIVED_PUT("confidence", 0, put_confidence),
    DERIVED_PUT("p50", W(median), put_bootstrap),
    DERIVED_PUT("p90", W(summary.interval[STATISTICS_P90]), put_order),
    DERIVED_PUT("p95", W(summary.interval[STATISTICS_P95]), put_order),
    DERIVED_PUT("p99", W(summary.interval[STATISTICS_P99]), put_order),
    DERIVED_PUT("p999", W(summary.interval[STATISTICS_P999]), put_order),
    DERIVED_PUT("throughput_fps", W(throughput_interval), put_bootstrap),
    { .key = NULL },
};

static const struct field memory_fields[] = {
    NULLED_FIELD("before_bytes", U64, AT(bench_memory, before_bytes)),
    NULLED_FIELD("after_load_bytes", U64, AT(bench_memory, after_load_bytes)),
    NULLED_FIELD("after_runs_bytes", U64, AT(bench_memory, after_runs_bytes)),
    NULLED_FIELD("peak_bytes", U64, AT(bench_memory, peak_bytes)),
    DERIVED_PUT("delta_bytes", 0, put_delta),
    { .key = NULL },
};

static const struct field open_loop_fields[] = {
    FIELD("asked_hz", TIME, W(open.asked_hz)),
    FIELD("achieved_hz", TIME, W(open.achieved_hz)),
    FIELD("overloaded", BOOLEAN, W(open.overloaded)),
    FIELD("late", U64, W(open.late)),
    FIELD("lateness_p99_ms", TIME, W(open.lateness_p99_ms)),
    FIELD("found_hz", TIME, W(open.found_hz)),
    NULLED_FIELD("confirmed_s", TIME, W(open.confirmed_s)),
    FIELD("confirmed_queries", U64, W(open.confirmed_queries)),
    FIELD("confirmed_too_slow", U64, W(open.confirmed_too_slow)),
    DERIVED_PUT("confirmed_bound", 0, put_confirmed_bound),
    NULLED_FIELD("missed_hz", TIME, W(open.missed_hz)),
    DERIVED_PUT("service_mean_ms", AT(statistics_summary, mean), put_service),
    DERIVED_PUT("service_p50_ms", AT(statistics_summary, p[STATISTICS_P50]), put_service),
    DERIVED_PUT("service_p90_ms", AT(statistics_summary, p[STATISTICS_P90]), put_service),
    DERIVED_PUT("service_p95_ms", AT(statistics_summary, p[STATISTICS_P95]), put_service),
    DERIVED_PUT("service_p99_ms", AT(statistics_summary, p[STATISTICS_P99]), put_service),
    DERIVED_PUT("service_p999_ms", AT(statistics_summary, p[STATISTICS_P999]), put_service),
    FIELD_AS("service_ms", TIMES, W(open.service_ms), .count = SIZE_MAX),
    { .key = NULL },
};

static const struct field energy_fields[] = {
    FIELD("cpu_j", TIME, W(energy_cpu_j)),
    FIELD("gpu_j", TIME, W(energy_gpu_j)),
    FIELD("cpu_low_j", TIME, W(energy_cpu_low_j)),
    FIELD("cpu_high_j", TIME, W(energy_cpu_high_j)),
    FIELD("gpu_low_j", TIME, W(energy_gpu_low_j)),
    FIELD("gpu_high_j", TIME, W(energy_gpu_high_j)),
    FIELD("idle_cpu_w", TIME, W(energy_idle_cpu_w)),
    FIELD("idle_gpu_w", TIME, W(energy_idle_gpu_w)),
    FIELD("idle_s", TIME, W(energy_idle_s)),
    FIELD("reason", TEXT, W(energy_reason)),
    { .key = NULL },
};

static const struct field trust_fields[] = {
    FIELD("level", LEVEL, AT(trust, level)),
    PUT_FIELD("reference_drift", NUMBER, AT(trust, reference_drift), put_drift),
    LIST_FIELD("lines", FIXED, AT(trust, lines), AT(trust, count), TRUST_LINES, LINE),
    { .key = NULL },
};

static const struct field line_fields[] = {
    FIELD("name", KEPT, AT(trust_line, name)),     FIELD("level", LEVEL, AT(trust_line, level)),
    FIELD("value", NUMBER, AT(trust_line, value)), CHARS_FIELD("unit", trust_line, unit),
    CHARS_FIELD("text", trust_line, text),         { .key = NULL },
};

static const struct field process_fields[] = {
    FIELD("start_ms", TIME, P(start_ms)),
    FIELD("load_ms", TIME, P(load_ms)),
    FIELD("specialization_ms", TIME, P(specialization_ms)),
    FIELD("first_ms", TIME, P(first_ms)),
    FIELD("warmup", SIZE, P(warmup)),
    FIELD("warmup_mean_ms", TIME, P(warmup_mean_ms)),
    FIELD("steady", BOOLEAN, P(steady)),
    PUT_FIELD("steady_after", SIZE, P(steady_after), put_steady_after),
    NULLED_FIELD("before_bytes", U64, P(before_bytes)),
    NULLED_FIELD("after_load_bytes", U64, P(after_load_bytes)),
    NULLED_FIELD("after_runs_bytes", U64, P(after_runs_bytes)),
    NULLED_FIELD("peak_bytes", U64, P(peak_bytes)),
    { .key = NULL },
};

static const struct field block_fields[] = {
    FIELD("process", U32, AT(bench_block, where.process)),
    FIELD("first", SIZE, AT(bench_block, where.first)),
    FIELD("count", SIZE, AT(bench_block, where.count)),
    NULLED_FIELD("wall_ms", TIME, AT(bench_block, wall_ms)),
    FIELD("reference_ms", TIME, AT(bench_block, reference_ms)),
    FIELD("disturbed", BOOLEAN, AT(bench_block, disturbed)),
    { .key = NULL },
};

static const struct field operator_fields[] = {
    FIELD("name", TEXT, AT(bench_op, name)),
    FIELD("op_type", TEXT, AT(bench_op, op_type)),
    FIELD("provider", TEXT, AT(bench_op, provider)),
    FIELD("count", U64, AT(bench_op, count)),
    FIELD("p50_ms", TIME, AT(bench_op, p50_ms)),
    FIELD("total_ms", TIME, AT(bench_op, total_ms)),
    FIELD("share", TIME, AT(bench_op, share)),
    { .key = NULL },
};

static const struct field placement_fields[] = {
    CHARS_FIELD("provider", bench_placement, provider),
    FIELD("nodes", U32, AT(bench_placement, nodes)),
    { .key = NULL },
};

const struct fields result_objects[OBJECTS] = {
    [TOP] = { top_fields, 0 },
    [MODEL] = { model_fields, 0 },
    [RUNTIME] = { runtime_fields, 0 },
    [OPTIONS] = { options_fields, 0 },
    [HOST] = { host_fields, 0 },
    [ROW] = { row_fields, sizeof(struct bench_row) },
    [INTERVALS] = { intervals_fields, 0 },
    [MEMORY] = { memory_fields, 0 },
    [OPEN_LOOP] = { open_loop_fields, 0 },
    [ENERGY] = { energy_fields, 0 },
    [TRUST] = { trust_fields, 0 },
    [LINE] = { line_fields, sizeof(struct trust_line) },
    [PROCESS] = { process_fields, sizeof(struct bench_process) },
    [BLOCK] = { block_fields, sizeof(struct bench_block) },
    [OPERATOR] = { operator_fields, sizeof(struct bench_op) },
    [PLACEMENT] = { placement_fields, sizeof(struct bench_placement) },
};
