// SPDX-License-Identifier: Apache-2.0
/*
 * What ONNX Runtime says of its own memory (IFG_MEMORY): the arenas that a session's allocators
 * take it from. The C interface tells since 1.23; the numbers are those of ONNX Runtime, counted
 * by itself, so asking costs the same whether a model is large or small.
 *
 * A session is asked after its first two runs, then at most once a second, and before it is
 * released: always on a thread of the program that has just called ONNX Runtime or is about to,
 * never inside of one of its callbacks and never with a lock of ours.
 */
#ifndef IFG_HOOKS_ORT_ARENA_H
#define IFG_HOOKS_ORT_ARENA_H

#include "hooks/ort/runtime.h"

extern bool arena_wanted;

/* A session was made. One for which this is not called is left alone. */
void arena_created(struct ort_session_state *session, const char *model_name,
                   const struct ort_options *asked, bool is_new_model);

/* A run is over, or another begins; returns at once if it is too early to ask again. */
void arena_look(struct ort_session_state *session, struct ort_session *real);

/* Directly before and after the session is released. */
void arena_ending(struct ort_session_state *session, struct ort_session *real);
void arena_ended(struct ort_session_state *session);

#endif
