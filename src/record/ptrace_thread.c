// SPDX-License-Identifier: Apache-2.0
/*
 * Which thread of a process can be borrowed, and when: one that waits in a system call that nobody
 * calls while he holds a lock of the C library, with enough stack left for our call.
 */
#include "base/small_file.h"
#include "record/ptrace_internal.h"
#include "system/maps.h"
#include "system/process_folder.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#define STACK_NEEDED 65536u

/* A read that waits for somebody else; not for a disk. */
static bool waits_for_others(pid_t pid, uint64_t descriptor)
{
    static const char *const kinds[] = { "socket:", "pipe:", "anon_inode:", "/dev/pts/",
                                         "/dev/tty" };
    char name[32];
    char link[64];

    snprintf(name, sizeof name, "fd/%d", (int)descriptor);
    (void)process_link(pid, name, link, sizeof link);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strncmp(link, kinds[i], strlen(kinds[i])) == 0)
            return true;
    return false;
}

#if defined(__x86_64__)
bool ptrace_is_safe_call(const struct ptrace *remote, long number, uint64_t first, uint64_t pc)
{
    unsigned char code[7];

    if (pc < sizeof code || !ptrace_read(remote, pc - sizeof code, code, sizeof code) ||
        code[5] != 0x0f || code[6] != 0x05) /* syscall */
        return false;
    /* A call that was stopped before goes on under another number; its own one is in the code,
     * `mov $number, %eax`. */
    if (number == SYS_restart_syscall && code[0] == 0xb8)
        number = (long)(code[1] | code[2] << 8 | code[3] << 16);
    switch (number) {
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
#ifdef SYS_epoll_pwait2
    case SYS_epoll_pwait2:
#endif
    case SYS_poll:
    case SYS_ppoll:
    case SYS_select:
    case SYS_pselect6:
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
        return true;
    case SYS_read:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_accept:
    case SYS_accept4:
        return waits_for_others(remote->pid, first);
    default:
        return false;
    }
}
#else
bool ptrace_is_safe_call(const struct ptrace *remote, long number, uint64_t first, uint64_t pc)
{
    (void)waits_for_others;
    (void)remote, (void)number, (void)first, (void)pc;
    return false;
}
#endif

/* The main thread's stack grows; others must have the room. */
bool ptrace_has_stack(const struct ptrace *remote, uint64_t sp)
{
    struct map_line map;
    bool enough = false;
    struct maps maps;

    if (!maps_open(remote->pid, &maps))
        return false;
    while (maps_next(&maps, &map)) {
        if (sp < map.start || sp >= map.end)
            continue;
        enough = map.writable &&
                 (sp - map.start >= STACK_NEEDED ||
                  (strcmp(map.path, "[stack]") == 0 && sp - map.start >= STACK_NEEDED / 8));
        break;
    }
    maps_close(&maps);
    return enough;
}

/* "0 0x3 0x7f.. ... 0xSP 0xPC", or "running", or "-1 0xSP 0xPC". */
static bool waits_safely(const struct ptrace *remote, pid_t tid, struct ptrace_crowd *crowd)
{
    char path[64];
    char text[256];
    char *at = text;
    uint64_t values[8] = { 0 };
    long number;

    snprintf(path, sizeof path, "/proc/%d/task/%d/syscall", (int)remote->pid, (int)tid);
    if (!ifg_read_small(path, text, sizeof text))
        return false;
    crowd->threads++;
    if (!isdigit((unsigned char)text[0])) {
        crowd->running++;
        return false;
    }
    number = strtol(at, &at, 10);
    for (unsigned i = 0; i < 8; i++) /* six arguments, stack, instruction */
        values[i] = strtoull(at, &at, 16);
    if (number == SYS_futex)
        crowd->waiting_for_locks++;
    if (!ptrace_is_safe_call(remote, number, values[0], values[7]))
        return false;
    if (!ptrace_has_stack(remote, values[6])) {
        crowd->small_stacks++;
        return false;
    }
    return true;
}

bool ptrace_find_waiting(const struct ptrace *remote, ptrace_try *attempt, void *user,
                         struct ptrace_crowd *out_crowd)
{
    struct process_threads threads;
    bool found = false;
    pid_t tid;

    memset(out_crowd, 0, sizeof *out_crowd);
    (void)process_threads_of(remote->pid, &threads);
    while (!found && process_threads_next(&threads, &tid))
        found = waits_safely(remote, tid, out_crowd) && attempt(tid, user);
    process_threads_close(&threads);
    return found;
}
