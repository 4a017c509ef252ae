// SPDX-License-Identifier: Apache-2.0
/**
 * A tracing provider for IREE: what IREE's runtime marks with IREE_TRACE_... goes to Inferogram.
 *
 *     cmake ... -DIREE_ENABLE_RUNTIME_TRACING=ON -DIREE_TRACING_PROVIDER=inferogram
 *               -DIREE_TRACING_PROVIDER_H=inferogram/iree_tracing.h -DIREE_TRACING_MODE=2
 *
 *     inferogram record -- iree-run-module ...
 *
 * Do not include it yourself: IREE's tracing.h does. docs/iree.md describes every step, and what is
 * not shown. Needs a compiler with 128-bit integers (gcc, clang; 64-bit machines). C11 and C++11.
 *
 * Cost. While nothing records, a zone is one load and a branch. While recording, a zone whose name
 * is a literal costs what IFG_BEGIN costs; a name that is known only at run time is looked up.
 *
 * -DIFG_DISABLE leaves IREE without tracing.
 */
#ifndef INFEROGRAM_IREE_TRACING_H
#define INFEROGRAM_IREE_TRACING_H

#include <inferogram/inferogram.h>

/* ---- what can be had ---- */

/* Of the features that were asked for, those that IREE must take care of for us. Call stacks and
 * locks are recorded from outside, devices by IREE's own profiler. Without its part in fibers, IREE
 * ends its zones before it suspends an invocation and begins them again afterwards, so that zones
 * nest on the thread that runs them. */
#ifndef IREE_TRACING_FEATURES
#if defined(IFG_DISABLE) || !defined(IREE_TRACING_FEATURES_REQUESTED)
#define IREE_TRACING_FEATURES 0
#else
#define IREE_TRACING_FEATURES                                                                      \
    ((IREE_TRACING_FEATURES_REQUESTED) &                                                           \
     (IREE_TRACING_FEATURE_INSTRUMENTATION | IREE_TRACING_FEATURE_ALLOCATION_TRACKING |            \
      IREE_TRACING_FEATURE_LOG_MESSAGES))
#endif
#endif

#ifndef __SIZEOF_INT128__
#error "inferogram/iree_tracing.h needs a compiler and a machine with 128-bit integers"
#endif

/** An ifg_zone as a number, because IREE compares it with 0 and assigns 0 to it. 0: not recorded.
 *  Aligned like the words it replaces: IREE keeps it in memory that it lays out itself. */
__extension__ typedef unsigned __int128 iree_zone_id_t __attribute__((aligned(8)));

#if IREE_TRACING_FEATURES

#ifdef __cplusplus
extern "C" {
#endif

/* ---- functions behind the macros; their names are internal ---- */

static inline ifg_location *ifg_i_iree_location(uint32_t kind, const char *name, size_t length)
{
    ifg_location_texts texts = { sizeof texts, name, length, NULL, 0, NULL, 0, kind, 0, 0 };

    return ifg_location_named(&texts);
}

#if IREE_TRACING_FEATURES & IREE_TRACING_FEATURE_INSTRUMENTATION

static inline iree_zone_id_t ifg_i_iree_id(ifg_zone zone)
{
    uint64_t rest = (uint64_t)zone.depth << 32 | zone.location;

    return zone.depth ? (iree_zone_id_t)rest << 64 | zone.start : 0;
}

static inline ifg_zone ifg_i_iree_zone(iree_zone_id_t id)
{
    uint64_t rest = (uint64_t)(id >> 64);
    ifg_zone zone = { (uint64_t)id, (uint32_t)rest, (uint32_t)(rest >> 32) };

    return zone;
}

static inline iree_zone_id_t ifg_i_iree_begin(ifg_location *location)
{
    return ifg_is_recording() ? ifg_i_iree_id(ifg_zone_begin(location)) : 0;
}

/* name may be NULL or empty: then the function is the name. */
static inline iree_zone_id_t ifg_i_iree_begin_named(const char *name, size_t name_length,
                                                    const char *function, size_t function_length,
                                                    const char *file, size_t file_length,
                                                    uint32_t line)
{
    ifg_location_texts texts;

    if (!ifg_is_recording())
        return 0;
    texts.struct_size = sizeof texts;
    texts.name = name && name_length ? name : function;
    texts.name_length = name && name_length ? name_length : function_length;
    texts.function = function;
    texts.function_length = function_length;
    texts.file = file;
    texts.file_length = file_length;
    texts.kind = IFG_LOCATION_ZONE;
    texts.line = line;
    return ifg_i_iree_id(ifg_zone_begin(ifg_location_named(&texts)));
}

static inline void ifg_i_iree_end(iree_zone_id_t id)
{
    if (__builtin_expect(id != 0, 0))
        ifg_zone_end(ifg_i_iree_zone(id));
}

static inline void ifg_i_iree_color(iree_zone_id_t id, uint32_t rgb)
{
    if (__builtin_expect(id != 0, 0))
        ifg_zone_color(ifg_i_iree_zone(id), rgb);
}

static inline void ifg_i_iree_value(iree_zone_id_t id, int64_t value)
{
    if (__builtin_expect(id != 0, 0))
        ifg_zone_detail_int(ifg_i_iree_zone(id), "value", value);
}

static inline void ifg_i_iree_text(iree_zone_id_t id, const char *text, size_t length)
{
    if (__builtin_expect(id != 0, 0))
        ifg_zone_text(ifg_i_iree_zone(id), text, length);
}

/* The unit is part of a counter's name. Only before its first value: what was recorded keeps the
 * name that it has. */
static inline void ifg_i_iree_plot_type(const char *name, int type)
{
    static const char *const units[] = { "", " bytes", " %" };
    ifg_location *location;
    const char *kept;
    char with_unit[256];
    size_t length = 0;

    if (!name || type < 1 || type > 2)
        return;
    while (length < sizeof with_unit - 8 && name[length]) {
        with_unit[length] = name[length];
        length++;
    }
    for (const char *unit = units[type]; *unit; unit++)
        with_unit[length++] = *unit;
    location = ifg_i_iree_location(IFG_LOCATION_COUNTER, name, SIZE_MAX);
    kept = ifg_i_iree_location(IFG_LOCATION_COUNTER, with_unit, length)->name;
    if (!__atomic_load_n(&location->id, __ATOMIC_RELAXED) &&
        __builtin_strncmp(kept, with_unit, length) == 0) /* else there was no room for it */
        __atomic_store_n(&location->name, kept, __ATOMIC_RELAXED);
}

static inline void ifg_i_iree_plot(const char *name, double value)
{
    if (ifg_is_recording())
        ifg_counter(ifg_i_iree_location(IFG_LOCATION_COUNTER, name, SIZE_MAX), value);
}

static inline void ifg_i_iree_frame(const char *name)
{
    if (ifg_is_recording())
        ifg_frame(ifg_i_iree_location(IFG_LOCATION_FRAME, name, SIZE_MAX));
}

static inline void ifg_i_iree_frame_begin(const char *name)
{
    if (ifg_is_recording())
        ifg_async_begin(ifg_i_iree_location(IFG_LOCATION_ASYNC, name, SIZE_MAX), 0);
}

static inline void ifg_i_iree_frame_end(const char *name)
{
    if (ifg_is_recording())
        ifg_async_end(ifg_i_iree_location(IFG_LOCATION_ASYNC, name, SIZE_MAX), 0);
}

static inline void ifg_i_iree_message(enum ifg_level level, const char *text, size_t length)
{
    if (ifg_is_recording())
        ifg_message(level, text, length);
}

/* IREE's levels are colors. Any other color is a message like others. */
static inline enum ifg_level ifg_i_iree_level(uint32_t color)
{
    switch (color & 0xffffffu) {
    case 0xff0000u:
        return IFG_LEVEL_ERROR;
    case 0xffff00u:
        return IFG_LEVEL_WARNING;
    case 0xc0c0c0u:
        return IFG_LEVEL_DEBUG;
    case 0x00ff00u:
        return IFG_LEVEL_TRACE;
    default:
        return IFG_LEVEL_INFO;
    }
}

static inline void ifg_i_iree_fiber_enter(uint64_t fiber)
{
    if (ifg_is_recording())
        ifg_fiber_enter(ifg_i_iree_location(IFG_LOCATION_ASYNC, "fiber", 5), fiber);
}

static inline void ifg_i_iree_app_info(const char *text, size_t length)
{
    char copy[1025];
    size_t i = 0;

    for (; i < length && i < sizeof copy - 1; i++)
        copy[i] = text[i];
    copy[i] = '\0';
    ifg_instrument_report("application of IREE", IFG_INSTRUMENT_ON, copy);
}

#endif

#if IREE_TRACING_FEATURES & IREE_TRACING_FEATURE_ALLOCATION_TRACKING

/* IREE names memory after it has given it back: the compiler must not see that it is the same. */
static inline void *iree_tracing_obscure_ptr(void *address)
{
    __asm__ volatile("" : "+r"(address));
    return address;
}

static inline void ifg_i_iree_alloc(const char *pool, const void *address, size_t bytes)
{
    if (ifg_is_recording())
        ifg_memory_alloc(ifg_i_iree_location(IFG_LOCATION_POOL, pool, SIZE_MAX), address, bytes);
}

static inline void ifg_i_iree_free(const char *pool, const void *address)
{
    if (ifg_is_recording())
        ifg_memory_free(ifg_i_iree_location(IFG_LOCATION_POOL, pool, SIZE_MAX), address);
}

#endif

#ifdef __cplusplus
}
#endif

#endif /* IREE_TRACING_FEATURES */

/* ---- macros ---- */

#if IREE_TRACING_FEATURES & IREE_TRACING_FEATURE_INSTRUMENTATION

#define IREE_TRACE(expr) expr

#if IREE_TRACING_FEATURES & IREE_TRACING_FEATURE_ALLOCATION_TRACKING
#define IFG_I_IREE_SHOWN "zones, messages, plots, allocations"
#else
#define IFG_I_IREE_SHOWN "zones, messages, plots"
#endif

#define IREE_TRACE_APP_ENTER()                                                                     \
    ifg_instrument_report("IREE tracing provider", IFG_INSTRUMENT_ON, IFG_I_IREE_SHOWN)
#define IREE_TRACE_APP_EXIT(exit_code)          ((void)(exit_code))
#define IREE_TRACE_SET_APP_INFO(value, length)  ifg_i_iree_app_info(value, length)
#define IREE_TRACE_SET_THREAD_NAME(thread_name) ifg_thread_name(thread_name)

#if (IREE_TRACING_FEATURES_REQUESTED) & IREE_TRACING_FEATURE_FIBERS
#define IREE_TRACE_FIBER_ENTER(fiber) ifg_i_iree_fiber_enter((uint64_t)(uintptr_t)(fiber))
#define IREE_TRACE_FIBER_LEAVE()      ifg_fiber_leave()
#else
#define IREE_TRACE_FIBER_ENTER(fiber) ((void)(fiber))
#define IREE_TRACE_FIBER_LEAVE()      ((void)0)
#endif

/* Nothing: a trace has the sources of sampled code, which the recorder reads. */
#define IREE_TRACE_PUBLISH_SOURCE_FILE(file_name, file_name_length, content, content_length)       \
    ((void)(file_name), (void)(file_name_length), (void)(content), (void)(content_length))

#define IFG_I_IREE_AT(variable, name)                                                              \
    static ifg_location variable = { name, __func__, __FILE__, __LINE__, 0, IFG_LOCATION_ZONE, 0 }

#define IREE_TRACE_ZONE_BEGIN(zone_id) IREE_TRACE_ZONE_BEGIN_NAMED(zone_id, __func__)
#define IREE_TRACE_ZONE_BEGIN_NAMED(zone_id, name_literal)                                         \
    IFG_I_IREE_AT(IFG_I_JOIN(ifg_i_at_, zone_id), name_literal);                                   \
    iree_zone_id_t zone_id = ifg_i_iree_begin(&IFG_I_JOIN(ifg_i_at_, zone_id))
#define IREE_TRACE_ZONE_BEGIN_NAMED_DYNAMIC(zone_id, name, name_length)                            \
    iree_zone_id_t zone_id = ifg_i_iree_begin_named(name, name_length, __func__, SIZE_MAX,         \
                                                    __FILE__, SIZE_MAX, __LINE__)
#define IREE_TRACE_ZONE_BEGIN_EXTERNAL(zone_id, file_name, file_name_length, line, function_name,  \
                                       function_name_length, name, name_length)                    \
    iree_zone_id_t zone_id =                                                                       \
        ifg_i_iree_begin_named(name, name_length, function_name, function_name_length, file_name,  \
                               file_name_length, (uint32_t)(line))
#define IREE_TRACE_ZONE_END(zone_id) ifg_i_iree_end(zone_id)

#define IREE_RETURN_AND_END_ZONE_IF_ERROR(zone_id, ...)                                            \
    IREE_RETURN_AND_EVAL_IF_ERROR(IREE_TRACE_ZONE_END(zone_id), __VA_ARGS__)
#define IREE_RETURN_AND_END_ZONE(zone_id, ...)                                                     \
    IREE_TRACE_ZONE_END(zone_id);                                                                  \
    return (__VA_ARGS__)

#define IREE_TRACE_ZONE_SET_COLOR(zone_id, rgb)          ifg_i_iree_color(zone_id, (uint32_t)(rgb))
#define IREE_TRACE_ZONE_APPEND_VALUE_I64(zone_id, value) ifg_i_iree_value(zone_id, (int64_t)(value))

/* (id, text) or (id, text, length) */
#define IREE_TRACE_ZONE_APPEND_TEXT(id, ...) IFG_I_IREE_TEXT(id, __VA_ARGS__, SIZE_MAX, )

#define IFG_I_IREE_TEXT(id, text, length, ...) ifg_i_iree_text(id, text, length)

#define IREE_TRACE_SET_PLOT_TYPE(name, plot_type, step, fill, color)                               \
    ((void)(step), (void)(fill), (void)(color), ifg_i_iree_plot_type(name, (int)(plot_type)))
#define IREE_TRACE_PLOT_VALUE_I64(name, value) ifg_i_iree_plot(name, (double)(int64_t)(value))
#define IREE_TRACE_PLOT_VALUE_F32(name, value) ifg_i_iree_plot(name, (double)(value))
#define IREE_TRACE_PLOT_VALUE_F64(name, value) ifg_i_iree_plot(name, (double)(value))

#define IREE_TRACE_FRAME_MARK()                 ifg_i_iree_frame("")
#define IREE_TRACE_FRAME_MARK_NAMED(name)       ifg_i_iree_frame(name)
#define IREE_TRACE_FRAME_MARK_BEGIN_NAMED(name) ifg_i_iree_frame_begin(name)
#define IREE_TRACE_FRAME_MARK_END_NAMED(name)   ifg_i_iree_frame_end(name)

#define IFG_I_IREE_LEVEL_ERROR          IFG_LEVEL_ERROR
#define IFG_I_IREE_LEVEL_WARNING        IFG_LEVEL_WARNING
#define IFG_I_IREE_LEVEL_INFO           IFG_LEVEL_INFO
#define IFG_I_IREE_LEVEL_VERBOSE        IFG_LEVEL_DEBUG
#define IFG_I_IREE_LEVEL_DEBUG          IFG_LEVEL_TRACE
#define IREE_TRACE_MESSAGE(level, text) ifg_i_iree_message(IFG_I_IREE_LEVEL_##level, text, SIZE_MAX)
#define IREE_TRACE_MESSAGE_COLORED(color, text)                                                    \
    ifg_i_iree_message(ifg_i_iree_level((uint32_t)(color)), text, SIZE_MAX)
#define IREE_TRACE_MESSAGE_DYNAMIC(level, text, length)                                            \
    ifg_i_iree_message(IFG_I_IREE_LEVEL_##level, text, length)
#define IREE_TRACE_MESSAGE_DYNAMIC_COLORED(color, text, length)                                    \
    ifg_i_iree_message(ifg_i_iree_level((uint32_t)(color)), text, length)

#ifdef __cplusplus
namespace inferogram
{
/* A zone until the end of the scope; also its id. */
class iree_scope
{
  public:
    explicit iree_scope(ifg_location *location) : id_(ifg_i_iree_begin(location))
    {
    }
    ~iree_scope()
    {
        ifg_i_iree_end(id_);
    }
    iree_scope(const iree_scope &) = delete;
    iree_scope &operator=(const iree_scope &) = delete;
    operator iree_zone_id_t() const
    {
        return id_;
    }

  private:
    iree_zone_id_t id_;
};
} // namespace inferogram

#define IREE_TRACE_SCOPE() IREE_TRACE_SCOPE_NAMED(__func__)
#define IREE_TRACE_SCOPE_NAMED(name_literal)                                                       \
    IFG_I_IREE_AT(IFG_I_JOIN(ifg_i_iree_at_, __LINE__), name_literal);                             \
    ::inferogram::iree_scope ifg_i_iree_scope(&IFG_I_JOIN(ifg_i_iree_at_, __LINE__))
#define IREE_TRACE_SCOPE_ID ifg_i_iree_scope
#endif

#endif /* IREE_TRACING_FEATURE_INSTRUMENTATION */

#if IREE_TRACING_FEATURES & IREE_TRACING_FEATURE_ALLOCATION_TRACKING
#define IREE_TRACE_ALLOC(address, bytes)             ifg_i_iree_alloc("IREE host", address, bytes)
#define IREE_TRACE_FREE(address)                     ifg_i_iree_free("IREE host", address)
#define IREE_TRACE_ALLOC_NAMED(pool, address, bytes) ifg_i_iree_alloc(pool, address, bytes)
#define IREE_TRACE_FREE_NAMED(pool, address)         ifg_i_iree_free(pool, address)
#endif

#endif
