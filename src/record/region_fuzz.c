// SPDX-License-Identifier: Apache-2.0
/*
 * What this tries: a region with two sane threads and definitions, then changed by the input,
 * drained between changes and at the end. The recorder must not crash, hang or write a file that
 * cannot be read.
 *
 * The input is a list of steps: a part (one byte: what to change, 7: drain), an offset there (two
 * bytes), a length (one byte), and that many bytes to write.
 */
#include "record/target.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/ticks.h"
#include "record/fault.h"
#include "trace/reader.h"
#include "wire/wire.h"

#define SMALL_RING 90u /* of the class with the fewest slots */
#define STEPS_MAX  64
#define HOUR_NS    3600000000000ull

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *region;
static int region_fd = -1;
static char region_path[64];
static char trace_path[128];

static void prepare(void)
{
    const char *directory = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";

    if (region_fd >= 0)
        return;
    region_fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (region_fd < 0 || ftruncate(region_fd, (off_t)ifg_wire_region_bytes()) < 0)
        abort();
    region = mmap(NULL, ifg_wire_region_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, region_fd, 0);
    if (region == MAP_FAILED)
        abort();
    snprintf(region_path, sizeof region_path, "/proc/self/fd/%d", region_fd);
    snprintf(trace_path, sizeof trace_path, "%s/ifg-region-fuzz-%d.ifg", directory, (int)getpid());
    fault_begin();
}

static void put_definition(uint64_t *at, const char *name)
{
    struct ifg_wire_control *control = (void *)region;
    struct ifg_wire_definition *entry = (void *)(region + IFG_WIRE_DEFINITIONS_OFFSET + *at);
    struct ifg_wire_location location = { .id = control->next_location++, .kind = 1 };
    size_t length = strlen(name);

    location.string_bytes[0] = (uint16_t)length;
    entry->bytes = (uint32_t)(sizeof *entry + sizeof location + length + 7) / 8 * 8;
    memcpy(entry + 1, &location, sizeof location);
    memcpy((char *)(entry + 1) + sizeof location, name, length);
    entry->kind = IFG_WIRE_DEFINE_LOCATION;
    *at += entry->bytes;
    control->definitions_reserved = *at;
}

static void put_ring(uint32_t index, uint64_t now)
{
    struct ifg_wire_control *control = (void *)region;
    uint32_t slots;
    struct ifg_wire_ring *ring = (void *)(region + ifg_wire_ring_offset(index, &slots));
    struct ifg_wire_record record = { now, 2, IFG_WIRE_TAG(IFG_WIRE_MESSAGE, 2) };
    uint32_t length = 5;

    ring->mask = slots - 1;
    ring->generation = 1;
    ring->tid = (uint32_t)getpid();
    ring->depth = 1;
    ring->open[0] = (struct ifg_wire_open){ now, 2, 0 };
    for (uint32_t i = 0; i < 4; i++)
        ifg_wire_slots(ring)[i] = (struct ifg_wire_zone){ now + 10 * i, 5, 2 + i % 2 };
    memcpy(&ifg_wire_slots(ring)[4], &record, sizeof record);
    memcpy(&ifg_wire_slots(ring)[5], &length, sizeof length);
    ring->head = 6;
    ifg_wire_states(region)[index] = IFG_WIRE_ACTIVE;
    if (control->rings_used <= index)
        control->rings_used = index + 1;
}

/* The same every time: nothing that an input meant before is left. */
static void build_region(void)
{
    struct ifg_wire_control *control = (void *)region;
    uint64_t at = 0;
    uint64_t now = ifg_counter_read();

    if (ftruncate(region_fd, 0) < 0 || ftruncate(region_fd, (off_t)ifg_wire_region_bytes()) < 0)
        abort();
    control->version = IFG_WIRE_VERSION;
    control->pid = (uint32_t)getpid();
    control->region_bytes = ifg_wire_region_bytes();
    control->start_ticks = now;
    control->next_location = 2;
    control->recording = 1;
    put_definition(&at, "first");
    put_definition(&at, "second");
    put_ring(0, now);
    put_ring(SMALL_RING, now);
    control->magic = IFG_WIRE_MAGIC;
}

static void change(uint8_t part, uint16_t offset, const uint8_t *bytes, size_t length)
{
    uint32_t slots;
    size_t big = ifg_wire_ring_offset(0, &slots);
    size_t small = ifg_wire_ring_offset(SMALL_RING, &slots);
    const size_t parts[7] = {
        0,     IFG_WIRE_STATES_OFFSET, IFG_WIRE_DEFINITIONS_OFFSET, big, big + IFG_WIRE_PAGE,
        small, small + IFG_WIRE_PAGE
    };

    memcpy(region + parts[part % 7] + offset % 16384, bytes, length);
}

static void check_readable(void)
{
    struct trace_reader *reader = NULL;
    struct ifg_error err;

    if (trace_reader_open(trace_path, &reader, &err) != IFG_OK) {
        fprintf(stderr, "%s\n", err.message);
        abort();
    }
    trace_reader_close(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sink sink = { .flush_after_ns = 1 };
    struct target_context context = { .sink = &sink };
    struct target *target = NULL;
    uint64_t now_ns = HOUR_NS;
    bool any = false;
    int fd;

    prepare();
    build_region();
    fd = open(region_path, O_RDWR | O_CLOEXEC);
    if (fd < 0 || trace_writer_create(trace_path, true, &sink.writer, NULL) != IFG_OK)
        abort();
    if (target_open(&context, fd, getpid(), &target, NULL) != IFG_OK)
        abort();
    for (int step = 0; step < STEPS_MAX && size >= 4; step++) {
        size_t length = data[3] < size - 4 ? data[3] : size - 4;

        if (data[0] % 8 == 7)
            target_drain(target, now_ns += HOUR_NS, &any);
        else
            change(data[0] % 8, (uint16_t)(data[1] | data[2] << 8), data + 4, length);
        data += 4 + length;
        size -= 4 + length;
    }
    target_drain(target, now_ns += HOUR_NS, &any);
    target_drain(target, now_ns += HOUR_NS, &any);
    target_close(target, TRACE_FATE_RUNNING, 0);
    if (trace_writer_close(sink.writer, NULL) != IFG_OK)
        abort();
    sink_fini(&sink);
    check_readable();
    unlink(trace_path);
    return 0;
}
