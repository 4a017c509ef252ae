// SPDX-License-Identifier: Apache-2.0
/*
 * Records of rocprofiler-sdk into work of the trace, on a thread of rocprofiler-sdk. While they are
 * read it records nothing, and whoever has something to record waits. So there is little patience
 * with a recorder that is behind.
 */
#include "base/ticks.h"
#include "client/device.h"
#include "hooks/rocm/hook.h"
#include "trace/keys.h"

#define PATIENCE_NS 50000000ull /* in one buffer */

struct work_kinds work_kinds;
bool work_has_external;

static uint64_t since_ns; /* what was over before is of an earlier recording */

/* What rocprofiler-sdk's clock is behind CLOCK_MONOTONIC lies between these. It is CLOCK_BOOTTIME,
 * to which times of devices are converted. So every reading narrows the range, until the machine
 * was suspended: a reading that contradicts it replaces it. */
static int64_t behind_least, behind_most;
static bool is_paired;

static bool pair_clocks(void)
{
    for (int i = 0; i < 3; i++) {
        uint64_t before = ifg_monotonic_ns();
        uint64_t theirs = 0;
        int64_t least, most;

        if (rocm.get_timestamp(&theirs) != ROCM_OK)
            return false;
        least = (int64_t)(before - theirs);
        most = (int64_t)(ifg_monotonic_ns() - theirs);
        if (!is_paired || least > behind_most || most < behind_least) {
            behind_least = least;
            behind_most = most;
        }
        behind_least = least > behind_least ? least : behind_least;
        behind_most = most < behind_most ? most : behind_most;
        is_paired = true;
    }
    return true;
}

static uint64_t converted(uint64_t time)
{
    return time + (uint64_t)(behind_least + (behind_most - behind_least) / 2);
}

void work_begin(void)
{
    __atomic_store_n(&since_ns, ifg_monotonic_ns(), __ATOMIC_RELAXED);
}

static uint32_t correlation_of(const void *record)
{
    return (uint32_t)rocm_u64(record, work_has_external ? ROCM_EXTERNAL : ROCM_CORRELATION);
}

static void put(enum ifg_wire_kind kind, const struct ifg_wire_work *work, uint64_t start,
                uint64_t end, const char *name, const char *what, uint64_t *patience_ns)
{
    struct ifg_wire_work whole = *work;

    if (!start || end < start || converted(end) < __atomic_load_n(&since_ns, __ATOMIC_RELAXED))
        return;
    agents_describe(work->device);
    whole.duration_ns = end - start;
    ifg_device_work(kind, names_location(name, what), converted(start), &whole, patience_ns);
}

/* Grids are counted in work-items here, and in blocks everywhere else. */
static void read_shape(const void *record, struct ifg_wire_work *work)
{
    memcpy(work->block, (const char *)record + ROCM_KERNEL_BLOCK, sizeof work->block);
    memcpy(work->grid, (const char *)record + ROCM_KERNEL_GRID, sizeof work->grid);
    for (int i = 0; i < 3; i++) {
        if (!work->block[i] || !work->grid[i]) {
            memset(work->grid, 0, sizeof work->grid);
            memset(work->block, 0, sizeof work->block);
            return;
        }
        work->grid[i] = (work->grid[i] - 1) / work->block[i] + 1;
    }
}

/* False: the record is none that can be read. So in all of these. */
static bool put_kernel(const void *record, uint64_t *patience_ns)
{
    struct kernel kernel = { "(unnamed kernel)", 0, 0 };
    struct ifg_wire_work work = { .bytes = UINT64_MAX };
    uint32_t shared;

    if (rocm_u64(record, 0) < ROCM_KERNEL_BYTES ||
        rocm_u64(record, ROCM_KERNEL_INFO_SIZE) < ROCM_KERNEL_INFO ||
        !agents_device(rocm_u64(record, ROCM_KERNEL_AGENT), &work.device))
        return false;
    kernels_find(rocm_u64(record, ROCM_KERNEL_ID), &kernel);
    work.correlation = correlation_of(record);
    work.stream = (uint32_t)rocm_u64(record, ROCM_KERNEL_QUEUE);
    read_shape(record, &work);
    shared = rocm_u32(record, ROCM_KERNEL_SHARED);
    work.registers = kernel.registers;
    work.static_shared = kernel.static_shared < shared ? kernel.static_shared : shared;
    work.dynamic_shared = shared - work.static_shared;
    put(IFG_WIRE_WORK, &work, rocm_u64(record, ROCM_KERNEL_START),
        rocm_u64(record, ROCM_KERNEL_END), kernel.name, TRACE_WORK_KERNEL, patience_ns);
    return true;
}

static const char *copy_name(uint32_t operation, bool is_peer)
{
    static const char *const names[] = { TRACE_WORK_MEMCPY, TRACE_WORK_MEMCPY " HtoH",
                                         TRACE_WORK_MEMCPY " HtoD", TRACE_WORK_MEMCPY " DtoH",
                                         TRACE_WORK_MEMCPY " DtoD" };

    if (is_peer)
        return TRACE_WORK_MEMCPY " PtoP";
    return operation < sizeof names / sizeof *names ? names[operation] : names[0];
}

/* Which engine made a copy is not recorded. One between two devices belongs to the one that gets
 * it, and one between host and host to none. */
static bool put_copy(const void *record, uint64_t *patience_ns)
{
    struct ifg_wire_work work = { .stream = UINT32_MAX };
    uint32_t from = 0;
    bool is_to, is_from;
    const char *name;

    if (rocm_u64(record, 0) < ROCM_COPY_BYTES)
        return false;
    is_to = agents_device(rocm_u64(record, ROCM_COPY_TO), &work.device);
    is_from = agents_device(rocm_u64(record, ROCM_COPY_FROM), &from);
    if (!is_to && !is_from)
        return rocm_u32(record, ROCM_OPERATION) == ROCM_COPY_HOST_TO_HOST;
    name = copy_name(rocm_u32(record, ROCM_OPERATION), is_to && is_from && from != work.device);
    if (!is_to)
        work.device = from;
    work.correlation = correlation_of(record);
    work.bytes = rocm_u64(record, ROCM_COPY_LENGTH);
    put(IFG_WIRE_WORK, &work, rocm_u64(record, ROCM_COPY_START), rocm_u64(record, ROCM_COPY_END),
        name, name, patience_ns);
    return true;
}

/* Memory of processors is not followed. What gives back tells only the address. */
static bool put_memory(const void *record, uint64_t *patience_ns)
{
    uint32_t operation = rocm_u32(record, ROCM_OPERATION);
    struct memory_change change = {
        .class = MEMORY_DEVICE,
        .is_taken = operation == ROCM_MEMORY_ALLOCATE || operation == ROCM_MEMORY_ALLOCATE_HANDLE,
    };
    struct ifg_wire_work work = { .stream = UINT32_MAX };
    uint64_t time;

    if (rocm_u64(record, 0) < ROCM_MEMORY_BYTES)
        return false;
    time = rocm_u64(record, ROCM_MEMORY_START);
    change.address = rocm_u64(record, ROCM_MEMORY_ADDRESS);
    change.bytes = rocm_u64(record, ROCM_MEMORY_LENGTH);
    if (change.is_taken ? !agents_device(rocm_u64(record, ROCM_MEMORY_AGENT), &change.device)
                        : !memory_find(change.address, &change))
        return true;
    change.ns = converted(time);
    work.device = change.device;
    work.bytes = change.bytes;
    work.correlation = correlation_of(record);
    put(IFG_WIRE_MEMORY, &work, time, time, change.is_taken ? "allocate" : "free",
        TRACE_WORK_MEMORY, patience_ns);
    memory_changed(&change, patience_ns);
    return true;
}

void work_end_memory(void)
{
    uint64_t patience_ns = PATIENCE_NS;

    memory_end(ifg_monotonic_ns(), &patience_ns);
}

static void lose(uint64_t count, uint64_t *patience_ns)
{
    ifg_device_lost(count);
    memory_lose(ifg_monotonic_ns(), patience_ns);
}

static bool put_record(const struct rocm_header *header, uint64_t *patience_ns)
{
    if (!header || !header->record)
        return false;
    if (header->category != ROCM_CATEGORY_TRACING)
        return true;
    if ((int)header->kind == work_kinds.kernel)
        return put_kernel(header->record, patience_ns);
    if ((int)header->kind == work_kinds.copy)
        return put_copy(header->record, patience_ns);
    if ((int)header->kind == work_kinds.memory)
        return put_memory(header->record, patience_ns);
    return true;
}

/* dropped: by this buffer, in total. */
void work_complete(uint64_t context, uint64_t buffer, struct rocm_header **headers, size_t count,
                   void *user, uint64_t dropped)
{
    uint64_t began = ifg_thread_cpu_ns();
    uint64_t patience_ns = PATIENCE_NS;
    uint64_t *last_dropped = user;
    uint64_t lost = 0;

    (void)context, (void)buffer;
    if (!headers || !pair_clocks())
        lost = count;
    else
        for (size_t i = 0; i < count; i++)
            lost += !put_record(headers[i], &patience_ns);
    if (last_dropped && dropped > *last_dropped) {
        lost += dropped - *last_dropped;
        *last_dropped = dropped;
    }
    if (lost)
        lose(lost, &patience_ns);
    ifg_device_cost(ifg_thread_cpu_ns() - began);
}
