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
        ifg_json_put_double(json, "clock_mhz", devices[i].clock_mhz);
        ifg_json_put_double(json, "memory_clock_mhz", devices[i].memory_clock_mhz);
        ifg_json_put_double(json, "temperature_max_c", devices[i].temperature_max_c);
        ifg_json_put_open(json, "throttled", '[');
        for (size_t t = 0; t < devices[i].throttle_count; t++) {
            ifg_json_open(json, '{');
            ifg_json_put_string(json, "reason", devices[i].throttles[t].reason);
            ifg_json_put_double(json, "share", devices[i].throttles[t].share);
            ifg_json_close(json, '}');
        }
        ifg_json_close(json, ']');
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
}

/* Devices whose energy or power is known, with their idle power. */
static void put_energy(struct ifg_json *json, const struct joules *joules)
{
    static const char *const kinds[] = { "unknown", "measured", "before_use", "held" };
    static const char *const falls[] = { "steady", "fell", "falling" };

    ifg_json_put_open(json, "energy", '[');
    for (size_t i = 0; joules && i < joules->device_count; i++) {
        const struct joules_device *device = &joules->devices[i];

        ifg_json_open(json, '{');
        ifg_json_put_string(json, "device", device->name);
        ifg_json_put_string(json, "source", device->counts ? "counter" : "power");
        ifg_json_put_double(json, "total_j", device->total_j);
        ifg_json_put_string(json, "idle", kinds[device->idle]);
        ifg_json_put_double(json, "idle_w", device->idle_w);
        ifg_json_put_double(json, "idle_low_w", device->idle_low_w);
        ifg_json_put_double(json, "idle_high_w", device->idle_high_w);
        ifg_json_put_double(json, "idle_s", device->idle_s);
        ifg_json_put_string(json, "idle_power", falls[device->idle_fell]);
        ifg_json_put_string(json, "reason", device->why_no_idle);
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
}

void document_energy_of(struct ifg_json *json, const struct report *report,
                        const struct ml_model *model)
{
    const struct joules *joules = report->joules;

    ifg_json_put_open(json, "energy", '[');
    for (size_t i = 0; joules && i < joules->row_count; i++) {
        const struct joules_row *row = &joules->rows[i];

        if (&report->input->models[row->model] != model)
            continue;
        ifg_json_open(json, '{');
        ifg_json_put_string(json, "device", joules->devices[row->device].name);
        ifg_json_put_double(json, "joules_per_inference", row->joules);
        ifg_json_put_double(json, "low_j", row->low_j);
        ifg_json_put_double(json, "high_j", row->high_j);
        ifg_json_put_uint(json, "inferences", row->inferences);
        ifg_json_put_double(json, "seconds", row->seconds);
        ifg_json_put_bool(json, "shared", row->shared);
        ifg_json_put_bool(json, "by_device_work", row->by_work);
        ifg_json_put_bool(json, "upper_bound", row->others);
        ifg_json_put_string(json, "reason", row->reason);
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
    put_energy(json, report->joules);
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
