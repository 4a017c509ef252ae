// SPDX-License-Identifier: Apache-2.0
/*
 * Allocations of a launched program (record --memory): the recorder's side of hooks/memory. A
 * library in the program picks allocations by their bytes and hands each over with a copy of the
 * stack; here they become stacks of frames in the trace. Without --memory none of these does
 * anything. What cannot be had is said in the trace and does not end a recording.
 */
#ifndef IFG_RECORD_ALLOCATED_H
#define IFG_RECORD_ALLOCATED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"

struct session;

/* Before a command is launched: makes the ring and adds the variables that the hook needs. */
enum ifg_status allocated_prepare(struct session *session, struct ifg_error *err) IFG_MUST_CHECK;

/* When the file is open. */
void allocated_begin(struct session *session);

/* Whether there was any. */
bool allocated_work(struct session *session, uint64_t now_ns);

/* Takes the rest and writes what is known of it, before the names of frames are written. */
void allocated_finish(struct session *session);
void allocated_close(struct session *session);

#endif
