// SPDX-License-Identifier: Apache-2.0
/*
 * Whether a rule of --dump-when has come true: reads what a recording writes into its memory, from
 * whichever source it came.
 */
#ifndef IFG_RECORD_DUMP_WATCH_H
#define IFG_RECORD_DUMP_WATCH_H

#include "record/dump_rule.h"

#define DUMP_RULES_MAX 16u

struct dump_watch;
struct trace_memory;

/* What came true. */
struct dump_alarm {
    uint64_t time_ns; /* CLOCK_MONOTONIC: when the event ended, or when the rule was looked at */
    char what[DUMP_RULE_TEXT + 160];
};

/* The rules stay the caller's, and there. */
enum ifg_status dump_watch_create(struct trace_memory *memory, const struct dump_rule *rules,
                                  size_t count, struct dump_watch **out_watch,
                                  struct ifg_error *err) IFG_MUST_CHECK;

/* Takes what was written since the last look. True: a rule came true. What lasts comes true once,
 * and again after it has ended; each event that is too slow does. */
bool dump_watch_look(struct dump_watch *watch, uint64_t now_ns, struct dump_alarm *out_alarm);

void dump_watch_destroy(struct dump_watch *watch); /* accepts NULL */

#endif
