// SPDX-License-Identifier: Apache-2.0
/* What a request may look like. Everything else is refused before anything is done. */
#include "collect/perf/sampler.h"
#include "collect/privileged/protocol.h"
#include "collect/uprobe/calls_internal.h"

#define HZ_MOST    20000u
#define RING_LEAST ((uint64_t)64 << 10)
#define RING_MOST  ((uint64_t)64 << 20)
#define STEPS      3u
#define ALL_FLAGS                                                                                  \
    (PRIVILEGED_SIDE | PRIVILEGED_CLOCK | PRIVILEGED_KERNEL | PRIVILEGED_ON_EXEC |                 \
     PRIVILEGED_BUILD_ID)
/* The namespace is filled in by the helper. */
#define COOKIE_BITS                                                                                \
    (UINT64_C(0xffffffff) | UINT64_C(0x3f) << 32 | COOKIE_RETURN | COOKIE_OPEN | COOKIE_TEXT_BEHIND)

static bool event_is_sound(const struct privileged_request *request)
{
    bool side = request->flags & PRIVILEGED_SIDE;

    return request->pid > 0 && request->cpu >= -1 && request->cpu < PRIVILEGED_CPUS &&
           !(request->flags & ~(uint32_t)ALL_FLAGS) && request->hz <= HZ_MOST &&
           (side ? !(request->flags & (PRIVILEGED_KERNEL | PRIVILEGED_CLOCK)) : request->hz > 0) &&
           request->stack_bytes > 0 && request->stack_bytes <= SAMPLER_STACK_MAX &&
           request->stack_bytes % 8 == 0;
}

static bool ring_is_sound(const struct privileged_request *request)
{
    return request->ring_bytes >= RING_LEAST && request->ring_bytes <= RING_MOST &&
           !(request->ring_bytes & (request->ring_bytes - 1)) &&
           request->wake_bytes <= request->ring_bytes / 2;
}

static bool probes_are_sound(const struct privileged_request *request)
{
    if (request->pid <= 0 || request->step >= STEPS || !request->count ||
        request->count > PRIVILEGED_PROBES)
        return false;
    for (uint32_t i = 0; i < request->count; i++) {
        uint64_t cookie = request->cookies[i];

        if (cookie & ~COOKIE_BITS || COOKIE_TEXT(cookie) > CALL_ARGUMENTS ||
            COOKIE_OUT(cookie) > CALL_ARGUMENTS || request->offsets[i] > INT64_MAX)
            return false;
    }
    return true;
}

bool privileged_request_check(const struct privileged_request *request, size_t size, int fd_count)
{
    if (size != sizeof *request || request->magic != PRIVILEGED_MAGIC || request->unused)
        return false;
    if (fd_count != (request->operation == PRIVILEGED_LINK ? 1 : 0))
        return false;
    switch (request->operation) {
    case PRIVILEGED_HELLO:
        return true;
    case PRIVILEGED_EVENT:
        return event_is_sound(request);
    case PRIVILEGED_LOAD:
        return ring_is_sound(request);
    case PRIVILEGED_LINK:
        return probes_are_sound(request);
    case PRIVILEGED_PERMIT:
    case PRIVILEGED_FORBID:
        return request->pid > 0;
    default:
        return false;
    }
}
