// SPDX-License-Identifier: Apache-2.0
/* The result of a benchmark for people. */
#ifndef IFG_CLI_BENCH_TEXT_H
#define IFG_CLI_BENCH_TEXT_H

#include "bench/measure/measure.h"
#include "cli/cli.h"

/* One screen: the model, where it ran, what it took, whether to believe it, what to do next. */
void bench_write_text(const struct bench_options *options, const struct bench_result *result,
                      struct ifg_bytes *out);

/* ---- bench_energy.c ---- */

/* A number with three digits or so. */
const char *bench_number(double value, char out[32]);

/* "GPU 12.4 mJ (11.9 to 13.1) per inference above idle (idle GPU 61.3 W, ...)"; "" */
const char *bench_energy_words(const struct bench_row *row, char *out, size_t size);

#endif
