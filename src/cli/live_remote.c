// SPDX-License-Identifier: Apache-2.0
/* A capture with its picture: see live_remote.h. */
#include "cli/live_remote.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/remote_recording.h"

#define NOTES_MOST 16u

struct watch {
    const struct record_request *request;
    struct live_view *view;
    bool has_no_page; /* though it was all that was wanted */
    /* What the agent said while the gauge had the terminal; the last of it. */
    struct remote_note notes[NOTES_MOST];
    size_t note_count;
};

static void show_note(const char *text, void *user)
{
    struct watch *watch = user;

    if (watch->request->quiet)
        return;
    if (!watch->view->gauge_running) {
        cli_say("%s", text);
        return;
    }
    snprintf(watch->notes[watch->note_count++ % NOTES_MOST].text, sizeof watch->notes->text, "%s",
             text);
}

static void show_kept_notes(const struct watch *watch)
{
    size_t from = watch->note_count > NOTES_MOST ? watch->note_count - NOTES_MOST : 0;

    for (size_t i = from; i < watch->note_count; i++)
        cli_say("%s", watch->notes[i % NOTES_MOST].text);
}

static void show_started(const struct remote_started *started, void *user)
{
    struct watch *watch = user;
    struct session_start start = { .program = started->program,
                                   .pid = (pid_t)started->pid,
                                   .path = watch->request->session.output,
                                   .not_hooked = "" };

    if (watch->view->server || watch->view->gauge_running)
        return; /* it goes on after a break */
    if (!watch->request->quiet)
        cli_say("recording %s (pid %u) on %s → %s", started->program, started->pid,
                watch->request->remote.host, start.path);
    live_view_started(watch->view, &start);
    watch->has_no_page = watch->view->page && !watch->view->server;
    if (watch->has_no_page)
        kill(getpid(), SIGINT); /* nobody would see it */
}

static void ignore_progress(const struct remote_progress *progress, void *user)
{
    (void)progress;
    (void)user;
}

/* One place waits for them at a time, from here to the end: what is temporary must go. */
static void block_signals(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
}

static enum live_view_end view_end(enum capture_end end, const struct capture_result *result)
{
    if (!result->bytes)
        return LIVE_VIEW_EMPTY;
    if (result->is_stopped || (end != CAPTURE_DONE && end != CAPTURE_LOST))
        return LIVE_VIEW_STOPPED;
    return LIVE_VIEW_ENDED;
}

int live_remote(const struct cli_command *command, struct record_request *request)
{
    struct watch watch = { .request = request, .view = &request->view };
    struct capture_options options = { .overwrite = request->session.overwrite,
                                       .reconnect_ms = (uint32_t)(request->reconnect_s * 1e3),
                                       .note = show_note,
                                       .started = show_started,
                                       .progress = ignore_progress,
                                       .user = &watch };
    struct capture_result result;
    struct remote_token token;
    struct ifg_error err = { .message = "" };
    enum capture_end end;
    int code;

    request->view.quiet = request->quiet;
    request->view.page_is_all = request->view.page;
    request->session.prompt = true;
    code = remote_options_check(command, &request->remote);
    if (!code)
        code = remote_recording_ask(command, request, &options.request);
    if (!code)
        code = remote_options_apply(&request->remote, &token, &options);
    if (code)
        return code;
    block_signals();
    code = live_view_prepare(&request->view, &request->session);
    if (code)
        return code;
    options.path = request->session.output;
    options.is_temporary = request->view.directory[0] != '\0';
    end = capture_run(&options, &result, &err);
    live_view_ended(&request->view);
    show_kept_notes(&watch);
    if (end)
        cli_say("%s", err.message);
    else if (!request->quiet)
        remote_recording_show_end(&result);
    live_view_finish(&request->view, view_end(end, &result));
    code = remote_exit_for(end);
    return code == CLI_YES && watch.has_no_page ? CLI_NO : code;
}
