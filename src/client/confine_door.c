// SPDX-License-Identifier: Apache-2.0
/* In front of libc's prctl and syscall, to know when a program confines itself: see confine.c. In
 * the shared library only. */
#include <dlfcn.h>

#include <inferogram/inferogram.h>

#include "wire/confine_door.h"

static void confine_begins(enum ifg_confinement confinement)
{
    ifg_confine(confinement == IFG_CONFINED_CLOCK ? IFG_CONFINE_CLOCK : IFG_CONFINE_CALLS);
}

static void *confine_next(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

static __attribute__((constructor)) void door_starts(void)
{
    int saved_errno = errno;

    confine_find();
    errno = saved_errno;
}
