// SPDX-License-Identifier: Apache-2.0
/* Messages of the live interface: see live_message.h and docs/server.md. */
#include "server/live_message.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/json.h"

static int64_t since_begin(const struct live *live, uint64_t ns)
{
    return (int64_t)(ns - live->begin_ns);
}

static void put_ns(struct ifg_json *json, const char *key, double ns)
{
    ifg_json_key(json, key);
    if (isnan(ns))
        ifg_json_double(json, NAN);
    else
        ifg_json_uint(json, (uint64_t)(ns + 0.5));
}

static void put_info(const struct live_feed *feed, const struct live_location *location,
                     struct ifg_json *json)
{
    const struct live *live = feed->live;
    time_t seconds = (time_t)(feed->info.created_realtime_ns / 1000000000u);
    char created[32] = "";
    struct tm utc;

    if (gmtime_r(&seconds, &utc))
        strftime(created, sizeof created, "%Y-%m-%dT%H:%M:%SZ", &utc);
    ifg_json_put_open(json, "info", '{');
    ifg_json_put_string(json, "program", feed->info.program);
    ifg_json_put_uint(json, "pid", feed->info.pid);
    ifg_json_put_string(json, "host", feed->info.host);
    ifg_json_put_uint(json, "cpus", feed->info.cpus);
    ifg_json_put_uint(json, "begin", live->begin_ns);
    ifg_json_put_string(json, "created", created);
    ifg_json_put_string(json, "path", location->path);
    ifg_json_put_bool(json, "temporary", location->temporary);
    ifg_json_put_open(json, "runtimes", '[');
    for (size_t i = 0; i < live->model_count; i++) {
        size_t j = 0;

        while (j < i && strcmp(live->models[j].runtime, live->models[i].runtime) != 0)
            j++;
        if (j == i && *live->models[i].runtime)
            ifg_json_string(json, live->models[i].runtime);
    }
    ifg_json_close(json, ']');
    ifg_json_close(json, '}');
}

static void put_totals(const struct live_feed *feed, struct ifg_json *json)
{
    ifg_json_put_open(json, "totals", '{');
    ifg_json_put_uint(json, "events", feed->live->events);
    ifg_json_put_uint(json, "rows", feed->live->row_count);
    ifg_json_put_uint(json, "thinned", live_feed_thinned(feed));
    ifg_json_put_uint(json, "zones", feed->zones);
    ifg_json_put_uint(json, "dropped", feed->dropped);
    ifg_json_put_uint(json, "damaged", feed->damaged);
    ifg_json_put_uint(json, "bytes", feed->bytes);
    ifg_json_close(json, '}');
}

static uint64_t models_in(const struct live *live, enum live_category category)
{
    uint8_t seen[LIVE_MODELS_MOST / 8] = { 0 };
    uint64_t kept = live->row_count < LIVE_ROWS ? live->row_count : LIVE_ROWS;
    uint64_t count = 0;

    for (uint64_t i = 0; i < kept; i++) {
        const struct live_event *event = &live->rows[i].event;

        if (event->category != category || event->model >= LIVE_MODELS_MOST ||
            (seen[event->model / 8] >> (event->model % 8) & 1))
            continue;
        seen[event->model / 8] |= (uint8_t)(1u << (event->model % 8));
        count++;
    }
    return count;
}

static void put_category(const struct live *live, enum live_category category,
                         struct ifg_json *json)
{
    struct live_window window = live_window(live, category);
    uint64_t longest = 0;
    uint64_t open = 0;

    for (size_t i = 0; i < live->open_count; i++) {
        uint64_t start_ns = live->open[i].start_ns;

        if (live->open[i].category != category)
            continue;
        open++;
        if (live->now_ns > start_ns && live->now_ns - start_ns > longest)
            longest = live->now_ns - start_ns;
    }
    ifg_json_put_open(json, live_category_name(category), '{');
    ifg_json_put_uint(json, "count", live->distributions[category].count);
    put_ns(json, "median", live_median(live, category));
    put_ns(json, "median90", live_window_median(live, category));
    put_ns(json, "high", window.count ? (double)window.high_ns : NAN);
    put_ns(json, "low", window.count ? (double)window.low_ns : NAN);
    ifg_json_put_uint(json, "count90", window.count);
    ifg_json_put_uint(json, "open", open);
    ifg_json_put_uint(json, "open_ns", longest);
    ifg_json_put_uint(json, "models", models_in(live, category));
    ifg_json_close(json, '}');
}

static void put_categories(const struct live *live, struct ifg_json *json)
{
    ifg_json_put_open(json, "categories", '{');
    for (unsigned i = 0; i < LIVE_CATEGORIES; i++)
        put_category(live, (enum live_category)i, json);
    ifg_json_put_open(json, "all", '{');
    ifg_json_put_uint(json, "count", live->distributions[LIVE_ALL].count);
    put_ns(json, "median", live_median(live, LIVE_ALL));
    ifg_json_close(json, '}');
    ifg_json_close(json, '}');
}

/* Opens the array when its first entry comes. */
static void begin_list(struct ifg_json *json, const char *key, bool *begun)
{
    if (*begun)
        return;
    *begun = true;
    ifg_json_put_open(json, key, '[');
}

static void end_list(struct ifg_json *json, bool begun)
{
    if (begun)
        ifg_json_close(json, ']');
}

static void put_names(const struct live *live, uint64_t after, struct ifg_json *json)
{
    bool begun = false;

    for (size_t i = 0; i < live->model_count; i++) {
        if (live->models[i].changed <= after)
            continue;
        begin_list(json, "models", &begun);
        ifg_json_open(json, '{');
        ifg_json_put_uint(json, "id", i);
        ifg_json_put_string(json, "name", live->models[i].name);
        ifg_json_put_string(json, "path", live->models[i].path);
        ifg_json_put_string(json, "runtime", live->models[i].runtime);
        ifg_json_close(json, '}');
    }
    end_list(json, begun);
    begun = false;
    for (size_t i = 0; i < live->thread_count; i++) {
        if (live->threads[i].changed <= after)
            continue;
        begin_list(json, "threads", &begun);
        ifg_json_open(json, '{');
        ifg_json_put_uint(json, "id", live->threads[i].thread);
        ifg_json_put_uint(json, "tid", live->threads[i].tid);
        ifg_json_put_string(json, "name", live->threads[i].name);
        ifg_json_put_uint(json, "pid", live->threads[i].pid);
        ifg_json_close(json, '}');
    }
    end_list(json, begun);
}

static void put_buckets(const struct live *live, uint64_t after, struct ifg_json *json)
{
    int64_t oldest = live_second_of(live, live->now_ns) - LIVE_SECONDS;
    bool begun = false;

    for (size_t i = 0; i < (size_t)LIVE_CATEGORIES * LIVE_SECONDS; i++) {
        const struct live_bucket *bucket = &live->buckets[i];

        if (!bucket->count || bucket->changed <= after || bucket->second <= oldest)
            continue;
        begin_list(json, "buckets", &begun);
        ifg_json_open(json, '[');
        ifg_json_int(json, bucket->second);
        ifg_json_uint(json, i / LIVE_SECONDS);
        ifg_json_uint(json, bucket->count);
        ifg_json_uint(json, bucket->sum_ns);
        ifg_json_uint(json, bucket->max_ns);
        ifg_json_uint(json, bucket->min_ns);
        ifg_json_close(json, ']');
    }
    end_list(json, begun);
}

static int64_t model_number(uint32_t model)
{
    return model == LIVE_NONE ? -1 : (int64_t)model;
}

static void put_rows(const struct live *live, struct live_cursor *cursor, struct ifg_json *json)
{
    uint64_t from = cursor->rows;
    bool begun = false;

    if (live->row_count > LIVE_ROWS && from < live->row_count - LIVE_ROWS) {
        from = live->row_count - LIVE_ROWS;
        if (cursor->messages)
            ifg_json_put_uint(json, "missed", from - cursor->rows);
    }
    for (uint64_t i = from; i < live->row_count; i++) {
        const struct live_row *row = &live->rows[i % LIVE_ROWS];
        const struct live_event *event = &row->event;

        begin_list(json, "rows", &begun);
        ifg_json_open(json, '[');
        ifg_json_uint(json, row->number);
        ifg_json_int(json, since_begin(live, event->start_ns));
        ifg_json_uint(json, event->end_ns - event->start_ns);
        ifg_json_int(json, model_number(event->model));
        ifg_json_uint(json, event->category);
        ifg_json_uint(json, event->thread);
        ifg_json_int(json, event->zone == LIVE_NO_ZONE ? -1 : (int64_t)event->zone);
        ifg_json_close(json, ']');
    }
    end_list(json, begun);
    cursor->rows = live->row_count;
}

static void put_open(const struct live *live, struct live_cursor *cursor, struct ifg_json *json)
{
    if (!live->open_count && !cursor->told_open)
        return;
    cursor->told_open = live->open_count > 0;
    ifg_json_put_open(json, "open", '[');
    for (size_t i = 0; i < live->open_count; i++) {
        const struct live_open *open = &live->open[i];

        ifg_json_open(json, '{');
        ifg_json_put_int(json, "start", since_begin(live, open->start_ns));
        ifg_json_put_uint(json, "duration",
                          live->now_ns > open->start_ns ? live->now_ns - open->start_ns : 0);
        ifg_json_put_int(json, "model", model_number(open->model));
        ifg_json_put_uint(json, "category", open->category);
        ifg_json_put_uint(json, "thread", open->thread);
        ifg_json_put_bool(json, "async", open->async);
        ifg_json_put_string(json, "inside", open->inside);
        ifg_json_put_string(json, "function", open->function);
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
}

static void put_series(const struct live *live, uint64_t after, struct ifg_json *json)
{
    bool begun = false;

    for (size_t i = 0; i < live->series_count; i++) {
        const struct live_series *series = live->series[i];

        if (series->changed <= after)
            continue;
        begin_list(json, "series", &begun);
        ifg_json_open(json, '{');
        ifg_json_put_uint(json, "id", i);
        ifg_json_put_string(json, "name", series->name);
        ifg_json_put_string(json, "label", series->label);
        ifg_json_put_string(json, "kind", live_kind_name(series->kind));
        ifg_json_put_string(json, "unit", series->unit);
        ifg_json_put_uint(json, "pid", series->pid);
        ifg_json_put_double(json, "scale", series->scale);
        ifg_json_close(json, '}');
    }
    end_list(json, begun);
    begun = false;
    for (size_t i = 0; i < live->series_count; i++) {
        for (size_t j = 0; j < LIVE_SECONDS; j++) {
            const struct live_value *value = &live->series[i]->values[j];

            if (!value->count || value->changed <= after)
                continue;
            begin_list(json, "values", &begun);
            ifg_json_open(json, '[');
            ifg_json_uint(json, i);
            ifg_json_int(json, value->second);
            ifg_json_double(json, value->last);
            ifg_json_double(json, value->min);
            ifg_json_double(json, value->max);
            ifg_json_close(json, ']');
        }
    }
    end_list(json, begun);
}

bool live_message_is_due(const struct live_feed *feed, const struct live_cursor *cursor)
{
    const struct live *live = feed->live;

    if (!cursor->begun || cursor->generation != feed->generation || feed->state == LIVE_ENDED ||
        live->row_count != cursor->rows || live->open_changed > cursor->version ||
        feed->info.changed > cursor->version)
        return true;
    for (size_t i = 0; i < live->series_count; i++) {
        const struct live_value *value = live_latest(live->series[i]);

        if (value && value->changed > cursor->version)
            return true;
    }
    for (unsigned i = 0; live->first_ns && i < LIVE_CATEGORIES; i++) {
        const struct live_bucket *bucket =
            live_bucket(live, (enum live_category)i, live_second_of(live, live->now_ns));

        if (bucket && bucket->changed > cursor->version)
            return true;
    }
    return false;
}

void live_message_put(const struct live_feed *feed, const struct live_location *location,
                      struct live_cursor *cursor, struct ifg_bytes *out)
{
    const struct live *live = feed->live;
    bool full = !cursor->begun || cursor->generation != feed->generation;
    bool due = live_message_is_due(feed, cursor);
    struct ifg_json json = { .out = out };

    if (full)
        *cursor = (struct live_cursor){ .messages = cursor->messages };
    ifg_json_open(&json, '{');
    ifg_json_put_uint(&json, "schema", 1);
    ifg_json_put_uint(&json, "seq", cursor->messages);
    ifg_json_put_bool(&json, "full", full);
    ifg_json_put_uint(&json, "generation", feed->generation);
    ifg_json_put_string(&json, "state", live_state_name(feed->state));
    ifg_json_put_string(&json, "why", feed->why);
    ifg_json_put_int(&json, "now", live->now_ns ? since_begin(live, live->now_ns) : 0);
    ifg_json_key(&json, "first");
    if (live->first_ns)
        ifg_json_int(&json, since_begin(live, live->first_ns));
    else
        ifg_json_double(&json, NAN);
    put_totals(feed, &json);
    if (full || feed->info.changed > cursor->version)
        put_info(feed, location, &json);
    if (full || due || live->open_count)
        put_categories(live, &json);
    put_names(live, cursor->version, &json);
    put_buckets(live, cursor->version, &json);
    put_rows(live, cursor, &json);
    put_open(live, cursor, &json);
    put_series(live, cursor->version, &json);
    ifg_json_close(&json, '}');
    ifg_bytes_put(out, "\n", 1);
    cursor->begun = true;
    cursor->messages++;
    cursor->generation = feed->generation;
    cursor->version = live->version;
}
