// SPDX-License-Identifier: Apache-2.0
/* The socket of a flight recorder, and who asks there: see flight_control.h. */
#include "record/flight_control.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "record/rendezvous.h"
#include "wire/wire.h"

#define SOCKET_NAME "control"
#define QUESTION    "snapshot "

/* ---- the recorder's side ---- */

/* Without it everything works but ctl, which says so. */
void flight_control_open(struct flight_control *control, const char *directory)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    *control = (struct flight_control){ .fd = -1 };
    if ((size_t)snprintf(address.sun_path, sizeof address.sun_path, "%s/" SOCKET_NAME, directory) >=
        sizeof address.sun_path)
        return;
    control->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (control->fd < 0)
        return;
    if (bind(control->fd, (struct sockaddr *)&address, sizeof address) < 0 ||
        chmod(address.sun_path, 0600) < 0 || listen(control->fd, FLIGHT_CALLERS_MAX) < 0) {
        close(control->fd);
        control->fd = -1;
    }
}

static void hang_up(struct flight_caller *caller)
{
    close(caller->fd);
    *caller = (struct flight_caller){ .state = FLIGHT_NOBODY };
}

void flight_control_close(struct flight_control *control)
{
    for (size_t i = 0; i < FLIGHT_CALLERS_MAX; i++)
        if (control->callers[i].state != FLIGHT_NOBODY)
            hang_up(&control->callers[i]);
    if (control->fd >= 0)
        close(control->fd);
    control->fd = -1;
}

static void answer(struct flight_caller *caller, const char *text)
{
    /* Who does not read what they asked for goes without. */
    if (send(caller->fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        (void)errno;
    hang_up(caller);
}

static void accept_callers(struct flight_control *control)
{
    for (size_t i = 0; i < FLIGHT_CALLERS_MAX; i++) {
        struct flight_caller *caller = &control->callers[i];
        int fd;

        if (caller->state != FLIGHT_NOBODY)
            continue;
        fd = accept4(control->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0)
            return;
        *caller = (struct flight_caller){ .state = FLIGHT_TALKS, .fd = fd };
    }
}

/* The process that was asked for; 0: the line makes no sense. */
static pid_t pid_of(const char *line)
{
    char *end;
    long pid;

    if (strncmp(line, QUESTION, strlen(QUESTION)) != 0)
        return 0;
    pid = strtol(line + strlen(QUESTION), &end, 10);
    return *end == '\n' && pid > 0 && pid < INT_MAX ? (pid_t)pid : 0;
}

/* True: a whole question about a process of ours. */
static bool listen_to(struct flight_caller *caller, bool (*is_ours)(void *user, pid_t pid),
                      void *user)
{
    ssize_t got = recv(caller->fd, caller->line + caller->length,
                       sizeof caller->line - 1 - caller->length, MSG_DONTWAIT);
    pid_t pid;

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (got <= 0) {
        hang_up(caller);
        return false;
    }
    caller->length += (size_t)got;
    caller->line[caller->length] = '\0';
    if (!strchr(caller->line, '\n')) {
        if (caller->length == sizeof caller->line - 1)
            hang_up(caller);
        return false;
    }
    pid = pid_of(caller->line);
    if (!pid || !is_ours(user, pid)) {
        answer(caller, "other\n");
        return false;
    }
    caller->state = FLIGHT_WAITS;
    return true;
}

bool flight_control_work(struct flight_control *control, bool (*is_ours)(void *user, pid_t pid),
                         void *user)
{
    bool wanted = false;

    if (control->fd < 0)
        return false;
    accept_callers(control);
    for (size_t i = 0; i < FLIGHT_CALLERS_MAX; i++)
        if (control->callers[i].state == FLIGHT_TALKS &&
            listen_to(&control->callers[i], is_ours, user))
            wanted = true;
    return wanted;
}

void flight_control_serve(struct flight_control *control)
{
    for (size_t i = 0; i < FLIGHT_CALLERS_MAX; i++)
        if (control->callers[i].state == FLIGHT_WAITS)
            control->callers[i].state = FLIGHT_IS_SERVED;
}

void flight_control_answer(struct flight_control *control, const char *path, const char *why)
{
    char text[PATH_MAX + 16];

    snprintf(text, sizeof text, why ? "failed %.500s\n" : "file %.4090s\n", why ? why : path);
    for (size_t i = 0; i < FLIGHT_CALLERS_MAX; i++)
        if (control->callers[i].state == FLIGHT_IS_SERVED)
            answer(&control->callers[i], text);
}

/* ---- the other side ---- */

/* A directory that the caller's user, or for root anybody, has made: not a link, and whoever
 * listens there is who made it. -1: none. */
static int call(const char *directory)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    struct ucred peer;
    socklen_t size = sizeof peer;
    struct stat owner;
    int fd;

    if (lstat(directory, &owner) < 0 || !S_ISDIR(owner.st_mode) ||
        (owner.st_uid != geteuid() && geteuid() != 0))
        return -1;
    if ((size_t)snprintf(address.sun_path, sizeof address.sun_path, "%s/" SOCKET_NAME, directory) >=
        sizeof address.sun_path)
        return -1;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == owner.st_uid)
        return fd;
    close(fd);
    return -1;
}

/* One line without its end; false: there was none. */
static bool read_line(int fd, char *out, size_t size)
{
    size_t length = 0;

    while (length < size - 1) {
        ssize_t got = read(fd, out + length, size - 1 - length);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        length += (size_t)got;
        out[length] = '\0';
        if (memchr(out, '\n', length)) {
            *strchrnul(out, '\n') = '\0';
            return true;
        }
    }
    return false;
}

/* IFG_NOT_FOUND: this one does not watch it. */
static enum ifg_status ask_one(int fd, pid_t pid, char out_path[PATH_MAX], struct ifg_error *err)
{
    char line[PATH_MAX + 16];
    int length = snprintf(line, sizeof line, QUESTION "%d\n", (int)pid);

    if (send(fd, line, (size_t)length, MSG_NOSIGNAL) != length ||
        !read_line(fd, line, sizeof line) || strcmp(line, "other") == 0)
        return IFG_NOT_FOUND;
    if (strncmp(line, "file ", 5) == 0) {
        snprintf(out_path, PATH_MAX, "%.*s", PATH_MAX - 1, line + 5);
        return IFG_OK;
    }
    return ifg_fail(err, IFG_IO, "the flight recorder of process %d could not write: %.400s",
                    (int)pid, strncmp(line, "failed ", 7) == 0 ? line + 7 : line);
}

static enum ifg_status ask_folder(const char *folder, pid_t pid, char out_path[PATH_MAX],
                                  struct ifg_error *err)
{
    DIR *entries = opendir(folder);
    enum ifg_status status = IFG_NOT_FOUND;
    struct dirent *entry;

    while (entries && status == IFG_NOT_FOUND && (entry = readdir(entries))) {
        char directory[512];
        int fd;

        if (strncmp(entry->d_name, IFG_WIRE_NAME "-", strlen(IFG_WIRE_NAME "-")) != 0)
            continue;
        snprintf(directory, sizeof directory, "%s/%s", folder, entry->d_name);
        fd = call(directory);
        if (fd < 0)
            continue;
        status = ask_one(fd, pid, out_path, err);
        close(fd);
    }
    if (entries)
        closedir(entries);
    return status;
}

enum ifg_status flight_ask(pid_t pid, char out_path[PATH_MAX], struct ifg_error *err)
{
    enum ifg_status status = IFG_NOT_FOUND;
    const char *folder;

    for (size_t i = 0; (folder = rendezvous_folder(i)) && status == IFG_NOT_FOUND; i++)
        status = ask_folder(folder, pid, out_path, err);
    if (status != IFG_NOT_FOUND)
        return status;
    return ifg_fail(err, IFG_NOT_FOUND,
                    "no flight recorder of yours watches process %d: start one with 'inferogram "
                    "record --flight-recorder 30s --pid %d'; one that root started answers to root",
                    (int)pid, (int)pid);
}
