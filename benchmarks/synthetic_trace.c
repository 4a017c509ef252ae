// SPDX-License-Identifier: Apache-2.0
/* Writes the trace that others are measured with (synthetic.h): synthetic_trace FILE ZONES */
#include <stdio.h>
#include <stdlib.h>

#include "synthetic.h"

int main(int argc, char **argv)
{
    unsigned long long zones = argc == 3 ? strtoull(argv[2], NULL, 10) : 0;

    if (zones == 0) {
        fputs("usage: synthetic_trace FILE ZONES\n", stderr);
        return 2;
    }
    printf("%llu zones\n", (unsigned long long)synthetic_trace(argv[1], (size_t)zones, false));
    return 0;
}
