// SPDX-License-Identifier: Apache-2.0
/* The observer: an execution provider that takes no node and is told about all of them. */
#ifndef IFG_HOOKS_ORT_OBSERVER_H
#define IFG_HOOKS_ORT_OBSERVER_H

#include "hooks/ort/runtime.h"

#define OBSERVER_NAME "InferogramObserver"

/* 1.25: run-level profiling, and the profiler of a provider library. */
#define OBSERVER_OLDEST 25

/* Registers the observer with the environment, once, and appends it to `ours`. False: it could not,
 * and `ours` is unchanged. */
bool observer_append(struct ort_runtime *rt, const struct ort_env *env,
                     struct ort_session_options *ours);

/* Whose operators the calling thread runs from now on; NULL: nobody's, they are not recorded. */
__attribute__((visibility("default"))) void ifg_ort_observe(ifg_model *model);

/* Switches profiling on in run options, through the interface of the ONNX Runtime that registered
 * the observer last: for bindings that have no way to do so. 0: done. */
__attribute__((visibility("default"))) int ifg_ort_profile_run(struct ort_run_options *options,
                                                               const char *prefix);

/* What ONNX Runtime looks for in the library of a provider. */
struct ort_ep_factory;
__attribute__((visibility("default"))) struct ort_status *
CreateEpFactories(const char *registration_name, const struct ort_base *base, const void *logger,
                  struct ort_ep_factory **factories, size_t max_factories, size_t *out_count);
__attribute__((visibility("default"))) struct ort_status *
ReleaseEpFactory(struct ort_ep_factory *factory);

#endif
