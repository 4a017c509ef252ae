// SPDX-License-Identifier: Apache-2.0
/*
 * Picking allocations by their bytes and handing them to the recorder through the shared file
 * (wire/heap.h): the few that malloc.c does not let through. No locks, no allocation, no waiting;
 * what there is no room for is counted and forgotten.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/ticks.h"
#include "hooks/memory/draw.h"
#include "hooks/memory/memory.h"
#include "wire/heap.h"

#define PAGE             4096u
#define INTERVAL_MAX     ((uint64_t)1 << 40)
#define NEAR_BYTES       ((uintptr_t)1 << 20) /* of a stack that are looked at once */
#define PAGES_AT_ONCE    16u
#define CROWDED          8u
#define POPULATE_WRITE   23                    /* MADV_POPULATE_WRITE, Linux 5.14 */
#define MAIN_STACK_BYTES ((uintptr_t)64 << 20) /* the system keeps more than this free below it */

enum { NOT_YET, AT_IT, ON, OFF };

__thread struct memory_thread memory_thread __attribute__((tls_model("initial-exec")));
struct picked memory_picked;

static int state = NOT_YET;
static struct ifg_heap *heap;
static uint32_t program;  /* which of head.processes we are */
static uint32_t *own_pid; /* 0 after a fork; NULL: it has to be asked for every time */

extern char **environ;
extern void *__libc_stack_end __attribute__((weak)); /* where the main thread's stack begins */

uint64_t memory_now_ns(void)
{
    return memory_confined ? 0 : ifg_monotonic_ns();
}

/* ---- confined programs ---- */

bool memory_confined;

void memory_confine(void)
{
    if (!__atomic_exchange_n(&memory_confined, true, __ATOMIC_RELAXED) && heap)
        __atomic_fetch_add(&heap->head.confined, 1, __ATOMIC_RELAXED);
}

/* Whether there are more filters than the recorder's at the start: by calls that the loader has
 * just made itself. */
static __attribute__((noinline)) bool begins_confined(uint32_t own_filters)
{
    static const char key[] = "\nSeccomp_filters:\t";
    static char text[4096];
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    const char *at;

    if (fd >= 0)
        close(fd);
    text[length > 0 ? length : 0] = '\0';
    at = strstr(text, key);
    return at && strtoul(at + sizeof key - 1, NULL, 10) > own_filters;
}

/* ---- the file ---- */

static struct ifg_heap *map_file(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    struct ifg_heap *mapped = NULL;
    struct stat facts;
    void *memory;

    if (fd < 0)
        return NULL;
    if (fstat(fd, &facts) == 0 && facts.st_size == (off_t)sizeof *mapped) {
        memory = mmap(NULL, sizeof *mapped, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (memory != MAP_FAILED)
            mapped = memory;
    }
    close(fd);
    if (mapped &&
        (mapped->head.magic != IFG_HEAP_MAGIC || mapped->head.version != IFG_HEAP_VERSION)) {
        munmap(mapped, sizeof *mapped);
        mapped = NULL;
    }
    return mapped;
}

/* A page that the kernel empties in forked children. */
static void map_identity(void)
{
    void *memory = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory != MAP_FAILED && madvise(memory, PAGE, MADV_WIPEONFORK) == 0)
        own_pid = memory;
    else if (memory != MAP_FAILED)
        munmap(memory, PAGE);
}

/* Which process and thread this is, by as few system calls as can be. */
static void identify(struct memory_thread *thread)
{
    uint32_t pid = own_pid ? __atomic_load_n(own_pid, __ATOMIC_RELAXED) : 0;

    if (!pid) {
        pid = (uint32_t)getpid();
        if (own_pid)
            __atomic_store_n(own_pid, pid, __ATOMIC_RELAXED);
    }
    if (thread->pid == pid && own_pid)
        return;
    thread->pid = pid;
    thread->tid = (uint32_t)syscall(SYS_gettid);
}

/* Whether anybody wants to know. A malloc before libc has found the environment is too early. */
static int begin(void)
{
    int expected = NOT_YET;
    const char *path;

    if (!environ || !__atomic_compare_exchange_n(&state, &expected, AT_IT, false, __ATOMIC_ACQ_REL,
                                                 __ATOMIC_ACQUIRE))
        return expected;
    path = secure_getenv(IFG_ENV_MEMORY);
    if (path && *path)
        heap = map_file(path);
    if (heap)
        map_identity();
    if (heap)
        program = __atomic_add_fetch(&heap->head.processes, 1, __ATOMIC_RELAXED);
    if (heap && begins_confined(heap->head.filters))
        memory_confine();
    __atomic_store_n(&state, heap ? ON : OFF, __ATOMIC_RELEASE);
    return heap ? ON : OFF;
}

static bool is_open(void)
{
    return heap && !memory_confined && __atomic_load_n(&heap->head.open, __ATOMIC_RELAXED);
}

/* ---- the stack ---- */

/* Not memcpy: that of a sanitizer looks at what it copies, and stacks are full of traps. */
static void copy(uint8_t *to, uint64_t from, size_t bytes)
{
    const volatile uint64_t *source = (const volatile uint64_t *)(uintptr_t)from;
    uint64_t *words = (uint64_t *)(void *)to;

#if defined(__x86_64__)
    size_t count = bytes / 8;

    __asm__ volatile("rep movsq" : "+D"(words), "+S"(source), "+c"(count) : : "memory");
#else
    for (size_t i = 0; i < bytes / 8; i++)
        words[i] = source[i];
#endif
}

/* The kernel reads what is there and stops where nothing is. */
static size_t read_carefully(const struct iovec *to, const struct iovec *from, size_t count)
{
    long got;

    if (!heap->head.can_read)
        return 0;
    got = syscall(SYS_process_vm_readv, memory_thread.pid, to, 1, from, count, 0);
    return got > 0 ? (size_t)got : 0;
}

/* Whether every page from low to high can be read. A few at a time: the stack may be small. */
static bool has_no_gap(uintptr_t low, uintptr_t high)
{
    struct iovec from[PAGES_AT_ONCE];
    uint8_t bytes[PAGES_AT_ONCE];
    struct iovec to = { bytes, sizeof bytes };

    while (low < high) {
        size_t count = 0;

        for (; low < high && count < PAGES_AT_ONCE; low += PAGE)
            from[count++] = (struct iovec){ (void *)low, 1 };
        if (read_carefully(&to, from, count) != count)
            return false;
    }
    return true;
}

/* Where the C library puts a thread's own variables: above its frames, on the same stack. Whether
 * sp is on that stack too, and not on that of a coroutine, can be seen by what is between: no page
 * is missing, while below a stack there is one that cannot be read. That is asked once. */
static bool is_own_stack(struct memory_thread *thread, uintptr_t sp)
{
    uintptr_t top = (uintptr_t)thread;
    uintptr_t low = sp & ~(uintptr_t)(PAGE - 1);
    uintptr_t high = thread->stack_low ? thread->stack_low : top & ~(uintptr_t)(PAGE - 1);

    if (thread->pid == thread->tid || sp >= top || top - sp >= NEAR_BYTES)
        return false;
    if (low < high && !has_no_gap(low, high))
        return false;
    if (low < high)
        thread->stack_low = low;
    return true;
}

/* As much as there is from sp on. Where a coroutine's stack ends nobody knows without asking. */
static uint32_t copy_stack(struct memory_thread *thread, uint8_t *to, uint64_t sp)
{
    uintptr_t end = &__libc_stack_end ? (uintptr_t)__libc_stack_end : 0;
    size_t bytes = IFG_HEAP_STACK_BYTES;

    sp &= ~(uint64_t)7;
    if (sp >= end || end - sp >= MAIN_STACK_BYTES)
        end = is_own_stack(thread, sp) ? (uintptr_t)thread : 0;
    if (!end) {
        struct iovec local = { to, bytes };
        struct iovec remote = { (void *)(uintptr_t)sp, bytes };
        size_t got = read_carefully(&local, &remote, 1);

        if (got)
            return (uint32_t)(got & ~(size_t)7);
        end = (sp | (PAGE - 1)) + 1;
    }
    if (bytes > end - sp)
        bytes = (end - sp) & ~(size_t)7;
    copy(to, sp, bytes);
    return (uint32_t)bytes;
}

/* ---- handing over ---- */

/* Before the first pick of a process: page by page it would take ten times as long, spread over the
 * first picks. An old kernel cannot; then it is so. */
static void populate(void)
{
    static bool done;

    if (!__atomic_exchange_n(&done, true, __ATOMIC_RELAXED))
        madvise(heap->stacks, sizeof heap->stacks, POPULATE_WRITE);
}

static void hand_over(struct memory_thread *thread, void *block, size_t bytes,
                      const struct memory_caller *caller)
{
    struct ifg_heap_stack *slot;
    uint64_t position;

    populate();
    if (!picked_put(&memory_picked, block)) {
        __atomic_fetch_add(&heap->head.stacks.lost, 1, __ATOMIC_RELAXED);
        return;
    }
    if (!ifg_heap_claim(&heap->head.stacks, heap->stacks, sizeof *slot, IFG_HEAP_STACKS,
                        &position)) {
        picked_take(&memory_picked, block);
        return;
    }
    slot = &heap->stacks[position % IFG_HEAP_STACKS];
    identify(thread);
    slot->time_ns = memory_now_ns();
    slot->address = (uint64_t)(uintptr_t)block;
    slot->bytes = bytes;
    slot->interval = thread->interval;
    slot->ip = caller->ip;
    slot->sp = caller->sp;
    slot->fp = caller->fp;
    slot->pid = thread->pid;
    slot->tid = thread->tid;
    slot->program = program;
    slot->stack_bytes = copy_stack(thread, slot->stack, caller->sp);
    ifg_heap_publish(&slot->turn, position);
}

void memory_note_end(const void *block, uint64_t time_ns)
{
    struct ifg_heap_free *cell;
    int saved_errno = errno;
    uint64_t position;

    if (!is_open() ||
        !ifg_heap_claim(&heap->head.frees, heap->frees, sizeof *cell, IFG_HEAP_FREES, &position))
        return;
    cell = &heap->frees[position % IFG_HEAP_FREES];
    cell->time_ns = time_ns;
    cell->address = (uint64_t)(uintptr_t)block;
    identify(&memory_thread);
    cell->pid = memory_thread.pid;
    cell->tid = memory_thread.tid;
    ifg_heap_publish(&cell->turn, position);
    errno = saved_errno;
}

/* ---- when ---- */

/* From now on nothing of this thread is picked. */
static void rest(struct memory_thread *thread)
{
    thread->interval = PTRDIFF_MAX; /* more cannot be had anyway */
    thread->left = INT64_MAX / 2;
}

/* Whether so many cells behind the next one are still full. */
static bool is_full_at(uint64_t next, uint64_t cells)
{
    uint64_t position = next + cells;

    return __atomic_load_n(&heap->stacks[position % IFG_HEAP_STACKS].turn, __ATOMIC_RELAXED) !=
           position;
}

/* As the recorder wishes; rarer when it cannot keep up, so that what a burst allocates is picked
 * thinly and not cut off. */
static uint64_t wanted_interval(void)
{
    uint64_t interval = __atomic_load_n(&heap->head.interval, __ATOMIC_RELAXED);
    uint64_t next = __atomic_load_n(&heap->head.stacks.head, __ATOMIC_RELAXED);

    if (!interval || interval > INTERVAL_MAX)
        interval = INTERVAL_MAX;
    if (is_full_at(next, IFG_HEAP_STACKS / 8))
        return interval * CROWDED * CROWDED;
    return is_full_at(next, IFG_HEAP_STACKS / 2) ? interval * CROWDED : interval;
}

static void draw(struct memory_thread *thread, uint64_t interval)
{
    if (!thread->random)
        thread->random = ((uint64_t)(uintptr_t)thread ^ memory_now_ns() << 20) | 1;
    thread->interval = (size_t)interval;
    thread->left = draw_interval(&thread->random, interval);
}

/* Whether this one is picked, of those that did not pass. */
static bool is_picked(struct memory_thread *thread, size_t bytes)
{
    int now = __atomic_load_n(&state, __ATOMIC_ACQUIRE);

    if (now == NOT_YET)
        now = begin();
    if (now == NOT_YET || now == AT_IT)
        return false;
    if (now == OFF || !is_open()) {
        rest(thread);
        return false;
    }
    if (thread->interval)
        return true;
    draw(thread, wanted_interval()); /* a new thread */
    return bytes >= thread->interval || (thread->left -= (int64_t)bytes) < 0;
}

/* Below us the stack still has the block's address: whoever looks for leaks in stacks (LSan) would
 * find it there, in the holes of some later frame, and take the block for one in use. */
static __attribute__((noinline)) void forget_below(void)
{
    volatile uint64_t area[128];

    for (size_t i = 0; i < sizeof area / sizeof *area; i++)
        area[i] = 0;
}

void memory_note(void *block, size_t bytes, const struct memory_caller *caller)
{
    struct memory_thread *thread = &memory_thread;
    int saved_errno = errno;

    if (!block || thread->inside || thread->resolving)
        return;
    thread->inside = true;
    if (is_picked(thread, bytes)) {
        uint64_t interval;

        hand_over(thread, block, bytes, caller);
        /* Another interval holds from the next byte on: this one was picked by the old one. */
        interval = wanted_interval();
        if (thread->left < 0 || thread->interval != interval)
            draw(thread, interval);
        forget_below();
    }
    thread->inside = false;
    errno = saved_errno;
}

/* Before main: who loads us is counted, and whether its allocations come to us at all. */
__attribute__((constructor)) static void arrive(void)
{
    void *volatile block;
    int64_t left;

    if (begin() == NOT_YET || !heap)
        return;
    if (memory_confined)
        return;
    left = memory_thread.left;
    block = malloc(64);
    if (memory_thread.left == left)
        __atomic_fetch_add(&heap->head.foreign, 1, __ATOMIC_RELAXED);
    free(block);
}
