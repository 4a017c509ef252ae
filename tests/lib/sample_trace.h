// SPDX-License-Identifier: Apache-2.0
/* A random but repeatable trace, loaded, for tests that need a model with some of everything in it.
 */
#ifndef IFG_TESTS_SAMPLE_TRACE_H
#define IFG_TESTS_SAMPLE_TRACE_H

#include "timeline/timeline.h"

struct sample_trace {
    char path[256];
    struct trace_reader *reader;
    const struct timeline *timeline;
};

/* Two processes, five threads (one of them empty), zones, stages, operators, ML events of two
 * models, names that differ only in case, names that are the same in several places, long and
 * zero-length slices, unfinished ones, attributes of every type, messages, counters, async spans,
 * allocations, frames. False: something failed. The file is removed by sample_trace_fini. */
bool sample_trace_init(struct sample_trace *sample, uint64_t seed, size_t slices_per_thread);
void sample_trace_fini(struct sample_trace *sample);

/* A small generator, the same everywhere. */
uint64_t sample_random(uint64_t *state);

#endif
