// SPDX-License-Identifier: Apache-2.0
/* ONNX Runtime's session profile, as far as operators need it: its runs and its nodes. */
#ifndef IFG_COLLECT_ORT_PROFILE_PROFILE_H
#define IFG_COLLECT_ORT_PROFILE_PROFILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/status.h"
#include "base/strings.h"
#include "trace/format.h"

/* A model_run. Times are nanoseconds since the profile began, as exact as ONNX Runtime had them. */
struct profile_run {
    uint64_t start_ns;
    uint64_t end_ns;
    uint32_t tid;
};

/* A node that ran. */
struct profile_op {
    uint64_t start_ns;
    uint64_t end_ns;
    uint32_t tid;
    uint32_t node_name; /* in node_names: the node's name, a NUL, its type */
    size_t attributes;  /* in details */
    uint32_t attribute_count;
};

struct profile {
    struct profile_run *runs;
    size_t run_count;
    struct profile_op *ops;
    size_t op_count;
    struct ifg_strings node_names;
    struct ifg_bytes details;
    struct profile_run reading, initializing; /* of the model; end_ns 0: not told */
    uint64_t refused;                         /* nodes beyond a limit, or without times */
};

/* One attribute; next_at is where the one behind it begins. */
struct profile_attribute {
    const char *key;
    enum trace_value_type type;
    const void *value; /* text, or an int64_t */
    size_t bytes;
    size_t next_at;
};

/* Reads the text of a profile. What is not understood is passed over, as `inferogram import` does.
 * Fails only for lack of memory. */
enum ifg_status profile_read(const char *json, size_t bytes, struct profile *out_profile,
                             struct ifg_error *err) IFG_MUST_CHECK;
void profile_fini(struct profile *profile);

struct profile_attribute profile_attribute_at(const struct profile *profile, size_t at);

#endif
