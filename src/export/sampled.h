// SPDX-License-Identifier: Apache-2.0
/*
 * Samples for exporters: which of them are wanted, and the frames of their stacks as entries. An
 * entry is one name: a frame has one for the function with the code and one for each function that
 * was inlined there.
 */
#ifndef IFG_EXPORT_SAMPLED_H
#define IFG_EXPORT_SAMPLED_H

#include "export/export_internal.h"
#include "timeline/samples.h"

/* Of one stack; what lies further out is cut off. */
#define SAMPLED_DEPTH_MAX 1024u

struct sampled {
    struct export_job *job;
    const struct timeline_profile *profile;
    uint32_t *first_entry; /* of frame i (0: unknown): first_entry[i] .. first_entry[i + 1] */
    size_t entry_count;
    uint32_t *picked; /* samples that pass the filter, by time */
    size_t count;
    uint64_t period_ns; /* that a sample stands for; 1 if not known */
    uint32_t path[SAMPLED_DEPTH_MAX];
};

/* Whether stacks are those of samples: they are wanted, and there are some. */
bool sampled_is_wanted(const struct export_job *job);

/* The same for flame graphs, which have one or the other: of what tells more, and says so. */
bool sampled_are_richer(struct export_job *job);

/* Is this the thread that the options name? */
bool sampled_is_thread(const struct export_job *job, const struct timeline_sampled_thread *thread);

enum ifg_status sampled_init(struct sampled *sampled, struct export_job *job);
void sampled_fini(struct sampled *sampled);

/* Both, with a format between them. */
enum ifg_status sampled_export(struct export_job *job,
                               enum ifg_status (*write)(struct sampled *sampled));

/* Frames of a stack into path, innermost first; returns how many. */
size_t sampled_path(struct sampled *sampled, uint32_t node);

/* What an entry of a frame is called, with a mark if it is inlined or in the kernel; its symbol, or
 * NULL. Entries count from the innermost. */
const struct trace_symbol *sampled_entry(const struct sampled *sampled, uint32_t frame,
                                         uint32_t entry, struct ifg_bytes *out_name);

/* "name 4711" of a thread. */
void sampled_thread_name(const struct sampled *sampled, uint32_t thread, struct ifg_bytes *out);

/* The formats. */
enum ifg_status export_folded_samples(struct sampled *sampled);
enum ifg_status export_speedscope_samples(struct sampled *sampled);

/* states.c: states of threads as events of Chrome's format, with a comma before each. */
enum ifg_status export_chrome_states(struct export_job *job, const struct export_ids *ids);

/* The keys stackFrames and samples of Chrome's format, with a comma before each. */
enum ifg_status export_chrome_samples(struct sampled *sampled, uint64_t begin_ns);

#endif
