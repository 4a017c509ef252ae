// SPDX-License-Identifier: Apache-2.0
/*
 * Stands in for iree/base/tracing.h in our tests: the numbers of features and modes that IREE hands
 * to a tracing provider, the include of the provider, and what IREE does itself where the provider
 * has no such feature. Written for these tests, not taken from IREE.
 */
#ifndef IREE_STAND_IN_H
#define IREE_STAND_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IREE_TRACING_FEATURE_INSTRUMENTATION            0x001
#define IREE_TRACING_FEATURE_INSTRUMENTATION_CALLSTACKS 0x002
#define IREE_TRACING_FEATURE_INSTRUMENTATION_DEVICE     0x004
#define IREE_TRACING_FEATURE_ALLOCATION_TRACKING        0x008
#define IREE_TRACING_FEATURE_ALLOCATION_CALLSTACKS      0x010
#define IREE_TRACING_FEATURE_FAST_LOCKS                 0x020
#define IREE_TRACING_FEATURE_SLOW_LOCKS                 0x040
#define IREE_TRACING_FEATURE_LOG_MESSAGES               0x080
#define IREE_TRACING_FEATURE_FIBERS                     0x100

#ifndef IREE_TRACING_FEATURES_REQUESTED
#if IREE_TRACING_MODE == 1
#define IREE_TRACING_FEATURES_REQUESTED 0x081
#elif IREE_TRACING_MODE == 2
#define IREE_TRACING_FEATURES_REQUESTED 0x08d
#elif IREE_TRACING_MODE == 3
#define IREE_TRACING_FEATURES_REQUESTED 0x19d
#elif IREE_TRACING_MODE >= 4
#define IREE_TRACING_FEATURES_REQUESTED 0x19f
#else
#define IREE_TRACING_FEATURES_REQUESTED 0
#endif
#endif

#include IREE_TRACING_PROVIDER_H

enum {
    IREE_TRACING_PLOT_TYPE_NUMBER,
    IREE_TRACING_PLOT_TYPE_MEMORY,
    IREE_TRACING_PLOT_TYPE_PERCENTAGE
};
enum {
    IREE_TRACING_MESSAGE_LEVEL_ERROR = 0xFF0000,
    IREE_TRACING_MESSAGE_LEVEL_WARNING = 0xFFFF00,
    IREE_TRACING_MESSAGE_LEVEL_INFO = 0xFFFFFF,
    IREE_TRACING_MESSAGE_LEVEL_VERBOSE = 0xC0C0C0,
    IREE_TRACING_MESSAGE_LEVEL_DEBUG = 0x00FF00
};

/* Of IREE's statuses: a number, where 0 is good. */
#define IREE_RETURN_AND_EVAL_IF_ERROR(tail, ...)                                                   \
    do {                                                                                           \
        int stand_in_status = (__VA_ARGS__);                                                       \
        if (stand_in_status) {                                                                     \
            tail;                                                                                  \
            return stand_in_status;                                                                \
        }                                                                                          \
    } while (0)

#if !(IREE_TRACING_FEATURES & IREE_TRACING_FEATURE_INSTRUMENTATION)
#define IREE_TRACE(expr)
#define IREE_TRACE_APP_ENTER()
#define IREE_TRACE_APP_EXIT(code)
#define IREE_TRACE_SET_APP_INFO(...)
#define IREE_TRACE_SET_THREAD_NAME(name)
#define IREE_TRACE_FIBER_ENTER(fiber)
#define IREE_TRACE_FIBER_LEAVE()
#define IREE_TRACE_PUBLISH_SOURCE_FILE(...)
#define IREE_TRACE_ZONE_BEGIN(zone)                                                                \
    iree_zone_id_t zone = 0;                                                                       \
    (void)zone
#define IREE_TRACE_ZONE_BEGIN_NAMED(zone, name)        IREE_TRACE_ZONE_BEGIN(zone)
#define IREE_TRACE_ZONE_BEGIN_NAMED_DYNAMIC(zone, ...) IREE_TRACE_ZONE_BEGIN(zone)
#define IREE_TRACE_ZONE_BEGIN_EXTERNAL(zone, ...)      IREE_TRACE_ZONE_BEGIN(zone)
#define IREE_TRACE_ZONE_END(zone)                      (void)(zone)
#define IREE_RETURN_AND_END_ZONE_IF_ERROR(zone, ...)                                               \
    IREE_RETURN_AND_EVAL_IF_ERROR((void)0, __VA_ARGS__)
#define IREE_RETURN_AND_END_ZONE(zone, ...) return (__VA_ARGS__)
#define IREE_TRACE_ZONE_SET_COLOR(...)
#define IREE_TRACE_ZONE_APPEND_VALUE_I64(...)
#define IREE_TRACE_ZONE_APPEND_TEXT(...)
#define IREE_TRACE_SET_PLOT_TYPE(...)
#define IREE_TRACE_PLOT_VALUE_I64(...)
#define IREE_TRACE_PLOT_VALUE_F32(...)
#define IREE_TRACE_PLOT_VALUE_F64(...)
#define IREE_TRACE_FRAME_MARK()
#define IREE_TRACE_FRAME_MARK_NAMED(name)
#define IREE_TRACE_FRAME_MARK_BEGIN_NAMED(name)
#define IREE_TRACE_FRAME_MARK_END_NAMED(name)
#define IREE_TRACE_MESSAGE(...)
#define IREE_TRACE_MESSAGE_COLORED(...)
#define IREE_TRACE_MESSAGE_DYNAMIC(...)
#define IREE_TRACE_MESSAGE_DYNAMIC_COLORED(...)
#define IREE_TRACE_SCOPE()
#define IREE_TRACE_SCOPE_NAMED(name)
#define IREE_TRACE_SCOPE_ID 0
#endif

#if !(IREE_TRACING_FEATURES & IREE_TRACING_FEATURE_ALLOCATION_TRACKING)
static inline void *iree_tracing_obscure_ptr(void *address)
{
    return address;
}
#define IREE_TRACE_ALLOC(...)
#define IREE_TRACE_FREE(...)
#define IREE_TRACE_ALLOC_NAMED(...)
#define IREE_TRACE_FREE_NAMED(...)
#endif

#endif
