// SPDX-License-Identifier: Apache-2.0
/* Level of detail against a look at every slice, and rows that do not overlap. */
#include "server/lod.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "sample_trace.h"
#include "server/rows.h"
#include "server/trace.h"
#include "tap.h"

static struct sample_trace sample;

static bool in_range(const struct timeline *timeline, size_t i, uint64_t t0, uint64_t t1)
{
    return timeline->start_ns[i] < t1 &&
           (timeline->start_ns[i] >= t0 || timeline_end_ns(timeline, i) > t0);
}

/* Each long slice of a row is there as itself, and merged ones stand for all others. */
static void check_row(const struct timeline *timeline, const struct timeline_thread *thread,
                      uint16_t row, uint64_t t0, uint64_t t1, double least_ns,
                      const struct lod_items *items)
{
    size_t at = 0;
    uint64_t counted = 0;
    uint64_t there = 0;
    uint64_t before = 0;

    while (at < items->count && items->items[at].row != row)
        at++;
    for (size_t i = at; i < items->count && items->items[i].row == row; i++) {
        const struct lod_item *item = &items->items[i];

        counted += item->count;
        CHECK(item->start_ns >= before);
        before = item->start_ns;
        CHECK_UINT(item->location, timeline->location[item->id]);
        CHECK_UINT(timeline->depth[item->id], row);
        CHECK((item->count > 1) == ((item->flags & LOD_MERGED) != 0));
        if (item->count == 1) {
            CHECK_UINT(item->start_ns, timeline->start_ns[item->id]);
            CHECK_UINT(item->duration_ns, timeline_duration_ns(timeline, item->id));
            CHECK_UINT((item->flags & LOD_UNFINISHED) != 0,
                       timeline_is_unfinished(timeline, item->id));
        } else {
            CHECK((double)timeline_duration_ns(timeline, item->id) < least_ns);
        }
    }
    for (size_t i = thread->first_slice; i < thread->first_slice + thread->slice_count; i++) {
        if (timeline->depth[i] != row || !in_range(timeline, i, t0, t1))
            continue;
        there++;
        if ((double)timeline_duration_ns(timeline, i) < least_ns)
            continue;
        while (at < items->count && items->items[at].id != i)
            at++;
        REQUIRE(at < items->count);
        CHECK_UINT(items->items[at].count, 1);
    }
    CHECK_UINT(counted, there);
}

static void check_thread(const struct timeline *timeline, uint32_t thread, uint64_t seed)
{
    struct lod *lod = NULL;
    uint64_t length = timeline->end_ns - timeline->begin_ns;

    REQUIRE_INT(lod_create_thread(timeline, thread, &lod), IFG_OK);
    CHECK_UINT(lod_count(lod), timeline->threads[thread].slice_count);
    for (int i = 0; i < 40; i++) {
        uint64_t t0 = timeline->begin_ns + sample_random(&seed) % length;
        uint64_t t1 = t0 + 1 + sample_random(&seed) % (length / (1 + sample_random(&seed) % 200));
        double least_ns = (double)(t1 - t0) / (double)(1 + sample_random(&seed) % 2000) * 3;
        struct lod_items items;

        if (i == 0) {
            t0 = timeline->begin_ns;
            t1 = timeline->end_ns + 1;
        }
        tap_note("thread %u, range %d", thread, i);
        lod_items_init(&items, LOD_ITEMS_MOST);
        REQUIRE_INT(lod_query(lod, t0, t1, least_ns, &items), IFG_OK);
        CHECK(!items.full);
        for (size_t r = 0; r < lod->row_count; r++)
            check_row(timeline, &timeline->threads[thread], (uint16_t)r, t0, t1,
                      least_ns < 1 ? 1 : least_ns, &items);
        lod_items_fini(&items);
    }
    lod_destroy(lod);
}

static void against_every_slice(void)
{
    for (uint64_t seed = 1; seed <= 3; seed++) {
        REQUIRE(sample_trace_init(&sample, seed, 3000));
        for (uint32_t t = 0; t < sample.timeline->thread_count; t++)
            check_thread(sample.timeline, t, seed * 77 + t);
        sample_trace_fini(&sample);
    }
}

static void bounded(void)
{
    struct lod *lod = NULL;
    struct lod_items items;
    uint64_t t0;
    uint64_t t1;

    REQUIRE(sample_trace_init(&sample, 5, 3000));
    t0 = sample.timeline->begin_ns;
    t1 = sample.timeline->end_ns + 1;
    REQUIRE_INT(lod_create_thread(sample.timeline, 0, &lod), IFG_OK);
    lod_items_init(&items, 10);
    REQUIRE_INT(lod_query(lod, t0, t1, 1, &items), IFG_OK);
    CHECK(items.full);
    CHECK_UINT(items.count, 10);
    lod_items_fini(&items);
    REQUIRE_INT(lod_view(lod, 1600, &t0, &t1, &items), IFG_OK);
    CHECK(!items.full && items.count > 0);
    lod_items_fini(&items);
    /* A range in the middle is answered with what is left and right of it. */
    t0 = sample.timeline->begin_ns + (t1 - sample.timeline->begin_ns) / 2;
    t1 = t0 + 1000;
    REQUIRE_INT(lod_view(lod, 100, &t0, &t1, &items), IFG_OK);
    CHECK_UINT(t1 - t0, 3000);
    lod_items_fini(&items);
    lod_destroy(lod);
    sample_trace_fini(&sample);
}

static void grid(void)
{
    CHECK_UINT(lod_grid_ns(0), 1);
    CHECK_UINT(lod_grid_ns(0.5), 1);
    CHECK_UINT(lod_grid_ns(1e300), (uint64_t)1e18);
    for (double ns = 1; ns < 1e12; ns *= 1.37) {
        CHECK((double)lod_grid_ns(ns) >= ns);
        CHECK((double)lod_grid_ns(ns) <= ns * 1.04 + 1);
    }
    CHECK_UINT(lod_grid_ns(1000001), lod_grid_ns(1000002));
}

/* All kinds of tracks of a whole trace: nothing overlaps in a row, and nothing is lost. */
static void check_track(struct server_trace *trace, struct track *track)
{
    const struct lod *lod = NULL;
    const struct timeline *timeline = trace->timeline;

    tap_note("track %s", track->id);
    REQUIRE_INT(track_lod(trace, track, &lod, NULL), IFG_OK);
    if (track->kind != TRACK_OPS) /* which has inferences without operators too */
        CHECK_UINT(lod_count(lod), track->count);
    for (size_t r = 0; r < lod->row_count; r++) {
        uint64_t end = 0;

        for (size_t i = 0; i < lod->rows[r].count; i++) {
            uint32_t id = lod->rows[r].items[i];
            const struct lod_span *span =
                id < timeline->slice_count ? NULL : &trace->extras[id - timeline->slice_count];
            uint64_t start = span ? span->start_ns : timeline->start_ns[id];

            CHECK(start >= end);
            end = start + (span ? span->duration_ns : timeline_duration_ns(timeline, id));
        }
    }
}

static void tracks(void)
{
    struct server_trace trace = { .name = "test" };
    size_t checked = 0;

    REQUIRE(sample_trace_init(&sample, 9, 2000));
    trace.timeline = sample.timeline;
    trace.reader = sample.reader;
    REQUIRE_INT(trace_build_tracks(&trace, NULL), IFG_OK);
    for (size_t i = 0; i < trace.track_count; i++) {
        struct track *track = &trace.tracks[i];

        CHECK(trace_track(&trace, track->id) == track);
        CHECK(track->parent == TRACK_NONE || track->parent < i);
        if (track->kind == TRACK_COUNTER || track->kind == TRACK_PROCESS)
            continue;
        check_track(&trace, track);
        checked++;
    }
    CHECK(checked >= 8);
    CHECK(!trace_track(&trace, "nothing"));
    trace_destroy_tracks(&trace);
    sample_trace_fini(&sample);
}

static void no_memory(void)
{
    REQUIRE(sample_trace_init(&sample, 2, 200));
    for (long n = 0; n < 400; n++) {
        struct server_trace trace = { .name = "test",
                                      .timeline = sample.timeline,
                                      .reader = sample.reader };
        enum ifg_status status;

        ifg_alloc_fail_after(n);
        status = trace_build_tracks(&trace, NULL);
        ifg_alloc_fail_after(-1);
        trace_destroy_tracks(&trace);
        if (status == IFG_OK)
            break;
        CHECK_INT(status, IFG_NO_MEMORY);
        REQUIRE(n < 399);
    }
    sample_trace_fini(&sample);
}

TAP_MAIN(TAP_CASE(against_every_slice), TAP_CASE(bounded), TAP_CASE(grid), TAP_CASE(tracks),
         TAP_CASE(no_memory))
