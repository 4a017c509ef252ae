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

#define POOLS  4u
#define PIECES 64u
#define MIB    (1ull << 20)

enum {
    KIND_MEMCPY = 1,
    KIND_MEMSET = 2,
    KIND_KERNEL = 10,
    KIND_WAIT = 38,
    KIND_MEMORY = 49,
    KIND_POOL = 50
};

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

static int less;

void stub_cuda_set_less(int is_less)
{
    __atomic_store_n(&less, is_less, __ATOMIC_RELEASE);
}

int stub_cuda_is_less(void)
{
    return __atomic_load_n(&less, __ATOMIC_ACQUIRE);
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

int cuDeviceGetCount(int *count)
{
    const char *text = getenv("STUB_CUDA_DEVICES");

    *count = text ? (int)strtol(text, NULL, 10) : 1;
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

/* ---- waits ---- */

static void tell(const struct call *call, struct stub_work work)
{
    work.correlation = call->correlation;
    if (!work.end_ns)
        work.start_ns = work.end_ns = now_ns();
    if (call->watch)
        call->watch->work(&work);
}

static void await(uint64_t until)
{
    struct timespec at = { (time_t)(until / 1000000000u), (long)(until % 1000000000u) };

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
        ;
}

static int wait_for(uint32_t id, const char *name, uint32_t type, uint32_t stream, uint64_t until)
{
    struct call call = enter(id, name);
    uint64_t start = now_ns();

    await(until);
    tell(&call, (struct stub_work){ .kind = KIND_WAIT,
                                    .operation = type,
                                    .stream = stream,
                                    .start_ns = start,
                                    .end_ns = now_ns() });
    return leave(&call);
}

int cuStreamSynchronize(void *stream)
{
    return wait_for(126, "cuStreamSynchronize", 3, number_of(stream),
                    free_ns[number_of(stream) % STREAMS]);
}

int cuStreamWaitEvent(void *stream, void *event, unsigned flags)
{
    (void)event, (void)flags;
    return wait_for(295, "cuStreamWaitEvent", 2, number_of(stream), 0);
}

int cuEventSynchronize(void *event)
{
    (void)event;
    return wait_for(121, "cuEventSynchronize", 1, UINT32_MAX, 0);
}

int cuCtxSynchronize(void)
{
    uint64_t until = 0;

    for (unsigned i = 0; i < STREAMS; i++)
        until = free_ns[i] > until ? free_ns[i] : until;
    return wait_for(17, "cuCtxSynchronize", 4, UINT32_MAX, until);
}

/* ---- memory ---- */

static struct {
    uint64_t address, bytes;
    uint64_t pool;
} pieces[PIECES];
static struct {
    int is_used;
    uint64_t size, used;
} pools[POOLS] = { { 1, 0, 0 } };
static uint64_t last_address = 0x7f0000000000;

/* Pool 1 is the first. */
static uint64_t take(uint64_t bytes, uint64_t pool)
{
    uint64_t address = 0;

    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < PIECES && !address; i++) {
        if (pieces[i].address)
            continue;
        address = pieces[i].address = last_address += 0x1000000;
        pieces[i].bytes = bytes;
        pieces[i].pool = pool;
    }
    if (pool && address) {
        pools[pool - 1].used += bytes;
        if (pools[pool - 1].size < pools[pool - 1].used)
            pools[pool - 1].size = (pools[pool - 1].used + MIB - 1) / MIB * MIB;
    }
    pthread_mutex_unlock(&lock);
    return address;
}

static uint64_t give(uint64_t address)
{
    uint64_t bytes = 0;

    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < PIECES; i++) {
        if (pieces[i].address != address)
            continue;
        bytes = pieces[i].bytes;
        if (pieces[i].pool)
            pools[pieces[i].pool - 1].used -= bytes;
        pieces[i].address = 0;
    }
    pthread_mutex_unlock(&lock);
    return bytes;
}

static struct stub_work memory(uint32_t operation, uint32_t kind, uint64_t address, uint64_t bytes)
{
    return (struct stub_work){ .kind = KIND_MEMORY,
                               .operation = operation,
                               .memory_kind = kind,
                               .address = address,
                               .bytes = bytes };
}

static struct stub_work in_pool(struct stub_work work, uint64_t pool)
{
    work.pool = pool * 0x1000;
    work.pool_size = pools[pool - 1].size;
    work.pool_used = pools[pool - 1].used;
    return work;
}

int cuMemAlloc_v2(uint64_t *out_address, size_t bytes)
{
    struct call call = enter(243, "cuMemAlloc_v2");

    *out_address = take(bytes, 0);
    tell(&call, memory(1, 3, *out_address, bytes));
    return leave(&call);
}

int cuMemFree_v2(uint64_t address)
{
    struct call call = enter(245, "cuMemFree_v2");

    tell(&call, memory(2, 3, address, give(address)));
    return leave(&call);
}

int cuMemHostAlloc(void **out_address, size_t bytes, unsigned flags)
{
    struct call call = enter(39, "cuMemHostAlloc");

    (void)flags;
    *out_address = (void *)(uintptr_t)take(bytes, 0);
    tell(&call, memory(1, 2, (uint64_t)(uintptr_t)*out_address, bytes));
    return leave(&call);
}

int cuMemFreeHost(void *address)
{
    struct call call = enter(38, "cuMemFreeHost");

    give((uint64_t)(uintptr_t)address);
    tell(&call, memory(2, 2, (uint64_t)(uintptr_t)address, 0)); /* it does not say how much */
    return leave(&call);
}

int cuMemAllocAsync(uint64_t *out_address, size_t bytes, void *stream)
{
    struct call call = enter(598, "cuMemAllocAsync");
    struct stub_work work;

    *out_address = take(bytes, 1);
    work = in_pool(memory(1, 3, *out_address, bytes), 1);
    work.is_async = 1;
    work.stream = number_of(stream);
    tell(&call, work);
    return leave(&call);
}

int cuMemFreeAsync(uint64_t address, void *stream)
{
    struct call call = enter(600, "cuMemFreeAsync");
    uint64_t bytes = give(address);
    struct stub_work work = in_pool(memory(2, 3, address, bytes), 1);

    work.is_async = 1;
    work.stream = number_of(stream);
    tell(&call, work);
    return leave(&call);
}

static int change_pool(uint32_t id, const char *name, uint32_t operation, uint64_t pool)
{
    struct call call = enter(id, name);

    tell(&call, in_pool((struct stub_work){ .kind = KIND_POOL, .operation = operation }, pool));
    return leave(&call);
}

int cuMemPoolCreate(void **out_pool, const void *properties)
{
    uint64_t pool = 1;

    (void)properties;
    while (pool <= POOLS && pools[pool - 1].is_used)
        pool++;
    if (pool > POOLS)
        return 2;
    memset(&pools[pool - 1], 0, sizeof pools[0]);
    pools[pool - 1].is_used = 1;
    *out_pool = (void *)(uintptr_t)pool;
    return change_pool(607, "cuMemPoolCreate", 1, pool);
}

int cuMemPoolTrimTo(void *pool, size_t least)
{
    uint64_t number = (uint64_t)(uintptr_t)pool;
    uint64_t kept = least > pools[number - 1].used ? least : pools[number - 1].used;

    if (pools[number - 1].size > kept)
        pools[number - 1].size = kept;
    return change_pool(602, "cuMemPoolTrimTo", 3, number);
}

int cuMemPoolDestroy(void *pool)
{
    uint64_t number = (uint64_t)(uintptr_t)pool;

    pools[number - 1].is_used = 0;
    return change_pool(608, "cuMemPoolDestroy", 2, number);
}
