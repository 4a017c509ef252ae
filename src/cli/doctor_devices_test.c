// SPDX-License-Identifier: Apache-2.0
/* The list of devices on fake trees: what each gives is what its files give, and the rest has a
 * reason. */
#include "cli/doctor.h"

#include <string.h>
#include <sys/stat.h>

#include "fake_tree.h"
#include "tap.h"

static struct doctor_devices devices;

static const struct doctor_device *find(const char *name)
{
    for (size_t i = 0; i < devices.count; i++)
        if (strcmp(devices.items[i].name, name) == 0)
            return &devices.items[i];
    return NULL;
}

static const struct doctor_lack *lack_of(const struct doctor_device *device, const char *what)
{
    for (size_t i = 0; i < device->lack_count; i++)
        if (strcmp(device->lacks[i].what, what) == 0)
            return &device->lacks[i];
    return NULL;
}

/* What a device gives, by its name and driver; NVML may add devices of this machine before. */
static const struct doctor_device *of_driver(const char *driver)
{
    for (size_t i = 0; i < devices.count; i++)
        if (strcmp(devices.items[i].driver, driver) == 0)
            return &devices.items[i];
    return NULL;
}

static void plant_machine(void)
{
    plant();
    put("proc/stat", "cpu  1000 0 500 8000 100 0 0 10\ncpu0 1000 0 500 8000 100 0 0 10\n");
    put("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 400 kB\n");
}

static void gpus(void)
{
    const struct doctor_device *device;

    plant_machine();
    put("sys/class/drm/card0/device/uevent", "DRIVER=amdgpu\n");
    put("sys/class/drm/card0/device/gpu_busy_percent", "5\n");
    put("sys/class/drm/card0/device/mem_info_vram_used", "123\n");
    put("sys/class/drm/card0/device/hwmon/hwmon3/power1_average", "45000000\n");
    put("sys/class/drm/card0/device/product_name", "AMD Instinct MI300X\n");
    put("sys/class/drm/card1/device/uevent", "DRIVER=xe\n");
    put("sys/class/drm/card1/device/hwmon/hwmon4/energy1_input", "45000000\n");
    put("sys/class/drm/card2/device/uevent", "DRIVER=ast\n");
    doctor_devices_list(&roots, &devices);
    device = of_driver("amdgpu");
    REQUIRE(device != NULL);
    CHECK_STR(device->model, "AMD Instinct MI300X");
    CHECK(device->gives[DOCTOR_UTILISATION] && device->gives[DOCTOR_MEMORY]);
    CHECK(device->gives[DOCTOR_POWER] && device->gives[DOCTOR_PROCESSES]);
    CHECK(!device->gives[DOCTOR_ENERGY] && !device->gives[DOCTOR_KERNELS]);
    REQUIRE(lack_of(device, "energy") != NULL);
    CHECK_CONTAINS(lack_of(device, "energy")->why, "joules come from samples of its power");
    REQUIRE(lack_of(device, "kernels") != NULL);
    CHECK_CONTAINS(lack_of(device, "kernels")->why, "without its part for computing (KFD)");
    CHECK_CONTAINS(lack_of(device, "kernels")->why, "rocprofiler-sdk");
    put("sys/class/kfd/kfd/uevent", "\n");
    doctor_devices_list(&roots, &devices);
    device = of_driver("amdgpu");
    REQUIRE(device != NULL);
    CHECK(device->gives[DOCTOR_KERNELS] != (lack_of(device, "kernels") != NULL));
    if (access("/dev/kfd", F_OK) != 0)
        CHECK_CONTAINS(lack_of(device, "kernels")->why, "there is no /dev/kfd");
    device = of_driver("xe");
    REQUIRE(device != NULL);
    CHECK(device->gives[DOCTOR_ENERGY] && !lack_of(device, "energy"));
    CHECK(lack_of(device, "utilisation") != NULL);
    CHECK(of_driver("ast") == NULL);
}

static void npus(void)
{
    const struct doctor_device *device;

    plant_machine();
    put("sys/class/accel/accel0/device/uevent", "DRIVER=intel_vpu\n");
    put("sys/class/accel/accel0/device/npu_busy_time_us", "1000\n");
    put("sys/class/accel/accel0/device/npu_memory_utilization", "777\n");
    put("sys/class/accel/accel0/device/npu_current_frequency_mhz", "1400\n");
    put("sys/class/accel/accel1/device/uevent", "DRIVER=amdxdna\n");
    put("sys/class/accel/accel1/device/vbnv", "RyzenAI-npu1\n");
    put("sys/class/accel/accel2/device/uevent", "DRIVER=qaic\n");
    doctor_devices_list(&roots, &devices);
    device = find("npu 0");
    REQUIRE(device != NULL);
    CHECK(device->gives[DOCTOR_UTILISATION] && device->gives[DOCTOR_MEMORY] &&
          device->gives[DOCTOR_CLOCKS]);
    CHECK(lack_of(device, "energy") != NULL);
    device = find("npu 1");
    REQUIRE(device != NULL);
    CHECK_STR(device->model, "RyzenAI-npu1");
    CHECK(device->gives[DOCTOR_PROCESSES] && lack_of(device, "utilisation"));
    device = find("npu 2");
    REQUIRE(device != NULL);
    REQUIRE(lack_of(device, "latency of requests") != NULL);
    CHECK_CONTAINS(lack_of(device, "latency of requests")->why, "DRM_IOCTL_QAIC_PERF_STATS_BO");
    REQUIRE(lack_of(device, "queue length") != NULL);
    put("sys/kernel/debug/accel/2/dbc000/queued", "3\n");
    doctor_devices_list(&roots, &devices);
    CHECK(find("npu 2")->gives[DOCTOR_QUEUE] && !lack_of(find("npu 2"), "queue length"));
}

static void processors(void)
{
    plant_machine();
    put("sys/class/hwmon/hwmon0/name", "k10temp\n");
    put("sys/class/hwmon/hwmon0/temp1_input", "51000\n");
    put("sys/class/powercap/intel-rapl:0/name", "package-0\n");
    put("sys/class/powercap/intel-rapl:0/energy_uj", "1000000\n");
    doctor_devices_list(&roots, &devices);
    REQUIRE(find("cpu") != NULL);
    CHECK(find("cpu")->gives[DOCTOR_ENERGY] && find("cpu")->gives[DOCTOR_TEMPERATURE]);
    CHECK(!lack_of(find("cpu"), "energy"));
}

static void what_only_root_may_read(void)
{
    char path[256];

    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
        SKIP("root may read everything, and we cannot become somebody else");
    plant_machine();
    put("sys/class/powercap/intel-rapl:0/name", "package-0\n");
    put("sys/class/powercap/intel-rapl:0/energy_uj", "1000000\n");
    snprintf(path, sizeof path, "%s/class/powercap/intel-rapl:0/energy_uj", tree_sys);
    REQUIRE_INT(chmod(path, 0), 0);
    doctor_devices_list(&roots, &devices);
    REQUIRE(lack_of(find("cpu"), "energy") != NULL);
    CHECK_CONTAINS(lack_of(find("cpu"), "energy")->why, "readable by root only (CVE-2020-8694)");
    CHECK_STR(lack_of(find("cpu"), "energy")->fix,
              "sudo chmod a+r /sys/class/powercap/*/energy_uj");
}

TAP_MAIN(TAP_CASE(gpus), TAP_CASE(npus), TAP_CASE(processors), TAP_CASE(what_only_root_may_read))
