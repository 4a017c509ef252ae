// SPDX-License-Identifier: Apache-2.0
/*
 * Inferences. The clock is read directly around ONNX Runtime's own function; what there is to say
 * about the run is said after it, so that the run does not get longer by it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hooks/ort/cache_watch.h"
#include "hooks/ort/identity.h"
#include "hooks/ort/ops.h"
#include "hooks/ort/wrap.h"

#define SHAPE_INPUTS 8u
#define SHAPE_RANK   8u
#define SHAPE_TEXT   256u
#define SHAPE_CACHE  4u

#define LIKELY(x)   __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

/* The shapes of one run, as they were last put into words on this thread. */
struct shapes {
    const struct ort_session_state *session;
    uint64_t hash;
    int64_t batch; /* -1: none */
    char text[SHAPE_TEXT];
};

static __thread struct {
    struct shapes entries[SHAPE_CACHE];
    unsigned next;
} shape_cache;

/* ---- shapes ---- */

struct dimensions {
    size_t rank;
    int64_t size[SHAPE_RANK];
};

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
    if (good && out->rank > SHAPE_RANK)
        out->rank = SHAPE_RANK;
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
    if (out->rank > SHAPE_RANK)
        out->rank = SHAPE_RANK;
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

/* NULL: inputs that have no shapes. */
static const struct shapes *shapes_of_run(struct ort_session_state *session, const ort_text *names,
                                          ort_inputs inputs, size_t count)
{
    struct dimensions shapes[SHAPE_INPUTS];
    uint64_t hash = count;
    struct shapes *entry;

    if (!inputs || !count || __atomic_load_n(&session->no_shapes, __ATOMIC_RELAXED))
        return NULL;
    if (count > SHAPE_INPUTS)
        count = SHAPE_INPUTS;
    for (size_t i = 0; i < count; i++) {
        if (!shape_of(session->rt, inputs[i], &shapes[i])) {
            __atomic_store_n(&session->no_shapes, 1, __ATOMIC_RELAXED);
            return NULL;
        }
        hash = model_hash(hash, shapes[i].size, shapes[i].rank * sizeof *shapes[i].size);
        if (names && names[i])
            hash = model_hash(hash, names[i], strnlen(names[i], 64));
    }
    for (unsigned i = 0; i < SHAPE_CACHE; i++) {
        entry = &shape_cache.entries[i];
        if (entry->session == session && entry->hash == hash)
            return entry;
    }
    entry = &shape_cache.entries[shape_cache.next++ % SHAPE_CACHE];
    entry->session = session;
    entry->hash = hash;
    entry->batch = shapes[0].rank ? shapes[0].size[0] : -1;
    describe(names, shapes, count, entry->text, sizeof entry->text);
    return entry;
}

/* An engine that was written while this run went on: it was built in it. How long that took is not
 * known, only that the run includes it. */
static void tell_caches(const struct ort_session_state *session, ifg_zone zone, uint64_t end)
{
    struct cache_news news;
    ifg_zone built;
    char why[ORT_TEXT];

    cache_watch_read(session->cache_watch, &news);
    if (!news.created)
        return;
    built =
        ifg_place_begin_at(ifg_event_place(session->model, NULL, IFG_SPECIALIZATION), zone.start);
    snprintf(why, sizeof why, "a provider wrote its engine cache during this inference: %s",
             news.name);
    ifg_zone_detail_string(built, "why", why);
    ifg_zone_end_at(built, end);
}

static void tell(struct ort_session_state *session, ifg_zone zone, uint64_t end,
                 const struct shapes *shapes, struct ort_status *status)
{
    char text[ORT_TEXT];

    if (UNLIKELY(session->cache_watch >= 0))
        tell_caches(session, zone, end);

    ifg_zone_detail_int(zone, "session", session->number);
    if (shapes) {
        ifg_zone_detail_string(zone, "shapes", shapes->text);
        if (shapes->batch >= 0)
            ifg_zone_detail_int(zone, "batch", shapes->batch);
    }
    if (UNLIKELY(status != NULL)) {
        ort_status_text(session->rt, status, text, sizeof text);
        ifg_zone_detail_string(zone, "status", text);
    }
}

/* ---- Run ---- */

typedef struct ort_status *run_function(struct ort_session *, const struct ort_run_options *,
                                        const ort_text *, ort_inputs, size_t, const ort_text *,
                                        size_t, struct ort_value **);

struct ort_status *ort_Run(struct ort_runtime *rt, struct ort_session *session,
                           const struct ort_run_options *options, const ort_text *input_names,
                           ort_inputs inputs, size_t input_count, const ort_text *output_names,
                           size_t output_count, struct ort_value **outputs)
{
    run_function *run = (run_function *)rt->api[ORT_Run];
    struct ort_session_state *state;
    struct ops_run ops = { 0 };
    struct ort_status *status;
    ifg_zone zone;
    uint64_t end;

    if (!ifg_is_recording() || !(state = ort_map_find(&ort_sessions, session)))
        return run(session, options, input_names, inputs, input_count, output_names, output_count,
                   outputs);
    ort_setup_flush(state, inputs, input_count, NULL);
    if (UNLIKELY(ops_wanted(state)))
        ops_begin(state, session, &options, &ops);
    zone = ifg_place_begin(state->inference_place);
    status = run(session, options, input_names, inputs, input_count, output_names, output_count,
                 outputs);
    end = ifg_ticks();
    tell(state, zone, end, shapes_of_run(state, input_names, inputs, input_count), status);
    if (UNLIKELY(ops.active))
        ops_end(&ops, zone, end);
    ifg_zone_end_at(zone, end);
    return status;
}

struct ort_status *ort_RunWithBinding(struct ort_runtime *rt, struct ort_session *session,
                                      const struct ort_run_options *options,
                                      const struct ort_io_binding *binding)
{
    struct ort_session_state *state = NULL;
    struct ops_run ops = { 0 };
    struct ort_status *status;
    ifg_zone zone;
    uint64_t end;

    if (!ifg_is_recording() || !(state = ort_map_find(&ort_sessions, session)))
        return ORT_FN(rt, RunWithBinding, struct ort_session *, const struct ort_run_options *,
                      const struct ort_io_binding *)(session, options, binding);
    ort_setup_flush(state, NULL, 0, binding);
    if (UNLIKELY(ops_wanted(state)))
        ops_begin(state, session, &options, &ops);
    zone = ifg_place_begin(state->inference_place);
    status = ORT_FN(rt, RunWithBinding, struct ort_session *, const struct ort_run_options *,
                    const struct ort_io_binding *)(session, options, binding);
    end = ifg_ticks();
    tell(state, zone, end, NULL, status);
    if (UNLIKELY(ops.active))
        ops_end(&ops, zone, end);
    ifg_zone_end_at(zone, end);
    return status;
}

/* ---- RunAsync: ends when the program's function is called ---- */

struct async_run {
    ort_async_callback *callback;
    void *user;
    struct ort_session_state *session;
    uint64_t id;
};

static void async_done(void *user, struct ort_value **outputs, size_t output_count,
                       struct ort_status *status)
{
    struct async_run run = *(struct async_run *)user;

    free(user);
    if (ifg_is_recording()) {
        ifg_event_async_end(run.session->model, NULL, IFG_INFERENCE, run.id);
        if (status) {
            char text[ORT_TEXT];

            ort_status_text(run.session->rt, status, text, sizeof text);
            ifg_message(IFG_LEVEL_ERROR, text, SIZE_MAX);
        }
    }
    run.callback(run.user, outputs, output_count, status);
}

struct ort_status *ort_RunAsync(struct ort_runtime *rt, struct ort_session *session,
                                const struct ort_run_options *options, const ort_text *input_names,
                                ort_inputs inputs, size_t input_count, const ort_text *output_names,
                                size_t output_count, struct ort_value **outputs,
                                ort_async_callback *callback, void *user)
{
    struct ort_session_state *state = ort_map_find(&ort_sessions, session);
    struct async_run *run = NULL;
    struct ort_status *status;
    uint64_t id = 0;

    if (ifg_is_recording() && state && callback)
        run = malloc(sizeof *run);
    if (run) {
        id = ifg_request_new();
        *run = (struct async_run){ callback, user, state, id };
        ort_setup_flush(state, inputs, input_count, NULL);
        ifg_event_async_begin(state->model, NULL, IFG_INFERENCE, id);
        callback = async_done;
        user = run;
    }
    status =
        ORT_FN(rt, RunAsync, struct ort_session *, const struct ort_run_options *, const ort_text *,
               ort_inputs, size_t, const ort_text *, size_t, struct ort_value **,
               ort_async_callback *, void *)(session, options, input_names, inputs, input_count,
                                             output_names, output_count, outputs, callback, user);
    if (status && run) { /* it was refused: nobody will call back */
        ifg_event_async_end(state->model, NULL, IFG_INFERENCE, id);
        free(run);
    }
    return status;
}
