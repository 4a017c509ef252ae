// SPDX-License-Identifier: Apache-2.0
/*
 * The load that file sizes and reading speeds are measured with.
 *
 * Four threads run inferences: setup, then run with a hundred operators that have up to three zones
 * inside. Each operator has a typical duration between 2 us and 1 ms; real ones vary by 6 %, and
 * 0.4 % are far off. In the realistic mix operators come in a fixed order, as in a model; in the
 * random mix in any. The same arguments always give the same load.
 */
#ifndef IFG_BENCH_SYNTHETIC_H
#define IFG_BENCH_SYNTHETIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SYNTHETIC_THREADS 4u

/* Called for each zone, in the order of the ends. */
typedef void synthetic_zone(void *user, uint64_t start_ns, uint64_t end_ns, uint32_t location);

/* Called for each operator when it begins; may be NULL. */
typedef void synthetic_value(void *user, uint64_t start_ns, uint32_t location, uint64_t value);

/* At least `zones` zones of thread number `thread`. */
void synthetic_thread(uint32_t thread, size_t zones, bool random_order, synthetic_zone *zone,
                      synthetic_value *value, void *user);

/* A whole trace with about `zones` zones in all its threads, through the real writer. Exits on
 * failure; returns how many zones it has. */
uint64_t synthetic_trace(const char *path, size_t zones, bool random_order);

#endif
