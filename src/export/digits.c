// SPDX-License-Identifier: Apache-2.0
/* Numbers as text: see digits.h. */
#include "export/digits.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const char export_digit_pairs[201] = "00010203040506070809"
                                     "10111213141516171819"
                                     "20212223242526272829"
                                     "30313233343536373839"
                                     "40414243444546474849"
                                     "50515253545556575859"
                                     "60616263646566676869"
                                     "70717273747576777879"
                                     "80818283848586878889"
                                     "90919293949596979899";

char *export_double(char *out, double value)
{
    int length;

    if (value > -1e15 && value < 1e15 && value == (double)(int64_t)value)
        return export_int(out, (int64_t)value);
    length = snprintf(out, EXPORT_DIGITS, "%.15g", value);
    if (isfinite(value) && strtod(out, NULL) != value)
        length = snprintf(out, EXPORT_DIGITS, "%.17g", value);
    return out + length;
}
