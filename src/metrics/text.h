// SPDX-License-Identifier: Apache-2.0
/* What a scrape gets: OpenMetrics 1.0, or the older text format of Prometheus. */
#ifndef IFG_METRICS_TEXT_H
#define IFG_METRICS_TEXT_H

#include "base/bytes.h"
#include "metrics/problems.h"
#include "metrics/tally.h"

#define METRICS_TEXT_MOST (32u << 20)

enum metrics_format { METRICS_PROMETHEUS, METRICS_OPENMETRICS };

/* All that is shown. */
enum program_state {
    PROGRAM_WATCHED,
    PROGRAM_ELSEWHERE, /* another recorder has it */
    PROGRAM_REFUSED,   /* too many, or watching failed */
    PROGRAM_STATES
};

/* As they are called in every format. */
extern const char *const metrics_program_states[PROGRAM_STATES];

struct metrics_view {
    const char *version; /* of this tool */
    const struct tally *tally;
    const struct problems *problems;
    uint64_t programs[PROGRAM_STATES];
    double cpu_s;        /* of all our processes, those that have ended included */
    double memory_bytes; /* resident now; NAN: not known */
    uint64_t scrapes;    /* before this one */
};

const char *metrics_content_type(enum metrics_format format);

/* By what the client accepts; NULL is anything. */
enum metrics_format metrics_format_for(const char *accept);

/* Appends. */
void metrics_text_put(struct ifg_bytes *out, enum metrics_format format,
                      const struct metrics_view *view);

#endif
