// SPDX-License-Identifier: Apache-2.0
/* Both ends of asynchronous events: see live_spans.h. */
#include "analyze/live_spans.h"

#include <string.h>

static bool is_same(const struct live_span_end *a, const struct live_span_end *b)
{
    return a->id == b->id && a->process == b->process && a->location == b->location;
}

static void take_out(struct live_span_ends *list, size_t at)
{
    list->count--;
    memmove(&list->ends[at], &list->ends[at + 1], (list->count - at) * sizeof list->ends[0]);
}

static void keep(struct live_span_ends *list, const struct live_span_end *end)
{
    if (list->count == LIVE_SPANS_MOST)
        take_out(list, 0);
    list->ends[list->count++] = *end;
}

/* The nearest other end in time, on the right side of it: ids may be used again. From the newest
 * on, where it mostly is. False: there is none. */
static bool find(struct live_span_ends *list, const struct live_span_end *end, bool later,
                 struct live_span_end *out_other)
{
    size_t best = SIZE_MAX;

    for (size_t i = list->count; i-- > 0;) {
        const struct live_span_end *other = &list->ends[i];

        if (!is_same(other, end) || (later ? other->ns < end->ns : other->ns > end->ns))
            continue;
        if (best == SIZE_MAX ||
            (later ? other->ns < list->ends[best].ns : other->ns > list->ends[best].ns))
            best = i;
    }
    if (best == SIZE_MAX)
        return false;
    *out_other = list->ends[best];
    take_out(list, best);
    return true;
}

bool live_spans_begin(struct live_spans *spans, const struct live_span_end *begin,
                      struct live_span_end *out_other)
{
    if (spans->ended.count && find(&spans->ended, begin, true, out_other))
        return true;
    keep(&spans->begun, begin);
    spans->changed = true;
    return false;
}

bool live_spans_end(struct live_spans *spans, const struct live_span_end *end,
                    struct live_span_end *out_other)
{
    if (find(&spans->begun, end, false, out_other)) {
        spans->changed = true;
        return true;
    }
    keep(&spans->ended, end);
    return false;
}

static bool forget_in(struct live_span_ends *list, uint32_t process)
{
    size_t kept = 0;
    size_t before = list->count;

    for (size_t i = 0; i < before; i++)
        if (list->ends[i].process != process)
            list->ends[kept++] = list->ends[i];
    list->count = kept;
    return kept != before;
}

void live_spans_forget(struct live_spans *spans, uint32_t process)
{
    forget_in(&spans->ended, process);
    if (forget_in(&spans->begun, process))
        spans->changed = true;
}
