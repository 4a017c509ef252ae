// SPDX-License-Identifier: Apache-2.0
/* A source that does what a test wants, and everything that a source can do wrong. */
#ifndef IFG_TESTS_CONFORMANCE_MADE_SOURCE_H
#define IFG_TESTS_CONFORMANCE_MADE_SOURCE_H

#include "record/source.h"

#define MADE_NAME "made events"

struct made_plan {
    bool open_fails, begin_fails, work_fails, finish_fails;
    bool hangs_up;    /* its descriptor, at once */
    unsigned flood;   /* events at each work; 0: one every 10 ms */
    double drift_ppm; /* its own clock is that much too fast */
};

/* What was asked of it. */
struct made_log {
    unsigned opened, attached, begun, started, stopped, finished, closed;
    unsigned processes, works;
    uint64_t written; /* events */
};

extern struct made_plan made_plan;
extern struct made_log made_log;
extern const struct source source_made;

#endif
