// SPDX-License-Identifier: Apache-2.0
/* small-kernels: an inference consists of many kernels that take less time than launching them. */
#include "analyze/findings/findings_internal.h"

#include "analyze/device_use.h"

/* A launch takes 2 to 5 us on the host, and a kernel cannot begin sooner than some 2 us after the
 * one before: half of the kernels being shorter than 5 us, it is launches that are paid for. */
#define COUNT_LEAST   20u
#define KERNELS_LEAST 20.0
#define SMALL_NS      5000.0
#define GAP_MEDIUM    0.2

/* The median duration of all kernels of a model, by the medians of its kernels. */
static double median_kernel(const struct device_kernels *kernels, double *out_small)
{
    uint64_t all = 0, small = 0, below = 0;
    double median = 0;

    for (size_t i = 0; i < kernels->row_count; i++)
        if (kernels->rows[i].kind == TIMELINE_WORK_KERNEL) {
            all += kernels->rows[i].count;
            small +=
                kernels->rows[i].percentile_ns[STATS_P50] < SMALL_NS ? kernels->rows[i].count : 0;
        }
    *out_small = all ? (double)small / (double)all : 0;
    /* Rows are few: the smallest value with half of all at or below it. */
    for (size_t i = 0; i < kernels->row_count; i++) {
        double value = kernels->rows[i].percentile_ns[STATS_P50];

        below = 0;
        for (size_t k = 0; k < kernels->row_count; k++)
            if (kernels->rows[k].kind == TIMELINE_WORK_KERNEL &&
                kernels->rows[k].percentile_ns[STATS_P50] <= value)
                below += kernels->rows[k].count;
        if (kernels->rows[i].kind == TIMELINE_WORK_KERNEL && below * 2 >= all &&
            (median == 0 || value < median))
            median = value;
    }
    return median;
}

static void look_at(const struct ml_input *input, uint32_t model, struct findings *out)
{
    const struct device_model *device = device_model_of(input, &input->models[model]);
    const struct device_time *time = device ? &device->steady : NULL;
    struct finding *finding;
    double count, kernels, median, small, gap;

    if (!time || time->slices < COUNT_LEAST || !device->kernels)
        return;
    count = (double)time->slices;
    kernels = (double)time->kernels / count;
    median = median_kernel(device->kernels, &small);
    gap = (double)time->launch_gap_ns / (double)time->span_ns;
    if (kernels < KERNELS_LEAST || !(median < SMALL_NS) || small < 0.5)
        return;
    finding = finding_add(out, gap >= GAP_MEDIUM ? FINDING_MEDIUM : FINDING_LOW, model);
    if (!finding)
        return;
    finding->weight_ns = (double)time->launch_gap_ns;
    finding_title(finding, "%.0f kernels per inference, half of them shorter than %s", kernels,
                  finding_words_time(SMALL_NS).text);
    finding_sentence(finding,
                     "%sAn inference runs %.0f kernels, most of them shorter than it takes to "
                     "launch one.",
                     finding_words_about(input, model).text, kernels);
    finding_evidence(finding,
                     "median kernel %s, %s of them under %s; between kernels the device is idle "
                     "for %s of an inference",
                     finding_words_time(median).text, finding_words_share(small).text,
                     finding_words_time(SMALL_NS).text, finding_words_share(gap).text);
    finding_fix(finding, "%s",
                finding_advice(input, model, RUNTIME_LAUNCH_LESS,
                               "fuse operators (torch.compile, TensorRT), launch them as one CUDA "
                               "graph, or give each inference a larger batch"));
    finding_inferences(input, model, finding);
    finding_number(finding, "kernels", kernels);
    finding_number(finding, "median_us", median / 1e3);
    finding_number(finding, "gap_ms", (double)time->launch_gap_ns / count / MS);
    finding_number(finding, "share", small);
    finding_number(finding, "count", count);
}

void rule_small_kernels(const struct ml_input *input, struct findings *out)
{
    for (uint32_t m = 0; m < input->model_count; m++)
        look_at(input, m, out);
}
