// SPDX-License-Identifier: Apache-2.0
/*
 * Which slices took longer because the operators in them were recorded: inferences with operators,
 * what contains them, and what they contain. Whoever compares times leaves them out.
 */
#ifndef IFG_ANALYZE_PERTURBED_H
#define IFG_ANALYZE_PERTURBED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "timeline/timeline.h"

struct perturbed {
    bool *marks;       /* by slice; operators themselves are never marked */
    size_t inferences; /* of models, in all */
    size_t with_ops;   /* of these, with operators */
};

enum ifg_status perturbed_find(const struct timeline *timeline, struct perturbed *out_perturbed,
                               struct ifg_error *err) IFG_MUST_CHECK;
void perturbed_fini(struct perturbed *perturbed);

#endif
