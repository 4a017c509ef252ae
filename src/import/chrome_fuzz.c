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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "import/import.h"
#include "trace/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char path[128];

static void remove_file(void)
{
    unlink(path);
}

static void choose_path(void)
{
    struct stat info;

    snprintf(path, sizeof path, "%s/inferogram-fuzz-%d.ifg",
             stat("/dev/shm", &info) == 0 ? "/dev/shm" : "/tmp", (int)getpid());
    atexit(remove_file);
}

static void check(const struct import_result *result)
{
    struct trace_reader *reader;
    struct trace_zones zones = { 0 };
    struct trace_events events = { 0 };
    uint64_t zone_count = 0, open = 0, other = 0, details = 0;

    if (trace_reader_open(path, &reader, NULL))
        abort();
    if (!trace_reader_file(reader)->finished || trace_reader_file(reader)->damaged_blocks)
        abort();
    for (size_t i = 0; i < trace_reader_block_count(reader); i++) {
        const struct trace_block *block = trace_reader_block(reader, i);

        if (block->type == TRACE_BLOCK_ZONES) {
            if (trace_decode_zones(reader, i, &zones, NULL))
                abort();
            zone_count += zones.count;
            open += zones.open_count;
        } else if (block->type == TRACE_BLOCK_EVENTS) {
            if (trace_decode_events(reader, i, &events, NULL))
                abort();
            for (size_t j = 0; j < events.count; j++) {
                if (events.events[j].kind == TRACE_EVENT_ATTRIBUTE)
                    details++;
                else
                    other++;
            }
        }
    }
    if (zone_count + open + result->counts[IMPORT_OPEN_TOO_DEEP] !=
        result->zones + result->ml + result->ops)
        abort();
    if (other != result->async + result->flows + result->counters + result->messages)
        abort();
    if (details > result->details + zone_count + open)
        abort();
    trace_zones_fini(&zones);
    trace_events_fini(&events);
    trace_reader_close(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct import_result result;
    struct ifg_error err;
    struct import_options options = {
        .path = "prefix_2026-11-15_08-42-52.json",
        .data = data ? data : (const uint8_t *)"",
        .data_bytes = size,
        .data_chunk = size % 2 ? 1 + size % 61 : 0,
        .overwrite = true,
        .format = (enum import_format)(size % 3),
        .max_events = size % 7 == 0 ? 3 : 0,
        .tool_version = "fuzz",
    };

    if (!path[0])
        choose_path();
    options.output = path;
    if (import_file(&options, &result, &err) == IFG_OK)
        check(&result);
    return 0;
}
