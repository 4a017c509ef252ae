// SPDX-License-Identifier: Apache-2.0
/* Looks, orders, pairs and verdicts: what every way of comparing shares. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/convert.h"
#include "base/ticks.h"
#include "bench/compare/compare_internal.h"

#define WARNINGS_MAX 64u

const char *compare_unit_name(enum compare_unit unit)
{
    switch (unit) {
    case COMPARE_BLOCK_PAIRS:
        return "block pairs in one process";
    case COMPARE_PROCESSES:
        return "interleaved processes";
    case COMPARE_NOT_INTERLEAVED:
        return "not interleaved";
    }
    return "";
}

const char *compare_verdict_name(const struct compare_row *row)
{
    return row->outputs_differ ? "DIFFERS" : statistics_verdict_name(row->verdict);
}

void compare_options_init(struct compare_options *options)
{
    memset(options, 0, sizeof *options);
    bench_options_init(&options->bench);
    options->threshold = 0.02;
    options->alpha = 0.05;
    options->accuracy = true;
    options->warmups = 1;
    options->limits = (struct accuracy_limits){ INFINITY, ACCURACY_MIN_COSINE };
}

void compare_make_plan(const struct compare_options *options, bool turns,
                       struct compare_plan *out_plan)
{
    uint32_t first = options->pairs ? options->pairs : COMPARE_PROCESSES_PER_SIDE;
    uint32_t last =
        options->pairs_max ? options->pairs_max : 4 * first; /* processes are expensive */

    memset(out_plan, 0, sizeof *out_plan);
    out_plan->turns = turns;
    out_plan->max_s = options->max_s > 0 ? options->max_s : COMPARE_MAX_S;
    if (turns) {
        out_plan->processes = first < last ? first : last;
        out_plan->processes_most = last;
    } else {
        out_plan->processes = options->processes ? options->processes : COMPARE_PROCESSES_SHARED;
    }
}

double compare_now(void)
{
    return 1e-9 * (double)ifg_monotonic_ns();
}

bool compare_set(char **text, const char *value)
{
    char *copy = ifg_strdup(value ? value : "");

    if (!copy)
        return false;
    ifg_free(*text);
    *text = copy;
    return true;
}

bool compare_warn(struct compare *compare, const char *format, ...)
{
    char text[512];
    char **warning;
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (compare->warning_count >= WARNINGS_MAX)
        return true;
    if (!IFG_ARRAY_ROOM(compare->warnings, compare->warning_capacity, compare->warning_count + 1,
                        WARNINGS_MAX))
        return false;
    warning = &compare->warnings[compare->warning_count];
    *warning = ifg_strdup(text);
    compare->warning_count += *warning != NULL;
    return *warning != NULL;
}

void compare_drop(struct compare_row *row, const char *reason)
{
    row->available = false;
    if (!row->reason)
        row->reason = ifg_strdup(reason);
}

enum ifg_status compare_create(enum compare_unit unit, const struct compare_options *options,
                               size_t row_count, struct compare **out_compare,
                               struct ifg_error *err)
{
    struct compare *compare = ifg_alloc(1, sizeof *compare);

    if (!compare)
        return ifg_fail_no_memory(err, NULL);
    compare->unit = unit;
    compare->threshold = options->threshold;
    compare->one_sided = options->one_sided;
    compare->limits = options->limits;
    compare->alpha = options->alpha;
    compare->looks = unit == COMPARE_NOT_INTERLEAVED ? 1 : COMPARE_LOOKS;
    compare->confidence = 1 - options->alpha / compare->looks;
    compare->seed = options->bench.inputs.seed;
    compare->value_unit = "ms";
    compare->trust.level = TRUST_NOT_AVAILABLE;
    compare->trust.reference_drift = NAN;
    compare->rows = ifg_alloc(row_count, sizeof *compare->rows);
    if (!compare->rows || !compare_set(&compare->measure, "latency")) {
        compare_destroy(compare);
        return ifg_fail_no_memory(err, NULL);
    }
    compare->row_count = row_count;
    for (size_t i = 0; i < row_count; i++) {
        struct compare_row *row = &compare->rows[i];

        row->available = true;
        row->p50_ms = row->throughput = row->load_ms = NAN;
        row->first_ms = row->specialization_ms = NAN;
        row->drift = NAN;
        row->verdict = STATISTICS_UNSURE;
    }
    *out_compare = compare;
    return IFG_OK;
}

static void free_ops(struct compare_op *ops, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ifg_free(ops[i].name);
        ifg_free(ops[i].op_type);
    }
    ifg_free(ops);
}

static void free_row(struct compare_row *row)
{
    ifg_free(row->name);
    ifg_free(row->reason);
    ifg_free(row->model_hash);
    accuracy_free(row->accuracy);
    ifg_free(row->accuracy_reason);
    ifg_free(row->outputs_reason);
    free_ops(row->ops, row->op_count);
    ifg_free(row->ops_reason);
    ifg_free(row->unit_ms);
    ifg_free(row->baseline_ms);
    ifg_free(row->unit_process);
}

void compare_destroy(struct compare *compare)
{
    if (!compare)
        return;
    for (size_t i = 0; i < compare->row_count; i++)
        free_row(&compare->rows[i]);
    ifg_free(compare->rows);
    for (size_t i = 0; i < compare->warning_count; i++)
        ifg_free(compare->warnings[i]);
    ifg_free(compare->warnings);
    for (size_t i = 0; i < compare->output_count; i++)
        ifg_free(compare->outputs[i]);
    ifg_free(compare->outputs);
    ifg_free(compare->measure);
    ifg_free(compare->runtime);
    ifg_free(compare->library);
    ifg_free(compare->inputs);
    ifg_free(compare);
}

/* ---- what is measured next ---- */

void compare_plan_looks(uint32_t first, uint32_t last, uint32_t out_units[COMPARE_LOOKS])
{
    if (last < first)
        last = first;
    out_units[0] = first;
    out_units[1] = (uint32_t)lround(sqrt((double)first * last));
    out_units[2] = last;
}

static bool wants_units(const struct compare *compare, size_t i)
{
    const struct compare_row *row = &compare->rows[i];

    return i > 0 && row->available && !row->look;
}

size_t compare_order(const struct compare *compare, uint64_t *random, size_t *order)
{
    size_t count = 0;

    for (size_t i = 1; i < compare->row_count; i++)
        if (wants_units(compare, i))
            order[count++] = i;
    for (size_t i = count; i > 1; i--) {
        size_t other = statistics_random_below(random, i);
        size_t kept = order[i - 1];

        order[i - 1] = order[other];
        order[other] = kept;
    }
    return count;
}

bool compare_baseline_outside(uint64_t *random)
{
    return statistics_random_below(random, 2) == 0;
}

static enum ifg_status add_unit(struct compare_row *row, double value, uint32_t process,
                                struct ifg_error *err)
{
    size_t count = row->unit_count;

    if (!IFG_ARRAY_ROOM(row->unit_ms, row->unit_capacity, count + 1, IFG_ARRAY_ANY) ||
        !IFG_ARRAY_ROOM(row->unit_process, row->process_capacity, count + 1, IFG_ARRAY_ANY))
        return ifg_fail_no_memory(err, NULL);
    row->unit_ms[count] = value;
    row->unit_process[count] = process;
    row->unit_count++;
    return IFG_OK;
}

enum ifg_status compare_add_pair(struct compare *compare, size_t number, double baseline,
                                 double value, uint32_t process, struct ifg_error *err)
{
    struct compare_row *row = &compare->rows[number];
    enum ifg_status status;

    if (!IFG_ARRAY_ROOM(row->baseline_ms, row->baseline_capacity, row->unit_count + 1,
                        IFG_ARRAY_ANY))
        return ifg_fail_no_memory(err, NULL);
    row->baseline_ms[row->unit_count] = baseline;
    status = add_unit(row, value, process, err);
    if (!status)
        status = add_unit(&compare->rows[0], baseline, process, err);
    return status;
}

/* ---- verdicts ---- */

#define MORE_MAX 100000.0

/* statistics: n (w / threshold)^2 units decide "the same" when nothing changed; when the change is
 * near the threshold, the half width must shrink to the distance between the two. */
static uint64_t units_missing(const struct statistics_change *change, double threshold)
{
    uint64_t more = statistics_more(change, threshold);
    double distance = fabs(fabs(change->change) - threshold);
    double by_distance;

    if (!change->known)
        return more;
    by_distance = (double)change->units * (pow(change->half_width / distance, 2) - 1);
    if (!(by_distance <= MORE_MAX))
        return 0; /* as good as at the threshold: cannot be said */
    return by_distance > (double)more ? ifg_u64_of(ceil(by_distance)) : more;
}

/* One pair of values for each process: the geometric means of its blocks, so that their ratio is
 * the mean of the pairs' logarithms. One session of a process is luckier than the other, by as much
 * as 1 % and for as long as it lives (docs/compare.md), so its pairs are not independent. */
static size_t join_processes(const double *a, const double *b, const uint32_t *process,
                             size_t pairs, double *out_a, double *out_b)
{
    size_t groups = 0;

    for (size_t i = 0, same; i < pairs; i += same) {
        double sum_a = 0, sum_b = 0;

        for (same = 0; i + same < pairs && process[i + same] == process[i]; same++) {
            sum_a += log(a[i + same]);
            sum_b += log(b[i + same]);
        }
        out_a[groups] = exp(sum_a / (double)same);
        out_b[groups++] = exp(sum_b / (double)same);
    }
    return groups;
}

enum ifg_status compare_block_pairs(const double *a, const double *b, const uint32_t *process,
                                    size_t pairs, double confidence, uint64_t seed,
                                    struct statistics_change *out_change, struct ifg_error *err)
{
    double *joined_a = ifg_alloc(pairs + 1, sizeof *joined_a);
    double *joined_b = ifg_alloc(pairs + 1, sizeof *joined_b);
    enum ifg_status status;

    if (joined_a && joined_b)
        status = statistics_paired_change(joined_a, joined_b, NULL,
                                          join_processes(a, b, process, pairs, joined_a, joined_b),
                                          confidence, seed, out_change, err);
    else
        status = ifg_fail_no_memory(err, NULL);
    ifg_free(joined_a);
    ifg_free(joined_b);
    return status;
}

static enum ifg_status judge_row(struct compare *compare, size_t i, struct ifg_error *err)
{
    struct compare_row *row = &compare->rows[i];
    enum ifg_status status;

    row->by_process = compare->unit == COMPARE_BLOCK_PAIRS && !compare->few_processes;
    if (row->by_process)
        status =
            compare_block_pairs(row->baseline_ms, row->unit_ms, row->unit_process, row->unit_count,
                                compare->confidence, compare->seed, &row->change, err);
    else /* interleaved processes have nothing to keep together */
        status = statistics_paired_change(
            row->baseline_ms, row->unit_ms, compare->few_processes ? row->unit_process : NULL,
            row->unit_count, compare->confidence, compare->seed, &row->change, err);
    if (status)
        return status;
    row->verdict = statistics_judge(&row->change, compare->threshold);
    row->more = 0;
    if (row->verdict == STATISTICS_UNSURE) /* in pairs */
        row->more =
            units_missing(&row->change, compare->threshold) * row->unit_count / row->change.units;
    return statistics_second_opinion(row->baseline_ms, row->unit_count, row->unit_ms,
                                     row->unit_count, &row->second, err);
}

enum ifg_status compare_judge(struct compare *compare, bool *out_open, struct ifg_error *err)
{
    *out_open = false;
    compare->looks_taken++;
    for (size_t i = 1; i < compare->row_count; i++) {
        struct compare_row *row = &compare->rows[i];
        enum ifg_status status;

        if (!wants_units(compare, i) || !row->unit_count)
            continue;
        status = judge_row(compare, i, err);
        if (status)
            return status;
        if (row->verdict != STATISTICS_UNSURE ||
            (compare->one_sided && row->change.known && row->change.high <= compare->threshold))
            row->look = compare->looks_taken;
        else
            *out_open = true;
    }
    return IFG_OK;
}

enum ifg_status compare_in_looks(struct compare *compare, uint32_t first, uint32_t last,
                                 compare_gather *gather, void *user, bool *out_of_time,
                                 struct ifg_error *err)
{
    uint32_t targets[COMPARE_LOOKS];
    bool open = true;

    compare_plan_looks(first, last, targets);
    for (uint32_t look = 0; look < COMPARE_LOOKS && open; look++) {
        enum ifg_status status;

        if (look && targets[look] == targets[look - 1])
            continue;
        status = gather(user, targets[look], err);
        if (!status)
            status = compare_judge(compare, &open, err);
        if (status)
            return status;
        if (compare->interrupted || *out_of_time)
            break;
    }
    return IFG_OK;
}
