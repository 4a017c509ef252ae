// SPDX-License-Identifier: Apache-2.0
/* Whose a process is, and opening files with the rights and below the root of that user. */
#include "collect/perf/owners.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "system/credentials.h"
#include "system/open_as.h"
#include "system/process_folder.h"

#define SLOTS 8192u /* of processes, by number; the last one that had a slot is known */

struct owner {
    struct credentials who;
    int root_fd;   /* -1: the recorder's own */
    bool helpless; /* nobody can be made of us who has no more rights: nothing is opened */
    dev_t device;
    ino_t inode;      /* of the root directory */
    ino_t name_space; /* of mounts */
};

struct kept {
    uint32_t pid; /* 0: free */
    uint32_t owner;
};

struct owners {
    struct owner owners[OWNERS_MAX];
    size_t count;
    struct owner self; /* the recorder */
    struct kept kept[SLOTS];
};

/* An ordinary user has no more rights than his own, whoever's program it is. */
static void limit(struct owner *owner, const struct owner *self)
{
    if (credentials_can_become(&owner->who))
        return;
    if (getuid() != 0)
        owner->who = self->who;
    else
        owner->helpless = true;
}

static ino_t mounts_of(uint32_t pid)
{
    struct stat facts;

    return process_entry((pid_t)pid, "ns/mnt", &facts) ? facts.st_ino : 0;
}

static bool describe(uint32_t pid, struct owner *out)
{
    struct stat root = { 0 };

    memset(out, 0, sizeof *out);
    out->root_fd = -1;
    if (credentials_of((pid_t)pid, &out->who, NULL) != IFG_OK)
        return false;
    out->root_fd = open_as_root((pid_t)pid);
    if (out->root_fd >= 0 && fstat(out->root_fd, &root) == 0) {
        out->device = root.st_dev;
        out->inode = root.st_ino;
        out->name_space = mounts_of(pid);
    }
    return true;
}

static void forget_root(struct owner *owner)
{
    if (owner->root_fd >= 0)
        close(owner->root_fd);
    owner->root_fd = -1;
}

static bool is_same_place(const struct owner *a, const struct owner *b)
{
    return a->device == b->device && a->inode == b->inode && a->name_space == b->name_space;
}

static bool is_same_user(const struct credentials *a, const struct credentials *b)
{
    return a->uid == b->uid && a->gid == b->gid && a->group_count == b->group_count &&
           credentials_file_rights(a) == credentials_file_rights(b) &&
           memcmp(a->groups, b->groups, a->group_count * sizeof *a->groups) == 0;
}

struct owners *owners_create(void)
{
    struct owners *owners = ifg_alloc(1, sizeof *owners);
    struct owner *nobody;

    if (!owners)
        return NULL;
    if (!describe((uint32_t)getpid(), &owners->self))
        owners->self.helpless = true;
    forget_root(&owners->self);
    nobody = &owners->owners[owners->count++];
    *nobody = owners->self;
    credentials_nobody(&nobody->who);
    limit(nobody, &owners->self);
    return owners;
}

void owners_destroy(struct owners *owners)
{
    if (!owners)
        return;
    for (size_t i = 0; i < owners->count; i++)
        forget_root(&owners->owners[i]);
    ifg_free(owners);
}

/* ---- of which process ---- */

bool owners_now(struct owners *owners, uint32_t pid, uint32_t *out_owner)
{
    struct owner owner;

    *out_owner = OWNERS_NOBODY;
    if (!describe(pid, &owner))
        return false;
    if (owner.root_fd < 0 && getuid() == 0)
        return false; /* what is left of it until somebody asks how it ended */
    /* A process whose root directory an ordinary user cannot see is not his: then ours must do. */
    if (owner.root_fd < 0 || is_same_place(&owner, &owners->self)) {
        forget_root(&owner);
        owner.device = owners->self.device;
        owner.inode = owners->self.inode;
        owner.name_space = owners->self.name_space;
    }
    limit(&owner, &owners->self);
    for (uint32_t i = 0; i < owners->count; i++)
        if (is_same_user(&owner.who, &owners->owners[i].who) &&
            owner.helpless == owners->owners[i].helpless &&
            is_same_place(&owner, &owners->owners[i])) {
            forget_root(&owner);
            *out_owner = i;
            return true;
        }
    if (owners->count == OWNERS_MAX) {
        forget_root(&owner);
        return true;
    }
    *out_owner = (uint32_t)owners->count;
    owners->owners[owners->count++] = owner;
    return true;
}

void owners_keep(struct owners *owners, uint32_t pid, uint32_t owner)
{
    owners->kept[pid % SLOTS] = (struct kept){ pid, owner };
}

uint32_t owners_kept(const struct owners *owners, uint32_t pid)
{
    const struct kept *kept = &owners->kept[pid % SLOTS];

    /* It may have been another user's since we looked: root's rights are not guessed. */
    if (kept->pid != pid || owners->owners[kept->owner].who.uid == 0)
        return OWNERS_NOBODY;
    return kept->owner;
}

uint32_t owners_of(struct owners *owners, uint32_t pid)
{
    uint32_t owner;

    if (!owners_now(owners, pid, &owner))
        return owners_kept(owners, pid);
    owners_keep(owners, pid, owner);
    return owner;
}

void owners_forked(struct owners *owners, uint32_t parent, uint32_t pid)
{
    owners_keep(owners, pid, owners_kept(owners, parent));
}

/* ---- what it may ---- */

size_t owners_count(const struct owners *owners)
{
    return owners->count;
}

uid_t owners_user(const struct owners *owners, uint32_t owner)
{
    return owners->owners[owner].who.uid;
}

bool owners_is_own(const struct owners *owners, uint32_t owner)
{
    return owners->owners[owner].who.uid == owners->self.who.uid &&
           is_same_place(&owners->owners[owner], &owners->self);
}

bool owners_wrote(const struct owners *owners, uint32_t owner, int fd)
{
    struct stat file;

    return fstat(fd, &file) == 0 &&
           (file.st_uid == 0 || file.st_uid == owners->owners[owner].who.uid);
}

enum ifg_status owners_open(const struct owners *owners, uint32_t number, const char *path,
                            unsigned flags, uint64_t max_bytes, int *out_fd, struct ifg_error *err)
{
    const struct owner *owner = &owners->owners[number];
    int root_fd = flags & OWNERS_HERE ? -1 : owner->root_fd;

    *out_fd = -1;
    if (owner->helpless)
        return ifg_fail(err, IFG_PERMISSION,
                        "%.300s was named by a program of user %u, whose rights to files this "
                        "process cannot take on",
                        path, (unsigned)owner->who.uid);
    if (flags & OWNERS_UNLINKED)
        return open_as_user_unlinked(&owner->who, root_fd, path, max_bytes, out_fd, err);
    return open_as_user(&owner->who, root_fd, path, max_bytes, out_fd, err);
}

bool owners_become(const struct owners *owners, uint32_t number)
{
    const struct owner *owner = &owners->owners[number];

    if (owner->helpless)
        return false;
    /* A root directory that cannot be had is no reason for root to read from his own. */
    if (owner->root_fd >= 0 && (fchdir(owner->root_fd) < 0 || chroot(".") < 0) && getuid() == 0)
        return false;
    return credentials_become_reader(&owner->who);
}
