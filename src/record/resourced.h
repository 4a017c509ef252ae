// SPDX-License-Identifier: Apache-2.0
/*
 * What the machine and the recorded processes use (record --resources), and their resident memory
 * every 10 ms (--memory): the recorder's side of collect/proc. A thread of its own looks, because a
 * driver or a large process may take its time, and another one at resident memory; the loop only
 * takes over what they found. Without both options none of these does anything.
 *
 * Values become counters of a process "system" (pid 0), and of the recorded processes, each on a
 * thread "resources" (tid 0) that no system has.
 */
#ifndef IFG_RECORD_RESOURCED_H
#define IFG_RECORD_RESOURCED_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct session;

/* When the file is open, before any process is told of; then when the recording begins. */
void resourced_open(struct session *session);
void resourced_begin(struct session *session);

/* All processes of the recording, as they are now. */
void resourced_look(struct session *session, const pid_t *pids, size_t count);

/* A process was defined by somebody else, with this index and clock: its counters belong there. */
void resourced_know(struct session *session, pid_t pid, uint32_t process, uint32_t clock);

/* The command has ended and was not waited for yet. */
void resourced_ended(struct session *session, pid_t pid);

void resourced_work(struct session *session, uint64_t now_ns);

/* Takes a last look and writes the rest. */
void resourced_finish(struct session *session);
void resourced_close(struct session *session);

#endif
