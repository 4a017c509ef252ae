// SPDX-License-Identifier: Apache-2.0
/*
 * Energy of processors (RAPL, by powercap) and of NVIDIA devices (NVML, loaded only if it is
 * there): see trust.h. Counters only grow and, for RAPL, start again at a told maximum. A device
 * that counts no energy tells its power; that times the time since the last look is the next best.
 */
#include <dlfcn.h>
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
#include "bench/machine/trust_internal.h"

#define MISSING  UINT64_MAX
#define PACKAGES 8
#define DEVICES  16

/* What we call of NVML: numbers are 0 for success. */
struct nvml {
    void *library;
    int (*init)(void);
    int (*shutdown)(void);
    int (*count)(unsigned *);
    int (*handle)(unsigned, void **);
    int (*energy_mj)(void *, unsigned long long *);
    int (*power_mw)(void *, unsigned *);
};

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
    struct device devices[DEVICES];
    size_t device_count;
    uint64_t last_ns;
    bool started;
};

/* ---- RAPL ---- */

/* Package domains are intel-rapl:N (AMD's too); psys, where there is one, contains them. */
static const char *find_packages(const struct trust_roots *roots, struct energy *energy)
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

static bool find_function(const struct nvml *nvml, const char *name, void *out)
{
    void *found = dlsym(nvml->library, name);

    memcpy(out, &found, sizeof found); /* C has no cast from objects to functions */
    return found != NULL;
}

static const char *load_nvml(struct nvml *nvml)
{
    nvml->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!nvml->library)
        return "no NVIDIA driver (libnvidia-ml.so.1)";
    if (!find_function(nvml, "nvmlInit_v2", &nvml->init) ||
        !find_function(nvml, "nvmlShutdown", &nvml->shutdown) ||
        !find_function(nvml, "nvmlDeviceGetCount_v2", &nvml->count) ||
        !find_function(nvml, "nvmlDeviceGetHandleByIndex_v2", &nvml->handle))
        return "libnvidia-ml.so.1 is too old";
    find_function(nvml, "nvmlDeviceGetTotalEnergyConsumption", &nvml->energy_mj);
    find_function(nvml, "nvmlDeviceGetPowerUsage", &nvml->power_mw);
    return NULL;
}

static void unload_nvml(struct nvml *nvml)
{
    if (nvml->library)
        dlclose(nvml->library);
    memset(nvml, 0, sizeof *nvml);
}

static const char *find_devices(struct energy *energy)
{
    struct nvml *nvml = &energy->nvml;
    const char *reason = load_nvml(nvml);
    unsigned count = 0;

    if (!reason && nvml->init() != 0)
        reason = "NVML does not start (is the NVIDIA kernel module loaded?)";
    if (reason) {
        unload_nvml(nvml);
        return reason;
    }
    if (nvml->count(&count) != 0)
        count = 0;
    for (unsigned i = 0; i < count && energy->device_count < DEVICES; i++) {
        struct device *device = &energy->devices[energy->device_count];
        unsigned long long mj = 0;
        unsigned mw = 0;

        if (nvml->handle(i, &device->handle) != 0)
            continue;
        device->counts = nvml->energy_mj && nvml->energy_mj(device->handle, &mj) == 0;
        device->last_mj = mj;
        if (device->counts || (nvml->power_mw && nvml->power_mw(device->handle, &mw) == 0))
            energy->device_count++;
    }
    if (energy->device_count)
        return NULL;
    nvml->shutdown();
    unload_nvml(nvml);
    return count ? "the NVIDIA device tells neither energy nor power" : "no NVIDIA device";
}

static double read_devices(struct energy *energy, double elapsed_s)
{
    const struct nvml *nvml = &energy->nvml;
    double sum_j = 0;

    if (energy->device_count == 0)
        return (double)NAN;
    for (size_t i = 0; i < energy->device_count; i++) {
        struct device *device = &energy->devices[i];
        unsigned long long mj;
        unsigned mw;

        if (device->counts && nvml->energy_mj(device->handle, &mj) == 0) {
            sum_j += mj >= device->last_mj ? (double)(mj - device->last_mj) / 1e3 : (double)NAN;
            device->last_mj = mj;
        } else if (!device->counts && nvml->power_mw(device->handle, &mw) == 0) {
            sum_j += mw / 1e3 * elapsed_s;
        } else {
            return (double)NAN;
        }
    }
    return sum_j;
}

/* ---- both ---- */

struct energy *energy_open(const struct trust_roots *roots, const char **out_reason)
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

void energy_read(struct energy *energy, double *out_cpu_j, double *out_gpu_j)
{
    uint64_t now_ns;
    double elapsed_s;

    *out_cpu_j = *out_gpu_j = (double)NAN;
    if (!energy)
        return;
    now_ns = ifg_monotonic_ns();
    elapsed_s = energy->started ? (double)(now_ns - energy->last_ns) / 1e9 : 0;
    energy->last_ns = now_ns;
    *out_cpu_j = read_packages(energy);
    *out_gpu_j = read_devices(energy, elapsed_s);
    if (energy->started)
        return;
    energy->started = true; /* what came before is not of this measurement */
    if (!isnan(*out_cpu_j))
        *out_cpu_j = 0;
    if (!isnan(*out_gpu_j))
        *out_gpu_j = 0;
}

void energy_close(struct energy *energy)
{
    if (!energy)
        return;
    if (energy->nvml.library) {
        energy->nvml.shutdown();
        unload_nvml(&energy->nvml);
    }
    ifg_free(energy);
}
