// SPDX-License-Identifier: Apache-2.0
/* inferogram info: what is in a trace, before any question about it. */
#include "base/alloc.h"
#include "base/json.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/info.h"

#define OUTPUT_MAX  (256u << 20)
#define TOP_DEFAULT 10

static const struct option_row option_rows[] = {
    { "top", 0, "N", "list N locations, 0 for none [10]", OPTION_COUNT,
      IFG_AT(struct info_request, top), .what = "a number of locations" },
    { "json", 0, NULL, "print one JSON document, described in docs/json.md", OPTION_FLAG,
      IFG_AT(struct info_request, json) },
    { 0 },
};

static int run(int argc, char **argv);

const struct cli_command info_command = {
    .name = "info",
    .summary = "show what a trace contains: program, host, counts, losses",
    .usage = "[FILE] [--top N] [--json]",
    .about = "Shows what a trace contains: program and host, event counts, what was lost and why, "
             "models, what was unfinished at the end, and where the time went. Damaged and "
             "unfinished files are read as far as they go.",
    .tables = { option_rows },
    .exits = "0 success, 1 cannot write the output, 2 usage error or unreadable FILE",
    .operands = OPERANDS_TRACES,
    .reads = true,
    .run = run,
};

static int run(int argc, char **argv)
{
    const struct stats_options by_zone = { .by = STATS_BY_ZONE };
    struct info_request request = { .top = TOP_DEFAULT };
    struct option_words words;
    struct trace_reader *reader = NULL;
    const struct timeline *timeline = NULL;
    struct stats *stats = NULL;
    struct ifg_error err = { 0 };
    struct ifg_bytes out;
    int code = options_parse(&info_command, argc, argv, &request, &words);

    if (!code)
        code = options_one_trace(&info_command, &words, &request.path);
    if (code)
        return code;
    ifg_bytes_init(&out, OUTPUT_MAX);
    if (trace_reader_open(request.path, &reader, &err) ||
        timeline_create(reader, NULL, &timeline, &err) ||
        stats_create(timeline, &by_zone, &stats, &err) ||
        merge_stored_parts(trace_reader_tables(reader), &request.parts, &request.part_count,
                           &err)) {
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
    ifg_free(request.parts);
    stats_destroy(stats);
    timeline_destroy(timeline);
    trace_reader_close(reader);
    return code;
}
