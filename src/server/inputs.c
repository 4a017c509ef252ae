// SPDX-License-Identifier: Apache-2.0
/* The inputs of an inference that were kept: that there are any, and the file for numpy. */
#include <stdio.h>

#include "export/npz.h"
#include "server/handler.h"
#include "server/routes.h"
#include "server/slices_internal.h"

/* The name under which the page saves them; nothing if there are none. */
void slices_put_inputs(struct ifg_json *json, const struct timeline *timeline, size_t slice)
{
    const struct trace_inputs *inputs = timeline_inputs_of(timeline, slice);
    char name[64];

    if (!inputs)
        return;
    snprintf(name, sizeof name, "inputs-%zu%s", slice, export_inputs_extension(inputs));
    ifg_json_put_string(json, "inputs", name);
}

static void put(const void *data, size_t bytes, void *user)
{
    ifg_bytes_put(user, data, bytes);
}

void serve_inputs(const struct server_request *request, struct server_answer *answer)
{
    const struct trace_inputs *inputs;
    struct ifg_error err = { 0 };
    enum ifg_status status;
    size_t slice;
    uint32_t id;

    if (!request_index(request, "id", false, request->timeline->slice_count, &id, answer))
        return;
    status = export_inputs_choose(request->timeline, id, &inputs, &slice, &err);
    if (!status && export_inputs_bytes(inputs) > SERVER_ANSWER_MAX) {
        answer_error(answer, 422,
                     "these inputs are too large for the page; use 'inferogram export %.300s "
                     "--format npz --event %u'",
                     request->trace->name, id);
        return;
    }
    if (!status)
        status = export_inputs_write(request->timeline, inputs, put, answer_binary(answer), &err);
    if (status)
        answer_status(answer, status, &err);
}
