// SPDX-License-Identifier: Apache-2.0
/*
 * Inferences. The clock is read directly around ONNX Runtime's own function; what there is to say
 * about the run is said after it, so that the run does not get longer by it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hooks/ort/arena.h"
#include "hooks/ort/cache_watch.h"
#include "hooks/ort/capture.h"
#include "hooks/ort/identity.h"
#include "hooks/ort/ops.h"
#include "hooks/ort/shapes.h"
#include "hooks/ort/wrap.h"
#include "trace/keys.h"

#define LIKELY(x)   __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

/* What is known of a session. In a table that was patched late, it may be met here first. */
static inline struct ort_session_state *find_state(struct ort_runtime *rt,
                                                   struct ort_session *session)
{
    struct ort_session_state *state = ort_map_find(&ort_sessions, session);

    if (UNLIKELY(!state && rt->patched && !ifg_is_confined()))
        state = ort_rundown(rt, session);
    return state;
}

/* An engine that was written while this run went on: it was built in it. How long that took is not
 * known, only that the run includes it. */
static void tell_caches(struct ort_session_state *session, ifg_zone zone, uint64_t end)
{
    struct cache_news news;
    ifg_zone built;
    char why[ORT_TEXT];

    cache_watch_read(&session->cache_watch, &news);
    if (!news.created)
        return;
    built = ifg_location_begin_at(ifg_event_location(session->model, NULL, IFG_SPECIALIZATION),
                                  zone.start);
    snprintf(why, sizeof why, "a provider wrote its engine cache during this inference: %s",
             news.name);
    ifg_zone_detail_int(built, TRACE_KEY_SESSION, session->number);
    ifg_zone_detail_string(built, TRACE_KEY_WHY, why);
    ifg_zone_end_at(built, end);
}

static void tell(struct ort_session_state *session, ifg_zone zone, uint64_t end,
                 const struct ort_shapes *shapes, struct ort_status *status)
{
    char text[ORT_TEXT];

    if (UNLIKELY(session->cache_watch.fd >= 0 && !ifg_is_confined()))
        tell_caches(session, zone, end);

    ifg_zone_detail_int(zone, TRACE_KEY_SESSION, session->number);
    if (shapes) {
        ifg_zone_detail_string(zone, TRACE_KEY_SHAPES, shapes->text);
        if (shapes->batch >= 0)
            ifg_zone_detail_int(zone, TRACE_KEY_BATCH, shapes->batch);
    }
    if (UNLIKELY(status != NULL)) {
        ort_status_text(session->rt, status, text, sizeof text);
        ifg_zone_detail_string(zone, TRACE_KEY_STATUS, text);
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

    if (!ifg_wants_events() || !(state = find_state(rt, session)))
        return run(session, options, input_names, inputs, input_count, output_names, output_count,
                   outputs);
    ort_setup_flush(state, inputs, input_count, NULL);
    if (UNLIKELY(ops_wanted(state) && ifg_is_recording()))
        ops_begin(state, session, &options, &ops);
    zone = ifg_location_begin(state->inference_location);
    status = run(session, options, input_names, inputs, input_count, output_names, output_count,
                 outputs);
    end = ifg_ticks();
    if (LIKELY(ifg_is_recording()))
        tell(state, zone, end, ort_shapes_of_run(state, input_names, inputs, input_count), status);
    if (UNLIKELY(ops.active))
        ops_end(&ops, zone, end, status != NULL);
    ifg_zone_end_at(zone, end);
    if (UNLIKELY(capture_wanted && ifg_is_recording()))
        capture_run(state, zone, end, status != NULL,
                    &(struct capture_given){ input_names, inputs, input_count, (ort_inputs)outputs,
                                             output_count });
    if (UNLIKELY(arena_wanted && ifg_is_recording() && !ifg_is_confined()))
        arena_look(state, session);
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

    if (!ifg_wants_events() || !(state = find_state(rt, session)))
        return ORT_FN(rt, RunWithBinding, struct ort_session *, const struct ort_run_options *,
                      const struct ort_io_binding *)(session, options, binding);
    ort_setup_flush(state, NULL, 0, binding);
    if (UNLIKELY(ops_wanted(state) && ifg_is_recording()))
        ops_begin(state, session, &options, &ops);
    zone = ifg_location_begin(state->inference_location);
    status = ORT_FN(rt, RunWithBinding, struct ort_session *, const struct ort_run_options *,
                    const struct ort_io_binding *)(session, options, binding);
    end = ifg_ticks();
    if (LIKELY(ifg_is_recording()))
        tell(state, zone, end, ort_shapes_of_binding(state, binding), status);
    if (UNLIKELY(ops.active))
        ops_end(&ops, zone, end, status != NULL);
    ifg_zone_end_at(zone, end);
    if (UNLIKELY(capture_wanted && ifg_is_recording()))
        capture_binding(state, zone, end, status != NULL, binding);
    if (UNLIKELY(arena_wanted && ifg_is_recording() && !ifg_is_confined()))
        arena_look(state, session);
    return status;
}

/* ---- RunAsync: ends when the program's function is called ---- */

struct async_run {
    ort_async_callback *callback;
    void *user;
    struct ort_session_state *session;
    uint64_t start;
};

/* Written when it is over: only then is it known that it was one. */
static void async_done(void *user, struct ort_value **outputs, size_t output_count,
                       struct ort_status *status)
{
    struct async_run run = *(struct async_run *)user;
    uint64_t end = ifg_ticks();

    free(user);
    if (UNLIKELY(capture_wanted && ifg_is_recording()))
        capture_async(run.session, end - run.start, status != NULL);
    if (ifg_wants_events()) {
        ifg_location_async(run.session->inference_location, ifg_request_new(), run.start, end);
        if (status && ifg_is_recording()) {
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
    struct ort_session_state *state = NULL;
    struct async_run *run = NULL;
    struct ort_status *status;
    uint64_t start = 0;

    if (ifg_wants_events() && callback && (state = find_state(rt, session)))
        run = malloc(sizeof *run);
    if (run) {
        ort_setup_flush(state, inputs, input_count, NULL);
        if (UNLIKELY(
                arena_wanted && ifg_is_recording() &&
                !ifg_is_confined())) /* not in the callback: that is a thread of ONNX Runtime */
            arena_look(state, session);
        start = ifg_ticks();
        *run = (struct async_run){ callback, user, state, start };
        callback = async_done;
        user = run;
    }
    status =
        ORT_FN(rt, RunAsync, struct ort_session *, const struct ort_run_options *, const ort_text *,
               ort_inputs, size_t, const ort_text *, size_t, struct ort_value **,
               ort_async_callback *, void *)(session, options, input_names, inputs, input_count,
                                             output_names, output_count, outputs, callback, user);
    if (status && run) { /* it was refused: nobody will call back */
        ifg_zone zone = ifg_location_begin_at(state->inference_location, start);

        tell(state, zone, ifg_ticks(), NULL, status);
        ifg_zone_end_at(zone, ifg_ticks());
        if (UNLIKELY(capture_wanted && ifg_is_recording()))
            capture_async(state, 0, true);
        free(run);
    }
    return status;
}
