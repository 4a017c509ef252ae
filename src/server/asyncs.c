// SPDX-License-Identifier: Apache-2.0
/* Async spans among those of their place: which come before and after, how usual one is. They are
 * far fewer than slices, and looked through each time. */
#include "base/alloc.h"
#include "server/slices_internal.h"

static uint64_t duration_of(const struct model_async *async)
{
    return async->end_ns > async->start_ns ? async->end_ns - async->start_ns : 0;
}

size_t asyncs_neighbour(const struct model *model, uint32_t place, uint64_t ns, bool after)
{
    size_t best = SIZE_MAX;

    for (size_t i = 0; i < model->async_count; i++) {
        uint64_t start = model->asyncs[i].start_ns;

        if (model->asyncs[i].place != place || (after ? start < ns : start >= ns))
            continue;
        if (best == SIZE_MAX ||
            (after ? start < model->asyncs[best].start_ns : start > model->asyncs[best].start_ns))
            best = i;
    }
    return best;
}

void asyncs_put_same(struct ifg_json *json, const struct model *model, size_t span)
{
    const struct model_async *own = &model->asyncs[span];
    struct same_sums sums = { .least_ns = UINT64_MAX };
    size_t previous = asyncs_neighbour(model, own->place, own->start_ns, false);
    size_t next = asyncs_neighbour(model, own->place, own->start_ns + 1, true);
    size_t slower = SIZE_MAX;

    sums.values = ifg_alloc(model->async_count + 1, sizeof *sums.values);
    for (size_t i = 0; sums.values && i < model->async_count; i++) {
        uint64_t ns = duration_of(&model->asyncs[i]);

        if (model->asyncs[i].place != own->place)
            continue;
        sums.values[sums.kept++] = ns;
        sums.shorter += ns < duration_of(own);
        sums.least_ns = ns < sums.least_ns ? ns : sums.least_ns;
        sums.most_ns = ns > sums.most_ns ? ns : sums.most_ns;
        if ((ns > duration_of(own) || (ns == duration_of(own) && i > span)) &&
            (slower == SIZE_MAX || ns < duration_of(&model->asyncs[slower])))
            slower = i;
    }
    sums.count = sums.kept;
    sums.previous = previous == SIZE_MAX ? previous : model->slice_count + previous;
    sums.next = next == SIZE_MAX ? next : model->slice_count + next;
    sums.slower = slower == SIZE_MAX ? slower : model->slice_count + slower;
    slices_put_same(json, &sums);
    ifg_free(sums.values);
}
