// SPDX-License-Identifier: Apache-2.0
/* inferogram serve: traces in a browser. */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/browser.h"
#include "cli/cli.h"
#include "cli/live_folder.h"
#include "server/server.h"

static const char help[] =
    "usage: inferogram serve [OPTIONS] FILE... | DIRECTORY\n"
    "       inferogram serve [OPTIONS] --live FILE\n"
    "\n"
    "Shows traces in a browser: prints an address, and answers at it until Ctrl-C. Several files,\n"
    "or a directory with traces (*.ifg), become a list to choose from. Nothing leaves this\n"
    "machine: the server listens on 127.0.0.1 only, and the address holds a secret that nobody\n"
    "else can know. On another machine: ssh -L PORT:127.0.0.1:PORT HOST, then open the address.\n"
    "\n"
    "  --live            FILE is still being recorded: follow it, on the page Live\n"
    "  --port N          listen on port N (default: any free one)\n"
    "  --open            open the address in the browser (xdg-open)\n"
    "  --listen ADDRESS  listen on an address of this machine that others can reach: whoever has\n"
    "                    the address with its secret sees the traces, and nothing is encrypted\n"
    "  -q, --quiet       print nothing but the address\n"
    "  --max-memory SIZE  at most so much memory (default: half of what is available)\n"
    "  --help            this text\n"
    "\n"
    "Exit status: 0 stopped by Ctrl-C or SIGTERM; 1 it cannot listen; 2 a wrong command line, or\n"
    "a file or directory is not there.\n";

struct serve {
    struct server_options server;
    bool open;
    bool quiet;
};

static int read_options(int argc, char **argv, struct serve *out)
{
    enum { PORT = 256, OPEN, LISTEN, LIVE };
    static const struct option options[] = {
        { "port", required_argument, NULL, PORT },
        { "open", no_argument, NULL, OPEN },
        { "listen", required_argument, NULL, LISTEN },
        { "live", no_argument, NULL, LIVE },
        { "quiet", no_argument, NULL, 'q' },
        { "help", no_argument, NULL, 'h' },
        { 0 },
    };
    int option;

    while ((option = getopt_long(argc, argv, ":hq", options, NULL)) != -1) {
        char *end = NULL;
        unsigned long port;

        switch (option) {
        case PORT:
            port = strtoul(optarg, &end, 10);
            if (*optarg < '0' || *optarg > '9' || *end || port == 0 || port > 65535)
                return cli_usage("serve", "'%s' is not a port: 1 to 65535", optarg);
            out->server.port = (uint16_t)port;
            break;
        case OPEN:
            out->open = true;
            break;
        case LISTEN:
            out->server.address = optarg;
            break;
        case LIVE:
            out->server.live = true;
            break;
        case 'q':
            out->quiet = true;
            break;
        case 'h':
            fputs(help, stdout);
            return -1;
        default:
            return cli_bad_option("serve", option, argv);
        }
    }
    if (optind == argc)
        return cli_usage("serve", "which trace? Give files, or a directory that has some");
    out->server.paths = (const char *const *)(argv + optind);
    out->server.path_count = (size_t)(argc - optind);
    if (out->server.live && out->server.path_count > 1)
        return cli_usage("serve", "--live follows one file");
    return CLI_YES;
}

static bool is_loopback(const char *address)
{
    return !address || strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0;
}

int cmd_serve(int argc, char **argv)
{
    struct serve serve = { 0 };
    struct server *server = NULL;
    struct browser_visit *visit = NULL;
    struct ifg_error err = { 0 };
    enum ifg_status status;
    sigset_t stop;
    int code = read_options(argc, argv, &serve);
    int signal_number = 0;

    if (code)
        return code < 0 ? CLI_YES : code;
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
