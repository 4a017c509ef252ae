// SPDX-License-Identifier: Apache-2.0
/*
 * A program that confines itself when it is told to, and is killed for every system call that it
 * does not make itself.
 *
 *   rec_confined WAY [FILE]
 *
 * Ways: prctl, syscall (a seccomp filter, by libc's functions), raw, untold (the same by an
 * instruction of its own, after ifg_confine or without), strict, strict-syscall, tsc, none.
 *
 * It reads letters, from a file or its input, does what they say, and writes them back:
 *
 *   b  20,000 zones called "zone"       t  a thread that does the same, called "thread"
 *   s  confines itself                  f  a child that does the same, called "child"
 *   w  spins for a moment               q  exits with 7
 */
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <inferogram/inferogram.h>

#define BATCH 20000

static const char *way;

#define ALLOW(number)                                                                              \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1),                                           \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* What the letters need, and nothing else: no gettid, no clock, no madvise but libc's own for the
 * stack of a thread that ends. */
static struct sock_filter filter[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    ALLOW(SYS_read),
    ALLOW(SYS_write),
    ALLOW(SYS_exit),
    ALLOW(SYS_exit_group),
    ALLOW(SYS_futex),
    ALLOW(SYS_mmap),
    ALLOW(SYS_mprotect),
    ALLOW(SYS_munmap),
    ALLOW(SYS_clone),
    ALLOW(SYS_clone3),
    ALLOW(SYS_set_robust_list),
    ALLOW(SYS_rt_sigprocmask),
    ALLOW(SYS_rt_sigaction),
    ALLOW(SYS_brk),
    ALLOW(SYS_getrandom),
    ALLOW(SYS_wait4),
#ifdef SYS_rseq
    ALLOW(SYS_rseq),
#endif
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 3),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MADV_DONTNEED, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};
static struct sock_fprog program = { sizeof filter / sizeof *filter, filter };

static long raw_seccomp(void)
{
    long result;

#if defined(__x86_64__)
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(SYS_seccomp), "D"(SECCOMP_SET_MODE_FILTER), "S"(0), "d"(&program)
                     : "rcx", "r11", "memory");
#else
    result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
#endif
    return result;
}

static long confine(void)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -1;
    if (strcmp(way, "prctl") == 0)
        return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
    if (strcmp(way, "syscall") == 0)
        return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
    if (strcmp(way, "raw") == 0) {
        ifg_confine(IFG_CONFINE_CALLS);
        return raw_seccomp();
    }
    if (strcmp(way, "untold") == 0)
        return raw_seccomp();
    if (strcmp(way, "strict") == 0)
        return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0);
    if (strcmp(way, "strict-syscall") == 0)
        return syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, NULL);
    if (strcmp(way, "tsc") == 0)
        return prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
    return 0;
}

static void batch(void)
{
    for (int i = 0; i < BATCH; i++) {
        IFG_ZONE("zone");
    }
    IFG_MESSAGE("a batch");
    IFG_COUNTER("batches", 1.0);
}

static void *thread_main(void *unused)
{
    (void)unused;
    for (int i = 0; i < BATCH; i++) {
        IFG_ZONE("thread");
    }
    return NULL;
}

static void run_thread(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, thread_main, NULL) != 0)
        _exit(90);
    pthread_join(thread, NULL);
}

static void run_child(void)
{
    pid_t child = fork();
    int status = 0;

    if (child == 0) {
        for (int i = 0; i < BATCH; i++) {
            IFG_ZONE("child");
        }
        _exit(5);
    }
    if (child < 0 || wait4(child, &status, 0, NULL) != child || !WIFEXITED(status) ||
        WEXITSTATUS(status) != 5)
        _exit(91);
}

static void spin(void)
{
    for (volatile int i = 0; i < 100000000; i++)
        ;
}

int main(int argc, char **argv)
{
    int letters = 0;
    char letter;

    way = argc > 1 ? argv[1] : "none";
    if (argc > 2 && (letters = open(argv[2], O_RDWR | O_CLOEXEC)) < 0)
        return 94;
    while (read(letters, &letter, 1) == 1) {
        IFG_ZONE("letter"); /* open while it is confined */
        if (letter == 'b')
            batch();
        else if (letter == 't')
            run_thread();
        else if (letter == 'f')
            run_child();
        else if (letter == 'w')
            spin();
        else if (letter == 's' && confine() != 0)
            _exit(92);
        else if (letter == 'q')
            break;
        if (write(1, &letter, 1) != 1)
            _exit(93);
    }
    syscall(SYS_exit, 7); /* exit_group is not allowed in strict mode */
    return 1;
}
