// SPDX-License-Identifier: Apache-2.0
/*
 * What the benchmarks share: clocks, a recorder as a child process, and the one-line JSON result.
 *
 * Every figure is a ratio or the best of interleaved rounds: machines are noisy, and what disturbs
 * one side of a ratio must be able to disturb the other.
 */
#ifndef IFG_BENCH_H
#define IFG_BENCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

double bench_cpu_seconds(void);              /* of this thread */
double bench_wall_seconds(void);             /* CLOCK_MONOTONIC */
double bench_process_cpu_seconds(pid_t pid); /* user + system of another process, so far */

/* The inferogram program: $INFEROGRAM, or the one of this build. */
const char *bench_tool(void);

/* Starts `inferogram record --pid PID -q -f -o FILE` and waits until this process is recording. */
pid_t bench_recorder_start(const char *file);

/* The same with more options, up to a NULL. */
pid_t bench_recorder_start_with(const char *file, const char *const *options);

/* SIGINT, then waits for it. Returns its exit status. */
int bench_recorder_stop(pid_t recorder);

/* A million zones a second, in bursts of 1,000, nested, as programs have them. Returns how many. */
uint64_t bench_emit_million_a_second(unsigned seconds);

/* A number out of `inferogram info --json FILE`, by a key such as "zones" (its first occurrence).
 */
uint64_t bench_info(const char *file, const char *key);

/* A file name in a private directory under $TMPDIR, removed at exit. */
const char *bench_file(const char *name);

/* Results: printed as lines for people, or as one JSON object with --json. A bar that is missed is
 * shown as such; it does not change the exit status, since a benchmark measures and a test judges.
 */
void bench_begin(const char *name, int argc, char **argv);
void bench_result(const char *key, double value, const char *unit);
void bench_bar(const char *key, double value, double at_most, const char *unit);
int bench_end(void);

#endif
