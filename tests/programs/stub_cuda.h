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
};

/* Set by whoever watches. `kept` is the caller's, for both sites of a call. */
struct stub_watch {
    void (*call)(uint32_t id, uint32_t site, const char *name, uint32_t correlation,
                 uint64_t *kept);
    void (*work)(const struct stub_work *work);
};

void stub_cuda_watch(const struct stub_watch *watch);

/* As in cuda.h; a function is its name, and its first parameter, if there is one, points to the
 * nanoseconds that it takes. */
int cuInit(unsigned flags);
int cuDriverGetVersion(int *version);
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

#endif
