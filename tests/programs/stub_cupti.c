// SPDX-License-Identifier: Apache-2.0
/*
 * A CUPTI that watches the driver of stub_cuda.c. Its records have the layout of CUDA 13.0, or of
 * 11.0 (STUB_CUPTI_VERSION). STUB_CUPTI says what is to go wrong:
 *
 *     taken         another profiler subscribed before
 *     rights        kernels may not be recorded by this user
 *     virtual       nor on this device
 *     stolen        another profiler registered its buffers after us
 *     slow          full buffers are handed out only when somebody flushes
 *     behind        the device's clock is 10 ms behind
 *     realtime      no callback for timestamps: times are CLOCK_REALTIME
 *     expensive     every record takes 50 us of CPU time to be read
 */
#include "stub_cuda.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define QUEUE 64u
#define IDS   1024u

typedef void callback(void *user, int domain, uint32_t id, const void *data);
typedef void request(uint8_t **out_buffer, size_t *out_size, size_t *out_most);
typedef void complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);

/* CUpti_CallbackData, as far as anybody looks. */
struct call_data {
    uint32_t site;
    uint32_t pad;
    const char *function;
    const void *parameters;
    void *result;
    const char *symbol;
    void *context;
    uint64_t context_id;
    uint64_t *kept;
    uint32_t correlation;
};
_Static_assert(offsetof(struct call_data, kept) == 56, "as CUPTI has it");
_Static_assert(offsetof(struct call_data, correlation) == 64, "as CUPTI has it");

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static callback *callback_of;
static void *callback_user;
static uint8_t wanted[IDS];
static uint8_t kinds[64];
static request *ask;
static complete *hand_out;
static uint64_t (*clock_of)(void);
static uint32_t first_correlation; /* of the work that was handed out */
static uint8_t *buffer;
static size_t buffer_size, buffer_used;
static struct {
    uint8_t *buffer;
    size_t size, used;
} full[QUEUE];
static unsigned full_count;
static size_t dropped;

static int is_asked(const char *trouble)
{
    const char *asked = getenv("STUB_CUPTI");

    return asked && strcmp(asked, trouble) == 0;
}

static uint32_t version(void)
{
    const char *text = getenv("STUB_CUPTI_VERSION");

    return text ? (uint32_t)strtoul(text, NULL, 10) : 130001u;
}

static size_t record_size(uint32_t kind)
{
    uint32_t is = version();

    switch (kind) {
    case 10:
        return is < 18 ? 160 : 216;
    case 38:
        return is < 26 ? 40 : 56;
    case 49:
        return is < 17 ? 112 : is < 24 ? 120 : 128;
    case 50:
        return is < 17 ? 64 : is < 130000 ? 72 : 80;
    default:
        return is < 18 ? 72 : 96;
    }
}

/* ---- records ---- */

static void put(uint8_t *record, size_t at, const void *value, size_t bytes)
{
    memcpy(record + at, value, bytes);
}

/* Both ends of a piece of work by the same offset, however the clocks were read. */
static uint64_t realtime(uint64_t monotonic_ns)
{
    static uint64_t ahead;
    struct timespec real, monotonic;

    if (!ahead) {
        clock_gettime(CLOCK_MONOTONIC, &monotonic);
        clock_gettime(CLOCK_REALTIME, &real);
        ahead = (uint64_t)(real.tv_sec - monotonic.tv_sec) * 1000000000u +
                (uint64_t)(real.tv_nsec - monotonic.tv_nsec);
    }
    return monotonic_ns + ahead;
}

/* What it means that memory has no stream. */
static uint32_t no_stream(void)
{
    return version() < 130200 ? UINT32_MAX : 0;
}

static void fill_memory(uint8_t *record, const struct stub_work *work, uint64_t time)
{
    uint32_t who[3] = { 0, 1, work->is_async ? work->stream : no_stream() };
    uint64_t pool[4] = { work->pool, 0, work->pool_size, work->pool_used };
    uint32_t type = work->pool ? 1 : 0;

    put(record, 4, &work->operation, 4);
    put(record, 8, &work->memory_kind, 4);
    put(record, 12, &work->correlation, 4);
    put(record, 16, &work->address, 8);
    put(record, 24, &work->bytes, 8);
    put(record, 32, &time, 8);
    put(record, 52, who, 12);
    put(record, 72, &work->is_async, 4);
    put(record, 80, &type, 4);
    put(record, 88, pool, record_size(49) - 88 < sizeof pool ? record_size(49) - 88 : sizeof pool);
}

static void fill_pool(uint8_t *record, const struct stub_work *work, uint64_t time)
{
    uint32_t local = 1;

    put(record, 4, &work->operation, 4);
    put(record, 8, &local, 4);
    put(record, 12, &work->correlation, 4);
    put(record, 32, &work->pool, 8);
    put(record, 40, &work->pool_size, 8);
    put(record, 56, &time, 8);
    if (record_size(50) > 64)
        put(record, 64, &work->pool_used, 8);
}

static void fill_wait(uint8_t *record, const struct stub_work *work, const uint64_t *times)
{
    uint32_t context = 1;

    put(record, 4, &work->operation, 4);
    put(record, 8, times, 16);
    put(record, 24, &work->correlation, 4);
    put(record, 28, &context, 4);
    put(record, 32, &work->stream, 4);
}

static void fill(uint8_t *record, const struct stub_work *work)
{
    uint64_t times[2] = { work->start_ns, work->end_ns };
    uint32_t device[3] = { 0, 1, work->stream };
    uint32_t shape[8] = { 8, 2, 1, 256, 1, 1, 1024, 2048 };
    uint16_t registers = 40;
    int has_graph = version() >= 18;

    if (!clock_of) {
        times[0] = realtime(times[0]);
        times[1] = realtime(times[1]);
    }
    /* As the real one: a clock that is registered after the first launch is not followed. */
    if (is_asked("behind") || (clock_of && first_correlation > 1)) {
        times[0] -= 10000000u;
        times[1] -= 10000000u;
    }
    put(record, 0, &work->kind, 4);
    if (work->kind == 38) {
        fill_wait(record, work, times);
        return;
    }
    if (work->kind == 49) {
        fill_memory(record, work, times[0]);
        return;
    }
    if (work->kind == 50) {
        fill_pool(record, work, times[0]);
        return;
    }
    put(record, 16, times, 16);
    if (work->kind == 10) {
        put(record, 6, &registers, 2);
        put(record, 40, device, 12);
        put(record, 52, shape, 32);
        put(record, 92, &work->correlation, 4);
        put(record, 104, &work->name, 8);
        put(record, 144, &work->graph_node, 8);
        if (has_graph)
            put(record, 156, &work->graph, 4);
    } else {
        record[4] = (uint8_t)work->copy_kind;
        put(record, 8, &work->bytes, 8);
        put(record, 32, device, 12);
        put(record, 44, &work->correlation, 4);
    }
}

static void put_full(void)
{
    if (buffer && full_count < QUEUE) {
        full[full_count].buffer = buffer;
        full[full_count].size = buffer_size;
        full[full_count++].used = buffer_used;
    }
    buffer = NULL;
}

/* Without the lock: whoever gets it may take long. */
static void deliver(int all)
{
    for (;;) {
        uint8_t *taken;
        size_t size, used;

        pthread_mutex_lock(&lock);
        if (!full_count && all)
            put_full();
        if (!full_count) {
            pthread_mutex_unlock(&lock);
            return;
        }
        taken = full[0].buffer;
        size = full[0].size;
        used = full[0].used;
        memmove(full, full + 1, --full_count * sizeof full[0]);
        pthread_mutex_unlock(&lock);
        hand_out((void *)1, 0, taken, size, used);
    }
}

static void *deliver_full(void *unused)
{
    const struct timespec pause = { 0, 2000000 };

    (void)unused;
    for (;;) {
        nanosleep(&pause, NULL);
        if (!is_asked("slow"))
            deliver(0);
    }
    return NULL;
}

static void see_work(const struct stub_work *work)
{
    size_t bytes = record_size(work->kind);

    pthread_mutex_lock(&lock);
    if (!first_correlation)
        first_correlation = work->correlation;
    if (work->kind < sizeof kinds && kinds[work->kind] && ask && !is_asked("stolen")) {
        if (buffer && buffer_used + bytes > buffer_size)
            put_full();
        if (!buffer) {
            size_t most = 0;

            ask(&buffer, &buffer_size, &most);
            buffer_used = 0;
        }
        if (buffer) {
            memset(buffer + buffer_used, 0, bytes);
            fill(buffer + buffer_used, work);
            buffer_used += bytes;
        } else {
            dropped++;
        }
    }
    pthread_mutex_unlock(&lock);
}

static void see_call(uint32_t id, uint32_t site, const char *name, uint32_t correlation,
                     uint64_t *kept)
{
    struct call_data data = {
        .site = site, .function = name, .kept = kept, .correlation = correlation
    };
    callback *call = __atomic_load_n(&callback_of, __ATOMIC_ACQUIRE);

    if (call && id < IDS && wanted[id])
        call(callback_user, 1, id, &data);
}

static void watch_driver(int on)
{
    static const struct stub_watch ours = { see_call, see_work };
    void *driver = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY);
    void (*set)(const struct stub_watch *) = NULL;
    void *found = driver ? dlsym(driver, "stub_cuda_watch") : NULL;

    memcpy(&set, &found, sizeof set);
    if (set)
        set(on ? &ours : NULL);
}

/* ---- as in cupti.h ---- */

#define API __attribute__((visibility("default"))) int

API cuptiGetVersion(uint32_t *out);
API cuptiSubscribe(void **out, callback *callback, void *user);
API cuptiUnsubscribe(void *subscriber);
API cuptiEnableCallback(uint32_t on, void *subscriber, int domain, uint32_t id);
API cuptiActivityRegisterCallbacks(request *asks, complete *completes);
API cuptiActivityEnable(uint32_t kind);
API cuptiActivityDisable(uint32_t kind);
API cuptiActivityFlushAll(uint32_t flags);
API cuptiActivityGetNextRecord(uint8_t *from, size_t valid, void **record);
API cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *out);
API cuptiGetTimestamp(uint64_t *out);
API cuptiFinalize(void);
API cuptiActivityRegisterTimestampCallback(uint64_t (*now)(void));
API cuptiGetResultString(int result, const char **out);

int cuptiGetVersion(uint32_t *out)
{
    *out = version();
    return 0;
}

int cuptiSubscribe(void **out, callback *call, void *user)
{
    if (is_asked("taken") || callback_of)
        return 39;
    callback_user = user;
    __atomic_store_n(&callback_of, call, __ATOMIC_RELEASE);
    *out = &callback_of;
    watch_driver(1);
    return 0;
}

int cuptiUnsubscribe(void *subscriber)
{
    (void)subscriber;
    __atomic_store_n(&callback_of, NULL, __ATOMIC_RELEASE);
    return 0;
}

int cuptiEnableCallback(uint32_t on, void *subscriber, int domain, uint32_t id)
{
    if (subscriber != &callback_of || domain != 1 || id >= IDS)
        return 1;
    wanted[id] = (uint8_t)on;
    return 0;
}

int cuptiActivityRegisterCallbacks(request *asks, complete *completes)
{
    static int has_thread;
    pthread_t thread;

    ask = asks;
    hand_out = completes;
    if (!has_thread && pthread_create(&thread, NULL, deliver_full, NULL) == 0) {
        pthread_detach(thread);
        has_thread = 1;
    }
    return 0;
}

int cuptiActivityEnable(uint32_t kind)
{
    if (kind == 10 && is_asked("rights"))
        return 35;
    if (kind == 10 && is_asked("virtual"))
        return 40;
    if ((kind == 49 || kind == 50) && version() < 15)
        return 21; /* CUPTI_ERROR_INVALID_KIND */
    if (kind < sizeof kinds)
        kinds[kind] = 1;
    return 0;
}

static void tell_less(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY);
    void (*set)(int) = NULL;
    void *found = driver ? dlsym(driver, "stub_cuda_set_less") : NULL;

    memcpy(&set, &found, sizeof set);
    if (set)
        set(1);
}

int cuptiActivityDisable(uint32_t kind)
{
    if (kind == 49 && kinds[kind])
        tell_less();
    if (kind < sizeof kinds)
        kinds[kind] = 0;
    return 0;
}

int cuptiActivityFlushAll(uint32_t flags)
{
    (void)flags;
    if (is_asked("slow") && !flags)
        return 0;
    deliver(1);
    return 0;
}

static uint64_t cpu_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int cuptiActivityGetNextRecord(uint8_t *from, size_t valid, void **record)
{
    size_t at = 0;
    uint32_t kind;

    if (is_asked("expensive"))
        for (uint64_t until = cpu_ns() + 50000; cpu_ns() < until;)
            ;
    if (*record) {
        memcpy(&kind, *record, sizeof kind);
        at = (size_t)((uint8_t *)*record - from) + record_size(kind);
    }
    if (at >= valid)
        return 12;
    *record = from + at;
    return 0;
}

int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *out)
{
    (void)context, (void)stream;
    pthread_mutex_lock(&lock);
    *out = dropped;
    dropped = 0;
    pthread_mutex_unlock(&lock);
    return 0;
}

int cuptiGetTimestamp(uint64_t *out)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    *out = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    return 0;
}

int cuptiFinalize(void)
{
    watch_driver(0);
    memset(kinds, 0, sizeof kinds);
    memset(wanted, 0, sizeof wanted);
    callback_of = NULL;
    return 0;
}

int cuptiActivityRegisterTimestampCallback(uint64_t (*now)(void))
{
    if (is_asked("realtime"))
        return 1;
    clock_of = now;
    return 0;
}

int cuptiGetResultString(int result, const char **out)
{
    *out = result == 40 ? "CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED" : "CUPTI_ERROR_UNKNOWN";
    return 0;
}
