// SPDX-License-Identifier: Apache-2.0
/* Parts of the account of one slice; each writes a key and its value. */
#ifndef IFG_SERVER_SLICES_INTERNAL_H
#define IFG_SERVER_SLICES_INTERNAL_H

#include "server/handler.h"

/* The slice of a location that begins last before a time, or first at it or after; SIZE_MAX: none.
 * */
size_t slices_neighbour(const struct timeline *timeline, const struct location_index *index,
                        uint32_t location, uint64_t ns, bool after);

/* The same of async spans, by their index in the timeline. */
size_t asyncs_neighbour(const struct timeline *timeline, uint32_t location, uint64_t ns,
                        bool after);

/* "histogram" and "same" of an async span: among those of its location. */
void asyncs_put_same(struct ifg_json *json, const struct timeline *timeline, size_t span);

/* What asyncs_put_same and its like of slices say. values are the durations, or every so manyth. */
struct same_sums {
    uint64_t *values;
    size_t kept;
    size_t count;
    size_t shorter;
    uint64_t least_ns, most_ns;
    size_t previous, next, slower; /* as numbered; SIZE_MAX: there is none */
};

void slices_put_same(struct ifg_json *json, const struct same_sums *sums);

/* "states": how long the thread ran, could have run, and was blocked in [t0, t1); or null. */
void slices_put_states(struct ifg_json *json, const struct server_trace *trace, uint32_t thread,
                       uint64_t t0_ns, uint64_t t1_ns);

/* "samples": functions that were sampled on the thread in [t0, t1); or null. */
void slices_put_samples(struct ifg_json *json, const struct server_trace *trace, uint32_t thread,
                        uint64_t t0_ns, uint64_t t1_ns);

/* "placement": where the model's nodes run; or null. */
void slices_put_placement(struct ifg_json *json, struct server_trace *trace, uint32_t model);

/* slices_device.c: more of "args", inside that array: of a kernel its launch, of an inference or
 * operator what devices did for it. */
void slices_put_device(struct ifg_json *json, struct server_trace *trace, size_t slice);

/* inputs.c: "inputs", if any were kept. */
void slices_put_inputs(struct ifg_json *json, const struct timeline *timeline, size_t slice);

#endif
