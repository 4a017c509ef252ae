// SPDX-License-Identifier: Apache-2.0
/* Budgets on a trace: how long the events of a category, a zone or an operator took. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/quantile.h"
#include "bench/gate/gate_internal.h"

#define BLOCKS      40 /* neighbouring events are alike, so they are drawn together */
#define BLOCK_LEAST 5
#define LISTED      12
#define NS_PER_MS   1e6

static const char *const stat_names[GATE_STATS] = { "count", "total", "mean", "min", "max", "first",
                                                    "p50",   "p90",   "p95",  "p99", "p999" };

static enum ifg_status wrong_metric(const struct gate_budget *budget, struct ifg_error *err)
{
    return ifg_fail(
        err, IFG_INVALID,
        "'%.64s' is no location in a trace; write [MODEL/]CATEGORY.STAT, zone:NAME.STAT or "
        "op:NAME.STAT, with the category prepare-ep, specialization, load, setup or "
        "inference, and count, total, mean, min, max, first, p50, p90, p95, p99 or p999",
        budget->metric);
}

static void copy_part(char *out, const char *from, size_t length)
{
    memcpy(out, from, length);
    out[length] = '\0';
}

static bool parse_category(struct gate_budget *budget, const char *text, size_t length)
{
    for (int i = 1; i < TRACE_CATEGORIES; i++) {
        const char *name = timeline_category_name((enum trace_category)i);
        size_t size = strlen(name);

        if (length < size || memcmp(text + length - size, name, size) != 0)
            continue;
        budget->category = (enum trace_category)i;
        if (length == size)
            return true;
        /* The model's name may have any character in it, '/' too. */
        if (text[length - size - 1] == '/' && length > size + 1) {
            copy_part(budget->model, text, length - size - 1);
            return true;
        }
    }
    return false;
}

enum ifg_status gate_parse_trace_metric(struct gate_budget *budget, struct ifg_error *err)
{
    const char *text = budget->metric;
    const char *dot = strrchr(text, '.');
    size_t length;
    int stat = 0;

    /* "p99.9" has a dot of its own. */
    if (dot && strcmp(dot, ".9") == 0 && dot - text > 4 && memcmp(dot - 4, ".p99", 4) == 0) {
        dot -= 4;
        stat = GATE_P999;
    } else {
        while (dot && stat < GATE_STATS && strcmp(dot + 1, stat_names[stat]) != 0)
            stat++;
    }
    if (!dot || dot == text || stat == GATE_STATS)
        return wrong_metric(budget, err);
    length = (size_t)(dot - text);
    budget->stat = (enum gate_stat)stat;
    budget->unit = stat == GATE_COUNT ? GATE_NUMBER : GATE_MS;
    if (length > 5 && memcmp(text, "zone:", 5) == 0) {
        budget->scope = GATE_IN_ZONE;
        copy_part(budget->name, text + 5, length - 5);
    } else if (length > 3 && memcmp(text, "op:", 3) == 0) {
        budget->scope = GATE_IN_OP;
        copy_part(budget->name, text + 3, length - 3);
    } else {
        budget->scope = GATE_IN_CATEGORY;
        if (!parse_category(budget, text, length))
            return wrong_metric(budget, err);
    }
    return IFG_OK;
}

/* ---- finding them ---- */

static bool matches(const struct gate_budget *budget, const struct timeline *timeline,
                    const struct timeline_location *location)
{
    switch (budget->scope) {
    case GATE_IN_CATEGORY:
        if (location->kind != TRACE_LOCATION_ML || location->category != budget->category)
            return false;
        return !budget->model[0] ||
               (location->model != TIMELINE_NONE &&
                strcmp(timeline->models[location->model].name, budget->model) == 0);
    case GATE_IN_ZONE:
        return (location->kind == TRACE_LOCATION_ZONE || location->kind == TRACE_LOCATION_STAGE) &&
               strcmp(location->name, budget->name) == 0;
    case GATE_IN_OP:
        return location->kind == TRACE_LOCATION_OP && strcmp(location->name, budget->name) == 0;
    }
    return false;
}

struct found {
    uint64_t start_ns;
    uint64_t duration_ns;
};

static int by_start(const void *a, const void *b)
{
    const struct found *left = a;
    const struct found *right = b;

    return (left->start_ns > right->start_ns) - (left->start_ns < right->start_ns);
}

struct list {
    char text[400];
    size_t used, count;
};

static void list_add(struct list *list, const char *prefix, const char *name, const char *last)
{
    char item[160];
    char quoted[168];

    snprintf(item, sizeof item, "%s%s%s", prefix, name, last);
    snprintf(quoted, sizeof quoted, ", %s", item);
    if (!*name || list->count > LISTED || strstr(list->text, item))
        return;
    if (list->count == LISTED || list->used + strlen(quoted) + 8 > sizeof list->text) {
        snprintf(list->text + list->used, sizeof list->text - list->used, ", ...");
        list->count = LISTED + 1;
        return;
    }
    list->used += (size_t)snprintf(list->text + list->used, sizeof list->text - list->used, "%s",
                                   quoted + (list->count ? 0 : 2));
    list->count++;
}

static enum ifg_status not_there(const struct gate_budget *budget, const struct timeline *timeline,
                                 const uint64_t *counts, struct ifg_error *err)
{
    struct list list = { 0 };

    for (size_t i = 0; i < timeline->location_count; i++) {
        const struct timeline_location *location = &timeline->locations[i];
        char model_name[140] = "";

        if (!counts[i])
            continue;
        if (budget->scope == GATE_IN_CATEGORY && location->kind == TRACE_LOCATION_ML) {
            if (location->model != TIMELINE_NONE)
                snprintf(model_name, sizeof model_name, "%.100s/",
                         timeline->models[location->model].name);
            list_add(&list, model_name, timeline_category_name(location->category), "");
        } else if (budget->scope == GATE_IN_ZONE && (location->kind == TRACE_LOCATION_ZONE ||
                                                     location->kind == TRACE_LOCATION_STAGE)) {
            list_add(&list, "zone:", location->name, "");
        } else if (budget->scope == GATE_IN_OP && location->kind == TRACE_LOCATION_OP) {
            list_add(&list, "op:", location->name, "");
        }
    }
    return ifg_fail(err, IFG_NOT_FOUND, "nothing in this trace is %.100s; there %s%s",
                    budget->metric, list.count ? "is: " : "is nothing of that kind", list.text);
}

/* Durations in order of their starts. */
static enum ifg_status collect(const struct gate_budget *budget, const struct timeline *timeline,
                               const struct perturbed *perturbed, struct found **out_found,
                               size_t *out_count, struct gate_left_out *out_left,
                               struct ifg_error *err)
{
    enum ifg_status status = IFG_OK;
    bool *wanted =
        ifg_alloc(timeline->location_count ? timeline->location_count : 1, sizeof *wanted);
    uint64_t *counts =
        ifg_alloc(timeline->location_count ? timeline->location_count : 1, sizeof *counts);
    size_t total = 0;
    size_t open = 0; /* of model->unfinished, which is ascending too */
    bool zero_counts = budget->stat == GATE_COUNT || budget->stat == GATE_TOTAL;

    *out_found = NULL;
    *out_count = 0;
    memset(out_left, 0, sizeof *out_left);
    if (!wanted || !counts)
        goto no_memory;
    for (size_t i = 0; i < timeline->location_count; i++)
        wanted[i] = matches(budget, timeline, &timeline->locations[i]);
    for (size_t i = 0; i < timeline->slice_count; i++) {
        counts[timeline->location[i]]++;
        total += wanted[timeline->location[i]];
    }
    if (!total && !zero_counts) {
        status = not_there(budget, timeline, counts, err);
        goto out;
    }
    *out_found = ifg_alloc(total ? total : 1, sizeof **out_found);
    if (!*out_found)
        goto no_memory;
    for (size_t i = 0; i < timeline->slice_count; i++) {
        bool unfinished = open < timeline->unfinished_count && timeline->unfinished[open] == i;

        open += unfinished;
        if (!wanted[timeline->location[i]])
            continue;
        if (unfinished)
            out_left->unfinished++;
        else if (perturbed->marks[i] && budget->stat != GATE_COUNT)
            out_left->perturbed++;
        else
            (*out_found)[(*out_count)++] =
                (struct found){ timeline->start_ns[i], timeline_duration_ns(timeline, i) };
    }
    qsort(*out_found, *out_count, sizeof **out_found, by_start);
    if (out_left->perturbed && (!*out_count || budget->stat == GATE_TOTAL))
        status =
            ifg_fail(err, IFG_NOT_FOUND,
                     "of %llu of the %llu that make up %.100s the operators were recorded, "
                     "which makes them slower%s; record without --ops",
                     (unsigned long long)out_left->perturbed,
                     (unsigned long long)(out_left->perturbed + *out_count), budget->metric,
                     *out_count ? ", so that there is no total" : ": nothing is left to judge");
    else if (!*out_count && !zero_counts)
        status = ifg_fail(err, IFG_NOT_FOUND, "none of the %llu of %.100s had ended",
                          (unsigned long long)out_left->unfinished, budget->metric);
out:
    ifg_free(wanted);
    ifg_free(counts);
    return status;
no_memory:
    status = ifg_fail_no_memory(err, NULL);
    goto out;
}

/* ---- judging them ---- */

static void exactly(double value, size_t count, struct gate_estimate *out)
{
    out->rule = GATE_EXACT;
    out->value = out->low = out->high = value;
    out->low_known = out->high_known = true;
    out->count = count;
}

static enum ifg_status by_neighbours(const struct gate_budget *budget, const double *in_order,
                                     double *sorted, size_t count, double alpha, uint64_t seed,
                                     struct gate_estimate *out, struct ifg_error *err)
{
    struct statistics_block blocks[BLOCKS];
    size_t block_count = count / BLOCK_LEAST < BLOCKS ? count / BLOCK_LEAST : BLOCKS;
    bool median = budget->stat == GATE_P50;
    double mean = 0;
    enum ifg_status status;

    for (size_t i = 0; i < block_count; i++) {
        blocks[i].process = 0;
        blocks[i].first = count * i / block_count;
        blocks[i].count = count * (i + 1) / block_count - blocks[i].first;
    }
    for (size_t i = 0; i < count; i++)
        mean += in_order[i] / (double)count;
    out->value = median ? ifg_quantile_sorted(sorted, count, 0.5, IFG_QUANTILE_LINEAR) : mean;
    status = gate_by_blocks(in_order, count, blocks, block_count, median, alpha, seed, out, err);
    if (!status && !out->low_known && median) {
        gate_by_order(sorted, count, 0.5, budget->at_least, budget->limit, alpha, out);
        out->iterations_alone = true;
    } else if (!status && !out->low_known) {
        out->needs = (uint64_t)5 * BLOCK_LEAST;
    }
    return status;
}

static enum ifg_status estimate(const struct gate_budget *budget, const struct found *found,
                                size_t count, double alpha, uint64_t seed,
                                struct gate_estimate *out, struct ifg_error *err)
{
    static const double quantiles[GATE_STATS] = {
        [GATE_P90] = 0.9, [GATE_P95] = 0.95, [GATE_P99] = 0.99, [GATE_P999] = 0.999
    };
    double *in_order = ifg_alloc(count ? count : 1, sizeof *in_order);
    double *sorted = ifg_alloc(count ? count : 1, sizeof *sorted);
    enum ifg_status status = IFG_OK;
    double total = 0;

    if (!in_order || !sorted) {
        status = ifg_fail_no_memory(err, NULL);
        goto out;
    }
    for (size_t i = 0; i < count; i++) {
        in_order[i] = sorted[i] = (double)found[i].duration_ns / NS_PER_MS;
        total += in_order[i];
    }
    statistics_sort(sorted, count);
    switch (budget->stat) {
    case GATE_COUNT:
        exactly((double)count, count, out);
        break;
    case GATE_TOTAL:
        exactly(total, count, out);
        break;
    case GATE_MIN:
        exactly(sorted[0], count, out);
        break;
    case GATE_MAX:
        exactly(sorted[count - 1], count, out);
        break;
    case GATE_FIRST:
        exactly(in_order[0], count, out);
        break;
    case GATE_MEAN:
    case GATE_P50:
        status = by_neighbours(budget, in_order, sorted, count, alpha, seed, out, err);
        break;
    default:
        out->value =
            ifg_quantile_sorted(sorted, count, quantiles[budget->stat], IFG_QUANTILE_LINEAR);
        gate_by_order(sorted, count, quantiles[budget->stat], budget->at_least, budget->limit,
                      alpha, out);
    }
out:
    ifg_free(in_order);
    ifg_free(sorted);
    return status;
}

enum ifg_status gate_estimate_trace(const struct gate_budget *budget,
                                    const struct timeline *timeline,
                                    const struct perturbed *perturbed, double alpha, uint64_t seed,
                                    struct gate_estimate *out_estimate,
                                    struct gate_left_out *out_left, struct ifg_error *err)
{
    struct found *found;
    size_t count;
    enum ifg_status status;

    memset(out_estimate, 0, sizeof *out_estimate);
    out_estimate->least = out_estimate->most = NAN;
    status = collect(budget, timeline, perturbed, &found, &count, out_left, err);
    if (!status)
        status = estimate(budget, found, count, alpha, seed, out_estimate, err);
    ifg_free(found);
    if (!status && gate_judge(out_estimate, budget->at_least, budget->limit) == GATE_UNSURE)
        out_estimate->needs = gate_needs(out_estimate, budget->limit);
    return status;
}
