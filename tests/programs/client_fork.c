// SPDX-License-Identifier: Apache-2.0
/* Processes that multiply: client_fork MODE [ARGUMENTS]. Each prints how many zones it and its
 * children made. */
#include <inferogram/inferogram.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static const char *self;

static void emit(int count)
{
    for (int i = 0; i < count; i++) {
        IFG_ZONE("work");
    }
}

static int wait_for(pid_t pid)
{
    int status = -1;

    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

/* A zone is open while the process forks; both sides end it. The child forks once more. */
static int mode_fork(void)
{
    pid_t pid;
    int status = 0;

    emit(10);
    {
        IFG_ZONE("around the fork");
        pid = fork();
        if (pid == 0)
            emit(20);
        else
            status = wait_for(pid);
    }
    if (pid == 0) {
        pid_t grandchild = fork();

        if (grandchild == 0) {
            emit(30);
            {
                IFG_ZONE("only in the grandchild");
            }
            _exit(0);
        }
        exit(wait_for(grandchild) ? 1 : 0);
    }
    emit(10);
    return status ? 1 : 0;
}

static volatile int stop;

static void *emit_until_stopped(void *out)
{
    long count = 0;

    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        struct timespec nap = { 0, 100000 };

        emit(10);
        count += 10;
        nanosleep(&nap, NULL);
    }
    *(long *)out = count;
    return NULL;
}

static void *fork_children(void *out)
{
    for (int i = 0; i < 20; i++) {
        pid_t pid = fork();

        if (pid == 0) {
            emit(5);
            _exit(0);
        }
        if (wait_for(pid))
            *(long *)out = -1;
    }
    return NULL;
}

/* One thread forks while others emit. */
static int mode_threads(void)
{
    pthread_t forker;
    pthread_t emitters[3];
    long counts[3] = { 0 };
    long bad = 0;

    for (int i = 0; i < 3; i++)
        pthread_create(&emitters[i], NULL, emit_until_stopped, &counts[i]);
    pthread_create(&forker, NULL, fork_children, &bad);
    pthread_join(forker, NULL);
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 3; i++)
        pthread_join(emitters[i], NULL);
    printf("%ld\n", counts[0] + counts[1] + counts[2] + 20 * 5);
    return bad ? 1 : 0;
}

static int mode_bomb(int children, int zones)
{
    pid_t pids[1000];
    int bad = 0;

    for (int i = 0; i < children; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            emit(zones);
            _exit(0);
        }
        if (pids[i] < 0)
            return 1;
    }
    for (int i = 0; i < children; i++)
        bad += wait_for(pids[i]) != 0;
    return bad ? 1 : 0;
}

/* Becomes itself again `left` times, at once. */
static int mode_exec(int left)
{
    char text[16];

    emit(10);
    if (!left)
        return 0;
    snprintf(text, sizeof text, "%d", left - 1);
    execl(self, self, "exec", text, (char *)NULL);
    return 1;
}

static int mode_vfork(void)
{
    pid_t pid;

    emit(10);
    pid = vfork();
    if (pid == 0) {
        execl(self, self, "exec", "0", (char *)NULL);
        _exit(127);
    }
    emit(10);
    return wait_for(pid) ? 1 : 0;
}

static int mode_spawn(void)
{
    char *arguments[] = { (char *)self, "exec", "0", NULL };
    pid_t pid;

    emit(10);
    if (posix_spawn(&pid, self, NULL, NULL, arguments, environ))
        return 1;
    emit(10);
    return wait_for(pid) ? 1 : 0;
}

static int mode_system(void)
{
    char command[4096];

    emit(10);
    snprintf(command, sizeof command, "'%s' exec 0", self);
    if (system(command))
        return 1;
    emit(10);
    return 0;
}

/* Closes all descriptors, opens others in their place, and sees that they stay open over a fork. */
static int mode_descriptors(void)
{
    struct stat mine;
    pid_t pid;

    emit(10);
    for (int fd = 3; fd < 64; fd++)
        close(fd);
    for (int fd = 3; fd < 64; fd++)
        if (open("/dev/null", O_RDONLY) != fd)
            return 2;
    pid = fork();
    if (pid == 0) {
        emit(10);
        for (int fd = 3; fd < 64; fd++)
            if (fstat(fd, &mine) < 0)
                _exit(3);
        _exit(0);
    }
    emit(10);
    for (int fd = 3; fd < 64; fd++)
        if (fstat(fd, &mine) < 0)
            return 4;
    return wait_for(pid) ? 5 : 0;
}

/* The child finds no descriptor for a region of its own: it runs, and is not recorded. */
static int mode_no_descriptors(void)
{
    struct rlimit limit = { 32, 32 };
    pid_t pid;

    emit(10);
    setrlimit(RLIMIT_NOFILE, &limit);
    while (open("/dev/null", O_RDONLY) >= 0)
        ;
    {
        IFG_ZONE("around the fork");
        pid = fork();
        if (pid == 0)
            emit(10);
    }
    if (pid == 0) {
        pid = fork(); /* and its child neither */
        emit(10);
        _exit(pid && wait_for(pid) ? 1 : ifg_is_recording());
    }
    emit(10);
    return wait_for(pid) ? 1 : 0;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";

    self = argv[0];
    if (strcmp(mode, "fork") == 0)
        return mode_fork();
    if (strcmp(mode, "threads") == 0)
        return mode_threads();
    if (strcmp(mode, "bomb") == 0 && argc == 4)
        return mode_bomb((int)strtol(argv[2], NULL, 10), (int)strtol(argv[3], NULL, 10));
    if (strcmp(mode, "exec") == 0 && argc == 3)
        return mode_exec((int)strtol(argv[2], NULL, 10));
    if (strcmp(mode, "vfork") == 0)
        return mode_vfork();
    if (strcmp(mode, "spawn") == 0)
        return mode_spawn();
    if (strcmp(mode, "system") == 0)
        return mode_system();
    if (strcmp(mode, "no-descriptors") == 0)
        return mode_no_descriptors();
    if (strcmp(mode, "descriptors") == 0)
        return mode_descriptors();
    return 64;
}
