// SPDX-License-Identifier: Apache-2.0
/* CPU time and memory of this process: see own_cost.h. */
#include "cli/own_cost.h"

#include <math.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/small_file.h"

static double seconds_of(int who)
{
    struct rusage usage;

    if (getrusage(who, &usage) != 0)
        return 0;
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

struct own_cost own_cost_now(void)
{
    struct own_cost cost = { seconds_of(RUSAGE_SELF) + seconds_of(RUSAGE_CHILDREN), (double)NAN };
    const char *at;
    uint64_t pages;
    char text[128];

    if (ifg_read_small("/proc/self/statm", text, sizeof text) &&
        ifg_parse_number(text, &at, &pages) && ifg_parse_number(at, NULL, &pages))
        cost.memory_bytes = (double)pages * (double)sysconf(_SC_PAGESIZE);
    return cost;
}
