// SPDX-License-Identifier: Apache-2.0
/* A Chrome trace of inferences that are only times: see export.h. */
#include <stdio.h>

#include "base/alloc.h"
#include "export/export_internal.h"

#define LANES_MAX 4096u

/* Slices of a track may not overlap: the first one that is free by then. */
static uint32_t find_lane(uint64_t *ends, uint32_t *count, const struct export_inference *item)
{
    uint32_t lane = 0;

    while (lane < *count && ends[lane] > item->start_ns && lane + 1 < LANES_MAX)
        lane++;
    if (lane == *count)
        (*count)++;
    ends[lane] = item->end_ns;
    return lane;
}

static void put_slice(struct export_sink *sink, const struct ifg_bytes *name, size_t program,
                      const struct export_inference *item, uint64_t begin_ns, uint32_t lane)
{
    char text[256];

    export_put_text(sink, ",\n{\"name\":");
    export_put(sink, name->data, name->size);
    snprintf(text, sizeof text,
             ",\"cat\":\"ml\",\"ph\":\"X\",\"ts\":%.3f,\"dur\":%.3f,\"pid\":%zu,\"tid\":%llu,"
             "\"args\":{\"sample\":%llu,\"process\":%u,\"queued_us\":%.3f}}",
             1e-3 * (double)(item->start_ns - begin_ns),
             1e-3 * (double)(item->end_ns - item->start_ns), program + 1,
             (unsigned long long)item->process * LANES_MAX + lane + 1,
             (unsigned long long)item->number, item->process + 1,
             1e-3 * (double)(item->start_ns - item->due_ns));
    export_put_text(sink, text);
}

enum ifg_status export_chrome_of(const struct export_inferences *inferences,
                                 struct export_sink *sink, struct ifg_error *err)
{
    uint64_t *ends = ifg_alloc(LANES_MAX, sizeof *ends);
    uint32_t lanes = 0, process = UINT32_MAX;
    struct ifg_bytes name;
    char text[64];

    ifg_bytes_init(&name, 1u << 20);
    export_bytes_json(&name, inferences->name);
    if (!ends || name.failed) {
        ifg_free(ends);
        ifg_bytes_fini(&name);
        return ifg_fail_no_memory(err, NULL);
    }
    snprintf(text, sizeof text, "%zu", inferences->program + 1);
    export_put_text(sink,
                    "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n{\"name\":\"process_name\","
                    "\"ph\":\"M\",\"pid\":");
    export_put_text(sink, text);
    export_put_text(sink, ",\"args\":{\"name\":");
    export_put(sink, name.data, name.size);
    export_put_text(sink, "}}");
    for (size_t i = 0; i < inferences->count; i++) {
        const struct export_inference *item = &inferences->items[i];
        uint32_t lane;

        if (item->process != process)
            lanes = 0;
        process = item->process;
        lane = find_lane(ends, &lanes, item);
        if (item->number % inferences->every == 0)
            put_slice(sink, &name, inferences->program, item, inferences->items[0].start_ns, lane);
    }
    export_put_text(sink, "\n]}\n");
    ifg_free(ends);
    ifg_bytes_fini(&name);
    return IFG_OK;
}
