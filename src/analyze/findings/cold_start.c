// SPDX-License-Identifier: Apache-2.0
/* cold-start: a load that specializes (optimizes, compiles) the model, again at every start. */
#include "analyze/findings/findings_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "trace/keys.h"

/* People notice 200 ms. Below, a cold load matters if it is at least 50 ms and a good part of what
 * lies between the start of the process and its first answer. */
#define NOTICED_NS    200000000u
#define LEAST_NS      50000000u
#define STARTUP_SHARE 0.3

/* Where it is known how much of the load is specialization, that much must be. Else a precompiled
 * model would change little. */
#define SPECIALIZATION_SHARE 0.2

#define HIGH_NS 1000000000u

/* From the start of the process to the end of its first inference; 0: not known. */
static uint64_t startup_of(const struct ml_input *input, uint32_t process)
{
    uint64_t first = UINT64_MAX;
    uint64_t start;

    for (size_t f = 0; f < input->function_count; f++) {
        const struct ml_events *runs = &input->functions[f].events[TRACE_CATEGORY_INFERENCE];

        if (input->models[input->functions[f].model].model->process == process && runs->count &&
            runs->items[0].start_ns + runs->items[0].duration_ns < first)
            first = runs->items[0].start_ns + runs->items[0].duration_ns;
    }
    if (first == UINT64_MAX || process >= input->timeline->process_count)
        return 0;
    start = input->timeline->processes[process].start_ns;
    return start && start < first ? first - start : 0;
}

static bool runs_on(const struct ml_model *model, const char *part)
{
    for (size_t i = 0; i < model->ep_count; i++) {
        char name[64];

        if (model->eps[i].actual &&
            strstr(findings_ep_name(&model->eps[i], name, sizeof name), part))
            return true;
    }
    return false;
}

/* What keeps the specialized model, by provider. */
static const char *fix_for(const struct ml_input *input, uint32_t index)
{
    const struct runtime *runtime = finding_runtime(input, index);
    const struct runtime_keep *keep = runtime ? runtime->keep : NULL;

    if (!keep)
        return "specialize it once, ahead of time, and load the result";
    while (keep->device && !runs_on(&input->models[index], keep->device))
        keep++;
    return keep->advice;
}

static void report(const struct ml_input *input, uint32_t index, const struct ml_event *load,
                   uint64_t startup, struct findings *out)
{
    struct finding *finding =
        finding_add(out, load->duration_ns >= HIGH_NS ? FINDING_HIGH : FINDING_MEDIUM, index);
    double duration = (double)load->duration_ns;
    double part = (double)load->specialization_ns;
    char of_startup[128] = "";
    char of_load[96] = "";

    if (!finding)
        return;
    if (startup >= load->duration_ns)
        snprintf(of_startup, sizeof of_startup, ", %s of the %s until the first inference is done",
                 finding_words_share(duration / (double)startup).text,
                 finding_words_time((double)startup).text);
    if (load->specialization_ns)
        snprintf(of_load, sizeof of_load, ", %s of it for specialization",
                 finding_words_time(part).text);
    finding->weight_ns = load->specialization_ns ? part : duration;
    finding_title(finding, "a cold load takes %s%s", finding_words_time(duration).text, of_load);
    finding_sentence(finding, "%sA cold load takes %s%s: this happens at every start.",
                     finding_words_about(input, index).text, finding_words_time(duration).text,
                     *of_startup ? of_startup : of_load);
    finding_evidence(finding, "load of %s: %s%s%s; cold because: %.200s",
                     finding_words_model(input, index).text, finding_words_time(duration).text,
                     of_load, of_startup,
                     *findings_event_text(input, load, TRACE_KEY_WHY)
                         ? findings_event_text(input, load, TRACE_KEY_WHY)
                         : "the program reports it");
    finding_fix(finding, "%s", fix_for(input, index));
    finding_event(finding, load);
    finding_number(finding, "load_ms", duration / MS);
    if (load->specialization_ns)
        finding_number(finding, "specialization_ms", part / MS);
    if (startup)
        finding_number(finding, "startup_ms", (double)startup / MS);
}

void rule_cold_start(const struct ml_input *input, struct findings *out)
{
    for (uint32_t i = 0; i < input->model_count; i++) {
        const struct ml_event **loads;
        size_t count = finding_loads(input, &input->models[i], out, &loads);
        const struct ml_event *first = NULL;
        uint64_t startup = 0;

        for (size_t l = 0; l < count && !first; l++)
            if (strcmp(loads[l]->detail, "cold") == 0)
                first = loads[l];
        if (first && first->duration_ns >= LEAST_NS)
            startup = startup_of(input, input->models[i].model->process);
        if (first &&
            (first->duration_ns >= NOTICED_NS ||
             (first->duration_ns >= LEAST_NS && startup &&
              (double)first->duration_ns >= STARTUP_SHARE * (double)startup)) &&
            (!first->specialization_ns ||
             (double)first->specialization_ns >= SPECIALIZATION_SHARE * (double)first->duration_ns))
            report(input, i, first, startup, out);
        ifg_free((void *)loads);
    }
}
