// SPDX-License-Identifier: Apache-2.0
/* What is different about two recordings themselves, before anybody compares their times. */
#ifndef IFG_ANALYZE_RECORDINGS_H
#define IFG_ANALYZE_RECORDINGS_H

#include <stddef.h>

#include "analyze/diff.h"
#include "timeline/timeline.h"

#define RECORDINGS_DIFFERENCES 6u

struct recordings_difference {
    const char *what;           /* "programs", "models", "CPUs", ... */
    char text[DIFF_SIDES][160]; /* what each has; "" for nothing */
};

/* Returns how many there are. */
size_t recordings_compare(const struct timeline *const timelines[DIFF_SIDES],
                          struct recordings_difference out[RECORDINGS_DIFFERENCES]);

#endif
