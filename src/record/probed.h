// SPDX-License-Identifier: Apache-2.0
/*
 * Processes that are followed by descriptions (record --probe): the recorder's side of
 * collect/probe_file. Without descriptions none of these does anything.
 */
#ifndef IFG_RECORD_PROBED_H
#define IFG_RECORD_PROBED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"
#include "record/session.h"

struct session;
struct sink;

/* Whether probes can be set at all, asked before a program runs or a file is replaced for it. */
enum ifg_status probed_open(struct session *session, struct ifg_error *err) IFG_MUST_CHECK;

/* A process of the recording. It may not have any of the libraries yet. */
enum ifg_status probed_follow(struct session *session, pid_t pid,
                              struct ifg_error *err) IFG_MUST_CHECK;

/* From here on events are written. */
void probed_begin(struct session *session, struct sink *sink);

/* All processes of the recording, as they are now. */
void probed_look(struct session *session, const pid_t *pids, size_t count);

bool probed_work(struct session *session, uint64_t now_ns); /* true if anything was seen */
int probed_fd(const struct session *session);               /* for poll; -1: none */
void probed_count(const struct session *session, struct session_progress *progress); /* adds */

void probed_until(struct session *session, uint64_t until_ns); /* nothing that comes later */

/* Takes the probes out and writes the rest. */
void probed_finish(struct session *session);
void probed_close(struct session *session);

#endif
