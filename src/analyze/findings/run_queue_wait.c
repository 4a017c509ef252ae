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
    finding_title(finding, "inferences wait %s for a CPU, %s of their time", words_time(each).text,
                  words_share(share).text);
    finding_sentence(finding, "%s%snferences wait %s of %s for a CPU (%s).",
                     words_about(input, index).text, *words_about(input, index).text ? "i" : "I",
                     words_time(each).text, words_time(length).text, words_share(share).text);
    finding_evidence(
        finding,
        "of %llu inferences the thread could run but did not for %s of %s; the "
        "longest wait in one is %s%s",
        (unsigned long long)model->inferences,
        words_time((double)model->ns[TIMELINE_RUNNABLE]).text,
        words_time((double)model->total_ns).text, words_time((double)model->longest_wait_ns).text,
        input->waiting->has_wakers ? "" : "; waits after a wake-up are not known and come on top");
    finding_fix(
        finding,
        "fewer threads that compute at a time (SetIntraOpNumThreads, intra_op_num_threads), "
        "or fewer other programs on these CPUs; 'inferogram query' has who ran when in "
        "thread_state");
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
