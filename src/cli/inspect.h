// SPDX-License-Identifier: Apache-2.0
/* The two faces of `inferogram inspect`: a page for people, a document for scripts. */
#ifndef IFG_CLI_INSPECT_H
#define IFG_CLI_INSPECT_H

#include "base/bytes.h"
#include "onnx/onnx.h"

#define INSPECT_DIMS_MAX 64u

struct inspect_request {
    const char *path;
    bool json;
    size_t layers; /* SIZE_MAX: all */
    struct onnx_dim dims[INSPECT_DIMS_MAX];
    size_t dim_count;
    const struct onnx_model *model;
};

#define INSPECT_OPTIONS 480u

/* How many dimensions of the inputs have no size, and the options that would give some of them one:
 * "--dim batch=N --dim width=N". */
size_t inspect_free_dims(const struct inspect_request *request, char *out, size_t size);
/* Why the sums of costs say nothing; NULL if they do. */
const char *inspect_no_costs(const struct inspect_request *request, char *out, size_t size);

void inspect_write_text(const struct inspect_request *request, struct ifg_bytes *out);
void inspect_write_json(const struct inspect_request *request, struct ifg_bytes *out);

#endif
