// SPDX-License-Identifier: Apache-2.0
/* A comparison as JSON and as CSV: the plain fields of a row are written by one function for both,
 * so that they have the same values. */
#include <math.h>
#include <string.h>

#include "base/csv.h"
#include "base/json.h"
#include "cli/cli.h"
#include "cli/compare_output.h"

/* Where fields go: an open JSON object, or a line of CSV (its header if `header`). */
struct sink {
    struct ifg_json *json;
    struct ifg_bytes *csv;
    bool header;
    bool begun;
};

/* True: this is CSV, and the value has to follow. */
static bool begin_field(struct sink *sink, const char *key)
{
    if (sink->json)
        return false;
    if (sink->begun)
        ifg_bytes_put(sink->csv, ",", 1);
    sink->begun = true;
    if (sink->header)
        ifg_csv_put(sink->csv, key, ",");
    return !sink->header;
}

static void put_number(struct sink *sink, const char *key, double value)
{
    struct ifg_json plain = { sink->csv, false };

    if (sink->json)
        ifg_json_put_double(sink->json, key, value);
    else if (begin_field(sink, key) && isfinite(value))
        ifg_json_double(&plain, value);
}

static void put_count(struct sink *sink, const char *key, uint64_t value)
{
    struct ifg_json plain = { sink->csv, false };

    if (sink->json)
        ifg_json_put_uint(sink->json, key, value);
    else if (begin_field(sink, key))
        ifg_json_uint(&plain, value);
}

static void put_flag(struct sink *sink, const char *key, bool value)
{
    if (sink->json)
        ifg_json_put_bool(sink->json, key, value);
    else if (begin_field(sink, key))
        ifg_csv_put(sink->csv, value ? "true" : "false", ",");
}

static void put_text(struct sink *sink, const char *key, const char *text)
{
    if (sink->json)
        ifg_json_put_string(sink->json, key, text ? text : "");
    else if (begin_field(sink, key))
        ifg_csv_put(sink->csv, text ? text : "", ",");
}

static double known_or_nan(bool known, double value)
{
    return known ? value : NAN;
}

static void put_row(struct sink *sink, const struct compare_row *row, bool baseline)
{
    const struct statistics_summary *summary = &row->summary;
    bool all = summary->count > 0;
    bool compared = !baseline && row->available && row->change.units > 0;
    bool certain = compared && row->change.known;

    put_text(sink, "name", row->name);
    put_flag(sink, "baseline", baseline);
    put_flag(sink, "available", row->available);
    put_text(sink, "reason", row->reason);
    put_count(sink, "model_bytes", row->model_bytes);
    put_text(sink, "model_hash", row->model_hash);
    put_number(sink, "p50_ms", row->p50_ms);
    put_number(sink, "p50_low_ms", known_or_nan(row->p50.known, row->p50.low));
    put_number(sink, "p50_high_ms", known_or_nan(row->p50.known, row->p50.high));
    put_number(sink, "mean_ms", known_or_nan(all, summary->mean));
    put_number(sink, "std_ms", known_or_nan(all, summary->sd));
    put_number(sink, "min_ms", known_or_nan(all, summary->min));
    put_number(sink, "max_ms", known_or_nan(all, summary->max));
    put_number(sink, "p90_ms", known_or_nan(all, summary->p[STATISTICS_P90]));
    put_number(sink, "p95_ms", known_or_nan(all, summary->p[STATISTICS_P95]));
    put_number(sink, "p99_ms", known_or_nan(all, summary->p[STATISTICS_P99]));
    put_number(sink, "p99_at_most_ms", known_or_nan(row->p99.known, row->p99.high));
    put_count(sink, "samples", summary->count);
    put_number(sink, "throughput_fps", row->throughput);
    put_number(sink, "first_ms", row->first_ms);
    put_number(sink, "load_ms", row->load_ms);
    put_number(sink, "specialization_ms", row->specialization_ms);
    put_count(sink, "peak_bytes", row->peak_bytes);
    put_count(sink, "units", row->unit_count);
    put_count(sink, "independent", baseline ? 0 : row->change.units);
    put_count(sink, "block_iterations", row->block_iterations);
    put_number(sink, "change", known_or_nan(compared, row->change.change));
    put_number(sink, "low", known_or_nan(certain, row->change.low));
    put_number(sink, "high", known_or_nan(certain, row->change.high));
    put_number(sink, "half_width", known_or_nan(certain, row->change.half_width));
    put_number(sink, "p", known_or_nan(certain, row->change.p));
    put_number(sink, "drift", row->drift);
    put_text(sink, "verdict", compared ? compare_verdict_name(row) : "");
    put_count(sink, "more", row->more);
    put_count(sink, "look", row->look);
    put_number(sink, "u_p", known_or_nan(compared, row->second.u_p));
    put_number(sink, "shift_ms", known_or_nan(compared, row->second.shift));
    put_number(sink, "cliffs_delta", known_or_nan(compared, row->second.cliffs_delta));
    put_text(sink, "time_verdict", compared ? statistics_verdict_name(row->verdict) : "");
    put_flag(sink, "outputs_differ", row->outputs_differ);
    put_text(sink, "outputs_reason", row->outputs_reason);
}

void compare_write_csv(const struct compare *compare, struct ifg_bytes *out)
{
    struct sink header = { .csv = out, .header = true };

    put_row(&header, &compare->rows[0], true);
    ifg_bytes_put(out, "\n", 1);
    for (size_t i = 0; i < compare->row_count; i++) {
        struct sink line = { .csv = out };

        put_row(&line, &compare->rows[i], i == 0);
        ifg_bytes_put(out, "\n", 1);
    }
}

/* ---- what only JSON has ---- */

static void put_numbers(struct ifg_json *json, const char *key, const double *values, size_t count)
{
    ifg_json_put_open(json, key, '[');
    for (size_t i = 0; i < count && values; i++)
        ifg_json_double(json, values[i]);
    ifg_json_close(json, ']');
}

static void put_accuracy(struct ifg_json *json, const struct compare_row *row)
{
    ifg_json_put_string(json, "accuracy_reason", row->accuracy_reason ? row->accuracy_reason : "");
    ifg_json_put_open(json, "accuracy", '[');
    for (size_t i = 0; i < row->accuracy_count; i++) {
        const struct accuracy *output = &row->accuracy[i];
        bool comparable = output->comparable;

        ifg_json_open(json, '{');
        ifg_json_put_string(json, "output", output->output ? output->output : "");
        ifg_json_put_bool(json, "comparable", comparable);
        ifg_json_put_string(json, "reason", output->reason);
        ifg_json_put_uint(json, "elements", output->elements);
        ifg_json_put_double(json, "max_abs", known_or_nan(comparable, output->max_abs));
        ifg_json_put_double(json, "mean_abs", known_or_nan(comparable, output->mean_abs));
        ifg_json_put_double(json, "cosine", known_or_nan(comparable, output->cosine));
        /* JSON has no infinity: null and "equal" say it */
        ifg_json_put_double(json, "sqnr_db", known_or_nan(comparable, output->sqnr_db));
        ifg_json_put_bool(json, "equal", comparable && isinf(output->sqnr_db));
        ifg_json_put_double(json, "argmax_agreement",
                            known_or_nan(comparable, output->argmax_agreement));
        ifg_json_put_uint(json, "not_finite", output->not_finite);
        ifg_json_put_uint(json, "neither_finite", output->neither_finite);
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
}

static void put_ops(struct ifg_json *json, const struct compare_row *row)
{
    ifg_json_put_string(json, "ops_reason", row->ops_reason ? row->ops_reason : "");
    ifg_json_put_bool(json, "ops_host_time", row->ops_host_time);
    ifg_json_put_open(json, "ops", '[');
    for (size_t i = 0; i < row->op_count; i++) {
        const struct compare_op *op = &row->ops[i];
        bool certain = op->change.known;

        ifg_json_open(json, '{');
        ifg_json_put_string(json, "name", op->name);
        ifg_json_put_string(json, "op_type", op->op_type);
        ifg_json_put_double(json, "a_ms", op->a_ms);
        ifg_json_put_double(json, "b_ms", op->b_ms);
        ifg_json_put_double(json, "share", op->share);
        ifg_json_put_uint(json, "units", op->change.units);
        ifg_json_put_double(json, "change", op->change.change);
        ifg_json_put_double(json, "low", known_or_nan(certain, op->change.low));
        ifg_json_put_double(json, "high", known_or_nan(certain, op->change.high));
        ifg_json_put_double(json, "p", known_or_nan(certain, op->change.p));
        ifg_json_put_bool(json, "significant", op->significant);
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
}

static void put_json_row(struct ifg_json *json, const struct compare *compare, size_t i,
                         const struct compare_output *output)
{
    const struct compare_row *row = &compare->rows[i];
    struct sink sink = { .json = json };

    ifg_json_open(json, '{');
    put_row(&sink, row, i == 0);
    if (i > 0)
        put_accuracy(json, row);
    if (i > 0 && output->ops)
        put_ops(json, row);
    put_numbers(json, "unit_ms", row->unit_ms, row->unit_count);
    if (i > 0 && row->baseline_ms)
        put_numbers(json, "baseline_ms", row->baseline_ms, row->unit_count);
    ifg_json_put_open(json, "unit_process", '[');
    for (size_t unit = 0; unit < row->unit_count && row->unit_process; unit++)
        ifg_json_uint(json, row->unit_process[unit]);
    ifg_json_close(json, ']');
    ifg_json_close(json, '}');
}

static void put_trust(struct ifg_json *json, const struct trust *trust)
{
    ifg_json_put_open(json, "trust", '{');
    ifg_json_put_string(json, "level", trust_level_name(trust->level));
    ifg_json_put_double(json, "reference_drift", trust->reference_drift);
    ifg_json_put_open(json, "lines", '[');
    for (size_t i = 0; i < trust->count; i++) {
        const struct trust_line *line = &trust->lines[i];

        ifg_json_open(json, '{');
        ifg_json_put_string(json, "name", line->name);
        ifg_json_put_string(json, "level", trust_level_name(line->level));
        ifg_json_put_double(json, "value", line->value);
        ifg_json_put_string(json, "unit", line->unit);
        ifg_json_put_string(json, "text", line->text);
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
    ifg_json_close(json, '}');
}

static const char *unit_word(enum compare_unit unit)
{
    static const char *const words[] = { "block pair", "process", "block" };

    return words[unit];
}

static bool differs(const struct compare *compare)
{
    for (size_t i = 1; i < compare->row_count; i++)
        if (compare->rows[i].outputs_differ)
            return true;
    return false;
}

static void put_head(struct ifg_json *json, const struct compare *compare,
                     const struct compare_output *output)
{
    static const char *const verdicts[] = { "no regression", "regressed", "", "unsure",
                                            "unavailable" };

    ifg_json_put_uint(json, "schema", 1);
    ifg_json_put_string(json, "command_line", output->command_line);
    ifg_json_put_string(json, "tool_version", output->tool_version);
    ifg_json_put_string(json, "verdict",
                        differs(compare) ? "outputs differ" : verdicts[output->code]);
    ifg_json_put_double(json, "min_cosine", compare->limits.min_cosine);
    ifg_json_put_double(json, "max_diff",
                        isfinite(compare->limits.max_abs) ? compare->limits.max_abs : NAN);
    ifg_json_put_bool(json, "interrupted", compare->interrupted);
    ifg_json_put_string(json, "unit", unit_word(compare->unit));
    ifg_json_put_string(json, "method", compare_unit_name(compare->unit));
    ifg_json_put_bool(json, "interleaved", compare->unit != COMPARE_NOT_INTERLEAVED);
    ifg_json_put_string(json, "measure", compare->measure);
    ifg_json_put_string(json, "value_unit", compare->value_unit);
    ifg_json_put_double(json, "threshold", compare->threshold);
    ifg_json_put_double(json, "alpha", compare->alpha);
    ifg_json_put_uint(json, "looks", compare->looks);
    ifg_json_put_uint(json, "looks_taken", compare->looks_taken);
    ifg_json_put_double(json, "confidence", compare->confidence);
    ifg_json_put_uint(json, "seed", compare->seed);
    ifg_json_put_uint(json, "processes", compare->processes);
    ifg_json_put_double(json, "elapsed_s", compare->elapsed_s);
    ifg_json_put_string(json, "runtime", compare->runtime ? compare->runtime : "");
    ifg_json_put_string(json, "library", compare->library ? compare->library : "");
    ifg_json_put_string(json, "inputs", compare->inputs ? compare->inputs : "");
}

void compare_write_json(const struct compare *compare, const struct compare_output *output,
                        struct ifg_bytes *out)
{
    struct ifg_json json = { out, false };

    ifg_json_open(&json, '{');
    put_head(&json, compare, output);
    ifg_json_put_open(&json, "warnings", '[');
    for (size_t i = 0; i < compare->warning_count; i++)
        ifg_json_string(&json, compare->warnings[i]);
    ifg_json_close(&json, ']');
    put_trust(&json, &compare->trust);
    ifg_json_put_open(&json, "rows", '[');
    for (size_t i = 0; i < compare->row_count; i++)
        put_json_row(&json, compare, i, output);
    ifg_json_close(&json, ']');
    ifg_json_close(&json, '}');
    ifg_bytes_put(out, "\n", 1);
}
