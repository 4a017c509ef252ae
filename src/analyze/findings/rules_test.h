// SPDX-License-Identifier: Apache-2.0
/* What the tests of rules share: a trace by hand, the findings in it. */
#ifndef IFG_ANALYZE_FINDINGS_RULES_TEST_H
#define IFG_ANALYZE_FINDINGS_RULES_TEST_H

#include <math.h>
#include <string.h>

#include "analyze/findings/findings.h"
#include "ml_trace.h"
#include "tap.h"

struct rules_test {
    struct ml_trace trace;
    struct ml_input *input;
    struct findings *findings;
};

static inline uint32_t rules_begin(struct rules_test *test, const char *model)
{
    ml_trace_begin(&test->trace, NULL);
    return ml_trace_model(&test->trace, &(struct ml_trace_model){ .name = model });
}

static inline void rules_run(struct rules_test *test)
{
    test->input = NULL;
    test->findings = NULL;
    REQUIRE(ml_trace_load(&test->trace));
    REQUIRE(findings_input_create(test->trace.timeline, &test->input, NULL) == IFG_OK);
    REQUIRE(findings_create(test->input, &test->findings, NULL) == IFG_OK);
}

static inline void rules_end(struct rules_test *test)
{
    findings_destroy(test->findings);
    findings_input_destroy(test->input);
    ml_trace_end(&test->trace);
}

static inline const struct finding *rules_find(const struct rules_test *test, const char *id)
{
    for (size_t i = 0; i < test->findings->count; i++)
        if (strcmp(test->findings->items[i].id, id) == 0)
            return &test->findings->items[i];
    return NULL;
}

static inline double rules_number(const struct finding *finding, const char *key)
{
    for (size_t i = 0; i < finding->number_count; i++)
        if (strcmp(finding->numbers[i].key, key) == 0)
            return finding->numbers[i].value;
    return NAN;
}

#endif
