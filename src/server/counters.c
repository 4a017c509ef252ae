// SPDX-License-Identifier: Apache-2.0
/* Values of a counter: the least, the most and the last of every pixel. */
#include <math.h>

#include "base/alloc.h"
#include "server/columns.h"
#include "server/handler.h"
#include "server/routes.h"

struct bucket {
    double time; /* of its first value */
    float min, max, last;
};

/* The first value of the track that is not before ns. */
static size_t first_value(const struct server_trace *trace, const struct track *track, uint64_t ns)
{
    const uint32_t *order = trace->counter_order + track->first;
    size_t low = 0;
    size_t high = track->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (trace->timeline->counters[order[middle]].ns < ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static size_t fill(const struct server_trace *trace, const struct track *track, uint64_t t0,
                   uint64_t t1, double bucket_ns, struct bucket *out, size_t most)
{
    const struct timeline *timeline = trace->timeline;
    const uint32_t *order = trace->counter_order + track->first;
    size_t first = first_value(trace, track, t0);
    size_t end = first_value(trace, track, t1);
    double current = -1;
    size_t count = 0;

    if (first > 0)
        first--; /* the value that holds at the begin */
    if (end < track->count)
        end++; /* and the one that a line goes to at the end */
    for (size_t i = first; i < end; i++) {
        const struct timeline_counter *counter = &timeline->counters[order[i]];
        double time = answer_ns(timeline, counter->ns);
        double number = floor(time / bucket_ns);
        float value = (float)counter->value;

        if (!isfinite(counter->value))
            continue;
        if (count == 0 || number != current || i + 1 == end) {
            if (count == most)
                break;
            out[count++] = (struct bucket){ time, value, value, value };
            current = number;
            continue;
        }
        out[count - 1].min = value < out[count - 1].min ? value : out[count - 1].min;
        out[count - 1].max = value > out[count - 1].max ? value : out[count - 1].max;
        out[count - 1].last = value;
    }
    return count;
}

static void write_columns(const struct bucket *buckets, size_t n, struct ifg_bytes *out)
{
    double *times = ifg_alloc(n + 1, sizeof *times);
    float *values = (float *)times;

    if (!times) {
        out->failed = true;
        return;
    }
    for (size_t i = 0; i < n; i++)
        times[i] = buckets[i].time;
    columns_put(out, times, n, sizeof *times);
    for (size_t i = 0; i < n; i++)
        values[i] = buckets[i].min;
    columns_put(out, values, n, sizeof *values);
    for (size_t i = 0; i < n; i++)
        values[i] = buckets[i].max;
    columns_put(out, values, n, sizeof *values);
    for (size_t i = 0; i < n; i++)
        values[i] = buckets[i].last;
    columns_put(out, values, n, sizeof *values);
    ifg_free(times);
}

void serve_counter(const struct server_request *request, struct server_answer *answer)
{
    struct track *track = request_track(request, answer);
    const struct timeline *timeline = request->timeline;
    struct bucket *buckets;
    struct ifg_bytes *out;
    uint64_t t0;
    uint64_t t1;
    uint64_t width;
    unsigned px;
    size_t most;
    size_t count;

    if (!track || !request_range(request, &t0, &t1, answer) || !request_px(request, &px, answer))
        return;
    if (track->kind != TRACK_COUNTER) {
        answer_error(answer, 400, "track %s is no counter", track->id);
        return;
    }
    width = t1 - t0;
    most = 3 * (size_t)px + 8;
    buckets = ifg_alloc(most, sizeof *buckets);
    if (!buckets) {
        answer_error(answer, 500, "not enough memory");
        return;
    }
    /* Three views: what is left and right of it is looked at next. */
    t0 = t0 - timeline->begin_ns > width ? t0 - width : timeline->begin_ns;
    t1 = timeline->end_ns + 1 - t1 > width ? t1 + width : timeline->end_ns + 1;
    count = fill(request->trace, track, t0, t1, (double)width / px, buckets, most);
    out = answer_binary(answer);
    columns_header(out, COLUMNS_COUNTERS, (uint32_t)count, 0, answer_ns(timeline, t0),
                   answer_ns(timeline, t1));
    write_columns(buckets, count, out);
    ifg_free(buckets);
}
