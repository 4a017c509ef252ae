// SPDX-License-Identifier: Apache-2.0
/* Other processes as /proc shows them: see process.h. */
#include "record/process.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/small_file.h"
#include "system/maps.h"
#include "system/process_folder.h"
#include "system/process_status.h"
#include "wire/wire.h"

enum ifg_status process_glance(pid_t pid, struct process_info *out_info, struct ifg_error *err)
{
    struct process_stat now;

    memset(out_info, 0, sizeof *out_info);
    out_info->pid = pid;
    if (!process_stat_of(pid, &now) || !process_owner(pid, &out_info->uid))
        return ifg_fail(err, IFG_NOT_FOUND, "there is no process %d", (int)pid);
    out_info->parent = now.parent;
    out_info->start_time = now.start_ticks;
    snprintf(out_info->name, sizeof out_info->name, "%.31s", now.name);
    (void)process_link(pid, "exe", out_info->program, sizeof out_info->program);
    return IFG_OK;
}

enum ifg_status process_describe(pid_t pid, struct process_info *out_info, struct ifg_error *err)
{
    enum ifg_status status = process_glance(pid, out_info, err);

    if (status)
        return status;
    (void)process_link(pid, "cwd", out_info->directory, sizeof out_info->directory);
    out_info->arguments_bytes =
        process_arguments(pid, out_info->arguments, sizeof out_info->arguments);
    return IFG_OK;
}

const char *process_short_name(const struct process_info *info)
{
    const char *slash = strrchr(info->program, '/');

    return slash && slash[1] ? slash + 1 : info->name;
}

bool process_exists(pid_t pid)
{
    return kill(pid, 0) == 0 || errno == EPERM;
}

const char *process_user_name(uid_t uid, char *out_name, size_t size)
{
    struct passwd entry;
    struct passwd *found = NULL;
    char buffer[1024];

    if (getpwuid_r(uid, &entry, buffer, sizeof buffer, &found) == 0 && found)
        snprintf(out_name, size, "%s", found->pw_name);
    else
        snprintf(out_name, size, "uid %u", (unsigned)uid);
    return out_name;
}

void process_each(bool (*visit)(pid_t pid, void *user), void *user)
{
    DIR *proc = opendir("/proc");
    struct dirent *entry;

    if (!proc)
        return;
    while ((entry = readdir(proc))) {
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        if (!visit((pid_t)strtol(entry->d_name, NULL, 10), user))
            break;
    }
    closedir(proc);
}

static size_t append_children(pid_t pid, pid_t *pids, size_t have, size_t max)
{
    char folder[PROCESS_FOLDER_BYTES], path[PROCESS_FOLDER_BYTES + 16];
    struct process_threads threads;
    pid_t tid;

    (void)process_threads_of(pid, &threads);
    while (process_threads_next(&threads, &tid)) {
        char text[32768];
        const char *at = text;
        uint64_t child;

        snprintf(path, sizeof path, "%s/children", process_folder(pid, tid, folder));
        (void)ifg_read_small(path, text, sizeof text);
        /* Each has a blank behind it; without one, the last number may be cut. */
        while (have < max && ifg_parse_number(at, &at, &child) && *at)
            pids[have++] = (pid_t)child;
    }
    process_threads_close(&threads);
    return have;
}

size_t process_descendants(pid_t pid, pid_t *pids, size_t max)
{
    size_t have = append_children(pid, pids, 0, max);

    for (size_t i = 0; i < have; i++)
        have = append_children(pids[i], pids, have, max);
    return have;
}

/* Does this link of /proc/PID/fd, or this path of /proc/PID/maps, look like a region of ours? */
static bool looks_like_region(const char *path)
{
    return strstr(path, "/memfd:" IFG_WIRE_NAME) == path || strstr(path, "/" IFG_WIRE_NAME "-");
}

static bool has_size_of_region(int fd)
{
    struct stat status;

    return fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
           (size_t)status.st_size == ifg_wire_region_bytes();
}

static bool is_region(int fd)
{
    struct ifg_wire_control head;

    return has_size_of_region(fd) && pread(fd, &head, sizeof head, 0) == (ssize_t)sizeof head &&
           head.magic == IFG_WIRE_MAGIC && head.version == IFG_WIRE_VERSION;
}

/* Any process can have a file of that name: no device is opened, and nobody waits for a lease. */
static int try_open(const char *path)
{
    int path_fd = open(path, O_PATH | O_CLOEXEC);
    char again[32];
    int fd = -1;

    if (path_fd >= 0 && has_size_of_region(path_fd)) {
        snprintf(again, sizeof again, "/proc/self/fd/%d", path_fd);
        fd = open(again, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    }
    if (path_fd >= 0)
        close(path_fd);
    if (fd >= 0 && !is_region(fd)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static int open_by_descriptors(pid_t pid, bool *out_denied)
{
    char path[300];
    DIR *descriptors;
    struct dirent *entry;
    int fd = -1;

    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    descriptors = opendir(path);
    if (!descriptors) {
        *out_denied = errno == EACCES || errno == EPERM;
        return -1;
    }
    while (fd < 0 && (entry = readdir(descriptors))) {
        char name[sizeof entry->d_name + 3], link[512];

        snprintf(name, sizeof name, "fd/%s", entry->d_name);
        snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
        if (process_link(pid, name, link, sizeof link) && looks_like_region(link))
            fd = try_open(path);
    }
    closedir(descriptors);
    return fd;
}

/* For programs that closed every descriptor: the mapping is still there, but only the mighty may
 * open it. *out_mapped tells whether there is one. */
static int open_by_mappings(pid_t pid, bool *out_mapped)
{
    struct map_line map;
    struct maps maps;
    int fd = -1;

    if (!maps_open(pid, &maps))
        return -1;
    while (fd < 0 && maps_next_file(&maps, &map)) {
        char file[128];

        if (!looks_like_region(map.path) || !map.readable || !map.writable || map.executable ||
            !map.shared)
            continue;
        *out_mapped = true;
        snprintf(file, sizeof file, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid, map.start,
                 map.end);
        fd = try_open(file);
    }
    maps_close(&maps);
    return fd;
}

enum ifg_status process_open_region(pid_t pid, int *out_fd, struct ifg_error *err)
{
    struct process_info info;
    enum ifg_status status;
    bool denied = false;
    bool mapped = false;
    char user[64];

    *out_fd = -1;
    status = process_describe(pid, &info, err);
    if (status)
        return status;
    *out_fd = open_by_descriptors(pid, &denied);
    if (*out_fd < 0 && !denied)
        *out_fd = open_by_mappings(pid, &mapped);
    if (*out_fd >= 0)
        return IFG_OK;
    if (denied)
        return ifg_fail(
            err, IFG_PERMISSION,
            "cannot look into process %d (%s): it belongs to %s; record it as that user, "
            "or with sudo",
            (int)pid, process_short_name(&info), process_user_name(info.uid, user, sizeof user));
    if (mapped)
        return ifg_fail(err, IFG_PERMISSION,
                        "process %d (%s) has closed the descriptor of its recording memory; "
                        "record it with sudo, or start it under us: inferogram record -- %s ...",
                        (int)pid, process_short_name(&info), process_short_name(&info));
    return ifg_fail(
        err, IFG_NOT_FOUND,
        "process %d (%s) does not carry libinferogram: link the program with it, or see "
        "'inferogram ls' for processes that do",
        (int)pid, process_short_name(&info));
}

bool process_has_region(pid_t pid, int fd)
{
    struct stat ours;
    struct stat theirs;
    bool same;
    int other;

    if (process_open_region(pid, &other, NULL) != IFG_OK)
        return false;
    same = fstat(fd, &ours) == 0 && fstat(other, &theirs) == 0 && ours.st_dev == theirs.st_dev &&
           ours.st_ino == theirs.st_ino;
    close(other);
    return same;
}

pid_t process_own_number(pid_t pid)
{
    struct process_status now;

    return process_status_of(pid, &now) ? now.own_tid : 0;
}

pid_t process_thread_number(pid_t pid, pid_t own)
{
    char folder[PROCESS_FOLDER_BYTES];
    struct process_threads threads;
    struct process_status now;
    pid_t found = own, tid;

    (void)process_threads_of(pid, &threads);
    while (found == own && process_threads_next(&threads, &tid))
        if (process_status_in(process_folder(pid, tid, folder), &now) && now.own_tid == own)
            found = tid;
    process_threads_close(&threads);
    return found;
}

bool process_matches_name(const struct process_info *info, const char *name)
{
    const char *first = info->arguments;
    const char *slash = strrchr(first, '/');

    return strcmp(info->name, name) == 0 || strcmp(process_short_name(info), name) == 0 ||
           strcmp(slash ? slash + 1 : first, name) == 0;
}

bool process_matches_path(const struct process_info *info, const char *path)
{
    char wanted[PATH_MAX];
    const char *argument = info->arguments;
    const char *end = info->arguments + info->arguments_bytes;

    if (!realpath(path, wanted))
        snprintf(wanted, sizeof wanted, "%s", path);
    if (strcmp(info->program, wanted) == 0)
        return true;
    /* A script: its path is an argument of its interpreter. */
    for (int i = 0; i < 4 && argument < end; i++, argument += strlen(argument) + 1) {
        char candidate[2 * PATH_MAX];
        char resolved[PATH_MAX];

        if (argument[0] == '-')
            continue;
        if (argument[0] == '/')
            snprintf(candidate, sizeof candidate, "%s", argument);
        else
            snprintf(candidate, sizeof candidate, "%s/%s", info->directory, argument);
        if (strcmp(candidate, wanted) == 0 ||
            (realpath(candidate, resolved) && strcmp(resolved, wanted) == 0))
            return true;
    }
    return false;
}
