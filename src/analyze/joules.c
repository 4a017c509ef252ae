// SPDX-License-Identifier: Apache-2.0
/* Joules per inference: see joules.h. */
#include "analyze/joules.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "timeline/device.h"

#define NANO 1e-9

/* Counters of devices move in steps of up to a tenth of a second, and lag by as much. */
#define STEP_S 0.1

/* Readings closer together than this are one: the steps of a counter would be all of it. */
#define READING_LEAST_NS 50000000ull

/* Idle power is known from half a second on, and varies as pieces of so long do. The device comes
 * down from work in that time, too. */
#define IDLE_LEAST_S 0.5
#define TAIL_NS      500000000ull

/* Somebody has come when the device's memory grows by more than the driver's own bookkeeping. */
#define COMING_BYTES 33554432.0

/* The energy between two readings of a device. */
struct reading {
    uint64_t begin_ns, end_ns;
    double joules;
    double covered_ns;          /* time of inferences inside, of all models that use the device */
    double covered_share_ns;    /* of the model that is looked at */
    uint64_t first_ns, last_ns; /* the first begin and the last end of these inside; all models */
};

struct readings {
    struct reading *items;
    size_t count;
};

enum uses { USES_NOT, USES, USES_UNKNOWN };

static double seconds_of(const struct reading *reading)
{
    return (double)(reading->end_ns - reading->begin_ns) * NANO;
}

/* ---- readings ---- */

static const struct resource_series *find(const struct ml_input *input,
                                          const struct joules_device *device, const char *what)
{
    char name[48];

    snprintf(name, sizeof name, "%s %s", device->name, what);
    return resources_find(input->resources, 0, name);
}

/* A counter that goes back was reset: nothing is known of that time. */
static bool take_readings(const struct ml_input *input, struct joules_device *device,
                          struct readings *out)
{
    const struct resource_series *series = find(input, device, "energy J");
    size_t before = 0;

    device->counts = series != NULL;
    if (!series)
        series = find(input, device, "power W");
    out->count = 0;
    out->items = series ? ifg_alloc(series->count, sizeof *out->items) : NULL;
    device->total_j = (double)NAN;
    if (!out->items)
        return !series;
    for (size_t i = 1; i < series->count; i++) {
        const struct resource_point *from = &series->points[before], *to = &series->points[i];
        double joules;

        if (to->ns < from->ns + READING_LEAST_NS)
            continue;
        joules = device->counts ? to->value - from->value
                                : to->value * (double)(to->ns - from->ns) * NANO;
        before = i;
        if (!(joules >= 0))
            continue;
        out->items[out->count++] =
            (struct reading){ .begin_ns = from->ns, .end_ns = to->ns, .joules = joules };
        device->total_j = isnan(device->total_j) ? joules : device->total_j + joules;
    }
    return true;
}

/* The last value at or before that time; NAN. */
static double value_at(const struct resource_series *series, uint64_t ns)
{
    size_t low = 0, high = series ? series->count : 0;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (series->points[middle].ns <= ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? series->points[low - 1].value : (double)NAN;
}

/* ---- who uses what ---- */

static bool any_engine_ran(const struct ml_input *input, uint32_t pid)
{
    for (size_t i = 0; i < input->resources->series_count; i++) {
        const struct resource_series *series = &input->resources->series[i];

        if (series->pid == pid && strncmp(series->name, "gpu engine ", 11) == 0 &&
            resource_max(series) > 0)
            return true;
    }
    return false;
}

/* By what the driver says of the process; where that says nothing, by its open descriptors. */
static enum uses process_uses(const struct ml_input *input, const struct joules_device *device,
                              uint32_t pid)
{
    const struct resources *resources = input->resources;
    bool single = resources->gpu_count == 1;
    const struct resource_series *open = resources_find(resources, pid, "gpu descriptors");
    char name[48];

    snprintf(name, sizeof name, "%s memory bytes", device->name);
    if (resource_max(resources_find(resources, pid, name)) > 0)
        return USES;
    snprintf(name, sizeof name, "%s busy %%", device->name);
    if (resource_max(resources_find(resources, pid, name)) > 0)
        return USES;
    if (single && (any_engine_ran(input, pid) || resource_max(open) > 0))
        return USES;
    if (open && resource_max(open) <= 0 && !resources_find(resources, pid, "gpu memory bytes"))
        return USES_NOT;
    if (!open && find(input, device, "other processes") &&
        resource_max(find(input, device, "other processes")) <= 0)
        return USES_NOT; /* the driver lists all, and this one never was among them */
    if (resources_find(resources, pid, "gpu memory bytes") && single)
        return USES_NOT; /* it has a picture to draw */
    return USES_UNKNOWN;
}

/* Where kernels were recorded in a process, they tell: a model that launched none of its work uses
 * no device. */
static bool launched_nothing(const struct ml_input *input, const struct timeline_devices *devices,
                             const struct ml_model *model)
{
    uint32_t number = (uint32_t)(model - input->models);
    bool watched = false;

    for (size_t i = 0; i < devices->stream_count; i++)
        watched |= devices->streams[i].work_count > 0 &&
                   devices->streams[i].process == model->model->process;
    for (size_t i = 0; watched && i < devices->call_count; i++)
        if (devices->calls[i].work_count && devices->calls[i].model == number)
            return false;
    return watched && !devices->without_call;
}

/* By who runs its nodes: a model that runs on the CPU alone uses nothing else. */
static bool is_on_cpu(const struct ml_model *model)
{
    bool any = false;

    for (size_t i = 0; i < model->ep_count; i++) {
        const struct ml_ep *ep = &model->eps[i];

        if (!ep->actual || (ep->nodes_known && !ep->nodes))
            continue;
        if (!findings_is_cpu(ep))
            return false;
        any = true;
    }
    return any && model->placement_known;
}

static enum uses model_uses(const struct ml_input *input, const struct joules_device *device,
                            const struct ml_model *model)
{
    const struct timeline *timeline = input->timeline;
    const struct timeline_devices *devices = NULL;

    if (strcmp(device->name, "cpu") == 0)
        return USES;
    if (is_on_cpu(model))
        return USES_NOT;
    if (timeline_devices_get(timeline, &devices, NULL) == IFG_OK && devices->stream_count &&
        launched_nothing(input, devices, model))
        return USES_NOT;
    if (model->model->process >= timeline->process_count)
        return USES_UNKNOWN;
    return process_uses(input, device, timeline->processes[model->model->process].pid);
}

/* ---- inferences ---- */

/* The first reading that ends after that time. */
static size_t reading_at(const struct readings *readings, uint64_t ns)
{
    size_t low = 0, high = readings->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (readings->items[middle].end_ns <= ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static const struct ml_events *inferences_of(const struct ml_input *input,
                                             const struct ml_model *model, size_t function)
{
    return &input->functions[model->first_function + function].events[TRACE_CATEGORY_INFERENCE];
}

/* Adds the time of a model's inferences to the readings. Returns how many of them are in there;
 * one that is there in part counts as that part. */
static double cover(const struct ml_input *input, const struct ml_model *model,
                    struct readings *readings, bool is_share)
{
    double count = 0;

    for (size_t f = 0; f < model->function_count; f++) {
        const struct ml_events *events = inferences_of(input, model, f);

        for (size_t i = 0; i < events->count; i++) {
            const struct ml_event *event = &events->items[i];
            uint64_t end_ns = event->start_ns + event->duration_ns;
            double inside = 0;

            if (event->flags & ML_NESTED)
                continue;
            for (size_t r = reading_at(readings, event->start_ns);
                 r < readings->count && readings->items[r].begin_ns < end_ns; r++) {
                struct reading *reading = &readings->items[r];
                uint64_t from =
                    event->start_ns > reading->begin_ns ? event->start_ns : reading->begin_ns;
                uint64_t to = end_ns < reading->end_ns ? end_ns : reading->end_ns;

                inside += (double)(to - from);
                if (is_share) {
                    reading->covered_share_ns += (double)(to - from);
                    continue;
                }
                if (!(reading->covered_ns > 0) || from < reading->first_ns)
                    reading->first_ns = from;
                if (to > reading->last_ns)
                    reading->last_ns = to;
                reading->covered_ns += (double)(to - from);
            }
            if (event->duration_ns)
                count += inside / (double)event->duration_ns;
        }
    }
    return count;
}

static uint64_t first_inference(const struct ml_input *input)
{
    uint64_t first = UINT64_MAX;

    for (size_t m = 0; m < input->model_count; m++)
        for (size_t f = 0; f < input->models[m].function_count; f++) {
            const struct ml_events *events = inferences_of(input, &input->models[m], f);

            if (events->count && events->items[0].start_ns < first)
                first = events->items[0].start_ns;
        }
    return first;
}

/* ---- idle power ---- */

struct idle_sum {
    double joules, seconds; /* of all */
    double piece_j, piece_s;
    double low_w, high_w; /* of pieces; NAN */
};

static void add_idle(struct idle_sum *sum, const struct reading *reading)
{
    double watts;

    sum->joules += reading->joules;
    sum->seconds += seconds_of(reading);
    sum->piece_j += reading->joules;
    sum->piece_s += seconds_of(reading);
    if (sum->piece_s < IDLE_LEAST_S)
        return;
    watts = sum->piece_j / sum->piece_s;
    sum->low_w = watts > sum->low_w ? sum->low_w : watts;
    sum->high_w = watts < sum->high_w ? sum->high_w : watts;
    sum->piece_j = sum->piece_s = 0;
}

static bool end_idle(const struct idle_sum *sum, enum joules_idle kind, struct joules_device *out)
{
    double watts = sum->joules / sum->seconds;
    double doubt = watts * STEP_S / sum->seconds;

    if (!(sum->seconds >= IDLE_LEAST_S) || isnan(sum->low_w))
        return false;
    out->idle = kind;
    out->idle_w = watts;
    out->idle_low_w = fmax(0, fmin(sum->low_w, watts - doubt));
    out->idle_high_w = fmax(sum->high_w, watts + doubt);
    out->idle_s = sum->seconds;
    return true;
}

static bool is_quiet(const struct resource_series *busy, const struct reading *reading)
{
    return !busy || !(value_at(busy, reading->end_ns) > 0);
}

/* Before anybody came: no inference, no work, and no memory taken. */
static bool find_before(const struct ml_input *input, const struct readings *readings,
                        struct joules_device *device, size_t *out_come)
{
    const struct resource_series *busy = find(input, device, "busy %");
    const struct resource_series *memory = find(input, device, "memory used bytes");
    struct idle_sum sum = { .low_w = (double)NAN, .high_w = (double)NAN };
    uint64_t first_ns = first_inference(input);
    size_t i = 0;

    for (; i < readings->count; i++) {
        const struct reading *reading = &readings->items[i];

        if (reading->end_ns > first_ns || !is_quiet(busy, reading) ||
            (memory && value_at(memory, reading->end_ns) > memory->points[0].value + COMING_BYTES))
            break;
        add_idle(&sum, reading);
    }
    *out_come = i;
    /* Without memory it is not known when somebody came. */
    return memory && end_idle(&sum, JOULES_IDLE_BEFORE, device);
}

/* Nothing ran for a while, although the program is there. */
static bool find_held(const struct ml_input *input, const struct readings *readings, size_t come,
                      struct joules_device *device)
{
    const struct resource_series *busy = find(input, device, "busy %");
    struct idle_sum sum = { .low_w = (double)NAN, .high_w = (double)NAN };
    uint64_t until_ns = come < readings->count ? readings->items[come].end_ns + TAIL_NS : 0;

    for (size_t i = come; busy && i < readings->count; i++) {
        const struct reading *reading = &readings->items[i];

        if (reading->covered_ns > 0)
            until_ns = reading->last_ns + TAIL_NS;
        else if (reading->begin_ns >= until_ns && is_quiet(busy, reading))
            add_idle(&sum, reading);
    }
    return end_idle(&sum, JOULES_IDLE_HELD, device);
}

static void find_idle(const struct ml_input *input, const struct readings *readings,
                      struct joules_device *device)
{
    double measured = resource_max(find(input, device, "idle W"));
    bool is_cpu = strcmp(device->name, "cpu") == 0;
    size_t come = 0;

    device->why_no_idle = "";
    device->idle_w = device->idle_low_w = device->idle_high_w = device->idle_s = (double)NAN;
    if (measured >= 0) {
        device->idle = JOULES_IDLE_MEASURED;
        device->idle_w = measured;
        device->idle_low_w = fmin(measured, resource_max(find(input, device, "idle low W")));
        device->idle_high_w = fmax(measured, resource_max(find(input, device, "idle high W")));
        device->idle_s = resource_max(resources_find(input->resources, 0, "idle s"));
        return;
    }
    if (is_cpu)
        device->why_no_idle = "idle power was not measured: record with --idle 2";
    else if (!find_before(input, readings, device, &come) &&
             !find_held(input, readings, come, device))
        device->why_no_idle =
            "idle power is not known, as the device was never idle for half a second: record "
            "with --idle 2";
}

/* ---- joules ---- */

struct charge {
    double joules, low, high;
    double seconds;
    bool shared;
};

static bool is_covered(const struct readings *readings, size_t i)
{
    return i < readings->count && readings->items[i].covered_ns > 0;
}

/*
 * What inferences took of one reading, above idle. Inside a run of readings that have inferences
 * it is all of it; at either end of a run a part of the time belongs to what was before or after,
 * which went on as it does in the reading beside.
 */
static void charge_reading(const struct readings *readings, size_t i,
                           const struct joules_device *device, struct charge *out)
{
    const struct reading *reading = &readings->items[i];
    bool begins = i == 0 || !is_covered(readings, i - 1);
    bool ends = !is_covered(readings, i + 1);
    double seconds = seconds_of(reading);
    double before_s = begins ? (double)(reading->first_ns - reading->begin_ns) * NANO : 0;
    double after_s = ends ? (double)(reading->end_ns - reading->last_ns) * NANO : 0;
    double above = reading->joules - device->idle_w * seconds;
    double beside = 0, rate;

    if (begins && i)
        beside +=
            before_s * fmax(0, readings->items[i - 1].joules / seconds_of(&readings->items[i - 1]) -
                                   device->idle_w);
    if (ends && i + 1 < readings->count)
        beside +=
            after_s * fmax(0, readings->items[i + 1].joules / seconds_of(&readings->items[i + 1]) -
                                  device->idle_w);
    out->joules = above - fmin(beside, fmax(above, 0));
    out->low = fmin(out->joules, above * (seconds - before_s - after_s) / seconds);
    out->high = fmax(out->joules, above);
    rate = fmax(0, above / seconds);
    if (device->counts && begins) {
        out->low -= STEP_S * rate;
        out->high += STEP_S * rate;
    }
    if (device->counts && ends) {
        out->low -= STEP_S * rate;
        out->high += STEP_S * rate;
    }
    if (!device->counts && (begins || ends)) { /* a value stands for the time around it */
        out->low -= seconds * rate / 2;
        out->high += seconds * rate / 2;
    }
    out->low -= (device->idle_high_w - device->idle_w) * seconds;
    out->high += (device->idle_w - device->idle_low_w) * seconds;
    out->seconds = seconds;
}

static void charge_model(const struct readings *readings, const struct joules_device *device,
                         struct charge *out)
{
    *out = (struct charge){ 0 };
    for (size_t i = 0; i < readings->count; i++) {
        const struct reading *reading = &readings->items[i];
        double share = reading->covered_share_ns / reading->covered_ns;
        struct charge one;

        if (!(reading->covered_share_ns > 0))
            continue;
        charge_reading(readings, i, device, &one);
        out->joules += share * one.joules;
        out->seconds += one.seconds;
        if (share > 0.999) {
            out->low += one.low;
            out->high += one.high;
        } else { /* it may have been all the one's, or all the other's */
            out->low += fmin(0, one.low);
            out->high += one.high;
            out->shared = true;
        }
    }
}

static void fill_row(const struct ml_input *input, const struct joules_device *device,
                     enum uses uses, double count, const struct charge *charge,
                     struct joules_row *row)
{
    row->joules = row->low_j = row->high_j = (double)NAN;
    row->reason = "";
    row->inferences = count > 0 ? (uint64_t)(count + 0.5) : 0;
    row->seconds = charge->seconds;
    row->shared = charge->shared;
    row->others = resource_max(find(input, device, "other processes")) > 0;
    if (uses == USES_UNKNOWN) {
        row->reason = "it is not known whether the program uses the device";
    } else if (find(input, device, "MIG instances")) {
        row->reason = "MIG is on: the energy is that of the whole device";
    } else if (device->idle == JOULES_IDLE_UNKNOWN) {
        row->reason = device->why_no_idle;
    } else if (!(count > 0)) {
        row->reason = "no inference ran between two readings of the device";
    } else if (!(charge->joules > 0)) {
        row->reason = "not above idle power";
    } else {
        row->joules = charge->joules / count;
        row->low_j = row->others ? 0 : fmax(0, charge->low / count);
        row->high_j = charge->high / count;
    }
}

static size_t count_inferences(const struct ml_input *input, const struct ml_model *model)
{
    size_t count = 0;

    for (size_t f = 0; f < model->function_count; f++)
        count += inferences_of(input, model, f)->count;
    return count;
}

static void forget_share(struct readings *readings)
{
    for (size_t i = 0; i < readings->count; i++)
        readings->items[i].covered_share_ns = 0;
}

static void add_rows(const struct ml_input *input, struct readings *readings,
                     const struct joules_device *device, struct joules *out)
{
    for (size_t m = 0; m < input->model_count; m++) {
        const struct ml_model *model = &input->models[m];
        enum uses uses = model_uses(input, device, model);
        struct charge charge;
        double count;

        if (uses == USES_NOT || !count_inferences(input, model))
            continue;
        forget_share(readings);
        count = cover(input, model, readings, true);
        charge_model(readings, device, &charge);
        out->rows[out->row_count] =
            (struct joules_row){ .model = (uint32_t)m,
                                 .device = (uint32_t)(device - out->devices) };
        fill_row(input, device, uses, count, &charge, &out->rows[out->row_count++]);
    }
}

/* ---- all ---- */

static bool add_device(const struct ml_input *input, const char *name, const char *title,
                       struct joules *out)
{
    struct joules_device *device = &out->devices[out->device_count];
    struct readings readings;

    snprintf(device->name, sizeof device->name, "%s", name);
    snprintf(device->title, sizeof device->title, "%s", title);
    if (!take_readings(input, device, &readings))
        return false;
    if (readings.count) {
        for (size_t m = 0; m < input->model_count; m++)
            if (model_uses(input, device, &input->models[m]) != USES_NOT)
                cover(input, &input->models[m], &readings, false);
        find_idle(input, &readings, device);
        out->device_count++;
        add_rows(input, &readings, device, out);
    }
    ifg_free(readings.items);
    return true;
}

enum ifg_status joules_create(const struct ml_input *input, struct joules **out_joules)
{
    struct joules *out;
    bool done;

    *out_joules = NULL;
    if (!input->resources)
        return IFG_OK;
    out = ifg_alloc(1, sizeof *out);
    if (out)
        out->rows = ifg_alloc(input->model_count * JOULES_DEVICES + 1, sizeof *out->rows);
    done = out && out->rows && add_device(input, "cpu", "CPU", out);
    for (size_t i = 0; done && i < input->resources->gpu_count; i++) {
        char name[32], title[32];

        snprintf(name, sizeof name, "gpu %zu", i);
        snprintf(title, sizeof title, "GPU %zu", i);
        done = add_device(input, name, input->resources->gpu_count > 1 ? title : "GPU", out);
    }
    if (!done || !out->device_count) {
        joules_destroy(out);
        return done ? IFG_OK : IFG_NO_MEMORY;
    }
    *out_joules = out;
    return IFG_OK;
}

void joules_destroy(struct joules *joules)
{
    if (!joules)
        return;
    ifg_free(joules->rows);
    ifg_free(joules);
}

const char *joules_idle_words(const struct joules_device *device, char *out, size_t size)
{
    out[0] = '\0';
    switch (device->idle) {
    case JOULES_IDLE_UNKNOWN:
        break;
    case JOULES_IDLE_MEASURED:
        snprintf(out, size, "measured for %.1f s before the program started", device->idle_s);
        break;
    case JOULES_IDLE_BEFORE:
        snprintf(out, size, "seen for %.1f s before the program used it", device->idle_s);
        break;
    case JOULES_IDLE_HELD:
        snprintf(out, size, "seen for %.1f s while no inference ran and the program held it",
                 device->idle_s);
        break;
    }
    return out;
}
