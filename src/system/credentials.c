// SPDX-License-Identifier: Apache-2.0
/* Who a process belongs to, and becoming that user: see credentials.h. */
#include "system/credentials.h"

#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "system/maps.h"
#include "system/process_folder.h"
#include "system/process_status.h"

#define CAPABILITY_END 64

/* What opens files that their user could not. */
#define FILE_RIGHTS (UINT64_C(1) << CAP_DAC_OVERRIDE | UINT64_C(1) << CAP_DAC_READ_SEARCH)

static enum ifg_status take(const struct process_status *status, struct credentials *out,
                            struct ifg_error *err)
{
    memset(out, 0, sizeof *out);
    if (!status->has_owner)
        return ifg_fail(err, IFG_CORRUPT, "its status in /proc does not say whose it is");
    out->uid = (uid_t)status->uids[0];
    out->gid = (gid_t)status->gids[0];
    out->effective_uid = (uid_t)status->uids[1];
    out->effective_gid = (gid_t)status->gids[1];
    for (size_t i = 1; i < 4; i++)
        out->is_set_id |= status->uids[i] != status->uids[0] || status->gids[i] != status->gids[0];
    out->permitted = status->permitted;
    out->effective = status->effective;
    out->group_count = status->group_count;
    memcpy(out->groups, status->groups, sizeof out->groups);
    out->no_new_privs = status->no_new_privs;
    out->seccomp_mode = status->seccomp_mode <= 2 ? (unsigned)status->seccomp_mode : 0;
    return IFG_OK;
}

enum ifg_status credentials_parse(const char *text, struct credentials *out, struct ifg_error *err)
{
    struct process_status status;

    process_status_parse(text, &status);
    return take(&status, out, err);
}

enum ifg_status credentials_of(pid_t pid, struct credentials *out, struct ifg_error *err)
{
    struct process_status now;
    enum ifg_status status;

    memset(out, 0, sizeof *out);
    if (!process_status_of(pid, &now))
        return ifg_fail(err, IFG_NOT_FOUND, "process %d has ended", (int)pid);
    status = take(&now, out, err);
    if (status)
        return ifg_fail_context(err, status, "process %d", (int)pid);
    /* Anybody is almighty in a user namespace of his own. What cannot be told is taken for one. */
    out->other_users = !process_shares(pid, "ns/user");
    return IFG_OK;
}

void credentials_own(struct credentials *out)
{
    uid_t users[3];
    gid_t groups[3];
    long count;

    memset(out, 0, sizeof *out);
    syscall(SYS_getresuid, &users[0], &users[1], &users[2]);
    syscall(SYS_getresgid, &groups[0], &groups[1], &groups[2]);
    out->uid = users[0];
    out->gid = groups[0];
    out->effective_uid = users[1];
    out->effective_gid = groups[1];
    for (size_t i = 1; i < 3; i++)
        out->is_set_id |= users[i] != users[0] || groups[i] != groups[0];
    count = syscall(SYS_getgroups, CREDENTIALS_GROUPS_MAX, out->groups);
    out->group_count = count > 0 ? (size_t)count : 0;
}

bool credentials_are_guarded(pid_t pid, const struct credentials *who)
{
    uid_t owner;

    /* What cannot be dumped belongs to root in /proc. */
    return who->is_set_id || (who->uid != 0 && who->permitted) || !maps_owner(pid, &owner) ||
           owner != who->uid;
}

void credentials_nobody(struct credentials *out)
{
    memset(out, 0, sizeof *out);
    out->uid = out->effective_uid = CREDENTIALS_NOBODY;
    out->gid = out->effective_gid = CREDENTIALS_NOBODY;
}

static bool own_permitted(uint64_t *out)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct sets[2] = { { 0 }, { 0 } };

    if (syscall(SYS_capget, &header, sets) < 0)
        return false;
    *out = sets[0].permitted | (uint64_t)sets[1].permitted << 32;
    return true;
}

bool credentials_are_raised(void)
{
    uint64_t permitted;

    if (getuid() != geteuid() || getgid() != getegid())
        return true;
    return getuid() != 0 && (!own_permitted(&permitted) || permitted != 0);
}

bool credentials_can_become(const struct credentials *who)
{
    uint64_t permitted = 0;

    if (getuid() == who->uid)
        return true;
    own_permitted(&permitted);
    return permitted >> CAP_SETUID & 1 && permitted >> CAP_SETGID & 1;
}

static bool drop_capabilities(uint64_t keep)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct sets[2] = { { 0 }, { 0 } };

    sets[0].effective = sets[0].permitted = (uint32_t)keep;
    sets[1].effective = sets[1].permitted = (uint32_t)(keep >> 32);
    return syscall(SYS_capset, &header, sets) == 0;
}

uint64_t credentials_file_rights(const struct credentials *who)
{
    return who->uid == 0 && !who->other_users ? who->effective & FILE_RIGHTS : 0;
}

static bool become(const struct credentials *who, uint64_t keep)
{
    uint64_t permitted = 0;

    own_permitted(&permitted);
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    /* Without CAP_SETPCAP there is nothing to take from the bounding set that execve could give. */
    for (int i = 0; i < CAPABILITY_END && permitted >> CAP_SETPCAP & 1; i++)
        if (prctl(PR_CAPBSET_DROP, i, 0, 0, 0) < 0 && errno == EINVAL)
            break;
    if (permitted >> CAP_SETGID & 1 && (syscall(SYS_setgroups, who->group_count, who->groups) < 0 ||
                                        syscall(SYS_setresgid, who->gid, who->gid, who->gid) < 0))
        return false;
    if (permitted >> CAP_SETUID & 1 && syscall(SYS_setresuid, who->uid, who->uid, who->uid) < 0)
        return false;
    if (getuid() != geteuid() && syscall(SYS_setresuid, getuid(), getuid(), getuid()) < 0)
        return false;
    if (getgid() != getegid() && syscall(SYS_setresgid, getgid(), getgid(), getgid()) < 0)
        return false;
    /* An ordinary user may have another group than his own process has: both are his. */
    return drop_capabilities(keep & permitted) && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           getuid() == who->uid && geteuid() == who->uid;
}

bool credentials_become(const struct credentials *who)
{
    return become(who, 0);
}

bool credentials_become_reader(const struct credentials *who)
{
    return become(who, credentials_file_rights(who));
}
