// SPDX-License-Identifier: Apache-2.0
/* Verdicts, and the plan by which something is looked at again. See gate.h. */
#include "bench/gate/gate.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/convert.h"

#define NEEDS_MAX 1e12

const char *gate_verdict_name(enum gate_verdict verdict)
{
    static const char *const names[] = { "PASS", "FAIL", "UNSURE", "UNFIT", "LACKS" };

    return names[verdict];
}

const char *gate_unit_name(enum gate_unit unit)
{
    static const char *const names[] = { "ms", "bytes", "per second", "joule", "share", "count" };

    return names[unit];
}

const char *gate_rule_name(enum gate_rule rule)
{
    static const char *const names[] = {
        "order statistics", "block bootstrap", "every process", "share", "exact", "change"
    };

    return names[rule];
}

enum gate_verdict gate_judge(const struct gate_estimate *estimate, bool at_least, double limit)
{
    if (estimate->missing)
        return GATE_LACKS;
    if (at_least) {
        if (estimate->low_known && estimate->low >= limit)
            return GATE_PASS;
        return estimate->high_known && estimate->high < limit ? GATE_FAIL : GATE_UNSURE;
    }
    if (estimate->high_known && estimate->high <= limit)
        return GATE_PASS;
    return estimate->low_known && estimate->low > limit ? GATE_FAIL : GATE_UNSURE;
}

bool gate_beyond_noise(const struct gate_estimate *estimate, bool at_least, double limit,
                       enum gate_verdict verdict)
{
    if (verdict == GATE_FAIL)
        return at_least ? GATE_NOISE_FACTOR * estimate->most < limit
                        : estimate->least > GATE_NOISE_FACTOR * limit;
    if (verdict != GATE_PASS)
        return false;
    if (at_least)
        return estimate->least >= limit ||
               (estimate->low_known && estimate->low >= GATE_NOISE_FACTOR * limit);
    return estimate->most <= limit ||
           (estimate->high_known && GATE_NOISE_FACTOR * estimate->high <= limit);
}

/* So that a share of `count` is told from `target` at the confidence: normal approximation. */
static double needs_for_share(double share, double target, double confidence)
{
    double gap = fabs(share - target);
    double z = confidence > 0.98 ? 2.4 : confidence > 0.96 ? 2.0 : 1.7;

    return gap > 0 ? z * z * target * (1 - target) / (gap * gap) : NEEDS_MAX;
}

uint64_t gate_needs(const struct gate_estimate *estimate, double limit)
{
    double count = (double)estimate->count;
    double needs = 0;
    double q;

    switch (estimate->rule) {
    case GATE_BY_ORDER:
    case GATE_BY_PROCESS:
        q = estimate->rule == GATE_BY_ORDER ? estimate->quantile : 0.5;
        if (!estimate->low_known || !estimate->high_known)
            return estimate->needs;
        needs = needs_for_share((double)estimate->beyond / count, 1 - q, estimate->confidence);
        break;
    case GATE_BY_SHARE:
        needs = needs_for_share((double)estimate->groups / count, limit, estimate->confidence);
        break;
    case GATE_BY_INTERVAL:
        if (!estimate->low_known || !estimate->high_known)
            return estimate->needs;
        if (estimate->value == limit)
            return 0;
        needs = (estimate->high - estimate->low) / 2 / (estimate->value - limit);
        needs = count * needs * needs;
        break;
    case GATE_EXACT:
    case GATE_BY_CHANGE:
        return estimate->needs;
    }
    if (!(needs < NEEDS_MAX))
        return 0;
    /* It was not decided with as many as there are. */
    return needs > count ? ifg_u64_of(ceil(needs - 1e-6)) : estimate->count + 1;
}

/* ---- the plan ---- */

uint32_t gate_plan_looks(const struct gate_plan *plan)
{
    return 1 + (plan->retries > plan->unsure ? plan->retries : plan->unsure);
}

double gate_plan_alpha(const struct gate_plan *plan)
{
    return plan->alpha / gate_plan_looks(plan);
}

static bool has_failed(const struct gate_check *check)
{
    for (uint32_t i = 0; i < check->look_count; i++)
        if (check->looks[i] == GATE_FAIL)
            return true;
    return false;
}

void gate_take_look(struct gate_check *check, const struct gate_plan *plan, enum gate_verdict seen)
{
    bool failed_before = check->look_count && check->looks[check->look_count - 1] == GATE_FAIL;
    uint32_t repeats = check->look_count; /* this look is repeat number so and so; 0: the first */

    if (check->settled || check->look_count > GATE_RETRIES_MAX)
        return;
    check->looks[check->look_count++] = seen;
    check->verdict = seen;
    switch (seen) {
    case GATE_PASS:
    case GATE_LACKS:
        check->settled = true;
        break;
    case GATE_FAIL:
        check->settled = check->estimate.rule == GATE_EXACT || failed_before ||
                         repeats >= (plan->retries > plan->unsure ? plan->retries : plan->unsure);
        break;
    case GATE_UNSURE:
        check->settled =
            repeats >=
            (has_failed(check) && plan->retries > plan->unsure ? plan->retries : plan->unsure);
        break;
    case GATE_UNFIT:
        check->settled = repeats >= plan->retries;
        break;
    }
}

enum gate_verdict gate_overall(const struct gate_check *checks, size_t count,
                               enum gate_on_unsure on_unsure)
{
    size_t seen[GATE_LACKS + 1] = { 0 };

    for (size_t i = 0; i < count; i++)
        seen[checks[i].verdict]++;
    if (seen[GATE_FAIL] || (seen[GATE_UNSURE] && on_unsure == GATE_UNSURE_FAILS))
        return GATE_FAIL;
    if (seen[GATE_UNFIT])
        return GATE_UNFIT;
    if (seen[GATE_LACKS])
        return GATE_LACKS;
    return seen[GATE_UNSURE] && on_unsure != GATE_UNSURE_PASSES ? GATE_UNSURE : GATE_PASS;
}

/* ---- changes ---- */

/* What is faster for certain, or the same, or either of the two, is good enough for a gate. */
enum gate_verdict gate_verdict_of_change(const struct statistics_change *change, double threshold)
{
    if (!change->known)
        return GATE_UNSURE;
    if (change->high <= threshold)
        return GATE_PASS;
    return change->low > threshold ? GATE_FAIL : GATE_UNSURE;
}

void gate_estimate_change(const struct statistics_change *change, double threshold,
                          double confidence, struct gate_estimate *out_estimate)
{
    memset(out_estimate, 0, sizeof *out_estimate);
    out_estimate->rule = GATE_BY_CHANGE;
    out_estimate->least = out_estimate->most = NAN;
    out_estimate->value = change->change;
    out_estimate->low_known = out_estimate->high_known = change->known;
    out_estimate->low = change->low;
    out_estimate->high = change->high;
    out_estimate->confidence = confidence;
    out_estimate->count = change->units;
    if (change->known && change->high > threshold && change->low <= threshold &&
        change->change != threshold) {
        double ratio = change->half_width / (change->change - threshold);
        double needs = (double)change->units * ratio * ratio;

        if (needs < NEEDS_MAX)
            out_estimate->needs =
                needs > (double)change->units ? ifg_u64_of(ceil(needs - 1e-6)) : change->units + 1;
    }
}

/* The candidate: the row after the baseline. */
static const struct compare_row *candidate(const struct compare *compare)
{
    return compare->row_count > 1 ? &compare->rows[1] : NULL;
}

enum ifg_status gate_pool_changes(const struct compare *const *compares, size_t count,
                                  struct statistics_change *out_change, struct ifg_error *err)
{
    enum ifg_status status = IFG_OK;
    double *a = NULL, *b = NULL;
    uint32_t *strata = NULL;
    uint32_t stratum = 0;
    bool by_process = true;
    size_t units = 0;

    memset(out_change, 0, sizeof *out_change);
    for (size_t i = 0; i < count; i++) {
        const struct compare_row *row = candidate(compares[i]);

        if (!row || !row->available)
            return ifg_fail(err, IFG_INTERNAL, "%s",
                            row && row->reason ? row->reason : "nothing was compared");
        if (row->unit_count && (!row->baseline_ms || !row->unit_ms))
            return ifg_fail(err, IFG_INVALID, "what was compared is not paired");
        units += row->unit_count;
    }
    if (count == 1 || !units) {
        *out_change = candidate(compares[0])->change;
        return IFG_OK;
    }
    a = ifg_alloc(units, sizeof *a);
    b = ifg_alloc(units, sizeof *b);
    strata = ifg_alloc(units, sizeof *strata);
    if (units && (!a || !b || !strata)) {
        status = ifg_fail_no_memory(err, NULL);
        goto out;
    }
    units = 0;
    for (size_t i = 0; i < count; i++) {
        const struct compare_row *row = candidate(compares[i]);
        bool blocks = compares[i]->unit == COMPARE_BLOCK_PAIRS && row->unit_process;
        uint32_t highest = 0;

        by_process = by_process && blocks && !compares[i]->few_processes;
        for (size_t k = 0; k < row->unit_count; k++, units++) {
            uint32_t process = blocks ? row->unit_process[k] : 0;

            a[units] = row->baseline_ms[k];
            b[units] = row->unit_ms[k];
            strata[units] = stratum + process;
            highest = process > highest ? process : highest;
        }
        stratum += highest + 1;
    }
    /* Pairs of one process are alike: there the process counts once. */
    status = by_process ? compare_block_pairs(a, b, strata, units, compares[0]->confidence,
                                              compares[0]->seed, out_change, err)
                        : statistics_paired_change(a, b, strata, units, compares[0]->confidence,
                                                   compares[0]->seed, out_change, err);
out:
    ifg_free(a);
    ifg_free(b);
    ifg_free(strata);
    return status;
}

/* ---- files ---- */

static enum ifg_status write_all(int fd, const char *data, size_t size)
{
    while (size) {
        ssize_t written = write(fd, data, size);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return IFG_IO;
        data += written;
        size -= (size_t)written;
    }
    return IFG_OK;
}

enum ifg_status gate_write_file(const char *path, const void *data, size_t size,
                                struct ifg_error *err)
{
    enum ifg_status status = IFG_OK;
    struct stat there;
    char scratch[4096];
    int fd;

    /* A device or a pipe has no content that could be left half written. */
    if (stat(path, &there) == 0 && !S_ISREG(there.st_mode)) {
        fd = open(path, O_WRONLY | O_CLOEXEC);
        if (fd < 0 || write_all(fd, data, size))
            status = ifg_fail_errno(err, "cannot write %s", path);
        if (fd >= 0)
            close(fd);
        return status;
    }
    if (snprintf(scratch, sizeof scratch, "%s.%ld.partial", path, (long)getpid()) >=
        (int)sizeof scratch)
        return ifg_fail(err, IFG_INVALID, "the name of the file is too long");
    unlink(scratch); /* of a process of that number that was killed */
    fd = open(scratch, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0)
        return ifg_fail_errno(err, "cannot write %s", path);
    if (write_all(fd, data, size))
        status = ifg_fail_errno(err, "cannot write %s", path);
    if (close(fd) < 0 && !status)
        status = ifg_fail_errno(err, "cannot write %s", path);
    if (!status && rename(scratch, path) < 0)
        status = ifg_fail_errno(err, "cannot write %s", path);
    if (status)
        unlink(scratch);
    return status;
}
