// SPDX-License-Identifier: Apache-2.0
/* A runtime from a shared library: see <inferogram/bench_runtime.h>. */
#ifndef IFG_BENCH_RUNNER_PLUGIN_H
#define IFG_BENCH_RUNNER_PLUGIN_H

#include <inferogram/bench_runtime.h>

#include "base/status.h"

/* Loads the library, which stays. What it does not have is NULL in *out_runtime. */
enum ifg_status plugin_load(const char *path, struct ifg_bench_runtime *out_runtime,
                            struct ifg_error *err) IFG_MUST_CHECK;

/* Copies what `given` has. IFG_INVALID, naming `path`: something is missing that must be there. */
enum ifg_status plugin_take(const char *path, const struct ifg_bench_runtime *given,
                            struct ifg_bench_runtime *out_runtime,
                            struct ifg_error *err) IFG_MUST_CHECK;

/* A copy of an array whose elements are as large as the other side has them; members that only one
 * side knows are 0 or left out. NULL: there is no array, or not enough memory. */
void *plugin_array(const void *from, size_t from_size, size_t to_size, size_t count);

#endif
