// SPDX-License-Identifier: Apache-2.0
/* Files that a watched program named: see open_as.h. */
#include "system/open_as.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "system/credentials.h"
#include "system/process_folder.h"

#define FLAGS     (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
#define PATH_SIZE 4096

struct request {
    const struct credentials *who;
    int root_fd;
    const char *path;
    uint64_t flags;
    int fd;
    int error;
    bool was_user; /* false: the thread could not become the user, and opened nothing */
};

/*
 * What the kernel asks when files are opened belongs to the thread that asks. Raw system calls
 * change this thread alone, and it ends right afterwards. No other capability stays either: that
 * to trace, for one, opens files of other processes below /proc.
 */
static bool take_file_rights(const struct credentials *who)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct sets[2] = { { 0 }, { 0 } };
    uint64_t keep = credentials_file_rights(who);

    if (geteuid() == 0 || who->uid != getuid()) {
        if (syscall(SYS_setgroups, who->group_count, who->groups) < 0)
            return false;
        syscall(SYS_setfsgid, who->gid);
    }
    syscall(SYS_setfsuid, who->uid);
    if ((uid_t)syscall(SYS_setfsuid, -1) != who->uid ||
        (geteuid() == 0 && (gid_t)syscall(SYS_setfsgid, -1) != who->gid))
        return false;
    if (syscall(SYS_capget, &header, sets) < 0)
        return false;
    sets[0].effective &= (uint32_t)keep;
    sets[1].effective &= (uint32_t)(keep >> 32);
    return syscall(SYS_capset, &header, sets) == 0;
}

/* Below `root_fd`, symbolic links and ".." too, and never through the links of /proc. */
static int open_below(int root_fd, const char *path, uint64_t flags)
{
    struct open_how how = { .flags = FLAGS | flags,
                            .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };

    return (int)syscall(SYS_openat2, root_fd, path, &how, sizeof how);
}

static void *open_in_thread(void *user)
{
    struct request *request = user;

    request->was_user = take_file_rights(request->who);
    if (!request->was_user) {
        request->error = errno ? errno : EPERM;
        return NULL;
    }
    request->fd = open_below(request->root_fd, request->path, request->flags);
    if (request->fd < 0)
        request->error = errno;
    return NULL;
}

/* Files that the kernel makes up as they are read tell about the one who reads, or about itself. */
static bool is_made_up(int fd)
{
    struct statfs filesystem;

    return fstatfs(fd, &filesystem) < 0 || filesystem.f_type == PROC_SUPER_MAGIC ||
           filesystem.f_type == SYSFS_MAGIC || filesystem.f_type == DEBUGFS_MAGIC ||
           filesystem.f_type == TRACEFS_MAGIC || filesystem.f_type == SECURITYFS_MAGIC;
}

static enum ifg_status check_file(int fd, const char *path, uint64_t max_bytes,
                                  struct ifg_error *err)
{
    struct stat found;

    if (fstat(fd, &found) < 0)
        return ifg_fail_errno(err, "%.300s", path);
    if (!S_ISREG(found.st_mode) || is_made_up(fd))
        return ifg_fail(err, IFG_INVALID, "%.300s is not a regular file", path);
    if ((uint64_t)found.st_size > max_bytes)
        return ifg_fail(err, IFG_INVALID, "%.300s is too large (%llu bytes, at most %llu)", path,
                        (unsigned long long)found.st_size, (unsigned long long)max_bytes);
    return IFG_OK;
}

static enum ifg_status open_with(const struct credentials *who, int root_fd, const char *path,
                                 uint64_t flags, uint64_t max_bytes, int *out_fd,
                                 struct ifg_error *err)
{
    struct request request = {
        .who = who, .root_fd = root_fd, .path = path, .flags = flags, .fd = -1
    };
    int own_root = -1;
    enum ifg_status status = IFG_OK;
    pthread_t thread;
    int error;

    *out_fd = -1;
    if (path[0] != '/')
        return ifg_fail(err, IFG_INVALID, "%.300s is not an absolute path", path);
    if (root_fd < 0) {
        own_root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        request.root_fd = own_root;
    }
    error = pthread_create(&thread, NULL, open_in_thread, &request);
    if (error) {
        errno = error;
        status = ifg_fail_errno(err, "%.300s", path);
    } else {
        pthread_join(thread, NULL);
        errno = request.error;
        if (!request.was_user)
            status = ifg_fail(err, IFG_PERMISSION,
                              "%.300s was named by a program of user %u, whose rights to files "
                              "this process cannot take on",
                              path, (unsigned)who->uid);
        else if (request.fd < 0)
            status = ifg_fail_errno(err, "%.300s", path);
        else
            status = check_file(request.fd, path, max_bytes ? max_bytes : OPEN_AS_MAX_BYTES, err);
    }
    if (!status)
        *out_fd = request.fd;
    else if (request.fd >= 0)
        close(request.fd);
    if (own_root >= 0)
        close(own_root);
    return status;
}

enum ifg_status open_as_user(const struct credentials *who, int root_fd, const char *path,
                             uint64_t max_bytes, int *out_fd, struct ifg_error *err)
{
    return open_with(who, root_fd, path, 0, max_bytes, out_fd, err);
}

enum ifg_status open_as_user_unlinked(const struct credentials *who, int root_fd, const char *path,
                                      uint64_t max_bytes, int *out_fd, struct ifg_error *err)
{
    return open_with(who, root_fd, path, O_NOFOLLOW, max_bytes, out_fd, err);
}

int open_as_root(pid_t pid)
{
    char path[48];

    snprintf(path, sizeof path, "/proc/%d/root", (int)pid);
    return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

enum ifg_status open_as_process(pid_t pid, const char *path, uint64_t max_bytes, int *out_fd,
                                struct ifg_error *err)
{
    struct credentials who;
    enum ifg_status status = credentials_of(pid, &who, err);
    int root_fd;

    *out_fd = -1;
    if (status)
        return status;
    root_fd = open_as_root(pid);
    if (root_fd < 0)
        return ifg_fail_errno(err, "the root directory of process %d", (int)pid);
    status = open_as_user(&who, root_fd, path, max_bytes, out_fd, err);
    close(root_fd);
    return status;
}

static bool is_safe_entry(const struct stat *entry, uid_t user)
{
    if (S_ISLNK(entry->st_mode) || (entry->st_uid != 0 && entry->st_uid != user))
        return false;
    /* In a sticky directory others can add files, but not replace ours. */
    if (S_ISDIR(entry->st_mode) && entry->st_mode & S_ISVTX)
        return true;
    return !(entry->st_mode & (S_IWGRP | S_IWOTH));
}

bool open_as_is_owned(const char *path, uid_t user)
{
    char above[PATH_SIZE];
    struct stat entry;
    char *slash;

    if (path[0] != '/' || (size_t)snprintf(above, sizeof above, "%s", path) >= sizeof above)
        return false;
    do {
        if (lstat(*above ? above : "/", &entry) < 0 || !is_safe_entry(&entry, user))
            return false;
        slash = strrchr(above, '/');
        if (slash)
            *slash = '\0';
    } while (slash);
    return true;
}

bool open_as_is_ours(const char *path)
{
    char self[PATH_SIZE];
    struct stat own;

    return process_link(PROCESS_SELF, "exe", self, sizeof self) && stat(self, &own) == 0 &&
           (!open_as_is_owned(self, own.st_uid) || open_as_is_owned(path, own.st_uid));
}
