// SPDX-License-Identifier: Apache-2.0
/* Buckets, the limit on series, sums, names that are cut. */
#include "metrics/tally.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "tap.h"

static struct tally_labels labels_of(const char *model, enum trace_category category)
{
    struct tally_labels labels;

    memset(&labels, 0, sizeof labels);
    tally_set_text(labels.program, sizeof labels.program, "app");
    tally_set_text(labels.model, sizeof labels.model, model);
    labels.category = category;
    return labels;
}

static uint64_t count_of(const struct tally_series *series)
{
    uint64_t count = 0;

    for (size_t i = 0; i <= TALLY_BOUNDS; i++)
        count += series->buckets[i];
    return count;
}

static void buckets(void)
{
    struct tally *tally = ifg_alloc(1, sizeof *tally);
    struct tally_labels labels = labels_of("ocr", TRACE_CATEGORY_INFERENCE);
    struct tally_series *series = tally_find(tally, &labels);

    CHECK(tally_find(tally, &labels) == series);
    tally_add(series, 0);
    tally_add(series, 1000); /* bounds belong to what is below them */
    tally_add(series, 1001);
    tally_add(series, UINT64_C(67108864000));
    tally_add(series, UINT64_C(67108864001));
    CHECK_UINT(series->buckets[0], 2);
    CHECK_UINT(series->buckets[1], 1);
    CHECK_UINT(series->buckets[TALLY_BOUNDS - 1], 1);
    CHECK_UINT(series->buckets[TALLY_BOUNDS], 1);
    CHECK_UINT(series->sum_ns, UINT64_C(2 * 67108864000 + 2002));
    ifg_free(tally);
}

static void cap(void)
{
    struct tally *tally = ifg_alloc(1, sizeof *tally);
    struct tally_labels labels;
    uint64_t others = 0;
    char name[32];

    for (int i = 0; i < 3000; i++) {
        snprintf(name, sizeof name, "m%d", i);
        labels = labels_of(name, i % 2 ? TRACE_CATEGORY_INFERENCE : TRACE_CATEGORY_LOAD);
        tally_add(tally_find(tally, &labels), 5000);
    }
    CHECK(tally->count <= TALLY_SERIES_MOST);
    CHECK_UINT(tally->is_full, 1);
    for (uint32_t i = 0; i < tally->count; i++)
        if (strcmp(tally->series[i].labels.model, "other") == 0)
            others += count_of(&tally->series[i]);
    CHECK_UINT(others, 3000 - (TALLY_SERIES_MOST - TRACE_CATEGORIES));
    labels = labels_of("m7", TRACE_CATEGORY_INFERENCE);
    CHECK_STR(tally_find(tally, &labels)->labels.model, "m7");
    ifg_free(tally);
}

static void merge(void)
{
    struct tally *sum = ifg_alloc(1, sizeof *sum);
    struct tally *part = ifg_alloc(1, sizeof *part);
    struct tally_labels labels = labels_of("ocr", TRACE_CATEGORY_INFERENCE);

    tally_add(tally_find(part, &labels), 5000);
    tally_add_failure(tally_find(part, &labels));
    part->dropped = 3;
    tally_merge(sum, part);
    tally_merge(sum, part);
    CHECK_UINT(sum->count, 1);
    CHECK_UINT(count_of(&sum->series[0]), 2);
    CHECK_UINT(sum->series[0].failures, 2);
    CHECK_UINT(sum->series[0].sum_ns, 10000);
    CHECK_UINT(sum->dropped, 6);
    ifg_free(sum);
    ifg_free(part);
}

static void names(void)
{
    char text[8];

    tally_set_text(text, sizeof text, "abcdef\xc3\xa4z"); /* cut before, never within, a letter */
    CHECK_STR(text, "abcdef");
    tally_set_model(text, sizeof text, "", "/models/ocr", 1);
    CHECK_STR(text, "ocr");
    tally_set_model(text, sizeof text, "", "", 1);
    CHECK_STR(text, "model 1");
}

TAP_MAIN(TAP_CASE(buckets), TAP_CASE(cap), TAP_CASE(merge), TAP_CASE(names))
