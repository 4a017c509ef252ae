// SPDX-License-Identifier: Apache-2.0
/* Other processes as /proc shows them: see process.h. */
#include "record/process_internal.h"
#include "system/maps.h"

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

#include "wire/wire.h"

/* Reads a whole small /proc file; returns the bytes read (a NUL is added), or -1. */
static ssize_t read_file(const char *path, char *out, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t have = 0;

    if (fd < 0)
        return -1;
    while (have < size - 1) {
        ssize_t got = read(fd, out + have, size - 1 - have);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        have += (size_t)got;
    }
    close(fd);
    out[have] = '\0';
    return (ssize_t)have;
}

static void read_link(const char *path, char *out, size_t size)
{
    ssize_t length = readlink(path, out, size - 1);

    out[length < 0 ? 0 : length] = '\0';
}

bool process_parse_stat(const char *text, struct process_info *info)
{
    const char *open = strchr(text, '(');
    const char *close = strrchr(text, ')');
    size_t length;
    char *end;

    if (!open || !close || close < open)
        return false;
    length = (size_t)(close - open - 1);
    if (length >= sizeof info->name)
        length = sizeof info->name - 1;
    memcpy(info->name, open + 1, length);
    info->name[length] = '\0';
    if (close[1] != ' ' || !close[2] || close[3] != ' ')
        return false;
    info->parent = (pid_t)strtol(close + 4, &end, 10);
    /* ppid is field 4; the start time is field 22. */
    for (int field = 4; field < 22; field++) {
        end = strchr(end, ' ');
        if (!end)
            return false;
        end++;
    }
    info->start_time = strtoull(end, NULL, 10);
    return true;
}

enum ifg_status process_glance(pid_t pid, struct process_info *out_info, struct ifg_error *err)
{
    char path[64];
    char text[1024];
    struct stat owner;

    memset(out_info, 0, sizeof *out_info);
    out_info->pid = pid;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    if (read_file(path, text, sizeof text) <= 0 || !process_parse_stat(text, out_info))
        return ifg_fail(err, IFG_NOT_FOUND, "there is no process %d", (int)pid);
    snprintf(path, sizeof path, "/proc/%d", (int)pid);
    if (stat(path, &owner) < 0)
        return ifg_fail(err, IFG_NOT_FOUND, "there is no process %d", (int)pid);
    out_info->uid = owner.st_uid;
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    read_link(path, out_info->program, sizeof out_info->program);
    return IFG_OK;
}

enum ifg_status process_describe(pid_t pid, struct process_info *out_info, struct ifg_error *err)
{
    enum ifg_status status = process_glance(pid, out_info, err);
    char path[64];
    ssize_t length;

    if (status)
        return status;
    snprintf(path, sizeof path, "/proc/%d/cwd", (int)pid);
    read_link(path, out_info->directory, sizeof out_info->directory);
    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
    length = read_file(path, out_info->arguments, sizeof out_info->arguments);
    out_info->arguments_bytes = length > 0 ? (size_t)length : 0;
    if (out_info->arguments_bytes && !out_info->arguments[out_info->arguments_bytes - 1])
        out_info->arguments_bytes--; /* the last one's own NUL */
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

bool process_thread_exists(pid_t pid, pid_t tid)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/%d/task/%d", (int)pid, (int)tid);
    return access(path, F_OK) == 0;
}

void process_thread_name(pid_t pid, pid_t tid, char *out_name, size_t size)
{
    char path[64];
    ssize_t length;

    snprintf(path, sizeof path, "/proc/%d/task/%d/comm", (int)pid, (int)tid);
    length = read_file(path, out_name, size);
    if (length <= 0)
        out_name[0] = '\0';
    else if (out_name[length - 1] == '\n')
        out_name[length - 1] = '\0';
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
    char path[300];
    DIR *tasks;
    struct dirent *entry;

    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    tasks = opendir(path);
    if (!tasks)
        return have;
    while ((entry = readdir(tasks))) {
        char text[32768];
        char *at = text;
        ssize_t length;

        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        snprintf(path, sizeof path, "/proc/%d/task/%s/children", (int)pid, entry->d_name);
        length = read_file(path, text, sizeof text);
        if (length <= 0)
            continue;
        if ((size_t)length == sizeof text - 1) /* the last number may be cut */
            *(strrchr(text, ' ') ? strrchr(text, ' ') : text) = '\0';
        while (have < max) {
            char *end;
            long child = strtol(at, &end, 10);

            if (end == at)
                break;
            pids[have++] = (pid_t)child;
            at = end;
        }
    }
    closedir(tasks);
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
    int location = open(path, O_PATH | O_CLOEXEC);
    char again[32];
    int fd = -1;

    if (location >= 0 && has_size_of_region(location)) {
        snprintf(again, sizeof again, "/proc/self/fd/%d", location);
        fd = open(again, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    }
    if (location >= 0)
        close(location);
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
        char link[512];

        snprintf(path, sizeof path, "/proc/%d/fd/%s", (int)pid, entry->d_name);
        read_link(path, link, sizeof link);
        if (looks_like_region(link))
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

/* The last number of a status: the outermost that we see stands first, its own last. */
static pid_t own_number(const char *path)
{
    char text[8192];
    const char *line;
    const char *end;

    if (read_file(path, text, sizeof text) <= 0)
        return 0;
    line = strstr(text, "\nNSpid:");
    end = line ? strchr(line + 1, '\n') : NULL;
    if (!end)
        return 0;
    while (end > line && isdigit((unsigned char)end[-1]))
        end--;
    return (pid_t)strtol(end, NULL, 10);
}

pid_t process_own_number(pid_t pid)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    return own_number(path);
}

pid_t process_thread_number(pid_t pid, pid_t own)
{
    pid_t found = own;
    struct dirent *entry;
    char path[300];
    DIR *tasks;

    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    tasks = opendir(path);
    while (tasks && found == own && (entry = readdir(tasks))) {
        snprintf(path, sizeof path, "/proc/%d/task/%s/status", (int)pid, entry->d_name);
        if (isdigit((unsigned char)entry->d_name[0]) && own_number(path) == own)
            found = (pid_t)strtol(entry->d_name, NULL, 10);
    }
    if (tasks)
        closedir(tasks);
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
