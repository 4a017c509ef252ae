// SPDX-License-Identifier: Apache-2.0
/*
 * The queues of allocations, shared with a program that writes to them whatever it likes.
 * Strategies:
 *
 * The input is a list of steps, as the program and the recorder take turns: a kind (one byte: what
 * to change; 4 and 5: fill a cell as the hook does; 6: the recorder works; 7: it does so seconds
 * later), a cell (one byte), an offset (two bytes), a length (one byte) and that many bytes.
 *
 * The recorder must not crash, hang or write a file that cannot be read.
 */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "record/fault.h"
#include "record/hooks.h"
#include "record/source.h"
#include "trace/reader.h"
#include "wire/heap.h"

#define STEPS_MAX 64
#define HEAD      5u
#define SECOND_NS 1000000000ull
#define NOBODY    0x7ffffff0u /* no process has this id: nothing real is looked up */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[] = "/tmp/ifg-heap-fuzz-XXXXXX";
static char trace_path[64], ring_path[64], library_path[64];

static void remove_folder(void)
{
    unlink(trace_path);
    unlink(ring_path);
    unlink(library_path);
    rmdir(folder);
}

/* A folder with what stands in for the hook: whether it can be loaded nobody asks here. */
static void prepare(void)
{
    int fd;

    if (!mkdtemp(folder) || setenv("IFG_HOOKS_DIR", folder, 1))
        abort();
    snprintf(trace_path, sizeof trace_path, "%s/t.ifg", folder);
    snprintf(ring_path, sizeof ring_path, "%s/heap", folder);
    snprintf(library_path, sizeof library_path, "%s/libinferogram-memory.so", folder);
    atexit(remove_folder);
    fd = open(library_path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0)
        abort();
    close(fd);
    fault_begin();
}

/* As the program has it. */
static struct ifg_heap *map_ring(void)
{
    int fd = open(ring_path, O_RDWR | O_CLOEXEC);
    void *memory;

    if (fd < 0)
        abort();
    memory = mmap(NULL, sizeof(struct ifg_heap), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (memory == MAP_FAILED)
        abort();
    return memory;
}

static void put_stack(struct ifg_heap *heap, uint8_t number, const uint8_t *bytes, size_t length)
{
    struct ifg_heap_stack *cell;
    uint64_t position;

    if (!ifg_heap_claim(&heap->head.stacks, &heap->stacks[0].turn, sizeof *cell, IFG_HEAP_STACKS,
                        &position))
        return;
    cell = &heap->stacks[position % IFG_HEAP_STACKS];
    cell->time_ns = position * 1000;
    cell->address = 0x1000u * number;
    cell->bytes = 100u * number;
    cell->interval = IFG_HEAP_INTERVAL;
    cell->ip = (uintptr_t)put_stack;
    cell->sp = 0x7ffe00000000;
    cell->pid = cell->tid = NOBODY;
    cell->stack_bytes = (uint32_t)length;
    memcpy(cell->stack, bytes, length);
    if (number != 0xff) /* else: its producer dies */
        ifg_heap_publish(&cell->turn, position);
}

static void put_free(struct ifg_heap *heap, uint8_t number)
{
    struct ifg_heap_free *cell;
    uint64_t position;

    if (!ifg_heap_claim(&heap->head.frees, &heap->frees[0].turn, sizeof *cell, IFG_HEAP_FREES,
                        &position))
        return;
    cell = &heap->frees[position % IFG_HEAP_FREES];
    cell->time_ns = position * 1000 + 1;
    cell->address = 0x1000u * number;
    cell->pid = cell->tid = NOBODY;
    ifg_heap_publish(&cell->turn, position);
}

static void change(struct ifg_heap *heap, uint8_t kind, uint8_t number, uint16_t offset,
                   const uint8_t *bytes, size_t length)
{
    char *const parts[4] = { (char *)&heap->head, (char *)&heap->stacks[number % IFG_HEAP_STACKS],
                             (char *)&heap->frees[number],
                             (char *)&heap->frees[IFG_HEAP_FREES - 1 - number] };
    const size_t sizes[4] = { sizeof heap->head, sizeof heap->stacks[0], sizeof heap->frees[0],
                              sizeof heap->frees[0] };

    if (kind == 4)
        put_stack(heap, number, bytes, length);
    else if (kind == 5)
        put_free(heap, number);
    if (kind > 3)
        return;
    offset = (uint16_t)(offset % sizes[kind]);
    if (length > sizes[kind] - offset)
        length = sizes[kind] - offset;
    memcpy(parts[kind] + offset, bytes, length);
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

static void hear(void *user, const char *name, enum trace_instrument_state state,
                 const char *reason)
{
    (void)user, (void)name, (void)state, (void)reason;
}

extern const struct source source_heap;

static void work(void *state, uint64_t now_ns)
{
    bool any;

    if (source_heap.work(state, now_ns, &any, NULL))
        abort();
}

static void follow_steps(void *state, struct ifg_heap *heap, const uint8_t *data, size_t size)
{
    uint64_t now_ns = SECOND_NS;

    for (int step = 0; step < STEPS_MAX && size >= HEAD; step++) {
        uint8_t kind = data[0] % 8;
        size_t length = data[4] < size - HEAD ? data[4] : size - HEAD;

        now_ns += kind == 7 ? 2 * SECOND_NS : 1;
        if (kind >= 6)
            work(state, now_ns);
        else
            change(heap, kind, data[1], (uint16_t)(data[2] | data[3] << 8), data + HEAD, length);
        data += HEAD + length;
        size -= HEAD + length;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char program[] = "/proc/self/exe";
    static char *const command[] = { program, NULL };
    static const struct session_options options = { .memory = true,
                                                    .command = command,
                                                    .no_sources = true };
    static const struct sink_calls calls = { .instrument = hear };
    static struct session_result result; /* large */
    struct hooks hooks = { .variable_count = 0 };
    struct recording recording = { .options = &options,
                                   .result = &result,
                                   .sink = { .calls = &calls },
                                   .hooks = &hooks,
                                   .directory = folder };
    struct ifg_heap *heap;
    void *state = NULL;

    if (!trace_path[0])
        prepare();
    unlink(ring_path);
    if (source_heap.open(&recording, &state, NULL) ||
        trace_writer_create(trace_path, true, &recording.sink.writer, NULL) != IFG_OK ||
        !source_heap.begin(state))
        abort();
    heap = map_ring();
    follow_steps(state, heap, data, size);
    if (source_heap.finish(state, NULL))
        abort();
    source_heap.close(state);
    munmap(heap, sizeof *heap);
    hooks_fini(&hooks);
    if (trace_writer_close(recording.sink.writer, NULL) != IFG_OK)
        abort();
    check_readable();
    return 0;
}
