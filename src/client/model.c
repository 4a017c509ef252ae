// SPDX-License-Identifier: Apache-2.0
/*
 * Models and the events of their functions.
 *
 * A model that is created again with the same texts is the same model: an application that loads
 * one file for each request makes one track, not a thousand. Models are never freed (a recorder may
 * come later) and their number is bounded; what is over shares one model that says so.
 */
#include "client/client_internal.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define MODELS_MAX       4096u
#define FUNCTIONS_MAX    256u
#define STRINGS          6
#define LOCATION_KIND_ML 2
#define CATEGORIES       (IFG_INFERENCE + 1)

/* One function of a model; the location ids of its five categories. Published by prepending. */
struct model_function {
    struct model_function *next;
    char *name;
    uint32_t locations[CATEGORIES];
};

struct ifg_model {
    struct ifg_model *next;
    uint32_t id;
    uint32_t references;
    uint32_t running; /* inferences under way, as far as handles saw them begin */
    uint32_t function_count;
    struct model_function *functions;
    struct client_capture capture;
    char *strings[STRINGS];
};

static pthread_mutex_t models_lock = PTHREAD_MUTEX_INITIALIZER;
static struct ifg_model *models;
static uint32_t model_count;

void client_models_lock(void)
{
    pthread_mutex_lock(&models_lock);
}

void client_models_unlock(void)
{
    pthread_mutex_unlock(&models_lock);
}

static bool same_model(const struct ifg_model *model, const char *const strings[STRINGS])
{
    for (int i = 0; i < STRINGS; i++)
        if (strcmp(model->strings[i], strings[i]) != 0)
            return false;
    return true;
}

static struct ifg_model *new_model(const char *const strings[STRINGS])
{
    struct ifg_model *model = calloc(1, sizeof *model);

    if (!model)
        return NULL;
    for (int i = 0; i < STRINGS; i++) {
        model->strings[i] = strdup(strings[i]);
        if (!model->strings[i]) {
            while (i-- > 0)
                free(model->strings[i]);
            free(model);
            return NULL;
        }
    }
    model->id = client_define_model(strings);
    model->next = models;
    models = model;
    model_count++;
    return model;
}

ifg_model *ifg_model_create(const ifg_model_options *options)
{
    static const char *const overflow[STRINGS] = {
        "(more models than can be told apart)", "", "", "", "", ""
    };
    const char *const *fields = NULL;
    const char *strings[STRINGS];
    ifg_model_options known = { 0 };
    struct ifg_model *model;
    int saved_errno = errno;

    if (options && options->struct_size)
        memcpy(&known, options,
               options->struct_size < sizeof known ? options->struct_size : sizeof known);
    fields = &known.name;
    for (int i = 0; i < STRINGS; i++)
        strings[i] = fields[i] ? fields[i] : "";

    pthread_mutex_lock(&models_lock);
    for (model = models; model; model = model->next)
        if (same_model(model, strings))
            break;
    if (!model && model_count < MODELS_MAX - 1)
        model = new_model(strings);
    if (!model) {
        for (model = models; model; model = model->next)
            if (same_model(model, overflow))
                break;
        if (!model)
            model = new_model(overflow);
    }
    if (model && model->references++ == 0 && client_is_tapped())
        client_tap_model(model, IFG_TAP_CREATED);
    pthread_mutex_unlock(&models_lock);
    errno = saved_errno;
    return model;
}

void ifg_model_destroy(ifg_model *model)
{
    int saved_errno = errno;

    if (!model)
        return;
    pthread_mutex_lock(&models_lock);
    if (model->references && --model->references == 0 && client_is_tapped())
        client_tap_model(model, IFG_TAP_RELEASED);
    pthread_mutex_unlock(&models_lock);
    errno = saved_errno;
}

void ifg_model_property(ifg_model *model, const char *key, const char *value)
{
    int saved_errno = errno;

    if (model && key)
        client_define_property(model->id, key, value ? value : "");
    errno = saved_errno;
}

static struct model_function *find_function(ifg_model *model, const char *name)
{
    struct model_function *function = __atomic_load_n(&model->functions, __ATOMIC_ACQUIRE);

    while (function && strcmp(function->name, name) != 0)
        function = function->next;
    return function;
}

static struct model_function *add_function(ifg_model *model, const char *name)
{
    struct model_function *function;

    pthread_mutex_lock(&models_lock);
    function = find_function(model, name);
    if (!function && model->function_count >= FUNCTIONS_MAX)
        function = model->functions; /* the newest one stands for all that are too many */
    if (!function) {
        function = calloc(1, sizeof *function);
        if (function && !(function->name = strdup(name))) {
            free(function);
            function = NULL;
        }
        if (function) {
            function->next = model->functions;
            model->function_count++;
            __atomic_store_n(&model->functions, function, __ATOMIC_RELEASE);
        }
    }
    pthread_mutex_unlock(&models_lock);
    return function;
}

/* The location of (model, function, category), defined at its first use; 0 when there is none. */
static uint32_t event_location(ifg_model *model, const char *name, enum ifg_category category)
{
    struct model_function *function;
    uint32_t id;

    if (!model || category < IFG_PREPARE_EP || category > IFG_INFERENCE)
        return 0;
    if (!name || !*name)
        name = "main";
    function = find_function(model, name);
    if (UNLIKELY(!function)) {
        int saved_errno = errno;

        function = add_function(model, name);
        errno = saved_errno;
        if (!function)
            return 0;
    }
    id = __atomic_load_n(&function->locations[category], __ATOMIC_RELAXED);
    if (UNLIKELY(!id)) {
        uint32_t expected = 0;

        id = client_define_location(LOCATION_KIND_ML, category, 0, 0, model->id, "", function->name,
                                    "");
        client_tap_location(id, model, category);
        if (!__atomic_compare_exchange_n(&function->locations[category], &expected, id, false,
                                         __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            id = expected;
    }
    return id;
}

struct client_capture *client_model_capture(ifg_model *model)
{
    return &model->capture;
}

uint32_t client_model_id(const ifg_model *model)
{
    return model ? model->id : 0;
}

uint32_t client_model_begins(ifg_model *model)
{
    return __atomic_add_fetch(&model->running, 1, __ATOMIC_RELAXED);
}

void client_model_ends(ifg_model *model)
{
    __atomic_sub_fetch(&model->running, 1, __ATOMIC_RELAXED);
}

uint32_t client_model_running(const ifg_model *model)
{
    return __atomic_load_n(&model->running, __ATOMIC_RELAXED);
}

void client_models_forked(void)
{
    for (struct ifg_model *model = models; model; model = model->next) {
        model->running = 0;
        model->capture = (struct client_capture){ 0 }; /* its parent's files are not its own */
    }
}

const char *ifg_tap_model_name(const ifg_model *model)
{
    return model->strings[0];
}

void ifg_tap_models(void (*each)(ifg_model *model, const char *name, void *user), void *user)
{
    pthread_mutex_lock(&models_lock);
    for (struct ifg_model *model = models; model; model = model->next)
        if (model->references)
            each(model, model->strings[0], user);
    pthread_mutex_unlock(&models_lock);
}

uint32_t ifg_event_location(ifg_model *model, const char *function, enum ifg_category category)
{
    return event_location(model, function, category);
}

ifg_zone ifg_event_begin(ifg_model *model, const char *function, enum ifg_category category)
{
    return ifg_location_begin(event_location(model, function, category));
}

void ifg_event_async_begin(ifg_model *model, const char *function, enum ifg_category category,
                           uint64_t id)
{
    uint32_t location = event_location(model, function, category);

    if (location && client_is_recorded())
        client_emit(IFG_WIRE_ASYNC_BEGIN, client_now(), location, &id, sizeof id);
    if (location && UNLIKELY(client_is_tapped()))
        client_tap_async_begin(location, id);
}

void ifg_event_async_end(ifg_model *model, const char *function, enum ifg_category category,
                         uint64_t id)
{
    uint32_t location = event_location(model, function, category);

    if (location && client_is_recorded())
        client_emit(IFG_WIRE_ASYNC_END, client_now(), location, &id, sizeof id);
    if (location && UNLIKELY(client_is_tapped()))
        client_tap_async_end(location, id);
}
