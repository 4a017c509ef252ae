// SPDX-License-Identifier: Apache-2.0
/* Conversions of numbers that do not fit. */
#include "base/convert.h"

#include <math.h>

#include "tap.h"

static void numbers_that_do_not_fit(void)
{
    CHECK_UINT(ifg_u64_of(0), 0);
    CHECK_UINT(ifg_u64_of(0.999), 0);
    CHECK_UINT(ifg_u64_of(4711.5), 4711);
    CHECK_UINT(ifg_u64_of(-1), 0);
    CHECK_UINT(ifg_u64_of(-1e300), 0);
    CHECK_UINT(ifg_u64_of((double)NAN), 0);
    CHECK_UINT(ifg_u64_of((double)-INFINITY), 0);
    CHECK_UINT(ifg_u64_of((double)INFINITY), UINT64_MAX);
    CHECK_UINT(ifg_u64_of(1e300), UINT64_MAX);
    CHECK_UINT(ifg_u64_of((double)UINT64_MAX), UINT64_MAX);
    CHECK_UINT(ifg_u64_of((double)(float)UINT64_MAX), UINT64_MAX);
    CHECK_UINT(ifg_u64_of(9223372036854775808.0), UINT64_C(1) << 63);
}

TAP_MAIN(TAP_CASE(numbers_that_do_not_fit))
