// SPDX-License-Identifier: Apache-2.0
/*
 * Borrowing a thread: whatever it waited in goes on as if nothing had been, and if the borrower
 * dies at any moment the thread finds back by itself.
 */
#include "record/ptrace.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/ticks.h"
#include "record/ptrace_elf.h"
#include "record/ptrace_internal.h"
#include "tap.h"

#define HAS_THREAD_SANITIZER 0
#if defined(__SANITIZE_THREAD__)
#undef HAS_THREAD_SANITIZER
#define HAS_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#undef HAS_THREAD_SANITIZER
#define HAS_THREAD_SANITIZER 1
#endif
#endif

/* Between the tests and the process that is borrowed from. */
struct shared {
    volatile int ready;
    volatile int finished;
    volatile int enough; /* who runs may end */
    volatile long result;
    volatile int error;
    volatile double number;
    volatile uint64_t elapsed_ms;
    volatile int calls;
    volatile int signals;
    volatile int signals_at_call; /* how many had come when our function ended */
    volatile uint64_t argument;
    char text[64];
};

#define WAIT_MS     2000 /* we come in that time, also on a machine that stands still for a while */
#define PATIENCE_MS 30000 /* until it waits in what it is to wait in */

static struct shared *shared;
static int pipe_ends[2];

/* What the borrowed thread is made to call: spoils everything that it may. */
static void task(const char *text, uint64_t number)
{
    double spoil = (double)number + 0.5;

    for (int i = 0; i < 64; i++)
        spoil = spoil * 1.01 + (double)i;
    snprintf(shared->text, sizeof shared->text, "%s", text ? text : "");
    shared->argument = number + (spoil < 0);
    errno = ENOTTY;
    /* A sleep would make the kernel forget how to go on with the one that was stopped. */
    for (uint64_t begin = ifg_monotonic_ns(); ifg_monotonic_ns() - begin < 30000000u;)
        getppid();
    shared->signals_at_call = shared->signals;
    shared->calls++;
}

static void crash(const char *text, uint64_t number)
{
    (void)text;
    *(volatile int *)(uintptr_t)(number + 8) = 1;
}

static void on_signal(int number)
{
    (void)number;
    shared->signals++;
}

/* ---- what the other process waits in ---- */

static long in_nanosleep(void)
{
    const struct timespec time = { WAIT_MS / 1000, WAIT_MS % 1000 * 1000000L };

    return nanosleep(&time, NULL);
}

static long in_poll(void)
{
    return poll(NULL, 0, WAIT_MS);
}

static long in_read(void)
{
    char byte;

    return read(pipe_ends[0], &byte, 1);
}

static long in_epoll(void)
{
    struct epoll_event event = { 0 };
    int fd = epoll_create1(0);

    epoll_ctl(fd, EPOLL_CTL_ADD, pipe_ends[0], &event);
    return epoll_wait(fd, &event, 1, WAIT_MS);
}

static long in_ppoll(void)
{
    struct pollfd wanted = { .fd = pipe_ends[0], .events = POLLIN };
    sigset_t none;

    sigemptyset(&none);
    return ppoll(&wanted, 1, NULL, &none);
}

static long running(void)
{
    while (!shared->enough)
        continue;
    return 0;
}

static pid_t start(long (*wait_in)(void), int flags)
{
    struct sigaction action = { .sa_handler = on_signal, .sa_flags = flags };
    double number = 1.0 / 3;
    uint64_t begin;
    pid_t pid;

    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(shared != MAP_FAILED);
    REQUIRE_INT(pipe(pipe_ends), 0);
    pid = fork();
    if (pid) {
        while (!shared->ready)
            usleep(1000);
        usleep(50000);
        return pid;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigaction(SIGUSR1, &action, NULL);
    if (wait_in == in_ppoll) {
        sigset_t usr1;

        sigemptyset(&usr1);
        sigaddset(&usr1, SIGUSR1);
        sigprocmask(SIG_BLOCK, &usr1, NULL);
    }
    begin = ifg_monotonic_ns();
    shared->ready = 1;
    __asm__ volatile("" : "+x"(number)); /* stays in a register if the compiler can */
    shared->result = wait_in();
    shared->error = errno;
    shared->elapsed_ms = (ifg_monotonic_ns() - begin) / 1000000;
    shared->number = number;
    shared->finished = 1;
    _exit(7);
}

static int ended(pid_t pid)
{
    int status = 0;

    REQUIRE_INT(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void open_process(pid_t pid, struct ptrace *remote, uint64_t *restorer)
{
    struct ptrace_world world;
    struct ifg_error err = { 0 };

    REQUIRE_INT(ptrace_open(pid, remote, &err), IFG_OK);
    REQUIRE_INT(ptrace_world_read(remote, &world, &err), IFG_OK);
    if (!world.libc.base)
        SKIP("this program has no C library of its own (a sanitizer?)");
    *restorer = ptrace_restorer(remote, &world);
    REQUIRE(*restorer != 0);
}

/* Two calls in a borrowed thread. */
static void borrow(pid_t pid)
{
    struct ifg_error err = { 0 };
    struct ptrace remote;
    uint64_t restorer;

#ifndef __x86_64__
    SKIP("only for x86-64");
#endif
    open_process(pid, &remote, &restorer);
    REQUIRE_INT(ptrace_borrow(&remote, restorer, PATIENCE_MS, &err), IFG_OK);
    CHECK_INT(ptrace_call(&remote, (uintptr_t)task, "a text", 11, &err), IFG_OK);
    CHECK_STR(shared->text, "a text");
    CHECK_UINT(shared->argument, 11);
    CHECK_INT(ptrace_call(&remote, (uintptr_t)task, NULL, 12, &err), IFG_OK);
    CHECK_UINT(shared->argument, 12);
    CHECK_INT(shared->calls, 2);
    ptrace_close(&remote);
}

static void check_end(pid_t pid, long result)
{
    CHECK_INT(ended(pid), 7);
    CHECK_INT(shared->result, result);
    CHECK(shared->number == 1.0 / 3);
}

static void a_sleep_is_as_long_as_it_was(void)
{
    pid_t pid = start(in_nanosleep, 0);

    borrow(pid);
    check_end(pid, 0);
    CHECK(shared->elapsed_ms >= WAIT_MS); /* longer only because the machine is busy */
}

static void poll_keeps_its_timeout(void)
{
    pid_t pid = start(in_poll, 0);

    borrow(pid);
    check_end(pid, 0);
    CHECK(shared->elapsed_ms >= WAIT_MS); /* longer only because the machine is busy */
}

static void read_goes_on_waiting(void)
{
    pid_t pid = start(in_read, 0);

    borrow(pid);
    usleep(50000);
    CHECK_INT(shared->finished, 0);
    CHECK_INT(write(pipe_ends[1], "x", 1), 1);
    check_end(pid, 1);
}

/* The kernel ends this one at every stop, also at those of job control: see signal(7). */
static void epoll_wait_ends_as_after_any_stop(void)
{
    pid_t pid = start(in_epoll, 0);

    borrow(pid);
    check_end(pid, -1);
    CHECK_INT(shared->error, EINTR);
}

/* SIGUSR1 comes while our function runs: afterwards the handler runs, and read ends as it would. */
static void signal_in_a_call(int flags)
{
    struct ifg_error err = { 0 };
    struct ptrace remote;
    uint64_t restorer;
    pid_t sender;
    pid_t pid;

    if (HAS_THREAD_SANITIZER)
        SKIP("ThreadSanitizer delays signals");
    pid = start(in_read, flags);
#ifndef __x86_64__
    SKIP("only for x86-64");
#endif
    open_process(pid, &remote, &restorer);
    REQUIRE_INT(ptrace_borrow(&remote, restorer, PATIENCE_MS, &err), IFG_OK);
    sender = fork();
    if (!sender) {
        usleep(10000);
        kill(pid, SIGUSR1);
        _exit(0);
    }
    CHECK_INT(ptrace_call(&remote, (uintptr_t)task, NULL, 1, &err), IFG_OK);
    waitpid(sender, NULL, 0);
    CHECK_INT(shared->signals_at_call, 0);
    ptrace_close(&remote);
    for (int i = 0; i < 60000 && !shared->signals; i++)
        usleep(1000);
    CHECK_INT(shared->signals, 1);
    if (flags & SA_RESTART) {
        usleep(50000);
        CHECK_INT(shared->finished, 0);
        CHECK_INT(write(pipe_ends[1], "x", 1), 1);
    }
    check_end(pid, flags & SA_RESTART ? 1 : -1);
    if (!(flags & SA_RESTART))
        CHECK_INT(shared->error, EINTR);
}

static void a_signal_interrupts_afterwards(void)
{
    signal_in_a_call(0);
}

static void a_signal_restarts_afterwards(void)
{
    signal_in_a_call(SA_RESTART);
}

static void the_mask_of_ppoll_comes_back(void)
{
    pid_t pid = start(in_ppoll, 0);

    borrow(pid);
    usleep(30000);
    CHECK_INT(shared->finished, 0);
    kill(pid, SIGUSR1); /* let in by ppoll alone */
    check_end(pid, -1);
    CHECK_INT(shared->error, EINTR);
    CHECK_INT(shared->signals, 1);
}

static void a_crash_of_the_function_is_not_one_of_the_program(void)
{
    struct ifg_error err = { 0 };
    struct ptrace remote;
    uint64_t restorer;
    pid_t pid = start(in_read, 0);

#ifndef __x86_64__
    SKIP("only for x86-64");
#endif
    open_process(pid, &remote, &restorer);
    REQUIRE_INT(ptrace_borrow(&remote, restorer, PATIENCE_MS, &err), IFG_OK);
    CHECK_INT(ptrace_call(&remote, (uintptr_t)crash, NULL, 0, &err), IFG_INTERNAL);
    CHECK_CONTAINS(err.message, "failed with signal 11");
    ptrace_close(&remote);
    CHECK_INT(write(pipe_ends[1], "x", 1), 1);
    check_end(pid, 1);
}

static void a_running_thread_is_not_borrowed(void)
{
    struct ifg_error err = { 0 };
    struct ptrace remote;
    uint64_t restorer;
    pid_t pid;

    if (HAS_THREAD_SANITIZER)
        SKIP("ThreadSanitizer has a thread of its own, which waits");
    pid = start(running, 0);
#ifndef __x86_64__
    SKIP("only for x86-64");
#endif
    open_process(pid, &remote, &restorer);
    CHECK_INT(ptrace_borrow(&remote, restorer, 200, &err), IFG_BUSY);
    CHECK_CONTAINS(err.message, "(it has 1) was seen waiting");
    ptrace_close(&remote);
    shared->enough = 1;
    check_end(pid, 0);
}

/* ---- the borrower dies ---- */

static void die(enum ptrace_phase phase, void *user)
{
    if (phase == *(const enum ptrace_phase *)user)
        kill(getpid(), SIGKILL);
}

static void borrow_and_die(pid_t pid, enum ptrace_phase phase)
{
    struct ptrace remote;
    uint64_t restorer;

    open_process(pid, &remote, &restorer);
    remote.observer = die;
    remote.user = &phase;
    if (ptrace_borrow(&remote, restorer, PATIENCE_MS, NULL) == IFG_OK &&
        ptrace_call(&remote, (uintptr_t)task, "a text", 11, NULL) == IFG_OK)
        ptrace_close(&remote);
    _exit(0);
}

static void it_finds_back_alone(void)
{
#ifndef __x86_64__
    SKIP("only for x86-64");
#endif
    for (int phase = 0; phase < PTRACE_PHASES; phase++) {
        pid_t pid = start(in_read, 0);
        pid_t borrower;

        tap_note("phase %d", phase);
        borrower = fork();
        if (!borrower)
            borrow_and_die(pid, (enum ptrace_phase)phase);
        CHECK_INT(ended(borrower), -SIGKILL);
        for (int i = 0; i < 60000 && shared->calls < (phase != PTRACE_STOPPED); i++)
            usleep(1000);
        usleep(100000); /* what should not happen had its time */
        CHECK_INT(shared->finished, 0);
        CHECK_INT(shared->calls, phase != PTRACE_STOPPED);
        CHECK_INT(write(pipe_ends[1], "x", 1), 1);
        check_end(pid, 1);
        munmap(shared, sizeof *shared);
    }
}

static void symbols_are_found_in_memory(void)
{
    struct ifg_error err = { 0 };
    struct ptrace_world world;
    struct ptrace remote;

    REQUIRE_INT(ptrace_open(getpid(), &remote, &err), IFG_OK);
    REQUIRE_INT(ptrace_world_read(&remote, &world, &err), IFG_OK);
    if (!world.libc.base)
        SKIP("this program has no C library of its own (a sanitizer?)");
    CHECK(ptrace_symbol(&remote, &world.libc, "getpid") != 0);
    CHECK_UINT(ptrace_symbol(&remote, &world.libc, "no_such_function"), 0);
    CHECK(ptrace_symbol(&remote, &world.loader, "_r_debug") != 0);
    ptrace_close(&remote);
    CHECK_INT(ptrace_open(4194000, &remote, &err), IFG_NOT_FOUND);
    ptrace_close(&remote);
}

/* A line break in a name takes four characters in /proc/PID/maps: a name can be longer than a
 * buffer for lines, and its rest look like a line of its own. */
static void names_of_files_are_no_lines(void)
{
    char folder[] = "/tmp/ifgXXXXXX";
    char path[512];
    size_t used, breaks;
    struct ptrace remote = { .pid = getpid() };
    void *memory;
    int fd;

    REQUIRE(mkdtemp(folder) != NULL);
    used = (size_t)snprintf(path, sizeof path, "%s/", folder);
    breaks = (511 - 73 - used) / 4; /* names begin in column 73 */
    memset(path + used, '\n', breaks);
    snprintf(path + used + breaks, sizeof path - used - breaks, "%.*s%s",
             (int)((511 - 73 - used) % 4), "xxx", "100000000-200000000 rw-p 00000000 00:00 0");
    fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    REQUIRE(fd >= 0 && ftruncate(fd, 4096) == 0);
    memory = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    unlink(path);
    fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600); /* once with its name, once without */
    REQUIRE(memory != MAP_FAILED && fd >= 0 && ftruncate(fd, 4096) == 0);
    CHECK(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) != MAP_FAILED);
    CHECK(!ptrace_has_stack(&remote, 0x1f0000000));
    CHECK(ptrace_has_stack(&remote, (uintptr_t)&remote));
    unlink(path);
    rmdir(folder);
}

TAP_MAIN(TAP_CASE(a_sleep_is_as_long_as_it_was), TAP_CASE(poll_keeps_its_timeout),
         TAP_CASE(read_goes_on_waiting), TAP_CASE(epoll_wait_ends_as_after_any_stop),
         TAP_CASE(a_signal_interrupts_afterwards), TAP_CASE(a_signal_restarts_afterwards),
         TAP_CASE(the_mask_of_ppoll_comes_back),
         TAP_CASE(a_crash_of_the_function_is_not_one_of_the_program),
         TAP_CASE(a_running_thread_is_not_borrowed), TAP_CASE(it_finds_back_alone),
         TAP_CASE(symbols_are_found_in_memory), TAP_CASE(names_of_files_are_no_lines))
