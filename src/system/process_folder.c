// SPDX-License-Identifier: Apache-2.0
/* The folder of a process in /proc: see process_folder.h. */
#include "system/process_folder.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/small_file.h"

#define PATH_BYTES 320

const char *process_folder(pid_t pid, pid_t tid, char out[PROCESS_FOLDER_BYTES])
{
    int used = pid == PROCESS_SELF ? snprintf(out, PROCESS_FOLDER_BYTES, "/proc/self")
                                   : snprintf(out, PROCESS_FOLDER_BYTES, "/proc/%d", (int)pid);

    if (tid)
        snprintf(out + used, PROCESS_FOLDER_BYTES - (size_t)used, "/task/%d", (int)tid);
    return out;
}

static const char *entry_of(pid_t pid, pid_t tid, const char *name, char out[PATH_BYTES])
{
    char folder[PROCESS_FOLDER_BYTES];

    snprintf(out, PATH_BYTES, "%s/%.256s", process_folder(pid, tid, folder), name);
    return out;
}

bool process_link(pid_t pid, const char *name, char *out, size_t size)
{
    char path[PATH_BYTES];
    ssize_t length = readlink(entry_of(pid, 0, name, path), out, size - 1);

    out[length > 0 ? length : 0] = '\0';
    return length > 0;
}

size_t process_arguments(pid_t pid, char *out, size_t size)
{
    char path[PATH_BYTES];
    int fd = open(entry_of(pid, 0, "cmdline", path), O_RDONLY | O_CLOEXEC);
    size_t used = 0;
    ssize_t got;

    while (fd >= 0 && used < size - 1 && (got = read(fd, out + used, size - 1 - used)) > 0)
        used += (size_t)got;
    if (fd >= 0)
        close(fd);
    out[used] = '\0';
    return used && !out[used - 1] ? used - 1 : used;
}

int process_open_program(pid_t pid)
{
    char path[PATH_BYTES];

    return open(entry_of(pid, 0, "exe", path), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

bool process_own_program_folder(char out[PATH_MAX])
{
    char *slash = process_link(PROCESS_SELF, "exe", out, PATH_MAX) ? strrchr(out, '/') : NULL;

    if (slash)
        *slash = '\0';
    return slash;
}

bool process_entry(pid_t pid, const char *name, struct stat *out)
{
    char path[PATH_BYTES];

    return stat(entry_of(pid, 0, name, path), out) == 0;
}

bool process_entry_is(pid_t pid, const char *name, const char *path)
{
    struct stat entry, other;

    return process_entry(pid, name, &entry) && stat(path, &other) == 0 &&
           entry.st_dev == other.st_dev && entry.st_ino == other.st_ino;
}

bool process_shares(pid_t pid, const char *name)
{
    char path[PATH_BYTES];

    return process_entry_is(pid, name, entry_of(PROCESS_SELF, 0, name, path));
}

bool process_owner(pid_t pid, uid_t *out_user)
{
    struct stat entry;

    if (!process_entry(pid, ".", &entry))
        return false;
    *out_user = entry.st_uid;
    return true;
}

bool process_thread_exists(pid_t pid, pid_t tid)
{
    char folder[PROCESS_FOLDER_BYTES];

    return tid && access(process_folder(pid, tid, folder), F_OK) == 0;
}

void process_thread_name(pid_t pid, pid_t tid, char *out, size_t size)
{
    char path[PATH_BYTES];

    (void)ifg_read_small(entry_of(pid, tid, "comm", path), out, size);
    out[strcspn(out, "\n")] = '\0';
}

bool process_threads_in(const char *folder, struct process_threads *out)
{
    char path[PATH_BYTES];

    snprintf(path, sizeof path, "%s/task", folder);
    out->list = opendir(path);
    return out->list;
}

bool process_threads_of(pid_t pid, struct process_threads *out)
{
    char folder[PROCESS_FOLDER_BYTES];

    return process_threads_in(process_folder(pid, 0, folder), out);
}

bool process_threads_next(struct process_threads *threads, pid_t *out_tid)
{
    const struct dirent *entry;
    uint64_t tid;

    while (threads->list && (entry = readdir(threads->list)))
        if (ifg_parse_number(entry->d_name, NULL, &tid) && tid && tid <= INT32_MAX) {
            *out_tid = (pid_t)tid;
            return true;
        }
    return false;
}

void process_threads_close(struct process_threads *threads)
{
    if (threads->list)
        closedir(threads->list);
    threads->list = NULL;
}
