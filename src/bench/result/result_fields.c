// SPDX-License-Identifier: Apache-2.0
/* The keys of a result's JSON document: see result_fields.h and docs/json.md. */
#include "bench/result/result_fields.h"

#define AT(type, member) offsetof(struct type, member)
#define R(member)        AT(bench_result, member)
#define W(member)        AT(bench_row, member)
#define P(member)        AT(bench_process, member)
#define FIELD(name, kind, where)                                                                   \
    {                                                                                              \
        .key = name, .type = kind, .offset = where                                                 \
    }
#define CHARS_FIELD(name, structure, member)                                                       \
    {                                                                                              \
        .key = name, .type = CHARS, .offset = AT(structure, member),                               \
        .limit = sizeof(((struct structure *)0)->member)                                           \
    }
#define INSIDE_FIELD(name, where, what)                                                            \
    {                                                                                              \
        .key = name, .type = INSIDE, .offset = where, .object = what                               \
    }

#define LIST_FIELD(name, kind, where, number, most, what)                                          \
    {                                                                                              \
        .key = name, .type = kind, .offset = where, .count = number, .limit = most, .object = what \
    }

static const struct field top_fields[] = {
    FIELD("kind", KEPT, SIZE_MAX),
    FIELD("schema", U64, SIZE_MAX),
    FIELD("tool_version", TEXT, R(tool_version)),
    FIELD("when", TEXT, R(when)),
    FIELD("interrupted", BOOLEAN, R(interrupted)),
    FIELD("inputs", TEXT, R(inputs)),
    FIELD("inputs_shape", TEXT, R(inputs_shape)),
    FIELD("trace", TEXT, R(trace)),
    FIELD("percentile_rule", RULE, R(percentile_nearest)),
    INSIDE_FIELD("model", 0, MODEL),
    INSIDE_FIELD("runtime", 0, RUNTIME),
    INSIDE_FIELD("options", 0, OPTIONS),
    INSIDE_FIELD("host", R(host), HOST),
    LIST_FIELD("rows", LIST, R(rows), R(row_count), 1000, ROW),
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
    CHARS_FIELD("kernel", host_facts, kernel),
    CHARS_FIELD("distribution", host_facts, distribution),
    CHARS_FIELD("hypervisor", host_facts, hypervisor),
    CHARS_FIELD("governor", host_facts, governor),
    CHARS_FIELD("clock_source", host_facts, clock_source),
    FIELD("cpus", U32, AT(host_facts, cpus)),
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
    FIELD("per_query", U32, W(per_query)),
    FIELD("slo_ms", TIME, W(slo_ms)),
    LIST_FIELD("placement", FIXED, W(placements), W(placement_count), 16, PLACEMENT),
    FIELD("placement_reason", TEXT, W(placement_reason)),
    LIST_FIELD("operators", LIST, W(ops), W(op_count), 1000000, OPERATOR),
    FIELD("operators_reason", TEXT, W(ops_reason)),
    INSIDE_FIELD("trust", W(trust), TRUST),
    INSIDE_FIELD("energy", 0, ENERGY),
    INSIDE_FIELD("open_loop", 0, OPEN_LOOP),
    LIST_FIELD("processes", LIST, W(processes), W(process_count), 100000, PROCESS),
    LIST_FIELD("blocks", LIST, W(blocks), W(block_count), 10000000, BLOCK),
    { .key = "raw_samples_ms", .type = TIMES, .offset = W(samples_ms), .count = W(sample_count) },
    { .key = NULL },
};

static const struct field open_loop_fields[] = {
    FIELD("asked_hz", TIME, W(open.asked_hz)),
    FIELD("achieved_hz", TIME, W(open.achieved_hz)),
    FIELD("overloaded", BOOLEAN, W(open.overloaded)),
    FIELD("late", U64, W(open.late)),
    FIELD("lateness_p99_ms", TIME, W(open.lateness_p99_ms)),
    FIELD("found_hz", TIME, W(open.found_hz)),
    FIELD("confirmed_s", TIME, W(open.confirmed_s)),
    FIELD("confirmed_queries", U64, W(open.confirmed_queries)),
    FIELD("confirmed_too_slow", U64, W(open.confirmed_too_slow)),
    FIELD("missed_hz", TIME, W(open.missed_hz)),
    { .key = "service_ms", .type = TIMES, .offset = W(open.service_ms), .count = SIZE_MAX },
    { .key = NULL },
};

static const struct field energy_fields[] = {
    FIELD("cpu_j", TIME, W(energy_cpu_j)),
    FIELD("gpu_j", TIME, W(energy_gpu_j)),
    FIELD("reason", TEXT, W(energy_reason)),
    { .key = NULL },
};

static const struct field trust_fields[] = {
    FIELD("level", LEVEL, AT(trust, level)),
    FIELD("reference_drift", NUMBER, AT(trust, reference_drift)),
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
    FIELD("steady_after", SIZE, P(steady_after)),
    FIELD("before_bytes", U64, P(before_bytes)),
    FIELD("after_load_bytes", U64, P(after_load_bytes)),
    FIELD("after_runs_bytes", U64, P(after_runs_bytes)),
    FIELD("peak_bytes", U64, P(peak_bytes)),
    { .key = NULL },
};

static const struct field block_fields[] = {
    FIELD("process", U32, AT(bench_block, where.process)),
    FIELD("first", SIZE, AT(bench_block, where.first)),
    FIELD("count", SIZE, AT(bench_block, where.count)),
    FIELD("wall_ms", TIME, AT(bench_block, wall_ms)),
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
    [OPEN_LOOP] = { open_loop_fields, 0 },
    [ENERGY] = { energy_fields, 0 },
    [TRUST] = { trust_fields, 0 },
    [LINE] = { line_fields, sizeof(struct trust_line) },
    [PROCESS] = { process_fields, sizeof(struct bench_process) },
    [BLOCK] = { block_fields, sizeof(struct bench_block) },
    [OPERATOR] = { operator_fields, sizeof(struct bench_op) },
    [PLACEMENT] = { placement_fields, sizeof(struct bench_placement) },
};
