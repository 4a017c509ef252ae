// SPDX-License-Identifier: Apache-2.0
/* What the fuzz targets of the importer share: an import into a file that goes away, read back. */
#ifndef IFG_TESTS_IMPORT_FUZZ_H
#define IFG_TESTS_IMPORT_FUZZ_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "import/import.h"
#include "trace/reader.h"

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
        __builtin_trap();
    if (!trace_reader_file(reader)->finished || trace_reader_file(reader)->damaged_blocks)
        __builtin_trap();
    for (size_t i = 0; i < trace_reader_block_count(reader); i++) {
        const struct trace_block *block = trace_reader_block(reader, i);

        if (block->type == TRACE_BLOCK_ZONES) {
            if (trace_decode_zones(reader, i, &zones, NULL))
                __builtin_trap();
            zone_count += zones.count;
            open += zones.open_count;
        } else if (block->type == TRACE_BLOCK_EVENTS) {
            if (trace_decode_events(reader, i, &events, NULL))
                __builtin_trap();
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
        __builtin_trap();
    if (other != result->async + result->flows + result->counters + result->messages)
        __builtin_trap();
    if (details > result->details + zone_count + open)
        __builtin_trap();
    trace_zones_fini(&zones);
    trace_events_fini(&events);
    trace_reader_close(reader);
}

static void fuzz_import(struct import_options *options)
{
    struct import_result result;
    struct ifg_error err;

    if (!path[0])
        choose_path();
    options->output = path;
    options->overwrite = true;
    options->tool_version = "fuzz";
    if (import_file(options, &result, &err) == IFG_OK)
        check(&result);
}

#endif
