// SPDX-License-Identifier: Apache-2.0
/*
 * The devices of this machine, what a recording can tell of each, what it cannot and why. What a
 * device gives is not looked up: it is what the collector that recordings use gets from it here.
 */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/ticks.h"
#include "cli/advice.h"
#include "cli/cli.h"
#include "cli/doctor.h"
#include "cli/text.h"
#include "record/hooks.h"

#define SECOND_NS    1000000000ull
#define WAIT_NS      30000000
#define NAME_COLUMNS 8

const char *const doctor_gives[DOCTOR_GIVES] = {
    [DOCTOR_UTILISATION] = "utilisation",
    [DOCTOR_MEMORY] = "memory",
    [DOCTOR_POWER] = "power",
    [DOCTOR_ENERGY] = "energy",
    [DOCTOR_CLOCKS] = "clocks",
    [DOCTOR_TEMPERATURE] = "temperature",
    [DOCTOR_THROTTLING] = "throttling",
    [DOCTOR_PROCESSES] = "processes",
    [DOCTOR_QUEUE] = "queue length",
    [DOCTOR_KERNELS] = "kernels",
};

/* Which value means what; ends of names. */
static const struct {
    const char *end;
    enum doctor_give give;
} ends[] = {
    { " busy %", DOCTOR_UTILISATION },      { " memory used bytes", DOCTOR_MEMORY },
    { " power W", DOCTOR_POWER },           { " energy J", DOCTOR_ENERGY },
    { " clock MHz", DOCTOR_CLOCKS },        { " temperature C", DOCTOR_TEMPERATURE },
    { " power capped", DOCTOR_THROTTLING }, { " other processes", DOCTOR_PROCESSES },
    { " queued requests", DOCTOR_QUEUE },
};

static void take_cpu(struct doctor_device *cpu, const char *name)
{
    cpu->gives[DOCTOR_UTILISATION] |= strcmp(name, "cpu total %") == 0;
    cpu->gives[DOCTOR_MEMORY] |= strcmp(name, "memory used bytes") == 0;
    cpu->gives[DOCTOR_ENERGY] |= strcmp(name, "cpu energy J") == 0;
    cpu->gives[DOCTOR_CLOCKS] |= strcmp(name, "cpu frequency avg MHz") == 0;
    cpu->gives[DOCTOR_TEMPERATURE] |= strcmp(name, "cpu temperature C") == 0;
    cpu->gives[DOCTOR_THROTTLING] |= strcmp(name, "cpu thermal throttles") == 0;
    cpu->gives[DOCTOR_POWER] |= strncmp(name, "gpu ", 4) != 0 && strlen(name) > 8 &&
                                strcmp(name + strlen(name) - 8, " power W") == 0;
}

static void take(void *user, uint32_t pid, const char *name, double value)
{
    struct doctor_devices *devices = user;

    (void)value;
    if (pid)
        return;
    take_cpu(&devices->items[0], name);
    for (size_t i = 1; i < devices->count; i++) {
        struct doctor_device *device = &devices->items[i];
        size_t length = strlen(device->name);

        if (strncmp(name, device->name, length) != 0 || name[length] != ' ')
            continue;
        for (size_t e = 0; e < sizeof ends / sizeof ends[0]; e++)
            if (strcmp(name + length, ends[e].end) == 0)
                device->gives[ends[e].give] = true;
    }
}

/* ---- what is missing ---- */

static void lack(struct doctor_device *device, const char *what, const char *why, const char *fix)
{
    struct doctor_lack *one = &device->lacks[device->lack_count];

    if (device->lack_count == DOCTOR_LACKS)
        return;
    snprintf(one->what, sizeof one->what, "%s", what);
    snprintf(one->why, sizeof one->why, "%s", why);
    snprintf(one->fix, sizeof one->fix, "%s", fix);
    device->lack_count++;
}

static void lack_of_cpu(struct doctor_device *device, const char *no_energy)
{
    const char *command = strstr(no_energy, "): ");
    char why[160];

    if (!device->gives[DOCTOR_ENERGY] && *no_energy) {
        snprintf(why, sizeof why, "%.*s", command ? (int)(command + 1 - no_energy) : 150,
                 no_energy);
        lack(device, "energy", why, command ? command + 3 : "");
    }
}

static bool is_driver(const struct doctor_device *device, const char *driver)
{
    return strncmp(device->driver, driver, strlen(driver)) == 0;
}

/* A library that the recorder puts into programs to see kernels; "" or why there is none. */
static const char *why_no_hook(const char *library, char *out, size_t size)
{
    char folder[4096], path[4160];

    out[0] = '\0';
    if (!hooks_find_directory(folder, out, size))
        return out;
    snprintf(path, sizeof path, "%s/%s", folder, library);
    if (access(path, R_OK) != 0)
        snprintf(out, size, "%s is not installed", library);
    return out;
}

static void lack_of_nvidia(struct doctor_device *device, bool is_mig)
{
    char why[160];

    if (is_mig)
        lack(device, "utilisation",
             "MIG is on: the driver tells none, and power and energy are the whole device's", "");
    else if (!device->gives[DOCTOR_UTILISATION])
        lack(device, "utilisation", "the driver does not tell it of this device", "");
    if (!device->gives[DOCTOR_ENERGY])
        lack(device, "energy",
             device->gives[DOCTOR_POWER]
                 ? "the device counts none: joules come from samples of its power"
                 : "the driver does not tell it of this device",
             "");
    if (*why_no_hook("libinferogram-cupti.so", why, sizeof why))
        lack(device, "kernels", why, "");
    else
        device->gives[DOCTOR_KERNELS] = true;
}

static bool has_rocprofiler(void)
{
    static const char *const places[] = { "/opt/rocm*/lib/librocprofiler-sdk.so*",
                                          "/usr/lib/*/librocprofiler-sdk.so*",
                                          "/usr/lib64/librocprofiler-sdk.so*",
                                          "/usr/local/lib/librocprofiler-sdk.so*" };
    bool is_there = false;

    for (size_t i = 0; i < sizeof places / sizeof places[0] && !is_there; i++) {
        glob_t found;

        is_there = glob(places[i], 0, NULL, &found) == 0;
        globfree(&found);
    }
    return is_there;
}

/* What a program on this machine needs for its kernels to be seen. */
static void lack_of_rocm(struct doctor_device *device, const struct host_roots *roots)
{
    char path[256], why[160];

    snprintf(path, sizeof path, "%.200s/class/kfd/kfd", roots->sys);
    if (access(path, F_OK) != 0)
        lack(device, "kernels",
             "the driver runs without its part for computing (KFD), which HIP and rocprofiler-sdk "
             "need",
             "");
    else if (access("/dev/kfd", F_OK) != 0)
        lack(device, "kernels",
             "there is no /dev/kfd, which HIP and rocprofiler-sdk need: a container must be given "
             "it",
             "");
    else if (access("/dev/kfd", R_OK | W_OK) != 0)
        lack(device, "kernels",
             "this user may not open /dev/kfd, which HIP and rocprofiler-sdk need",
             "sudo usermod -a -G render,video $USER");
    else if (*why_no_hook("libinferogram-rocm.so", why, sizeof why))
        lack(device, "kernels", why, "");
    else if (!has_rocprofiler())
        lack(device, "kernels",
             "rocprofiler-sdk is not installed; programs that bring their own are recorded (ROCm "
             "7.0 or "
             "later)",
             "");
    else
        device->gives[DOCTOR_KERNELS] = true;
}

static void lack_of_gpu(struct doctor_device *device, const struct host_roots *roots)
{
    device->gives[DOCTOR_PROCESSES] = true;
    if (!device->gives[DOCTOR_UTILISATION])
        lack(device, "utilisation", "the driver tells it only of processes (fdinfo)", "");
    if (!device->gives[DOCTOR_ENERGY])
        lack(device, "energy",
             device->gives[DOCTOR_POWER]
                 ? "the driver counts none: joules come from samples of its power"
                 : "the driver tells neither energy nor power",
             "");
    if (is_driver(device, "amdgpu"))
        lack_of_rocm(device, roots);
    else
        lack(device, "kernels", "there is no way to see those of this driver", "");
}

static void lack_of_npu(struct doctor_device *device)
{
    if (is_driver(device, "qaic")) {
        if (!device->gives[DOCTOR_QUEUE])
            lack(device, "queue length", "only root may read it (debugfs)",
                 geteuid() ? "sudo inferogram record ..." : "");
        lack(device, "utilisation", "the driver tells none", "");
        lack(device, "latency of requests",
             "the driver tells it only to the process that owns the request's buffer "
             "(DRM_IOCTL_QAIC_PERF_STATS_BO)",
             "");
        lack(device, "processes", "the driver has no fdinfo: only who has it open is seen", "");
        return;
    }
    device->gives[DOCTOR_PROCESSES] = is_driver(device, "amdxdna");
    if (!device->gives[DOCTOR_UTILISATION])
        lack(device, "utilisation",
             is_driver(device, "amdxdna")
                 ? "the driver tells it only of processes, in versions that count it (fdinfo)"
                 : "the driver tells none",
             "");
    if (is_driver(device, "intel_vpu"))
        lack(device, "processes", "the driver has no fdinfo: only who has it open is seen", "");
    if (!device->gives[DOCTOR_POWER] && !device->gives[DOCTOR_ENERGY])
        lack(device, "energy", "the driver tells neither energy nor power", "");
}

/* ---- the list ---- */

static void add_cpu(const struct host_roots *roots, struct doctor_devices *out)
{
    struct doctor_device *cpu = &out->items[out->count++];
    struct host_facts host;

    host_read(roots, &host);
    snprintf(cpu->name, sizeof cpu->name, "cpu");
    snprintf(cpu->model, sizeof cpu->model, "%s", *host.cpu ? host.cpu : "unknown CPU");
    cpu->gives[DOCTOR_PROCESSES] = true;
}

void doctor_devices_list(const struct host_roots *roots, struct doctor_devices *out)
{
    const struct timespec moment = { 0, WAIT_NS };
    const struct proc_sink sink = { take, out, NULL };
    struct proc_device_info infos[PROC_DEVICE_INFOS];
    uint64_t now_ns = ifg_monotonic_ns();
    struct proc_collector *collector = proc_open(roots, now_ns);
    pid_t self = getpid();
    size_t count;

    memset(out, 0, sizeof *out);
    add_cpu(roots, out);
    if (!collector)
        return;
    proc_look_devices(collector, &self, 1, now_ns, true, &sink);
    count = proc_list_devices(collector, infos, PROC_DEVICE_INFOS);
    for (size_t i = 0; i < count && out->count < DOCTOR_DEVICES; i++) {
        struct doctor_device *device = &out->items[out->count++];

        snprintf(device->name, sizeof device->name, "%s %u", infos[i].kind, infos[i].number);
        snprintf(device->model, sizeof device->model, "%s", infos[i].name);
        snprintf(device->driver, sizeof device->driver, "%s", infos[i].driver);
    }
    /* Twice, because shares are differences; the second as if a second later. */
    proc_look(collector, now_ns, false, &sink);
    nanosleep(&moment, NULL);
    proc_look(collector, now_ns + SECOND_NS, true, &sink);
    proc_look_devices(collector, &self, 1, now_ns + SECOND_NS, true, &sink);
    lack_of_cpu(&out->items[0], proc_no_cpu_energy(collector));
    for (size_t i = 1; i < out->count; i++) {
        struct doctor_device *device = &out->items[i];

        if (is_driver(device, "nvidia"))
            lack_of_nvidia(device, infos[i - 1].is_mig);
        else if (strncmp(device->name, "npu", 3) == 0)
            lack_of_npu(device);
        else
            lack_of_gpu(device, roots);
    }
    proc_close(collector);
}

const struct doctor_devices *doctor_devices_found(void)
{
    static struct doctor_devices devices;

    if (!devices.count)
        doctor_devices_list(&host_system, &devices);
    return &devices;
}

/* ---- how it looks ---- */

static void list_gives(const struct doctor_device *device, char *out, size_t size)
{
    out[0] = '\0';
    for (int g = 0; g < DOCTOR_GIVES; g++)
        if (device->gives[g])
            snprintf(out + strlen(out), size - strlen(out), "%s%s", *out ? ", " : "",
                     doctor_gives[g]);
    if (!*out)
        snprintf(out, size, "nothing");
}

void doctor_devices_text(struct ifg_bytes *out)
{
    const struct doctor_devices *devices = doctor_devices_found();

    cli_print(out, "\n%sDevices%s, and what recordings have of them\n",
              cli_bold(true, STDOUT_FILENO), cli_bold(false, STDOUT_FILENO));
    for (size_t i = 0; i < devices->count; i++) {
        const struct doctor_device *device = &devices->items[i];
        char line[400], clean[200], gives[200];

        list_gives(device, gives, sizeof gives);
        snprintf(line, sizeof line, "%.90s: %s", cli_clean(device->model, clean, sizeof clean),
                 gives);
        cli_print(out, "  %-*s", NAME_COLUMNS, device->name);
        text_wrap(out, (struct text_frame){ 2 + NAME_COLUMNS, 2 + NAME_COLUMNS, 0 }, line);
        cli_print(out, "\n");
        for (size_t l = 0; l < device->lack_count; l++) {
            const struct doctor_lack *one = &device->lacks[l];

            snprintf(line, sizeof line, "no %s: %s", one->what, one->why);
            cli_print(out, "%*s", 2 + NAME_COLUMNS, "");
            text_wrap(out, (struct text_frame){ 2 + NAME_COLUMNS, 4 + NAME_COLUMNS, 0 }, line);
            cli_print(out, "\n");
            if (*one->fix)
                advice_put_command(out, one->fix, 4 + NAME_COLUMNS,
                                   text_line_columns(STDOUT_FILENO));
        }
    }
}

void doctor_devices_json(struct ifg_json *json)
{
    const struct doctor_devices *devices = doctor_devices_found();

    ifg_json_put_open(json, "devices", '[');
    for (size_t i = 0; i < devices->count; i++) {
        const struct doctor_device *device = &devices->items[i];

        ifg_json_open(json, '{');
        ifg_json_put_string(json, "name", device->name);
        ifg_json_put_string(json, "model", device->model);
        ifg_json_put_string(json, "driver", device->driver);
        ifg_json_put_open(json, "gives", '[');
        for (int g = 0; g < DOCTOR_GIVES; g++)
            if (device->gives[g])
                ifg_json_string(json, doctor_gives[g]);
        ifg_json_close(json, ']');
        ifg_json_put_open(json, "missing", '[');
        for (size_t l = 0; l < device->lack_count; l++) {
            ifg_json_open(json, '{');
            ifg_json_put_string(json, "what", device->lacks[l].what);
            ifg_json_put_string(json, "why", device->lacks[l].why);
            ifg_json_put_string(json, "fix", device->lacks[l].fix);
            ifg_json_close(json, '}');
        }
        ifg_json_close(json, ']');
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
}
