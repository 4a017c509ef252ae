// SPDX-License-Identifier: Apache-2.0
/* The machine as a whole: its CPUs, load, memory and pressure. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "collect/proc/proc_internal.h"

/* The kernel counts in hundredths of a second: shares of less than this many would be noise. */
#define CPUS_EVERY_NS (SECOND_NS / 4)
#define TEXT_BYTES    (96u * 1024u) /* a line for each CPU comes first; the rest is not needed */

bool proc_system_open(struct proc_system *system)
{
    system->each = ifg_alloc(HOST_CPUS_MAX, sizeof *system->each);
    system->fresh = ifg_alloc(HOST_CPUS_MAX, sizeof *system->fresh);
    system->text = ifg_alloc(TEXT_BYTES, 1);
    return system->each && system->fresh && system->text;
}

void proc_system_close(struct proc_system *system)
{
    ifg_free(system->each);
    ifg_free(system->fresh);
    ifg_free(system->text);
}

static double share(uint64_t now, uint64_t before, double all)
{
    return all > 0 ? 100 * proc_more(now, before) / all : 0;
}

static double busy(const struct cpu_ticks *now, const struct cpu_ticks *before, double all)
{
    return share(now->user, before->user, all) + share(now->system, before->system, all);
}

static void look_at_cpus(struct proc_system *system, const struct host_roots *roots,
                         uint64_t now_ns, const struct proc_sink *sink)
{
    struct cpu_ticks all, *swap;
    char path[256];
    size_t count;

    if (system->cpus_ns && now_ns < system->cpus_ns + CPUS_EVERY_NS)
        return;
    snprintf(path, sizeof path, "%s/stat", roots->proc);
    if (!ifg_read_small(path, system->text, TEXT_BYTES))
        return;
    count = host_parse_cpus(system->text, &all, system->fresh, HOST_CPUS_MAX);
    if (!count)
        return;
    if (system->cpus_ns) {
        double total = proc_more(all.total, system->all.total);

        proc_put(sink, 0, "cpu total %", busy(&all, &system->all, total));
        proc_put(sink, 0, "cpu user %", share(all.user, system->all.user, total));
        proc_put(sink, 0, "cpu system %", share(all.system, system->all.system, total));
        proc_put(sink, 0, "cpu iowait %", share(all.iowait, system->all.iowait, total));
        proc_put(sink, 0, "cpu steal %", share(all.steal, system->all.steal, total));
        for (size_t i = 0; i < count; i++) {
            const struct cpu_ticks *now = &system->fresh[i], *before = &system->each[i];
            char name[PROC_NAME_BYTES];

            if (!now->total || !before->total)
                continue;
            snprintf(name, sizeof name, "cpu %zu %%", i);
            proc_put(sink, 0, name, busy(now, before, proc_more(now->total, before->total)));
        }
    }
    swap = system->each;
    system->each = system->fresh;
    system->fresh = swap;
    system->all = all;
    system->cpus_ns = now_ns;
}

static void look_at_memory(const struct host_roots *roots, const struct proc_sink *sink)
{
    char path[256], text[4096];
    uint64_t total, available, swap, swap_free;

    snprintf(path, sizeof path, "%s/meminfo", roots->proc);
    if (!ifg_read_small(path, text, sizeof text))
        return;
    total = ifg_find_number(text, "MemTotal");
    available = ifg_find_number(text, "MemAvailable");
    swap = ifg_find_number(text, "SwapTotal");
    swap_free = ifg_find_number(text, "SwapFree");
    if (total != MISSING && available != MISSING && available <= total) {
        proc_put(sink, 0, "memory used bytes", 1024.0 * (double)(total - available));
        proc_put(sink, 0, "memory available bytes", 1024.0 * (double)available);
    }
    if (swap != MISSING && swap && swap_free != MISSING && swap_free <= swap)
        proc_put(sink, 0, "swap used bytes", 1024.0 * (double)(swap - swap_free));
}

static void look_at_pressure(struct proc_system *system, const struct host_roots *roots,
                             uint64_t now_ns, const struct proc_sink *sink)
{
    static const struct {
        const char *file, *kind, *name;
    } lines[] = {
        { "cpu", "some", "pressure cpu some %" },
        { "memory", "some", "pressure memory some %" },
        { "memory", "full", "pressure memory full %" },
        { "io", "some", "pressure io some %" },
        { "io", "full", "pressure io full %" },
    };
    double elapsed_us = (double)(now_ns - system->pressure_ns) / 1e3;
    char path[256], text[512];

    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        uint64_t now_us;

        if (!i || strcmp(lines[i].file, lines[i - 1].file) != 0) {
            snprintf(path, sizeof path, "%s/pressure/%s", roots->proc, lines[i].file);
            (void)ifg_read_small(path, text, sizeof text);
        }
        now_us = host_parse_pressure(text, lines[i].kind);
        if (now_us == MISSING)
            continue;
        system->has_pressure = true;
        if (system->pressure_ns && elapsed_us > 0) {
            double percent = 100 * proc_more(now_us, system->pressure_us[i]) / elapsed_us;

            proc_put(sink, 0, lines[i].name, percent < 100 ? percent : 100);
        }
        system->pressure_us[i] = now_us;
    }
    system->pressure_ns = now_ns;
}

void proc_system_look(struct proc_system *system, const struct host_roots *roots, uint64_t now_ns,
                      const struct proc_sink *sink)
{
    char path[256], text[128], *end;
    double load;

    look_at_cpus(system, roots, now_ns, sink);
    look_at_memory(roots, sink);
    look_at_pressure(system, roots, now_ns, sink);
    snprintf(path, sizeof path, "%s/loadavg", roots->proc);
    if (!ifg_read_small(path, text, sizeof text))
        return;
    load = strtod(text, &end);
    if (end != text && load >= 0 && load < 1e6)
        proc_put(sink, 0, "load", load);
}
