// SPDX-License-Identifier: Apache-2.0
/*
 * The descriptions of tracepoints, and records of them. Strategies:
 *
 * 1. The input is the text of a `format` file; every field that the recorder looks for is sought.
 * 2. The same bytes are then a record, and the fields that were found are read from it: whatever
 *    the text says, nothing outside is touched.
 * 3. And they are a record of the ring, laid out as the text says.
 */
#include <stdlib.h>
#include <string.h>

#include "collect/perf/sched_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile int64_t sink;

static void try_field(const char *text, const char *name, const uint8_t *data, size_t size,
                      struct tracepoint_field *out)
{
    if (tracepoint_find_field(text, name, out) && out->size != 1 && out->size != 2 &&
        out->size != 4 && out->size != 8)
        abort();
    if (!out->size && tracepoint_value(out, data, size, -5) != -5)
        abort();
    sink ^= tracepoint_value(out, data, size, 0);
}

static void try_record(struct sched_layout *layout, const uint8_t *data, size_t size)
{
    struct perf_event_header *record;
    struct sched_change change;
    uint64_t lost = 0;

    if (size < sizeof *record || size > UINT16_MAX)
        return;
    record = malloc(size);
    if (!record)
        return;
    memcpy(record, data, size);
    record->type = data[0] & 1 ? PERF_RECORD_SAMPLE : PERF_RECORD_LOST;
    record->size = (uint16_t)size;
    if (size >= sizeof *record + 30) {
        uint16_t type;

        memcpy(&type, (const uint8_t *)record + sizeof *record + 28, sizeof type);
        layout->waking_id = data[0] & 2 ? type : 1;
        layout->switch_id = type;
    }
    if (sched_understand(layout, record, &change, &lost) && !change.tid)
        abort();
    sink ^= (int64_t)(sched_record_time(record) + lost);
    free(record);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sched_layout layout = { 0 };
    char *text = malloc(size + 1);

    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    try_field(text, "common_flags", data, size, &layout.waking[WAKING_FLAGS]);
    try_field(text, "pid", data, size, &layout.waking[WAKING_PID]);
    try_field(text, "target_cpu", data, size, &layout.waking[WAKING_CPU]);
    try_field(text, "prev_pid", data, size, &layout.leaving[SWITCH_PID]);
    try_field(text, "prev_state", data, size, &layout.leaving[SWITCH_STATE]);
    free(text);
    try_record(&layout, data, size);
    return 0;
}
