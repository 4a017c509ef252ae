// SPDX-License-Identifier: Apache-2.0
/* Colours and the pager: see terminal.h. */
#include "cli/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/text.h"

#define PAGER         "less -FRX"
#define NOT_FOUND     127 /* of the shell */
#define PAGER_SIGNALS 3

static enum terminal_color wanted_color;
static bool no_pager;
static const int pager_signals[PAGER_SIGNALS] = { SIGINT, SIGQUIT, SIGPIPE };
static struct {
    int fd; /* -1: none */
    pid_t pid;
    bool left; /* by the user, before all was there */
    struct sigaction before[PAGER_SIGNALS];
} pager = { .fd = -1 };

void terminal_set_color(enum terminal_color color)
{
    wanted_color = color;
}

void terminal_set_pager(bool on)
{
    no_pager = !on;
}

static bool is_set(const char *name)
{
    const char *value = getenv(name);

    return value && *value && strcmp(value, "0") != 0;
}

bool terminal_has_color(int fd)
{
    const char *no_color = getenv("NO_COLOR");
    const char *term = getenv("TERM");

    if (wanted_color != TERMINAL_AUTO)
        return wanted_color == TERMINAL_ALWAYS;
    if (no_color && *no_color)
        return false;
    if (is_set("FORCE_COLOR") || is_set("CLICOLOR_FORCE"))
        return true;
    return isatty(fd) && !(term && strcmp(term, "dumb") == 0);
}

/* ---- the pager ---- */

/* What is run is not for the environment to say where this program has rights that its user lacks:
 * see secure_getenv(3). "": none is wanted. */
static const char *pager_command(void)
{
    const char *command = secure_getenv("INFEROGRAM_PAGER");

    if (!command)
        command = secure_getenv("PAGER");
    if (!command)
        command = PAGER;
    return strcmp(command, "cat") == 0 ? "" : command;
}

static size_t count_lines(const struct ifg_bytes *bytes)
{
    size_t lines = 0;

    for (size_t i = 0; i < bytes->size; i++)
        lines += bytes->data[i] == '\n';
    return lines;
}

/* It gets Ctrl-C and Ctrl-\ as if we were not there. */
static int start_pager(const char *command, int from, pid_t *out_pid)
{
    char *arguments[] = { "sh", "-c", (char *)(uintptr_t)command, NULL };
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t signals;
    int failed;

    sigemptyset(&signals);
    for (int i = 0; i < PAGER_SIGNALS; i++)
        sigaddset(&signals, pager_signals[i]);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, from, STDIN_FILENO);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigdefault(&attributes, &signals);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    setenv("LESS", "FRX", 0);          /* colours, and no empty screen behind it */
    setenv("LESSCHARSET", "utf-8", 0); /* whatever the locale: it is UTF-8 */
    failed = posix_spawn(out_pid, "/bin/sh", &files, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return failed;
}

/* False: the reader has seen enough. */
static bool feed(int fd, const struct ifg_bytes *bytes)
{
    size_t done = 0;

    while (done < bytes->size) {
        ssize_t count = write(fd, bytes->data + done, bytes->size - done);

        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return false;
        done += (size_t)count;
    }
    return true;
}

static bool begin_pager(const struct ifg_bytes *bytes)
{
    const char *command = pager_command();
    struct sigaction ignore = { .sa_handler = SIG_IGN };
    size_t columns;
    size_t rows;
    int ends[2];
    int failed;

    if (no_pager || !*command || !text_terminal_size(STDOUT_FILENO, &columns, &rows) ||
        count_lines(bytes) < rows || pipe2(ends, O_CLOEXEC) != 0)
        return false;
    for (int i = 0; i < PAGER_SIGNALS; i++)
        sigaction(pager_signals[i], &ignore, &pager.before[i]);
    failed = start_pager(command, ends[0], &pager.pid);
    close(ends[0]);
    pager.fd = ends[1];
    if (failed) {
        pager.pid = 0;
        terminal_end_pager();
    }
    return !failed;
}

void terminal_end_pager(void)
{
    int status = 0;

    if (pager.fd < 0)
        return;
    close(pager.fd);
    pager.fd = -1;
    while (pager.pid && waitpid(pager.pid, &status, 0) < 0 && errno == EINTR)
        ;
    /* A pager that cannot be run has shown nothing; the next text goes to the terminal. */
    no_pager = !pager.pid || (WIFEXITED(status) && WEXITSTATUS(status) == NOT_FOUND);
    for (int i = 0; i < PAGER_SIGNALS; i++)
        sigaction(pager_signals[i], &pager.before[i], NULL);
}

bool terminal_page(const struct ifg_bytes *bytes, bool more)
{
    bool reads;

    if (pager.left)
        return true;
    if (pager.fd < 0 && !begin_pager(bytes))
        return false;
    reads = feed(pager.fd, bytes);
    if (more && reads)
        return true;
    terminal_end_pager();
    pager.left = more && !no_pager;
    return !no_pager;
}
