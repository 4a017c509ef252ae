// SPDX-License-Identifier: Apache-2.0
/* Operators of both sides: recorded processes that take turns, so that each process's median of a
 * node is a unit, and Benjamini-Hochberg over all nodes. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/quantile.h"
#include "bench/compare/compare_internal.h"

#define ROUNDS_LEAST 8u
#define ROUNDS_MOST  16u
#define INFERENCES   20u
#define RATE         0.05
#define CONFIDENCE   0.95

/* The recordings of one side, one per round. */
struct recordings {
    struct bench_row rows[ROUNDS_MOST];
    size_t count;
};

static void recordings_fini(struct recordings *recordings)
{
    for (size_t i = 0; i < recordings->count; i++)
        bench_row_fini(&recordings->rows[i]);
    recordings->count = 0;
}

static enum ifg_status record_one(const struct compare_options *options, size_t variant,
                                  struct recordings *recordings, struct ifg_error *err)
{
    struct bench_row *row = &recordings->rows[recordings->count];
    enum ifg_status status;

    memset(row, 0, sizeof *row);
    recordings->count++;
    status =
        bench_measure_ops(&options->bench, &options->bench.variants[variant], INFERENCES, row, err);
    if (!status && !row->op_count)
        status = ifg_fail(err, IFG_UNSUPPORTED, "%s",
                          row->ops_reason && *row->ops_reason ? row->ops_reason
                                                              : "the recording has no operators");
    return status;
}

/* ---- which node is which ---- */

static const struct bench_op *by_name(const struct bench_row *row, const char *name)
{
    for (size_t i = 0; i < row->op_count; i++)
        if (strcmp(row->ops[i].name, name) == 0)
            return &row->ops[i];
    return NULL;
}

/* How many of the same type come before it. */
static size_t order_of(const struct bench_row *row, const struct bench_op *op)
{
    size_t order = 0;

    for (const struct bench_op *at = row->ops; at < op; at++)
        order += strcmp(at->op_type, op->op_type) == 0;
    return order;
}

static const struct bench_op *by_order(const struct bench_row *row, const char *type, size_t order)
{
    for (size_t i = 0; i < row->op_count; i++)
        if (strcmp(row->ops[i].op_type, type) == 0 && !order--)
            return &row->ops[i];
    return NULL;
}

/* Whether names say nothing: not one of a's is in b. */
static bool names_differ(const struct bench_row *a, const struct bench_row *b)
{
    for (size_t i = 0; i < a->op_count; i++)
        if (*a->ops[i].name && by_name(b, a->ops[i].name))
            return false;
    return true;
}

/* The node in another recording of the same side, and in one of the other side. */
static double find_ms(const struct recordings *side, size_t round, const char *name)
{
    const struct bench_op *op = by_name(&side->rows[round], name);

    return op ? op->p50_ms : NAN;
}

/* One node on both sides over all rounds; b_name NULL: it is gone there. */
static enum ifg_status compare_node(const struct recordings *a, const char *a_name,
                                    const struct recordings *b, const char *b_name, uint64_t seed,
                                    struct compare_op *op, struct ifg_error *err)
{
    double a_ms[ROUNDS_MOST], b_ms[ROUNDS_MOST];
    size_t units = 0;

    for (size_t round = 0; round < a->count && round < b->count && b_name; round++) {
        a_ms[units] = find_ms(a, round, a_name);
        b_ms[units] = find_ms(b, round, b_name);
        units += a_ms[units] > 0 && b_ms[units] > 0;
    }
    op->change.change = op->change.low = op->change.high = op->change.p = NAN;
    op->b_ms = NAN;
    if (!units) { /* only a's */
        op->a_ms = find_ms(a, 0, a_name);
        return IFG_OK;
    }
    op->a_ms = ifg_median_of_copy(a_ms, units);
    op->b_ms = ifg_median_of_copy(b_ms, units);
    return statistics_paired_change(a_ms, b_ms, NULL, units, CONFIDENCE, seed, &op->change, err);
}

static enum ifg_status mark_survivors(struct compare_row *row, struct ifg_error *err)
{
    double *p = ifg_alloc(row->op_count + 1, sizeof *p);
    bool *survives = ifg_alloc(row->op_count + 1, sizeof *survives);
    size_t count = 0;
    enum ifg_status status = p && survives ? IFG_OK : ifg_fail_no_memory(err, NULL);

    for (size_t i = 0; i < row->op_count && !status; i++)
        if (row->ops[i].change.known)
            p[count++] = row->ops[i].change.p;
    if (!status && count)
        status = statistics_survivors(p, count, RATE, survives, err);
    count = 0;
    for (size_t i = 0; i < row->op_count && !status; i++)
        if (row->ops[i].change.known)
            row->ops[i].significant = survives[count++];
    ifg_free(p);
    ifg_free(survives);
    return status;
}

static enum ifg_status add_op(struct compare_row *row, const struct bench_op *from, double share,
                              struct compare_op **out_op, struct ifg_error *err)
{
    struct compare_op *op = &row->ops[row->op_count];

    op->share = share;
    row->op_count++;
    if (!compare_set(&op->name, from->name) || !compare_set(&op->op_type, from->op_type))
        return ifg_fail_no_memory(err, NULL);
    *out_op = op;
    return IFG_OK;
}

static enum ifg_status compare_nodes(const struct recordings *a, const struct recordings *b,
                                     uint64_t seed, struct compare_row *row, struct ifg_error *err)
{
    const struct bench_row *first = &a->rows[0];
    const struct bench_row *other = &b->rows[0];
    bool in_order = names_differ(first, other);
    bool *seen = ifg_alloc(other->op_count + 1, sizeof *seen);
    struct compare_op *op;
    enum ifg_status status = IFG_OK;

    row->ops_host_time = bench_row_has_host_times(first) || bench_row_has_host_times(other);
    row->ops = ifg_alloc(first->op_count + other->op_count, sizeof *row->ops);
    if (!row->ops || !seen)
        status = ifg_fail_no_memory(err, NULL);
    for (size_t i = 0; i < first->op_count && !status; i++) {
        const struct bench_op *node = &first->ops[i];
        const struct bench_op *twin = in_order
                                          ? by_order(other, node->op_type, order_of(first, node))
                                          : by_name(other, node->name);

        if (twin)
            seen[twin - other->ops] = true;
        status = add_op(row, node, node->share, &op, err);
        if (!status)
            status = compare_node(a, node->name, b, twin ? twin->name : NULL, seed, op, err);
    }
    for (size_t i = 0; i < other->op_count && !status; i++) { /* new ones */
        if (seen[i])
            continue;
        status = add_op(row, &other->ops[i], other->ops[i].share, &op, err);
        if (!status) {
            op->a_ms = op->change.change = op->change.low = op->change.high = op->change.p = NAN;
            op->b_ms = other->ops[i].p50_ms;
        }
    }
    ifg_free(seen);
    return status ? status : mark_survivors(row, err);
}

/* ---- interleaved recordings ---- */

static bool is_stopped(const struct compare_options *options)
{
    return options->bench.stop && *options->bench.stop;
}

static void tell(const struct compare_options *options, const char *name, size_t done,
                 size_t wanted)
{
    struct bench_progress progress = { .row = name,
                                       .phase = "operators: recording",
                                       .done = done,
                                       .wanted = wanted,
                                       .last_p50_ms = NAN };

    if (options->bench.progress)
        options->bench.progress(&progress, options->bench.user);
}

/* So many that the least possible p, 2^(1-n), can survive among all nodes. */
static size_t rounds_for(size_t nodes)
{
    double wanted = ceil(1 + log2((double)nodes / RATE));

    return wanted < ROUNDS_LEAST  ? ROUNDS_LEAST
           : wanted > ROUNDS_MOST ? ROUNDS_MOST
                                  : (size_t)wanted;
}

static enum ifg_status record_sides(const struct compare_options *options, struct compare *compare,
                                    size_t variant, struct recordings *a, struct recordings *b,
                                    struct ifg_error *err)
{
    uint64_t random = compare->seed + variant;
    size_t rounds = ROUNDS_LEAST;
    bool outside = false;

    for (size_t round = 0; round < rounds; round++) {
        bool a_first;
        enum ifg_status status;

        if (is_stopped(options)) {
            compare->interrupted = true;
            return ifg_fail(err, IFG_CANCELLED, "interrupted");
        }
        tell(options, compare->rows[variant].name, round, rounds);
        if (round % 2 == 0)
            outside = compare_baseline_outside(&random);
        a_first = outside == (round % 2 == 0);
        status = record_one(options, a_first ? 0 : variant, a_first ? a : b, err);
        if (!status)
            status = record_one(options, a_first ? variant : 0, a_first ? b : a, err);
        if (status)
            return status;
        rounds = rounds_for(a->rows[0].op_count);
    }
    return IFG_OK;
}

enum ifg_status compare_measure_ops(const struct compare_options *options, struct compare *compare,
                                    struct ifg_error *err)
{
    struct recordings *sides = ifg_alloc(2, sizeof *sides);
    enum ifg_status status = sides ? IFG_OK : ifg_fail_no_memory(err, NULL);

    for (size_t i = 1; i < compare->row_count && !status; i++) {
        struct compare_row *row = &compare->rows[i];

        if (!row->available || compare->interrupted)
            continue;
        if (compare->unit != COMPARE_BLOCK_PAIRS)
            status = ifg_fail(err, IFG_UNSUPPORTED,
                              "operators are compared within one library; use `bench --ops` with "
                              "each");
        else
            status = record_sides(options, compare, i, &sides[0], &sides[1], err);
        if (!status)
            status = compare_nodes(&sides[0], &sides[1], compare->seed, row, err);
        if (status && status != IFG_NO_MEMORY) /* the times are there all the same */
            status = compare_set(&row->ops_reason, err ? err->message : "it failed")
                         ? IFG_OK
                         : ifg_fail_no_memory(err, NULL);
        recordings_fini(&sides[0]);
        recordings_fini(&sides[1]);
    }
    ifg_free(sides);
    return status;
}
