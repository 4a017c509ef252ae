// SPDX-License-Identifier: Apache-2.0
/* The one place that loads NVML: see nvml.h. */
#include "system/nvml.h"

#include <dlfcn.h>
#include <string.h>

bool nvml_find(const struct nvml *nvml, const char *name, void *out_function)
{
    void *found = dlsym(nvml->library, name);

    memcpy(out_function, &found, sizeof found); /* C has no cast from objects to functions */
    return found != NULL;
}

static const char *start(struct nvml *nvml)
{
    int (*init)(void), (*count_devices)(unsigned *), (*handle)(unsigned, void **);
    int (*shutdown)(void);
    unsigned count = 0;

    nvml->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!nvml->library)
        return NVML_NO_DRIVER;
    if (!nvml_find(nvml, "nvmlInit_v2", &init) || !nvml_find(nvml, "nvmlShutdown", &shutdown) ||
        !nvml_find(nvml, "nvmlDeviceGetCount_v2", &count_devices) ||
        !nvml_find(nvml, "nvmlDeviceGetHandleByIndex_v2", &handle))
        return "libnvidia-ml.so.1 is too old";
    if (init() != 0)
        return "NVML does not start (is the NVIDIA kernel module loaded?)";
    nvml->shutdown = shutdown; /* only what was started */
    if (count_devices(&count) != 0)
        count = 0;
    for (unsigned i = 0; i < count && nvml->device_count < NVML_DEVICES_MAX; i++)
        if (handle(i, &nvml->devices[nvml->device_count]) == 0)
            nvml->device_count++;
    return nvml->device_count ? NULL : NVML_NO_DEVICE;
}

const char *nvml_start(struct nvml *out_nvml)
{
    const char *reason;

    memset(out_nvml, 0, sizeof *out_nvml);
    reason = start(out_nvml);
    if (reason)
        nvml_stop(out_nvml);
    return reason;
}

void nvml_stop(struct nvml *nvml)
{
    if (nvml->shutdown)
        nvml->shutdown();
    if (nvml->library)
        dlclose(nvml->library);
    memset(nvml, 0, sizeof *nvml);
}
