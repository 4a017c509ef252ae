// SPDX-License-Identifier: Apache-2.0
/*
 * What is used of CUPTI's interface, as all versions from CUDA 11.0 on have it. Records are read by
 * offset: they grew from version to version, but nothing in front moved. Benchmarks and builds need
 * no CUDA; these numbers were compared with the headers of every CUPTI from 11.7 to 13.4 that PyPI
 * has (11.7, 11.8, 12.0 to 12.6, 12.8, 12.9, 13.0 to 13.4): offsets, kinds and results are the same
 * in all of them, and callback ids only become more. What did change: since 13.2, 0 means that
 * memory has no stream, and no longer UINT32_MAX.
 */
#ifndef IFG_HOOKS_CUPTI_ABI_H
#define IFG_HOOKS_CUPTI_ABI_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* cuptiGetVersion: a count until CUDA 12, then MAJOR * 10000 + MINOR * 100 + patch. */
#define CUPTI_VERSION_OLDEST 13u     /* CUDA 11.0 */
#define CUPTI_VERSION_POOLS  18u     /* CUDA 11.8: records say how much of a pool is used, */
#define CUPTI_VERSION_GRAPHS 18u     /* and of which graph they are; 17 is 11.7, and 11.6 */
#define CUPTI_VERSION_BEYOND 140000u /* nobody has seen it: only what never moved is read */

/* CUptiResult */
#define CUPTI_OK             0
#define CUPTI_NO_MORE        12 /* records in a buffer */
#define CUPTI_NO_RIGHTS      35
#define CUPTI_IS_TAKEN       39 /* another subscriber */
#define CUPTI_VIRTUALIZED_NO 40 /* a virtual GPU that may not be profiled */

/* CUpti_ActivityKind */
#define CUPTI_MEMCPY      1u
#define CUPTI_MEMSET      2u
#define CUPTI_KERNEL      3u
#define CUPTI_KERNELS     10u /* concurrent ones */
#define CUPTI_CONTEXT     9u
#define CUPTI_MEMCPY_PEER 22u
#define CUPTI_WAIT        38u /* synchronization */
#define CUPTI_MEMORY      49u /* a record each for taking and giving back */
#define CUPTI_POOL        50u

#define CUPTI_FLUSH_FORCED 1u

#define CUPTI_DOMAIN_DRIVER 1
#define CUPTI_SITE_ENTER    0
#define CUPTI_SITE_EXIT     1

/* Of CUpti_CallbackData. */
#define CUPTI_CALL_SITE        0u
#define CUPTI_CALL_KEPT        56u /* points to a number that enter and exit of a call share */
#define CUPTI_CALL_CORRELATION 64u

/* Of CUpti_ActivityKernel4 to 10. */
#define CUPTI_KERNEL_REGISTERS   6u
#define CUPTI_KERNEL_START       16u
#define CUPTI_KERNEL_END         24u
#define CUPTI_KERNEL_DEVICE      40u
#define CUPTI_KERNEL_CONTEXT     44u
#define CUPTI_KERNEL_STREAM      48u
#define CUPTI_KERNEL_GRID        52u
#define CUPTI_KERNEL_BLOCK       64u
#define CUPTI_KERNEL_SHARED      76u /* static, then dynamic */
#define CUPTI_KERNEL_CORRELATION 92u
#define CUPTI_KERNEL_NAME        104u
#define CUPTI_KERNEL_GRAPH_NODE  144u
#define CUPTI_KERNEL_GRAPH       156u

/* Of CUpti_ActivityMemcpy to 6, CUpti_ActivityMemset to 4, and CUpti_ActivityMemcpyPtoP to 4, which
 * has its correlation and its graph elsewhere. */
#define CUPTI_COPY_KIND             4u
#define CUPTI_COPY_BYTES            8u
#define CUPTI_COPY_START            16u
#define CUPTI_COPY_END              24u
#define CUPTI_COPY_DEVICE           32u
#define CUPTI_COPY_CONTEXT          36u
#define CUPTI_COPY_STREAM           40u
#define CUPTI_COPY_CORRELATION      44u
#define CUPTI_COPY_GRAPH_NODE       64u
#define CUPTI_COPY_GRAPH            72u
#define CUPTI_PEER_COPY_CORRELATION 60u
#define CUPTI_PEER_COPY_GRAPH_NODE  72u
#define CUPTI_PEER_COPY_GRAPH       80u

/* Of CUpti_ActivityMemory2 to 4. */
#define CUPTI_MEMORY_OPERATION    4u /* 1 taken, 2 given back */
#define CUPTI_MEMORY_KIND         8u /* CUpti_ActivityMemoryKind */
#define CUPTI_MEMORY_CORRELATION  12u
#define CUPTI_MEMORY_ADDRESS      16u
#define CUPTI_MEMORY_BYTES        24u
#define CUPTI_MEMORY_TIME         32u
#define CUPTI_MEMORY_DEVICE       52u
#define CUPTI_MEMORY_CONTEXT      56u
#define CUPTI_MEMORY_STREAM       60u
#define CUPTI_MEMORY_IS_ASYNC     72u
#define CUPTI_MEMORY_POOL_TYPE    80u
#define CUPTI_MEMORY_POOL_ADDRESS 88u
#define CUPTI_MEMORY_POOL_SIZE    104u
#define CUPTI_MEMORY_POOL_USED    112u /* from 3 on: CUPTI_VERSION_POOLS */

/* Of CUpti_ActivityMemoryPool to 3. */
#define CUPTI_POOL_OPERATION   4u /* 1 made, 2 destroyed, 3 trimmed */
#define CUPTI_POOL_TYPE        8u
#define CUPTI_POOL_CORRELATION 12u
#define CUPTI_POOL_DEVICE      20u
#define CUPTI_POOL_ADDRESS     32u
#define CUPTI_POOL_SIZE        40u
#define CUPTI_POOL_TIME        56u
#define CUPTI_POOL_USED        64u /* from 2 on: CUPTI_VERSION_POOLS */

#define CUPTI_POOL_LOCAL 1u /* of this process: only of these the size is known */

/* Of CUpti_ActivitySynchronization and 2. There is no device in it. */
#define CUPTI_WAIT_TYPE        4u
#define CUPTI_WAIT_START       8u
#define CUPTI_WAIT_END         16u
#define CUPTI_WAIT_CORRELATION 24u
#define CUPTI_WAIT_CONTEXT     28u
#define CUPTI_WAIT_STREAM      32u /* UINT32_MAX: for none in particular */

/* Of CUpti_ActivityContext to 4. */
#define CUPTI_CONTEXT_ID     4u
#define CUPTI_CONTEXT_DEVICE 8u

/* Records lie at 8 bytes; what is read is not always aligned to its own size. */
static inline uint32_t cupti_u32(const void *record, size_t offset)
{
    uint32_t value;

    memcpy(&value, (const char *)record + offset, sizeof value);
    return value;
}

static inline uint64_t cupti_u64(const void *record, size_t offset)
{
    uint64_t value;

    memcpy(&value, (const char *)record + offset, sizeof value);
    return value;
}

static inline const void *cupti_pointer(const void *record, size_t offset)
{
    const void *value;

    memcpy(&value, (const char *)record + offset, sizeof value);
    return value;
}

typedef void cupti_callback(void *user, int domain, uint32_t id, const void *data);
typedef void cupti_request(uint8_t **out_buffer, size_t *out_size, size_t *out_most);
typedef void cupti_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                            size_t valid);

/* The functions that are used, by their names. */
#define CUPTI_FUNCTIONS(EACH)                                                                      \
    EACH(GetVersion, (uint32_t * out))                                                             \
    EACH(Subscribe, (void **out, cupti_callback *callback, void *user))                            \
    EACH(Unsubscribe, (void *subscriber))                                                          \
    EACH(EnableCallback, (uint32_t on, void *subscriber, int domain, uint32_t id))                 \
    EACH(ActivityRegisterCallbacks, (cupti_request * request, cupti_complete * complete))          \
    EACH(ActivityEnable, (uint32_t kind))                                                          \
    EACH(ActivityDisable, (uint32_t kind))                                                         \
    EACH(ActivityFlushAll, (uint32_t flags))                                                       \
    EACH(ActivityGetNextRecord, (uint8_t * buffer, size_t valid, void **record))                   \
    EACH(ActivityGetNumDroppedRecords, (void *context, uint32_t stream, size_t *out))              \
    EACH(GetTimestamp, (uint64_t * out))                                                           \
    EACH(Finalize, (void))

/* That may be missing. */
#define CUPTI_OPTIONAL(EACH)                                                                       \
    EACH(ActivityRegisterTimestampCallback, (uint64_t(*now)(void)))                                \
    EACH(ActivityEnableAllSyncRecords, (uint8_t on))                                               \
    EACH(GetResultString, (int result, const char **out))

#define CUPTI_MEMBER(name, parameters) int(*name) parameters;
struct cupti {
    CUPTI_FUNCTIONS(CUPTI_MEMBER)
    CUPTI_OPTIONAL(CUPTI_MEMBER)
    uint32_t version;
};
#undef CUPTI_MEMBER

#endif
