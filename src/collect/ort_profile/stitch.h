// SPDX-License-Identifier: Apache-2.0
/*
 * Operators from a session profile, put inside the inferences that we recorded.
 *
 * ONNX Runtime's times are microseconds since its profile began. The k-th model_run of a thread is
 * the k-th Run that our hook saw on that thread, and lies inside it: its operators are shifted by
 * what puts it in the middle, and cut where they would reach out.
 */
#ifndef IFG_COLLECT_ORT_PROFILE_STITCH_H
#define IFG_COLLECT_ORT_PROFILE_STITCH_H

#include "base/status.h"
#include "collect/ort_profile/runs.h"
#include "trace/writer.h"

/* Where the operators go. */
struct stitch_sink {
    void *user;
    /* The stream of a thread of the process, flushed or new; it is used until the next call. NULL:
     * there is none. */
    struct trace_stream *(*stream)(void *user, uint32_t tid);
    /* The number of a location for an operator; 0: there can be no more. */
    uint32_t (*location)(void *user, const char *name, const char *type);
};

struct stitch_result {
    uint64_t written;
    uint64_t lost; /* operators without an inference, and what is beyond a limit */
};

enum ifg_status ort_profile_stitch(const struct ort_runs *runs, const char *json, size_t json_bytes,
                                   double ticks_per_ns, const struct stitch_sink *sink,
                                   struct stitch_result *out_result,
                                   struct ifg_error *err) IFG_MUST_CHECK;

#endif
