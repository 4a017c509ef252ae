// SPDX-License-Identifier: Apache-2.0
/* inferogram live: a recording with its gauge. The recording itself is that of `record`. */
#include "cli/cli.h"
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
    "  --resources[=HZ], --no-resources, --gpu off, --lossless  as for 'inferogram record'\n"
    "  -q, --quiet       nothing but the gauge\n"
    "  --help            this text\n"
    "\n"
    "q or Ctrl-C ends it; the program goes on, unless it was started here. A recording that goes "
    "on\n"
    "already: inferogram serve --live FILE.\n"
    "Exit status: as for 'inferogram record'.\n";

int cmd_live(int argc, char **argv)
{
    return record_command_run(
        argc, argv, &(struct record_command){ .name = "live", .help = help, .gauge = true });
}
