// SPDX-License-Identifier: Apache-2.0
/*
 * Operators of every Nth inference (IFG_OPS=N).
 *
 * ONNX Runtime 1.25 and later profiles single runs: the observer (observer.h), an execution
 * provider that takes no node, gets every event as it happens. Older ones can only profile a
 * session from its beginning; its first inferences are, and the recorder reads the file that comes
 * out.
 */
#ifndef IFG_HOOKS_ORT_OPS_H
#define IFG_HOOKS_ORT_OPS_H

#include "hooks/ort/runtime.h"

/* A run whose operators are recorded. */
struct ops_run {
    bool active; /* ops_end has to be called */
    int part;    /* enum session_profile_part, where there is a session profile */
    struct ort_session_state *session;
    struct ort_session *real;
    struct ort_run_options *own_options;           /* ours, in place of the program's */
    const struct ort_run_options *program_options; /* NULL: it gave none */
};

extern uint32_t ops_every; /* 0: not wanted */

static inline bool ops_wanted(const struct ort_session_state *session)
{
    return ops_every && (session->observed || session->profile) && !ifg_is_confined();
}

/* May replace *options. */
void ops_begin(struct ort_session_state *session, struct ort_session *real,
               const struct ort_run_options **options, struct ops_run *out);
void ops_end(struct ops_run *run, ifg_zone inference, uint64_t end, bool failed);

/* Changes our copy of the options of a session that is about to be created. `*out_how` is how
 * operators will be had (NULL: not at all), `*out_profile` is set if a session profile will be
 * written. True: the observer is in it. */
bool ops_prepare(struct ort_runtime *rt, const struct ort_env *env, const struct ort_options *asked,
                 struct ort_session_options *ours, const char **out_how,
                 struct ort_profile **out_profile);

/* The session that belongs to ops_prepare's profile; NULL: it could not be created. */
void ops_created(struct ort_profile *profile, unsigned nodes, struct ort_session_state *session,
                 struct ort_session *real);

/* The session goes away: its profile, if there is one, is finished first. */
void ops_release(struct ort_session_state *session);

#endif
