// SPDX-License-Identifier: Apache-2.0
/* Capabilities that lie idle: see rights.h. */
#include "system/rights.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "system/credentials.h"

#define BIT(capability) (UINT64_C(1) << (capability))

/* Numbers of linux/capability.h, which older headers do not have. */
#define CAPABILITY_PERFMON 38
#define CAPABILITY_BPF     39
#define CAPABILITY_END     64

/* Events and probes, their rings, and the names of kernel functions. CAP_SYS_PTRACE is not among
 * them: it is for other people's processes. */
#define NEEDED (BIT(CAPABILITY_PERFMON) | BIT(CAPABILITY_BPF) | BIT(CAP_IPC_LOCK) | BIT(CAP_SYSLOG))

struct sets {
    uint64_t effective, permitted, inheritable;
};

static uint64_t spare; /* what raising makes effective */

static bool get_sets(struct sets *out)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct data[2] = { { 0 }, { 0 } };

    if (syscall(SYS_capget, &header, data) < 0)
        return false;
    out->effective = data[0].effective | (uint64_t)data[1].effective << 32;
    out->permitted = data[0].permitted | (uint64_t)data[1].permitted << 32;
    out->inheritable = data[0].inheritable | (uint64_t)data[1].inheritable << 32;
    return true;
}

static bool put_sets(const struct sets *sets)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct data[2] = {
        { (uint32_t)sets->effective, (uint32_t)sets->permitted, (uint32_t)sets->inheritable },
        { (uint32_t)(sets->effective >> 32), (uint32_t)(sets->permitted >> 32),
          (uint32_t)(sets->inheritable >> 32) },
    };

    return syscall(SYS_capset, &header, data) == 0;
}

static uint64_t ambient(void)
{
    uint64_t set = 0;

    for (unsigned i = 0; i < CAPABILITY_END; i++)
        if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, i, 0, 0) == 1)
            set |= BIT(i);
    return set;
}

bool rights_begin(void)
{
    struct sets sets;

    spare = 0;
    if (getuid() == 0 || !credentials_are_raised())
        return true;
    /* From set-uid root, capabilities stay permitted and are no longer effective. */
    if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0 || setresgid(getgid(), getgid(), getgid()) < 0 ||
        setresuid(getuid(), getuid(), getuid()) < 0 || prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0) < 0 ||
        !get_sets(&sets))
        return false;
    sets.effective = 0;
    sets.permitted &= NEEDED | ambient();
    if (!put_sets(&sets))
        return false;
    spare = sets.permitted & NEEDED;
    return true;
}

bool rights_are_spare(void)
{
    return spare != 0;
}

static void make_effective(uint64_t effective)
{
    struct sets sets;
    int error = errno;

    if (!spare)
        return;
    if (get_sets(&sets)) {
        sets.effective = effective & sets.permitted;
        if (put_sets(&sets)) {
            errno = error;
            return;
        }
    }
    if (!effective)
        __builtin_trap(); /* better no program than one that keeps what it should not have */
    errno = error;
}

void rights_raise(void)
{
    make_effective(spare);
}

void rights_lower(void)
{
    make_effective(0);
}
