// SPDX-License-Identifier: Apache-2.0
/* What machine this is, for results that are compared later: see trust.h. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/small_file.h"
#include "bench/machine/trust_internal.h"

#define CPUS_MAX 4096 /* that the kernel can tell us about */

/* One line, without blanks at its ends and anything that a terminal would take for a command. */
static void copy_line(char *out, size_t size, const char *text, size_t length)
{
    size_t used = 0;

    while (length && (*text == ' ' || *text == '\t' || *text == '"')) {
        text++;
        length--;
    }
    while (length && strchr(" \t\n\"", text[length - 1]))
        length--;
    for (size_t i = 0; i < length && used + 1 < size; i++)
        out[used++] = text[i] >= ' ' && text[i] < 0x7f ? text[i] : '?';
    out[used] = '\0';
}

static void read_line(const char *path, char *out, size_t size)
{
    char text[256];

    out[0] = '\0';
    if (ifg_read_small(path, text, sizeof text))
        copy_line(out, size, text, strcspn(text, "\n"));
}

/* The value behind a key and `mark` at the begin of a line: "model name : X", "NAME=X". */
static bool find_line(const char *text, const char *key, char mark, char *out, size_t size)
{
    size_t length = strlen(key);

    for (const char *line = text; line; line = strchr(line, '\n')) {
        const char *at;

        line += *line == '\n';
        if (strncmp(line, key, length) != 0)
            continue;
        at = line + length;
        at += strspn(at, " \t");
        if (*at != mark)
            continue;
        at++;
        copy_line(out, size, at, strcspn(at, "\n"));
        return true;
    }
    return false;
}

/* Who runs this machine as a guest: "" if nobody. Firmware tells a name, the CPU only yes. */
static void read_hypervisor(const struct trust_roots *roots, const char *cpuinfo, char *out,
                            size_t size)
{
    static const struct {
        const char *told;
        const char *name;
    } known[] = {
        { "QEMU", "QEMU" },
        { "KVM", "KVM" },
        { "Amazon EC2", "Amazon EC2" },
        { "Google", "Google Compute Engine" },
        { "Microsoft Corporation", "Hyper-V" },
        { "VMware", "VMware" },
        { "innotek", "VirtualBox" },
        { "Xen", "Xen" },
        { "Bochs", "Bochs" },
        { "Parallels", "Parallels" },
        { "OpenStack", "OpenStack" },
        { "Alibaba Cloud", "Alibaba Cloud" },
        { "BHYVE", "bhyve" },
    };
    char path[256], vendor[64];
    char flags[8192]; /* of a CPU take thousands of bytes */

    out[0] = '\0';
    snprintf(path, sizeof path, "%s/hypervisor/type", roots->sys);
    read_line(path, out, size);
    if (out[0] ||
        !(find_line(cpuinfo, "flags", ':', flags, sizeof flags) && strstr(flags, " hypervisor")))
        return;
    snprintf(path, sizeof path, "%s/class/dmi/id/sys_vendor", roots->sys);
    read_line(path, vendor, sizeof vendor);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strstr(vendor, known[i].told))
            snprintf(out, size, "%s", known[i].name);
    if (!out[0])
        snprintf(out, size, "yes");
}

static uint32_t count_cpus(void)
{
    cpu_set_t *set = CPU_ALLOC(CPUS_MAX);
    size_t bytes = CPU_ALLOC_SIZE(CPUS_MAX);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    int allowed = 0;

    if (set && sched_getaffinity(0, bytes, set) == 0)
        allowed = CPU_COUNT_S(bytes, set);
    CPU_FREE(set);
    return allowed > 0 ? (uint32_t)allowed : online > 0 ? (uint32_t)online : 1;
}

static uint64_t quota_of(const char *mount, bool unified, const char *group)
{
    char path[640], text[64];
    char *end;
    unsigned long long quota, period;

    if (unified) {
        snprintf(path, sizeof path, "%s%s/cpu.max", mount, group);
        if (!ifg_read_small(path, text, sizeof text) || text[0] < '0' || text[0] > '9')
            return 0; /* "max 100000" */
        quota = strtoull(text, &end, 10);
        period = strtoull(end, NULL, 10);
    } else {
        snprintf(path, sizeof path, "%s%s/cpu.cfs_quota_us", mount, group);
        quota = ifg_read_number(path); /* "-1" is no number here */
        snprintf(path, sizeof path, "%s%s/cpu.cfs_period_us", mount, group);
        period = ifg_read_number(path);
    }
    if (quota > UINT32_MAX || period == 0 || period > UINT32_MAX)
        return 0;
    return quota * 1000 / period ? quota * 1000 / period : 1;
}

/* The tightest quota of this process's group and those above it. */
static uint64_t read_quota(const struct trust_roots *roots)
{
    char mount[256], group[256];
    uint64_t least = 0;
    bool unified;

    if (!trust_find_cgroup(roots, "self", &unified, mount, sizeof mount, group, sizeof group) ||
        strstr(group, "/.."))
        return 0;
    if (strcmp(group, "/") == 0)
        group[0] = '\0';
    for (;;) {
        uint64_t quota = quota_of(mount, unified, group);
        char *slash = strrchr(group, '/');

        if (quota && (least == 0 || quota < least))
            least = quota;
        if (!slash)
            return least;
        *slash = '\0';
    }
}

static uint32_t count_nodes(const struct trust_roots *roots)
{
    char path[256];
    uint32_t count = 0;

    /* Nodes may have gaps, but not many. */
    for (unsigned i = 0; i < 64; i++) {
        snprintf(path, sizeof path, "%s/devices/system/node/node%u", roots->sys, i);
        count += access(path, F_OK) == 0;
    }
    return count;
}

static uint64_t read_memory(const struct trust_roots *roots)
{
    char path[256], text[512], value[64];
    unsigned long long kib;

    snprintf(path, sizeof path, "%s/meminfo", roots->proc);
    if (!ifg_read_small(path, text, sizeof text) ||
        !find_line(text, "MemTotal", ':', value, sizeof value))
        return 0;
    kib = strtoull(value, NULL, 10);
    return kib < UINT64_MAX / 1024 ? kib * 1024 : 0;
}

static void read_cpu(const struct trust_roots *roots, struct host_facts *out)
{
    static const char *const keys[] = { "model name", "Model", "cpu", "uarch", "Hardware" };
    char path[256];
    char text[16384]; /* the first CPU's part is enough */

    snprintf(path, sizeof path, "%s/cpuinfo", roots->proc);
    if (!ifg_read_small(path, text, sizeof text))
        text[0] = '\0';
    for (size_t i = 0; i < sizeof keys / sizeof *keys && !out->cpu[0]; i++)
        find_line(text, keys[i], ':', out->cpu, sizeof out->cpu);
    read_hypervisor(roots, text, out->hypervisor, sizeof out->hypervisor);
}

static void read_distribution(char *out, size_t size)
{
    char text[2048];

    if (ifg_read_small("/etc/os-release", text, sizeof text) ||
        ifg_read_small("/usr/lib/os-release", text, sizeof text))
        find_line(text, "PRETTY_NAME", '=', out, size);
}

void host_read(const struct trust_roots *roots, struct host_facts *out_host)
{
    struct utsname name;
    char path[256];

    memset(out_host, 0, sizeof *out_host);
    if (uname(&name) == 0) {
        copy_line(out_host->name, sizeof out_host->name, name.nodename, strlen(name.nodename));
        snprintf(out_host->kernel, sizeof out_host->kernel, "%.16s %.70s", name.sysname,
                 name.release);
    }
    read_cpu(roots, out_host);
    if (!out_host->cpu[0] && uname(&name) == 0)
        snprintf(out_host->cpu, sizeof out_host->cpu, "%s", name.machine);
    read_distribution(out_host->distribution, sizeof out_host->distribution);
    snprintf(path, sizeof path, "%s/devices/system/cpu/cpu0/cpufreq/scaling_governor", roots->sys);
    read_line(path, out_host->governor, sizeof out_host->governor);
    snprintf(path, sizeof path, "%s/devices/system/clocksource/clocksource0/current_clocksource",
             roots->sys);
    read_line(path, out_host->clock_source, sizeof out_host->clock_source);
    out_host->cpus = count_cpus();
    out_host->memory_bytes = read_memory(roots);
    out_host->cgroup_cpu_permille = read_quota(roots);
    snprintf(path, sizeof path, "%s/sys/kernel/randomize_va_space", roots->proc);
    out_host->aslr = ifg_read_number(path) != 0;
    out_host->numa_nodes = count_nodes(roots);
}
