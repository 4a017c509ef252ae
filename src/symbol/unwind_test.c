// SPDX-License-Identifier: Apache-2.0
/*
 * Unwinding of this very process: stacks that libgcc's unwinder, which shares no code with ours,
 * walks too; a function without any description that uses the frame pointer for something else; a
 * signal handler; stacks that are cut or lie.
 */
#include "symbol/unwind.h"

#include <execinfo.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "tap.h"

/* Of what a sanitizer puts on the stack, and of its own backtrace(), nothing can be said. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED
#endif

#if defined(__x86_64__) && !defined(SANITIZED)

#define STACK_BYTES 32768
#define MODULES_MAX 32

static struct unwind_cache *cache;
static struct unwind_space *space;
static struct unwind_trail *trail;
static struct elf_file *files[MODULES_MAX];
static struct unwind_table *tables[MODULES_MAX];
static size_t module_count;

static struct unwind_frames taken;
static size_t kept; /* frames that came from a trail */
static void *expected[UNWIND_FRAMES_MAX];
static int expected_count;
static uint8_t copy[STACK_BYTES];
static struct unwind_stack stack;

static void map_module(const char *path, uint64_t start, uint64_t end, uint64_t offset)
{
    struct unwind_mapping mapping = { .start = start, .end = end };
    struct elf_position position;

    if (*path == '/' && module_count < MODULES_MAX &&
        elf_file_open(path, &files[module_count], NULL) == IFG_OK) {
        mapping.elf = files[module_count];
        if (unwind_table_build(mapping.elf, &tables[module_count], NULL) == IFG_OK)
            mapping.table = tables[module_count];
        /* Find an address of the file that lies at this offset. */
        for (uint64_t vaddr = offset & ~(uint64_t)0xfff; vaddr < (offset | 0xfff) + (16u << 20);
             vaddr += 0x1000)
            if (elf_file_locate(mapping.elf, vaddr, &position) && position.executable &&
                position.file_offset == offset) {
                mapping.bias = start - vaddr;
                break;
            }
        module_count++;
    }
    REQUIRE(unwind_space_map(space, &mapping, NULL) == IFG_OK);
}

static void map_everything(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];

    REQUIRE(maps != NULL);
    cache = unwind_cache_create();
    REQUIRE(cache != NULL);
    space = unwind_space_create(cache);
    trail = unwind_trail_create();
    REQUIRE(space != NULL && trail != NULL);
    while (fgets(line, sizeof line, maps)) {
        char *at = line;
        uint64_t start = strtoull(at, &at, 16);
        uint64_t end = strtoull(at + 1, &at, 16);
        const char *rights = at + 1;
        uint64_t offset = strtoull(at + 6, &at, 16);
        char *path = strchr(line, '/');

        line[strcspn(line, "\n")] = '\0';
        if (rights[2] == 'x')
            map_module(path ? path : "", start, end, offset);
    }
    fclose(maps);
}

static void clean_up(void)
{
    unwind_space_destroy(space);
    unwind_cache_destroy(cache);
    unwind_trail_destroy(trail);
    for (size_t i = 0; i < module_count; i++) {
        unwind_table_destroy(tables[i]);
        elf_file_close(files[i]);
        tables[i] = NULL;
    }
    module_count = 0;
}

/* With a trail that remembers the walk before, and without: never a difference. */
static void walk_both_ways(const struct unwind_stack *from, struct unwind_frames *out)
{
    static struct unwind_frames again;

    unwind_walk(space, from, NULL, out);
    unwind_walk(space, from, trail, &again);
    kept += again.kept;
    if (again.count != out->count || again.exact != out->exact || again.stop != out->stop ||
        memcmp(again.address, out->address, out->count * sizeof out->address[0]) != 0 ||
        memcmp(again.mapping, out->mapping, out->count * sizeof out->mapping[0]) != 0)
        CHECK(!"the same with a trail");
}

/* A copy as perf makes it: from the stack pointer on, registers of the same moment. */
static void take_copy(uint64_t ip, uint64_t sp, uint64_t fp, size_t size)
{
    pthread_attr_t attributes;
    void *low;
    size_t all;

    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &low, &all);
    pthread_attr_destroy(&attributes);
    if (size > (uint64_t)(uintptr_t)low + all - sp)
        size = (size_t)((uint64_t)(uintptr_t)low + all - sp);
    memcpy(copy, (const void *)(uintptr_t)sp, size);
    stack = (struct unwind_stack){ .ip = ip, .sp = sp, .fp = fp, .bytes = copy, .size = size };
}

/* Its own frame is the innermost one of both walks. */
__attribute__((noinline)) static void capture(void)
{
    ucontext_t context;

    expected_count = backtrace(expected, UNWIND_FRAMES_MAX);
    getcontext(&context);
    take_copy((uint64_t)context.uc_mcontext.gregs[REG_RIP],
              (uint64_t)context.uc_mcontext.gregs[REG_RSP],
              (uint64_t)context.uc_mcontext.gregs[REG_RBP], sizeof copy);
    walk_both_ways(&stack, &taken);
}

static void check_callers(void)
{
    CHECK_INT(taken.stop, UNWIND_AT_ROOT);
    CHECK_UINT(taken.count, (unsigned)expected_count);
    for (size_t i = 1; i < taken.count && i < (size_t)expected_count; i++)
        CHECK_UINT(taken.address[i], (uint64_t)(uintptr_t)expected[i]);
}

__attribute__((noinline)) static unsigned deep(unsigned levels)
{
    volatile char room[48];

    room[levels % sizeof room] = (char)levels;
    if (!levels)
        capture();
    else
        deep(levels - 1);
    return (unsigned)room[levels % sizeof room]; /* and so it is no tail call */
}

static void known_callers(void)
{
    map_everything();
    deep(0);
    check_callers();
    CHECK_UINT(taken.exact, taken.count);
    deep(40);
    check_callers();
    CHECK(taken.count > 40);
    clean_up();
}

static int compare(const void *left, const void *right)
{
    (void)right;
    if (!expected_count)
        deep(3);
    return left < right ? -1 : 1;
}

static void through_a_library(void)
{
    int values[] = { 3, 1, 2 };

    map_everything();
    expected_count = 0;
    qsort(values, 3, sizeof values[0], compare);
    check_callers();
    clean_up();
}

static void *in_thread(void *user)
{
    deep(5);
    return user;
}

static void of_a_thread(void)
{
    pthread_t thread;

    map_everything();
    REQUIRE(pthread_create(&thread, NULL, in_thread, NULL) == 0);
    pthread_join(thread, NULL);
    check_callers();
    clean_up();
}

/* Realigns its stack: its frame's address is stored, and the table says where. */
__attribute__((noinline)) static unsigned realigned(unsigned size)
{
    volatile char block[64] __attribute__((aligned(64)));
    volatile char *more = __builtin_alloca(size);

    block[size % sizeof block] = 1;
    more[0] = 1;
    deep(2);
    return (unsigned)(block[0] + more[0]);
}

static void with_a_realigned_stack(void)
{
    map_everything();
    realigned(100);
    check_callers();
    clean_up();
}

/* ---- code without a description ---- */

void undescribed(void (*call)(void));
__asm__(".text\n"
        ".globl undescribed\n"
        ".type undescribed, @function\n"
        "undescribed:\n"
        "    push %rbp\n"
        "    push %rbx\n"
        "    sub $40, %rsp\n"
        "    mov $12345, %rbp\n" /* as hand-written kernels do */
        "    movq $77, (%rsp)\n"
        "    call *%rdi\n"
        "    add $40, %rsp\n"
        "    pop %rbx\n"
        "    pop %rbp\n"
        "    ret\n"
        ".size undescribed, . - undescribed\n");

static struct unwind_frames outer;
static uint64_t kernel_ip, kernel_sp;

/* Called by the undescribed function: pretends that the sample was taken in there. */
static void sample_caller(void)
{
    ucontext_t context;
    struct unwind_frames here;

    getcontext(&context);
    take_copy((uint64_t)context.uc_mcontext.gregs[REG_RIP],
              (uint64_t)context.uc_mcontext.gregs[REG_RSP],
              (uint64_t)context.uc_mcontext.gregs[REG_RBP], sizeof copy);
    walk_both_ways(&stack, &here); /* from here: the first frame is exact */
    taken = here;
    kernel_ip = (uint64_t)(uintptr_t)__builtin_return_address(0);
    kernel_sp = (uint64_t)(uintptr_t)__builtin_frame_address(0) + 16;
    take_copy(kernel_ip, kernel_sp, 12345, sizeof copy);
    walk_both_ways(&stack, &here);
    outer = here;
}

__attribute__((noinline)) static void run_undescribed(void)
{
    expected_count = backtrace(expected, UNWIND_FRAMES_MAX);
    undescribed(sample_caller);
    __asm__ volatile("" ::: "memory");
}

static void without_a_description(void)
{
    map_everything();
    run_undescribed();
    /* undescribed, run_undescribed at another place, and then the same callers */
    CHECK_INT(outer.stop, UNWIND_AT_ROOT);
    CHECK_UINT(outer.exact, 1);
    CHECK_UINT(outer.count, (unsigned)expected_count + 1);
    for (size_t i = 2; i < outer.count && i <= (size_t)expected_count; i++)
        CHECK_UINT(outer.address[i], (uint64_t)(uintptr_t)expected[i - 1]);
    CHECK_INT(taken.stop, UNWIND_AT_ROOT);
    CHECK(taken.exact < taken.count);
    /* The second time the place is known. */
    run_undescribed();
    CHECK_INT(outer.stop, UNWIND_AT_ROOT);
    CHECK_UINT(outer.count, (unsigned)expected_count + 1);
    clean_up();
}

/* ---- a signal handler ---- */

static void on_signal(int number)
{
    (void)number;
    capture();
}

static void in_a_signal_handler(void)
{
    struct sigaction action = { .sa_handler = on_signal };

    map_everything();
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    check_callers();
    clean_up();
}

/* ---- stacks that are cut or lie ---- */

static void cut_short(void)
{
    struct unwind_stack shorter;

    map_everything();
    deep(40);
    shorter = stack;
    for (size_t size = 0; size < stack.size; size += 8) {
        struct unwind_frames frames;

        shorter.size = size;
        walk_both_ways(&shorter, &frames);
        CHECK(frames.count >= 1 && frames.count <= taken.count);
        if (frames.stop != UNWIND_AT_ROOT)
            CHECK_INT(frames.stop, UNWIND_CUT);
        for (size_t i = 0; i < frames.count; i++)
            if (frames.address[i] != taken.address[i]) {
                CHECK_UINT(frames.address[i], taken.address[i]);
                break;
            }
    }
    clean_up();
}

static void full_of_lies(void)
{
    uint32_t dice = 7;

    map_everything();
    deep(20);
    for (int round = 0; round < 3000; round++) {
        struct unwind_frames frames;
        struct unwind_stack lying = stack;

        for (int i = 0; i < 40; i++) {
            dice = dice * 1664525u + 1013904223u;
            copy[(dice >> 8) % stack.size] = (uint8_t)(dice >> 3);
        }
        lying.ip += dice % 64;
        lying.fp = dice % 3 ? lying.sp + dice % 4096 : dice;
        walk_both_ways(&lying, &frames);
        CHECK(frames.count <= UNWIND_FRAMES_MAX && frames.exact <= frames.count);
    }
    clean_up();
}

/* The trail is of the stack as it was; then one word of it lies, and then it does not any more. */
static size_t lie_everywhere(const struct unwind_frames *truth)
{
    size_t changed = 0;

    for (size_t at = 0; at + 8 <= stack.size; at += 8)
        for (uint64_t shift = 0; shift < 64; shift += 21) {
            struct unwind_frames frames;
            uint64_t word, lie;

            memcpy(&word, copy + at, 8);
            lie = shift ? word + (1ull << (shift - 18)) : 0;
            memcpy(copy + at, &lie, 8);
            walk_both_ways(&stack, &frames);
            changed += frames.count != truth->count ||
                       memcmp(frames.address, truth->address, 8 * truth->count) != 0;
            memcpy(copy + at, &word, 8);
            walk_both_ways(&stack, &frames);
        }
    return changed;
}

static void every_word_counts(void)
{
    map_everything();
    kept = 0;
    realigned(100);
    CHECK(lie_everywhere(&taken) >= taken.count - 1); /* each return address at least */
    run_undescribed();
    CHECK(lie_everywhere(&outer) >= outer.count - 1);
    CHECK(kept > 1000);
    clean_up();
}

/* A thread calls from another place: the frames outside are the same. */
static void trails_are_followed(void)
{
    size_t whole;

    map_everything();
    deep(20);
    whole = taken.count;
    kept = 0;
    walk_both_ways(&stack, &taken);
    CHECK_UINT(kept, whole - 1); /* the innermost one is none to return to */
    kept = 0;
    deep(19);
    CHECK(kept > 0 && kept < whole - 2);
    /* What is mapped has changed: all is walked again. */
    kept = 0;
    unwind_space_unmap(space, 0x1000, 0x2000);
    walk_both_ways(&stack, &taken);
    CHECK_UINT(kept, 0);
    clean_up();
}

static void of_a_copied_space(void)
{
    struct unwind_space *original;

    map_everything();
    deep(3);
    original = space;
    space = unwind_space_copy(original);
    REQUIRE(space != NULL);
    unwind_space_unmap(original, 0, UINT64_MAX);
    deep(3);
    check_callers();
    unwind_space_destroy(original);
    deep(4);
    check_callers();
    clean_up();
}

static void mappings_come_and_go(void)
{
    struct unwind_mapping mapping = { .start = 0x1000, .end = 0x9000, .bias = 1 };

    cache = unwind_cache_create();
    REQUIRE(cache != NULL);
    space = unwind_space_create(cache);
    REQUIRE(space != NULL);
    REQUIRE(unwind_space_map(space, &mapping, NULL) == IFG_OK);
    mapping = (struct unwind_mapping){ .start = 0x3000, .end = 0x5000, .bias = 2 };
    REQUIRE(unwind_space_map(space, &mapping, NULL) == IFG_OK);
    CHECK_UINT(unwind_space_find(space, 0x2fff)->bias, 1);
    CHECK_UINT(unwind_space_find(space, 0x3000)->bias, 2);
    CHECK_UINT(unwind_space_find(space, 0x5000)->bias, 1);
    CHECK(unwind_space_find(space, 0xfff) == NULL && unwind_space_find(space, 0x9000) == NULL);
    unwind_space_unmap(space, 0x4000, 0x6000);
    CHECK(unwind_space_find(space, 0x4000) == NULL && unwind_space_find(space, 0x5fff) == NULL);
    CHECK_UINT(unwind_space_find(space, 0x3fff)->bias, 2);
    CHECK_UINT(unwind_space_find(space, 0x6000)->bias, 1);
    mapping = (struct unwind_mapping){ .start = 0, .end = 0x10000, .bias = 3 };
    REQUIRE(unwind_space_map(space, &mapping, NULL) == IFG_OK);
    CHECK_UINT(unwind_space_find(space, 0x6000)->bias, 3);
    mapping.end = mapping.start;
    CHECK_INT(unwind_space_map(space, &mapping, NULL), IFG_INVALID);
    unwind_space_destroy(space);
    unwind_cache_destroy(cache);
}

TAP_MAIN(TAP_CASE(known_callers), TAP_CASE(through_a_library), TAP_CASE(of_a_thread),
         TAP_CASE(with_a_realigned_stack), TAP_CASE(without_a_description),
         TAP_CASE(in_a_signal_handler), TAP_CASE(cut_short), TAP_CASE(full_of_lies),
         TAP_CASE(every_word_counts), TAP_CASE(trails_are_followed), TAP_CASE(of_a_copied_space),
         TAP_CASE(mappings_come_and_go))

#else

static void of_this_process(void)
{
    SKIP("written for x86-64, and for stacks without a sanitizer's own frames");
}

TAP_MAIN(TAP_CASE(of_this_process))

#endif
