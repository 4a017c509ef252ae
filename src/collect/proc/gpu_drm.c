// SPDX-License-Identifier: Apache-2.0
/*
 * GPUs of the kernel's DRM drivers: amdgpu, i915, xe, panfrost and what else follows their customs.
 * The machine's side comes from sysfs, the side of a process from its descriptors (fdinfo).
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/proc/proc_internal.h"

#define EVERY_NS     (SECOND_NS / 10)
#define FIND_FDS_NS  (5 * SECOND_NS)
#define NONE_YET_NS  SECOND_NS /* until a process has one */
#define ENGINES_MAX  16u       /* of one process, by name */
#define FDS_LOOKED   4096u
#define LEAST_NS     5000000ull
#define RESIDENCY_NS (SECOND_NS / 4) /* milliseconds of idleness: shares of less are noise */

/* ---- the machine ---- */

static bool is_number(const char *text)
{
    return *text && strspn(text, "0123456789") == strlen(text) && strlen(text) <= 3;
}

static int by_path(const void *a, const void *b)
{
    return strverscmp(((const struct proc_device *)a)->path, ((const struct proc_device *)b)->path);
}

static void read_driver(struct proc_device *device)
{
    char path[256], text[1024];

    snprintf(path, sizeof path, "%s/device/uevent", device->path);
    if (ifg_read_small(path, text, sizeof text))
        proc_parse_driver(text, device->driver, sizeof device->driver);
}

void proc_devices_find(struct proc_devices *devices, const char *folder, const char *prefix)
{
    DIR *entries = opendir(folder);
    struct dirent *entry;

    while (entries && devices->count < PROC_DEVICES_MAX && (entry = readdir(entries)) != NULL) {
        struct proc_device *device = &devices->items[devices->count];
        size_t length = strlen(prefix);

        if (strncmp(entry->d_name, prefix, length) != 0 || !is_number(entry->d_name + length))
            continue; /* card0-HDMI-A-1 is a plug */
        snprintf(device->path, sizeof device->path, "%.100s/%.24s", folder, entry->d_name);
        read_driver(device);
        devices->count++;
    }
    if (entries)
        closedir(entries);
    qsort(devices->items, devices->count, sizeof devices->items[0], by_path);
}

/* NVIDIA's own driver tells nothing here, and NVML everything; the rest of these only show a
 * picture. */
static bool is_left_out(const char *driver)
{
    static const char *const others[] = { "nvidia",     "nvidia-drm", "ast",
                                          "bochs-drm",  "bochs",      "cirrus",
                                          "hyperv_drm", "mgag200",    "qxl",
                                          "simpledrm",  "vmwgfx",     "virtio_gpu",
                                          "virtio-pci", "vkms",       "simple-framebuffer" };

    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (strcmp(driver, others[i]) == 0)
            return true;
    return false;
}

/* How many devices NVML will number from 0 on. */
static size_t count_nvidia(const struct host_roots *roots)
{
    char folder[128];
    struct dirent *entry;
    size_t count = 0;
    DIR *entries;

    snprintf(folder, sizeof folder, "%.100s/driver/nvidia/gpus", roots->proc);
    entries = opendir(folder);
    while (entries && (entry = readdir(entries)) != NULL)
        count += entry->d_name[0] != '.';
    if (entries)
        closedir(entries);
    return count;
}

void proc_drm_open(struct proc_devices *gpus, const struct host_roots *roots)
{
    char folder[128];
    size_t used = 0, kept = 0;

    snprintf(folder, sizeof folder, "%.100s/class/drm", roots->sys);
    proc_devices_find(gpus, folder, "card");
    for (size_t i = 0; i < gpus->count; i++)
        if (!is_left_out(gpus->items[i].driver))
            gpus->items[kept++] = gpus->items[i];
    gpus->count = kept;
    gpus->first = count_nvidia(roots);
    if (!gpus->count) {
        snprintf(gpus->words, sizeof gpus->words, "no driver");
        return;
    }
    for (size_t i = 0; i < gpus->count && used < sizeof gpus->words; i++)
        used +=
            (size_t)snprintf(gpus->words + used, sizeof gpus->words - used, "%s%s", i ? ", " : "",
                             gpus->items[i].driver[0] ? gpus->items[i].driver : "unknown driver");
}

static uint64_t read_below(const struct proc_device *device, const char *file)
{
    char path[256];

    snprintf(path, sizeof path, "%s/%s", device->path, file);
    return ifg_read_number(path);
}

/* The first of these files that tells. */
static uint64_t read_first(const struct proc_device *device, const char *const *files, size_t count)
{
    uint64_t value = MISSING;

    for (size_t i = 0; i < count && value == MISSING; i++)
        value = read_below(device, files[i]);
    return value;
}

static void put(struct proc_device *device, size_t number, const char *what, double value,
                const struct proc_sink *sink)
{
    char name[PROC_NAME_BYTES];

    snprintf(name, sizeof name, "gpu %zu %s", number, what);
    proc_put(sink, 0, name, value);
    device->tells = true;
}

/* Intel's drivers count the time in which the GPU slept. */
static void look_at_residency(struct proc_device *device, size_t number, uint64_t now_ns,
                              const struct proc_sink *sink)
{
    static const char *const files[] = { "gt/gt0/rc6_residency_ms", "power/rc6_residency_ms",
                                         "device/tile0/gt0/gtidle/idle_residency_ms" };
    uint64_t idle_ms;

    if (device->at_ns && now_ns < device->at_ns + RESIDENCY_NS)
        return;
    idle_ms = read_first(device, files, 3);
    if (idle_ms == MISSING)
        return;
    if (device->at_ns) {
        double idle =
            100 * 1e6 * proc_more(idle_ms, device->idle_ms) / (double)(now_ns - device->at_ns);

        put(device, number, "busy %", idle < 100 ? 100 - idle : 0, sink);
    }
    device->idle_ms = idle_ms;
    device->at_ns = now_ns;
}

/* hwmon has a number that nobody knows beforehand. */
static uint64_t read_sensor(const struct proc_device *device, const char *const *files,
                            size_t count)
{
    char folder[192], path[320];
    struct dirent *entry;
    uint64_t value = MISSING;
    DIR *sensors;

    snprintf(folder, sizeof folder, "%s/device/hwmon", device->path);
    sensors = opendir(folder);
    while (sensors && value == MISSING && (entry = readdir(sensors)) != NULL) {
        if (strncmp(entry->d_name, "hwmon", 5) != 0)
            continue;
        for (size_t i = 0; i < count && value == MISSING; i++) {
            snprintf(path, sizeof path, "%s/%.20s/%s", folder, entry->d_name, files[i]);
            value = ifg_read_number(path);
        }
    }
    if (sensors)
        closedir(sensors);
    return value;
}

static void look_at_device(struct proc_device *device, size_t number, uint64_t now_ns,
                           const struct proc_sink *sink)
{
    static const char *const clocks[] = { "gt/gt0/rps_act_freq_mhz", "gt_act_freq_mhz",
                                          "device/tile0/gt0/freq0/act_freq" };
    static const char *const powers[] = { "power1_average", "power1_input" };
    static const char *const heats[] = { "temp1_input" };
    static const char *const counts[] = { "energy1_input" };
    static const char *const hertz[] = { "freq1_input" };
    uint64_t value = read_below(device, "device/gpu_busy_percent");

    if (value <= 100)
        put(device, number, "busy %", (double)value, sink);
    else
        look_at_residency(device, number, now_ns, sink);
    value = read_below(device, "device/mem_info_vram_used");
    if (value != MISSING)
        put(device, number, "memory used bytes", (double)value, sink);
    value = read_first(device, clocks, 3);
    if (value != MISSING)
        put(device, number, "clock MHz", (double)value, sink);
    else if ((value = read_sensor(device, hertz, 1)) != MISSING)
        put(device, number, "clock MHz", (double)value / 1e6, sink);
    value = read_sensor(device, counts, 1);
    if (value != MISSING)
        put(device, number, "energy J", (double)value / 1e6, sink);
    value = read_sensor(device, powers, 2);
    if (value != MISSING)
        put(device, number, "power W", (double)value / 1e6, sink);
    value = read_sensor(device, heats, 1);
    if (value != MISSING)
        put(device, number, "temperature C", (double)value / 1e3, sink);
}

void proc_drm_look(struct proc_devices *gpus, uint64_t now_ns, bool last,
                   const struct proc_sink *sink)
{
    if (!gpus->count || !proc_is_due(&gpus->next_ns, now_ns, EVERY_NS, last))
        return;
    for (size_t i = 0; i < gpus->count; i++)
        look_at_device(&gpus->items[i], gpus->first + i, now_ns, sink);
}

/* ---- a process ---- */

bool proc_is_npu_driver(const char *driver)
{
    return strcmp(driver, "intel_vpu") == 0 || strncmp(driver, "amdxdna", 7) == 0 ||
           strcmp(driver, "qaic") == 0;
}

static bool read_client(const struct proc_process *process, const struct host_roots *roots,
                        uint32_t fd, struct drm_client *out)
{
    char path[256], text[4096];

    snprintf(path, sizeof path, "%s/%u/fdinfo/%u", roots->proc, process->pid, fd);
    return ifg_read_small(path, text, sizeof text) && proc_parse_fdinfo(text, out);
}

static bool is_same(const struct drm_client *left, const struct drm_client *right)
{
    return left->id == right->id && strcmp(left->driver, right->driver) == 0 &&
           strcmp(left->device, right->device) == 0;
}

/* "/dev/nvidia0"; its controls (nvidiactl, nvidia-uvm) are not a device. */
static bool is_nvidia(const char *link)
{
    return strncmp(link, "/dev/nvidia", 11) == 0 && is_number(link + 11);
}

/* Which descriptors are of a device; a client that has several of them counts once. What has no
 * fdinfo (qaic, NVIDIA) is only seen to be open. */
static void find_descriptors(struct proc_process *process, const struct host_roots *roots)
{
    struct drm_client clients[PROC_DRM_FDS];
    char folder[256], path[300], link[64];
    struct dirent *entry;
    size_t looked = 0;
    DIR *fds;

    process->drm_fd_count = 0;
    process->nvidia_open = process->accel_open = 0;
    snprintf(folder, sizeof folder, "%s/%u/fd", roots->proc, process->pid);
    fds = opendir(folder);
    process->fds_read = fds != NULL;
    while (fds && process->drm_fd_count < PROC_DRM_FDS && looked++ < FDS_LOOKED &&
           (entry = readdir(fds)) != NULL) {
        struct drm_client *client = &clients[process->drm_fd_count];
        bool known = false, is_accel;
        uint64_t fd;
        ssize_t length;

        if (!ifg_parse_number(entry->d_name, NULL, &fd) || fd > UINT32_MAX)
            continue;
        snprintf(path, sizeof path, "%s/%u", folder, (uint32_t)fd);
        length = readlink(path, link, sizeof link - 1);
        link[length > 0 ? length : 0] = '\0';
        is_accel = strncmp(link, "/dev/accel/", 11) == 0;
        process->accel_open += is_accel;
        process->nvidia_open += is_nvidia(link);
        if ((strncmp(link, "/dev/dri/", 9) != 0 && !is_accel) ||
            !read_client(process, roots, (uint32_t)fd, client))
            continue;
        for (size_t i = 0; i < process->drm_fd_count; i++)
            known |= is_same(&clients[i], client);
        if (known)
            continue;
        process->drm_is_npu[process->drm_fd_count] = is_accel || proc_is_npu_driver(client->driver);
        process->drm_fds[process->drm_fd_count++] = (uint32_t)fd;
    }
    if (fds)
        closedir(fds);
}

/* What a process has of engines of one name, on all its clients. */
struct engine_use {
    char name[PROC_NAME_BYTES];
    double percent;
};

struct engine_uses {
    struct engine_use items[ENGINES_MAX];
    size_t count;
};

static void add_use(struct engine_uses *uses, bool is_npu, const char *engine, double percent)
{
    char name[PROC_NAME_BYTES];
    size_t i = 0;

    snprintf(name, sizeof name, "%s engine %s %%", is_npu ? "npu" : "gpu", engine);
    while (i < uses->count && strcmp(uses->items[i].name, name) != 0)
        i++;
    if (i == ENGINES_MAX)
        return;
    if (i == uses->count) {
        memcpy(uses->items[i].name, name, sizeof name);
        uses->items[uses->count++].percent = 0;
    }
    uses->items[i].percent += percent;
}

/* A name that stands for several engines (its capacity) is busy to 100 % when all are. */
static void add_engines(const struct drm_client *now, const struct drm_client *before, bool is_npu,
                        double elapsed_ns, struct engine_uses *uses)
{
    for (size_t i = 0; i < now->engine_count; i++) {
        const struct drm_engine *engine = &now->engines[i];

        for (size_t j = 0; j < before->engine_count; j++) {
            const struct drm_engine *old = &before->engines[j];
            double total = proc_more(engine->total_cycles, old->total_cycles);
            double capacity = engine->capacity ? engine->capacity : 1;

            if (strcmp(old->name, engine->name) != 0)
                continue;
            if (engine->busy_ns != MISSING)
                add_use(uses, is_npu, engine->name,
                        100 * proc_more(engine->busy_ns, old->busy_ns) / elapsed_ns / capacity);
            else if (total > 0)
                add_use(uses, is_npu, engine->name,
                        100 * proc_more(engine->cycles, old->cycles) / total / capacity);
            break;
        }
    }
}

static void put_open(const struct proc_process *process, const struct proc_devices *gpus,
                     const struct proc_devices *npus, const struct proc_sink *sink)
{
    if (!process->fds_read)
        return;
    if (gpus->first)
        proc_put(sink, process->pid, "gpu descriptors", process->nvidia_open);
    if (npus->count)
        proc_put(sink, process->pid, "npu descriptors", process->accel_open);
}

void proc_drm_look_process(struct proc_process *process, const struct host_roots *roots,
                           const struct proc_devices *gpus, const struct proc_devices *npus,
                           uint64_t now_ns, const struct proc_sink *sink)
{
    uint64_t memory[2] = { 0, 0 };
    bool any[2] = { false, false };
    struct drm_client fresh[PROC_DRM_FDS];
    struct engine_uses uses = { .count = 0 };
    size_t count = 0;

    if (now_ns < process->drm_ns + LEAST_NS)
        return;
    if (proc_is_due(&process->next_drm_ns, now_ns, FIND_FDS_NS, false)) {
        find_descriptors(process, roots);
        if (!process->drm_fd_count && !process->nvidia_open && !process->accel_open)
            process->next_drm_ns = now_ns + NONE_YET_NS;
        put_open(process, gpus, npus, sink);
    }
    for (size_t i = 0; i < process->drm_fd_count; i++) {
        struct drm_client *client = &fresh[count];
        bool is_npu = process->drm_is_npu[i];

        if (!read_client(process, roots, process->drm_fds[i], client))
            continue;
        any[is_npu] = true;
        memory[is_npu] += client->memory_bytes;
        for (size_t j = 0; j < process->drm_count; j++)
            if (is_same(client, &process->drm[j]))
                add_engines(client, &process->drm[j], is_npu, (double)(now_ns - process->drm_ns),
                            &uses);
        count++;
    }
    for (size_t i = 0; i < uses.count; i++)
        proc_put(sink, process->pid, uses.items[i].name, uses.items[i].percent);
    if (any[0])
        proc_put(sink, process->pid, "gpu memory bytes", (double)memory[0]);
    if (any[1])
        proc_put(sink, process->pid, "npu memory bytes", (double)memory[1]);
    memcpy(process->drm, fresh, count * sizeof fresh[0]);
    process->drm_count = count;
    process->drm_ns = now_ns;
}
