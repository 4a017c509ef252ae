// SPDX-License-Identifier: Apache-2.0
/* See cache_watch.h: inotify, on the directories that the options name. */
#include "hooks/ort/cache_watch.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#define WRITTEN (IN_CREATE | IN_MOVED_TO | IN_CLOSE_WRITE)

/* The directory itself, or the nearest one that exists: a cache may have to be made first. */
static bool add(int watch, const char *path)
{
    char directory[ORT_TEXT];
    struct stat info;

    snprintf(directory, sizeof directory, "%s", path);
    while (stat(directory, &info) < 0 || !S_ISDIR(info.st_mode)) {
        char *slash = strrchr(directory, '/');

        if (!slash) {
            snprintf(directory, sizeof directory, ".");
            break;
        }
        *(slash == directory ? slash + 1 : slash) = '\0';
        if (slash == directory)
            break;
    }
    return inotify_add_watch(watch, directory, WRITTEN | IN_OPEN) >= 0;
}

int cache_watch_begin(const struct ort_options *options)
{
    int saved_errno = errno;
    bool any = false;
    int watch;

    if (!options->cache_count)
        return -1;
    watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    for (unsigned i = 0; watch >= 0 && i < options->cache_count; i++)
        any = add(watch, options->caches[i]) || any;
    if (watch >= 0 && !any) {
        close(watch);
        watch = -1;
    }
    errno = saved_errno;
    return watch;
}

void cache_watch_read(int watch, struct cache_news *out)
{
    _Alignas(struct inotify_event) char buffer[4096];
    int saved_errno = errno;
    ssize_t got;

    memset(out, 0, sizeof *out);
    while (watch >= 0 && (got = read(watch, buffer, sizeof buffer)) > 0) {
        for (char *at = buffer; at < buffer + got;) {
            const struct inotify_event *event = (const void *)at;
            bool written = (event->mask & WRITTEN) != 0;

            at += sizeof *event + event->len;
            if ((event->mask & IN_ISDIR && !written) || !event->len)
                continue;
            if (written && !out->created)
                snprintf(out->name, sizeof out->name, "%.60s", event->name);
            else if (!out->created && !out->opened)
                snprintf(out->name, sizeof out->name, "%.60s", event->name);
            out->created = out->created || written;
            out->opened = true;
        }
    }
    errno = saved_errno;
}

void cache_watch_end(int watch)
{
    if (watch >= 0)
        close(watch);
}
