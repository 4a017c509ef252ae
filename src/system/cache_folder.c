// SPDX-License-Identifier: Apache-2.0
/* Folders that are ours alone: see cache_folder.h. */
#include "system/cache_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "system/open_as.h"

#define FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

struct base {
    const char *variable;
    const char *below; /* the home directory */
};

static const struct base cache = { "XDG_CACHE_HOME", "/.cache" };
static const struct base config = { "XDG_CONFIG_HOME", "/.config" };

static bool is_roots(const char *path)
{
    char whole[PATH_MAX];

    return realpath(path, whole) && open_as_is_owned(whole, 0);
}

/* For root, every directory above must be root's, also if it is yet to be made: others choose what
 * an ordinary user's are. */
static bool is_ours(const char *path)
{
    char above[PATH_MAX];
    char *slash;

    if (geteuid() != 0 || is_roots(path))
        return true;
    snprintf(above, sizeof above, "%s", path);
    slash = strrchr(above, '/');
    slash[slash == above] = '\0';
    return access(path, F_OK) < 0 && is_roots(above);
}

static bool take(char out[PATH_MAX], const char *folder, const char *below)
{
    return folder && *folder == '/' && snprintf(out, PATH_MAX, "%s%s", folder, below) < PATH_MAX;
}

static bool find_base(const struct base *base, char out[PATH_MAX])
{
    struct passwd entry, *found = NULL;
    char buffer[4096];

    if ((take(out, getenv(base->variable), "") || take(out, getenv("HOME"), base->below)) &&
        is_ours(out))
        return true;
    return geteuid() == 0 && getpwuid_r(0, &entry, buffer, sizeof buffer, &found) == 0 && found &&
           take(out, found->pw_dir, base->below) && is_ours(out);
}

/* Between the look at it and this, only root could have changed what it leads to. */
static int open_base(const struct base *base, bool make)
{
    char path[PATH_MAX], whole[PATH_MAX];

    if (!find_base(base, path) || (make && mkdir(path, 0700) < 0 && errno != EEXIST) ||
        !realpath(path, whole))
        return -1;
    return open(whole, FLAGS);
}

/* A folder in another one: ours, and closed to others. */
static int open_part(int above, const char *name, bool make)
{
    struct stat found;
    int fd;

    if (make && mkdirat(above, name, 0700) < 0 && errno != EEXIST)
        return -1;
    fd = openat(above, name, FLAGS);
    if (fd >= 0 && (fstat(fd, &found) < 0 || found.st_uid != geteuid() ||
                    (found.st_mode & (S_IWGRP | S_IWOTH) && fchmod(fd, 0700) < 0))) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static int open_folder(const struct base *base, const char *name, bool make)
{
    int above = open_base(base, make);
    int own, fd;

    if (above < 0)
        return -1;
    own = open_part(above, "inferogram", make);
    close(above);
    if (own < 0)
        return -1;
    fd = open_part(own, name, make);
    close(own);
    return fd;
}

int cache_folder_open(const char *name, bool make)
{
    return open_folder(&cache, name, make);
}

int cache_folder_open_config(const char *name, bool make)
{
    return open_folder(&config, name, make);
}
