// SPDX-License-Identifier: Apache-2.0
/* inferogram merge: traces of several processes or machines become one. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/ticks.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/info.h"
#include "cli/merge_files.h"
#include "cli/text.h"

#define OUTPUT_MAX (4u << 20)

struct request {
    struct merge_files files;
    const char *output;
    bool overwrite;
    bool json;
    bool quiet;
};

static volatile sig_atomic_t interrupted;

static const struct option_row option_rows[] = {
    { "output", 'o', "OUT", "write the merged trace here", OPTION_PATH,
      IFG_AT(struct request, output), .files = "*.ifg" },
    { "force", 'f', NULL, "replace an existing file", OPTION_FLAG,
      IFG_AT(struct request, overwrite) },
    { "offset", 0, "FILE=TIME", "move FILE later (+5ms) or earlier (-5ms) than its clock says",
      OPTION_CALL, IFG_AT(struct request, files), .take = merge_files_take_offset },
    { "json", 0, NULL, "print the result as JSON, described in docs/json.md", OPTION_FLAG,
      IFG_AT(struct request, json) },
    { "quiet", 'q', NULL, "print warnings and errors only", OPTION_FLAG,
      IFG_AT(struct request, quiet) },
    { 0 },
};

static void on_signal(int number)
{
    (void)number;
    interrupted = 1;
}

static void catch_signals(void)
{
    struct sigaction action = { .sa_handler = on_signal };

    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    signal(SIGXFSZ, SIG_IGN); /* a file size limit is an error to report, not a death */
}

static void write_text(const struct request *request, const struct merge_result *result,
                       struct ifg_bytes *out)
{
    char path[300];
    char in[32], size[32];

    cli_print(out, "%s%s%s: %zu trace%s of %zu machine%s, %s in, %s out\n",
              cli_bold(true, STDOUT_FILENO), cli_clean(request->output, path, sizeof path),
              cli_bold(false, STDOUT_FILENO), result->part_count,
              result->part_count == 1 ? "" : "s", result->machines,
              result->machines == 1 ? "" : "s", cli_size(result->input_bytes, in),
              cli_size(result->output_bytes, size));
    cli_print(out, "  ");
    info_write_parts(out, result->parts, result->part_count, 2);
    text_fit(out);
}

static void write_json(const struct request *request, const struct merge_result *result,
                       struct ifg_bytes *out)
{
    struct ifg_json json = { out, false };

    ifg_json_open(&json, '{');
    ifg_json_put_uint(&json, "schema", 1);
    ifg_json_put_string(&json, "output", request->output);
    ifg_json_put_uint(&json, "machines", result->machines);
    ifg_json_put_uint(&json, "input_bytes", result->input_bytes);
    ifg_json_put_uint(&json, "output_bytes", result->output_bytes);
    ifg_json_put_open(&json, "merged", '[');
    for (size_t i = 0; i < result->part_count; i++)
        info_write_part_json(&json, &result->parts[i]);
    ifg_json_close(&json, ']');
    ifg_json_close(&json, '}');
    ifg_bytes_put(out, "\n", 1);
}

static int print(const struct request *request, const struct merge_result *result)
{
    struct ifg_bytes out;
    int code;

    if (request->quiet)
        return CLI_YES;
    ifg_bytes_init(&out, OUTPUT_MAX);
    if (request->json)
        write_json(request, result, &out);
    else
        write_text(request, result, &out);
    code = cli_write_out(&out);
    ifg_bytes_fini(&out);
    return code;
}

static int run(int argc, char **argv)
{
    struct request request = { 0 };
    struct merge_result result = { 0 };
    struct option_words words;
    int code = options_parse(&merge_command, argc, argv, &request, &words);

    if (!code && !words.count)
        code = cli_usage("merge", "which traces? Give two files or more");
    if (!code && !request.output)
        code = cli_usage("merge", "where shall the merged trace go? Give a file with -o");
    if (!code && strcmp(request.output, "-") == 0)
        code = cli_usage("merge", "a trace cannot be written to standard output; give a file name");
    if (!code)
        code = merge_files_take(&merge_command, &words, &request.files);
    if (!code) {
        catch_signals();
        code = merge_files_run(&request.files, request.output, request.overwrite, &interrupted,
                               &result);
    }
    if (!code)
        code = print(&request, &result);
    merge_result_fini(&result);
    merge_files_fini(&request.files);
    return code;
}

const struct cli_command merge_command = {
    .name = "merge",
    .summary = "put traces of several processes or machines on one timeline",
    .usage = "FILE... -o OUT.ifg [-f] [--offset FILE=TIME] [--json]",
    .about = "Puts traces of several processes or machines on one timeline, that of the first "
             "FILE. Traces of one boot of one machine have one clock and are placed exactly; "
             "those of other machines by what capture measured, else by the time of day, with a "
             "warning. The result says how each was placed.",
    .tables = { option_rows },
    .notes = "TIME is added to what the clocks say, instead of what was measured: 2ms, -1.5s, "
             "+300us.",
    .examples = "inferogram merge board-a.ifg board-b.ifg -o both.ifg\n"
                "inferogram merge a.ifg b.ifg -o both.ifg --offset b.ifg=-1.5ms\n"
                "inferogram serve --merge a.ifg b.ifg",
    .exits = "0 success, 1 cannot write OUT or interrupted (then there is none), 2 usage error, "
             "OUT exists, or unreadable FILE",
    .operands = OPERANDS_TRACES,
    .reads = true,
    .run = run,
};
