// SPDX-License-Identifier: Apache-2.0
/*
 * Calls of the driver that launch, copy, set or wait: seen by CUPTI on the threads that make them.
 * Only these are asked for: a framework makes many calls for each kernel. A call is written when it
 * is over, and so lies in what is open on its thread.
 */
#include "client/device.h"
#include "hooks/cupti/hook.h"
#include "trace/keys.h"

#define IDS 1024u

struct calls_counts calls_counts;

enum what { KERNEL, GRAPH, COPY, SET, SYNC };

static const char *const whats[] = { TRACE_WORK_KERNEL, TRACE_WORK_GRAPH, TRACE_WORK_MEMCPY,
                                     TRACE_WORK_MEMSET, TRACE_WORK_SYNC };

/* CUpti_driver_api_trace_cbid: those that a program of today can make. Of two variants (_ptsz,
 * _ptds: the default stream is one of the thread's) both have the same name. */
static const struct {
    uint16_t id;
    uint16_t variant; /* 0: none */
    enum what what;
    const char *name;
} known[] = {
    { 307, 442, KERNEL, "cuLaunchKernel" },
    { 652, 653, KERNEL, "cuLaunchKernelEx" },
    { 477, 478, KERNEL, "cuLaunchCooperativeKernel" },
    { 480, 0, KERNEL, "cuLaunchCooperativeKernelMultiDevice" },
    { 115, 0, KERNEL, "cuLaunch" },
    { 116, 0, KERNEL, "cuLaunchGrid" },
    { 117, 0, KERNEL, "cuLaunchGridAsync" },
    { 514, 515, GRAPH, "cuGraphLaunch" },
    { 276, 397, COPY, "cuMemcpyHtoD" },
    { 277, 421, COPY, "cuMemcpyHtoDAsync" },
    { 278, 398, COPY, "cuMemcpyDtoH" },
    { 279, 422, COPY, "cuMemcpyDtoHAsync" },
    { 280, 399, COPY, "cuMemcpyDtoD" },
    { 281, 423, COPY, "cuMemcpyDtoDAsync" },
    { 282, 403, COPY, "cuMemcpyAtoH" },
    { 283, 420, COPY, "cuMemcpyAtoHAsync" },
    { 284, 401, COPY, "cuMemcpyAtoD" },
    { 285, 400, COPY, "cuMemcpyDtoA" },
    { 286, 404, COPY, "cuMemcpyAtoA" },
    { 287, 405, COPY, "cuMemcpy2D" },
    { 288, 406, COPY, "cuMemcpy2DUnaligned" },
    { 289, 424, COPY, "cuMemcpy2DAsync" },
    { 290, 407, COPY, "cuMemcpy3D" },
    { 291, 425, COPY, "cuMemcpy3DAsync" },
    { 292, 402, COPY, "cuMemcpyHtoA" },
    { 293, 419, COPY, "cuMemcpyHtoAAsync" },
    { 305, 408, COPY, "cuMemcpy" },
    { 306, 418, COPY, "cuMemcpyAsync" },
    { 318, 409, COPY, "cuMemcpyPeer" },
    { 319, 426, COPY, "cuMemcpyPeerAsync" },
    { 320, 410, COPY, "cuMemcpy3DPeer" },
    { 321, 427, COPY, "cuMemcpy3DPeerAsync" },
    { 776, 777, COPY, "cuMemcpyBatchAsync" },
    { 778, 779, COPY, "cuMemcpy3DBatchAsync" },
    { 796, 797, COPY, "cuMemcpyBatchAsync" },
    { 798, 799, COPY, "cuMemcpy3DBatchAsync" },
    { 837, 838, COPY, "cuMemcpyWithAttributesAsync" },
    { 839, 840, COPY, "cuMemcpy3DWithAttributesAsync" },
    { 249, 411, SET, "cuMemsetD8" },
    { 250, 412, SET, "cuMemsetD16" },
    { 251, 413, SET, "cuMemsetD32" },
    { 252, 414, SET, "cuMemsetD2D8" },
    { 253, 415, SET, "cuMemsetD2D16" },
    { 254, 416, SET, "cuMemsetD2D32" },
    { 216, 428, SET, "cuMemsetD8Async" },
    { 218, 429, SET, "cuMemsetD16Async" },
    { 220, 430, SET, "cuMemsetD32Async" },
    { 222, 431, SET, "cuMemsetD2D8Async" },
    { 224, 432, SET, "cuMemsetD2D16Async" },
    { 226, 433, SET, "cuMemsetD2D32Async" },
    { 17, 800, SYNC, "cuCtxSynchronize" },
    { 121, 0, SYNC, "cuEventSynchronize" },
    { 126, 440, SYNC, "cuStreamSynchronize" },
};

static struct {
    uint32_t location; /* 0: not one of ours */
    bool is_launch;
} ids[IDS];

static uint64_t since; /* ticks: a call that began before was not seen to begin */

static int enable(void *subscriber, bool on, uint32_t id, uint32_t location, bool is_launch)
{
    if (!id)
        return CUPTI_OK;
    if (on) {
        ids[id].is_launch = is_launch;
        __atomic_store_n(&ids[id].location, location, __ATOMIC_RELEASE);
    }
    return cupti.EnableCallback(on, subscriber, CUPTI_DOMAIN_DRIVER, id);
}

/* One that this CUPTI does not know yet is no failure, as long as launches are seen. */
int calls_enable(void *subscriber, bool on)
{
    int result = CUPTI_OK;

    if (on)
        __atomic_store_n(&since, ifg_ticks(), __ATOMIC_RELAXED);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        uint32_t location = ids[known[i].id].location;
        int own;

        if (on && !location)
            location = ifg_device_location(1, known[i].name, whats[known[i].what]);
        own = enable(subscriber, on, known[i].id, location, known[i].what != SYNC);
        enable(subscriber, on, known[i].variant, location, known[i].what != SYNC);
        if (i == 0)
            result = own;
    }
    return result;
}

void calls_callback(void *user, int domain, uint32_t id, const void *data)
{
    uint32_t location;
    uint64_t *kept;

    (void)user;
    if (domain != CUPTI_DOMAIN_DRIVER || id >= IDS || !data)
        return;
    location = __atomic_load_n(&ids[id].location, __ATOMIC_ACQUIRE);
    kept = (uint64_t *)cupti_pointer(data, CUPTI_CALL_KEPT);
    if (!location || !kept)
        return;
    if (cupti_u32(data, CUPTI_CALL_SITE) == CUPTI_SITE_ENTER) {
        *kept = ifg_ticks();
        return;
    }
    if (*kept < __atomic_load_n(&since, __ATOMIC_RELAXED))
        return; /* it began before we looked */
    ifg_device_call(location, *kept, cupti_u32(data, CUPTI_CALL_CORRELATION));
    if (ids[id].is_launch)
        __atomic_fetch_add(&calls_counts.launches, 1, __ATOMIC_RELAXED);
}
