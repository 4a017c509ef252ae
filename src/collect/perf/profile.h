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
    bool want_wakers; /* also who woke whom, if we may */
    bool no_sampler;  /* only stacks that others have copied; what is mapped is read in /proc */
};

/* A stack that somebody else has copied. */
struct profile_stack {
    uint64_t time_ns;
    uint32_t pid, tid;
    uint32_t program;    /* changes when the process calls exec */
    uint64_t ip, sp, fp; /* ip: inside the call */
    const uint8_t *bytes;
    size_t size;
};

struct profile_counts {
    struct sampler_counts sampler;
    uint64_t rooted;      /* samples whose stack reaches the thread's root */
    uint64_t cut;         /* those whose stack goes on behind what was copied of it */
    uint32_t stack_bytes; /* copied of each stack, in the end */
    uint64_t inferred;    /* of all, those with frames that are not certain */
    uint64_t unwind_ns;   /* CPU time spent on walking stacks, at most */
    uint64_t frames, nodes, modules;
    uint64_t wakes;      /* of recorded threads */
    uint64_t wakes_lost; /* wake-ups of any thread that did not fit into a ring */
};

enum ifg_status profile_open(const struct profile_options *options, struct profile **out_profile,
                             struct sampler_facts *out_facts, struct ifg_error *err) IFG_MUST_CHECK;

/* Takes what the kernel has. Often enough: a ring holds about 20 samples of 24 KiB. */
void profile_drain(struct profile *profile, bool all);

struct sampler *profile_sampler(struct profile *profile);

/* Whether wake-ups are recorded; *out_words: how, or why not ("" if nobody asked for them). */
bool profile_wakers(const struct profile *profile, const char **out_words);
void profile_count(const struct profile *profile, struct profile_counts *out_counts);

/* The node of its innermost frame, 0: nothing is known; and how it ended, a trace_stack_end. The
 * nodes are in the trace after profile_flush. */
uint32_t profile_put_stack(struct profile *profile, const struct profile_stack *stack,
                           uint8_t *out_end);
void profile_flush(struct profile *profile);

/* Samples and switches outside of this are not written. until_ns 0: without end. */
void profile_limit(struct profile *profile, uint64_t since_ns, uint64_t until_ns);

/* Takes the rest and writes it, with names, code and sources. Best while the processes live. */
void profile_finish(struct profile *profile, const struct explain_options *options,
                    struct explain_counts *out_counts);

/* Forgets all; what was not taken by now is lost. Accepts NULL. */
void profile_close(struct profile *profile);

#endif
