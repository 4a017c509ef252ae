// SPDX-License-Identifier: Apache-2.0
/*
 * libinferogram for node, by Node-API: one binary for every node since version 14. What can be
 * JavaScript is in index.js; here are strings, locations and the zones that are open.
 *
 * Zones of a thread are kept on a stack of its environment (the main thread, or a worker), and
 * JavaScript has their positions: what is left open by mistake ends with the zone around it. More
 * than STACK_MAX at once are not recorded.
 */
#define NAPI_VERSION 6
#include <node_api.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <inferogram/inferogram.h>

#define STACK_MAX 1024
#define TEXT_MAX  1024

struct environment {
    ifg_zone zones[STACK_MAX];
    uint32_t depth;
};

struct arguments {
    napi_value items[4];
    size_t count;
};

static struct environment *own(napi_env env)
{
    void *data = NULL;

    napi_get_instance_data(env, &data);
    return data;
}

static struct arguments take(napi_env env, napi_callback_info info)
{
    struct arguments arguments = { .count = 4 };

    if (napi_get_cb_info(env, info, &arguments.count, arguments.items, NULL, NULL) != napi_ok)
        arguments.count = 0;
    if (arguments.count > 4)
        arguments.count = 4;
    return arguments;
}

/* Cut to what the library keeps of a text; "" if it is none. Never half a character. */
static size_t text(napi_env env, const struct arguments *arguments, size_t index,
                   char out[TEXT_MAX + 1])
{
    size_t length = 0;

    out[0] = '\0';
    if (index >= arguments->count || napi_get_value_string_utf8(env, arguments->items[index], out,
                                                                TEXT_MAX + 1, &length) != napi_ok)
        return 0;
    return length;
}

static double number(napi_env env, const struct arguments *arguments, size_t index)
{
    double value = 0;

    if (index < arguments->count)
        napi_get_value_double(env, arguments->items[index], &value);
    return value;
}

static uint64_t id_of(napi_env env, const struct arguments *arguments, size_t index)
{
    double value = number(env, arguments, index);

    return value >= 0 && value < 9007199254740992.0 ? (uint64_t)value : 0;
}

static ifg_location *location(napi_env env, const struct arguments *arguments, uint32_t kind)
{
    char name[TEXT_MAX + 1];
    ifg_location_texts texts = { .struct_size = sizeof texts,
                                 .name = name,
                                 .name_length = text(env, arguments, 0, name),
                                 .kind = kind };

    return ifg_location_named(&texts);
}

static napi_value integer(napi_env env, int32_t value)
{
    napi_value result = NULL;

    napi_create_int32(env, value, &result);
    return result;
}

/* ---- zones ---- */

static int32_t push(struct environment *environment, ifg_zone zone)
{
    if (!zone.location)
        return -1;
    environment->zones[environment->depth] = zone;
    return (int32_t)environment->depth++;
}

static napi_value is_recording(napi_env env, napi_callback_info info)
{
    napi_value result = NULL;

    (void)info;
    napi_get_boolean(env, ifg_is_recording(), &result);
    return result;
}

/* begin(name): its position, or -1 */
static napi_value begin(napi_env env, napi_callback_info info)
{
    struct environment *environment = own(env);
    struct arguments arguments;

    if (!ifg_is_recording() || !environment || environment->depth == STACK_MAX)
        return integer(env, -1);
    arguments = take(env, info);
    return integer(env,
                   push(environment, ifg_zone_begin(location(env, &arguments, IFG_LOCATION_ZONE))));
}

/* end(position) */
static napi_value end(napi_env env, napi_callback_info info)
{
    struct environment *environment = own(env);
    struct arguments arguments = take(env, info);
    double position = number(env, &arguments, 0);

    if (!environment || !(position >= 0 && position < environment->depth))
        return NULL;
    environment->depth = (uint32_t)position;
    ifg_zone_end(environment->zones[environment->depth]);
    return NULL;
}

/* detail(position, key, value) */
static napi_value detail(napi_env env, napi_callback_info info)
{
    struct environment *environment = own(env);
    struct arguments arguments = take(env, info);
    double position = number(env, &arguments, 0);
    char key[TEXT_MAX + 1];
    char value[TEXT_MAX + 1];
    napi_valuetype type = napi_undefined;
    double real;
    ifg_zone zone;

    if (!environment || arguments.count < 3 || !(position >= 0 && position < environment->depth))
        return NULL;
    zone = environment->zones[(uint32_t)position];
    text(env, &arguments, 1, key);
    napi_typeof(env, arguments.items[2], &type);
    if (type == napi_string) {
        size_t length = text(env, &arguments, 2, value);

        if (strcmp(key, "text") == 0)
            ifg_zone_text(zone, value, length);
        else
            ifg_zone_detail_string(zone, key, value);
        return NULL;
    }
    if (type != napi_number)
        return NULL;
    real = number(env, &arguments, 2);
    if (real >= -9007199254740992.0 && real <= 9007199254740992.0 && real == (double)(int64_t)real)
        ifg_zone_detail_int(zone, key, (int64_t)real);
    else
        ifg_zone_detail_float(zone, key, real);
    return NULL;
}

/* ---- marks, spans, flows ---- */

static napi_value counter(napi_env env, napi_callback_info info)
{
    if (ifg_is_recording()) {
        struct arguments arguments = take(env, info);

        ifg_counter(location(env, &arguments, IFG_LOCATION_COUNTER), number(env, &arguments, 1));
    }
    return NULL;
}

/* message(text, level) */
static napi_value message(napi_env env, napi_callback_info info)
{
    if (ifg_is_recording()) {
        struct arguments arguments = take(env, info);
        char line[TEXT_MAX + 1];
        size_t length = text(env, &arguments, 0, line);
        double level = number(env, &arguments, 1);

        ifg_message(level >= 0 && level <= IFG_LEVEL_ERROR ? (enum ifg_level)level : IFG_LEVEL_INFO,
                    line, length);
    }
    return NULL;
}

static napi_value frame(napi_env env, napi_callback_info info)
{
    if (ifg_is_recording()) {
        struct arguments arguments = take(env, info);

        ifg_frame(location(env, &arguments, IFG_LOCATION_FRAME));
    }
    return NULL;
}

static napi_value thread_name(napi_env env, napi_callback_info info)
{
    struct arguments arguments = take(env, info);
    char name[TEXT_MAX + 1];

    text(env, &arguments, 0, name);
    ifg_thread_name(name);
    return NULL;
}

typedef void point(ifg_location *location, uint64_t id);

/* (name, id) */
static napi_value put(napi_env env, napi_callback_info info, uint32_t kind, point *write)
{
    if (ifg_is_recording()) {
        struct arguments arguments = take(env, info);

        write(location(env, &arguments, kind), id_of(env, &arguments, 1));
    }
    return NULL;
}

static napi_value async_begin(napi_env env, napi_callback_info info)
{
    return put(env, info, IFG_LOCATION_ASYNC, ifg_async_begin);
}

static napi_value async_end(napi_env env, napi_callback_info info)
{
    return put(env, info, IFG_LOCATION_ASYNC, ifg_async_end);
}

static napi_value flow_begin(napi_env env, napi_callback_info info)
{
    return put(env, info, IFG_LOCATION_FLOW, ifg_flow_begin);
}

static napi_value flow_step(napi_env env, napi_callback_info info)
{
    return put(env, info, IFG_LOCATION_FLOW, ifg_flow_step);
}

static napi_value flow_end(napi_env env, napi_callback_info info)
{
    return put(env, info, IFG_LOCATION_FLOW, ifg_flow_end);
}

/* ---- models ---- */

static void release(napi_env env, void *model, void *hint)
{
    (void)env;
    (void)hint;
    ifg_model_destroy(model);
}

/* createModel(name, path, runtime, devices): an object of ours, or undefined */
static napi_value create_model(napi_env env, napi_callback_info info)
{
    struct arguments arguments = take(env, info);
    char texts[4][TEXT_MAX + 1];
    const char *given[4];
    napi_value result = NULL;
    ifg_model *model;

    for (size_t i = 0; i < 4; i++)
        given[i] = text(env, &arguments, i, texts[i]) ? texts[i] : NULL;
    model = ifg_model_create(&(ifg_model_options){ .struct_size = sizeof(ifg_model_options),
                                                   .name = given[0],
                                                   .path = given[1],
                                                   .runtime = given[2],
                                                   .requested_devices = given[3] });
    if (!model)
        return NULL;
    if (napi_create_object(env, &result) != napi_ok ||
        napi_wrap(env, result, model, release, NULL, NULL) != napi_ok) {
        ifg_model_destroy(model);
        return NULL;
    }
    return result;
}

static ifg_model *model_of(napi_env env, const struct arguments *arguments)
{
    void *model = NULL;

    if (!arguments->count || napi_unwrap(env, arguments->items[0], &model) != napi_ok)
        return NULL;
    return model;
}

static enum ifg_category category_of(napi_env env, const struct arguments *arguments)
{
    double value = number(env, arguments, 2);

    return value >= IFG_PREPARE_EP && value <= IFG_INFERENCE ? (enum ifg_category)value
                                                             : IFG_INFERENCE;
}

/* eventBegin(model, function, category): its position, or -1 */
static napi_value event_begin(napi_env env, napi_callback_info info)
{
    struct environment *environment = own(env);
    struct arguments arguments = take(env, info);
    char function[TEXT_MAX + 1];

    if (!ifg_wants_events() || !environment || environment->depth == STACK_MAX)
        return integer(env, -1);
    text(env, &arguments, 1, function);
    return integer(env, push(environment, ifg_event_begin(model_of(env, &arguments), function,
                                                          category_of(env, &arguments))));
}

/* eventAsyncBegin, eventAsyncEnd(model, function, category, id) */
static napi_value event_async(napi_env env, napi_callback_info info, bool begins)
{
    struct arguments arguments = take(env, info);
    char function[TEXT_MAX + 1];

    if (!ifg_wants_events())
        return NULL;
    text(env, &arguments, 1, function);
    (begins ? ifg_event_async_begin : ifg_event_async_end)(model_of(env, &arguments), function,
                                                           category_of(env, &arguments),
                                                           id_of(env, &arguments, 3));
    return NULL;
}

static napi_value event_async_begin(napi_env env, napi_callback_info info)
{
    return event_async(env, info, true);
}

static napi_value event_async_end(napi_env env, napi_callback_info info)
{
    return event_async(env, info, false);
}

/* ---- the module ---- */

static void drop(napi_env env, void *data, void *hint)
{
    (void)env;
    (void)hint;
    free(data);
}

NAPI_MODULE_INIT(/* env, exports */)
{
    static const struct {
        const char *name;
        napi_callback function;
    } functions[] = {
        { "isRecording", is_recording },
        { "begin", begin },
        { "end", end },
        { "detail", detail },
        { "counter", counter },
        { "message", message },
        { "frame", frame },
        { "threadName", thread_name },
        { "asyncBegin", async_begin },
        { "asyncEnd", async_end },
        { "flowBegin", flow_begin },
        { "flowStep", flow_step },
        { "flowEnd", flow_end },
        { "createModel", create_model },
        { "eventBegin", event_begin },
        { "eventAsyncBegin", event_async_begin },
        { "eventAsyncEnd", event_async_end },
    };
    struct environment *environment = calloc(1, sizeof *environment);

    if (!environment || napi_set_instance_data(env, environment, drop, NULL) != napi_ok) {
        free(environment);
        napi_throw_error(env, NULL, "inferogram: not enough memory");
        return NULL;
    }
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        napi_value function = NULL;

        if (napi_create_function(env, functions[i].name, NAPI_AUTO_LENGTH, functions[i].function,
                                 NULL, &function) == napi_ok)
            napi_set_named_property(env, exports, functions[i].name, function);
    }
    return exports;
}
