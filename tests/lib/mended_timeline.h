// SPDX-License-Identifier: Apache-2.0
/* A mended trace (mended.h) out of a fuzzer's bytes, loaded for those targets that look at one. */
#ifndef IFG_TESTS_MENDED_TIMELINE_H
#define IFG_TESTS_MENDED_TIMELINE_H

#include "base/alloc.h"
#include "mended.h"
#include "timeline/timeline.h"
#include "trace/reader.h"

/* Does not look at what cannot be loaded. */
static inline void mended_timeline(const uint8_t *data, size_t size,
                                   void (*look)(const struct timeline *timeline))
{
    static const struct timeline_options options = { .threads = 1 };
    uint8_t *file = ifg_alloc(size + 1, 1);
    struct trace_reader *reader = NULL;
    const struct timeline *timeline = NULL;

    if (!file)
        return;
    if (size)
        memcpy(file, data, size);
    mended_trace(file, size);
    if (trace_reader_open_memory(file, size, "fuzz", &reader, NULL) == IFG_OK &&
        timeline_create(reader, &options, &timeline, NULL) == IFG_OK)
        look(timeline);
    timeline_destroy(timeline);
    trace_reader_close(reader);
    ifg_free(file);
}

#endif
