// SPDX-License-Identifier: Apache-2.0
/* Rings are copied one after the other, so times are in order only within each. */
#include "collect/perf/reorder_buffer.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "collect/perf/records.h"

#define RECORDS_MAX ((size_t)256 << 20)

struct reorder_buffer_location {
    uint64_t time_ns;
    size_t at; /* byte of records */
};

void reorder_buffer_init(struct reorder_buffer *held)
{
    memset(held, 0, sizeof *held);
    ifg_bytes_init(&held->records, RECORDS_MAX);
}

void reorder_buffer_fini(struct reorder_buffer *held)
{
    ifg_bytes_fini(&held->records);
    ifg_free(held->locations);
    memset(held, 0, sizeof *held);
}

static int by_location(const void *left, const void *right)
{
    const struct reorder_buffer_location *a = left;
    const struct reorder_buffer_location *b = right;

    return (a->at > b->at) - (a->at < b->at);
}

static int by_time(const void *left, const void *right)
{
    const struct reorder_buffer_location *a = left;
    const struct reorder_buffer_location *b = right;

    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? -1 : 1;
    return by_location(left, right);
}

static const struct perf_event_header *record_at(const struct reorder_buffer *held, size_t at)
{
    return (const void *)(held->records.data + at);
}

void reorder_buffer_forget_told(struct reorder_buffer *held)
{
    size_t left = held->count - held->told;
    size_t end = 0;

    if (!held->told)
        return;
    memmove(held->locations, held->locations + held->told, left * sizeof *held->locations);
    qsort(held->locations, left, sizeof *held->locations, by_location);
    for (size_t i = 0; i < left; i++) {
        size_t size = record_at(held, held->locations[i].at)->size;

        memmove(held->records.data + end, held->records.data + held->locations[i].at, size);
        held->locations[i].at = end;
        end += size;
    }
    held->records.size = end;
    held->count = left;
    held->told = 0;
    held->sorted = false;
}

bool reorder_buffer_note(struct reorder_buffer *held, size_t from)
{
    while (from < held->records.size) {
        const struct perf_event_header *record = record_at(held, from);

        if (!IFG_ARRAY_ROOM(held->locations, held->room, held->count + 1, IFG_ARRAY_ANY)) {
            held->records.size = from;
            return false;
        }
        held->locations[held->count++] =
            (struct reorder_buffer_location){ record_time(record), from };
        held->sorted = false;
        from += record->size;
    }
    return true;
}

size_t reorder_buffer_waiting(const struct reorder_buffer *held)
{
    return held->count - held->told;
}

const struct perf_event_header *reorder_buffer_next(struct reorder_buffer *held, uint64_t before)
{
    if (held->told == held->count)
        return NULL;
    if (!held->sorted)
        qsort(held->locations + held->told, held->count - held->told, sizeof *held->locations,
              by_time);
    held->sorted = true;
    if (held->locations[held->told].time_ns >= before)
        return NULL;
    return record_at(held, held->locations[held->told++].at);
}
