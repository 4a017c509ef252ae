// SPDX-License-Identifier: Apache-2.0
/* What devices did, as parts of documents. */
#include <math.h>

#include "export/documents.h"
#include "export/documents_internal.h"

#define MS            1e6
#define KERNELS_SHOWN 20u

static void put_kernel(struct ifg_json *json, const struct device_kernel *row)
{
    static const char *const keys[] = { "p50_ns", "p90_ns", "p95_ns", "p99_ns", "p999_ns" };

    ifg_json_open(json, '{');
    ifg_json_put_string(json, "name", row->name);
    ifg_json_put_string(json, "kind", timeline_work_name(row->kind));
    ifg_json_put_uint(json, "location", row->location);
    ifg_json_put_uint(json, "longest", row->longest);
    ifg_json_put_uint(json, "count", row->count);
    ifg_json_put_uint(json, "total_ns", row->total_ns);
    ifg_json_put_double(json, "mean_ns", row->mean_ns);
    ifg_json_put_double(json, "sd_ns", row->sd_ns);
    ifg_json_put_uint(json, "min_ns", row->min_ns);
    for (int p = 0; p < STATS_PERCENTILES; p++)
        ifg_json_put_double(json, keys[p], row->percentile_ns[p]);
    ifg_json_put_uint(json, "max_ns", row->max_ns);
    ifg_json_put_double(json, "share", row->share);
    ifg_json_put_double(json, "queue_p50_ns", row->queue_median_ns);
    ifg_json_put_double(json, "bytes", row->bytes == UINT64_MAX ? (double)NAN : (double)row->bytes);
    ifg_json_close(json, '}');
}

void document_kernels(struct ifg_json *json, const struct device_kernels *kernels, size_t rows)
{
    ifg_json_put_uint(json, "busy_ns", kernels->busy_ns);
    ifg_json_put_uint(json, "row_count", kernels->row_count);
    ifg_json_put_open(json, "rows", '[');
    for (size_t i = 0; i < kernels->row_count && i < rows; i++)
        put_kernel(json, &kernels->rows[i]);
    ifg_json_close(json, ']');
}

void document_device_time(struct ifg_json *json, const struct device_time *time)
{
    double count = time->slices ? (double)time->slices : (double)NAN;
    double launches = time->launches ? (double)time->launches : (double)NAN;

    ifg_json_put_double(json, "host_ms", (double)time->host_ns / count / MS);
    ifg_json_put_double(json, "span_ms", (double)time->span_ns / count / MS);
    ifg_json_put_double(json, "busy_ms", (double)time->busy_ns / count / MS);
    ifg_json_put_double(json, "after_ms", (double)time->after_ns / count / MS);
    ifg_json_put_double(json, "foreign_ms", (double)time->foreign_ns / count / MS);
    ifg_json_put_double(json, "kernel_ms", (double)time->kernel_ns / count / MS);
    ifg_json_put_double(json, "copy_ms", (double)time->copy_ns / count / MS);
    ifg_json_put_double(json, "overlap_ms", (double)time->overlap_ns / count / MS);
    ifg_json_put_double(json, "kernels", (double)time->kernels / count);
    ifg_json_put_double(json, "launches", (double)time->launches / count);
    ifg_json_put_double(json, "call_ms", (double)time->call_ns / count / MS);
    ifg_json_put_double(json, "waits", (double)time->waits / count);
    ifg_json_put_double(json, "wait_ms", (double)time->wait_ns / count / MS);
    ifg_json_put_double(json, "queue_ms", (double)time->queue_ns / launches / MS);
    ifg_json_put_double(json, "launch_gap_ms", (double)time->launch_gap_ns / count / MS);
    ifg_json_put_double(json, "idle_ms", (double)device_time_idle(time) / count / MS);
    ifg_json_put_open(json, "idle", '{');
    for (int i = 0; i < DEVICE_IDLES; i++) {
        ifg_json_key(json, device_idle_name((enum device_idle)i));
        ifg_json_double(json, (double)time->idle_ns[i] / count / MS);
    }
    ifg_json_close(json, '}');
    ifg_json_put_open(json, "copies", '{');
    for (int i = 0; i < DEVICE_COPIES; i++) {
        ifg_json_put_open(json, device_copy_name((enum device_copy)i), '{');
        ifg_json_put_double(json, "count", (double)time->copies[i].count / count);
        ifg_json_put_double(json, "bytes", (double)time->copies[i].bytes / count);
        ifg_json_put_double(json, "ms", (double)time->copies[i].ns / count / MS);
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, '}');
}

void document_device_of(struct ifg_json *json, const struct report *report,
                        const struct ml_model *model)
{
    const struct device_model *device = device_model_of(report->input, model);
    char words[700];

    if (!device)
        return;
    ifg_json_put_open(json, "device", '{');
    ifg_json_put_uint(json, "inferences", device->sum.slices);
    ifg_json_put_uint(json, "on_device", device->sum.used);
    ifg_json_put_uint(json, "steady", device->steady.slices);
    ifg_json_put_string(json, "text", device_model_words(device, words, sizeof words));
    ifg_json_put_string(json, "idle_text", device_idle_words(device, words, sizeof words));
    ifg_json_put_open(json, "mean", '{');
    document_device_time(json, &device->steady);
    ifg_json_close(json, '}');
    ifg_json_put_open(json, "median", '{');
    ifg_json_put_double(json, "host_ms", device->host_median_ns / MS);
    ifg_json_put_double(json, "span_ms", device->span_median_ns / MS);
    ifg_json_put_double(json, "busy_ms", device->busy_median_ns / MS);
    ifg_json_put_double(json, "idle_ms", device->idle_median_ns / MS);
    ifg_json_put_double(json, "wait_ms", device->wait_median_ns / MS);
    ifg_json_put_double(json, "launch_gap_ms", device->launch_gap_median_ns / MS);
    ifg_json_close(json, '}');
    if (device->kernels) {
        ifg_json_put_open(json, "kernels", '{');
        document_kernels(json, device->kernels, KERNELS_SHOWN);
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, '}');
}

static void put_level(struct ifg_json *json, const struct timeline *timeline,
                      const struct device_level *level)
{
    ifg_json_open(json, '{');
    ifg_json_put_string(json, "name", level->name);
    ifg_json_put_uint(
        json, "pid",
        level->process < timeline->process_count ? timeline->processes[level->process].pid : 0);
    ifg_json_put_double(json, "peak_bytes", level->peak);
    if (isfinite(level->peak))
        ifg_json_put_uint(json, "peak_ns", level->peak_ns - timeline->begin_ns);
    ifg_json_put_double(json, "last_bytes", level->last);
    ifg_json_close(json, '}');
}

void document_device(struct ifg_json *json, const struct report *report)
{
    const struct device_use *use = report->input->device;

    if (!use)
        return;
    ifg_json_put_open(json, "device", '{');
    ifg_json_put_open(json, "names", '[');
    for (size_t i = 0; i < use->name_count; i++)
        ifg_json_string(json, use->names[i]);
    ifg_json_close(json, ']');
    ifg_json_put_uint(json, "devices", use->device_count);
    ifg_json_put_uint(json, "streams", use->stream_count);
    ifg_json_put_uint(json, "works", use->works);
    ifg_json_put_uint(json, "outside_inferences", use->without_inference);
    ifg_json_put_uint(json, "without_call", use->without_call);
    if (use->too_early) {
        ifg_json_put_uint(json, "before_call", use->too_early);
        ifg_json_put_uint(json, "before_call_ns", use->early_ns);
    }
    if (*use->note)
        ifg_json_put_string(json, "note", use->note);
    if (use->level_count) {
        ifg_json_put_open(json, "memory", '[');
        for (size_t i = 0; i < use->level_count; i++)
            put_level(json, report->input->timeline, &use->levels[i]);
        ifg_json_close(json, ']');
    }
    ifg_json_close(json, '}');
}
