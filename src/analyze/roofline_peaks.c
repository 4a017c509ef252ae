// SPDX-License-Identifier: Apache-2.0
/*
 * What a device can do at most.
 *
 * Memory: a bus of so many bits moves two of them in a clock. Arithmetic: a core of CUDA does a
 * multiplication and an addition in a clock, in float32. What the other units do is a multiple of
 * that, which differs from architecture to architecture; the numbers are those of NVIDIA's white
 * papers, without sparsity (an SM of compute capability 9.0 has 128 cores, 256 FLOP in a clock, and
 * tensor cores for 4096 of float16: 16 times as many).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/roofline.h"
#include "timeline/device.h"
#include "trace/keys.h"

#define MEGA         1e6
#define KEY_MAX      160u
#define MOST_MHZ     1e5 /* more is no clock */
#define MOST_CORES   1e7
#define MOST_BITS    1e6
#define PER_CLOCK    2.0 /* a multiplication and an addition; and bits of each line of a bus */
#define BITS_OF_BYTE 8.0

static const struct architecture {
    const char *capability;
    double float64, tensor_float32, tensor_float16, tensor_8_bits;
} architectures[] = {
    { "7.0", 0.5, 0, 8, 0 },      { "7.5", 1.0 / 32, 0, 8, 16 }, { "8.0", 1, 8, 16, 32 },
    { "8.6", 1.0 / 64, 2, 4, 8 }, { "8.9", 1.0 / 64, 2, 4, 8 },  { "9.0", 1, 8, 16, 32 },
    { "10.0", 0.5, 16, 32, 64 },
};

static const struct architecture *architecture_of(const char *capability)
{
    for (size_t i = 0; i < sizeof architectures / sizeof architectures[0]; i++)
        if (strcmp(architectures[i].capability, capability) == 0)
            return &architectures[i];
    return NULL;
}

/* "resources.gpu.0" of the device with this id, with what a merge put before it; "". */
static const char *find_device(const struct trace_tables *tables, const char *id, char *out)
{
    size_t tail = strlen(TRACE_GPU_ID);

    *out = '\0';
    for (size_t i = 0; *id && i < tables->fact_count; i++) {
        const char *key = tables->facts[i].key;
        size_t length = strlen(key);

        if (length <= tail || length >= KEY_MAX || strcmp(key + length - tail, TRACE_GPU_ID) != 0 ||
            !strstr(key, TRACE_FACT_GPU) || strcmp(tables->facts[i].value, id) != 0)
            continue;
        snprintf(out, KEY_MAX, "%.*s", (int)(length - tail), key);
        break;
    }
    return out;
}

static const char *text_of(const struct trace_tables *tables, const char *device, const char *what)
{
    char key[KEY_MAX + 40];
    const char *value;

    snprintf(key, sizeof key, "%s%s", device, what);
    value = trace_find_fact(tables, key);
    return value ? value : "";
}

static double number_of(const struct trace_tables *tables, const char *device, const char *what,
                        double most)
{
    double value = strtod(text_of(tables, device, what), NULL);

    return value > 0 && value <= most ? value : 0;
}

/* The one device that a process used; false: none, or several. */
static bool find_stream(const struct timeline *timeline, uint32_t process,
                        const struct timeline_device_stream **out_stream)
{
    const struct timeline_devices *devices;

    *out_stream = NULL;
    if (timeline_devices_get(timeline, &devices, NULL))
        return false;
    for (size_t i = 0; i < devices->stream_count; i++) {
        const struct timeline_device_stream *stream = &devices->streams[i];

        if (stream->process != process || !stream->work_count)
            continue;
        if (*out_stream && strcmp((*out_stream)->device_id, stream->device_id) != 0)
            return false;
        *out_stream = stream;
    }
    return true;
}

static void fill(const struct trace_tables *tables, const char *device,
                 struct roofline_peaks *peaks)
{
    const char *capability = text_of(tables, device, TRACE_GPU_COMPUTE_CAPABILITY);
    const struct architecture *known = architecture_of(capability);
    double cores = number_of(tables, device, TRACE_GPU_CORES, MOST_CORES);
    double clock = number_of(tables, device, TRACE_GPU_CLOCK_MHZ, MOST_MHZ);
    double memory_clock = number_of(tables, device, TRACE_GPU_MEMORY_CLOCK_MHZ, MOST_MHZ);
    double bits = number_of(tables, device, TRACE_GPU_MEMORY_BUS_BITS, MOST_BITS);

    if (*text_of(tables, device, TRACE_GPU_MIG)) {
        snprintf(peaks->reason, sizeof peaks->reason,
                 "the device is divided (MIG), and the peaks of a part are not known");
        return;
    }
    if (!known) {
        snprintf(peaks->reason, sizeof peaks->reason,
                 *capability ? "the peaks of compute capability %.16s are not known"
                             : "the driver does not tell the compute capability",
                 capability);
        return;
    }
    if (!(cores > 0 && clock > 0 && memory_clock > 0 && bits > 0)) {
        snprintf(peaks->reason, sizeof peaks->reason,
                 "the driver does not tell the clocks, cores and memory bus of the device");
        return;
    }
    peaks->bytes_per_s = memory_clock * MEGA * PER_CLOCK * bits / BITS_OF_BYTE;
    peaks->flops_per_s = cores * clock * MEGA * PER_CLOCK;
    peaks->float64 = known->float64;
    peaks->tensor_float32 = known->tensor_float32;
    peaks->tensor_float16 = known->tensor_float16;
    peaks->tensor_8_bits = known->tensor_8_bits;
}

void roofline_peaks_of(const struct timeline *timeline, uint32_t process,
                       struct roofline_peaks *out_peaks)
{
    const struct trace_tables *tables = trace_reader_tables(timeline->reader);
    const struct timeline_device_stream *stream;
    char device[KEY_MAX];

    *out_peaks = (struct roofline_peaks){ .bytes_per_s = 0 };
    if (!find_stream(timeline, process, &stream)) {
        snprintf(out_peaks->reason, sizeof out_peaks->reason, "several devices were used");
    } else if (!stream) {
        snprintf(out_peaks->reason, sizeof out_peaks->reason,
                 "the peaks of processors are not known");
    } else {
        snprintf(out_peaks->device, sizeof out_peaks->device, "%.99s", stream->name);
        if (*find_device(tables, stream->device_id, device))
            fill(tables, device, out_peaks);
        else
            snprintf(out_peaks->reason, sizeof out_peaks->reason,
                     "the peaks of the device were not recorded (--no-resources, or no NVML)");
    }
}
