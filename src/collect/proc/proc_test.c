// SPDX-License-Identifier: Apache-2.0
/* Samples fake trees of /proc and /sys, for hardware that is not at hand, and at this process.
 */
#include "collect/proc/proc.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "collect/proc/proc_internal.h"
#include "tap.h"

#define S 1000000000ull

static char root[200], proc[256], sys[256];
static struct host_roots roots;

static void make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
}

static void put(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(const char *name, const char *format, ...)
{
    char path[512];
    va_list args;
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", root, name);
    make_folders(path);
    file = fopen(path, "we");
    REQUIRE(file != NULL);
    va_start(args, format);
    vfprintf(file, format, args);
    va_end(args);
    fclose(file);
}

static void begin_tree(void)
{
    const char *directory = getenv("TMPDIR");

    snprintf(root, sizeof root, "%s/ifg-proc-%ld", directory && *directory ? directory : "/tmp",
             (long)getpid());
    snprintf(proc, sizeof proc, "%s/proc", root);
    snprintf(sys, sizeof sys, "%s/sys", root);
    roots = (struct host_roots){ proc, sys };
    put("proc/stat", "cpu  1000 0 500 8000 100 0 0 10\ncpu0 500 0 250 4000 50 0 0 5\n"
                     "cpu1 500 0 250 4000 50 0 0 5\nintr 12345\n");
}

static void end_tree(void)
{
    char command[300];

    snprintf(command, sizeof command, "rm -rf '%s'", root);
    if (system(command) != 0)
        tap_note("cannot remove %s", root);
}

/* ---- values ---- */

static struct {
    uint32_t pid;
    char name[PROC_NAME_BYTES];
    double value;
} values[512];
static size_t value_count;

static void take(void *user, uint32_t pid, const char *name, double value)
{
    (void)user;
    REQUIRE(value_count < 512 && strlen(name) < PROC_NAME_BYTES);
    values[value_count].pid = pid;
    snprintf(values[value_count].name, PROC_NAME_BYTES, "%s", name);
    values[value_count++].value = value;
}

static const struct proc_sink sink = { take, NULL, NULL };

static double value(uint32_t pid, const char *name)
{
    for (size_t i = value_count; i-- > 0;)
        if (values[i].pid == pid && strcmp(values[i].name, name) == 0)
            return values[i].value;
    return (double)NAN;
}

#define CHECK_VALUE(pid, name, expected)                                                           \
    do {                                                                                           \
        double got = value(pid, name);                                                             \
        if (!(fabs(got - (expected)) < 0.01))                                                      \
            tap_note("%s: %g instead of %g", name, got, (double)(expected));                       \
        CHECK(fabs(got - (expected)) < 0.01);                                                      \
    } while (0)

/* ---- the machine ---- */

static void the_machine(void)
{
    struct proc_collector *collector;

    begin_tree();
    put("proc/meminfo", "MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable: 400 kB\nSwapTotal: 10 kB\n"
                        "SwapFree: 4 kB\n");
    put("proc/loadavg", "1.25 0.5 0.1 1/99 1234\n");
    put("proc/pressure/cpu", "some avg10=0.00 total=1000\nfull avg10=0.00 total=0\n");
    put("sys/devices/system/cpu/present", "0-1\n");
    put("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "2000000\n");
    put("sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "3000000\n");
    put("sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "7\n");
    put("sys/devices/system/cpu/cpu1/thermal_throttle/package_throttle_count", "3\n");
    collector = proc_open(&roots, S);
    REQUIRE(collector != NULL);
    proc_look(collector, S, false, &sink);
    CHECK(isnan(value(0, "cpu total %"))); /* a share needs two looks */
    put("proc/stat", "cpu  1100 0 550 8030 110 0 0 20\ncpu0 600 0 250 4000 50 0 0 5\n"
                     "cpu1 500 0 300 4030 60 0 0 15\nintr 12345\n");
    put("proc/pressure/cpu", "some avg10=0.00 total=251000\nfull avg10=0.00 total=0\n");
    proc_look(collector, 2 * S, false, &sink);
    CHECK_VALUE(0, "cpu total %", 75);
    CHECK_VALUE(0, "cpu user %", 50);
    CHECK_VALUE(0, "cpu system %", 25);
    CHECK_VALUE(0, "cpu iowait %", 5);
    CHECK_VALUE(0, "cpu steal %", 5);
    CHECK_VALUE(0, "cpu 0 %", 100);
    CHECK_VALUE(0, "cpu 1 %", 50);
    CHECK_VALUE(0, "memory used bytes", 600 * 1024);
    CHECK_VALUE(0, "memory available bytes", 400 * 1024);
    CHECK_VALUE(0, "swap used bytes", 6 * 1024);
    CHECK_VALUE(0, "load", 1.25);
    CHECK_VALUE(0, "pressure cpu some %", 25);
    CHECK(isnan(value(0, "pressure io some %")));
    CHECK_VALUE(0, "cpu frequency min MHz", 2000);
    CHECK_VALUE(0, "cpu frequency avg MHz", 2500);
    CHECK_VALUE(0, "cpu frequency max MHz", 3000);
    CHECK_VALUE(0, "cpu thermal throttles", 10);
    proc_close(collector);
    end_tree();
}

static void nothing_there(void)
{
    struct proc_collector *collector;
    char missing[800];

    begin_tree();
    collector = proc_open(&roots, S);
    REQUIRE(collector != NULL);
    proc_follow(collector, (pid_t[]){ 42 }, 1);
    proc_look(collector, S, true, &sink);
    proc_missing(collector, missing, sizeof missing);
    CHECK_STR(missing,
              "GPU: no driver; NPU: no device; frequency: no cpufreq (a virtual machine?); "
              "throttling by heat: no counters; pressure: not in this kernel; "
              "CPU energy: no RAPL energy counters on this machine");
    CHECK_UINT(value_count, 0);
    proc_missing(collector, missing, 20);
    CHECK_UINT(strlen(missing), 19);
    proc_close(collector);
    proc_close(NULL);
    end_tree();
}

/* ---- a process ---- */

static void put_process(unsigned ticks, unsigned minor, unsigned involuntary)
{
    put("proc/42/stat", "42 (a) b) S 1 42 42 0 -1 0 %u 0 2 0 %u 0 0 0 20 0 3 0 500 9999 100 1 1",
        minor, ticks);
    put("proc/42/io", "rchar: 5\nread_bytes: 4096\nwrite_bytes: 8192\n");
    put("proc/42/smaps_rollup", "0-1 ---p 00000000 00:00 0 [rollup]\nRss: 400 kB\nPss: 300 kB\n");
    put("proc/42/task/42/status",
        "Name: a\nvoluntary_ctxt_switches:\t10\nnonvoluntary_ctxt_switches:\t%u\n", involuntary);
    put("proc/42/cgroup", "0::/app/inner\n");
    put("sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
    put("sys/fs/cgroup/app/cpu.max", "150000 100000\n");
    put("sys/fs/cgroup/app/inner/cpu.max", "max 100000\n");
    put("sys/fs/cgroup/app/cpu.stat", "nr_periods 100\nnr_throttled 30\nthrottled_usec 5000\n");
    put("sys/fs/cgroup/app/inner/cpu.stat", "usage_usec 5\nnr_periods 0\nnr_throttled 0\n"
                                            "throttled_usec 0\n");
    put("sys/fs/cgroup/app/memory.max", "1048576\n");
    put("sys/fs/cgroup/app/inner/memory.max", "max\n");
    put("sys/fs/cgroup/app/inner/memory.current", "65536\n");
}

static void a_process(void)
{
    struct proc_collector *collector;
    long tick = sysconf(_SC_CLK_TCK);

    begin_tree();
    put_process(100, 50, 5);
    collector = proc_open(&roots, S);
    REQUIRE(collector != NULL);
    proc_follow(collector, (pid_t[]){ 42, 43 }, 2);
    proc_look(collector, S, false, &sink);
    put_process(100 + (unsigned)tick / 2, 60, 9);
    proc_look(collector, 2 * S, true, &sink);
    CHECK_VALUE(42, "cpu %", 50);
    CHECK_VALUE(42, "threads", 3);
    CHECK_VALUE(42, "rss bytes", 100.0 * (double)sysconf(_SC_PAGESIZE));
    CHECK_VALUE(42, "pss bytes", 300 * 1024);
    CHECK_VALUE(42, "page faults minor", 60);
    CHECK_VALUE(42, "page faults major", 2);
    CHECK_VALUE(42, "read bytes", 4096);
    CHECK_VALUE(42, "written bytes", 8192);
    CHECK_VALUE(42, "switches involuntary", 9);
    CHECK_VALUE(42, "switches voluntary", 10);
    CHECK_VALUE(42, "cgroup cpu limit", 1.5);
    CHECK_VALUE(42, "cgroup memory limit bytes", 1048576);
    CHECK_VALUE(42, "cgroup memory bytes", 65536);
    CHECK_VALUE(42, "cgroup throttled periods", 30);
    CHECK_VALUE(42, "cgroup throttled us", 5000);
    CHECK(isnan(value(43, "cpu %")));
    value_count = 0;
    proc_follow(collector, NULL, 0);
    proc_look(collector, 3 * S, true, &sink);
    CHECK(isnan(value(42, "rss bytes")));
    proc_close(collector);
    end_tree();
}

static void others(void)
{
    struct proc_collector *collector;
    long tick = sysconf(_SC_CLK_TCK);

    begin_tree();
    put_process(100, 50, 5);
    put("proc/77/stat", "77 (stress) R 1 1 1 0 -1 0 0 0 0 0 100 0 0 0 20 0 1 0 5 0 0 0");
    put("proc/78/stat", "78 (idle) S 1 1 1 0 -1 0 0 0 0 0 100 0 0 0 20 0 1 0 5 0 0 0");
    collector = proc_open(&roots, S);
    REQUIRE(collector != NULL);
    proc_follow(collector, (pid_t[]){ 42 }, 1);
    proc_look(collector, S, false, &sink);
    put_process(100 + (unsigned)tick, 50, 5);
    put("proc/77/stat", "77 (stress) R 1 1 1 0 -1 0 0 0 0 0 %ld 0 0 0 20 0 1 0 5 0 0 0",
        100 + tick * 9 / 10);
    proc_look(collector, 2 * S, true, &sink);
    CHECK_VALUE(0, "other stress (77) cpu %", 90);
    CHECK_VALUE(0, "others cpu %", 90);
    CHECK(isnan(value(0, "other idle (78) cpu %")));
    proc_close(collector);
    end_tree();
}

/* ---- devices ---- */

static void put_card(unsigned number, const char *driver)
{
    char name[64];

    snprintf(name, sizeof name, "sys/class/drm/card%u/device/uevent", number);
    put(name, "DRIVER=%s\nPCI_CLASS=30000\n", driver);
}

static void put_descriptor(unsigned fd, const char *device, const char *text)
{
    char path[300];

    snprintf(path, sizeof path, "proc/42/fdinfo/%u", fd);
    put(path, "pos:\t0\n%s", text);
    snprintf(path, sizeof path, "%s/proc/42/fd/x", root);
    make_folders(path);
    snprintf(path, sizeof path, "%s/proc/42/fd/%u", root, fd);
    unlink(path);
    REQUIRE(symlink(device, path) == 0);
}

static void cards(void)
{
    struct proc_collector *collector;
    char missing[800];

    begin_tree();
    put_card(0, "amdgpu");
    put("sys/class/drm/card0/device/gpu_busy_percent", "63\n");
    put("sys/class/drm/card0/device/mem_info_vram_used", "123456789\n");
    put("sys/class/drm/card0/device/hwmon/hwmon3/power1_average", "45000000\n");
    put("sys/class/drm/card0/device/hwmon/hwmon3/temp1_input", "61000\n");
    put("sys/class/drm/card0/device/hwmon/hwmon3/freq1_input", "1500000000\n");
    put("sys/class/drm/card0-HDMI-A-1/status", "connected\n");
    put_card(1, "i915");
    put("sys/class/drm/card1/gt/gt0/rc6_residency_ms", "1000\n");
    put("sys/class/drm/card1/gt/gt0/rps_act_freq_mhz", "900\n");
    put_card(2, "xe");
    put("sys/class/drm/card2/device/tile0/gt0/gtidle/idle_residency_ms", "500\n");
    put("sys/class/drm/card2/device/tile0/gt0/freq0/act_freq", "1200\n");
    put_card(3, "panfrost");
    collector = proc_open(&roots, S);
    REQUIRE(collector != NULL);
    CHECK_STR(proc_gpu_words(collector), "amdgpu, i915, xe, panfrost");
    proc_look(collector, S, false, &sink);
    put("sys/class/drm/card1/gt/gt0/rc6_residency_ms", "1250\n");
    put("sys/class/drm/card2/device/tile0/gt0/gtidle/idle_residency_ms", "1500\n");
    proc_look(collector, 2 * S, false, &sink);
    CHECK_VALUE(0, "gpu 0 busy %", 63);
    CHECK_VALUE(0, "gpu 0 memory used bytes", 123456789);
    CHECK_VALUE(0, "gpu 0 power W", 45);
    CHECK_VALUE(0, "gpu 0 temperature C", 61);
    CHECK_VALUE(0, "gpu 0 clock MHz", 1500);
    CHECK_VALUE(0, "gpu 1 busy %", 75);
    CHECK_VALUE(0, "gpu 1 clock MHz", 900);
    CHECK_VALUE(0, "gpu 2 busy %", 0);
    CHECK_VALUE(0, "gpu 2 clock MHz", 1200);
    proc_missing(collector, missing, sizeof missing);
    CHECK(!strstr(missing, "GPU"));
    proc_close(collector);
    end_tree();
}

static void npus(void)
{
    struct proc_collector *collector;
    char missing[800];

    begin_tree();
    put("sys/class/accel/accel0/device/uevent", "DRIVER=intel_vpu\n");
    put("sys/class/accel/accel0/device/npu_busy_time_us", "1000000\n");
    put("sys/class/accel/accel0/device/npu_memory_utilization", "777\n");
    put("sys/class/accel/accel0/device/npu_current_frequency_mhz", "1400\n");
    put("sys/class/accel/accel1/device/uevent", "DRIVER=qaic\n");
    collector = proc_open(&roots, S);
    REQUIRE(collector != NULL);
    CHECK_STR(proc_npu_words(collector), "intel_vpu, qaic");
    proc_look(collector, S, false, &sink);
    put("sys/class/accel/accel0/device/npu_busy_time_us", "1400000\n");
    proc_look(collector, 2 * S, false, &sink);
    CHECK_VALUE(0, "npu 0 busy %", 40);
    CHECK_VALUE(0, "npu 0 memory used bytes", 777);
    CHECK_VALUE(0, "npu 0 clock MHz", 1400);
    proc_missing(collector, missing, sizeof missing);
    CHECK(!strstr(missing, "NPU"));
    proc_close(collector);
    end_tree();
}

static void engines(void)
{
    static const char amdgpu[] = "drm-driver:\tamdgpu\ndrm-client-id:\t7\ndrm-pdev:\t0000:03:00.0\n"
                                 "drm-memory-vram:\t1 KiB\ndrm-resident-vram:\t2048 KiB\n";
    struct proc_collector *collector;
    char text[400];

    begin_tree();
    put_process(100, 50, 5);
    put_card(0, "amdgpu");
    put("sys/class/accel/accel0/device/uevent", "DRIVER=amdxdna\n");
    snprintf(text, sizeof text, "%sdrm-engine-gfx:\t1000000000 ns\n", amdgpu);
    put_descriptor(3, "/dev/dri/renderD128", text);
    put_descriptor(4, "/dev/dri/renderD128", text); /* the same client */
    put_descriptor(5, "/dev/null", text);
    put_descriptor(6, "/dev/accel/accel0",
                   "drm-driver:\tamdxdna_accel_driver\ndrm-client-id:\t1\n"
                   "drm-engine-npu-amdxdna:\t0 ns\ndrm-total-memory:\t1 MiB\n");
    put_descriptor(7, "/dev/dri/renderD129",
                   "drm-driver:\txe\ndrm-client-id:\t9\n"
                   "drm-cycles-rcs:\t100\ndrm-total-cycles-rcs:\t1000\n");
    collector = proc_open(&roots, S);
    REQUIRE(collector != NULL);
    proc_follow(collector, (pid_t[]){ 42 }, 1);
    proc_look(collector, S, false, &sink);
    snprintf(text, sizeof text, "%sdrm-engine-gfx:\t1300000000 ns\n", amdgpu);
    put_descriptor(3, "/dev/dri/renderD128", text);
    put_descriptor(4, "/dev/dri/renderD128", text);
    put_descriptor(6, "/dev/accel/accel0",
                   "drm-driver:\tamdxdna_accel_driver\ndrm-client-id:\t1\n"
                   "drm-engine-npu-amdxdna:\t900000000 ns\ndrm-total-memory:\t1 MiB\n");
    put_descriptor(7, "/dev/dri/renderD129",
                   "drm-driver:\txe\ndrm-client-id:\t9\n"
                   "drm-cycles-rcs:\t600\ndrm-total-cycles-rcs:\t2000\n");
    proc_look(collector, 2 * S, false, &sink);
    CHECK_VALUE(42, "gpu engine gfx %", 30);
    CHECK_VALUE(42, "gpu engine rcs %", 50);
    CHECK_VALUE(42, "gpu memory bytes", 2048 * 1024);
    CHECK_VALUE(42, "npu engine npu-amdxdna %", 90);
    CHECK_VALUE(42, "npu memory bytes", 1 << 20);
    proc_close(collector);
    end_tree();
}

/* Engines of one name add up over clients; one that stands for several is busy when all are. A
 * descriptor of a driver without fdinfo, and NVIDIA's, are counted. */
static void clients(void)
{
    struct proc_collector *collector;

    begin_tree();
    put_process(100, 50, 5);
    put_card(0, "i915");
    put("sys/class/accel/accel0/device/uevent", "DRIVER=qaic\n");
    put("proc/driver/nvidia/gpus/0000:01:00.0/information", "Model: X\n");
    put_descriptor(3, "/dev/dri/renderD128",
                   "drm-driver:\ti915\ndrm-client-id:\t7\ndrm-engine-render:\t0 ns\n"
                   "drm-engine-video:\t0 ns\ndrm-engine-capacity-video:\t2\n");
    put_descriptor(4, "/dev/dri/renderD128",
                   "drm-driver:\ti915\ndrm-client-id:\t8\ndrm-engine-render:\t0 ns\n");
    put_descriptor(5, "/dev/accel/accel0", "");
    put_descriptor(6, "/dev/nvidiactl", "");
    put_descriptor(7, "/dev/nvidia0", "");
    put_descriptor(8, "/dev/nvidia0", "");
    collector = proc_open(&roots, S);
    REQUIRE(collector != NULL);
    proc_follow(collector, (pid_t[]){ 42 }, 1);
    proc_look(collector, S, false, &sink);
    CHECK_VALUE(42, "npu descriptors", 1);
    CHECK_VALUE(42, "gpu descriptors", 2);
    put_descriptor(3, "/dev/dri/renderD128",
                   "drm-driver:\ti915\ndrm-client-id:\t7\ndrm-engine-render:\t300000000 ns\n"
                   "drm-engine-video:\t1000000000 ns\ndrm-engine-capacity-video:\t2\n");
    put_descriptor(4, "/dev/dri/renderD128",
                   "drm-driver:\ti915\ndrm-client-id:\t8\ndrm-engine-render:\t400000000 ns\n");
    proc_look(collector, 2 * S, false, &sink);
    CHECK_VALUE(42, "gpu engine render %", 70);
    CHECK_VALUE(42, "gpu engine video %", 50);
    proc_close(collector);
    end_tree();
}

/* NVML numbers its devices from 0, the others follow. What only shows a picture is none. */
static void numbers_after_nvidia(void)
{
    struct proc_collector *collector;

    begin_tree();
    put("proc/driver/nvidia/gpus/0000:01:00.0/information", "Model: X\n");
    put("proc/driver/nvidia/gpus/0000:02:00.0/information", "Model: X\n");
    put_card(0, "ast");
    put_card(1, "nvidia");
    put_card(2, "xe");
    put("sys/class/drm/card2/device/hwmon/hwmon1/energy1_input", "7500000\n");
    collector = proc_open(&roots, S);
    REQUIRE(collector != NULL);
    CHECK_STR(proc_gpu_words(collector), "xe");
    proc_look(collector, S, false, &sink);
    CHECK_VALUE(0, "gpu 2 energy J", 7.5);
    proc_close(collector);
    end_tree();
}

static void queues(void)
{
    struct proc_collector *collector;

    begin_tree();
    put("sys/class/accel/accel0/device/uevent", "DRIVER=amdxdna\n");
    put("sys/class/accel/accel1/device/uevent", "DRIVER=qaic\n");
    put("sys/kernel/debug/accel/1/dbc000/queued", "3\n");
    put("sys/kernel/debug/accel/1/dbc007/queued", "4\n");
    put("sys/kernel/debug/accel/0/dbc000/queued", "99\n");
    collector = proc_open(&roots, S);
    REQUIRE(collector != NULL);
    proc_look(collector, S, false, &sink);
    CHECK_VALUE(0, "npu 1 queued requests", 7);
    CHECK(isnan(value(0, "npu 0 queued requests")));
    proc_close(collector);
    end_tree();
}

/* ---- energy, power and heat ---- */

static void put_power(unsigned joules)
{
    put("sys/class/powercap/intel-rapl:0/name", "package-0\n");
    put("sys/class/powercap/intel-rapl:0/energy_uj", "%u000000\n", joules);
    put("sys/class/powercap/intel-rapl:0/max_energy_range_uj", "100000000\n");
}

static void look_at_devices(struct proc_collector *collector, uint64_t ns)
{
    proc_look_devices(collector, NULL, 0, ns, false, &sink);
}

static void energy_of_processors(void)
{
    struct proc_collector *collector;
    char missing[800];

    begin_tree();
    put_power(90);
    collector = proc_open(&roots, S);
    REQUIRE(collector != NULL);
    look_at_devices(collector, S);
    CHECK_VALUE(0, "cpu energy J", 0);
    put_power(95);
    look_at_devices(collector, 2 * S);
    CHECK_VALUE(0, "cpu energy J", 5);
    put_power(2); /* over the top of its range */
    look_at_devices(collector, 3 * S);
    CHECK_VALUE(0, "cpu energy J", 12);
    CHECK(proc_has_devices(collector));
    proc_missing(collector, missing, sizeof missing);
    CHECK(!strstr(missing, "CPU energy"));
    proc_close(collector);
    end_tree();
}

static void no_energy_of_processors(void)
{
    struct proc_collector *collector;
    char missing[800];

    begin_tree();
    collector = proc_open(&roots, S);
    REQUIRE(collector != NULL);
    look_at_devices(collector, S);
    CHECK(isnan(value(0, "cpu energy J")));
    proc_missing(collector, missing, sizeof missing);
    CHECK_CONTAINS(missing, "CPU energy: no RAPL energy counters on this machine");
    proc_close(collector);
    end_tree();
}

static void sensors(void)
{
    struct proc_collector *collector;

    begin_tree();
    put("sys/class/hwmon/hwmon0/name", "coretemp\n");
    put("sys/class/hwmon/hwmon0/temp1_input", "51000\n");
    put("sys/class/hwmon/hwmon1/name", "coretemp\n");
    put("sys/class/hwmon/hwmon1/temp1_input", "64000\n");
    put("sys/class/hwmon/hwmon2/name", "power_meter\n");
    put("sys/class/hwmon/hwmon2/power1_average", "312000000\n");
    put("sys/class/hwmon/hwmon3/name", "ina3221\n");
    put("sys/class/hwmon/hwmon3/power2_input", "4500000\n");
    put("sys/class/hwmon/hwmon3/power2_label", "VDD\033CPU\n");
    put("sys/class/hwmon/hwmon4/name", "amdgpu\n");
    put("sys/class/hwmon/hwmon4/power1_average", "1000000\n");
    put("sys/class/hwmon/hwmon5/name", "nvme\n");
    put("sys/class/hwmon/hwmon5/temp1_input", "90000\n");
    collector = proc_open(&roots, S);
    REQUIRE(collector != NULL);
    look_at_devices(collector, S);
    CHECK_VALUE(0, "cpu temperature C", 64);
    CHECK_VALUE(0, "power_meter power W", 312);
    CHECK_VALUE(0, "VDD_CPU power W", 4.5);
    CHECK(isnan(value(0, "amdgpu power W")));
    proc_close(collector);
    end_tree();
}

/* Power that stands still is idle power; where nothing tells any, there is none. */
static void idle(void)
{
    struct proc_collector *collector;

    begin_tree();
    put("sys/class/hwmon/hwmon2/name", "power_meter\n");
    put("sys/class/hwmon/hwmon2/power1_average", "312000000\n");
    collector = proc_open(&roots, S);
    REQUIRE(collector != NULL);
    value_count = 0;
    CHECK(proc_measure_idle(collector, 0.05, &sink));
    CHECK_VALUE(0, "power_meter idle W", 312);
    CHECK_VALUE(0, "power_meter idle low W", 312);
    CHECK_VALUE(0, "power_meter idle high W", 312);
    CHECK_VALUE(0, "power_meter idle fell", 0);
    CHECK(value(0, "idle s") >= 0.05);
    CHECK(isnan(value(0, "power_meter power W"))); /* only what it comes to */
    proc_close(collector);
    end_tree();
    begin_tree();
    collector = proc_open(&roots, S);
    REQUIRE(collector != NULL);
    value_count = 0;
    if (proc_measure_idle(collector, 0.05, &sink))
        tap_note("this machine has an NVIDIA device");
    else
        CHECK_UINT(value_count, 0);
    proc_close(collector);
    end_tree();
}

/* ---- this process ---- */

static uint64_t clock_now(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * S + (uint64_t)now.tv_nsec;
}

/* However busy the machine is: what this process used is what its own clock says. */
static void this_process(void)
{
    uint64_t begin = clock_now(CLOCK_MONOTONIC), cpu, from, to;
    struct proc_collector *collector = proc_open(&host_system, begin);
    pid_t self = getpid();
    double expected;

    REQUIRE(collector != NULL);
    proc_follow(collector, &self, 1);
    proc_look(collector, from = clock_now(CLOCK_MONOTONIC), false, &sink);
    cpu = clock_now(CLOCK_PROCESS_CPUTIME_ID);
    while (clock_now(CLOCK_PROCESS_CPUTIME_ID) < cpu + S / 3)
        ;
    cpu = clock_now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    to = clock_now(CLOCK_MONOTONIC);
    proc_look(collector, to, true, &sink);
    expected = 100 * (double)cpu / (double)(to - from);
    CHECK(fabs(value((uint32_t)self, "cpu %") - expected) < 5);
    CHECK(value((uint32_t)self, "rss bytes") > 1e5);
    CHECK(value((uint32_t)self, "pss bytes") > 1e4);
    CHECK(value((uint32_t)self, "threads") >= 1);
    CHECK(value(0, "cpu total %") <= 100.01);
    CHECK(value(0, "cpu total %") >=
          value((uint32_t)self, "cpu %") / (double)sysconf(_SC_NPROCESSORS_ONLN) - 8);
    proc_close(collector);
}

static void without_devices(void)
{
    struct proc_collector *collector;
    char missing[400];

    begin_tree();
    put("sys/class/drm/card0/device/gpu_busy_percent", "37\n");
    put("sys/class/accel/accel0/device/npu_busy_time_us", "1000\n");
    value_count = 0;
    collector = proc_open(&roots, S);
    REQUIRE(collector != NULL);
    proc_leave_out_devices(collector);
    for (unsigned i = 1; i < 4; i++) {
        proc_look(collector, i * S, true, &sink);
        proc_look_devices(collector, NULL, 0, i * S, false, &sink);
    }
    for (size_t i = 0; i < value_count; i++)
        CHECK(strncmp(values[i].name, "gpu", 3) != 0 && strncmp(values[i].name, "npu", 3) != 0);
    CHECK_STR(proc_gpu_words(collector), "left out (--gpu off)");
    CHECK_STR(proc_npu_words(collector), "left out (--gpu off)");
    proc_missing(collector, missing, sizeof missing);
    CHECK_CONTAINS(missing, "GPU and NPU: left out (--gpu off)");
    CHECK(!strstr(missing, "no device") && !strstr(missing, "no driver"));
    proc_close(collector);
    end_tree();
}

static void no_memory(void)
{
    begin_tree();
    put_process(100, 50, 5);
    for (long n = 0; n < 12; n++) {
        struct proc_collector *collector;

        ifg_alloc_fail_after(n);
        collector = proc_open(&roots, S);
        CHECK(collector || n < 8);
        for (unsigned i = 1; collector && i < 4; i++) {
            proc_follow(collector, (pid_t[]){ 42 }, 1);
            proc_look(collector, i * S, i == 3, &sink);
        }
        proc_close(collector);
        value_count = 0;
    }
    ifg_alloc_fail_after(-1);
    end_tree();
}

static void texts(void)
{
    struct drm_client client;
    struct cpu_ticks all, each[2];

    CHECK_UINT(host_parse_cpus("cpu 1 2 3", &all, each, 2), 0);
    CHECK_UINT(host_parse_cpus("cpu 1 2 3 4\ncpu9999 1 1 1 1\ncpu1 1 2 3 4\n", &all, each, 2), 2);
    CHECK_UINT(each[1].total, 10);
    CHECK_UINT(each[0].total, 0);
    CHECK(!proc_parse_fdinfo("pos: 0\n", &client));
    CHECK(proc_parse_fdinfo("drm-driver:\tx\033[31m\ndrm-engine-a b:\t5 ns\n", &client));
    CHECK_STR(client.driver, "x__31m");
    CHECK_STR(client.engines[0].name, "a_b");
}

TAP_MAIN(TAP_CASE(the_machine), TAP_CASE(nothing_there), TAP_CASE(a_process), TAP_CASE(others),
         TAP_CASE(cards), TAP_CASE(npus), TAP_CASE(engines), TAP_CASE(clients),
         TAP_CASE(numbers_after_nvidia), TAP_CASE(queues), TAP_CASE(energy_of_processors),
         TAP_CASE(no_energy_of_processors), TAP_CASE(sensors), TAP_CASE(idle),
         TAP_CASE(without_devices), TAP_CASE(this_process), TAP_CASE(no_memory), TAP_CASE(texts))
