// SPDX-License-Identifier: Apache-2.0
/* What the parts of joules.h share: readings of a device, who uses it (joules_use.c), and its idle
 * power (joules_idle.c). */
#ifndef IFG_ANALYZE_JOULES_INTERNAL_H
#define IFG_ANALYZE_JOULES_INTERNAL_H

#include "analyze/joules.h"

#define NANO 1e-9

/* Counters of devices move in steps of up to a tenth of a second, and lag by as much. */
#define STEP_S 0.1

/* The energy between two readings of a device, and who was there. Loads are times of work of the
 * device, one after the other for each inference; of models whose work is not recorded, times of
 * their inferences. */
struct reading {
    uint64_t begin_ns, end_ns;
    double joules;
    double wall_ns;             /* time of inferences inside, of all models that use the device */
    double load_ns;             /* of all */
    double unsure_ns;           /* of these: nobody recorded whose it is */
    double own_wall_ns;         /* of the model that is looked at */
    double own_ns;              /* its load */
    uint64_t first_ns, last_ns; /* the first begin and the last end of all inside */
};

struct readings {
    struct reading *items;
    size_t count;
};

static inline double seconds_of(const struct reading *reading)
{
    return (double)(reading->end_ns - reading->begin_ns) * NANO;
}

static inline bool is_covered(const struct readings *readings, size_t i)
{
    return i < readings->count &&
           (readings->items[i].wall_ns > 0 || readings->items[i].load_ns > 0);
}

const struct resource_series *joules_find(const struct ml_input *input,
                                          const struct joules_device *device, const char *what);

/* The last value at or before that time; NAN. */
double joules_value_at(const struct resource_series *series, uint64_t ns);

const struct ml_events *joules_inferences(const struct ml_input *input,
                                          const struct ml_model *model, size_t function);

/* ---- joules_use.c ---- */

enum uses {
    USES_NOT,
    USES_RECORDED, /* its work is in the recording */
    USES,          /* its nodes are there, or nobody else of its process can be it */
    USES_UNKNOWN,  /* whether the process does */
    USES_ONE_OF,   /* the process does: by this model or by another one */
    USES_LOST,     /* work is recorded, but not who launched it */
};

enum uses joules_uses(const struct ml_input *input, const struct joules_device *device,
                      const struct ml_model *model);

/* Adds what all models did to the readings. */
void joules_load_all(const struct ml_input *input, const struct joules_device *device,
                     struct readings *readings);

/* Sets the own_ parts. Returns how many inferences are in the readings; one that is there in part
 * counts as that part. */
double joules_load_own(const struct ml_input *input, const struct ml_model *model, enum uses uses,
                       struct readings *readings);

/* ---- joules_idle.c ---- */

void joules_find_idle(const struct ml_input *input, const struct readings *readings,
                      struct joules_device *device);

#endif
