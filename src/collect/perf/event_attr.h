// SPDX-License-Identifier: Apache-2.0
/*
 * The two kinds of events that a sampler has, and nothing else: also inferogram-privileged opens
 * these, whatever it is asked for.
 */
#ifndef IFG_COLLECT_PERF_EVENT_ATTR_H
#define IFG_COLLECT_PERF_EVENT_ATTR_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EVENT_RING_BYTES ((size_t)512 << 10) /* what every user may have for each CPU */

/* Where more may be locked: enough for a quarter of a second of the highest rate. */
#define EVENT_RING_MOST  ((size_t)8 << 20)
#define EVENT_RINGS_MOST ((size_t)64 << 20) /* of all CPUs */

/* Tells of mappings, names, ends and switches. */
void event_attr_side(struct perf_event_attr *attr, uint32_t stack_bytes, bool on_exec);

/* Takes samples by cycles. */
void event_attr_sampling(struct perf_event_attr *attr, uint32_t stack_bytes, bool on_exec,
                         uint32_t hz, bool kernel);

/* The same by time. */
void event_attr_use_clock(struct perf_event_attr *attr);

#endif
