// SPDX-License-Identifier: Apache-2.0
/* Providers and devices that ONNX Runtime knows on this machine, and libraries that bring more. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "bench/runner/ort/ort_internal.h"

#define LINES_MAX   256u
#define LINE_BYTES  256u
#define DEVICES_MAX 64u

int ort_library_register(ifg_bench_context *context, const char *name, const char *path,
                         const struct ort_error *error)
{
    void *status;

    for (size_t i = 0; i < context->registered_count; i++)
        if (strcmp(context->registered[i], name) == 0)
            return IFG_BENCH_OK;
    if (context->minor < 22)
        return ort_say(error, IFG_BENCH_UNAVAILABLE,
                       "a library of providers needs ONNX Runtime 1.22 or newer; this is %s",
                       context->version);
    if (context->registered_count == ORT_LIBRARIES_MAX)
        return ort_say(error, IFG_BENCH_UNAVAILABLE, "more than %d libraries of providers",
                       ORT_LIBRARIES_MAX);
    status = ORT(context->api, ORT_RegisterProviderLibrary, void *,
                 (void *, const char *, const char *))(context->env, name, path);
    if (status)
        return ort_say_status(context, status, error, IFG_BENCH_UNAVAILABLE,
                              "the library of %s cannot be used", name);
    context->registered[context->registered_count] = ifg_strdup(name);
    if (!context->registered[context->registered_count])
        return ort_say(error, IFG_BENCH_FAILED, "not enough memory");
    context->registered_count++;
    return IFG_BENCH_OK;
}

size_t ort_ep_devices(const ifg_bench_context *context, void *const **out_devices)
{
    size_t count = 0;

    *out_devices = NULL;
    if (context->minor < 22 || !ort_good(context, ORT(context->api, ORT_GetEpDevices, void *,
                                                      (const void *, void *const **, size_t *))(
                                                      context->env, out_devices, &count)))
        return 0;
    return *out_devices ? count : 0;
}

const char *ort_device_provider(const ifg_bench_context *context, const void *device)
{
    const char *name = ORT(context->api, ORT_EpDevice_EpName, const char *, (const void *))(device);

    return name ? name : "";
}

static const void *hardware_of(const ifg_bench_context *context, const void *device)
{
    return ORT(context->api, ORT_EpDevice_Device, const void *, (const void *))(device);
}

int ort_device_type(const ifg_bench_context *context, const void *device)
{
    const void *hardware = hardware_of(context, device);

    return hardware ? ORT(context->api, ORT_HardwareDevice_Type, int, (const void *))(hardware)
                    : -1;
}

/* A name only once: providers of this build, then those that devices belong to. */
static bool is_listed(const char *list, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = list; (at = strstr(at, name)); at += length)
        if ((at == list || at[-1] == ' ') && (at[length] == ',' || !at[length]))
            return true;
    return false;
}

static void add_name(const char *name, char *out, size_t size)
{
    size_t length = strlen(out);

    if (!is_listed(out, name))
        snprintf(out + length, size - length, "%s%s", length ? ", " : "", name);
}

const char *ort_providers_text(const ifg_bench_context *context, char *out, size_t size)
{
    void *const *devices = NULL;
    size_t count = ort_ep_devices(context, &devices);

    out[0] = '\0';
    for (int i = 0; i < context->provider_count; i++)
        add_name(context->providers[i], out, size);
    for (size_t i = 0; i < count; i++)
        add_name(ort_device_provider(context, devices[i]), out, size);
    return out;
}

/* ---- lines of text ---- */

static void add_line(ifg_bench_context *context, const char *line)
{
    if (context->line_count == LINES_MAX)
        return;
    context->lines[context->line_count] = ifg_strdup(line);
    if (context->lines[context->line_count])
        context->line_count++;
}

/* "GPU 10de:2335 (NVIDIA)" */
static void describe(const ifg_bench_context *context, const void *hardware, char *out, size_t size)
{
    static const char *const kinds[] = { "CPU", "GPU", "NPU" };
    ort_table api = context->api;
    int type = ORT(api, ORT_HardwareDevice_Type, int, (const void *))(hardware);
    uint32_t vendor_id = ORT(api, ORT_HardwareDevice_VendorId, uint32_t, (const void *))(hardware);
    uint32_t device_id = ORT(api, ORT_HardwareDevice_DeviceId, uint32_t, (const void *))(hardware);
    const char *vendor =
        ORT(api, ORT_HardwareDevice_Vendor, const char *, (const void *))(hardware);
    char ids[32] = "";
    char name[128] = "";

    if (type != ORT_DEVICE_CPU && (vendor_id || device_id))
        snprintf(ids, sizeof ids, " %04x:%04x", vendor_id, device_id);
    if (vendor && *vendor)
        snprintf(name, sizeof name, " (%.100s)", vendor);
    snprintf(out, size, "%s%s%s", type >= 0 && type <= ORT_DEVICE_NPU ? kinds[type] : "device", ids,
             name);
}

static void add_device(ifg_bench_context *context, const char *provider, const void *hardware)
{
    char what[192];
    char line[LINE_BYTES];

    describe(context, hardware, what, sizeof what);
    snprintf(line, sizeof line, "%.60s \u00b7 %s", provider, what);
    add_line(context, line);
}

static bool has_provider(const ifg_bench_context *context, void *const *devices, size_t count,
                         const void *hardware)
{
    for (size_t i = 0; i < count; i++)
        if (hardware_of(context, devices[i]) == hardware)
            return true;
    return false;
}

/* Hardware that is there and that no provider has listed as its own. */
static void add_idle(ifg_bench_context *context, void *const *devices, size_t count)
{
    const void *hardware[DEVICES_MAX] = { NULL };
    size_t there = 0;

    if (context->minor < 24 ||
        !ort_good(context, ORT(context->api, ORT_GetNumHardwareDevices, void *,
                               (const void *, size_t *))(context->env, &there)) ||
        there > DEVICES_MAX ||
        !ort_good(context,
                  ORT(context->api, ORT_GetHardwareDevices, void *,
                      (const void *, const void **, size_t))(context->env, hardware, there)))
        return;
    for (size_t i = 0; i < there; i++)
        if (hardware[i] && !has_provider(context, devices, count, hardware[i]))
            add_device(context, "hardware", hardware[i]);
}

size_t ort_devices(ifg_bench_context *context, const char *const **out_lines)
{
    void *const *devices = NULL;
    size_t count = ort_ep_devices(context, &devices);
    char line[LINE_BYTES];

    *out_lines = NULL;
    ort_devices_free(context);
    context->lines = ifg_alloc(LINES_MAX, sizeof *context->lines);
    if (!context->lines)
        return 0;
    for (size_t i = 0; i < count; i++) {
        const void *hardware = hardware_of(context, devices[i]);

        if (hardware)
            add_device(context, ort_device_provider(context, devices[i]), hardware);
    }
    for (int i = 0; i < context->provider_count; i++) {
        const char *provider = context->providers[i];
        bool has_device = false;

        for (size_t j = 0; j < count && !has_device; j++)
            has_device = strcmp(ort_device_provider(context, devices[j]), provider) == 0;
        if (has_device)
            continue;
        snprintf(line, sizeof line, "%.60s \u00b7 %s", provider,
                 strcmp(provider, ORT_CPU) == 0 ? "CPU" : "in this build; not tried");
        add_line(context, line);
    }
    add_idle(context, devices, count);
    *out_lines = (const char *const *)context->lines;
    return context->line_count;
}

void ort_devices_free(ifg_bench_context *context)
{
    for (size_t i = 0; i < context->line_count; i++)
        ifg_free(context->lines[i]);
    ifg_free(context->lines);
    context->lines = NULL;
    context->line_count = 0;
}
