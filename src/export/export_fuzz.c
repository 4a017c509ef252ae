// SPDX-License-Identifier: Apache-2.0
/*
 * Every export of whatever a trace file may say.
 *
 * Strategies:
 *   - the input is a trace file; checksums are made right first, so that mutations reach what is
 *     behind them
 *   - every format, whole; and with each option that changes how it goes through the trace: stacks
 *     of samples and of zones, a row for each zone, a filter by name, time and thread, packets
 *   - a result is written, or there is a sentence about why not
 */
#include "export/export.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "mended_timeline.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool matches(const char *name, void *user)
{
    (void)user;
    return name[0] & 1;
}

static void write_one(const struct timeline *timeline, const struct export_format *format,
                      const struct export_options *options)
{
    struct export_result result = { 0 };
    struct ifg_error err = { 0 };
    struct export_sink sink;
    enum ifg_status status;

    if (export_sink_open(&sink, "/dev/null", true, &err))
        abort();
    status = export_run(timeline, format, options, &sink, &result, &err);
    if (status && !err.message[0])
        abort();
    for (size_t i = 0; i < result.note_count; i++)
        if (strnlen(result.notes[i], EXPORT_NOTE_BYTES) == EXPORT_NOTE_BYTES)
            abort();
    if (export_sink_close(&sink, status == IFG_OK, NULL) && !status)
        abort();
}

static void write_all(const struct timeline *timeline)
{
    static const struct export_options options[] = {
        { 0 },
        { .stacks = EXPORT_STACKS_ZONES, .unwrap = true, .by_thread = true, .compress = true },
        { .stacks = EXPORT_STACKS_SAMPLES, .self = true, .filter = "a", .separator = ";" },
        { .name_matches = matches, .from_ns = 10, .to_ns = 1000000 },
    };
    uint32_t programs[4];

    export_programs(timeline, programs, 4);
    for (const struct export_format *const *format = export_formats; *format; format++)
        for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
            write_one(timeline, *format, &options[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mended_timeline(data, size, write_all);
    return 0;
}
