// SPDX-License-Identifier: Apache-2.0
/*
 * Programs for the tests of samples: sample_target LIBRARY MODE; the hot function is in LIBRARY,
 * and MODE says how it gets into the process:
 *
 *   plain     loaded from where it is
 *   deleted   a copy is loaded, then unlinked
 *   memfd     loaded from memory that never had a name
 *   threads   loaded, and run for a moment by 1,000 threads, some at a time
 *   wait      says "ready PID", then runs until SIGTERM
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define THREADS 1000
#define AT_ONCE 20

static void (*hot)(double seconds);
static volatile sig_atomic_t ended;

static void on_end(int number)
{
    (void)number;
    ended = 1;
}

static void copy(const char *from, int to)
{
    static char buffer[65536];
    int fd = open(from, O_RDONLY);
    ssize_t got;

    while (fd >= 0 && (got = read(fd, buffer, sizeof buffer)) > 0)
        if (write(to, buffer, (size_t)got) != got)
            abort();
    close(fd);
}

static void load(const char *path)
{
    void *library = dlopen(path, RTLD_NOW);
    void *symbol = library ? dlsym(library, "hot_in_library") : NULL;

    if (!symbol) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    memcpy(&hot, &symbol, sizeof hot);
}

static void *run(void *user)
{
    hot(0.0005);
    return user;
}

static void run_threads(void)
{
    pthread_t threads[AT_ONCE];

    for (int i = 0; i < THREADS / AT_ONCE; i++) {
        for (int k = 0; k < AT_ONCE; k++)
            if (pthread_create(&threads[k], NULL, run, NULL))
                exit(1);
        for (int k = 0; k < AT_ONCE; k++)
            pthread_join(threads[k], NULL);
    }
}

int main(int argc, char **argv)
{
    const char *mode = argc > 2 ? argv[2] : "";
    char path[64];
    int fd;

    if (strcmp(mode, "deleted") == 0) {
        snprintf(path, sizeof path, "/tmp/sample_target_XXXXXX");
        fd = mkstemp(path);
        copy(argv[1], fd);
        close(fd);
        load(path);
        unlink(path);
    } else if (strcmp(mode, "memfd") == 0) {
        fd = memfd_create("sample_work", 0);
        copy(argv[1], fd);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        load(path);
    } else if (argc > 1) {
        load(argv[1]);
    } else {
        return 2;
    }
    if (strcmp(mode, "threads") == 0) {
        run_threads();
    } else if (strcmp(mode, "wait") == 0) {
        signal(SIGTERM, on_end);
        printf("ready %d\n", (int)getpid());
        fflush(stdout);
        while (!ended)
            hot(0.01);
    } else {
        hot(0.6);
    }
    puts("done");
    return 7;
}
