// SPDX-License-Identifier: Apache-2.0
/*
 * How much memory was resident before, at most, and after: of each process, and of every phase that
 * was recorded (loads, specializations, setups, inferences of each model; zones by name).
 *
 * Nothing is interpolated. Before: the last value at or before the start. After: the first one at
 * or after the end. Peak: the most in between, with what the kernel saw between two looks. What
 * happened between two looks may be of any phase between them: a phase that is shorter has the
 * values around it, no peak, and no growth unless nothing changed.
 */
#ifndef IFG_ANALYZE_MEMORY_H
#define IFG_ANALYZE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/findings/input.h"

/* Bytes; NAN where nothing is known. */
struct memory_span {
    double before, peak, after;
    uint64_t peak_from_ns, peak_ns; /* it was between the two; equal: at that look */
    bool coarse;   /* shorter than the sampling interval, or the peak may be just outside of it */
    bool is_short; /* the first of the two: the peak is NAN, unless it is a look */
    uint32_t first, last; /* the looks around it */
};

/* Memory that has come up stays there, more or less: what brought it there is told, and not what
 * ran at the highest of many values that are nearly the same. */
#define MEMORY_NEAR 0.02

enum memory_part { MEMORY_ALL, MEMORY_FIRST, MEMORY_REST };

struct memory_phase {
    uint32_t pid;
    bool whole;     /* a process from its first value to its last */
    uint32_t model; /* TIMELINE_NONE: a zone, or a process */
    enum trace_category category;
    enum memory_part part;   /* inferences: the first one of a model, and the others */
    const char *name;        /* the zone's, or the category's */
    uint64_t count;          /* instances whose memory is known */
    uint64_t coarse;         /* of these */
    uint64_t unpolled;       /* others, before the first look or after the last */
    struct memory_span most; /* of the instance with the largest peak - before */
    uint64_t most_start_ns;
    size_t most_slice; /* SIZE_MAX: it has none */
    /* What the looks around all instances differ by, the time between two looks counted once. NAN:
     * more than a tenth of it came between looks that stand around short instances. */
    double growth;
    uint64_t resolution_ns; /* of its process: usual time between two looks */
};

/* What ran in a process at a time; empty texts and TIMELINE_NONE where there was nothing. */
struct memory_scene {
    uint32_t model;
    enum trace_category category;
    uint64_t number; /* of the inference, from 1; 0: none */
    const char *op;
    const char *zone;
};

struct memory_process {
    uint32_t pid;
    const char *name;
    bool has_models;
    uint64_t looks; /* values there are */
    struct memory_span whole;
    double after_load;         /* when the loads before the first inference were over; NAN */
    double anon_peak;          /* most anonymous memory: not of files; NAN */
    struct memory_scene scene; /* when it first was near the peak: MEMORY_NEAR of the delta */
};

struct memory {
    bool fine;              /* record --memory; else a look every second or so */
    uint64_t resolution_ns; /* usual time between two looks */
    double gaps;            /* longer than 30 ms; NAN: not known */
    double longest_gap_ms;
    double cpu_seconds;               /* that the looks took; NAN */
    struct memory_process *processes; /* with models first, then by peak - before */
    size_t process_count;
    struct memory_phase *phases; /* largest peak - before first */
    size_t phase_count;
};

/* *out_memory is NULL if nothing is known. */
enum ifg_status memory_create(const struct ml_input *input,
                              struct memory **out_memory) IFG_MUST_CHECK;
void memory_destroy(struct memory *memory); /* accepts NULL */

/* How much more there was than before; NAN where the peak is not known. */
static inline double memory_delta(const struct memory_span *span)
{
    return span->peak - span->before;
}

#endif
