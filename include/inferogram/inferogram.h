// SPDX-License-Identifier: Apache-2.0
/**
 * Inferogram: mark what a program and its models do, for a profiler.
 *
 *     #include <inferogram/inferogram.h>      // cc $(pkg-config --cflags --libs inferogram)
 *
 *     void decode(struct frame *f)
 *     {
 *         IFG_ZONE("decode");                 // until the scope ends
 *         IFG_BEGIN(z, "resize"); resize(f); IFG_END(z);
 *         IFG_COUNTER("queue", depth);
 *     }
 *
 *     inferogram record -- ./program          // or: inferogram record --pid N
 *
 * This header is the reference. It needs nothing but libc and is clean C11 and C++11 (gcc, clang).
 *
 * Cost. While nothing records, a macro is one load and a branch. While recording, a zone is two
 * reads of the CPU's counter and 32 stored bytes. The library has no thread, no socket, no port and
 * no signal handler; its memory is 65 MiB of sparse address space and cannot grow. When the
 * recorder cannot keep up, events are dropped and counted.
 *
 * Threads. You can make every call from any thread at any time. Zones, messages, counters, async
 * spans, flows, allocations and frames also work in signal handlers, including the first use of a
 * location. Do not create models in signal handlers. errno is never changed.
 *
 * Ownership. Strings are copied before a call returns. Location names must be string literals. The
 * caller owns what ifg_*_create returns until ifg_*_destroy.
 *
 * Failure. You have no errors to handle.
 *
 * fork: the child starts clean and is recorded as a separate process; zones that were open in the
 * parent are not continued. (A child made by a bare system call, without libc's fork, must not
 * record before exec: it would write into its parent's buffers.) exec: the new program is recorded
 * from scratch. dlclose: the library stays loaded.
 *
 * -DIFG_DISABLE compiles every macro and function to nothing; you then need not link the library.
 */
#ifndef INFEROGRAM_H
#define INFEROGRAM_H

#include <stddef.h>
#include <stdint.h>

#define IFG_VERSION_MAJOR 0
#define IFG_VERSION_MINOR 1
#define IFG_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

#define IFG_API __attribute__((visibility("default")))

/** The phases of a model's life. */
enum ifg_category {
    IFG_PREPARE_EP = 1,     /**< an execution provider or device gets ready */
    IFG_SPECIALIZATION = 2, /**< the model is compiled or optimized for this machine */
    IFG_LOAD = 3,           /**< the model becomes ready to run */
    IFG_SETUP = 4,          /**< inputs and buffers are prepared for one inference */
    IFG_INFERENCE = 5       /**< the model runs */
};

/** How a load got its specialized model. Use IFG_LOAD_UNKNOWN rather than guess. */
enum ifg_load_state {
    IFG_LOAD_UNKNOWN = 0,
    IFG_LOAD_COLD = 1,       /**< specialized during this load */
    IFG_LOAD_CACHED = 2,     /**< taken from a cache */
    IFG_LOAD_PRECOMPILED = 3 /**< specialized earlier, elsewhere */
};

enum ifg_level {
    IFG_LEVEL_TRACE = 0,
    IFG_LEVEL_DEBUG = 1,
    IFG_LEVEL_INFO = 2,
    IFG_LEVEL_WARNING = 3,
    IFG_LEVEL_ERROR = 4
};

/** A location in a program; the macros create one static each. The library owns the fields. */
typedef struct ifg_location {
    const char *name;
    const char *function;
    const char *file;
    uint32_t line;
    uint32_t color; /**< 0, or 0x1000000 + 0xRRGGBB */
    uint32_t kind;
    uint32_t id; /**< assigned by the library at first use */
} ifg_location;

/** An open zone. Pass it by value; end it once, on the thread that began it. If it is all zero, it
 * is not recorded. */
typedef struct ifg_zone {
    uint64_t start;
    uint32_t location;
    uint32_t depth;
} ifg_zone;

/** A model: its name, its file, its runtime and the devices it was requested for. */
typedef struct ifg_model ifg_model;

/** Set struct_size, then what you know; leave the rest NULL. The library compares the texts:
 * creating a model with the same texts again gives the same model (an application that loads it
 * twice). */
typedef struct ifg_model_options {
    size_t struct_size;            /**< sizeof(ifg_model_options) */
    const char *name;              /**< "ocr" */
    const char *path;              /**< "/models/ocr.onnx" */
    const char *content_id;        /**< a hash of the model's bytes, any form */
    const char *runtime;           /**< "ONNX Runtime 1.20.1" */
    const char *requested_devices; /**< "CUDA,CPU": requested, separated by commas */
    const char *actual_devices;    /**< "CPU": used */
} ifg_model_options;

/** A location whose name is known only at run time: an operator of a graph, a line of a script. */
typedef struct ifg_location_options {
    size_t struct_size;   /**< sizeof(ifg_location_options) */
    const char *name;     /**< "conv1", "infer" */
    const char *function; /**< operator type, or the function around the line */
    const char *file;     /**< source file, or NULL */
    ifg_model *model;     /**< the model of an operator; otherwise NULL */
    uint32_t kind;        /**< IFG_LOCATION_ZONE or IFG_LOCATION_OPERATOR; 0: a zone */
    uint32_t line;
    uint32_t color; /**< 0, or 0x1000000 + 0xRRGGBB */
} ifg_location_options;

/** Texts of a location that are known only at run time. They need not end with a 0; a length of
 *  SIZE_MAX means strlen. */
typedef struct ifg_location_texts {
    size_t struct_size; /**< sizeof(ifg_location_texts) */
    const char *name;
    size_t name_length;
    const char *function; /**< or NULL */
    size_t function_length;
    const char *file; /**< or NULL */
    size_t file_length;
    uint32_t kind; /**< IFG_LOCATION_ZONE, _COUNTER, _POOL, _FRAME, _ASYNC, ...; 0: a zone */
    uint32_t line;
    uint32_t color; /**< 0, or 0x1000000 + 0xRRGGBB; the first one for these texts stays */
} ifg_location_texts;

/** Whether a source of events works in this process; shown by `inferogram info`. */
enum ifg_instrument_state {
    IFG_INSTRUMENT_OFF = 0,
    IFG_INSTRUMENT_ON = 1,
    IFG_INSTRUMENT_UNAVAILABLE = 2
};

/** What a program is about to deny itself; see ifg_confine(). */
enum ifg_confine_how {
    IFG_CONFINE_CALLS = 1, /**< system calls: a seccomp filter */
    IFG_CONFINE_CLOCK = 2  /**< the processor's clock as well: strict mode, PR_SET_TSC */
};

#define IFG_LOCATION_ZONE     1
#define IFG_LOCATION_OPERATOR 3
#define IFG_LOCATION_STAGE    4
#define IFG_LOCATION_COUNTER  5
#define IFG_LOCATION_POOL     6
#define IFG_LOCATION_FRAME    7
#define IFG_LOCATION_ASYNC    8
#define IFG_LOCATION_FLOW     9

#ifndef IFG_DISABLE

/* ---- functions ---- */

/** Points to a word that is not 0 during a recording. Use ifg_is_recording(). */
extern IFG_API const uint32_t *ifg_recording_word;

/** Not 0 during a recording. Use it to skip work that only a recording needs. Cost: one load. */
static inline int ifg_is_recording(void)
{
    return (int)__builtin_expect(__atomic_load_n(ifg_recording_word, __ATOMIC_RELAXED) != 0, 0);
}

/** Points to a word that is not 0 while model events are needed. Use ifg_wants_events(). */
extern IFG_API const uint32_t *ifg_event_word;

/** Not 0 while model events and stages are needed: during a recording, or while a profiling handle
 *  (<inferogram/handles.h>) is started. Cost: one load. */
static inline int ifg_wants_events(void)
{
    const uint32_t *word = __atomic_load_n(&ifg_event_word, __ATOMIC_RELAXED);

    return (int)__builtin_expect(__atomic_load_n(word, __ATOMIC_RELAXED) != 0, 0);
}

/** Begins a zone; the macros call it only while recording. Signal-safe. */
IFG_API ifg_zone ifg_zone_begin(ifg_location *location);

/** Ends it. Do not pass a zone that is not recorded (all zero); the macros check that. Zones begun
 * after it on this thread and not ended are given up and counted. Signal-safe. */
IFG_API void ifg_zone_end(ifg_zone zone);

/** Facts about one open zone or event: shown with it, and searchable. length (SIZE_MAX: strlen) is
 * cut at 1,024 bytes. Cost: about a zone. No effect on a zone that is not recorded. Signal-safe. */
IFG_API void ifg_zone_name(ifg_zone zone, const char *name, size_t length);
IFG_API void ifg_zone_text(ifg_zone zone, const char *text, size_t length);
IFG_API void ifg_zone_value(ifg_zone zone, uint64_t value);
IFG_API void ifg_zone_color(ifg_zone zone, uint32_t rgb);
IFG_API void ifg_zone_detail_string(ifg_zone zone, const char *key, const char *text);
IFG_API void ifg_zone_detail_int(ifg_zone zone, const char *key, int64_t value);
IFG_API void ifg_zone_detail_float(ifg_zone zone, const char *key, double value);

/** A mark on this thread's timeline, with a text of at most 1,024 bytes. Signal-safe. */
IFG_API void ifg_message(enum ifg_level level, const char *text, size_t length);

/** A new value of a plotted quantity. Signal-safe. */
IFG_API void ifg_counter(ifg_location *location, double value);

/** A span that may end on another thread. (name, id) matches the two ends; you can use the same
 *  pair again after its end. Signal-safe. */
IFG_API void ifg_async_begin(ifg_location *location, uint64_t id);
IFG_API void ifg_async_end(ifg_location *location, uint64_t id);

/** An arrow from zone to zone, mostly across threads: work that is handed on. Each point belongs to
 *  the innermost zone open on its thread. (name, id) connects the points of one flow: one begin,
 *  any number of steps, one end; you can use the same pair again after its end. Cost: less than a
 *  message. Signal-safe. */
IFG_API void ifg_flow_begin(ifg_location *location, uint64_t id);
IFG_API void ifg_flow_step(ifg_location *location, uint64_t id);
IFG_API void ifg_flow_end(ifg_location *location, uint64_t id);

/** Memory allocated from and returned to a named pool. Signal-safe. */
IFG_API void ifg_memory_alloc(ifg_location *pool, const void *address, size_t bytes);
IFG_API void ifg_memory_free(ifg_location *pool, const void *address);

/** The end of one frame, step or iteration of a loop. Signal-safe. */
IFG_API void ifg_frame(ifg_location *location);

/** Names the calling thread, at most 31 bytes. Works at any time, recording or not. */
IFG_API void ifg_thread_name(const char *name);

/** Defines a model. Returns NULL only if memory is short; every function accepts NULL.
 *  Cost: microseconds; not signal-safe. The caller owns one reference. */
IFG_API ifg_model *ifg_model_create(const ifg_model_options *options);

/** Releases the reference. What was recorded stays. */
IFG_API void ifg_model_destroy(ifg_model *model);

/** Adds a fact that became known later: key "actual_devices", "nodes.CUDA", ... */
IFG_API void ifg_model_property(ifg_model *model, const char *key, const char *value);

/** Begins an event of a model's function ("main" or NULL if there are none). It nests like a zone
 * and takes the same details. The first event of a new function is not signal-safe. */
IFG_API ifg_zone ifg_event_begin(ifg_model *model, const char *function,
                                 enum ifg_category category);

/** How the load `event` got its model. */
IFG_API void ifg_event_load_state(ifg_zone event, enum ifg_load_state state);

/** An event that may end on another thread, for asynchronous runs. */
IFG_API void ifg_event_async_begin(ifg_model *model, const char *function,
                                   enum ifg_category category, uint64_t id);
IFG_API void ifg_event_async_end(ifg_model *model, const char *function, enum ifg_category category,
                                 uint64_t id);

/** A number for one request through a pipeline, unique in this process. */
IFG_API uint64_t ifg_request_new(void);

/** Begins a stage ("pre", "inference", "post" or any name) of a request. Ends like a zone. */
IFG_API ifg_zone ifg_stage_begin(ifg_location *location, uint64_t request);

/* ---- for runtimes, their hooks, and bindings to other languages ---- */

/** The clock of every event: raw ticks, comparable within this machine. */
IFG_API uint64_t ifg_ticks(void);

/** Defines a location permanently: keep its number and reuse it. Never 0. Takes microseconds. */
IFG_API uint32_t ifg_location_create(const ifg_location_options *options);

/** The location with these texts: the same texts give the same one, which stays for the life of the
 *  process. For names that come again, with any function that takes a location. Never NULL. There
 *  is room for 1 MiB of names; any beyond that share one location of their kind. Each text is cut
 *  at 1,024 bytes. Cost: reading the texts twice. Signal-safe. */
IFG_API ifg_location *ifg_location_named(const ifg_location_texts *texts);

/** A fiber (coroutine, green thread) runs on this thread from here to ifg_fiber_leave(), recorded
 *  as a span of (name, id) like ifg_async_begin. Entering another one leaves the first. Zones stay
 *  with their thread: end them before leaving. */
IFG_API void ifg_fiber_enter(ifg_location *location, uint64_t id);
IFG_API void ifg_fiber_leave(void);

/** The location of a model's events of one category; 0 for a NULL model. Keep it for speed. */
IFG_API uint32_t ifg_event_location(ifg_model *model, const char *function,
                                    enum ifg_category category);

/** Begins a zone at a location (not 0). It ends like any other zone. Call only while recording. */
IFG_API ifg_zone ifg_location_begin(uint32_t location);

/** For work that is known only afterwards: a zone that began at `start`. It is not among the open
 *  zones and takes details like them; ifg_zone_end_at writes it, on the thread that calls it. It
 *  should lie inside or outside the thread's other zones, not across their ends. ifg_zone_end_at
 *  also ends an ordinary zone of this thread, with a time that was read earlier. */
IFG_API ifg_zone ifg_location_begin_at(uint32_t location, uint64_t start);
IFG_API void ifg_zone_end_at(ifg_zone zone, uint64_t end);

/** The same for work on another thread: a span of the location, with an id as for
 *  ifg_async_begin. */
IFG_API void ifg_location_async(uint32_t location, uint64_t id, uint64_t start, uint64_t end);

/** Reports whether a source of events works here, and why or why not, in at most 1,024 bytes. The
 *  last report for a name counts. */
IFG_API void ifg_instrument_report(const char *name, enum ifg_instrument_state state,
                                   const char *reason);

/** Where the recorder that launched or records us accepts files; "" if there is none. */
IFG_API const char *ifg_session_directory(void);

/** Passes a file in that directory to the recorder, which reads it by its kind and removes it. */
IFG_API void ifg_file_hand_over(ifg_model *model, const char *kind, const char *path);

/** Call this before the program confines itself in a way that the library cannot notice. It notices
 *  calls of libc's prctl() and syscall(), but not the program's own system call instructions. From
 *  then on the library makes no system calls (IFG_CONFINE_CALLS: recording continues), or does
 *  nothing at all (IFG_CONFINE_CLOCK). This cannot be undone. */
IFG_API void ifg_confine(enum ifg_confine_how how);

/** Not 0 once the program has confined itself: code that emits events must make no system calls. */
IFG_API int ifg_is_confined(void);

#else /* IFG_DISABLE: the same names, nothing behind them */

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define IFG_I_NOTHING(name, ...)                                                                   \
    static inline void name(__VA_ARGS__)                                                           \
    {                                                                                              \
    }
#define IFG_I_NO_ZONE(name, ...)                                                                   \
    static inline ifg_zone name(__VA_ARGS__)                                                       \
    {                                                                                              \
        ifg_zone none = { 0, 0, 0 };                                                               \
        return none;                                                                               \
    }
#define IFG_I_ONLY(type, result, name, ...)                                                        \
    static inline type name(__VA_ARGS__)                                                           \
    {                                                                                              \
        return result;                                                                             \
    }

IFG_I_ONLY(int, 0, ifg_is_recording, void)
IFG_I_ONLY(int, 0, ifg_wants_events, void)
IFG_I_NO_ZONE(ifg_zone_begin, ifg_location *location)
IFG_I_NOTHING(ifg_zone_end, ifg_zone zone)
IFG_I_NOTHING(ifg_zone_name, ifg_zone zone, const char *name, size_t length)
IFG_I_NOTHING(ifg_zone_text, ifg_zone zone, const char *text, size_t length)
IFG_I_NOTHING(ifg_zone_value, ifg_zone zone, uint64_t value)
IFG_I_NOTHING(ifg_zone_color, ifg_zone zone, uint32_t rgb)
IFG_I_NOTHING(ifg_zone_detail_string, ifg_zone zone, const char *key, const char *text)
IFG_I_NOTHING(ifg_zone_detail_int, ifg_zone zone, const char *key, int64_t value)
IFG_I_NOTHING(ifg_zone_detail_float, ifg_zone zone, const char *key, double value)
IFG_I_NOTHING(ifg_message, enum ifg_level level, const char *text, size_t length)
IFG_I_NOTHING(ifg_counter, ifg_location *location, double value)
IFG_I_NOTHING(ifg_async_begin, ifg_location *location, uint64_t id)
IFG_I_NOTHING(ifg_async_end, ifg_location *location, uint64_t id)
IFG_I_NOTHING(ifg_flow_begin, ifg_location *location, uint64_t id)
IFG_I_NOTHING(ifg_flow_step, ifg_location *location, uint64_t id)
IFG_I_NOTHING(ifg_flow_end, ifg_location *location, uint64_t id)
IFG_I_NOTHING(ifg_memory_alloc, ifg_location *pool, const void *address, size_t bytes)
IFG_I_NOTHING(ifg_memory_free, ifg_location *pool, const void *address)
IFG_I_NOTHING(ifg_frame, ifg_location *location)
IFG_I_NOTHING(ifg_thread_name, const char *name)
IFG_I_ONLY(ifg_model *, NULL, ifg_model_create, const ifg_model_options *options)
IFG_I_NOTHING(ifg_model_destroy, ifg_model *model)
IFG_I_NOTHING(ifg_model_property, ifg_model *model, const char *key, const char *value)
IFG_I_NO_ZONE(ifg_event_begin, ifg_model *model, const char *function, enum ifg_category category)
IFG_I_NOTHING(ifg_event_load_state, ifg_zone event, enum ifg_load_state state)
IFG_I_NOTHING(ifg_event_async_begin, ifg_model *model, const char *function,
              enum ifg_category category, uint64_t id)
IFG_I_NOTHING(ifg_event_async_end, ifg_model *model, const char *function,
              enum ifg_category category, uint64_t id)
IFG_I_ONLY(uint64_t, 0, ifg_request_new, void)
IFG_I_NO_ZONE(ifg_stage_begin, ifg_location *location, uint64_t request)
IFG_I_ONLY(uint64_t, 0, ifg_ticks, void)
IFG_I_ONLY(uint32_t, 0, ifg_location_create, const ifg_location_options *options)
IFG_I_ONLY(ifg_location *, NULL, ifg_location_named, const ifg_location_texts *texts)
IFG_I_NOTHING(ifg_fiber_enter, ifg_location *location, uint64_t id)
IFG_I_NOTHING(ifg_fiber_leave, void)
IFG_I_ONLY(uint32_t, 0, ifg_event_location, ifg_model *model, const char *function,
           enum ifg_category category)
IFG_I_NO_ZONE(ifg_location_begin, uint32_t location)
IFG_I_NO_ZONE(ifg_location_begin_at, uint32_t location, uint64_t start)
IFG_I_NOTHING(ifg_zone_end_at, ifg_zone zone, uint64_t end)
IFG_I_NOTHING(ifg_location_async, uint32_t location, uint64_t id, uint64_t start, uint64_t end)
IFG_I_NOTHING(ifg_instrument_report, const char *name, enum ifg_instrument_state state,
              const char *reason)
IFG_I_ONLY(const char *, "", ifg_session_directory, void)
IFG_I_NOTHING(ifg_file_hand_over, ifg_model *model, const char *kind, const char *path)
IFG_I_NOTHING(ifg_confine, enum ifg_confine_how how)
IFG_I_ONLY(int, 0, ifg_is_confined, void)

#undef IFG_I_NOTHING
#undef IFG_I_NO_ZONE
#undef IFG_I_ONLY
#pragma GCC diagnostic pop

#endif

#ifdef __cplusplus
}
#endif

/* ---- macros ---- */

#define IFG_I_JOIN2(a, b) a##b
#define IFG_I_JOIN(a, b)  IFG_I_JOIN2(a, b)

#ifndef IFG_DISABLE

/* Names that begin with IFG_I_ or ifg_i_ are internal. */
#define IFG_I_LOCATION(variable, name, kind, color)                                                \
    static ifg_location variable = { "" name, __func__, __FILE__, __LINE__, (color), (kind), 0 }

#define IFG_I_NONE                                                                                 \
    {                                                                                              \
        0, 0, 0                                                                                    \
    }

static inline void ifg_i_end(const ifg_zone *zone)
{
    if (__builtin_expect(zone->depth != 0, 0))
        ifg_zone_end(*zone);
}

#ifdef __cplusplus
#define IFG_I_SCOPED(variable)                                                                     \
    ifg_zone variable = IFG_I_NONE;                                                                \
    struct IFG_I_JOIN(ifg_i_guard_, variable) {                                                    \
        ifg_zone &zone;                                                                            \
        ~IFG_I_JOIN(ifg_i_guard_, variable)()                                                      \
        {                                                                                          \
            ifg_i_end(&zone);                                                                      \
        }                                                                                          \
    } IFG_I_JOIN(ifg_i_guarded_, variable) = { variable };                                         \
    (void)IFG_I_JOIN(ifg_i_guarded_, variable)
#else
#define IFG_I_SCOPED(variable) __attribute__((cleanup(ifg_i_end))) ifg_zone variable = IFG_I_NONE
#endif

/* A zone until the end of the scope. */
#define IFG_ZONE(name) IFG_ZONE_AS(IFG_I_JOIN(ifg_i_zone_, __LINE__), name)
#define IFG_ZONE_COLOR(name, rgb)                                                                  \
    IFG_I_ZONE_AS(IFG_I_JOIN(ifg_i_zone_, __LINE__), name, 0x1000000 | (rgb))

/* The same with a variable, for adding text, a value or details. */
#define IFG_ZONE_AS(zone, name) IFG_I_ZONE_AS(zone, name, 0)
#define IFG_I_ZONE_AS(zone, name, color)                                                           \
    IFG_I_LOCATION(IFG_I_JOIN(ifg_i_at_, zone), name, IFG_LOCATION_ZONE, color);                   \
    IFG_I_SCOPED(zone);                                                                            \
    if (ifg_is_recording())                                                                        \
    zone = ifg_zone_begin(&IFG_I_JOIN(ifg_i_at_, zone))

/* A zone from here to IFG_END(zone) in the same or an inner scope. */
#define IFG_BEGIN(zone, name)                                                                      \
    IFG_I_LOCATION(IFG_I_JOIN(ifg_i_at_, zone), name, IFG_LOCATION_ZONE, 0);                       \
    ifg_zone zone = IFG_I_NONE;                                                                    \
    if (ifg_is_recording())                                                                        \
    zone = ifg_zone_begin(&IFG_I_JOIN(ifg_i_at_, zone))
#define IFG_END(zone) ifg_i_end(&(zone))

#define IFG_I_IF(zone, call)                                                                       \
    do {                                                                                           \
        if (__builtin_expect((zone).depth != 0, 0))                                                \
            call;                                                                                  \
    } while (0)

#define IFG_NAME(zone, text)               IFG_I_IF(zone, ifg_zone_name(zone, text, SIZE_MAX))
#define IFG_TEXT(zone, text)               IFG_I_IF(zone, ifg_zone_text(zone, text, SIZE_MAX))
#define IFG_VALUE(zone, value)             IFG_I_IF(zone, ifg_zone_value(zone, value))
#define IFG_COLOR(zone, rgb)               IFG_I_IF(zone, ifg_zone_color(zone, rgb))
#define IFG_DETAIL_STRING(zone, key, text) IFG_I_IF(zone, ifg_zone_detail_string(zone, key, text))
#define IFG_DETAIL_INT(zone, key, value)   IFG_I_IF(zone, ifg_zone_detail_int(zone, key, value))
#define IFG_DETAIL_FLOAT(zone, key, value) IFG_I_IF(zone, ifg_zone_detail_float(zone, key, value))

#define IFG_I_AT(name, kind, call)                                                                 \
    do {                                                                                           \
        if (ifg_is_recording()) {                                                                  \
            IFG_I_LOCATION(ifg_i_at, name, kind, 0);                                               \
            call;                                                                                  \
        }                                                                                          \
    } while (0)

#define IFG_MESSAGE(text) IFG_MESSAGE_LEVEL(IFG_LEVEL_INFO, text)
#define IFG_MESSAGE_LEVEL(level, text)                                                             \
    do {                                                                                           \
        if (ifg_is_recording())                                                                    \
            ifg_message(level, text, SIZE_MAX);                                                    \
    } while (0)
#define IFG_COUNTER(name, value)                                                                   \
    IFG_I_AT(name, IFG_LOCATION_COUNTER, ifg_counter(&ifg_i_at, (double)(value)))
#define IFG_ASYNC_BEGIN(name, id)                                                                  \
    IFG_I_AT(name, IFG_LOCATION_ASYNC, ifg_async_begin(&ifg_i_at, (uint64_t)(id)))
#define IFG_ASYNC_END(name, id)                                                                    \
    IFG_I_AT(name, IFG_LOCATION_ASYNC, ifg_async_end(&ifg_i_at, (uint64_t)(id)))
#define IFG_FLOW_BEGIN(name, id)                                                                   \
    IFG_I_AT(name, IFG_LOCATION_FLOW, ifg_flow_begin(&ifg_i_at, (uint64_t)(id)))
#define IFG_FLOW_STEP(name, id)                                                                    \
    IFG_I_AT(name, IFG_LOCATION_FLOW, ifg_flow_step(&ifg_i_at, (uint64_t)(id)))
#define IFG_FLOW_END(name, id)                                                                     \
    IFG_I_AT(name, IFG_LOCATION_FLOW, ifg_flow_end(&ifg_i_at, (uint64_t)(id)))
#define IFG_ALLOC(pool, address, bytes)                                                            \
    IFG_I_AT(pool, IFG_LOCATION_POOL, ifg_memory_alloc(&ifg_i_at, address, bytes))
#define IFG_FREE(pool, address)                                                                    \
    IFG_I_AT(pool, IFG_LOCATION_POOL, ifg_memory_free(&ifg_i_at, address))
#define IFG_FRAME(name)       IFG_I_AT(name, IFG_LOCATION_FRAME, ifg_frame(&ifg_i_at))
#define IFG_THREAD_NAME(name) ifg_thread_name(name)

/* An event of a model: IFG_EVENT_BEGIN(e, model, "main", IFG_INFERENCE); run(); IFG_EVENT_END(e);
 */
#define IFG_EVENT_BEGIN(event, model, function, category)                                          \
    ifg_zone event = IFG_I_NONE;                                                                   \
    if (ifg_wants_events())                                                                        \
    event = ifg_event_begin(model, function, category)
#define IFG_EVENT_END(event) ifg_i_end(&(event))
#define IFG_EVENT_AS(event, model, function, category)                                             \
    IFG_I_SCOPED(event);                                                                           \
    if (ifg_wants_events())                                                                        \
    event = ifg_event_begin(model, function, category)
#define IFG_EVENT(model, function, category)                                                       \
    IFG_EVENT_AS(IFG_I_JOIN(ifg_i_event_, __LINE__), model, function, category)
#define IFG_EVENT_LOAD_STATE(event, state) IFG_I_IF(event, ifg_event_load_state(event, state))
#define IFG_EVENT_ASYNC_BEGIN(model, function, category, id)                                       \
    do {                                                                                           \
        if (ifg_wants_events())                                                                    \
            ifg_event_async_begin(model, function, category, (uint64_t)(id));                      \
    } while (0)
#define IFG_EVENT_ASYNC_END(model, function, category, id)                                         \
    do {                                                                                           \
        if (ifg_wants_events())                                                                    \
            ifg_event_async_end(model, function, category, (uint64_t)(id));                        \
    } while (0)

/* A stage of a request: uint64_t r = ifg_request_new(); IFG_STAGE_BEGIN(s, r, "pre"); ...
 * IFG_STAGE_END(s); */
#define IFG_STAGE_BEGIN(stage, request, name)                                                      \
    IFG_I_LOCATION(IFG_I_JOIN(ifg_i_at_, stage), name, IFG_LOCATION_STAGE, 0);                     \
    ifg_zone stage = IFG_I_NONE;                                                                   \
    if (ifg_wants_events())                                                                        \
    stage = ifg_stage_begin(&IFG_I_JOIN(ifg_i_at_, stage), request)
#define IFG_STAGE_END(stage) ifg_i_end(&(stage))
#define IFG_STAGE_AS(stage, request, name)                                                         \
    IFG_I_LOCATION(IFG_I_JOIN(ifg_i_at_, stage), name, IFG_LOCATION_STAGE, 0);                     \
    IFG_I_SCOPED(stage);                                                                           \
    if (ifg_wants_events())                                                                        \
    stage = ifg_stage_begin(&IFG_I_JOIN(ifg_i_at_, stage), request)
#define IFG_STAGE(request, name) IFG_STAGE_AS(IFG_I_JOIN(ifg_i_stage_, __LINE__), request, name)

#else /* IFG_DISABLE: the compiler checks the arguments but never evaluates them */

#define IFG_I_UNUSED(x)                                                                            \
    do {                                                                                           \
        if (0)                                                                                     \
            (void)(x);                                                                             \
    } while (0)

#define IFG_ZONE(name)                                       ((void)sizeof("" name))
#define IFG_ZONE_COLOR(name, rgb)                            IFG_I_UNUSED(rgb)
#define IFG_ZONE_AS(zone, name)                              ((void)sizeof("" name))
#define IFG_BEGIN(zone, name)                                ((void)sizeof("" name))
#define IFG_END(zone)                                        ((void)0)
#define IFG_NAME(zone, text)                                 IFG_I_UNUSED(text)
#define IFG_TEXT(zone, text)                                 IFG_I_UNUSED(text)
#define IFG_VALUE(zone, value)                               IFG_I_UNUSED(value)
#define IFG_COLOR(zone, rgb)                                 IFG_I_UNUSED(rgb)
#define IFG_DETAIL_STRING(zone, key, text)                   IFG_I_UNUSED(text)
#define IFG_DETAIL_INT(zone, key, value)                     IFG_I_UNUSED(value)
#define IFG_DETAIL_FLOAT(zone, key, value)                   IFG_I_UNUSED(value)
#define IFG_MESSAGE(text)                                    IFG_I_UNUSED(text)
#define IFG_MESSAGE_LEVEL(level, text)                       IFG_I_UNUSED(text)
#define IFG_COUNTER(name, value)                             IFG_I_UNUSED(value)
#define IFG_ASYNC_BEGIN(name, id)                            IFG_I_UNUSED(id)
#define IFG_ASYNC_END(name, id)                              IFG_I_UNUSED(id)
#define IFG_FLOW_BEGIN(name, id)                             IFG_I_UNUSED(id)
#define IFG_FLOW_STEP(name, id)                              IFG_I_UNUSED(id)
#define IFG_FLOW_END(name, id)                               IFG_I_UNUSED(id)
#define IFG_ALLOC(pool, address, bytes)                      IFG_I_UNUSED(address)
#define IFG_FREE(pool, address)                              IFG_I_UNUSED(address)
#define IFG_FRAME(name)                                      ((void)0)
#define IFG_THREAD_NAME(name)                                IFG_I_UNUSED(name)
#define IFG_EVENT_BEGIN(event, model, function, category)    IFG_I_UNUSED(model)
#define IFG_EVENT_END(event)                                 ((void)0)
#define IFG_EVENT_AS(event, model, function, category)       IFG_I_UNUSED(model)
#define IFG_EVENT(model, function, category)                 IFG_I_UNUSED(model)
#define IFG_EVENT_LOAD_STATE(event, state)                   ((void)0)
#define IFG_EVENT_ASYNC_BEGIN(model, function, category, id) IFG_I_UNUSED(model)
#define IFG_EVENT_ASYNC_END(model, function, category, id)   IFG_I_UNUSED(model)
#define IFG_STAGE_BEGIN(stage, request, name)                IFG_I_UNUSED(request)
#define IFG_STAGE_END(stage)                                 ((void)0)
#define IFG_STAGE_AS(stage, request, name)                   IFG_I_UNUSED(request)
#define IFG_STAGE(request, name)                             IFG_I_UNUSED(request)

#endif

#endif
