// SPDX-License-Identifier: Apache-2.0
/* What a device takes when it has nothing to do: see joules.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/joules_internal.h"
#include "base/rest.h"

/* Idle power is known from half a second on, and varies as pieces of so long do. The device comes
 * down from work in that time, too. */
#define IDLE_LEAST_S 0.5
#define TAIL_NS      500000000ull
#define PIECES       128u

/* Clocks that are still up after so long stay where they are. */
#define REST_S 5.0

/* Somebody has come when the device's memory grows by more than the driver's own bookkeeping. */
#define COMING_BYTES 33554432.0

static uint64_t first_inference(const struct ml_input *input)
{
    uint64_t first = UINT64_MAX;

    for (size_t m = 0; m < input->model_count; m++)
        for (size_t f = 0; f < input->models[m].function_count; f++) {
            const struct ml_events *events = joules_inferences(input, &input->models[m], f);

            if (events->count && events->items[0].start_ns < first)
                first = events->items[0].start_ns;
        }
    return first;
}

/* The last pieces of it. */
struct idle_sum {
    double joules[PIECES], seconds[PIECES];
    size_t count;
    double piece_j, piece_s;
};

static void add_idle(struct idle_sum *sum, const struct reading *reading)
{
    sum->piece_j += reading->joules;
    sum->piece_s += seconds_of(reading);
    if (sum->piece_s < IDLE_LEAST_S)
        return;
    if (sum->count == PIECES) {
        sum->count--;
        memmove(sum->joules, sum->joules + 1, sum->count * sizeof sum->joules[0]);
        memmove(sum->seconds, sum->seconds + 1, sum->count * sizeof sum->seconds[0]);
    }
    sum->joules[sum->count] = sum->piece_j;
    sum->seconds[sum->count++] = sum->piece_s;
    sum->piece_j = sum->piece_s = 0;
}

static bool end_idle(const struct idle_sum *sum, enum joules_idle kind, struct joules_device *out)
{
    double watts[PIECES], joules = 0, seconds = 0, low, high, doubt;
    bool falls = false;
    size_t from;

    if (!sum->count)
        return false;
    for (size_t i = 0; i < sum->count; i++)
        watts[i] = sum->joules[i] / sum->seconds[i];
    from = ifg_rest_from(watts, sum->count, out->counts ? STEP_S / IDLE_LEAST_S : 0, &falls);
    low = high = watts[from];
    for (size_t i = from; i < sum->count; i++) {
        joules += sum->joules[i];
        seconds += sum->seconds[i];
        low = fmin(low, watts[i]);
        high = fmax(high, watts[i]);
    }
    out->idle = kind;
    out->idle_w = joules / seconds;
    out->idle_s = seconds;
    doubt = out->counts ? out->idle_w * STEP_S / seconds : 0;
    out->idle_low_w = fmax(0, fmin(low, out->idle_w - doubt));
    out->idle_high_w = fmax(high, out->idle_w + doubt);
    out->idle_fell = falls ? JOULES_FALLS : from ? JOULES_FELL : JOULES_STEADY;
    return true;
}

/* Devices keep their clocks for a second or two after work, and take much more than at rest. What a
 * device that is not at rest yet comes down to is not known. */
static void end_unrest(struct joules_device *device, bool falls, double clock_mhz,
                       const struct resource_series *clock)
{
    if (!isnan(clock_mhz))
        falls = device->idle_s < REST_S && clock_mhz > fmax(clock_mhz, resource_max(clock)) / 2;
    if (falls) {
        device->idle_fell = JOULES_FALLS;
        device->idle_low_w = 0;
    } else if (device->idle_fell == JOULES_FALLS) {
        device->idle_fell = JOULES_FELL;
    }
}

static bool is_quiet(const struct resource_series *busy, const struct reading *reading)
{
    return !busy || !(joules_value_at(busy, reading->end_ns) > 0);
}

/* Before anybody came: no inference, no work, and no memory taken. */
static bool find_before(const struct ml_input *input, const struct readings *readings,
                        struct joules_device *device, size_t *out_come)
{
    const struct resource_series *busy = joules_find(input, device, "busy %");
    const struct resource_series *memory = joules_find(input, device, "memory used bytes");
    const struct resource_series *clock = joules_find(input, device, "clock MHz");
    struct idle_sum sum = { .count = 0 };
    uint64_t first_ns = first_inference(input);
    size_t i = 0;

    for (; i < readings->count; i++) {
        const struct reading *reading = &readings->items[i];

        if (reading->end_ns > first_ns || !is_quiet(busy, reading) ||
            (memory &&
             joules_value_at(memory, reading->end_ns) > memory->points[0].value + COMING_BYTES))
            break;
        add_idle(&sum, reading);
    }
    *out_come = i;
    /* Without memory it is not known when somebody came. */
    if (!memory || !i || !end_idle(&sum, JOULES_IDLE_BEFORE, device))
        return false;
    end_unrest(device, device->idle_fell == JOULES_FALLS,
               joules_value_at(clock, readings->items[i - 1].end_ns), clock);
    return true;
}

/* Nothing ran for a while, although the program is there. */
static bool find_held(const struct ml_input *input, const struct readings *readings, size_t come,
                      struct joules_device *device)
{
    const struct resource_series *busy = joules_find(input, device, "busy %");
    struct idle_sum sum = { .count = 0 };
    uint64_t until_ns = come < readings->count ? readings->items[come].end_ns + TAIL_NS : 0;

    for (size_t i = come; busy && i < readings->count; i++) {
        const struct reading *reading = &readings->items[i];

        if (is_covered(readings, i))
            until_ns = reading->last_ns + TAIL_NS;
        else if (reading->begin_ns >= until_ns && is_quiet(busy, reading))
            add_idle(&sum, reading);
    }
    return end_idle(&sum, JOULES_IDLE_HELD, device);
}

/* What the recorder measured, and whether it was at rest then. */
static bool take_measured(const struct ml_input *input, struct joules_device *device)
{
    double watts = resource_max(joules_find(input, device, "idle W"));
    double fell = resource_max(joules_find(input, device, "idle fell"));
    double doubt;

    if (!(watts >= 0))
        return false;
    device->idle = JOULES_IDLE_MEASURED;
    device->idle_w = watts;
    device->idle_s = resource_max(resources_find(input->resources, 0, "idle s"));
    doubt = device->counts && device->idle_s > 0 ? watts * fmin(1, STEP_S / device->idle_s) : 0;
    device->idle_low_w =
        fmax(0, fmin(watts - doubt, resource_max(joules_find(input, device, "idle low W"))));
    device->idle_high_w =
        fmax(watts + doubt, resource_max(joules_find(input, device, "idle high W")));
    device->idle_fell = fell > 1 ? JOULES_FALLS : fell > 0 ? JOULES_FELL : JOULES_STEADY;
    end_unrest(device, fell > 1, resource_max(joules_find(input, device, "idle clock MHz")),
               joules_find(input, device, "clock MHz"));
    return true;
}

/* A device that took less later, when it had nothing to do either, was not at rest before. */
static void correct(struct joules_device *device, const struct joules_device *later)
{
    if (later->idle_high_w < device->idle_low_w ||
        (device->idle_fell == JOULES_FALLS && later->idle_fell != JOULES_FALLS &&
         later->idle_w < device->idle_w)) {
        enum joules_fall fell = later->idle_fell;

        *device = *later;
        device->idle_fell = fell == JOULES_STEADY ? JOULES_FELL : fell;
    } else {
        device->idle_low_w = fmin(device->idle_low_w, later->idle_low_w);
    }
}

void joules_find_idle(const struct ml_input *input, const struct readings *readings,
                      struct joules_device *device)
{
    bool is_cpu = strcmp(device->name, "cpu") == 0, measured;
    struct joules_device before, held;
    size_t come = 0;

    device->why_no_idle = "";
    device->idle_w = device->idle_low_w = device->idle_high_w = device->idle_s = (double)NAN;
    before = held = *device;
    measured = take_measured(input, device);
    if (is_cpu) {
        if (!measured)
            device->why_no_idle = "idle power was not measured: record with --idle 2";
        return;
    }
    if (find_before(input, readings, &before, &come)) {
        if (measured)
            correct(device, &before);
        else
            *device = before;
    }
    if (!find_held(input, readings, come, &held)) {
        if (device->idle == JOULES_IDLE_UNKNOWN)
            device->why_no_idle = "idle power is not known, as the device was never idle for half "
                                  "a second: record with --idle 2";
        return;
    }
    if (device->idle == JOULES_IDLE_UNKNOWN)
        *device = held;
    else if (held.idle_w < device->idle_w)
        correct(device, &held);
}

const char *joules_idle_words(const struct joules_device *device, char *out, size_t size)
{
    int used = 0;

    out[0] = '\0';
    switch (device->idle) {
    case JOULES_IDLE_UNKNOWN:
        break;
    case JOULES_IDLE_MEASURED:
        used =
            snprintf(out, size, "measured for %.1f s before the program started", device->idle_s);
        break;
    case JOULES_IDLE_BEFORE:
        used = snprintf(out, size, "seen for %.1f s before the program used it", device->idle_s);
        break;
    case JOULES_IDLE_HELD:
        used = snprintf(out, size, "seen for %.1f s while no inference ran and the program held it",
                        device->idle_s);
        break;
    }
    if (used > 0 && (size_t)used < size && device->idle_fell != JOULES_STEADY)
        snprintf(out + used, size - (size_t)used, "%s",
                 device->idle_fell == JOULES_FALLS
                     ? "; it was not at rest yet and may take less: measure longer"
                     : ", the end of it, as power was still falling");
    return out;
}
