// SPDX-License-Identifier: Apache-2.0
/* inferogram report: the answer on one screen. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/html_file.h"
#include "cli/model_costs.h"
#include "cli/report_output.h"
#include "export/documents.h"
#include "server/snapshot.h"

#define OUTPUT_MAX (1u << 30)

struct request {
    struct report_request report;
    const char *html; /* NULL: no page */
    bool overwrite;
    size_t max_bytes;
};

static const struct option_row option_rows[] = {
    { "limit", 0, "N", "at most N models, and operators of each; 0: all [10, 6]", OPTION_COUNT,
      IFG_AT(struct request, report.limit), IFG_GIVEN(struct request, report.limit_given),
      .what = "a number of models" },
    { "json", 0, NULL, "print one JSON document, described in docs/json.md", OPTION_FLAG,
      IFG_AT(struct request, report.json) },
    { "html", 0, "OUT", "write one HTML file with everything; - for stdout", OPTION_PATH,
      IFG_AT(struct request, html), .files = "*.html" },
    { "force", 'f', NULL, "replace OUT if it exists", OPTION_FLAG,
      IFG_AT(struct request, overwrite) },
    { "max-size", 0, "SIZE", "limit the size of OUT, leaving out details [8 MB]", OPTION_SIZE,
      IFG_AT(struct request, max_bytes) },
    { 0 },
};

static int check(struct request *request)
{
    if (request->report.limit_given && !request->report.limit)
        request->report.limit = SIZE_MAX;
    if (request->html && (request->report.json || request->report.limit_given))
        return cli_usage("report", "--html is a page of its own: without --json and --limit");
    if (!request->html && (request->overwrite || request->max_bytes))
        return cli_usage("report", "-f and --max-size are for --html");
    return CLI_YES;
}

static int print_report(struct report_request *request, const struct timeline *timeline)
{
    const struct stats_options by_zone = { .by = STATS_BY_ZONE };
    struct report *report = NULL;
    struct stats *zones = NULL;
    struct ifg_error err = { 0 };
    struct ifg_bytes out;
    enum ifg_status status;
    int code;

    ifg_bytes_init(&out, OUTPUT_MAX);
    status = report_create(timeline, &report, &err);
    if (!status && !report->model_count)
        status = stats_create(timeline, &by_zone, &zones, &err);
    if (!status)
        status = model_costs_add(report, &err);
    if (status) {
        cli_say("%s", err.message);
        code = cli_exit_for(status);
    } else {
        request->report = report;
        request->zones = zones;
        if (request->json)
            document_report(report, request->limit_given ? request->limit : SIZE_MAX, &out);
        else
            report_write_text(request, &out);
        code = cli_write_out(&out);
    }
    ifg_bytes_fini(&out);
    stats_destroy(zones);
    report_destroy(report);
    return code;
}

static int run(int argc, char **argv)
{
    struct request request = { 0 };
    struct option_words words;
    struct trace_reader *reader = NULL;
    const struct timeline *timeline = NULL;
    int code = options_parse(&report_command, argc, argv, &request, &words);

    if (!code)
        code = options_one_trace(&report_command, &words, &request.report.path);
    if (!code)
        code = check(&request);
    if (!code && request.html)
        return html_write_trace(request.report.path, request.html, request.overwrite,
                                request.max_bytes ? request.max_bytes : SNAPSHOT_BYTES);
    if (!code)
        code = cli_load(request.report.path, &reader, &timeline);
    if (!code)
        code = print_report(&request.report, timeline);
    timeline_destroy(timeline);
    trace_reader_close(reader);
    return code;
}

const struct cli_command report_command = {
    .name = "report",
    .summary = "show models, where they run, findings and their fixes",
    .usage = "[FILE] [--limit N] [--json | --html OUT [-f] [--max-size SIZE]]",
    .about = "Shows on one screen where the models really run, how long each category of event "
             "takes (prepare-ep, specialization, load, setup, inference), where the time of a "
             "request goes, which operators take it, and findings: what is wrong, the evidence, "
             "and the option or call that fixes it. Event numbers are ids of the SQL table slice, "
             "see 'inferogram query'. inferogram-report(1) has the rules.",
    .tables = { option_rows },
    .examples = "inferogram report run.ifg\n"
                "inferogram report run.ifg --html run.html",
    .exits = "0 whatever was found, 1 cannot write the output, 2 usage error or unreadable FILE, "
             "4 --html: this build has no page",
    .operands = OPERANDS_TRACES,
    .reads = true,
    .run = run,
};
