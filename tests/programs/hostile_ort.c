// SPDX-License-Identifier: Apache-2.0
/*
 * Preloaded into a program that runs models with a real ONNX Runtime: looks for the probes that a
 * recorder sets in it, by comparing its code with the library's file, and calls the functions that
 * have one with wild arguments: what the recorder reads through them are random words, most of
 * which lead to more of them.
 *
 * The calls crash, of course. Each goes back to where it was made.
 */
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#define POOL_WORDS  (1u << 17)
#define PROBES_MAX  256u
#define CALLS       20000u
#define CALL_MAX_US 5000
#define WAIT_MAX    2000u /* times 10 ms until there are probes */

static uint64_t random_state = 88172645463325252ull;
static uint64_t *pool;
static sigjmp_buf back;
static pthread_t caller;
static uintptr_t probes[PROBES_MAX];
static size_t probe_count;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static uint64_t wild(void)
{
    switch (next_random() % 8) {
    case 0:
        return next_random();
    case 1:
        return next_random() % 4096;
    case 2:
        return ~0ull - next_random() % 4096;
    case 3: /* letters, for what is read as a name */
        return 0x6161616161616161ull + (next_random() & 0x0f0f0f0f0f0f0f0full);
    default:
        return (uintptr_t)(pool + next_random() % POOL_WORDS);
    }
}

static void on_crash(int number)
{
    if (pthread_equal(pthread_self(), caller))
        siglongjmp(back, number);
    if (number != SIGALRM)
        _exit(0); /* what the calls did to the others' memory */
    pthread_kill(caller, number);
}

/* Where the code in memory is not that of the file. */
static void compare(const struct dl_phdr_info *module, const Elf64_Phdr *part, const uint8_t *file)
{
    const uint8_t *memory = (const uint8_t *)module->dlpi_addr + part->p_vaddr;

    for (size_t i = 0; i < part->p_filesz && probe_count < PROBES_MAX; i++)
        if (memory[i] != file[part->p_offset + i])
            probes[probe_count++] = (uintptr_t)(memory + i);
}

static int look_at(struct dl_phdr_info *module, size_t size, void *user)
{
    struct stat found;
    uint8_t *file;
    int fd;

    (void)size;
    (void)user;
    if (!strstr(module->dlpi_name, "onnxruntime"))
        return 0;
    fd = open(module->dlpi_name, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &found) < 0)
        return 0;
    /* Shared: into a private mapping the kernel would put the probes as well. */
    file = mmap(NULL, (size_t)found.st_size, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    for (int i = 0; file != MAP_FAILED && i < module->dlpi_phnum; i++)
        if (module->dlpi_phdr[i].p_type == PT_LOAD && module->dlpi_phdr[i].p_flags & PF_X)
            compare(module, &module->dlpi_phdr[i], file);
    if (file != MAP_FAILED)
        munmap(file, (size_t)found.st_size);
    return 0;
}

static void call_wildly(uintptr_t at)
{
    static const struct itimerval soon = { { 0, 0 }, { 0, CALL_MAX_US } };
    void *(*function)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                      uint64_t);

    memcpy(&function, &at, sizeof function);
    for (size_t i = 0; i < 64; i++)
        pool[next_random() % POOL_WORDS] = wild();
    setitimer(ITIMER_REAL, &soon, NULL);
    if (sigsetjmp(back, 1) == 0)
        function(wild(), wild(), wild(), wild(), wild(), wild(), wild(), wild());
}

static void *go_wild(void *user)
{
    static const int numbers[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGALRM };
    struct sigaction action = { .sa_handler = on_crash, .sa_flags = SA_NODEFER };
    unsigned waited = 0;

    (void)user;
    for (; !probe_count && waited < WAIT_MAX; waited++) {
        usleep(10000);
        dl_iterate_phdr(look_at, NULL);
    }
    usleep(300000); /* those of the operators come later */
    probe_count = 0;
    dl_iterate_phdr(look_at, NULL);
    fprintf(stderr, "hostile: %zu probes\n", probe_count);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        sigaction(numbers[i], &action, NULL);
    for (size_t i = 0; probe_count && i < CALLS; i++)
        call_wildly(probes[next_random() % probe_count]);
    _exit(0);
}

static __attribute__((constructor)) void begin(void)
{
    const char *seed = getenv("HOSTILE_SEED");

    if (!seed)
        return;
    random_state ^= strtoull(seed, NULL, 10) * 0x9e3779b97f4a7c15ull;
    pool = mmap(NULL, POOL_WORDS * 8, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pool == MAP_FAILED)
        return;
    for (size_t i = 0; i < POOL_WORDS; i++)
        pool[i] = wild();
    pthread_create(&caller, NULL, go_wild, NULL);
}
