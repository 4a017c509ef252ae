// SPDX-License-Identifier: Apache-2.0
/* The directory where regions appear: see rendezvous.h. */
#include "record/rendezvous.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "record/process.h"
#include "wire/wire.h"

#define UNREADY_S 5

/* In memory if at all possible; on a disk the pages of a busy ring would be written back for
 * nothing. */
static const char *const folders[] = { "/dev/shm", "/run/shm", "/tmp" };

const char *rendezvous_folder(size_t index)
{
    return index < sizeof folders / sizeof folders[0] ? folders[index] : NULL;
}

/* Anybody may put a link into /tmp that looks like a directory of ours: only what is really a
 * directory and really belongs to this user is emptied. */
static void remove_with_files(const char *directory)
{
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct dirent *entry;
    struct stat owner;
    DIR *files;

    if (fd < 0)
        return;
    files = fstat(fd, &owner) == 0 && owner.st_uid == geteuid() ? fdopendir(fd) : NULL;
    if (!files) {
        close(fd);
        return;
    }
    while ((entry = readdir(files)))
        if (entry->d_name[0] != '.' && unlinkat(dirfd(files), entry->d_name, 0) < 0)
            unlinkat(dirfd(files), entry->d_name, AT_REMOVEDIR); /* a program may make those, too */
    closedir(files);
    rmdir(directory);
}

/* A pid says nothing about a recorder in another pid namespace; the lock on its directory does. */
static bool is_locked(const char *directory)
{
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    bool locked = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;

    if (fd >= 0)
        close(fd);
    return locked;
}

/* inferogram-UID-PID-XXXXXX of a process that is gone, and of this user: nobody needs it any more.
 */
static void remove_stale(const char *folder)
{
    char prefix[48];
    DIR *entries = opendir(folder);
    struct dirent *entry;

    if (!entries)
        return;
    snprintf(prefix, sizeof prefix, IFG_WIRE_NAME "-%u-", (unsigned)getuid());
    while ((entry = readdir(entries))) {
        char path[512];
        long pid;

        if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
            continue;
        pid = strtol(entry->d_name + strlen(prefix), NULL, 10);
        if (pid <= 0 || process_exists((pid_t)pid))
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (!is_locked(path))
            remove_with_files(path);
    }
    closedir(entries);
}

enum ifg_status rendezvous_create(struct rendezvous *out_rendezvous, struct ifg_error *err)
{
    memset(out_rendezvous, 0, sizeof *out_rendezvous);
    out_rendezvous->inotify = -1;
    out_rendezvous->lock = -1;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        remove_stale(folders[i]);
        snprintf(out_rendezvous->directory, sizeof out_rendezvous->directory,
                 "%s/" IFG_WIRE_NAME "-%u-%d-XXXXXX", folders[i], (unsigned)getuid(),
                 (int)getpid());
        if (mkdtemp(out_rendezvous->directory))
            break;
        out_rendezvous->directory[0] = '\0';
    }
    if (!out_rendezvous->directory[0])
        return ifg_fail_errno(err, "cannot create a directory in /dev/shm or /tmp");
    out_rendezvous->lock =
        open(out_rendezvous->directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (out_rendezvous->lock >= 0)
        flock(out_rendezvous->lock, LOCK_EX | LOCK_NB);
    out_rendezvous->inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (out_rendezvous->inotify >= 0)
        inotify_add_watch(out_rendezvous->inotify, out_rendezvous->directory, IN_CREATE);
    return IFG_OK;
}

bool rendezvous_has_news(struct rendezvous *rendezvous)
{
    char events[4096];
    bool news = rendezvous->unready || rendezvous->inotify < 0;

    while (rendezvous->inotify >= 0 && read(rendezvous->inotify, events, sizeof events) > 0)
        news = true;
    return news;
}

/* A region whose process died before it was ready will never be. That its number means nothing here
 * says so only after a while: it may be one of another pid namespace. */
static bool is_ready(int fd, pid_t pid, bool *out_hopeless)
{
    struct ifg_wire_control head;
    ssize_t got = pread(fd, &head, sizeof head, 0);
    struct stat info;

    if (fstat(fd, &info) < 0 || !S_ISREG(info.st_mode)) {
        *out_hopeless = true;
        return false;
    }
    if (got == (ssize_t)sizeof head && head.magic == IFG_WIRE_MAGIC)
        return true;
    *out_hopeless = !process_exists(pid) && time(NULL) > info.st_ctim.tv_sec + UNREADY_S;
    return false;
}

bool rendezvous_take(struct rendezvous *rendezvous, int *out_fd, pid_t *out_pid)
{
    DIR *files = opendir(rendezvous->directory);
    struct dirent *entry;
    bool taken = false;

    rendezvous->unready = false;
    if (!files)
        return false;
    while (!taken && (entry = readdir(files))) {
        bool hopeless = false;
        pid_t pid;
        int fd;

        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        pid = (pid_t)strtol(entry->d_name, NULL, 10);
        fd = openat(dirfd(files), entry->d_name,
                    O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
        if (fd < 0)
            continue;
        taken = is_ready(fd, pid, &hopeless);
        if (taken || hopeless)
            unlinkat(dirfd(files), entry->d_name, 0);
        if (taken) {
            *out_fd = fd;
            *out_pid = pid;
        } else {
            rendezvous->unready |= !hopeless;
            close(fd);
        }
    }
    closedir(files);
    return taken;
}

void rendezvous_destroy(struct rendezvous *rendezvous)
{
    if (rendezvous->inotify >= 0)
        close(rendezvous->inotify);
    if (rendezvous->lock >= 0)
        close(rendezvous->lock);
    if (rendezvous->directory[0])
        remove_with_files(rendezvous->directory);
    memset(rendezvous, 0, sizeof *rendezvous);
    rendezvous->inotify = -1;
    rendezvous->lock = -1;
}
