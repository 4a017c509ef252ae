// SPDX-License-Identifier: Apache-2.0
/*
 * What the program's threads hand to the thread of the handles: any number of writers, one reader,
 * bounded. A writer never waits: it takes a ticket, writes its cell and publishes it; when the
 * queue is full, the event is counted as lost.
 */
#ifndef IFG_HANDLES_QUEUE_H
#define IFG_HANDLES_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "client/event_tap.h"

#define QUEUE_CELLS 32768u

/* Makes its memory, once for good. False: there is none. */
bool queue_prepare(void);

/* Any thread, also in signal handlers. Returns how many events were ever put in, 0: it was full. */
uint64_t queue_put(const struct ifg_tap_event *event);

/* The reader's. False: it is empty. */
bool queue_take(struct ifg_tap_event *out);

/* How many were ever put in, taken, and lost. */
uint64_t queue_put_count(void);
uint64_t queue_taken_count(void);
uint64_t queue_lost(void);

/* In the child of a fork: empty again. */
void queue_reset(void);

#endif
