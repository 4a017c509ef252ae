// SPDX-License-Identifier: Apache-2.0
/* Finding the slices that inputs belong to: see inputs.h. */
#include "timeline/inputs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/array.h"
#include "timeline/timeline_internal.h"

struct timeline_kept_inputs {
    struct timeline_inputs view;
    struct trace_input_list list;
    struct timeline_input *items;
    size_t room;
};

/* The slice of this thread that begins then, at this location; SIZE_MAX: there is none. */
static size_t find_in(const struct timeline *timeline, const struct timeline_thread *thread,
                      uint64_t start_ns, uint32_t location)
{
    size_t low = thread->first_slice;
    size_t end = low + thread->slice_count;
    size_t high = end;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (timeline->start_ns[middle] < start_ns)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < end && timeline->start_ns[low] == start_ns; low++)
        if (timeline->location[low] == location)
            return low;
    return SIZE_MAX;
}

/* A thread has another number in its own pid namespace: the one of that number is only the first
 * to be asked. */
static size_t find_slice(const struct timeline_builder *builder, const struct trace_inputs *inputs)
{
    const struct timeline *timeline = &builder->timeline;
    uint32_t location = inputs->process < timeline->process_count
                            ? timeline_builder_location(builder, inputs->process, inputs->location)
                            : TIMELINE_NONE;

    for (int own = 1; own >= 0 && location != TIMELINE_NONE; own--)
        for (uint32_t t = 0; t < timeline->thread_count; t++) {
            const struct timeline_thread *thread = &timeline->threads[t];
            size_t slice;

            if (thread->process != inputs->process || (thread->tid == inputs->tid) != own)
                continue;
            slice = find_in(timeline, thread,
                            trace_clock_to_ns(timeline->reader, timeline_builder_clock(builder, t),
                                              inputs->start),
                            location);
            if (slice != SIZE_MAX)
                return slice;
        }
    return SIZE_MAX;
}

static int by_slice(const void *left, const void *right)
{
    const struct timeline_input *a = left;
    const struct timeline_input *b = right;

    if (a->slice != b->slice)
        return a->slice < b->slice ? -1 : 1;
    if (a->inputs->number != b->inputs->number)
        return a->inputs->number < b->inputs->number ? -1 : 1;
    return a->position < b->position ? -1 : a->position > b->position;
}

static bool add(struct timeline_kept_inputs *kept, const struct timeline_builder *builder,
                const struct trace_inputs *inputs)
{
    size_t slice = find_slice(builder, inputs);

    kept->view.inferences += slice != SIZE_MAX;
    for (size_t i = 0; i < inputs->tensor_count; i++) {
        if (!IFG_ARRAY_ROOM(kept->items, kept->room, kept->view.count + 1, IFG_ARRAY_ANY))
            return false;
        kept->items[kept->view.count++] = (struct timeline_input){
            .slice = slice,
            .inputs = inputs,
            .tensor = &inputs->tensors[i],
            .position = (uint32_t)i,
        };
    }
    return true;
}

static struct timeline_kept_inputs *make(const struct timeline_builder *builder)
{
    struct timeline_kept_inputs *kept = ifg_alloc(1, sizeof *kept);
    bool good = kept && trace_inputs_read(builder->timeline.reader, &kept->list, NULL) == IFG_OK;

    for (size_t i = 0; good && i < kept->list.count; i++)
        good = add(kept, builder, &kept->list.items[i]);
    if (!good) {
        timeline_inputs_destroy(kept);
        return NULL;
    }
    if (kept->view.count)
        qsort(kept->items, kept->view.count, sizeof *kept->items, by_slice);
    kept->view.items = kept->items;
    kept->view.damaged = kept->list.damaged;
    return kept;
}

void timeline_inputs_destroy(struct timeline_kept_inputs *kept)
{
    if (!kept)
        return;
    trace_inputs_fini(&kept->list);
    ifg_free(kept->items);
    ifg_free(kept);
}

enum ifg_status timeline_inputs_get(const struct timeline *timeline,
                                    const struct timeline_inputs **out_inputs,
                                    struct ifg_error *err)
{
    struct timeline_builder *builder = (struct timeline_builder *)(uintptr_t)timeline;

    pthread_mutex_lock(&builder->profile_lock);
    if (!builder->inputs)
        builder->inputs = make(builder);
    *out_inputs = builder->inputs ? &builder->inputs->view : NULL;
    pthread_mutex_unlock(&builder->profile_lock);
    return *out_inputs ? IFG_OK : ifg_fail_no_memory(err, "to read inputs");
}

const struct trace_inputs *timeline_inputs_of(const struct timeline *timeline, size_t slice)
{
    const struct timeline_inputs *inputs;
    size_t low = 0;
    size_t high;

    if (timeline_inputs_get(timeline, &inputs, NULL) != IFG_OK)
        return NULL;
    high = inputs->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (inputs->items[middle].slice < slice)
            low = middle + 1;
        else
            high = middle;
    }
    return low < inputs->count && inputs->items[low].slice == slice ? inputs->items[low].inputs
                                                                    : NULL;
}

const char *timeline_input_type(uint32_t type)
{
    static const char *const names[] = { NULL,      "float32", "uint8",  "int8",   "uint16",
                                         "int16",   "int32",   "int64",  "string", "bool",
                                         "float16", "float64", "uint32", "uint64", NULL,
                                         NULL,      "bfloat16" };

    return type < sizeof names / sizeof names[0] ? names[type] : NULL;
}

const char *timeline_input_shape(const struct trace_input_tensor *tensor, char *out, size_t size)
{
    size_t used = (size_t)snprintf(out, size, "%s", tensor->rank ? "" : "scalar");

    for (uint32_t i = 0; i < tensor->rank && used < size; i++)
        used +=
            (size_t)snprintf(out + used, size - used, "%s%" PRId64, i ? "x" : "", tensor->dims[i]);
    return out;
}
