// SPDX-License-Identifier: Apache-2.0
/* Joules per inference: see joules.h. */
#include "analyze/joules.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/joules_internal.h"
#include "base/alloc.h"

/* Readings closer together than this are one: the steps of a counter would be all of it. */
#define READING_LEAST_NS 50000000ull

/* Joules of which more than this part may be anybody's are none. */
#define GUESS_MOST 0.1

/* ---- readings ---- */

const struct resource_series *joules_find(const struct ml_input *input,
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
    const struct resource_series *series = joules_find(input, device, "energy J");
    size_t before = 0;

    device->counts = series != NULL;
    if (!series)
        series = joules_find(input, device, "power W");
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

double joules_value_at(const struct resource_series *series, uint64_t ns)
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

const struct ml_events *joules_inferences(const struct ml_input *input,
                                          const struct ml_model *model, size_t function)
{
    return &input->functions[model->first_function + function].events[TRACE_CATEGORY_INFERENCE];
}

/* ---- joules ---- */

#define ALONE 0.999

struct charge {
    double joules, low, high;
    double seconds;
    double guess_j; /* of joules and of others: nobody recorded whose these are */
    bool shared;
};

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

/* The model's part of a reading: by work of the device where there is any, else by time. */
static double share_of(const struct readings *readings, size_t i)
{
    const struct reading *reading = &readings->items[i];

    if (reading->load_ns > 0)
        return reading->own_ns / reading->load_ns;
    return reading->wall_ns > 0 ? reading->own_wall_ns / reading->wall_ns : 0;
}

/* The part that may be the model's or another one's. */
static double unsure_of(const struct reading *reading, enum uses uses)
{
    double own = uses == USES_RECORDED ? 0 : reading->own_ns;

    if (reading->load_ns > 0)
        return fmax(0, reading->unsure_ns - own) / reading->load_ns;
    return reading->wall_ns > 0 ? 1 - reading->own_wall_ns / reading->wall_ns : 0;
}

/* Where another model comes before or after, a counter that lags has some of the one's energy in
 * the reading of the other. */
static void widen_at_turns(const struct readings *readings, size_t i,
                           const struct joules_device *device, struct charge *one)
{
    double rate = fmax(0, one->high) / seconds_of(&readings->items[i]);

    if (!device->counts)
        return;
    if (i && is_covered(readings, i - 1) && share_of(readings, i - 1) < ALONE) {
        one->low -= STEP_S * rate;
        one->high += STEP_S * rate;
    }
    if (is_covered(readings, i + 1) && share_of(readings, i + 1) < ALONE) {
        one->low -= STEP_S * rate;
        one->high += STEP_S * rate;
    }
}

static void charge_model(const struct readings *readings, const struct joules_device *device,
                         enum uses uses, struct charge *out)
{
    *out = (struct charge){ 0 };
    for (size_t i = 0; i < readings->count; i++) {
        const struct reading *reading = &readings->items[i];
        double share = share_of(readings, i), unsure = unsure_of(reading, uses);
        struct charge one;

        if (!(share > 0) && !(reading->own_wall_ns > 0 && unsure > 0))
            continue;
        charge_reading(readings, i, device, &one);
        out->joules += share * one.joules;
        out->guess_j += unsure * fmax(0, one.joules);
        out->seconds += one.seconds;
        if (share > ALONE) {
            widen_at_turns(readings, i, device, &one);
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
    bool is_cpu = strcmp(device->name, "cpu") == 0;

    row->joules = row->low_j = row->high_j = (double)NAN;
    row->reason = "";
    row->inferences = count > 0 ? (uint64_t)(count + 0.5) : 0;
    row->seconds = charge->seconds;
    row->shared = charge->shared;
    row->by_work = uses == USES_RECORDED;
    row->others = resource_max(joules_find(input, device, "other processes")) > 0;
    if (uses == USES_UNKNOWN) {
        row->reason = "it is not known whether the program uses the device";
    } else if (uses == USES_ONE_OF) {
        row->reason = "which model used the device is not recorded (use --gpu kernels)";
    } else if (uses == USES_LOST) {
        row->reason = "the device worked meanwhile, but not who launched that is recorded";
    } else if (joules_find(input, device, "MIG instances")) {
        row->reason = "MIG is on: the energy is that of the whole device";
    } else if (device->idle == JOULES_IDLE_UNKNOWN) {
        row->reason = device->why_no_idle;
    } else if (!(count > 0)) {
        row->reason = "no inference ran between two readings of the device";
    } else if (!is_cpu && charge->guess_j > GUESS_MOST * charge->joules) {
        row->reason = uses == USES_RECORDED
                          ? "the device did other work, too, and who launched that is not recorded"
                          : "only what all models took together is known: which of them used the "
                            "device is not recorded (use --gpu kernels)";
    } else if (!(charge->joules > 0)) {
        row->reason = "not above idle power";
    } else {
        row->joules = charge->joules / count;
        row->low_j = row->others ? 0 : fmax(0, charge->low / count);
        row->high_j = charge->high / count;
    }
}

static void add_rows(const struct ml_input *input, struct readings *readings,
                     const struct joules_device *device, struct joules *out)
{
    for (size_t m = 0; m < input->model_count; m++) {
        const struct ml_model *model = &input->models[m];
        enum uses uses = joules_uses(input, device, model);
        struct charge charge;
        double count;

        if (uses == USES_NOT)
            continue;
        count = joules_load_own(input, model, uses, readings);
        charge_model(readings, device, uses, &charge);
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
        joules_load_all(input, device, &readings);
        joules_find_idle(input, &readings, device);
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
