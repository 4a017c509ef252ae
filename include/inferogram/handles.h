// SPDX-License-Identifier: Apache-2.0
/**
 * Profiling handles: a service that profiles its own models, in production, without a recorder.
 *
 *     #include <inferogram/handles.h>      // cc $(pkg-config --cflags --libs inferogram-handles)
 *
 *     static void print(const ifg_report *report, void *user)
 *     {
 *         fwrite(report->text, 1, report->length, user);
 *     }
 *
 *     ifg_stream_options options = { .struct_size = sizeof options, .report_ms = 500,
 *                                    .regex = "^ocr", .callback = print, .user = stderr };
 *     ifg_stream *stream;
 *     if (ifg_stream_create(&options, &stream) < 0)
 *         errx(1, "%s", ifg_handle_error());
 *     ifg_stream_start(stream);               // a report every half second of the wall clock
 *
 * A profile covers a number of inferences of one model and reports once. A stream reports at a
 * fixed rate, about any number of models, until it is stopped.
 *
 * Models. A handle covers the models of ifg_model_create() (<inferogram/inferogram.h>) and those
 * that the hooks find in runtimes. An inference is an event of the category IFG_INFERENCE.
 *
 * Threads. You can make every call from any thread. Callbacks run on one thread of the library,
 * which exists only while a handle is started, and never on a thread that runs a model. A slow
 * callback delays reports, not inferences. Inside a callback you can call every function, even for
 * the handle that reports; functions that otherwise wait for a report do not wait there.
 *
 * Cost. While no handle is started: nothing. While one is: less than a microsecond per inference,
 * and 2.5 MiB. If a burst of inferences is longer than that can hold, the rest of the burst is left
 * out and counted (ifg_report.lost).
 *
 * Failure. Functions return 0 or a negative errno value. ifg_handle_error() describes it in words.
 *
 * fork: handles are stopped in the child. The same process can be recorded at the same time.
 */
#ifndef INFEROGRAM_HANDLES_H
#define INFEROGRAM_HANDLES_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include <inferogram/inferogram.h>

#ifdef __cplusplus
extern "C" {
#endif

enum ifg_report_type {
    IFG_REPORT_LATENCY = 0, /**< a table in the format of AIC100's latency files */
    IFG_REPORT_TRACE = 1    /**< Chrome's JSON trace format, one event per line */
};

/** Which inferences of a model a stream covers: all, or the first of every 2, 4, 8 or 16. */
enum ifg_sampling {
    IFG_SAMPLING_FULL = 0,
    IFG_SAMPLING_HALF = 1,
    IFG_SAMPLING_FOURTH = 2,
    IFG_SAMPLING_EIGHTH = 3,
    IFG_SAMPLING_SIXTEENTH = 4
};

/** What a callback receives. The library owns it; it is valid until the callback returns. */
typedef struct ifg_report {
    const char *text; /**< ends with a 0 byte that length does not count */
    size_t length;
    uint64_t samples;   /**< inferences in the report */
    uint64_t requested; /**< profile: options.samples; stream: inferences that happened */
    enum ifg_report_type type;
    uint64_t lost;       /**< inferences of all models that came too fast to be kept */
    const char *missing; /**< why columns of a latency table are N/A; "" if none is */
} ifg_report;

typedef void ifg_report_callback(const ifg_report *report, void *user);

/** A number of inferences of one model. */
typedef struct ifg_profile ifg_profile;

typedef struct ifg_profile_options {
    size_t struct_size;        /**< sizeof(ifg_profile_options) */
    ifg_model *model;          /**< whose inferences */
    uint64_t samples;          /**< how many; 1 to 1,000,000 */
    enum ifg_report_type type; /**< 0: latency */
    ifg_report_callback *callback;
    void *user;
} ifg_profile_options;

/** Reports at a fixed rate. */
typedef struct ifg_stream ifg_stream;

typedef struct ifg_stream_options {
    size_t struct_size;         /**< sizeof(ifg_stream_options) */
    uint32_t report_ms;         /**< 50 to 3,600,000; 0: 500 */
    enum ifg_sampling sampling; /**< 0: full */
    enum ifg_report_type type;  /**< 0: latency */
    const char *regex; /**< models whose name contains a match; NULL: only models you add */
    const char *glob;  /**< the same as a shell pattern, for the whole name */
    const char *name;  /**< the stream's name in its reports; NULL: "stream" */
    ifg_report_callback *callback;
    void *user;
} ifg_stream_options;

#ifndef IFG_DISABLE

/** Returns the reason for the last failure on this thread; never NULL. */
IFG_API const char *ifg_handle_error(void);

/** Finds a model by its name, whether a hook found it or the program created it. NULL: there is
 *  none. It stays valid; do not destroy it. */
IFG_API ifg_model *ifg_model_find(const char *name);

/* ---- a number of inferences of one model ---- */

/** Creates a profile, in the stopped state. */
IFG_API int ifg_profile_create(const ifg_profile_options *options, ifg_profile **out);

/** Covers the inferences that begin from now on. After options.samples of them, calls the callback
 *  and stops; you can start it again. -EALREADY: it is already started. */
IFG_API int ifg_profile_start(ifg_profile *profile);

/** Stops it early. Calls the callback with what there is, and returns after it; there is no
 *  callback if no inference has finished. Returns 0 if the profile is already stopped. */
IFG_API int ifg_profile_stop(ifg_profile *profile);

/** Stops it without a report and frees it. NULL is allowed. */
IFG_API void ifg_profile_destroy(ifg_profile *profile);

/* ---- reports at a fixed rate ---- */

/** Creates a stream, in the stopped state. A regular expression is ECMAScript's as PCRE2 reads it,
 *  and is searched for in the name: use "^ocr$" for the whole name; "Resnet50*" is "Resnet5" and
 *  any number of zeros. -EINVAL if it cannot be parsed; ifg_handle_error() tells where. */
IFG_API int ifg_stream_create(const ifg_stream_options *options, ifg_stream **out);

/** From now on, reports at each multiple of report_ms of the wall clock, even if it is empty. */
IFG_API int ifg_stream_start(ifg_stream *stream);

/** Stops it, with a last report if an inference has finished since the previous one. */
IFG_API int ifg_stream_stop(ifg_stream *stream);

/** Reports at once, and returns after the callback has. -EINVAL: it is not started. */
IFG_API int ifg_stream_flush(ifg_stream *stream);

/** Adds or removes a model, at any time. Models that match the pattern join automatically and leave
 *  when they are released. A removed model does not join automatically again before it is released.
 *  -EALREADY: it is in the stream; -ENOENT: it is not. */
IFG_API int ifg_stream_add(ifg_stream *stream, ifg_model *model);
IFG_API int ifg_stream_remove(ifg_stream *stream, ifg_model *model);

/** Stops it without a report and frees it. NULL is allowed. */
IFG_API void ifg_stream_destroy(ifg_stream *stream);

#else /* IFG_DISABLE: the same names, nothing behind them; a handle is never created */

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define IFG_I_NO_HANDLE(name, ...)                                                                 \
    static inline int name(__VA_ARGS__)                                                            \
    {                                                                                              \
        return -ENOSYS;                                                                            \
    }

static inline const char *ifg_handle_error(void)
{
    return "compiled with IFG_DISABLE";
}
static inline ifg_model *ifg_model_find(const char *name)
{
    return NULL;
}
static inline void ifg_profile_destroy(ifg_profile *profile)
{
}
static inline void ifg_stream_destroy(ifg_stream *stream)
{
}
IFG_I_NO_HANDLE(ifg_profile_create, const ifg_profile_options *options, ifg_profile **out)
IFG_I_NO_HANDLE(ifg_profile_start, ifg_profile *profile)
IFG_I_NO_HANDLE(ifg_profile_stop, ifg_profile *profile)
IFG_I_NO_HANDLE(ifg_stream_create, const ifg_stream_options *options, ifg_stream **out)
IFG_I_NO_HANDLE(ifg_stream_start, ifg_stream *stream)
IFG_I_NO_HANDLE(ifg_stream_stop, ifg_stream *stream)
IFG_I_NO_HANDLE(ifg_stream_flush, ifg_stream *stream)
IFG_I_NO_HANDLE(ifg_stream_add, ifg_stream *stream, ifg_model *model)
IFG_I_NO_HANDLE(ifg_stream_remove, ifg_stream *stream, ifg_model *model)

#undef IFG_I_NO_HANDLE
#pragma GCC diagnostic pop

#endif

#ifdef __cplusplus
}
#endif

#endif
