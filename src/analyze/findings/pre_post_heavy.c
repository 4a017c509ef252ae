// SPDX-License-Identifier: Apache-2.0
/* pre-post-heavy: most of a request's time is not the model's. */
#include "analyze/findings/findings_internal.h"

#include <string.h>
#include <strings.h>

/* More than half outside the model: making the model faster would help less than the rest. Ten
 * requests, so that it is not the first one's cost. */
#define SHARE_OUTSIDE  0.5
#define REQUESTS_LEAST 10u

static bool is_inference(const char *stage)
{
    return strcasecmp(stage, "inference") == 0 || strcasecmp(stage, "infer") == 0 ||
           strcasecmp(stage, "run") == 0 || strcasecmp(stage, "predict") == 0;
}

static void look_at_stages(const struct ml_input *input, struct findings *out)
{
    const struct ml_stage *longest = NULL;
    double inside = 0, outside = 0;
    struct finding *finding;

    for (size_t i = 0; i < input->stage_count; i++) {
        const struct ml_stage *stage = &input->stages[i];

        if (is_inference(stage->name)) {
            inside += (double)stage->self_ns;
            continue;
        }
        outside += (double)stage->self_ns;
        if (!longest || stage->self_ns > longest->self_ns)
            longest = stage;
    }
    /* Without a stage for the inference it is not known which stage holds it. */
    if (!longest || !(inside > 0) || input->requests < REQUESTS_LEAST ||
        outside <= SHARE_OUTSIDE * (inside + outside))
        return;
    finding = finding_add(out, FINDING_MEDIUM, TIMELINE_NONE);
    if (!finding)
        return;
    finding->weight_ns = outside;
    finding_title(finding, "%s of a request is not inference; most of it is '%.60s'",
                  finding_words_share(outside / (inside + outside)).text, longest->name);
    finding_sentence(finding,
                     "%s of each request is spent outside the model, most of it in '%.60s'.",
                     finding_words_share(outside / (inside + outside)).text, longest->name);
    finding_evidence(finding, "stages of %llu requests: %s inference, %s others, '%.60s' alone %s",
                     (unsigned long long)input->requests, finding_words_time(inside).text,
                     finding_words_time(outside).text, longest->name,
                     finding_words_time((double)longest->self_ns).text);
    finding_fix(finding,
                "make '%.60s' faster, or overlap it with the inference of the previous request: it "
                "limits this program",
                longest->name);
    finding_number(finding, "requests", (double)input->requests);
    finding_number(finding, "inference_ms", inside / MS);
    finding_number(finding, "others_ms", outside / MS);
}

static void look_at_zones(const struct ml_input *input, const struct ml_function *function,
                          struct findings *out)
{
    const struct ml_request *request = &function->request;
    double inside = (double)request->inference_ns;
    double outside = (double)request->before_ns + (double)request->after_ns;
    double count = (double)request->count;
    struct finding *finding;

    if (request->count < REQUESTS_LEAST || outside <= SHARE_OUTSIDE * (inside + outside))
        return;
    finding = finding_add(out, FINDING_MEDIUM, function->model);
    if (!finding)
        return;
    finding->weight_ns = outside;
    finding_title(finding, "%s of a request is not inference: %s before, %s after",
                  finding_words_share(outside / (inside + outside)).text,
                  finding_words_time((double)request->before_ns / count).text,
                  finding_words_time((double)request->after_ns / count).text);
    finding_sentence(finding, "%s%s of each request is spent outside the model.",
                     finding_words_about(input, function->model).text,
                     finding_words_share(outside / (inside + outside)).text);
    finding_evidence(
        finding,
        "%llu zones with one inference of %s inside; means: %s before it, %s in it, %s "
        "after it",
        (unsigned long long)request->count, finding_words_model(input, function->model).text,
        finding_words_time((double)request->before_ns / count).text,
        finding_words_time(inside / count).text,
        finding_words_time((double)request->after_ns / count).text);
    finding_fix(finding, "%s",
                request->before_ns > request->after_ns
                    ? "preparation limits this program: make it faster, or overlap it with the "
                      "inference of the previous request"
                    : "what follows the inference limits this program: make it faster, or overlap "
                      "it with the next inference");
    finding_number(finding, "requests", count);
    finding_number(finding, "before_ms", (double)request->before_ns / count / MS);
    finding_number(finding, "inference_ms", inside / count / MS);
    finding_number(finding, "after_ms", (double)request->after_ns / count / MS);
}

void rule_pre_post_heavy(const struct ml_input *input, struct findings *out)
{
    if (input->stage_count) {
        look_at_stages(input, out);
        return;
    }
    for (size_t f = 0; f < input->function_count; f++)
        look_at_zones(input, &input->functions[f], out);
}
