// SPDX-License-Identifier: Apache-2.0
/* inferogram live: a recording with its gauge. The recording itself is that of `record`. */
#include "cli/cli.h"
#include "cli/live_view.h"
#include "cli/record.h"

static const char help[] =
    "usage: inferogram live [OPTIONS] --pid N | --name S | --path P | --next\n"
    "       inferogram live [OPTIONS] -- CMD ARGS...\n"
    "\n"
    "Shows what a program's models cost while it runs: medians of inference, load and\n"
    "specialization, the slowest of each of the last 90 seconds, the last events, what is still\n"
    "open, CPUs and memory. Once a second; without a terminal one line a second.\n"
    "\n"
    "  --web             print the address of a page instead (and stay until Ctrl-C)\n"
    "  --open            the same, and open it in the browser\n"
    "  --log FILE        what CMD prints goes to FILE, so that the gauge has the terminal; "
    "without\n"
    "                    it, there is one line only\n"
    "  -o, --output FILE, -f, --force  keep the trace, here (default: it is removed at the end);\n"
    "                    replace FILE\n"
    "  --pid N, --name S, --path P, --next, --timeout T, --duration T, --ops[=N], --overhead PCT,\n"
    "  --sample[=HZ], --no-sample, --no-sources, --sched, --memory, --hook HOW, --probe FILE,\n"
    "  --resources[=HZ], --no-resources, --gpu off, --lossless, --mode MODE, --no-args,\n"
    "  --redact PATTERN  as for 'inferogram record'\n"
    "  -q, --quiet       nothing but the gauge\n"
    "  --help            this text\n"
    "\n"
    "q or Ctrl-C ends it; the program goes on, unless it was started here. A recording that goes "
    "on\n"
    "already: inferogram serve --live FILE.\n"
    "Exit status: as for 'inferogram record'.\n";

enum { WEB = RECORD_OPTION_OWN, OPEN, LOG };

static const struct option own_options[] = {
    { "web", no_argument, NULL, WEB },
    { "open", no_argument, NULL, OPEN },
    { "log", required_argument, NULL, LOG },
    { NULL, 0, NULL, 0 },
};

static bool take_own_option(int option, const char *value, struct live_view *view)
{
    switch (option) {
    case OPEN:
        view->open = true;
        /* fall through */
    case WEB:
        view->page = view->serve_on = true;
        return true;
    case LOG:
        view->log = value;
        return true;
    default:
        return false;
    }
}

int cmd_live(int argc, char **argv)
{
    return record_command_run(argc, argv,
                              &(struct record_command){ .name = "live",
                                                        .help = help,
                                                        .options = own_options,
                                                        .take_option = take_own_option,
                                                        .gauge = true });
}
