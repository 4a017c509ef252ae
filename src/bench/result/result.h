// SPDX-License-Identifier: Apache-2.0
/*
 * What a benchmark measured, with everything that is needed to judge it later: every sample, its
 * blocks and processes, the model, the runtime, the options and the machine. Written as one JSON
 * document (docs/json.md, "bench") and read back by compare and gate. Documents are hostile when
 * read.
 */
#ifndef IFG_BENCH_RESULT_H
#define IFG_BENCH_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/statistics.h"
#include "base/bytes.h"
#include "base/status.h"
#include "bench/machine/trust.h"

/* One process. Times in ms, memory in bytes; NAN and 0 where not known. */
struct bench_process {
    double start_ms; /* until the process could take orders, the runtime's library loaded */
    double load_ms;
    double specialization_ms; /* NAN: the runtime does not tell */
    double first_ms;          /* the first inference */
    size_t warmup;            /* inferences before the first kept one, the first one included */
    double warmup_mean_ms;
    bool steady;
    size_t steady_after; /* inferences; valid if steady */
    uint64_t before_bytes, after_load_bytes, after_runs_bytes, peak_bytes;
};

struct bench_block {
    struct statistics_block where;
    double reference_ms; /* the reference kernel, before it; NAN */
    double wall_ms;
    bool disturbed;
};

struct bench_op {
    char *name; /* of the node */
    char *op_type;
    char *provider;
    uint64_t count;
    double p50_ms;
    double total_ms;
    double share; /* of all operators' time */
};

struct bench_placement {
    char provider[64];
    uint32_t nodes;
};

/* An open-loop run. Percentiles of samples_ms are from the moment a query was due. */
struct bench_open_loop {
    bool used;
    double asked_hz, achieved_hz;
    uint64_t late; /* queries that began after they were due, by more than 0.1 ms */
    double lateness_p99_ms;
    double *service_ms; /* from the moment it began; as many as samples */
    bool overloaded;    /* achieved / asked < 0.98, and the queue grew to the end */
    double found_hz;    /* --find-rate: the highest that met the SLO; 0: none; NAN: not asked */
    double confirmed_s; /* ... in runs of so many seconds */
    uint64_t confirmed_queries, confirmed_too_slow;
    double missed_hz; /* the lowest rate that was seen to miss it; 0: none */
};

struct bench_row {
    char *name;     /* "CPU", "cuda+cpu", "threads=2" */
    char *settings; /* "threads=2, ep=cpu" */
    bool available;
    char *reason; /* why not; or what ended it early */
    bool crashed;

    double *samples_ms; /* kept ones, in order: processes, blocks, iterations */
    size_t sample_count;
    struct bench_block *blocks;
    size_t block_count;
    struct bench_process *processes;
    size_t process_count, process_capacity;

    struct statistics_summary summary; /* of samples_ms */
    struct statistics_interval median; /* hierarchical bootstrap of p50 */
    double throughput;                 /* completed inferences / wall, per second */
    struct statistics_interval throughput_interval;
    double slo_ms;  /* 0: none */
    double goodput; /* share within it */
    bool steady;    /* all processes reached it */
    double block_cv, block_autocorrelation, effective;
    size_t change_points[8]; /* block numbers where the level changed */
    size_t change_point_count;
    size_t outliers_disturbed; /* outliers that lie in disturbed blocks */
    struct bench_open_loop open;

    struct bench_placement placements[16];
    size_t placement_count;
    char *placement_reason;
    struct bench_op *ops;
    size_t op_count;
    char *ops_reason; /* why there are none */
    struct trust trust;
    double energy_cpu_j, energy_gpu_j; /* per inference, above idle; NAN */
    double energy_cpu_low_j, energy_cpu_high_j, energy_gpu_low_j, energy_gpu_high_j;
    double energy_idle_cpu_w, energy_idle_gpu_w;
    double energy_idle_s; /* how long that was measured; NAN: it was not, and nothing subtracted */
    char *energy_reason;

    uint32_t per_query;     /* inferences of each sample (scenario multi); 0 is 1. throughput counts
                               inferences, not queries */
    enum ifg_status status; /* why it is not available: unsupported here, or failed; not written */
};

struct bench_result {
    /* context */
    char *model_path;
    char *model_name;     /* file name */
    char *model_hash;     /* content id, hex; "" for what is not ONNX */
    uint64_t model_bytes; /* with external data */
    uint64_t parameters;
    char *precision; /* dtype of most parameters: "float32"; "" */
    char *opsets;    /* "ai.onnx 11" */
    char *runtime;   /* "ONNX Runtime" */
    char *runtime_version;
    char *library; /* path */
    char *library_from;
    char *inputs;       /* "x float32 1x3x320x320, random (seed 1)" */
    char *inputs_shape; /* canonical, for "is this the same work": "x:float32:1x3x320x320" */
    char *options;      /* the command line as given */
    char *tool_version;
    char *when;       /* RFC 3339, UTC */
    char *scenario;   /* "single" */
    int64_t batch;    /* inferences count this many samples each; 1 */
    uint32_t threads; /* 0: the runtime's choice */
    uint64_t seed;
    uint32_t iterations, processes;
    bool interrupted;
    bool percentile_nearest;
    char *trace; /* path, if one was written */
    struct host_facts host;

    struct bench_row *rows; /* the first available one is "the" result */
    size_t row_count;
    char **texts; /* that rows point to; made by reading */
    size_t text_count;
};

/* Computes summary, median, throughput and the other derived numbers of a row from its samples,
 * blocks and processes. */
enum ifg_status bench_row_finish(struct bench_row *row, bool nearest, uint64_t seed,
                                 struct ifg_error *err) IFG_MUST_CHECK;

/* The device policy that was asked for, from the row's settings; "" if none was. */
const char *bench_row_policy(const struct bench_row *row, char out[64]);
/* It wanted an NPU or a GPU, and every node is on the CPU. False as well if placement is not known.
 */
bool bench_row_fell_back(const struct bench_row *row);
bool bench_row_has_host_times(const struct bench_row *row); /* operators: PROVIDER_HOST_TIME */

/* Medians over a row's processes, of those that know it; NAN and 0 if none does. */
double bench_row_process_median(const struct bench_row *row, size_t offset); /* of a double */
struct bench_memory {
    uint64_t before_bytes, after_load_bytes, after_runs_bytes, peak_bytes;
    int64_t delta_bytes; /* peak - before; 0 if one of them is not known */
};
void bench_row_memory(const struct bench_row *row, struct bench_memory *out_memory);

/* The first row that was measured, or NULL. */
const struct bench_row *bench_result_main(const struct bench_result *result);

struct bench_result *bench_result_create(void); /* empty; NULL: out of memory */
void bench_result_destroy(struct bench_result *result);
void bench_row_fini(struct bench_row *row);

enum ifg_status bench_result_write_json(const struct bench_result *result, struct ifg_bytes *out,
                                        struct ifg_error *err) IFG_MUST_CHECK;
/* The keys of `winml perf`, for tools that read those. */
enum ifg_status bench_result_write_winml(const struct bench_result *result, struct ifg_bytes *out,
                                         struct ifg_error *err) IFG_MUST_CHECK;
/* A line per row, values as in the JSON; the header is stable. */
enum ifg_status bench_result_write_csv(const struct bench_result *result, struct ifg_bytes *out,
                                       struct ifg_error *err) IFG_MUST_CHECK;

/* IFG_CORRUPT names the byte or the key; derived numbers are computed again from the samples. A
 * foreign document that only has raw_samples_ms is enough. */
enum ifg_status bench_result_read(const char *path, struct bench_result **out_result,
                                  struct ifg_error *err) IFG_MUST_CHECK;
enum ifg_status bench_result_parse(const char *name, const void *json, size_t bytes,
                                   struct bench_result **out_result,
                                   struct ifg_error *err) IFG_MUST_CHECK;

/* What differs in context, a line each ("model hash: 12ab | 77fe"): returns how many. Lines are
 * owned by the caller (ifg_free each, and the array). `other_model`: differences of the model
 * itself are expected and left out. */
enum ifg_status bench_result_differences(const struct bench_result *a, const struct bench_result *b,
                                         bool other_model, char ***out_lines, size_t *out_count,
                                         struct ifg_error *err) IFG_MUST_CHECK;

#endif
