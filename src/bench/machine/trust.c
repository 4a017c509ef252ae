// SPDX-License-Identifier: Apache-2.0
/*
 * One look at the machine and at a process: see trust.h. It is taken between blocks of a benchmark,
 * so it reads few files, each once, and never waits. All text is taken for hostile.
 */
#include "bench/machine/trust.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/small_file.h"
#include "base/ticks.h"
#include "bench/machine/trust_internal.h"

#define MISSING     IFG_NO_NUMBER
#define THREADS_MAX 256
#define PACKAGES    8 /* RAPL domains that are looked for */
#define LOOKED_CPUS 8 /* whose throttle counters are read: enough to see every package */

const struct trust_roots trust_system = { "/proc", "/sys" };

static void add(uint64_t *sum, uint64_t more)
{
    if (*sum == MISSING || more == MISSING || __builtin_add_overflow(*sum, more, sum))
        *sum = MISSING;
}

/* ---- the machine ---- */

static void read_ticks(const struct trust_roots *roots, struct trust_reading *out)
{
    char path[256], text[512];
    uint64_t ticks[8]; /* user nice system idle iowait irq softirq steal; guests are in user */
    uint64_t total = 0;
    const char *at = text + 4;

    snprintf(path, sizeof path, "%s/stat", roots->proc);
    if (!ifg_read_small(path, text, sizeof text) || strncmp(text, "cpu ", 4) != 0)
        return;
    for (size_t i = 0; i < 8; i++) {
        if (!ifg_parse_number(at, &at, &ticks[i]))
            return;
        add(&total, ticks[i]);
    }
    out->total_ticks = total;
    out->steal_ticks = ticks[7];
    out->idle_ticks = ticks[3];
    add(&out->idle_ticks, ticks[4]);
}

static void read_pressure(const struct trust_roots *roots, struct trust_reading *out)
{
    char path[256], text[512];
    const char *total;
    char *end;

    snprintf(path, sizeof path, "%s/pressure/cpu", roots->proc);
    if (!ifg_read_small(path, text, sizeof text) || strncmp(text, "some ", 5) != 0)
        return;
    end = strchr(text, '\n');
    if (end)
        *end = '\0';
    total = strstr(text, " total=");
    if (!total || !ifg_parse_number(total + 7, NULL, &out->pressure_us))
        out->pressure_us = MISSING;
}

static void read_energy(const struct trust_roots *roots, struct trust_reading *out)
{
    char path[256], name[32];
    uint64_t sum = 0;
    unsigned found = 0;

    for (unsigned i = 0; i < PACKAGES; i++) {
        uint64_t energy;

        snprintf(path, sizeof path, "%s/class/powercap/intel-rapl:%u/energy_uj", roots->sys, i);
        energy = ifg_read_number(path);
        if (energy == MISSING)
            break;
        snprintf(path, sizeof path, "%s/class/powercap/intel-rapl:%u/name", roots->sys, i);
        if (!ifg_read_small(path, name, sizeof name) || strncmp(name, "package", 7) != 0)
            continue; /* psys contains the packages */
        add(&sum, energy);
        found++;
    }
    if (found)
        out->energy_uj = sum;
}

static void read_thermal(const struct trust_roots *roots, struct trust_reading *out)
{
    char path[256], text[64];
    uint64_t last = 0, sum = 0;
    const char *dash;

    snprintf(path, sizeof path, "%s/devices/system/cpu/cpu0/thermal_throttle", roots->sys);
    if (access(path, F_OK) != 0)
        return;
    snprintf(path, sizeof path, "%s/devices/system/cpu/present", roots->sys);
    if (ifg_read_small(path, text, sizeof text)) {
        dash = strrchr(text, '-'); /* "0-127", or "0" */
        if (!ifg_parse_number(dash ? dash + 1 : text, NULL, &last) || last >= TRUST_CPUS_MAX)
            last = 0;
    }
    /* Always the same ones, spread over the machine, so that two readings can be subtracted. */
    for (uint64_t i = 0; i < LOOKED_CPUS && i <= last; i++) {
        unsigned cpu = (unsigned)(last < LOOKED_CPUS ? i : i * last / (LOOKED_CPUS - 1));
        static const char *const counters[] = { "core", "package" };

        for (size_t j = 0; j < 2; j++) {
            uint64_t count;

            snprintf(path, sizeof path,
                     "%s/devices/system/cpu/cpu%u/thermal_throttle/%s_throttle_count", roots->sys,
                     cpu, counters[j]);
            count = ifg_read_number(path);
            if (count != MISSING)
                add(&sum, count);
        }
    }
    out->thermal_events = sum;
}

/* ---- a process ---- */

/* Fields of /proc/PID/stat from the third on; the second is a name that may have anything in it. */
static bool read_stat(const char *path, uint64_t *out_fields, unsigned first, unsigned count)
{
    char text[1024];
    const char *at;
    unsigned field = 3;

    if (!ifg_read_small(path, text, sizeof text))
        return false;
    at = strrchr(text, ')');
    if (!at || at[1] != ' ')
        return false;
    for (at += 2; field < first; field++) {
        at = strchr(at, ' ');
        if (!at)
            return false;
        at++;
    }
    for (unsigned i = 0; i < count; i++) {
        if (!ifg_parse_number(at, &at, &out_fields[i]))
            return false;
        at += *at == ' ';
    }
    return true;
}

static void read_process_stat(const struct trust_roots *roots, pid_t pid, struct trust_reading *out)
{
    uint64_t fields[6]; /* 10 minflt, cminflt, majflt, cmajflt, utime, stime */
    char path[256];

    snprintf(path, sizeof path, "%s/%d/stat", roots->proc, (int)pid);
    if (!read_stat(path, fields, 10, 6))
        return;
    out->minor_faults = fields[0];
    out->major_faults = fields[2];
    out->process_ticks = fields[4];
    add(&out->process_ticks, fields[5]);
}

static void read_memory(const struct trust_roots *roots, pid_t pid, struct trust_reading *out)
{
    char path[256], text[4096];
    uint64_t value;

    snprintf(path, sizeof path, "%s/%d/status", roots->proc, (int)pid);
    if (!ifg_read_small(path, text, sizeof text))
        return;
    value = ifg_find_number(text, "VmRSS");
    if (value < MISSING / 1024)
        out->rss_bytes = value * 1024;
    value = ifg_find_number(text, "VmHWM");
    if (value < MISSING / 1024)
        out->peak_rss_bytes = value * 1024;
}

/* Switches and migrations of a thread: `sched` has all three in one file, but not every kernel. */
static void read_switches(const char *folder, struct trust_reading *out)
{
    char path[400], text[4096];
    uint64_t migrations = MISSING, voluntary, involuntary;

    snprintf(path, sizeof path, "%s/sched", folder);
    if (ifg_read_small(path, text, sizeof text)) {
        migrations = ifg_find_number(text, "se.nr_migrations");
        voluntary = ifg_find_number(text, "nr_voluntary_switches");
        involuntary = ifg_find_number(text, "nr_involuntary_switches");
    } else {
        snprintf(path, sizeof path, "%s/status", folder);
        if (!ifg_read_small(path, text, sizeof text))
            return; /* it has just ended */
        voluntary = ifg_find_number(text, "voluntary_ctxt_switches");
        involuntary = ifg_find_number(text, "nonvoluntary_ctxt_switches");
    }
    add(&out->migrations, migrations);
    add(&out->voluntary, voluntary);
    add(&out->involuntary, involuntary);
}

/* The clock of the CPU where a thread ran last. Others may be idle, and theirs says nothing. */
static void read_frequency(const struct trust_roots *roots, const char *folder,
                           struct trust_reading *out)
{
    char path[400];
    uint64_t cpu, frequency;

    snprintf(path, sizeof path, "%s/stat", folder);
    if (!read_stat(path, &cpu, 39, 1) || cpu >= TRUST_CPUS_MAX)
        return;
    snprintf(path, sizeof path, "%s/devices/system/cpu/cpu%u/cpufreq/scaling_cur_freq", roots->sys,
             (unsigned)cpu);
    frequency = ifg_read_number(path);
    if (frequency == 0)
        frequency = MISSING;
    out->frequency_least_khz = out->frequency_most_khz = frequency;
}

static void read_threads(const struct trust_roots *roots, pid_t pid, struct trust_reading *out)
{
    char folder[256], busiest[320] = "", path[400], text[128];
    uint64_t most_ran = 0;
    unsigned count = 0;
    struct dirent *entry;
    DIR *tasks;

    snprintf(folder, sizeof folder, "%s/%d/task", roots->proc, (int)pid);
    tasks = opendir(folder);
    if (!tasks)
        return;
    out->involuntary = out->voluntary = out->queue_wait_ns = out->migrations = 0;
    while ((entry = readdir(tasks)) != NULL) {
        uint64_t ran = 0, waited = 0;
        char thread[320];
        const char *at = text;

        if (entry->d_name[0] < '0' || entry->d_name[0] > '9' || strlen(entry->d_name) > 16)
            continue;
        if (++count > THREADS_MAX)
            break;
        snprintf(thread, sizeof thread, "%.250s/%.16s", folder, entry->d_name);
        read_switches(thread, out);
        snprintf(path, sizeof path, "%s/schedstat", thread);
        if (!ifg_read_small(path, text, sizeof text) || !ifg_parse_number(at, &at, &ran) ||
            !ifg_parse_number(at, NULL, &waited))
            waited = access(thread, F_OK) == 0 ? MISSING : 0;
        add(&out->queue_wait_ns, waited);
        if (!busiest[0] || ran > most_ran) {
            most_ran = ran;
            memcpy(busiest, thread, sizeof busiest);
        }
    }
    closedir(tasks);
    if (count == 0 || count > THREADS_MAX) /* a part of them would be no sum */
        out->involuntary = out->voluntary = out->queue_wait_ns = out->migrations = MISSING;
    if (busiest[0])
        read_frequency(roots, busiest, out);
}

/* ---- its control groups ---- */

/* nr_throttled of a group and all above it: the quota may be anybody's. */
static uint64_t throttled_up_from(const char *mount, const char *group)
{
    char path[640], text[1024], here[256];
    uint64_t sum = MISSING;
    size_t length = strlen(group);

    if (length >= sizeof here || strstr(group, "/.."))
        return MISSING;
    memcpy(here, group, length + 1);
    for (;;) {
        uint64_t count = MISSING;

        snprintf(path, sizeof path, "%s%s/cpu.stat", mount, strcmp(here, "/") == 0 ? "" : here);
        if (ifg_read_small(path, text, sizeof text))
            count = ifg_find_number(text, "nr_throttled");
        if (count != MISSING) {
            if (sum == MISSING)
                sum = 0;
            add(&sum, count);
        }
        if (!here[0] || strcmp(here, "/") == 0)
            return sum;
        *strrchr(here, '/') = '\0';
    }
}

/* Whether a comma-separated list has this word. */
static bool has_word(const char *list, size_t length, const char *word)
{
    size_t wanted = strlen(word);

    for (const char *end = list + length; list < end;) {
        const char *comma = memchr(list, ',', (size_t)(end - list));
        size_t here = (size_t)((comma ? comma : end) - list);

        if (here == wanted && memcmp(list, word, wanted) == 0)
            return true;
        list += here + 1;
    }
    return false;
}

bool trust_find_cgroup(const struct trust_roots *roots, const char *pid, bool *out_unified,
                       char *out_mount, size_t mount_size, char *out_group, size_t group_size)
{
    char path[256], text[4096];
    bool found = false;

    snprintf(path, sizeof path, "%s/%s/cgroup", roots->proc, pid);
    if (!ifg_read_small(path, text, sizeof text))
        return false;
    for (char *line = text, *next; line && *line; line = next) {
        char *names, *group;

        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        names = strchr(line, ':');
        group = names ? strchr(++names, ':') : NULL;
        if (!group || group[1] != '/')
            continue;
        if (group == names && !found) { /* "0::/path": unified, unless cpu is mounted apart */
            *out_unified = true;
            snprintf(path, sizeof path, "%s/fs/cgroup/unified", roots->sys);
            snprintf(out_mount, mount_size, "%s/fs/cgroup%s", roots->sys,
                     access(path, F_OK) == 0 ? "/unified" : "");
        } else if (has_word(names, (size_t)(group - names), "cpu")) {
            *out_unified = false;
            snprintf(out_mount, mount_size, "%s/fs/cgroup/%.*s", roots->sys,
                     (int)(group - names < 64 ? group - names : 64), names);
        } else {
            continue;
        }
        snprintf(out_group, group_size, "%s", group + 1);
        found = true;
    }
    return found;
}

static void read_cgroup(const struct trust_roots *roots, pid_t pid, struct trust_reading *out)
{
    char mount[256], group[256], name[16];
    bool unified;

    snprintf(name, sizeof name, "%d", (int)pid);
    if (trust_find_cgroup(roots, name, &unified, mount, sizeof mount, group, sizeof group))
        out->throttled_periods = throttled_up_from(mount, group);
}

void trust_read(const struct trust_roots *roots, pid_t pid, struct trust_reading *out_reading)
{
    memset(out_reading, 0xff, sizeof *out_reading); /* all of it MISSING */
    out_reading->at_ns = ifg_monotonic_ns();
    read_ticks(roots, out_reading);
    read_pressure(roots, out_reading);
    read_thermal(roots, out_reading);
    read_energy(roots, out_reading);
    if (pid <= 0)
        return;
    read_process_stat(roots, pid, out_reading);
    read_memory(roots, pid, out_reading);
    read_threads(roots, pid, out_reading);
    read_cgroup(roots, pid, out_reading);
}

/* ---- sums ---- */

/* Only differences are added, so that sums of counters do not overflow, and a counter that went
 * back (a thread has ended) counts as no change. */
static void add_change(uint64_t *before_sum, uint64_t *after_sum, uint64_t before, uint64_t after)
{
    if (*before_sum == MISSING || *after_sum == MISSING || before == MISSING || after == MISSING)
        *before_sum = *after_sum = MISSING;
    else if (after > before)
        add(after_sum, after - before);
}

static void widen(struct trust_reading *sum, const struct trust_reading *more)
{
    if (more->frequency_least_khz != MISSING &&
        (sum->frequency_least_khz == 0 || more->frequency_least_khz < sum->frequency_least_khz))
        sum->frequency_least_khz = more->frequency_least_khz;
    if (more->frequency_most_khz != MISSING &&
        (sum->frequency_most_khz == MISSING || more->frequency_most_khz > sum->frequency_most_khz))
        sum->frequency_most_khz = more->frequency_most_khz;
}

static void keep_most(uint64_t *most, uint64_t value)
{
    if (value != MISSING && (*most == MISSING || value > *most))
        *most = value;
}

void trust_add(struct trust_reading *before_sum, struct trust_reading *after_sum,
               const struct trust_reading *before, const struct trust_reading *after)
{
#define ADD(member)                                                                                \
    add_change(&before_sum->member, &after_sum->member, before->member, after->member)
    ADD(at_ns);
    ADD(steal_ticks);
    ADD(total_ticks);
    ADD(idle_ticks);
    ADD(pressure_us);
    ADD(involuntary);
    ADD(voluntary);
    ADD(minor_faults);
    ADD(major_faults);
    ADD(queue_wait_ns);
    ADD(process_ticks);
    ADD(migrations);
    ADD(throttled_periods);
    ADD(thermal_events);
    ADD(energy_uj);
#undef ADD
    widen(before_sum, before);
    widen(after_sum, after);
    keep_most(&before_sum->rss_bytes, before->rss_bytes);
    keep_most(&after_sum->rss_bytes, after->rss_bytes);
    keep_most(&before_sum->peak_rss_bytes, before->peak_rss_bytes);
    keep_most(&after_sum->peak_rss_bytes, after->peak_rss_bytes);
}
