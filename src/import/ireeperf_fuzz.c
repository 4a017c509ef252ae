// SPDX-License-Identifier: Apache-2.0
/*
 * Hostile profiles of IREE. Strategies:
 *
 * 1. The input is the whole file: lines of JSON, with kinds of records that the CPU never writes
 * among the seeds.
 * 2. Inputs of odd size arrive in small pieces, so that every line break meets every boundary.
 * 3. For some sizes the format has to be found out, or there is a limit of records.
 *
 * What is written is read back as a trace: it must be whole, and what was counted must be there.
 */
#include "import_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct import_options options = {
        .path = "profile.jsonl",
        .data = data ? data : (const uint8_t *)"",
        .data_bytes = size,
        .data_chunk = size % 2 ? 1 + size % 61 : 0,
        .format = size % 5 ? IMPORT_IREEPERF : IMPORT_AUTO,
        .max_events = size % 7 == 0 ? 3 : 0,
    };

    fuzz_import(&options);
    return 0;
}
