// SPDX-License-Identifier: Apache-2.0
/* What the machine and the program used meanwhile, as a part of the report. */
#include "export/documents_internal.h"

static void put_devices(struct ifg_json *json, const char *key,
                        const struct resource_device *devices, size_t count)
{
    ifg_json_put_open(json, key, '[');
    for (size_t i = 0; i < count; i++) {
        ifg_json_open(json, '{');
        ifg_json_put_double(json, "busy_pct", devices[i].busy_pct);
        ifg_json_put_double(json, "busy_max_pct", devices[i].busy_max_pct);
        ifg_json_put_double(json, "memory_max_bytes", devices[i].memory_max_bytes);
        ifg_json_put_double(json, "power_w", devices[i].power_w);
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
}

void document_machine(struct ifg_json *json, const struct report *report)
{
    const struct resources *resources = report->input->resources;

    if (!resources)
        return;
    ifg_json_put_open(json, "machine", '{');
    ifg_json_put_double(json, "cpu_pct", resources->cpu_pct);
    ifg_json_put_double(json, "cpu_max_pct", resources->cpu_max_pct);
    ifg_json_put_double(json, "program_cores", resources->program_cores);
    ifg_json_put_double(json, "steal_pct", resources->steal_pct);
    ifg_json_put_double(json, "iowait_pct", resources->iowait_pct);
    ifg_json_put_double(json, "pressure_cpu_pct", resources->pressure_cpu_pct);
    ifg_json_put_double(json, "pressure_memory_pct", resources->pressure_memory_pct);
    ifg_json_put_double(json, "pressure_io_pct", resources->pressure_io_pct);
    ifg_json_put_double(json, "rss_max_bytes", resources->rss_max_bytes);
    ifg_json_put_double(json, "memory_used_max_bytes", resources->memory_used_max_bytes);
    ifg_json_put_double(json, "frequency_mhz", resources->frequency_mhz);
    put_devices(json, "gpus", resources->gpus, resources->gpu_count);
    put_devices(json, "npus", resources->npus, resources->npu_count);
    ifg_json_put_open(json, "others", '[');
    for (size_t i = 0; i < resources->other_count; i++) {
        ifg_json_open(json, '{');
        ifg_json_put_string(json, "name", resources->others[i].name);
        ifg_json_put_uint(json, "pid", resources->others[i].pid);
        ifg_json_put_double(json, "cpu_pct", resources->others[i].cpu_pct);
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
    ifg_json_close(json, '}');
}
