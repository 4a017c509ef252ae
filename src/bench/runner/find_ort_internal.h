// SPDX-License-Identifier: Apache-2.0
/* The search with its surroundings given, so that a test can make some up. */
#ifndef IFG_BENCH_FIND_ORT_INTERNAL_H
#define IFG_BENCH_FIND_ORT_INTERNAL_H

#include "bench/runner/find_ort.h"

struct ort_surroundings {
    const char *root;     /* "" or a folder that stands for / */
    const char *cwd;      /* where the search for node_modules begins */
    const char *ldconfig; /* NULL: the system's */
};

enum ifg_status find_ort_in(const char *named, const struct ort_surroundings *surroundings,
                            struct found_ort *out_found, struct ifg_error *err) IFG_MUST_CHECK;

#endif
