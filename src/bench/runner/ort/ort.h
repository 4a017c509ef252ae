// SPDX-License-Identifier: Apache-2.0
/*
 * ONNX Runtime as a runtime of the benchmark: a library of any version from 1.14 on, opened by
 * name, reached by the numbers of its functions.
 */
#ifndef IFG_BENCH_ORT_ORT_H
#define IFG_BENCH_ORT_ORT_H

#include <inferogram/bench_runtime.h>

#define BENCH_ORT_NAME "ONNX Runtime"

extern const struct ifg_bench_runtime bench_ort_runtime;

#endif
