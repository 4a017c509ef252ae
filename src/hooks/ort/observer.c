// SPDX-License-Identifier: Apache-2.0
/*
 * See observer.h. ONNX Runtime loads this library as that of an execution provider, asks the
 * provider for a profiler whenever something is profiled, and calls it around every node, on the
 * thread that runs the node. What a node is called is known only when it ends.
 */
#include "hooks/ort/observer.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hooks/ort/identity.h"
#include "hooks/ort/wrap.h"
#include "ort_abi/content.h"
#include "trace/keys.h"

/* ---- the interface of providers: fields in ONNX Runtime's order; it reads as many of them as the
 * version at the beginning says ---- */

#define INTERFACE_VERSION ORT_ABI_COUNTED

struct ort_ep_profiler {
    uint32_t version;
    void (*release)(struct ort_ep_profiler *self);
    struct ort_status *(*start_profiling)(struct ort_ep_profiler *self, int64_t offset_ns);
    struct ort_status *(*start_event)(struct ort_ep_profiler *self, uint64_t id);
    struct ort_status *(*stop_event)(struct ort_ep_profiler *self, uint64_t id, const void *event);
    struct ort_status *(*end_profiling)(struct ort_ep_profiler *self, void *events);
};

struct ort_ep {
    uint32_t version;
    const char *(*get_name)(const struct ort_ep *self);
    struct ort_status *(*get_capability)(struct ort_ep *self, const void *graph, void *info);
    ort_function compile;
    void (*release_node_compute_infos)(struct ort_ep *self, void **infos, size_t count);
    ort_function unused_4_to_14[11];
    struct ort_status *(*create_profiler)(struct ort_ep *self, struct ort_ep_profiler **out);
    ort_function unused_16_to_24[9];
};

struct ort_ep_factory {
    uint32_t version;
    const char *(*get_name)(const struct ort_ep_factory *self);
    const char *(*get_vendor)(const struct ort_ep_factory *self);
    struct ort_status *(*get_supported_devices)(struct ort_ep_factory *self,
                                                const void *const *devices, size_t device_count,
                                                struct ort_ep_device **out, size_t max,
                                                size_t *out_count);
    struct ort_status *(*create_ep)(struct ort_ep_factory *self, const void *const *devices,
                                    const void *const *metadata, size_t count, const void *options,
                                    const void *logger, struct ort_ep **out);
    void (*release_ep)(struct ort_ep_factory *self, struct ort_ep *ep);
    uint32_t (*get_vendor_id)(const struct ort_ep_factory *self);
    const char *(*get_version)(const struct ort_ep_factory *self);
    ort_function unused_7_to_9[3];
    struct ort_status *(*create_data_transfer)(struct ort_ep_factory *self, void **out);
    uint8_t (*is_stream_aware)(const struct ort_ep_factory *self);
    ort_function unused_12_to_19[8];
};

enum ort_ep_slot_number {
    ORT_EP_CreateEpDevice = 0,
    ORT_EP_EventGetCategory = 67,
    ORT_EP_EventGetName = 68,
    ORT_EP_EventGetArgument = 71,
};

#define EVENT_IS_NODE 1

/* ---- ours ---- */

struct observer_factory {
    struct ort_ep_factory face; /* first: ONNX Runtime's pointers are to it */
    const ort_function *api;
    const ort_function *ep_api;
};

struct observer_ep {
    struct ort_ep face;
    struct observer_factory *factory;
    ifg_model *model; /* of the session that it was created for; NULL: not known */
};

struct observer_profiler {
    struct ort_ep_profiler face;
    struct observer_factory *factory;
    ifg_model *model;
};

#define OPEN_MAX 64u

static __thread struct {
    ifg_model *model;
    uint32_t depth; /* may be more than OPEN_MAX: those are not recorded */
    uint64_t starts[OPEN_MAX];
} observed;

void ifg_ort_observe(ifg_model *model)
{
    observed.model = model;
    observed.depth = 0;
}

/* Of the runtime that registered us last. */
static const ort_function *last_api;

int ifg_ort_profile_run(struct ort_run_options *options, const char *prefix)
{
    const ort_function *api = __atomic_load_n(&last_api, __ATOMIC_ACQUIRE);
    struct ort_status *status;

    if (!api || !options || !prefix)
        return -1;
    status = ((struct ort_status * (*)(struct ort_run_options *, const char *))
                  api[ORT_RunOptionsEnableProfiling])(options, prefix);
    if (status)
        ((void (*)(struct ort_status *))api[ORT_ReleaseStatus])(status);
    return status ? -1 : 0;
}

/* ---- nodes become locations, once ---- */

#define NODES_SLOTS 16384u

struct node_location {
    uint64_t key;
    uint32_t location;
};

static struct node_location nodes[NODES_SLOTS];
static unsigned node_count;
static pthread_mutex_t nodes_lock = PTHREAD_MUTEX_INITIALIZER;

static uint32_t node_location(ifg_model *model, const char *name, size_t bytes, const char *type)
{
    uint64_t key = ort_content_mix((uintptr_t)model, name, bytes) | 1;
    uint32_t location = 0;
    char text[ORT_TEXT * 2];

    pthread_mutex_lock(&nodes_lock);
    for (unsigned i = 0; i < NODES_SLOTS; i++) {
        struct node_location *slot = &nodes[(key + i) % NODES_SLOTS];

        if (slot->key && slot->key != key)
            continue;
        if (!slot->key && node_count < NODES_SLOTS / 4 * 3) {
            snprintf(text, sizeof text, "%.*s", (int)bytes, name);
            slot->key = key;
            slot->location = ifg_location_create(&(ifg_location_options){
                .struct_size = sizeof(ifg_location_options),
                .name = text,
                .function = type,
                .model = model,
                .kind = IFG_LOCATION_OPERATOR,
            });
            node_count++;
        }
        location = slot->location; /* 0: more different nodes than we keep */
        break;
    }
    pthread_mutex_unlock(&nodes_lock);
    return location;
}

/* ---- events ---- */

static struct ort_status *start_event(struct ort_ep_profiler *self, uint64_t id)
{
    (void)self;
    (void)id;
    if (observed.depth < OPEN_MAX)
        observed.starts[observed.depth] = ifg_ticks();
    observed.depth++;
    return NULL;
}

static bool drop(const ort_function *api, struct ort_status *status)
{
    if (status)
        ((void (*)(struct ort_status *))api[ORT_ReleaseStatus])(status);
    return !status;
}

static const char *argument(const struct observer_factory *factory, const void *event,
                            const char *key)
{
    const char *value = NULL;

    if (!drop(factory->api, ((struct ort_status * (*)(const void *, const char *, const char **))
                                 factory->ep_api[ORT_EP_EventGetArgument])(event, key, &value)))
        return NULL;
    return value && *value ? value : NULL;
}

static void tell_arguments(const struct observer_factory *factory, const void *event, ifg_zone zone)
{
    static const char *const texts[] = {
        "provider",
        "input_type_shape",
        "output_type_shape",
        "thread_scheduling_stats",
    };
    static const char *const numbers[] = {
        "node_index",
        "output_size",
        "activation_size",
        "parameter_size",
    };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *value = argument(factory, event, texts[i]);

        if (value)
            ifg_zone_detail_string(zone, texts[i], value);
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const char *value = argument(factory, event, numbers[i]);

        if (value)
            ifg_zone_detail_int(zone, numbers[i], strtoll(value, NULL, 10));
    }
}

static void write_node(const struct observer_factory *factory, ifg_model *model, const void *event,
                       uint64_t start, uint64_t end)
{
    static const char ending[] = "_kernel_time";
    const char *name = NULL;
    const char *type;
    size_t bytes;
    ifg_zone zone;

    if (!drop(factory->api, ((struct ort_status * (*)(const void *, const char **))
                                 factory->ep_api[ORT_EP_EventGetName])(event, &name)) ||
        !name)
        return;
    bytes = strlen(name);
    if (bytes > sizeof ending - 1 && strcmp(name + bytes - (sizeof ending - 1), ending) == 0)
        bytes -= sizeof ending - 1;
    type = argument(factory, event, TRACE_KEY_OP_NAME);
    zone = ifg_location_begin_at(node_location(model, name, bytes, type), start);
    if (!zone.depth)
        return;
    if (type)
        ifg_zone_detail_string(zone, TRACE_KEY_OP_NAME, type);
    tell_arguments(factory, event, zone);
    ifg_zone_end_at(zone, end);
}

static struct ort_status *stop_event(struct ort_ep_profiler *self, uint64_t id, const void *event)
{
    const struct observer_profiler *profiler = (const struct observer_profiler *)self;
    ifg_model *model = profiler->model ? profiler->model : observed.model;
    uint64_t end = ifg_ticks();
    int category = 0;

    (void)id;
    if (!observed.depth)
        return NULL; /* it began before we were asked */
    observed.depth--;
    if (!ifg_is_recording() || !model || observed.depth >= OPEN_MAX)
        return NULL;
    if (drop(profiler->factory->api,
             ((struct ort_status * (*)(const void *, int *))
                  profiler->factory->ep_api[ORT_EP_EventGetCategory])(event, &category)) &&
        category == EVENT_IS_NODE)
        write_node(profiler->factory, model, event, observed.starts[observed.depth], end);
    return NULL;
}

/* ---- profiler, provider, factory ---- */

static void release_profiler(struct ort_ep_profiler *self)
{
    free(self);
}

static struct ort_status *start_profiling(struct ort_ep_profiler *self, int64_t offset_ns)
{
    (void)self;
    (void)offset_ns;
    observed.depth = 0;
    return NULL;
}

static struct ort_status *end_profiling(struct ort_ep_profiler *self, void *events)
{
    (void)self;
    (void)events;
    return NULL;
}

static struct ort_status *create_profiler(struct ort_ep *self, struct ort_ep_profiler **out)
{
    const struct observer_ep *ep = (const struct observer_ep *)self;
    struct observer_profiler *profiler = calloc(1, sizeof *profiler);

    *out = NULL;
    if (!profiler)
        return NULL;
    profiler->face = (struct ort_ep_profiler){
        .version = INTERFACE_VERSION,
        .release = release_profiler,
        .start_profiling = start_profiling,
        .start_event = start_event,
        .stop_event = stop_event,
        .end_profiling = end_profiling,
    };
    profiler->factory = ep->factory;
    profiler->model = ep->model;
    *out = &profiler->face;
    return NULL;
}

static const char *ep_name(const struct ort_ep *self)
{
    (void)self;
    return OBSERVER_NAME;
}

static struct ort_status *take_no_node(struct ort_ep *self, const void *graph, void *info)
{
    (void)self;
    (void)graph;
    (void)info;
    return NULL;
}

static void release_nothing(struct ort_ep *self, void **infos, size_t count)
{
    (void)self;
    (void)infos;
    (void)count;
}

static struct ort_status *create_ep(struct ort_ep_factory *self, const void *const *devices,
                                    const void *const *metadata, size_t count, const void *options,
                                    const void *logger, struct ort_ep **out)
{
    struct observer_ep *ep = calloc(1, sizeof *ep);

    (void)devices;
    (void)metadata;
    (void)count;
    (void)options;
    (void)logger;
    *out = NULL;
    if (!ep)
        return NULL;
    ep->face = (struct ort_ep){
        .version = INTERFACE_VERSION,
        .get_name = ep_name,
        .get_capability = take_no_node,
        .release_node_compute_infos = release_nothing,
        .create_profiler = create_profiler,
    };
    ep->factory = (struct observer_factory *)self;
    ep->model = observed.model;
    *out = &ep->face;
    return NULL;
}

static void release_ep(struct ort_ep_factory *self, struct ort_ep *ep)
{
    (void)self;
    free(ep);
}

static const char *factory_name(const struct ort_ep_factory *self)
{
    (void)self;
    return OBSERVER_NAME;
}

static const char *factory_vendor(const struct ort_ep_factory *self)
{
    (void)self;
    return "Inferogram";
}

static uint32_t factory_vendor_id(const struct ort_ep_factory *self)
{
    (void)self;
    return 0;
}

static const char *factory_version(const struct ort_ep_factory *self)
{
    (void)self;
    return INFEROGRAM_VERSION;
}

static struct ort_status *supported_devices(struct ort_ep_factory *self, const void *const *devices,
                                            size_t device_count, struct ort_ep_device **out,
                                            size_t max, size_t *out_count)
{
    const struct observer_factory *factory = (const struct observer_factory *)self;
    struct ort_status *status;

    *out_count = 0;
    if (!device_count || !max)
        return NULL;
    status = ((struct ort_status * (*)(struct ort_ep_factory *, const void *, const void *,
                                       const void *, struct ort_ep_device **))
                  factory->ep_api[ORT_EP_CreateEpDevice])(self, devices[0], NULL, NULL, &out[0]);
    if (!status)
        *out_count = 1;
    return status;
}

static struct ort_status *no_data_transfer(struct ort_ep_factory *self, void **out)
{
    (void)self;
    *out = NULL;
    return NULL;
}

static uint8_t not_stream_aware(const struct ort_ep_factory *self)
{
    (void)self;
    return 0;
}

struct ort_status *CreateEpFactories(const char *registration_name, const struct ort_base *base,
                                     const void *logger, struct ort_ep_factory **factories,
                                     size_t max_factories, size_t *out_count)
{
    const ort_function *api = base->get_api(OBSERVER_OLDEST);
    struct observer_factory *factory;

    (void)registration_name;
    (void)logger;
    *out_count = 0;
    factory = api && max_factories ? calloc(1, sizeof *factory) : NULL;
    if (!factory)
        return NULL;
    factory->api = api;
    factory->ep_api = ((const ort_function *(*)(void))api[ORT_GetEpApi])();
    factory->face = (struct ort_ep_factory){
        .version = INTERFACE_VERSION,
        .get_name = factory_name,
        .get_vendor = factory_vendor,
        .get_supported_devices = supported_devices,
        .create_ep = create_ep,
        .release_ep = release_ep,
        .get_vendor_id = factory_vendor_id,
        .get_version = factory_version,
        .create_data_transfer = no_data_transfer,
        .is_stream_aware = not_stream_aware,
    };
    __atomic_store_n(&last_api, api, __ATOMIC_RELEASE);
    factories[0] = &factory->face;
    *out_count = 1;
    return NULL;
}

struct ort_status *ReleaseEpFactory(struct ort_ep_factory *factory)
{
    free(factory);
    return NULL;
}

/* ---- adding it to a session ---- */

static const char *device_name(const struct ort_runtime *rt, const struct ort_ep_device *device)
{
    return ((const char *(*)(const struct ort_ep_device *))rt->api[ORT_EpDevice_EpName])(device);
}

static bool is_observer(const struct ort_runtime *rt, const struct ort_ep_device *device)
{
    const char *name = device ? device_name(rt, device) : NULL;

    return name && strcmp(name, OBSERVER_NAME) == 0;
}

static struct ort_status *real_devices(const struct ort_runtime *rt, const struct ort_env *env,
                                       const struct ort_ep_device *const **out, size_t *out_count)
{
    return ORT_FN(rt, GetEpDevices, const struct ort_env *, const struct ort_ep_device *const **,
                  size_t *)(env, out, out_count);
}

bool observer_append(struct ort_runtime *rt, const struct ort_env *env,
                     struct ort_session_options *ours)
{
    const struct ort_ep_device *const *devices = NULL;
    size_t count = 0;
    Dl_info self;
    bool added = false;
    int saved_errno = errno;

    pthread_mutex_lock(&rt->lock);
    if (rt->observed_env != env && dladdr((void *)(uintptr_t)&observer_append, &self)) {
        ort_ok(rt, ORT_FN(rt, RegisterProviderLibrary, const struct ort_env *, ort_text,
                          ort_text)(env, OBSERVER_NAME, self.dli_fname));
        rt->observed_env = env; /* also if it was there already */
    }
    pthread_mutex_unlock(&rt->lock);
    if (ort_ok(rt, real_devices(rt, env, &devices, &count)))
        for (size_t i = 0; i < count && !added; i++)
            if (is_observer(rt, devices[i]))
                added =
                    ort_ok(rt, ORT_FN(rt, AppendExecutionProvider_V2, struct ort_session_options *,
                                      const struct ort_env *, const struct ort_ep_device *const *,
                                      size_t, const ort_text *, const ort_text *,
                                      size_t)(ours, env, &devices[i], 1, NULL, NULL, 0));
    errno = saved_errno;
    return added;
}

/* All but the observer. A list that was handed out stays for good, as ONNX Runtime's does: there
 * are as many as there are registrations of libraries. */
static const struct ort_ep_device *const *
list_without_observer(struct ort_runtime *rt, const struct ort_ep_device *const *devices,
                      size_t count, size_t left)
{
    const struct ort_ep_device **list = calloc(left + 1, sizeof *list);
    size_t at = 0;

    if (!list)
        return NULL;
    for (size_t i = 0; i < count && at < left; i++)
        if (!is_observer(rt, devices[i]))
            list[at++] = devices[i];
    pthread_mutex_lock(&rt->lock);
    if (rt->shown_devices && rt->shown_count == left &&
        memcmp(rt->shown_devices, list, left * sizeof *list) == 0) {
        free(list);
    } else {
        rt->shown_devices = list;
        rt->shown_count = left;
    }
    pthread_mutex_unlock(&rt->lock);
    return rt->shown_devices;
}

/* The program sees the devices that it would have without us. */
struct ort_status *ort_GetEpDevices(struct ort_runtime *rt, const struct ort_env *env,
                                    const struct ort_ep_device *const **devices, size_t *count)
{
    struct ort_status *status = real_devices(rt, env, devices, count);
    const struct ort_ep_device *const *kept;
    size_t left = 0;

    if (status || rt->observed_env != env || !*count)
        return status;
    for (size_t i = 0; i < *count; i++)
        left += !is_observer(rt, (*devices)[i]);
    if (left == *count)
        return status;
    kept = list_without_observer(rt, *devices, *count, left);
    if (kept) {
        *devices = kept;
        *count = left;
    }
    return status;
}
