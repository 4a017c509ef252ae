// SPDX-License-Identifier: Apache-2.0
/*
 * What the benchmarks of the hooks share: one ONNX Runtime in this process, seen through the hooks
 * and past them.
 *
 * A benchmark starts itself again under `inferogram record`; there the table of functions that
 * dlsym gives is ours, and dlvsym, which nobody stands in front of, gives the real one. Both drive
 * the same library, so what is compared differs in the hook alone.
 */
#ifndef IFG_ORT_BENCH_H
#define IFG_ORT_BENCH_H

#include <stddef.h>
#include <stdint.h>

#include "ort_min.h"

struct ort_bench {
    ort_table real;
    ort_table hooked;
    void *env;
    void *memory;
};

struct ort_bench_session {
    void *session;
    void *input;
    void *output; /* NULL: made by each run */
    const char *input_name;
    char *output_name;
};

/* The folder of a runtime or of models: tools/fetch-runtimes. Ends the program without it. */
void ort_bench_fetch(const char *name, char *out_path, size_t size);

/* Opens a library; ends the program when the hooks are not there. */
void ort_bench_open(struct ort_bench *ort, const char *library);

/* The same where there are no hooks, nor should be: both tables are the real one. */
void ort_bench_open_plain(struct ort_bench *ort, const char *library);

/* A session with one thread for a model with one input, whose shape is given. With an output shape,
 * the output is made once. */
void ort_bench_session_open(const struct ort_bench *ort, ort_table table, const char *model,
                            const char *input, const int64_t *dims, size_t rank,
                            const int64_t *output_dims, struct ort_bench_session *out);
void ort_bench_session_close(const struct ort_bench *ort, ort_table table,
                             struct ort_bench_session *session);

void ort_bench_run(ort_table table, const struct ort_bench_session *session);

double ort_bench_median(double *values, size_t count);

/* Starts `inferogram record -q -f -o FILE OPTIONS -- THIS --measure RESULTS ARGUMENTS` and waits
 * until that has written its results. Returns the number after `key` in them with
 * ort_bench_number(). */
void ort_bench_measure(const char *file, const char *options, const char *arguments);
double ort_bench_number(const char *key);

#endif
