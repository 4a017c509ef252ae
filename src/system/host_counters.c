// SPDX-License-Identifier: Apache-2.0
/* The readers of /proc/stat, /proc/pressure and /sys/devices/system/cpu: see host_counters.h. */
#include "system/host_counters.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void add(uint64_t *sum, uint64_t more)
{
    if (__builtin_add_overflow(*sum, more, sum))
        *sum = UINT64_MAX - 1;
}

/* user nice system idle iowait irq softirq steal; guests are in user */
static bool parse_numbers(const char *text, struct cpu_ticks *out)
{
    uint64_t ticks[8] = { 0 };
    size_t count = 0;

    memset(out, 0, sizeof *out);
    while (count < 8 && ifg_parse_number(text, &text, &ticks[count]))
        add(&out->total, ticks[count++]);
    if (count < 4)
        return false; /* older kernels have fewer than eight */
    out->user = ticks[0];
    add(&out->user, ticks[1]);
    out->system = ticks[2];
    add(&out->system, ticks[5]);
    add(&out->system, ticks[6]);
    out->idle = ticks[3];
    out->iowait = ticks[4];
    out->steal = count == 8 ? ticks[7] : IFG_NO_NUMBER;
    return true;
}

bool host_parse_ticks(const char *text, struct cpu_ticks *out_all)
{
    return strncmp(text, "cpu ", 4) == 0 && parse_numbers(text + 4, out_all);
}

size_t host_parse_cpus(const char *text, struct cpu_ticks *out_all, struct cpu_ticks *out_each,
                       size_t most)
{
    size_t count = 0;

    memset(out_each, 0, most * sizeof *out_each);
    if (!host_parse_ticks(text, out_all))
        return 0;
    while ((text = strchr(text, '\n')) != NULL && strncmp(++text, "cpu", 3) == 0) {
        uint64_t number;
        const char *end;

        if (text[3] < '0' || text[3] > '9' || !ifg_parse_number(text + 3, &end, &number) ||
            number >= most || *end != ' ' || !strchr(end, '\n') ||
            !parse_numbers(end, &out_each[number]))
            continue;
        if (number >= count)
            count = (size_t)number + 1;
    }
    return count;
}

uint64_t host_parse_pressure(const char *text, const char *kind)
{
    size_t length = strlen(kind);
    uint64_t value;

    for (const char *line = text; line; line = strchr(line, '\n')) {
        const char *end, *total;

        if (*line == '\n')
            line++;
        if (strncmp(line, kind, length) != 0 || line[length] != ' ')
            continue;
        end = strchrnul(line, '\n');
        total = strstr(line, " total=");
        if (!total || total > end || !ifg_parse_number(total + 7, NULL, &value))
            return IFG_NO_NUMBER;
        return value;
    }
    return IFG_NO_NUMBER;
}

size_t host_spread_cpus(const struct host_roots *roots, unsigned *out_cpus, size_t most)
{
    char path[256], text[64];
    uint64_t last = 0;
    size_t count = 0;
    const char *dash;

    snprintf(path, sizeof path, "%s/devices/system/cpu/present", roots->sys);
    if (ifg_read_small(path, text, sizeof text)) {
        dash = strrchr(text, '-'); /* "0-127", or "0" */
        if (!ifg_parse_number(dash ? dash + 1 : text, NULL, &last) || last >= HOST_CPUS_MAX)
            last = 0;
    }
    for (uint64_t i = 0; i < most && i <= last; i++)
        out_cpus[count++] = (unsigned)(last < most ? i : i * last / (most - 1));
    return count;
}

uint64_t host_throttles(const struct host_roots *roots, const unsigned *cpus, size_t count)
{
    static const char *const counters[] = { "core", "package" };
    char path[256];
    uint64_t sum = 0;

    snprintf(path, sizeof path, "%s/devices/system/cpu/cpu0/thermal_throttle", roots->sys);
    if (access(path, F_OK) != 0)
        return IFG_NO_NUMBER;
    for (size_t i = 0; i < 2 * count; i++) {
        uint64_t throttles;

        snprintf(path, sizeof path,
                 "%s/devices/system/cpu/cpu%u/thermal_throttle/%s_throttle_count", roots->sys,
                 cpus[i / 2], counters[i % 2]);
        throttles = ifg_read_number(path);
        if (throttles != IFG_NO_NUMBER)
            add(&sum, throttles);
    }
    return sum;
}

uint64_t host_clock_khz(const struct host_roots *roots, unsigned cpu)
{
    char path[256];
    uint64_t khz;

    snprintf(path, sizeof path, "%s/devices/system/cpu/cpu%u/cpufreq/scaling_cur_freq", roots->sys,
             cpu);
    khz = ifg_read_number(path);
    return khz ? khz : IFG_NO_NUMBER;
}
