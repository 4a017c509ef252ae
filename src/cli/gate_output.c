// SPDX-License-Identifier: Apache-2.0
/*
 * What a gate found, for other programs: JSON, JUnit XML, GitHub's workflow commands, markdown.
 *
 * Names of models, zones and operators come from outside and may contain anything: each form has
 * its own way to keep them from being read as something else.
 */
#include "cli/gate_output.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "cli/cli.h"

/* Red in reports exactly when it makes the exit status other than 0. */
static bool is_green(const struct gate_report *report, const struct gate_check *check)
{
    return check->verdict == GATE_PASS ||
           (check->verdict == GATE_UNSURE &&
            (report->on_unsure == GATE_UNSURE_PASSES || report->on_unsure == GATE_UNSURE_WARNS));
}

static const char *title_of(const struct gate_report *report)
{
    return report->status == GATE_STATUS_FAIL ? "FAIL" : gate_verdict_name(report->verdict);
}

static const char *part_title(const struct gate_part *part)
{
    return part->report ? title_of(part->report) : "ERROR";
}

const char *gate_parts_title(const struct gate_parts *parts)
{
    /* What passes although it is unsure is not called PASS. */
    for (size_t i = 0; i < parts->count; i++)
        if (parts->items[i].status == parts->status &&
            strcmp(part_title(&parts->items[i]), "PASS") != 0)
            return part_title(&parts->items[i]);
    return "PASS";
}

/* ---- JSON ---- */

static void put_end(struct ifg_json *json, const char *key, bool known, double value)
{
    ifg_json_put_double(json, key, known ? value : NAN);
}

static void json_check(const struct gate_report *report, const struct gate_check *check,
                       struct ifg_json *json)
{
    static const char *const units[] = { [COMPARE_BLOCK_PAIRS] = "block pairs in one process",
                                         [COMPARE_PROCESSES] = "interleaved processes",
                                         [COMPARE_NOT_INTERLEAVED] = "not interleaved" };
    const struct gate_estimate *estimate = &check->estimate;
    bool budget = check->kind == GATE_BUDGET;
    bool outputs = check->kind == GATE_OUTPUTS;
    char text[GATE_MESSAGE];

    ifg_json_open(json, '{');
    ifg_json_put_string(json, "kind", budget ? "budget" : outputs ? "outputs" : "relative");
    ifg_json_put_string(json, "metric", check->metric);
    ifg_json_put_string(json, "verdict", gate_verdict_name(check->verdict));
    ifg_json_put_bool(json, "green", is_green(report, check));
    ifg_json_put_string(json, "bound",
                        outputs || (budget && check->budget->at_least) ? "min" : "max");
    ifg_json_put_double(json, "limit", check->limit);
    ifg_json_put_string(json, "unit",
                        budget    ? gate_unit_name(check->budget->unit)
                        : outputs ? "cosine"
                                  : "change");
    ifg_json_put_double(json, "value", estimate->missing ? NAN : estimate->value);
    put_end(json, "low", estimate->low_known && !estimate->missing, estimate->low);
    put_end(json, "high", estimate->high_known && !estimate->missing, estimate->high);
    ifg_json_put_string(json, "rule", gate_rule_name(estimate->rule));
    ifg_json_put_double(json, "confidence", estimate->confidence > 0 ? estimate->confidence : NAN);
    ifg_json_put_uint(json, "count", estimate->count);
    ifg_json_put_uint(json, "needs", check->verdict == GATE_UNSURE ? estimate->needs : 0);
    ifg_json_put_double(json, "needs_s", check->needs_s > 0 ? check->needs_s : NAN);
    ifg_json_put_string(json, "against", budget || !check->against ? "" : check->against);
    ifg_json_put_string(json, "compared", budget || outputs ? "" : units[check->unit]);
    ifg_json_put_string(json, "reason", check->reason);
    ifg_json_put_string(json, "message", gate_check_text(check, text, sizeof text));
    ifg_json_put_open(json, "looks", '[');
    for (uint32_t i = 0; i < check->look_count; i++)
        ifg_json_string(json, gate_verdict_name(check->looks[i]));
    ifg_json_close(json, ']');
    ifg_json_close(json, '}');
}

static void json_history(const struct gate_report *report, struct ifg_json *json)
{
    ifg_json_put_open(json, "history", '{');
    ifg_json_put_string(json, "directory", report->history);
    ifg_json_put_uint(json, "runs", report->history_runs);
    ifg_json_put_open(json, "changes", '[');
    for (size_t i = 0; i < report->drift_count; i++) {
        const struct gate_drift *drift = &report->drifts[i];

        if (!drift->changed)
            continue;
        ifg_json_open(json, '{');
        ifg_json_put_string(json, "metric", gate_series_names[drift->series]);
        ifg_json_put_double(json, "change", drift->change);
        ifg_json_put_double(json, "before", drift->before);
        ifg_json_put_double(json, "now", drift->now);
        ifg_json_put_string(json, "since", drift->since.when);
        ifg_json_put_string(json, "commit", drift->since.commit);
        ifg_json_put_string(json, "file", drift->since.file);
        ifg_json_put_uint(json, "run", drift->number);
        ifg_json_put_uint(json, "runs", drift->runs);
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
    ifg_json_close(json, '}');
}

static void json_report(const struct gate_report *report, struct ifg_json *json)
{
    ifg_json_put_string(json, "verdict", title_of(report));
    ifg_json_put_int(json, "status", report->status);
    ifg_json_put_string(json, "subject", report->subject);
    ifg_json_put_string(json, "against", report->against ? report->against : "");
    ifg_json_put_double(json, "alpha", report->planned ? report->plan.alpha : report->alpha);
    ifg_json_put_double(json, "alpha_per_look", report->alpha);
    ifg_json_put_uint(json, "looks", report->planned ? gate_plan_looks(&report->plan) : 1);
    ifg_json_put_uint(json, "measurements", report->measurements);
    ifg_json_put_string(json, "measured", report->measured);
    ifg_json_put_string(json, "trust", report->trust);
    ifg_json_put_open(json, "checks", '[');
    for (size_t i = 0; i < report->check_count; i++)
        json_check(report, &report->checks[i], json);
    ifg_json_close(json, ']');
    ifg_json_put_open(json, "warnings", '[');
    for (size_t i = 0; i < report->warning_count; i++)
        ifg_json_string(json, report->warnings[i].text);
    ifg_json_close(json, ']');
    if (report->baseline) {
        ifg_json_put_open(json, "update_baseline", '{');
        ifg_json_put_string(json, "file", report->baseline);
        ifg_json_put_bool(json, "written", report->baseline_written);
        ifg_json_close(json, '}');
    }
    if (report->history)
        json_history(report, json);
}

static void json_part(const struct gate_part *part, struct ifg_json *json)
{
    ifg_json_open(json, '{');
    ifg_json_put_string(json, "name", part->name);
    ifg_json_put_string(json, "error", part->report ? "" : part->error);
    if (part->report) {
        json_report(part->report, json);
    } else {
        ifg_json_put_string(json, "verdict", part_title(part));
        ifg_json_put_int(json, "status", part->status);
        ifg_json_put_string(json, "subject", part->subject);
    }
    ifg_json_close(json, '}');
}

void gate_write_json(const struct gate_parts *parts, struct ifg_bytes *out)
{
    struct ifg_json json = { out, false };

    ifg_json_open(&json, '{');
    ifg_json_put_uint(&json, "schema", 1);
    if (parts->config) {
        ifg_json_put_string(&json, "verdict", gate_parts_title(parts));
        ifg_json_put_int(&json, "status", parts->status);
        ifg_json_put_string(&json, "config", parts->config);
        ifg_json_put_open(&json, "models", '[');
        for (size_t i = 0; i < parts->count; i++)
            json_part(&parts->items[i], &json);
        ifg_json_close(&json, ']');
    } else {
        json_report(parts->items[0].report, &json);
    }
    ifg_json_close(&json, '}');
    ifg_bytes_put(out, "\n", 1);
}

/* ---- JUnit XML ---- */

/* XML has no way at all to write most control characters. */
static void put_xml(struct ifg_bytes *out, const char *text)
{
    char clean[GATE_MESSAGE];

    for (const char *at = cli_clean(text, clean, sizeof clean); *at; at++) {
        switch (*at) {
        case '&':
            ifg_bytes_put(out, "&amp;", 5);
            break;
        case '<':
            ifg_bytes_put(out, "&lt;", 4);
            break;
        case '>':
            ifg_bytes_put(out, "&gt;", 4);
            break;
        case '"':
            ifg_bytes_put(out, "&quot;", 6);
            break;
        default:
            ifg_bytes_put(out, at, 1);
        }
    }
}

static void put_attribute(struct ifg_bytes *out, const char *name, const char *value)
{
    cli_print(out, " %s=\"", name);
    put_xml(out, value);
    cli_print(out, "\"");
}

/* Unlike the metric alone, different for each check. */
static void name_check(const struct gate_check *check, char *out, size_t size)
{
    char limit[48];

    if (check->kind != GATE_BUDGET)
        snprintf(out, size, "%s against %s", check->metric, check->against);
    else
        snprintf(out, size, "%s %s %s", check->metric, check->budget->at_least ? ">=" : "<=",
                 gate_value_text(check->limit, check->budget->unit, limit));
}

static void junit_case(const struct gate_report *report, const struct gate_check *check,
                       struct ifg_bytes *out)
{
    const char *element = check->verdict == GATE_FAIL ? "failure" : "error";
    char text[GATE_MESSAGE];
    char name[GATE_MESSAGE];

    gate_check_text(check, text, sizeof text);
    name_check(check, name, sizeof name);
    if (check->verdict == GATE_UNSURE && is_green(report, check))
        element = "skipped";
    else if (check->verdict == GATE_UNSURE && report->on_unsure == GATE_UNSURE_FAILS)
        element = "failure";
    cli_print(out, "    <testcase classname=\"inferogram.gate\"");
    put_attribute(out, "name", name);
    cli_print(out, " time=\"0\">\n");
    if (check->verdict != GATE_PASS) {
        cli_print(out, "      <%s", element);
        if (strcmp(element, "skipped") != 0)
            put_attribute(out, "type", gate_verdict_name(check->verdict));
        put_attribute(out, "message", text);
        cli_print(out, "/>\n");
    } else {
        cli_print(out, "      <system-out>");
        put_xml(out, text);
        cli_print(out, "</system-out>\n");
    }
    cli_print(out, "    </testcase>\n");
}

static void junit_drift(const struct gate_warning *warning, struct ifg_bytes *out)
{
    cli_print(out, "    <testcase classname=\"inferogram.gate\" name=\"drift\" time=\"0\">\n");
    if (warning->fatal) {
        cli_print(out, "      <failure type=\"DRIFT\"");
        put_attribute(out, "message", warning->text);
        cli_print(out, "/>\n");
    } else {
        cli_print(out, "      <system-out>");
        put_xml(out, warning->text);
        cli_print(out, "</system-out>\n");
    }
    cli_print(out, "    </testcase>\n");
}

struct junit_counts {
    size_t cases;
    size_t failures;
    size_t errors;
    size_t skipped;
};

static struct junit_counts count_cases(const struct gate_part *part)
{
    const struct gate_report *report = part->report;
    struct junit_counts counts = { 0 };

    if (!report)
        return (struct junit_counts){ .cases = 1, .errors = 1 };
    counts.cases = report->check_count;
    for (size_t i = 0; i < report->check_count; i++) {
        enum gate_verdict verdict = report->checks[i].verdict;
        bool unsure = verdict == GATE_UNSURE;

        if (verdict == GATE_FAIL || (unsure && report->on_unsure == GATE_UNSURE_FAILS))
            counts.failures++;
        else if (unsure && is_green(report, &report->checks[i]))
            counts.skipped++;
        else if (verdict != GATE_PASS)
            counts.errors++;
    }
    for (size_t i = 0; i < report->warning_count; i++) {
        counts.cases += report->warnings[i].drift;
        counts.failures += report->warnings[i].fatal;
    }
    return counts;
}

static void junit_suite(const struct gate_part *part, struct ifg_bytes *out)
{
    const struct gate_report *report = part->report;
    struct junit_counts counts = count_cases(part);

    cli_print(out, "  <testsuite");
    put_attribute(out, "name", part->name ? part->name : report->subject);
    cli_print(out, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\" time=\"0\">\n",
              counts.cases, counts.failures, counts.errors, counts.skipped);
    if (!report) {
        cli_print(out, "    <testcase classname=\"inferogram.gate\" name=\"verdict\" time=\"0\">\n"
                       "      <error type=\"ERROR\"");
        put_attribute(out, "message", part->error);
        cli_print(out, "/>\n    </testcase>\n");
    }
    for (size_t i = 0; report && i < report->check_count; i++)
        junit_case(report, &report->checks[i], out);
    for (size_t i = 0; report && i < report->warning_count; i++)
        if (report->warnings[i].drift)
            junit_drift(&report->warnings[i], out);
    cli_print(out, "  </testsuite>\n");
}

void gate_write_junit(const struct gate_parts *parts, struct ifg_bytes *out)
{
    struct junit_counts all = { 0 };

    for (size_t i = 0; i < parts->count; i++) {
        struct junit_counts counts = count_cases(&parts->items[i]);

        all.cases += counts.cases;
        all.failures += counts.failures;
        all.errors += counts.errors;
    }
    cli_print(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    cli_print(out, "<testsuites tests=\"%zu\" failures=\"%zu\" errors=\"%zu\">\n", all.cases,
              all.failures, all.errors);
    for (size_t i = 0; i < parts->count; i++)
        junit_suite(&parts->items[i], out);
    cli_print(out, "</testsuites>\n");
}

/* ---- GitHub ---- */

/* A line that begins with "::" is a command, so that nothing foreign may begin a line, end a
 * property or look like an escape. */
static void put_github(struct ifg_bytes *out, const char *text, bool property)
{
    for (const char *at = text; *at; at++) {
        if (*at == '%' || *at == '\r' || *at == '\n' || (property && (*at == ':' || *at == ',')))
            cli_print(out, "%%%02X", (unsigned)(unsigned char)*at);
        else if ((unsigned char)*at < 0x20 || *at == 0x7f)
            ifg_bytes_put(out, "?", 1);
        else
            ifg_bytes_put(out, at, 1);
    }
}

static void annotate(struct ifg_bytes *out, const char *level, const char *title, const char *text)
{
    cli_print(out, "::%s title=", level);
    put_github(out, title, true);
    cli_print(out, "::");
    put_github(out, text, false);
    cli_print(out, "\n");
}

static void github_part(const struct gate_part *part, struct ifg_bytes *out)
{
    const struct gate_report *report = part->report;
    const char *name = part->name ? part->name : "";
    const char *space = part->name ? " " : "";
    char title[2 * GATE_TEXT + 64];

    if (!report) {
        snprintf(title, sizeof title, "inferogram gate ERROR: %s", name);
        annotate(out, "error", title, part->error);
        return;
    }
    for (size_t i = 0; i < report->check_count; i++) {
        const struct gate_check *check = &report->checks[i];
        char text[GATE_MESSAGE];

        if (check->verdict == GATE_PASS)
            continue;
        snprintf(title, sizeof title, "inferogram gate %s: %s%s%s",
                 gate_verdict_name(check->verdict), name, space, check->metric);
        annotate(out, check->verdict == GATE_FAIL || !is_green(report, check) ? "error" : "warning",
                 title, gate_check_text(check, text, sizeof text));
    }
    for (size_t i = 0; i < report->warning_count; i++) {
        snprintf(title, sizeof title, "inferogram gate%s%s%s",
                 report->warnings[i].drift ? " DRIFT" : "", part->name ? ": " : "", name);
        annotate(out, report->warnings[i].fatal ? "error" : "warning", title,
                 report->warnings[i].text);
    }
}

void gate_write_github(const struct gate_parts *parts, struct ifg_bytes *out)
{
    for (size_t i = 0; i < parts->count; i++)
        github_part(&parts->items[i], out);
}

/* ---- markdown ---- */

static void put_markdown(struct ifg_bytes *out, const char *text)
{
    char clean[GATE_MESSAGE];

    for (const char *at = cli_clean(text, clean, sizeof clean); *at; at++) {
        if (strchr("\\|`*_[]<>#~", *at))
            ifg_bytes_put(out, "\\", 1);
        ifg_bytes_put(out, at, 1);
    }
}

static void markdown_part(const struct gate_part *part, struct ifg_bytes *out)
{
    const struct gate_report *report = part->report;

    cli_print(out, "### Inferogram gate: ");
    if (part->name) {
        put_markdown(out, part->name);
        cli_print(out, ": ");
    }
    cli_print(out, "%s\n\n", part_title(part));
    put_markdown(out, part->subject);
    if (!report) {
        cli_print(out, "\n\n");
        put_markdown(out, part->error);
        cli_print(out, "\n");
        return;
    }
    if (report->against) {
        cli_print(out, " against ");
        put_markdown(out, report->against);
    }
    cli_print(out, "\n\n| verdict | metric | found |\n|---|---|---|\n");
    for (size_t i = 0; i < report->check_count; i++) {
        const struct gate_check *check = &report->checks[i];
        char text[GATE_MESSAGE];

        cli_print(out, "| %s%s%s | ", is_green(report, check) ? "" : "**",
                  gate_verdict_name(check->verdict), is_green(report, check) ? "" : "**");
        put_markdown(out, check->metric);
        cli_print(out, " | ");
        put_markdown(out, gate_check_text(check, text, sizeof text));
        cli_print(out, " |\n");
    }
    for (size_t i = 0; i < report->warning_count; i++) {
        cli_print(out, "%s- %s: ", i ? "" : "\n", report->warnings[i].drift ? "DRIFT" : "Note");
        put_markdown(out, report->warnings[i].text);
        cli_print(out, "\n");
    }
    cli_print(out, "\n");
    if (report->measured[0]) {
        put_markdown(out, report->measured);
        cli_print(out, "; ");
    }
    cli_print(out, "alpha %.3g", report->alpha);
    if (report->planned && gate_plan_looks(&report->plan) > 1)
        cli_print(out, " at each of up to %u looks", gate_plan_looks(&report->plan));
    if (report->trust[0]) {
        cli_print(out, "; machine: ");
        put_markdown(out, report->trust);
    }
    cli_print(out, "\n");
}

void gate_write_markdown(const struct gate_parts *parts, struct ifg_bytes *out)
{
    for (size_t i = 0; i < parts->count; i++) {
        if (i)
            cli_print(out, "\n");
        markdown_part(&parts->items[i], out);
    }
}
