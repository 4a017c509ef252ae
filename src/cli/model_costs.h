// SPDX-License-Identifier: Apache-2.0
/*
 * What the operators of a recorded model cost, by its file: it must still be where it was, and
 * have the contents that the trace knows. Sizes of free dimensions are those of the recorded
 * inferences.
 */
#ifndef IFG_CLI_MODEL_COSTS_H
#define IFG_CLI_MODEL_COSTS_H

#include "analyze/report.h"
#include "analyze/roofline.h"

#define MODEL_COSTS_MODELS 16u /* that are looked at: the first ones of a report */

/* The rooflines of the first models of a report, which owns them afterwards. */
enum ifg_status model_costs_add(struct report *report, struct ifg_error *err) IFG_MUST_CHECK;

/* The same without a report, by the names of operators; timeline must stay. */
struct model_costs;
enum ifg_status model_costs_open(const struct timeline *timeline, struct model_costs **out_costs,
                                 struct ifg_error *err) IFG_MUST_CHECK;
void model_costs_close(struct model_costs *costs); /* accepts NULL */

/* NULL: there is none of this name, or several models have one. */
const struct roofline_point *model_costs_find(const struct model_costs *costs, const char *name);

#endif
