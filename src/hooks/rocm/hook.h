// SPDX-License-Identifier: Apache-2.0
/* What the files of libinferogram-rocm.so share. */
#ifndef IFG_HOOKS_ROCM_HOOK_H
#define IFG_HOOKS_ROCM_HOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hooks/device/device.h"
#include "hooks/rocm/abi.h"

#define HOOK_REASON 512u

extern struct rocm rocm; /* once resolved */

/* sdk.c: false with the reason: something that is needed is not there. */
bool rocm_resolve(uint32_t version, char *reason, size_t size);
/* A result that is none of success, as a sentence. */
void rocm_explain(int result, const char *doing, char *reason, size_t size);
/* The number of a kind by its name, -1 if there is none: query is one of the ..._kind_name. */
int rocm_kind(int (*query)(int, const char **, uint64_t *), const char *name);

/* tool.c: there is no rocprofiler-sdk. It is told in every recording. */
void tool_refuse(const char *reason);

/* agents.c: GPUs, in the order in which the library lists them. */
bool agents_learn(char *reason, size_t size);
/* False: it is a processor, or not known. */
bool agents_device(uint64_t agent, uint32_t *out_device);
void agents_describe(uint32_t device); /* to the recorder, once */

/* kernels.c: what is known of a kernel before it runs. */
struct kernel {
    const char *name;
    uint32_t registers;
    uint32_t static_shared;
};
bool kernels_create(void); /* false: there is no memory for it */
rocm_event_callback kernels_callback;
bool kernels_find(uint64_t id, struct kernel *out);

/* calls.c: calls of HIP, on the threads that make them. */
int calls_configure(uint64_t context, int kind);
void calls_begin(void); /* calls that began before are not told */
rocm_request_callback calls_current;

/* work.c: records into the trace. */
struct work_kinds {
    int kernel, copy, memory;
};
extern struct work_kinds work_kinds;
extern bool work_has_external; /* records have the number of our call */
rocm_buffer_callback work_complete;
void work_begin(void); /* what is over by now is not told */
void work_end_memory(void);

#endif
