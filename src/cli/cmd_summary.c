// SPDX-License-Identifier: Apache-2.0
/* inferogram summary: the report in a few lines. */
#include "base/json.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/report_output.h"

static void summarize_model(const struct report *report, const struct ml_model *model, bool as_json,
                            struct ifg_bytes *out)
{
    char placement[200];
    char clean[200];
    char name[80];

    report_placement(model, placement, sizeof placement);
    for (size_t f = 0; f < model->function_count; f++) {
        const struct ml_function *function = &report->input->functions[model->first_function + f];
        const struct ml_timing *runs = &function->events[TRACE_CATEGORY_INFERENCE].timing;
        struct ifg_json json;

        if (!as_json) {
            cli_print(out, "  %s: %s%s%llu inferences",
                      cli_clean(model->model->name, name, sizeof name),
                      cli_clean(placement, clean, sizeof clean), *placement ? ", " : "",
                      (unsigned long long)runs->count);
            if (runs->count)
                cli_print(out, ", median %.3f ms, 99 %% within %.3f ms", runs->median_ns / 1e6,
                          runs->p99_ns / 1e6);
            cli_print(out, "\n");
            continue;
        }
        report_line_begin(&json, out, "model");
        ifg_json_put_string(&json, "name", model->model->name);
        ifg_json_put_string(&json, "function", function->name);
        ifg_json_put_string(&json, "placement", placement);
        ifg_json_put_uint(&json, "inferences", runs->count);
        if (runs->count) {
            ifg_json_put_double(&json, "median_ns", runs->median_ns);
            ifg_json_put_double(&json, "p99_ns", runs->p99_ns);
        }
        report_line_end(&json);
    }
}

static void summarize(const struct report *report, const struct report_part *wanted,
                      struct ifg_bytes *out)
{
    struct ifg_json json;
    char clean[400];

    if (wanted->json) {
        report_line_begin(&json, out, "summary");
        ifg_json_put_uint(&json, "schema", 1);
        ifg_json_put_string(&json, "program", report->title);
        ifg_json_put_double(&json, "duration_s", (double)report->input->duration_ns / 1e9);
        report_line_end(&json);
    } else {
        cli_print(out, "%s, %.3g s\n",
                  *report->title ? cli_clean(report->title, clean, sizeof clean) : "a recording",
                  (double)report->input->duration_ns / 1e9);
    }
    for (size_t i = 0; i < report->sentence_count; i++) {
        if (wanted->json) {
            report_line_begin(&json, out, "sentence");
            ifg_json_put_string(&json, "text", report->sentences[i]);
            report_line_end(&json);
        } else {
            report_wrap(out, 2, "", report->sentences[i]);
        }
    }
    for (size_t i = 0; i < report->model_count; i++)
        summarize_model(report, &report->input->models[report->models[i]], wanted->json, out);
    for (size_t i = 0; i < report->findings->count; i++) {
        const struct finding *finding = &report->findings->items[i];

        if (wanted->json)
            report_finding_line(report, finding, out);
        else
            cli_print(out, "  %s: %s\n", finding->id,
                      cli_clean(finding->title, clean, sizeof clean));
    }
}

static int run(int argc, char **argv)
{
    struct report_part wanted = { 0 };
    struct option_words words;
    int code = options_parse(&summary_command, argc, argv, &wanted, &words);

    if (!code)
        code = options_one_trace(&summary_command, &words, &wanted.path);
    return code ? code : report_part_run(&wanted, summarize);
}

const struct cli_command summary_command = {
    .name = "summary",
    .summary = "show the report in a few lines",
    .usage = "[FILE] [--json]",
    .about = "Shows the report in a few lines: the most important sentences, where each model "
             "runs, how long its inferences take, and the names of the findings. 'inferogram "
             "report' has the details.",
    .tables = { report_part_rows },
    .exits = "0 whatever was found, 1 cannot write the output, 2 usage error or unreadable FILE",
    .operands = OPERANDS_TRACES,
    .reads = true,
    .run = run,
};
