// SPDX-License-Identifier: Apache-2.0
/* What the files of the gauge share. */
#ifndef IFG_ANALYZE_LIVE_INTERNAL_H
#define IFG_ANALYZE_LIVE_INTERNAL_H

#include "analyze/live.h"

int64_t live_floor_seconds(uint64_t from_ns, uint64_t ns);
size_t live_slot(int64_t second); /* of LIVE_SECONDS */

/* With `window`, also the median of the last seconds can be asked for. False: no memory. */
bool live_distribution_add(struct live_distribution *distribution, uint64_t duration_ns,
                           int64_t second, bool window);
void live_distribution_fini(struct live_distribution *distribution);

#endif
