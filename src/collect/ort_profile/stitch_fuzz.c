// SPDX-License-Identifier: Apache-2.0
/*
 * What this tries: both files that a hook hands over, of any content: lists of runs that are cut,
 * overlap or overflow, profiles with any times, threads, names and nesting, packed ones too.
 * Reading must end, every operator must lie inside a run of the list, and the trace must be
 * readable.
 *
 * The input is the list, a NUL, and the profile.
 */
#include "collect/ort_profile/stitch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct trace_writer *writer;
static struct trace_stream *stream;
static uint32_t locations;

static struct trace_stream *give_stream(void *user, uint32_t tid)
{
    (void)user;
    return tid % 5 == 4 ? NULL : stream;
}

static uint32_t give_location(void *user, const char *name, const char *type)
{
    struct trace_location location = {
        .id = ++locations, .kind = TRACE_LOCATION_OP, .name = name, .function = type
    };

    (void)user;
    if (locations > 1000)
        return 0;
    trace_writer_location(writer, &location);
    return location.id;
}

/* The earliest start and the latest end of the list. */
static void check_bounds(const struct trace_reader *reader, const struct ort_runs *runs)
{
    uint64_t first = UINT64_MAX;
    uint64_t last = 0;

    for (size_t i = 0; i < runs->count; i++) {
        first = runs->items[i].start < first ? runs->items[i].start : first;
        last = runs->items[i].end > last ? runs->items[i].end : last;
    }
    for (size_t i = 0; i < trace_reader_block_count(reader); i++) {
        const struct trace_block *block = trace_reader_block(reader, i);

        if (block->type == TRACE_BLOCK_ZONES && block->count &&
            (block->t0 < first || block->t1 > last))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char path[64];
    const char *text = (const char *)data;
    const char *nul = size ? memchr(data, 0, size) : NULL;
    size_t list_bytes = nul ? (size_t)(nul - text) : size;
    const char *json = nul ? nul + 1 : text + size;
    struct stitch_sink sink = { NULL, give_stream, give_location };
    struct trace_process process = { .pid = 1 };
    struct trace_reader *reader = NULL;
    struct stitch_result result;
    struct ort_runs runs;

    if (ort_runs_parse(text, list_bytes, &runs, NULL))
        return 0;
    snprintf(path, sizeof path, "%s/ifg-stitch-fuzz-%d.ifg",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", (int)getpid());
    if (trace_writer_create(path, true, &writer, NULL))
        abort();
    locations = 0;
    trace_writer_process(writer, &process);
    trace_writer_thread(writer, 0, 0, 1, "");
    stream = trace_stream_create(writer, 0);
    if (ort_profile_stitch(&runs, json, size - (size_t)(json - text), 2.5, &sink, &result, NULL))
        abort();
    if (trace_writer_close(writer, NULL) || trace_reader_open(path, &reader, NULL))
        abort();
    check_bounds(reader, &runs);
    trace_reader_close(reader);
    unlink(path);
    ort_runs_fini(&runs);
    return 0;
}
