// SPDX-License-Identifier: Apache-2.0
/* setup-heavy: preparing inputs takes a good part of the time that inferences take. */
#include "analyze/findings/findings_internal.h"

/* A fifth of the inference's time, by sums and by medians, so that a single slow one proves
 * nothing; often enough to be a habit; and at least 1 % of the recording. */
#define SHARE_OF_INFERENCE 0.2
#define HIGH_SHARE         0.5
#define COUNT_LEAST        20u
#define SHARE_OF_RUN       0.01

void rule_setup_heavy(const struct ml_input *input, struct findings *out)
{
    for (size_t f = 0; f < input->function_count; f++) {
        const struct ml_function *function = &input->functions[f];
        const struct ml_timing *setup = &function->events[TRACE_CATEGORY_SETUP].timing;
        const struct ml_timing *runs = &function->events[TRACE_CATEGORY_INFERENCE].timing;
        double share = (double)setup->total_ns / (double)(runs->total_ns ? runs->total_ns : 1);
        struct finding *finding;

        if (setup->count < COUNT_LEAST || runs->count < COUNT_LEAST || share < SHARE_OF_INFERENCE ||
            setup->share < SHARE_OF_RUN ||
            !(setup->median_ns >= SHARE_OF_INFERENCE * runs->median_ns))
            continue;
        finding =
            finding_add(out, share >= HIGH_SHARE ? FINDING_HIGH : FINDING_MEDIUM, function->model);
        finding_title(finding, "setup takes %s per inference of %s",
                      finding_words_time(setup->median_ns).text,
                      finding_words_time(runs->median_ns).text);
        finding_sentence(finding, "%sPreparing inputs takes %s, inferences %s.",
                         finding_words_about(input, function->model).text,
                         finding_words_time((double)setup->total_ns).text,
                         finding_words_time((double)runs->total_ns).text);
        finding_evidence(finding, "%llu setups, %s in all: %s of the time of %llu inferences (%s)",
                         (unsigned long long)setup->count,
                         finding_words_time((double)setup->total_ns).text,
                         finding_words_share(share).text, (unsigned long long)runs->count,
                         finding_words_time((double)runs->total_ns).text);
        finding_fix(finding, "%s",
                    finding_advice(input, function->model, RUNTIME_REUSE_INPUTS,
                                   "allocate inputs and outputs once and reuse them"));
        finding_number(finding, "setup_ms", (double)setup->total_ns / MS);
        finding_number(finding, "inference_ms", (double)runs->total_ns / MS);
        finding_number(finding, "share", share);
        for (size_t i = 0; i < function->events[TRACE_CATEGORY_SETUP].count && i < 3; i++)
            finding_event(finding, &function->events[TRACE_CATEGORY_SETUP].items[i]);
        if (finding)
            finding->weight_ns = (double)setup->total_ns;
    }
}
