// SPDX-License-Identifier: Apache-2.0
/*
 * What a program tells about itself in /proc, processes that come and go faster than anybody can
 * look, and the ring of the allocation hook.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hostile.h"
#include "wire/heap.h"

#define USER 61009 /* as in tools/run-hostile */

extern char **environ;

/* ---- names ---- */

static void *be_named(void *user)
{
    char name[16];

    (void)user;
    for (int i = 0; i < 20; i++) {
        hostile_name(name, sizeof name);
        prctl(PR_SET_NAME, name);
        usleep(1000);
    }
    return NULL;
}

/* A file with any name, mapped as if it had code. */
static void map_named(const void *code, size_t size)
{
    char name[120];
    int fd;

    hostile_name(name, sizeof name);
    fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, code, size) != (ssize_t)size)
        return;
    code = mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    close(fd);
    if (code != MAP_FAILED)
        for (int i = 0; i < 5; i++)
            hostile_call((char *)code + 64 * hostile_below(size / 64));
    if (hostile_below(3) == 0)
        unlink(name);
}

/* From where argv begins to where environ ends. */
static void scribble_arguments(char **arguments)
{
    char *end = arguments[0];

    for (char **word = environ; *word; word++)
        end = *word + strlen(*word);
    for (char *at = arguments[0]; at < end; at++)
        *at = (char)hostile_random();
}

/* The program itself, under any name and deleted. */
static void run_renamed(void)
{
    char name[100];
    char folder[100];
    pid_t child = fork();
    int status;

    if (child < 0)
        return;
    if (child > 0) {
        waitpid(child, &status, 0);
        return;
    }
    hostile_name(folder, sizeof folder);
    hostile_name(name, sizeof name);
    if (mkdir(folder, 0755) == 0 && chdir(folder) == 0) {
        int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
        int to = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
        char block[65536];
        ssize_t got;

        while (from >= 0 && to >= 0 && (got = read(from, block, sizeof block)) > 0)
            if (write(to, block, (size_t)got) != got)
                break;
        if (to >= 0)
            close(to);
        execl(name, name, "nothing", (char *)NULL);
        unlink(name);
    }
    _exit(0);
}

int hostile_names(const struct hostile *hostile, char **arguments)
{
    struct hostile kept = *hostile;
    char *code = hostile_made_code(8192);
    pthread_t threads[4];

    if (!code)
        return 77;
    for (int round = 0; hostile_goes_on(&kept); round++) {
        size_t started = 0;

        while (started < 4 && pthread_create(&threads[started], NULL, be_named, NULL) == 0)
            started++;
        map_named(code, 8192);
        run_renamed();
        be_named(NULL);
        if (round == 1)
            scribble_arguments(arguments);
        if (round == 3 && mkdir("gone", 0755) == 0 && chdir("gone") == 0 && rmdir("../gone") < 0)
            return 5;
        while (started)
            pthread_join(threads[--started], NULL);
    }
    return 0;
}

/* ---- processes ---- */

static void *be_thread(void *user)
{
    hostile_call(user);
    return NULL;
}

static void be_child(void *code)
{
    pthread_t thread;

    switch (hostile_below(6)) {
    case 0:
        execl("/proc/self/exe", "hostile", "nothing", (char *)NULL);
        _exit(1);
    case 1:
        kill(getpid(), SIGKILL);
        break;
    case 2:
        for (int i = 0; i < 4; i++)
            if (pthread_create(&thread, NULL, be_thread, code) == 0)
                pthread_detach(thread);
        break; /* with threads in the middle of their work */
    case 3:
        munmap(code, 4096);
        break;
    case 4:
        if (fork() == 0)
            hostile_call(code); /* whose parent is gone */
        break;
    default:
        hostile_call(code);
    }
    _exit((int)hostile_below(256));
}

int hostile_storm(const struct hostile *hostile)
{
    void *code = hostile_made_code(8192);
    int living = 0;

    if (!code)
        return 77;
    while (hostile_goes_on(hostile)) {
        pid_t child = living < 16 ? fork() : -1;

        hostile_random(); /* or each child would do the same */
        if (child == 0)
            be_child(code);
        living += child > 0;
        while (living && waitpid(-1, NULL, living < 16 ? WNOHANG : 0) > 0)
            living--;
    }
    while (wait(NULL) > 0)
        ;
    return 0;
}

/* ---- the ring of allocations ---- */

static void forge_stack(struct ifg_heap *heap, uint64_t position, const uint64_t *truth)
{
    struct ifg_heap_stack *cell = &heap->stacks[position % IFG_HEAP_STACKS];

    cell->time_ns = hostile_number();
    cell->address = hostile_number();
    cell->bytes = hostile_number();
    cell->interval = hostile_number();
    cell->ip = hostile_below(2) ? truth[0] : hostile_number();
    cell->sp = hostile_below(2) ? truth[1] : hostile_number();
    cell->fp = hostile_below(2) ? truth[1] : hostile_number();
    cell->pid = hostile_below(4) ? (uint32_t)getpid() : (uint32_t)hostile_number();
    cell->tid = hostile_below(4) ? (uint32_t)gettid() : (uint32_t)hostile_number();
    cell->program = (uint32_t)hostile_number();
    cell->stack_bytes = (uint32_t)hostile_number();
    for (size_t i = 0; i < 1024; i += 8) {
        uint64_t word = hostile_below(2) ? truth[hostile_below(2)] : hostile_number();

        memcpy(cell->stack + i, &word, 8);
    }
    __atomic_store_n(&cell->turn, hostile_below(8) ? position + 1 : hostile_number(),
                     __ATOMIC_RELEASE);
}

static void forge_free(struct ifg_heap *heap, uint64_t position)
{
    struct ifg_heap_free *cell = &heap->frees[position % IFG_HEAP_FREES];

    cell->time_ns = hostile_number();
    cell->address = hostile_number();
    cell->pid = hostile_below(4) ? (uint32_t)getpid() : (uint32_t)hostile_number();
    cell->tid = (uint32_t)hostile_number();
    __atomic_store_n(&cell->turn, hostile_below(8) ? position + 1 : hostile_number(),
                     __ATOMIC_RELEASE);
}

int hostile_heap(const struct hostile *hostile)
{
    const char *path = getenv(IFG_ENV_MEMORY);
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    struct ifg_heap *heap =
        fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *heap, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    uint64_t truth[2] = { (uintptr_t)hostile_heap, (uintptr_t)&path };

    /* The ring is that of the recorder's user: this way begins as him. */
    if (heap == MAP_FAILED ||
        (geteuid() == 0 && (setresgid(USER, USER, USER) < 0 || setresuid(USER, USER, USER) < 0)))
        return 6;
    while (hostile_goes_on(hostile)) {
        uint64_t stacks = __atomic_load_n(&heap->head.stacks.head, __ATOMIC_RELAXED);
        uint64_t frees = __atomic_load_n(&heap->head.frees.head, __ATOMIC_RELAXED);

        for (uint64_t i = 0; i < 16; i++) {
            forge_stack(heap, stacks + i, truth);
            forge_free(heap, frees + i);
        }
        heap->head.stacks.head = hostile_below(50) ? stacks + 16 : hostile_number();
        heap->head.frees.head = hostile_below(50) ? frees + 16 : hostile_number();
        if (hostile_below(20) == 0) {
            uint64_t *word = (uint64_t *)(void *)&heap->head + hostile_below(24);

            *word = hostile_number();
        }
        usleep(300);
    }
    _exit(0); /* the hook's own state is garbage */
}
