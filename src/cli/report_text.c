// SPDX-License-Identifier: Apache-2.0
/* `inferogram report` for people: who and where, what matters, then model by model. */
#include "cli/report_output.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "runtimes/runtimes.h"

#define MODELS_SHOWN    10u
#define OPERATORS_SHOWN 6u
#define ZONES_SHOWN     10u
#define NAME_COLUMNS    46
#define CELL            9

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

static void put_time(struct ifg_bytes *out, double ns)
{
    char text[32];

    if (isnan(ns))
        cli_print(out, " %*s–", CELL - 1, "");
    else
        cli_print(out, " %*s", CELL, cli_duration(ns, text));
}

/* What else is to be known of a row, in one line under it. */
static void write_notes(const struct ml_timing *timing, struct ifg_bytes *out)
{
    char notes[320] = "";
    char number[32];

#define NOTE(...)                                                                                  \
    report_append(notes, sizeof notes, "%s", *notes ? "; " : "");                                  \
    report_append(notes, sizeof notes, __VA_ARGS__)
    if (timing->perturbed && timing->perturbed_included) {
        NOTE("%s of them with operators recorded, which takes time",
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
    if (*notes)
        cli_print(out, "%22s(%s)\n", "", notes);
}

static void write_table(const struct ml_function *function, struct ifg_bytes *out)
{
    cli_print(out, "    %-15s %9s %*s %*s %*s %*s %*s %*s %7s\n", "category", "count", CELL,
              "first", CELL, "median", CELL, "p90", CELL, "p99", CELL, "max", CELL, "total",
              "share");
    for (size_t i = 0; i < sizeof categories / sizeof categories[0]; i++) {
        const struct ml_events *events = &function->events[categories[i]];
        const struct ml_timing *timing = &events->timing;
        char number[32];

        if (!events->count && !timing->unfinished)
            continue;
        cli_print(out, "    %-15s %9s", timeline_category_name(categories[i]),
                  cli_count(timing->count, number));
        put_time(out, timing->first_ns);
        put_time(out, timing->median_ns);
        put_time(out, timing->p90_ns);
        put_time(out, timing->p99_ns);
        put_time(out, timing->max_ns);
        put_time(out, timing->count ? (double)timing->total_ns : (double)NAN);
        cli_print(out, " %5.1f %%\n", 100 * timing->share);
        write_notes(timing, out);
    }
}

static void write_header(const struct report *report, const struct ml_model *model,
                         const struct ml_function *function, struct ifg_bytes *out)
{
    char title[200];
    char model_name[80];
    char name[80];
    char text[200];
    char clean[200];
    char size[32];
    const char *separator = "";
    int used =
        snprintf(title, sizeof title, "%s · %s",
                 *model->model->name ? cli_clean(model->model->name, model_name, sizeof model_name)
                                     : "(no name)",
                 cli_clean(function->name, name, sizeof name));

    if (report->several_processes && used > 0 && (size_t)used < sizeof title &&
        model->model->process < report->input->timeline->process_count)
        snprintf(title + used, sizeof title - (size_t)used, " (pid %u)",
                 report->input->timeline->processes[model->model->process].pid);
    cli_print(out, "  ");
    cli_put_name(out, title, NAME_COLUMNS);
    if (*report_placement(model, text, sizeof text)) {
        cli_print(out, "  %s", cli_clean(text, clean, sizeof clean));
        separator = " ·";
    } else if (*model->source) {
        cli_print(out, "  placement %s", cli_clean(model->source, clean, sizeof clean));
        separator = " ·";
    }
    if (*report_load_states(model, text, sizeof text)) {
        cli_print(out, "%s %s", *separator ? separator : " ", text);
        separator = " ·";
    }
    if (model->file_bytes)
        cli_print(out, "%s %s", *separator ? separator : " ", cli_size(model->file_bytes, size));
    if (*model->inferred)
        cli_print(out, "\n    (name inferred from: %s)",
                  cli_clean(model->inferred, clean, sizeof clean));
    cli_print(out, "\n");
}

static void write_request(const struct ml_function *function, struct ifg_bytes *out)
{
    const struct ml_request *request = &function->request;
    double parts[] = { (double)request->before_ns, (double)request->inference_ns,
                       (double)request->after_ns };
    static const char *const names[] = { "before", "inference", "after" };
    double total = parts[0] + parts[1] + parts[2];

    if (request->count < REQUESTS_LEAST || !(parts[0] + parts[2] >= OUTSIDE_LEAST * total))
        return;
    cli_print(out, "    Per request (mean of %llu)  ", (unsigned long long)request->count);
    for (int i = 0; i < 3; i++) {
        char text[32];

        cli_print(out, "%s%s %s (%.0f %%)", i ? " · " : "", names[i],
                  cli_duration(parts[i] / (double)request->count, text), 100 * parts[i] / total);
    }
    cli_print(out, "\n");
}

static void write_operators(const struct report_request *request, const struct ml_model *model,
                            struct ifg_bytes *out)
{
    const struct ml_operator *operators = ml_operators_of(request->report->input, model);
    size_t limit = request->limit_given ? request->limit : OPERATORS_SHOWN;
    char line[2000] = "";
    char lead[80];
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
        report_append(line, sizeof line, " (resolution 1 us)");
    snprintf(lead, sizeof lead, "Top operators (%s inference%s)  ",
             cli_count(model->profiled, number), model->profiled == 1 ? "" : "s");
    report_wrap(out, 4, lead, line);
    if (model->operator_median_ns < TINY_OPERATOR_NS) {
        snprintf(line, sizeof line,
                 "half of the operators take less than %s: recording them costs more than they do, "
                 "so take shares with care",
                 cli_duration(model->operator_median_ns, number));
        report_wrap(out, 6, "", line);
    }
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
            write_table(function, out);
            if (!input->stage_count)
                write_request(function, out);
        }
        write_operators(request, model, out);
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
    const struct stats *zones = request->zones;
    size_t shown = 0;

    report_wrap(out, 2, "", "No model was seen in this recording.");
    report_wrap(
        out, 2, "",
        "Models are seen in programs that are started by 'inferogram record -- PROGRAM' and "
        "use " RUNTIMES_WATCHED ", and in programs that say what their models do (inferogram(3)). "
        "'inferogram info' tells which instruments were on, and why others were not.");
    for (size_t i = 0; i < zones->row_count && shown < ZONES_SHOWN; i++) {
        const struct stats_row *row = &zones->rows[i];
        char count[32];

        if (!row->count)
            continue;
        if (!shown++)
            cli_print(out, "\n  %-*s %11s %*s %*s %*s %*s %8s\n", NAME_COLUMNS - 9, "Zones",
                      "count", CELL, "median", CELL, "p99", CELL, "max", CELL, "total", "share");
        cli_print(out, "    ");
        cli_put_name(out, row->name, NAME_COLUMNS - 11);
        cli_print(out, " %11s", cli_count(row->count, count));
        put_time(out, row->percentile_ns[STATS_P50]);
        put_time(out, row->count >= ML_P99_LEAST ? row->percentile_ns[STATS_P99] : (double)NAN);
        put_time(out, (double)row->max_ns);
        put_time(out, (double)row->total_ns);
        cli_print(out, " %6.1f %%\n", 100 * row->share);
    }
    if (!shown)
        cli_print(out, "  There are no zones either.\n");
}

void report_write_text(const struct report_request *request, struct ifg_bytes *out)
{
    write_title(request, out);
    if (request->zones)
        write_zones(request, out);
    else
        write_models(request, out);
    write_stages(request->report, out);
    report_write_samples(request, out);
    report_write_findings(request, out);
    report_write_recording(request, out);
}
