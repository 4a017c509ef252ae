// SPDX-License-Identifier: Apache-2.0
/* Folders for the time that a command runs: see own_folder.h. */
#include "cli/own_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRIES_MOST 100

/* Whether it is ours for as long as we have *out_lock. Between its making and this, another one may
 * have found it without a lock and removed it. */
static bool take(const char *path, int *out_lock)
{
    struct stat found;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return false;
    /* Where there are no locks, nobody can take it for stale either. */
    if ((flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) || fstat(fd, &found) != 0 ||
        found.st_nlink == 0) {
        close(fd);
        return false;
    }
    *out_lock = fd;
    return true;
}

bool own_folder_make(const struct own_folder_kind *kind, char *out_path, size_t size, int *out_lock)
{
    *out_lock = -1;
    for (int i = 0; i < TRIES_MOST; i++) {
        if (snprintf(out_path, size, "%s/%sXXXXXX", kind->parent, kind->prefix) >= (int)size) {
            errno = ENAMETOOLONG;
            return false;
        }
        if (!mkdtemp(out_path))
            return false;
        if (take(out_path, out_lock))
            return true;
        rmdir(out_path); /* mostly gone already */
    }
    errno = EAGAIN;
    return false;
}

/* Whether there is nothing but its file in it. */
static bool has_its_file_only(int folder, const char *file)
{
    int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = again >= 0 ? fdopendir(again) : NULL;
    struct dirent *entry;
    struct stat found;
    bool only = entries != NULL;

    while (only && (entry = readdir(entries)))
        only = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
               (strcmp(entry->d_name, file) == 0 &&
                fstatat(folder, entry->d_name, &found, AT_SYMLINK_NOFOLLOW) == 0 &&
                S_ISREG(found.st_mode) && found.st_uid == geteuid());
    if (entries)
        closedir(entries);
    else if (again >= 0)
        close(again);
    return only;
}

static void remove_if_stale(int parent, const char *name, const char *file)
{
    int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat opened;
    struct stat named;

    if (folder < 0)
        return;
    if (fstat(folder, &opened) == 0 && opened.st_uid == geteuid() && (opened.st_mode & 077) == 0 &&
        flock(folder, LOCK_EX | LOCK_NB) == 0 && has_its_file_only(folder, file) &&
        fstatat(parent, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && named.st_ino == opened.st_ino &&
        named.st_dev == opened.st_dev) {
        unlinkat(folder, file, 0);
        unlinkat(parent, name, AT_REMOVEDIR);
    }
    close(folder);
}

void own_folder_remove_stale(const struct own_folder_kind *kind)
{
    DIR *entries = opendir(kind->parent);
    struct dirent *entry;

    while (entries && (entry = readdir(entries)))
        if (strncmp(entry->d_name, kind->prefix, strlen(kind->prefix)) == 0)
            remove_if_stale(dirfd(entries), entry->d_name, kind->file);
    if (entries)
        closedir(entries);
}
