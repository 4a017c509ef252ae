// SPDX-License-Identifier: Apache-2.0
/* All sources together: see proc.h. */
#include "collect/proc/proc.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "collect/proc/proc_internal.h"

/* Limits and the time that they cost change slowly. */
#define GROUPS_EVERY_NS SECOND_NS

struct proc_collector {
    const struct host_roots *roots;
    uint64_t begin_ns;
    struct proc_system system;
    struct proc_frequency frequency;
    struct proc_others others;
    struct proc_devices gpus, npus;
    struct proc_process *processes; /* PROC_PROCESSES_MAX */
    size_t process_count;
    uint64_t next_groups_ns;
    bool io_denied;
    bool no_devices;
    /* only proc_look_devices: */
    struct proc_power power;
    struct proc_nvml *nvml;
    bool nvml_tried;
    char nvml_words[WORDS];
};

struct proc_collector *proc_open(const struct host_roots *roots, uint64_t now_ns)
{
    struct proc_collector *collector = ifg_alloc(1, sizeof *collector);

    if (!collector)
        return NULL;
    collector->roots = roots;
    collector->begin_ns = now_ns;
    collector->processes = ifg_alloc(PROC_PROCESSES_MAX, sizeof *collector->processes);
    if (!proc_system_open(&collector->system) || !collector->processes) {
        proc_close(collector);
        return NULL;
    }
    proc_frequency_open(&collector->frequency, roots);
    proc_drm_open(&collector->gpus, roots);
    proc_npu_open(&collector->npus, roots);
    proc_power_open(&collector->power, roots);
    return collector;
}

void proc_leave_out_devices(struct proc_collector *collector)
{
    collector->no_devices = true;
    collector->nvml_tried = true;
    collector->gpus.count = collector->gpus.first = collector->npus.count = 0;
    snprintf(collector->nvml_words, sizeof collector->nvml_words, "left out (--gpu off)");
    snprintf(collector->gpus.words, sizeof collector->gpus.words, "left out (--gpu off)");
    snprintf(collector->npus.words, sizeof collector->npus.words, "left out (--gpu off)");
}

void proc_close(struct proc_collector *collector)
{
    if (!collector)
        return;
    for (size_t i = 0; i < collector->process_count; i++)
        proc_process_close(&collector->processes[i]);
    ifg_free(collector->processes);
    proc_others_close(&collector->others);
    proc_system_close(&collector->system);
    proc_nvml_close(collector->nvml);
    ifg_free(collector);
}

static struct proc_process *find(struct proc_collector *collector, pid_t pid)
{
    for (size_t i = 0; i < collector->process_count; i++)
        if (collector->processes[i].pid == (uint32_t)pid)
            return &collector->processes[i];
    return NULL;
}

void proc_follow(struct proc_collector *collector, const pid_t *pids, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        struct proc_process *process = find(collector, pids[i]);

        if (process)
            process->seen = true;
    }
    for (size_t i = 0; i < collector->process_count; i++) {
        if (!collector->processes[i].seen)
            proc_process_close(&collector->processes[i]);
        else
            collector->processes[kept++] = collector->processes[i];
    }
    collector->process_count = kept;
    for (size_t i = 0; i < count; i++) {
        if (find(collector, pids[i]))
            continue;
        if (collector->process_count == PROC_PROCESSES_MAX)
            break;
        collector->processes[collector->process_count++] =
            (struct proc_process){ .pid = (uint32_t)pids[i] };
    }
    for (size_t i = 0; i < collector->process_count; i++)
        collector->processes[i].seen = false;
}

/* A group that several have is told of once, with the first of them. */
static bool is_first_of_group(const struct proc_collector *collector, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (strcmp(collector->processes[i].group.folder,
                   collector->processes[index].group.folder) == 0)
            return false;
    return true;
}

void proc_look(struct proc_collector *collector, uint64_t now_ns, bool last,
               const struct proc_sink *sink)
{
    const struct host_roots *roots = collector->roots;
    bool groups = proc_is_due(&collector->next_groups_ns, now_ns, GROUPS_EVERY_NS, last);

    proc_system_look(&collector->system, roots, now_ns, sink);
    proc_frequency_look(&collector->frequency, roots, now_ns, last, sink);
    proc_drm_look(&collector->gpus, now_ns, last, sink);
    proc_npu_look(&collector->npus, roots, now_ns, last, sink);
    for (size_t i = 0; i < collector->process_count; i++) {
        struct proc_process *process = &collector->processes[i];

        proc_process_look(process, roots, collector->begin_ns, now_ns, last, sink);
        if (collector->gpus.count || collector->gpus.first || collector->npus.count)
            proc_drm_look_process(process, roots, &collector->gpus, &collector->npus, now_ns, sink);
        if (groups) {
            proc_cgroup_find(process, roots, now_ns);
            if (is_first_of_group(collector, i))
                proc_cgroup_look(process, sink);
        }
        collector->io_denied |= process->io_denied;
    }
    proc_others_look(&collector->others, roots, collector->processes, collector->process_count,
                     now_ns, last, sink);
}

void proc_look_ended(struct proc_collector *collector, pid_t pid, uint64_t now_ns,
                     const struct proc_sink *sink)
{
    struct proc_process *process = find(collector, pid);

    if (process)
        proc_process_look(process, collector->roots, collector->begin_ns, now_ns, false, sink);
}

static void open_nvml(struct proc_collector *collector)
{
    if (!collector->nvml_tried)
        collector->nvml = proc_nvml_open(collector->nvml_words, sizeof collector->nvml_words);
    collector->nvml_tried = true;
}

void proc_look_devices(struct proc_collector *collector, const pid_t *pids, size_t count,
                       uint64_t now_ns, bool last, const struct proc_sink *sink)
{
    proc_power_look(&collector->power, now_ns, last, sink);
    open_nvml(collector);
    if (collector->nvml)
        proc_nvml_look(collector->nvml, pids, count, now_ns, last, sink);
}

bool proc_has_devices(const struct proc_collector *collector)
{
    return collector->nvml || !collector->nvml_tried || collector->power.rapl.count ||
           collector->power.sensor_count;
}

void proc_look_power(struct proc_collector *collector, uint64_t now_ns, bool last,
                     const struct proc_sink *sink)
{
    proc_power_look(&collector->power, now_ns, true, sink);
    open_nvml(collector);
    if (collector->nvml)
        proc_nvml_look(collector->nvml, NULL, 0, now_ns, last, sink);
    proc_begin(sink);
    proc_drm_look(&collector->gpus, now_ns, true, sink);
}

/* The devices of NVIDIA are in both lists where the driver is; NVML knows more. */
const char *proc_gpu_words(const struct proc_collector *collector)
{
    if (collector->nvml || (!collector->gpus.count && collector->nvml_words[0]))
        return collector->nvml_words;
    return collector->gpus.words;
}

const char *proc_npu_words(const struct proc_collector *collector)
{
    return collector->npus.words;
}

const char *proc_no_cpu_energy(const struct proc_collector *collector)
{
    return collector->power.words;
}

static void describe_device(const struct proc_device *device, const char *kind, size_t number,
                            struct proc_device_info *out)
{
    char path[256], text[64];

    *out = (struct proc_device_info){ .kind = kind, .number = (unsigned)number };
    snprintf(out->driver, sizeof out->driver, "%s", device->driver);
    snprintf(out->name, sizeof out->name, "%s", *device->driver ? device->driver : "unknown");
    snprintf(path, sizeof path, "%s/device/vbnv", device->path); /* amdxdna */
    if (ifg_read_small(path, text, sizeof text))
        proc_copy_word(out->name, sizeof out->name, text, strcspn(text, "\n"));
    snprintf(path, sizeof path, "%s/device/product_name", device->path); /* amdgpu, not always */
    if (ifg_read_small(path, text, sizeof text) && strcspn(text, "\n"))
        snprintf(out->name, sizeof out->name, "%.*s", (int)strcspn(text, "\n"), text);
}

size_t proc_list_devices(const struct proc_collector *collector, struct proc_device_info *out,
                         size_t most)
{
    const struct proc_devices *lists[] = { &collector->gpus, &collector->npus };
    size_t count = collector->nvml ? proc_nvml_list(collector->nvml, out, most) : 0;

    for (size_t l = 0; l < 2; l++)
        for (size_t i = 0; i < lists[l]->count && count < most; i++)
            describe_device(&lists[l]->items[i], l ? "npu" : "gpu", lists[l]->first + i,
                            &out[count++]);
    return count;
}

static bool any_tells(const struct proc_devices *devices)
{
    for (size_t i = 0; i < devices->count; i++)
        if (devices->items[i].tells)
            return true;
    return false;
}

void proc_missing(const struct proc_collector *collector, char *out, size_t size)
{
    size_t used = 0;

    out[0] = '\0';
#define SAY(...)                                                                                   \
    do {                                                                                           \
        if (used + 2 < size)                                                                       \
            used += (size_t)snprintf(out + used, size - used, "%s", used ? "; " : "");             \
        if (used < size)                                                                           \
            used += (size_t)snprintf(out + used, size - used, __VA_ARGS__);                        \
    } while (0)
    if (collector->no_devices)
        SAY("GPU and NPU: left out (--gpu off)");
    else if (!collector->nvml && !collector->gpus.count)
        SAY("GPU: %s", proc_gpu_words(collector));
    else if (!collector->nvml && !any_tells(&collector->gpus))
        SAY("GPU: %s tells only of processes", collector->gpus.words);
    if (!collector->npus.count && !collector->no_devices)
        SAY("NPU: no device");
    else if (!collector->no_devices && !any_tells(&collector->npus))
        SAY("NPU: %s tells only of processes", collector->npus.words);
    if (!collector->frequency.has_frequency)
        SAY("frequency: no cpufreq (a virtual machine?)");
    if (!collector->frequency.has_throttle)
        SAY("throttling by heat: no counters");
    if (!collector->system.has_pressure)
        SAY("pressure: not in this kernel");
    if (collector->power.words[0]) /* without the command: that is doctor's */
        SAY("CPU energy: %.*s", (int)(strcspn(collector->power.words, ":")),
            collector->power.words);
    if (collector->nvml && proc_nvml_any_mig(collector->nvml))
        SAY("GPU: MIG is on: its driver tells no utilisation, and power and energy only of the "
            "whole device");
    if (collector->io_denied)
        SAY("I/O: no right to read /proc/PID/io");
#undef SAY
}
