// SPDX-License-Identifier: Apache-2.0
/* Records of the scheduler's tracepoints, apart from how they are got. */
#ifndef IFG_COLLECT_PERF_SCHED_INTERNAL_H
#define IFG_COLLECT_PERF_SCHED_INTERNAL_H

#include <linux/perf_event.h>

#include "collect/perf/sched.h"
#include "collect/perf/tracepoint.h"

#define SCHED_SAMPLE_TYPE                                                                          \
    ((uint64_t)PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_RAW)

enum { WAKING_FLAGS, WAKING_PID, WAKING_CPU, WAKING_FIELDS };
enum { SWITCH_PID, SWITCH_STATE, SWITCH_FIELDS };

struct sched_layout {
    uint64_t waking_id;
    uint64_t switch_id; /* 0: not recorded */
    struct tracepoint_field waking[WAKING_FIELDS];
    struct tracepoint_field leaving[SWITCH_FIELDS];
};

uint64_t sched_record_time(const struct perf_event_header *record);

/* What a record tells; false: nothing. Records that were lost are added to *lost. */
bool sched_understand(const struct sched_layout *layout, const struct perf_event_header *record,
                      struct sched_change *out, uint64_t *lost);

#endif
