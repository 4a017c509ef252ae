// SPDX-License-Identifier: Apache-2.0
/* inferogram report: the answer on one screen. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/html_file.h"
#include "cli/report_output.h"
#include "export/documents.h"
#include "server/mailed.h"

static const char help[] =
    "usage: inferogram report FILE [--limit N] [--json | --html OUT [-f] [--max-size SIZE]]\n"
    "\n"
    "Says what a recording tells about its models, the answer first: where they really run, how\n"
    "long each kind of event takes (prepare-ep, specialization, load, setup, inference), where "
    "the\n"
    "time of a request goes, which operators take it, and findings: what is wrong, the evidence,\n"
    "and the option or call that changes it. The numbers of events are ids of the table slice, "
    "see\n"
    "'inferogram query'. The rules are in inferogram-report(1).\n"
    "\n"
    "  --limit N        show at most N models and N operators of each (0 for all; default 10 and "
    "6)\n"
    "  --json           one JSON document, described in docs/json.md\n"
    "  --html OUT       one page that can be mailed: report, timeline, tables and code in one "
    "file\n"
    "                   that needs no server and no network ('-' for stdout)\n"
    "  -f               replace OUT if it exists\n"
    "  --max-size SIZE  at most so large (default 8 MB); what does not fit is left out, and said\n"
    "  --max-memory SIZE  at most so much memory (default: half of what is available)\n"
    "  --help           this text\n"
    "\n"
    "Exit status: 0, whatever was found; 1 if OUT cannot be written; 2 if FILE cannot be read or "
    "an\n"
    "option is wrong; 4 if the program was built without its page and cannot write --html.\n";

#define OUTPUT_MAX (1u << 30)

/* What --html and its companions ask for. */
struct page_request {
    const char *path; /* NULL: no page */
    bool overwrite;
    size_t max_bytes;
};

static int parse(int argc, char **argv, struct report_request *request, struct page_request *page,
                 bool *out_done)
{
    static const struct option options[] = {
        { "limit", required_argument, NULL, 'l' }, { "json", no_argument, NULL, 'j' },
        { "html", required_argument, NULL, 'w' },  { "max-size", required_argument, NULL, 'm' },
        { "help", no_argument, NULL, 'h' },        { NULL, 0, NULL, 0 },
    };
    int option;
    char *end;

    while ((option = getopt_long(argc, argv, ":hf", options, NULL)) != -1) {
        switch (option) {
        case 'l':
            request->limit = strtoul(optarg, &end, 10);
            if (!*optarg || *end || *optarg == '-')
                return cli_usage("report", "'%s' is not a number of models", optarg);
            if (!request->limit)
                request->limit = SIZE_MAX;
            request->limit_given = true;
            break;
        case 'j':
            request->json = true;
            break;
        case 'w':
            page->path = optarg;
            break;
        case 'f':
            page->overwrite = true;
            break;
        case 'm':
            if (!html_parse_size(optarg, &page->max_bytes))
                return cli_usage("report", "'%s' is not a size (500k, 8M, 1G)", optarg);
            break;
        case 'h':
            fputs(help, stdout);
            *out_done = true;
            return CLI_YES;
        default:
            return cli_bad_option("report", option, argv);
        }
    }
    if (optind == argc)
        return cli_usage("report", "which trace? Give a file");
    if (optind + 1 < argc)
        return cli_usage("report", "one file at a time; '%s' is too many", argv[optind + 1]);
    request->path = argv[optind];
    if (page->path && (request->json || request->limit_given))
        return cli_usage("report", "--html is a page of its own: without --json and --limit");
    if (!page->path && (page->overwrite || page->max_bytes))
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
    if (!status && !report->net_count)
        status = stats_create(timeline, &by_zone, &zones, &err);
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

int cmd_report(int argc, char **argv)
{
    struct report_request request = { 0 };
    struct page_request page = { 0 };
    struct trace_reader *reader = NULL;
    const struct timeline *timeline = NULL;
    bool done = false;
    int code = parse(argc, argv, &request, &page, &done);

    if (!code && !done && page.path)
        return html_write_trace(request.path, page.path, page.overwrite,
                                page.max_bytes ? page.max_bytes : MAILED_BYTES);
    if (!code && !done) {
        code = cli_load(request.path, &reader, &timeline);
        if (!code)
            code = print_report(&request, timeline);
    }
    timeline_destroy(timeline);
    trace_reader_close(reader);
    return code;
}
