// SPDX-License-Identifier: Apache-2.0
/* Blocks of a growing trace, counted: see feed.h. */
#include "metrics/feed.h"

#include <string.h>

#include "analyze/live_spans.h"
#include "base/alloc.h"
#include "base/array.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "base/ticks.h"
#include "trace/follow.h"
#include "trace/keys.h"

#define BLOCKS_AT_ONCE 256
#define LOCATION_BITS  12u
#define HOLD_NS        1000000000ull
#define HELD_MOST      (4u * SPANS_PER_SECOND)
#define FAILED_MOST    256u
#define CLOCK_SPAN_NS  200000000ull /* shorter ones do not tell how fast a counter runs */
#define EARLY_MOST     65536u

/* What a location counts for, so that it need not be looked up for each event. */
struct known_location {
    uint32_t process, id;
    bool is_known;
    struct tally_series *series; /* NULL: it is no ML event */
};

/* Where an event began, which is how the details of it name it. */
struct event_begin {
    uint64_t ticks;
    uint32_t thread, location;
};

/* An event whose ends are known in ticks. */
struct ended_event {
    struct tally_series *series;
    struct event_begin begin;
    uint64_t end_ticks;
    uint32_t end_thread;
    uint32_t process;
};

struct held_span {
    struct event_begin begin;
    uint64_t since_ns;
    struct span span;
};

/* Events that are handed out. */
struct handing {
    struct span_ring *ring;
    struct held_span held[HELD_MOST];
    size_t held_count;
    struct event_begin failed[FAILED_MOST]; /* the last ones; they may come before the event */
    size_t failed_at;
    uint64_t second; /* that is now, */
    uint32_t taken;  /* and how many were taken in it */
};

struct metrics_feed {
    struct trace_follow *follow;
    struct tally *tally;
    char program[sizeof((struct tally_labels *)0)->program];
    struct known_location known[1u << LOCATION_BITS];
    struct live_spans spans;
    struct handing *handing;   /* NULL: nobody wants them */
    struct ended_event *early; /* before the clock was known well enough */
    size_t early_count, early_capacity;
    uint64_t *dropped; /* by thread */
    size_t dropped_count;
    uint64_t losses; /* that the trace tells of besides */
    uint64_t damaged;
};

enum ifg_status metrics_feed_open(struct trace_input *input, const char *program,
                                  struct tally *tally, struct metrics_feed **out_feed,
                                  struct ifg_error *err)
{
    struct metrics_feed *feed = ifg_alloc(1, sizeof *feed);
    struct trace_follow *follow = NULL;
    enum ifg_status status = trace_follow_open_input(input, &follow, err);

    *out_feed = NULL;
    if (!status && !feed)
        status = ifg_fail_no_memory(err, "to count events");
    if (status) {
        trace_follow_close(follow);
        ifg_free(feed);
        return status;
    }
    feed->follow = follow;
    feed->tally = tally;
    tally_set_text(feed->program, sizeof feed->program, program);
    *out_feed = feed;
    return IFG_OK;
}

void metrics_feed_close(struct metrics_feed *feed)
{
    if (!feed)
        return;
    trace_follow_close(feed->follow);
    ifg_free(feed->dropped);
    ifg_free(feed->early);
    ifg_free(feed->handing);
    ifg_free(feed);
}

static void count(_Atomic uint64_t *to, uint64_t more)
{
    atomic_fetch_add_explicit(to, more, memory_order_relaxed);
}

/* ---- labels ---- */

/* A property of a model that came later than its definition. */
static const char *property_of(const struct trace_tables *tables, const struct trace_model *model,
                               const char *key, const char *otherwise)
{
    for (size_t i = tables->property_count; i-- > 0;) {
        const struct trace_property_entry *entry = &tables->properties[i];

        if (entry->process == model->process && entry->model == model->id &&
            strcmp(entry->key, key) == 0)
            return entry->value;
    }
    return otherwise;
}

static void label_model(const struct trace_tables *tables, const struct trace_location *location,
                        struct tally_labels *labels)
{
    const struct trace_model *model =
        location->model ? trace_find_model(tables, location->process, location->model) : NULL;
    const char *device;

    if (!model)
        return;
    tally_set_model(labels->model, sizeof labels->model, model->name, model->path, model->id);
    device = property_of(tables, model, TRACE_PROPERTY_ACTUAL_DEVICES, model->actual_devices);
    if (!*device)
        device =
            property_of(tables, model, TRACE_PROPERTY_REQUESTED_DEVICES, model->requested_devices);
    tally_set_text(labels->device, sizeof labels->device, device);
}

static struct tally_series *series_of(struct metrics_feed *feed, uint32_t process, uint32_t id)
{
    const struct trace_tables *tables = trace_follow_tables(feed->follow);
    struct known_location *known =
        &feed->known[ifg_hash_pair(process, id) & ((1u << LOCATION_BITS) - 1)];
    const struct trace_location *location;
    struct tally_labels labels;

    if (known->is_known && known->process == process && known->id == id)
        return known->series;
    *known = (struct known_location){ .process = process, .id = id, .is_known = true };
    location = trace_find_location(tables, process, id);
    if (!location || location->kind != TRACE_LOCATION_ML ||
        location->category == TRACE_CATEGORY_NONE)
        return NULL;
    memset(&labels, 0, sizeof labels);
    memcpy(labels.program, feed->program, sizeof labels.program);
    label_model(tables, location, &labels);
    tally_set_text(labels.function, sizeof labels.function, location->function);
    labels.category = location->category;
    known->series = tally_find(feed->tally, &labels);
    return known->series;
}

/* ---- events that are handed out ---- */

bool metrics_feed_hand_out(struct metrics_feed *feed, struct span_ring *ring)
{
    if (!feed->handing)
        feed->handing = ifg_alloc(1, sizeof *feed->handing);
    if (feed->handing)
        feed->handing->ring = ring;
    return feed->handing != NULL;
}

static bool is_same(const struct event_begin *a, const struct event_begin *b)
{
    return a->ticks == b->ticks && a->thread == b->thread && a->location == b->location;
}

/* The first ones of each second. */
static bool is_too_much(struct handing *handing, uint64_t now_ns)
{
    uint64_t second = now_ns / 1000000000u;

    if (second != handing->second)
        handing->taken = 0;
    handing->second = second;
    return handing->held_count == HELD_MOST || handing->taken++ >= SPANS_PER_SECOND;
}

static void hold(struct metrics_feed *feed, const struct ended_event *event, uint64_t start_ns,
                 uint64_t end_ns)
{
    const struct trace_follow_info *info = trace_follow_info(feed->follow);
    const struct trace_tables *tables = trace_follow_tables(feed->follow);
    struct handing *handing = feed->handing;
    uint64_t now_ns = ifg_monotonic_ns();
    uint64_t offset_ns = info->begin_realtime_ns - info->begin_ns;
    struct held_span *held;

    if (is_too_much(handing, now_ns)) {
        count(&handing->ring->not_sent, 1);
        return;
    }
    held = &handing->held[handing->held_count++];
    *held = (struct held_span){ .begin = event->begin, .since_ns = now_ns };
    held->span.start_ns = start_ns + offset_ns;
    held->span.end_ns = end_ns + offset_ns;
    held->span.series = (uint32_t)(event->series - feed->tally->series);
    if (event->process < tables->process_count)
        held->span.pid = tables->processes[event->process].pid;
    for (size_t i = 0; i < FAILED_MOST; i++)
        if (is_same(&handing->failed[i], &event->begin))
            held->span.has_failed = 1;
}

static void hold_failure(struct handing *handing, const struct event_begin *begin)
{
    handing->failed[handing->failed_at++ % FAILED_MOST] = *begin;
    for (size_t i = 0; i < handing->held_count; i++)
        if (is_same(&handing->held[i].begin, begin))
            handing->held[i].span.has_failed = 1;
}

static void let_go(struct handing *handing, uint64_t until_ns)
{
    size_t gone = 0;

    while (gone < handing->held_count && handing->held[gone].since_ns <= until_ns)
        span_ring_put(handing->ring, &handing->held[gone++].span);
    memmove(handing->held, handing->held + gone,
            (handing->held_count - gone) * sizeof handing->held[0]);
    handing->held_count -= gone;
}

/* ---- events ---- */

static void note_dropped(struct metrics_feed *feed, uint32_t thread, uint64_t dropped)
{
    if (!dropped && thread >= feed->dropped_count)
        return;
    if (!IFG_ARRAY_ROOM_ZEROED(feed->dropped, feed->dropped_count, (size_t)thread + 1,
                               IFG_ARRAY_ANY))
        return;
    if (dropped > feed->dropped[thread]) {
        count(&feed->tally->dropped, dropped - feed->dropped[thread]);
        feed->dropped[thread] = dropped;
    }
}

static void take_definitions(struct metrics_feed *feed)
{
    const struct trace_tables *tables = trace_follow_tables(feed->follow);
    uint64_t losses = 0;

    memset(feed->known, 0, sizeof feed->known);
    for (uint32_t i = 0; i < tables->process_count; i++)
        if (tables->processes[i].ended)
            live_spans_forget(&feed->spans, i);
    for (size_t i = 0; i < tables->loss_count; i++)
        losses += tables->losses[i].count;
    if (losses > feed->losses)
        count(&feed->tally->dropped, losses - feed->losses);
    feed->losses = losses;
}

static void count_event(struct metrics_feed *feed, const struct ended_event *event)
{
    uint64_t start_ns = trace_follow_ns(feed->follow, event->begin.thread, event->begin.ticks);
    uint64_t end_ns = trace_follow_ns(feed->follow, event->end_thread, event->end_ticks);

    if (end_ns < start_ns)
        return; /* a damaged block */
    tally_add(event->series, end_ns - start_ns);
    if (feed->handing)
        hold(feed, event, start_ns, end_ns);
}

static void count_early(struct metrics_feed *feed)
{
    for (size_t i = 0; i < feed->early_count; i++)
        count_event(feed, &feed->early[i]);
    ifg_free(feed->early);
    feed->early = NULL;
    feed->early_count = feed->early_capacity = 0;
}

/* What a counter's ticks are in nanoseconds is known when there are two readings of it, some time
 * apart. What ends before that waits. */
static void take_event(struct metrics_feed *feed, const struct ended_event *event)
{
    if (trace_follow_info(feed->follow)->clock_span_ns < CLOCK_SPAN_NS &&
        IFG_ARRAY_ROOM(feed->early, feed->early_capacity, feed->early_count + 1, EARLY_MOST))
        feed->early[feed->early_count++] = *event;
    else
        count_event(feed, event);
}

void metrics_feed_flush(struct metrics_feed *feed)
{
    count_early(feed);
    if (feed->handing)
        let_go(feed->handing, UINT64_MAX);
}

static void take_zones(struct metrics_feed *feed, const struct trace_news *news, uint32_t process)
{
    const struct trace_zones *zones = news->zones;

    for (size_t i = 0; i < zones->count; i++) {
        struct ended_event event = {
            .series = series_of(feed, process, zones->locations[i]),
            .begin = { zones->starts[i], news->thread, zones->locations[i] },
            .end_ticks = zones->starts[i] + zones->durations[i],
            .end_thread = news->thread,
            .process = process,
        };

        if (event.series)
            take_event(feed, &event);
    }
    count(&feed->tally->events, zones->count);
}

/* The two ends come from two threads, in any order; they are put together in ticks. */
static void take_async(struct metrics_feed *feed, const struct trace_event *event, uint32_t thread,
                       uint32_t process)
{
    struct tally_series *series = series_of(feed, process, event->reference);
    struct ifg_cursor cursor = ifg_cursor_over(event->payload, event->payload_bytes);
    struct live_span_end end = { .process = process, .location = event->reference };
    bool is_begin = event->kind == TRACE_EVENT_ASYNC_BEGIN;
    struct live_span_end other;

    if (!series)
        return;
    end.id = ifg_cursor_varint(&cursor);
    end.thread = thread;
    end.ns = event->ticks;
    if (cursor.failed || !(is_begin ? live_spans_begin(&feed->spans, &end, &other)
                                    : live_spans_end(&feed->spans, &end, &other)))
        return;
    take_event(feed, &(struct ended_event){
                         .series = series,
                         .begin = { is_begin ? end.ns : other.ns,
                                    is_begin ? end.thread : other.thread, event->reference },
                         .end_ticks = is_begin ? other.ns : end.ns,
                         .end_thread = is_begin ? other.thread : end.thread,
                         .process = process,
                     });
}

static void take_attribute(struct metrics_feed *feed, const struct trace_attribute *attribute,
                           uint32_t thread, uint32_t process)
{
    struct tally_series *series;
    struct event_begin begin;

    if (!attribute || attribute->key_bytes != strlen(TRACE_KEY_STATUS) ||
        memcmp(attribute->key, TRACE_KEY_STATUS, attribute->key_bytes) != 0)
        return;
    series = series_of(feed, process, attribute->zone_location);
    if (!series)
        return;
    tally_add_failure(series);
    begin = (struct event_begin){ attribute->zone_start, thread, attribute->zone_location };
    if (feed->handing)
        hold_failure(feed->handing, &begin);
}

static void take_events(struct metrics_feed *feed, const struct trace_news *news, uint32_t process)
{
    if (trace_follow_tables(feed->follow)->threads[news->thread].tid == 0)
        return; /* what the machine does, not the program */
    for (size_t i = 0; i < news->events->count; i++) {
        const struct trace_event *event = &news->events->events[i];

        if (event->kind == TRACE_EVENT_ATTRIBUTE)
            take_attribute(feed, event->attribute, news->thread, process);
        else if (event->kind == TRACE_EVENT_ASYNC_BEGIN || event->kind == TRACE_EVENT_ASYNC_END)
            take_async(feed, event, news->thread, process);
    }
    count(&feed->tally->events, news->events->count);
}

/* Another trace took its place: what was counted stays counted. */
static void restart(struct metrics_feed *feed)
{
    memset(feed->known, 0, sizeof feed->known);
    memset(&feed->spans, 0, sizeof feed->spans);
    feed->early_count = 0; /* ticks of another clock, perhaps */
    if (feed->handing)
        memset(feed->handing->failed, 0, sizeof feed->handing->failed);
    for (size_t i = 0; i < feed->dropped_count; i++)
        feed->dropped[i] = 0;
    feed->losses = 0;
    feed->damaged = 0;
}

static void take(struct metrics_feed *feed, const struct trace_news *news)
{
    uint32_t process;

    if (news->kind == TRACE_NEWS_RESTARTED)
        restart(feed);
    else if (news->kind == TRACE_NEWS_FINISHED)
        count_early(feed);
    else if (news->kind == TRACE_NEWS_DEFINITIONS)
        take_definitions(feed);
    if (news->kind != TRACE_NEWS_ZONES && news->kind != TRACE_NEWS_EVENTS)
        return;
    process = trace_follow_tables(feed->follow)->threads[news->thread].process;
    note_dropped(feed, news->thread, news->dropped);
    if (news->kind == TRACE_NEWS_ZONES)
        take_zones(feed, news, process);
    else
        take_events(feed, news, process);
}

bool metrics_feed_step(struct metrics_feed *feed)
{
    const struct trace_follow_info *info = trace_follow_info(feed->follow);
    struct trace_news news;
    int blocks;

    for (blocks = 0; blocks < BLOCKS_AT_ONCE; blocks++) {
        if (trace_follow_next(feed->follow, &news, NULL) != IFG_OK || news.kind == TRACE_NEWS_NONE)
            break;
        take(feed, &news);
    }
    if (info->damaged > feed->damaged)
        count(&feed->tally->damaged, info->damaged - feed->damaged);
    feed->damaged = info->damaged;
    if (feed->early_count && info->clock_span_ns >= CLOCK_SPAN_NS)
        count_early(feed);
    if (feed->handing)
        let_go(feed->handing, ifg_monotonic_ns() - HOLD_NS);
    return blocks == BLOCKS_AT_ONCE;
}
