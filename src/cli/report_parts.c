// SPDX-License-Identifier: Apache-2.0
/* What summary and explain share: making a report of a trace, and lines of JSON. */
#include "base/json.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/report_output.h"
#include "cli/text.h"

#define OUTPUT_MAX (64u << 20)

const struct option_row report_part_rows[] = {
    { "json", 0, NULL, "print JSON lines, described in docs/json.md", OPTION_FLAG,
      IFG_AT(struct report_part, json) },
    { 0 },
};

void report_line_begin(struct ifg_json *json, struct ifg_bytes *out, const char *type)
{
    *json = (struct ifg_json){ out, false };
    ifg_json_open(json, '{');
    ifg_json_put_string(json, "type", type);
}

void report_line_end(struct ifg_json *json)
{
    ifg_json_close(json, '}');
    ifg_bytes_put(json->out, "\n", 1);
}

void report_finding_line(const struct report *report, const struct finding *finding,
                         struct ifg_bytes *out)
{
    struct ifg_json json;

    report_line_begin(&json, out, "finding");
    ifg_json_put_string(&json, "id", finding->id);
    ifg_json_put_string(&json, "severity", finding_severity_name(finding->severity));
    if (finding->model < report->input->model_count)
        ifg_json_put_string(&json, "model", report->input->models[finding->model].model->name);
    ifg_json_put_string(&json, "title", finding->title);
    ifg_json_put_string(&json, "evidence", finding->evidence);
    ifg_json_put_string(&json, "fix", finding->fix);
    ifg_json_put_open(&json, "events", '[');
    for (size_t i = 0; i < finding->event_count && i < FINDING_EVENTS; i++)
        ifg_json_uint(&json, finding->events[i]);
    ifg_json_close(&json, ']');
    ifg_json_put_open(&json, "numbers", '{');
    for (size_t i = 0; i < finding->number_count; i++)
        ifg_json_put_double(&json, finding->numbers[i].key, finding->numbers[i].value);
    ifg_json_close(&json, '}');
    report_line_end(&json);
}

int report_part_run(const struct report_part *wanted,
                    void (*write)(const struct report *, const struct report_part *,
                                  struct ifg_bytes *))
{
    struct trace_reader *reader = NULL;
    const struct timeline *timeline = NULL;
    struct report *report = NULL;
    struct ifg_error err = { 0 };
    struct ifg_bytes out;
    int code = cli_load(wanted->path, &reader, &timeline);
    enum ifg_status status = code ? IFG_OK : report_create(timeline, &report, &err);

    ifg_bytes_init(&out, OUTPUT_MAX);
    if (status) {
        cli_say("%s", err.message);
        code = cli_exit_for(status);
    } else if (!code) {
        write(report, wanted, &out);
        if (!wanted->json)
            text_fit(&out);
        code = cli_write_out(&out);
    }
    ifg_bytes_fini(&out);
    report_destroy(report);
    timeline_destroy(timeline);
    trace_reader_close(reader);
    return code;
}
