// SPDX-License-Identifier: Apache-2.0
/* memory-peak-in-load: loading a model needs far more memory than what stays of it. */
#include "analyze/findings/findings_internal.h"
#include "analyze/memory.h"

/* A copy of the file, the parsed graph and the weights packed anew may be there at the same time:
 * it matters where it decides how much memory a machine needs. Only values every 10 ms tell. */
#define LEAST_BYTES   100e6
#define LEAST_FILES   1.5 /* more than the file of the model */
#define LEAST_RETURNS 0.3 /* of what was added is given back when the model is loaded */
#define HIGH_BYTES    1e9
#define MB            1e6

static void report(const struct ml_input *input, const struct memory_phase *load,
                   struct findings *out)
{
    const struct ml_model *model = &input->models[load->model];
    double delta = memory_delta(&load->most), stays = load->most.after - load->most.before;
    struct finding *finding =
        finding_add(out, delta >= HIGH_BYTES ? FINDING_MEDIUM : FINDING_LOW, load->model);

    if (!finding)
        return;
    finding_title(finding, "loading peaks at %.0f MB, of which %.0f MB stay", delta / MB,
                  stays / MB);
    finding_sentence(finding, "Loading %s peaks at %.0f MB, of which %.0f MB stay.",
                     finding_words_model(input, load->model).text, delta / MB, stays / MB);
    if (model->file_bytes)
        finding_evidence(
            finding,
            "resident memory of pid %u: %.0f MB before, %.0f MB at most, %.0f MB after "
            "the load; the model file has %.0f MB",
            load->pid, load->most.before / MB, load->most.peak / MB, load->most.after / MB,
            (double)model->file_bytes / MB);
    else
        finding_evidence(
            finding,
            "resident memory of pid %u: %.0f MB before, %.0f MB at most, %.0f MB after "
            "the load",
            load->pid, load->most.before / MB, load->most.peak / MB, load->most.after / MB);
    finding_fix(finding, "%s",
                finding_advice(input, load->model, RUNTIME_LOAD_SMALLER,
                               "let the runtime map the model file instead of reading it, and use "
                               "a format that needs no conversion"));
    if (load->most_slice != SIZE_MAX)
        finding_event(finding, &(struct ml_event){ .slice = load->most_slice });
    finding_number(finding, "peak_mb", delta / MB);
    finding_number(finding, "stays_mb", stays / MB);
    if (model->file_bytes)
        finding_number(finding, "file_mb", (double)model->file_bytes / MB);
}

void rule_memory_peak_in_load(const struct ml_input *input, struct findings *out)
{
    const struct memory *memory = input->memory;

    for (size_t i = 0; memory && memory->fine && i < memory->phase_count; i++) {
        const struct memory_phase *phase = &memory->phases[i];
        double delta = memory_delta(&phase->most);

        if (phase->model >= input->model_count || phase->category != TRACE_CATEGORY_LOAD ||
            phase->most.coarse || delta < LEAST_BYTES ||
            delta < LEAST_FILES * (double)input->models[phase->model].file_bytes ||
            phase->most.peak - phase->most.after < LEAST_RETURNS * delta)
            continue;
        report(input, phase, out);
    }
}
