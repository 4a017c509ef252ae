// SPDX-License-Identifier: Apache-2.0
/* What there is: the list of traces, and the tree of tracks of one. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "timeline/allocations.h"
#include "timeline/device.h"
#include "server/handler.h"
#include "server/routes.h"
#include "server/traces.h"
#include "trace/keys.h"

static void put_trace(struct ifg_json *json, struct server_trace *trace)
{
    static const char *const states[] = { "idle", "loading", "ready", "bad" };
    enum trace_state state = (enum trace_state)atomic_load(&trace->state);

    ifg_json_open(json, '{');
    ifg_json_put_uint(json, "id", trace->id);
    ifg_json_put_string(json, "path", trace->path);
    ifg_json_put_string(json, "name", trace->name);
    pthread_mutex_lock(&trace->lock);
    ifg_json_put_string(json, "program", trace->program);
    ifg_json_put_string(json, "title", trace->title);
    ifg_json_put_string(json, "start", trace->start);
    ifg_json_put_string(json, "state", states[state]);
    ifg_json_put_string(json, "why", state == TRACE_BAD ? trace->why : "");
    ifg_json_put_uint(json, "bytes", trace->bytes);
    ifg_json_put_double(json, "length_ns", trace->length_ns);
    pthread_mutex_unlock(&trace->lock);
    ifg_json_put_double(json, "progress", trace_progress(trace));
    ifg_json_close(json, '}');
}

void serve_traces(const struct server_request *request, struct server_answer *answer)
{
    struct ifg_json json = answer_json(answer);

    ifg_json_open(&json, '{');
    ifg_json_put_int(&json, "schema", 1);
    ifg_json_put_string(&json, "version", INFEROGRAM_VERSION);
    ifg_json_put_bool(&json, "live", request->live != NULL);
    ifg_json_put_open(&json, "traces", '[');
    for (size_t i = 0; i < request->traces->count; i++)
        put_trace(&json, &request->traces->items[i]);
    ifg_json_close(&json, ']');
    ifg_json_close(&json, '}');
}

/* ---- one trace ---- */

static const char *fact(const struct timeline *timeline, const char *key)
{
    const char *value = trace_find_fact(trace_reader_tables(timeline->reader), key);

    return value ? value : "";
}

static void put_head(struct ifg_json *json, const struct server_trace *trace)
{
    const struct timeline *timeline = trace->timeline;
    uint64_t start_ns = timeline->begin_ns + (uint64_t)timeline->realtime_offset_ns;
    time_t seconds = (time_t)(start_ns / 1000000000u);
    struct tm parts;
    char text[64] = "";
    const struct timeline_process *main_process = NULL;

    for (size_t i = 0; !main_process && i < timeline->process_count; i++)
        if (timeline->processes[i].pid != 0)
            main_process = &timeline->processes[i];
    if (timeline->realtime_offset_ns && gmtime_r(&seconds, &parts)) {
        size_t used = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);

        snprintf(text + used, sizeof text - used, ".%03uZ",
                 (unsigned)(start_ns / 1000000u % 1000u));
    }
    ifg_json_put_int(json, "schema", 1);
    ifg_json_put_string(json, "program", trace->program);
    ifg_json_put_string(json, "title",
                        main_process && *main_process->arguments ? main_process->arguments
                                                                 : trace->program);
    ifg_json_put_uint(json, "pid", main_process ? main_process->pid : 0);
    ifg_json_put_string(json, "host", fact(timeline, TRACE_FACT_HOST_NAME));
    ifg_json_put_string(json, "cpu", fact(timeline, TRACE_FACT_HOST_CPU));
    ifg_json_put_string(json, "cpus", fact(timeline, TRACE_FACT_HOST_CPUS));
    ifg_json_put_string(json, "kernel", fact(timeline, TRACE_FACT_HOST_KERNEL));
    ifg_json_put_string(json, "start", text);
    ifg_json_put_uint(json, "length_ns", timeline_length_ns(timeline));
    ifg_json_put_uint(json, "zones", timeline->slice_count);
    ifg_json_put_uint(json, "dropped", timeline->dropped);
}

static void put_runtimes(struct ifg_json *json, const struct timeline *timeline)
{
    ifg_json_put_open(json, "runtimes", '[');
    for (size_t i = 0; i < timeline->model_count; i++) {
        bool seen = !*timeline->models[i].runtime;

        for (size_t k = 0; k < i && !seen; k++)
            seen = strcmp(timeline->models[i].runtime, timeline->models[k].runtime) == 0;
        if (!seen)
            ifg_json_string(json, timeline->models[i].runtime);
    }
    ifg_json_close(json, ']');
}

/* Of flows, or of async spans that end on another thread than they began on. */
static bool has_arrows(const struct timeline *timeline)
{
    for (size_t i = 0; !timeline->arrow_count && i < timeline->async_count; i++)
        if (timeline->asyncs[i].end_thread != TIMELINE_NONE &&
            timeline->asyncs[i].end_thread != timeline->asyncs[i].begin_thread)
            return true;
    return timeline->arrow_count > 0;
}

static bool has_device(const struct timeline *timeline)
{
    const struct timeline_devices *devices;

    return timeline_devices_get(timeline, &devices, NULL) == IFG_OK && devices->work_count > 0;
}

static void put_has(struct ifg_json *json, const struct server_trace *trace)
{
    const struct timeline_profile *profile = trace->profile;
    bool memory =
        trace->timeline->allocation_count > 0 || timeline_has_allocations(trace->timeline);

    for (size_t i = 0; i < trace->track_count && !memory; i++)
        memory =
            trace->tracks[i].kind == TRACK_COUNTER && strcmp(trace->tracks[i].label, "rss") == 0;
    ifg_json_put_open(json, "has", '{');
    ifg_json_put_bool(json, "samples", profile && profile->sample_count > 0);
    ifg_json_put_bool(json, "states", profile && profile->state_count > 0);
    ifg_json_put_bool(json, "wakers", profile && profile->has_wakers);
    ifg_json_put_bool(json, "ops", trace->models.count > trace->ml.count);
    ifg_json_put_bool(json, "memory", memory);
    ifg_json_put_bool(json, "counters", trace->timeline->counter_count > 0);
    ifg_json_put_bool(json, "flows", has_arrows(trace->timeline));
    ifg_json_put_bool(json, "device", has_device(trace->timeline));
    ifg_json_close(json, '}');
}

static void put_tables(struct ifg_json *json, const struct timeline *timeline)
{
    static const char *const states[] = { [TRACE_INSTRUMENT_OFF] = "off",
                                          [TRACE_INSTRUMENT_ON] = "on",
                                          [TRACE_INSTRUMENT_UNAVAILABLE] = "unavailable" };
    const struct trace_tables *tables = trace_reader_tables(timeline->reader);

    ifg_json_put_open(json, "instruments", '[');
    for (size_t i = 0; i < tables->instrument_count; i++) {
        ifg_json_open(json, '{');
        ifg_json_put_string(json, "name", tables->instruments[i].name);
        ifg_json_put_string(json, "state", states[tables->instruments[i].state]);
        ifg_json_put_string(json, "reason", tables->instruments[i].reason);
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
    ifg_json_put_open(json, "processes", '[');
    for (size_t i = 0; i < timeline->process_count; i++) {
        ifg_json_open(json, '{');
        ifg_json_put_uint(json, "pid", timeline->processes[i].pid);
        ifg_json_put_string(json, "name", timeline->processes[i].name);
        ifg_json_put_string(json, "arguments", timeline->processes[i].arguments);
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
    ifg_json_put_open(json, "models", '[');
    for (size_t i = 0; i < timeline->model_count; i++) {
        ifg_json_open(json, '{');
        ifg_json_put_uint(json, "id", i);
        ifg_json_put_string(json, "name", timeline->models[i].name);
        ifg_json_put_string(json, "path", timeline->models[i].path);
        ifg_json_put_string(json, "runtime", timeline->models[i].runtime);
        ifg_json_put_uint(json, "process", timeline->models[i].process);
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
}

/* By location of work: whose colour it has. That is the operator that asked for it first, or the
 * model; the same kernel in another one has it, too. */
static const char **find_owners(const struct timeline *timeline)
{
    const struct timeline_devices *devices;
    const char **owners = ifg_alloc(timeline->location_count + 1, sizeof *owners);

    if (!owners || timeline_devices_get(timeline, &devices, NULL))
        return owners;
    for (size_t i = 0; i < devices->work_count; i++) {
        const struct timeline_device_work *work = &devices->works[i];
        const struct timeline_device_call *call = timeline_call_of(devices, work);

        if (owners[work->location] || !call)
            continue;
        if (call->op != SIZE_MAX)
            owners[work->location] = timeline->locations[timeline->location[call->op]].name;
        else if (call->model < timeline->model_count)
            owners[work->location] = timeline->models[call->model].name;
    }
    return owners;
}

static void put_locations(struct ifg_json *json, const struct timeline *timeline)
{
    const char **owners = find_owners(timeline);

    ifg_json_put_open(json, "locations", '[');
    for (size_t i = 0; i < timeline->location_count; i++) {
        const struct timeline_location *location = &timeline->locations[i];

        ifg_json_open(json, '{');
        ifg_json_put_string(json, "name", location->name);
        ifg_json_put_string(json, "kind", timeline_kind_name(location->kind));
        ifg_json_put_string(json, "category", timeline_category_name(location->category));
        ifg_json_put_int(json, "model",
                         location->model < timeline->model_count ? (int64_t)location->model : -1);
        ifg_json_put_string(json, "function", location->function);
        ifg_json_put_uint(json, "color", location->color);
        if (owners && owners[i])
            ifg_json_put_string(json, "owner", owners[i]);
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
    ifg_free(owners);
}

static void put_track(struct ifg_json *json, const struct server_trace *trace,
                      const struct track *track)
{
    size_t samples =
        track->sampled == TIMELINE_NONE ? 0 : trace->profile->threads[track->sampled].sample_count;

    ifg_json_open(json, '{');
    ifg_json_put_string(json, "id", track->id);
    ifg_json_put_string(json, "kind", track_kind_name(track->kind));
    ifg_json_put_string(json, "parent",
                        track->parent == TRACK_NONE ? "" : trace->tracks[track->parent].id);
    ifg_json_put_string(json, "label", track->label);
    ifg_json_put_string(json, "sub", track->sub);
    ifg_json_put_uint(json, "rows", track->rows);
    ifg_json_put_string(json, "unit", track->unit);
    ifg_json_put_double(json, "min", track->min);
    ifg_json_put_double(json, "max", track->max);
    ifg_json_put_double(json, "scale", track->scale);
    ifg_json_put_string(json, "stack", track->stack);
    ifg_json_put_bool(json, "grows", track->grows);
    ifg_json_put_uint(json, "samples", samples);
    ifg_json_put_bool(json, "states", track->has_states);
    ifg_json_put_uint(json, "count", track->count);
    ifg_json_put_int(json, "model", track->model == TIMELINE_NONE ? -1 : (int64_t)track->model);
    ifg_json_put_bool(json, "open", track->open);
    ifg_json_close(json, '}');
}

void serve_meta(const struct server_request *request, struct server_answer *answer)
{
    const struct server_trace *trace = request->trace;
    struct ifg_json json = answer_json(answer);

    ifg_json_open(&json, '{');
    put_head(&json, trace);
    put_runtimes(&json, request->timeline);
    put_has(&json, trace);
    put_tables(&json, request->timeline);
    put_locations(&json, request->timeline);
    ifg_json_put_open(&json, "tracks", '[');
    for (size_t i = 0; i < trace->track_count; i++)
        put_track(&json, trace, &trace->tracks[i]);
    ifg_json_close(&json, ']');
    ifg_json_close(&json, '}');
}

void serve_functions(const struct server_request *request, struct server_answer *answer)
{
    const struct timeline_profile *profile = request->trace->profile;
    struct ifg_json json = answer_json(answer);
    char name[512];

    ifg_json_open(&json, '{');
    ifg_json_put_int(&json, "schema", 1);
    ifg_json_put_open(&json, "functions", '[');
    for (size_t i = 0; profile && i < profile->function_count; i++) {
        const struct timeline_function *function = &profile->functions[i];

        ifg_json_open(&json, '{');
        ifg_json_put_string(&json, "name",
                            timeline_function_name(profile, (uint32_t)i, name, sizeof name));
        ifg_json_put_string(&json, "module", timeline_module_name(profile, function->module));
        ifg_json_put_bool(&json, "guessed", function->guessed);
        ifg_json_close(&json, '}');
    }
    ifg_json_close(&json, ']');
    ifg_json_close(&json, '}');
}
