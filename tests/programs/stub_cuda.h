// SPDX-License-Identifier: Apache-2.0
/*
 * Between a driver of CUDA that has no device (stub_cuda.c) and a CUPTI that watches it
 * (stub_cupti.c). Both stand in for NVIDIA's where there is no GPU: a kernel is a name and a
 * duration, and runs when its stream is free.
 */
#ifndef IFG_TESTS_STUB_CUDA_H
#define IFG_TESTS_STUB_CUDA_H

#include <stddef.h>
#include <stdint.h>

/* What the device did. */
struct stub_work {
    uint32_t kind; /* CUpti_ActivityKind */
    uint32_t correlation;
    uint32_t stream;
    uint32_t copy_kind;
    uint32_t graph;
    uint64_t graph_node;
    uint64_t bytes;
    uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
    const char *name;
    /* Memory, pools and waits. */
    uint32_t operation; /* or type */
    uint32_t memory_kind;
    uint32_t is_async;
    uint64_t address;
    uint64_t pool, pool_size, pool_used; /* pool is 0: none */
};

/* Set by whoever watches. `kept` is the caller's, for both sites of a call. */
struct stub_watch {
    void (*call)(uint32_t id, uint32_t site, const char *name, uint32_t correlation,
                 uint64_t *kept);
    void (*work)(const struct stub_work *work);
};

void stub_cuda_watch(const struct stub_watch *watch);

/* Whether memory was recorded and is not any more; set by the CUPTI. */
void stub_cuda_set_less(int is_less);
int stub_cuda_is_less(void);

/* As in cuda.h; a function is its name, and its first parameter, if there is one, points to the
 * nanoseconds that it takes. */
int cuInit(unsigned flags);
int cuDriverGetVersion(int *version);
int cuDeviceGetCount(int *count); /* STUB_CUDA_DEVICES, or 1; all is done on device 0 */
int cuDeviceGet(int *device, int ordinal);
int cuDeviceGetName(char *name, int size, int device);
int cuDeviceGetUuid_v2(unsigned char *uuid, int device);
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void *stream, void **parameters, void **extra);
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream);
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream);
int cuMemsetD8Async(uint64_t to, unsigned char value, size_t count, void *stream);
int cuGraphLaunch(void *graph, void *stream); /* a graph is its number of kernels */
int cuStreamSynchronize(void *stream);
int cuStreamWaitEvent(void *stream, void *event, unsigned flags);
int cuEventSynchronize(void *event);
int cuCtxSynchronize(void);

/* Memory is numbers. A pool takes what it needs from the device, in steps of 1 MiB, and keeps it.
 * Pool 1 is there from the start. */
int cuMemAlloc_v2(uint64_t *out_address, size_t bytes);
int cuMemFree_v2(uint64_t address);
int cuMemHostAlloc(void **out_address, size_t bytes, unsigned flags);
int cuMemFreeHost(void *address);
int cuMemAllocAsync(uint64_t *out_address, size_t bytes, void *stream);
int cuMemFreeAsync(uint64_t address, void *stream);
int cuMemPoolCreate(void **out_pool, const void *properties);
int cuMemPoolTrimTo(void *pool, size_t least);
int cuMemPoolDestroy(void *pool);

#endif
