// SPDX-License-Identifier: Apache-2.0
/* See shapes.h. Looking at shapes is most of what a hook costs: they are put into words once, and
 * found again by their hash. */
#include "hooks/ort/shapes.h"

#include <stdio.h>
#include <string.h>

#include "hooks/ort/identity.h"
#include "ort_abi/content.h"

#define CACHED 4u

struct dimensions {
    size_t rank;
    int64_t size[ORT_SHAPE_RANK];
};

static __thread struct {
    struct ort_shapes entries[CACHED];
    unsigned next;
} cache;

/* Before 1.24 there is no way to look at a shape without making a copy of it. */
static bool copy_shape(const struct ort_runtime *rt, const struct ort_value *value,
                       struct dimensions *out)
{
    struct ort_shape_info *info = NULL;
    bool good;

    if (!ort_ok(rt, ORT_FN(rt, GetTensorTypeAndShape, const struct ort_value *,
                           struct ort_shape_info **)(value, &info)))
        return false;
    good = ort_ok(rt, ORT_FN(rt, GetDimensionsCount, const struct ort_shape_info *,
                             size_t *)(info, &out->rank));
    if (good && out->rank > ORT_SHAPE_RANK)
        out->rank = ORT_SHAPE_RANK;
    if (good && out->rank)
        good = ort_ok(rt, ORT_FN(rt, GetDimensions, const struct ort_shape_info *, int64_t *,
                                 size_t)(info, out->size, out->rank));
    ORT_VOID(rt, ReleaseTensorTypeAndShapeInfo)(info);
    return good;
}

static bool shape_of(const struct ort_runtime *rt, const struct ort_value *value,
                     struct dimensions *out)
{
    const int64_t *sizes = NULL;
    int type;

    if (!value)
        return false;
    if (!ort_has(rt, ORT_GetShapeReference))
        return copy_shape(rt, value, out);
    if (!ort_ok(rt, ORT_FN(rt, GetShapeReference, const struct ort_value *, int *, const int64_t **,
                           size_t *)(value, &type, &sizes, &out->rank)))
        return false;
    if (out->rank > ORT_SHAPE_RANK)
        out->rank = ORT_SHAPE_RANK;
    if (out->rank)
        memcpy(out->size, sizes, out->rank * sizeof *sizes);
    return true;
}

static void describe(const ort_text *names, const struct dimensions *shapes, size_t count,
                     char *out, size_t size)
{
    size_t at = 0;

    out[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        at += (size_t)snprintf(out + at, size - at, "%s%.64s:", i ? " " : "",
                               names && names[i] ? names[i] : "?");
        if (at >= size)
            return;
        if (!shapes[i].rank)
            at += (size_t)snprintf(out + at, size - at, "scalar");
        for (size_t k = 0; k < shapes[i].rank && at < size; k++)
            at += (size_t)snprintf(out + at, size - at, "%s%lld", k ? "x" : "",
                                   (long long)shapes[i].size[k]);
        if (at >= size)
            return;
    }
}

static const struct ort_shapes *in_words(const struct ort_session_state *session,
                                         const ort_text *names, const struct dimensions *shapes,
                                         size_t count)
{
    struct ort_shapes *entry;
    uint64_t hash = count;

    for (size_t i = 0; i < count; i++) {
        hash = ort_content_mix(hash, shapes[i].size, shapes[i].rank * sizeof *shapes[i].size);
        if (names && names[i])
            hash = ort_content_mix(hash, names[i], strnlen(names[i], 64));
    }
    for (unsigned i = 0; i < CACHED; i++) {
        entry = &cache.entries[i];
        if (entry->session == session && entry->hash == hash)
            return entry;
    }
    entry = &cache.entries[cache.next++ % CACHED];
    entry->session = session;
    entry->hash = hash;
    entry->batch = shapes[0].rank ? shapes[0].size[0] : -1;
    describe(names, shapes, count, entry->text, sizeof entry->text);
    return entry;
}

const struct ort_shapes *ort_shapes_of_run(struct ort_session_state *session, const ort_text *names,
                                           ort_inputs inputs, size_t count)
{
    struct dimensions shapes[ORT_SHAPE_INPUTS];

    if (!inputs || !count || __atomic_load_n(&session->no_shapes, __ATOMIC_RELAXED))
        return NULL;
    if (count > ORT_SHAPE_INPUTS)
        count = ORT_SHAPE_INPUTS;
    for (size_t i = 0; i < count; i++)
        if (!shape_of(session->rt, inputs[i], &shapes[i])) {
            __atomic_store_n(&session->no_shapes, 1, __ATOMIC_RELAXED);
            return NULL;
        }
    return in_words(session, names, shapes, count);
}

/* ---- bindings ---- */

void ort_shapes_note(struct ort_runtime *rt, const struct ort_io_binding *binding, const char *name,
                     const struct ort_value *value)
{
    struct ort_binding *noted = ort_map_find(&ort_bindings, binding);
    struct dimensions shape;
    unsigned at;

    if (!noted || !name || !shape_of(rt, value, &shape))
        return;
    for (at = 0; at < noted->count; at++)
        if (strncmp(noted->names[at], name, sizeof noted->names[at] - 1) == 0)
            break;
    if (at == ORT_BOUND_INPUTS)
        return;
    if (at == noted->count)
        noted->count++;
    snprintf(noted->names[at], sizeof noted->names[at], "%s", name);
    noted->ranks[at] = shape.rank;
    memcpy(noted->sizes[at], shape.size, sizeof noted->sizes[at]);
}

const struct ort_shapes *ort_shapes_of_binding(struct ort_session_state *session,
                                               const struct ort_io_binding *binding)
{
    const struct ort_binding *noted = ort_map_find(&ort_bindings, binding);
    struct dimensions shapes[ORT_BOUND_INPUTS];
    ort_text names[ORT_BOUND_INPUTS];

    if (!noted || !noted->count)
        return NULL;
    for (unsigned i = 0; i < noted->count; i++) {
        names[i] = noted->names[i];
        shapes[i].rank = noted->ranks[i];
        memcpy(shapes[i].size, noted->sizes[i], sizeof noted->sizes[i]);
    }
    return in_words(session, names, shapes, noted->count);
}
