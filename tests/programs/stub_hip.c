// SPDX-License-Identifier: Apache-2.0
/* A HIP without a device: see stub_rocm.h. */
#include "stub_rocm.h"

#include <pthread.h>
#include <time.h>

#define STREAMS   16u
#define KERNEL_NS 2000u
#define DELAY_NS  1000u /* until the device sees it */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t free_ns[STREAMS]; /* when each stream is through with what it has */
static uint64_t last_address = 0x1000;
static struct stub_hip_table table;

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void introduce(void)
{
    void *tables[] = { &table };

    rocprofiler_register_library_api_table("hip", tables, 1);
}

int hipInit(unsigned flags)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)flags;
    pthread_once(&once, introduce);
    return 0;
}

/* ---- calls ---- */

struct call {
    const struct stub_watch *watch;
    enum stub_hip_call id;
    uint64_t kept;
};

static struct call enter(enum stub_hip_call id)
{
    struct call call = { .id = id };

    hipInit(0);
    call.watch = __atomic_load_n(&table.watch, __ATOMIC_ACQUIRE);
    if (call.watch)
        call.watch->call(id, 0, &call.kept);
    return call;
}

static int leave(struct call *call)
{
    if (call->watch)
        call->watch->call(call->id, 1, &call->kept);
    return 0;
}

static void work(const struct call *call, struct stub_work work, void *stream)
{
    uint64_t *free_at = &free_ns[(uintptr_t)stream % STREAMS];
    uint64_t now = now_ns() + DELAY_NS;

    pthread_mutex_lock(&lock);
    work.start_ns = *free_at > now ? *free_at : now;
    work.end_ns = work.start_ns + KERNEL_NS;
    *free_at = work.end_ns;
    pthread_mutex_unlock(&lock);
    work.queue = 1 + (uint32_t)(uintptr_t)stream;
    if (call->watch)
        call->watch->work(&work);
}

static int launch(enum stub_hip_call id, const char *name, struct dim3 grid, struct dim3 block,
                  size_t shared, void *stream)
{
    struct call call = enter(id);

    work(&call,
         (struct stub_work){ .kind = STUB_KERNEL,
                             .name = name,
                             .grid = { grid.x, grid.y, grid.z },
                             .block = { block.x, block.y, block.z },
                             .shared = shared },
         stream);
    return leave(&call);
}

int hipLaunchKernel(const void *function, struct dim3 grid, struct dim3 block, void **parameters,
                    size_t shared, void *stream)
{
    (void)parameters;
    return launch(STUB_HIP_LAUNCH_KERNEL, function, grid, block, shared, stream);
}

int hipLaunchKernel_spt(const void *function, struct dim3 grid, struct dim3 block,
                        void **parameters, size_t shared, void *stream)
{
    (void)parameters;
    return launch(STUB_HIP_LAUNCH_KERNEL_SPT, function, grid, block, shared, stream);
}

/* Of the second device, if it is from one to the other. */
int hipMemcpyAsync(void *to, const void *from, size_t bytes, int kind, void *stream)
{
    struct call call = enter(STUB_HIP_MEMCPY_ASYNC);

    (void)to, (void)from;
    work(&call, (struct stub_work){ .kind = STUB_COPY, .copy = (uint32_t)kind + 1, .bytes = bytes },
         stream);
    return leave(&call);
}

/* By a kernel of the runtime's own. */
int hipMemsetAsync(void *to, int value, size_t bytes, void *stream)
{
    struct call call = enter(STUB_HIP_MEMSET_ASYNC);

    (void)to, (void)value;
    work(&call,
         (struct stub_work){ .kind = STUB_KERNEL,
                             .name = "__amd_rocclr_fillBufferAligned.kd",
                             .grid = { (uint32_t)(bytes / 1024), 1, 1 },
                             .block = { 64, 1, 1 } },
         stream);
    return leave(&call);
}

int hipGraphLaunch(void *graph, void *stream)
{
    struct call call = enter(STUB_HIP_GRAPH_LAUNCH);

    for (uintptr_t i = 0; i < (uintptr_t)graph; i++)
        work(&call,
             (struct stub_work){ .kind = STUB_KERNEL,
                                 .name = "in_graph.kd",
                                 .grid = { 1, 1, 1 },
                                 .block = { 64, 1, 1 } },
             stream);
    return leave(&call);
}

int hipStreamSynchronize(void *stream)
{
    struct call call = enter(STUB_HIP_STREAM_SYNCHRONIZE);

    while (now_ns() < __atomic_load_n(&free_ns[(uintptr_t)stream % STREAMS], __ATOMIC_RELAXED))
        ;
    return leave(&call);
}

int hipMalloc(void **out, size_t bytes)
{
    struct call call = enter(STUB_HIP_MALLOC);
    uint64_t address = __atomic_fetch_add(&last_address, bytes, __ATOMIC_RELAXED);

    *out = (void *)(uintptr_t)address;
    work(&call, (struct stub_work){ .kind = STUB_ALLOCATE, .bytes = bytes, .address = address },
         NULL);
    return leave(&call);
}

int hipFree(void *address)
{
    struct call call = enter(STUB_HIP_FREE);

    work(&call, (struct stub_work){ .kind = STUB_FREE, .address = (uintptr_t)address }, NULL);
    return leave(&call);
}
