// SPDX-License-Identifier: Apache-2.0
/* Reading the records of perf_event_open(2), each field within its bounds. */
#include "collect/perf/records.h"

#include <string.h>

#include "base/bytes.h"

/* At the end of every record but a sample (sample_id_all, and our sample type). */
struct record_id {
    uint32_t pid, tid;
    uint64_t time_ns;
    uint32_t cpu, unused;
};

#define BUILD_ID_MAX 20

static uint64_t take_u64(struct ifg_cursor *cursor)
{
    const uint8_t *at = ifg_cursor_take(cursor, 8);
    uint64_t value = 0;

    if (at)
        memcpy(&value, at, sizeof value);
    return value;
}

static uint32_t take_u32(struct ifg_cursor *cursor)
{
    const uint8_t *at = ifg_cursor_take(cursor, 4);
    uint32_t value = 0;

    if (at)
        memcpy(&value, at, sizeof value);
    return value;
}

static struct ifg_cursor body_of(const struct perf_event_header *record)
{
    return ifg_cursor_over(record + 1, record->size - sizeof *record);
}

static bool id_of(const struct perf_event_header *record, struct record_id *out_id)
{
    if (record->size < sizeof *record + sizeof *out_id)
        return false;
    memcpy(out_id, (const uint8_t *)record + record->size - sizeof *out_id, sizeof *out_id);
    return true;
}

uint64_t record_time(const struct perf_event_header *record)
{
    struct ifg_cursor cursor = body_of(record);
    struct record_id id;

    if (record->type == PERF_RECORD_SAMPLE) {
        ifg_cursor_take(&cursor, 16); /* ip, pid, tid */
        return take_u64(&cursor);
    }
    return id_of(record, &id) ? id.time_ns : 0;
}

bool record_changes_code(const struct perf_event_header *record)
{
    struct ifg_cursor cursor = body_of(record);
    uint32_t pid = take_u32(&cursor);
    uint32_t second = take_u32(&cursor); /* the parent, of a fork */
    uint32_t tid = take_u32(&cursor);

    switch (record->type) {
    case PERF_RECORD_MMAP2:
        return true;
    case PERF_RECORD_COMM:
        return record->misc & PERF_RECORD_MISC_COMM_EXEC;
    case PERF_RECORD_FORK:
        return pid != second;
    case PERF_RECORD_EXIT:
        return pid == tid;
    default:
        return false;
    }
}

bool record_instruction(const struct perf_event_header *record, uint32_t *out_pid, uint64_t *out_ip)
{
    struct ifg_cursor cursor = body_of(record);

    *out_ip = take_u64(&cursor);
    *out_pid = take_u32(&cursor);
    return !cursor.failed;
}

/* The kernel's part of the call chain; that of the program is left out by the attribute. */
static void take_chain(struct ifg_cursor *cursor, struct sampler_sample *sample)
{
    uint64_t count = take_u64(cursor);
    bool kernel = false;

    if (count > ifg_cursor_left(cursor) / 8) {
        cursor->failed = true;
        return;
    }
    for (uint64_t i = 0; i < count; i++) {
        uint64_t ip = take_u64(cursor);

        if (ip >= (uint64_t)PERF_CONTEXT_MAX)
            kernel = ip == (uint64_t)PERF_CONTEXT_KERNEL;
        else if (kernel && sample->kernel_count < SAMPLER_KERNEL_FRAMES)
            sample->kernel[sample->kernel_count++] = ip;
    }
}

static void take_registers(struct ifg_cursor *cursor, struct sampler_sample *sample)
{
    uint64_t values[RECORDS_REGISTERS];

    if (take_u64(cursor) == PERF_SAMPLE_REGS_ABI_NONE)
        return;
    for (unsigned i = 0; i < RECORDS_REGISTERS; i++)
        values[i] = take_u64(cursor);
    sample->has_user = !cursor->failed;
    sample->fp = values[0];
#if defined(__x86_64__)
    sample->sp = values[1];
    sample->ip = values[2];
#else
    sample->lr = values[1];
    sample->sp = values[2];
    sample->ip = values[3];
#endif
}

/* Returns whether the stack went on behind what was copied. */
static bool take_stack(struct ifg_cursor *cursor, struct sampler_sample *sample)
{
    uint64_t room = take_u64(cursor);
    uint64_t used;

    if (!room)
        return false;
    if (room > ifg_cursor_left(cursor)) {
        cursor->failed = true;
        return false;
    }
    sample->stack = ifg_cursor_take(cursor, (size_t)room);
    used = take_u64(cursor);
    sample->stack_size = (size_t)(used < room ? used : room);
    return used >= room;
}

static void tell_sample(const struct perf_event_header *record, const struct sampler_events *events,
                        struct sampler_counts *counts)
{
    struct ifg_cursor cursor = body_of(record);
    struct sampler_sample sample = { 0 };

    take_u64(&cursor); /* where it was: the registers say that too, for the program's part */
    sample.pid = take_u32(&cursor);
    sample.tid = take_u32(&cursor);
    sample.time_ns = take_u64(&cursor);
    sample.cpu = take_u32(&cursor);
    take_u32(&cursor);
    sample.in_kernel = (record->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
    take_chain(&cursor, &sample);
    take_registers(&cursor, &sample);
    counts->cut += take_stack(&cursor, &sample);
    if (cursor.failed)
        return;
    counts->samples++;
    if (events->sample)
        events->sample(&sample, events->user);
}

static void tell_mapping(const struct perf_event_header *record,
                         const struct sampler_events *events)
{
    static const char digits[] = "0123456789abcdef";
    struct ifg_cursor cursor = body_of(record);
    struct sampler_mapping mapping = { 0 };
    struct record_id id;
    const uint8_t *who;
    size_t left;

    if (!id_of(record, &id))
        return;
    cursor.end -= sizeof id;
    mapping.time_ns = id.time_ns;
    mapping.pid = take_u32(&cursor);
    take_u32(&cursor);
    mapping.start = take_u64(&cursor);
    mapping.size = take_u64(&cursor);
    mapping.file_offset = take_u64(&cursor);
    who = ifg_cursor_take(&cursor, 24);
    take_u32(&cursor); /* protection */
    take_u32(&cursor); /* flags */
    left = ifg_cursor_left(&cursor);
    if (cursor.failed || !left || !memchr(cursor.at, 0, left))
        return;
    if (record->misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
        size_t size = who[0] < BUILD_ID_MAX ? who[0] : BUILD_ID_MAX;

        for (size_t i = 0; i < size; i++) {
            mapping.build_id[2 * i] = digits[who[4 + i] >> 4];
            mapping.build_id[2 * i + 1] = digits[who[4 + i] & 15];
        }
    } else {
        memcpy(&mapping.device_major, who, 4);
        memcpy(&mapping.device_minor, who + 4, 4);
        memcpy(&mapping.inode, who + 8, 8);
    }
    mapping.path = (const char *)cursor.at;
    if (events->mapped)
        events->mapped(&mapping, events->user);
}

static void tell_name(const struct perf_event_header *record, const struct sampler_events *events)
{
    struct ifg_cursor cursor = body_of(record);
    struct record_id id;
    uint32_t pid, tid;

    if (!id_of(record, &id))
        return;
    cursor.end -= sizeof id;
    pid = take_u32(&cursor);
    tid = take_u32(&cursor);
    if (!cursor.failed && ifg_cursor_left(&cursor) &&
        memchr(cursor.at, 0, ifg_cursor_left(&cursor)) && events->named)
        events->named(id.time_ns, pid, tid, (const char *)cursor.at,
                      record->misc & PERF_RECORD_MISC_COMM_EXEC, events->user);
}

static void tell_task(const struct perf_event_header *record, const struct sampler_events *events)
{
    struct ifg_cursor cursor = body_of(record);
    uint32_t pid = take_u32(&cursor);
    uint32_t parent = take_u32(&cursor);
    uint32_t tid = take_u32(&cursor);
    uint32_t parent_tid = take_u32(&cursor);
    uint64_t time_ns = take_u64(&cursor);

    if (cursor.failed)
        return;
    if (record->type == PERF_RECORD_FORK && events->forked)
        events->forked(time_ns, parent, parent_tid, pid, tid, events->user);
    if (record->type == PERF_RECORD_EXIT && events->ended)
        events->ended(time_ns, pid, tid, events->user);
}

static void tell_switch(const struct perf_event_header *record, const struct sampler_events *events,
                        struct sampler_counts *counts)
{
    struct record_id id;
    struct sampler_switch change = { 0 };

    if (!id_of(record, &id))
        return;
    counts->switches++;
    change.time_ns = id.time_ns;
    change.pid = id.pid;
    change.tid = id.tid;
    change.cpu = id.cpu;
    change.out = record->misc & PERF_RECORD_MISC_SWITCH_OUT;
    change.preempted = record->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
    if (events->switched)
        events->switched(&change, events->user);
}

void record_tell(const struct perf_event_header *record, const struct sampler_events *events,
                 struct sampler_counts *counts)
{
    struct ifg_cursor cursor = body_of(record);

    switch (record->type) {
    case PERF_RECORD_SAMPLE:
        tell_sample(record, events, counts);
        break;
    case PERF_RECORD_MMAP2:
        tell_mapping(record, events);
        break;
    case PERF_RECORD_COMM:
        tell_name(record, events);
        break;
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT:
        tell_task(record, events);
        break;
    case PERF_RECORD_SWITCH:
        tell_switch(record, events, counts);
        break;
    case PERF_RECORD_LOST:
        take_u64(&cursor);
        counts->lost += take_u64(&cursor);
        break;
    case PERF_RECORD_LOST_SAMPLES:
        counts->lost += take_u64(&cursor);
        break;
    case PERF_RECORD_THROTTLE:
        counts->throttled++;
        break;
    default:
        break;
    }
}
