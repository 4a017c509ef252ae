// SPDX-License-Identifier: Apache-2.0
/*
 * What two looks at the machine say about the work between them: see trust.h. A limit is passed
 * only by more than it, and what a machine does not tell is never OK.
 */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analyze/statistics.h"
#include "base/alloc.h"
#include "base/quantile.h"
#include "bench/machine/trust.h"

#define MISSING UINT64_MAX

/* Per cent. */
#define STEAL_WARN      0.5
#define STEAL_BAD       5.0
#define PRESSURE_WARN   5.0
#define PRESSURE_BAD    25.0
#define WAIT_WARN       5.0
#define WAIT_BAD        25.0
#define OTHERS_WARN     10.0
#define OTHERS_BAD      101.0 /* never: pressure and wait tell whether they were in the way */
#define FREQUENCY_WARN  3.0
#define REFERENCE_WARN  1.0
#define REFERENCE_BAD   5.0
#define DISTURBED_WARN  20.0
#define DISTURBED_BAD   50.0
#define SWITCHES_WARN   1.0  /* per inference, and... */
#define SWITCHES_SECOND 50.0 /* ...per second of its CPU time: long inferences meet a few anyway */

/* Waiting for less than this within a block is how scheduling works, not a disturbance. */
#define PRESSURE_LEAST_US 500

const char *trust_level_name(enum trust_level level)
{
    switch (level) {
    case TRUST_OK:
        return "OK";
    case TRUST_WARN:
        return "WARN";
    case TRUST_BAD:
        return "BAD";
    case TRUST_NOT_AVAILABLE:
        break;
    }
    return "not available";
}

/* ---- differences ---- */

/* What a counter moved by; false if one side is missing. Threads that end take their counts along,
 * so a counter can go back: that is no change. */
static bool change(uint64_t before, uint64_t after, double *out)
{
    if (before == MISSING || after == MISSING)
        return false;
    *out = after > before ? (double)(after - before) : 0;
    return true;
}

#define CHANGE(member, out) change(before->member, after->member, out)

static bool steal_percent(const struct trust_reading *before, const struct trust_reading *after,
                          double *out)
{
    double steal, total;

    if (!CHANGE(steal_ticks, &steal) || !CHANGE(total_ticks, &total))
        return false;
    *out = total > 0 ? 100 * steal / total : 0;
    return true;
}

static bool pressure_percent(const struct trust_reading *before, const struct trust_reading *after,
                             double *out)
{
    double waited_us, elapsed_ns;

    if (!CHANGE(pressure_us, &waited_us) || !CHANGE(at_ns, &elapsed_ns) || elapsed_ns <= 0)
        return false;
    *out = 100e3 * waited_us / elapsed_ns;
    return true;
}

static double cpu_seconds(const struct trust_reading *before, const struct trust_reading *after)
{
    double ticks = 0;

    return CHANGE(process_ticks, &ticks) ? ticks / (double)sysconf(_SC_CLK_TCK) : 0;
}

/* Switches count from one per inference on; but an inference of a second meets some on any machine,
 * and those are judged by their number per second. */
static bool too_many_switches(const struct trust_reading *before, const struct trust_reading *after,
                              double switches, double inferences)
{
    double seconds = cpu_seconds(before, after);
    double elapsed_ns = 0;

    if (seconds <= 0 && CHANGE(at_ns, &elapsed_ns)) /* ticks are too coarse for one block */
        seconds = elapsed_ns / 1e9;
    return inferences > 0 && switches >= SWITCHES_WARN * inferences &&
           switches > SWITCHES_SECOND * seconds;
}

static bool rose(uint64_t before, uint64_t after)
{
    double more = 0;

    return change(before, after, &more) && more > 0;
}

/* Least and most clock of both looks, kHz; false if there is none. Sums begin with zeros. */
static bool frequencies(const struct trust_reading *before, const struct trust_reading *after,
                        double *out_least, double *out_most)
{
    const uint64_t all[] = { before->frequency_least_khz, before->frequency_most_khz,
                             after->frequency_least_khz, after->frequency_most_khz };
    uint64_t least = MISSING, most = 0;

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (all[i] == 0 || all[i] == MISSING)
            continue;
        least = all[i] < least ? all[i] : least;
        most = all[i] > most ? all[i] : most;
    }
    *out_least = (double)least;
    *out_most = (double)most;
    return most > 0;
}

bool trust_disturbed(const struct trust_reading *before, const struct trust_reading *after,
                     uint64_t inferences, uint64_t reference_ns, uint64_t usual_ns)
{
    double percent, waited_us, switches, least, most;

    if (steal_percent(before, after, &percent) && percent > STEAL_WARN)
        return true;
    if (pressure_percent(before, after, &percent) && percent > PRESSURE_WARN &&
        CHANGE(pressure_us, &waited_us) && waited_us > PRESSURE_LEAST_US)
        return true;
    if (CHANGE(involuntary, &switches) &&
        too_many_switches(before, after, switches, (double)inferences))
        return true;
    if (frequencies(before, after, &least, &most) && 100 * (most - least) / most > FREQUENCY_WARN)
        return true;
    /* Only slower: the usual time has faster ones on one side of it by its nature. */
    if (reference_ns && usual_ns &&
        (double)reference_ns > (double)usual_ns * (1 + REFERENCE_WARN / 100))
        return true;
    return rose(before->throttled_periods, after->throttled_periods) ||
           rose(before->thermal_events, after->thermal_events) ||
           rose(before->major_faults, after->major_faults);
}

/* ---- lines ---- */

static enum trust_level level_of(double value, double warn, double bad)
{
    return value > bad ? TRUST_BAD : value > warn ? TRUST_WARN : TRUST_OK;
}

__attribute__((format(printf, 6, 7))) static void put_line(struct trust *trust, const char *name,
                                                           enum trust_level level, double value,
                                                           const char *unit, const char *format,
                                                           ...)
{
    struct trust_line *line;
    va_list arguments;

    if (trust->count == TRUST_LINES)
        return;
    line = &trust->lines[trust->count++];
    line->name = name;
    line->level = level;
    line->value = value;
    snprintf(line->unit, sizeof line->unit, "%s", unit);
    va_start(arguments, format);
    vsnprintf(line->text, sizeof line->text, format, arguments);
    va_end(arguments);
}

static void put_missing(struct trust *trust, const char *name, const char *reason)
{
    put_line(trust, name, TRUST_NOT_AVAILABLE, (double)NAN, "", "%s", reason);
}

static void put_percent(struct trust *trust, const char *name, double percent, double warn,
                        double bad)
{
    put_line(trust, name, level_of(percent, warn, bad), percent, "%",
             percent < 9.95 ? "%.1f %%" : "%.0f %%", percent);
}

/* The kernel's own word on how busy it was. */
static void judge_machine(const struct trust_reading *before, const struct trust_reading *after,
                          struct trust *out)
{
    double percent, busy, idle, total, steal, process;

    if (steal_percent(before, after, &percent))
        put_percent(out, "steal", percent, STEAL_WARN, STEAL_BAD);
    else
        put_missing(out, "steal", "/proc/stat does not tell");
    if (pressure_percent(before, after, &percent))
        put_percent(out, "CPU pressure", percent, PRESSURE_WARN, PRESSURE_BAD);
    else
        put_missing(out, "CPU pressure",
                    "no /proc/pressure/cpu (a kernel without PSI, or started with psi=0)");
    if (!CHANGE(total_ticks, &total) || !CHANGE(idle_ticks, &idle) ||
        !CHANGE(steal_ticks, &steal) || !CHANGE(process_ticks, &process)) {
        put_missing(out, "other programs", "no CPU time of all or of this process in /proc");
        return;
    }
    busy = total - idle - steal - process;
    put_percent(out, "other programs", total > 0 && busy > 0 ? 100 * busy / total : 0, OTHERS_WARN,
                OTHERS_BAD);
}

static void judge_switches(const struct trust_reading *before, const struct trust_reading *after,
                           double inferences, struct trust *out)
{
    static const char *const not_told = "the kernel does not tell it of this process's threads";
    double wait_ns, elapsed_ns, switches, migrations;
    double run_ns = 1e9 * cpu_seconds(before, after);

    if (CHANGE(queue_wait_ns, &wait_ns) && CHANGE(at_ns, &elapsed_ns) && elapsed_ns > 0)
        put_percent(out, "run-queue wait",
                    wait_ns > 0 ? 100 * wait_ns / (wait_ns + (run_ns > 0 ? run_ns : elapsed_ns))
                                : 0,
                    WAIT_WARN, WAIT_BAD);
    else
        put_missing(out, "run-queue wait", not_told);
    if (!CHANGE(involuntary, &switches))
        put_missing(out, "involuntary switches", not_told);
    else if (inferences > 0)
        put_line(out, "involuntary switches",
                 too_many_switches(before, after, switches, inferences) ? TRUST_WARN : TRUST_OK,
                 switches / inferences, "per inference", "%.2g per inference",
                 switches / inferences);
    else
        put_missing(out, "involuntary switches", "no inferences were counted");
    if (!CHANGE(migrations, &migrations))
        put_missing(out, "migrations", "no /proc/PID/sched (a kernel without CONFIG_SCHED_DEBUG)");
    else if (inferences > 0)
        put_line(out, "migrations", TRUST_OK, migrations / inferences, "per inference",
                 "%.2g per inference", migrations / inferences);
    else
        put_missing(out, "migrations", "no inferences were counted");
}

static void judge_faults(const struct trust_reading *before, const struct trust_reading *after,
                         double inferences, struct trust *out)
{
    double major, minor;

    if (CHANGE(major_faults, &major))
        put_line(out, "major faults", major > 0 ? TRUST_WARN : TRUST_OK, major, "",
                 major > 0 ? "%.0f: memory was read from disk" : "%.0f", major);
    else
        put_missing(out, "major faults", "no /proc/PID/stat of the process");
    if (!CHANGE(minor_faults, &minor))
        put_missing(out, "minor faults", "no /proc/PID/stat of the process");
    else if (inferences > 0)
        put_line(out, "minor faults", TRUST_OK, minor / inferences, "per inference",
                 "%.3g per inference", minor / inferences);
    else
        put_missing(out, "minor faults", "no inferences were counted");
}

static void judge_clocks(const struct trust_reading *before, const struct trust_reading *after,
                         const struct host_facts *host, struct trust *out)
{
    static const char *const no_cpufreq[] = { "no cpufreq on this machine",
                                              "no cpufreq in this virtual machine" };
    static const char *const no_thermal[] = { "no throttle counters on this machine",
                                              "no throttle counters in this virtual machine" };
    bool guest = host->hypervisor[0] != '\0';
    double least, most, events;

    if (frequencies(before, after, &least, &most)) {
        double range = 100 * (most - least) / most;

        put_line(out, "frequency", range > FREQUENCY_WARN ? TRUST_WARN : TRUST_OK, range, "%",
                 range > 0.05 ? "%.0f to %.0f MHz, %.1f %% apart" : "%.0f MHz", least / 1e3,
                 most / 1e3, range);
    } else {
        put_missing(out, "frequency", no_cpufreq[guest]);
    }
    if (!host->governor[0])
        put_missing(out, "governor", no_cpufreq[guest]);
    else
        put_line(out, "governor", TRUST_OK, (double)NAN, "",
                 strcmp(host->governor, "performance") == 0
                     ? "%s"
                     : "%s; with performance the clock varies less",
                 host->governor);
    if (CHANGE(thermal_events, &events))
        put_line(out, "thermal throttling", events > 0 ? TRUST_BAD : TRUST_OK, events, "events",
                 events > 0 ? "%.0f events: the CPU was too hot" : "none", events);
    else
        put_missing(out, "thermal throttling", no_thermal[guest]);
}

static void judge_quota(const struct trust_reading *before, const struct trust_reading *after,
                        const struct host_facts *host, struct trust *out)
{
    double periods;

    if (!CHANGE(throttled_periods, &periods))
        put_missing(out, "CPU quota", "the process's control group has no cpu.stat");
    else if (periods > 0)
        put_line(out, "CPU quota", TRUST_BAD, periods, "periods",
                 "stopped in %.0f periods: its control group used up its quota", periods);
    else if (host->cgroup_cpu_permille)
        put_line(out, "CPU quota", TRUST_OK, 0, "periods", "never hit (%.2f CPUs)",
                 (double)host->cgroup_cpu_permille / 1000);
    else
        put_line(out, "CPU quota", TRUST_OK, 0, "periods", "never hit");
}

/* (p90 - p10) / p50 of the reference kernel; NAN if it was not measured. */
static double reference_drift(const struct trust_work *work)
{
    double *sorted;
    double middle, drift = (double)NAN;
    size_t count = 0;

    if (!work->reference_ns || work->reference_count == 0)
        return drift;
    sorted = ifg_alloc(work->reference_count, sizeof *sorted);
    if (!sorted)
        return drift;
    for (size_t i = 0; i < work->reference_count; i++)
        if (work->reference_ns[i])
            sorted[count++] = (double)work->reference_ns[i];
    statistics_sort(sorted, count);
    middle = count ? ifg_quantile_sorted(sorted, count, 0.5, IFG_QUANTILE_LINEAR) : 0;
    if (count >= 2 && middle > 0)
        drift = (ifg_quantile_sorted(sorted, count, 0.9, IFG_QUANTILE_LINEAR) -
                 ifg_quantile_sorted(sorted, count, 0.1, IFG_QUANTILE_LINEAR)) /
                middle;
    ifg_free(sorted);
    return drift;
}

static void judge_blocks(const struct trust_work *work, struct trust *out)
{
    out->reference_drift = reference_drift(work);
    if (isnan(out->reference_drift))
        put_missing(out, "reference kernel", "it was not run");
    else
        put_percent(out, "reference kernel", 100 * out->reference_drift, REFERENCE_WARN,
                    REFERENCE_BAD);
    if (work->blocks) {
        double percent = 100 * (double)work->disturbed / (double)work->blocks;

        put_line(out, "disturbed blocks", level_of(percent, DISTURBED_WARN, DISTURBED_BAD), percent,
                 "%", "%zu of %zu", work->disturbed, work->blocks);
    } else {
        put_missing(out, "disturbed blocks", "no blocks were measured");
    }
}

/* Reading these costs tens of nanoseconds, without a system call. */
static bool is_fast_clock(const char *name)
{
    static const char *const fast[] = { "tsc",
                                        "kvm-clock",
                                        "hyperv_clocksource_tsc_page",
                                        "arch_sys_counter",
                                        "riscv_clocksource",
                                        "timebase" };

    for (size_t i = 0; i < sizeof fast / sizeof *fast; i++)
        if (strcmp(name, fast[i]) == 0)
            return true;
    return false;
}

static void tell_facts(const struct host_facts *host, struct trust *out)
{
    if (!host->clock_source[0])
        put_missing(out, "clock source", "the kernel does not tell");
    else
        put_line(out, "clock source", is_fast_clock(host->clock_source) ? TRUST_OK : TRUST_WARN,
                 (double)NAN, "", is_fast_clock(host->clock_source) ? "%s" : "%s: slow to read",
                 host->clock_source);
    put_line(out, "hypervisor", TRUST_OK, (double)NAN, "", "%s%s",
             host->hypervisor[0] ? host->hypervisor : "none",
             host->hypervisor[0] ? " (its other guests are seen only as steal)" : "");
    put_line(out, "address layout", TRUST_OK, (double)NAN, "", "%s",
             host->aslr ? "random for each process" : "fixed");
    if (host->numa_nodes)
        put_line(out, "NUMA nodes", TRUST_OK, host->numa_nodes, "", "%u", host->numa_nodes);
    else
        put_missing(out, "NUMA nodes", "the kernel does not tell");
}

void trust_judge(const struct host_roots *roots, const struct trust_reading *before,
                 const struct trust_reading *after, const struct trust_work *work,
                 struct trust *out_trust)
{
    struct host_facts host;
    bool any = false;

    memset(out_trust, 0, sizeof *out_trust);
    host_read(roots, &host);
    judge_machine(before, after, out_trust);
    judge_switches(before, after, (double)work->inferences, out_trust);
    judge_faults(before, after, (double)work->inferences, out_trust);
    judge_clocks(before, after, &host, out_trust);
    judge_quota(before, after, &host, out_trust);
    judge_blocks(work, out_trust);
    tell_facts(&host, out_trust);
    for (size_t i = 0; i < out_trust->count; i++) {
        enum trust_level level = out_trust->lines[i].level;

        if (level == TRUST_NOT_AVAILABLE)
            continue;
        any |= !isnan(out_trust->lines[i].value);
        if (level > out_trust->level)
            out_trust->level = level;
    }
    if (!any)
        out_trust->level = TRUST_NOT_AVAILABLE;
}

void trust_put(struct trust *trust, const char *name, enum trust_level level, double percent,
               const char *text)
{
    put_line(trust, name, level, percent, "%", "%s", text);
    if (level != TRUST_NOT_AVAILABLE &&
        (trust->level == TRUST_NOT_AVAILABLE || level > trust->level))
        trust->level = level;
}

/* ---- one line ---- */

__attribute__((format(printf, 3, 4))) static void append(char *out, size_t size, const char *format,
                                                         ...)
{
    size_t used = strlen(out);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(out + used, size - used, format, arguments);
    va_end(arguments);
}

static void append_line(char *out, size_t size, bool first, const struct trust_line *line)
{
    const char *between = first ? ": " : ", ";

    if (strcmp(line->name, "disturbed blocks") == 0)
        append(out, size, "%s%s blocks disturbed", between, line->text);
    else
        append(out, size, "%s%s %s", between, line->name, line->text);
}

void trust_summary(const struct trust *trust, char *out, size_t size)
{
    static const char *const always[] = { "steal", "CPU pressure", "disturbed blocks" };
    bool first = true, missing = true;

    if (size == 0)
        return;
    out[0] = '\0';
    append(out, size, "%s", trust_level_name(trust->level));
    for (int level = TRUST_BAD; level >= TRUST_OK; level--) {
        for (size_t i = 0; i < trust->count; i++) {
            const struct trust_line *line = &trust->lines[i];
            bool shown = level > TRUST_OK;

            for (size_t j = 0; !shown && j < sizeof always / sizeof *always; j++)
                shown = strcmp(line->name, always[j]) == 0 && (trust->level == TRUST_OK || j == 2);
            if (!shown || (int)line->level != level)
                continue;
            append_line(out, size, first, line);
            first = false;
        }
    }
    for (size_t i = 0; i < trust->count; i++) {
        if (trust->lines[i].level != TRUST_NOT_AVAILABLE)
            continue;
        append(out, size, "%s%s", missing ? "; not available: " : ", ", trust->lines[i].name);
        missing = false;
    }
}
