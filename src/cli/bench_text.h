// SPDX-License-Identifier: Apache-2.0
/* The result of a benchmark for people. */
#ifndef IFG_CLI_BENCH_TEXT_H
#define IFG_CLI_BENCH_TEXT_H

#include "bench/measure/measure.h"
#include "cli/cli.h"

/* One screen: the model, where it ran, what it took, whether to believe it, what to do next. */
void bench_write_text(const struct bench_options *options, const struct bench_result *result,
                      struct ifg_bytes *out);

#endif
