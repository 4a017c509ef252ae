// SPDX-License-Identifier: Apache-2.0
/* See capture.h. From OrtValues to what client/capture.h takes. */
#include "hooks/ort/capture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/capture.h"

#define CPU        "Cpu"
#define BOUND_MAX  64u
#define BOUND_NAME 128u

bool capture_wanted;

struct tensor {
    int64_t dims[IFG_CAPTURE_RANK];
    uint32_t rank;
    uint32_t type;
    void *data;
    uint64_t bytes;
};

struct bound_input {
    char name[BOUND_NAME];
    struct tensor tensor;
    int refusal; /* why it cannot be kept; -1: it can */
};

struct capture_bound {
    unsigned count;
    bool more; /* than there is room for */
    struct bound_input inputs[BOUND_MAX];
};

__attribute__((constructor)) static void look(void)
{
    capture_wanted = ifg_capture_open() != 0;
}

bool capture_is_cpu_only(const struct ort_options *asked)
{
    if (!asked || asked->unknown || asked->policy != -1)
        return false;
    for (unsigned i = 0; i < asked->provider_count; i++)
        if (strcmp(asked->providers[i], ORT_CPU) != 0)
            return false;
    return true;
}

/* ---- values ---- */

/* Memory that cannot be told apart from a device's is taken for one. */
static bool is_in_cpu_memory(const struct ort_runtime *rt, const struct ort_value *value)
{
    const struct ort_memory_info *info = NULL;
    const char *name = NULL;

    return ort_has(rt, ORT_GetTensorMemoryInfo) &&
           ort_ok(rt, ORT_FN(rt, GetTensorMemoryInfo, const struct ort_value *,
                             const struct ort_memory_info **)(value, &info)) &&
           ort_ok(rt, ORT_FN(rt, MemoryInfoGetName, const struct ort_memory_info *,
                             const char **)(info, &name)) &&
           name && strcmp(name, CPU) == 0;
}

static bool read_shape(const struct ort_runtime *rt, const struct ort_value *value,
                       struct tensor *out)
{
    struct ort_shape_info *info = NULL;
    size_t rank = 0;
    int type = 0;
    bool good;

    if (!ort_ok(rt, ORT_FN(rt, GetTensorTypeAndShape, const struct ort_value *,
                           struct ort_shape_info **)(value, &info)))
        return false;
    good = ort_ok(rt, ORT_FN(rt, GetTensorElementType, const struct ort_shape_info *,
                             int *)(info, &type)) &&
           ort_ok(rt, ORT_FN(rt, GetDimensionsCount, const struct ort_shape_info *,
                             size_t *)(info, &rank)) &&
           rank <= IFG_CAPTURE_RANK;
    if (good && rank)
        good = ort_ok(rt, ORT_FN(rt, GetDimensions, const struct ort_shape_info *, int64_t *,
                                 size_t)(info, out->dims, rank));
    ORT_VOID(rt, ReleaseTensorTypeAndShapeInfo)(info);
    out->rank = (uint32_t)rank;
    out->type = (uint32_t)type;
    return good;
}

/* -1, or why it cannot be kept. */
static int read_value(const struct ort_runtime *rt, const struct ort_value *value,
                      struct tensor *out)
{
    int is_tensor = 0;
    int is_bad;

    memset(out, 0, sizeof *out);
    if (!value ||
        !ort_ok(rt, ORT_FN(rt, IsTensor, const struct ort_value *, int *)(value, &is_tensor)) ||
        !is_tensor || !read_shape(rt, value, out))
        return IFG_CAPTURE_TYPE;
    out->bytes = ifg_capture_bytes(out->type, out->dims, out->rank, &is_bad);
    if (is_bad)
        return IFG_CAPTURE_TYPE;
    if (!is_in_cpu_memory(rt, value))
        return IFG_CAPTURE_DEVICE;
    if (!ort_ok(rt, ORT_FN(rt, GetTensorMutableData, const struct ort_value *,
                           void **)(value, &out->data)))
        return IFG_CAPTURE_TYPE;
    return -1;
}

static bool overlap(const struct tensor *a, const struct tensor *b)
{
    uintptr_t left = (uintptr_t)a->data;
    uintptr_t right = (uintptr_t)b->data;

    return a->bytes && b->bytes && left < right + b->bytes && right < left + a->bytes;
}

static bool is_overwritten(const struct ort_runtime *rt, const struct tensor *inputs, size_t count,
                           ort_inputs outputs, size_t output_count)
{
    struct tensor output;

    for (size_t o = 0; o < output_count; o++) {
        if (!outputs[o] || read_value(rt, outputs[o], &output) >= 0)
            continue;
        for (size_t i = 0; i < count; i++)
            if (overlap(&inputs[i], &output))
                return true;
    }
    return false;
}

/* ---- runs ---- */

static void put(struct ort_session_state *session, ifg_zone zone, uint64_t end, bool failed,
                const ort_text *names, const struct tensor *inputs, size_t count)
{
    struct ifg_capture_tensor *tensors = calloc(count ? count : 1, sizeof *tensors);

    if (!tensors) {
        ifg_capture_refuse(IFG_CAPTURE_UNWRITTEN);
        return;
    }
    for (size_t i = 0; i < count; i++)
        tensors[i] = (struct ifg_capture_tensor){ .name = names[i] ? names[i] : "",
                                                  .data = inputs[i].data,
                                                  .dims = inputs[i].dims,
                                                  .rank = inputs[i].rank,
                                                  .type = inputs[i].type };
    /* On the timeline, so that nobody takes this for time of the program's own. */
    IFG_BEGIN(copying, "inferogram: inputs kept");
    ifg_capture_put(session->model, zone.location, zone.start, end - zone.start, failed, tensors,
                    count);
    IFG_END(copying);
    free(tensors);
}

void capture_run(struct ort_session_state *session, ifg_zone zone, uint64_t end, bool failed,
                 const struct capture_given *given)
{
    struct tensor *inputs;
    int refusal = -1;

    if (!ifg_capture_wants(session->model, end - zone.start, failed))
        return;
    if (!given->names || !given->inputs || given->input_count > IFG_CAPTURE_TENSORS) {
        ifg_capture_refuse(IFG_CAPTURE_TOO_MANY);
        return;
    }
    inputs = calloc(given->input_count ? given->input_count : 1, sizeof *inputs);
    if (!inputs)
        refusal = IFG_CAPTURE_UNWRITTEN;
    for (size_t i = 0; refusal < 0 && i < given->input_count; i++)
        refusal = read_value(session->rt, given->inputs[i], &inputs[i]);
    if (refusal < 0 && given->outputs &&
        is_overwritten(session->rt, inputs, given->input_count, given->outputs,
                       given->output_count))
        refusal = IFG_CAPTURE_OVERWRITTEN;
    if (refusal < 0)
        put(session, zone, end, failed, given->names, inputs, given->input_count);
    else
        ifg_capture_refuse(refusal);
    free(inputs);
}

void capture_async(struct ort_session_state *session, uint64_t ticks, bool failed)
{
    if (ifg_capture_wants(session->model, ticks, failed))
        ifg_capture_refuse(IFG_CAPTURE_ASYNC);
}

/* ---- bindings ---- */

void capture_forget(struct ort_binding *noted)
{
    if (noted->kept)
        noted->kept->count = noted->kept->more = 0;
}

void capture_note(struct ort_runtime *rt, const struct ort_io_binding *binding, const char *name,
                  const struct ort_value *value)
{
    struct ort_binding *noted = ort_map_find(&ort_bindings, binding);
    struct capture_bound *kept;
    unsigned at;

    if (!noted || !name)
        return;
    if (!noted->kept)
        noted->kept = calloc(1, sizeof *noted->kept);
    kept = noted->kept;
    if (!kept)
        return;
    for (at = 0; at < kept->count; at++)
        if (strcmp(kept->inputs[at].name, name) == 0)
            break;
    if (at == BOUND_MAX || strlen(name) >= BOUND_NAME) {
        kept->more = true;
        return;
    }
    if (at == kept->count)
        kept->count++;
    snprintf(kept->inputs[at].name, BOUND_NAME, "%s", name);
    kept->inputs[at].refusal = read_value(rt, value, &kept->inputs[at].tensor);
}

/* Outputs that the binding made for itself are nobody's input. Those that the program bound may be:
 * they are asked for, since what was bound to a device may have moved. */
static bool bound_is_overwritten(const struct ort_runtime *rt, const struct ort_io_binding *binding,
                                 const struct tensor *inputs, size_t count)
{
    struct ort_allocator *allocator = NULL;
    struct ort_value **outputs = NULL;
    size_t output_count = 0;
    bool found;

    if (!ort_ok(rt,
                ORT_FN(rt, GetAllocatorWithDefaultOptions, struct ort_allocator **)(&allocator)) ||
        !ort_ok(rt, ORT_FN(rt, GetBoundOutputValues, const struct ort_io_binding *,
                           struct ort_allocator *, struct ort_value ***,
                           size_t *)(binding, allocator, &outputs, &output_count)))
        return true;
    found = is_overwritten(rt, inputs, count, (ort_inputs)outputs, output_count);
    for (size_t i = 0; i < output_count; i++)
        ORT_VOID(rt, ReleaseValue)(outputs[i]);
    if (outputs)
        ort_ok(rt, ORT_FN(rt, AllocatorFree, struct ort_allocator *, void *)(allocator, outputs));
    return found;
}

void capture_binding(struct ort_session_state *session, ifg_zone zone, uint64_t end, bool failed,
                     const struct ort_io_binding *binding)
{
    const struct ort_binding *noted = ort_map_find(&ort_bindings, binding);
    const struct capture_bound *kept = noted ? noted->kept : NULL;
    struct tensor inputs[BOUND_MAX];
    ort_text names[BOUND_MAX];
    int refusal = -1;

    if (!ifg_capture_wants(session->model, end - zone.start, failed))
        return;
    if (!kept || !session->cpu_only)
        refusal = IFG_CAPTURE_DEVICE;
    else if (kept->more)
        refusal = IFG_CAPTURE_TOO_MANY;
    for (unsigned i = 0; refusal < 0 && i < kept->count; i++) {
        refusal = kept->inputs[i].refusal;
        inputs[i] = kept->inputs[i].tensor;
        names[i] = kept->inputs[i].name;
    }
    if (refusal < 0 && bound_is_overwritten(session->rt, binding, inputs, kept->count))
        refusal = IFG_CAPTURE_OVERWRITTEN;
    if (refusal < 0)
        put(session, zone, end, failed, names, inputs, kept->count);
    else
        ifg_capture_refuse(refusal);
}
