// SPDX-License-Identifier: Apache-2.0
/* `inferogram report`: what the machine and the program used meanwhile, in a line or two. */
#include "cli/report_output.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "trace/keys.h"

#define LABEL 14

static const char *size_of(double bytes, char *out)
{
    return cli_size(bytes >= 0 && bytes < 1e18 ? (uint64_t)bytes : 0, out);
}

static void say_cpu(const struct ml_input *input, char *line, size_t size)
{
    const struct resources *resources = input->resources;
    uint32_t cpus = input->cpus ? input->cpus : resources->cpus;

    if (!isnan(resources->cpu_pct)) {
        report_append(line, size, "CPU %.0f %% of %u core%s", resources->cpu_pct, cpus,
                      cpus == 1 ? "" : "s");
        if (!isnan(resources->program_cores) && cpus)
            report_append(line, size, " (program %.0f %%)", 100 * resources->program_cores / cpus);
    } else if (!isnan(resources->program_cores)) {
        report_append(line, size, "program %.0f %% of a core", 100 * resources->program_cores);
    }
}

static void say_device(const char *kind, size_t number, size_t count,
                       const struct resource_device *device, char *line, size_t size)
{
    char text[32];

    report_append(line, size, " · %s", kind);
    if (count > 1)
        report_append(line, size, " %zu", number);
    if (!isnan(device->busy_pct))
        report_append(line, size, " %.0f %% (max %.0f %%)", device->busy_pct, device->busy_max_pct);
    if (!isnan(device->memory_max_bytes))
        report_append(line, size, ", %s", size_of(device->memory_max_bytes, text));
    if (!isnan(device->power_w))
        report_append(line, size, ", %.0f W", device->power_w);
    if (!isnan(device->clock_mhz))
        report_append(line, size, ", %.0f MHz", device->clock_mhz);
    if (!isnan(device->temperature_max_c))
        report_append(line, size, ", %.0f °C", device->temperature_max_c);
    for (size_t i = 0; i < device->throttle_count; i++)
        report_append(line, size, "%s%s %.0f %%", i ? ", " : ", throttled by ",
                      device->throttles[i].reason, 100 * device->throttles[i].share);
}

static void say_devices(const struct ml_input *input, char *line, size_t size)
{
    const struct resources *resources = input->resources;
    const char *gpu = trace_find_fact(input->tables, TRACE_FACT_RESOURCES_GPU);

    for (size_t i = 0; i < resources->gpu_count; i++)
        say_device("GPU", i, resources->gpu_count, &resources->gpus[i], line, size);
    if (!resources->gpu_count && gpu && strcmp(gpu, "no driver") == 0)
        report_append(line, size, " · no GPU driver");
    else if (!resources->gpu_count && gpu && *gpu)
        report_append(line, size, " · GPU: %.80s", gpu);
    for (size_t i = 0; i < resources->npu_count; i++)
        say_device("NPU", i, resources->npu_count, &resources->npus[i], line, size);
}

/* ---- energy ---- */

static const char *joules_text(double joules, char *out, size_t size)
{
    const char *unit = joules >= 1 ? "J" : joules >= 1e-3 ? "mJ" : "µJ";
    double value = joules >= 1 ? joules : joules >= 1e-3 ? 1e3 * joules : 1e6 * joules;

    snprintf(out, size, "%.3g %s", value, unit);
    if (value >= 1000)
        snprintf(out, size, "%.0f %s", value, unit);
    return out;
}

static void say_energy(const struct joules *joules, const struct joules_row *row, char *line,
                       size_t size)
{
    const struct joules_device *device = &joules->devices[row->device];
    char text[32], low[32], high[32], words[160];

    report_append(line, size, "%s%s ", *line ? " · " : "", device->title);
    if (isnan(row->joules)) {
        report_append(line, size, "n/a: %s", row->reason);
        return;
    }
    report_append(line, size, "%s%s (%s to %s) above idle", row->others ? "≤ " : "",
                  joules_text(row->joules, text, sizeof text),
                  joules_text(row->low_j, low, sizeof low),
                  joules_text(row->high_j, high, sizeof high));
    if (row->shared)
        report_append(line, size, ", divided by %s among models",
                      row->by_work ? "time of work on it" : "time");
    if (row->others)
        report_append(line, size, ", other programs were on the device");
    report_append(line, size, "; idle %.1f W, %s", device->idle_w,
                  joules_idle_words(device, words, sizeof words));
}

void report_write_energy(const struct report_request *request, uint32_t model,
                         struct ifg_bytes *out)
{
    const struct joules *joules = request->report->joules;
    char line[1200] = "";

    for (size_t i = 0; joules && i < joules->row_count; i++)
        if (joules->rows[i].model == model)
            say_energy(joules, &joules->rows[i], line, sizeof line);
    if (*line)
        report_wrap(out, 4, "Joules per inference  ", line);
}

void report_write_machine(const struct report_request *request, struct ifg_bytes *out)
{
    const struct ml_input *input = request->report->input;
    const struct resources *resources = input->resources;
    char line[2400] = "";
    char text[32];
    size_t at = out->size;

    if (!resources)
        return;
    say_cpu(input, line, sizeof line);
    if (!isnan(resources->rss_max_bytes))
        report_append(line, sizeof line, "%smemory peak %s (rss)", *line ? " · " : "",
                      size_of(resources->rss_max_bytes, text));
    if (resources->steal_pct >= 0.05)
        report_append(line, sizeof line, " · steal %.1f %%", resources->steal_pct);
    if (resources->iowait_pct >= 1)
        report_append(line, sizeof line, " · waiting for disks %.0f %%", resources->iowait_pct);
    if (!isnan(resources->frequency_mhz))
        report_append(line, sizeof line, " · %.2f GHz", resources->frequency_mhz / 1e3);
    say_devices(input, line, sizeof line);
    report_wrap(out, LABEL, "", line);
    if (!out->failed && out->size > at + LABEL) /* the label goes where blanks are */
        memcpy(out->data + at, "Machine", strlen("Machine"));
}
