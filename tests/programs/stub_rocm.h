// SPDX-License-Identifier: Apache-2.0
/*
 * Between a HIP that has no device (stub_hip.c), the library that introduces it to profilers
 * (stub_rocprofiler_register.c), and a rocprofiler-sdk that watches it (stub_rocprofiler.c). They
 * stand in for AMD's where there is no GPU: a kernel is a name, and runs when its stream is free.
 */
#ifndef IFG_TESTS_STUB_ROCM_H
#define IFG_TESTS_STUB_ROCM_H

#include <stddef.h>
#include <stdint.h>

enum stub_hip_call {
    STUB_HIP_FREE,
    STUB_HIP_GRAPH_ADD_MEMCPY_NODE,
    STUB_HIP_GRAPH_LAUNCH,
    STUB_HIP_LAUNCH_HOST_FUNC,
    STUB_HIP_LAUNCH_KERNEL,
    STUB_HIP_MALLOC,
    STUB_HIP_MEMCPY_ASYNC,
    STUB_HIP_MEMSET_ASYNC,
    STUB_HIP_STREAM_SYNCHRONIZE,
    STUB_HIP_LAUNCH_KERNEL_SPT,
    STUB_HIP_CALLS
};

enum stub_work_kind { STUB_KERNEL, STUB_COPY, STUB_ALLOCATE, STUB_FREE };

/* What the device did. */
struct stub_work {
    enum stub_work_kind kind;
    uint32_t copy; /* rocprofiler_memory_copy_operation_t */
    uint32_t device;
    uint32_t queue;
    uint32_t grid[3], block[3]; /* grid in blocks */
    uint64_t shared;
    uint64_t bytes, address;
    uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
    const char *name;
};

/* Set by whoever watches; `kept` is for both phases of a call. */
struct stub_watch {
    void (*call)(enum stub_hip_call id, int is_exit, uint64_t *kept);
    void (*work)(const struct stub_work *work);
};

/* The table that HIP hands out. */
struct stub_hip_table {
    const struct stub_watch *watch;
};

int rocprofiler_register_library_api_table(const char *name, void **tables, uint64_t count);

struct dim3 {
    uint32_t x, y, z;
};

/* As in hip_runtime_api.h; a function is its name. */
int hipInit(unsigned flags);
int hipLaunchKernel(const void *function, struct dim3 grid, struct dim3 block, void **parameters,
                    size_t shared, void *stream);
int hipLaunchKernel_spt(const void *function, struct dim3 grid, struct dim3 block,
                        void **parameters, size_t shared, void *stream);
int hipMemcpyAsync(void *to, const void *from, size_t bytes, int kind, void *stream);
int hipMemsetAsync(void *to, int value, size_t bytes, void *stream);
int hipGraphLaunch(void *graph, void *stream); /* a graph is its number of kernels */
int hipStreamSynchronize(void *stream);
int hipMalloc(void **out, size_t bytes); /* memory is numbers */
int hipFree(void *address);

#endif
