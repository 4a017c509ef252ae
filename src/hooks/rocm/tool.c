// SPDX-License-Identifier: Apache-2.0
/*
 * libinferogram-rocm.so: kernels, copies and memory of a HIP program, by rocprofiler-sdk.
 *
 * rocprofiler-sdk loads it as a tool when HIP is initialised (ROCP_TOOL_LIBRARIES; see sdk.c).
 * Everything that may be recorded must be configured then, in contexts that are started and
 * stopped later: one for the names of kernels, which always runs; one for calls, kernels and
 * copies; and one for memory.
 *
 * There is a thread, as in the hook for CUPTI: it sleeps until a recording begins or ends. While
 * one runs it flushes buffers ten times a second; a program that is killed loses no more than
 * that. It blocks all signals and takes none of the program's locks.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "client/device.h"
#include "hooks/rocm/hook.h"
#include "wire/device.h"

#define EXPORT __attribute__((visibility("default")))

#define FLUSH_NS        100000000ull
#define BUFFER_BYTES    ((size_t)4 << 20) /* of work; there are two of each */
#define MEMORY_BYTES    ((size_t)1 << 20) /* of memory */
#define REQUESTED_KINDS 2u

EXPORT struct rocm_tool *rocprofiler_configure(uint32_t version, const char *text,
                                               uint32_t priority, struct rocm_client *client);

enum state { IDLE, WATCHING, REFUSED, GONE };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static enum state state;
static bool is_configured;
static char refusal[HOOK_REASON]; /* why nothing can ever be recorded */
static bool wants_full, can_memory;
static bool has_memory; /* is recorded now */
static bool is_late;    /* it began in a program that had begun before */
static bool has_told_loss;
static bool has_thread;

struct service {
    uint64_t context, buffer;
    uint64_t dropped;
};
static struct service names, work, memory;

/* ---- what is said ---- */

static void say(enum ifg_instrument_state what, const char *reason)
{
    ifg_instrument_report(IFG_GPU_INSTRUMENT, what, reason);
}

static const char *memory_words(void)
{
    if (!has_memory)
        return "";
    if (memory_is_lost())
        return ", memory (allocated bytes only until records were lost or pieces became too many)";
    return is_late ? ", memory (allocated bytes since the recording began)" : ", memory";
}

static void say_on(const char *rest)
{
    char text[HOOK_REASON];

    snprintf(text, sizeof text, "rocprofiler-sdk %u.%u: kernels, copies%s%s", rocm.version / 10000,
             rocm.version / 100 % 100, memory_words(), rest);
    say(IFG_INSTRUMENT_ON, text);
}

static void tell_loss(void)
{
    if (!has_memory || has_told_loss || !memory_is_lost())
        return;
    has_told_loss = true;
    say_on("");
}

/* ---- begin and end ---- */

/* With the lock. */
static void begin(bool is_first)
{
    char reason[HOOK_REASON] = "";
    int result;

    if (state != IDLE || !ifg_is_recording() || (!is_configured && !refusal[0]))
        return;
    if (refusal[0]) {
        state = REFUSED;
        say(IFG_INSTRUMENT_UNAVAILABLE, refusal);
        return;
    }
    rocm.flush_buffer(work.buffer); /* what came after the last recording */
    work_begin();
    calls_begin();
    result = rocm.start_context(work.context);
    if (result != ROCM_OK) {
        rocm_explain(result, "record kernels", reason, sizeof reason);
        state = REFUSED; /* until the next recording */
        say(IFG_INSTRUMENT_UNAVAILABLE, reason);
        return;
    }
    has_memory = can_memory && memory_begin() && rocm.start_context(memory.context) == ROCM_OK;
    has_told_loss = false;
    is_late = !is_first;
    state = WATCHING;
    ifg_device_follow(true);
    say_on(wants_full && !has_memory ? "; this rocprofiler-sdk does not tell of memory" : "");
}

static void flush_buffers(void)
{
    rocm.flush_buffer(work.buffer);
    if (has_memory)
        rocm.flush_buffer(memory.buffer);
}

static void end(void)
{
    if (state == REFUSED)
        state = IDLE;
    if (state != WATCHING)
        return;
    rocm.stop_context(work.context);
    if (has_memory)
        rocm.stop_context(memory.context);
    flush_buffers();
    tell_loss();
    ifg_device_follow(false);
    has_memory = false;
    state = IDLE;
}

static void flush(void)
{
    bool is_asked = ifg_device_is_asked();

    flush_buffers();
    if (is_asked)
        ifg_device_told();
    if (has_memory && ifg_device_is_too_much()) {
        rocm.stop_context(memory.context);
        rocm.flush_buffer(memory.buffer);
        work_end_memory();
        has_memory = false;
        say_on("; without memory since it costs more than --overhead allows");
    }
    tell_loss();
}

static void *watch(void *unused)
{
    (void)unused;
    while (ifg_device_may_watch()) {
        bool is_watching;

        pthread_mutex_lock(&lock);
        if (state == GONE) {
            pthread_mutex_unlock(&lock);
            break;
        }
        if (ifg_is_recording())
            begin(false);
        else
            end();
        is_watching = state == WATCHING;
        if (is_watching)
            flush();
        pthread_mutex_unlock(&lock);
        ifg_device_await(ifg_is_recording(), is_watching ? FLUSH_NS : 0);
    }
    return NULL;
}

/* ---- life ---- */

/* HIP does not survive a fork, and neither does what we know of it. */
static void before_fork(void)
{
    pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&lock);
}

static void after_fork_in_child(void)
{
    state = GONE;
    pthread_mutex_unlock(&lock);
}

/* rocprofiler-sdk may be finalised before or after: finalize() is called then. */
static void at_exit(void)
{
    pthread_mutex_lock(&lock);
    if (state == WATCHING)
        flush_buffers();
    pthread_mutex_unlock(&lock);
}

/* With the lock. */
static void start(void)
{
    static bool is_registered;

    begin(true);
    if (!is_registered) {
        pthread_atfork(before_fork, after_fork, after_fork_in_child);
        atexit(at_exit);
        is_registered = true;
    }
    if (!has_thread)
        has_thread = device_thread_start(watch);
}

static bool is_wanted(const char *asked)
{
    wants_full = asked && strcmp(asked, "full") == 0;
    return !asked || strcmp(asked, "off") != 0;
}

void tool_refuse(const char *reason)
{
    if (!is_wanted(secure_getenv(IFG_ENV_GPU)) || !ifg_device_may_watch())
        return;
    pthread_mutex_lock(&lock);
    snprintf(refusal, sizeof refusal, "%s", reason);
    start();
    pthread_mutex_unlock(&lock);
}

/* ---- as a tool ---- */

static int make_service(struct service *service, size_t buffer_bytes)
{
    int result = rocm.create_context(&service->context);

    if (result == ROCM_OK && buffer_bytes)
        result = rocm.create_buffer(service->context, buffer_bytes, buffer_bytes / 2, ROCM_LOSSLESS,
                                    work_complete, &service->dropped, &service->buffer);
    return result;
}

/* Without, rocprofiler-sdk's own numbers are used: right unless another tool looks below HIP. */
static void request_numbers(uint64_t context)
{
    int kinds[REQUESTED_KINDS] = {
        rocm_kind(rocm.query_external_correlation_id_request_kind_name, ROCM_KIND_KERNEL),
        rocm_kind(rocm.query_external_correlation_id_request_kind_name, ROCM_KIND_COPY),
    };

    work_has_external = kinds[0] > 0 && kinds[1] > 0 &&
                        rocm.configure_external_correlation_id_request_service(
                            context, kinds, REQUESTED_KINDS, calls_current, NULL) == ROCM_OK;
}

static int configure_names(void)
{
    int kind = rocm_kind(rocm.query_callback_tracing_kind_name, ROCM_KIND_CODE);
    int result = kind > 0 ? make_service(&names, 0) : 1;

    if (result == ROCM_OK)
        result = rocm.configure_callback_tracing_service(names.context, kind, NULL, 0,
                                                         kernels_callback, NULL);
    return result == ROCM_OK ? rocm.start_context(names.context) : result;
}

static int configure_work(void)
{
    int calls = rocm_kind(rocm.query_callback_tracing_kind_name, ROCM_KIND_HIP);
    int result = make_service(&work, BUFFER_BYTES);

    work_kinds.kernel = rocm_kind(rocm.query_buffer_tracing_kind_name, ROCM_KIND_KERNEL);
    work_kinds.copy = rocm_kind(rocm.query_buffer_tracing_kind_name, ROCM_KIND_COPY);
    if (calls < 0 || work_kinds.kernel < 0 || work_kinds.copy < 0)
        return 1;
    if (result == ROCM_OK)
        result = rocm.configure_buffer_tracing_service(work.context, work_kinds.kernel, NULL, 0,
                                                       work.buffer);
    if (result == ROCM_OK)
        result = rocm.configure_buffer_tracing_service(work.context, work_kinds.copy, NULL, 0,
                                                       work.buffer);
    if (result == ROCM_OK)
        result = calls_configure(work.context, calls);
    if (result == ROCM_OK)
        request_numbers(work.context);
    return result;
}

static bool configure_memory(void)
{
    work_kinds.memory = rocm_kind(rocm.query_buffer_tracing_kind_name, ROCM_KIND_MEMORY);
    return work_kinds.memory > 0 && make_service(&memory, MEMORY_BYTES) == ROCM_OK &&
           rocm.configure_buffer_tracing_service(memory.context, work_kinds.memory, NULL, 0,
                                                 memory.buffer) == ROCM_OK;
}

static bool configure(char *reason, size_t size)
{
    int result;

    if (!kernels_create()) {
        snprintf(reason, size, "there is no memory for the names of kernels");
        return false;
    }
    if (!agents_learn(reason, size))
        return false;
    result = configure_names();
    if (result != ROCM_OK) {
        rocm_explain(result, "tell the names of kernels", reason, size);
        return false;
    }
    result = configure_work();
    if (result != ROCM_OK) {
        rocm_explain(result, "record kernels", reason, size);
        return false;
    }
    work_kinds.memory = -1;
    can_memory = wants_full && configure_memory();
    return true;
}

/* When HIP is initialised, before its first call: so the first launch is seen. */
static int initialize(void (*finalize_us)(struct rocm_client), void *data)
{
    int saved_errno = errno;

    (void)finalize_us, (void)data;
    pthread_mutex_lock(&lock);
    is_configured = configure(refusal, sizeof refusal);
    start();
    pthread_mutex_unlock(&lock);
    errno = saved_errno;
    return 0;
}

/* The program ends: what is left is taken, and rocprofiler-sdk is not touched any more. */
static void finalize(void *data)
{
    (void)data;
    pthread_mutex_lock(&lock);
    if (state == WATCHING) {
        flush_buffers();
        tell_loss();
        ifg_device_follow(false);
    }
    state = GONE;
    pthread_mutex_unlock(&lock);
}

struct rocm_tool *rocprofiler_configure(uint32_t version, const char *text, uint32_t priority,
                                        struct rocm_client *client)
{
    static struct rocm_tool tool = { sizeof tool, initialize, finalize, NULL };
    char reason[HOOK_REASON];
    int saved_errno = errno;
    bool is_there;

    (void)text, (void)priority;
    if (!is_wanted(secure_getenv(IFG_ENV_GPU)) || !ifg_device_may_watch())
        return NULL;
    is_there = rocm_resolve(version, reason, sizeof reason);
    if (!is_there)
        tool_refuse(reason);
    else if (client)
        client->name = "Inferogram";
    errno = saved_errno;
    return is_there ? &tool : NULL;
}
