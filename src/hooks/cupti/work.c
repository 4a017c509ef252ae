// SPDX-License-Identifier: Apache-2.0
/*
 * Completed records of CUPTI into work of the trace: on CUPTI's own thread, or on one that flushes.
 * A buffer is read and given back at once.
 */
#include <time.h>

#include "base/ticks.h"
#include "client/device.h"
#include "hooks/cupti/hook.h"
#include "trace/keys.h"

#define PATIENCE_NS 200000000ull /* for a recorder that is behind, in one buffer */
#define DEVICES     64u

struct work_counts work_counts;

static bool has_clock;     /* times are ours already */
static int64_t behind;     /* else: what CUPTI's clock is behind CLOCK_MONOTONIC */
static uint64_t described; /* devices, by bit */

uint64_t work_now(void)
{
    return ifg_monotonic_ns();
}

void work_begin(bool has_own_clock)
{
    has_clock = has_own_clock;
}

void work_request(uint8_t **out_buffer, size_t *out_size, size_t *out_most)
{
    *out_buffer = pool_take();
    *out_size = *out_buffer ? POOL_BUFFER_BYTES : 0;
    *out_most = 0;
    __atomic_fetch_add(&work_counts.buffers, 1, __ATOMIC_RELAXED);
    if (!*out_buffer)
        __atomic_fetch_add(&work_counts.refused, 1, __ATOMIC_RELAXED);
}

/* The reading that took the shortest, of a few. */
static void pair_clocks(void)
{
    uint64_t best = UINT64_MAX;

    for (int i = 0; i < 3; i++) {
        uint64_t before = ifg_monotonic_ns();
        uint64_t theirs = 0;
        uint64_t after;

        if (cupti.GetTimestamp(&theirs) != CUPTI_OK)
            return;
        after = ifg_monotonic_ns();
        if (after - before < best) {
            best = after - before;
            behind = (int64_t)(before + best / 2 - theirs);
        }
    }
}

static uint64_t converted(uint64_t time)
{
    return has_clock ? time : time + (uint64_t)behind;
}

static void describe(uint32_t device)
{
    char name[128], id[64];

    if (device >= DEVICES ||
        __atomic_fetch_or(&described, 1ull << device, __ATOMIC_RELAXED) >> device & 1)
        return;
    cupti_device_describe(device, name, sizeof name, id, sizeof id);
    ifg_device_define(device, name, id);
}

static void put_as(enum ifg_wire_kind kind, const struct ifg_wire_work *work, uint64_t start,
                   uint64_t end, const char *name, const char *what, uint64_t *patience_ns)
{
    struct ifg_wire_work whole = *work;

    if (!start || end < start)
        return; /* it has not run: CUPTI says so by 0 */
    describe(work->device);
    whole.duration_ns = end - start;
    ifg_device_work(kind, names_location(name, what), converted(start), &whole, patience_ns);
    __atomic_fetch_add(&work_counts.records, 1, __ATOMIC_RELAXED);
}

/* Nearly always the same as before. */
static void note_context(uint32_t context, uint32_t device)
{
    static uint64_t last = UINT64_MAX;
    uint64_t pair = (uint64_t)context << 32 | device;

    if (__atomic_load_n(&last, __ATOMIC_RELAXED) == pair)
        return;
    __atomic_store_n(&last, pair, __ATOMIC_RELAXED);
    contexts_learn(context, device);
}

static void put(const struct ifg_wire_work *work, uint64_t start, uint64_t end, const char *name,
                const char *what, uint64_t *patience_ns)
{
    note_context(work->context, work->device);
    put_as(IFG_WIRE_WORK, work, start, end, name, what, patience_ns);
}

static bool has_graphs(void)
{
    return cupti.version >= CUPTI_VERSION_GRAPHS && cupti.version < CUPTI_VERSION_BEYOND;
}

static void put_kernel(const void *record, uint64_t *patience_ns)
{
    const char *name = cupti_pointer(record, CUPTI_KERNEL_NAME);
    struct ifg_wire_work work = {
        .bytes = UINT64_MAX,
        .correlation = cupti_u32(record, CUPTI_KERNEL_CORRELATION),
        .device = cupti_u32(record, CUPTI_KERNEL_DEVICE),
        .context = cupti_u32(record, CUPTI_KERNEL_CONTEXT),
        .stream = cupti_u32(record, CUPTI_KERNEL_STREAM),
    };

    if (cupti.version < CUPTI_VERSION_BEYOND) {
        memcpy(work.grid, (const char *)record + CUPTI_KERNEL_GRID, sizeof work.grid);
        memcpy(work.block, (const char *)record + CUPTI_KERNEL_BLOCK, sizeof work.block);
        work.registers = cupti_u32(record, CUPTI_KERNEL_REGISTERS - 2) >> 16;
        work.static_shared = cupti_u32(record, CUPTI_KERNEL_SHARED);
        work.dynamic_shared = cupti_u32(record, CUPTI_KERNEL_SHARED + 4);
    }
    if (has_graphs()) {
        work.graph_node = cupti_u64(record, CUPTI_KERNEL_GRAPH_NODE);
        work.graph = cupti_u32(record, CUPTI_KERNEL_GRAPH);
    }
    put(&work, cupti_u64(record, CUPTI_KERNEL_START), cupti_u64(record, CUPTI_KERNEL_END),
        name ? name : "(unnamed kernel)", TRACE_WORK_KERNEL, patience_ns);
}

/* Arrays are of the device, too. */
static const char *copy_what(unsigned kind)
{
    static const char *const names[] = {
        TRACE_WORK_MEMCPY,         TRACE_WORK_MEMCPY " HtoD", TRACE_WORK_MEMCPY " DtoH",
        TRACE_WORK_MEMCPY " HtoD", TRACE_WORK_MEMCPY " DtoH", TRACE_WORK_MEMCPY " DtoD",
        TRACE_WORK_MEMCPY " DtoD", TRACE_WORK_MEMCPY " DtoD", TRACE_WORK_MEMCPY " DtoD",
        TRACE_WORK_MEMCPY " HtoH", TRACE_WORK_MEMCPY " PtoP",
    };

    return kind < sizeof names / sizeof *names ? names[kind] : names[0];
}

static void put_copy(const void *record, uint32_t kind, uint64_t *patience_ns)
{
    bool is_peer = kind == CUPTI_MEMCPY_PEER;
    const char *what = kind == CUPTI_MEMSET ? TRACE_WORK_MEMSET
                                            : copy_what(cupti_u32(record, CUPTI_COPY_KIND) & 0xff);
    struct ifg_wire_work work = {
        .bytes = cupti_u64(record, CUPTI_COPY_BYTES),
        .correlation =
            cupti_u32(record, is_peer ? CUPTI_PEER_COPY_CORRELATION : CUPTI_COPY_CORRELATION),
        .device = cupti_u32(record, CUPTI_COPY_DEVICE),
        .context = cupti_u32(record, CUPTI_COPY_CONTEXT),
        .stream = cupti_u32(record, CUPTI_COPY_STREAM),
    };

    if (has_graphs()) {
        work.graph_node =
            cupti_u64(record, is_peer ? CUPTI_PEER_COPY_GRAPH_NODE : CUPTI_COPY_GRAPH_NODE);
        work.graph = cupti_u32(record, is_peer ? CUPTI_PEER_COPY_GRAPH : CUPTI_COPY_GRAPH);
    }
    put(&work, cupti_u64(record, CUPTI_COPY_START), cupti_u64(record, CUPTI_COPY_END), what, what,
        patience_ns);
}

/* ---- memory ---- */

/* Static memory of modules is the device's as arrays are. */
static enum memory_class class_of(uint32_t kind)
{
    static const uint8_t classes[] = {
        MEMORY_CLASSES, MEMORY_HOST,    MEMORY_HOST,   MEMORY_DEVICE,
        MEMORY_DEVICE,  MEMORY_MANAGED, MEMORY_DEVICE, MEMORY_MANAGED
    };

    return kind < sizeof classes ? (enum memory_class)classes[kind] : MEMORY_CLASSES;
}

static const char *memory_name(bool is_taken, enum memory_class class, bool is_in_pool)
{
    static const char *const names[2][MEMORY_CLASSES + 1] = {
        { "free", "free managed", "free pinned host", "free (unknown kind)" },
        { "allocate", "allocate managed", "allocate pinned host", "allocate (unknown kind)" },
    };

    if (is_in_pool && class == MEMORY_DEVICE)
        return is_taken ? "allocate from pool" : "free to pool";
    return names[is_taken][class];
}

/* How much of the pool is used is at the end of the record, and not in those of old versions. */
static uint64_t pool_use(const void *record, size_t offset)
{
    return cupti.version >= CUPTI_VERSION_POOLS ? cupti_u64(record, offset) : UINT64_MAX;
}

/* Moments, not durations. Whether memory has a stream is told apart from the number, since the
 * number that means none has changed. */
static void put_memory(const void *record, uint64_t *patience_ns)
{
    uint64_t time = cupti_u64(record, CUPTI_MEMORY_TIME);
    bool is_known = cupti.version < CUPTI_VERSION_BEYOND;
    bool is_async = is_known && cupti_u32(record, CUPTI_MEMORY_IS_ASYNC);
    bool is_in_pool = is_async && cupti_u32(record, CUPTI_MEMORY_POOL_TYPE);
    struct memory_change change = {
        .ns = converted(time),
        .address = cupti_u64(record, CUPTI_MEMORY_ADDRESS),
        .bytes = cupti_u64(record, CUPTI_MEMORY_BYTES),
        .device = cupti_u32(record, CUPTI_MEMORY_DEVICE),
        .class = class_of(cupti_u32(record, CUPTI_MEMORY_KIND)),
        .is_taken = cupti_u32(record, CUPTI_MEMORY_OPERATION) == 1,
    };
    struct ifg_wire_work work = {
        .bytes = change.bytes,
        .correlation = cupti_u32(record, CUPTI_MEMORY_CORRELATION),
        .device = change.device,
        .context = cupti_u32(record, CUPTI_MEMORY_CONTEXT),
        .stream = is_async ? cupti_u32(record, CUPTI_MEMORY_STREAM) : UINT32_MAX,
    };

    if (!time)
        return;
    put_as(IFG_WIRE_MEMORY, &work, time, time,
           memory_name(change.is_taken, change.class, is_in_pool), TRACE_WORK_MEMORY, patience_ns);
    memory_changed(&change, patience_ns);
    if (is_in_pool && cupti_u32(record, CUPTI_MEMORY_POOL_TYPE) == CUPTI_POOL_LOCAL) {
        const struct memory_pool pool = {
            .ns = change.ns,
            .address = cupti_u64(record, CUPTI_MEMORY_POOL_ADDRESS),
            .size = cupti_u64(record, CUPTI_MEMORY_POOL_SIZE),
            .used = pool_use(record, CUPTI_MEMORY_POOL_USED),
            .device = change.device,
        };

        memory_pool_changed(&pool, patience_ns);
    }
}

static void put_pool(const void *record, uint64_t *patience_ns)
{
    static const char *const names[] = { "change pool", "create pool", "destroy pool",
                                         "trim pool" };
    uint64_t time = cupti_u64(record, CUPTI_POOL_TIME);
    uint32_t operation = cupti_u32(record, CUPTI_POOL_OPERATION);
    bool is_local = cupti_u32(record, CUPTI_POOL_TYPE) == CUPTI_POOL_LOCAL;
    struct memory_pool pool = {
        .ns = converted(time),
        .address = cupti_u64(record, CUPTI_POOL_ADDRESS),
        .size = cupti_u64(record, CUPTI_POOL_SIZE),
        .used = pool_use(record, CUPTI_POOL_USED),
        .device = cupti_u32(record, CUPTI_POOL_DEVICE),
        .is_gone = operation == 2,
    };
    struct ifg_wire_work work = {
        .bytes = is_local ? pool.size : UINT64_MAX,
        .correlation = cupti_u32(record, CUPTI_POOL_CORRELATION),
        .device = pool.device,
        .stream = UINT32_MAX,
    };

    if (!time)
        return;
    put_as(IFG_WIRE_MEMORY, &work, time, time,
           names[operation < sizeof names / sizeof *names ? operation : 0], TRACE_WORK_MEMORY,
           patience_ns);
    if (is_local)
        memory_pool_changed(&pool, patience_ns);
}

void work_end_memory(void)
{
    uint64_t patience_ns = PATIENCE_NS;

    memory_end(work_now(), &patience_ns);
}

/* ---- waits ---- */

struct buffer {
    uint8_t *bytes;
    size_t valid;
};

/* False: it tells of none. */
static bool learn_context(const void *record)
{
    uint32_t kind = cupti_u32(record, 0);

    if (kind == CUPTI_CONTEXT)
        contexts_learn(cupti_u32(record, CUPTI_CONTEXT_ID),
                       cupti_u32(record, CUPTI_CONTEXT_DEVICE));
    else if (kind == CUPTI_KERNELS || kind == CUPTI_KERNEL)
        contexts_learn(cupti_u32(record, CUPTI_KERNEL_CONTEXT),
                       cupti_u32(record, CUPTI_KERNEL_DEVICE));
    else if (kind == CUPTI_MEMCPY || kind == CUPTI_MEMSET || kind == CUPTI_MEMCPY_PEER)
        contexts_learn(cupti_u32(record, CUPTI_COPY_CONTEXT), cupti_u32(record, CUPTI_COPY_DEVICE));
    else
        return false;
    return true;
}

/* A wait may come before anything that names its context's device: then what follows is asked. */
static bool find_device(const struct buffer *buffer, void *record, uint32_t context,
                        uint32_t *out_device)
{
    if (contexts_device(context, out_device))
        return true;
    while (cupti.ActivityGetNextRecord(buffer->bytes, buffer->valid, &record) == CUPTI_OK && record)
        if (learn_context(record) && contexts_device(context, out_device))
            return true;
    return false;
}

static void put_wait(const struct buffer *buffer, void *record, uint64_t *patience_ns)
{
    static const char *const names[] = { "synchronize", "event synchronize", "stream wait event",
                                         "stream synchronize", "context synchronize" };
    uint32_t type = cupti_u32(record, CUPTI_WAIT_TYPE);
    struct ifg_wire_work work = {
        .bytes = UINT64_MAX,
        .correlation = cupti_u32(record, CUPTI_WAIT_CORRELATION),
        .context = cupti_u32(record, CUPTI_WAIT_CONTEXT),
        .stream = cupti_u32(record, CUPTI_WAIT_STREAM),
    };

    if (find_device(buffer, record, work.context, &work.device))
        put_as(IFG_WIRE_WAIT, &work, cupti_u64(record, CUPTI_WAIT_START),
               cupti_u64(record, CUPTI_WAIT_END),
               names[type < sizeof names / sizeof *names ? type : 0], TRACE_WORK_SYNC, patience_ns);
    else
        ifg_device_lost(1);
}

/* ---- all ---- */

static void put_record(const struct buffer *buffer, void *record, uint64_t *patience_ns)
{
    uint32_t kind = cupti_u32(record, 0);

    if (kind == CUPTI_KERNELS || kind == CUPTI_KERNEL)
        put_kernel(record, patience_ns);
    else if (kind == CUPTI_MEMCPY || kind == CUPTI_MEMSET || kind == CUPTI_MEMCPY_PEER)
        put_copy(record, kind, patience_ns);
    else if (kind == CUPTI_MEMORY)
        put_memory(record, patience_ns);
    else if (kind == CUPTI_POOL)
        put_pool(record, patience_ns);
    else if (kind == CUPTI_WAIT)
        put_wait(buffer, record, patience_ns);
    else if (kind == CUPTI_CONTEXT)
        learn_context(record);
}

static uint64_t thread_cpu_ns(void)
{
    struct timespec now;

    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) != 0)
        return 0;
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void work_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    uint64_t began = thread_cpu_ns();
    uint64_t patience_ns = PATIENCE_NS;
    struct buffer records = { buffer, valid };
    void *record = NULL;
    size_t dropped = 0;

    (void)size;
    if (!has_clock)
        pair_clocks();
    while (buffer && valid && cupti.ActivityGetNextRecord(buffer, valid, &record) == CUPTI_OK &&
           record)
        put_record(&records, record, &patience_ns);
    if (cupti.ActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_OK && dropped) {
        ifg_device_lost(dropped);
        memory_lose(work_now(), &patience_ns);
        __atomic_fetch_add(&work_counts.dropped, dropped, __ATOMIC_RELAXED);
    }
    if (buffer)
        pool_give(buffer);
    ifg_device_cost(thread_cpu_ns() - began);
}
