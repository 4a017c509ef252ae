// SPDX-License-Identifier: Apache-2.0
/* Numbers from outside, from one type to another: C leaves open what becomes of those that do not
 * fit. */
#ifndef IFG_BASE_CONVERT_H
#define IFG_BASE_CONVERT_H

#include <stdint.h>

/* The whole part; what is negative or no number becomes 0, what is too large the largest. */
static inline uint64_t ifg_u64_of(double value)
{
    if (!(value > 0))
        return 0;
    return value < 18446744073709551616.0 ? (uint64_t)value : UINT64_MAX;
}

#endif
