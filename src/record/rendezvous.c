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
#define TRIES     100

/* In memory if at all possible; on a disk the pages of a busy ring would be written back for
 * nothing. */
static const char *const folders[] = { "/dev/shm", "/run/shm", "/tmp" };

const char *rendezvous_folder(size_t index)
{
    return index < sizeof folders / sizeof folders[0] ? folders[index] : NULL;
}

/* Empties and removes a directory that is open as `fd`, which it closes. Anybody may put one
 * into /tmp that looks like ours: only what really belongs to this user is emptied. */
static void remove_with_files(const char *directory, int fd)
{
    struct dirent *entry;
    struct stat owner;
    DIR *files = fstat(fd, &owner) == 0 && owner.st_uid == geteuid() ? fdopendir(fd) : NULL;

    if (!files) {
        close(fd);
        return;
    }
    while ((entry = readdir(files)))
        if (entry->d_name[0] != '.' && unlinkat(dirfd(files), entry->d_name, 0) < 0)
            unlinkat(dirfd(files), entry->d_name, AT_REMOVEDIR); /* a program may make those, too */
    rmdir(directory); /* while it is locked: its recorder may be about to lock it, see below */
    closedir(files);
}

static int open_directory(const char *directory)
{
    return open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* inferogram-UID-PID-XXXXXX of this user that nobody holds a lock on: nobody needs it any more. A
 * pid says less: it may be somebody else's by now, or of another pid namespace. */
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
        int fd;

        if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        fd = open_directory(path);
        if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0)
            close(fd);
        else if (fd >= 0)
            remove_with_files(path, fd);
    }
    closedir(entries);
}

/* A new directory in this folder, and a lock on it. Until it is locked, another recorder may take
 * it for one that was left behind, and remove it: then another one is made. */
static bool create_locked(const char *folder, struct rendezvous *out_rendezvous)
{
    for (int tries = 0; tries < TRIES; tries++) {
        struct stat made, there;

        snprintf(out_rendezvous->directory, sizeof out_rendezvous->directory,
                 "%s/" IFG_WIRE_NAME "-%u-%d-XXXXXX", folder, (unsigned)getuid(), (int)getpid());
        if (!mkdtemp(out_rendezvous->directory))
            break;
        out_rendezvous->lock = open_directory(out_rendezvous->directory);
        if (out_rendezvous->lock < 0 && errno == ENOENT)
            continue;
        if (out_rendezvous->lock < 0) {
            rmdir(out_rendezvous->directory);
            break;
        }
        flock(out_rendezvous->lock, LOCK_EX); /* who removes it has it for a moment only */
        if (fstat(out_rendezvous->lock, &made) == 0 &&
            lstat(out_rendezvous->directory, &there) == 0 && made.st_ino == there.st_ino)
            return true;
        close(out_rendezvous->lock);
        out_rendezvous->lock = -1;
    }
    out_rendezvous->directory[0] = '\0';
    return false;
}

enum ifg_status rendezvous_create(struct rendezvous *out_rendezvous, struct ifg_error *err)
{
    memset(out_rendezvous, 0, sizeof *out_rendezvous);
    out_rendezvous->inotify = -1;
    out_rendezvous->lock = -1;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        remove_stale(folders[i]);
        if (create_locked(folders[i], out_rendezvous))
            break;
    }
    if (!out_rendezvous->directory[0])
        return ifg_fail_errno(err, "cannot create a directory in /dev/shm or /tmp");
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
        remove_with_files(rendezvous->directory, rendezvous->lock);
    memset(rendezvous, 0, sizeof *rendezvous);
    rendezvous->inotify = -1;
    rendezvous->lock = -1;
}
