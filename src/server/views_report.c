// SPDX-License-Identifier: Apache-2.0
/* Documents that the command line has too: the report, and the difference of two traces. */
#include "analyze/diff.h"
#include "export/documents.h"
#include "server/routes.h"
#include "server/traces.h"
#include "server/views_internal.h"

void serve_report(const struct server_request *request, struct server_answer *answer)
{
    const struct report *report;
    struct ifg_error err = { 0 };
    enum ifg_status status = trace_report(request->trace, &report, &err);

    if (status) {
        answer_status(answer, status, &err);
        return;
    }
    answer_json(answer);
    document_report(report, SIZE_MAX, &answer->body);
}

/* Both are loaded; false: the answer says that they are not, or why one cannot be. */
static bool use_both(struct server_trace *const traces[DIFF_SIDES], struct server_answer *answer)
{
    double progress = 0;
    bool ready = true;
    struct ifg_json json;

    for (int side = 0; side < DIFF_SIDES; side++) {
        enum trace_state state = trace_use(traces[side]);

        if (state == TRACE_BAD) {
            answer_error(answer, 422, "%s", traces[side]->why);
            return false;
        }
        ready &= state == TRACE_READY;
        progress += trace_progress(traces[side]) / DIFF_SIDES;
    }
    if (ready)
        return true;
    json = answer_json(answer);
    answer->status = 503;
    ifg_json_open(&json, '{');
    ifg_json_put_string(&json, "error", "loading");
    ifg_json_put_double(&json, "progress", progress);
    ifg_json_close(&json, '}');
    return false;
}

static bool take_threshold(const struct server_request *request, double *out_threshold,
                           struct server_answer *answer)
{
    const char *text = request_find(request->query, "threshold");
    double percent = 0;

    *out_threshold = DIFF_THRESHOLD;
    if (!text)
        return true;
    if (!request_parse_double(text, &percent) || !(percent > 0) || percent > 10000) {
        answer_error(answer, 400, "threshold is a percentage above 0");
        return false;
    }
    *out_threshold = percent / 100;
    return true;
}

void serve_compare(const struct server_request *request, struct server_answer *answer)
{
    static const char *const names[DIFF_SIDES] = { "a", "b" };
    struct server_trace *traces[DIFF_SIDES];
    struct diff_document document = { .diff = NULL };
    struct diff *diff = NULL;
    struct ifg_error err = { 0 };
    enum ifg_status status;

    for (int side = 0; side < DIFF_SIDES; side++) {
        uint32_t id;

        if (!request_index(request, names[side], false, request->traces->count, &id, answer))
            return;
        traces[side] = &request->traces->items[id];
    }
    if (!take_threshold(request, &document.threshold, answer) || !use_both(traces, answer))
        return;
    for (int side = 0; side < DIFF_SIDES; side++) {
        document.paths[side] = traces[side]->path;
        document.timelines[side] = traces[side]->timeline;
    }
    status = diff_create(document.timelines[DIFF_A], document.timelines[DIFF_B], document.threshold,
                         &diff, &err);
    if (status) {
        answer_status(answer, status, &err);
        return;
    }
    document.diff = diff;
    answer_json(answer);
    document_diff(&document, &answer->body);
    diff_destroy(diff);
}
