// SPDX-License-Identifier: Apache-2.0
/*
 * From blocks of a trace that still grows to a tally: each ML event is counted once, when its end
 * was written. Keeps no events but for those that are handed out, for a second. Not thread-safe.
 */
#ifndef IFG_METRICS_FEED_H
#define IFG_METRICS_FEED_H

#include "base/status.h"
#include "metrics/spans.h"
#include "metrics/tally.h"

struct metrics_feed;
struct trace_input;

/* Takes the input, also when it fails. program: the label of all events. The tally is the
 * caller's, and outlives the feed. */
enum ifg_status metrics_feed_open(struct trace_input *input, const char *program,
                                  struct tally *tally, struct metrics_feed **out_feed,
                                  struct ifg_error *err) IFG_MUST_CHECK;
void metrics_feed_close(struct metrics_feed *feed); /* accepts NULL */

/* From now on ML events go into the ring as well, SPANS_PER_SECOND at most, a second after they
 * were read: whether one has failed may stand behind it. false: not enough memory. */
bool metrics_feed_hand_out(struct metrics_feed *feed, struct span_ring *ring);

/* Counts and hands out what is held back: the end. */
void metrics_feed_flush(struct metrics_feed *feed);

/* Takes what is new, but not too much at once: true if there is more. Never waits. */
bool metrics_feed_step(struct metrics_feed *feed);

#endif
