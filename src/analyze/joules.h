// SPDX-License-Identifier: Apache-2.0
/*
 * Joules per inference: what processors and GPUs took above their idle power while a model's
 * inferences ran, by the counters of the recording (docs/energy.md).
 *
 * Devices are read a few times a second. The energy between two readings belongs to the inferences
 * whose work the device did then; where these are of several models, it is divided by the time of
 * that work. Where a program's work is not recorded, it is known only for a model that ran alone.
 * Each value has bounds: how well idle power is known, readings that inferences fill only in part,
 * steps of the device's own counter, and what cannot be told apart.
 */
#ifndef IFG_ANALYZE_JOULES_H
#define IFG_ANALYZE_JOULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/findings/input.h"

#define JOULES_DEVICES (RESOURCE_DEVICES + 1u)

enum joules_idle {
    JOULES_IDLE_UNKNOWN,
    JOULES_IDLE_MEASURED, /* before the program was started (record --idle) */
    JOULES_IDLE_BEFORE,   /* seen before the program used the device */
    JOULES_IDLE_HELD,     /* seen while no inference ran, but the program had the device */
};

/* Power on the way down from work that was before. */
enum joules_fall {
    JOULES_STEADY,
    JOULES_FELL,  /* came to rest: idle power is from then on */
    JOULES_FALLS, /* and was not at rest yet: idle power may be anything below */
};

/* NAN where nothing is known. */
struct joules_device {
    char name[32];  /* "cpu", "gpu 0" */
    char title[32]; /* "CPU", "GPU", and a number if there are several */
    bool counts;    /* energy; else it tells power, now and then */
    double total_j; /* of the whole recording, idle power included */
    enum joules_idle idle;
    double idle_w, idle_low_w, idle_high_w, idle_s;
    enum joules_fall idle_fell;
    const char *why_no_idle; /* "" */
};

/* A model and a device that it uses. Who does not use a device has no row for it. */
struct joules_row {
    uint32_t model;      /* index into ml_input.models */
    uint32_t device;     /* index into joules.devices */
    uint64_t inferences; /* that the readings cover */
    double seconds;      /* of the readings */
    double joules;       /* per inference, above idle; NAN */
    double low_j, high_j;
    bool shared;        /* with inferences of other models at the same time */
    bool by_work;       /* divided by recorded work of the device, not by time of inferences */
    bool others;        /* other programs were on the device, too: at most */
    const char *reason; /* why joules is NAN; "" */
};

struct joules {
    struct joules_device devices[JOULES_DEVICES];
    size_t device_count;
    struct joules_row *rows; /* by device, then by model */
    size_t row_count;
};

/* *out_joules is NULL if the recording has nothing about energy. */
enum ifg_status joules_create(const struct ml_input *input,
                              struct joules **out_joules) IFG_MUST_CHECK;
void joules_destroy(struct joules *joules); /* accepts NULL */

/* "measured for 2.0 s before the program started"; "" if it is not known. */
const char *joules_idle_words(const struct joules_device *device, char *out, size_t size);

#endif
