// SPDX-License-Identifier: Apache-2.0
/*
 * Inputs of an inference (record --capture-inputs) as numpy reads them: one tensor is a .npy file,
 * several are a .npz archive with an entry for each, named as the model names its inputs.
 */
#ifndef IFG_EXPORT_NPZ_H
#define IFG_EXPORT_NPZ_H

#include "timeline/inputs.h"

/* The inputs of this slice; with SIZE_MAX, those of the only inference that has any. The error
 * lists what there is to choose from. */
enum ifg_status export_inputs_choose(const struct timeline *timeline, size_t slice,
                                     const struct trace_inputs **out_inputs, size_t *out_slice,
                                     struct ifg_error *err) IFG_MUST_CHECK;

/* ".npy" or ".npz" */
const char *export_inputs_extension(const struct trace_inputs *inputs);

/* About how many bytes the file has. */
uint64_t export_inputs_bytes(const struct trace_inputs *inputs);

typedef void export_inputs_put(const void *data, size_t bytes, void *user);
enum ifg_status export_inputs_write(const struct timeline *timeline,
                                    const struct trace_inputs *inputs, export_inputs_put *put,
                                    void *user, struct ifg_error *err) IFG_MUST_CHECK;

#endif
