// SPDX-License-Identifier: Apache-2.0
/*
 * Hostile foreign traces. Strategies:
 *
 * 1. The input is the whole file: JSON, almost JSON, or gzip (which has a checksum, so the seeds
 * matter).
 * 2. Inputs of odd size arrive in small pieces, so that every search for an end meets every
 * boundary.
 * 3. The size also chooses the format that is asked for, and a limit of events for some.
 *
 * What is written is read back as a trace: it must be whole, and what was counted must be there.
 */
#include "import_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct import_options options = {
        .path = "prefix_2026-11-15_08-42-52.json",
        .data = data ? data : (const uint8_t *)"",
        .data_bytes = size,
        .data_chunk = size % 2 ? 1 + size % 61 : 0,
        .format = (enum import_format)(size % 3),
        .max_events = size % 7 == 0 ? 3 : 0,
    };

    fuzz_import(&options);
    return 0;
}
