// SPDX-License-Identifier: Apache-2.0
/* Looks for inferences whose operators were recorded: see perturbed.h. */
#include "analyze/perturbed.h"

#include <string.h>

#include "base/alloc.h"
#include "trace/keys.h"

#define DEPTHS ((size_t)UINT16_MAX + 1)

void perturbed_fini(struct perturbed *perturbed)
{
    ifg_free(perturbed->marks);
    memset(perturbed, 0, sizeof *perturbed);
}

static bool is_inference(const struct timeline *timeline, size_t slice)
{
    const struct timeline_location *location = &timeline->locations[timeline->location[slice]];

    return location->kind == TRACE_LOCATION_ML && location->category == TRACE_CATEGORY_INFERENCE;
}

static bool is_operator(const struct timeline *timeline, size_t slice)
{
    return timeline->locations[timeline->location[slice]].kind == TRACE_LOCATION_OP;
}

static bool says_ops(const struct timeline_attribute *attribute)
{
    bool number = attribute->type == TRACE_VALUE_SIGNED || attribute->type == TRACE_VALUE_UNSIGNED;

    return number && attribute->unsigned_value && strcmp(attribute->key, TRACE_KEY_OPS) == 0;
}

/* Slices lie by thread and start, a parent before its children: the last one of each smaller depth
 * is an ancestor. */
struct walk {
    size_t *open;      /* by depth */
    bool *is_with_ops; /* by slice: inferences */
};

static void mark_inference(const struct timeline *timeline, struct walk *walk, size_t depth,
                           struct perturbed *out)
{
    while (depth > 0 && !is_inference(timeline, walk->open[depth]))
        depth--;
    if (!is_inference(timeline, walk->open[depth]) || walk->is_with_ops[walk->open[depth]])
        return;
    walk->is_with_ops[walk->open[depth]] = true;
    out->with_ops++;
    for (size_t i = 0; i <= depth; i++)
        out->marks[walk->open[i]] = true;
}

static void find_inferences(const struct timeline *timeline, struct walk *walk,
                            struct perturbed *out)
{
    size_t attribute = 0;

    for (size_t t = 0; t < timeline->thread_count; t++) {
        const struct timeline_thread *thread = &timeline->threads[t];

        for (size_t i = thread->first_slice; i < thread->first_slice + thread->slice_count; i++) {
            bool with_ops = is_operator(timeline, i);

            walk->open[timeline->depth[i]] = i;
            out->inferences += is_inference(timeline, i);
            while (attribute < timeline->attribute_count &&
                   timeline->attributes[attribute].slice < i)
                attribute++;
            for (; attribute < timeline->attribute_count &&
                   timeline->attributes[attribute].slice == i;
                 attribute++)
                with_ops = with_ops || (is_inference(timeline, i) &&
                                        says_ops(&timeline->attributes[attribute]));
            if (with_ops)
                mark_inference(timeline, walk, timeline->depth[i], out);
        }
    }
}

/* What is inside of one of them: while it lasts, each deeper slice. */
static void mark_inside(const struct timeline *timeline, const struct walk *walk,
                        struct perturbed *out)
{
    for (size_t t = 0; t < timeline->thread_count; t++) {
        const struct timeline_thread *thread = &timeline->threads[t];
        size_t inside_of = SIZE_MAX;

        for (size_t i = thread->first_slice; i < thread->first_slice + thread->slice_count; i++) {
            if (inside_of != SIZE_MAX && timeline->depth[i] <= timeline->depth[inside_of])
                inside_of = SIZE_MAX;
            if (inside_of == SIZE_MAX && walk->is_with_ops[i])
                inside_of = i;
            else if (inside_of != SIZE_MAX && !is_operator(timeline, i))
                out->marks[i] = true;
        }
    }
}

enum ifg_status perturbed_find(const struct timeline *timeline, struct perturbed *out_perturbed,
                               struct ifg_error *err)
{
    struct walk walk = { 0 };
    enum ifg_status status = IFG_OK;

    memset(out_perturbed, 0, sizeof *out_perturbed);
    out_perturbed->marks = ifg_alloc(timeline->slice_count + 1, sizeof *out_perturbed->marks);
    walk.open = ifg_alloc(DEPTHS, sizeof *walk.open);
    walk.is_with_ops = ifg_alloc(timeline->slice_count + 1, sizeof *walk.is_with_ops);
    if (out_perturbed->marks && walk.open && walk.is_with_ops) {
        find_inferences(timeline, &walk, out_perturbed);
        if (out_perturbed->with_ops)
            mark_inside(timeline, &walk, out_perturbed);
    } else {
        perturbed_fini(out_perturbed);
        status = ifg_fail_no_memory(err, NULL);
    }
    ifg_free(walk.open);
    ifg_free(walk.is_with_ops);
    return status;
}
