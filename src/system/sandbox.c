// SPDX-License-Identifier: Apache-2.0
/* A seccomp filter for foreign code: see sandbox.h. */
#include "system/sandbox.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define INSTRUCTIONS_MAX 640
#define FROM_CLONE                                                                                 \
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |  \
     CLONE_NEWNET | CLONE_PTRACE)

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#endif

struct filter {
    struct sock_filter code[INSTRUCTIONS_MAX];
    size_t count;
};

/* Memory, files, threads, time, and what a process may know of itself. */
/* clang-format off */
static const uint16_t allowed[] = {
    SYS_read, SYS_write, SYS_readv, SYS_writev, SYS_pread64, SYS_pwrite64, SYS_preadv,
    SYS_pwritev, SYS_preadv2, SYS_pwritev2, SYS_openat, SYS_close, SYS_close_range, SYS_lseek,
    SYS_fstat, SYS_newfstatat, SYS_statx, SYS_fstatfs, SYS_statfs, SYS_faccessat, SYS_faccessat2,
    SYS_readlinkat, SYS_getcwd, SYS_chdir, SYS_getdents64, SYS_ftruncate, SYS_fallocate,
    SYS_fadvise64, SYS_fsync, SYS_fdatasync, SYS_flock, SYS_fcntl, SYS_dup, SYS_dup3, SYS_pipe2,
    SYS_sendfile, SYS_copy_file_range, SYS_memfd_create, SYS_umask, SYS_mkdirat, SYS_unlinkat,
    SYS_pselect6, SYS_ppoll, SYS_epoll_create1, SYS_epoll_ctl, SYS_epoll_pwait, SYS_eventfd2,
    SYS_timerfd_create, SYS_timerfd_settime, SYS_timerfd_gettime,

    SYS_mmap, SYS_munmap, SYS_mprotect, SYS_mremap, SYS_madvise, SYS_msync, SYS_mincore,
    SYS_mlock, SYS_mlock2, SYS_munlock, SYS_brk, SYS_get_mempolicy, SYS_set_mempolicy, SYS_mbind,
    SYS_membarrier, SYS_pkey_alloc, SYS_pkey_free, SYS_pkey_mprotect,

    SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_rt_sigpending,
    SYS_rt_sigtimedwait, SYS_rt_sigsuspend, SYS_sigaltstack, SYS_restart_syscall, SYS_futex,
    SYS_set_tid_address, SYS_set_robust_list, SYS_rseq, SYS_sched_yield, SYS_sched_getaffinity,
    SYS_sched_setaffinity, SYS_sched_getparam, SYS_sched_getscheduler, SYS_sched_get_priority_max,
    SYS_sched_get_priority_min, SYS_getcpu, SYS_getpriority,

    SYS_clock_gettime, SYS_clock_getres, SYS_clock_nanosleep, SYS_nanosleep, SYS_gettimeofday,
    SYS_times, SYS_getitimer, SYS_setitimer, SYS_getrandom,

    SYS_uname, SYS_sysinfo, SYS_getpid, SYS_gettid, SYS_getppid, SYS_getpgid, SYS_getsid,
    SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_getresuid, SYS_getresgid, SYS_getgroups,
    SYS_capget, SYS_getrlimit, SYS_setrlimit, SYS_getrusage, SYS_execve, SYS_execveat, SYS_exit,
    SYS_exit_group, SYS_wait4, SYS_waitid,
#ifdef SYS_futex_waitv
    SYS_futex_waitv,
#endif
#ifdef __x86_64__
    SYS_open, SYS_creat, SYS_stat, SYS_lstat, SYS_access, SYS_readlink, SYS_getdents, SYS_dup2,
    SYS_pipe, SYS_select, SYS_poll, SYS_epoll_create, SYS_epoll_wait, SYS_eventfd, SYS_getpgrp,
    SYS_time, SYS_alarm, SYS_pause, SYS_arch_prctl, SYS_mkdir, SYS_unlink, SYS_rmdir,
#endif
};
/* clang-format on */

static void put(struct filter *filter, uint16_t code, uint32_t operand, uint8_t yes, uint8_t no)
{
    if (filter->count < INSTRUCTIONS_MAX)
        filter->code[filter->count] = (struct sock_filter){ code, yes, no, operand };
    filter->count++;
}

static void load(struct filter *filter, size_t offset)
{
    put(filter, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void answer(struct filter *filter, uint32_t verdict)
{
    put(filter, BPF_RET | BPF_K, verdict, 0, 0);
}

static void allow(struct filter *filter, uint32_t number)
{
    put(filter, BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1);
    answer(filter, SECCOMP_RET_ALLOW);
}

/* Only with one of these in its argument, an int: the kernel ignores the upper half, too. */
static void allow_with(struct filter *filter, uint32_t number, size_t argument,
                       const uint32_t *values, size_t count)
{
    put(filter, BPF_JMP | BPF_JEQ | BPF_K, number, 0, (uint8_t)(2 * count + 2));
    load(filter, offsetof(struct seccomp_data, args) + argument * sizeof(uint64_t));
    for (size_t i = 0; i < count; i++)
        allow(filter, values[i]);
    answer(filter, SECCOMP_RET_ERRNO | EPERM);
}

/* Threads, no processes. */
static void allow_threads(struct filter *filter)
{
    put(filter, BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 5);
    load(filter, offsetof(struct seccomp_data, args));
    put(filter, BPF_JMP | BPF_JSET | BPF_K, FROM_CLONE, 2, 0);
    put(filter, BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1);
    answer(filter, SECCOMP_RET_ALLOW);
    answer(filter, SECCOMP_RET_ERRNO | EPERM);
}

#ifdef ARCHITECTURE
static void fill(struct filter *filter)
{
    static const uint32_t controls[] = { TCGETS, TIOCGWINSZ, FIONREAD, FIOCLEX, FIONCLEX, FIONBIO };
    static const uint32_t options[] = { PR_SET_NAME,     PR_GET_NAME,         PR_CAPBSET_READ,
                                        PR_GET_DUMPABLE, PR_GET_NO_NEW_PRIVS, PR_SET_VMA };
    const uint32_t self[] = { (uint32_t)getpid() };
    const uint32_t zero[] = { 0 };

    load(filter, offsetof(struct seccomp_data, arch));
    put(filter, BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0);
    answer(filter, SECCOMP_RET_KILL_PROCESS);
    load(filter, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < sizeof allowed / sizeof allowed[0]; i++)
        allow(filter, allowed[i]);
    allow_threads(filter);
    allow_with(filter, SYS_ioctl, 1, controls, sizeof controls / sizeof controls[0]);
    allow_with(filter, SYS_prctl, 0, options, sizeof options / sizeof options[0]);
    allow_with(filter, SYS_prlimit64, 0, zero, 1);
    /* abort() and pthread_kill(), and reading one's own memory with care. */
    allow_with(filter, SYS_kill, 0, self, 1);
    allow_with(filter, SYS_tgkill, 0, self, 1);
    allow_with(filter, SYS_process_vm_readv, 0, self, 1);
    answer(filter, SECCOMP_RET_ERRNO | ENOSYS);
}
#endif

bool sandbox_enter(void)
{
#ifdef ARCHITECTURE
    struct filter filter = { .count = 0 };
    struct sock_fprog program = { .filter = filter.code };

    fill(&filter);
    if (filter.count > INSTRUCTIONS_MAX || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return false;
    program.len = (unsigned short)filter.count;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0 || errno == EINVAL ||
           errno == ENOSYS;
#else
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
#endif
}
