// SPDX-License-Identifier: Apache-2.0
/* What of a track can be seen in a range: slices of all kinds. */
#include "server/handler.h"
#include "server/lod.h"
#include "server/routes.h"

struct track *request_track(const struct server_request *request, struct server_answer *answer)
{
    const char *id = request_find(request->query, "track");
    struct track *track = id ? trace_track(request->trace, id) : NULL;

    if (!id)
        answer_error(answer, 400, "which track? Add track=ID, as in meta");
    else if (!track)
        answer_error(answer, 404, "there is no such track in this trace");
    return track;
}

void track_view_answer(const struct server_request *request, track_view *view,
                       struct server_answer *answer)
{
    struct track *track = request_track(request, answer);
    const struct lod *lod = NULL;
    struct lod_items items = { 0 };
    struct ifg_error err = { 0 };
    enum ifg_status status;
    uint64_t t0;
    uint64_t t1;
    unsigned px;

    if (!track || !request_range(request, &t0, &t1, answer) || !request_px(request, &px, answer))
        return;
    status = view(request->trace, track, &lod, &err);
    if (!status && lod)
        status = lod_view(lod, px, &t0, &t1, &items);
    if (status)
        answer_status(answer, status, &err);
    else
        lod_write(request->timeline, &items, lod ? lod->row_count : 0, t0, t1,
                  answer_binary(answer));
    lod_items_fini(&items);
}

void serve_lod(const struct server_request *request, struct server_answer *answer)
{
    track_view_answer(request, track_lod, answer);
}
