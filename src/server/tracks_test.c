// SPDX-License-Identifier: Apache-2.0
/* Tracks of a trace: counters of a process that has two entries are one row. */
#include <string.h>

#include "ml_trace.h"
#include "server/routes.h"
#include "tap.h"

enum { EARLY = 5, LATER = 6, PID = 9000, RSS = 95001, FAULTS = 95002 };

static struct trace_stream *resources[8];

static void define(struct ml_trace *trace, uint32_t index, uint32_t pid, const char *program)
{
    static const char *const names[] = { "rss bytes", "page faults minor" };

    trace_writer_process(trace->writer, &(struct trace_process){ .index = index,
                                                                 .pid = pid,
                                                                 .program = program,
                                                                 .start_ticks = ML_TRACE_START });
    trace_writer_thread(trace->writer, 40 + index, index, 0, "resources");
    resources[index] = trace_stream_create(trace->writer, 40 + index);
    REQUIRE(resources[index] != NULL);
    for (uint32_t i = 0; i < 2; i++)
        trace_writer_location(trace->writer,
                              &(struct trace_location){ .process = index,
                                                        .id = RSS + i,
                                                        .kind = TRACE_LOCATION_COUNTER,
                                                        .name = names[i] });
}

static void put(uint32_t index, uint32_t location, uint64_t ns, double value)
{
    trace_stream_event(resources[index], TRACE_EVENT_COUNTER, ML_TRACE_START + ns, location, &value,
                       sizeof value);
}

/* A process that is known by its resources, and then by its library as well. */
static void write_both(struct ml_trace *trace, const char *later_program)
{
    ml_trace_begin(trace, NULL);
    define(trace, EARLY, PID, "/usr/bin/late");
    define(trace, LATER, PID, later_program);
    trace_writer_thread(trace->writer, 60, LATER, 9001, "worker");
    for (uint64_t i = 0; i < 10; i++)
        put(i < 4 ? EARLY : LATER, RSS, i * ML_MS, 100.0 + (double)i);
    put(EARLY, FAULTS, 2 * ML_MS, 7);
}

static size_t count_tracks(const struct server_trace *trace, const char *label,
                           const struct track **out_last)
{
    size_t count = 0;

    for (size_t i = 0; i < trace->track_count; i++)
        if (trace->tracks[i].kind == TRACK_COUNTER && strcmp(trace->tracks[i].label, label) == 0) {
            *out_last = &trace->tracks[i];
            count++;
        }
    return count;
}

static void one_row(void)
{
    struct ml_trace trace;
    struct server_trace served;
    const struct track *track = NULL;

    write_both(&trace, "/usr/bin/late");
    REQUIRE(ml_trace_load(&trace));
    memset(&served, 0, sizeof served);
    served.timeline = trace.timeline;
    REQUIRE(trace_build_tracks(&served, NULL) == IFG_OK);
    CHECK_UINT(count_tracks(&served, "rss", &track), 1);
    CHECK_UINT(track->count, 10);
    CHECK_STR(track->sub, "late (9000)");
    CHECK(track->min == 100 && track->max == 109);
    for (size_t i = 0; i < track->count; i++) /* by time */
        CHECK(served.timeline->counters[served.counter_order[track->first + i]].value ==
              100.0 + (double)i);
    CHECK_UINT(count_tracks(&served, "page faults minor", &track), 1);
    CHECK_UINT(track->count, 1);
    trace_destroy_tracks(&served);
    ml_trace_end(&trace);
}

/* Another program of the same number is another process. */
static void two_rows(void)
{
    struct ml_trace trace;
    struct server_trace served;
    const struct track *track = NULL;

    write_both(&trace, "/usr/bin/other");
    REQUIRE(ml_trace_load(&trace));
    memset(&served, 0, sizeof served);
    served.timeline = trace.timeline;
    REQUIRE(trace_build_tracks(&served, NULL) == IFG_OK);
    CHECK_UINT(count_tracks(&served, "rss", &track), 2);
    trace_destroy_tracks(&served);
    ml_trace_end(&trace);
}

TAP_MAIN(TAP_CASE(one_row), TAP_CASE(two_rows))
