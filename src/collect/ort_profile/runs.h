// SPDX-License-Identifier: Apache-2.0
/*
 * What a hook hands over with a session profile: where ONNX Runtime's file is, and when, on our
 * clock, each profiled Run began and ended.
 *
 *     inferogram ort-profile 1
 *     profile PATH
 *     session N
 *     run TID START END          once for each, in the order of their starts
 */
#ifndef IFG_COLLECT_ORT_PROFILE_RUNS_H
#define IFG_COLLECT_ORT_PROFILE_RUNS_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct ort_run {
    uint64_t start;
    uint64_t end;
    uint32_t tid;
};

struct ort_runs {
    char profile[1024];
    uint64_t session;
    struct ort_run *items;
    size_t count;
};

/* IFG_CORRUPT if it is no such text; the runs are then none. */
enum ifg_status ort_runs_parse(const char *text, size_t bytes, struct ort_runs *out_runs,
                               struct ifg_error *err) IFG_MUST_CHECK;
void ort_runs_fini(struct ort_runs *runs);

#endif
