// SPDX-License-Identifier: Apache-2.0
/* What the files of the statistics share. */
#ifndef IFG_ANALYZE_STATISTICS_INTERNAL_H
#define IFG_ANALYZE_STATISTICS_INTERNAL_H

#include <stddef.h>

/* The value that |T| exceeds with this chance; T has Student's distribution with so many degrees of
 * freedom, at least 1. */
double statistics_student(double chance, size_t freedom);

#endif
