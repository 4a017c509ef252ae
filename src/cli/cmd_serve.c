// SPDX-License-Identifier: Apache-2.0
/* inferogram serve: traces in a browser. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/browser.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/live_folder.h"
#include "cli/live_remote.h"
#include "cli/merge_temporary.h"
#include "cli/remote_recording.h"
#include "server/server.h"

struct serve {
    struct record_request
        record;        /* of a process that an agent records; first: some options are its */
    const char *agent; /* its address */
    char host[REMOTE_HOST_BYTES]; /* of that */
    const char *newest;           /* without a file */
    struct server_options server;
    bool merge;
    struct merge_temporary merged;
    const char *merged_path;
    bool open;
    bool quiet;
};

static const struct option_row option_rows[] = {
    { .kind = OPTION_HEADING, .help = "The server" },
    { "live", 0, NULL, "follow FILE while it is being recorded", OPTION_FLAG,
      IFG_AT(struct serve, server.live) },
    { "merge", 0, NULL, "show all FILEs on one timeline: see 'inferogram merge'", OPTION_FLAG,
      IFG_AT(struct serve, merge) },
    { "port", 0, "N", "listen on port N [any free one]", OPTION_COUNT,
      IFG_AT(struct serve, server.port), .least = 1, .most = 65535, .what = "a port: 1 to 65535" },
    { "open", 0, NULL, "open the address in a browser (xdg-open)", OPTION_FLAG,
      IFG_AT(struct serve, open) },
    { "listen", 0, "ADDRESS", "listen on a public address, unencrypted", OPTION_TEXT,
      IFG_AT(struct serve, server.address) },
    { "quiet", 'q', NULL, "print nothing but the address", OPTION_FLAG,
      IFG_AT(struct serve, quiet) },
    { .kind = OPTION_HEADING,
      .help = "With --live: a process of another machine, where 'inferogram agent' runs" },
    { "address", 'a', "HOST[:PORT]", "the machine of the agent, or a forwarded port's [8086]",
      OPTION_TEXT, IFG_AT(struct serve, agent) },
    { "pid", 0, "N", "this process [the only one that can be recorded]", OPTION_COUNT,
      IFG_AT(struct serve, record.session.pid), .least = 1, .most = INT32_MAX,
      .what = "a process number" },
    { "name", 0, "S", "the oldest process with this name", OPTION_TEXT,
      IFG_AT(struct serve, record.name) },
    { "next", 0, NULL, "the next one that creates a session of {attachable}", OPTION_FLAG,
      IFG_AT(struct serve, record.session.next) },
    { "output", 'o', "FILE", "keep the trace in FILE [removed at the end]", OPTION_PATH,
      IFG_AT(struct serve, record.session.output), .files = "*.ifg" },
    { 0 },
};

/* The token, and the certificate. --port is our own. */
static const struct option_row agent_rows[] = { REMOTE_ROWS(struct serve, record.remote), { 0 } };

static void warn_of_others(const char *address)
{
    if (address && strncmp(address, "127.", 4) != 0 && strcmp(address, "::1") != 0)
        cli_say("others can reach this server: whoever has the address sees the traces, and what "
                "is sent is not encrypted");
}

/* live --web, with our words. */
static int serve_agent(struct serve *serve, size_t words)
{
    struct record_request *request = &serve->record;
    struct live_view *view = &request->view;
    int code;

    if (!serve->server.live)
        return cli_usage("serve", "-a goes with --live; to keep a trace of an agent: inferogram "
                                  "capture");
    if (words)
        return cli_usage("serve", "-a records a process; a file is followed without it");
    code = remote_split_address("serve", "--address", serve->agent, serve->host, sizeof serve->host,
                                &request->remote.port);
    if (code)
        return code;
    request->remote.host = serve->host;
    request->quiet = serve->quiet;
    view->page = view->serve_on = true;
    view->open = serve->open;
    view->listen = serve->server.address;
    view->port = serve->server.port;
    warn_of_others(view->listen);
    return live_remote(&serve_command, request);
}

/* Options of an agent, without one. */
static int check_agentless(const struct serve *serve)
{
    const struct record_request *request = &serve->record;

    if (request->remote.token_file || request->remote.fingerprint || request->session.pid ||
        request->name || request->session.next || request->session.output)
        return cli_usage("serve", "--token-file, --fingerprint, --pid, --name, --next and --output "
                                  "go with --address");
    return CLI_YES;
}

static int take_words(const struct option_words *words, struct serve *serve)
{
    serve->server.paths = (const char *const *)words->items;
    serve->server.path_count = words->count;
    if (!words->count) {
        serve->newest = options_newest_trace(&serve_command);
        serve->server.paths = &serve->newest;
        serve->server.path_count = 1;
        if (!serve->newest)
            return CLI_USAGE;
    }
    if (serve->server.live && words->count > 1)
        return cli_usage("serve", "--live follows one file");
    return CLI_YES;
}

/* One trace in place of all of them. */
static int merge_words(const struct option_words *words, struct serve *serve)
{
    int code;

    if (serve->server.live)
        return cli_usage("serve", "--merge shows what was recorded; --live follows one file");
    if (!words->count)
        return cli_usage("serve", "--merge: which traces? Give two files or more");
    code = merge_temporary_make(&serve_command, words, &serve->merged);
    serve->merged_path = serve->merged.path;
    serve->server.paths = &serve->merged_path;
    serve->server.path_count = 1;
    return code;
}

static int serve_traces(struct serve *serve)
{
    struct server *server = NULL;
    struct browser_visit *visit = NULL;
    struct ifg_error err = { 0 };
    enum ifg_status status;
    sigset_t stop;
    int signal_number = 0;

    /* Blocked before there are threads: one place waits for them. */
    sigemptyset(&stop);
    sigaddset(&stop, SIGINT);
    sigaddset(&stop, SIGTERM);
    if (signal(SIGHUP, SIG_DFL) == SIG_IGN)
        signal(SIGHUP, SIG_IGN); /* nohup */
    else
        sigaddset(&stop, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &stop, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, SIG_IGN); /* nobody waits for the browser */
    if (serve->server.live)
        live_folder_remove_stale();
    status = server_start(&serve->server, &server, &err);
    if (status) {
        cli_say("%s", err.message);
        return status == IFG_NOT_FOUND || status == IFG_INVALID ? CLI_USAGE : CLI_NO;
    }
    printf("%s\n", server_url(server));
    if (fflush(stdout) != 0) {
        cli_say("cannot write the address: %m");
        server_stop(server);
        return CLI_NO;
    }
    warn_of_others(serve->server.address);
    if (!server_has_page())
        cli_say("this program was built without its page: only the interface under /api/ works; "
                "build ui/ and then the program again");
    if (!serve->quiet)
        cli_say("serving until Ctrl-C");
    if (serve->open)
        visit = browser_open(server_url(server), server_was_visited, server);
    while (sigwait(&stop, &signal_number) != 0)
        ;
    /* What is being loaded or answered ends first; who cannot wait for it presses Ctrl-C again. */
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &stop, NULL);
    browser_close(visit);
    server_stop(server);
    return CLI_YES;
}

static int run(int argc, char **argv)
{
    struct serve serve = { 0 };
    struct option_words words;
    int code;

    remote_recording_defaults(&serve.record);
    code = options_parse(&serve_command, argc, argv, &serve, &words);
    if (!code && serve.agent)
        return serve_agent(&serve, words.count);
    if (!code)
        code = check_agentless(&serve);
    if (!code)
        code = serve.merge ? merge_words(&words, &serve) : take_words(&words, &serve);
    if (!code)
        code = serve_traces(&serve);
    merge_temporary_remove(&serve.merged);
    return code;
}

const struct cli_command serve_command = {
    .name = "serve",
    .summary = "show traces in a browser: timeline, models, operators, source",
    .usage = "[OPTIONS] [FILE... | DIRECTORY]\n[OPTIONS] --merge FILE...\n[OPTIONS] --live [FILE]\n"
             "[OPTIONS] --live -a HOST[:PORT] [--pid N | --name S | --next]",
    .about = "Shows traces in a browser: prints an address and serves it until Ctrl-C. Several "
             "files, or a directory of traces (*.ifg), become a list to choose from; with "
             "--merge they share one timeline. Nothing "
             "leaves this machine: the server listens on 127.0.0.1 only, and the address contains "
             "a secret token. From another machine: ssh -L PORT:127.0.0.1:PORT HOST, then open "
             "the address.",
    .tables = { option_rows, agent_rows },
    .notes = "With --listen, everyone who has the address with its token can see the traces.",
    .exits = "0 stopped by Ctrl-C or SIGTERM, 1 cannot listen, 2 usage error or missing file; with "
             "-a, as for 'inferogram capture'",
    .operands = OPERANDS_TRACES,
    .reads = true,
    .silent = true,
    .run = run,
};
