// SPDX-License-Identifier: Apache-2.0
/* A machine described from trees of files that look like /proc and /sys, and its counters. */
#include "system/host.h"

#include "fake_tree.h"
#include "system/host_counters.h"
#include "tap.h"

static void the_machine_is_described(void)
{
    struct host_facts host;

    plant();
    put("proc/cpuinfo", "processor\t: 0\nmodel name\t: Some CPU @ 3 GHz\n"
                        "flags\t\t: fpu vme hypervisor lahf_lm\n");
    put("proc/meminfo", "MemTotal:       24684100 kB\nMemFree: 1 kB\n");
    put("proc/loadavg", "0.52 0.58 0.59 2/1234 5678\n");
    put("proc/sys/kernel/randomize_va_space", "2\n");
    put("proc/sys/kernel/random/boot_id", "3ebfeb91-eeaa-47cc-895d-6f812dc659c6\n");
    put("proc/self/timens_offsets", "monotonic           0         0\nboottime 0 0\n");
    put("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n");
    put("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
    put("sys/devices/system/node/node0/cpulist", "0-3\n");
    put("sys/class/dmi/id/sys_vendor", "QEMU\n");
    put("sys/fs/cgroup/cgroup.controllers", "cpu\n");
    put("proc/self/cgroup", "0::/a/b\n");
    put("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
    put("sys/fs/cgroup/a/cpu.max", "150000 100000\n");
    host_read(&roots, &host);
    CHECK_STR(host.cpu, "Some CPU @ 3 GHz");
    CHECK_STR(host.hypervisor, "QEMU");
    CHECK_STR(host.governor, "performance");
    CHECK_STR(host.clock_source, "tsc");
    CHECK_UINT(host.memory_bytes, 24684100ull * 1024);
    CHECK_UINT(host.cgroup_cpu_permille, 1500);
    CHECK_UINT(host.numa_nodes, 1);
    CHECK(host.aslr);
    CHECK(host.cpus >= 1 && host.online >= 1);
    CHECK(host.tells_flags);
    CHECK_STR(host.load, "0.52 0.58 0.59 2/1234 5678");
    CHECK_STR(host.boot_id, "3ebfeb91-eeaa-47cc-895d-6f812dc659c6");
    CHECK_CONTAINS(host.kernel, "Linux ");
    put("proc/self/timens_offsets", "monotonic      86400         0\nboottime 0 0\n");
    put("proc/self/cgroup", "3:cpu,cpuacct:/\n");
    put("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
    put("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
    host_read(&roots, &host);
    CHECK_UINT(host.cgroup_cpu_permille, 0);
    CHECK_STR(host.boot_id, "3ebfeb91-eeaa-47cc-895d-6f812dc659c6 monotonic      86400         0");
    put("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "50000\n");
    put("proc/sys/kernel/randomize_va_space", "0\n");
    put("proc/cpuinfo", "model name\t: A\033[2J\x01 CPU\n");
    host_read(&roots, &host);
    CHECK_UINT(host.cgroup_cpu_permille, 500);
    CHECK(!host.aslr);
    CHECK_STR(host.cpu, "A?[2J? CPU");
    CHECK_STR(host.hypervisor, "");
    CHECK(!host.tells_flags); /* so that nobody says that there is none */
}

static void an_empty_machine_is_described(void)
{
    struct host_facts host;

    plant();
    host_read(&roots, &host);
    CHECK(host.machine[0] != '\0');
    CHECK_STR(host.cpu, host.machine); /* at least that */
    CHECK_STR(host.load, "");
    CHECK_STR(host.hypervisor, "");
    CHECK_STR(host.governor, "");
    CHECK_UINT(host.memory_bytes, 0);
    CHECK_UINT(host.cgroup_cpu_permille, 0);
}

static void steal_is_missing_where_it_is_not_counted(void)
{
    struct cpu_ticks all;

    CHECK(host_parse_ticks("cpu  1 2 3 4 5 6 7 8 9 10\n", &all));
    CHECK_UINT(all.steal, 8);
    CHECK_UINT(all.total, 36);
    CHECK(host_parse_ticks("cpu  1 2 3 4\ncpu0 9 9 9 9 9 9 9 9\n", &all));
    CHECK_UINT(all.steal, IFG_NO_NUMBER);
    CHECK_UINT(all.total, 10);
    CHECK(!host_parse_ticks("cpu0 1 2 3 4\n", &all));
}

static void looked_at_cpus_are_spread(void)
{
    unsigned cpus[4];

    plant();
    CHECK_UINT(host_spread_cpus(&roots, cpus, 4), 1); /* nothing is told */
    CHECK_UINT(cpus[0], 0);
    CHECK_UINT(host_throttles(&roots, cpus, 1), IFG_NO_NUMBER);
    put("sys/devices/system/cpu/present", "0-127\n");
    put("sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "1\n");
    put("sys/devices/system/cpu/cpu127/thermal_throttle/package_throttle_count", "4\n");
    CHECK_UINT(host_spread_cpus(&roots, cpus, 4), 4);
    CHECK_UINT(cpus[3], 127);
    CHECK_UINT(host_throttles(&roots, cpus, 4), 5);
    put("sys/devices/system/cpu/cpu127/cpufreq/scaling_cur_freq", "0\n");
    CHECK_UINT(host_clock_khz(&roots, 127), IFG_NO_NUMBER);
}

TAP_MAIN(TAP_CASE(the_machine_is_described), TAP_CASE(an_empty_machine_is_described),
         TAP_CASE(steal_is_missing_where_it_is_not_counted), TAP_CASE(looked_at_cpus_are_spread))
