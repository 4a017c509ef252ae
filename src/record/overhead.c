// SPDX-License-Identifier: Apache-2.0
/*
 * See overhead.h. Time is cut into stretches, each with one moment without samples in its middle.
 * With d an inference's duration over the median of its kind in the stretch, and f the part of it
 * in which samples were taken, the slow-down is the slope of d over f, taken from the differences
 * to the means of stretch and kind. The result is the median over the stretches, with the interval
 * that order statistics give: another program that disturbs some stretches does not move it.
 */
#include "record/overhead.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/quantile.h"

#define MS 1000000ull

#define FIRST_NS      (500 * MS) /* short programs are sampled all the time */
#define OFF_LEAST_NS  (20 * MS)
#define OFF_MOST_NS   (250 * MS)
#define ON_LEAST_NS   50e6
#define OFF_MANY      3.0  /* inferences that a moment should hold */
#define SHARE_FIRST   0.15 /* of the time without samples, until the result is good */
#define SHARE_LATER   0.02
#define GOOD_PCT      0.2 /* an error that is good */
#define FEW_STRETCHES 6u
#define SLOPES_MAX    (1u << 16)
#define SETTLE_NS     (500 * MS) /* until all inferences of a stretch have reached us */
#define RUNS_MAX      8192u
#define TURNS_MAX     256u
#define KINDS_MAX     64u
#define EACH_LEAST    4u  /* inferences of a kind in a stretch that can be compared */
#define OUTLIER       1.5 /* times the median: somebody else was on the CPU */
#define SHARE_LEAST   0.05
#define TURNS_SHARE   0.005 /* of a CPU that turns may take */
#define PART_LEAST    0.02  /* spread of parts below which a stretch tells nothing */

struct run {
    uint64_t start_ns, end_ns;
    uint32_t key;
    double on; /* part in which samples were taken */
};

struct turn {
    uint64_t ns;
    bool on;
};

struct stretch {
    double xy, xx; /* of differences to the means */
};

struct overhead {
    double budget_pct;
    uint64_t begin_ns;
    uint64_t random;
    /* what comes */
    uint64_t off_at_ns, on_at_ns, stretch_end_ns;
    bool on;
    double keep;    /* of the time that is to be sampled, for the budget */
    double most;    /* of it, at most: overhead_limit() */
    double turn_ns; /* of CPU time that one turn takes */
    /* what was */
    struct turn turns[TURNS_MAX]; /* the last ones, as a ring */
    uint32_t turn_count;
    uint64_t on_ns, on_since_ns;
    struct run runs[RUNS_MAX]; /* that are not compared yet */
    uint32_t run_count;
    struct run later[RUNS_MAX]; /* room to put some aside */
    uint32_t stride, skipped;   /* one of so many is kept */
    uint64_t ends[8];           /* of stretches that are not compared yet */
    uint32_t end_count;
    double typical_ns;
    /* what came of it */
    double *slopes; /* of the stretches, ascending */
    uint32_t stretch_count;
    size_t stretch_room;
    uint64_t inferences;
};

/* ---- the plan ---- */

static double random_share(struct overhead *overhead)
{
    overhead->random = overhead->random * 6364136223846793005ull + 1442695040888963407ull;
    return (double)(overhead->random >> 11) * 0x1p-53;
}

static void plan(struct overhead *overhead, uint64_t from_ns)
{
    struct overhead_result result;
    double off = overhead->typical_ns * OFF_MANY;
    double share = SHARE_FIRST;
    double length;

    overhead_tell(overhead, from_ns, &result);
    if (result.known && result.error_pct < GOOD_PCT)
        share = SHARE_LATER;
    /* Too expensive beyond doubt: less of the time. */
    if (result.known && overhead->budget_pct > 0 &&
        (result.pct - result.error_pct) > overhead->budget_pct)
        overhead->keep = fmax(overhead->budget_pct / result.pct, SHARE_LEAST);
    share = fmax(share, 1 - fmin(overhead->keep, overhead->most));
    off = fmin(fmax(off, (double)OFF_LEAST_NS), (double)OFF_MOST_NS);
    /* The rest must be long beside the pauses between our looks. */
    off = fmax(off, share / (1 - share) * ON_LEAST_NS);
    off *= 0.75 + 0.5 * random_share(overhead);
    length = fmax(off / share, 2 * overhead->turn_ns / TURNS_SHARE);
    off = length * share;
    overhead->off_at_ns = from_ns + (uint64_t)((length - off) / 2);
    overhead->on_at_ns = overhead->off_at_ns + (uint64_t)off;
    overhead->stretch_end_ns = from_ns + (uint64_t)length;
}

struct overhead *overhead_create(double budget_pct, uint64_t begin_ns)
{
    struct overhead *overhead = ifg_alloc(1, sizeof *overhead);

    if (!overhead)
        return NULL;
    overhead->budget_pct = budget_pct;
    overhead->begin_ns = begin_ns;
    overhead->random = begin_ns;
    overhead->on = true;
    overhead->on_since_ns = begin_ns;
    overhead->keep = 1;
    overhead->most = 1;
    overhead->stride = 1;
    plan(overhead, begin_ns + FIRST_NS);
    return overhead;
}

void overhead_destroy(struct overhead *overhead)
{
    if (!overhead)
        return;
    ifg_free(overhead->slopes);
    ifg_free(overhead);
}

void overhead_turn_cost(struct overhead *overhead, uint64_t cpu_ns)
{
    overhead->turn_ns += ((double)cpu_ns - overhead->turn_ns) / 2;
}

/* ---- what happened ---- */

/* The part of an inference in which samples were taken; below 0: too long ago to tell. */
static double part_on(const struct overhead *overhead, const struct run *run)
{
    uint32_t first = overhead->turn_count > TURNS_MAX ? overhead->turn_count - TURNS_MAX : 0;
    uint64_t from = run->start_ns;
    uint64_t on_ns = 0;
    bool on = true;

    if (first && overhead->turns[first % TURNS_MAX].ns > run->start_ns)
        return -1;
    for (uint32_t i = first; i < overhead->turn_count; i++) {
        const struct turn *turn = &overhead->turns[i % TURNS_MAX];

        if (turn->ns >= run->end_ns)
            break;
        if (turn->ns > from) {
            on_ns += on ? turn->ns - from : 0;
            from = turn->ns;
        }
        on = turn->on;
    }
    on_ns += on ? run->end_ns - from : 0;
    return (double)on_ns / (double)(run->end_ns - run->start_ns);
}

static void thin_out(struct overhead *overhead)
{
    for (uint32_t i = 0; i < RUNS_MAX / 2; i++)
        overhead->runs[i] = overhead->runs[2 * i];
    overhead->run_count = RUNS_MAX / 2;
    overhead->stride *= 2;
}

void overhead_inference(struct overhead *overhead, uint32_t key, uint64_t start_ns, uint64_t end_ns)
{
    double length;

    if (end_ns <= start_ns || start_ns < overhead->begin_ns)
        return;
    length = (double)(end_ns - start_ns);
    overhead->typical_ns += (length - overhead->typical_ns) / 16;
    if (++overhead->skipped < overhead->stride)
        return;
    overhead->skipped = 0;
    if (overhead->run_count == RUNS_MAX)
        thin_out(overhead);
    overhead->runs[overhead->run_count++] = (struct run){ start_ns, end_ns, key, 0 };
}

/* ---- comparing ---- */

static int by_kind_and_length(const void *left, const void *right)
{
    const struct run *a = left;
    const struct run *b = right;
    uint64_t a_ns = a->end_ns - a->start_ns;
    uint64_t b_ns = b->end_ns - b->start_ns;

    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return (a_ns > b_ns) - (a_ns < b_ns);
}

/* Adds what inferences of one kind in one stretch tell. They are sorted by length. */
static void compare_kind(struct overhead *overhead, const struct run *runs, uint32_t count,
                         struct stretch *stretch)
{
    double median, on = 0, length = 0;
    uint32_t kept = 0;

    if (count < EACH_LEAST)
        return;
    median = (double)(runs[count / 2].end_ns - runs[count / 2].start_ns);
    for (; kept < count; kept++) {
        double ratio = (double)(runs[kept].end_ns - runs[kept].start_ns) / median;

        if (ratio > OUTLIER)
            break;
        on += runs[kept].on;
        length += ratio;
    }
    if (kept < EACH_LEAST)
        return;
    on /= kept;
    length /= kept;
    for (uint32_t i = 0; i < kept; i++) {
        double x = runs[i].on - on;

        stretch->xx += x * x;
        stretch->xy += x * ((double)(runs[i].end_ns - runs[i].start_ns) / median - length);
    }
    overhead->inferences += kept;
}

static void keep_stretch(struct overhead *overhead, const struct stretch *stretch)
{
    double slope = stretch->xy / stretch->xx;
    uint32_t at;

    if (!(stretch->xx >= PART_LEAST))
        return;
    if (!IFG_ARRAY_ROOM(overhead->slopes, overhead->stretch_room,
                        (size_t)overhead->stretch_count + 1, SLOPES_MAX))
        return;
    for (at = overhead->stretch_count++; at && overhead->slopes[at - 1] > slope; at--)
        overhead->slopes[at] = overhead->slopes[at - 1];
    overhead->slopes[at] = slope;
}

/* Compares the inferences that began before this and takes them out. */
static void compare_until(struct overhead *overhead, uint64_t end_ns)
{
    struct stretch stretch = { 0, 0 };
    uint32_t count = 0, left = 0;

    for (uint32_t i = 0; i < overhead->run_count; i++) {
        struct run run = overhead->runs[i];

        if (run.start_ns >= end_ns) {
            overhead->later[left++] = run;
            continue;
        }
        run.on = part_on(overhead, &run);
        if (run.on >= 0)
            overhead->runs[count++] = run;
    }
    qsort(overhead->runs, count, sizeof overhead->runs[0], by_kind_and_length);
    for (uint32_t at = 0, kinds = 0; at < count && kinds < KINDS_MAX; kinds++) {
        uint32_t end = at;

        while (end < count && overhead->runs[end].key == overhead->runs[at].key)
            end++;
        compare_kind(overhead, overhead->runs + at, end - at, &stretch);
        at = end;
    }
    keep_stretch(overhead, &stretch);
    memcpy(overhead->runs, overhead->later, left * sizeof overhead->runs[0]);
    overhead->run_count = left;
    overhead->stride = 1;
}

void overhead_limit(struct overhead *overhead, double share)
{
    overhead->most = share < 1 ? fmax(share, SHARE_LEAST) : 1;
}

bool overhead_turn(struct overhead *overhead, uint64_t now_ns)
{
    bool on = now_ns < overhead->off_at_ns || now_ns >= overhead->on_at_ns;

    if (on != overhead->on) {
        overhead->turns[overhead->turn_count++ % TURNS_MAX] = (struct turn){ now_ns, on };
        if (on)
            overhead->on_since_ns = now_ns;
        else
            overhead->on_ns += now_ns - overhead->on_since_ns;
        overhead->on = on;
    }
    if (now_ns >= overhead->stretch_end_ns && on &&
        overhead->end_count < sizeof overhead->ends / sizeof overhead->ends[0]) {
        overhead->ends[overhead->end_count++] = now_ns;
        plan(overhead, now_ns);
    }
    if (overhead->end_count && now_ns >= overhead->ends[0] + SETTLE_NS) {
        compare_until(overhead, overhead->ends[0]);
        for (uint32_t i = 1; i < overhead->end_count; i++)
            overhead->ends[i - 1] = overhead->ends[i];
        overhead->end_count--;
    }
    return overhead->on;
}

void overhead_tell(struct overhead *overhead, uint64_t now_ns, struct overhead_result *out_result)
{
    uint64_t on_ns = overhead->on_ns;
    uint32_t count = overhead->stretch_count;
    double low, high, away;

    if (overhead->on && now_ns > overhead->on_since_ns)
        on_ns += now_ns - overhead->on_since_ns;
    *out_result = (struct overhead_result){
        .moments = count,
        .inferences = overhead->inferences,
        .on_share =
            now_ns > overhead->begin_ns ? (double)on_ns / (double)(now_ns - overhead->begin_ns) : 1,
    };
    if (count < FEW_STRETCHES)
        return;
    away = 0.98 * sqrt(count); /* ranks, from the middle: 1.96 times the binomial's deviation */
    low = overhead->slopes[(uint32_t)fmax((count - 1) / 2.0 - away, 0)];
    high = overhead->slopes[(uint32_t)fmin(ceil((count - 1) / 2.0 + away), count - 1.0)];
    out_result->known = true;
    out_result->pct = 100 * ifg_quantile_sorted(overhead->slopes, count, 0.5, IFG_QUANTILE_LINEAR);
    out_result->error_pct = fmax(100 * high - out_result->pct, out_result->pct - 100 * low);
}
