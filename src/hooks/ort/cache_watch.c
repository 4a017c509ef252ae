// SPDX-License-Identifier: Apache-2.0
/* See cache_watch.h: inotify, on the directories that the options name. */
#include "hooks/ort/cache_watch.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#define WRITTEN (IN_CREATE | IN_MOVED_TO | IN_CLOSE_WRITE)

/* The directory itself, or the nearest one that exists: a cache may have to be made first, and may
 * be a file. Of what else happens there nothing counts. */
static bool watch_cache(struct ort_cache_watch *watch, unsigned i)
{
    char directory[ORT_TEXT];
    struct stat info;
    size_t bytes;

    snprintf(directory, sizeof directory, "%s", watch->caches[i].path);
    watch->caches[i].name[0] = '\0';
    while (stat(directory, &info) < 0 || !S_ISDIR(info.st_mode)) {
        char *slash;

        for (bytes = strlen(directory); bytes > 1 && directory[bytes - 1] == '/';)
            directory[--bytes] = '\0';
        slash = strrchr(directory, '/');
        snprintf(watch->caches[i].name, sizeof watch->caches[i].name, "%.63s",
                 slash ? slash + 1 : directory);
        if (!slash) {
            snprintf(directory, sizeof directory, ".");
            break;
        }
        *(slash == directory ? slash + 1 : slash) = '\0';
        if (slash == directory)
            break;
    }
    watch->caches[i].number = inotify_add_watch(watch->fd, directory, WRITTEN | IN_OPEN);
    return watch->caches[i].number >= 0;
}

/* Where ONNX Runtime writes a compiled model that nobody named: model_ctx.onnx, or before 1.21
 * model.onnx_ctx.onnx. What counts is how the name begins. */
static void add_context(struct ort_cache_watch *watch, const char *model_path)
{
    const char *slash = strrchr(model_path, '/');
    const char *dot = strrchr(slash ? slash : model_path, '.');
    int stem = dot ? (int)(dot - model_path) : (int)strlen(model_path);

    if (watch->count + 2 > ORT_CACHES)
        return;
    snprintf(watch->caches[watch->count++].path, ORT_TEXT, "%.*s_ctx.onnx", stem, model_path);
    snprintf(watch->caches[watch->count++].path, ORT_TEXT, "%.*s_ctx.onnx", ORT_TEXT - 16,
             model_path);
}

void cache_watch_begin(struct ort_cache_watch *watch, const struct ort_options *options,
                       const char *model_path)
{
    const char *slash = model_path ? strrchr(model_path, '/') : NULL;
    int saved_errno = errno;
    bool any = false;

    memset(watch, 0, sizeof *watch);
    watch->fd = -1;
    if (!options->cache_count && !(options->writes_context && model_path))
        return;
    if (model_path)
        snprintf(watch->model, sizeof watch->model, "%.63s", slash ? slash + 1 : model_path);
    watch->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    for (unsigned i = 0; i < options->cache_count; i++)
        memcpy(watch->caches[watch->count++].path, options->caches[i], ORT_TEXT);
    if (options->writes_context && model_path)
        add_context(watch, model_path);
    for (unsigned i = 0; watch->fd >= 0 && i < watch->count; i++)
        any = watch_cache(watch, i) || any;
    if (!any)
        cache_watch_end(watch);
    errno = saved_errno;
}

/* The model's file, or one with its weights: model.onnx, model.onnx.data, model.onnx_data. */
static bool is_model(const struct ort_cache_watch *watch, const char *name)
{
    size_t bytes = strlen(watch->model);

    return bytes && strncmp(name, watch->model, bytes) == 0 &&
           (!name[bytes] || strstr(name + bytes, "data"));
}

static void note(struct cache_news *out, const char *name, bool written)
{
    if (written ? !out->created : !out->created && !out->opened)
        snprintf(out->name, sizeof out->name, "%.60s", name);
    out->created = out->created || written;
    out->opened = true;
}

/* A directory was made on the way to the cache. An engine may be in it already. */
static void follow(struct ort_cache_watch *watch, unsigned i, struct cache_news *out)
{
    const struct dirent *entry;
    DIR *directory;

    if (!watch_cache(watch, i) || watch->caches[i].name[0])
        return;
    directory = opendir(watch->caches[i].path);
    while (directory && (entry = readdir(directory)))
        if (entry->d_type == DT_REG)
            note(out, entry->d_name, true);
    if (directory)
        closedir(directory);
}

static void take(struct ort_cache_watch *watch, const struct inotify_event *event,
                 struct cache_news *out)
{
    bool is_directory = (event->mask & IN_ISDIR) != 0;
    bool written = (event->mask & WRITTEN) != 0;

    if (!event->len || is_model(watch, event->name))
        return;
    for (unsigned i = 0; i < watch->count; i++) {
        const char *name = watch->caches[i].name;

        if (watch->caches[i].number != event->wd || strncmp(event->name, name, strlen(name)) != 0)
            continue;
        if (!is_directory)
            note(out, event->name, written);
        else if (written && *name)
            follow(watch, i, out);
    }
}

void cache_watch_read(struct ort_cache_watch *watch, struct cache_news *out)
{
    _Alignas(struct inotify_event) char buffer[4096];
    int saved_errno = errno;
    ssize_t got;

    memset(out, 0, sizeof *out);
    while (watch->fd >= 0 && (got = read(watch->fd, buffer, sizeof buffer)) > 0) {
        for (char *at = buffer; at < buffer + got;) {
            const struct inotify_event *event = (const void *)at;

            take(watch, event, out);
            at += sizeof *event + event->len;
        }
    }
    errno = saved_errno;
}

void cache_watch_end(struct ort_cache_watch *watch)
{
    if (watch->fd >= 0)
        close(watch->fd);
    watch->fd = -1;
}
