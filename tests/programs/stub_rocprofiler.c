// SPDX-License-Identifier: Apache-2.0
/*
 * A rocprofiler-sdk that watches the HIP of stub_hip.c. Its records have the layout of version
 * 1.0.0; STUB_ROCM_VERSION tells another one. Its clock is an hour ahead. Names of tools are read
 * as version 1.0.0 reads them. STUB_ROCM says what is to go wrong:
 *
 *     locked        contexts cannot be created
 *     start         nor started
 *     memoryless    there are no records of memory
 *     numbers       nobody is asked for numbers
 *     below         another tool looks at calls below HIP's: work has their numbers
 *     short         records are shorter than they should be
 *     drops         of every flush, a record is lost
 *     gpuless       there is only a processor
 */
#include "stub_rocm.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORT   __attribute__((visibility("default")))
#define CONTEXTS 16u
#define BUFFERS  8u
#define RECORDS  65536u
#define KERNELS  64u
#define TOOLS    8u
#define AHEAD_NS 3600000000000ull

enum { OK = 0, ERROR = 1, NOT_FOUND = 4, LOCKED = 16, FINALIZED = 21 };
enum { CALLBACK_HIP = 5, CALLBACK_CODE = 10 };
enum { BUFFER_COPY = 10, BUFFER_KERNEL = 11, BUFFER_MEMORY = 16 };
enum { REQUEST_COPY = 10, REQUEST_KERNEL = 11, REQUEST_MEMORY = 15 };

struct event {
    uint64_t context, thread, internal, external, ancestor;
    int32_t kind, operation, phase;
    void *data;
};
struct header {
    uint32_t category, kind;
    void *record;
};
struct dispatch {
    uint64_t size, agent, queue, kernel, dispatch;
    uint32_t private_bytes, group_bytes;
    uint32_t block[3], grid[3];
    uint8_t reserved[56];
};
/* The three kinds of records, one after the other in memory that fits all. */
struct kernel_record {
    uint64_t size;
    uint32_t kind, operation;
    uint64_t internal, external, thread, start, end;
    struct dispatch info;
};
struct copy_record {
    uint64_t size;
    uint32_t kind, operation;
    uint64_t internal, external, thread, start, end, to, from, bytes, to_address, from_address;
};
struct memory_record {
    uint64_t size;
    uint32_t kind, operation;
    uint64_t internal, external, ancestor, thread, start, end, agent, address, bytes;
};
union record {
    struct kernel_record kernel;
    struct copy_record copy;
    struct memory_record memory;
};
struct symbol {
    uint64_t size, kernel, code;
    const char *name;
    uint64_t object;
    uint32_t argument_bytes, argument_alignment, group_bytes, private_bytes;
    uint32_t scalars, vectors, accumulators;
    int64_t entry;
    uint64_t address;
};
struct agent {
    uint64_t size, id;
    uint32_t type;
    uint32_t before[22];
    uint32_t location, domain;
    uint32_t between[33];
    const char *name, *vendor, *product, *model;
    uint32_t node;
    int32_t logical, logical_of_type;
    uint32_t visible;
    uint8_t uuid[16];
};
_Static_assert(sizeof(struct event) == 64, "as rocprofiler-sdk 1.0.0 has it");
_Static_assert(sizeof(struct kernel_record) == 184, "as rocprofiler-sdk 1.0.0 has it");
_Static_assert(sizeof(struct copy_record) == 96, "as rocprofiler-sdk 1.0.0 has it");
_Static_assert(sizeof(struct memory_record) == 88, "as rocprofiler-sdk 1.0.0 has it");
_Static_assert(sizeof(struct symbol) == 88, "as rocprofiler-sdk 1.0.0 has it");
_Static_assert(sizeof(struct agent) == 312, "as rocprofiler-sdk 1.0.0 has it");
_Static_assert(offsetof(struct agent, location) == 108, "as rocprofiler-sdk 1.0.0 has it");
_Static_assert(offsetof(struct agent, name) == 248, "as rocprofiler-sdk 1.0.0 has it");

typedef void event_callback(struct event event, uint64_t *kept, void *user);
typedef void buffer_callback(uint64_t context, uint64_t buffer, struct header **headers,
                             size_t count, void *user, uint64_t dropped);
typedef int request_callback(uint64_t thread, uint64_t context, int kind, int operation,
                             uint64_t internal, uint64_t *out, void *user);
struct client {
    size_t size;
    const char *name;
    uint32_t handle;
};
struct tool {
    size_t size;
    int (*initialize)(void (*finalize)(struct client), void *data);
    void (*finalize)(void *data);
    void *data;
};
typedef struct tool *configure(uint32_t version, const char *text, uint32_t priority,
                               struct client *client);

static struct {
    int is_started;
    event_callback *events[32];
    uint8_t wanted[32][STUB_HIP_CALLS];
    uint64_t buffers[32];
    request_callback *request;
    uint8_t requested[32];
} contexts[CONTEXTS];
static uint64_t context_count;

static struct buffer {
    uint64_t context;
    buffer_callback *callback;
    void *user;
    union record records[RECORDS];
    uint32_t kinds[RECORDS];
    size_t count;
    uint64_t dropped;
} * buffers[BUFFERS];
static uint64_t buffer_count;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct tool *tools[TOOLS];
static size_t tool_count;
static int is_initializing, is_finalized;
static const char *kernels[KERNELS];
static size_t kernel_count;
static uint64_t last_internal;
static __thread uint64_t current; /* call */

static int is_asked(const char *trouble)
{
    const char *asked = getenv("STUB_ROCM");

    return asked && strcmp(asked, trouble) == 0;
}

static uint64_t now_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* CLOCK_BOOTTIME before CLOCK_MONOTONIC: the shortest of some readings. */
static uint64_t boot_ahead;

static void compare_clocks(void)
{
    uint64_t best = UINT64_MAX;

    for (int i = 0; i < 100; i++) {
        uint64_t before = now_ns(CLOCK_MONOTONIC);
        uint64_t boot = now_ns(CLOCK_BOOTTIME);
        uint64_t took = now_ns(CLOCK_MONOTONIC) - before;

        if (took < best) {
            best = took;
            boot_ahead = boot - before - took / 2;
        }
    }
}

/* ---- buffers ---- */

static pthread_mutex_t flushing = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t flush_asked = PTHREAD_COND_INITIALIZER;
static pthread_cond_t flush_done = PTHREAD_COND_INITIALIZER;
static struct buffer *to_flush;

static void hand_out(struct buffer *buffer)
{
    static struct header headers[RECORDS];
    static struct header *pointers[RECORDS];
    static union record records[RECORDS];
    size_t count;

    pthread_mutex_lock(&lock);
    count = buffer->count;
    memcpy(records, buffer->records, count * sizeof *records);
    for (size_t i = 0; i < count; i++)
        headers[i] = (struct header){ 1, buffer->kinds[i], &records[i] };
    buffer->count = 0;
    pthread_mutex_unlock(&lock);
    for (size_t i = 0; i < count; i++)
        pointers[i] = &headers[i];
    if (count && is_asked("drops")) {
        buffer->dropped++;
        count--;
    }
    if (count || is_asked("drops"))
        buffer->callback(buffer->context, 0, pointers, count, buffer->user, buffer->dropped);
}

/* Records are always handed out on one thread. */
static void *flush_for_others(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&flushing);
    for (;;) {
        while (!to_flush)
            pthread_cond_wait(&flush_asked, &flushing);
        hand_out(to_flush);
        to_flush = NULL;
        pthread_cond_broadcast(&flush_done);
    }
    return NULL;
}

EXPORT int rocprofiler_flush_buffer(uint64_t buffer);
int rocprofiler_flush_buffer(uint64_t buffer)
{
    static int has_thread;
    pthread_t thread;

    if (is_finalized) {
        fprintf(stderr, "ignoring rocprofiler buffer flush request after finalization\n");
        return FINALIZED;
    }
    if (!buffer || buffer > buffer_count)
        return ERROR;
    pthread_mutex_lock(&flushing);
    if (!has_thread)
        has_thread = pthread_create(&thread, NULL, flush_for_others, NULL) == 0;
    while (to_flush)
        pthread_cond_wait(&flush_done, &flushing);
    to_flush = buffers[buffer - 1];
    pthread_cond_signal(&flush_asked);
    while (to_flush)
        pthread_cond_wait(&flush_done, &flushing);
    pthread_mutex_unlock(&flushing);
    return OK;
}

EXPORT int rocprofiler_create_buffer(uint64_t context, size_t size, size_t watermark, int policy,
                                     buffer_callback *callback, void *user, uint64_t *out);
int rocprofiler_create_buffer(uint64_t context, size_t size, size_t watermark, int policy,
                              buffer_callback *callback, void *user, uint64_t *out)
{
    struct buffer *buffer = calloc(1, sizeof *buffer);

    if (!is_initializing || !buffer || !size || watermark > size || policy != 2)
        return LOCKED;
    buffer->context = context;
    buffer->callback = callback;
    buffer->user = user;
    buffers[buffer_count++] = buffer;
    *out = buffer_count;
    return OK;
}

/* ---- contexts ---- */

EXPORT int rocprofiler_create_context(uint64_t *out);
int rocprofiler_create_context(uint64_t *out)
{
    if (*out || !is_initializing || is_asked("locked"))
        return LOCKED;
    *out = ++context_count;
    return OK;
}

EXPORT int rocprofiler_start_context(uint64_t context);
int rocprofiler_start_context(uint64_t context)
{
    if (!context || context > context_count || (is_asked("start") && context > 1))
        return ERROR;
    __atomic_store_n(&contexts[context - 1].is_started, 1, __ATOMIC_RELEASE);
    return OK;
}

EXPORT int rocprofiler_stop_context(uint64_t context);
int rocprofiler_stop_context(uint64_t context)
{
    if (!context || context > context_count)
        return ERROR;
    __atomic_store_n(&contexts[context - 1].is_started, 0, __ATOMIC_RELEASE);
    return OK;
}

EXPORT int rocprofiler_configure_buffer_tracing_service(uint64_t context, int kind,
                                                        const int32_t *operations, size_t count,
                                                        uint64_t buffer);
int rocprofiler_configure_buffer_tracing_service(uint64_t context, int kind,
                                                 const int32_t *operations, size_t count,
                                                 uint64_t buffer)
{
    (void)operations, (void)count;
    if (!is_initializing || buffers[buffer - 1]->context != context)
        return LOCKED;
    contexts[context - 1].buffers[kind] = buffer;
    return OK;
}

EXPORT int rocprofiler_configure_callback_tracing_service(uint64_t context, int kind,
                                                          const int32_t *operations, size_t count,
                                                          event_callback *callback, void *user);
int rocprofiler_configure_callback_tracing_service(uint64_t context, int kind,
                                                   const int32_t *operations, size_t count,
                                                   event_callback *callback, void *user)
{
    (void)user;
    if (!is_initializing || contexts[context - 1].events[kind])
        return LOCKED;
    contexts[context - 1].events[kind] = callback;
    if (!count)
        memset(contexts[context - 1].wanted[kind], 1, STUB_HIP_CALLS);
    for (size_t i = 0; i < count; i++)
        contexts[context - 1].wanted[kind][operations[i]] = 1;
    return OK;
}

EXPORT int rocprofiler_configure_external_correlation_id_request_service(
    uint64_t context, const int *kinds, size_t count, request_callback *callback, void *user);
int rocprofiler_configure_external_correlation_id_request_service(uint64_t context,
                                                                  const int *kinds, size_t count,
                                                                  request_callback *callback,
                                                                  void *user)
{
    (void)user;
    if (!is_initializing || is_asked("numbers"))
        return LOCKED;
    contexts[context - 1].request = callback;
    for (size_t i = 0; i < count; i++)
        contexts[context - 1].requested[kinds[i]] = 1;
    return OK;
}

/* ---- names ---- */

static int tell_name(const char *const *names, size_t count, int kind, const char **out,
                     uint64_t *length)
{
    if (kind < 0 || kind >= (int)count)
        return NOT_FOUND;
    *out = names[kind] ? names[kind] : "OTHER";
    if (length)
        *length = strlen(*out);
    return OK;
}

EXPORT int rocprofiler_query_callback_tracing_kind_name(int kind, const char **out,
                                                        uint64_t *length);
int rocprofiler_query_callback_tracing_kind_name(int kind, const char **out, uint64_t *length)
{
    static const char *const names[22] = {
        [CALLBACK_HIP] = "HIP_RUNTIME_API",
        [CALLBACK_CODE] = "CODE_OBJECT",
    };

    return tell_name(names, 22, kind, out, length);
}

EXPORT int rocprofiler_query_buffer_tracing_kind_name(int kind, const char **out, uint64_t *length);
int rocprofiler_query_buffer_tracing_kind_name(int kind, const char **out, uint64_t *length)
{
    static const char *const names[32] = {
        [BUFFER_COPY] = "MEMORY_COPY",
        [BUFFER_KERNEL] = "KERNEL_DISPATCH",
        [BUFFER_MEMORY] = "MEMORY_ALLOCATION",
    };

    return tell_name(names, is_asked("memoryless") ? BUFFER_MEMORY : 32, kind, out, length);
}

EXPORT int rocprofiler_query_external_correlation_id_request_kind_name(int kind, const char **out,
                                                                       uint64_t *length);
int rocprofiler_query_external_correlation_id_request_kind_name(int kind, const char **out,
                                                                uint64_t *length)
{
    static const char *const names[19] = {
        [REQUEST_COPY] = "MEMORY_COPY",
        [REQUEST_KERNEL] = "KERNEL_DISPATCH",
        [REQUEST_MEMORY] = "MEMORY_ALLOCATION",
    };

    return tell_name(names, 19, kind, out, length);
}

EXPORT int rocprofiler_query_callback_tracing_kind_operation_name(int kind, int operation,
                                                                  const char **out,
                                                                  uint64_t *length);
int rocprofiler_query_callback_tracing_kind_operation_name(int kind, int operation,
                                                           const char **out, uint64_t *length)
{
    static const char *const names[STUB_HIP_CALLS] = {
        [STUB_HIP_FREE] = "hipFree",
        [STUB_HIP_GRAPH_ADD_MEMCPY_NODE] = "hipGraphAddMemcpyNode",
        [STUB_HIP_GRAPH_LAUNCH] = "hipGraphLaunch",
        [STUB_HIP_LAUNCH_HOST_FUNC] = "hipLaunchHostFunc",
        [STUB_HIP_LAUNCH_KERNEL] = "hipLaunchKernel",
        [STUB_HIP_MALLOC] = "hipMalloc",
        [STUB_HIP_MEMCPY_ASYNC] = "hipMemcpyAsync",
        [STUB_HIP_MEMSET_ASYNC] = "hipMemsetAsync",
        [STUB_HIP_STREAM_SYNCHRONIZE] = "hipStreamSynchronize",
        [STUB_HIP_LAUNCH_KERNEL_SPT] = "hipLaunchKernel_spt",
    };

    return kind == CALLBACK_HIP ? tell_name(names, STUB_HIP_CALLS, operation, out, length)
                                : NOT_FOUND;
}

EXPORT int rocprofiler_iterate_callback_tracing_kind_operations(int kind,
                                                                int (*each)(int, int, void *),
                                                                void *user);
int rocprofiler_iterate_callback_tracing_kind_operations(int kind, int (*each)(int, int, void *),
                                                         void *user)
{
    for (int i = 0; i < STUB_HIP_CALLS; i++)
        if (each(kind, i, user))
            break;
    return OK;
}

EXPORT int rocprofiler_query_available_agents(int version,
                                              int (*take)(int, const void **, size_t, void *),
                                              size_t size, void *user);
int rocprofiler_query_available_agents(int version, int (*take)(int, const void **, size_t, void *),
                                       size_t size, void *user)
{
    static const struct agent agents[3] = {
        { .size = sizeof agents[0], .id = 7001, .type = 1, .name = "Stub CPU", .product = "CPU" },
        { .size = sizeof agents[0],
          .id = 7002,
          .type = 2,
          .location = 0x0300,
          .name = "gfx942",
          .product = "Stub Instinct",
          .node = 1 },
        { .size = sizeof agents[0],
          .id = 7003,
          .type = 2,
          .location = 0x2301,
          .domain = 1,
          .name = "gfx1100",
          .product = "",
          .node = 2 },
    };
    const void *list[] = { &agents[0], &agents[1], &agents[2] };

    if (version != 1 || size > sizeof *agents)
        return ERROR;
    return take(1, list, is_asked("gpuless") ? 1 : 3, user);
}

EXPORT int rocprofiler_get_timestamp(uint64_t *out);
int rocprofiler_get_timestamp(uint64_t *out)
{
    *out = now_ns(CLOCK_BOOTTIME) + AHEAD_NS;
    return OK;
}

EXPORT const char *rocprofiler_get_status_string(int status);
const char *rocprofiler_get_status_string(int status)
{
    return status == LOCKED ? "Configuration is locked" : NULL;
}

/* ---- what HIP does ---- */

static void call(enum stub_hip_call id, int is_exit, uint64_t *kept)
{
    if (!is_exit)
        current = __atomic_add_fetch(&last_internal, 1, __ATOMIC_RELAXED);
    for (uint64_t i = 0; i < context_count; i++) {
        event_callback *callback = contexts[i].events[CALLBACK_HIP];

        if (callback && contexts[i].wanted[CALLBACK_HIP][id] &&
            __atomic_load_n(&contexts[i].is_started, __ATOMIC_ACQUIRE))
            callback((struct event){ .context = i + 1,
                                     .internal = current,
                                     .kind = CALLBACK_HIP,
                                     .operation = (int)id,
                                     .phase = is_exit ? 2 : 1 },
                     kept, NULL);
    }
    if (is_exit)
        current = 0;
}

static void load_kernel(uint64_t number, const char *name)
{
    struct symbol symbol = {
        .size = sizeof symbol, .kernel = number, .name = name, .group_bytes = 1024, .vectors = 40
    };
    uint64_t kept = 0;

    for (uint64_t i = 0; i < context_count; i++)
        if (contexts[i].events[CALLBACK_CODE] && contexts[i].is_started)
            contexts[i].events[CALLBACK_CODE](
                (struct event){
                    .kind = CALLBACK_CODE, .operation = 2, .phase = 1, .data = &symbol },
                &kept, NULL);
}

/* Its code is loaded when it is launched first. */
static uint64_t kernel_number(const char *name)
{
    size_t i = 0;
    int is_new;

    pthread_mutex_lock(&lock);
    while (i < kernel_count && strcmp(kernels[i], name) != 0)
        i++;
    is_new = i == kernel_count && i < KERNELS;
    if (is_new)
        kernels[kernel_count++] = name;
    pthread_mutex_unlock(&lock);
    if (is_new)
        load_kernel(i + 1, name);
    return i + 1;
}

static void fill_kernel(const struct stub_work *work, uint64_t start, struct kernel_record *out)
{
    *out = (struct kernel_record){
        .size = is_asked("short") ? 96 : sizeof *out,
        .operation = 2,
        .start = start,
        .end = start + work->end_ns - work->start_ns,
        .info = { .size = 72,
                  .agent = 7002 + work->device,
                  .queue = work->queue,
                  .kernel = kernel_number(work->name),
                  .group_bytes = 1024 + (uint32_t)work->shared },
    };
    for (int i = 0; i < 3; i++) {
        out->info.block[i] = work->block[i];
        out->info.grid[i] = work->grid[i] * work->block[i];
    }
}

static void fill_copy(const struct stub_work *work, uint64_t start, struct copy_record *out)
{
    *out = (struct copy_record){
        .size = is_asked("short") ? 40 : sizeof *out,
        .operation = work->copy,
        .start = start,
        .end = start + work->end_ns - work->start_ns,
        .to = work->copy == 2 || work->copy == 4 ? 7002 : 7001,
        .from = work->copy == 3   ? 7002
                : work->copy == 4 ? 7003
                                  : 7001,
        .bytes = work->bytes,
    };
}

static void fill_memory(const struct stub_work *work, uint64_t start, struct memory_record *out)
{
    *out = (struct memory_record){
        .size = is_asked("short") ? 40 : sizeof *out,
        .operation = work->kind == STUB_ALLOCATE ? 1 : 3,
        .start = start,
        .end = start + 100,
        .agent = work->kind == STUB_ALLOCATE ? 7002 : 0,
        .address = work->address,
        .bytes = work->bytes,
    };
}

static void put(uint64_t context, const union record *record, uint32_t kind)
{
    struct buffer *buffer = buffers[contexts[context].buffers[kind] - 1];
    size_t count;

    pthread_mutex_lock(&lock);
    if (buffer->count < RECORDS) {
        buffer->records[buffer->count] = *record;
        buffer->kinds[buffer->count++] = kind;
    }
    count = buffer->count;
    pthread_mutex_unlock(&lock);
    if (count >= RECORDS / 2 && !is_finalized)
        rocprofiler_flush_buffer(contexts[context].buffers[kind]);
}

static void work(const struct stub_work *work)
{
    static const uint32_t kinds[] = { BUFFER_KERNEL, BUFFER_COPY, BUFFER_MEMORY, BUFFER_MEMORY };
    static const int requests[] = { REQUEST_KERNEL, REQUEST_COPY, REQUEST_MEMORY, REQUEST_MEMORY };
    uint64_t start = work->start_ns + boot_ahead + AHEAD_NS;
    uint32_t kind = kinds[work->kind];
    union record record;

    memset(&record, 0, sizeof record);
    if (kind == BUFFER_KERNEL)
        fill_kernel(work, start, &record.kernel);
    else if (kind == BUFFER_COPY)
        fill_copy(work, start, &record.copy);
    else
        fill_memory(work, start, &record.memory);
    record.kernel.kind = kind;
    record.kernel.internal = is_asked("below") ? current + 1000000 : current;
    for (uint64_t i = 0; i < context_count; i++) {
        if (!contexts[i].buffers[kind] || !contexts[i].is_started)
            continue;
        record.kernel.external = 0;
        if (contexts[i].request && contexts[i].requested[requests[work->kind]])
            contexts[i].request(0, i + 1, requests[work->kind], 1, record.kernel.internal,
                                &record.kernel.external, NULL);
        put(i, &record, kind);
    }
}

/* ---- tools ---- */

static void finalize_tools(void)
{
    for (uint64_t i = 0; i < context_count; i++)
        contexts[i].is_started = 0;
    for (size_t i = 0; i < tool_count; i++)
        tools[i]->finalize(tools[i]->data);
    is_finalized = 1;
}

static uint32_t version(void)
{
    const char *text = getenv("STUB_ROCM_VERSION");

    return text ? (uint32_t)strtoul(text, NULL, 10) : 10000u;
}

static void add_tool(const char *path)
{
    static uint32_t priority;
    struct client client = { sizeof client, path, priority };
    void *library = dlopen(path, RTLD_LOCAL | RTLD_LAZY);
    configure *function = NULL;
    struct tool *tool;
    void *found;

    if (!library) {
        fprintf(stderr, "[ROCP_TOOL_LIBRARIES] error dlopening '%s'\n", path);
        abort();
    }
    found = dlsym(library, "rocprofiler_configure");
    memcpy(&function, &found, sizeof function);
    tool = function ? function(version(), "stub", priority++, &client) : NULL;
    if (tool && tool_count < TOOLS)
        tools[tool_count++] = tool;
}

/* What is behind the last colon is not read, if there is one. */
static void find_tools(void)
{
    const char *list = getenv("ROCP_TOOL_LIBRARIES");
    const char *colon;

    if (!list || !*list)
        return;
    if (!strchr(list, ':')) {
        add_tool(list);
        return;
    }
    while ((colon = strchr(list, ':')) != NULL) {
        char path[4096];

        snprintf(path, sizeof path, "%.*s", (int)(colon - list), list);
        if (path[0])
            add_tool(path);
        list = colon + 1;
    }
}

EXPORT int rocprofiler_set_api_table(const char *name, uint64_t lib_version, uint64_t instance,
                                     void **tables, uint64_t count);
int rocprofiler_set_api_table(const char *name, uint64_t lib_version, uint64_t instance,
                              void **tables, uint64_t count)
{
    static const struct stub_watch watch = { call, work };

    (void)lib_version, (void)instance;
    if (strcmp(name, "hip") != 0 || count != 1)
        return 1;
    compare_clocks();
    find_tools();
    is_initializing = 1;
    for (size_t i = 0; i < tool_count; i++)
        tools[i]->initialize(NULL, tools[i]->data);
    is_initializing = 0;
    atexit(finalize_tools);
    __atomic_store_n(&((struct stub_hip_table *)tables[0])->watch, &watch, __ATOMIC_RELEASE);
    return 0;
}
