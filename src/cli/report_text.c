// SPDX-License-Identifier: Apache-2.0
/* `inferogram report` for people: who and where, what matters, then model by model. */
#include "cli/report_output.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/text.h"
#include "runtimes/runtimes.h"

#define MODELS_SHOWN        10u
#define OPERATORS_SHOWN     6u
#define OPERATORS_ON_DEVICE 64u
#define ZONES_SHOWN         10u
#define NAME_COLUMNS        46
#define CELL                6

/* Operators shorter than this cost more to record than to run. */
#define TINY_OPERATOR_NS 20000.0

/* Zones tell of requests only if there are some, and if something is outside the inference. */
#define REQUESTS_LEAST 5u
#define OUTSIDE_LEAST  0.01

static const enum trace_category categories[] = {
    TRACE_CATEGORY_PREPARE_EP, TRACE_CATEGORY_SPECIALIZATION, TRACE_CATEGORY_LOAD,
    TRACE_CATEGORY_SETUP,      TRACE_CATEGORY_INFERENCE,
};

static void write_title(const struct report_request *request, struct ifg_bytes *out)
{
    const struct report *report = request->report;
    const struct ml_input *input = report->input;
    char program[160];
    char cpu[60];
    char runtime[80];
    char duration[32];

    cli_print(out, "%s%s%s", cli_bold(true, STDOUT_FILENO),
              *report->title ? cli_clean(report->title, program, sizeof program)
                             : "unknown program",
              cli_bold(false, STDOUT_FILENO));
    if (input->cpus)
        cli_print(out, " on %u x %s", input->cpus,
                  *report->cpu ? cli_clean(report->cpu, cpu, sizeof cpu) : "unknown CPU");
    if (report->is_virtual)
        cli_print(out, " (virtual machine)");
    cli_print(out, ", %s", cli_duration((double)input->duration_ns, duration));
    for (size_t i = 0; i < report->runtime_count; i++)
        cli_print(out, ", %s", cli_clean(report->runtimes[i], runtime, sizeof runtime));
    cli_print(out, "\n\n");
    for (size_t i = 0; i < report->sentence_count; i++) {
        cli_print(out, "%s", cli_bold(true, STDOUT_FILENO));
        report_wrap(out, 2, "", report->sentences[i]);
        cli_print(out, "%s", cli_bold(false, STDOUT_FILENO));
    }
}

/* ---- models ---- */

/* What else is to be known of a row, in one line under it. */
static void write_notes(const struct ml_timing *timing, struct text_table *table)
{
    char notes[320] = "";
    char line[sizeof notes + 2];
    char number[32];

#define NOTE(...)                                                                                  \
    report_append(notes, sizeof notes, "%s", *notes ? "; " : "");                                  \
    report_append(notes, sizeof notes, __VA_ARGS__)
    if (timing->perturbed && timing->perturbed_included) {
        NOTE("%s of them with operators recorded, which slows them down",
             cli_count(timing->perturbed, number));
    } else if (timing->perturbed) {
        NOTE("+ %s with operators", cli_count(timing->perturbed, number));
        if (!isnan(timing->perturbed_cost)) {
            report_append(notes, sizeof notes, ", %+.0f %% each",
                          100 * fmin(timing->perturbed_cost, 1e6));
        }
    }
    if (timing->async) {
        NOTE("%s of them async", cli_count(timing->async, number));
    }
    if (timing->failed) {
        NOTE("+ %s failed", cli_count(timing->failed, number));
    }
    if (timing->unfinished) {
        NOTE("+ %s had not ended", cli_count(timing->unfinished, number));
    }
#undef NOTE
    if (!*notes)
        return;
    snprintf(line, sizeof line, "(%s)", notes);
    text_table_note(table, 18, line);
}

static void write_table(const struct ml_function *function, bool again, struct ifg_bytes *out)
{
    static const struct text_column shown[] = {
        { "category", TEXT_LEFT, 0, 0 }, { "count", TEXT_RIGHT, 0, 0 },
        { "first", TEXT_RIGHT, 0, 2 },   { "median", TEXT_RIGHT, 0, 0 },
        { "p90", TEXT_RIGHT, 0, 4 },     { "p99", TEXT_RIGHT, 0, 1 },
        { "max", TEXT_RIGHT, 0, 3 },     { "total", TEXT_RIGHT, 0, 0 },
        { "share", TEXT_RIGHT, 0, 0 },
    };
    struct text_table table;

    text_table_begin(&table, shown, sizeof shown / sizeof shown[0], 4);
    table.steady = CELL;
    table.again = again;
    for (size_t i = 0; i < sizeof categories / sizeof categories[0]; i++) {
        const struct ml_events *events = &function->events[categories[i]];
        const struct ml_timing *timing = &events->timing;

        if (!events->count && !timing->unfinished)
            continue;
        text_table_put(&table, "%-14s", timeline_category_name(categories[i]));
        text_table_count(&table, timing->count);
        text_table_time(&table, timing->first_ns);
        text_table_time(&table, timing->median_ns);
        text_table_time(&table, timing->p90_ns);
        text_table_time(&table, timing->p99_ns);
        text_table_time(&table, timing->max_ns);
        text_table_time(&table, timing->count ? (double)timing->total_ns : (double)NAN);
        text_table_share(&table, timing->share);
        text_table_next(&table);
        write_notes(timing, &table);
    }
    text_table_end(&table, out);
}

static void write_header(const struct report *report, const struct ml_model *model,
                         const struct ml_function *function, struct ifg_bytes *out)
{
    char title[200] = "";
    char text[200];
    char size[32];
    char facts[500] = "";
    size_t columns;

    report_append(title, sizeof title, "%.80s · %.80s",
                  *model->model->name ? model->model->name : "(no name)", function->name);
    if (report->several_processes && model->model->process < report->input->timeline->process_count)
        report_append(title, sizeof title, " (pid %u)",
                      report->input->timeline->processes[model->model->process].pid);
    if (*report_placement(model, text, sizeof text))
        report_append(facts, sizeof facts, "%s", text);
    else if (*model->source)
        report_append(facts, sizeof facts, "placement %s", model->source);
    if (*report_load_states(model, text, sizeof text))
        report_append(facts, sizeof facts, "%s%s", *facts ? " · " : "", text);
    if (model->file_bytes)
        report_append(facts, sizeof facts, "%s%s", *facts ? " · " : "",
                      cli_size(model->file_bytes, size));
    cli_print(out, "  ");
    columns = text_columns(facts) + NAME_COLUMNS + 4 <= text_line_columns(STDOUT_FILENO)
                  ? NAME_COLUMNS
                  : text_columns(title);
    cli_put_name(out, title, *facts ? (int)columns : 0);
    if (*facts) {
        struct text_frame frame = { 2 + columns + 2, 4, 0 };

        cli_print(out, "  ");
        text_wrap(out, frame, cli_clean(facts, text, sizeof text));
    }
    if (*model->inferred)
        cli_print(out, "\n    (name inferred from: %s)",
                  cli_clean(model->inferred, text, sizeof text));
    cli_print(out, "\n");
}

static void write_request(const struct ml_function *function, struct ifg_bytes *out)
{
    const struct ml_request *request = &function->request;
    double parts[] = { (double)request->before_ns, (double)request->inference_ns,
                       (double)request->after_ns };
    static const char *const names[] = { "before", "inference", "after" };
    double total = parts[0] + parts[1] + parts[2];
    char line[300] = "";
    char lead[80];

    if (request->count < REQUESTS_LEAST || !(parts[0] + parts[2] >= OUTSIDE_LEAST * total))
        return;
    for (int i = 0; i < 3; i++) {
        char text[32];

        report_append(line, sizeof line, "%s%s %s (%.0f %%)", i ? " · " : "", names[i],
                      cli_duration(parts[i] / (double)request->count, text),
                      100 * parts[i] / total);
    }
    snprintf(lead, sizeof lead, "Per request (mean of %llu)  ", (unsigned long long)request->count);
    report_wrap(out, 4, lead, line);
}

static int longest_on_device(const void *a, const void *b)
{
    const struct ml_operator *left = *(const struct ml_operator *const *)a;
    const struct ml_operator *right = *(const struct ml_operator *const *)b;

    if (left->device_ns != right->device_ns)
        return left->device_ns > right->device_ns ? -1 : 1;
    return strcmp(left->type, right->type);
}

/* The same operators by what devices spent on them. */
static void write_on_device(const struct ml_operator *operators, const struct ml_model *model,
                            size_t limit, struct ifg_bytes *out)
{
    const struct ml_operator *order[OPERATORS_ON_DEVICE];
    char line[2000] = "";
    char lead[120], number[32];
    size_t count = 0;

    for (size_t i = 0; i < model->operator_count; i++) {
        if (count == OPERATORS_ON_DEVICE) { /* the last one gives way */
            qsort(order, count, sizeof order[0], longest_on_device);
            count--;
        }
        order[count++] = &operators[i];
    }
    qsort(order, count, sizeof order[0], longest_on_device);
    limit = limit && limit < count ? limit : count;
    for (size_t i = 0; i < limit && order[i]->device_ns && strlen(line) + 200 < sizeof line; i++)
        report_append(line, sizeof line, "%s%.80s %.*f %%", i ? " · " : "", order[i]->type,
                      order[i]->device_ns * 10 < model->operator_device_ns ? 1 : 0,
                      100 * (double)order[i]->device_ns / (double)model->operator_device_ns);
    snprintf(lead, sizeof lead, "On the device (%s)  ",
             cli_duration((double)model->operator_device_ns, number));
    report_wrap(out, 4, lead, line);
}

static void write_operators(const struct report_request *request, const struct ml_model *model,
                            struct ifg_bytes *out)
{
    const struct ml_operator *operators = ml_operators_of(request->report->input, model);
    size_t limit = request->limit_given ? request->limit : OPERATORS_SHOWN;
    bool device = model->device_recorded && model->operator_device_ns;
    char line[2000] = "";
    char lead[120];
    char number[32];

    if (!model->operator_count || !model->operator_self_ns)
        return;
    for (size_t i = 0; i < model->operator_count && i < limit && strlen(line) + 200 < sizeof line;
         i++)
        report_append(line, sizeof line, "%s%.80s %.*f %%", i ? " · " : "", operators[i].type,
                      operators[i].self_ns * 10 < model->operator_self_ns ? 1 : 0,
                      100 * (double)operators[i].self_ns / (double)model->operator_self_ns);
    if (model->operator_count > limit)
        report_append(line, sizeof line, " · %zu more", model->operator_count - limit);
    if (model->whole_microseconds)
        report_append(line, sizeof line, " (resolution 1 µs)");
    snprintf(lead, sizeof lead, "Top operators (%s inference%s%s)  ",
             cli_count(model->profiled, number), model->profiled == 1 ? "" : "s",
             model->host_time ? "; " PROVIDER_HOST_TIME
             : device         ? "; host time"
                              : "");
    report_wrap(out, 4, lead, line);
    if (model->operator_median_ns < TINY_OPERATOR_NS) {
        snprintf(line, sizeof line,
                 "half of the operators take less than %s: recording them costs more than they do, "
                 "so take shares with care",
                 cli_duration(model->operator_median_ns, number));
        report_wrap(out, 6, "", line);
    }
    if (device)
        write_on_device(operators, model, limit, out);
    report_write_roofline_of(request, model, limit, out);
}

static void write_more_models(const struct report *report, size_t first, struct ifg_bytes *out)
{
    const struct ml_input *input = report->input;
    uint64_t inferences = 0;
    double total = 0;
    char number[32];
    char text[32];

    for (size_t i = first; i < report->model_count; i++) {
        const struct ml_model *model = &input->models[report->models[i]];

        total += (double)model->total_ns;
        for (size_t f = 0; f < model->function_count; f++)
            inferences +=
                input->functions[model->first_function + f].events[TRACE_CATEGORY_INFERENCE].count;
    }
    cli_print(out, "  and %zu more: %s inferences, %s in all; --limit 0 shows them\n",
              report->model_count - first, cli_count(inferences, number),
              cli_duration(total, text));
}

static void write_models(const struct report_request *request, struct ifg_bytes *out)
{
    const struct report *report = request->report;
    const struct ml_input *input = report->input;
    size_t limit = request->limit_given ? request->limit : MODELS_SHOWN;

    cli_print(out, "\nModels\n");
    for (size_t i = 0; i < report->model_count; i++) {
        const struct ml_model *model = &input->models[report->models[i]];

        if (i == limit) {
            write_more_models(report, i, out);
            break;
        }
        for (size_t f = 0; f < model->function_count; f++) {
            const struct ml_function *function = &input->functions[model->first_function + f];
            bool any = false;

            for (int c = 1; c < TRACE_CATEGORIES; c++)
                any |= function->events[c].count || function->events[c].timing.unfinished;
            if (!any)
                continue;
            write_header(report, model, function, out);
            write_table(function, i || f, out);
            if (!input->stage_count)
                write_request(function, out);
        }
        report_write_energy(request, report->models[i], out);
        write_operators(request, model, out);
        report_write_device_of(request, i, out);
        report_write_samples_of(request, i, out);
    }
}

static void write_stages(const struct report *report, struct ifg_bytes *out)
{
    const struct ml_input *input = report->input;
    char line[2000] = "";
    char lead[80];
    double total = 0;

    for (size_t i = 0; i < input->stage_count; i++)
        total += (double)input->stages[i].self_ns;
    if (!input->requests || !(total > 0))
        return;
    for (size_t i = 0; i < input->stage_count && strlen(line) + 200 < sizeof line; i++) {
        double self = (double)input->stages[i].self_ns;
        char text[32];

        report_append(line, sizeof line, "%s%.80s %s (%.0f %%)", i ? " · " : "",
                      input->stages[i].name, cli_duration(self / (double)input->requests, text),
                      100 * self / total);
    }
    snprintf(lead, sizeof lead, "Per request (mean of %llu)  ",
             (unsigned long long)input->requests);
    report_wrap(out, 2, lead, line);
}

/* ---- no models ---- */

static void write_zones(const struct report_request *request, struct ifg_bytes *out)
{
    static const struct text_column columns[] = {
        { "Zones", TEXT_LEFT, 20, 0 },  { "count", TEXT_RIGHT, 0, 0 },
        { "median", TEXT_RIGHT, 0, 0 }, { "p99", TEXT_RIGHT, 0, 1 },
        { "max", TEXT_RIGHT, 0, 2 },    { "total", TEXT_RIGHT, 0, 0 },
        { "share", TEXT_RIGHT, 0, 0 },
    };
    const struct stats *zones = request->zones;
    struct text_table table;
    size_t shown = 0;
    char seen[640];

    report_wrap(out, 2, "", "This recording contains no model.");
    snprintf(seen, sizeof seen,
             "Models are seen in programs that are started by 'inferogram record -- PROGRAM' and "
             "use %s, and in programs that say what their models do (inferogram(3)). 'inferogram "
             "info' tells which instruments were on, and why others were not.",
             runtimes_watched(RUNTIME_LAUNCHED).text);
    report_wrap(out, 2, "", seen);
    text_table_begin(&table, columns, sizeof columns / sizeof columns[0], 2);
    for (size_t i = 0; i < zones->row_count && shown < ZONES_SHOWN; i++) {
        const struct stats_row *row = &zones->rows[i];

        if (!row->count)
            continue;
        if (!shown++)
            cli_print(out, "\n");
        text_table_put(&table, "  %s", row->name);
        text_table_count(&table, row->count);
        text_table_time(&table, row->percentile_ns[STATS_P50]);
        text_table_time(&table,
                        row->count >= ML_P99_LEAST ? row->percentile_ns[STATS_P99] : (double)NAN);
        text_table_time(&table, (double)row->max_ns);
        text_table_time(&table, (double)row->total_ns);
        text_table_share(&table, row->share);
        text_table_next(&table);
    }
    text_table_end(&table, out);
    if (!shown)
        cli_print(out, "  It contains no zones either.\n");
}

void report_write_text(const struct report_request *request, struct ifg_bytes *out)
{
    write_title(request, out);
    if (request->zones)
        write_zones(request, out);
    else
        write_models(request, out);
    write_stages(request->report, out);
    report_write_device(request, out);
    report_write_samples(request, out);
    report_write_findings(request, out);
    report_write_recording(request, out);
    text_fit(out);
}
