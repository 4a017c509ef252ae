// SPDX-License-Identifier: Apache-2.0
/*
 * How long specialization took within the creation of a session: ONNX Runtime's own profile has it
 * as one event. The profile is on while the session is created, ends when the creation has been
 * timed, and its file loses its name at once. What a process leaves behind that is killed in the
 * middle of a creation is removed by the next one.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/runner/ort/ort_internal.h"

#define PROFILE_BYTES 16384
#define FOLDER        "inferogram-load-" /* PID-XXXXXX */

static const char *memory_folder(void)
{
    return access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp";
}

/* Takes the files out of a folder of ours, and the folder away. *out_fd, if it is -1, becomes the
 * first file. */
static void remove_folder(int parent, const char *name, int *out_fd)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
    struct dirent *entry;
    struct stat owner;

    if (fd >= 0 && !folder)
        close(fd);
    if (!folder)
        return;
    if (fstat(fd, &owner) == 0 && owner.st_uid == geteuid()) {
        while ((entry = readdir(folder))) {
            if (entry->d_name[0] == '.')
                continue;
            if (out_fd && *out_fd < 0)
                *out_fd = openat(fd, entry->d_name, O_RDONLY | O_CLOEXEC);
            unlinkat(fd, entry->d_name, 0);
        }
        unlinkat(parent, name, AT_REMOVEDIR);
    }
    closedir(folder);
}

void ort_profile_sweep(void)
{
    DIR *folder = opendir(memory_folder());
    struct dirent *entry;

    while (folder && (entry = readdir(folder))) {
        const char *number = entry->d_name + strlen(FOLDER);
        char *end;
        long pid;

        if (strncmp(entry->d_name, FOLDER, strlen(FOLDER)) != 0)
            continue;
        pid = strtol(number, &end, 10);
        if (end != number && *end == '-' && pid > 0 && pid <= INT_MAX && kill((pid_t)pid, 0) < 0 &&
            errno == ESRCH)
            remove_folder(dirfd(folder), entry->d_name, NULL);
    }
    if (folder)
        closedir(folder);
}

/* Hooks that record this process split the load themselves, unless somebody profiles already. */
static bool is_recorded(void)
{
    const char *preloaded = getenv("LD_PRELOAD");

    return preloaded && strstr(preloaded, "inferogram");
}

void ort_profile_begin(const ifg_bench_context *context, void *options,
                       struct ort_profile *out_profile, char directory[64])
{
    char prefix[72];

    *out_profile = (struct ort_profile){ .fd = -1 };
    directory[0] = '\0';
    if (is_recorded())
        return;
    snprintf(directory, 64, "%s/" FOLDER "%d-XXXXXX", memory_folder(), (int)getpid());
    if (!mkdtemp(directory)) {
        directory[0] = '\0';
        return;
    }
    snprintf(prefix, sizeof prefix, "%.63s/load", directory);
    out_profile->is_on = ort_good(context, ORT(context->api, ORT_EnableProfiling, void *,
                                               (void *, const char *))(options, prefix));
}

void ort_profile_hide(struct ort_profile *profile, const char *directory)
{
    if (directory[0])
        remove_folder(AT_FDCWD, directory, &profile->fd);
}

/* "dur" of the event called "session_initialization", in microseconds. */
static uint64_t duration_in(const char *text)
{
    const char *name = strstr(text, "\"session_initialization\"");
    const char *event = name;
    const char *duration;

    while (event && event > text && *event != '\n')
        event--;
    duration = event ? strstr(event, "\"dur\"") : NULL;
    if (!duration || duration > name)
        return 0;
    duration += 5;
    duration += strspn(duration, " :");
    return strtoull(duration, NULL, 10) * 1000u;
}

uint64_t ort_profile_end(const ifg_bench_context *context, void *session,
                         struct ort_profile *profile)
{
    char text[PROFILE_BYTES];
    char *file = NULL;
    ssize_t got = 0;

    if (!profile->is_on)
        return 0;
    profile->is_on = false;
    if (ort_good(context, ORT(context->api, ORT_SessionEndProfiling, void *,
                              (void *, void *, char **))(session, context->allocator, &file)) &&
        file)
        ort_good(context, ORT(context->api, ORT_AllocatorFree, void *,
                              (void *, void *))(context->allocator, file));
    if (profile->fd < 0)
        return 0;
    got = pread(profile->fd, text, sizeof text - 1, 0);
    close(profile->fd);
    profile->fd = -1;
    text[got > 0 ? got : 0] = '\0';
    return duration_in(text);
}
