// SPDX-License-Identifier: Apache-2.0
/* Opening the browser: see browser.h. */
#include "cli/browser.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/ticks.h"
#include "cli/cli.h"
#include "cli/live_folder.h"
#include "cli/own_folder.h"

#define FILE_NAME     "open.html"
#define SECONDS_KEPT  60
#define PATH_BYTES    4096
#define LOOK_EVERY_NS 100000000u

extern char **environ;

struct browser_visit {
    bool (*has_arrived)(const void *context);
    const void *context;
    pthread_t watcher;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool over;
    int folder_lock;
    char folder[PATH_BYTES];
    char file[PATH_BYTES + sizeof FILE_NAME + 1];
};

/* Whether nobody else can put something else in its place. */
static bool is_own_folder(const char *path)
{
    struct stat found;

    return path && path[0] == '/' && stat(path, &found) == 0 && S_ISDIR(found.st_mode) &&
           found.st_uid == geteuid() && (found.st_mode & 022) == 0 && access(path, W_OK) == 0;
}

/* A browser in a sandbox (a snap) sees neither /tmp nor /run/user, and in the home directory only
 * names without a dot: there first. */
static struct own_folder_kind folder_kind(void)
{
    const char *home = getenv("HOME");
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    const char *parent = is_own_folder(home)      ? home
                         : is_own_folder(runtime) ? runtime
                                                  : live_folder_parent();

    return (struct own_folder_kind){ parent, "inferogram-open-", FILE_NAME };
}

static bool write_page(const char *path, const char *url)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool written;

    if (fd < 0)
        return false;
    /* The address is ours: digits, letters and nothing that would need escaping. */
    written = dprintf(fd,
                      "<!doctype html>\n<meta charset=\"utf-8\">\n<title>Inferogram</title>\n"
                      "<meta name=\"referrer\" content=\"no-referrer\">\n"
                      "<meta http-equiv=\"refresh\" content=\"0;url=%s\">\n"
                      "<p><a href=\"%s\">Open Inferogram</a></p>\n",
                      url, url) > 0;
    return close(fd) == 0 && written;
}

static void remove_page(struct browser_visit *visit)
{
    unlink(visit->file);
    rmdir(visit->folder);
    close(visit->folder_lock);
}

static void *watch(void *argument)
{
    struct browser_visit *visit = argument;
    uint64_t end_ns = ifg_monotonic_ns() + SECONDS_KEPT * 1000000000ull;

    pthread_mutex_lock(&visit->lock);
    while (!visit->over && !visit->has_arrived(visit->context)) {
        uint64_t now_ns = ifg_monotonic_ns();
        struct timespec until = ifg_timespec(now_ns + LOOK_EVERY_NS);

        if (now_ns >= end_ns)
            break;
        pthread_cond_timedwait(&visit->wake, &visit->lock, &until);
    }
    pthread_mutex_unlock(&visit->lock);
    remove_page(visit);
    return NULL;
}

static bool start_watching(struct browser_visit *visit)
{
    pthread_condattr_t attributes;
    sigset_t all;
    sigset_t before;
    int failed;

    pthread_mutex_init(&visit->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&visit->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    sigfillset(&all); /* signals are for the thread that waits for them */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    failed = pthread_create(&visit->watcher, NULL, watch, visit);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed == 0;
}

/* "file://" and the path, in which everything unusual is escaped. */
static void put_file_url(const char *path, char *out, size_t size)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";
    size_t used = (size_t)snprintf(out, size, "file://");

    for (; *path && used + 4 < size; path++)
        used += (size_t)snprintf(out + used, size - used, strchr(plain, *path) ? "%c" : "%%%02X",
                                 (unsigned char)*path);
}

static int spawn_browser(const char *file)
{
    char url[3 * sizeof((struct browser_visit *)0)->file + 16];
    char *const arguments[] = { "xdg-open", url, NULL };
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none;
    pid_t pid;
    int failed;

    put_file_url(file, url, sizeof url);
    sigemptyset(&none);
    posix_spawn_file_actions_init(&files);
    for (int fd = 0; fd < 3; fd++)
        posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_RDWR, 0);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setpgroup(&attributes, 0); /* so that Ctrl-C is not meant for it */
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    failed = posix_spawnp(&pid, "xdg-open", &files, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return failed;
}

struct browser_visit *browser_open(const char *url, bool (*has_arrived)(const void *context),
                                   const void *context)
{
    struct own_folder_kind kind = folder_kind();
    struct browser_visit *visit = ifg_alloc(1, sizeof *visit);
    int failed;

    own_folder_remove_stale(&kind);
    if (!visit ||
        !own_folder_make(&kind, visit->folder, sizeof visit->folder, &visit->folder_lock)) {
        cli_say("no browser was opened (no folder in %s: %s); open the address yourself",
                kind.parent, visit ? strerror(errno) : "not enough memory");
        ifg_free(visit);
        return NULL;
    }
    visit->has_arrived = has_arrived;
    visit->context = context;
    snprintf(visit->file, sizeof visit->file, "%s/" FILE_NAME, visit->folder);
    failed = write_page(visit->file, url) ? spawn_browser(visit->file) : errno;
    if (!failed && start_watching(visit))
        return visit;
    cli_say("no browser was opened (xdg-open: %s); open the address yourself",
            failed ? strerror(failed) : "no thread");
    remove_page(visit);
    ifg_free(visit);
    return NULL;
}

void browser_close(struct browser_visit *visit)
{
    if (!visit)
        return;
    pthread_mutex_lock(&visit->lock);
    visit->over = true;
    pthread_cond_signal(&visit->wake);
    pthread_mutex_unlock(&visit->lock);
    pthread_join(visit->watcher, NULL);
    pthread_mutex_destroy(&visit->lock);
    pthread_cond_destroy(&visit->wake);
    ifg_free(visit);
}
