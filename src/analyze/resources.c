// SPDX-License-Identifier: Apache-2.0
/* What was used: see resources.h. */
#include "analyze/resources.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#define NANO 1e9

/* ---- series ---- */

static bool is_resource(const struct timeline *timeline, const struct timeline_counter *counter)
{
    const struct timeline_thread *thread = &timeline->threads[counter->thread];

    /* What several traces say of their machines cannot be added up, and means no single one. */
    if (timeline->machine_count > 1 && !timeline->processes[thread->process].pid)
        return false;
    return thread->tid == 0 && strcmp(thread->name, "resources") == 0 && isfinite(counter->value);
}

/* Each location is a series; a process that replaced itself has several of one name. */
static enum ifg_status gather(const struct timeline *timeline, struct resources *out)
{
    size_t *next = ifg_alloc(timeline->location_count + 1, sizeof *next);
    size_t at = 0, total = 0;

    for (size_t i = 0; next && i < timeline->counter_count; i++)
        if (is_resource(timeline, &timeline->counters[i])) {
            next[timeline->counters[i].location]++;
            total++;
        }
    for (size_t i = 0; next && i < timeline->location_count; i++)
        out->series_count += next[i] > 0;
    out->series = ifg_alloc(out->series_count, sizeof *out->series);
    out->points = ifg_alloc(total, sizeof *out->points);
    if (!next || !out->series || !out->points) {
        ifg_free(next);
        return IFG_NO_MEMORY;
    }
    out->series_count = 0;
    for (size_t i = 0; i < timeline->location_count; i++) {
        size_t count = next[i];
        const struct timeline_location *location = &timeline->locations[i];

        next[i] = at;
        if (count)
            out->series[out->series_count++] = (struct resource_series){
                .process = location->process,
                .pid = location->process < timeline->process_count
                           ? timeline->processes[location->process].pid
                           : 0,
                .name = location->name,
                .points = out->points + at,
                .count = count,
            };
        at += count;
    }
    for (size_t i = 0; i < timeline->counter_count; i++) {
        const struct timeline_counter *counter = &timeline->counters[i];

        if (is_resource(timeline, counter))
            out->points[next[counter->location]++] =
                (struct resource_point){ counter->ns, counter->value };
    }
    ifg_free(next);
    return IFG_OK;
}

const struct resource_series *resources_find(const struct resources *resources, uint32_t pid,
                                             const char *name)
{
    const struct resource_series *found = NULL;

    for (size_t i = 0; resources && i < resources->series_count; i++) {
        const struct resource_series *series = &resources->series[i];

        if (series->pid == pid && strcmp(series->name, name) == 0 &&
            (!found || series->count > found->count))
            found = series;
    }
    return found;
}

/* How long a value stands for: since the one before. The first has none; the next one's time is
 * the best guess. */
static double weight_of(const struct resource_series *series, size_t i)
{
    if (i)
        return (double)(series->points[i].ns - series->points[i - 1].ns);
    return series->count > 1 ? fmin((double)(series->points[1].ns - series->points[0].ns), NANO)
                             : NANO;
}

double resource_mean(const struct resource_series *series)
{
    double sum = 0, weights = 0;

    for (size_t i = 0; series && i < series->count; i++) {
        double weight = weight_of(series, i);

        sum += weight * series->points[i].value;
        weights += weight;
    }
    return weights > 0 ? sum / weights : (double)NAN;
}

double resource_max(const struct resource_series *series)
{
    double most = (double)NAN;

    for (size_t i = 0; series && i < series->count; i++)
        if (!(most >= series->points[i].value))
            most = series->points[i].value;
    return most;
}

double resource_growth(const struct resource_series *series)
{
    return series ? series->points[series->count - 1].value - series->points[0].value : 0;
}

/* ---- what they come to ---- */

/* CPU time of a process: its first value is since its start, or since the recording's. */
static double used_ns(const struct timeline *timeline, const struct resource_series *series)
{
    uint64_t start = series->process < timeline->process_count
                         ? timeline->processes[series->process].start_ns
                         : timeline->begin_ns;
    uint64_t first = series->points[0].ns;
    double sum;

    if (start < timeline->begin_ns || start > first)
        start = timeline->begin_ns < first ? timeline->begin_ns : first;
    sum = (double)(first - start) * series->points[0].value;
    for (size_t i = 1; i < series->count; i++)
        sum += weight_of(series, i) * series->points[i].value;
    return sum / 100;
}

static void sum_program(const struct timeline *timeline, uint64_t duration_ns,
                        struct resources *out)
{
    bool any = false;
    double sum = 0;

    for (size_t i = 0; i < out->series_count; i++) {
        if (!out->series[i].pid || strcmp(out->series[i].name, "cpu %") != 0)
            continue;
        sum += used_ns(timeline, &out->series[i]);
        any = true;
    }
    out->program_cores = any && duration_ns ? sum / (double)duration_ns : (double)NAN;
}

static int by_time(const void *a, const void *b)
{
    uint64_t left = ((const struct resource_point *)a)->ns;
    uint64_t right = ((const struct resource_point *)b)->ns;

    return left < right ? -1 : left > right;
}

/* All processes are looked at in one moment; those of one moment are added. On another clock a
 * moment may be some microseconds off. */
#define SAME_LOOK_NS 2000000u

static enum ifg_status sum_memory(struct resources *out)
{
    struct resource_point *all;
    size_t count = 0, at = 0;
    double sum = 0, most = (double)NAN;

    for (size_t i = 0; i < out->series_count; i++)
        if (out->series[i].pid && strcmp(out->series[i].name, "rss bytes") == 0)
            count += out->series[i].count;
    all = ifg_alloc(count, sizeof *all);
    if (!all)
        return IFG_NO_MEMORY;
    for (size_t i = 0; i < out->series_count; i++)
        if (out->series[i].pid && strcmp(out->series[i].name, "rss bytes") == 0) {
            memcpy(all + at, out->series[i].points, out->series[i].count * sizeof *all);
            at += out->series[i].count;
        }
    qsort(all, count, sizeof *all, by_time);
    for (size_t i = 0, first = 0; i < count; i++) {
        if (all[i].ns - all[first].ns > SAME_LOOK_NS) {
            first = i;
            sum = 0;
        }
        sum += all[i].value;
        if (!(most >= sum))
            most = sum;
    }
    out->rss_max_bytes = most;
    ifg_free(all);
    return IFG_OK;
}

static double mean_of(const struct resources *resources, const char *name)
{
    return resource_mean(resources_find(resources, 0, name));
}

/* "gpu 0 throttled: power cap" */
static void sum_throttles(const struct resources *resources, const char *device,
                          struct resource_device *out)
{
    char prefix[48];

    snprintf(prefix, sizeof prefix, "%s throttled: ", device);
    for (size_t i = 0; i < resources->series_count; i++) {
        const struct resource_series *series = &resources->series[i];
        double share;
        size_t at;

        if (series->pid || strncmp(series->name, prefix, strlen(prefix)) != 0)
            continue;
        share = resource_mean(series);
        if (!(share > 0) || out->throttle_count == RESOURCE_THROTTLES)
            continue;
        at = out->throttle_count++;
        for (; at && out->throttles[at - 1].share < share; at--)
            out->throttles[at] = out->throttles[at - 1];
        out->throttles[at] =
            (struct resource_throttle){ series->name + strlen(prefix), fmin(share, 1) };
    }
}

static size_t sum_devices(const struct resources *resources, const char *kind,
                          struct resource_device *out)
{
    size_t count = 0;

    for (size_t i = 0; i < RESOURCE_DEVICES; i++) {
        static const char *const names[] = { "busy %",    "memory used bytes", "power W",
                                             "clock MHz", "memory clock MHz",  "temperature C",
                                             "energy J" };
        const struct resource_series *series[7];
        char device[32];

        snprintf(device, sizeof device, "%s %zu", kind, i);
        for (size_t n = 0; n < 7; n++) {
            char name[48];

            snprintf(name, sizeof name, "%s %s", device, names[n]);
            series[n] = resources_find(resources, 0, name);
            if (series[n])
                count = i + 1;
        }
        out[i] = (struct resource_device){
            .busy_pct = resource_mean(series[0]),
            .busy_max_pct = resource_max(series[0]),
            .memory_max_bytes = resource_max(series[1]),
            .power_w = resource_mean(series[2]),
            .clock_mhz = resource_mean(series[3]),
            .memory_clock_mhz = resource_mean(series[4]),
            .temperature_max_c = resource_max(series[5]),
        };
        sum_throttles(resources, device, &out[i]);
    }
    return count;
}

/* "other stress (4711) cpu %" */
static bool parse_other(const char *text, struct resource_other *out)
{
    static const char end[] = ") cpu %";
    size_t length = strlen(text);
    const char *open;

    if (strncmp(text, "other ", 6) != 0 || length < 6 + sizeof end ||
        strcmp(text + length - (sizeof end - 1), end) != 0)
        return false;
    open = strrchr(text, '(');
    if (!open || open < text + 7)
        return false;
    snprintf(out->name, sizeof out->name, "%.*s", (int)(open - 1 - (text + 6)), text + 6);
    out->pid = (uint32_t)strtoul(open + 1, NULL, 10);
    return true;
}

/* Processes of the machine are looked at rarely; each look stands for the time since the one
 * before, and who is not named then used next to nothing. */
static void find_others(const struct timeline *timeline, uint64_t duration_ns,
                        struct resources *out)
{
    const struct resource_series *looks = resources_find(out, 0, "others cpu %");

    for (size_t s = 0; looks && s < out->series_count; s++) {
        const struct resource_series *series = &out->series[s];
        struct resource_other other;
        double sum = 0;
        size_t at = RESOURCE_OTHERS;

        if (series->pid || !parse_other(series->name, &other))
            continue;
        for (size_t i = 0, look = 0; i < series->count; i++) {
            uint64_t before;

            while (look < looks->count && looks->points[look].ns < series->points[i].ns)
                look++;
            before = look ? looks->points[look - 1].ns : timeline->begin_ns;
            sum += (double)(series->points[i].ns - before) * series->points[i].value;
        }
        other.cpu_pct = duration_ns ? fmin(sum / (double)duration_ns, 1e6) : 0;
        while (at > 0 && (at > out->other_count || out->others[at - 1].cpu_pct < other.cpu_pct)) {
            if (at < RESOURCE_OTHERS && at <= out->other_count)
                out->others[at] = out->others[at - 1];
            at--;
        }
        if (at == RESOURCE_OTHERS)
            continue;
        out->others[at] = other;
        out->other_count += out->other_count < RESOURCE_OTHERS;
    }
}

static uint32_t count_cpus(const struct resources *resources)
{
    uint32_t count = 0;

    for (size_t i = 0; i < resources->series_count; i++) {
        const char *name = resources->series[i].name;

        count += !resources->series[i].pid && strncmp(name, "cpu ", 4) == 0 && name[4] >= '0' &&
                 name[4] <= '9';
    }
    return count;
}

enum ifg_status resources_create(const struct timeline *timeline, uint64_t duration_ns,
                                 struct resources **out_resources)
{
    struct resources *out = ifg_alloc(1, sizeof *out);
    enum ifg_status status = out ? gather(timeline, out) : IFG_NO_MEMORY;

    *out_resources = NULL;
    if (!status)
        status = sum_memory(out);
    if (status || !out->series_count) {
        resources_destroy(out);
        return status;
    }
    out->cpus = count_cpus(out);
    out->cpu_pct = mean_of(out, "cpu total %");
    out->cpu_max_pct = resource_max(resources_find(out, 0, "cpu total %"));
    out->steal_pct = mean_of(out, "cpu steal %");
    out->iowait_pct = mean_of(out, "cpu iowait %");
    out->pressure_cpu_pct = mean_of(out, "pressure cpu some %");
    out->pressure_memory_pct = mean_of(out, "pressure memory some %");
    out->pressure_io_pct = mean_of(out, "pressure io some %");
    out->memory_used_max_bytes = resource_max(resources_find(out, 0, "memory used bytes"));
    out->frequency_min_mhz = mean_of(out, "cpu frequency min MHz");
    out->frequency_mhz = mean_of(out, "cpu frequency avg MHz");
    out->frequency_max_mhz = mean_of(out, "cpu frequency max MHz");
    sum_program(timeline, duration_ns, out);
    out->gpu_count = sum_devices(out, "gpu", out->gpus);
    out->npu_count = sum_devices(out, "npu", out->npus);
    find_others(timeline, duration_ns, out);
    *out_resources = out;
    return IFG_OK;
}

void resources_destroy(struct resources *resources)
{
    if (!resources)
        return;
    ifg_free(resources->series);
    ifg_free(resources->points);
    ifg_free(resources);
}
