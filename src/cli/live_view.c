// SPDX-License-Identifier: Apache-2.0
/* The picture of a recording that goes on: see live_view.h. */
#include "cli/live_view.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/browser.h"
#include "cli/cli.h"
#include "cli/live_folder.h"
#include "cli/live_gauge.h"
#include "cli/live_metrics.h"
#include "server/server.h"

/* ---- before ---- */

static int make_temporary(struct live_view *view, struct session_options *options)
{
    if (!live_folder_make(view->directory, sizeof view->directory, &view->directory_lock)) {
        cli_say("cannot make a directory for a temporary trace in %s: %s; give a file with -o",
                live_folder_parent(), strerror(errno));
        view->directory[0] = '\0';
        return CLI_NO;
    }
    snprintf(view->path, sizeof view->path, "%s/" LIVE_FOLDER_TRACE, view->directory);
    options->output = view->path;
    return CLI_YES;
}

/* What the program prints goes into a file; what we draw stays where it was. */
static int divert_output(struct live_view *view)
{
    int fd = open(view->log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (fd < 0) {
        cli_say("cannot write %s: %s", view->log, strerror(errno));
        return CLI_NO;
    }
    fflush(stdout);
    view->saved_out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 10);
    view->saved_err = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 10);
    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
    close(fd);
    return CLI_YES;
}

static void restore_output(struct live_view *view)
{
    fflush(stdout);
    if (view->saved_out >= 0) {
        dup2(view->saved_out, STDOUT_FILENO);
        close(view->saved_out);
    }
    if (view->saved_err >= 0) {
        dup2(view->saved_err, STDERR_FILENO);
        close(view->saved_err);
    }
    view->saved_out = view->saved_err = -1;
}

int live_view_prepare(struct live_view *view, struct session_options *options)
{
    int code = CLI_YES;

    view->saved_out = view->saved_err = view->directory_lock = -1;
    options->prompt = true;
    live_folder_remove_stale();
    view->metrics_address.socket = -1;
    if (view->metrics)
        code = metrics_open_address("live", view->metrics, &view->metrics_address);
    if (!code && view->otlp)
        code = metrics_open_otlp("live", view->otlp, &view->otlp_options);
    if (!code && view->metrics)
        cli_say("metrics: %s", view->metrics_address.url);
    if (!code && !options->output && (view->gauge || view->serve_on))
        code = make_temporary(view, options);
    if (!code && view->log)
        code = divert_output(view);
    if (code)
        live_view_finish(view, LIVE_VIEW_EMPTY);
    return code;
}

/* ---- meanwhile ---- */

static void start_page(struct live_view *view, const struct session_start *start)
{
    const char *paths[] = { start->path };
    struct server_options options = {
        .paths = paths,
        .path_count = 1,
        .port = view->port,
        .address = view->listen,
        .live = true,
        .live_temporary = view->directory[0] != '\0',
        .live_kept_path = view->kept_path,
    };
    struct ifg_error err = { 0 };

    if (server_start(&options, &view->server, &err)) {
        cli_say("no page: %s%s", err.message, view->page_is_all ? "" : "; the recording goes on");
        return;
    }
    /* stdout is the program's, if there is one. */
    if (view->launched || !view->serve_on) {
        fprintf(stderr, "%s\n", server_url(view->server));
    } else {
        printf("%s\n", server_url(view->server));
        fflush(stdout);
    }
    if (!server_has_page())
        cli_say("this program was built without its page: only the interface under /api/ works");
    if (view->open)
        view->visit = browser_open(server_url(view->server), server_was_visited, view->server);
}

static void start_gauge(struct live_view *view, const struct session_start *start)
{
    int fd = view->saved_out >= 0 ? view->saved_out
             : view->launched     ? STDERR_FILENO
                                  : STDOUT_FILENO;
    enum gauge_form form = !isatty(fd)                             ? GAUGE_LINES
                           : view->launched && view->saved_out < 0 ? GAUGE_STATUS
                                                                   : GAUGE_SCREEN;

    if (form == GAUGE_STATUS && !view->quiet)
        cli_say("the program prints here too, so there is one line only; the whole gauge: add "
                "--log FILE for what it prints, or --web");
    view->gauge_running =
        live_gauge_start(start->path, form, fd, !view->launched && isatty(STDIN_FILENO));
    if (!view->gauge_running)
        cli_say("no gauge: not enough memory; the recording goes on");
}

static void start_metrics(struct live_view *view, const struct session_start *start)
{
    struct live_metrics_options options = { .address =
                                                view->metrics ? &view->metrics_address : NULL,
                                            .otlp = view->otlp ? &view->otlp_options : NULL,
                                            .path = start->path,
                                            .program = start->program };

    view->metrics_running = live_metrics_start(&options);
    if (!view->metrics_running)
        cli_say("no metrics: not enough memory; the recording goes on");
}

/* A program calls itself what it likes, and an agent may be anybody: its name is part of a path. */
static void name_for_file(const char *program, char *out, size_t size)
{
    snprintf(out, size, "%s", program);
    for (char *at = out; *at; at++)
        if (*at == '/' || (unsigned char)*at < 0x20 || *at == 0x7f)
            *at = '_';
}

void live_view_started(struct live_view *view, const struct session_start *start)
{
    time_t now = time(NULL);
    struct tm local;
    char when[16];
    char here[128];
    char program[65];

    localtime_r(&now, &local);
    strftime(when, sizeof when, "%H%M%S", &local);
    if (!getcwd(here, sizeof here))
        snprintf(here, sizeof here, ".");
    name_for_file(start->program, program, sizeof program);
    snprintf(view->kept_path, sizeof view->kept_path, "%s/inferogram-%s-%d-%s.ifg", here, program,
             (int)start->pid, when);
    if ((view->metrics || view->otlp) && !view->metrics_running)
        start_metrics(view, start);
    if (view->page)
        start_page(view, start);
    else if (view->gauge && !view->json)
        start_gauge(view, start);
}

void live_view_ended(struct live_view *view)
{
    live_gauge_stop(view->gauge_running);
    view->gauge_running = NULL;
    restore_output(view);
}

/* ---- after ---- */

static void serve_on(const struct live_view *view)
{
    sigset_t stop;
    int number;

    sigemptyset(&stop);
    sigaddset(&stop, SIGINT);
    sigaddset(&stop, SIGTERM);
    sigaddset(&stop, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &stop, NULL);
    if (!view->quiet)
        cli_say("the page stays until Ctrl-C");
    while (sigwait(&stop, &number) != 0)
        ;
    pthread_sigmask(SIG_UNBLOCK, &stop, NULL);
}

/* Into another file system too; never over a file that is there. */
static bool move_file(const char *from, const char *to)
{
    struct stat info;
    bool moved = false;
    off_t at = 0;
    int in;
    int out;

    if (link(from, to) == 0)
        return true;
    in = open(from, O_RDONLY | O_CLOEXEC);
    out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (in >= 0 && out >= 0 && fstat(in, &info) == 0 && fchmod(out, info.st_mode & 0666) == 0) {
        while (at < info.st_size && sendfile(out, in, &at, (size_t)(info.st_size - at)) > 0)
            ;
        moved = at == info.st_size;
    }
    if (in >= 0)
        close(in);
    if (out >= 0 && (close(out) != 0 || !moved)) {
        moved = false;
        unlink(to);
    }
    return moved;
}

/* Where it is, with a name under which nobody takes it for a leftover. */
static void keep_in_place(const struct live_view *view)
{
    char kept[sizeof view->path];
    const char *why = strerror(errno);

    snprintf(kept, sizeof kept, "%.4096s/" LIVE_FOLDER_KEPT, view->directory);
    cli_say("the trace cannot be moved to %s (%s): it stays at %s", view->kept_path, why,
            rename(view->path, kept) == 0 ? kept : view->path);
}

static void settle_temporary(struct live_view *view, bool keep, bool recorded)
{
    if (keep && move_file(view->path, view->kept_path)) {
        cli_say("the trace was kept: %s", view->kept_path);
    } else if (keep) {
        keep_in_place(view);
        return;
    } else if (recorded && !view->quiet) {
        cli_say("the trace was temporary and is removed; keep it with -o FILE");
    }
    unlink(view->path);
    rmdir(view->directory);
}

void live_view_finish(struct live_view *view, enum live_view_end end)
{
    bool keep;

    live_view_ended(view);
    if (view->server && view->serve_on && end == LIVE_VIEW_ENDED)
        serve_on(view);
    live_metrics_stop(view->metrics_running);
    view->metrics_running = NULL;
    metrics_address_close(&view->metrics_address);
    keep = view->server && server_is_to_be_kept(view->server);
    browser_close(view->visit);
    view->visit = NULL;
    server_stop(view->server);
    view->server = NULL;
    if (view->directory[0])
        settle_temporary(view, keep, end != LIVE_VIEW_EMPTY);
    view->directory[0] = '\0';
    if (view->directory_lock >= 0)
        close(view->directory_lock);
    view->directory_lock = -1;
}
