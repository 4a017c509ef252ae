// SPDX-License-Identifier: Apache-2.0
/*
 * Handles that IFG_PROFILE or `inferogram ctl` asks for, in an unmodified program. Those of the
 * environment wait, without a thread, until the program has a model; what happened up to the start
 * of the thread is in the queue by then. Each program's part of a report becomes a file of its own;
 * an older one is never replaced.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "handles/command.h"
#include "handles/handle.h"
#include "handles/queue.h"

#define HANDLES_MAX  8
#define SUFFIXES_MAX 10000u

struct ifg_handles_result ifg_handles_result;

/* Those of the environment wait for a model; those of commands are started at once. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct handle *unattended[HANDLES_MAX];
static struct command commands[HANDLES_MAX];
static unsigned count;
static bool woken; /* there is a model: they are being started */
static bool begun; /* they are, as far as they could be */
static bool told;

/* The program's stderr is its own: one line, the first time. */
static void complain(const char *what, const char *why)
{
    char line[900];
    int length;

    if (__atomic_exchange_n(&told, true, __ATOMIC_RELAXED))
        return;
    length = snprintf(line, sizeof line, "inferogram: %s: %s\n", what, why);
    if (length > 0 && write(STDERR_FILENO, line, strnlen(line, sizeof line)) < 0)
        return;
}

/* ---- files ---- */

static int create_file(const struct command *command, uint64_t program, char *path, size_t size)
{
    const char *kind = command->type == IFG_REPORT_TRACE ? "trace.json" : "latency.txt";
    const char *dot = strchr(kind, '.');
    int fd = -1;

    for (unsigned suffix = 0; suffix < SUFFIXES_MAX && fd < 0; suffix++) {
        char number[16] = "";

        if (suffix)
            snprintf(number, sizeof number, "-%u", suffix);
        snprintf(path, size, "%s/aic-profiling-program-%llu-pid-%d-%.*s%s%s", command->directory,
                 (unsigned long long)program, (int)getpid(), (int)(dot - kind), kind, number, dot);
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    return fd;
}

static void write_file(const struct command *command, uint64_t program, const char *text,
                       size_t length)
{
    char path[700];
    int fd;

    if (mkdir(command->directory, 0777) < 0 && errno != EEXIST) {
        complain(command->directory, strerror(errno));
        return;
    }
    fd = create_file(command, program, path, sizeof path);
    while (fd >= 0 && length) {
        ssize_t written = write(fd, text, length);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            break;
        text += written;
        length -= (size_t)written;
    }
    if (fd < 0 || length)
        complain(path, strerror(errno));
    if (fd >= 0)
        close(fd);
}

/* A latency file is about one program; a trace has all of them. */
static void keep(const struct report *report, const struct handle *handle, void *user)
{
    const struct command *command = user;
    size_t start = 0;

    if (!report->samples)
        return;
    if (handle->type == IFG_REPORT_TRACE) {
        write_file(command, report->programs[0].number, report->text, report->length);
        return;
    }
    for (size_t i = 0; i < report->count; i++) {
        if (report->programs[i].count)
            write_file(command, report->programs[i].number, report->text + start,
                       report->ends[i] - start);
        start = report->ends[i] + 1; /* the empty line between two tables */
    }
}

/* ---- waiting for the first model ---- */

static void *begin(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < count && !begun; i++)
        if (handle_start_waiting(unattended[i]) < 0)
            complain("IFG_PROFILE", ifg_handle_error());
    begun = true;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void first_event(const struct ifg_tap_event *event)
{
    pthread_attr_t attributes;
    sigset_t all;
    sigset_t before;
    pthread_t thread;
    int saved_errno = errno;

    queue_put(event);
    if (__atomic_exchange_n(&woken, true, __ATOMIC_RELAXED))
        return;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&thread, &attributes, begin, NULL) != 0)
        complain("IFG_PROFILE", "no thread can be made");
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    errno = saved_errno;
}

void unattended_wait(void)
{
    if (!count)
        return;
    woken = begun = false;
    if (queue_prepare())
        ifg_tap_set(first_event);
}

static __attribute__((constructor(200))) void read_environment(void)
{
    const char *text = secure_getenv("IFG_PROFILE");
    int status = 1;

    if (!text || !*text || !ifg_tap_may_call())
        return;
    while (count < HANDLES_MAX && (status = command_parse(&text, &commands[count])) == 0) {
        unattended[count] = handle_create_unattended(&commands[count], keep, &commands[count]);
        if (!unattended[count]) {
            status = -EINVAL;
            break;
        }
        count++;
    }
    if (status < 0)
        complain("IFG_PROFILE", ifg_handle_error());
    unattended_wait();
}

/* The last reports, of what came since the ones before. A short program may end before the thread
 * that starts its handles had its turn. */
static __attribute__((destructor)) void program_ends(void)
{
    if (!ifg_tap_may_call())
        return;
    if (__atomic_load_n(&woken, __ATOMIC_RELAXED))
        begin(NULL);
    for (unsigned i = 0; i < count; i++)
        handle_stop(unattended[i]);
}

/* ---- commands from outside ---- */

/* A slot for one more: a new one, or that of a handle that is stopped. */
static int find_slot(void)
{
    if (count < HANDLES_MAX)
        return (int)count;
    for (int i = 0; i < HANDLES_MAX; i++)
        if (!handle_is_started(unattended[i]))
            return i;
    return handle_fail(-EBUSY, "%d handles are started already; stop them first", HANDLES_MAX);
}

static int make(const char *text)
{
    struct command command;
    int status;

    while ((status = command_parse(&text, &command)) == 0) {
        struct handle *handle;
        int slot = find_slot();

        if (slot < 0)
            return slot;
        handle = handle_create_unattended(&command, keep, &commands[slot]);
        if (!handle)
            return -EINVAL;
        if ((unsigned)slot < count)
            handle_destroy(unattended[slot]);
        unattended[slot] = handle;
        commands[slot] = command;
        if ((unsigned)slot == count)
            count++;
        status = handle_start(unattended[slot]);
        if (status < 0)
            return status;
    }
    return status < 0 ? status : 0;
}

static void describe(void)
{
    struct ifg_handles_result *result = &ifg_handles_result;
    size_t length = 0;

    result->started = 0;
    result->text[0] = '\0';
    for (unsigned i = 0; i < count && length < sizeof result->text; i++) {
        const struct command *command = &commands[i];
        struct handle *handle = unattended[i];
        bool started = handle_is_started(handle);

        result->started += started;
        length += (size_t)snprintf(
            result->text + length, sizeof result->text - length,
            "%s %s, %s, %s%.80s, reports to %.200s: %llu reports, %llu inferences\n", command->name,
            started ? "started" : "stopped",
            command->type == IFG_REPORT_TRACE ? "trace" : "latency",
            command->regex[0] ? "models matching " : "models ",
            command->regex[0] ? command->regex : command->glob, command->directory,
            (unsigned long long)handle->reports, (unsigned long long)handle->reported);
    }
}

void ifg_handles_command(const char *text, unsigned long unused)
{
    int saved_errno = errno;
    int status = 0;

    (void)unused;
    pthread_mutex_lock(&lock);
    if (strcmp(text, "stop") == 0 || strcmp(text, "flush") == 0 || strcmp(text, "start") == 0) {
        for (unsigned i = 0; i < count && status >= 0; i++) {
            if (text[0] == 'f')
                handle_flush_soon(unattended[i]);
            else if (text[2] == 'o')
                handle_stop_soon(unattended[i]);
            else if (!handle_is_started(unattended[i]))
                status = handle_start(unattended[i]);
        }
    } else if (strcmp(text, "status") != 0) {
        status = make(text);
    }
    describe();
    if (status < 0)
        snprintf(ifg_handles_result.text, sizeof ifg_handles_result.text, "%s", ifg_handle_error());
    ifg_handles_result.status = status;
    ifg_handles_result.handles = count;
    ifg_handles_result.calls++;
    pthread_mutex_unlock(&lock);
    errno = saved_errno;
}
