// SPDX-License-Identifier: Apache-2.0
/*
 * ep-fallback: an execution provider was asked for, and another one does the work. Runtimes fall
 * back in silence; this is the first thing to know about a slow model.
 */
#include "analyze/findings/findings_internal.h"

#include <stdio.h>
#include <string.h>

/* A provider that takes nodes one by one and has less than half of them is not what does the work;
 * with less than a tenth it might as well not be there. Providers that compile make one node out of
 * hundreds: of them only "none" is certain. */
#define FEW_NODES      0.5
#define VERY_FEW_NODES 0.1
#define REASON_MAX     120u

struct fallback {
    const struct ml_model *model;
    const struct ml_ep *ep;
    const struct ml_ep *worker; /* who has most nodes instead, or NULL */
    bool missing;               /* it does nothing at all */
    uint32_t index;             /* of the model */
};

static bool takes_single_nodes(const struct ml_ep *ep)
{
    static const char *const names[] = { "CUDA", "ROCM",    "Dml", "WebGpu",
                                         "JS",   "Xnnpack", "ACL", "ArmNN" };
    char name[64];

    findings_ep_name(ep, name, sizeof name);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static const struct ml_ep *worker_of(const struct ml_model *model)
{
    const struct ml_ep *worker = NULL;

    for (size_t i = 0; i < model->ep_count; i++)
        if (model->eps[i].actual && (!worker || model->eps[i].nodes > worker->nodes))
            worker = &model->eps[i];
    return worker;
}

/* Azure's provider is in every build and takes only nodes that call a remote service: it does not
 * fall back where a model has none. */
static bool is_remote(const struct ml_ep *ep)
{
    char name[64];

    return strcmp(findings_ep_name(ep, name, sizeof name), "Azure") == 0;
}

static bool not_in_build(const char *failed)
{
    return strstr(failed, "this build") || strstr(failed, "not in available") ||
           strstr(failed, "not available");
}

static void name_events(const struct ml_input *input, const struct fallback *fallback,
                        struct finding *finding)
{
    const struct ml_model *model = fallback->model;

    for (size_t f = 0; f < model->function_count; f++) {
        const struct ml_function *function = &input->functions[model->first_function + f];
        const struct ml_events *prepare = &function->events[TRACE_CATEGORY_PREPARE_EP];
        const struct ml_events *loads = &function->events[TRACE_CATEGORY_LOAD];

        for (size_t i = 0; i < prepare->count; i++)
            if (strncmp(prepare->items[i].detail, fallback->ep->name, fallback->ep->name_bytes) ==
                0)
                finding_event(finding, &prepare->items[i]);
        for (size_t i = 0; i < loads->count; i++)
            finding_event(finding, &loads->items[i]);
    }
}

static void say_fix(const struct ml_input *input, struct finding *finding,
                    const struct fallback *fallback, const char *full)
{
    const char *failed = fallback->ep->failed;
    enum runtime_advice what = !failed                            ? RUNTIME_SEE_PLACEMENT
                               : not_in_build(failed)             ? RUNTIME_GET_DEVICE
                               : strstr(failed, "shared library") ? RUNTIME_GET_LIBRARY
                                                                  : RUNTIME_SEE_ERROR;
    const char *advice = finding_advice(input, fallback->index, what, NULL);

    if (advice)
        finding_fix(finding, "%s", advice);
    else
        finding_fix(finding, "make %s usable, or do not request it", full);
}

/* The program knows, if it caught the error; who reads the report may not. */
static void say_refused(struct finding *finding, const struct fallback *fallback, const char *about,
                        const char *provider, const char *worker)
{
    const struct ml_model *model = fallback->model;
    const char *reason = fallback->ep->failed;
    size_t length = strcspn(reason, "\n");
    char nodes[64] = "all nodes";

    length = length < REASON_MAX ? length : REASON_MAX;
    while (length && (reason[length - 1] == '.' || reason[length - 1] == ' '))
        length--;
    if (model->nodes_known && fallback->worker->nodes == model->nodes)
        snprintf(nodes, sizeof nodes, "all %llu nodes", (unsigned long long)model->nodes);
    else if (model->nodes_known)
        snprintf(nodes, sizeof nodes, "%llu of %llu nodes",
                 (unsigned long long)fallback->worker->nodes, (unsigned long long)model->nodes);
    finding_sentence(finding, "%s%s was requested and refused (%.*s); %s runs %s.", about, provider,
                     (int)length, reason, worker, nodes);
}

static void report(const struct ml_input *input, struct findings *out,
                   const struct fallback *fallback, enum finding_severity severity)
{
    const struct ml_model *model = fallback->model;
    const struct ml_ep *ep = fallback->ep;
    struct finding *finding = finding_add(out, severity, fallback->index);
    struct words_name about = finding_words_about(input, fallback->index);
    char full[96], brief[64], worker[64], nodes[96] = "";

    if (!finding)
        return;
    snprintf(full, sizeof full, "%.*s", ep->name_bytes < 90 ? (int)ep->name_bytes : 90, ep->name);
    findings_ep_name(ep, brief, sizeof brief);
    if (fallback->worker)
        findings_ep_name(fallback->worker, worker, sizeof worker);
    if (model->nodes_known)
        snprintf(nodes, sizeof nodes, "%llu of %llu nodes", (unsigned long long)ep->nodes,
                 (unsigned long long)model->nodes);
    finding->weight_ns = (double)model->total_ns;
    if (ep->failed && not_in_build(ep->failed))
        finding_title(finding, "%s was requested, is not in this build", full);
    else if (ep->failed)
        finding_title(finding, "%s was requested, could not be added", full);
    else if (model->nodes_known)
        finding_title(finding, "%s was requested, %s run there", full, nodes);
    else
        finding_title(finding, "%s was requested, nothing runs there", full);
    if (fallback->worker && ep->failed)
        say_refused(finding, fallback, about.text, brief, worker);
    else if (!fallback->worker)
        finding_sentence(finding, "%s%s was requested but could not be used.", about.text, brief);
    else if (model->nodes_known)
        finding_sentence(finding, "%s%s was requested, but %s does %s the work: %s run on %s.",
                         about.text, brief, worker, fallback->missing ? "all" : "most of", nodes,
                         full);
    else
        finding_sentence(finding, "%s%s was requested, but %s does all the work.", about.text,
                         brief, worker);
    finding_evidence(finding, "asked for: %.120s; runs on: %.120s%s%s%s%.200s",
                     model->model->requested_devices,
                     *model->model->actual_devices ? model->model->actual_devices : "not known",
                     *model->source ? ", by " : "", model->source, ep->failed ? "; error: " : "",
                     ep->failed ? ep->failed : "");
    say_fix(input, finding, fallback, full);
    name_events(input, fallback, finding);
    if (model->nodes_known) {
        finding_number(finding, "nodes_there", (double)ep->nodes);
        finding_number(finding, "nodes", (double)model->nodes);
    }
}

static void look_at(const struct ml_input *input, uint32_t index, struct findings *out)
{
    const struct ml_model *model = &input->models[index];
    const struct ml_ep *worker = worker_of(model);
    bool accelerated = false;

    for (size_t i = 0; i < model->ep_count; i++)
        accelerated |= model->eps[i].actual && !findings_is_cpu(&model->eps[i]);
    for (size_t i = 0; i < model->ep_count; i++) {
        const struct ml_ep *ep = &model->eps[i];
        struct fallback fallback = { model, ep, worker, true, index };

        if (!ep->requested || findings_is_cpu(ep) || (is_remote(ep) && !ep->failed))
            continue;
        if (!ep->actual && (ep->failed || (model->placement_known && !accelerated))) {
            report(input, out, &fallback, accelerated ? FINDING_MEDIUM : FINDING_HIGH);
        } else if (ep->actual && ep->nodes_known && takes_single_nodes(ep) && worker &&
                   findings_is_cpu(worker) &&
                   (double)ep->nodes < FEW_NODES * (double)model->nodes) {
            fallback.missing = false;
            report(input, out, &fallback,
                   (double)ep->nodes < VERY_FEW_NODES * (double)model->nodes ? FINDING_HIGH
                                                                             : FINDING_MEDIUM);
        }
    }
}

void rule_ep_fallback(const struct ml_input *input, struct findings *out)
{
    for (uint32_t i = 0; i < input->model_count; i++)
        look_at(input, i, out);
}
