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

/* Around each run. False: it is not one of them any more. */
bool session_profile_begin(struct ort_profile *profile);
void session_profile_end(struct ort_profile *profile, uint64_t start, uint64_t end);

/* Ends it now; nothing happens the second time. The profile's memory stays: runs may look at it. */
void session_profile_finish(struct ort_profile *profile);

#endif
