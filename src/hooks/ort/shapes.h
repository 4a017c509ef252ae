// SPDX-License-Identifier: Apache-2.0
/* The shapes of an inference's inputs, in words: "input:1x512 state:2x1x128". */
#ifndef IFG_HOOKS_ORT_SHAPES_H
#define IFG_HOOKS_ORT_SHAPES_H

#include "hooks/ort/wrap.h"

#define ORT_SHAPE_INPUTS 8u
#define ORT_SHAPE_RANK   8u
#define ORT_SHAPE_TEXT   256u

/* As they were last put into words on this thread. */
struct ort_shapes {
    const struct ort_session_state *session;
    uint64_t hash;
    int64_t batch; /* -1: none */
    char text[ORT_SHAPE_TEXT];
};

/* NULL: inputs that have no shapes. Valid until the next call on this thread. */
const struct ort_shapes *ort_shapes_of_run(struct ort_session_state *session, const ort_text *names,
                                           ort_inputs inputs, size_t count);

/* The same for what is bound; noted down when it was, for the values may be gone since. */
const struct ort_shapes *ort_shapes_of_binding(struct ort_session_state *session,
                                               const struct ort_io_binding *binding);
void ort_shapes_note(struct ort_runtime *rt, const struct ort_io_binding *binding, const char *name,
                     const struct ort_value *value);

#endif
