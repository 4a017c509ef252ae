// SPDX-License-Identifier: Apache-2.0
/*
 * A profile being taken: the kernel's samples become stacks of frames in modules, written to the
 * trace as they come; at the end the frames get their names, code and sources.
 */
#ifndef IFG_COLLECT_PERF_PIPELINE_H
#define IFG_COLLECT_PERF_PIPELINE_H

#include "collect/perf/symbolize.h"
#include "collect/perf/sampler.h"
#include "collect/python/python.h"
#include "trace/writer.h"

struct pipeline;

struct pipeline_options {
    struct sampler_options sampler;
    struct trace_writer *writer;
    bool want_wakers; /* also wakeups, if we may */
    bool no_sampler;  /* only stacks that others have copied; what is mapped is read in /proc */
};

/* A stack that somebody else has copied. */
struct pipeline_stack {
    uint64_t time_ns;
    uint32_t pid, tid;
    uint32_t program;    /* changes when the process calls exec */
    uint64_t ip, sp, fp; /* ip: inside the call */
    const uint8_t *bytes;
    size_t size;
};

struct pipeline_counts {
    struct sampler_counts sampler;
    uint64_t rooted;      /* samples whose stack reaches the thread's root */
    uint64_t cut;         /* those whose stack goes on behind what was copied of it */
    uint32_t stack_bytes; /* copied of each stack, in the end */
    uint64_t inferred;    /* of all, those with frames that are not certain */
    uint64_t unwind_ns;   /* CPU time spent on walking stacks, at most */
    uint64_t frames, nodes, modules;
    uint64_t wakes;      /* of recorded threads */
    uint64_t wakes_lost; /* wakeups of any thread that did not fit into a ring */
    uint64_t continued;  /* of those that are rooted, by what a Python interpreter knows */
    struct python_counts python;
};

enum ifg_status pipeline_open(const struct pipeline_options *options,
                              struct pipeline **out_pipeline, struct sampler_facts *out_facts,
                              struct ifg_error *err) IFG_MUST_CHECK;

/* Takes what the kernel has. Often enough: a ring holds about 20 samples of 24 KiB. */
void pipeline_drain(struct pipeline *pipeline, bool all);

struct sampler *pipeline_sampler(struct pipeline *pipeline);

/* Whether wakeups are recorded; *out_words: how, or why not ("" if nobody asked for them). */
bool pipeline_wakers(const struct pipeline *pipeline, const char **out_words);
/* Whether Python functions can be on stacks; *out_words: why not. */
bool pipeline_saw_python(const struct pipeline *pipeline); /* an interpreter, by its name */
bool pipeline_python(const struct pipeline *pipeline, const char **out_words);
void pipeline_count(const struct pipeline *pipeline, struct pipeline_counts *out_counts);

/* The node of its innermost frame, 0: nothing is known; and how it ended, a trace_stack_end. The
 * nodes are in the trace after pipeline_flush. */
uint32_t pipeline_put_stack(struct pipeline *pipeline, const struct pipeline_stack *stack,
                            uint8_t *out_end);
void pipeline_flush(struct pipeline *pipeline);

/* Samples and switches outside of this are not written. until_ns 0: without end. */
void pipeline_limit(struct pipeline *pipeline, uint64_t since_ns, uint64_t until_ns);

/* Takes the rest and writes it, with names, code and sources. Best while the processes live. */
void pipeline_finish(struct pipeline *pipeline, const struct symbolize_options *options,
                     struct symbolize_counts *out_counts);

/* Writes the names, code and sources of what is written so far, and nothing else. Once: what has
 * a name by then would get it again. */
void pipeline_explain(struct pipeline *pipeline, const struct symbolize_options *options,
                      struct symbolize_counts *out_counts);

/* Forgets all; what was not taken by now is lost. Accepts NULL. */
void pipeline_close(struct pipeline *pipeline);

#endif
