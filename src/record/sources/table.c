// SPDX-License-Identifier: Apache-2.0
/*
 * All sources, in the order in which they finish: probes are taken out first, since a program that
 * goes on pays for them; names of frames are looked up last, since that takes longest and forks.
 */
#include "record/sources/sources.h"

const struct source *const record_sources[] = {
    &source_ort_attach, &source_probe_file, &source_proc, &source_heap, &source_perf,
};
const size_t record_source_count = sizeof record_sources / sizeof record_sources[0];
