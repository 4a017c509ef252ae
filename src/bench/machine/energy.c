// SPDX-License-Identifier: Apache-2.0
/*
 * Energy of processors (RAPL) and of NVIDIA devices (NVML, loaded only if it is there): see
 * trust.h. A device that counts no energy tells its power; that times the time since the last look
 * is the next best.
 */
#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/ticks.h"
#include "bench/machine/trust.h"
#include "system/nvml.h"
#include "system/rapl.h"

struct device {
    void *handle;
    bool counts; /* energy, not only power */
    uint64_t last_mj;
};

struct energy {
    struct rapl rapl;
    struct nvml nvml;
    int (*energy_mj)(void *, unsigned long long *);
    int (*power_mw)(void *, unsigned *);
    struct device devices[NVML_DEVICES_MAX]; /* that tell either */
    size_t device_count;
    uint64_t last_ns;
    bool started;
};

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
    no_cpu = rapl_open(roots, &energy->rapl);
    no_gpu = find_devices(energy);
    if (energy->rapl.count || energy->device_count)
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
    out->cpu_j = rapl_read(&energy->rapl);
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
