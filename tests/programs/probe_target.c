// SPDX-License-Identifier: Apache-2.0
/*
 * A program to be probed: `probe_target LIBRARY` loads probe_work, tells where its functions are
 * ("place NAME OFFSET ADDRESS", then "ready PID"), and does what it reads from its input, one
 * command per line, answering each with one line:
 *
 *   six THREADS COUNT   calls work_six(n, n+1, ..., thread) COUNT times on each of THREADS threads
 *   make COUNT          work_make("model-N", N, N % 3, &out)
 *   odd                 work_make of a text of 300 bytes, then of a bad address
 *   behind              work_make of a pointer to a text, then of one to nowhere
 *   outer N, tail N, recurse N, leap N
 *   long MS             "started" when it sleeps in the call; later "ended" answers `wait`
 *   wait                until the long call is over
 *   busy THREADS        calls work_six for ever on so many threads
 *   churn COUNT         so many threads, one call each
 *   fork                a child calls work_inner 50 times; answers with its number
 *   hold                a child that waits for its end; answers with its number
 *   free                lets the child go on: it calls work_inner once; answers with its status
 *   filter              from now on behind a seccomp filter that knows no new system calls
 *   exec                begins again, with a new "ready"
 *   unlink              removes the library's file
 *   die                 kills itself
 *   quit                ends with status 7
 */
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe_work.h"

#define THREADS_MAX 64

/* The library is loaded by hand, so that its file can be anywhere. */
#define WORK_FUNCTIONS(X)                                                                          \
    X(six) X(make) X(inner) X(outer) X(tail) X(recursive) X(leap) X(leaped) X(long) X(tiny)

#define DECLARE(name) __typeof__(&work_##name) name##_function;
static struct {
    WORK_FUNCTIONS(DECLARE)
} work;

struct job {
    pthread_t thread;
    uint64_t number;
    uint64_t count;
    bool wrong;
};

static struct job jobs[THREADS_MAX];
static struct job long_job;
static pid_t long_thread;
static pid_t held = -1;
static int held_pipe[2];

static void tell_location(const char *name, uintptr_t address)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[4400];

    while (maps && fgets(line, sizeof line, maps)) {
        char *at = line;
        uint64_t begin = strtoull(at, &at, 16);
        uint64_t end = *at == '-' ? strtoull(at + 1, &at, 16) : 0;

        if (address < begin || address >= end)
            continue;
        printf("place %s %" PRIu64 " %" PRIu64 " %" PRIx64 "-%" PRIx64 "\n", name,
               (uint64_t)(address - begin + strtoull(at + 6, NULL, 16)), (uint64_t)address, begin,
               end);
    }
    if (maps)
        fclose(maps);
}

static void load(const char *library)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);

    if (!handle) {
        printf("cannot load: %s\n", dlerror());
        exit(1);
    }
#define FIND(name)                                                                                 \
    work.name##_function = (__typeof__(&work_##name))(uintptr_t)dlsym(handle, "work_" #name);      \
    tell_location("work_" #name, (uintptr_t)work.name##_function);
    WORK_FUNCTIONS(FIND)
    printf("ready %d\n", (int)getpid());
    fflush(stdout);
}

static void *call_six(void *opaque)
{
    struct job *job = opaque;

    for (uint64_t i = 0; i < job->count; i++) {
        uint64_t n = job->number;

        if (work.six_function(i, i + 1, i + 2, i + 3, i + 4, n) != 15 * i + 40 + 6 * n)
            job->wrong = true;
    }
    return NULL;
}

static bool run_six(uint64_t threads, uint64_t count)
{
    bool good = true;

    for (uint64_t i = 0; i < threads && i < THREADS_MAX; i++) {
        jobs[i] = (struct job){ .number = i, .count = count };
        if (pthread_create(&jobs[i].thread, NULL, call_six, &jobs[i]))
            return false;
    }
    for (uint64_t i = 0; i < threads && i < THREADS_MAX; i++) {
        pthread_join(jobs[i].thread, NULL);
        good &= !jobs[i].wrong;
    }
    return good;
}

static void make_models(uint64_t count)
{
    static char names[1000][32]; /* stay as they are, for who reads late */
    static uint64_t outs[1000];

    for (uint64_t i = 0; i < count && i < 1000; i++) {
        snprintf(names[i], sizeof names[i], "model-%" PRIu64, i);
        work.make_function(names[i], (int)i, (int)(i % 3), &outs[i]);
    }
}

static void make_odd_ones(void)
{
    static char text[301];

    memset(text, 'x', sizeof text - 1);
    work.make_function(text, 1, 0, NULL);
    work.make_function((const char *)8, 2, 0, NULL);
}

static void make_behind(void)
{
    static const char *const text = "behind a pointer";
    static const char *const nowhere = (const char *)8;

    work.make_function((const char *)&text, 3, 0, NULL);
    work.make_function((const char *)&nowhere, 4, 0, NULL);
}

static void *call_long(void *opaque)
{
    struct job *job = opaque;

    __atomic_store_n(&long_thread, gettid(), __ATOMIC_RELEASE);
    work.long_function((unsigned)job->count);
    return NULL;
}

/* Whether this thread of ours waits for something. */
static bool sleeps(pid_t thread)
{
    char path[64];
    char state = 0;
    FILE *file;

    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)thread);
    file = fopen(path, "r");
    if (file) {
        if (fscanf(file, "%*d %*[^)]) %c", &state) != 1)
            state = 0;
        fclose(file);
    }
    return state == 'S';
}

static void start_long(uint64_t milliseconds)
{
    pid_t thread;

    long_job.count = milliseconds;
    long_thread = 0;
    pthread_create(&long_job.thread, NULL, call_long, &long_job);
    while (!(thread = __atomic_load_n(&long_thread, __ATOMIC_ACQUIRE)) || !sleeps(thread))
        usleep(1000);
}

static void *call_once(void *opaque)
{
    (void)opaque;
    work.inner_function(5);
    return NULL;
}

static uint64_t churn(uint64_t count)
{
    uint64_t made = 0;
    pthread_t thread;

    for (uint64_t i = 0; i < count; i++) {
        if (pthread_create(&thread, NULL, call_once, NULL))
            break;
        pthread_join(thread, NULL);
        made++;
    }
    return made;
}

static pid_t fork_inner(void)
{
    pid_t child = fork();

    if (child == 0) {
        for (uint64_t i = 0; i < 50; i++)
            work.inner_function(i);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    return child;
}

static pid_t hold_child(void)
{
    char byte;

    if (pipe(held_pipe) < 0)
        return -1;
    held = fork();
    if (held == 0) {
        close(held_pipe[1]);
        if (read(held_pipe[0], &byte, 1) < 0)
            _exit(99);
        _exit(work.inner_function(20) == 21 ? 21 : 98);
    }
    close(held_pipe[0]);
    return held;
}

static int free_child(void)
{
    int status = -1;

    close(held_pipe[1]);
    waitpid(held, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int filter_calls(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 335, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { sizeof filter / sizeof filter[0], filter };

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static void start_busy(uint64_t threads)
{
    for (uint64_t i = 0; i < threads && i < THREADS_MAX; i++) {
        jobs[i] = (struct job){ .number = i, .count = UINT64_MAX };
        pthread_create(&jobs[i].thread, NULL, call_six, &jobs[i]);
    }
}

/* The answer to a command, which has up to two numbers. */
static uint64_t obey(const char *command, uint64_t a, uint64_t b, char **argv)
{
    if (strcmp(command, "six") == 0)
        return run_six(a, b);
    if (strcmp(command, "make") == 0)
        make_models(a);
    else if (strcmp(command, "odd") == 0)
        make_odd_ones();
    else if (strcmp(command, "behind") == 0)
        make_behind();
    else if (strcmp(command, "outer") == 0)
        return work.outer_function(a);
    else if (strcmp(command, "tail") == 0)
        return work.tail_function(a);
    else if (strcmp(command, "recurse") == 0)
        return work.recursive_function(a);
    else if (strcmp(command, "leap") == 0)
        return work.leaped_function(a);
    else if (strcmp(command, "long") == 0)
        start_long(a);
    else if (strcmp(command, "wait") == 0)
        pthread_join(long_job.thread, NULL);
    else if (strcmp(command, "busy") == 0)
        start_busy(a);
    else if (strcmp(command, "churn") == 0)
        return churn(a);
    else if (strcmp(command, "fork") == 0)
        return (uint64_t)fork_inner();
    else if (strcmp(command, "hold") == 0)
        return (uint64_t)hold_child();
    else if (strcmp(command, "free") == 0)
        return (uint64_t)free_child();
    else if (strcmp(command, "filter") == 0)
        return (uint64_t)filter_calls();
    else if (strcmp(command, "unlink") == 0)
        return (uint64_t)(unlink(argv[1]) == 0);
    else if (strcmp(command, "exec") == 0)
        execv("/proc/self/exe", argv);
    else if (strcmp(command, "die") == 0)
        raise(SIGKILL);
    else
        exit(strcmp(command, "quit") == 0 ? 7 : 99);
    return 0;
}

int main(int argc, char **argv)
{
    char line[128];

    if (argc != 2)
        return 2;
    setvbuf(stdin, NULL, _IONBF, 0); /* after an exec the rest must still be there */
    load(argv[1]);
    while (fgets(line, sizeof line, stdin)) {
        char *command = strtok_r(line, " \n", &(char *){ NULL });
        char *rest = command ? command + strlen(command) + 1 : NULL;
        uint64_t a;
        uint64_t b;

        if (!command)
            continue;
        a = strtoull(rest, &rest, 10);
        b = strtoull(rest, &rest, 10);
        printf("%" PRIu64 "\n", obey(command, a, b, argv));
        fflush(stdout);
    }
    return 0;
}
