// SPDX-License-Identifier: Apache-2.0
/* Models and settings that are compared: what is known of each, and the processes they run in. */
#ifndef IFG_BENCH_COMPARE_MODELS_H
#define IFG_BENCH_COMPARE_MODELS_H

#include "bench/compare/compare_internal.h"
#include "bench/measure/measure_internal.h"

struct contender {
    struct measure_row base; /* its model and settings */
    struct measure_runtime found;
    const char *runtime; /* plugin, or NULL */
    struct compare_row *row;
    char version[160];  /* "ONNX Runtime 1.20.1" */
    double about_ms;    /* of an inference, roughly */
    uint64_t warmup;    /* inferences that its first process needed; 0: not known yet */
    double *samples_ms; /* of all its blocks */
    size_t sample_count, sample_capacity;
    struct statistics_block *blocks;
    size_t block_count, block_capacity;
    unsigned slot; /* in the process that runs now */
    bool loaded;
};

/* What the machine said around a block. */
struct seen_block {
    struct trust_reading before, after;
    uint64_t inferences;
    uint64_t reference_ns;
};

struct model_job {
    const struct compare_options *options;
    struct compare *compare;
    struct contender *contenders;  /* as many as rows, in their order */
    const struct input_sets *sets; /* the same for all */
    struct tensor_list *expected;  /* the baseline's outputs for each set */
    size_t expected_count;
    uint64_t random;
    uint32_t pairs_per_process;
    double deadline;
    bool out_of_time;
    size_t *order;
    struct seen_block *seen;
    size_t seen_count, seen_capacity;
    struct runner *runner; /* that runs now */
    struct runner_facts facts;
};

/* compare_process.c: a process, the models in it, and their blocks. */
enum ifg_status compare_process_start(struct model_job *job, const struct contender *contender,
                                      struct ifg_error *err) IFG_MUST_CHECK;
/* out_loaded (may be NULL): to be freed by the caller. Without sets nothing is bound. */
enum ifg_status compare_process_load(struct model_job *job, struct contender *contender,
                                     struct runner_loaded *out_loaded,
                                     struct ifg_error *err) IFG_MUST_CHECK;
enum ifg_status compare_process_warm_up(struct model_job *job, struct contender *contender,
                                        struct ifg_error *err) IFG_MUST_CHECK;
/* Its median in ms. */
enum ifg_status compare_process_block(struct model_job *job, struct contender *contender,
                                      uint64_t first_set, uint64_t reference_ns, double *out_ms,
                                      struct ifg_error *err) IFG_MUST_CHECK;
enum ifg_status compare_process_run(struct model_job *job, const struct contender *contender,
                                    uint64_t queries, uint64_t duration_ns, uint64_t first_set,
                                    struct runner_samples *samples,
                                    struct ifg_error *err) IFG_MUST_CHECK;
void compare_process_end(struct model_job *job);

/* compare_pairs.c: gathers units, see compare_gather. */
enum ifg_status compare_pairs_in_process(void *user, size_t target, struct ifg_error *err);
enum ifg_status compare_pairs_of_processes(void *user, size_t target, struct ifg_error *err);

#endif
