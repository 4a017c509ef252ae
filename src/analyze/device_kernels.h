// SPDX-License-Identifier: Apache-2.0
/* Work of devices by name: kernels, and copies and sets by what they are. */
#ifndef IFG_ANALYZE_DEVICE_KERNELS_H
#define IFG_ANALYZE_DEVICE_KERNELS_H

#include "analyze/stats.h"
#include "timeline/device.h"

/* Zero means: no restriction. */
struct device_kernels_options {
    enum ifg_quantile_rule percentile;
    uint64_t from_ns; /* what begins in [from, to), in ns since the trace's begin */
    uint64_t to_ns;
    const char *model;                      /* by name: several may have it */
    const struct timeline_model *one_model; /* of the timeline */
    const char *op;                         /* name or type of the operator that asked for it */
    const char *thread; /* the stream's name, or the tid or name of the thread that asked for it */
    bool (*name_matches)(const char *name, void *user);
    void *user;
};

struct device_kernel {
    const char *name; /* belongs to the timeline */
    enum timeline_work kind;
    uint32_t location; /* the first one of that name */
    size_t longest;    /* slice */
    uint64_t count;
    uint64_t total_ns;
    double mean_ns;
    double sd_ns;
    uint64_t min_ns;
    uint64_t max_ns;
    double percentile_ns[STATS_PERCENTILES];
    double share;           /* total / busy_ns; overlapping work adds up, so it may exceed 1 */
    double queue_median_ns; /* from the end of the call to the start; NAN: no call was seen */
    uint64_t bytes;         /* of all; UINT64_MAX: not known */
};

struct device_kernels {
    struct device_kernel *rows; /* longest total first */
    size_t row_count;
    uint64_t busy_ns; /* union of what is counted, device by device */
};

enum ifg_status device_kernels_create(const struct timeline *timeline,
                                      const struct device_kernels_options *options,
                                      struct device_kernels **out_kernels,
                                      struct ifg_error *err) IFG_MUST_CHECK;
void device_kernels_destroy(struct device_kernels *kernels); /* accepts NULL */

#endif
