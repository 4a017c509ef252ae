// SPDX-License-Identifier: Apache-2.0
/*
 * NVIDIA's GPUs by NVML, loaded where the driver brings it. Each call may take milliseconds. What a
 * device does not support is left out, and not asked for again.
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/ticks.h"
#include "collect/proc/proc_internal.h"
#include "system/nvml.h"

#define PROCESSES 256u
#define RATES_NS  (2 * SECOND_NS / 5) /* the driver's own averages are no finer */
#define SLOW_NS   (2 * SECOND_NS)     /* what changes slowly costs as much as the rest */
#define MIG_MAX   16u
#define WAITED_NS 5000000ull

/* As in nvml.h, whose layout is an ABI. */
struct utilization {
    unsigned gpu, memory;
};
struct memory {
    unsigned long long total, free, used;
};
struct memory_v2 { /* "used" without what the driver keeps for itself */
    unsigned version;
    unsigned long long total, reserved, free, used;
};
#define MEMORY_V2 (sizeof(struct memory_v2) | 2u << 24)
struct process_v1 {
    unsigned pid;
    unsigned long long used;
};
struct process_v2 {
    unsigned pid;
    unsigned long long used;
    unsigned gpu_instance, compute_instance;
};
struct process_sample {
    unsigned pid;
    unsigned long long time_us;
    unsigned sm, memory, encoder, decoder;
};
_Static_assert(sizeof(struct process_v1) == 16 && sizeof(struct process_v2) == 24 &&
                   sizeof(struct process_sample) == 32,
               "as in nvml.h");

enum {
    CAN_RATES = 1,
    CAN_MEMORY = 2,
    CAN_MEMORY_V2 = 4,
    CAN_POWER = 8,
    CAN_SM = 16,
    CAN_MEMORY_CLOCK = 32,
    CAN_HEAT = 64,
    CAN_THROTTLE = 128,
    CAN_PROCESSES = 256,
    CAN_ENERGY = 512,
};

/* Why the clock is not higher; bits as in nvml.h. An idle device (1) is not throttled. */
static const struct {
    unsigned long long bit;
    const char *name;
    bool always; /* a counter from the start, not from when it is first seen */
} reasons_known[] = {
    { 0x02, "throttled: clock setting", false },    { 0x04, "throttled: power cap", true },
    { 0x08, "throttled: hardware slowdown", true }, { 0x10, "throttled: sync boost", false },
    { 0x20, "throttled: heat (software)", true },   { 0x40, "throttled: heat (hardware)", true },
    { 0x80, "throttled: power brake", true },       { 0x100, "throttled: display clock", false },
};
#define REASONS (sizeof reasons_known / sizeof reasons_known[0])

struct device {
    void *handle; /* as nvml.devices */
    unsigned can;
    unsigned long long sampled_us;
    unsigned long long reasons_seen;
    unsigned mig; /* instances; 0: MIG is off */
    bool is_mig;
    uint64_t usual_ns; /* that an answer about energy takes */
    uint64_t next_rates_ns, next_slow_ns, next_processes_ns;
};

struct proc_nvml {
    struct nvml nvml;
    int (*name)(void *, char *, unsigned);
    int (*rates)(void *, struct utilization *);
    int (*memory)(void *, struct memory *);
    int (*memory_v2)(void *, struct memory_v2 *);
    int (*power)(void *, unsigned *);
    int (*energy)(void *, unsigned long long *);
    int (*mig_mode)(void *, unsigned *, unsigned *);
    int (*mig_most)(void *, unsigned *);
    int (*mig_handle)(void *, unsigned, void **);
    int (*clock)(void *, unsigned, unsigned *);
    int (*heat)(void *, unsigned, unsigned *);
    int (*throttle)(void *, unsigned long long *);
    int (*processes)(void *, unsigned *, void *);
    int (*samples)(void *, struct process_sample *, unsigned *, unsigned long long);
    size_t process_bytes;
    struct device devices[NVML_DEVICES_MAX];
    union {
        char bytes[PROCESSES * sizeof(struct process_v2)];
        struct process_sample samples[PROCESSES];
    } list;
};

static void find_functions(struct proc_nvml *proc)
{
    const struct nvml *nvml = &proc->nvml;

    nvml_find(nvml, "nvmlDeviceGetName", &proc->name);
    nvml_find(nvml, "nvmlDeviceGetUtilizationRates", &proc->rates);
    nvml_find(nvml, "nvmlDeviceGetMemoryInfo", &proc->memory);
    nvml_find(nvml, "nvmlDeviceGetMemoryInfo_v2", &proc->memory_v2);
    nvml_find(nvml, "nvmlDeviceGetPowerUsage", &proc->power);
    nvml_find(nvml, "nvmlDeviceGetTotalEnergyConsumption", &proc->energy);
    nvml_find(nvml, "nvmlDeviceGetMigMode", &proc->mig_mode);
    nvml_find(nvml, "nvmlDeviceGetMaxMigDeviceCount", &proc->mig_most);
    nvml_find(nvml, "nvmlDeviceGetMigDeviceHandleByIndex", &proc->mig_handle);
    nvml_find(nvml, "nvmlDeviceGetClockInfo", &proc->clock);
    nvml_find(nvml, "nvmlDeviceGetTemperature", &proc->heat);
    if (!nvml_find(nvml, "nvmlDeviceGetCurrentClocksEventReasons", &proc->throttle))
        nvml_find(nvml, "nvmlDeviceGetCurrentClocksThrottleReasons", &proc->throttle);
    proc->process_bytes = sizeof(struct process_v2);
    if (!nvml_find(nvml, "nvmlDeviceGetComputeRunningProcesses_v3", &proc->processes) &&
        !nvml_find(nvml, "nvmlDeviceGetComputeRunningProcesses_v2", &proc->processes)) {
        proc->process_bytes = sizeof(struct process_v1);
        nvml_find(nvml, "nvmlDeviceGetComputeRunningProcesses", &proc->processes);
    }
    nvml_find(nvml, "nvmlDeviceGetProcessUtilization", &proc->samples);
}

/* A device that is divided (MIG) tells no utilisation, and power and energy only as a whole. */
static void find_mig(const struct proc_nvml *nvml, struct device *device)
{
    unsigned now = 0, later = 0, most = 0;
    void *part;

    if (!nvml->mig_mode || nvml->mig_mode(device->handle, &now, &later) != 0 || now != 1)
        return;
    device->is_mig = true;
    if (!nvml->mig_most || !nvml->mig_handle || nvml->mig_most(device->handle, &most) != 0)
        return;
    for (unsigned i = 0; i < most && i < MIG_MAX; i++)
        device->mig += nvml->mig_handle(device->handle, i, &part) == 0;
}

static void read_name(const struct proc_nvml *nvml, size_t number, char *out, size_t size)
{
    if (!nvml->name || nvml->name(nvml->devices[number].handle, out, (unsigned)size - 1) != 0)
        snprintf(out, size, "NVIDIA");
    out[size - 1] = '\0';
}

/* Functions that are asked once, when devices are listed. */
static void read_limits(const struct proc_nvml *proc, size_t number, struct proc_device_info *out)
{
    const struct nvml *nvml = &proc->nvml;
    void *handle = proc->devices[number].handle;
    int (*uuid)(void *, char *, unsigned), (*capability)(void *, int *, int *);
    int (*most)(void *, unsigned, unsigned *), (*one)(void *, unsigned *);
    int major = 0, minor = 0;

    if (!nvml_find(nvml, "nvmlDeviceGetUUID", &uuid) ||
        uuid(handle, out->id, (unsigned)sizeof out->id - 1) != 0)
        out->id[0] = '\0';
    out->id[sizeof out->id - 1] = '\0';
    if (nvml_find(nvml, "nvmlDeviceGetCudaComputeCapability", &capability) &&
        capability(handle, &major, &minor) == 0)
        snprintf(out->capability, sizeof out->capability, "%d.%d", major, minor);
    if (!nvml_find(nvml, "nvmlDeviceGetNumGpuCores", &one) || one(handle, &out->cores) != 0)
        out->cores = 0;
    if (!nvml_find(nvml, "nvmlDeviceGetMemoryBusWidth", &one) ||
        one(handle, &out->memory_bus_bits) != 0)
        out->memory_bus_bits = 0;
    if (!nvml_find(nvml, "nvmlDeviceGetMaxClockInfo", &most))
        return;
    if (most(handle, 1, &out->clock_mhz) != 0)
        out->clock_mhz = 0;
    if (most(handle, 2, &out->memory_clock_mhz) != 0)
        out->memory_clock_mhz = 0;
}

size_t proc_nvml_list(const struct proc_nvml *nvml, struct proc_device_info *out, size_t most)
{
    size_t count = 0;

    for (; count < nvml->nvml.device_count && count < most; count++) {
        out[count] = (struct proc_device_info){ .kind = "gpu",
                                                .number = (unsigned)count,
                                                .driver = "nvidia",
                                                .is_mig = nvml->devices[count].is_mig };
        read_name(nvml, count, out[count].name, sizeof out[count].name);
        read_limits(nvml, count, &out[count]);
    }
    return count;
}

static void describe(struct proc_nvml *nvml, char *out, size_t size)
{
    char name[96] = "";
    size_t used = 0;

    for (size_t i = 0; i < nvml->nvml.device_count && used < size; i++) {
        read_name(nvml, i, name, sizeof name);
        used += (size_t)snprintf(out + used, size - used, "%s%.60s", i ? ", " : "", name);
        if (nvml->devices[i].is_mig && used < size)
            used += (size_t)snprintf(out + used, size - used, " (MIG, %u instance%s)",
                                     nvml->devices[i].mig, nvml->devices[i].mig == 1 ? "" : "s");
    }
}

struct proc_nvml *proc_nvml_open(char *out_words, size_t size)
{
    struct proc_nvml *nvml = ifg_alloc(1, sizeof *nvml);
    const char *reason = nvml ? nvml_start(&nvml->nvml) : "not enough memory";

    if (reason) {
        snprintf(out_words, size, "%s", strcmp(reason, NVML_NO_DRIVER) == 0 ? "no driver" : reason);
        ifg_free(nvml);
        return NULL;
    }
    find_functions(nvml);
    for (size_t i = 0; i < nvml->nvml.device_count; i++)
        nvml->devices[i] = (struct device){ .handle = nvml->nvml.devices[i], .can = ~0u };
    for (size_t i = 0; i < nvml->nvml.device_count; i++)
        find_mig(nvml, &nvml->devices[i]);
    describe(nvml, out_words, size);
    return nvml;
}

static void put(const struct proc_sink *sink, uint32_t pid, size_t number, const char *what,
                double value)
{
    char name[PROC_NAME_BYTES];

    snprintf(name, sizeof name, "gpu %zu %s", number, what);
    proc_put(sink, pid, name, value);
}

/* Whether a call may be made and worked; one that did not is not made again. */
#define TRY(device, bit, function, ...)                                                            \
    ((function) && ((device)->can & (bit)) &&                                                      \
     ((function)(__VA_ARGS__) == 0 || ((device)->can &= ~(unsigned)(bit), false)))

static void put_reasons(struct device *device, size_t number, unsigned long long reasons,
                        const struct proc_sink *sink)
{
    put(sink, 0, number, "power capped", (reasons & 0x84) != 0);
    put(sink, 0, number, "slowed by heat", (reasons & 0x68) != 0);
    device->reasons_seen |= reasons;
    for (size_t i = 0; i < REASONS; i++)
        if (reasons_known[i].always || (device->reasons_seen & reasons_known[i].bit))
            put(sink, 0, number, reasons_known[i].name, (reasons & reasons_known[i].bit) != 0);
}

static void look_slowly(struct proc_nvml *nvml, size_t number, const struct proc_sink *sink)
{
    struct device *device = &nvml->devices[number];
    unsigned long long reasons = 0;
    unsigned value = 0;

    if (TRY(device, CAN_SM, nvml->clock, device->handle, 1, &value))
        put(sink, 0, number, "clock MHz", value);
    if (TRY(device, CAN_MEMORY_CLOCK, nvml->clock, device->handle, 2, &value))
        put(sink, 0, number, "memory clock MHz", value);
    if (TRY(device, CAN_HEAT, nvml->heat, device->handle, 0, &value))
        put(sink, 0, number, "temperature C", value);
    if (TRY(device, CAN_THROTTLE, nvml->throttle, device->handle, &reasons))
        put_reasons(device, number, reasons, sink);
    if (device->is_mig)
        put(sink, 0, number, "MIG instances", device->mig);
}

/* The time of a count is that of the question. Who was kept waiting for the answer, by a busy
 * machine say, asks again: otherwise the wait would be missing in the time, not in the energy. */
static bool count_energy(const struct proc_nvml *nvml, struct device *device,
                         const struct proc_sink *sink, unsigned long long *out_mj)
{
    for (unsigned tries = 0; tries < 3; tries++) {
        uint64_t begin_ns, took_ns;

        proc_begin(sink);
        begin_ns = ifg_monotonic_ns();
        if (!TRY(device, CAN_ENERGY, nvml->energy, device->handle, out_mj))
            return false;
        took_ns = ifg_monotonic_ns() - begin_ns;
        if (!device->usual_ns || took_ns < device->usual_ns)
            device->usual_ns = took_ns;
        if (took_ns <= 2 * device->usual_ns + WAITED_NS)
            break;
    }
    return true;
}

/* Energy first: its time must be right. Memory each time: it shows when somebody comes. */
static void look_at_device(struct proc_nvml *nvml, size_t number, uint64_t now_ns, bool last,
                           const struct proc_sink *sink)
{
    struct device *device = &nvml->devices[number];
    struct utilization rates = { 0, 0 };
    struct memory memory = { 0, 0, 0 };
    struct memory_v2 memory_v2 = { .version = MEMORY_V2 };
    unsigned long long energy_mj = 0;
    unsigned value = 0;
    bool counts;

    counts = count_energy(nvml, device, sink, &energy_mj);
    if (counts)
        put(sink, 0, number, "energy J", (double)energy_mj / 1e3);
    if (TRY(device, CAN_MEMORY_V2, nvml->memory_v2, device->handle, &memory_v2))
        put(sink, 0, number, "memory used bytes", (double)memory_v2.used);
    else if (TRY(device, CAN_MEMORY, nvml->memory, device->handle, &memory))
        put(sink, 0, number, "memory used bytes", (double)memory.used);
    if (proc_is_due(&device->next_rates_ns, now_ns, counts ? RATES_NS : 0, last)) {
        if (TRY(device, CAN_RATES, nvml->rates, device->handle, &rates)) {
            put(sink, 0, number, "busy %", rates.gpu);
            put(sink, 0, number, "memory busy %", rates.memory);
        }
        if (TRY(device, CAN_POWER, nvml->power, device->handle, &value))
            put(sink, 0, number, "power W", value / 1e3);
    }
    if (proc_is_due(&device->next_slow_ns, now_ns, SLOW_NS, last))
        look_slowly(nvml, number, sink);
}

static bool is_in(const pid_t *pids, size_t count, unsigned pid)
{
    for (size_t i = 0; i < count; i++)
        if ((unsigned)pids[i] == pid)
            return true;
    return false;
}

static void look_at_processes(struct proc_nvml *nvml, size_t number, const pid_t *pids,
                              size_t pid_count, const struct proc_sink *sink)
{
    struct device *device = &nvml->devices[number];
    unsigned count = PROCESSES;
    unsigned others = 0;
    unsigned long long latest = device->sampled_us;

    memset(&nvml->list, 0, sizeof nvml->list);
    if (TRY(device, CAN_PROCESSES, nvml->processes, device->handle, &count, nvml->list.bytes)) {
        for (size_t i = 0; i < count && i < PROCESSES; i++) {
            struct process_v1 process;

            memcpy(&process, nvml->list.bytes + i * nvml->process_bytes, sizeof process);
            if (!is_in(pids, pid_count, process.pid))
                others++;
            else if (process.used != ~0ull)
                put(sink, process.pid, number, "memory bytes", (double)process.used);
        }
        put(sink, 0, number, "other processes", others);
    }
    if (!nvml->samples)
        return;
    count = PROCESSES;
    memset(&nvml->list, 0, sizeof nvml->list);
    /* An error only says that nothing ran since then. */
    if (nvml->samples(device->handle, nvml->list.samples, &count, device->sampled_us) != 0)
        return;
    for (size_t i = 0; i < count && i < PROCESSES; i++) {
        const struct process_sample *sample = &nvml->list.samples[i];

        if (sample->time_us > latest)
            latest = sample->time_us;
        if (sample->sm <= 100 && is_in(pids, pid_count, sample->pid))
            put(sink, sample->pid, number, "busy %", sample->sm);
    }
    device->sampled_us = latest;
}

void proc_nvml_look(struct proc_nvml *nvml, const pid_t *pids, size_t count, uint64_t now_ns,
                    bool last, const struct proc_sink *sink)
{
    for (size_t i = 0; i < nvml->nvml.device_count; i++) {
        look_at_device(nvml, i, now_ns, last, sink);
        if (count && proc_is_due(&nvml->devices[i].next_processes_ns, now_ns, SECOND_NS, last))
            look_at_processes(nvml, i, pids, count, sink);
    }
}

bool proc_nvml_any_mig(const struct proc_nvml *nvml)
{
    for (size_t i = 0; i < nvml->nvml.device_count; i++)
        if (nvml->devices[i].is_mig)
            return true;
    return false;
}

void proc_nvml_close(struct proc_nvml *nvml)
{
    if (!nvml)
        return;
    nvml_stop(&nvml->nvml);
    ifg_free(nvml);
}
