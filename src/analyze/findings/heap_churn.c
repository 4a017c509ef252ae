// SPDX-License-Identifier: Apache-2.0
/* heap-churn: every inference allocates much memory that is freed again. */
#include "analyze/findings/findings_internal.h"

#include <math.h>

#include "analyze/heap.h"

/* Large blocks come from the system and go back to it: each page costs a fault, half a microsecond
 * or more, the next time. 10 MB are 2,400 pages. Estimates must be good to a fifth. */
#define LEAST_BYTES 10e6
#define HIGH_SHARE  0.1
#define LEAST_RUNS  5u
#define MOST_ERROR  0.2
#define PAGE_BYTES  4096.0
#define FAULT_NS    500.0
#define MB          1e6

static double inference_ns(const struct ml_input *input, uint32_t model, uint64_t *out_count)
{
    double total = 0;

    *out_count = 0;
    for (size_t f = 0; f < input->models[model].function_count; f++) {
        const struct ml_events *runs = &input->functions[input->models[model].first_function + f]
                                            .events[TRACE_CATEGORY_INFERENCE];

        for (size_t i = 0; i < runs->count; i++) {
            if (runs->items[i].flags & ML_NESTED)
                continue;
            total += (double)runs->items[i].duration_ns;
            (*out_count)++;
        }
    }
    return total;
}

static void report(const struct ml_input *input, const struct heap_churn *churn,
                   struct findings *out)
{
    double runs = (double)churn->inferences, each = churn->freed.bytes / runs;
    uint64_t count;
    double total_ns = inference_ns(input, churn->model, &count);
    double cost_ns = each / PAGE_BYTES * FAULT_NS;
    double mean_ns = count ? total_ns / (double)count : 0;
    struct finding *finding = finding_add(
        out, cost_ns > HIGH_SHARE * mean_ns ? FINDING_MEDIUM : FINDING_LOW, churn->model);

    if (!finding)
        return;
    finding->weight_ns = fmin(cost_ns * runs, (double)input->duration_ns);
    finding_title(finding, "each inference allocates %.0f MB and frees it again", each / MB);
    finding_sentence(finding, "Each inference of %s allocates %.0f MB and frees it again.",
                     finding_words_model(input, churn->model).text, each / MB);
    finding_evidence(finding,
                     "%.1f ± %.1f MB for each of %llu inferences after the first, estimated from "
                     "%llu allocations; of %.1f MB allocated in an inference. If the pages come "
                     "from the system each time, that is about %s",
                     each / MB, heap_error(&churn->freed) / runs / MB,
                     (unsigned long long)churn->inferences, (unsigned long long)churn->freed.count,
                     churn->allocated.bytes / runs / MB, finding_words_time(cost_ns).text);
    finding_fix(finding, "%s; inferogram stats --by allocation --sort total shows what allocates",
                finding_advice(input, churn->model, RUNTIME_REUSE_MEMORY,
                               "reuse buffers between inferences"));
    finding_number(finding, "mb_per_inference", each / MB);
    finding_number(finding, "error_mb", heap_error(&churn->freed) / runs / MB);
    finding_number(finding, "inferences", runs);
}

void rule_heap_churn(const struct ml_input *input, struct findings *out)
{
    const struct heap_use *heap = input->heap;

    for (size_t i = 0; heap && i < heap->churn_count; i++) {
        const struct heap_churn *churn = &heap->churns[i];

        if (churn->inferences >= LEAST_RUNS &&
            churn->freed.bytes >= LEAST_BYTES * (double)churn->inferences &&
            heap_error(&churn->freed) <= MOST_ERROR * churn->freed.bytes)
            report(input, churn, out);
    }
}
