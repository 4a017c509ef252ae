// SPDX-License-Identifier: Apache-2.0
/*
 * Samples and context switches of what is recorded (record --sample): the recorder's side of
 * collect/perf. Without it none of these does anything. What cannot be had is said in the trace and
 * does not end a recording.
 */
#ifndef IFG_RECORD_SAMPLED_H
#define IFG_RECORD_SAMPLED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct session;

/* launched: pid waits to call exec. */
void sampled_begin(struct session *session, pid_t pid, bool launched);

void sampled_work(struct session *session, uint64_t now_ns);
int sampled_fd(const struct session *session); /* for poll; -1: none */

/* No more samples, and none from outside of what is recorded. */
void sampled_stop(struct session *session);

/* Takes the rest and writes what is known of it. */
void sampled_finish(struct session *session);
void sampled_close(struct session *session);

#endif
