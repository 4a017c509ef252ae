// SPDX-License-Identifier: Apache-2.0
/*
 * The profile of a session's first inferences, for ONNX Runtimes that cannot profile single runs.
 *
 * ONNX Runtime keeps every event in memory until the profile is ended, and every run costs more
 * while it lasts: it is ended after so many runs. The file goes to the recorder, together with the
 * times of the runs on our clock, by which the operators are put where they belong.
 */
#ifndef IFG_HOOKS_ORT_SESSION_PROFILE_H
#define IFG_HOOKS_ORT_SESSION_PROFILE_H

#include "hooks/ort/runtime.h"

/* Switches profiling on in options of ours. NULL: there is no recorder to take the file. */
struct ort_profile *session_profile_create(struct ort_runtime *rt,
                                           struct ort_session_options *ours);

/* For a session that never came to be. */
void session_profile_destroy(struct ort_profile *profile);

/* `nodes` of the model (0 unknown) decide how many runs are worth it. */
void session_profile_start(struct ort_profile *profile, unsigned nodes, ifg_model *model,
                           uint32_t number, struct ort_session *session);

/* The creation of the session, which the profile has the parts of: the recorder writes them. */
struct session_profile_load {
    uint64_t thread;
    uint64_t start, end;
    uint32_t read_location, initialize_location;
    bool is_cold;
};
void session_profile_load(struct ort_profile *profile, const struct session_profile_load *load);

enum session_profile_part {
    PROFILE_OVER,   /* there is no profile any more: do not call session_profile_end */
    PROFILE_EXTRA,  /* the run is profiled, but is more than was wanted */
    PROFILE_WANTED, /* its operators will be in the trace */
};

/* Around each run: ONNX Runtime aborts when a profile ends in the middle of one. `failed`: the run
 * left nothing behind by which it could be found, so the profile ends. */
enum session_profile_part session_profile_begin(struct ort_profile *profile);
void session_profile_end(struct ort_profile *profile, enum session_profile_part part,
                         uint64_t start, uint64_t end, bool failed);

/* Ends it now; nothing happens the second time. The profile's memory stays: runs may look at it. */
void session_profile_finish(struct ort_profile *profile);

#endif
