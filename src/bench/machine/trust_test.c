// SPDX-License-Identifier: Apache-2.0
/* Readings from trees of files that look like /proc and /sys, and what is judged from them. */
#include "bench/machine/trust.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake_tree.h"
#include "tap.h"

#define MISSING UINT64_MAX
#define PID     42

/* A machine with all that is read. */
static void plant_machine(void)
{
    plant();
    put("proc/stat", "cpu  100 20 30 1000 50 6 7 11 3 4\ncpu0 1 1 1 1 1 1 1 1 1 1\nintr 5\n");
    put("proc/pressure/cpu", "some avg10=1.00 avg60=1.00 avg300=1.00 total=123456\n"
                             "full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n");
    put("proc/cpuinfo", "processor\t: 0\nmodel name\t: Some CPU @ 3 GHz\n"
                        "flags\t\t: fpu vme hypervisor lahf_lm\n");
    put("proc/meminfo", "MemTotal:       24684100 kB\nMemFree: 1 kB\n");
    put("proc/sys/kernel/randomize_va_space", "2\n");
    put("proc/42/stat", "42 (a ) b) S 1 42 42 0 -1 4194560 500 0 3 0 70 8 0 0 20 0 2 0 25 0 0\n");
    put("proc/42/status", "Name:\ta\nVmHWM:\t  2000 kB\nVmRSS:\t   1000 kB\n"
                          "voluntary_ctxt_switches:\t9\nnonvoluntary_ctxt_switches:\t8\n");
    put("proc/42/task/42/schedstat", "5000 700 3\n");
    put("proc/42/task/42/sched", "a (42, #threads: 2)\n---\nse.nr_migrations : 4\nnr_switches : 9\n"
                                 "nr_voluntary_switches : 30\nnr_involuntary_switches : 5\n");
    put("proc/42/task/43/schedstat", "90000 21 3\n");
    put("proc/42/task/43/status", "voluntary_ctxt_switches:\t1\nnonvoluntary_ctxt_switches:\t2\n");
    put("proc/42/task/43/stat", "43 (b) S 1 42 42 0 -1 0 0 0 0 0 0 0 0 0 20 0 2 0 25 0 0 0 0 0 0 0 "
                                "0 0 0 0 0 0 0 0 17 3 0 0 0 0 0\n");
    put("proc/42/cgroup", "0::/user.slice/a.scope\n");
    put("sys/fs/cgroup/cgroup.controllers", "cpu\n");
    put("sys/fs/cgroup/user.slice/cpu.stat", "usage_usec 5\nnr_periods 9\nnr_throttled 2\n");
    put("sys/fs/cgroup/user.slice/a.scope/cpu.stat", "nr_periods 9\nnr_throttled 40\n");
    put("sys/devices/system/cpu/present", "0-3\n");
    put("sys/devices/system/cpu/cpu3/cpufreq/scaling_cur_freq", "3000000\n");
    put("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n");
    put("sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "1\n");
    put("sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count", "2\n");
    put("sys/devices/system/cpu/cpu3/thermal_throttle/core_throttle_count", "4\n");
    put("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
    put("sys/devices/system/node/node0/cpulist", "0-3\n");
    put("sys/class/dmi/id/sys_vendor", "QEMU\n");
}

/* ---- readings ---- */

static void everything_is_read(void)
{
    struct trust_reading reading;

    plant_machine();
    trust_read(&roots, PID, &reading);
    CHECK(reading.at_ns > 0 && reading.at_ns != MISSING);
    CHECK_UINT(reading.steal_ticks, 11);
    CHECK_UINT(reading.total_ticks, 1224); /* guest time is in user time already */
    CHECK_UINT(reading.idle_ticks, 1050);
    CHECK_UINT(reading.pressure_us, 123456);
    CHECK_UINT(reading.minor_faults, 500);
    CHECK_UINT(reading.major_faults, 3);
    CHECK_UINT(reading.process_ticks, 78);
    CHECK_UINT(reading.rss_bytes, 1000 * 1024);
    CHECK_UINT(reading.peak_rss_bytes, 2000 * 1024);
    CHECK_UINT(reading.involuntary, 7); /* one thread by sched, the other by status */
    CHECK_UINT(reading.voluntary, 31);
    CHECK_UINT(reading.queue_wait_ns, 721);
    CHECK_UINT(reading.migrations, MISSING);   /* not of both */
    CHECK_UINT(reading.throttled_periods, 42); /* its own and those of the group above */
    CHECK_UINT(reading.thermal_events, 7);
    CHECK_UINT(reading.frequency_least_khz, 3000000); /* where the busiest thread ran */
    CHECK_UINT(reading.frequency_most_khz, 3000000);
    trust_read(&roots, 0, &reading);
    CHECK_UINT(reading.steal_ticks, 11);
    CHECK_UINT(reading.involuntary, MISSING);
    CHECK_UINT(reading.throttled_periods, MISSING);
}

static void nothing_is_missing_not_zero(void)
{
    struct trust_reading reading;
    const uint64_t *numbers = &reading.steal_ticks;

    plant();
    memset(&reading, 0, sizeof reading);
    trust_read(&roots, PID, &reading);
    for (size_t i = 0; i < (sizeof reading - sizeof reading.at_ns) / sizeof *numbers; i++)
        CHECK_UINT(numbers[i], MISSING);
}

static void old_groups_are_found(void)
{
    struct trust_reading reading;

    plant_machine();
    put("proc/42/cgroup", "9:name=systemd:/x\n4:cpuacct,cpu:/box\n3:cpuset:/y\n0::/z\n");
    put("sys/fs/cgroup/cpuacct,cpu/box/cpu.stat", "nr_periods 7\nnr_throttled 6\n");
    trust_read(&roots, PID, &reading);
    CHECK_UINT(reading.throttled_periods, 6);
    put("sys/etc/cpu.stat", "nr_throttled 99\n");
    put("proc/42/cgroup", "0::/../../etc\n"); /* outside of what we see */
    trust_read(&roots, PID, &reading);
    CHECK_UINT(reading.throttled_periods, MISSING);
    put("proc/42/cgroup", "0::relative\n");
    trust_read(&roots, PID, &reading);
    CHECK_UINT(reading.throttled_periods, MISSING);
}

static void hostile_text_is_survived(void)
{
    static const char *const files[] = { "proc/stat",
                                         "proc/pressure/cpu",
                                         "proc/42/stat",
                                         "proc/42/status",
                                         "proc/42/task/42/schedstat",
                                         "proc/42/task/42/sched",
                                         "proc/42/task/43/stat",
                                         "proc/42/cgroup",
                                         "sys/devices/system/cpu/present" };
    static char long_line[20000];
    const char *const texts[] = {
        "",
        "\n",
        "cpu ",
        "cpu  1 2 3",
        "cpu  1 2 3 4 5 6 7 99999999999999999999999\n",
        "cpu  18446744073709551615 1 1 1 1 1 1 1\n",
        "some total=\n",
        "some total=x\n",
        "42 (",
        "42 ()",
        "42 (a) S",
        "VmRSS:",
        "VmRSS:\t-1 kB\nVmHWM: 99999999999999999999 kB\n",
        "::",
        "::\n:::/",
        "0::/\n",
        "0::/a/b/c/d/e",
        "0-99999999999999999999\n",
        "0-1023\n",
        "-",
        "se.nr_migrations\n",
        "1",
        "1 x",
        long_line,
    };
    struct trust_reading reading;

    memset(long_line, 'x', sizeof long_line - 1);
    plant_machine();
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        for (size_t j = 0; j < sizeof texts / sizeof *texts; j++) {
            tap_note("%s: %.40s", files[i], texts[j]);
            put(files[i], texts[j]);
            trust_read(&roots, PID, &reading);
        }
    }
    CHECK(reading.at_ns > 0);
}

static void our_own_process_can_be_read(void)
{
    struct trust_reading reading;

    trust_read(&host_system, getpid(), &reading);
    CHECK(reading.total_ticks != MISSING && reading.steal_ticks <= reading.total_ticks);
    CHECK(reading.minor_faults != MISSING && reading.minor_faults > 0);
    CHECK(reading.rss_bytes != MISSING && reading.rss_bytes <= reading.peak_rss_bytes);
    CHECK(reading.voluntary != MISSING);
}

/* ---- sums ---- */

static void differences_add_up(void)
{
    struct trust_reading before = { 0 }, after = { 0 }, one = { 0 }, two = { 0 };

    one.at_ns = MISSING - 100; /* counters may be near their end */
    two.at_ns = MISSING - 90;
    one.involuntary = 50;
    two.involuntary = 40; /* a thread has ended */
    one.major_faults = 5;
    two.major_faults = 6;
    one.thermal_events = MISSING;
    one.frequency_least_khz = one.frequency_most_khz = 3000;
    two.frequency_least_khz = two.frequency_most_khz = 2000;
    two.rss_bytes = 77;
    for (int i = 0; i < 3; i++)
        trust_add(&before, &after, &one, &two);
    CHECK_UINT(after.at_ns - before.at_ns, 30);
    CHECK_UINT(after.involuntary - before.involuntary, 0);
    CHECK_UINT(after.major_faults - before.major_faults, 3);
    CHECK_UINT(after.thermal_events, MISSING);
    CHECK_UINT(before.thermal_events, MISSING);
    CHECK_UINT(before.frequency_most_khz, 3000);
    CHECK_UINT(after.frequency_least_khz, 2000);
    CHECK_UINT(after.rss_bytes, 77);
}

/* ---- judgements ---- */

static struct trust_reading base, end;
static struct trust_work work;
static struct trust judged;

/* A second on an idle machine of two CPUs: 100 inferences, 20 blocks. */
static void quiet(void)
{
    base = (struct trust_reading){ .at_ns = 1,
                                   .frequency_least_khz = 3000000,
                                   .frequency_most_khz = 3000000 };
    end = base;
    end.at_ns += 1000000000;
    end.total_ticks = 200;
    end.idle_ticks = 98;
    end.process_ticks = 100;
    end.pressure_us = 1000;
    end.involuntary = 10;
    end.minor_faults = 300;
    end.queue_wait_ns = 1000000;
    work = (struct trust_work){ .inferences = 100, .threads = 1, .blocks = 20 };
}

static enum trust_level level_of(const char *name)
{
    trust_judge(&roots, &base, &end, &work, &judged);
    for (size_t i = 0; i < judged.count; i++)
        if (strcmp(judged.lines[i].name, name) == 0)
            return judged.lines[i].level;
    tap_diag("no line %s", name);
    CHECK(false);
    return TRUST_NOT_AVAILABLE;
}

static const char *text_of(const char *name)
{
    trust_judge(&roots, &base, &end, &work, &judged);
    for (size_t i = 0; i < judged.count; i++)
        if (strcmp(judged.lines[i].name, name) == 0)
            return judged.lines[i].text;
    return "no such line";
}

static void a_quiet_machine_is_ok(void)
{
    char summary[256];

    plant_machine();
    quiet();
    trust_judge(&roots, &base, &end, &work, &judged);
    for (size_t i = 0; i < judged.count; i++) {
        tap_note("%s: %s", judged.lines[i].name, judged.lines[i].text);
        CHECK(judged.lines[i].level == TRUST_OK ||
              strcmp(judged.lines[i].name, "reference kernel") == 0);
    }
    CHECK(judged.count <= TRUST_LINES);
    CHECK_INT(judged.level, TRUST_OK);
    CHECK(isnan(judged.reference_drift));
    trust_summary(&judged, summary, sizeof summary);
    CHECK_STR(summary, "OK: steal 0.0 %, CPU pressure 0.1 %, 0 of 20 blocks disturbed; not "
                       "available: reference kernel");
    CHECK(!trust_disturbed(&base, &end, 100, 1000, 1000));
}

static void limits_are_those_of_the_specification(void)
{
    plant_machine();
    quiet();
    end.steal_ticks = 1; /* 0.5 % is not more than 0.5 % */
    CHECK_INT(level_of("steal"), TRUST_OK);
    end.steal_ticks = 2;
    CHECK_INT(level_of("steal"), TRUST_WARN);
    CHECK_STR(text_of("steal"), "1.0 %");
    end.steal_ticks = 11;
    CHECK_INT(level_of("steal"), TRUST_BAD);
    quiet();
    end.pressure_us = 51000;
    CHECK_INT(level_of("CPU pressure"), TRUST_WARN);
    end.pressure_us = 251000;
    CHECK_INT(level_of("CPU pressure"), TRUST_BAD);
    CHECK_INT(judged.level, TRUST_BAD);
    quiet();
    end.queue_wait_ns = 100000000; /* 0.1 s of 1.1 */
    CHECK_INT(level_of("run-queue wait"), TRUST_WARN);
    CHECK_STR(text_of("run-queue wait"), "9.1 %");
    end.queue_wait_ns = 1000000000;
    CHECK_INT(level_of("run-queue wait"), TRUST_BAD);
    quiet();
    end.idle_ticks = 70;
    CHECK_INT(level_of("other programs"), TRUST_WARN);
    CHECK_STR(text_of("other programs"), "15 %");
    quiet();
    end.involuntary = 99;
    CHECK_INT(level_of("involuntary switches"), TRUST_OK);
    end.involuntary = 100;
    CHECK_INT(level_of("involuntary switches"), TRUST_WARN);
    work.inferences = 2; /* half a second each: twenty switches a second are nobody's fault */
    end.involuntary = 20;
    CHECK_INT(level_of("involuntary switches"), TRUST_OK);
    quiet();
    end.major_faults = 1;
    CHECK_INT(level_of("major faults"), TRUST_WARN);
    quiet();
    end.frequency_least_khz = 2900000;
    CHECK_INT(level_of("frequency"), TRUST_WARN);
    CHECK_STR(text_of("frequency"), "2900 to 3000 MHz, 3.3 % apart");
    end.frequency_least_khz = 2950000;
    CHECK_INT(level_of("frequency"), TRUST_OK);
    quiet();
    end.thermal_events = 1;
    CHECK_INT(level_of("thermal throttling"), TRUST_BAD);
    quiet();
    end.throttled_periods = 1;
    CHECK_INT(level_of("CPU quota"), TRUST_BAD);
    quiet();
    work.disturbed = 4;
    CHECK_INT(level_of("disturbed blocks"), TRUST_OK);
    work.disturbed = 5;
    CHECK_INT(level_of("disturbed blocks"), TRUST_WARN);
    work.disturbed = 11;
    CHECK_INT(level_of("disturbed blocks"), TRUST_BAD);
}

static void the_reference_kernel_is_the_yardstick(void)
{
    uint64_t times[11];

    plant_machine();
    quiet();
    for (size_t i = 0; i < 11; i++)
        times[i] = 1000000 + 500 * i; /* p10 1000500, p50 1002500, p90 1004500 */
    work.reference_ns = times;
    work.reference_count = 11;
    CHECK_INT(level_of("reference kernel"), TRUST_OK);
    CHECK(fabs(judged.reference_drift - 4000 / 1002500.0) < 1e-12);
    for (size_t i = 0; i < 11; i++)
        times[i] = 1000000 + 2000 * i;
    CHECK_INT(level_of("reference kernel"), TRUST_WARN);
    for (size_t i = 0; i < 11; i++)
        times[i] = 1000000 + 10000 * i;
    CHECK_INT(level_of("reference kernel"), TRUST_BAD);
    memset(times, 0, sizeof times); /* not measured */
    CHECK_INT(level_of("reference kernel"), TRUST_NOT_AVAILABLE);
}

static void what_is_not_told_is_not_ok(void)
{
    char summary[256];

    plant();
    memset(&base, 0xff, sizeof base);
    end = base;
    work = (struct trust_work){ 0 };
    trust_judge(&roots, &base, &end, &work, &judged);
    CHECK_INT(judged.level, TRUST_NOT_AVAILABLE);
    for (size_t i = 0; i < judged.count; i++) {
        CHECK(judged.lines[i].text[0] != '\0');
        if (judged.lines[i].level == TRUST_NOT_AVAILABLE)
            CHECK(isnan(judged.lines[i].value));
    }
    CHECK_CONTAINS(text_of("CPU pressure"), "PSI");
    CHECK_CONTAINS(text_of("frequency"), "no cpufreq on this machine");
    trust_summary(&judged, summary, sizeof summary);
    CHECK_CONTAINS(summary, "not available; not available: steal, CPU pressure,");
    put("proc/cpuinfo", "flags : a hypervisor b\n");
    CHECK_STR(text_of("frequency"), "no cpufreq in this virtual machine");
}

static void a_slow_clock_is_a_warning(void)
{
    plant_machine();
    quiet();
    put("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
    CHECK_INT(level_of("clock source"), TRUST_WARN);
    put("sys/devices/system/clocksource/clocksource0/current_clocksource", "kvm-clock\n");
    CHECK_INT(level_of("clock source"), TRUST_OK);
    put("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
    CHECK_INT(level_of("governor"), TRUST_OK); /* a note: the frequency itself is looked at */
    CHECK_CONTAINS(text_of("governor"), "powersave; with performance");
}

static void summaries_put_the_worst_first(void)
{
    char summary[256], little[16];

    plant_machine();
    quiet();
    end.steal_ticks = 2;
    end.pressure_us = 300000;
    work.disturbed = 3;
    base.frequency_least_khz = base.frequency_most_khz = MISSING;
    end.frequency_least_khz = end.frequency_most_khz = MISSING;
    trust_judge(&roots, &base, &end, &work, &judged);
    trust_summary(&judged, summary, sizeof summary);
    CHECK_STR(summary, "BAD: CPU pressure 30 %, steal 1.0 %, 3 of 20 blocks disturbed; not "
                       "available: frequency, reference kernel");
    trust_summary(&judged, little, sizeof little);
    CHECK_STR(little, "BAD: CPU pressu");
}

static void blocks_are_disturbed_by_any_of_it(void)
{
    quiet();
    CHECK(!trust_disturbed(&base, &end, 100, 0, 0));
    end.steal_ticks = 2;
    CHECK(trust_disturbed(&base, &end, 100, 0, 0));
    quiet();
    end.pressure_us = 60000;
    CHECK(trust_disturbed(&base, &end, 100, 0, 0));
    end.at_ns = base.at_ns + 1000000; /* 0.4 ms of 1 ms: too short to say */
    end.pressure_us = 400;
    CHECK(!trust_disturbed(&base, &end, 100, 0, 0));
    quiet();
    end.involuntary = 150;
    CHECK(trust_disturbed(&base, &end, 100, 0, 0));
    CHECK(!trust_disturbed(&base, &end, 0, 0, 0));
    quiet();
    CHECK(trust_disturbed(&base, &end, 100, 1020000, 1000000));
    CHECK(!trust_disturbed(&base, &end, 100, 1009000, 1000000));
    CHECK(!trust_disturbed(&base, &end, 100, 900000, 1000000)); /* faster is no harm */
    end.throttled_periods = 1;
    CHECK(trust_disturbed(&base, &end, 100, 0, 0));
    quiet();
    end.thermal_events = 1;
    CHECK(trust_disturbed(&base, &end, 100, 0, 0));
    quiet();
    end.major_faults = 1;
    CHECK(trust_disturbed(&base, &end, 100, 0, 0));
    quiet();
    end.frequency_least_khz = end.frequency_most_khz = 2800000;
    CHECK(trust_disturbed(&base, &end, 100, 0, 0));
    memset(&base, 0xff, sizeof base);
    CHECK(!trust_disturbed(&base, &base, 100, 0, 0));
}

TAP_MAIN(TAP_CASE(everything_is_read), TAP_CASE(nothing_is_missing_not_zero),
         TAP_CASE(old_groups_are_found), TAP_CASE(hostile_text_is_survived),
         TAP_CASE(our_own_process_can_be_read), TAP_CASE(differences_add_up),
         TAP_CASE(a_quiet_machine_is_ok), TAP_CASE(limits_are_those_of_the_specification),
         TAP_CASE(the_reference_kernel_is_the_yardstick), TAP_CASE(what_is_not_told_is_not_ok),
         TAP_CASE(a_slow_clock_is_a_warning), TAP_CASE(summaries_put_the_worst_first),
         TAP_CASE(blocks_are_disturbed_by_any_of_it))
