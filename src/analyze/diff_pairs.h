// SPDX-License-Identifier: Apache-2.0
/* Which models of two traces are the same one. */
#ifndef IFG_ANALYZE_DIFF_PAIRS_H
#define IFG_ANALYZE_DIFF_PAIRS_H

#include "timeline/timeline.h"

/*
 * A model is called by its path only where another one of the trace has its name, so the same model
 * may be "en/model" in one trace and "model" in the other. Fills in what each model of either trace
 * (model_count of them) is called in a comparison: its own name, or for those of one name that only
 * one trace has, the longer name of the two that belong together. That is known by content, then by
 * how much of their paths agrees, then if there is only one on each side. Names are borrowed from
 * the traces.
 */
void diff_pair_models(const struct timeline *a, const struct timeline *b, const char **out_a,
                      const char **out_b);

#endif
