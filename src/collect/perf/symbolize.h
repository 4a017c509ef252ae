// SPDX-License-Identifier: Apache-2.0
/*
 * What the frames of a profile are called, their code and their sources, put into the trace so that
 * another machine needs nothing else. Names are looked up in a process of its own: it reads foreign
 * files with a large library, and may die of that without harm.
 */
#ifndef IFG_COLLECT_PERF_SYMBOLIZE_H
#define IFG_COLLECT_PERF_SYMBOLIZE_H

#include "collect/perf/modules.h"
#include "collect/perf/stacks.h"
#include "trace/writer.h"

struct symbolize_options {
    bool sources;       /* put the text of sampled files into the trace */
    unsigned timeout_s; /* for all names; 0: 60 */
};

struct symbolize_counts {
    size_t frames, named, guessed;
    size_t functions; /* with code in the trace */
    size_t code_bytes;
    size_t sources;
    char problem[200]; /* what went wrong with the names, or how to have more of them; "" */
};

struct python;

/* python NULL: there are no Python functions. */
void symbolize_frames(const struct modules *modules, const struct stacks *stacks,
                      const struct python *python, const struct symbolize_options *options,
                      struct trace_writer *writer, struct symbolize_counts *out_counts);

#endif
