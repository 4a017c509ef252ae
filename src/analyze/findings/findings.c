// SPDX-License-Identifier: Apache-2.0
/* The table of rules, and how findings are kept and put in order. */
#include "analyze/findings/findings.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analyze/findings/findings_internal.h"
#include "base/alloc.h"
#include "base/array.h"

static const struct finding_rule rules[] = {
    { "ep-fallback", rule_ep_fallback },
    { "policy-fallback", rule_policy_fallback },
    { "failed-runs", rule_failed_runs },
    { "repeated-load", rule_repeated_load },
    { "cold-start", rule_cold_start },
    { "slow-first-run", rule_slow_first_run },
    { "reshaping", rule_reshaping },
    { "oversubscription", rule_oversubscription },
    { "run-queue-wait", rule_run_queue_wait },
    { "spinning", rule_spinning },
    { "uneven-latency", rule_uneven_latency },
    { "setup-heavy", rule_setup_heavy },
    { "pre-post-heavy", rule_pre_post_heavy },
    { "host-bound", rule_host_bound },
    { "device-bound", rule_device_bound },
    { "copy-bound", rule_copy_bound },
    { "sync-in-inference", rule_sync_in_inference },
    { "small-kernels", rule_small_kernels },
    { "first-run-autotune", rule_first_run_autotune },
    { "many-small-runs", rule_many_small_runs },
    { "quantized-slower", rule_quantized_slower },
    { "throttled", rule_throttled },
    { "memory-growth", rule_memory_growth },
    { "memory-peak-in-load", rule_memory_peak_in_load },
    { "heap-churn", rule_heap_churn },
    { "page-faults", rule_page_faults },
    { "noisy-neighbour", rule_noisy_neighbour },
    { "noisy-host", rule_noisy_host },
    { "dropped-events", rule_dropped_events },
};

#define RULES (sizeof rules / sizeof rules[0])

const char *finding_rule_id(size_t index)
{
    return index < RULES ? rules[index].id : NULL;
}

const char *finding_severity_name(enum finding_severity severity)
{
    static const char *const names[] = { "low", "medium", "high" };

    return (unsigned)severity < 3 ? names[severity] : "";
}

struct finding *finding_add(struct findings *out, enum finding_severity severity, uint32_t model)
{
    struct finding *finding;

    if (out->count == FINDINGS_MAX) {
        out->not_kept++;
        return NULL;
    }
    if (!IFG_ARRAY_ROOM(out->items, out->capacity, out->count + 1, IFG_ARRAY_ANY)) {
        out->status = IFG_NO_MEMORY;
        return NULL;
    }
    finding = &out->items[out->count++];
    memset(finding, 0, sizeof *finding);
    finding->severity = severity;
    finding->model = model;
    return finding;
}

/* The four texts are set alike. */
#define TEXT_SETTER(name)                                                                          \
    void finding_##name(struct finding *finding, const char *format, ...)                          \
    {                                                                                              \
        va_list args;                                                                              \
                                                                                                   \
        if (!finding)                                                                              \
            return;                                                                                \
        va_start(args, format);                                                                    \
        vsnprintf(finding->name, sizeof finding->name, format, args);                              \
        va_end(args);                                                                              \
    }

TEXT_SETTER(title)
TEXT_SETTER(sentence)
TEXT_SETTER(evidence)
TEXT_SETTER(fix)

void finding_slice(struct finding *finding, size_t slice)
{
    if (!finding || slice == SIZE_MAX)
        return;
    if (finding->event_count < FINDING_EVENTS)
        finding->events[finding->event_count] = slice;
    finding->event_count++;
}

void finding_event(struct finding *finding, const struct ml_event *event)
{
    finding_slice(finding, event->slice);
}

void finding_inferences(const struct ml_input *input, uint32_t model, struct finding *finding)
{
    const struct ml_model *of = &input->models[model];

    for (size_t f = 0; f < of->function_count; f++) {
        const struct ml_events *events =
            &input->functions[of->first_function + f].events[TRACE_CATEGORY_INFERENCE];

        for (size_t i = 0; i < events->count; i++)
            if (findings_event_counts(events, &events->items[i]))
                finding_event(finding, &events->items[i]);
    }
}

void finding_number(struct finding *finding, const char *key, double value)
{
    if (finding && finding->number_count < FINDING_NUMBERS)
        finding->numbers[finding->number_count++] = (struct finding_number){ key, value };
}

struct words finding_words_time(double ns)
{
    static const char *const units[] = { "ns", "µs", "ms", "s" };
    struct words words;
    size_t unit = 0;

    while (unit < 3 && fabs(ns) >= 999.5) {
        ns /= 1000;
        unit++;
    }
    snprintf(words.text, sizeof words.text, "%.*f %s",
             !unit        ? 0
             : ns < 9.995 ? 2
             : ns < 99.95 ? 1
                          : 0,
             ns, units[unit]);
    return words;
}

struct words finding_words_share(double share)
{
    struct words words;
    double percent = 100 * share;

    if (percent > 0 && percent < 0.05)
        snprintf(words.text, sizeof words.text, "under 0.1 %%");
    else
        snprintf(words.text, sizeof words.text, "%.*f %%", percent < 9.95 ? 1 : 0, percent);
    return words;
}

struct words_name finding_words_model(const struct ml_input *input, uint32_t model)
{
    struct words_name words = { "the model" };
    const char *name = model < input->model_count ? input->models[model].model->name : "";

    if (*name)
        snprintf(words.text, sizeof words.text, "%s", name);
    return words;
}

struct words_name finding_words_about(const struct ml_input *input, uint32_t model)
{
    struct words_name words = { "" };

    if (input->model_count > 1 && model < input->model_count && *input->models[model].model->name)
        snprintf(words.text, sizeof words.text, "%.56s: ", input->models[model].model->name);
    return words;
}

size_t finding_loads(const struct ml_input *input, const struct ml_model *model,
                     struct findings *out, const struct ml_event ***out_events)
{
    size_t most = 0;
    size_t count = 0;

    for (size_t f = 0; f < model->function_count; f++)
        most += input->functions[model->first_function + f].events[TRACE_CATEGORY_LOAD].count;
    *out_events = most ? ifg_alloc(most, sizeof **out_events) : NULL;
    if (!*out_events) {
        out->status = most ? IFG_NO_MEMORY : out->status;
        return 0;
    }
    for (size_t f = 0; f < model->function_count; f++) {
        const struct ml_events *loads =
            &input->functions[model->first_function + f].events[TRACE_CATEGORY_LOAD];

        for (size_t i = 0; i < loads->count; i++)
            if (!(loads->items[i].flags & (ML_FAILED | ML_NESTED)))
                (*out_events)[count++] = &loads->items[i];
    }
    return count;
}

const struct runtime *finding_runtime(const struct ml_input *input, uint32_t model)
{
    const struct runtime *found = NULL;

    if (model != TIMELINE_NONE)
        return runtime_called(input->models[model].model->runtime);
    for (size_t i = 0; i < input->model_count; i++) {
        const struct runtime *runtime = runtime_called(input->models[i].model->runtime);

        if (!runtime || (found && found != runtime))
            return NULL;
        found = runtime;
    }
    return found;
}

const char *finding_advice(const struct ml_input *input, uint32_t model, enum runtime_advice what,
                           const char *otherwise)
{
    const struct runtime *runtime = finding_runtime(input, model);

    return runtime && runtime->advice[what] ? runtime->advice[what] : otherwise;
}

struct words_option finding_option(const struct ml_input *input, uint32_t model,
                                   enum runtime_advice what)
{
    const char *advice = finding_advice(input, model, what, NULL);
    struct words_option option = { "" };

    if (advice)
        snprintf(option.text, sizeof option.text, " (%s)", advice);
    return option;
}

static size_t rule_number(const struct finding *finding)
{
    size_t i = 0;

    while (i < RULES && rules[i].id != finding->id)
        i++;
    return i;
}

static int by_importance(const void *a, const void *b)
{
    const struct finding *left = a;
    const struct finding *right = b;
    size_t l = rule_number(left);
    size_t r = rule_number(right);
    bool left_first = l < FINDING_PLACEMENT_RULES;
    bool right_first = r < FINDING_PLACEMENT_RULES;

    if (left_first != right_first)
        return left_first ? -1 : 1;
    if (left_first && l != r)
        return l < r ? -1 : 1;
    if (left->severity != right->severity)
        return left->severity > right->severity ? -1 : 1;
    if (left->weight_ns > right->weight_ns || left->weight_ns < right->weight_ns)
        return left->weight_ns > right->weight_ns ? -1 : 1;
    if (l != r)
        return l < r ? -1 : 1;
    return left->model < right->model ? -1 : left->model > right->model;
}

enum ifg_status findings_create(const struct ml_input *input, struct findings **out_findings,
                                struct ifg_error *err)
{
    struct findings *findings = ifg_alloc(1, sizeof *findings);

    *out_findings = NULL;
    for (size_t i = 0; findings && !findings->status && i < RULES; i++) {
        size_t before = findings->count;

        rules[i].run(input, findings);
        for (size_t f = before; f < findings->count; f++)
            findings->items[f].id = rules[i].id;
    }
    if (!findings || findings->status) {
        findings_destroy(findings);
        return ifg_fail_no_memory(err, "for findings");
    }
    if (findings->count)
        qsort(findings->items, findings->count, sizeof *findings->items, by_importance);
    *out_findings = findings;
    return IFG_OK;
}

void findings_destroy(struct findings *findings)
{
    if (!findings)
        return;
    ifg_free(findings->items);
    ifg_free(findings);
}
