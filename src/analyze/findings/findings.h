// SPDX-License-Identifier: Apache-2.0
/*
 * What is wrong, according to rules: each finding has an id, what was seen (numbers and events),
 * and what to do about it. The rules and their thresholds are in docs/findings.md.
 */
#ifndef IFG_ANALYZE_FINDINGS_FINDINGS_H
#define IFG_ANALYZE_FINDINGS_FINDINGS_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/findings/input.h"
#include "base/status.h"

#define FINDING_EVENTS  16u /* that are named; all are counted */
#define FINDING_NUMBERS 8u
#define FINDINGS_MAX    500u

enum finding_severity { FINDING_LOW, FINDING_MEDIUM, FINDING_HIGH };

struct finding_number {
    const char *key; /* with its unit: "saved_ms" */
    double value;
};

struct finding {
    const char *id;
    enum finding_severity severity;
    uint32_t model;     /* TIMELINE_NONE: not about one model */
    double weight_ns;   /* how much time it is about; orders findings of one severity */
    char title[240];    /* what, in one line, small first letter, no full stop */
    char sentence[320]; /* the same as a whole sentence with its model, for the head of a report */
    char evidence[480]; /* what was seen and compared with what */
    char fix[480];      /* the exact option or call */
    size_t events[FINDING_EVENTS]; /* slices */
    size_t event_count;            /* of all that are meant */
    struct finding_number numbers[FINDING_NUMBERS];
    size_t number_count;
};

struct findings {
    struct finding *items; /* where the work is done first, then by severity and weight */
    size_t count;
    size_t capacity;
    size_t not_kept; /* beyond FINDINGS_MAX */
    enum ifg_status status;
};

enum ifg_status findings_create(const struct ml_input *input, struct findings **out_findings,
                                struct ifg_error *err) IFG_MUST_CHECK;
void findings_destroy(struct findings *findings);

const char *finding_severity_name(enum finding_severity severity);

/* The ids of all rules, for documents and tests; NULL behind the last. */
const char *finding_rule_id(size_t index);

#endif
