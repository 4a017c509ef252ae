// SPDX-License-Identifier: Apache-2.0
/*
 * A program in unusual surroundings: client_world MODE [N].
 *
 * It emits N zones (10 if not given) after it has done what MODE says, and prints their number.
 */
#include <inferogram/inferogram.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void emit(long count)
{
    for (long i = 0; i < count; i++) {
        IFG_ZONE("work");
    }
}

static void close_all(void)
{
    if (syscall(SYS_close_range, 3, ~0u, 0) == 0)
        return;
    for (int fd = 3; fd < 1024; fd++)
        close(fd);
}

static void recurse(long depth)
{
    IFG_ZONE("deep");
    if (depth > 1)
        recurse(depth - 1);
    __asm__ volatile("" : : : "memory");
}

static void pause_ms(long ms)
{
    struct timespec time = { ms / 1000, ms % 1000 * 1000000 };

    nanosleep(&time, NULL);
}

/* Waits for a recorder, emits, waits for the next one; until N recordings are over. */
static int be_attached_to(long recordings)
{
    puts("ready");
    fflush(stdout);
    for (long i = 0; i < recordings; i++) {
        while (!ifg_is_recording())
            pause_ms(1);
        emit(10);
        if (i == 0) {
            static ifg_location here = { "never ends", "f", __FILE__, __LINE__, 0, 1, 0 };

            IFG_ZONE("contains one that never ends");
            if (ifg_is_recording())
                (void)ifg_zone_begin(&here);
        }
        while (ifg_is_recording())
            pause_ms(1);
    }
    return 0;
}

static long resident_kib(void)
{
    long pages = 0;
    long unused = 0;
    FILE *file = fopen("/proc/self/statm", "re");

    if (file) {
        if (fscanf(file, "%ld %ld", &unused, &pages) != 2)
            pages = 0;
        fclose(file);
    }
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/* Emits N zones while its parent, the recorder, is stopped; tells by how much the program grew. */
static int emit_with_stopped_recorder(long count)
{
    pid_t recorder = getppid();
    long before;

    emit(1);
    pause_ms(50);
    before = resident_kib();
    kill(recorder, SIGSTOP);
    pause_ms(20);
    emit(count);
    kill(recorder, SIGCONT);
    printf("%ld %ld\n", count + 1, resident_kib() - before);
    return 0;
}

/* Runs the rest of the command line with one system call refused. */
static int refuse(const char *name, char **command)
{
    int number = strcmp(name, "memfd") == 0 ? SYS_memfd_create : SYS_madvise;
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { sizeof filter / sizeof filter[0], filter };

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, 2, &program))
        return 77;
    execv(command[0], command);
    return 1;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    long count = argc > 2 ? strtol(argv[2], NULL, 10) : 10;

    if (strcmp(mode, "attached") == 0 || strcmp(mode, "attached-closed") == 0) {
        if (strcmp(mode, "attached-closed") == 0)
            close_all();
        return be_attached_to(count);
    }
    if (strcmp(mode, "stopped") == 0)
        return emit_with_stopped_recorder(count);
    if (strcmp(mode, "refuse") == 0 && argc > 3)
        return refuse(argv[2], argv + 3);
    if (strcmp(mode, "secure") == 0)
        printf("%s ", getauxval(AT_SECURE) ? "secure" : "ordinary");
    if (strcmp(mode, "close") == 0)
        close_all();
    if (strcmp(mode, "deep") == 0)
        recurse(count);
    else if (strcmp(mode, "long") == 0) {
        IFG_ZONE("long");
        pause_ms(count);
    } else {
        emit(count);
    }
    if (strcmp(mode, "close-between") == 0) {
        close_all();
        emit(count);
        count *= 2;
    }
    if (strcmp(mode, "recording") == 0)
        printf("%s ", ifg_is_recording() ? "recording" : "idle");
    printf("%ld\n", count);
    return 0;
}
