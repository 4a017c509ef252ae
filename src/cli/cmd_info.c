// SPDX-License-Identifier: Apache-2.0
/* inferogram info: what is in a trace, before any question about it. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"
#include "cli/cli.h"
#include "cli/info.h"

static const char help[] =
    "usage: inferogram info FILE [--top N] [--json]\n"
    "\n"
    "Shows what a trace holds: program and host, counts of events, what was lost and why, models,\n"
    "what was unfinished at the end, and where the time went. Damaged and unfinished files are "
    "read\n"
    "as far as they go.\n"
    "\n"
    "  --top N  how many places to list (default 10, 0 for none)\n"
    "  --json   one JSON document, described in docs/json.md\n"
    "  --max-memory SIZE  at most so much memory (default: half of what is available)\n"
    "  --help   this text\n"
    "\n"
    "Exit status: 0; 2 if FILE cannot be read.\n";

#define OUTPUT_MAX  (256u << 20)
#define TOP_DEFAULT 10

static int parse(int argc, char **argv, struct info_request *request, bool *out_done)
{
    static const struct option options[] = {
        { "top", required_argument, NULL, 't' },
        { "json", no_argument, NULL, 'j' },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };
    int option;
    char *end;

    request->top = TOP_DEFAULT;
    while ((option = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
        switch (option) {
        case 't':
            request->top = strtoul(optarg, &end, 10);
            if (!*optarg || *end || optarg[0] == '-')
                return cli_usage("info", "'%s' is not a number of places", optarg);
            break;
        case 'j':
            request->json = true;
            break;
        case 'h':
            fputs(help, stdout);
            *out_done = true;
            return CLI_YES;
        default:
            return cli_bad_option("info", option, argv);
        }
    }
    if (optind == argc)
        return cli_usage("info", "which trace? Give a file");
    if (optind + 1 < argc)
        return cli_usage("info", "one file at a time; '%s' is too many", argv[optind + 1]);
    request->path = argv[optind];
    return CLI_YES;
}

int cmd_info(int argc, char **argv)
{
    const struct stats_options by_zone = { .by = STATS_BY_ZONE };
    struct info_request request = { 0 };
    struct trace_reader *reader = NULL;
    const struct timeline *timeline = NULL;
    struct stats *stats = NULL;
    struct ifg_error err = { 0 };
    struct ifg_bytes out;
    bool done = false;
    int code = parse(argc, argv, &request, &done);

    if (code || done)
        return code;
    ifg_bytes_init(&out, OUTPUT_MAX);
    if (trace_reader_open(request.path, &reader, &err) ||
        timeline_create(reader, NULL, &timeline, &err) ||
        stats_create(timeline, &by_zone, &stats, &err)) {
        cli_say("%s", err.message);
        code = err.status == IFG_NO_MEMORY ? CLI_NO : CLI_USAGE;
        goto out;
    }
    request.reader = reader;
    request.timeline = timeline;
    request.stats = stats;
    if (request.json)
        info_write_json(&request, &out);
    else
        info_write_text(&request, &out);
    code = cli_write_out(&out);
out:
    ifg_bytes_fini(&out);
    stats_destroy(stats);
    timeline_destroy(timeline);
    trace_reader_close(reader);
    return code;
}
