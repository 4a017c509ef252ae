// SPDX-License-Identifier: Apache-2.0
/* run-queue-wait: inferences stand in line for a CPU instead of running. */
#include "analyze/findings/findings_internal.h"
#include "analyze/waiting.h"

/* Below a twentieth it is the ordinary life of a machine; a fifth is what users feel. Of fewer
 * inferences one bad moment may be all. */
#define INFERENCES_LEAST 5u
#define SHARE_LEAST      0.05
#define SHARE_HIGH       0.2

static void report(const struct ml_input *input, uint32_t index, struct findings *out)
{
    const struct waiting_model *model = &input->waiting->models[index];
    double share = waiting_share(model);
    double each = (double)model->ns[TIMELINE_RUNNABLE] / (double)model->inferences;
    double length = (double)model->total_ns / (double)model->inferences;
    struct finding *finding =
        finding_add(out, share >= SHARE_HIGH ? FINDING_HIGH : FINDING_MEDIUM, index);

    if (!finding)
        return;
    finding->weight_ns = (double)model->ns[TIMELINE_RUNNABLE];
    finding_title(finding, "inferences wait %s for a CPU, %s of their time",
                  finding_words_time(each).text, finding_words_share(share).text);
    finding_sentence(finding, "%s%snferences wait %s of %s for a CPU (%s).",
                     finding_words_about(input, index).text,
                     *finding_words_about(input, index).text ? "i" : "I",
                     finding_words_time(each).text, finding_words_time(length).text,
                     finding_words_share(share).text);
    finding_evidence(
        finding,
        "in %llu inferences, the thread was runnable but not running for %s of %s; the longest "
        "single wait is %s%s",
        (unsigned long long)model->inferences,
        finding_words_time((double)model->ns[TIMELINE_RUNNABLE]).text,
        finding_words_time((double)model->total_ns).text,
        finding_words_time((double)model->longest_wait_ns).text,
        input->waiting->has_wakers ? "" : "; waits after a wakeup are unknown and add to this");
    finding_fix(finding,
                "use fewer compute threads%s, or fewer other programs on these CPUs; "
                "the table thread_state of 'inferogram query' shows which thread ran when",
                finding_option(input, index, RUNTIME_FEWER_THREADS).text);
    if (model->longest != SIZE_MAX)
        finding_event(finding, &(struct ml_event){ .slice = model->longest });
    finding_number(finding, "wait_ms", each / MS);
    finding_number(finding, "inference_ms", length / MS);
    finding_number(finding, "share", share);
    finding_number(finding, "longest_ms", (double)model->longest_wait_ns / MS);
}

void rule_run_queue_wait(const struct ml_input *input, struct findings *out)
{
    for (uint32_t i = 0; input->waiting && i < input->model_count; i++) {
        const struct waiting_model *model = &input->waiting->models[i];

        if (model->inferences >= INFERENCES_LEAST && waiting_share(model) >= SHARE_LEAST)
            report(input, i, out);
    }
}
