// SPDX-License-Identifier: Apache-2.0
/* What the parts of the benchmark share: a measurement, its rows, and one process of a row. */
#ifndef IFG_BENCH_MEASURE_INTERNAL_H
#define IFG_BENCH_MEASURE_INTERNAL_H

#include "bench/runner/find_ort.h"
#include "bench/measure/measure.h"
#include "onnx/onnx.h"

#define MEASURE_BOUNDS_MAX 64

/* What is needed to start the process that runs a model. */
struct measure_runtime {
    char runner[PATH_MAX];
    struct found_ort ort; /* empty path for plugins */
};

/* One line per second, made of whatever ended in it. */
struct measure_live {
    double *times_ms;
    size_t count, capacity;
    uint64_t began_ns, second_ns; /* CLOCK_MONOTONIC */
    uint64_t inferences;
};

struct measure_row {
    const struct bench_variant *variant; /* NULL: the only row */
    struct bench_row *row;
    const char *model;
    struct runner_setting settings[2 * BENCH_SETTINGS_MAX];
    size_t setting_count;
    struct input_sets own_sets;
    const struct input_sets *sets; /* its own, or those of a row with the same model */
    struct onnx_model *onnx;       /* NULL for plugins */
    struct inputs_bound bounds[MEASURE_BOUNDS_MAX];
    size_t bound_count;
    size_t sample_capacity, block_capacity;
    struct trust_reading (*readings)[2];    /* before and after each block */
    struct energy_use energy;               /* of its blocks */
    uint64_t spans_due_ns, spans_needed_ns; /* open loop: time scheduled, time it took */
    uint32_t open_runs, queue_grew;         /* open loop: in how many of its processes */
    uint64_t unserved;                      /* open loop: due, but given up */
    double rate_hz;                         /* open loop: asked, or found */
    bool rate_found;
    double *lateness_ms;  /* open loop: as many as samples */
    size_t open_capacity; /* of these, and of the service times */
    bool failed;          /* no further process */
};

struct measurement {
    const struct bench_options *options;
    struct bench_result *result;
    struct measure_runtime found;
    struct measure_row *rows;
    size_t row_count;
    struct energy *energy;
    struct energy_use idle; /* before anything ran */
    struct measure_idle {
        double low, high; /* of pieces of that */
        double fell_pct;  /* power came down by so much while it was measured; 0: it was at rest */
        bool falls;       /* and still did at the end: idle power may be anything below */
    } idle_cpu_w, idle_gpu_w;
    struct measure_live live;
    bool fatal; /* the error concerns every row */
};

/* A process with the model in it. */
struct measure_process {
    struct measurement *all;
    struct measure_row *row;
    uint32_t number; /* from 0 */
    struct runner *runner;
    struct runner_facts facts;
    struct runner_loaded loaded;
    uint32_t workers, per_query;
    struct bench_process *out;
    double *times_ms; /* of every query so far, warm-up first */
    size_t time_count, time_capacity;
    uint64_t next_set; /* input sets are used in turn */
};

/* check_model.c: as bench_check_model, and leaves the model open (*out_model NULL: plugins). */
enum ifg_status measure_open_model(const char *path, bool plugin, struct bench_result *result,
                                   struct onnx_model **out_model, struct ifg_error *err);

/* measure.c */
enum ifg_status measure_find_runtime(const struct bench_options *options,
                                     struct measure_runtime *out_found, struct ifg_error *err);
enum ifg_status measure_row_init(const struct bench_options *options,
                                 const struct bench_variant *variant, struct measure_row *row,
                                 struct ifg_error *err);
void measure_row_fini(struct measure_row *row);
bool measure_stopped(const struct bench_options *options);
void measure_show(const struct measure_process *process, const char *phase, uint64_t done,
                  uint64_t wanted, double seconds, double wanted_s, double last_p50_ms);
void measure_show_live(struct measurement *all, const double *times_ms, size_t count,
                       uint32_t per_query);
/* Those from `first` on. */
void measure_tell_kept(const struct measure_process *process, const struct runner_samples *samples,
                       size_t first);

/* measure_row.c: one process of one row, from its start to its end. What was measured before a
 * failure stays. */
enum ifg_status measure_one_process(struct measurement *all, struct measure_row *row,
                                    uint32_t number, struct ifg_error *err);
/* The input sets of a row, made when its ports are known. */
enum ifg_status measure_make_inputs(const struct bench_options *options, struct measure_row *row,
                                    const struct port_list *ports, struct ifg_error *err);
/* Closed-loop queries; their times are appended to process->times_ms. */
enum ifg_status measure_run_closed(struct measure_process *process, uint64_t queries,
                                   uint64_t duration_ns, struct runner_samples *samples,
                                   struct ifg_error *err);
/* A block of the row: its samples, its wall time and what the machine said around it. */
enum ifg_status measure_add_block(struct measure_process *process, const double *times_ms,
                                  size_t count, uint64_t reference_ns, uint64_t wall_ns,
                                  const struct trust_reading readings[2], struct ifg_error *err);
/* What was used since the last call; counted for the row, or not. */
void measure_add_energy(struct measure_process *process, bool count);

/* measure_open.c */
enum ifg_status measure_open_loop(struct measure_process *process, struct ifg_error *err);
enum ifg_status measure_find_rate(struct measure_process *process, struct ifg_error *err);
enum ifg_status measure_finish_open(struct measure_row *row, struct ifg_error *err);

/* measure_ops.c: runs rows one after the other in one more process under `record`, with a trace in
 * trace_path. Of several rows, those that cannot be loaded are left out. */
enum ifg_status measure_recorded(const struct bench_options *options,
                                 const struct measure_runtime *found, struct measure_row *rows,
                                 size_t row_count, uint32_t inferences, bool with_ops,
                                 const char *trace_path, struct ifg_error *err);
enum ifg_status measure_read_ops(const char *trace_path, struct bench_row *row,
                                 struct ifg_error *err);
/* A fresh folder for a trace, and its end. */
enum ifg_status measure_make_folder(char out_path[PATH_MAX], struct ifg_error *err);
void measure_remove_folder(const char *path);

#endif
