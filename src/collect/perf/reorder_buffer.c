// SPDX-License-Identifier: Apache-2.0
/* Rings are copied one after the other, so times are in order only within each. */
#include "collect/perf/reorder_buffer.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "collect/perf/records.h"

#define RECORDS_MAX ((size_t)256 << 20)

struct reorder_buffer_entry {
    uint64_t time_ns;
    size_t at; /* byte of records */
};

void reorder_buffer_init(struct reorder_buffer *buffer)
{
    memset(buffer, 0, sizeof *buffer);
    ifg_bytes_init(&buffer->records, RECORDS_MAX);
}

void reorder_buffer_fini(struct reorder_buffer *buffer)
{
    ifg_bytes_fini(&buffer->records);
    ifg_free(buffer->entries);
    memset(buffer, 0, sizeof *buffer);
}

static int by_offset(const void *left, const void *right)
{
    const struct reorder_buffer_entry *a = left;
    const struct reorder_buffer_entry *b = right;

    return (a->at > b->at) - (a->at < b->at);
}

static int by_time(const void *left, const void *right)
{
    const struct reorder_buffer_entry *a = left;
    const struct reorder_buffer_entry *b = right;

    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? -1 : 1;
    return by_offset(left, right);
}

static const struct perf_event_header *record_at(const struct reorder_buffer *buffer, size_t at)
{
    return (const void *)(buffer->records.data + at);
}

void reorder_buffer_forget_told(struct reorder_buffer *buffer)
{
    size_t left = buffer->count - buffer->told;
    size_t end = 0;

    if (!buffer->told)
        return;
    memmove(buffer->entries, buffer->entries + buffer->told, left * sizeof *buffer->entries);
    qsort(buffer->entries, left, sizeof *buffer->entries, by_offset);
    for (size_t i = 0; i < left; i++) {
        size_t size = record_at(buffer, buffer->entries[i].at)->size;

        memmove(buffer->records.data + end, buffer->records.data + buffer->entries[i].at, size);
        buffer->entries[i].at = end;
        end += size;
    }
    buffer->records.size = end;
    buffer->count = left;
    buffer->told = 0;
    buffer->sorted = false;
}

bool reorder_buffer_note(struct reorder_buffer *buffer, size_t from)
{
    while (from < buffer->records.size) {
        const struct perf_event_header *record = record_at(buffer, from);

        if (!IFG_ARRAY_ROOM(buffer->entries, buffer->room, buffer->count + 1, IFG_ARRAY_ANY)) {
            buffer->records.size = from;
            return false;
        }
        buffer->entries[buffer->count++] =
            (struct reorder_buffer_entry){ record_time(record), from };
        buffer->sorted = false;
        from += record->size;
    }
    return true;
}

size_t reorder_buffer_waiting(const struct reorder_buffer *buffer)
{
    return buffer->count - buffer->told;
}

const struct perf_event_header *reorder_buffer_next(struct reorder_buffer *buffer, uint64_t before)
{
    if (buffer->told == buffer->count)
        return NULL;
    if (!buffer->sorted)
        qsort(buffer->entries + buffer->told, buffer->count - buffer->told, sizeof *buffer->entries,
              by_time);
    buffer->sorted = true;
    if (buffer->entries[buffer->told].time_ns >= before)
        return NULL;
    return record_at(buffer, buffer->entries[buffer->told++].at);
}
