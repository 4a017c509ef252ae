// SPDX-License-Identifier: Apache-2.0
/* Folders of temporary traces: see live_folder.h. */
#include "cli/live_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX     "inferogram-live-"
#define TRIES_MOST 100

const char *live_folder_place(void)
{
    const char *place = getenv("TMPDIR");

    return place && *place ? place : "/tmp";
}

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

bool live_folder_make(char *out_path, size_t size, int *out_lock)
{
    *out_lock = -1;
    for (int i = 0; i < TRIES_MOST; i++) {
        if (snprintf(out_path, size, "%s/" PREFIX "XXXXXX", live_folder_place()) >= (int)size) {
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

/* Whether there is nothing but a trace in it. */
static bool has_trace_only(int folder)
{
    int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = again >= 0 ? fdopendir(again) : NULL;
    struct dirent *entry;
    struct stat found;
    bool only = entries != NULL;

    while (only && (entry = readdir(entries)))
        only = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
               (strcmp(entry->d_name, LIVE_FOLDER_TRACE) == 0 &&
                fstatat(folder, entry->d_name, &found, AT_SYMLINK_NOFOLLOW) == 0 &&
                S_ISREG(found.st_mode) && found.st_uid == geteuid());
    if (entries)
        closedir(entries);
    else if (again >= 0)
        close(again);
    return only;
}

static void remove_if_stale(int place, const char *name)
{
    int folder = openat(place, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat opened;
    struct stat named;

    if (folder < 0)
        return;
    if (fstat(folder, &opened) == 0 && opened.st_uid == geteuid() && (opened.st_mode & 077) == 0 &&
        flock(folder, LOCK_EX | LOCK_NB) == 0 && has_trace_only(folder) &&
        fstatat(place, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && named.st_ino == opened.st_ino &&
        named.st_dev == opened.st_dev) {
        unlinkat(folder, LIVE_FOLDER_TRACE, 0);
        unlinkat(place, name, AT_REMOVEDIR);
    }
    close(folder);
}

void live_folder_remove_stale(void)
{
    DIR *entries = opendir(live_folder_place());
    struct dirent *entry;

    while (entries && (entry = readdir(entries)))
        if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) == 0)
            remove_if_stale(dirfd(entries), entry->d_name);
    if (entries)
        closedir(entries);
}
