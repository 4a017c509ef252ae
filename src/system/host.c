// SPDX-License-Identifier: Apache-2.0
/* What machine this is: see host.h. All text is taken for hostile. */
#include "system/host.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/small_file.h"
#include "system/cgroup.h"

#define CPUS_MAX 4096 /* that the kernel can tell us about */

const struct host_roots host_system = { "/proc", "/sys" };

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

/* The first line of a file below a root. */
static void read_line(const char *root, const char *name, char *out, size_t size)
{
    char path[256], text[256];

    out[0] = '\0';
    snprintf(path, sizeof path, "%s/%s", root, name);
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
static void read_hypervisor(const struct host_roots *roots, const char *cpuinfo,
                            struct host_facts *host)
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
    char *out = host->hypervisor;
    size_t size = sizeof host->hypervisor;
    char vendor[64];
    char flags[8192]; /* of a CPU take thousands of bytes */

    read_line(roots->sys, "hypervisor/type", out, size);
    host->tells_flags = find_line(cpuinfo, "flags", ':', flags, sizeof flags);
    if (out[0] || !host->tells_flags || !strstr(flags, " hypervisor"))
        return;
    read_line(roots->sys, "class/dmi/id/sys_vendor", vendor, sizeof vendor);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strstr(vendor, known[i].told))
            snprintf(out, size, "%s", known[i].name);
    if (!out[0])
        snprintf(out, size, "yes");
}

static void count_cpus(struct host_facts *host)
{
    cpu_set_t *set = CPU_ALLOC(CPUS_MAX);
    size_t bytes = CPU_ALLOC_SIZE(CPUS_MAX);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    int allowed = 0;

    if (set && sched_getaffinity(0, bytes, set) == 0)
        allowed = CPU_COUNT_S(bytes, set);
    CPU_FREE(set);
    host->online = online > 0 ? (uint32_t)online : 1;
    host->cpus = allowed > 0 ? (uint32_t)allowed : host->online;
}

/* The tightest quota of this process's group and those above it; 0: none. */
static uint64_t read_quota(const struct host_roots *roots)
{
    struct cgroup_limits limits;
    struct cgroup group;
    char folder[256];
    double permille;

    snprintf(folder, sizeof folder, "%s/self", roots->proc);
    if (!cgroup_find(folder, roots->sys, &group))
        return 0;
    cgroup_read(&group, &limits);
    permille = 1000 * limits.cpus;
    if (permille <= 0 || permille > UINT32_MAX)
        return 0;
    return permille > 1 ? (uint64_t)(permille + 0.5) : 1;
}

static uint32_t count_nodes(const struct host_roots *roots)
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

static uint64_t read_memory(const struct host_roots *roots)
{
    char path[256], text[512];
    uint64_t kib;

    snprintf(path, sizeof path, "%s/meminfo", roots->proc);
    if (!ifg_read_small(path, text, sizeof text))
        return 0;
    kib = ifg_find_number(text, "MemTotal");
    return kib < UINT64_MAX / 1024 ? kib * 1024 : 0;
}

static void read_cpu(const struct host_roots *roots, struct host_facts *out)
{
    static const char *const keys[] = { "model name", "Model", "cpu", "uarch", "Hardware" };
    char path[256];
    char text[16384]; /* the first CPU's part is enough */

    snprintf(path, sizeof path, "%s/cpuinfo", roots->proc);
    if (!ifg_read_small(path, text, sizeof text))
        text[0] = '\0';
    for (size_t i = 0; i < sizeof keys / sizeof *keys && !out->cpu[0]; i++)
        find_line(text, keys[i], ':', out->cpu, sizeof out->cpu);
    read_hypervisor(roots, text, out);
}

static void read_distribution(char *out, size_t size)
{
    char text[2048];

    if (ifg_read_small("/etc/os-release", text, sizeof text) ||
        ifg_read_small("/usr/lib/os-release", text, sizeof text))
        find_line(text, "PRETTY_NAME", '=', out, size);
}

/* A process can have a CLOCK_MONOTONIC of its own (time_namespaces(7)): that is a part of it. */
void host_read_boot(const struct host_roots *roots, char *out, size_t size)
{
    char boot[48], offset[64];

    read_line(roots->proc, "sys/kernel/random/boot_id", boot, sizeof boot);
    read_line(roots->proc, "self/timens_offsets", offset, sizeof offset);
    snprintf(out, size, "%.40s%s%.44s", boot, strpbrk(offset, "123456789") ? " " : "",
             strpbrk(offset, "123456789") ? offset : "");
}

void host_read(const struct host_roots *roots, struct host_facts *out_host)
{
    struct utsname name;
    char path[256];

    memset(out_host, 0, sizeof *out_host);
    read_cpu(roots, out_host);
    if (uname(&name) == 0) {
        copy_line(out_host->name, sizeof out_host->name, name.nodename, strlen(name.nodename));
        snprintf(out_host->machine, sizeof out_host->machine, "%.31s", name.machine);
        snprintf(out_host->kernel, sizeof out_host->kernel, "%.16s %.70s", name.sysname,
                 name.release);
        if (!out_host->cpu[0])
            snprintf(out_host->cpu, sizeof out_host->cpu, "%s", out_host->machine);
    }
    read_distribution(out_host->distribution, sizeof out_host->distribution);
    read_line(roots->sys, "devices/system/cpu/cpu0/cpufreq/scaling_governor", out_host->governor,
              sizeof out_host->governor);
    read_line(roots->sys, "devices/system/clocksource/clocksource0/current_clocksource",
              out_host->clock_source, sizeof out_host->clock_source);
    read_line(roots->proc, "loadavg", out_host->load, sizeof out_host->load);
    host_read_boot(roots, out_host->boot_id, sizeof out_host->boot_id);
    count_cpus(out_host);
    out_host->memory_bytes = read_memory(roots);
    out_host->cgroup_cpu_permille = read_quota(roots);
    snprintf(path, sizeof path, "%s/sys/kernel/randomize_va_space", roots->proc);
    out_host->aslr = ifg_read_number(path) != 0;
    out_host->numa_nodes = count_nodes(roots);
}
