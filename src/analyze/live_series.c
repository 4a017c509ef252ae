// SPDX-License-Identifier: Apache-2.0
/* What the machine does, for a gauge: one value a second of the counters in docs/resources.md. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/live_internal.h"
#include "base/alloc.h"

/* Which counters, and what they are called. A '#' stands for the device's number. */
static const struct {
    const char *name;
    bool machine; /* else of a process */
    enum live_kind kind;
    const char *unit;
    double scale;
    const char *label;
} known[] = {
    { "cpu total %", true, LIVE_KIND_CPU, "%", 100, "CPU" },
    { "cpu # %", true, LIVE_KIND_CORE, "%", 100, "CPU #" },
    { "cpu %", false, LIVE_KIND_PROCESS_CPU, "%", NAN, "CPU of the program" },
    { "memory used bytes", true, LIVE_KIND_MEMORY, "bytes", NAN, "Memory of the machine" },
    { "rss bytes", false, LIVE_KIND_PROCESS_MEMORY, "bytes", NAN, "Memory" },
    { "gpu # busy %", true, LIVE_KIND_GPU, "%", 100, "GPU # busy" },
    { "gpu # memory used bytes", true, LIVE_KIND_GPU_MEMORY, "bytes", NAN, "GPU # memory" },
    { "gpu # power W", true, LIVE_KIND_POWER, "W", NAN, "GPU # power" },
    { "npu # busy %", true, LIVE_KIND_NPU, "%", 100, "NPU # busy" },
    { "npu # memory used bytes", true, LIVE_KIND_NPU_MEMORY, "bytes", NAN, "NPU # memory" },
};

static const char *const kind_names[] = {
    [LIVE_KIND_CPU] = "cpu",
    [LIVE_KIND_CORE] = "core",
    [LIVE_KIND_PROCESS_CPU] = "process-cpu",
    [LIVE_KIND_MEMORY] = "memory",
    [LIVE_KIND_PROCESS_MEMORY] = "process-memory",
    [LIVE_KIND_GPU] = "gpu",
    [LIVE_KIND_GPU_MEMORY] = "gpu-memory",
    [LIVE_KIND_NPU] = "npu",
    [LIVE_KIND_NPU_MEMORY] = "npu-memory",
    [LIVE_KIND_POWER] = "power",
    [LIVE_KIND_OTHER] = "other",
};

const char *live_kind_name(enum live_kind kind)
{
    return kind_names[kind];
}

/* Whether name is pattern with digits for '#'; the digits are put into the label. */
static bool matches(const char *pattern, const char *name, char digits[12])
{
    size_t count = 0;

    for (; *pattern; pattern++) {
        if (*pattern != '#') {
            if (*name++ != *pattern)
                return false;
            continue;
        }
        while (*name >= '0' && *name <= '9' && count < 11)
            digits[count++] = *name++;
        digits[count] = '\0';
        if (!count)
            return false;
    }
    return *name == '\0';
}

static void put_label(char *out, size_t size, const char *label, const char *digits)
{
    const char *mark = strchr(label, '#');

    if (mark)
        snprintf(out, size, "%.*s%s%s", (int)(mark - label), label, digits, mark + 1);
    else
        snprintf(out, size, "%s", label);
}

struct live_series *live_find_series(struct live *live, uint32_t process, uint32_t location)
{
    for (size_t i = 0; i < live->series_count; i++)
        if (live->series[i]->process == process && live->series[i]->location == location)
            return live->series[i];
    return NULL;
}

struct live_series *live_add_series(struct live *live, uint32_t process, uint32_t location,
                                    uint32_t pid, const char *name)
{
    struct live_series *series;
    char digits[12] = "";
    size_t i;

    for (i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].machine == (pid == 0) && matches(known[i].name, name, digits))
            break;
    if (i == sizeof known / sizeof known[0] || live->series_count == LIVE_SERIES_MOST)
        return NULL;
    series = ifg_alloc(1, sizeof *series);
    if (!series)
        return NULL;
    series->process = process;
    series->location = location;
    series->pid = pid;
    series->kind = known[i].kind;
    series->unit = known[i].unit;
    series->scale = known[i].scale;
    series->changed = live->version;
    snprintf(series->name, sizeof series->name, "%.63s", name);
    put_label(series->label, sizeof series->label, known[i].label, digits);
    live->series[live->series_count++] = series;
    return series;
}

void live_value(struct live *live, struct live_series *series, uint64_t ns, double value)
{
    int64_t second = live_floor_seconds(live->begin_ns, ns);
    struct live_value *slot = &series->values[live_slot(second)];

    if (!isfinite(value) || (slot->count && slot->second > second))
        return;
    if (!slot->count || slot->second != second)
        *slot = (struct live_value){ .second = second, .min = value, .max = value };
    slot->count++;
    slot->last = value;
    if (value < slot->min)
        slot->min = value;
    if (value > slot->max)
        slot->max = value;
    slot->changed = live->version;
    if (series->newest < second)
        series->newest = second;
}

const struct live_value *live_latest(const struct live_series *series)
{
    const struct live_value *value = &series->values[live_slot(series->newest)];

    return value->count && value->second == series->newest ? value : NULL;
}
