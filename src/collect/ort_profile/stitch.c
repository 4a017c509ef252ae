// SPDX-License-Identifier: Apache-2.0
/* Putting operators where they belong: see stitch.h. */
#include "collect/ort_profile/stitch.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "collect/ort_profile/profile.h"
#include "trace/keys.h"

/* ONNX Runtime cuts times to microseconds: starts and durations, each by itself. */
#define SLACK_NS 2000u

/* A model_run that is longer than the Run around it was paired wrongly; clocks may differ a bit. */
#define LONGER_NS       50000u
#define LONGER_FRACTION 8u

#define AROUND_MAX 64 /* runs at the same time that are looked at */
#define DEPTH_MAX  64 /* graphs inside graphs */

/* A model_run and our Run around it; run is NULL if there is none. */
struct pair {
    const struct profile_run *profile;
    const struct ort_run *run;
};

/* An operator on our clock. */
struct placed {
    const struct profile_op *op;
    uint64_t start;
    uint64_t end;
};

static int by_run(const void *a, const void *b)
{
    const struct ort_run *left = a;
    const struct ort_run *right = b;

    if (left->tid != right->tid)
        return left->tid < right->tid ? -1 : 1;
    return left->start < right->start ? -1 : left->start > right->start;
}

static int by_profile_run(const void *a, const void *b)
{
    const struct profile_run *left = a;
    const struct profile_run *right = b;

    if (left->tid != right->tid)
        return left->tid < right->tid ? -1 : 1;
    return left->start_ns < right->start_ns ? -1 : left->start_ns > right->start_ns;
}

static int by_pair_start(const void *a, const void *b)
{
    const struct profile_run *left = ((const struct pair *)a)->profile;
    const struct profile_run *right = ((const struct pair *)b)->profile;

    return left->start_ns < right->start_ns ? -1 : left->start_ns > right->start_ns;
}

static bool may_be(const struct profile_run *profile, const struct ort_run *run,
                   double ticks_per_ns)
{
    double ours_ns = (double)(run->end - run->start) / ticks_per_ns;

    return (double)(profile->end_ns - profile->start_ns) <=
           ours_ns + ours_ns / LONGER_FRACTION + LONGER_NS;
}

/* The k-th of a thread with the k-th. Both lists are sorted; the pairs are sorted by start. */
static void make_pairs(const struct profile *profile, const struct ort_runs *runs,
                       double ticks_per_ns, struct pair *out_pairs)
{
    size_t at = 0;

    for (size_t i = 0; i < profile->run_count; i++) {
        const struct profile_run *run = &profile->runs[i];

        if (!i || profile->runs[i - 1].tid != run->tid)
            while (at < runs->count && runs->items[at].tid < run->tid)
                at++;
        out_pairs[i].profile = run;
        out_pairs[i].run = NULL;
        if (at < runs->count && runs->items[at].tid == run->tid) {
            if (may_be(run, &runs->items[at], ticks_per_ns))
                out_pairs[i].run = &runs->items[at];
            at++;
        }
    }
    if (profile->run_count)
        qsort(out_pairs, profile->run_count, sizeof *out_pairs, by_pair_start);
}

static bool contains(const struct profile_run *run, const struct profile_op *op)
{
    return run->start_ns <= op->start_ns && op->end_ns <= run->end_ns + SLACK_NS;
}

/* The run that an operator is part of: on its own thread, or else any that was going on. */
static const struct pair *find_pair(const struct pair *pairs, size_t count,
                                    const struct profile_op *op)
{
    const struct pair *other = NULL;
    size_t low = 0;
    size_t high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (pairs[middle].profile->start_ns <= op->start_ns)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = low; i > 0 && low - i < AROUND_MAX; i--) {
        const struct pair *pair = &pairs[i - 1];

        if (!contains(pair->profile, op))
            continue;
        if (pair->profile->tid == op->tid)
            return pair;
        if (!other)
            other = pair;
    }
    return other;
}

static uint64_t clamp(double ticks, const struct ort_run *run)
{
    if (ticks <= 0)
        return run->start;
    if (ticks >= (double)(run->end - run->start) || (uint64_t)ticks > run->end - run->start)
        return run->end;
    return run->start + (uint64_t)ticks;
}

static void place_op(const struct pair *pair, double ticks_per_ns, struct placed *placed)
{
    const struct profile_op *op = placed->op;
    double ours = (double)(pair->run->end - pair->run->start);
    double theirs = (double)(pair->profile->end_ns - pair->profile->start_ns) * ticks_per_ns;
    double shift = (ours - theirs) / 2;
    uint64_t begin_ns = pair->profile->start_ns;

    placed->start = clamp(shift + (double)(op->start_ns - begin_ns) * ticks_per_ns, pair->run);
    placed->end = clamp(shift + (double)(op->end_ns - begin_ns) * ticks_per_ns, pair->run);
}

static int by_thread_and_start(const void *a, const void *b)
{
    const struct placed *left = a;
    const struct placed *right = b;

    if (left->op->tid != right->op->tid)
        return left->op->tid < right->op->tid ? -1 : 1;
    if (left->start != right->start)
        return left->start < right->start ? -1 : 1;
    if (left->end != right->end)
        return left->end > right->end ? -1 : 1;
    return left->op > right->op ? -1 : left->op < right->op; /* what is inside is told first */
}

static int by_thread_and_end(const void *a, const void *b)
{
    const struct placed *left = a;
    const struct placed *right = b;

    if (left->op->tid != right->op->tid)
        return left->op->tid < right->op->tid ? -1 : 1;
    if (left->end != right->end)
        return left->end < right->end ? -1 : 1;
    if (left->start != right->start)
        return left->start > right->start ? -1 : 1;
    return left->op < right->op ? -1 : left->op > right->op;
}

/* The body of a loop lies inside the loop, also where cut times say that it ends a microsecond
 * later. Sorted by start. */
static void nest(struct placed *items, size_t count)
{
    const struct placed *around[DEPTH_MAX];
    size_t depth = 0;

    for (size_t i = 0; i < count; i++) {
        while (depth && (around[depth - 1]->op->tid != items[i].op->tid ||
                         around[depth - 1]->end <= items[i].start))
            depth--;
        if (depth && items[i].end > around[depth - 1]->end)
            items[i].end = around[depth - 1]->end;
        if (depth < DEPTH_MAX)
            around[depth++] = &items[i];
    }
}

static void write_op(struct trace_stream *stream, const struct profile *profile,
                     const struct placed *placed, uint32_t location)
{
    size_t at = placed->op->attributes;

    for (uint32_t i = 0; i < placed->op->attribute_count; i++) {
        struct profile_attribute attribute = profile_attribute_at(profile, at);

        trace_stream_attribute(stream, placed->start, location, attribute.type, attribute.key,
                               strlen(attribute.key), attribute.value, attribute.bytes);
        at = attribute.next_at;
    }
    trace_stream_zone(stream, placed->start, placed->end - placed->start, location);
}

/* The location of a node, made when it is first used. 0: none. */
static uint32_t location_of(const struct profile *profile, const struct stitch_sink *sink,
                            uint32_t *locations, uint32_t node_name)
{
    const char *name;

    if (!locations[node_name]) {
        name = ifg_strings_get(&profile->node_names, node_name);
        locations[node_name] = sink->location(sink->user, name, name + strlen(name) + 1);
    }
    return locations[node_name];
}

/* Sorted by thread and end. */
static enum ifg_status write_all(const struct profile *profile, const struct placed *items,
                                 size_t count, const struct stitch_sink *sink,
                                 struct stitch_result *result, struct ifg_error *err)
{
    uint32_t *locations = ifg_alloc(profile->node_names.count + 1, sizeof *locations);
    struct trace_stream *stream = NULL;

    if (!locations)
        return ifg_fail_no_memory(err, "for operators");
    for (size_t i = 0; i < count; i++) {
        uint32_t location;

        if (!i || items[i].op->tid != items[i - 1].op->tid) {
            if (stream)
                trace_stream_flush(stream, NULL, 0, 0);
            stream = sink->stream(sink->user, items[i].op->tid);
        }
        location = stream ? location_of(profile, sink, locations, items[i].op->node_name) : 0;
        if (location) {
            write_op(stream, profile, &items[i], location);
            result->written++;
        } else {
            result->lost++;
        }
    }
    if (stream)
        trace_stream_flush(stream, NULL, 0, 0);
    ifg_free(locations);
    return IFG_OK;
}

static enum ifg_status place_all(const struct profile *profile, const struct ort_runs *runs,
                                 double ticks_per_ns, const struct stitch_sink *sink,
                                 struct stitch_result *result, struct ifg_error *err)
{
    struct pair *pairs = ifg_alloc(profile->run_count + 1, sizeof *pairs);
    struct placed *items = ifg_alloc(profile->op_count + 1, sizeof *items);
    enum ifg_status status;
    size_t count = 0;

    if (!pairs || !items) {
        status = ifg_fail_no_memory(err, "for operators");
        goto out;
    }
    make_pairs(profile, runs, ticks_per_ns, pairs);
    for (size_t i = 0; i < profile->op_count; i++) {
        const struct pair *pair = find_pair(pairs, profile->run_count, &profile->ops[i]);

        if (!pair || !pair->run) {
            result->lost++;
            continue;
        }
        items[count].op = &profile->ops[i];
        place_op(pair, ticks_per_ns, &items[count++]);
    }
    if (count) {
        qsort(items, count, sizeof *items, by_thread_and_start);
        nest(items, count);
        qsort(items, count, sizeof *items, by_thread_and_end);
    }
    status = write_all(profile, items, count, sink, result, err);
out:
    ifg_free(pairs);
    ifg_free(items);
    return status;
}

/* ---- the load ---- */

/* The initialization is the last thing that a creation does, and that end is known on our clock. */
static void write_parts(const struct profile *profile, const struct ort_runs *runs,
                        double ticks_per_ns, const struct stitch_sink *sink,
                        struct stitch_result *result)
{
    const struct ort_load *load = &runs->load;
    const struct ort_run *span = &load->span;
    const struct profile_run *reading = &profile->reading;
    const struct profile_run *initializing = &profile->initializing;
    double zero = (double)(span->end - span->start) - (double)initializing->end_ns * ticks_per_ns;
    uint64_t first = clamp(zero + (double)initializing->start_ns * ticks_per_ns, span);
    int64_t session = (int64_t)runs->session;
    struct trace_stream *stream;

    if (!span->end || !initializing->end_ns || !load->read_location || !load->initialize_location)
        return;
    stream = sink->stream(sink->user, span->tid);
    if (!stream)
        return;
    if (reading->end_ns) {
        uint64_t start = clamp(zero + (double)reading->start_ns * ticks_per_ns, span);
        uint64_t end = clamp(zero + (double)reading->end_ns * ticks_per_ns, span);

        end = end < first ? end : first;
        trace_stream_zone(stream, start < end ? start : end, start < end ? end - start : 0,
                          load->read_location);
        result->written++;
    }
    if (load->is_cold)
        trace_stream_attribute(stream, first, load->initialize_location, TRACE_VALUE_SIGNED,
                               TRACE_KEY_SESSION, strlen(TRACE_KEY_SESSION), &session,
                               sizeof session);
    trace_stream_zone(stream, first, span->end - first, load->initialize_location);
    result->written++;
    trace_stream_flush(stream, NULL, 0, 0);
}

enum ifg_status ort_profile_stitch(const struct ort_runs *runs, const char *json, size_t json_bytes,
                                   double ticks_per_ns, const struct stitch_sink *sink,
                                   struct stitch_result *out_result, struct ifg_error *err)
{
    struct profile profile;
    enum ifg_status status = profile_read(json, json_bytes, &profile, err);

    memset(out_result, 0, sizeof *out_result);
    out_result->lost = profile.refused;
    if (!status)
        write_parts(&profile, runs, ticks_per_ns, sink, out_result);
    if (!status && profile.op_count) {
        if (runs->count)
            qsort(runs->items, runs->count, sizeof *runs->items, by_run);
        if (profile.run_count)
            qsort(profile.runs, profile.run_count, sizeof *profile.runs, by_profile_run);
        status = place_all(&profile, runs, ticks_per_ns, sink, out_result, err);
    }
    profile_fini(&profile);
    return status;
}
