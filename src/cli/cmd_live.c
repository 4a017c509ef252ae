// SPDX-License-Identifier: Apache-2.0
/* inferogram live: a recording with its gauge. The recording itself is that of `record`. */
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/record.h"

static const struct option_row own_rows[] = {
    { "web", 0, NULL, "print the address of a page instead, and stay until Ctrl-C", OPTION_FLAG,
      IFG_AT(struct record_request, view.page), IFG_GIVEN(struct record_request, view.serve_on) },
    { "open", 0, NULL, "the same, and open it in the browser", OPTION_FLAG,
      IFG_AT(struct record_request, view.open) },
    { "log", 0, "FILE", "what CMD prints goes to FILE; without it, the gauge is one line",
      OPTION_PATH, IFG_AT(struct record_request, view.log) },
    { "output", 'o', "FILE", "keep the trace, here [it is removed at the end]", OPTION_PATH,
      IFG_AT(struct record_request, session.output), .files = "*.ifg" },
    { 0 },
};

static int run(int argc, char **argv)
{
    return record_run(&live_command, true, argc, argv);
}

const struct cli_command live_command = {
    .name = "live",
    .summary = "what a running program's models cost now: a gauge in the terminal or a page",
    .usage = "[OPTIONS] --pid N | --name S | --path P | --next\n"
             "[OPTIONS] -- CMD ARGS...",
    .about = "Shows what a program's models cost while it runs: medians of inference, load and "
             "specialization, the slowest of each of the last 90 seconds, the last events, what is "
             "still open, CPUs and memory. Once a second; without a terminal one line a second.",
    .tables = { own_rows, record_rows },
    .notes = "q or Ctrl-C ends it; the program goes on, unless it was started here. A recording "
             "that goes on already: inferogram serve --live FILE.",
    .exits = "as for 'inferogram record'",
    .operands = OPERANDS_PROGRAM,
    .run = run,
};
