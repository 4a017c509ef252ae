// SPDX-License-Identifier: Apache-2.0
/*
 * A process that holds a runtime and models and runs them when told. A crash, a hang or a refusal
 * in there comes back as a status with a sentence; nothing of it can harm the tool. It dies with
 * the thread that started it.
 *
 * Statuses: IFG_CORRUPT the model, IFG_INVALID the inputs, IFG_UNSUPPORTED this build or machine
 * lacks it, IFG_NOT_FOUND no such library, IFG_CANCELLED the user stopped it, IFG_INTERNAL the
 * runtime failed or crashed (runner_crashed tells).
 */
#ifndef IFG_BENCH_RUNNER_H
#define IFG_BENCH_RUNNER_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"
#include "bench/inputs/tensor.h"

struct runner;

struct runner_options {
    const char *program; /* inferogram-bench-runner */
    char *const *prefix; /* words put before it, e.g. inferogram record ... --; or NULL */
    const char *runtime; /* a plugin's path; NULL: ONNX Runtime */
    const char *library; /* what the runtime's `open` gets */
    const volatile sig_atomic_t *stop; /* not 0: the user wants to end; NULL: cannot */
    int pin_cpu;                       /* -1: no */
    uint32_t patience_s; /* an answer or inference that takes longer is a hang; 0: wait */
};

struct runner_facts {
    pid_t pid;          /* of the process that runs the models */
    uint64_t start_ns;  /* from our decision to start it until it could take orders */
    uint64_t open_ns;   /* of that: loading the runtime's library */
    uint64_t rss_bytes; /* then: before any model */
    char runtime[64];   /* "ONNX Runtime" */
    char version[64];
    char library[256]; /* file name of the library */
};

struct runner_setting {
    const char *key;
    const char *value;
};

struct runner_model {
    const char *path;
    const struct runner_setting *settings;
    size_t setting_count;
};

struct runner_placement {
    char provider[64];
    uint32_t nodes;
};

struct runner_node {
    char *name;
    char *op_type;
    char *provider;
};

#define RUNNER_PLACEMENTS 16

struct runner_loaded {
    unsigned slot; /* names the model in later calls */
    uint64_t load_ns;
    uint64_t specialization_ns; /* 0: not known */
    uint64_t rss_bytes;         /* after it */
    struct port_list inputs;
    struct port_list outputs;
    struct runner_placement placements[RUNNER_PLACEMENTS];
    size_t placement_count;
    char placement_reason[160]; /* why there is none */
    struct runner_node *nodes;  /* by provider, where the runtime tells */
    size_t node_count;
};

enum runner_load_kind {
    RUNNER_CLOSED, /* each worker begins the next query when the last one has ended */
    RUNNER_OPEN,   /* queries begin when they are due, whether or not earlier ones have ended */
};

struct runner_work {
    enum runner_load_kind kind;
    uint32_t workers;     /* threads; 0: 1 */
    uint32_t per_query;   /* inferences of a query, one after the other; 0: 1 */
    uint64_t queries;     /* 0: until duration_ns */
    uint64_t duration_ns; /* no new query after this; 0: no limit */
    double rate_hz;       /* open: mean of the Poisson arrivals, by splitmix64 from seed */
    uint64_t seed;
    uint64_t first_set; /* query i uses input set (first_set + i) % sets */
};

/* Times in ns since the first query was due, in order of their starts. A failed query ends the run:
 * status and message tell, and what was measured before it is there. Several runs appended to one
 * count from the first one's first query. */
struct runner_samples {
    uint64_t *due_ns; /* closed: the same as start_ns */
    uint64_t *start_ns;
    uint64_t *end_ns;
    size_t count, capacity;
    uint64_t wall_ns;  /* from the first start to the last end; several runs: the sum of theirs */
    uint64_t epoch_ns; /* CLOCK_MONOTONIC when the first query was due */
    uint64_t unserved; /* open: due, but three times duration_ns was over before their turn came */
    bool stopped;      /* by the user */
};

enum ifg_status runner_start(const struct runner_options *options, struct runner **out_runner,
                             struct runner_facts *out_facts, struct ifg_error *err) IFG_MUST_CHECK;

enum ifg_status runner_load(struct runner *runner, const struct runner_model *model,
                            struct runner_loaded *out_loaded, struct ifg_error *err) IFG_MUST_CHECK;
void runner_loaded_fini(struct runner_loaded *loaded);

enum ifg_status runner_bind(struct runner *runner, unsigned slot, const struct tensor_list *sets,
                            size_t set_count, uint32_t workers,
                            struct ifg_error *err) IFG_MUST_CHECK;

/* Appends to *samples, which begins as zeroes. When the user stops it: IFG_OK, with what was
 * measured and samples->stopped; IFG_CANCELLED if an inference had not ended two seconds later and
 * the process was killed, likewise with what was measured. */
enum ifg_status runner_run(struct runner *runner, unsigned slot, const struct runner_work *work,
                           struct runner_samples *samples, struct ifg_error *err) IFG_MUST_CHECK;
void runner_samples_fini(struct runner_samples *samples);

/* One run of set number `set`, and what came out. */
enum ifg_status runner_results(struct runner *runner, unsigned slot, size_t set,
                               struct tensor_list *out_tensors,
                               struct ifg_error *err) IFG_MUST_CHECK;

/* A fixed piece of arithmetic of about a millisecond, the yardstick for the machine itself: the
 * best of three, in ns. */
enum ifg_status runner_reference(struct runner *runner, uint64_t *out_ns,
                                 struct ifg_error *err) IFG_MUST_CHECK;

/* Devices and providers, a line each. Free with ifg_free on each line and the array. */
enum ifg_status runner_devices(struct runner *runner, char ***out_lines, size_t *out_count,
                               struct ifg_error *err) IFG_MUST_CHECK;

enum ifg_status runner_unload(struct runner *runner, unsigned slot,
                              struct ifg_error *err) IFG_MUST_CHECK;

/* "was killed by signal 11 (Segmentation fault)"; NULL if it lives or ended well. */
const char *runner_crashed(const struct runner *runner);

/* Ends the process, kindly first. NULL is fine. */
void runner_stop(struct runner *runner);

#endif
