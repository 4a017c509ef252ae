// SPDX-License-Identifier: Apache-2.0
/* From blocks of a growing trace to a gauge: see live_feed.h. */
#include "analyze/live_feed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analyze/live_spans.h"
#include "base/alloc.h"
#include "base/array.h"
#include "base/bytes.h"
#include "base/ticks.h"
#include "trace/follow.h"
#include "trace/keys.h"

#define NS_PER_S         UINT64_C(1000000000)
#define BLOCKS_AT_ONCE   64
#define LOCATIONS_CACHED 4096u
#define SILENT_AFTER_NS  (3 * NS_PER_S)
#define LOOK_AFTER_NS    NS_PER_S       /* whether the recorder is still there */
#define AHEAD_NS         (5 * NS_PER_S) /* later than that is no time of this recording */

/* What a location is to a gauge, so that it need not be looked up for each zone. */
struct cached_location {
    uint32_t process;
    uint32_t id;
    bool known;
    bool counts; /* an ML event */
    enum live_category category;
    uint32_t model;
};

struct live_feed_own {
    struct trace_follow *follow;
    struct cached_location locations[LOCATIONS_CACHED];
    struct live_spans spans;
    uint64_t *dropped; /* by thread */
    size_t dropped_count;
    bool has_compared; /* the clocks; and now it is known whether */
    bool is_captured;  /* it comes from an agent, from another machine perhaps */
    uint64_t ahead_ns; /* whose CLOCK_MONOTONIC is ahead of ours by this, or behind: it wraps */
    uint64_t last_bytes;
    uint64_t grown_ns; /* when the file last did */
    uint64_t looked_ns;
};

const char *live_state_name(enum live_state state)
{
    static const char *const names[] = { "waiting", "live", "silent", "ended" };

    return names[state];
}

enum ifg_status live_feed_open(const char *path, struct live_feed **out_feed, struct ifg_error *err)
{
    struct live_feed *feed = ifg_alloc(1, sizeof *feed);
    enum ifg_status status = IFG_NO_MEMORY;

    *out_feed = NULL;
    if (feed) {
        feed->live = live_create();
        feed->own = ifg_alloc(1, sizeof *feed->own);
    }
    if (feed && feed->live && feed->own)
        status = trace_follow_open(path, &feed->own->follow, err);
    else
        ifg_fail_no_memory(err, NULL);
    if (status) {
        live_feed_close(feed);
        return status;
    }
    feed->own->grown_ns = ifg_monotonic_ns();
    *out_feed = feed;
    return IFG_OK;
}

void live_feed_close(struct live_feed *feed)
{
    if (!feed)
        return;
    if (feed->own) {
        trace_follow_close(feed->own->follow);
        ifg_free(feed->own->dropped);
    }
    ifg_free(feed->own);
    live_destroy(feed->live);
    ifg_free(feed);
}

uint64_t live_feed_thinned(const struct live_feed *feed)
{
    return feed->live->events - feed->live->row_count;
}

/* Another file: everything anew. */
static enum ifg_status restart(struct live_feed *feed, struct ifg_error *err)
{
    struct live *fresh = live_create();
    uint64_t version = feed->live->version;

    if (!fresh)
        return ifg_fail_no_memory(err, NULL);
    live_destroy(feed->live);
    feed->live = fresh;
    fresh->version = version;
    feed->generation++;
    feed->state = LIVE_WAITING;
    feed->why[0] = '\0';
    feed->zones = 0;
    feed->dropped = 0;
    feed->damaged = 0;
    memset(&feed->info, 0, sizeof feed->info);
    memset(feed->own->locations, 0, sizeof feed->own->locations);
    memset(&feed->own->spans, 0, sizeof feed->own->spans);
    for (size_t i = 0; i < feed->own->dropped_count; i++)
        feed->own->dropped[i] = 0;
    feed->own->has_compared = false;
    feed->own->grown_ns = ifg_monotonic_ns();
    return IFG_OK;
}

/* ---- definitions ---- */

/* The capture has compared the times of day of both machines, and every trace has both clocks of
 * its own: that is how far apart the clocks of the recording and of this machine are. Once: a time
 * of day that is set meanwhile must not move the picture. */
static void compare_clocks(struct live_feed *feed)
{
    struct live_feed_own *own = feed->own;
    const struct trace_follow_info *info = trace_follow_info(own->follow);
    const char *offset;

    if (own->has_compared || !info->begin_ns)
        return;
    own->has_compared = true; /* facts come before the first clock pair */
    offset = trace_find_fact(trace_follow_tables(own->follow), TRACE_FACT_CAPTURE_OFFSET_NS);
    own->is_captured = offset != NULL;
    own->ahead_ns = 0;
    if (offset)
        own->ahead_ns = info->begin_ns - info->begin_realtime_ns +
                        (uint64_t)strtoll(offset, NULL, 10) + ifg_realtime_ns() -
                        ifg_monotonic_ns();
}

static void set_text(struct live_feed *feed, char *to, size_t size, const char *from)
{
    if (!from || strncmp(to, from, size - 1) == 0)
        return;
    snprintf(to, size, "%s", from);
    feed->info.changed = feed->live->version;
}

static void set_number(struct live_feed *feed, uint32_t *to, uint32_t from)
{
    if (*to != from)
        feed->info.changed = feed->live->version;
    *to = from;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

static uint32_t model_of(struct live_feed *feed, uint32_t process, uint32_t id)
{
    const struct trace_model *model =
        id ? trace_find_model(trace_follow_tables(feed->own->follow), process, id) : NULL;
    char unnamed[32];
    const char *name;

    if (!model)
        return LIVE_NONE;
    snprintf(unnamed, sizeof unnamed, "model %u", id);
    name = *model->name ? model->name : *model->path ? model->path : unnamed;
    return live_model(feed->live, process, id, base_name(name), model->path, model->runtime);
}

static void take_definitions(struct live_feed *feed)
{
    const struct trace_tables *tables = trace_follow_tables(feed->own->follow);
    const char *cpus = trace_find_fact(tables, TRACE_FACT_HOST_CPUS);
    struct live *live = feed->live;
    uint64_t losses = 0;

    memset(feed->own->locations, 0, sizeof feed->own->locations);
    set_text(feed, feed->info.program, sizeof feed->info.program,
             trace_find_fact(tables, TRACE_FACT_RECORD_PROGRAM));
    set_text(feed, feed->info.host, sizeof feed->info.host,
             trace_find_fact(tables, TRACE_FACT_HOST_NAME));
    if (cpus)
        set_number(feed, &feed->info.cpus, (uint32_t)strtoul(cpus, NULL, 10));
    for (size_t i = 0; i < tables->process_count; i++) {
        if (!feed->info.pid && tables->processes[i].pid)
            set_number(feed, &feed->info.pid, tables->processes[i].pid);
        if (!*feed->info.program && tables->processes[i].pid)
            set_text(feed, feed->info.program, sizeof feed->info.program,
                     base_name(tables->processes[i].program));
    }
    for (size_t i = 0; i < live->model_count; i++) /* names that came late */
        model_of(feed, live->models[i].process, live->models[i].id);
    /* What was open in a process that has ended will not end any more. */
    for (size_t i = live->open_count; i-- > 0;) {
        uint32_t thread = live->open[i < live->open_count ? i : 0].thread;

        if (i < live->open_count && thread < tables->thread_count &&
            tables->processes[tables->threads[thread].process].ended)
            live_replace_open(live, thread, NULL, 0);
    }
    for (uint32_t i = 0; i < tables->process_count; i++)
        if (tables->processes[i].ended)
            live_spans_forget(&feed->own->spans, i);
    for (size_t i = 0; i < tables->loss_count; i++)
        losses += tables->losses[i].count;
    for (size_t i = 0; i < feed->own->dropped_count; i++)
        losses += feed->own->dropped[i];
    feed->dropped = losses;
}

/* Categories of the gauge are those of the trace, from 0 on: arrays have one entry for each. */
_Static_assert(LIVE_PREPARE_EP + 1 == (int)TRACE_CATEGORY_PREPARE_EP &&
                   LIVE_SPECIALIZATION + 1 == (int)TRACE_CATEGORY_SPECIALIZATION &&
                   LIVE_LOAD + 1 == (int)TRACE_CATEGORY_LOAD &&
                   LIVE_SETUP + 1 == (int)TRACE_CATEGORY_SETUP &&
                   LIVE_INFERENCE + 1 == (int)TRACE_CATEGORY_INFERENCE &&
                   LIVE_CATEGORIES + 1 == (int)TRACE_CATEGORIES,
               "one order of categories");

static const struct cached_location *location_of(struct live_feed *feed, uint32_t process,
                                                 uint32_t id)
{
    struct cached_location *cached =
        &feed->own->locations[(id * 2654435761u ^ process * 40503u) % LOCATIONS_CACHED];
    const struct trace_location *location;

    if (cached->known && cached->process == process && cached->id == id)
        return cached;
    location = trace_find_location(trace_follow_tables(feed->own->follow), process, id);
    *cached = (struct cached_location){ .process = process, .id = id, .known = true };
    if (location && location->kind == TRACE_LOCATION_ML &&
        location->category != TRACE_CATEGORY_NONE) {
        cached->counts = true;
        cached->category = (enum live_category)(location->category - TRACE_CATEGORY_PREPARE_EP);
        cached->model = model_of(feed, process, location->model);
    }
    return cached;
}

/* ---- zones ---- */

static void note_dropped(struct live_feed *feed, uint32_t thread, uint64_t dropped)
{
    struct live_feed_own *own = feed->own;

    if (!dropped && thread >= own->dropped_count)
        return;
    if (!IFG_ARRAY_ROOM_ZEROED(own->dropped, own->dropped_count, (size_t)thread + 1, IFG_ARRAY_ANY))
        return;
    if (dropped > own->dropped[thread]) {
        feed->dropped += dropped - own->dropped[thread];
        own->dropped[thread] = dropped;
    }
}

static void know_thread(struct live_feed *feed, uint32_t thread)
{
    const struct trace_tables *tables = trace_follow_tables(feed->own->follow);
    const struct trace_thread_entry *entry = &tables->threads[thread];

    live_thread(feed->live, thread, entry->tid, tables->processes[entry->process].pid, entry->name);
}

/* The name of the innermost open zone, if it is deeper than all ML events. */
static const char *innermost(struct live_feed *feed, uint32_t process,
                             const struct trace_zones *zones)
{
    const struct trace_location *location;
    uint32_t last = zones->open_locations[zones->open_count - 1];

    if (location_of(feed, process, last)->counts)
        return "";
    location = trace_find_location(trace_follow_tables(feed->own->follow), process, last);
    if (!location)
        return "";
    return *location->name ? location->name : location->function;
}

static void take_open(struct live_feed *feed, const struct trace_news *news, uint32_t process)
{
    const struct trace_tables *tables = trace_follow_tables(feed->own->follow);
    const struct trace_zones *zones = news->zones;
    struct live_open open[LIVE_OPEN_MOST];
    size_t count = 0;

    for (size_t i = 0; i < zones->open_count && count < LIVE_OPEN_MOST; i++) {
        const struct cached_location *cached = location_of(feed, process, zones->open_locations[i]);
        const struct trace_location *location;

        if (!cached->counts)
            continue;
        location = trace_find_location(tables, process, zones->open_locations[i]);
        open[count] = (struct live_open){
            .thread = news->thread,
            .category = cached->category,
            .model = cached->model,
            .start_ns = trace_follow_ns(feed->own->follow, news->thread, zones->open_starts[i]),
        };
        snprintf(open[count].inside, sizeof open[count].inside, "%.95s",
                 innermost(feed, process, zones));
        snprintf(open[count].function, sizeof open[count].function, "%.63s",
                 location ? location->function : "");
        count++;
    }
    if (count)
        know_thread(feed, news->thread);
    live_replace_open(feed->live, news->thread, open, count);
}

/* The earliest start of all that a block tells: the first event, if it is the first block. */
static void find_first(struct live_feed *feed, const struct trace_news *news, uint32_t process)
{
    const struct trace_zones *zones = news->zones;
    uint64_t earliest = UINT64_MAX;

    for (size_t i = 0; i < zones->count; i++)
        if (zones->starts[i] < earliest && location_of(feed, process, zones->locations[i])->counts)
            earliest = zones->starts[i];
    for (size_t i = 0; i < zones->open_count; i++)
        if (zones->open_starts[i] < earliest &&
            location_of(feed, process, zones->open_locations[i])->counts)
            earliest = zones->open_starts[i];
    if (earliest != UINT64_MAX)
        live_set_first(feed->live, trace_follow_ns(feed->own->follow, news->thread, earliest));
}

static enum ifg_status take_zones(struct live_feed *feed, const struct trace_news *news,
                                  uint64_t latest_ns)
{
    const struct trace_tables *tables = trace_follow_tables(feed->own->follow);
    const struct trace_zones *zones = news->zones;
    uint32_t process = tables->threads[news->thread].process;
    bool all_well = true;
    bool known = false;

    note_dropped(feed, news->thread, news->dropped);
    feed->zones += zones->count;
    if (!feed->live->first_ns)
        find_first(feed, news, process);
    for (size_t i = 0; i < zones->count; i++) {
        const struct cached_location *cached = location_of(feed, process, zones->locations[i]);
        struct live_event event;

        if (!cached->counts)
            continue;
        event = (struct live_event){
            .start_ns = trace_follow_ns(feed->own->follow, news->thread, zones->starts[i]),
            .end_ns = trace_follow_ns(feed->own->follow, news->thread,
                                      zones->starts[i] + zones->durations[i]),
            .category = cached->category,
            .model = cached->model,
            .thread = news->thread,
            .zone = zones->first_zone + i,
        };
        if (event.end_ns > latest_ns || event.end_ns < event.start_ns)
            continue; /* a damaged block: it must not move everything else out of sight */
        if (!known)
            know_thread(feed, news->thread);
        known = true;
        all_well &= live_add(feed->live, &event);
    }
    if (zones->has_open)
        take_open(feed, news, process);
    return all_well ? IFG_OK : IFG_NO_MEMORY;
}

/* ---- asynchronous events ---- */

static bool is_async(const struct trace_event *event)
{
    return event->kind == TRACE_EVENT_ASYNC_BEGIN || event->kind == TRACE_EVENT_ASYNC_END;
}

/* As find_first. */
static void find_first_async(struct live_feed *feed, const struct trace_news *news,
                             uint32_t process)
{
    uint64_t earliest = UINT64_MAX;

    for (size_t i = 0; i < news->events->count; i++) {
        const struct trace_event *event = &news->events->events[i];

        if (event->kind == TRACE_EVENT_ASYNC_BEGIN && event->ticks < earliest &&
            location_of(feed, process, event->reference)->counts)
            earliest = event->ticks;
    }
    if (earliest != UINT64_MAX)
        live_set_first(feed->live, trace_follow_ns(feed->own->follow, news->thread, earliest));
}

/* False: no memory. */
static bool take_async(struct live_feed *feed, const struct live_span_end *end, bool is_begin)
{
    const struct cached_location *cached = location_of(feed, end->process, end->location);
    struct live_spans *spans = &feed->own->spans;
    struct live_span_end other;
    bool complete =
        is_begin ? live_spans_begin(spans, end, &other) : live_spans_end(spans, end, &other);
    const struct live_span_end *begin = is_begin ? end : &other;

    if (!complete)
        return true;
    know_thread(feed, begin->thread);
    return live_add(feed->live, &(struct live_event){
                                    .start_ns = begin->ns,
                                    .end_ns = is_begin ? other.ns : end->ns,
                                    .category = cached->category,
                                    .model = cached->model,
                                    .thread = begin->thread,
                                    .zone = LIVE_NO_ZONE,
                                });
}

static enum ifg_status take_asyncs(struct live_feed *feed, const struct trace_news *news,
                                   uint64_t latest_ns)
{
    uint32_t process = trace_follow_tables(feed->own->follow)->threads[news->thread].process;
    bool all_well = true;

    if (!feed->live->first_ns)
        find_first_async(feed, news, process);
    for (size_t i = 0; i < news->events->count; i++) {
        const struct trace_event *event = &news->events->events[i];
        struct ifg_cursor cursor = ifg_cursor_over(event->payload, event->payload_bytes);
        struct live_span_end end = {
            .process = process,
            .location = event->reference,
            .thread = news->thread,
        };

        if (!is_async(event) || !location_of(feed, process, event->reference)->counts)
            continue;
        end.id = ifg_cursor_varint(&cursor);
        end.ns = trace_follow_ns(feed->own->follow, news->thread, event->ticks);
        if (end.ns <= latest_ns) /* else a damaged block */
            all_well &= take_async(feed, &end, event->kind == TRACE_EVENT_ASYNC_BEGIN);
    }
    return all_well ? IFG_OK : IFG_NO_MEMORY;
}

static void show_open_asyncs(struct live_feed *feed)
{
    const struct trace_tables *tables = trace_follow_tables(feed->own->follow);
    const struct live_span_ends *begun = &feed->own->spans.begun;
    struct live_open open[LIVE_OPEN_MOST];
    size_t count = begun->count < LIVE_OPEN_MOST ? begun->count : LIVE_OPEN_MOST;

    if (!feed->own->spans.changed)
        return;
    feed->own->spans.changed = false;
    for (size_t i = 0; i < count; i++) {
        const struct live_span_end *begin = &begun->ends[i];
        const struct cached_location *cached = location_of(feed, begin->process, begin->location);
        const struct trace_location *location =
            trace_find_location(tables, begin->process, begin->location);

        know_thread(feed, begin->thread);
        open[i] = (struct live_open){
            .thread = begin->thread,
            .category = cached->category,
            .model = cached->model,
            .start_ns = begin->ns,
            .async = true,
        };
        snprintf(open[i].function, sizeof open[i].function, "%.63s",
                 location ? location->function : "");
    }
    live_replace_async(feed->live, open, count);
}

/* ---- counters ---- */

static void set_scale(struct live_feed *feed, struct live_series *series)
{
    const char *bytes =
        trace_find_fact(trace_follow_tables(feed->own->follow), TRACE_FACT_HOST_MEMORY_BYTES);

    if (series && series->kind == LIVE_KIND_MEMORY && bytes)
        series->scale = strtod(bytes, NULL);
}

/* A control group's limit is the scale of its processes' memory. */
static void note_limit(struct live_feed *feed, uint32_t process, double bytes)
{
    for (size_t i = 0; i < feed->live->series_count; i++) {
        struct live_series *series = feed->live->series[i];

        if (series->kind == LIVE_KIND_PROCESS_MEMORY && series->process == process &&
            !(series->scale == bytes)) {
            series->scale = bytes;
            series->changed = feed->live->version;
        }
    }
}

static void take_counters(struct live_feed *feed, const struct trace_news *news, uint64_t latest_ns)
{
    const struct trace_tables *tables = trace_follow_tables(feed->own->follow);
    uint32_t process = tables->threads[news->thread].process;

    for (size_t i = 0; i < news->events->count; i++) {
        const struct trace_event *event = &news->events->events[i];
        struct live_series *series;
        uint64_t ns;
        double value;

        if (event->kind != TRACE_EVENT_COUNTER || event->payload_bytes != sizeof value)
            continue;
        memcpy(&value, event->payload, sizeof value);
        series = live_find_series(feed->live, process, event->reference);
        if (!series) {
            const struct trace_location *location =
                trace_find_location(tables, process, event->reference);

            if (location && strcmp(location->name, "cgroup memory limit bytes") == 0)
                note_limit(feed, process, value);
            if (location)
                series = live_add_series(feed->live, process, event->reference,
                                         tables->processes[process].pid, location->name);
            set_scale(feed, series);
        }
        ns = trace_follow_ns(feed->own->follow, news->thread, event->ticks);
        if (series && ns <= latest_ns)
            live_value(feed->live, series, ns, value);
    }
}

static enum ifg_status take_events(struct live_feed *feed, const struct trace_news *news,
                                   uint64_t latest_ns)
{
    note_dropped(feed, news->thread, news->dropped);
    if (trace_follow_tables(feed->own->follow)->threads[news->thread].tid != 0)
        return take_asyncs(feed, news, latest_ns);
    take_counters(feed, news, latest_ns); /* those of the program itself are not resources */
    return IFG_OK;
}

/* ---- a step ---- */

static void end(struct live_feed *feed, const char *why)
{
    feed->state = LIVE_ENDED;
    snprintf(feed->why, sizeof feed->why, "%s", why);
}

/* Whether it still grows, and whether anybody could make it grow. */
static void judge(struct live_feed *feed, uint64_t now_ns, bool read_all)
{
    struct live_feed_own *own = feed->own;
    const struct trace_follow_info *info = trace_follow_info(own->follow);

    feed->bytes = info->bytes;
    feed->damaged = info->damaged;
    if (info->bytes != own->last_bytes) {
        own->last_bytes = info->bytes;
        own->grown_ns = now_ns;
    }
    if (info->finished || !info->opened)
        return;
    if (!read_all)
        own->grown_ns = now_ns;
    if (now_ns - own->grown_ns >= LOOK_AFTER_NS && now_ns - own->looked_ns >= LOOK_AFTER_NS) {
        own->looked_ns = now_ns;
        if (trace_follow_is_abandoned(own->follow)) {
            end(feed, own->is_captured
                          ? "the capture has ended without the end of the recording: the "
                            "connection was lost, or one of both ends was killed"
                          : "the recorder is gone without finishing the file: it was killed, or "
                            "the machine stopped");
            return;
        }
    }
    if (feed->state == LIVE_ENDED)
        return;
    feed->state = now_ns - own->grown_ns >= SILENT_AFTER_NS ? LIVE_SILENT : LIVE_RUNNING;
    snprintf(feed->why, sizeof feed->why, "%s",
             feed->state != LIVE_SILENT ? ""
             : own->is_captured         ? "nothing comes from the recorder: it is stopped, or the "
                                          "connection is"
                                        : "the recorder writes nothing: it is stopped");
    /* Its clock is this machine's, unless the file came from another one. */
    now_ns += own->ahead_ns;
    if (feed->state == LIVE_RUNNING && now_ns >= info->begin_ns && info->begin_ns &&
        (!feed->live->now_ns || now_ns - feed->live->now_ns < 30 * NS_PER_S))
        live_set_now(feed->live, now_ns);
}

static void finish(struct live_feed *feed)
{
    const char *why =
        trace_find_fact(trace_follow_tables(feed->own->follow), TRACE_FACT_RECORD_END);

    end(feed, why && *why ? why : "the recording is complete");
    feed->live->open_count = 0;
    feed->live->open_changed = feed->live->version;
    memset(&feed->own->spans, 0, sizeof feed->own->spans);
}

enum ifg_status live_feed_step(struct live_feed *feed, bool *out_more, struct ifg_error *err)
{
    struct trace_follow *follow = feed->own->follow;
    uint64_t now_ns = ifg_monotonic_ns();
    enum ifg_status status = IFG_OK;
    struct trace_news news;
    int blocks;

    *out_more = false;
    live_begin_step(feed->live);
    for (blocks = 0; blocks < BLOCKS_AT_ONCE && !status; blocks++) {
        const struct trace_follow_info *info = trace_follow_info(follow);
        uint64_t latest_ns;

        status = trace_follow_next(follow, &news, err);
        if (status || news.kind == TRACE_NEWS_NONE)
            break;
        compare_clocks(feed);
        feed->live->begin_ns = info->begin_ns;
        feed->info.created_realtime_ns = info->created_realtime_ns;
        /* On another machine's clock there is nothing to compare with. */
        latest_ns = info->begin_ns && info->begin_ns <= now_ns && !feed->own->is_captured
                        ? now_ns + AHEAD_NS
                        : UINT64_MAX;
        switch (news.kind) {
        case TRACE_NEWS_RESTARTED:
            status = restart(feed, err);
            break;
        case TRACE_NEWS_DEFINITIONS:
            take_definitions(feed);
            break;
        case TRACE_NEWS_ZONES:
            if (take_zones(feed, &news, latest_ns))
                status = ifg_fail_no_memory(err, NULL);
            break;
        case TRACE_NEWS_EVENTS:
            if (take_events(feed, &news, latest_ns))
                status = ifg_fail_no_memory(err, NULL);
            break;
        case TRACE_NEWS_FINISHED:
            finish(feed);
            break;
        default:
            break;
        }
    }
    show_open_asyncs(feed);
    *out_more = blocks == BLOCKS_AT_ONCE;
    judge(feed, now_ns, !*out_more);
    return status;
}
