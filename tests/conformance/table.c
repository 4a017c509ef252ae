// SPDX-License-Identifier: Apache-2.0
/* The table of sources with one more row: that is all that adding a source takes. */
#include "conformance/made_source.h"
#include "record/sources/sources.h"

const struct source *const record_sources[] = {
    &source_ort_attach, &source_probe_file, &source_proc, &source_heap, &source_perf, &source_made,
};
const size_t record_source_count = sizeof record_sources / sizeof record_sources[0];
