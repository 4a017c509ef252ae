// SPDX-License-Identifier: Apache-2.0
/*
 * What is used of rocprofiler-sdk's interface. Builds need no ROCm. The numbers were read from the
 * headers of rocprofiler-sdk 1.0.0 (ROCm 7.0) and printed by a compiler that had them. Version 0,
 * of ROCm 6, lays out records differently and is refused. Records begin with their own size, which
 * is compared with what is read of them; kinds and operations are found by their names, so that
 * their numbers may change.
 */
#ifndef IFG_HOOKS_ROCM_ABI_H
#define IFG_HOOKS_ROCM_ABI_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* MAJOR * 10000 + MINOR * 100 + patch. */
#define ROCM_VERSION_OLDEST 10000u
#define ROCM_VERSION_BEYOND 20000u

#define ROCM_OK 0

#define ROCM_LOSSLESS         2 /* rocprofiler_buffer_policy_t */
#define ROCM_CATEGORY_TRACING 1u
#define ROCM_AGENT_VERSION    1
#define ROCM_AGENT_GPU        2u
#define ROCM_PHASE_ENTER      1
#define ROCM_PHASE_EXIT       2

/* Names of kinds, as the library tells them. */
#define ROCM_KIND_HIP    "HIP_RUNTIME_API"
#define ROCM_KIND_CODE   "CODE_OBJECT"
#define ROCM_KIND_KERNEL "KERNEL_DISPATCH"
#define ROCM_KIND_COPY   "MEMORY_COPY"
#define ROCM_KIND_MEMORY "MEMORY_ALLOCATION"

/* rocprofiler_code_object_operation_t: a kernel with its name. */
#define ROCM_CODE_KERNEL 2

/* rocprofiler_memory_copy_operation_t */
#define ROCM_COPY_HOST_TO_HOST     1u
#define ROCM_COPY_HOST_TO_DEVICE   2u
#define ROCM_COPY_DEVICE_TO_HOST   3u
#define ROCM_COPY_DEVICE_TO_DEVICE 4u

/* rocprofiler_memory_allocation_operation_t: of memory, and of handles to memory without an address
 * yet. */
#define ROCM_MEMORY_ALLOCATE        1u
#define ROCM_MEMORY_ALLOCATE_HANDLE 2u
#define ROCM_MEMORY_FREE            3u
#define ROCM_MEMORY_FREE_HANDLE     4u

/* Of all records: the size comes first. */
#define ROCM_OPERATION   12u
#define ROCM_CORRELATION 16u /* the library's number, then ours */
#define ROCM_EXTERNAL    24u

/* Of rocprofiler_buffer_tracing_kernel_dispatch_record_t. */
#define ROCM_KERNEL_START     40u
#define ROCM_KERNEL_END       48u
#define ROCM_KERNEL_INFO_SIZE 56u
#define ROCM_KERNEL_AGENT     64u
#define ROCM_KERNEL_QUEUE     72u
#define ROCM_KERNEL_ID        80u
#define ROCM_KERNEL_SHARED    100u
#define ROCM_KERNEL_BLOCK     104u
#define ROCM_KERNEL_GRID      116u /* in work-items */
#define ROCM_KERNEL_BYTES     128u
#define ROCM_KERNEL_INFO      72u /* bytes of it from ROCM_KERNEL_INFO_SIZE on */

/* Of rocprofiler_buffer_tracing_memory_copy_record_t. */
#define ROCM_COPY_START  40u
#define ROCM_COPY_END    48u
#define ROCM_COPY_TO     56u
#define ROCM_COPY_FROM   64u
#define ROCM_COPY_LENGTH 72u
#define ROCM_COPY_BYTES  80u

/* Of rocprofiler_buffer_tracing_memory_allocation_record_t. */
#define ROCM_MEMORY_START   48u
#define ROCM_MEMORY_AGENT   64u
#define ROCM_MEMORY_ADDRESS 72u
#define ROCM_MEMORY_LENGTH  80u
#define ROCM_MEMORY_BYTES   88u

/* Of rocprofiler_callback_tracing_code_object_kernel_symbol_register_data_t. */
#define ROCM_SYMBOL_ID        8u
#define ROCM_SYMBOL_NAME      24u
#define ROCM_SYMBOL_SHARED    48u
#define ROCM_SYMBOL_REGISTERS 60u /* vector registers */
#define ROCM_SYMBOL_BYTES     64u

/* Of rocprofiler_agent_v0_t. */
#define ROCM_AGENT_ID       8u
#define ROCM_AGENT_TYPE     16u
#define ROCM_AGENT_LOCATION 108u /* bus << 8 | device << 3 | function */
#define ROCM_AGENT_DOMAIN   112u
#define ROCM_AGENT_NAME     248u
#define ROCM_AGENT_PRODUCT  264u
#define ROCM_AGENT_NODE     280u
#define ROCM_AGENT_BYTES    284u

static inline uint32_t rocm_u32(const void *record, size_t offset)
{
    uint32_t value;

    memcpy(&value, (const char *)record + offset, sizeof value);
    return value;
}

static inline uint64_t rocm_u64(const void *record, size_t offset)
{
    uint64_t value;

    memcpy(&value, (const char *)record + offset, sizeof value);
    return value;
}

static inline const void *rocm_pointer(const void *record, size_t offset)
{
    const void *value;

    memcpy(&value, (const char *)record + offset, sizeof value);
    return value;
}

/* rocprofiler_record_header_t */
struct rocm_header {
    uint32_t category, kind;
    const void *record;
};

/* rocprofiler_callback_tracing_record_t; passed by value. */
struct rocm_event {
    uint64_t context, thread;
    uint64_t correlation, external, ancestor;
    int32_t kind, operation, phase;
    const void *data;
};
_Static_assert(sizeof(struct rocm_event) == 64 && offsetof(struct rocm_event, kind) == 40,
               "layout");

/* rocprofiler_client_id_t */
struct rocm_client {
    size_t size;
    const char *name;
    const uint32_t handle;
};

typedef int rocm_initialize(void (*finalize)(struct rocm_client), void *data);

/* rocprofiler_tool_configure_result_t */
struct rocm_tool {
    size_t size;
    rocm_initialize *initialize;
    void (*finalize)(void *data);
    void *data;
};

typedef void rocm_event_callback(struct rocm_event event, uint64_t *kept, void *user);
typedef void rocm_buffer_callback(uint64_t context, uint64_t buffer, struct rocm_header **headers,
                                  size_t count, void *user, uint64_t dropped);
typedef int rocm_request_callback(uint64_t thread, uint64_t context, int kind, int operation,
                                  uint64_t correlation, uint64_t *out, void *user);
typedef int rocm_operation_callback(int kind, int operation, void *user);
typedef int rocm_agents_callback(int version, const void **agents, size_t count, void *user);
typedef int rocm_set_table(const char *name, uint64_t version, uint64_t instance, void **tables,
                           uint64_t count);

/* The functions that are used, by their names. Handles are structures of one number, which are
 * passed as the number is. */
#define ROCM_FUNCTIONS(EACH)                                                                       \
    EACH(create_context, (uint64_t * out))                                                         \
    EACH(start_context, (uint64_t context))                                                        \
    EACH(stop_context, (uint64_t context))                                                         \
    EACH(create_buffer, (uint64_t context, size_t size, size_t watermark, int policy,              \
                         rocm_buffer_callback *callback, void *user, uint64_t *out))               \
    EACH(flush_buffer, (uint64_t buffer))                                                          \
    EACH(configure_buffer_tracing_service,                                                         \
         (uint64_t context, int kind, const int32_t *operations, size_t count, uint64_t buffer))   \
    EACH(configure_callback_tracing_service,                                                       \
         (uint64_t context, int kind, const int32_t *operations, size_t count,                     \
          rocm_event_callback *callback, void *user))                                              \
    EACH(query_buffer_tracing_kind_name, (int kind, const char **name, uint64_t *length))          \
    EACH(query_callback_tracing_kind_name, (int kind, const char **name, uint64_t *length))        \
    EACH(query_callback_tracing_kind_operation_name,                                               \
         (int kind, int operation, const char **name, uint64_t *length))                           \
    EACH(iterate_callback_tracing_kind_operations,                                                 \
         (int kind, rocm_operation_callback *callback, void *user))                                \
    EACH(query_external_correlation_id_request_kind_name,                                          \
         (int kind, const char **name, uint64_t *length))                                          \
    EACH(configure_external_correlation_id_request_service,                                        \
         (uint64_t context, const int *kinds, size_t count, rocm_request_callback *callback,       \
          void *user))                                                                             \
    EACH(query_available_agents,                                                                   \
         (int version, rocm_agents_callback *callback, size_t size, void *user))                   \
    EACH(get_timestamp, (uint64_t * out))

#define ROCM_MEMBER(name, parameters) int(*name) parameters;
struct rocm {
    ROCM_FUNCTIONS(ROCM_MEMBER)
    const char *(*get_status_string)(int status); /* may be missing */
    uint32_t version;                             /* 0: it is not there yet */
};
#undef ROCM_MEMBER

#endif
