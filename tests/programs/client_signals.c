// SPDX-License-Identifier: Apache-2.0
/* Events in signal handlers: client_signals MODE. Prints how many records were emitted. */
#include <inferogram/inferogram.h>

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t handled;
static long emitted;

/* Five records each time. */
static void on_signal(int number)
{
    int saved_errno = errno;

    (void)number;
    {
        IFG_ZONE("handler");
        IFG_MESSAGE("in the handler");
        {
            IFG_ZONE("inner");
        }
        IFG_COUNTER("signals", handled);
        IFG_FRAME("handled");
    }
    handled = handled + 1;
    if (errno != saved_errno)
        _exit(70);
}
#define HANDLER_RECORDS 5

static void catch_signal(int number, int flags)
{
    struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART | flags };

    sigaction(number, &action, NULL);
}

/* Three records each. */
static void emit(int count)
{
    for (int i = 0; i < count; i++) {
        IFG_ZONE("main");
        IFG_BEGIN(part, "part");
        IFG_VALUE(part, (uint64_t)i);
        IFG_END(part);
        emitted += 3;
    }
}

static int mode_timer(void)
{
    struct itimerval each = { { 0, 500 }, { 0, 500 } };
    struct itimerval none = { { 0, 0 }, { 0, 0 } };

    catch_signal(SIGALRM, 0);
    setitimer(ITIMER_REAL, &each, NULL);
    while (handled < 300)
        emit(1000);
    setitimer(ITIMER_REAL, &none, NULL);
    return 0;
}

static int mode_raise(void)
{
    catch_signal(SIGUSR1, 0);
    for (int i = 0; i < 2000; i++) {
        emit(1);
        raise(SIGUSR1);
    }
    return 0;
}

static void *signalled_thread(void *unused)
{
    (void)unused;
    raise(SIGUSR1); /* this thread's first event is the handler's */
    return NULL;
}

static int mode_first(void)
{
    catch_signal(SIGUSR1, 0);
    for (int i = 0; i < 100; i++) {
        pthread_t thread;

        if (pthread_create(&thread, NULL, signalled_thread, NULL))
            return 1;
        pthread_join(thread, NULL);
    }
    return 0;
}

static int mode_altstack(void)
{
    stack_t stack = { .ss_size = 64 << 10 };

    stack.ss_sp =
        mmap(NULL, stack.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack.ss_sp == MAP_FAILED || sigaltstack(&stack, NULL))
        return 1;
    catch_signal(SIGUSR1, SA_ONSTACK);
    for (int i = 0; i < 500; i++) {
        emit(1);
        raise(SIGUSR1);
    }
    return 0;
}

/* Several threads, each hit by signals from another one. */
static volatile int stop;

static void *emit_until_stopped(void *out)
{
    long count = 0;

    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        for (int i = 0; i < 100; i++) {
            IFG_ZONE("thread");
            count++;
        }
        sched_yield();
    }
    *(long *)out = count;
    return NULL;
}

static void count_signal(int number);

static long signals_handled;
static void count_signal(int number)
{
    (void)number;
    {
        IFG_ZONE("handler");
        IFG_COUNTER("signals", 1);
    }
    __atomic_fetch_add(&signals_handled, 1, __ATOMIC_RELAXED);
}

static int mode_threads(void)
{
    struct sigaction action = { .sa_handler = count_signal, .sa_flags = SA_RESTART };
    struct timespec nap = { 0, 50000 };
    pthread_t threads[4];
    long counts[4] = { 0 };

    sigaction(SIGUSR1, &action, NULL);
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, emit_until_stopped, &counts[i]);
    for (int i = 0; i < 2000; i++) {
        pthread_kill(threads[i % 4], SIGUSR1);
        nanosleep(&nap, NULL);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        emitted += counts[i];
    }
    emitted += 2 * signals_handled;
    return 0;
}

/* longjmp over open zones, from ordinary code and from a handler. */
static sigjmp_buf target;

static void jump(int number)
{
    IFG_ZONE("abandoned in the handler");
    siglongjmp(target, number);
}

static void descend(int depth)
{
    IFG_ZONE("abandoned");
    if (depth == 0)
        siglongjmp(target, 1);
    descend(depth - 1);
    __asm__ volatile("" : : : "memory"); /* no tail call */
}

static int mode_jump(void)
{
    struct sigaction action = { .sa_handler = jump };

    sigaction(SIGUSR1, &action, NULL);
    for (volatile int i = 0; i < 50; i = i + 1) {
        IFG_BEGIN(outer, "outer");
        if (sigsetjmp(target, 1) == 0) {
            if (i % 2)
                descend(3); /* four zones */
            else
                raise(SIGUSR1); /* one zone */
        }
        {
            IFG_ZONE("after");
        }
        IFG_END(outer);
    }
    return 0;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    int status = 64;

    if (strcmp(mode, "timer") == 0)
        status = mode_timer();
    else if (strcmp(mode, "raise") == 0)
        status = mode_raise();
    else if (strcmp(mode, "first") == 0)
        status = mode_first();
    else if (strcmp(mode, "altstack") == 0)
        status = mode_altstack();
    else if (strcmp(mode, "threads") == 0)
        status = mode_threads();
    else if (strcmp(mode, "jump") == 0)
        status = mode_jump();
    printf("%ld\n", emitted + handled * HANDLER_RECORDS);
    return status;
}
