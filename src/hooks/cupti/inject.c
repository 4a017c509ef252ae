// SPDX-License-Identifier: Apache-2.0
/*
 * libinferogram-cupti.so: kernels, copies and sets of a CUDA program, by CUPTI.
 *
 * The driver loads it at cuInit (CUDA_INJECTION64_PATH), or a recorder does in a program that runs
 * already. Until somebody records nothing of CUPTI is loaded or asked for. Then kernels are
 * followed, and when the recording is over CUPTI is left as it was found.
 *
 * There is a thread: it sleeps until a recording begins or ends, and while one runs it makes CUPTI
 * hand out its records ten times a second, which nobody else does; a program that is killed loses
 * no more than that. It blocks all signals and takes none of the program's locks.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "client/device.h"
#include "hooks/cupti/hook.h"
#include "wire/device.h"

#define EXPORT __attribute__((visibility("default")))

#define FLUSH_NS       100000000ull
#define QUIET_FLUSHES  10u /* so many with launches and no record: somebody else has them */
#define QUIET_LAUNCHES 200u

EXPORT int InitializeInjection(void);
EXPORT int ifg_cupti_begin(const char *what);
EXPORT int ifg_cupti_end(void);

enum state { IDLE, WATCHING, REFUSED, GONE };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static enum state state;
static void *subscriber;
static bool wants_full;
static bool has_memory, has_waits; /* what of it is recorded now */
static bool is_late;               /* it began in a program that had begun before */
static bool has_thread;
static uint64_t flushed_launches, flushed_buffers;
static unsigned quiet;
static bool has_told_loss; /* that what is allocated is not known any more */

static const uint32_t kinds[] = { CUPTI_KERNELS, CUPTI_MEMCPY, CUPTI_MEMSET, CUPTI_MEMCPY_PEER };

/* ---- what is said ---- */

static void say(enum ifg_instrument_state what, const char *reason)
{
    ifg_instrument_report(IFG_GPU_INSTRUMENT, what, reason);
}

static void explain(int result, const char *doing, char *reason, size_t size)
{
    const char *text = NULL;
    const char *owner = cupti_owner();

    if (result == CUPTI_IS_TAKEN) {
        snprintf(reason, size, "another profiler has CUPTI%s%s%s; it is left alone",
                 *owner ? " (" : "", owner, *owner ? ")" : "");
    } else if (result == CUPTI_NO_RIGHTS) {
        snprintf(reason, size,
                 "this user may not profile GPUs: the administrator can allow it by the option "
                 "NVreg_RestrictProfilingToAdminUsers=0 of the nvidia kernel module");
    } else {
        if (!cupti.GetResultString || cupti.GetResultString(result, &text) != CUPTI_OK || !text)
            text = "error";
        snprintf(reason, size, "CUPTI cannot %s: %s (%d)", doing, text, result);
    }
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
    char version[32];
    char text[HOOK_REASON];

    cupti_version_text(cupti.version, version, sizeof version);
    snprintf(text, sizeof text, "CUPTI %s: kernels, copies, sets%s%s%s%s", version, memory_words(),
             has_waits ? ", waits" : "",
             cupti.version >= CUPTI_VERSION_BEYOND ? " (newer than is known: without shapes)" : "",
             rest);
    say(IFG_INSTRUMENT_ON, text);
}

/* ---- begin and end ---- */

/* What --gpu full adds, as far as this CUPTI has it. A query is no wait: those that find something
 * unfinished have no record where that can be had. */
static void enable_rest(void)
{
    has_memory = memory_begin() && cupti.ActivityEnable(CUPTI_MEMORY) == CUPTI_OK;
    if (has_memory)
        cupti.ActivityEnable(CUPTI_POOL);
    has_waits = cupti.ActivityEnable(CUPTI_WAIT) == CUPTI_OK;
    if (has_waits)
        cupti.ActivityEnable(CUPTI_CONTEXT);
    if (has_waits && cupti.ActivityEnableAllSyncRecords)
        cupti.ActivityEnableAllSyncRecords(0);
}

static void disable_rest(void)
{
    static const uint32_t rest[] = { CUPTI_MEMORY, CUPTI_POOL, CUPTI_WAIT, CUPTI_CONTEXT };

    if (!has_memory && !has_waits)
        return;
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
        cupti.ActivityDisable(rest[i]);
    if (has_waits && cupti.ActivityEnableAllSyncRecords)
        cupti.ActivityEnableAllSyncRecords(1);
    has_memory = has_waits = false;
}

static int enable_kinds(char *reason, size_t size)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        int result = cupti.ActivityEnable(kinds[i]);

        if (result != CUPTI_OK && i == 0) {
            explain(result, "record kernels", reason, size);
            return result;
        }
    }
    if (wants_full)
        enable_rest();
    return CUPTI_OK;
}

static void disable_kinds(void)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        cupti.ActivityDisable(kinds[i]);
    disable_rest();
}

/* Times of the device follow a clock that is ours only if it was there before the first context:
 * registered later, CUPTI keeps the rate of its own, and they drift by some 10 us a second. Pairs
 * of clocks are right then. */
static bool begin_watching(bool is_first, char *reason, size_t size)
{
    bool has_clock;
    int result;

    if (!pool_create()) {
        snprintf(reason, size, "there is no memory for CUPTI's buffers");
        return false;
    }
    if (!cupti_load(reason, size))
        return false;
    result = cupti.Subscribe(&subscriber, calls_callback, NULL);
    if (result != CUPTI_OK) {
        explain(result, "be used", reason, size);
        return false;
    }
    has_clock = is_first && cupti.ActivityRegisterTimestampCallback &&
                cupti.ActivityRegisterTimestampCallback(work_now) == CUPTI_OK;
    work_begin(has_clock);
    result = cupti.ActivityRegisterCallbacks(work_request, work_complete);
    if (result != CUPTI_OK)
        explain(result, "hand out records", reason, size);
    if (result == CUPTI_OK)
        result = enable_kinds(reason, size);
    if (result == CUPTI_OK) {
        result = calls_enable(subscriber, true);
        if (result != CUPTI_OK)
            explain(result, "tell of launches", reason, size);
    }
    if (result == CUPTI_OK)
        return true;
    disable_kinds();
    cupti.Unsubscribe(subscriber);
    return false;
}

/* With the lock. */
static void begin(bool is_first)
{
    char reason[HOOK_REASON] = "";

    if (state != IDLE || !ifg_is_recording())
        return;
    if (begin_watching(is_first, reason, sizeof reason)) {
        state = WATCHING;
        ifg_device_follow(true);
        flushed_launches = flushed_buffers = quiet = 0;
        has_told_loss = false;
        is_late = !is_first;
        say_on(wants_full && !has_memory ? "; this CUPTI does not tell of memory" : "");
    } else {
        state = REFUSED; /* until the next recording */
        say(IFG_INSTRUMENT_UNAVAILABLE, reason);
    }
}

static void tell_loss(void)
{
    if (!has_memory || has_told_loss || !memory_is_lost())
        return;
    has_told_loss = true;
    say_on("");
}

static void end(bool leave)
{
    if (state == REFUSED)
        state = IDLE;
    if (state != WATCHING)
        return;
    calls_enable(subscriber, false);
    cupti.ActivityFlushAll(CUPTI_FLUSH_FORCED);
    tell_loss();
    ifg_device_follow(false);
    if (leave) {
        disable_kinds();
        cupti.Unsubscribe(subscriber);
        cupti.Finalize();
    }
    state = IDLE;
}

/* Whoever registers after us gets the records; launches are still seen. */
static void look_for_others(void)
{
    uint64_t launches = __atomic_load_n(&calls_counts.launches, __ATOMIC_RELAXED);
    uint64_t buffers = __atomic_load_n(&work_counts.buffers, __ATOMIC_RELAXED);

    if (buffers != flushed_buffers || launches - flushed_launches < QUIET_LAUNCHES) {
        if (buffers != flushed_buffers)
            quiet = 0;
    } else if (++quiet == QUIET_FLUSHES) {
        char text[HOOK_REASON];
        const char *owner = cupti_owner();

        snprintf(text, sizeof text,
                 "; then another profiler took the records%s%s%s, and only launches are seen",
                 *owner ? " (" : "", owner, *owner ? ")" : "");
        say_on(text);
    }
    flushed_launches = launches;
    flushed_buffers = buffers;
}

/* At the end also what is not complete: it would be over after the recording. */
static void flush(void)
{
    bool is_asked = ifg_device_is_asked();

    cupti.ActivityFlushAll(is_asked ? CUPTI_FLUSH_FORCED : 0);
    if (is_asked)
        ifg_device_told();
    look_for_others();
    if ((has_memory || has_waits) && ifg_device_is_too_much()) {
        disable_rest();
        cupti.ActivityFlushAll(0);
        work_end_memory();
        say_on("; without memory and waits since they cost more than --overhead allows");
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
            end(true);
        is_watching = state == WATCHING;
        if (is_watching)
            flush();
        pthread_mutex_unlock(&lock);
        ifg_device_await(ifg_is_recording(), is_watching ? FLUSH_NS : 0);
    }
    return NULL;
}

/* ---- life ---- */

/* CUDA does not survive a fork, and neither does what we know of it. */
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

/* The program ends: what CUPTI has is taken, and CUPTI is not touched any more. */
static void at_exit(void)
{
    pthread_mutex_lock(&lock);
    end(false);
    state = GONE;
    pthread_mutex_unlock(&lock);
}

static bool is_wanted(const char *asked)
{
    wants_full = asked && strcmp(asked, "full") == 0;
    return !asked || strcmp(asked, "off") != 0;
}

/* From the driver we begin at once, so that the first launch is seen. A recorder calls on a thread
 * that it stopped anywhere, maybe inside of CUDA: there CUPTI is left to our own thread. */
static int start(const char *what, bool at_once)
{
    static bool is_registered;
    int saved_errno = errno;

    if (!is_wanted(what) || !ifg_device_may_watch())
        return 1;
    pthread_mutex_lock(&lock);
    if (at_once)
        begin(true);
    if (!is_registered) {
        pthread_atfork(before_fork, after_fork, after_fork_in_child);
        atexit(at_exit);
        is_registered = true;
    }
    if (!has_thread)
        has_thread = device_thread_start(watch);
    pthread_mutex_unlock(&lock);
    errno = saved_errno;
    return 1;
}

/* The one that was there first: it has CUPTI before we do. */
static void call_other(void)
{
    const char *path = secure_getenv(IFG_ENV_INJECTION);
    int (*initialize)(void) = NULL;
    void *library;
    void *found;

    if (!path || !*path)
        return;
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    found = library ? dlsym(library, "InitializeInjection") : NULL;
    memcpy(&initialize, &found, sizeof initialize);
    dlerror();
    if (initialize && initialize != InitializeInjection)
        initialize();
}

int InitializeInjection(void)
{
    call_other();
    return start(secure_getenv(IFG_ENV_GPU), true);
}

/* For a recorder that puts us into a program that runs already. */
int ifg_cupti_begin(const char *what)
{
    return start(what, false);
}

int ifg_cupti_end(void)
{
    pthread_mutex_lock(&lock);
    end(true);
    pthread_mutex_unlock(&lock);
    return 1;
}
