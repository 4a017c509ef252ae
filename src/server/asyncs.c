// SPDX-License-Identifier: Apache-2.0
/* Async spans among those of their location: which come before and after, how usual one is. They
 * are far fewer than slices, and looked through each time. */
#include "base/alloc.h"
#include "server/slices_internal.h"

static uint64_t duration_of(const struct timeline_async *async)
{
    return async->end_ns > async->start_ns ? async->end_ns - async->start_ns : 0;
}

size_t asyncs_neighbour(const struct timeline *timeline, uint32_t location, uint64_t ns, bool after)
{
    size_t best = SIZE_MAX;

    for (size_t i = 0; i < timeline->async_count; i++) {
        uint64_t start = timeline->asyncs[i].start_ns;

        if (timeline->asyncs[i].location != location || (after ? start < ns : start >= ns))
            continue;
        if (best == SIZE_MAX || (after ? start < timeline->asyncs[best].start_ns
                                       : start > timeline->asyncs[best].start_ns))
            best = i;
    }
    return best;
}

void asyncs_put_same(struct ifg_json *json, const struct timeline *timeline, size_t span)
{
    const struct timeline_async *own = &timeline->asyncs[span];
    struct same_sums sums = { .least_ns = UINT64_MAX };
    size_t previous = asyncs_neighbour(timeline, own->location, own->start_ns, false);
    size_t next = asyncs_neighbour(timeline, own->location, own->start_ns + 1, true);
    size_t slower = SIZE_MAX;

    sums.values = ifg_alloc(timeline->async_count + 1, sizeof *sums.values);
    for (size_t i = 0; sums.values && i < timeline->async_count; i++) {
        uint64_t ns = duration_of(&timeline->asyncs[i]);

        if (timeline->asyncs[i].location != own->location)
            continue;
        sums.values[sums.kept++] = ns;
        sums.shorter += ns < duration_of(own);
        sums.least_ns = ns < sums.least_ns ? ns : sums.least_ns;
        sums.most_ns = ns > sums.most_ns ? ns : sums.most_ns;
        if ((ns > duration_of(own) || (ns == duration_of(own) && i > span)) &&
            (slower == SIZE_MAX || ns < duration_of(&timeline->asyncs[slower])))
            slower = i;
    }
    sums.count = sums.kept;
    sums.previous = previous == SIZE_MAX ? previous : timeline->slice_count + previous;
    sums.next = next == SIZE_MAX ? next : timeline->slice_count + next;
    sums.slower = slower == SIZE_MAX ? slower : timeline->slice_count + slower;
    slices_put_same(json, &sums);
    ifg_free(sums.values);
}
