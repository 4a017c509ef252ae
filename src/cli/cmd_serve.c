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
#include "server/server.h"

struct serve {
    struct server_options server;
    bool open;
    bool quiet;
};

static const struct option_row option_rows[] = {
    { "live", 0, NULL, "follow FILE, which is still being recorded, on the page Live", OPTION_FLAG,
      IFG_AT(struct serve, server.live) },
    { "port", 0, "N", "listen on port N [any free one]", OPTION_COUNT,
      IFG_AT(struct serve, server.port), .least = 1, .most = 65535, .what = "a port: 1 to 65535" },
    { "open", 0, NULL, "open the address in the browser (xdg-open)", OPTION_FLAG,
      IFG_AT(struct serve, open) },
    { "listen", 0, "ADDRESS", "listen on an address that others can reach, unencrypted",
      OPTION_TEXT, IFG_AT(struct serve, server.address) },
    { "quiet", 'q', NULL, "print nothing but the address", OPTION_FLAG,
      IFG_AT(struct serve, quiet) },
    { 0 },
};

static int take_words(const struct option_words *words, struct serve *serve)
{
    if (!words->count)
        return cli_usage("serve", "which trace? Give files, or a directory that has some");
    serve->server.paths = (const char *const *)words->items;
    serve->server.path_count = words->count;
    if (serve->server.live && words->count > 1)
        return cli_usage("serve", "--live follows one file");
    return CLI_YES;
}

static bool is_loopback(const char *address)
{
    return !address || strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0;
}

static int run(int argc, char **argv)
{
    struct serve serve = { 0 };
    struct option_words words;
    struct server *server = NULL;
    struct browser_visit *visit = NULL;
    struct ifg_error err = { 0 };
    enum ifg_status status;
    sigset_t stop;
    int code = options_parse(&serve_command, argc, argv, &serve, &words);
    int signal_number = 0;

    if (!code)
        code = take_words(&words, &serve);
    if (code)
        return code;
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
    if (serve.server.live)
        live_folder_remove_stale();
    status = server_start(&serve.server, &server, &err);
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
    if (!is_loopback(serve.server.address))
        cli_say("others can reach this server: whoever has the address sees the traces, and what "
                "is sent is not encrypted");
    if (!server_has_page())
        cli_say("this program was built without its page: only the interface under /api/ works; "
                "build ui/ and then the program again");
    if (!serve.quiet)
        cli_say("serving until Ctrl-C");
    if (serve.open)
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

const struct cli_command serve_command = {
    .name = "serve",
    .summary = "traces in a browser: timeline, models, operators, source",
    .usage = "[OPTIONS] FILE... | DIRECTORY\n[OPTIONS] --live FILE",
    .about = "Shows traces in a browser: prints an address, and answers at it until Ctrl-C. "
             "Several files, or a directory with traces (*.ifg), become a list to choose from. "
             "Nothing leaves this machine: the server listens on 127.0.0.1 only, and the address "
             "holds a secret that nobody else can know. On another machine: ssh -L "
             "PORT:127.0.0.1:PORT HOST, then open the address.",
    .tables = { option_rows },
    .notes = "With --listen, whoever has the address with its secret sees the traces.",
    .exits = "0 stopped by Ctrl-C or SIGTERM, 1 it cannot listen, 2 a wrong command line, or a "
             "file or directory is not there",
    .operands = OPERANDS_TRACES,
    .reads = true,
    .run = run,
};
