// SPDX-License-Identifier: Apache-2.0
/*
 * The doors in front of libc's prctl and syscall, for a library that has to know before the program
 * confines itself. Included by one file of each such library, which defines the two functions that
 * are only declared here. The program gets what it would have got without us.
 */
#ifndef IFG_WIRE_CONFINE_DOOR_H
#define IFG_WIRE_CONFINE_DOOR_H

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "wire/confine.h"

#define CONFINE_EXPORT __attribute__((visibility("default")))

static void confine_begins(enum ifg_confinement confinement); /* called before the real one */
static void *confine_next(const char *name);                  /* the function behind ours */

typedef int confine_prctl(int option, ...);
typedef long confine_syscall(long number, ...);

CONFINE_EXPORT confine_prctl prctl;
CONFINE_EXPORT confine_syscall syscall;

static confine_prctl *confine_real_prctl;
static confine_syscall *confine_real_syscall;

/* Once, early: looking for them takes system calls and locks. */
static void confine_find(void)
{
    void *found = confine_next("prctl");

    memcpy(&confine_real_prctl, &found, sizeof confine_real_prctl);
    found = confine_next("syscall");
    memcpy(&confine_real_syscall, &found, sizeof confine_real_syscall);
}

/* How many arguments there are is the kernel's business: all that there could be are passed on. The
 * last may lie in the caller's own variables then, which AddressSanitizer must not take for a read
 * by mistake. */
#define CONFINE_ANY_ARGUMENTS __attribute__((no_sanitize_address))

CONFINE_ANY_ARGUMENTS int prctl(int option, ...)
{
    enum ifg_confinement confinement;
    unsigned long value[4];
    va_list more;

    va_start(more, option);
    for (int i = 0; i < 4; i++)
        value[i] = va_arg(more, unsigned long);
    va_end(more);
    if (!confine_real_prctl)
        confine_find();
    confinement = ifg_confinement_by_prctl(option, value[0]);
    if (confinement)
        confine_begins(confinement);
    if (confine_real_prctl)
        return confine_real_prctl(option, value[0], value[1], value[2], value[3]);
    errno = ENOSYS;
    return -1;
}

CONFINE_ANY_ARGUMENTS long syscall(long number, ...)
{
    enum ifg_confinement confinement;
    unsigned long value[6];
    va_list more;

    va_start(more, number);
    for (int i = 0; i < 6; i++)
        value[i] = va_arg(more, unsigned long);
    va_end(more);
    if (!confine_real_syscall)
        confine_find();
    confinement = ifg_confinement_by_syscall(number, value[0], value[1]);
    if (confinement)
        confine_begins(confinement);
    if (confine_real_syscall)
        return confine_real_syscall(number, value[0], value[1], value[2], value[3], value[4],
                                    value[5]);
    errno = ENOSYS;
    return -1;
}

#endif
