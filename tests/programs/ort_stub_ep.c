// SPDX-License-Identifier: Apache-2.0
/*
 * An execution provider for the tests: a library that ONNX Runtime 1.24 and later load on the
 * program's behalf. "StubExecutionProvider" takes the nodes of one operator type and computes them
 * as Relu of floats on the CPU. Options:
 *
 *   stub_operator=TYPE    the nodes that it takes (default Relu)
 *   stub_ignore_nodes=1   takes none
 *   stub_cache_path=DIR   when a session is compiled, opens DIR/engine.cache, or builds it
 *   stub_build_in_run=1   does that with DIR/engine-run.cache, in the first run of the session
 *
 * Structures have ONNX Runtime's order of fields; it reads as many of them as the version at the
 * beginning says.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "ort_min.h"

#define NAME              "StubExecutionProvider"
#define OPTIONS           "ep.stubexecutionprovider." /* where ONNX Runtime keeps them */
#define INTERFACE_VERSION 24
#define NODES_MAX         256
#define RANK_MAX          8
#define ENGINE_BUILD_NS   20000000 /* what it takes to build an engine */
#define FAILED            1        /* error code of ONNX Runtime */
#define EXPORTED          __attribute__((visibility("default")))

enum ep_slot { EP_CREATE_DEVICE = 0, EP_ADD_NODES_TO_FUSE = 2 };

struct compute_info {
    uint32_t version;
    void *(*create_state)(struct compute_info *self, void *context, void **out);
    void *(*compute)(struct compute_info *self, void *state, void *context);
    void (*release_state)(struct compute_info *self, void *state);
};

struct ep {
    uint32_t version;
    const char *(*get_name)(const struct ep *self);
    void *(*get_capability)(struct ep *self, const void *graph, void *support);
    void *(*compile)(struct ep *self, const void **graphs, const void **nodes, size_t count,
                     struct compute_info **infos, void **context_nodes);
    void (*release_compute_infos)(struct ep *self, struct compute_info **infos, size_t count);
    ort_function unused_4_to_24[21];
};

struct factory {
    uint32_t version;
    const char *(*get_name)(const struct factory *self);
    const char *(*get_vendor)(const struct factory *self);
    void *(*get_supported_devices)(struct factory *self, const void *const *devices, size_t count,
                                   void **out, size_t max, size_t *out_count);
    void *(*create_ep)(struct factory *self, const void *const *devices,
                       const void *const *metadata, size_t count, const void *options,
                       const void *logger, struct ep **out);
    void (*release_ep)(struct factory *self, struct ep *ep);
    uint32_t (*get_vendor_id)(const struct factory *self);
    const char *(*get_version)(const struct factory *self);
    ort_function unused_7_to_9[3];
    void *(*create_data_transfer)(struct factory *self, void **out);
    uint8_t (*is_stream_aware)(const struct factory *self);
    ort_function unused_12_to_19[8];
};

/* ---- ours ---- */

struct stub_factory {
    struct factory face; /* first: ONNX Runtime's pointers are to it */
    ort_table api;
    ort_table ep_api;
};

struct stub_ep {
    struct ep face;
    const struct stub_factory *factory;
    char operator_type[64];
    char cache[512]; /* empty: none */
    bool ignores_nodes;
    bool builds_in_run;
    pthread_mutex_t lock;
    bool has_engine; /* under the lock */
};

struct stub_kernel {
    struct compute_info face;
    struct stub_ep *ep;
};

#define CALL(factory, slot, types, ...) ORT((factory)->api, slot, void *, types)(__VA_ARGS__)

static void *error(const struct stub_factory *factory, const char *message)
{
    return CALL(factory, ORT_CreateStatus, (int, const char *), FAILED, message);
}

/* ---- the engine ---- */

/* NULL: it is there now, read or built. */
static const char *get_engine(const struct stub_ep *ep, const char *name)
{
    static const struct timespec building = { 0, ENGINE_BUILD_NS };
    static const char engine[] = "an engine\n";
    const char *problem = NULL;
    char content[64];
    char path[600];
    int file;

    snprintf(path, sizeof path, "%s/%s", ep->cache, name);
    file = open(path, O_RDONLY | O_CLOEXEC);
    if (file >= 0) {
        if (read(file, content, sizeof content) != (ssize_t)(sizeof engine - 1))
            problem = "the engine cache is damaged";
        close(file);
        return problem;
    }
    nanosleep(&building, NULL);
    mkdir(ep->cache, 0755); /* it may be there */
    file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (file < 0)
        return "the engine cache cannot be written";
    if (write(file, engine, sizeof engine - 1) != (ssize_t)(sizeof engine - 1))
        problem = "the engine cache cannot be written";
    close(file);
    return problem;
}

/* Once for each session, at the time that the options say. */
static void *need_engine(struct stub_ep *ep, bool in_run)
{
    const char *problem = NULL;

    if (!ep->cache[0] || ep->builds_in_run != in_run)
        return NULL;
    pthread_mutex_lock(&ep->lock);
    if (!ep->has_engine)
        problem = get_engine(ep, in_run ? "engine-run.cache" : "engine.cache");
    ep->has_engine = !problem;
    pthread_mutex_unlock(&ep->lock);
    return problem ? error(ep->factory, problem) : NULL;
}

/* ---- computing ---- */

static void *shape_of(const struct stub_factory *factory, const void *value, int64_t *dims,
                      size_t *out_rank, size_t *out_count)
{
    void *status;
    void *info = NULL;
    int type = 0;

    status = CALL(factory, ORT_GetTensorTypeAndShape, (const void *, void **), value, &info);
    if (status)
        return status;
    status = CALL(factory, ORT_GetTensorElementType, (void *, int *), info, &type);
    if (!status && type != ORT_FLOAT)
        status = error(factory, "the stub computes floats only");
    if (!status)
        status = CALL(factory, ORT_GetDimensionsCount, (void *, size_t *), info, out_rank);
    if (!status && *out_rank > RANK_MAX)
        status = error(factory, "too many dimensions for the stub");
    if (!status)
        status =
            CALL(factory, ORT_GetDimensions, (void *, int64_t *, size_t), info, dims, *out_rank);
    if (!status)
        status = CALL(factory, ORT_GetTensorShapeElementCount, (void *, size_t *), info, out_count);
    ORT(factory->api, ORT_ReleaseTensorTypeAndShapeInfo, void, (void *))(info);
    return status;
}

static void *compute(struct compute_info *self, void *state, void *context)
{
    struct stub_ep *ep = ((struct stub_kernel *)self)->ep;
    const struct stub_factory *factory = ep->factory;
    const void *input = NULL;
    void *output = NULL;
    float *from = NULL;
    float *to = NULL;
    int64_t dims[RANK_MAX];
    size_t rank = 0;
    size_t count = 0;
    void *status;

    (void)state;
    status = need_engine(ep, true);
    if (!status)
        status = CALL(factory, ORT_KernelContext_GetInput, (void *, size_t, const void **), context,
                      0, &input);
    if (!status)
        status = shape_of(factory, input, dims, &rank, &count);
    if (!status)
        status = CALL(factory, ORT_KernelContext_GetOutput,
                      (void *, size_t, const int64_t *, size_t, void **), context, 0, dims, rank,
                      &output);
    if (!status)
        status = CALL(factory, ORT_GetTensorMutableData, (const void *, float **), input, &from);
    if (!status)
        status = CALL(factory, ORT_GetTensorMutableData, (void *, float **), output, &to);
    for (size_t i = 0; !status && i < count; i++)
        to[i] = from[i] > 0 ? from[i] : 0;
    return status;
}

static void *create_state(struct compute_info *self, void *context, void **out)
{
    (void)context;
    *out = self;
    return NULL;
}

static void release_state(struct compute_info *self, void *state)
{
    (void)self;
    (void)state;
}

/* ---- provider ---- */

static const char *ep_name(const struct ep *self)
{
    (void)self;
    return NAME;
}

static void *get_capability(struct ep *self, const void *graph, void *support)
{
    const struct stub_ep *ep = (const struct stub_ep *)self;
    const struct stub_factory *factory = ep->factory;
    const void *nodes[NODES_MAX];
    size_t count = 0;
    void *status;

    if (ep->ignores_nodes)
        return NULL;
    status = CALL(factory, ORT_Graph_GetNumNodes, (const void *, size_t *), graph, &count);
    if (!status && count > NODES_MAX)
        status = error(factory, "too many nodes for the stub");
    if (!status)
        status = CALL(factory, ORT_Graph_GetNodes, (const void *, const void **, size_t), graph,
                      nodes, count);
    for (size_t i = 0; !status && i < count; i++) {
        const char *type = NULL;

        status =
            CALL(factory, ORT_Node_GetOperatorType, (const void *, const char **), nodes[i], &type);
        if (!status && strcmp(type, ep->operator_type) == 0)
            status = ORT(factory->ep_api, EP_ADD_NODES_TO_FUSE, void *,
                         (void *, const void *const *, size_t, const void *))(support, &nodes[i], 1,
                                                                              NULL);
    }
    return status;
}

static void release_compute_infos(struct ep *self, struct compute_info **infos, size_t count)
{
    (void)self;
    for (size_t i = 0; i < count; i++)
        free(infos[i]);
}

static void *compile(struct ep *self, const void **graphs, const void **nodes, size_t count,
                     struct compute_info **infos, void **context_nodes)
{
    struct stub_ep *ep = (struct stub_ep *)self;

    (void)graphs;
    (void)nodes;
    (void)context_nodes;
    for (size_t i = 0; i < count; i++) {
        struct stub_kernel *kernel = calloc(1, sizeof *kernel);

        if (!kernel)
            return error(ep->factory, "no memory");
        kernel->face = (struct compute_info){
            .version = INTERFACE_VERSION,
            .create_state = create_state,
            .compute = compute,
            .release_state = release_state,
        };
        kernel->ep = ep;
        infos[i] = &kernel->face;
    }
    return need_engine(ep, false);
}

/* ---- factory ---- */

static void read_option(const struct stub_factory *factory, const void *options, const char *key,
                        char *out, size_t size)
{
    char name[96];
    char value[512];
    size_t bytes = sizeof value;
    int there = 0;

    snprintf(name, sizeof name, OPTIONS "%s", key);
    if (!CALL(factory, ORT_HasSessionConfigEntry, (const void *, const char *, int *), options,
              name, &there) &&
        there &&
        !CALL(factory, ORT_GetSessionConfigEntry, (const void *, const char *, char *, size_t *),
              options, name, value, &bytes))
        snprintf(out, size, "%s", value);
}

static bool read_flag(const struct stub_factory *factory, const void *options, const char *key)
{
    char value[8] = "";

    read_option(factory, options, key, value, sizeof value);
    return strcmp(value, "1") == 0;
}

/* A file that appears while a session is made, as the model that a provider has compiled does. */
static void write_compiled(const struct stub_factory *factory, const void *options)
{
    char path[512] = "";
    int file;

    read_option(factory, options, "stub_compiled", path, sizeof path);
    file = path[0] ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644) : -1;
    if (file >= 0)
        close(file);
}

static void *create_ep(struct factory *self, const void *const *devices,
                       const void *const *metadata, size_t count, const void *options,
                       const void *logger, struct ep **out)
{
    const struct stub_factory *factory = (const struct stub_factory *)self;
    struct stub_ep *ep = calloc(1, sizeof *ep);

    (void)devices;
    (void)metadata;
    (void)count;
    (void)logger;
    *out = NULL;
    if (!ep)
        return error(factory, "no memory");
    ep->face = (struct ep){
        .version = INTERFACE_VERSION,
        .get_name = ep_name,
        .get_capability = get_capability,
        .compile = compile,
        .release_compute_infos = release_compute_infos,
    };
    ep->factory = factory;
    pthread_mutex_init(&ep->lock, NULL);
    snprintf(ep->operator_type, sizeof ep->operator_type, "Relu");
    read_option(factory, options, "stub_operator", ep->operator_type, sizeof ep->operator_type);
    read_option(factory, options, "stub_cache_path", ep->cache, sizeof ep->cache);
    write_compiled(factory, options);
    ep->ignores_nodes = read_flag(factory, options, "stub_ignore_nodes");
    ep->builds_in_run = read_flag(factory, options, "stub_build_in_run");
    *out = &ep->face;
    return NULL;
}

static void release_ep(struct factory *self, struct ep *ep)
{
    (void)self;
    pthread_mutex_destroy(&((struct stub_ep *)ep)->lock);
    free(ep);
}

static const char *factory_name(const struct factory *self)
{
    (void)self;
    return NAME;
}

static const char *factory_vendor(const struct factory *self)
{
    (void)self;
    return "tests";
}

static uint32_t factory_vendor_id(const struct factory *self)
{
    (void)self;
    return 0;
}

static const char *factory_version(const struct factory *self)
{
    (void)self;
    return "1.0.0";
}

/* The first CPU that there is. */
static void *get_supported_devices(struct factory *self, const void *const *devices, size_t count,
                                   void **out, size_t max, size_t *out_count)
{
    const struct stub_factory *factory = (const struct stub_factory *)self;
    void *status = NULL;

    *out_count = 0;
    for (size_t i = 0; i < count && max && !status && !*out_count; i++) {
        if (ORT(factory->api, ORT_HardwareDevice_Type, int, (const void *))(devices[i]) != 0)
            continue;
        status = ORT(factory->ep_api, EP_CREATE_DEVICE, void *,
                     (struct factory *, const void *, const void *, const void *, void **))(
            self, devices[i], NULL, NULL, &out[0]);
        *out_count = status ? 0 : 1;
    }
    return status;
}

static void *create_data_transfer(struct factory *self, void **out)
{
    (void)self;
    *out = NULL;
    return NULL;
}

static uint8_t is_stream_aware(const struct factory *self)
{
    (void)self;
    return 0;
}

EXPORTED void *CreateEpFactories(const char *registration_name, const struct ort_base *base,
                                 const void *logger, struct factory **factories, size_t max,
                                 size_t *out_count);
EXPORTED void *ReleaseEpFactory(struct factory *factory);

void *CreateEpFactories(const char *registration_name, const struct ort_base *base,
                        const void *logger, struct factory **factories, size_t max,
                        size_t *out_count)
{
    ort_table api = base->get_api(INTERFACE_VERSION);
    struct stub_factory *factory = api && max ? calloc(1, sizeof *factory) : NULL;

    (void)registration_name;
    (void)logger;
    *out_count = 0;
    if (!factory)
        return NULL;
    factory->api = api;
    factory->ep_api = ORT(api, ORT_GetEpApi, ort_table, (void))();
    factory->face = (struct factory){
        .version = INTERFACE_VERSION,
        .get_name = factory_name,
        .get_vendor = factory_vendor,
        .get_supported_devices = get_supported_devices,
        .create_ep = create_ep,
        .release_ep = release_ep,
        .get_vendor_id = factory_vendor_id,
        .get_version = factory_version,
        .create_data_transfer = create_data_transfer,
        .is_stream_aware = is_stream_aware,
    };
    factories[0] = &factory->face;
    *out_count = 1;
    return NULL;
}

void *ReleaseEpFactory(struct factory *factory)
{
    free(factory);
    return NULL;
}
