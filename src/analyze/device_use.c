// SPDX-License-Identifier: Apache-2.0
/* What devices did for each model: see device_use.h. */
#include "analyze/device_use.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/quantile.h"

/* Longer inferences (the first one, which loads and tunes) say nothing about the others. */
#define STEADY_TIMES 2.0

#define DEVICE_INSTRUMENT "GPU kernels"

enum { HOST, SPAN, BUSY, IDLE, WAIT, GAP, VALUES };

static size_t inferences_of(const struct ml_input *input, const struct ml_model *model)
{
    size_t count = 0;

    for (size_t f = 0; f < model->function_count; f++)
        count += input->functions[model->first_function + f].events[TRACE_CATEGORY_INFERENCE].count;
    return count;
}

/* Sums up one model; values has room for VALUES numbers of each inference. */
static void add_model(const struct ml_input *input, const struct device_times *times,
                      const struct ml_model *model, uint64_t *values, size_t room,
                      struct device_model *out)
{
    double *medians[VALUES] = { &out->host_median_ns, &out->span_median_ns,
                                &out->busy_median_ns, &out->idle_median_ns,
                                &out->wait_median_ns, &out->launch_gap_median_ns };
    size_t count = 0;

    for (size_t f = 0; f < model->function_count; f++) {
        const struct ml_events *events =
            &input->functions[model->first_function + f].events[TRACE_CATEGORY_INFERENCE];

        for (size_t i = 0; i < events->count; i++) {
            struct device_time time;

            if (events->items[i].slice == SIZE_MAX)
                continue;
            device_time_of(times, events->items[i].slice, &time);
            if (events->items[i].flags & ML_HAS_OPS)
                device_time_add(&out->with_ops, &time);
            if (!findings_event_counts(events, &events->items[i]))
                continue;
            device_time_add(&out->sum, &time);
            values[HOST * room + count] = time.host_ns;
            values[SPAN * room + count] = time.span_ns;
            values[BUSY * room + count] = time.busy_ns;
            values[IDLE * room + count] = device_time_idle(&time);
            values[WAIT * room + count] = time.wait_ns;
            values[GAP * room + count] = time.launch_gap_ns;
            count++;
        }
    }
    for (int v = 0; v < VALUES; v++)
        *medians[v] = count ? ifg_median_u64(values + (size_t)v * room, count) : (double)NAN;
}

static void add_steady(const struct ml_input *input, const struct device_times *times,
                       const struct ml_model *model, struct device_model *out)
{
    for (size_t f = 0; f < model->function_count; f++) {
        const struct ml_events *events =
            &input->functions[model->first_function + f].events[TRACE_CATEGORY_INFERENCE];

        for (size_t i = 0; i < events->count; i++) {
            struct device_time time;

            if (events->items[i].slice == SIZE_MAX ||
                !findings_event_counts(events, &events->items[i]))
                continue;
            device_time_of(times, events->items[i].slice, &time);
            if (time.used && (double)time.span_ns <= STEADY_TIMES * out->span_median_ns)
                device_time_add(&out->steady, &time);
        }
    }
}

/* Tracks of waits and of memory are none. */
static bool is_stream(const struct timeline_devices *devices,
                      const struct timeline_device_stream *stream)
{
    for (size_t i = 0; i < stream->work_count; i++)
        if (device_is_busy_kind(devices->works[devices->by_stream[stream->first_work + i]].kind))
            return true;
    return false;
}

static void name_devices(struct device_use *use, const struct timeline_devices *devices)
{
    for (size_t i = 0; i < devices->stream_count; i++) {
        const char *name = devices->streams[i].name;
        size_t same = 0;

        use->stream_count += is_stream(devices, &devices->streams[i]);
        while (same < i && !device_is_same(&devices->streams[same], &devices->streams[i]))
            same++;
        use->device_count += same == i;
        for (same = 0; same < use->name_count; same++)
            if (strcmp(use->names[same], name) == 0)
                break;
        if (*name && same == use->name_count && same < sizeof use->names / sizeof use->names[0])
            use->names[use->name_count++] = name;
    }
}

static bool is_of_device(const struct timeline_devices *devices, uint32_t thread)
{
    for (size_t i = 0; i < devices->stream_count; i++)
        if (devices->streams[i].thread == thread)
            return true;
    return false;
}

static struct device_level *level_of(struct device_use *use, const char *name, uint32_t process)
{
    struct device_level *level = use->levels;

    while (level < use->levels + use->level_count &&
           (level->process != process || strcmp(level->name, name) != 0))
        level++;
    if (level == use->levels + DEVICE_USE_LEVELS)
        return NULL;
    if (level == use->levels + use->level_count) {
        use->level_count++;
        *level = (struct device_level){ .name = name, .process = process, .peak = (double)NAN };
    }
    return level;
}

static void add_levels(struct device_use *use, const struct timeline *timeline,
                       const struct timeline_devices *devices)
{
    uint32_t thread = TIMELINE_NONE;
    bool counts = false;

    for (size_t i = 0; i < timeline->counter_count; i++) {
        const struct timeline_counter *counter = &timeline->counters[i];
        struct device_level *level;

        if (counter->thread != thread)
            counts = is_of_device(devices, counter->thread);
        thread = counter->thread;
        level = counts ? level_of(use, timeline->locations[counter->location].name,
                                  timeline->threads[thread].process)
                       : NULL;
        if (!level)
            continue;
        level->last = counter->value;
        if (isfinite(counter->value) && !(counter->value <= level->peak)) {
            level->peak = counter->value;
            level->peak_ns = counter->ns;
        }
    }
}

/* What the instrument says behind what it records. */
static const char *note_of(const struct trace_tables *tables)
{
    for (size_t i = 0; tables && i < tables->instrument_count; i++) {
        const struct trace_instrument_entry *instrument = &tables->instruments[i];
        const char *rest = strstr(instrument->reason, "; ");

        if (strcmp(instrument->name, DEVICE_INSTRUMENT) == 0 &&
            instrument->state == TRACE_INSTRUMENT_ON && rest)
            return rest + 2;
    }
    return "";
}

static enum ifg_status fill(struct device_use *use, const struct ml_input *input,
                            struct ifg_error *err)
{
    enum ifg_status status = IFG_OK;
    size_t with_kernels = 0;

    for (size_t m = 0; m < input->model_count && !status; m++) {
        const struct ml_model *model = &input->models[m];
        size_t room = inferences_of(input, model);
        uint64_t *values = ifg_alloc(room * VALUES + 1, sizeof *values);
        const struct device_kernels_options options = { .one_model = model->model };

        if (!values)
            return ifg_fail_no_memory(err, "for the times of devices");
        add_model(input, use->times, model, values, room, &use->models[m]);
        ifg_free(values);
        add_steady(input, use->times, model, &use->models[m]);
        if (use->models[m].sum.used && with_kernels++ < DEVICE_USE_KERNELS)
            status = device_kernels_create(input->timeline, &options, &use->models[m].kernels, err);
    }
    return status;
}

enum ifg_status device_use_create(const struct ml_input *input, struct device_times **times,
                                  struct device_use **out_use, struct ifg_error *err)
{
    const struct timeline_devices *devices;
    struct device_use *use;
    enum ifg_status status;

    *out_use = NULL;
    if (!*times)
        return IFG_OK;
    use = ifg_alloc(1, sizeof *use);
    if (!use)
        return ifg_fail_no_memory(err, "for the times of devices");
    use->times = *times;
    *times = NULL;
    use->model_count = input->model_count;
    use->models = ifg_alloc(input->model_count, sizeof *use->models);
    status = use->models ? timeline_devices_get(input->timeline, &devices, err)
                         : ifg_fail_no_memory(err, "for the times of devices");
    if (!status) {
        use->works = devices->busy_count;
        use->without_call = devices->without_call;
        use->too_early = devices->too_early;
        use->early_ns = devices->early_ns;
        use->without_inference = devices->busy_count - devices->busy_in_inferences;
        name_devices(use, devices);
        add_levels(use, input->timeline, devices);
        use->note = note_of(input->tables);
        status = fill(use, input, err);
    }
    if (status) {
        device_use_destroy(use);
        return status;
    }
    *out_use = use;
    return IFG_OK;
}

void device_use_destroy(struct device_use *use)
{
    if (!use)
        return;
    for (size_t i = 0; use->models && i < use->model_count; i++)
        device_kernels_destroy(use->models[i].kernels);
    device_times_destroy(use->times);
    ifg_free(use->models);
    ifg_free(use);
}

const struct device_model *device_model_of(const struct ml_input *input,
                                           const struct ml_model *model)
{
    const struct device_model *found =
        input->device ? &input->device->models[model - input->models] : NULL;

    return found && found->sum.used ? found : NULL;
}
