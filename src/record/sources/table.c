// SPDX-License-Identifier: Apache-2.0
/*
 * All sources, each with a file of its own here: a new one is that file and one more row. They
 * stand in the order in which they finish: probes are taken out first, since a program that goes on
 * pays for them; names of frames are looked up last, since that takes longest and forks.
 */
#include "record/source.h"

#define SOURCES                                                                                    \
    ROW(ort_attach)                                                                                \
    ROW(probe_file)                                                                                \
    ROW(inputs)                                                                                    \
    ROW(device)                                                                                    \
    ROW(proc)                                                                                      \
    ROW(heap)                                                                                      \
    ROW(perf)

#define ROW(name) extern const struct source source_##name;
SOURCES
#undef ROW

#define ROW(name) &source_##name,
const struct source *const record_sources[] = { SOURCES };
const size_t record_source_count = sizeof record_sources / sizeof record_sources[0];
