// SPDX-License-Identifier: Apache-2.0
/*
 * A profile being taken: the kernel's samples become stacks of frames in modules, written to the
 * trace as they come; at the end the frames get their names, code and sources.
 */
#ifndef IFG_COLLECT_PERF_PROFILE_H
#define IFG_COLLECT_PERF_PROFILE_H

#include "collect/perf/explain.h"
#include "collect/perf/sampler.h"
#include "trace/writer.h"

struct profile;

struct profile_options {
    struct sampler_options sampler;
    struct trace_writer *writer;
};

struct profile_counts {
    struct sampler_counts sampler;
    uint64_t rooted;    /* samples whose stack reaches the thread's root */
    uint64_t inferred;  /* of all, those with frames that are not certain */
    uint64_t unwind_ns; /* spent on walking stacks */
    uint64_t frames, nodes, modules;
};

enum ifg_status profile_open(const struct profile_options *options, struct profile **out_profile,
                             struct sampler_facts *out_facts, struct ifg_error *err) IFG_MUST_CHECK;

/* Takes what the kernel has. Often enough: a ring holds about 20 samples of 24 KiB. */
void profile_drain(struct profile *profile, bool all);

struct sampler *profile_sampler(struct profile *profile);
void profile_count(const struct profile *profile, struct profile_counts *out_counts);

/* Takes the rest and writes it, with names, code and sources. Best while the processes live. */
void profile_finish(struct profile *profile, const struct explain_options *options,
                    struct explain_counts *out_counts);

/* Forgets all; what was not taken by now is lost. Accepts NULL. */
void profile_close(struct profile *profile);

#endif
