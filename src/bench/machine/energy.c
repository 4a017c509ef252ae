// SPDX-License-Identifier: Apache-2.0
/*
 * Energy of processors (RAPL, by powercap) and of NVIDIA devices (NVML, loaded only if it is
 * there): see trust.h. Counters only grow and, for RAPL, start again at a told maximum. A device
 * that counts no energy tells its power; that times the time since the last look is the next best.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/small_file.h"
#include "base/sudo.h"
#include "base/ticks.h"
#include "bench/machine/trust.h"
#include "system/nvml.h"

#define MISSING  UINT64_MAX
#define PACKAGES 8

struct package {
    char path[256]; /* of energy_uj */
    uint64_t most_uj;
    uint64_t last_uj;
};

struct device {
    void *handle;
    bool counts; /* energy, not only power */
    uint64_t last_mj;
};

struct energy {
    struct package packages[PACKAGES];
    size_t package_count;
    struct nvml nvml;
    int (*energy_mj)(void *, unsigned long long *);
    int (*power_mw)(void *, unsigned *);
    struct device devices[NVML_DEVICES_MAX]; /* that tell either */
    size_t device_count;
    uint64_t last_ns;
    bool started;
};

/* ---- RAPL ---- */

/* Package domains are intel-rapl:N (AMD's too); psys, where there is one, contains them. */
static const char *find_packages(const struct host_roots *roots, struct energy *energy)
{
    char path[256], name[32];
    static char advice[] = "CPU energy is readable by root only (CVE-2020-8694): sudo chmod a+r "
                           "/sys/class/powercap/*/energy_uj";
    bool denied = false;

    for (unsigned i = 0; i < 2 * PACKAGES && energy->package_count < PACKAGES; i++) {
        struct package *package = &energy->packages[energy->package_count];
        int fd;

        snprintf(path, sizeof path, "%s/class/powercap/intel-rapl:%u/name", roots->sys, i);
        if (!ifg_read_small(path, name, sizeof name) || strncmp(name, "package", 7) != 0)
            continue;
        snprintf(package->path, sizeof package->path, "%s/class/powercap/intel-rapl:%u/energy_uj",
                 roots->sys, i);
        fd = open(package->path, O_RDONLY | O_CLOEXEC);
        if (fd < 0) {
            denied |= errno == EACCES || errno == EPERM;
            continue;
        }
        close(fd);
        snprintf(path, sizeof path, "%s/class/powercap/intel-rapl:%u/max_energy_range_uj",
                 roots->sys, i);
        package->most_uj = ifg_read_number(path);
        package->last_uj = ifg_read_number(package->path);
        if (package->last_uj != MISSING)
            energy->package_count++;
    }
    if (denied)
        return ifg_fit_sudo(advice); /* root without capabilities, as in a container */
    return "no RAPL energy counters on this machine";
}

static double read_packages(struct energy *energy)
{
    double sum_uj = 0;

    if (energy->package_count == 0)
        return (double)NAN;
    for (size_t i = 0; i < energy->package_count; i++) {
        struct package *package = &energy->packages[i];
        uint64_t now_uj = ifg_read_number(package->path);

        if (now_uj == MISSING)
            return (double)NAN;
        if (now_uj >= package->last_uj)
            sum_uj += (double)(now_uj - package->last_uj);
        else if (package->most_uj != MISSING && package->last_uj <= package->most_uj)
            sum_uj += (double)(package->most_uj - package->last_uj) + (double)now_uj;
        else /* it went back and nothing tells how far */
            sum_uj = (double)NAN;
        package->last_uj = now_uj;
    }
    return sum_uj / 1e6;
}

/* ---- NVML ---- */

static const char *find_devices(struct energy *energy)
{
    struct nvml *nvml = &energy->nvml;
    const char *reason = nvml_start(nvml);

    if (reason)
        return reason;
    nvml_find(nvml, "nvmlDeviceGetTotalEnergyConsumption", &energy->energy_mj);
    nvml_find(nvml, "nvmlDeviceGetPowerUsage", &energy->power_mw);
    for (size_t i = 0; i < nvml->device_count; i++) {
        struct device *device = &energy->devices[energy->device_count];
        unsigned long long mj = 0;
        unsigned mw = 0;

        device->handle = nvml->devices[i];
        device->counts = energy->energy_mj && energy->energy_mj(device->handle, &mj) == 0;
        device->last_mj = mj;
        if (device->counts || (energy->power_mw && energy->power_mw(device->handle, &mw) == 0))
            energy->device_count++;
    }
    if (energy->device_count)
        return NULL;
    nvml_stop(nvml);
    return "the NVIDIA device tells neither energy nor power";
}

static double read_devices(struct energy *energy, double elapsed_s)
{
    double sum_j = 0;

    if (energy->device_count == 0)
        return (double)NAN;
    for (size_t i = 0; i < energy->device_count; i++) {
        struct device *device = &energy->devices[i];
        unsigned long long mj;
        unsigned mw;

        if (device->counts && energy->energy_mj(device->handle, &mj) == 0) {
            sum_j += mj >= device->last_mj ? (double)(mj - device->last_mj) / 1e3 : (double)NAN;
            device->last_mj = mj;
        } else if (!device->counts && energy->power_mw(device->handle, &mw) == 0) {
            sum_j += mw / 1e3 * elapsed_s;
        } else {
            return (double)NAN;
        }
    }
    return sum_j;
}

/* ---- both ---- */

struct energy *energy_open(const struct host_roots *roots, const char **out_reason)
{
    static _Thread_local char both[256];
    struct energy *energy = ifg_alloc(1, sizeof *energy);
    const char *no_cpu, *no_gpu;

    *out_reason = "";
    if (!energy) {
        *out_reason = "not enough memory";
        return NULL;
    }
    no_cpu = find_packages(roots, energy);
    no_gpu = find_devices(energy);
    if (energy->package_count || energy->device_count)
        return energy;
    snprintf(both, sizeof both, "%s; %s", no_cpu, no_gpu);
    *out_reason = both;
    ifg_free(energy);
    return NULL;
}

void energy_read(struct energy *energy, struct energy_use *out)
{
    uint64_t now_ns;

    *out = (struct energy_use){ (double)NAN, (double)NAN, 0 };
    if (!energy)
        return;
    now_ns = ifg_monotonic_ns();
    out->seconds = energy->started ? (double)(now_ns - energy->last_ns) / 1e9 : 0;
    energy->last_ns = now_ns;
    out->cpu_j = read_packages(energy);
    out->gpu_j = read_devices(energy, out->seconds);
    if (energy->started)
        return;
    energy->started = true; /* what came before is not of this measurement */
    if (!isnan(out->cpu_j))
        out->cpu_j = 0;
    if (!isnan(out->gpu_j))
        out->gpu_j = 0;
}

double energy_above_idle(double joules, double seconds, double idle_w)
{
    double above = joules - seconds * idle_w;

    return above > 0 ? above : (double)NAN;
}

void energy_close(struct energy *energy)
{
    if (!energy)
        return;
    nvml_stop(&energy->nvml);
    ifg_free(energy);
}
