// SPDX-License-Identifier: Apache-2.0
/*
 * NVIDIA's management library, loaded where the driver brings it. Functions return 0 for success
 * and may take milliseconds. Which of them are called is the caller's business: nvml_find.
 */
#ifndef IFG_SYSTEM_NVML_H
#define IFG_SYSTEM_NVML_H

#include <stdbool.h>
#include <stddef.h>

#define NVML_DEVICES_MAX 16u
#define NVML_NO_DRIVER   "no NVIDIA driver (libnvidia-ml.so.1)"
#define NVML_NO_DEVICE   "no NVIDIA device"

struct nvml {
    void *library; /* NULL: not started */
    int (*shutdown)(void);
    void *devices[NVML_DEVICES_MAX]; /* handles */
    size_t device_count;
};

/* NULL if it runs and has a device; else why not, and there is nothing to stop. */
const char *nvml_start(struct nvml *out_nvml);
void nvml_stop(struct nvml *nvml); /* also what is not started */

/* *out_function, a pointer to a function, is NULL where the library has none of that name. */
bool nvml_find(const struct nvml *nvml, const char *name, void *out_function);

#endif
