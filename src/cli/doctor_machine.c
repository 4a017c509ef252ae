// SPDX-License-Identifier: Apache-2.0
/*
 * What recordings tell of the machine, looked at with the very collector that they use; what it
 * does not find is said in its own words.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>
#include <unistd.h>

#include "base/convert.h"
#include "base/ticks.h"
#include "bench/machine/trust.h"
#include "cli/cli.h"
#include "cli/doctor.h"
#include "collect/proc/proc.h"
#include "system/cgroup.h"

#define SECOND_NS 1000000000ull
#define WAIT_NS   30000000 /* the kernel counts CPU time in hundredths of a second */

/* What one look found. */
struct look {
    bool done;
    unsigned machine; /* how many values */
    unsigned process;
    unsigned gpu; /* of these, how many are theirs */
    unsigned npu;
    bool pressure;
    bool group;
    double frequency_mhz; /* NAN: not told */
    double throttles;
    double cpu_limit;
    double memory_limit;
    char gpu_words[160];
    char npu_words[160];
    char missing[512];
};

static void take(void *user, uint32_t pid, const char *name, double value)
{
    struct look *look = user;

    *(pid ? &look->process : &look->machine) += 1;
    look->gpu += !pid && strncmp(name, "gpu ", 4) == 0;
    look->npu += !pid && strncmp(name, "npu ", 4) == 0;
    look->pressure |= strstr(name, "pressure") != NULL;
    look->group |= strncmp(name, "cgroup ", 7) == 0;
    if (strcmp(name, "cpu frequency avg MHz") == 0)
        look->frequency_mhz = value;
    else if (strcmp(name, "cpu thermal throttles") == 0)
        look->throttles = value;
    else if (strcmp(name, "cgroup cpu limit") == 0)
        look->cpu_limit = value;
    else if (strcmp(name, "cgroup memory limit bytes") == 0)
        look->memory_limit = value;
}

/* Two looks, because shares are differences; the second as if a second later. */
static const struct look *look_once(void)
{
    static struct look look;
    const struct timespec moment = { 0, WAIT_NS };
    const struct proc_sink sink = { .value = take, .user = &look };
    uint64_t now_ns = ifg_monotonic_ns();
    struct proc_collector *collector;
    pid_t self = getpid();

    if (look.done)
        return &look;
    look.done = true;
    look.frequency_mhz = look.throttles = look.cpu_limit = look.memory_limit = (double)NAN;
    collector = proc_open(&host_system, now_ns);
    if (!collector)
        return &look;
    proc_follow(collector, &self, 1);
    proc_look(collector, now_ns, false, &sink);
    nanosleep(&moment, NULL);
    look.machine = look.process = look.gpu = look.npu = 0;
    proc_look(collector, now_ns + SECOND_NS, true, &sink);
    snprintf(look.gpu_words, sizeof look.gpu_words, "%s", proc_gpu_words(collector));
    snprintf(look.npu_words, sizeof look.npu_words, "%s", proc_npu_words(collector));
    proc_missing(collector, look.missing, sizeof look.missing);
    proc_close(collector);
    return &look;
}

/* What the collector says of a source that it lacks: "frequency: no cpufreq"; "" if it has it. */
static bool is_missing(const struct look *look, const char *source, char *out, size_t size)
{
    const char *at = look->missing;

    out[0] = '\0';
    while (at && *at) {
        const char *end = strstr(at, "; ");

        if (strncmp(at, source, strlen(source)) == 0 && at[strlen(source)] == ':') {
            at += strlen(source) + 2;
            snprintf(out, size, "%.*s", end ? (int)(end - at) : (int)strlen(at), at);
            return true;
        }
        at = end ? end + 2 : NULL;
    }
    return false;
}

/* ---- the computer ---- */

void doctor_computer(struct doctor_finding *out)
{
    struct host_facts host;
    char where[80] = "";

    host_read(&host_system, &host);
    if (strcmp(host.hypervisor, "yes") == 0)
        snprintf(where, sizeof where, ", a virtual machine");
    else if (host.hypervisor[0])
        snprintf(where, sizeof where, ", a virtual machine (%s)", host.hypervisor);
    doctor_say(out, DOCTOR_WORKS, "%u x %s%s", host.cpus, *host.cpu ? host.cpu : "unknown CPU",
               where);
}

void doctor_clock(struct doctor_finding *out)
{
    struct host_facts host;

    host_read(&host_system, &host);
    switch (ifg_tick_source_choose()) {
    case IFG_TICKS_TSC:
        doctor_say(out, DOCTOR_WORKS, "TSC, at one rate on every core (the kernel's: %s)",
                   *host.clock_source ? host.clock_source : "unknown");
        break;
    case IFG_TICKS_CNTVCT:
        doctor_say(out, DOCTOR_WORKS, "CNTVCT");
        break;
    case IFG_TICKS_MONOTONIC:
        doctor_say(out, DOCTOR_WORKS,
                   "CLOCK_MONOTONIC: the counter of this processor changes its rate, so a zone "
                   "costs more");
        break;
    }
}

/* ---- resources ---- */

/* A program that has capabilities of its file may not read its own I/O, but that of others. */
void doctor_resources(struct doctor_finding *out)
{
    const struct look *look = look_once();
    char why[200];

    if (!look->machine || !look->process)
        doctor_say(out, DOCTOR_NO, "/proc tells nothing of %s",
                   look->machine ? "processes" : "CPUs");
    else if (!getauxval(AT_SECURE) && is_missing(look, "I/O", why, sizeof why))
        doctor_say(out, DOCTOR_NO, "all but I/O: %s", why);
    else
        doctor_say(out, DOCTOR_WORKS, "%u values of the machine, %u of a process", look->machine,
                   look->process);
}

void doctor_pressure(struct doctor_finding *out)
{
    const struct look *look = look_once();
    char why[200];

    if (look->pressure)
        doctor_say(out, DOCTOR_WORKS, "%s", "");
    else if (access("/proc/pressure/cpu", F_OK) == 0)
        doctor_say(out, DOCTOR_NO,
                   "this kernel was started without it; add psi=1 to its command line");
    else if (is_missing(look, "pressure", why, sizeof why))
        doctor_say(out, DOCTOR_ABSENT, "%s", why);
    else
        doctor_say(out, DOCTOR_ABSENT, "/proc/pressure is not there");
}

void doctor_cgroup(struct doctor_finding *out)
{
    const struct look *look = look_once();
    struct cgroup group;
    char memory[32];
    char cpus[48] = "";
    char bytes[48] = "";
    bool known = cgroup_find("/proc/self", "/sys", &group);

    if (!isnan(look->cpu_limit))
        snprintf(cpus, sizeof cpus, "%.2g CPUs", look->cpu_limit);
    if (!isnan(look->memory_limit))
        snprintf(bytes, sizeof bytes, "%s%s of memory", *cpus ? ", " : "",
                 cli_size(ifg_u64_of(look->memory_limit), memory));
    if (*cpus || *bytes)
        doctor_say(out, DOCTOR_WORKS, "%s%s", cpus, bytes);
    else if (look->group || (known && strlen(group.folder) == group.top))
        doctor_say(out, DOCTOR_WORKS, "no limit on CPUs or memory");
    else if (access("/sys/fs/cgroup", X_OK) == 0)
        doctor_say(out, DOCTOR_ABSENT, "/sys/fs/cgroup tells nothing of the group of this process");
    else
        doctor_say(out, DOCTOR_ABSENT, "no control groups here (/sys/fs/cgroup)");
}

void doctor_frequency(struct doctor_finding *out)
{
    const struct look *look = look_once();
    char why[200];

    if (!isnan(look->frequency_mhz))
        doctor_say(out, DOCTOR_WORKS, "%.0f MHz now", look->frequency_mhz);
    else if (is_missing(look, "frequency", why, sizeof why))
        doctor_say(out, DOCTOR_ABSENT, "%s", why);
    else
        doctor_say(out, DOCTOR_ABSENT, "cpufreq tells none");
}

void doctor_throttling(struct doctor_finding *out)
{
    const struct look *look = look_once();
    char why[200];

    if (!isnan(look->throttles))
        doctor_say(out, DOCTOR_WORKS, "%.0f times since the start", look->throttles);
    else if (is_missing(look, "throttling by heat", why, sizeof why))
        doctor_say(out, DOCTOR_ABSENT, "%s", why);
    else
        doctor_say(out, DOCTOR_ABSENT, "no counters");
}

void doctor_energy(struct doctor_finding *out)
{
    const struct timespec moment = { 0, 2000000 };
    const char *reason;
    const char *command;
    struct energy *energy = energy_open(&host_system, &reason);
    struct energy_use use;

    if (energy) {
        energy_read(energy, &use);
        nanosleep(&moment, NULL);
        energy_read(energy, &use);
        energy_close(energy);
        if (isnan(use.cpu_j) && isnan(use.gpu_j))
            doctor_say(out, DOCTOR_NO, "there are counters, and they cannot be read");
        else
            doctor_say(out, DOCTOR_WORKS, "%s%s%s", isnan(use.cpu_j) ? "" : "CPU packages (RAPL)",
                       isnan(use.cpu_j) || isnan(use.gpu_j) ? "" : ", ",
                       isnan(use.gpu_j) ? "" : "GPU (NVML)");
        return;
    }
    command = strstr(reason, ": sudo ");
    if (command) {
        doctor_say(out, DOCTOR_NO, "%.*s", (int)(command - reason), reason);
        doctor_fix(out, "%.*s", (int)strcspn(command + 2, ";"), command + 2);
    } else {
        doctor_say(out, DOCTOR_ABSENT, "%s", reason);
    }
}

/* ---- accelerators ---- */

static void ignore(void *user, uint32_t pid, const char *name, double value)
{
    unsigned *count = user;

    (void)pid, (void)name, (void)value;
    ++*count;
}

void doctor_nvidia(struct doctor_finding *out)
{
    /* Without the DRM's own devices, the words about GPUs are those of NVML. */
    static const struct host_roots only_nvml = { "/proc", "/proc/self/no-sys" };
    bool device = access("/dev/nvidiactl", F_OK) == 0;
    unsigned values = 0;
    const struct proc_sink sink = { .value = ignore, .user = &values };
    struct proc_collector *collector = proc_open(&only_nvml, ifg_monotonic_ns());
    pid_t self = getpid();

    if (!collector) {
        doctor_say(out, DOCTOR_NO, "not enough memory");
        return;
    }
    proc_look_devices(collector, &self, 1, ifg_monotonic_ns(), false, &sink);
    if (values)
        doctor_say(out, DOCTOR_WORKS, "%s: %u values", proc_gpu_words(collector), values);
    else if (device)
        doctor_say(out, DOCTOR_NO,
                   "%s, although /dev/nvidiactl is there; a container needs the driver's "
                   "'utility' part (NVIDIA_DRIVER_CAPABILITIES)",
                   proc_gpu_words(collector));
    else
        doctor_say(out, strcmp(proc_gpu_words(collector), "no driver") ? DOCTOR_NO : DOCTOR_ABSENT,
                   "%s", proc_gpu_words(collector));
    proc_close(collector);
}

static void say_devices(struct doctor_finding *out, const char *words, unsigned values, bool absent)
{
    if (absent)
        doctor_say(out, DOCTOR_ABSENT, "%s", words);
    else if (values)
        doctor_say(out, DOCTOR_WORKS, "%s: %u values of the machine, and those of processes", words,
                   values);
    else
        doctor_say(out, DOCTOR_WORKS, "%s tells only of processes", words);
}

void doctor_gpus(struct doctor_finding *out)
{
    const struct look *look = look_once();

    say_devices(out, look->gpu_words, look->gpu, strcmp(look->gpu_words, "no driver") == 0);
}

void doctor_npus(struct doctor_finding *out)
{
    const struct look *look = look_once();

    say_devices(out, look->npu_words, look->npu, strcmp(look->npu_words, "no device") == 0);
}

void doctor_devices_check(struct doctor_finding *out)
{
    const struct doctor_devices *devices = doctor_devices_found();
    char names[256] = "";

    for (size_t i = 1; i < devices->count; i++)
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s (%s)",
                 i > 1 ? ", " : "", devices->items[i].name, devices->items[i].model);
    if (devices->count > 1)
        doctor_say(out, DOCTOR_WORKS, "%s", names);
    else
        doctor_say(out, DOCTOR_ABSENT, "no GPU or NPU is found, only the processors");
}
