// SPDX-License-Identifier: Apache-2.0
/* As whom code of a watched program is run: see run_as.h. */
#include "collect/ort_helper/run_as.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "system/open_as.h"

static const char *last_part(const char *path)
{
    const char *end = path;

    for (const char *at = path; *at; at++)
        if (*at == '/')
            end = at + 1;
    return end;
}

static bool nobody_opens(const char *path)
{
    struct credentials nobody;
    int fd;

    credentials_nobody(&nobody);
    if (open_as_user(&nobody, -1, path, 0, &fd, NULL))
        return false;
    close(fd);
    return true;
}

/* A library alone is used through its descriptor, whatever directory it is in. */
static bool nobody_reads(const struct run_as_files *files)
{
    struct stat found;

    if (fstat(files->library_fd, &found) < 0 || !(found.st_mode & S_IROTH))
        return false;
    if (files->python && (!nobody_opens(files->python) || !nobody_opens(files->library)))
        return false;
    return !files->model || nobody_opens(files->model);
}

static bool is_same(const char *path, int fd)
{
    struct stat named, opened;

    return stat(path, &named) == 0 && fstat(fd, &opened) == 0 && named.st_dev == opened.st_dev &&
           named.st_ino == opened.st_ino;
}

/* The first file or folder that somebody else than root could have put there; NULL: none. */
static const char *not_roots(const struct run_as_files *files)
{
    if (!open_as_is_owned(files->library, 0) || !is_same(files->library, files->library_fd))
        return files->library;
    if (files->python &&
        (!open_as_is_owned(files->python, 0) || !is_same(files->python, files->python_fd)))
        return files->python;
    for (size_t i = 0; files->folders && files->folders[i]; i++)
        if (!open_as_is_owned(files->folders[i], 0))
            return files->folders[i];
    return NULL;
}

static enum ifg_status for_root(const struct credentials *target, const struct run_as_files *files,
                                struct credentials *out, struct ifg_error *err)
{
    struct credentials nobody;
    const char *strange;

    credentials_nobody(&nobody);
    if (credentials_can_become(&nobody) && nobody_reads(files)) {
        *out = nobody;
        return IFG_OK;
    }
    strange = not_roots(files);
    if (strange)
        return ifg_fail(err, IFG_PERMISSION,
                        "the program belongs to root, and somebody else could have written %.300s: "
                        "that is not run as root, and user nobody cannot read it",
                        strange);
    *out = *target;
    return IFG_OK;
}

/* An interpreter is of root or of the user whose program it runs. */
static enum ifg_status check_interpreter(const struct credentials *who,
                                         const struct run_as_files *files, struct ifg_error *err)
{
    struct stat found;

    if (fstat(files->python_fd, &found) < 0)
        return ifg_fail_errno(err, "%.300s", files->python);
    if (!S_ISREG(found.st_mode))
        return ifg_fail(err, IFG_INVALID, "%.300s is not a regular file", files->python);
    if ((found.st_uid != 0 && found.st_uid != who->uid) || (found.st_mode & S_IWOTH) ||
        (found.st_mode & S_IWGRP && found.st_gid != 0 && found.st_gid != who->gid))
        return ifg_fail(err, IFG_PERMISSION,
                        "%.200s, which runs a program of user %u, can be written by others than "
                        "root and that user; it is not started",
                        files->python, (unsigned)who->uid);
    return IFG_OK;
}

bool run_as_is_for_another(const struct credentials *who)
{
    return who->uid != getuid() || credentials_are_raised();
}

enum ifg_status run_as_choose(const struct credentials *target, const struct run_as_files *files,
                              struct credentials *out, struct ifg_error *err)
{
    enum ifg_status status = IFG_OK;

    credentials_nobody(out);
    if (!credentials_can_become(target))
        return ifg_fail(err, IFG_PERMISSION,
                        "code of user %u is not run as user %u to look into %.100s; use sudo",
                        (unsigned)target->uid, (unsigned)getuid(), last_part(files->library));
    if (files->python && run_as_is_for_another(target))
        status = check_interpreter(target, files, err);
    if (status)
        return status;
    if (target->uid == 0)
        return for_root(target, files, out, err);
    *out = *target;
    return IFG_OK;
}
