// SPDX-License-Identifier: Apache-2.0
/*
 * Prints what the energy counters of this machine give: ten looks within the time, then the sum.
 *
 * usage: energy_watch [SECONDS [SYS_ROOT]]     (1, /sys)
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench/machine/trust.h"

#define LOOKS 10

static void print(const char *name, double joules, double seconds)
{
    if (isnan(joules))
        printf("%s not available", name);
    else
        printf("%s %.6f J", name, joules);
    if (!isnan(joules) && seconds > 0)
        printf(" (%.3f W)", joules / seconds);
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? strtod(argv[1], NULL) : 1;
    struct host_roots roots = { "/proc", argc > 2 ? argv[2] : "/sys" };
    const char *reason = NULL;
    struct energy *energy = energy_open(&roots, &reason);
    struct energy_use use;
    double cpu_sum = 0, gpu_sum = 0;

    if (!energy) {
        printf("none: %s\n", reason);
        return 0;
    }
    energy_read(energy, &use);
    for (int i = 1; i <= LOOKS; i++) {
        usleep((useconds_t)(seconds * 1e6 / LOOKS));
        energy_read(energy, &use);
        cpu_sum += use.cpu_j;
        gpu_sum += use.gpu_j;
        printf("look %d: ", i);
        print("cpu", use.cpu_j, 0);
        print(", gpu", use.gpu_j, 0);
        printf("\n");
    }
    print("total: cpu", cpu_sum, seconds);
    print(", gpu", gpu_sum, seconds);
    printf("\n");
    energy_close(energy);
    return 0;
}
