// SPDX-License-Identifier: Apache-2.0
/* Which part of a trace a document is about: see views_internal.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "server/views_internal.h"

static bool take_text(const struct server_request *request, const char *name, const char **out,
                      struct server_answer *answer)
{
    const char *text = request_text(request, name);

    *out = *text ? text : NULL;
    if (strlen(text) <= VIEWS_TEXT_MAX)
        return true;
    answer_error(answer, 400, "%s may have %u bytes", name, VIEWS_TEXT_MAX);
    return false;
}

/* The page knows threads by their tracks. */
static void name_thread(const struct server_trace *trace, struct views_filter *filter)
{
    const struct track *track =
        filter->thread ? trace_track((struct server_trace *)(uintptr_t)trace, filter->thread)
                       : NULL;
    uint32_t tid;

    if (!track || track->kind != TRACK_THREAD)
        return;
    if (track->thread != TIMELINE_NONE)
        tid = trace->timeline->threads[track->thread].tid;
    else if (track->sampled != TIMELINE_NONE && trace->profile)
        tid = trace->profile->threads[track->sampled].tid;
    else
        return;
    snprintf(filter->tid, sizeof filter->tid, "%u", tid);
    filter->thread = filter->tid;
}

bool views_filter(const struct server_request *request, struct views_filter *out,
                  struct server_answer *answer)
{
    uint64_t t0_ns, t1_ns;

    *out = (struct views_filter){ .model = UINT32_MAX };
    if (!request_range(request, &t0_ns, &t1_ns, answer) ||
        !request_index(request, "model", true, request->timeline->model_count, &out->model,
                       answer) ||
        !take_text(request, "op", &out->op, answer) ||
        !take_text(request, "thread", &out->thread, answer) ||
        !take_text(request, "q", &out->text, answer))
        return false;
    out->from_ns = t0_ns - request->timeline->begin_ns;
    out->to_ns = t1_ns - request->timeline->begin_ns;
    name_thread(request->trace, out);
    return true;
}

bool views_name_matches(const char *name, void *text)
{
    return strcasestr(name, text) != NULL;
}

struct hot_filter views_hot_filter(const struct views_filter *filter, bool rows)
{
    return (struct hot_filter){
        .from_ns = filter->from_ns,
        .to_ns = filter->to_ns,
        .model_number = filter->model == UINT32_MAX ? 0 : filter->model + 1,
        .op = filter->op,
        .thread = filter->thread,
        .name_matches = rows && filter->text ? views_name_matches : NULL,
        .user = (void *)(uintptr_t)filter->text,
    };
}

bool views_choice(const struct server_request *request, const char *name, const char *const *words,
                  size_t count, unsigned *out_choice, struct server_answer *answer)
{
    const char *text = request_text(request, name);
    char all[128] = "";
    size_t used = 0;

    *out_choice = 0;
    if (!*text)
        return true;
    for (unsigned i = 0; i < count; i++) {
        if (strcmp(text, words[i]) == 0) {
            *out_choice = i;
            return true;
        }
        used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", i ? ", " : "", words[i]);
        used = used < sizeof all ? used : sizeof all - 1;
    }
    answer_error(answer, 400, "%s is one of: %s", name, all);
    return false;
}

void views_put_null(struct ifg_json *json, const char *key)
{
    ifg_json_put_double(json, key, NAN);
}
