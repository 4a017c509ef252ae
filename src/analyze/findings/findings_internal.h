// SPDX-License-Identifier: Apache-2.0
/* What rules use to say what they found. Everything accepts the NULL that finding_add may give. */
#ifndef IFG_ANALYZE_FINDINGS_FINDINGS_INTERNAL_H
#define IFG_ANALYZE_FINDINGS_FINDINGS_INTERNAL_H

#include "analyze/findings/findings.h"
#include "runtimes/runtimes.h"

#define MS 1e6

struct finding_rule {
    const char *id;
    void (*run)(const struct ml_input *input, struct findings *out);
};

/* Where a model runs comes first, whatever else there is. */
#define FINDING_PLACEMENT_RULES 2u

struct finding *finding_add(struct findings *out, enum finding_severity severity, uint32_t model);
void finding_title(struct finding *finding, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void finding_sentence(struct finding *finding, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void finding_evidence(struct finding *finding, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void finding_fix(struct finding *finding, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void finding_event(struct finding *finding, const struct ml_event *event);
void finding_slice(struct finding *finding, size_t slice);
void finding_number(struct finding *finding, const char *key, double value);

/* The inferences of a model that count. */
void finding_inferences(const struct ml_input *input, uint32_t model, struct finding *finding);

/* "15.1 ms"; "6.6 %". */
struct words {
    char text[32];
};
struct words finding_words_time(double ns);
struct words finding_words_share(double share);

/* The name of a model, short enough for a line. */
struct words_name {
    char text[64];
};
struct words_name finding_words_model(const struct ml_input *input, uint32_t model);

/* "ocr: " if there are several models, else "": the begin of a sentence about one. */
struct words_name finding_words_about(const struct ml_input *input, uint32_t model);

/* The loads of a model that went well and are not part of another one: *out_events is the caller's
 * to free. IFG_NO_MEMORY goes into out->status. */
size_t finding_loads(const struct ml_input *input, const struct ml_model *model,
                     struct findings *out, const struct ml_event ***out_events);

/* The runtime of a model, or with TIMELINE_NONE that of all models; NULL: it is not known, or there
 * are several. Only where it is known may a fix name its options. */
const struct runtime *finding_runtime(const struct ml_input *input, uint32_t model);

/* What that runtime advises; NULL or `otherwise`: nothing. */
const char *finding_advice(const struct ml_input *input, uint32_t model, enum runtime_advice what,
                           const char *otherwise);

/* The same in parentheses, after what it is an option for: " (OPTION)", or "". */
struct words_option {
    char text[96];
};
struct words_option finding_option(const struct ml_input *input, uint32_t model,
                                   enum runtime_advice what);

/* The rules, in the order in which they run. */
void rule_ep_fallback(const struct ml_input *input, struct findings *out);
void rule_policy_fallback(const struct ml_input *input, struct findings *out);
void rule_failed_runs(const struct ml_input *input, struct findings *out);
void rule_repeated_load(const struct ml_input *input, struct findings *out);
void rule_cold_start(const struct ml_input *input, struct findings *out);
void rule_slow_first_run(const struct ml_input *input, struct findings *out);
void rule_reshaping(const struct ml_input *input, struct findings *out);
void rule_oversubscription(const struct ml_input *input, struct findings *out);
void rule_run_queue_wait(const struct ml_input *input, struct findings *out);
void rule_spinning(const struct ml_input *input, struct findings *out);
void rule_uneven_latency(const struct ml_input *input, struct findings *out);
void rule_setup_heavy(const struct ml_input *input, struct findings *out);
void rule_pre_post_heavy(const struct ml_input *input, struct findings *out);
void rule_host_bound(const struct ml_input *input, struct findings *out);
void rule_device_bound(const struct ml_input *input, struct findings *out);
void rule_copy_bound(const struct ml_input *input, struct findings *out);
void rule_sync_in_inference(const struct ml_input *input, struct findings *out);
void rule_small_kernels(const struct ml_input *input, struct findings *out);
void rule_first_run_autotune(const struct ml_input *input, struct findings *out);
void rule_many_small_runs(const struct ml_input *input, struct findings *out);
void rule_quantized_slower(const struct ml_input *input, struct findings *out);
void rule_throttled(const struct ml_input *input, struct findings *out);
void rule_memory_growth(const struct ml_input *input, struct findings *out);
void rule_memory_peak_in_load(const struct ml_input *input, struct findings *out);
void rule_heap_churn(const struct ml_input *input, struct findings *out);
void rule_page_faults(const struct ml_input *input, struct findings *out);
void rule_noisy_neighbour(const struct ml_input *input, struct findings *out);
void rule_noisy_host(const struct ml_input *input, struct findings *out);
void rule_dropped_events(const struct ml_input *input, struct findings *out);

#endif
