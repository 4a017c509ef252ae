// SPDX-License-Identifier: Apache-2.0
/* Energy of processors: see rapl.h. */
#include "system/rapl.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/small_file.h"
#include "base/sudo.h"

/* Package domains are intel-rapl:N (AMD's too); psys, where there is one, contains them. */
const char *rapl_open(const struct host_roots *roots, struct rapl *out_rapl)
{
    static _Thread_local char advice[160];
    char path[256], name[32];

    memset(out_rapl, 0, sizeof *out_rapl);
    for (unsigned i = 0; i < 2 * RAPL_PACKAGES_MAX && out_rapl->count < RAPL_PACKAGES_MAX; i++) {
        struct rapl_package *package = &out_rapl->packages[out_rapl->count];
        int fd;

        snprintf(path, sizeof path, "%s/class/powercap/intel-rapl:%u/name", roots->sys, i);
        if (!ifg_read_small(path, name, sizeof name) || strncmp(name, "package", 7) != 0)
            continue;
        snprintf(package->path, sizeof package->path, "%s/class/powercap/intel-rapl:%u/energy_uj",
                 roots->sys, i);
        fd = open(package->path, O_RDONLY | O_CLOEXEC);
        if (fd < 0) {
            out_rapl->denied |= errno == EACCES || errno == EPERM;
            continue;
        }
        close(fd);
        snprintf(path, sizeof path, "%s/class/powercap/intel-rapl:%u/max_energy_range_uj",
                 roots->sys, i);
        package->most_uj = ifg_read_number(path);
        package->last_uj = ifg_read_number(package->path);
        if (package->last_uj != IFG_NO_NUMBER)
            out_rapl->count++;
    }
    if (out_rapl->count)
        return NULL;
    if (!out_rapl->denied)
        return "no RAPL energy counters on this machine";
    snprintf(advice, sizeof advice,
             "CPU energy is readable by root only (CVE-2020-8694): sudo chmod a+r "
             "/sys/class/powercap/*/energy_uj");
    return ifg_fit_sudo(advice); /* root without capabilities, as in a container */
}

double rapl_read(struct rapl *rapl)
{
    double sum_uj = 0;

    if (!rapl->count)
        return (double)NAN;
    for (size_t i = 0; i < rapl->count; i++) {
        struct rapl_package *package = &rapl->packages[i];
        uint64_t now_uj = ifg_read_number(package->path);

        if (now_uj == IFG_NO_NUMBER)
            return (double)NAN;
        if (now_uj >= package->last_uj)
            sum_uj += (double)(now_uj - package->last_uj);
        else if (package->most_uj != IFG_NO_NUMBER && package->last_uj <= package->most_uj)
            sum_uj += (double)(package->most_uj - package->last_uj) + (double)now_uj;
        else /* it went back and nothing tells how far */
            sum_uj = (double)NAN;
        package->last_uj = now_uj;
    }
    return sum_uj / 1e6;
}
