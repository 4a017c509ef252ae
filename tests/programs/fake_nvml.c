// SPDX-License-Identifier: Apache-2.0
/*
 * Stands in for libnvidia-ml.so.1: two devices, of which FAKE_NVML says what they tell. "energy":
 * both count, 100 and 200 mJ more at every look; "power": both draw 50 W and count nothing;
 * "mixed": the second one only tells power; "silent": neither; "none": no device; "broken": does
 * not start; "mig": the first one is divided into two parts and tells no utilisation. Both are busy
 * to 37 %, warm, capped in power, and used by the process of number FAKE_NVML_PID.
 *
 * "meter": the first one takes 50 W, and as many joules more as the program in the file
 * FAKE_NVML_WORK says that it used (tests/programs/energy_work.c); it is busy while that grows, and
 * the file names the process. The second one takes 20 W and has nothing to do.
 *
 * "cooling": power falls from 1001 W to 1 W, by half in 0.7 s, and for ever; "cooled": 500 W in the
 * first second, and 50 W then.
 *
 * FAKE_NVML_SLOW: milliseconds that every answer takes; FAKE_NVML_STUCK: the third answer about
 * energy never comes.
 */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlDeviceGetCount_v2(unsigned *count);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device);
int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *energy_mj);
int nvmlDeviceGetPowerUsage(void *device, unsigned *power_mw);
int nvmlDeviceGetName(void *device, char *name, unsigned length);
int nvmlDeviceGetUtilizationRates(void *device, unsigned *rates);
int nvmlDeviceGetMemoryInfo(void *device, unsigned long long *memory);
int nvmlDeviceGetClockInfo(void *device, unsigned kind, unsigned *mhz);
int nvmlDeviceGetTemperature(void *device, unsigned kind, unsigned *degrees);
int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons);
int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, void *processes);

int nvmlDeviceGetUUID(void *device, char *uuid, unsigned length);
int nvmlDeviceGetCudaComputeCapability(void *device, int *major, int *minor);
int nvmlDeviceGetNumGpuCores(void *device, unsigned *cores);
int nvmlDeviceGetMemoryBusWidth(void *device, unsigned *bits);
int nvmlDeviceGetMaxClockInfo(void *device, unsigned kind, unsigned *mhz);
int nvmlDeviceGetMigMode(void *device, unsigned *now, unsigned *later);
int nvmlDeviceGetMaxMigDeviceCount(void *device, unsigned *count);
int nvmlDeviceGetMigDeviceHandleByIndex(void *device, unsigned index, void **part);

static unsigned long long counters[2] = { 1000000, 5000000 };
static double work_before; /* that was told, for "busy" */

static int is(const char *mode)
{
    const char *chosen = getenv("FAKE_NVML");

    return chosen && strcmp(chosen, mode) == 0;
}

static void take_time(void)
{
    const char *slow = getenv("FAKE_NVML_SLOW");

    if (slow)
        usleep((useconds_t)strtoul(slow, NULL, 10) * 1000);
}

/* Joules, and the number of the process; zeros while there is none. */
static void read_work(double work[2])
{
    const char *path = getenv("FAKE_NVML_WORK");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;

    work[0] = work[1] = 0;
    if (fd < 0)
        return;
    if (pread(fd, work, 2 * sizeof work[0], 0) != 2 * (ssize_t)sizeof work[0])
        work[0] = work[1] = 0;
    close(fd);
}

static unsigned long long meter_mj(int is_first)
{
    struct timespec now;
    double work[2], seconds;

    clock_gettime(CLOCK_MONOTONIC, &now);
    seconds = (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
    read_work(work);
    return (unsigned long long)(1e3 * (is_first ? 50 * seconds + work[0] : 20 * seconds));
}

/* Millijoules since the first question. */
static unsigned long long cooling_mj(void)
{
    static double begin_s;
    struct timespec now;
    double seconds;

    clock_gettime(CLOCK_MONOTONIC, &now);
    seconds = (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
    if (begin_s == 0)
        begin_s = seconds;
    seconds -= begin_s;
    if (is("cooled"))
        return (unsigned long long)(1e3 * (seconds < 1 ? 500 * seconds : 450 + 50 * seconds));
    return (unsigned long long)(1e3 * (seconds + 1000 * (1 - exp(-seconds))));
}

int nvmlInit_v2(void)
{
    return is("broken") ? 9 : 0;
}

int nvmlShutdown(void)
{
    return 0;
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
    *count = is("none") ? 0 : 2;
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
    *device = &counters[index];
    return 0;
}

int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *energy_mj)
{
    unsigned long long *counter = device;
    static unsigned answers;

    take_time();
    if (getenv("FAKE_NVML_STUCK") && ++answers > 2)
        for (;;)
            pause();
    if (is("meter")) {
        *energy_mj = meter_mj(counter == &counters[0]);
        return 0;
    }
    if (is("cooling") || is("cooled")) {
        *energy_mj = cooling_mj();
        return 0;
    }
    if (is("power") || is("silent") || (is("mixed") && counter == &counters[1]))
        return 3;
    *counter += counter == &counters[0] ? 100 : 200;
    *energy_mj = *counter;
    return 0;
}

int nvmlDeviceGetPowerUsage(void *device, unsigned *power_mw)
{
    (void)device;
    *power_mw = 50000;
    return is("silent") ? 3 : 0;
}

int nvmlDeviceGetName(void *device, char *name, unsigned length)
{
    snprintf(name, length, "Fake GPU %s", device == &counters[0] ? "A" : "B");
    return 0;
}

int nvmlDeviceGetUtilizationRates(void *device, unsigned *rates)
{
    take_time();
    rates[0] = 37;
    rates[1] = 12;
    if (is("meter")) {
        double work[2];

        read_work(work);
        rates[0] = device == &counters[0] && work[0] > work_before ? 37 : 0;
        if (device == &counters[0])
            work_before = work[0];
    }
    return is("mig") && device == &counters[0] ? 3 : 0;
}

int nvmlDeviceGetMemoryInfo(void *device, unsigned long long *memory)
{
    double work[2] = { 0, 0 };

    take_time();
    if (is("meter") && device == &counters[0])
        read_work(work);
    memory[0] = 16000000000;
    memory[1] = work[1] > 0 ? 13000000000 : 14000000000;
    memory[2] = work[1] > 0 ? 3000000000 : 2000000000;
    return 0;
}

int nvmlDeviceGetClockInfo(void *device, unsigned kind, unsigned *mhz)
{
    double work[2];

    (void)device;
    read_work(work);
    *mhz = kind != 1 ? 2619 : is("meter") && !(work[0] > 0) ? 345 : 1410;
    return 0;
}

int nvmlDeviceGetTemperature(void *device, unsigned kind, unsigned *degrees)
{
    (void)device;
    (void)kind;
    *degrees = 55;
    return 0;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons)
{
    (void)device;
    *reasons = 4;
    return 0;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, void *processes)
{
    struct {
        unsigned pid;
        unsigned long long used;
        unsigned instances[2];
    } process = { 0, 123456789, { 0, 0 } };
    const char *pid = getenv("FAKE_NVML_PID");
    double work[2] = { 0, 0 };

    if (is("meter") && device == &counters[0])
        read_work(work);
    if (is("meter") && !(work[1] > 0)) {
        *count = 0;
        return 0;
    }
    if (!*count || (!pid && !(work[1] > 0)))
        return 7;
    process.pid = work[1] > 0 ? (unsigned)work[1] : (unsigned)strtoul(pid, NULL, 10);
    memcpy(processes, &process, sizeof process);
    *count = 1;
    return 0;
}

int nvmlDeviceGetMigMode(void *device, unsigned *now, unsigned *later)
{
    *now = *later = is("mig") && device == &counters[0];
    return 0;
}

int nvmlDeviceGetMaxMigDeviceCount(void *device, unsigned *count)
{
    (void)device;
    *count = 7;
    return 0;
}

int nvmlDeviceGetMigDeviceHandleByIndex(void *device, unsigned index, void **part)
{
    *part = device;
    return index == 1 || index == 4 ? 0 : 6;
}

/* The first device is the one of tests/programs/stub_cuda.c; with the numbers of an H200. */
int nvmlDeviceGetUUID(void *device, char *uuid, unsigned length)
{
    snprintf(uuid, length, "GPU-%s",
             device == &counters[0] ? "00112233-4455-6677-8899-aabbccddeeff"
                                    : "ffeeddcc-bbaa-9988-7766-554433221100");
    return 0;
}

int nvmlDeviceGetCudaComputeCapability(void *device, int *major, int *minor)
{
    *major = device == &counters[0] ? 9 : 99;
    *minor = 0;
    return 0;
}

int nvmlDeviceGetNumGpuCores(void *device, unsigned *cores)
{
    (void)device;
    *cores = 16896;
    return 0;
}

int nvmlDeviceGetMemoryBusWidth(void *device, unsigned *bits)
{
    (void)device;
    *bits = 6016;
    return 0;
}

int nvmlDeviceGetMaxClockInfo(void *device, unsigned kind, unsigned *mhz)
{
    (void)device;
    *mhz = kind == 1 ? 1980 : 3201;
    return 0;
}
