// SPDX-License-Identifier: Apache-2.0
/* Which inferences of a model waited longest for a CPU; the states are those of waiting.h. */
#ifndef IFG_ANALYZE_WAITING_RUNS_H
#define IFG_ANALYZE_WAITING_RUNS_H

#include "timeline/samples.h"

struct waiting_run {
    size_t slice;
    uint64_t duration_ns;
    uint64_t ns[TIMELINE_STATES];
};

struct waiting_runs {
    struct waiting_run *items; /* longest wait first, at most so many as asked for */
    size_t count;
    uint64_t inferences; /* there are, on threads whose switches are known */
};

/* Of the model with this index. A trace without switches gives none. */
enum ifg_status waiting_runs_create(const struct timeline *timeline, uint32_t model, size_t most,
                                    struct waiting_runs **out_runs,
                                    struct ifg_error *err) IFG_MUST_CHECK;
void waiting_runs_destroy(struct waiting_runs *runs); /* accepts NULL */

#endif
