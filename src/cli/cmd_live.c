// SPDX-License-Identifier: Apache-2.0
/* inferogram live: a recording with its gauge. The recording itself is that of `record`. */
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/metrics_options.h"
#include "cli/record.h"

static const struct option_row own_rows[] = {
    { .kind = OPTION_HEADING, .help = "The picture" },
    { "web", 0, NULL, "print the address of a page; stay until Ctrl-C", OPTION_FLAG,
      IFG_AT(struct record_request, view.page), IFG_GIVEN(struct record_request, view.serve_on) },
    { "open", 0, NULL, "the same, and open it in a browser", OPTION_FLAG,
      IFG_AT(struct record_request, view.open) },
    { "log", 0, "FILE", "output of CMD goes to FILE; else a one-line gauge", OPTION_PATH,
      IFG_AT(struct record_request, view.log) },
    { "metrics", 0, "[ADDRESS:]PORT", METRICS_HELP, OPTION_TEXT,
      IFG_AT(struct record_request, view.metrics) },
    { "otlp", 0, "URL", OTLP_HELP, OPTION_TEXT, IFG_AT(struct record_request, view.otlp) },
    { "output", 'o', "FILE", "keep the trace in FILE [removed at the end]", OPTION_PATH,
      IFG_AT(struct record_request, session.output), .files = "*.ifg" },
    { .kind = OPTION_HEADING, .help = "On another machine, where 'inferogram agent' runs" },
    REMOTE_ROWS(struct record_request, remote),
    { "reconnect", 0, "T", "when the connection is lost, try again for this long [never]",
      OPTION_SECONDS, IFG_AT(struct record_request, reconnect_s), .zero = true,
      .most = REMOTE_KEEP_MAX_MS / 1000, .what = "a time of up to ten minutes (30s, 2m), or 0" },
    { 0 },
};

static int run(int argc, char **argv)
{
    return record_run(&live_command, true, argc, argv);
}

const struct cli_command live_command = {
    .name = "live",
    .summary = "show what a running program's models cost right now",
    .usage = "[OPTIONS] --pid N | --name S | --path P | --next\n"
             "[OPTIONS] -- CMD ARGS...\n"
             "-a HOST [-p PORT] [OPTIONS] [--pid N | --name S | --next]",
    .about = "Shows what a program's models cost while it runs: medians of inference, load and "
             "specialization, the slowest of each in the last 90 seconds, the latest events, what "
             "is still open, CPUs and memory. Updates once a second; without a terminal, prints "
             "one line a second.",
    .tables = { own_rows, record_rows, record_content_rows, options_color_rows },
    .notes =
        "Press q or Ctrl-C to quit; the program keeps running unless it was started here. To "
        "follow a recording in progress: inferogram serve --live FILE. With -a, without --pid, "
        "--name and --next: the only process that can be recorded.",
    .exits = "as for 'inferogram record'; with -a, as for 'inferogram capture'",
    .operands = OPERANDS_PROGRAM,
    .silent = true,
    .run = run,
};
