// SPDX-License-Identifier: Apache-2.0
/* inferogram capture: records a process of another machine, through its agent, into a file here. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/capture.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/remote_recording.h"

#define AT(member) IFG_AT(struct capture_request, member)

static const struct option_row option_rows[] = {
    { .kind = OPTION_HEADING, .help = "Where" },
    REMOTE_ROWS(struct capture_request, record.remote),
    { "reconnect", 0, "T", "when the connection is lost, try again for this long [30s; 0: never]",
      OPTION_SECONDS, AT(reconnect_s), .zero = true, .most = REMOTE_KEEP_MAX_MS / 1000,
      .what = "a time of up to ten minutes (30s, 2m), or 0" },
    { .kind = OPTION_HEADING, .help = "Which process" },
    { "pid", 0, "N", "this process [the only one that can be recorded]", OPTION_COUNT,
      AT(record.session.pid), .least = 1, .most = INT32_MAX, .what = "a process number" },
    { "name", 0, "S", "the oldest process with this name", OPTION_TEXT, AT(record.name) },
    { "next", 0, NULL, "the next one that creates a session of {attachable}", OPTION_FLAG,
      AT(record.session.next) },
    { "timeout", 0, "T", "with --next: wait at most this long", OPTION_SECONDS,
      AT(record.session.timeout_s), .what = "a time to wait (2, 1.5s, 3m)" },
    { "all", 0, NULL, "every process that can be recorded, also later ones; with -d", OPTION_FLAG,
      AT(all) },
    { "seconds", 's', "T", "stop after this time; the same as --duration", OPTION_SECONDS,
      AT(record.session.duration_s), .what = "a duration (2, 1.5s, 500ms, 3m)" },
    { .kind = OPTION_HEADING, .help = "Output" },
    { "output", 'o', "FILE", "write the trace here, on this machine", OPTION_PATH,
      AT(record.session.output), .files = "*.ifg" },
    { "directory", 'd', "DIR", "with --all: write DIR/NAME-PID.ifg for each", OPTION_PATH,
      AT(directory), .files = "/" },
    { "force", 'f', NULL, "replace FILE if it exists", OPTION_FLAG, AT(record.session.overwrite) },
    { "no-args", 0, NULL, "leave out the arguments of programs", OPTION_FLAG,
      AT(record.redaction.no_args) },
    { "quiet", 'q', NULL, "print errors only", OPTION_FLAG, AT(record.quiet) },
    { 0 },
};

static void clear_line(struct capture_request *request)
{
    if (request->line_shown)
        fputs("\r\033[K", stderr);
    request->line_shown = false;
}

static void show_note(const char *text, void *user)
{
    struct capture_request *request = user;

    clear_line(request);
    if (!request->record.quiet && !request->all)
        cli_say("%s", text);
}

static void show_started(const struct remote_started *started, void *user)
{
    const struct capture_request *request = user;

    if (!request->record.quiet)
        cli_say("recording %s (pid %u) on %s → %s", started->program, started->pid,
                request->record.remote.host, request->record.session.output);
}

static void show_progress(const struct remote_progress *progress, void *user)
{
    struct capture_request *request = user;
    unsigned seconds = (unsigned)(progress->elapsed_us / 1000000u);
    char events[32];
    char size[32];
    char dropped[32];

    if (request->record.quiet || request->all || !isatty(STDERR_FILENO))
        return;
    fprintf(stderr, "\r\033[K            %02u:%02u  %s events · %s · %s dropped", seconds / 60,
            seconds % 60, cli_count(progress->events, events), cli_size(progress->bytes, size),
            cli_count(progress->dropped, dropped));
    request->line_shown = true;
}

static void show_end(const struct capture_request *request, const struct capture_result *result)
{
    if (request->record.quiet)
        return;
    remote_recording_show_end(result);
    if (!request->all)
        cli_say("next: inferogram %s %s", result->ended.totals.models ? "report" : "info",
                request->record.session.output);
}

static int check_all(const struct capture_request *request)
{
    if (!request->directory)
        return cli_usage("capture", "where shall the traces go? Give a directory with -d");
    if (request->record.session.output)
        return cli_usage("capture", "--all writes many files: give a directory with -d, not -o");
    if (request->record.session.pid || request->record.session.next)
        return cli_usage("capture", "--all excludes --pid and --next");
    return CLI_YES;
}

static int check(const struct capture_request *request)
{
    struct remote_request asked;

    if (remote_recording_ask(&capture_command, &request->record, &asked))
        return CLI_USAGE;
    if (request->all && check_all(request))
        return CLI_USAGE;
    if (request->directory && !request->all)
        return cli_usage("capture", "-d goes with --all; a file is given with -o");
    if (request->directory && !*request->directory)
        return cli_usage("capture", "-d: give a directory");
    if (!request->record.session.output && !request->all)
        return cli_usage("capture", "where shall the trace go? Give a file with -o");
    if (request->record.session.output && !*request->record.session.output)
        return cli_usage("capture", "-o: give a file");
    return remote_options_check(&capture_command, &request->record.remote);
}

int capture_one(struct capture_request *request)
{
    struct capture_options options = { .path = request->record.session.output,
                                       .overwrite = request->record.session.overwrite,
                                       .reconnect_ms = (uint32_t)(request->reconnect_s * 1e3),
                                       .note = show_note,
                                       .started = show_started,
                                       .progress = show_progress,
                                       .user = request };
    struct capture_result result;
    struct remote_token token;
    struct ifg_error err = { .message = "" };
    enum capture_end end;
    int code = remote_options_apply(&request->record.remote, &token, &options);

    if (!code)
        code = remote_recording_ask(&capture_command, &request->record, &options.request);
    if (code)
        return code;
    end = capture_run(&options, &result, &err);
    clear_line(request);
    if (end)
        cli_say("%s", err.message);
    else
        show_end(request, &result);
    return remote_exit_for(end);
}

static int run(int argc, char **argv)
{
    struct capture_request request = { .reconnect_s = CAPTURE_RECONNECT_S };
    struct option_words words;
    int code;

    remote_recording_defaults(&request.record);
    code = options_parse(&capture_command, argc, argv, &request, &words);
    if (code)
        return code;
    if (words.count)
        return cli_usage("capture", "unexpected argument '%s'", words.items[0]);
    if (!request.record.remote.host)
        request.record.remote.host = "127.0.0.1";
    code = check(&request);
    if (code)
        return code;
    return request.all ? capture_all(&request) : capture_one(&request);
}

const struct cli_command capture_command = {
    .name = "capture",
    .summary = "record a process on another machine, through its agent",
    .usage = "-a HOST [-p PORT] -o FILE [-s T] [-f] [--pid N | --name S | --next]\n"
             "-a HOST [-p PORT] --all -d DIR [-s T] [-f] [--name S]",
    .about = "Records a process on a machine where 'inferogram agent' runs. The trace is written "
             "here while it comes, and can be opened at any moment; the program never waits for "
             "the connection. Without --pid, --name and --next, records the only process that can "
             "be recorded; 'inferogram ls -a HOST' lists them.",
    .tables = { option_rows, record_content_rows },
    .notes = "Ctrl-C ends the recording, a second one does not wait for its last part. The token "
             "of another user's agent may also be in the variable IFG_AGENT_TOKEN.",
    .examples = "inferogram capture -a 127.0.0.1 -o run.ifg -s 10\n"
                "inferogram capture -a 127.0.0.1 --name python3 -o run.ifg\n"
                "inferogram capture -a 127.0.0.1 --all -d traces\n"
                "inferogram capture -a board --fingerprint 5f1a... --token-file token -o run.ifg",
    .exits = "0 recorded, 1 failed, 2 usage error, 4 missing token or permission, 5 another "
             "version of the agent, 6 busy, 7 connection lost (FILE is complete up to there), 8 "
             "FILE exists, 9 cannot write FILE, 10 not the agent of the fingerprint, or no TLS",
    .silent = true,
    .run = run,
};
