// SPDX-License-Identifier: Apache-2.0
/* What the files about samples share. */
#ifndef IFG_ANALYZE_HOT_INTERNAL_H
#define IFG_ANALYZE_HOT_INTERNAL_H

#include "analyze/hot.h"

struct hot_span {
    uint64_t start_ns;
    uint64_t end_ns;
};

/* A filter made ready: what is NULL does not restrict. */
struct hot_wanted {
    const struct timeline *timeline;
    uint64_t from_ns;
    uint64_t to_ns;
    bool *threads; /* of the profile */
    bool *ml;      /* by location */
    bool *op;      /* by location */
    bool by_op;
    struct hot_span *spans; /* thread by thread */
    size_t span_count;
    size_t span_capacity;
    size_t *first_span; /* per thread of the timeline, and one more */
};

bool hot_wanted_init(struct hot_wanted *wanted, const struct timeline *timeline,
                     const struct timeline_profile *profile, const struct hot_filter *filter);
void hot_wanted_fini(struct hot_wanted *wanted);
bool hot_wants(const struct hot_wanted *wanted, const struct timeline_sample *sample);

#endif
