// SPDX-License-Identifier: Apache-2.0
/*
 * The inputs of chosen inferences, for record --capture-inputs. While nobody asked for any, all of
 * it is one look at capture_wanted after a run.
 *
 * Inputs are read when the run is over: only then is it known whether it was the slowest or failed,
 * and they are still what ONNX Runtime read, since the caller must not touch them before Run
 * returns. Where an output lies in the same memory they are not, and are refused.
 */
#ifndef IFG_HOOKS_ORT_CAPTURE_H
#define IFG_HOOKS_ORT_CAPTURE_H

#include "hooks/ort/wrap.h"

extern bool capture_wanted;

/* What a run was called with. Of outputs, those that are there. */
struct capture_given {
    const ort_text *names;
    ort_inputs inputs;
    size_t input_count;
    ort_inputs outputs;
    size_t output_count;
};

void capture_run(struct ort_session_state *session, ifg_zone zone, uint64_t end, bool failed,
                 const struct capture_given *given);
void capture_binding(struct ort_session_state *session, ifg_zone zone, uint64_t end, bool failed,
                     const struct ort_io_binding *binding);

/* An asynchronous run is over: its inputs may be gone, and are never kept. */
void capture_async(struct ort_session_state *session, uint64_t ticks, bool failed);

/* An input was bound: its memory belongs to the binding from now on, even if its value does not. */
void capture_note(struct ort_runtime *rt, const struct ort_io_binding *binding, const char *name,
                  const struct ort_value *value);
void capture_forget(struct ort_binding *noted);

/* Another provider copies what is bound to a device at once: what lies here later is not what it
 * computes with. */
bool capture_is_cpu_only(const struct ort_options *asked);

#endif
