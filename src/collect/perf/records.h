// SPDX-License-Identifier: Apache-2.0
/* What the bytes of a record mean: the kernel's, but lengths are checked all the same. */
#ifndef IFG_COLLECT_PERF_RECORDS_H
#define IFG_COLLECT_PERF_RECORDS_H

#include <linux/perf_event.h>

#include "collect/perf/sampler.h"

/* The layout of every record, which all events of a sampler share. */
#if defined(__x86_64__)
#define RECORDS_REGISTERS 3u /* bp, sp, ip, in the order of their numbers */
#define RECORDS_MASK      ((1ull << 6) | (1ull << 7) | (1ull << 8))
#else
#define RECORDS_REGISTERS 4u /* x29, lr, sp, pc */
#define RECORDS_MASK      ((1ull << 29) | (1ull << 30) | (1ull << 31) | (1ull << 32))
#endif
#define RECORDS_SAMPLE_TYPE                                                                        \
    ((uint64_t)PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |             \
     PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER)

/* When it was made; 0 if it is too short to tell. */
uint64_t record_time(const struct perf_event_header *record);

/* Whether it changes what is known of a process's code, so that samples of before must be told
 * first: mappings, exec, a new process, its end. */
bool record_changes_code(const struct perf_event_header *record);

/* Where a sample was, of the program or of the kernel; false if it is too short to tell. */
bool record_instruction(const struct perf_event_header *record, uint32_t *out_pid,
                        uint64_t *out_ip);

/* Calls the callback for it and counts it. Unknown kinds are stepped over. */
void record_tell(const struct perf_event_header *record, const struct sampler_events *events,
                 struct sampler_counts *counts);

#endif
