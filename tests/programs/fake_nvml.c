// SPDX-License-Identifier: Apache-2.0
/*
 * Stands in for libnvidia-ml.so.1: two devices, of which FAKE_NVML says what they tell. "energy":
 * both count, 100 and 200 mJ more at every look; "power": both draw 50 W and count nothing;
 * "mixed": the second one only tells power; "silent": neither; "none": no device; "broken": does
 * not start. Both are busy to 37 %, warm, capped in power, and used by the process of number
 * FAKE_NVML_PID.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static unsigned long long counters[2] = { 1000000, 5000000 };

static int is(const char *mode)
{
    const char *chosen = getenv("FAKE_NVML");

    return chosen && strcmp(chosen, mode) == 0;
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
    (void)device;
    rates[0] = 37;
    rates[1] = 12;
    return 0;
}

int nvmlDeviceGetMemoryInfo(void *device, unsigned long long *memory)
{
    (void)device;
    memory[0] = 16000000000;
    memory[1] = 14000000000;
    memory[2] = 2000000000;
    return 0;
}

int nvmlDeviceGetClockInfo(void *device, unsigned kind, unsigned *mhz)
{
    (void)device;
    *mhz = kind == 1 ? 1410 : 2619;
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

    (void)device;
    if (!*count || !pid)
        return 7;
    process.pid = (unsigned)strtoul(pid, NULL, 10);
    memcpy(processes, &process, sizeof process);
    *count = 1;
    return 0;
}
