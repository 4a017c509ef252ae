// SPDX-License-Identifier: Apache-2.0
/* What devices did for each model: sums and medians over its inferences, and its kernels. */
#ifndef IFG_ANALYZE_DEVICE_USE_H
#define IFG_ANALYZE_DEVICE_USE_H

#include "analyze/device_kernels.h"
#include "analyze/device_time.h"
#include "analyze/findings/input.h"

#define DEVICE_USE_KERNELS 16u /* models whose kernels are counted, the first that have any */

/* Of the same inferences as the model's timing: without failed ones, and, where there are enough
 * others, without those whose operators were recorded. NAN where there are none. */
struct device_model {
    struct device_time sum;
    struct device_time steady;   /* of these, those that took at most twice the median span */
    struct device_time with_ops; /* inferences whose operators are in the trace, counted or not */
    double host_median_ns;       /* of one inference, as the others */
    double span_median_ns;
    double busy_median_ns;
    double idle_median_ns;
    double wait_median_ns;
    double launch_gap_median_ns;
    struct device_kernels *kernels; /* of all of its work; NULL: it has none */
};

#define DEVICE_USE_LEVELS 64u

/* A counter of a device: memory that a process has there, or that a pool of it has. */
struct device_level {
    const char *name; /* "gpu 0 allocated bytes" */
    uint32_t process;
    double peak;
    uint64_t peak_ns; /* when it was first there */
    double last;      /* NAN: not known at the end */
};

struct device_use {
    struct device_times *times;
    struct device_model *models; /* as ml_input.models */
    size_t model_count;
    uint64_t works;             /* kernels, copies and the like, without waits and memory */
    uint64_t without_call;      /* of these: launched before the recording, so nobody's */
    uint64_t too_early;         /* seem to begin before they were launched, */
    uint64_t early_ns;          /* by that much at most: clocks are off */
    uint64_t without_inference; /* launched outside of inferences */
    const char *names[4];       /* of devices, different ones */
    size_t name_count;
    size_t device_count;
    size_t stream_count;
    struct device_level levels[DEVICE_USE_LEVELS]; /* as they came; more are not told */
    size_t level_count;
    const char *note; /* what was said of the recording while it went on; "" */
};

/* Takes *times over, and leaves NULL; without them *out_use is NULL: nothing was recorded. */
enum ifg_status device_use_create(const struct ml_input *input, struct device_times **times,
                                  struct device_use **out_use,
                                  struct ifg_error *err) IFG_MUST_CHECK;
void device_use_destroy(struct device_use *use); /* accepts NULL */

/* Of one model; NULL: no device did anything for its inferences. */
const struct device_model *device_model_of(const struct ml_input *input,
                                           const struct ml_model *model);

/* What the device did for a mean inference, and what the host did while it was idle; or "". */
const char *device_model_words(const struct device_model *model, char *out, size_t size);
const char *device_idle_words(const struct device_model *model, char *out, size_t size);

#endif
