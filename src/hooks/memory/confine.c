// SPDX-License-Identifier: Apache-2.0
/* Programs that confine themselves (seccomp): nothing of theirs is picked from then on, because a
 * pick takes system calls and the clock. */
#include <dlfcn.h>

#include "hooks/memory/memory.h"
#include "wire/confine_door.h"

static void confine_begins(enum ifg_confinement confinement)
{
    (void)confinement;
    memory_confine();
}

static void *confine_next(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}
