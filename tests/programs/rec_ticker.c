// SPDX-License-Identifier: Apache-2.0
/*
 * A program to be recorded: it emits zones "tick" inside one "outer" that never ends, until told to
 * stop, and can behave badly on request. It tells the time of its latest zone in a shared file.
 *
 *   -c N        end after N zones per thread
 *   -s SECONDS  end after so long
 *   -t N        so many threads (default 1)
 *   -m FILE     8 bytes: CLOCK_MONOTONIC of the latest zone
 *   -b          no pause between zones
 *   -i          ignore SIGINT, SIGTERM and SIGHUP
 *   -g          say "got SIGNAL" on SIGINT or SIGTERM, and exit with 3
 *   -f          fork a child that ticks as well, at SIGUSR1
 *   -d          become a daemon after the first zone (a child goes on, the parent exits with 0)
 *   -e          at the end, become the same program once more, without -e and without IFG_SESSION
 *   -x N        exit status
 *   -k N        kill itself with signal N at the end
 *   -p          say "ready PID" on stdout after the first zone, "done COUNT" at the end
 *   -n          first some names with control characters, and details of every type
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <inferogram/inferogram.h>

#define PAUSE_NS    50000
#define THREADS_MAX 64

static struct {
    unsigned long count;
    double seconds;
    unsigned threads;
    bool busy, daemonise, talk, evil_names, exec_again;
    int exit_status, kill_self;
} settings = { .threads = 1 };

static _Atomic uint64_t *latest;
static _Atomic uint64_t latest_here;
static volatile sig_atomic_t fork_wanted;
static volatile sig_atomic_t signal_seen;
static uint64_t deadline_ns;

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void on_signal(int number)
{
    if (number == SIGUSR1)
        fork_wanted = 1;
    else
        signal_seen = number;
}

static bool done(unsigned long ticks)
{
    if (signal_seen || (settings.count && ticks >= settings.count))
        return true;
    return deadline_ns && ticks % 16 == 0 && now_ns() >= deadline_ns;
}

static void fork_a_child(void)
{
    fork_wanted = 0;
    if (fork() != 0)
        return;
    for (int i = 0; i < 2000; i++) {
        const struct timespec pause = { 0, PAUSE_NS };
        {
            IFG_ZONE("child tick");
        }
        nanosleep(&pause, NULL);
    }
    _exit(0);
}

static unsigned long tick_until_done(bool first)
{
    const struct timespec pause = { 0, PAUSE_NS };
    unsigned long ticks = 0;

    while (!done(ticks)) {
        {
            IFG_ZONE("tick");
        }
        ticks++;
        if (!settings.busy) {
            *latest = now_ns();
            nanosleep(&pause, NULL);
        }
        if (first && fork_wanted)
            fork_a_child();
        if (first && ticks == 1 && settings.talk) {
            printf("ready %d\n", (int)getpid());
            fflush(stdout);
        }
    }
    return ticks;
}

static void use_evil_names(void)
{
    ifg_model *model = ifg_model_create(&(ifg_model_options){
        .struct_size = sizeof(ifg_model_options), .name = "mod\033]0;x\007el\r", .path = "a\nb" });

    ifg_thread_name("thr\033[2Jead\x9b");
    ifg_model_property(model, "k\033[1m", "v\033[1m");
    IFG_EVENT_BEGIN(event, model, "fun\033[1mc", IFG_INFERENCE);
    IFG_DETAIL_STRING(event, "text\n", "a\tb\033");
    IFG_DETAIL_INT(event, "int", -5);
    IFG_DETAIL_FLOAT(event, "float", 1.5);
    IFG_VALUE(event, 77);
    IFG_EVENT_END(event);
    {
        IFG_ZONE("zone\033[31m\nred\x9b\xc2\x9b"
                 "31m");
    }
    IFG_MESSAGE("mes\033sage");
    ifg_model_destroy(model);
}

static void *thread_main(void *unused)
{
    (void)unused;
    ifg_thread_name("ticker");
    tick_until_done(false);
    return NULL;
}

static void parse(int argc, char **argv)
{
    int option;

    while ((option = getopt(argc, argv, "c:s:t:m:bigfdx:k:pne")) != -1) {
        int fd;

        switch (option) {
        case 'c':
            settings.count = strtoul(optarg, NULL, 10);
            break;
        case 's':
            settings.seconds = strtod(optarg, NULL);
            break;
        case 't':
            settings.threads = (unsigned)strtoul(optarg, NULL, 10);
            break;
        case 'b':
            settings.busy = true;
            break;
        case 'i':
            signal(SIGINT, SIG_IGN);
            signal(SIGTERM, SIG_IGN);
            signal(SIGHUP, SIG_IGN);
            break;
        case 'g':
            signal(SIGINT, on_signal);
            signal(SIGTERM, on_signal);
            break;
        case 'f':
            signal(SIGUSR1, on_signal);
            break;
        case 'd':
            settings.daemonise = true;
            break;
        case 'x':
            settings.exit_status = (int)strtol(optarg, NULL, 10);
            break;
        case 'k':
            settings.kill_self = (int)strtol(optarg, NULL, 10);
            break;
        case 'p':
            settings.talk = true;
            break;
        case 'n':
            settings.evil_names = true;
            break;
        case 'e':
            settings.exec_again = true;
            break;
        case 'm':
            fd = open(optarg, O_RDWR | O_CREAT, 0644);
            if (fd < 0 || ftruncate(fd, sizeof *latest) < 0)
                exit(98);
            latest = mmap(NULL, sizeof *latest, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
            if (latest == MAP_FAILED)
                exit(98);
            break;
        default:
            exit(99);
        }
    }
    if (settings.threads > THREADS_MAX)
        settings.threads = THREADS_MAX;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS_MAX];
    unsigned long ticks;

    latest = &latest_here;
    parse(argc, argv);
    if (settings.seconds > 0)
        deadline_ns = now_ns() + (uint64_t)(settings.seconds * 1e9);
    if (settings.daemonise) {
        {
            IFG_ZONE("before");
        }
        if (fork() != 0) {
            const struct timespec settle = { 0, 200000000 };

            nanosleep(&settle, NULL);
            return 0;
        }
        setsid();
        if (fork() != 0)
            _exit(0);
    }
    if (settings.evil_names)
        use_evil_names();
    for (unsigned i = 1; i < settings.threads; i++)
        if (pthread_create(&threads[i], NULL, thread_main, NULL))
            exit(97);
    {
        IFG_BEGIN(outer, "outer");
        ticks = tick_until_done(true);
        for (unsigned i = 1; i < settings.threads; i++)
            pthread_join(threads[i], NULL);
        if (settings.talk)
            printf("done %lu\n", ticks);
        fflush(stdout);
        if (settings.kill_self) {
            if (settings.kill_self != SIGKILL)
                signal(settings.kill_self, SIG_DFL); /* a sanitizer may have its own ideas */
            raise(settings.kill_self);
        }
        IFG_END(outer);
    }
    if (settings.exec_again) {
        unsetenv("IFG_SESSION");
        for (char **argument = argv; *argument; argument++)
            if (strcmp(*argument, "-e") == 0)
                *argument = "-b";
        execv("/proc/self/exe", argv);
    }
    if (signal_seen) {
        printf("got %d\n", (int)signal_seen);
        return 3;
    }
    return settings.exit_status;
}
