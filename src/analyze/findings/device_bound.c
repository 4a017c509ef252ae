// SPDX-License-Identifier: Apache-2.0
/* device-bound: the device works nearly all the time; only less or faster work on it helps. */
#include "analyze/findings/findings_internal.h"

#include "analyze/device_use.h"

/* Busy, for this inference or for others, for 85 % of the time from its start to its last result:
 * what is left is a launch before and a fetch behind. */
#define COUNT_LEAST 20u
#define BUSY_LEAST  0.85

static void look_at(const struct ml_input *input, uint32_t model, struct findings *out)
{
    const struct device_model *device = device_model_of(input, &input->models[model]);
    const struct device_time *time = device ? &device->steady : NULL;
    const struct device_kernel *top = NULL;
    struct finding *finding;
    char name[80] = "";
    double count, busy;

    if (!time || time->slices < COUNT_LEAST)
        return;
    count = (double)time->slices;
    busy = (double)(time->busy_ns + time->foreign_ns) / (double)time->span_ns;
    if (!(busy >= BUSY_LEAST) || time->copy_ns > time->kernel_ns)
        return; /* copy-bound says it */
    if (device->kernels && device->kernels->row_count)
        top = &device->kernels->rows[0];
    finding = finding_add(out, FINDING_LOW, model);
    if (!finding)
        return;
    finding->weight_ns = (double)time->busy_ns;
    finding_title(finding, "the device is busy for %s of an inference",
                  finding_words_share(busy).text);
    finding_sentence(finding,
                     "%sThe device is busy for %s of an inference; the host is not what "
                     "limits it.",
                     finding_words_about(input, model).text, finding_words_share(busy).text);
    finding_evidence(
        finding,
        "mean of %llu inferences: %s from start to last result, device busy with it "
        "%s, with other work %s; %s%s%s",
        (unsigned long long)time->slices, finding_words_time((double)time->span_ns / count).text,
        finding_words_time((double)time->busy_ns / count).text,
        finding_words_time((double)time->foreign_ns / count).text,
        top ? device_short_name(top->name, name, sizeof name) : "no kernel",
        top ? " takes most of it: " : "", top ? finding_words_share(top->share).text : "");
    finding_fix(finding, "give the device less to do: half precision or quantization, fused "
                         "kernels; or use a faster device. Faster code on the host gains nothing");
    finding_inferences(input, model, finding);
    finding_number(finding, "busy_ms", (double)time->busy_ns / count / MS);
    finding_number(finding, "span_ms", (double)time->span_ns / count / MS);
    finding_number(finding, "share", busy);
    finding_number(finding, "count", count);
}

void rule_device_bound(const struct ml_input *input, struct findings *out)
{
    for (uint32_t m = 0; m < input->model_count; m++)
        look_at(input, m, out);
}
