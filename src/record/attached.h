// SPDX-License-Identifier: Apache-2.0
/*
 * Runtimes in processes that do not have our hooks, watched from outside: which processes that
 * concerns, when they are looked at, and what is said if it cannot be done.
 */
#ifndef IFG_RECORD_ATTACHED_H
#define IFG_RECORD_ATTACHED_H

#include "collect/ort_attach/attach.h"
#include "record/process.h"

struct session;

/* Sets probes in the runtimes that the process has now. IFG_OK also if it has none, or if they
 * cannot be had: out_sight tells. With --hook none or preload nothing is looked at. */
enum ifg_status attached_begin(struct session *session, pid_t pid,
                               struct ort_attach_sight *out_sight,
                               struct ifg_error *err) IFG_MUST_CHECK;

/* From here on events are written. */
void attached_write(struct session *session, pid_t only);

/* Why there is nothing to be recorded in a process that does not carry the library. `region` is
 * what was found out about that, and its sentence. */
enum ifg_status attached_explain(const struct session *session, const struct process_info *info,
                                 const struct ort_attach_sight *sight, enum ifg_status region,
                                 const struct ifg_error *region_error, struct ifg_error *err);

/* Looks at the processes of the recording for runtimes that came later. */
void attached_look(struct session *session, const pid_t *pids, size_t count);

/* Learns of libraries the moment they are mapped, where the kernel tells. */
void attached_watch_maps(struct session *session);
void attached_take_maps(struct session *session);

/* What the instruments say of Python programs, which cannot be watched in this way. */
void attached_report(struct session *session);

/* Whether a process has a runtime that probes could be set in. */
bool attached_has_runtime(pid_t pid);

/* Watches the children of a process that runs already, and theirs; true if any has something. */
bool attached_descendants(struct session *session, pid_t root);

#endif
