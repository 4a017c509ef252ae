// SPDX-License-Identifier: Apache-2.0
/* The numbers that all sources of a recording share: see sink.h. */
#include "collect/sink.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/array.h"

#define CLOCKS_MAX    256u
#define LOCATIONS_END (1u << 30)
#define PROCESSES_MAX (1u << 20) /* that can have locations */

void sink_fini(struct sink *sink)
{
    ifg_free(sink->next_locations);
    sink->next_locations = NULL;
    sink->numbered = 0;
}

uint32_t sink_clock(struct sink *sink, enum trace_clock_kind kind, uint64_t nominal_hz,
                    const char *name)
{
    if (sink->clock_count == CLOCKS_MAX)
        return SINK_CLOCK_NONE;
    trace_writer_clock(sink->writer, sink->clock_count, kind, nominal_hz, name);
    return sink->clock_count++;
}

static uint32_t add_process(struct sink *sink, uint32_t first_location)
{
    uint32_t index = sink->process_count++;

    size_t before = sink->numbered;

    if (!IFG_ARRAY_ROOM(sink->next_locations, sink->numbered, index + 1, PROCESSES_MAX))
        return index;
    for (size_t i = before; i < sink->numbered; i++)
        sink->next_locations[i] = LOCATIONS_END;
    sink->next_locations[index] = first_location;
    return index;
}

uint32_t sink_process(struct sink *sink, const struct sink_process *process)
{
    uint32_t index = add_process(sink, 1);

    sink->calls->define_process(sink->user, process, index);
    return index;
}

uint32_t sink_library_process(struct sink *sink)
{
    return add_process(sink, SINK_LOCATIONS_ADDED);
}

uint32_t sink_thread(struct sink *sink, uint32_t process, uint32_t tid, const char *name)
{
    uint32_t index = sink->thread_count++;

    trace_writer_thread(sink->writer, index, process, tid, name);
    return index;
}

uint32_t sink_location(struct sink *sink, struct trace_location location)
{
    if (location.process >= sink->numbered ||
        sink->next_locations[location.process] >= LOCATIONS_END)
        return 0;
    location.id = sink->next_locations[location.process]++;
    trace_writer_location(sink->writer, &location);
    return location.id;
}

void sink_instrument(struct sink *sink, const char *name, enum trace_instrument_state state,
                     const char *reason)
{
    sink->calls->instrument(sink->user, name, state, reason);
}

void sink_count(struct sink *sink, const char *key, uint64_t value)
{
    char text[24];

    snprintf(text, sizeof text, "%" PRIu64, value);
    trace_writer_fact(sink->writer, key, text);
}
