// SPDX-License-Identifier: Apache-2.0
/* What devices did, in the report: a few lines for each model, one for all. */
#include "cli/report_output.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/device_use.h"
#include "cli/cli.h"
#include "cli/text.h"

#define KERNELS_SHOWN 5u

static void write_kernels(const struct device_kernels *kernels, struct ifg_bytes *out)
{
    static const struct text_column shown[] = { { "", TEXT_RIGHT, 0, 0 },
                                                { "", TEXT_LEFT, 30, 0 },
                                                { "", TEXT_RIGHT, 0, 1 } };
    struct text_table table;

    cli_print(out, "    Top kernels (share of device busy)\n");
    text_table_begin(&table, shown, sizeof shown / sizeof shown[0], 6);
    for (size_t i = 0; i < kernels->row_count && i < KERNELS_SHOWN; i++) {
        const struct device_kernel *row = &kernels->rows[i];
        char name[200], count[32], p50[32];

        text_table_share(&table, row->share);
        text_table_put(&table, "%s", device_short_name(row->name, name, sizeof name));
        text_table_put(&table, "%s x %s", cli_count(row->count, count),
                       cli_duration(row->percentile_ns[STATS_P50], p50));
        text_table_next(&table);
    }
    text_table_end(&table, out);
}

void report_write_device_of(const struct report_request *request, size_t position,
                            struct ifg_bytes *out)
{
    const struct report *report = request->report;
    const struct ml_model *model = &report->input->models[report->models[position]];
    const struct device_model *device = device_model_of(report->input, model);
    char lead[80], line[700], number[32];

    if (!device || !*device_model_words(device, line, sizeof line))
        return;
    snprintf(lead, sizeof lead, "Device (mean of %s)  ", cli_count(device->steady.slices, number));
    report_wrap(out, 4, lead, line);
    if (*device_idle_words(device, line, sizeof line))
        report_wrap(out, 4, "Device idle  ", line);
    if (device->kernels && device->kernels->row_count)
        write_kernels(device->kernels, out);
}

/* Names end in their unit; a process is named only where there are several. */
static void write_memory(const struct device_use *use, const struct timeline *timeline,
                         struct ifg_bytes *out)
{
    char line[1000] = "";
    char size[32], name[100];

    for (size_t i = 0; i < use->level_count; i++) {
        const struct device_level *level = &use->levels[i];
        size_t length = strlen(level->name);
        bool is_bytes =
            length > 6 && length < 90 && strcmp(level->name + length - 6, " bytes") == 0;

        if (!is_bytes || !isfinite(level->peak) || level->peak <= 0)
            continue;
        cli_clean(level->name, name, sizeof name);
        report_append(line, sizeof line, "%s%.*s %s", *line ? ", " : "", (int)strlen(name) - 6,
                      name, cli_size((uint64_t)level->peak, size));
        if (level->process != use->levels[0].process && level->process < timeline->process_count)
            report_append(line, sizeof line, " (process %u)",
                          timeline->processes[level->process].pid);
    }
    if (*line)
        report_wrap(out, 0, "Device memory, peaks  ", line);
}

void report_write_device(const struct report_request *request, struct ifg_bytes *out)
{
    const struct device_use *use = request->report->input->device;
    char line[700] = "";
    char number[32], longest[32], name[100], note[200];

    if (!use)
        return;
    for (size_t i = 0; i < use->name_count; i++)
        report_append(line, sizeof line, "%s%s", i ? ", " : "",
                      cli_clean(use->names[i], name, sizeof name));
    report_append(line, sizeof line, "%s%zu stream%s · %s pieces of work", *line ? " · " : "",
                  use->stream_count, use->stream_count == 1 ? "" : "s",
                  cli_count(use->works, number));
    if (use->without_inference)
        report_append(line, sizeof line, ", %s of them outside of inferences",
                      cli_count(use->without_inference, number));
    if (use->without_call)
        report_append(line, sizeof line, " (%s launched before the recording)",
                      cli_count(use->without_call, number));
    if (use->too_early)
        report_append(
            line, sizeof line,
            "; %s seem to begin before their launch, by up to %s: times of the device are "
            "off by as much",
            cli_count(use->too_early, number), cli_duration((double)use->early_ns, longest));
    if (*use->note)
        report_append(line, sizeof line, "; %s", cli_clean(use->note, note, sizeof note));
    cli_print(out, "\n");
    report_wrap(out, 0, "Devices  ", line);
    write_memory(use, request->report->input->timeline, out);
}
