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
    for (uint32_t i = 0; i < input->net_count; i++) {
        const struct ml_net *net = &input->nets[i];
        const char *device = device_of(net->policy);
        struct finding *finding;
        bool elsewhere = false;

        for (size_t e = 0; e < net->ep_count; e++)
            elsewhere |= net->eps[e].actual && !ml_is_cpu(&net->eps[e]);
        if (!device || !net->placement_known || elsewhere)
            continue;
        finding = finding_add(out, FINDING_HIGH, i);
        if (!finding)
            continue;
        finding->weight_ns = (double)net->total_ns;
        finding_title(finding, "the policy %.60s asks for the %s, everything runs on the CPU",
                      net->policy, device);
        finding_sentence(finding, "%sThe policy %.60s asks for the %s, the CPU does all the work.",
                         words_about(input, i).text, net->policy, device);
        finding_evidence(finding, "policy: %.60s; runs on: %.200s%s%s", net->policy,
                         net->net->actual_devices, *net->source ? ", by " : "", net->source);
        finding_fix(finding,
                    "register the library of a provider for the %s "
                    "(RegisterExecutionProviderLibrary) before the policy is set; GetEpDevices "
                    "lists what there is to choose from",
                    device);
        for (size_t f = 0; f < net->function_count; f++) {
            const struct ml_events *loads =
                &input->functions[net->first_function + f].events[TRACE_CATEGORY_LOAD];

            for (size_t l = 0; l < loads->count; l++)
                finding_event(finding, &loads->items[l]);
        }
        if (net->nodes_known)
            finding_number(finding, "nodes", (double)net->nodes);
    }
}
