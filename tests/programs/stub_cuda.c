// SPDX-License-Identifier: Apache-2.0
/* A driver of CUDA without a device: see stub_cuda.h. */
#include "stub_cuda.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STREAMS   16u
#define KERNEL_NS 2000u

enum { KIND_MEMCPY = 1, KIND_MEMSET = 2, KIND_KERNEL = 10 };

static const struct stub_watch *watch;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t free_ns[STREAMS]; /* when each stream is through with what it has */
static uint32_t last_correlation;
static int is_initialized;

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void stub_cuda_watch(const struct stub_watch *new_watch)
{
    __atomic_store_n(&watch, new_watch, __ATOMIC_RELEASE);
}

/* As the driver does it: once, at the first cuInit. */
int cuInit(unsigned flags)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    int (*initialize)(void) = NULL;
    void *library;
    void *found;

    (void)flags;
    if (__atomic_exchange_n(&is_initialized, 1, __ATOMIC_ACQ_REL) || !path || !*path)
        return 0;
    library = dlopen(path, RTLD_NOW);
    found = library ? dlsym(library, "InitializeInjection") : NULL;
    memcpy(&initialize, &found, sizeof initialize);
    if (initialize)
        initialize();
    return 0;
}

int cuDriverGetVersion(int *version)
{
    *version = 13000;
    return 0;
}

int cuDeviceGet(int *device, int ordinal)
{
    *device = ordinal;
    return ordinal ? 101 : 0;
}

int cuDeviceGetName(char *name, int size, int device)
{
    (void)device;
    strncpy(name, "Stub GPU", (size_t)size);
    return 0;
}

int cuDeviceGetUuid_v2(unsigned char *uuid, int device)
{
    (void)device;
    for (int i = 0; i < 16; i++)
        uuid[i] = (unsigned char)(i * 17);
    return 0;
}

/* ---- calls ---- */

struct call {
    const struct stub_watch *watch;
    uint64_t kept;
    uint32_t id;
    uint32_t correlation;
    const char *name;
};

static struct call enter(uint32_t id, const char *name)
{
    struct call call = { .watch = __atomic_load_n(&watch, __ATOMIC_ACQUIRE),
                         .id = id,
                         .name = name };

    call.correlation = __atomic_add_fetch(&last_correlation, 1, __ATOMIC_RELAXED);
    if (call.watch)
        call.watch->call(id, 0, name, call.correlation, &call.kept);
    return call;
}

static int leave(struct call *call)
{
    if (call->watch)
        call->watch->call(call->id, 1, call->name, call->correlation, &call->kept);
    return 0;
}

static void work(const struct call *call, struct stub_work work, uint64_t ns)
{
    uint64_t now = now_ns();
    uint64_t *free_at = &free_ns[work.stream % STREAMS];

    work.correlation = call->correlation;
    pthread_mutex_lock(&lock);
    work.start_ns = *free_at > now ? *free_at : now;
    work.end_ns = work.start_ns + ns;
    *free_at = work.end_ns;
    if (call->watch)
        call->watch->work(&work);
    pthread_mutex_unlock(&lock);
}

static uint32_t number_of(void *stream)
{
    return stream ? (uint32_t)(uintptr_t)stream : 7;
}

int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void *stream, void **parameters, void **extra)
{
    struct call call = enter(307, "cuLaunchKernel");

    (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared, (void)extra;
    work(&call,
         (struct stub_work){ .kind = KIND_KERNEL, .stream = number_of(stream), .name = function },
         parameters ? *(uint64_t *)parameters[0] : KERNEL_NS);
    return leave(&call);
}

static int copy(uint32_t id, const char *name, uint32_t copy_kind, size_t bytes, void *stream)
{
    struct call call = enter(id, name);

    work(&call,
         (struct stub_work){ .kind = KIND_MEMCPY,
                             .stream = number_of(stream),
                             .copy_kind = copy_kind,
                             .bytes = bytes },
         KERNEL_NS);
    return leave(&call);
}

int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream)
{
    (void)to, (void)from;
    return copy(277, "cuMemcpyHtoDAsync_v2", 1, bytes, stream);
}

int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream)
{
    (void)to, (void)from;
    return copy(279, "cuMemcpyDtoHAsync_v2", 2, bytes, stream);
}

int cuMemsetD8Async(uint64_t to, unsigned char value, size_t count, void *stream)
{
    struct call call = enter(216, "cuMemsetD8Async");

    (void)to, (void)value;
    work(&call,
         (struct stub_work){ .kind = KIND_MEMSET, .stream = number_of(stream), .bytes = count },
         KERNEL_NS);
    return leave(&call);
}

int cuGraphLaunch(void *graph, void *stream)
{
    struct call call = enter(514, "cuGraphLaunch");

    for (uint64_t i = 1; i <= (uint64_t)(uintptr_t)graph; i++)
        work(&call,
             (struct stub_work){ .kind = KIND_KERNEL,
                                 .stream = number_of(stream),
                                 .graph = 5,
                                 .graph_node = i,
                                 .name = "in_graph" },
             KERNEL_NS);
    return leave(&call);
}

int cuStreamSynchronize(void *stream)
{
    struct call call = enter(126, "cuStreamSynchronize");
    uint64_t until = free_ns[number_of(stream) % STREAMS];
    struct timespec at = { (time_t)(until / 1000000000u), (long)(until % 1000000000u) };

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
        ;
    return leave(&call);
}
