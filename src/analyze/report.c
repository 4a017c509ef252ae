// SPDX-License-Identifier: Apache-2.0
/* Putting a report together: see report.h. */
#include "analyze/report.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "trace/keys.h"

/* ---- words ---- */

/* Appends, and never past the end. */
static void append(char *out, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void append(char *out, size_t size, const char *format, ...)
{
    size_t used = strlen(out);
    va_list args;

    va_start(args, format);
    vsnprintf(out + used, size - used, format, args);
    va_end(args);
}

static int by_nodes(const void *a, const void *b)
{
    const struct ml_ep *left = *(const struct ml_ep *const *)a;
    const struct ml_ep *right = *(const struct ml_ep *const *)b;

    if (left->nodes != right->nodes)
        return left->nodes > right->nodes ? -1 : 1;
    return left < right ? -1 : left > right;
}

/* The providers that do something, most nodes first. */
static size_t working(const struct ml_model *model, const struct ml_ep *out[ML_EPS_MAX])
{
    size_t count = 0;

    for (size_t i = 0; i < model->ep_count; i++)
        if (model->eps[i].actual)
            out[count++] = &model->eps[i];
    if (count)
        qsort(out, count, sizeof *out, by_nodes);
    return count;
}

const char *report_placement(const struct ml_model *model, char *out, size_t size)
{
    const struct ml_ep *eps[ML_EPS_MAX];
    size_t count = working(model, eps);
    char name[64];

    out[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        append(out, size, "%s%s", i ? ", " : "", findings_ep_name(eps[i], name, sizeof name));
        if (model->nodes_known && count > 1)
            append(out, size, " %llu", (unsigned long long)eps[i]->nodes);
    }
    if (model->nodes_known && count == 1)
        append(out, size, " %llu/%llu nodes", (unsigned long long)eps[0]->nodes,
               (unsigned long long)model->nodes);
    else if (model->nodes_known && count)
        append(out, size, " of %llu nodes", (unsigned long long)model->nodes);
    return out;
}

const char *report_load_states(const struct ml_model *model, char *out, size_t size)
{
    static const char *const names[ML_LOAD_STATES] = { "unknown", "cold", "cached", "precompiled" };
    static const enum ml_load_state order[ML_LOAD_STATES] = { ML_COLD, ML_CACHED, ML_PRECOMPILED,
                                                              ML_UNKNOWN };
    unsigned kinds = 0;

    out[0] = '\0';
    for (int i = 0; i < ML_LOAD_STATES; i++)
        kinds += model->loads[i] > 0;
    for (int i = 0; i < ML_LOAD_STATES; i++) {
        uint64_t count = model->loads[order[i]];

        if (!count)
            continue;
        if (kinds > 1)
            append(out, size, "%s%llu ", *out ? ", " : "", (unsigned long long)count);
        append(out, size, "%s", names[order[i]]);
    }
    if (kinds == 1 && model->loads[ML_UNKNOWN])
        snprintf(out, size, "specialization unknown");
    return out;
}

/* ---- the sentences ---- */

static bool as_asked(const struct ml_model *model)
{
    const struct ml_ep *eps[ML_EPS_MAX];
    size_t count = working(model, eps);

    for (size_t i = 0; i < count; i++)
        if (!eps[i]->requested)
            return false;
    return count > 0;
}

static void say_placement_of_one(const struct report *report, const struct ml_model *model,
                                 char *out, size_t size)
{
    const struct ml_ep *eps[ML_EPS_MAX];
    size_t count = working(model, eps);
    char name[64];

    out[0] = '\0';
    if (!count && strncmp(model->source, "unknown", 7) != 0)
        return;
    if (report->model_count > 1)
        append(out, size, "%.60s: ", model->model->name);
    if (!count) {
        append(out, size, "It is unknown where the nodes run%.160s.", model->source + 7);
        return;
    }
    findings_ep_name(eps[0], name, sizeof name);
    if (!model->nodes_known)
        append(out, size, "%s runs it", name);
    else if (count == 1)
        append(out, size, "%s runs all %llu nodes", name, (unsigned long long)model->nodes);
    else
        append(out, size, "%s runs %llu of %llu nodes", name, (unsigned long long)eps[0]->nodes,
               (unsigned long long)model->nodes);
    for (size_t i = 1; i < count; i++) {
        append(out, size, ", %s", findings_ep_name(eps[i], name, sizeof name));
        if (model->nodes_known)
            append(out, size, " %llu", (unsigned long long)eps[i]->nodes);
    }
    append(out, size, "%s.", as_asked(model) ? ", as asked" : "");
}

/* All models on one and the same provider: one sentence for all. */
static bool say_placement_of_all(const struct report *report, char *out, size_t size)
{
    const struct ml_ep *common = NULL;
    bool asked = true;
    char name[64];

    for (size_t i = 0; i < report->model_count; i++) {
        const struct ml_model *model = &report->input->models[report->models[i]];
        const struct ml_ep *eps[ML_EPS_MAX];

        if (!model->loads[ML_COLD] && !model->loads[ML_CACHED] && !model->loads[ML_PRECOMPILED] &&
            !model->loads[ML_UNKNOWN] && !model->placement_known)
            continue; /* was never loaded: nothing to run */
        if (working(model, eps) != 1)
            return false;
        if (common && (common->name_bytes != eps[0]->name_bytes ||
                       memcmp(common->name, eps[0]->name, common->name_bytes) != 0))
            return false;
        common = eps[0];
        asked &= as_asked(model);
    }
    if (!common)
        return false;
    snprintf(out, size, "%s runs all nodes of all models%s.",
             findings_ep_name(common, name, sizeof name), asked ? ", as asked" : "");
    return true;
}

static bool is_about_placement(const struct finding *finding)
{
    return strcmp(finding->id, "ep-fallback") == 0 || strcmp(finding->id, "policy-fallback") == 0;
}

static void say_placement(struct report *report)
{
    const struct findings *findings = report->findings;
    char *out = report->sentences[0];
    size_t size = sizeof report->sentences[0];

    if (findings->count && is_about_placement(&findings->items[0])) {
        size_t more = 0;

        for (size_t i = 1; i < findings->count; i++)
            more += is_about_placement(&findings->items[i]) &&
                    findings->items[i].model != findings->items[0].model;
        append(out, size, "%s", findings->items[0].sentence);
        if (more)
            append(out, size, " The same holds for %zu more model%s.", more, more == 1 ? "" : "s");
    } else if (report->model_count > 1 && say_placement_of_all(report, out, size)) {
        report->sentence_count = 1;
        return;
    } else if (report->model_count) {
        say_placement_of_one(report, &report->input->models[report->models[0]], out, size);
    }
    report->sentence_count = *out ? 1 : 0;
}

static void say_what_matters(struct report *report)
{
    const struct findings *findings = report->findings;

    say_placement(report);
    for (size_t i = 0; i < findings->count && report->sentence_count < REPORT_SENTENCES; i++) {
        const struct finding *finding = &findings->items[i];

        if (is_about_placement(finding) || finding->severity == FINDING_LOW)
            continue;
        snprintf(report->sentences[report->sentence_count], sizeof report->sentences[0], "%s",
                 finding->sentence);
        report->sentence_count++;
    }
    if (!findings->count && report->model_count && report->sentence_count < REPORT_SENTENCES)
        snprintf(report->sentences[report->sentence_count++], sizeof report->sentences[0],
                 "No rule found anything to improve.");
}

/* ---- the rest ---- */

static int by_time(const void *a, const void *b, void *user)
{
    const struct ml_model *models = user;
    uint32_t left = *(const uint32_t *)a;
    uint32_t right = *(const uint32_t *)b;

    if (models[left].total_ns != models[right].total_ns)
        return models[left].total_ns > models[right].total_ns ? -1 : 1;
    return left < right ? -1 : left > right;
}

static bool has_events(const struct ml_input *input, const struct ml_model *model)
{
    for (size_t f = 0; f < model->function_count; f++)
        for (int c = 1; c < TRACE_CATEGORIES; c++) {
            const struct ml_events *events = &input->functions[model->first_function + f].events[c];

            if (events->count || events->timing.unfinished)
                return true;
        }
    return false;
}

static enum ifg_status order_models(struct report *report)
{
    struct ml_input *input = report->input;

    report->models = ifg_alloc(input->model_count, sizeof *report->models);
    if (!report->models)
        return IFG_NO_MEMORY;
    for (uint32_t i = 0; i < input->model_count; i++) {
        if (!has_events(input, &input->models[i]))
            continue;
        if (report->model_count &&
            input->models[i].model->process != input->models[report->models[0]].model->process)
            report->several_processes = true;
        report->models[report->model_count++] = i;
    }
    if (report->model_count)
        qsort_r(report->models, report->model_count, sizeof *report->models, by_time,
                input->models);
    return IFG_OK;
}

static void take_runtimes(struct report *report)
{
    for (size_t i = 0; i < report->model_count; i++) {
        const char *runtime = report->input->models[report->models[i]].model->runtime;
        size_t at = 0;

        if (!*runtime)
            continue;
        while (at < report->runtime_count && strcmp(report->runtimes[at], runtime) != 0)
            at++;
        if (at == report->runtime_count && at < REPORT_RUNTIMES)
            report->runtimes[report->runtime_count++] = runtime;
    }
}

static const char *fact(const struct report *report, const char *key)
{
    const char *value = trace_find_fact(report->input->tables, key);

    return value ? value : "";
}

/* An interpreter says little without its script. */
static bool is_interpreter(const char *name)
{
    static const char *const names[] = { "node", "python", "ruby", "perl", "deno", "bun" };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strncmp(name, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* The process of the model with most time: a launcher (env, sh) is not what people mean. */
static void take_title(struct report *report)
{
    const struct timeline *timeline = report->input->timeline;
    const struct timeline_process *process = NULL;
    const char *at;

    snprintf(report->title, sizeof report->title, "%s", report->program);
    if (report->model_count &&
        report->input->models[report->models[0]].model->process < timeline->process_count)
        process = &timeline->processes[report->input->models[report->models[0]].model->process];
    if (!process || !*process->name)
        return;
    snprintf(report->title, sizeof report->title, "%s", process->name);
    if (!is_interpreter(process->name))
        return;
    at = process->arguments + strcspn(process->arguments, " ");
    at += strspn(at, " ");
    while (*at == '-') { /* options */
        at += strcspn(at, " ");
        at += strspn(at, " ");
    }
    if (*at) {
        size_t bytes = strcspn(at, " ");
        const char *slash = memrchr(at, '/', bytes);

        if (slash && slash + 1 < at + bytes) {
            bytes -= (size_t)(slash + 1 - at);
            at = slash + 1;
        }
        append(report->title, sizeof report->title, " %.*s", bytes < 80 ? (int)bytes : 80, at);
    }
}

static void take_facts(struct report *report)
{
    const struct ml_input *input = report->input;
    const char *cpu_seconds = fact(report, TRACE_FACT_RECORD_CPU_SECONDS);
    double seconds = *cpu_seconds ? strtod(cpu_seconds, NULL) : (double)NAN;

    report->program = fact(report, TRACE_FACT_RECORD_PROGRAM);
    if (!*report->program && input->timeline->process_count)
        report->program = input->timeline->processes[0].name;
    report->cpu = fact(report, TRACE_FACT_HOST_CPU);
    report->is_virtual = strcmp(fact(report, TRACE_FACT_HOST_VIRTUAL), "yes") == 0;
    report->recorder_cpu_s = seconds >= 0 ? seconds : (double)NAN;
    report->recorder_share = report->recorder_cpu_s / ((double)input->recorder_ns * 1e-9);
    report->operator_cost = NAN;
    for (size_t f = 0; f < input->function_count; f++) {
        const struct ml_timing *timing =
            &input->functions[f].events[TRACE_CATEGORY_INFERENCE].timing;

        if (isnan(timing->perturbed_cost))
            continue;
        if (!(report->operator_cost >= timing->perturbed_cost))
            report->operator_cost = timing->perturbed_cost;
        report->operator_share_ns +=
            timing->median_ns * timing->perturbed_cost * (double)timing->perturbed;
    }
}

/* Functions by samples: of all, and of the models that take most time. */
static enum ifg_status take_hot(struct report *report, struct ifg_error *err)
{
    const struct timeline *timeline = report->input->timeline;
    struct hot_filter filter = { 0 };
    enum ifg_status status;

    if (!report->input->profile || !report->input->profile->sample_count)
        return IFG_OK;
    status = hot_create(timeline, &filter, &report->hot, err);
    for (size_t i = 0; !status && i < report->model_count && i < REPORT_HOT_MODELS; i++) {
        filter.model = report->input->models[report->models[i]].model->name;
        status = hot_create(timeline, &filter, &report->hot_models[i], err);
    }
    return status;
}

enum ifg_status report_create(const struct timeline *timeline, struct report **out_report,
                              struct ifg_error *err)
{
    struct report *report = ifg_alloc(1, sizeof *report);
    enum ifg_status status;

    *out_report = NULL;
    if (!report)
        return ifg_fail_no_memory(err, "for a report");
    status = findings_input_create(timeline, &report->input, err);
    if (!status)
        status = findings_create(report->input, &report->findings, err);
    if (!status && order_models(report))
        status = ifg_fail_no_memory(err, "for a report");
    if (!status)
        status = take_hot(report, err);
    if (!status && joules_create(report->input, &report->joules))
        status = ifg_fail_no_memory(err, "for a report");
    if (status) {
        report_destroy(report);
        return status;
    }
    take_runtimes(report);
    take_facts(report);
    take_title(report);
    say_what_matters(report);
    *out_report = report;
    return IFG_OK;
}

const struct hot *report_hot(const struct report *report, const struct ml_model *model)
{
    for (size_t i = 0; i < report->model_count && i < REPORT_HOT_MODELS; i++)
        if (&report->input->models[report->models[i]] == model)
            return report->hot_models[i];
    return NULL;
}

const struct roofline *report_roofline(const struct report *report, const struct ml_model *model)
{
    for (size_t i = 0; report->rooflines && i < report->model_count; i++)
        if (&report->input->models[report->models[i]] == model)
            return report->rooflines[i];
    return NULL;
}

const struct waiting_model *report_waiting(const struct report *report,
                                           const struct ml_model *model)
{
    const struct waiting *waiting = report->input->waiting;
    const struct waiting_model *found =
        waiting ? &waiting->models[model - report->input->models] : NULL;

    return found && found->inferences ? found : NULL;
}

void report_destroy(struct report *report)
{
    if (!report)
        return;
    for (size_t i = 0; i < REPORT_HOT_MODELS; i++)
        hot_destroy(report->hot_models[i]);
    hot_destroy(report->hot);
    joules_destroy(report->joules);
    for (size_t i = 0; report->rooflines && i < report->model_count; i++)
        roofline_destroy(report->rooflines[i]);
    ifg_free(report->rooflines);
    findings_destroy(report->findings);
    findings_input_destroy(report->input);
    ifg_free(report->models);
    ifg_free(report);
}
