// SPDX-License-Identifier: Apache-2.0
/*
 * How a program confines itself (seccomp, or no clock for user code), as it is seen by whoever
 * stands in front of libc's prctl and syscall: the library and the hooks do, because afterwards it
 * is too late. A confined program may be killed for any system call that it did not expect of
 * itself, and in strict mode for reading the processor's clock.
 */
#ifndef IFG_WIRE_CONFINE_H
#define IFG_WIRE_CONFINE_H

#include <sys/prctl.h>
#include <sys/syscall.h>

enum ifg_confinement {
    IFG_CONFINED_NOT = 0,
    IFG_CONFINED_CALLS = 1, /* a seccomp filter: no system calls of ours from now on */
    IFG_CONFINED_CLOCK = 2, /* seccomp's strict mode, or PR_SET_TSC: nothing of ours at all */
};

/* seccomp(2); linux/seccomp.h cannot be relied on beside libc's headers everywhere. */
#define IFG_SECCOMP_MODE_STRICT     1ul
#define IFG_SECCOMP_MODE_FILTER     2ul
#define IFG_SECCOMP_SET_MODE_STRICT 0ul
#define IFG_SECCOMP_SET_MODE_FILTER 1ul

static inline enum ifg_confinement ifg_confinement_by_prctl(int option, unsigned long value)
{
    if (option == PR_SET_SECCOMP && value == IFG_SECCOMP_MODE_STRICT)
        return IFG_CONFINED_CLOCK;
    if (option == PR_SET_SECCOMP && value == IFG_SECCOMP_MODE_FILTER)
        return IFG_CONFINED_CALLS;
    if (option == PR_SET_TSC && value == PR_TSC_SIGSEGV)
        return IFG_CONFINED_CLOCK;
    return IFG_CONFINED_NOT;
}

static inline enum ifg_confinement ifg_confinement_by_syscall(long number, unsigned long first,
                                                              unsigned long second)
{
    if (number == SYS_prctl)
        return ifg_confinement_by_prctl((int)first, second);
    if (number == SYS_seccomp && first == IFG_SECCOMP_SET_MODE_STRICT)
        return IFG_CONFINED_CLOCK;
    if (number == SYS_seccomp && first == IFG_SECCOMP_SET_MODE_FILTER)
        return IFG_CONFINED_CALLS;
    return IFG_CONFINED_NOT;
}

#endif
