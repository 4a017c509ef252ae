// SPDX-License-Identifier: Apache-2.0
/*
 * What a hook hands over with a session profile: where ONNX Runtime's file is, and when, on our
 * clock, each profiled Run began and ended.
 *
 *     inferogram ort-profile 1
 *     profile PATH
 *     session N
 *     load TID START END READ INITIALIZE COLD
 *     run TID START END          once for each, in the order of their starts
 *
 * load is there for a session whose creation was profiled as well: when it was, the locations of
 * its parts, and 1 if the second is a specialization.
 */
#ifndef IFG_COLLECT_ORT_PROFILE_RUNS_H
#define IFG_COLLECT_ORT_PROFILE_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct ort_run {
    uint64_t start;
    uint64_t end;
    uint32_t tid;
};

/* The creation of the session. */
struct ort_load {
    struct ort_run span; /* end 0: not told */
    uint32_t read_location;
    uint32_t initialize_location;
    bool is_cold;
};

struct ort_runs {
    char profile[1024];
    uint64_t session;
    struct ort_load load;
    struct ort_run *items;
    size_t count;
};

/* IFG_CORRUPT if it is no such text; the runs are then none. */
enum ifg_status ort_runs_parse(const char *text, size_t bytes, struct ort_runs *out_runs,
                               struct ifg_error *err) IFG_MUST_CHECK;
void ort_runs_fini(struct ort_runs *runs);

#endif
