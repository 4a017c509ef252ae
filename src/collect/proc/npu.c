// SPDX-License-Identifier: Apache-2.0
/*
 * NPUs: the kernel's accel class. Intel's driver (intel_vpu) tells how long it was busy; AMD's
 * (amdxdna) tells nothing of the machine, only of a process (fdinfo, see gpu_drm.c). Qualcomm's
 * (qaic) has no fdinfo; root sees in debugfs how many requests wait. How long a request waited and
 * ran (DRM_IOCTL_QAIC_PERF_STATS_BO) only the process that owns the buffer can ask.
 */
#include <stdio.h>
#include <string.h>

#include "collect/proc/proc_internal.h"

/* Intel's driver locks its list of jobs to tell how long it was busy: once a second, it says. */
#define EVERY_NS SECOND_NS

#define QAIC_CHANNELS 16u

void proc_npu_open(struct proc_devices *npus, const struct host_roots *roots)
{
    char folder[128];
    size_t used = 0;

    snprintf(folder, sizeof folder, "%.100s/class/accel", roots->sys);
    proc_devices_find(npus, folder, "accel");
    if (!npus->count) {
        snprintf(npus->words, sizeof npus->words, "no device");
        return;
    }
    for (size_t i = 0; i < npus->count && used < sizeof npus->words; i++)
        used +=
            (size_t)snprintf(npus->words + used, sizeof npus->words - used, "%s%s", i ? ", " : "",
                             npus->items[i].driver[0] ? npus->items[i].driver : "unknown driver");
}

static void put(struct proc_device *device, size_t number, const char *what, double value,
                const struct proc_sink *sink)
{
    char name[PROC_NAME_BYTES];

    snprintf(name, sizeof name, "npu %zu %s", number, what);
    proc_put(sink, 0, name, value);
    device->tells = true;
}

static uint64_t read_below(const struct proc_device *device, const char *file)
{
    char path[256];

    snprintf(path, sizeof path, "%s/device/%s", device->path, file);
    return ifg_read_number(path);
}

/* /sys/kernel/debug/accel/0/dbc003/queued */
static void look_at_queues(struct proc_device *device, size_t number, const char *sys,
                           const struct proc_sink *sink)
{
    const char *digits = device->path + strlen(device->path);
    double sum = 0;
    bool any = false;

    while (digits > device->path && digits[-1] >= '0' && digits[-1] <= '9')
        digits--;
    for (unsigned i = 0; i < QAIC_CHANNELS; i++) {
        char path[200];
        uint64_t queued;

        snprintf(path, sizeof path, "%.100s/kernel/debug/accel/%.3s/dbc%03u/queued", sys, digits,
                 i);
        queued = ifg_read_number(path);
        any |= queued != MISSING;
        sum += queued != MISSING ? (double)queued : 0;
    }
    if (any)
        put(device, number, "queued requests", sum, sink);
}

static void look_at_device(struct proc_device *device, size_t number, uint64_t now_ns,
                           const struct proc_sink *sink)
{
    uint64_t busy_us = read_below(device, "npu_busy_time_us");
    uint64_t memory = read_below(device, "npu_memory_utilization");
    uint64_t mhz = read_below(device, "npu_current_frequency_mhz");

    if (busy_us != MISSING) {
        if (device->at_ns && now_ns > device->at_ns) {
            double percent =
                100 * 1e3 * proc_more(busy_us, device->busy_us) / (double)(now_ns - device->at_ns);

            put(device, number, "busy %", percent < 100 ? percent : 100, sink);
        }
        device->busy_us = busy_us;
        device->at_ns = now_ns;
        device->tells = true;
    }
    if (memory != MISSING)
        put(device, number, "memory used bytes", (double)memory, sink);
    if (mhz != MISSING)
        put(device, number, "clock MHz", (double)mhz, sink);
}

void proc_npu_look(struct proc_devices *npus, const struct host_roots *roots, uint64_t now_ns,
                   bool last, const struct proc_sink *sink)
{
    if (!npus->count || !proc_is_due(&npus->next_ns, now_ns, EVERY_NS, last))
        return;
    for (size_t i = 0; i < npus->count; i++) {
        look_at_device(&npus->items[i], i, now_ns, sink);
        if (strcmp(npus->items[i].driver, "qaic") == 0)
            look_at_queues(&npus->items[i], i, roots->sys, sink);
    }
}
