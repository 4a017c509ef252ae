// SPDX-License-Identifier: Apache-2.0
/* policy-fallback: the selection policy names an NPU or a GPU, and everything runs on the CPU. */
#include "analyze/findings/findings_internal.h"

#include <string.h>

/* No threshold: only policies that name a kind of device are judged, and only if no node runs on
 * anything but the CPU. MAX_PERFORMANCE and the like may choose the CPU for good reasons. */
static const char *device_of(const char *policy)
{
    return strstr(policy, "NPU") ? "NPU" : strstr(policy, "GPU") ? "GPU" : NULL;
}

void rule_policy_fallback(const struct ml_input *input, struct findings *out)
{
    for (uint32_t i = 0; i < input->model_count; i++) {
        const struct ml_model *model = &input->models[i];
        const char *device = device_of(model->policy);
        struct finding *finding;
        bool elsewhere = false;

        for (size_t e = 0; e < model->ep_count; e++)
            elsewhere |= model->eps[e].actual && !findings_is_cpu(&model->eps[e]);
        if (!device || !model->placement_known || elsewhere)
            continue;
        finding = finding_add(out, FINDING_HIGH, i);
        if (!finding)
            continue;
        finding->weight_ns = (double)model->total_ns;
        finding_title(finding, "the policy %.60s requests the %s, but everything runs on the CPU",
                      model->policy, device);
        finding_sentence(finding,
                         "%sThe policy %.60s requests the %s, but the CPU does all the work.",
                         finding_words_about(input, i).text, model->policy, device);
        finding_evidence(finding, "policy: %.60s; runs on: %.200s%s%s", model->policy,
                         model->model->actual_devices, *model->source ? ", by " : "",
                         model->source);
        finding_fix(finding,
                    "register the library of a provider for the %s "
                    "(RegisterExecutionProviderLibrary) before the policy is set; GetEpDevices "
                    "lists the available devices",
                    device);
        for (size_t f = 0; f < model->function_count; f++) {
            const struct ml_events *loads =
                &input->functions[model->first_function + f].events[TRACE_CATEGORY_LOAD];

            for (size_t l = 0; l < loads->count; l++)
                finding_event(finding, &loads->items[l]);
        }
        if (model->nodes_known)
            finding_number(finding, "nodes", (double)model->nodes);
    }
}
