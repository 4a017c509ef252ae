// SPDX-License-Identifier: Apache-2.0
/* What --dump-when takes, and how it says what it does not. */
#include "record/dump_rule.h"

#include <stdio.h>
#include <string.h>

#include "tap.h"

static void good_ones(void)
{
    static const struct {
        const char *text;
        const char *model;
        enum trace_category category;
        enum dump_metric metric;
        enum dump_operator comparison;
        double value;
        uint64_t over_ms;
    } rows[] = {
        { "inference.latency>100ms", "", TRACE_CATEGORY_INFERENCE, DUMP_LATENCY, DUMP_MORE, 100e6,
          0 },
        { "ocr/inference.p99 >= 50ms over 10s", "ocr", TRACE_CATEGORY_INFERENCE, DUMP_QUANTILE,
          DUMP_AT_LEAST, 50e6, 10000 },
        { " models/ocr*/load.latency > 1.5s ", "models/ocr*", TRACE_CATEGORY_LOAD, DUMP_LATENCY,
          DUMP_MORE, 1.5e9, 0 },
        { "inference.rate<5/s over 500ms", "", TRACE_CATEGORY_INFERENCE, DUMP_RATE, DUMP_LESS, 5,
          500 },
        { "inference.rate<=0", "", TRACE_CATEGORY_INFERENCE, DUMP_RATE, DUMP_AT_MOST, 0, 10000 },
        { "inference.failures>0 over 1m", "", TRACE_CATEGORY_INFERENCE, DUMP_FAILURES, DUMP_MORE, 0,
          60000 },
        { "specialization.count>2", "", TRACE_CATEGORY_SPECIALIZATION, DUMP_COUNT, DUMP_MORE, 2,
          10000 },
        { "setup.p50>20\xc2\xb5s", "", TRACE_CATEGORY_SETUP, DUMP_QUANTILE, DUMP_MORE, 20e3,
          10000 },
        { "prepare-ep.p90>1ns over 1h", "", TRACE_CATEGORY_PREPARE_EP, DUMP_QUANTILE, DUMP_MORE, 1,
          3600000 },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ifg_error err = { .message = "" };
        struct dump_rule rule;

        if (dump_rule_parse(rows[i].text, &rule, &err))
            tap_diag("%s", err.message);
        CHECK_STR(err.message, "");
        CHECK_STR(rule.text, rows[i].text);
        CHECK_STR(rule.model, rows[i].model);
        CHECK_INT(rule.category, rows[i].category);
        CHECK_INT(rule.metric, rows[i].metric);
        CHECK_INT(rule.comparison, rows[i].comparison);
        CHECK(rule.value == rows[i].value);
        CHECK_UINT(rule.over_ns, rows[i].over_ms * 1000000u);
    }
}

/* Each says where: positions count from 1. */
static void bad_ones(void)
{
    static const struct {
        const char *text;
        const char *words;
        unsigned position;
    } rows[] = {
        { "", "'' is no category", 1 },
        { "inferense.latency>1ms", "'inferense' is no category", 1 },
        { "/inference.latency>1ms", "no name of a model", 1 },
        { "inference>1ms", "a '.' and a metric are missing", 10 },
        { "inference.latncy>1ms", "'latncy' is no metric", 11 },
        { "a/inference.p98>1ms", "'p98' is no metric", 13 },
        { "inference.latency=1ms", "one of > >= < <= is missing", 18 },
        { "inference.latency", "one of > >= < <= is missing", 18 },
        { "inference.latency>", "a number is missing", 19 },
        { "inference.latency>-1ms", "a number is missing", 19 },
        { "inference.latency>1.2.3ms", "'1.2.3' is no number", 19 },
        { "inference.latency>inf", "a number is missing", 19 },
        { "inference.latency>100", "a unit is missing", 22 },
        { "inference.latency>100parsecs", "a unit is missing", 22 },
        { "inference.latency>1ms over 10s", "has no 'over'", 23 },
        { "inference.p99>1ms for 10s", "'for 10s' does not belong here", 19 },
        { "inference.p99>1ms over", "a number is missing", 23 },
        { "inference.p99>1ms over 10s or so", "'or so' does not belong here", 28 },
        { "inference.p99>1ms over 2h", "not between 1ms and 1h", 24 },
        { "inference.p99>1ms over 0s", "not between 1ms and 1h", 24 },
        { "inference.count>5ms", "'ms' does not belong here", 18 },
        { "inference.count<0", "nothing is less than 0", 18 },
        { "inference.count>99999999", "more than the 1048576 events", 25 },
        { "inference.rate>200000 over 10s", "more than the 1048576 events", 31 },
    };
    char position[32];
    char longest[1000];
    struct ifg_error err = { .message = "" };
    struct dump_rule rule;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        CHECK_INT(dump_rule_parse(rows[i].text, &rule, &err), IFG_INVALID);
        CHECK_CONTAINS(err.message, rows[i].words);
        snprintf(position, sizeof position, "at position %u", rows[i].position);
        CHECK_CONTAINS(err.message, position);
    }
    memset(longest, '0', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    CHECK_INT(dump_rule_parse(longest, &rule, &err), IFG_INVALID);
    CHECK_CONTAINS(err.message, "longer than 319 characters");
}

static void what_they_are_about(void)
{
    struct dump_rule rule;

    REQUIRE_INT(dump_rule_parse("ocr*/inference.latency>=2ms", &rule, NULL), IFG_OK);
    CHECK(dump_rule_takes(&rule, TRACE_CATEGORY_INFERENCE, "ocr-large"));
    CHECK(!dump_rule_takes(&rule, TRACE_CATEGORY_LOAD, "ocr-large"));
    CHECK(!dump_rule_takes(&rule, TRACE_CATEGORY_INFERENCE, "detector"));
    CHECK(dump_rule_holds(&rule, 2e6));
    CHECK(!dump_rule_holds(&rule, 1999999));
    REQUIRE_INT(dump_rule_parse("inference.rate<5", &rule, NULL), IFG_OK);
    CHECK(dump_rule_takes(&rule, TRACE_CATEGORY_INFERENCE, ""));
    CHECK(dump_rule_holds(&rule, 4.9) && !dump_rule_holds(&rule, 5));
}

TAP_MAIN(TAP_CASE(good_ones), TAP_CASE(bad_ones), TAP_CASE(what_they_are_about))
