// SPDX-License-Identifier: Apache-2.0
/*
 * heap_target MODE: a program whose allocations are known. Prints "done" and exits with 7.
 *
 *   shares   take_large 150 MB in 1.5 MB, take_middle 200 MB in 100 KB, take_small 100 MB in 500 B;
 *            all at once, then the middle ones are given back
 *   threads  four threads, 40 MB each, and as much on a stack of its own that ends at a page which
 *            cannot be read
 *   fork     60 MB in a child, which then runs `heap_target leaf`, 30 MB; 10 MB in the parent
 *   chain    a block that grows from 1 KB to 64 MB, three times; two of them are given back
 *   rules    what the C library promises: errors, alignment, errno, contents
 *   endless  allocates until it is told to end
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "wire/heap.h"

#define MB 1000000u
#if defined(__clang__)
#define APART __attribute__((noinline))
#else
#define APART __attribute__((noinline, noclone))
#endif
#define THREADS 4
#define MIDDLE  2000

static void *keep[300000];
static size_t kept;

static void hold(void *block)
{
    if (!block)
        exit(1);
    *(volatile char *)block = 1;
    keep[kept++] = block;
}

static void wait_ms(long ms)
{
    struct timespec time = { 0, ms * 1000000 };

    nanosleep(&time, NULL);
}

/* ---- shares ---- */

static bool paced; /* by the recorder */

/* Until the recorder has taken what was picked, at most ten seconds: beside much other work it
 * comes late, and what is picked until then is picked more rarely. */
static void await_recorder(void)
{
    static struct ifg_heap *heap;
    const char *path = getenv(IFG_ENV_MEMORY);
    int fd = heap || !path ? -1 : open(path, O_RDWR | O_CLOEXEC);

    if (fd >= 0) {
        void *memory = mmap(NULL, sizeof *heap, PROT_READ, MAP_SHARED, fd, 0);

        if (memory != MAP_FAILED)
            heap = memory;
        close(fd);
    }
    for (int i = 0; heap && i < 10000; i++) {
        uint64_t next = __atomic_load_n(&heap->head.stacks.head, __ATOMIC_RELAXED);

        if (!next || __atomic_load_n(&heap->stacks[(next - 1) % IFG_HEAP_STACKS].turn,
                                     __ATOMIC_RELAXED) >= next - 1 + IFG_HEAP_STACKS)
            return;
        wait_ms(1);
    }
}

/* No faster than a program that does something with its memory. */
static void pause_after(size_t *bytes, size_t more)
{
    *bytes += more;
    if (*bytes < 5 * MB)
        return;
    *bytes = 0;
    if (paced)
        await_recorder();
    else
        wait_ms(1);
}

static APART void take_large(void)
{
    size_t bytes = 0;

    for (int i = 0; i < 100; i++) {
        hold(malloc(1500000));
        pause_after(&bytes, 1500000);
    }
}

static APART void take_middle(void)
{
    size_t bytes = 0;

    for (int i = 0; i < MIDDLE; i++) {
        hold(i & 1 ? malloc(100000) : calloc(1000, 100));
        pause_after(&bytes, 100000);
    }
}

static APART void take_small(void)
{
    size_t bytes = 0;

    for (int i = 0; i < 200000; i++) {
        hold(malloc(500));
        pause_after(&bytes, 500);
    }
}

static APART void shares(void)
{
    size_t middle;

    paced = true;
    take_large();
    middle = kept;
    take_middle();
    take_small();
    wait_ms(20);
    for (size_t i = middle; i < middle + MIDDLE; i++)
        free(keep[i]);
    wait_ms(20);
}

/* ---- threads ---- */

static ucontext_t back[THREADS], own[THREADS];

static APART void take_in_thread(int count)
{
    size_t bytes = 0;

    for (int i = 0; i < count; i++) {
        char *volatile block = malloc(200000);

        if (!block)
            exit(1);
        block[0] = 1;
        free(block);
        pause_after(&bytes, 200000);
    }
}

static void on_own_stack(void)
{
    take_in_thread(200);
}

static void *thread(void *user)
{
    size_t me = (size_t)(uintptr_t)user;
    size_t size = 64u << 10;
    char *stack = mmap(NULL, size + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    take_in_thread(200);
    if (stack == MAP_FAILED || mprotect(stack + 4096, size, PROT_READ | PROT_WRITE) != 0)
        exit(1);
    getcontext(&own[me]);
    own[me].uc_stack.ss_sp = stack + 4096;
    own[me].uc_stack.ss_size = size;
    own[me].uc_link = &back[me];
    makecontext(&own[me], on_own_stack, 0);
    swapcontext(&back[me], &own[me]);
    munmap(stack, size + 8192);
    return NULL;
}

static void threads(void)
{
    pthread_t all[THREADS];

    wait_ms(20);
    for (uintptr_t i = 0; i < THREADS; i++)
        if (pthread_create(&all[i], NULL, thread, (void *)i) != 0)
            exit(1);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(all[i], NULL);
    wait_ms(20);
}

/* ---- fork and exec ---- */

static APART void take_in_parent(void)
{
    for (int i = 0; i < 100; i++)
        hold(malloc(100000));
}

static APART void take_in_child(void)
{
    for (int i = 0; i < 600; i++)
        hold(malloc(100000));
}

static APART void take_in_leaf(void)
{
    for (int i = 0; i < 300; i++)
        hold(malloc(100000));
}

static void leaf(void)
{
    take_in_leaf();
    wait_ms(20);
}

static void fork_and_exec(const char *self)
{
    pid_t pid;
    int status;

    take_in_parent();
    pid = fork();
    if (pid == 0) {
        take_in_child();
        wait_ms(20);
        execl(self, self, "leaf", (char *)NULL);
        _exit(1);
    }
    if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 7)
        exit(1);
}

/* ---- realloc ---- */

static APART void grow(void)
{
    char *block = NULL;

    for (size_t size = 1000; size <= 64 * MB; size *= 2) {
        char *bigger = realloc(block, size);

        if (!bigger || (block && bigger[0] != 'x'))
            exit(1);
        block = bigger;
        block[0] = 'x';
        block[size - 1] = 'y';
    }
    hold(block);
    *(char *)block = 'x';
}

static void chain(void)
{
    wait_ms(10);
    for (int i = 0; i < 3; i++)
        grow();
    wait_ms(20);
    free(keep[0]);
    keep[1] = realloc(keep[1], 0);
    wait_ms(20);
}

/* ---- rules ---- */

#define RULE(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("line %d: " #condition "\n", __LINE__);                                         \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static void rules(void)
{
    volatile size_t too_much = PTRDIFF_MAX;
    void *block = NULL;
    char *text;

    errno = 77;
    for (int i = 0; i < 50; i++) {
        text = malloc(1 * MB);
        RULE(text && errno == 77);
        memset(text, 'a' + i % 26, 1 * MB);
        text = realloc(text, 2 * MB);
        RULE(text && errno == 77 && text[MB - 1] == 'a' + i % 26);
        RULE(realloc(text, too_much) == NULL && errno == ENOMEM && text[5] == 'a' + i % 26);
        errno = 77;
        free(text);
        RULE(errno == 77);
    }
    RULE(malloc(too_much) == NULL && errno == ENOMEM);
    errno = 0;
    RULE(calloc(too_much, 4) == NULL && errno == ENOMEM);
    errno = 0;
    RULE(reallocarray(NULL, too_much, 4) == NULL && errno == ENOMEM);
    RULE(posix_memalign(&block, 3, 100) == EINVAL);
    for (size_t alignment = 16; alignment <= 1u << 20; alignment *= 2) {
        RULE(posix_memalign(&block, alignment, 3 * MB) == 0 && (uintptr_t)block % alignment == 0);
        free(block);
        block = aligned_alloc(alignment, 2u << 20);
        RULE(block && (uintptr_t)block % alignment == 0);
        block = realloc(block, 10);
        free(block);
        block = memalign(alignment, 700000);
        RULE(block && (uintptr_t)block % alignment == 0 && malloc_usable_size(block) >= 700000);
        free(block);
    }
    block = valloc(1 * MB);
    RULE(block && (uintptr_t)block % 4096 == 0);
    free(block);
    block = pvalloc(1 * MB + 1);
    RULE(block && (uintptr_t)block % 4096 == 0);
    free(block);
    text = calloc(1000, 1000);
    RULE(text);
    for (size_t i = 0; i < MB; i++)
        RULE(text[i] == 0);
    free(text);
    text = reallocarray(NULL, 1000, 1000);
    RULE(text);
    text = reallocarray(text, 2000, 1000);
    RULE(text);
    free(text);
    free(NULL);
    text = strdup("still here");
    RULE(text && strcmp(text, "still here") == 0);
    free(text);
}

/* ---- endless ---- */

static volatile sig_atomic_t over;

static void end(int number)
{
    (void)number;
    over = 1;
}

static void endless(void)
{
    signal(SIGTERM, end);
    printf("ready\n");
    fflush(stdout);
    while (!over)
        take_in_thread(100);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "shares";

    if (strcmp(mode, "shares") == 0)
        shares();
    else if (strcmp(mode, "threads") == 0)
        threads();
    else if (strcmp(mode, "fork") == 0)
        fork_and_exec(argv[0]);
    else if (strcmp(mode, "leaf") == 0)
        leaf();
    else if (strcmp(mode, "chain") == 0)
        chain();
    else if (strcmp(mode, "rules") == 0)
        rules();
    else if (strcmp(mode, "endless") == 0)
        endless();
    else
        return 2;
    if (strcmp(mode, "leaf") != 0)
        printf("done\n");
    return 7;
}
