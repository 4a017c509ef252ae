// SPDX-License-Identifier: Apache-2.0
/* slow-first-run: the first inference of a session takes much longer than those after it. */
#include "analyze/findings/findings_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/quantile.h"

/* Noise makes single inferences 1.5 times as long; twice is beyond it. Less than a millisecond no
 * user notices. Steady is the median of at least five later ones with the same shapes. */
#define TIMES_SLOWER 2.0
#define LEAST_NS     1000000u
#define MEDIUM_NS    10000000u
#define LATER_LEAST  5u

struct slow {
    const struct ml_event *first; /* of the session that lost most */
    double steady_ns;
    size_t sessions; /* that could be judged */
    size_t slow;
    double lost_ns; /* in all of them */
};

static int by_session(const void *a, const void *b)
{
    const struct ml_event *left = *(const struct ml_event *const *)a;
    const struct ml_event *right = *(const struct ml_event *const *)b;

    if (left->session != right->session)
        return left->session < right->session ? -1 : 1;
    return left < right ? -1 : left > right; /* they lie in the order of their starts */
}

static bool in_order(const struct ml_event *const *runs, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (runs[i - 1]->session > runs[i]->session)
            return false;
    return true;
}

static int by_number(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a;
    uint32_t right = *(const uint32_t *)b;

    return left < right ? -1 : left > right;
}

/* Only if its load was seen is the first inference that we see a session's first. */
static bool load_was_seen(const uint32_t *loaded, size_t count, uint32_t session)
{
    return count && (!session || bsearch(&session, loaded, count, sizeof *loaded, by_number));
}

/* runs[0 .. count) are one session's. */
static void judge(const struct ml_events *events, const struct ml_event *const *runs, size_t count,
                  uint64_t *values, struct slow *slow)
{
    const struct ml_event *first = runs[0];
    size_t later = 0;
    double steady, lost;

    if (!findings_event_counts(events, first) || first->flags & (ML_ASYNC | ML_WITH_OPS))
        return;
    for (size_t i = 1; i < count; i++)
        if (findings_event_counts(events, runs[i]) && runs[i]->detail == first->detail)
            values[later++] = runs[i]->duration_ns;
    if (later < LATER_LEAST)
        return;
    slow->sessions++;
    steady = ifg_median_u64(values, later);
    lost = (double)first->duration_ns - steady;
    if ((double)first->duration_ns < TIMES_SLOWER * steady || lost < LEAST_NS)
        return;
    slow->slow++;
    slow->lost_ns += lost;
    if (!slow->first || lost > (double)slow->first->duration_ns - slow->steady_ns) {
        slow->first = first;
        slow->steady_ns = steady;
    }
}

static void report(const struct ml_input *input, const struct ml_function *function,
                   const struct slow *slow, struct findings *out)
{
    double first = (double)slow->first->duration_ns;
    double lost = first - slow->steady_ns;
    bool builds = slow->first->flags & ML_SPECIALIZES;
    struct finding *finding =
        finding_add(out, lost >= MEDIUM_NS ? FINDING_MEDIUM : FINDING_LOW, function->model);
    char sessions[64] = "";

    if (!finding)
        return;
    if (slow->sessions > 1)
        snprintf(sessions, sizeof sessions, " (the worst of %zu of %zu sessions)", slow->slow,
                 slow->sessions);
    finding->weight_ns = slow->lost_ns;
    /* Their median is not that of the model, which has other shapes and sessions in it: two such
     * numbers beside one another contradict. */
    finding_title(finding, "the first inference takes %s, %.1f times as long as later ones%s",
                  finding_words_time(first).text, first / slow->steady_ns, sessions);
    finding_sentence(finding, "%sThe first inference takes %s, %.1f times as long as later ones.",
                     finding_words_about(input, function->model).text,
                     finding_words_time(first).text, first / slow->steady_ns);
    finding_evidence(finding,
                     "%s: %s more than the median of later inferences of the session with the same "
                     "shapes%s%s",
                     finding_words_model(input, function->model).text,
                     finding_words_time(lost).text, sessions,
                     builds ? "; a specialization lies inside it" : "");
    finding_fix(finding, builds
                             ? "run one warm-up inference with the real shapes after loading, and "
                               "keep what is compiled in it (engine cache, see cold-start)"
                             : "run one warm-up inference with the real shapes after loading, "
                               "before the first request");
    finding_event(finding, slow->first);
    finding_number(finding, "first_ms", first / MS);
    finding_number(finding, "steady_ms", slow->steady_ns / MS);
    finding_number(finding, "sessions", (double)slow->slow);
    finding_number(finding, "lost_ms", slow->lost_ns / MS);
}

static void look_at(const struct ml_input *input, const struct ml_function *function,
                    struct findings *out)
{
    const struct ml_events *events = &function->events[TRACE_CATEGORY_INFERENCE];
    const struct ml_event **runs = ifg_alloc(events->count, sizeof *runs);
    uint64_t *values = ifg_alloc(events->count, sizeof *values);
    const struct ml_event **loads;
    size_t load_count = finding_loads(input, &input->models[function->model], out, &loads);
    uint32_t *loaded = ifg_alloc(load_count, sizeof *loaded);
    struct slow slow = { 0 };

    if (!runs || !values || !loaded) {
        out->status = IFG_NO_MEMORY;
    } else if (load_count) {
        for (size_t i = 0; i < load_count; i++)
            loaded[i] = loads[i]->session;
        qsort(loaded, load_count, sizeof *loaded, by_number);
        for (size_t i = 0; i < events->count; i++)
            runs[i] = &events->items[i];
        if (!in_order((const struct ml_event *const *)runs, events->count))
            qsort(runs, events->count, sizeof *runs, by_session);
        for (size_t first = 0, end; first < events->count; first = end) {
            for (end = first + 1;
                 end < events->count && runs[end]->session == runs[first]->session;)
                end++;
            if (load_was_seen(loaded, load_count, runs[first]->session))
                judge(events, runs + first, end - first, values, &slow);
        }
        if (slow.first)
            report(input, function, &slow, out);
    }
    ifg_free(loaded);
    ifg_free((void *)loads);
    ifg_free(values);
    ifg_free((void *)runs);
}

void rule_slow_first_run(const struct ml_input *input, struct findings *out)
{
    for (size_t f = 0; f < input->function_count; f++)
        if (input->functions[f].events[TRACE_CATEGORY_INFERENCE].count > LATER_LEAST)
            look_at(input, &input->functions[f], out);
}
