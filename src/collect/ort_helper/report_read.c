// SPDX-License-Identifier: Apache-2.0
/* Reading the lines of the process with the foreign library: see report.h. They are hostile. */
#include "collect/ort_helper/report.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "collect/ort_helper/fields.h"

static bool take_label(struct fields *fields, char out[REPORT_LABEL_BYTES])
{
    return fields_text(fields, out, REPORT_LABEL_BYTES);
}

static void take_chain(struct report *report, struct fields *fields)
{
    static const char *const events[] = { "infer", "kernel", "compute" };
    struct report_chain *chain = &report->chains[report->chain_count];
    char event[16];
    bool known = false;

    if (report->chain_count == REPORT_CHAINS_MAX)
        return;
    memset(chain, 0, sizeof *chain);
    if (!take_label(fields, chain->label) || !fields_text(fields, event, sizeof event))
        return;
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++) {
        if (strcmp(event, events[i]) == 0) {
            chain->event = (enum report_event)i;
            known = true;
        }
    }
    while (chain->count < REPORT_CHAIN_MAX &&
           fields_number(fields, &chain->functions[chain->count]))
        chain->count++;
    if (known && chain->count && fields_at_end(fields))
        report->chain_count++;
}

static void take_enter(struct report *report, struct fields *fields)
{
    struct report_enter *enter = &report->enters[report->enter_count];
    char word[16];

    if (report->enter_count == REPORT_ENTERS_MAX)
        return;
    memset(enter, 0, sizeof *enter);
    if (!take_label(fields, enter->label) || !fields_number(fields, &enter->function))
        return;
    for (size_t i = 0; i < REPORT_ARGUMENTS; i++)
        if (!fields_number(fields, &enter->arguments[i]))
            return;
    if (fields_text(fields, word, sizeof word) && strncmp(word, "path=", 5) == 0 &&
        word[5] >= '1' && word[5] <= '0' + REPORT_ARGUMENTS && !word[6])
        enter->path = (unsigned)(word[5] - '0');
    enter->computes_before = report->compute_count;
    report->enter_count++;
}

static void take_compute(struct report *report, struct fields *fields)
{
    struct report_compute *compute = &report->computes[report->compute_count];

    if (report->compute_count < REPORT_COMPUTES_MAX && take_label(fields, compute->label) &&
        fields_number(fields, &compute->index) && fields_at_end(fields))
        report->compute_count++;
}

static void take_session(struct report *report, struct fields *fields)
{
    struct report_session *session = &report->sessions[report->session_count];

    if (report->session_count < REPORT_SESSIONS_MAX && take_label(fields, session->label) &&
        fields_number(fields, &session->pointer) && fields_at_end(fields))
        report->session_count++;
}

static void take_names(struct report *report, struct fields *fields)
{
    struct report_names *names = &report->names[report->names_count];
    uint64_t numbers[7];

    if (report->names_count == REPORT_NAMES_MAX || !fields_number(fields, &names->function))
        return;
    for (size_t i = 0; i < 7; i++)
        if (!fields_number(fields, &numbers[i]) || numbers[i] > 65536)
            return;
    names->argument = (unsigned)numbers[0];
    for (size_t i = 0; i < 5; i++)
        names->offsets[i] = (unsigned)numbers[i + 1];
    names->checked = (unsigned)numbers[6];
    if (names->argument >= 1 && names->argument <= REPORT_ARGUMENTS && fields_at_end(fields))
        report->names_count++;
}

static void take_api(struct report *report, struct fields *fields)
{
    char word[8];
    uint64_t address;

    if (fields_text(fields, word, sizeof word) && strcmp(word, "run") == 0 &&
        fields_number(fields, &address))
        report->api_run = address;
}

static void take_line(struct report *report, const char *line, size_t bytes)
{
    struct fields fields;
    char word[16];

    fields_over(&fields, line, bytes);
    if (!fields_text(&fields, word, sizeof word))
        return;
    if (strcmp(word, "chain") == 0)
        take_chain(report, &fields);
    else if (strcmp(word, "enter") == 0)
        take_enter(report, &fields);
    else if (strcmp(word, "compute") == 0)
        take_compute(report, &fields);
    else if (strcmp(word, "session") == 0)
        take_session(report, &fields);
    else if (strcmp(word, "names") == 0)
        take_names(report, &fields);
    else if (strcmp(word, "api") == 0)
        take_api(report, &fields);
    else if (strcmp(word, "ort") == 0)
        fields_text(&fields, report->version, sizeof report->version);
    else if (strcmp(word, "unchecked") == 0)
        fields_rest(&fields, report->unchecked, sizeof report->unchecked);
    else if (strcmp(word, "error") == 0 && !report->error[0])
        fields_rest(&fields, report->error, sizeof report->error);
}

enum ifg_status report_read(const char *text, size_t bytes, struct report **out_report,
                            struct ifg_error *err)
{
    struct report *report = ifg_alloc(1, sizeof *report);
    const char *end = text + bytes;

    *out_report = NULL;
    if (!report)
        return ifg_fail_no_memory(err, "for a report");
    for (const char *line = text; line < end;) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));

        if (!stop)
            break; /* a line that was not finished */
        take_line(report, line, (size_t)(stop - line));
        line = stop + 1;
    }
    *out_report = report;
    return IFG_OK;
}

void report_free(struct report *report)
{
    ifg_free(report);
}
