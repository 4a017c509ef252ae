// SPDX-License-Identifier: Apache-2.0
/* dropped-events: part of what happened is not in the trace. */
#include "analyze/findings/findings_internal.h"

/* Any loss is said. From one in a hundred on, counts and sums of this report are wrong. */
#define HIGH_SHARE 0.01

void rule_dropped_events(const struct ml_input *input, struct findings *out)
{
    const struct timeline *timeline = input->timeline;
    double dropped = (double)timeline->dropped;
    double share = dropped / (dropped + (double)timeline->slice_count);
    struct finding *finding;

    if (!timeline->dropped)
        return;
    finding = finding_add(out, share >= HIGH_SHARE ? FINDING_HIGH : FINDING_LOW, TIMELINE_NONE);
    finding_title(finding, "%llu events were dropped, %s of all",
                  (unsigned long long)timeline->dropped, finding_words_share(share).text);
    finding_sentence(finding, "%llu events (%s) were dropped while recording: counts are too low.",
                     (unsigned long long)timeline->dropped, finding_words_share(share).text);
    finding_evidence(finding, "%llu dropped, %zu slices recorded",
                     (unsigned long long)timeline->dropped, timeline->slice_count);
    finding_fix(finding, "record with --lossless (the program waits instead), or record less: no "
                         "--ops, fewer zones");
    finding_number(finding, "dropped", dropped);
    finding_number(finding, "share", share);
}
