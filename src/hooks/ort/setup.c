// SPDX-License-Identifier: Apache-2.0
/*
 * Setup: the calls that make an inference's inputs. When a tensor is made nobody knows yet for
 * which model; the calls of each thread wait in a short list until a run takes the tensors or the
 * binding that they were for, and are then written as setup events before it.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/ticks.h"
#include "hooks/ort/capture.h"
#include "hooks/ort/shapes.h"
#include "trace/keys.h"

#define WAITING_MAX 64u

/* Calls that are this close together are one setup. */
#define MERGE_NS 200000u

struct waiting {
    const void *owner; /* a value, or a binding */
    uint64_t start;
    uint64_t end;
};

/* The newest calls of this thread, oldest first from `first` on. */
static __thread struct {
    struct waiting items[WAITING_MAX];
    unsigned count;
} waiting;

/* How many ticks are MERGE_NS: measured once, between the library's start and the first need. */
static uint64_t start_ticks;
static uint64_t start_ns;
static uint64_t merge_ticks;

static __attribute__((constructor)) void clock_starts(void)
{
    start_ticks = ifg_ticks();
    start_ns = ifg_monotonic_ns();
}

static uint64_t merge_distance(void)
{
    uint64_t known = __atomic_load_n(&merge_ticks, __ATOMIC_RELAXED);

    if (!known) {
        uint64_t ticks = ifg_ticks() - start_ticks;
        uint64_t ns = ifg_monotonic_ns() - start_ns;

        if (ns < MERGE_NS)
            return UINT64_MAX; /* all of it took less than that */
        known = (uint64_t)((double)ticks / (double)ns * MERGE_NS);
        __atomic_store_n(&merge_ticks, known, __ATOMIC_RELAXED);
    }
    return known;
}

static void note(const void *owner, uint64_t start)
{
    struct waiting *item;

    if (waiting.count == WAITING_MAX) { /* tensors that no run ever took: the oldest give way */
        memmove(waiting.items, waiting.items + WAITING_MAX / 2,
                WAITING_MAX / 2 * sizeof *waiting.items);
        waiting.count = WAITING_MAX / 2;
    }
    item = &waiting.items[waiting.count++];
    item->owner = owner;
    item->start = start;
    item->end = ifg_ticks();
}

static bool belongs(const struct waiting *item, const struct ort_value *const *inputs,
                    size_t input_count, const struct ort_io_binding *binding)
{
    if (item->owner == binding)
        return true;
    for (size_t i = 0; i < input_count; i++)
        if (item->owner == inputs[i])
            return true;
    return false;
}

static void write_setup(const struct ort_session_state *session, uint64_t start, uint64_t end)
{
    ifg_zone zone = ifg_location_begin_at(session->setup_location, start);

    ifg_zone_detail_int(zone, TRACE_KEY_SESSION, session->number);
    ifg_zone_end_at(zone, end);
}

void ort_setup_flush(const struct ort_session_state *session, const struct ort_value *const *inputs,
                     size_t input_count, const struct ort_io_binding *binding)
{
    uint64_t start = 0;
    uint64_t end = 0;
    unsigned kept = 0;
    uint64_t distance;

    if (!waiting.count)
        return;
    distance = merge_distance();
    for (unsigned i = 0; i < waiting.count; i++) {
        struct waiting *item = &waiting.items[i];

        if (!belongs(item, inputs, input_count, binding)) {
            waiting.items[kept++] = *item;
            continue;
        }
        if (start && item->start - end > distance) {
            write_setup(session, start, end);
            start = 0;
        }
        if (!start)
            start = item->start;
        end = item->end;
    }
    waiting.count = kept;
    if (start)
        write_setup(session, start, end);
}

/* ---- tensors ---- */

struct ort_status *ort_CreateTensor(struct ort_runtime *rt, struct ort_allocator *allocator,
                                    const int64_t *shape, size_t rank, int type,
                                    struct ort_value **out)
{
    uint64_t start = ifg_wants_events() ? ifg_ticks() : 0;
    struct ort_status *status =
        ORT_FN(rt, CreateTensor, struct ort_allocator *, const int64_t *, size_t, int,
               struct ort_value **)(allocator, shape, rank, type, out);

    if (start && !status)
        note(*out, start);
    return status;
}

struct ort_status *ort_CreateTensorWithData(struct ort_runtime *rt,
                                            const struct ort_memory_info *info, void *data,
                                            size_t bytes, const int64_t *shape, size_t rank,
                                            int type, struct ort_value **out)
{
    uint64_t start = ifg_wants_events() ? ifg_ticks() : 0;
    struct ort_status *status = ORT_FN(
        rt, CreateTensorWithData, const struct ort_memory_info *, void *, size_t, const int64_t *,
        size_t, int, struct ort_value **)(info, data, bytes, shape, rank, type, out);

    if (start && !status)
        note(*out, start);
    return status;
}

struct ort_status *ort_CreateTensorWithDeleter(struct ort_runtime *rt,
                                               struct ort_allocator *deleter, void *data,
                                               size_t bytes, const int64_t *shape, size_t rank,
                                               int type, struct ort_value **out)
{
    uint64_t start = ifg_wants_events() ? ifg_ticks() : 0;
    struct ort_status *status =
        ORT_FN(rt, CreateTensorWithDeleter, struct ort_allocator *, void *, size_t, const int64_t *,
               size_t, int, struct ort_value **)(deleter, data, bytes, shape, rank, type, out);

    if (start && !status)
        note(*out, start);
    return status;
}

struct ort_status *ort_FillStringTensor(struct ort_runtime *rt, struct ort_value *value,
                                        const ort_text *texts, size_t count)
{
    uint64_t start = ifg_wants_events() ? ifg_ticks() : 0;
    struct ort_status *status = ORT_FN(rt, FillStringTensor, struct ort_value *, const ort_text *,
                                       size_t)(value, texts, count);

    if (start && !status)
        note(value, start);
    return status;
}

struct ort_status *ort_CreateValue(struct ort_runtime *rt, ort_inputs in, size_t count, int type,
                                   struct ort_value **out)
{
    uint64_t start = ifg_wants_events() ? ifg_ticks() : 0;
    struct ort_status *status =
        ORT_FN(rt, CreateValue, ort_inputs, size_t, int, struct ort_value **)(in, count, type, out);

    if (start && !status)
        note(*out, start);
    return status;
}

struct ort_status *ort_CopyTensors(struct ort_runtime *rt, const struct ort_env *env,
                                   ort_inputs from, struct ort_value *const *to, void *stream,
                                   size_t count)
{
    uint64_t start = ifg_wants_events() ? ifg_ticks() : 0;
    struct ort_status *status =
        ORT_FN(rt, CopyTensors, const struct ort_env *, ort_inputs, struct ort_value *const *,
               void *, size_t)(env, from, to, stream, count);

    if (start && !status && count)
        note(to[0], start);
    return status;
}

/* ---- bindings ---- */

struct ort_status *ort_CreateIoBinding(struct ort_runtime *rt, struct ort_session *session,
                                       struct ort_io_binding **out)
{
    uint64_t start = ifg_wants_events() ? ifg_ticks() : 0;
    struct ort_status *status =
        ORT_FN(rt, CreateIoBinding, struct ort_session *, struct ort_io_binding **)(session, out);
    struct ort_binding *noted;

    if (status)
        return status;
    noted = calloc(1, sizeof *noted);
    if (noted)
        noted->session = ort_map_find(&ort_sessions, session);
    if (!ort_map_add(&ort_bindings, *out, noted))
        free(noted);
    if (start)
        note(*out, start);
    return status;
}

void ort_ReleaseIoBinding(struct ort_runtime *rt, struct ort_io_binding *binding)
{
    struct ort_binding *noted = ort_map_remove(&ort_bindings, binding);

    if (noted)
        free(noted->kept);
    free(noted);
    ORT_VOID(rt, ReleaseIoBinding)(binding);
}

/* What made the value was for this binding. */
static void hand_over(const struct ort_value *value, const struct ort_io_binding *binding)
{
    for (unsigned i = 0; i < waiting.count; i++)
        if (waiting.items[i].owner == value)
            waiting.items[i].owner = binding;
}

struct ort_status *ort_BindInput(struct ort_runtime *rt, struct ort_io_binding *binding,
                                 ort_text name, const struct ort_value *value)
{
    uint64_t start = ifg_wants_events() ? ifg_ticks() : 0;
    struct ort_status *status = ORT_FN(rt, BindInput, struct ort_io_binding *, ort_text,
                                       const struct ort_value *)(binding, name, value);

    if (start && !status) {
        hand_over(value, binding);
        note(binding, start);
        ort_shapes_note(rt, binding, name, value);
    }
    if (capture_wanted && !status)
        capture_note(rt, binding, name, value);
    return status;
}

void ort_ClearBoundInputs(struct ort_runtime *rt, struct ort_io_binding *binding)
{
    struct ort_binding *noted = ort_map_find(&ort_bindings, binding);

    if (noted) {
        noted->count = 0;
        capture_forget(noted);
    }
    ORT_VOID(rt, ClearBoundInputs)(binding);
}

struct ort_status *ort_BindOutput(struct ort_runtime *rt, struct ort_io_binding *binding,
                                  ort_text name, const struct ort_value *value)
{
    uint64_t start = ifg_wants_events() ? ifg_ticks() : 0;
    struct ort_status *status = ORT_FN(rt, BindOutput, struct ort_io_binding *, ort_text,
                                       const struct ort_value *)(binding, name, value);

    if (start && !status) {
        hand_over(value, binding);
        note(binding, start);
    }
    return status;
}

struct ort_status *ort_BindOutputToDevice(struct ort_runtime *rt, struct ort_io_binding *binding,
                                          ort_text name, const struct ort_memory_info *info)
{
    uint64_t start = ifg_wants_events() ? ifg_ticks() : 0;
    struct ort_status *status = ORT_FN(rt, BindOutputToDevice, struct ort_io_binding *, ort_text,
                                       const struct ort_memory_info *)(binding, name, info);

    if (start && !status)
        note(binding, start);
    return status;
}

struct ort_status *ort_SynchronizeBoundInputs(struct ort_runtime *rt,
                                              struct ort_io_binding *binding)
{
    uint64_t start = ifg_wants_events() ? ifg_ticks() : 0;
    struct ort_status *status =
        ORT_FN(rt, SynchronizeBoundInputs, struct ort_io_binding *)(binding);

    if (start && !status)
        note(binding, start);
    return status;
}

/* Waiting for outputs belongs to the inference that is over; it is a zone of its own. */
struct ort_status *ort_SynchronizeBoundOutputs(struct ort_runtime *rt,
                                               struct ort_io_binding *binding)
{
    struct ort_status *status;

    IFG_BEGIN(zone, "synchronize outputs");
    status = ORT_FN(rt, SynchronizeBoundOutputs, struct ort_io_binding *)(binding);
    IFG_END(zone);
    return status;
}
