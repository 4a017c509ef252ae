// SPDX-License-Identifier: Apache-2.0
/* repeated-load: one process loads the same model with the same providers and options again. */
#include "analyze/findings/findings_internal.h"

#include <string.h>

#include "base/alloc.h"
#include "base/quantile.h"

/* Any second load is a finding: nothing but a mistake, or a choice that should be known, makes one.
 * How bad it is says the share of the recording that goes into loads after the first. */
#define HIGH_SHARE   0.05
#define MEDIUM_SHARE 0.01

static void look_at(const struct ml_input *input, uint32_t index, struct findings *out)
{
    const struct ml_model *model = &input->models[index];
    const struct ml_event **loads;
    size_t count = finding_loads(input, model, out, &loads);
    uint64_t *values = count > 1 ? ifg_alloc(count, sizeof *values) : NULL;
    struct finding *finding = NULL;
    uint64_t total = 0;

    if (values) {
        uint64_t saved;
        double median, share;

        for (size_t i = 0; i < count; i++) {
            values[i] = loads[i]->duration_ns;
            total += values[i];
        }
        saved = total - values[0];
        median = ifg_median_u64(values, count);
        share = (double)saved / (double)input->duration_ns;
        finding = finding_add(out,
                              share >= HIGH_SHARE     ? FINDING_HIGH
                              : share >= MEDIUM_SHARE ? FINDING_MEDIUM
                                                      : FINDING_LOW,
                              index);
        finding_title(finding, "the same model is loaded %zu times, %s each", count,
                      finding_words_time(median).text);
        finding_sentence(
            finding, "%s is loaded %zu times: %s of %s (%s) goes into reloading it.",
            input->model_count > 1 ? finding_words_model(input, index).text : "The model", count,
            finding_words_time((double)saved).text,
            finding_words_time((double)input->duration_ns).text, finding_words_share(share).text);
        finding_evidence(finding,
                         "%zu loads of %s (%s) in process %u: %s in all, the first took %s", count,
                         finding_words_model(input, index).text,
                         *model->model->content_id ? "same content, providers and options"
                                                   : "same path; its content was not read",
                         model->model->process < input->timeline->process_count
                             ? input->timeline->processes[model->model->process].pid
                             : 0,
                         finding_words_time((double)total).text,
                         finding_words_time((double)loads[0]->duration_ns).text);
        finding_fix(finding,
                    "keep one session: create it once and reuse it (it may run on several threads "
                    "at a time); saves %s of this run",
                    finding_words_time((double)saved).text);
        for (size_t i = 0; i < count; i++)
            finding_event(finding, loads[i]);
        finding_number(finding, "count", (double)count);
        finding_number(finding, "median_ms", median / MS);
        finding_number(finding, "total_ms", (double)total / MS);
        finding_number(finding, "saved_ms", (double)saved / MS);
        if (finding)
            finding->weight_ns = (double)saved;
    } else if (count > 1) {
        out->status = IFG_NO_MEMORY;
    }
    ifg_free(values);
    ifg_free((void *)loads);
}

void rule_repeated_load(const struct ml_input *input, struct findings *out)
{
    for (uint32_t i = 0; i < input->model_count; i++)
        look_at(input, i, out);
}
