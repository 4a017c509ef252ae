// SPDX-License-Identifier: Apache-2.0
/*
 * Programs that confine themselves, by a seccomp filter say: from then on a system call that they
 * did not expect of themselves may be answered by a signal that kills. The record path makes none
 * where the region is a memfd; where it is a file, only for memory, and in a confined program that
 * is left to the recorder (region.c, ring.c, define.c).
 *
 * Where the processor's clock is forbidden as well (seccomp's strict mode forbids it), nothing can
 * be recorded: the program is left alone, and the recorder says so.
 */
#include "client/client_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum ifg_confinement client_confinement;

static bool libc_tells_thread;
static bool clock_takes_calls;

uint64_t client_now_slowly(void)
{
    return client_ticks == IFG_TICKS_MONOTONIC ? ifg_monotonic_ns() : 0;
}

/* A thread's CPU clock is named by its number: ~number << 3 | 6, an interface of the kernel. libc
 * knows the number and makes no system call for this. */
static uint32_t thread_id_by_clock(void)
{
    clockid_t clock;

    if (pthread_getcpuclockid(pthread_self(), &clock) != 0 || (clock & 7) != 6)
        return 0;
    return ~((uint32_t)clock >> 3) & 0x1fffffffu;
}

uint32_t client_thread_id(void)
{
    return libc_tells_thread ? thread_id_by_clock() : (uint32_t)syscall(SYS_gettid);
}

/* CLOCK_MONOTONIC is read without a system call where the kernel's clock is a counter. */
static bool monotonic_takes_calls(void)
{
    static const char *const counters[] = { "tsc\n", "kvm-clock\n", "hyperv_clocksource_tsc_page\n",
                                            "arch_sys_counter\n" };
    char name[64] = "";
    int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
                  O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, name, sizeof name - 1);

    if (fd >= 0)
        close(fd);
    for (size_t i = 0; length > 0 && i < sizeof counters / sizeof *counters; i++)
        if (strcmp(name, counters[i]) == 0)
            return false;
    return true;
}

/* By calls that the loader has just made itself. */
static bool begins_confined(unsigned recorder_filters)
{
    static const char key[] = "\nSeccomp_filters:\t";
    char text[4096];
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    const char *at;

    if (fd >= 0)
        close(fd);
    text[length > 0 ? length : 0] = '\0';
    at = strstr(text, key);
    return at && strtoul(at + sizeof key - 1, NULL, 10) > recorder_filters;
}

void client_confine_start(bool launched, unsigned recorder_filters)
{
    if (launched && begins_confined(recorder_filters))
        client_confinement = IFG_CONFINED_CALLS;
    /* Whoever is confined from the start: its number is the process's, and libc's word must do. */
    libc_tells_thread = thread_id_by_clock() ==
                        (client_may_call() ? (uint32_t)syscall(SYS_gettid) : (uint32_t)getpid());
    clock_takes_calls = client_ticks == IFG_TICKS_MONOTONIC && monotonic_takes_calls();
}

/* While system calls are still free: a ring for this thread, and memory for what comes. */
static void prepare(void)
{
    if (!client_ring && ifg_is_recording())
        client_ring_acquire();
    client_definitions_warm();
}

void ifg_confine(enum ifg_confine_how how)
{
    enum ifg_confinement confinement =
        how == IFG_CONFINE_CLOCK || clock_takes_calls ? IFG_CONFINED_CLOCK : IFG_CONFINED_CALLS;
    int saved_errno = errno;

    if (confinement > client_confinement) {
        if (confinement == IFG_CONFINED_CALLS && client_control)
            prepare();
        client_confinement = confinement;
        if (client_control)
            __atomic_store_n(&client_control->confinement, (uint32_t)confinement, __ATOMIC_RELEASE);
        if (confinement == IFG_CONFINED_CLOCK)
            client_leave_alone();
    }
    errno = saved_errno;
}

int ifg_is_confined(void)
{
    return !client_may_call();
}
