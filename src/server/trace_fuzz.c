// SPDX-License-Identifier: Apache-2.0
/*
 * Tracks and their level of detail, from whatever a trace file may say.
 *
 * Strategies:
 *   - the input is a trace file; checksums are made right first, so that mutations reach what is
 *     behind them
 *   - every kind of track, whole and in parts, wide and narrow; sampled calls and locations too
 *   - what comes out is within bounds: rows, locations, ids
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "server/lod.h"
#include "server/trace.h"
#include "mended_timeline.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void look_at(const struct lod *lod, uint64_t t0, uint64_t t1, unsigned px, size_t locations)
{
    struct lod_items items = { 0 };

    if (lod_view(lod, px, &t0, &t1, &items) == IFG_OK) {
        require(items.count <= LOD_ITEMS_MOST);
        for (size_t i = 0; i < items.count; i++) {
            require(items.items[i].row < lod->row_count && items.items[i].count > 0);
            require(!locations || items.items[i].location < locations);
        }
    }
    lod_items_fini(&items);
}

static void look_at_track(struct server_trace *trace, struct track *track)
{
    const struct timeline *timeline = trace->timeline;
    uint64_t begin = timeline->begin_ns;
    uint64_t end = timeline->end_ns + 1;
    const struct lod *lod = NULL;

    if (track_lod(trace, track, &lod, NULL) == IFG_OK) {
        size_t locations = track->kind == TRACK_MESSAGES ? 0 : timeline->location_count;

        look_at(lod, begin, end, 1600, locations);
        look_at(lod, begin, end, 1, locations);
        look_at(lod, begin + (end - begin) / 2, begin + (end - begin) / 2 + 1, 16384, locations);
    }
    if (track_sampled_calls(trace, track, &lod, NULL) == IFG_OK && lod)
        look_at(lod, begin, end, 1600, trace->profile->function_count);
}

static void look(const struct timeline *timeline)
{
    struct server_trace trace = { .name = "fuzz", .timeline = timeline };
    const struct location_index *index = NULL;

    pthread_mutex_init(&trace.index_lock, NULL);
    if (timeline_profile_get(timeline, &trace.profile, NULL) == IFG_OK &&
        trace_build_tracks(&trace, NULL) == IFG_OK)
        for (size_t i = 0; i < trace.track_count && i < 64; i++)
            look_at_track(&trace, &trace.tracks[i]);
    if (trace_locations(&trace, &index, NULL) == IFG_OK) {
        require(index->first[timeline->location_count] == timeline->slice_count);
        ifg_free(index->by_location);
        ifg_free(index->first);
        ifg_free(index->sums);
        ifg_free((void *)(uintptr_t)index);
    }
    trace_destroy_tracks(&trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mended_timeline(data, size, look);
    return 0;
}
