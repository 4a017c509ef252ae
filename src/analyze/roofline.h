// SPDX-License-Identifier: Apache-2.0
/*
 * How near operators come to what their device can do: the roofline of Williams, Waterman and
 * Patterson.
 *
 * What an operator has to compute and to move (FLOP, and bytes, each once) is told by the caller,
 * who has the model. How long it took is in the trace: the time that devices were busy with it, or
 * the host's for one that runs on the CPU; the median over its executions. So these are always
 * known:
 *   intensity   FLOP / bytes
 *   achieved    FLOP / time, and bytes / time
 * Where the peaks of the device are known as well, shares of its roofs are:
 *   memory      bytes / bandwidth, as a share of the time
 *   compute     FLOP / peak of its type, the same. Whether tensor cores were used is not known,
 *               so this is a range: with the highest and the lowest peak that may apply. The lowest
 *               does not where it was exceeded.
 * and from these the class: latency-bound below ROOFLINE_FAR of both, else bound by the larger one.
 * It is known only if both ends of the range give the same, and if no roof was exceeded.
 *
 * Of several operators, sums are taken: of FLOP, of bytes, of times, and of the times at the roofs.
 */
#ifndef IFG_ANALYZE_ROOFLINE_H
#define IFG_ANALYZE_ROOFLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "timeline/timeline.h"

#define ROOFLINE_FAR   0.2
#define ROOFLINE_ABOVE 1.05 /* of a roof: more cannot be, so something else was measured */

/* What elements are, as far as peaks differ. */
enum roofline_type {
    ROOFLINE_TYPE_OTHER, /* no peak is known */
    ROOFLINE_FLOAT64,
    ROOFLINE_FLOAT32,
    ROOFLINE_FLOAT16, /* bfloat16 too */
    ROOFLINE_8_BITS,  /* int8, uint8, float8 */
};

/* What one node costs. */
struct roofline_cost {
    const char *name;
    const char *type; /* of the operator: "Conv" */
    double flops;     /* negative: not known */
    double bytes;
    enum roofline_type element;
};

struct roofline_peaks {
    char device[100]; /* "NVIDIA H200"; "" */
    char reason[160]; /* why nothing is known; "" */
    double bytes_per_s;
    double flops_per_s;    /* of float32, without tensor cores */
    double float64;        /* factors of that; 0: not known */
    double tensor_float32; /* by tensor cores: TF32; 0: they do not */
    double tensor_float16;
    double tensor_8_bits;
};

enum roofline_class {
    ROOFLINE_UNKNOWN,
    ROOFLINE_COMPUTE,
    ROOFLINE_MEMORY,
    ROOFLINE_LATENCY,
};

/* Of one operator, of all of a type, or of a model: one execution, in each inference. */
struct roofline_point {
    size_t nodes;
    size_t known;   /* nodes that the numbers below are of */
    size_t nothing; /* of these: nodes that neither compute nor move anything */
    bool on_device; /* the time is of devices; of several nodes: of all that are known */
    double time_ns; /* as all below: NAN where no node is known */
    double flops;
    double bytes;
    double compute_low; /* shares of the roofs; NAN: not known */
    double compute_high;
    double memory;
    enum roofline_class class;
    const char *why; /* nothing, or no class is known; "" */
};

struct roofline_node {
    const char *name;
    const char *type;
    const char *provider;
    uint64_t count; /* executions */
    struct roofline_point point;
};

struct roofline {
    char reason[400]; /* why there are no numbers; "" */
    struct roofline_peaks peaks;
    struct roofline_point whole; /* its class is known only if all nodes are */
    struct roofline_node *nodes; /* longest first; those without costs last */
    size_t node_count;
    struct roofline_node *types; /* the same; name and provider are "" */
    size_t type_count;
};

/* Of the operators of one model. Texts belong to the timeline. */
enum ifg_status roofline_create(const struct timeline *timeline, uint32_t model,
                                const struct roofline_cost *costs, size_t cost_count,
                                struct roofline **out_roofline,
                                struct ifg_error *err) IFG_MUST_CHECK;
/* One that says why there is none. */
enum ifg_status roofline_create_empty(const char *reason, struct roofline **out_roofline,
                                      struct ifg_error *err) IFG_MUST_CHECK;
void roofline_destroy(struct roofline *roofline); /* accepts NULL */

/* The peaks of the device that a process used, from what the recorder was told of it. */
void roofline_peaks_of(const struct timeline *timeline, uint32_t process,
                       struct roofline_peaks *out_peaks);

const char *roofline_class_name(enum roofline_class class); /* "compute-bound", ...; "" */

#endif
