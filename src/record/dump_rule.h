// SPDX-License-Identifier: Apache-2.0
/*
 * When a flight recorder writes a file by itself (record --dump-when):
 *
 *     [MODEL/]CATEGORY.METRIC OP VALUE [over DURATION]
 *
 *     inference.latency > 100ms                   one of them took longer
 *     ocr/inference.p99 >= 50ms over 10s          of all that ended within the last 10 s
 *     inference.rate < 5 over 2s                  a second
 *     load.count > 3, inference.failures > 0      in the last 10 s
 *
 * MODEL is a glob over names of models; `latency` has no duration, and without one the others look
 * at the last 10 s.
 */
#ifndef IFG_RECORD_DUMP_RULE_H
#define IFG_RECORD_DUMP_RULE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "trace/format.h"

#define DUMP_RULE_TEXT   320u
#define DUMP_MODEL_BYTES 256u
#define DUMP_EVENTS_MAX  (1u << 20) /* of one rule, that are remembered */
#define DUMP_OVER_NS     10000000000ull
#define DUMP_OVER_MAX_NS 3600000000000ull

enum dump_metric {
    DUMP_LATENCY,
    DUMP_QUANTILE,
    DUMP_COUNT,
    DUMP_RATE,
    DUMP_FAILURES,
};

enum dump_operator { DUMP_MORE, DUMP_AT_LEAST, DUMP_LESS, DUMP_AT_MOST };

struct dump_rule {
    char text[DUMP_RULE_TEXT];    /* as it was given */
    char model[DUMP_MODEL_BYTES]; /* a glob; "": all models */
    enum trace_category category;
    enum dump_metric metric;
    double quantile;
    size_t least; /* events that the quantile needs: of ten, there is no p99 */
    enum dump_operator comparison;
    double value;     /* nanoseconds, a number, or events a second */
    uint64_t over_ns; /* 0: each event by itself */
};

/* IFG_INVALID: err says what is wrong, and at which position, counted from 1. */
enum ifg_status dump_rule_parse(const char *text, struct dump_rule *out_rule,
                                struct ifg_error *err) IFG_MUST_CHECK;

/* Whether it is about events of this category of this model. */
bool dump_rule_takes(const struct dump_rule *rule, enum trace_category category, const char *model);

bool dump_rule_holds(const struct dump_rule *rule, double value);

#endif
