// SPDX-License-Identifier: Apache-2.0
/* `inferogram report` for people: the findings, and what is to be known of the recording itself. */
#include "cli/report_output.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/advice.h"
#include "cli/cli.h"
#include "cli/text.h"
#include "trace/keys.h"

#define FINDING_ID    18
#define FINDING_LEFT  (4 + FINDING_ID)
#define EVENTS_SHOWN  3u
#define SAME_SHOWN    3u /* findings of one rule */
#define RECORDING     14
#define REASONS_BYTES 1500u

void report_append(char *out, size_t size, const char *format, ...)
{
    size_t used = strlen(out);
    va_list args;

    va_start(args, format);
    vsnprintf(out + used, size - used, format, args);
    va_end(args);
}

void report_wrap(struct ifg_bytes *out, int indent, const char *lead, const char *text)
{
    struct text_frame frame = { .column = (size_t)indent + text_columns(lead),
                                .indent = (size_t)indent };
    char clean[4096];

    cli_print(out, "%*s%s", indent, "", lead);
    text_wrap(out, frame, cli_clean(text, clean, sizeof clean));
    cli_print(out, "\n");
}

static const char *paint(enum finding_severity severity)
{
    if (!*cli_bold(true, STDOUT_FILENO))
        return "";
    return severity == FINDING_HIGH ? "\033[1;31m" : severity == FINDING_MEDIUM ? "\033[33m" : "";
}

static void list_events(const struct finding *finding, char *out, size_t size)
{
    out[0] = '\0';
    if (!finding->event_count)
        return;
    report_append(out, size, "event%s", finding->event_count == 1 ? "" : "s");
    for (size_t i = 0; i < finding->event_count && i < EVENTS_SHOWN; i++)
        report_append(out, size, "%s %zu", i ? "," : "", finding->events[i]);
    if (finding->event_count > EVENTS_SHOWN)
        report_append(out, size, " ...");
}

/* The same fix is said once. */
static void write_finding(const struct report *report, const struct finding *finding,
                          const struct finding *before, struct ifg_bytes *out)
{
    static const char marks[] = { '.', '~', '!' };
    char title[400];
    char clean[400];
    char events[120];
    size_t limit = text_line_columns(STDOUT_FILENO);
    size_t columns;

    snprintf(title, sizeof title, "%.60s%s%s",
             report->model_count > 1 && finding->model < report->input->model_count
                 ? report->input->models[finding->model].model->name
                 : "",
             report->model_count > 1 && finding->model < report->input->model_count ? ": " : "",
             finding->title);
    list_events(finding, events, sizeof events);
    cli_clean(title, clean, sizeof clean);
    columns = FINDING_LEFT + text_columns(clean);
    cli_print(out, "  %s%c%s %-*s", paint(finding->severity), marks[finding->severity],
              *paint(finding->severity) ? cli_bold(false, STDOUT_FILENO) : "", FINDING_ID,
              finding->id);
    if (columns + 2 + strlen(events) <= limit) {
        cli_print(out, "%s%*s%s\n", clean, *events ? (int)(limit - columns - strlen(events)) : 0,
                  "", events);
    } else if (columns <= limit) {
        cli_print(out, "%s\n%*s%s%s", clean, FINDING_LEFT, "", events, *events ? "\n" : "");
    } else {
        text_wrap(out, (struct text_frame){ FINDING_LEFT, FINDING_LEFT, 0 }, clean);
        cli_print(out, "\n%*s%s%s", *events ? FINDING_LEFT : 0, "", events, *events ? "\n" : "");
    }
    report_wrap(out, FINDING_LEFT, "", finding->evidence);
    if (!before || strcmp(before->fix, finding->fix) != 0)
        report_wrap(out, FINDING_LEFT, "→ ", finding->fix);
}

/* How many of the same rule come before this one, and the last of them. */
static size_t same_before(const struct findings *findings, size_t index,
                          const struct finding **out_last)
{
    size_t count = 0;

    *out_last = NULL;
    for (size_t i = 0; i < index; i++) {
        if (findings->items[i].id != findings->items[index].id)
            continue;
        *out_last = &findings->items[i];
        count++;
    }
    return count;
}

void report_write_findings(const struct report_request *request, struct ifg_bytes *out)
{
    const struct findings *findings = request->report->findings;
    size_t hidden = findings->not_kept;

    if (!findings->count)
        return;
    cli_print(out, "\nFindings\n");
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *before;

        if (request->only && strcmp(request->only, findings->items[i].id) != 0)
            continue;
        if (same_before(findings, i, &before) >= SAME_SHOWN)
            hidden++;
        else
            write_finding(request->report, &findings->items[i], before, out);
    }
    if (hidden)
        cli_print(out, "  and %zu more of the same kinds; --json has them\n", hidden);
}

/* ---- the recording ---- */

static void write_cost(const struct report *report, struct ifg_bytes *out)
{
    const struct ml_input *input = report->input;
    const char *cost = trace_find_fact(input->tables, TRACE_FACT_SAMPLES_OVERHEAD_PCT);
    const char *about = trace_find_fact(input->tables, TRACE_FACT_SAMPLES_OVERHEAD_ESTIMATE_PCT);
    const char *device_calls = trace_find_fact(input->tables, TRACE_FACT_DEVICE_CALL_S);
    const char *device_read = trace_find_fact(input->tables, TRACE_FACT_DEVICE_READ_S);
    char line[500];
    char number[32];

    if (isnan(report->recorder_cpu_s))
        snprintf(line, sizeof line, "the recorder's CPU use is unknown");
    else
        snprintf(line, sizeof line, "the recorder used %.1f %% of one CPU",
                 100 * fmin(report->recorder_share, 1e6));
    if (!isnan(report->operator_cost))
        report_append(line, sizeof line,
                      " · recording operators added %s, up to %.0f %% to each such "
                      "inference",
                      cli_duration(fmax(report->operator_share_ns, 0), number),
                      100 * fmax(fmin(report->operator_cost, 1e6), 0));
    if (cost)
        report_append(line, sizeof line, " · call stacks slowed the program down by %.1f %%",
                      fmax(strtod(cost, NULL), 0));
    else if (about)
        report_append(line, sizeof line, " · call stacks took about %.1f %% of the program's time",
                      fmax(strtod(about, NULL), 0));
    if (device_calls && device_read && report->recorder_share > 0)
        report_append(line, sizeof line,
                      " · following the GPU took %.1f %% of one CPU in the program",
                      100 * fmin((strtod(device_calls, NULL) + strtod(device_read, NULL)) *
                                     report->recorder_share / report->recorder_cpu_s,
                                 1e6));
    report_append(line, sizeof line, " · %s dropped", cli_count(input->timeline->dropped, number));
    report_wrap(out, RECORDING, "", line);
}

/* It is not the whole recording. */
static void write_flight(const struct report *report, struct ifg_bytes *out)
{
    const struct trace_tables *tables = report->input->tables;
    const char *trigger = trace_find_fact(tables, TRACE_FACT_FLIGHT_TRIGGER);
    const char *not_kept = trace_find_fact(tables, TRACE_FACT_FLIGHT_NOT_KEPT_S);
    char line[REASONS_BYTES];
    char why[500];

    if (!trigger)
        return;
    snprintf(line, sizeof line, "flight recorder, trigger: %s",
             cli_clean(trigger, why, sizeof why));
    if (not_kept && strtod(not_kept, NULL) > 0)
        report_append(line, sizeof line, " · the first %.1f s of the recording are not kept",
                      strtod(not_kept, NULL));
    report_wrap(out, RECORDING, "", line);
}

static void write_missing(const struct report *report, struct ifg_bytes *out)
{
    const struct trace_tables *tables = report->input->tables;
    char line[REASONS_BYTES] = "not available: ";
    bool any = false;
    bool commands = false;

    for (size_t i = 0; i < tables->instrument_count && strlen(line) + 300 < sizeof line; i++) {
        const struct trace_instrument_entry *instrument = &tables->instruments[i];
        struct advice advice;

        if (instrument->state != TRACE_INSTRUMENT_UNAVAILABLE)
            continue;
        advice_split(instrument->reason, &advice);
        report_append(line, sizeof line, "%s%.60s (%.200s)", any ? ", " : "", instrument->name,
                      *advice.sentence ? advice.sentence : "no reason given");
        any = true;
        commands |= *advice.command != '\0';
    }
    if (commands)
        report_append(line, sizeof line,
                      "; 'inferogram info' and 'inferogram doctor' show how to enable them");
    if (any)
        report_wrap(out, RECORDING, "", line);
    for (size_t i = 0; i < tables->loss_count; i++) {
        char number[32];

        snprintf(line, sizeof line, "%s %.200s", cli_count(tables->losses[i].count, number),
                 tables->losses[i].what);
        report_wrap(out, RECORDING, "", line);
    }
}

/* A program that died is not a program that was done. */
static void write_deaths(const struct report *report, struct ifg_bytes *out)
{
    const struct timeline *timeline = report->input->timeline;

    for (size_t i = 0; i < timeline->process_count; i++) {
        char line[200];

        if (timeline->processes[i].fate != TRACE_FATE_KILLED)
            continue;
        snprintf(line, sizeof line, "%.100s (pid %u) was killed by signal %u",
                 timeline->processes[i].name, timeline->processes[i].pid,
                 timeline->processes[i].fate_code);
        report_wrap(out, RECORDING, "", line);
    }
}

static bool any_profiled(const struct ml_input *input)
{
    for (size_t i = 0; i < input->model_count; i++)
        if (input->models[i].profiled)
            return true;
    return false;
}

/* What to ask next, as commands that work. */
static void write_next(const struct report_request *request, struct ifg_bytes *out)
{
    const struct report *report = request->report;
    char path[160];
    const char *label = "Next";

    cli_clean(request->path, path, sizeof path);
    for (size_t i = 0; i < report->findings->count; i++) {
        if (!report->findings->items[i].event_count)
            continue;
        cli_print(out, "%-*sinferogram query %s \"select * from slice where id = %zu\"\n",
                  RECORDING, label, path, report->findings->items[i].events[0]);
        label = "";
        break;
    }
    if (report->input->operator_count)
        cli_print(out, "%-*sinferogram stats %s --by op\n", RECORDING, label, path);
    else if (report->model_count && !any_profiled(report->input))
        cli_print(out, "%-*sinferogram record --ops -- PROGRAM    to see operators\n", RECORDING,
                  label);
    else if (report->hot && report->hot->samples)
        cli_print(out, "%-*sinferogram stats %s --by function\n", RECORDING, label, path);
    else
        cli_print(out, "%-*sinferogram info %s\n", RECORDING, label, path);
    cli_print(out, "%*sinferogram serve %s    the timeline, in a browser\n", RECORDING, "", path);
}

void report_write_recording(const struct report_request *request, struct ifg_bytes *out)
{
    size_t at;

    cli_print(out, "\n");
    report_write_machine(request, out);
    report_write_memory(request, out);
    at = out->size;
    write_cost(request->report, out);
    if (!out->failed && out->size > at + RECORDING) /* the label goes where blanks are */
        memcpy(out->data + at, "Recording", strlen("Recording"));
    write_deaths(request->report, out);
    write_flight(request->report, out);
    write_missing(request->report, out);
    write_next(request, out);
}
