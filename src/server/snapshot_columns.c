// SPDX-License-Identifier: Apache-2.0
/*
 * The columns of a mailed page: see snapshot.h, and docs/report-html.md for what each holds.
 *
 * Numbers are LEB128, those that may be negative zigzag-folded. A slice's start is written as its
 * distance from the end of what came before it at its depth, or from its parent's start: small
 * numbers, which pack well.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "server/snapshot_internal.h"
#include "server/runs.h"

#define COLUMN_MAX     ((size_t)2 << 30)
#define DEPTHS         ((size_t)UINT16_MAX + 2)
#define MESSAGES_MOST  5000u
#define ARGUMENTS_MOST 6000u /* slices whose arguments are kept */
#define ARGUED_SLOWEST 20u
#define VALUES_EXACT   200000u /* values of counters; more are thinned */
#define VALUES_PX      16000.0
#define STATES_EXACT   200000u
#define SET_ITEMS_MOST ((size_t)4 << 20)
#define PART_OF_TRACE  20u /* longer than such a part: not kept whole */

static struct ifg_bytes *all_of(struct snapshot_columns *columns, size_t i)
{
    struct ifg_bytes *const all[] = {
        &columns->gap,           &columns->duration,      &columns->location,
        &columns->depth,         &columns->ids,           &columns->item_start,
        &columns->item_duration, &columns->item_location, &columns->item_count,
        &columns->item_id,       &columns->item_flags,    &columns->value_time,
        &columns->value,         &columns->index,
    };

    return i < sizeof all / sizeof all[0] ? all[i] : NULL;
}

void snapshot_columns_init(struct snapshot_columns *columns)
{
    memset(columns, 0, sizeof *columns);
    for (size_t i = 0; all_of(columns, i); i++)
        ifg_bytes_init(all_of(columns, i), COLUMN_MAX);
}

void snapshot_columns_fini(struct snapshot_columns *columns)
{
    for (size_t i = 0; all_of(columns, i); i++)
        ifg_bytes_fini(all_of(columns, i));
}

static void put_signed(struct ifg_bytes *out, int64_t value)
{
    ifg_bytes_put_varint(out, ifg_zigzag(value));
}

/* ---- the slowest ---- */

struct candidate {
    uint64_t duration_ns;
    uint32_t id;
};

static int longest_first(const void *a, const void *b)
{
    const struct candidate *left = a;
    const struct candidate *right = b;

    if (left->duration_ns != right->duration_ns)
        return left->duration_ns > right->duration_ns ? -1 : 1;
    return left->id < right->id ? -1 : left->id > right->id;
}

static bool is_candidate(const struct timeline *timeline, size_t slice, bool by_model)
{
    const struct timeline_location *location = &timeline->locations[timeline->location[slice]];

    if (timeline_duration_ns(timeline, slice) >
        (timeline->end_ns - timeline->begin_ns) / PART_OF_TRACE)
        return false;
    return by_model ? location->kind == TRACE_LOCATION_ML &&
                          location->category == TRACE_CATEGORY_INFERENCE
                    : timeline->depth[slice] == 0;
}

enum ifg_status snapshot_slowest(const struct server_trace *trace, size_t most, uint32_t **out_ids,
                                 size_t *out_count)
{
    const struct timeline *timeline = trace->timeline;
    bool by_model = trace->ml.count > 0;
    size_t from = by_model ? trace->ml.count : timeline->slice_count;
    struct candidate *all = ifg_alloc(from + 1, sizeof *all);
    uint32_t *ids = ifg_alloc(most + 1, sizeof *ids);
    size_t count = 0;

    *out_ids = NULL;
    *out_count = 0;
    if (!all || !ids) {
        ifg_free(ids);
        ifg_free(all);
        return IFG_NO_MEMORY;
    }
    for (size_t i = 0; i < from; i++) {
        uint32_t id = by_model ? trace->ml.ids[i] : (uint32_t)i;

        if (is_candidate(timeline, id, by_model))
            all[count++] = (struct candidate){ timeline_duration_ns(timeline, id), id };
    }
    qsort(all, count, sizeof *all, longest_first);
    for (size_t i = 0; i < count && i < most; i++)
        ids[(*out_count)++] = all[i].id;
    ifg_free(all);
    *out_ids = ids;
    return IFG_OK;
}

/* ---- sets of items: what one layer of one track shows ---- */

struct window {
    uint64_t from_ns, to_ns;
};

struct filling {
    struct server_trace *trace;
    const struct timeline *timeline;
    const struct snapshot_detail *detail;
    struct snapshot_columns *out;
    struct ifg_json json; /* the index */
    uint32_t *slowest;
    size_t slowest_count;
    struct window *windows; /* by time, apart from one another */
    size_t window_count;
    double least_ns;
};

/* Items by row and start; the index gets how many each row has. */
static void put_set(struct filling *f, const char *layer, const char *track,
                    const struct lod_items *items, size_t rows)
{
    struct snapshot_columns *out = f->out;
    uint64_t edge = 0;
    int64_t id = 0;
    size_t at = 0;

    ifg_json_open(&f->json, '{');
    ifg_json_put_string(&f->json, "layer", layer);
    ifg_json_put_string(&f->json, "track", track);
    ifg_json_put_open(&f->json, "rows", '[');
    for (size_t row = 0; row < rows; row++) {
        size_t from = at;

        edge = f->timeline->begin_ns;
        for (; at < items->count && items->items[at].row == row; at++) {
            const struct lod_item *item = &items->items[at];

            put_signed(&out->item_start, (int64_t)(item->start_ns - edge));
            ifg_bytes_put_varint(&out->item_duration, item->duration_ns);
            ifg_bytes_put_varint(&out->item_location, item->location);
            ifg_bytes_put_varint(&out->item_count, item->count);
            put_signed(&out->item_id, (int64_t)item->id - id);
            ifg_bytes_put_varint(&out->item_flags, item->flags);
            edge = item->start_ns + item->duration_ns;
            id = (int64_t)item->id;
        }
        ifg_json_uint(&f->json, at - from);
    }
    ifg_json_close(&f->json, ']');
    ifg_json_close(&f->json, '}');
}

static int by_row_and_start(const void *a, const void *b)
{
    const struct lod_item *left = a;
    const struct lod_item *right = b;

    if (left->row != right->row)
        return left->row < right->row ? -1 : 1;
    return left->start_ns < right->start_ns ? -1 : left->start_ns > right->start_ns;
}

/* Everything at the detail of the whole, what lies in a window exactly. */
static enum ifg_status reduce(const struct filling *f, const struct lod *lod, struct lod_items *out)
{
    uint64_t from = f->timeline->begin_ns;
    struct lod_items part;
    enum ifg_status status = IFG_OK;

    lod_items_init(&part, SET_ITEMS_MOST);
    lod_items_init(out, SET_ITEMS_MOST);
    for (size_t i = 0; !status && i <= 2 * f->window_count; i++) {
        const struct window *window = &f->windows[i / 2];
        bool exact = i % 2 == 1;
        uint64_t to = exact                      ? window->to_ns
                      : i == 2 * f->window_count ? f->timeline->end_ns + 1
                                                 : window->from_ns;

        if (to > from)
            status = lod_query(lod, from, to, exact ? 1 : f->least_ns, &part);
        for (size_t k = 0; !status && to > from && k < part.count; k++)
            if (i == 0 || part.items[k].start_ns >= from) /* else the part before has it */
                status = lod_items_add(out, &part.items[k]);
        from = to > from ? to : from;
    }
    if (out->count)
        qsort(out->items, out->count, sizeof *out->items, by_row_and_start);
    lod_items_fini(&part);
    return status;
}

static enum ifg_status put_lod(struct filling *f, const char *layer, const struct track *track,
                               const struct lod *lod)
{
    struct lod_items items;
    enum ifg_status status = IFG_OK;

    if (f->detail->exact) {
        lod_items_init(&items, SIZE_MAX);
        status = lod_query(lod, f->timeline->begin_ns, f->timeline->end_ns + 1, 1, &items);
    } else {
        status = reduce(f, lod, &items);
    }
    if (!status)
        put_set(f, layer, track->id, &items, lod->row_count);
    if (!status && track->kind == TRACK_THREAD && strcmp(layer, "slices") == 0)
        for (size_t i = 0; i < items.count; i++)
            f->out->slices_kept += items.items[i].count == 1;
    lod_items_fini(&items);
    return status;
}

static bool has_slices(const struct track *track)
{
    return track->kind != TRACK_COUNTER && track->kind != TRACK_PROCESS;
}

/* Short ones side by side become one, of the state with most time. */
static enum ifg_status merge_states(const struct filling *f,
                                    const struct timeline_thread_state *from, size_t count,
                                    struct lod_items *out)
{
    double least_ns = f->detail->exact && f->trace->profile->state_count <= STATES_EXACT
                          ? 0
                          : (double)(f->timeline->end_ns - f->timeline->begin_ns) / VALUES_PX;
    enum ifg_status status = IFG_OK;

    for (size_t i = 0; !status && i < count;) {
        uint64_t time[TIMELINE_STATES] = { 0 };
        size_t first = i;
        size_t most = from[i].state;

        do {
            time[from[i].state] += from[i].end_ns - from[i].start_ns;
            i++;
        } while (i < count && (double)(from[i].end_ns - from[first].start_ns) < least_ns);
        for (size_t k = 0; k < TIMELINE_STATES; k++)
            most = time[k] > time[most] ? k : most;
        status = lod_items_add(out, &(struct lod_item){
                                        .start_ns = from[first].start_ns,
                                        .duration_ns = from[i - 1].end_ns - from[first].start_ns,
                                        .location = (uint32_t)most,
                                        .count = (uint32_t)(i - first),
                                        .id = from[first].cpu,
                                        .flags = i - first > 1 ? LOD_MERGED : 0,
                                    });
    }
    return status;
}

static enum ifg_status put_states(struct filling *f, const struct track *track)
{
    const struct timeline_profile *profile = f->trace->profile;
    const struct timeline_sampled_thread *thread = &profile->threads[track->sampled];
    struct lod_items items;
    enum ifg_status status;

    lod_items_init(&items, SIZE_MAX);
    status = merge_states(f, profile->states + thread->first_state, thread->state_count, &items);
    if (!status)
        put_set(f, "states", track->id, &items, 1);
    lod_items_fini(&items);
    return status;
}

/* The inferences of a model, as the server thins them. */
static enum ifg_status put_runs(struct filling *f, uint32_t model)
{
    struct lod_items items;
    enum ifg_status status;
    char number[16];

    lod_items_init(&items, SIZE_MAX);
    status = runs_of_model(f->trace, model, &items);
    snprintf(number, sizeof number, "%u", model);
    if (!status)
        put_set(f, "runs", number, &items, 1);
    lod_items_fini(&items);
    return status;
}

/* What is no slice but has an id behind them. */
static enum ifg_status put_extras(struct filling *f)
{
    struct lod_items items;
    enum ifg_status status = IFG_OK;

    lod_items_init(&items, SIZE_MAX);
    for (size_t i = 0; !status && i < f->trace->extra_count; i++) {
        const struct lod_span *span = &f->trace->extras[i];

        status = lod_items_add(&items, &(struct lod_item){
                                           .start_ns = span->start_ns,
                                           .duration_ns = span->duration_ns,
                                           .location = span->location,
                                           .count = span->count,
                                           .id = (uint32_t)(f->timeline->slice_count + i),
                                           .flags = span->flags,
                                       });
    }
    if (!status)
        put_set(f, "extras", "", &items, 1);
    lod_items_fini(&items);
    return status;
}

static enum ifg_status put_sets(struct filling *f, struct ifg_error *err)
{
    enum ifg_status status = IFG_OK;

    ifg_json_put_open(&f->json, "sets", '[');
    if (f->detail->exact)
        status = put_extras(f);
    for (size_t i = 0; !status && i < f->trace->track_count; i++) {
        struct track *track = &f->trace->tracks[i];
        const struct lod *lod = NULL;

        if (!f->detail->exact && has_slices(track)) {
            status = track_lod(f->trace, track, &lod, err);
            if (!status)
                status = put_lod(f, "slices", track, lod);
        }
        if (status || track->sampled == TIMELINE_NONE)
            continue;
        status = track_sampled_calls(f->trace, track, &lod, err);
        if (!status && lod)
            status = put_lod(f, "sampled_calls", track, lod);
        if (!status && track->has_states)
            status = put_states(f, track);
    }
    for (uint32_t m = 0; !status && m < f->timeline->model_count; m++)
        status = put_runs(f, m);
    ifg_json_close(&f->json, ']');
    return status;
}

/* ---- every slice ---- */

static enum ifg_status put_slices(struct filling *f)
{
    const struct timeline *timeline = f->timeline;
    struct snapshot_columns *out = f->out;
    uint64_t *edges = ifg_alloc(DEPTHS, sizeof *edges);

    if (!edges)
        return IFG_NO_MEMORY;
    for (size_t t = 0; f->detail->exact && t < timeline->thread_count; t++) {
        size_t end = timeline->threads[t].first_slice + timeline->threads[t].slice_count;

        edges[0] = timeline->begin_ns;
        for (size_t i = timeline->threads[t].first_slice; i < end; i++) {
            uint16_t depth = timeline->depth[i];

            put_signed(&out->gap, (int64_t)(timeline->start_ns[i] - edges[depth]));
            ifg_bytes_put_varint(&out->duration, timeline_duration_ns(timeline, i));
            ifg_bytes_put_varint(&out->location, timeline->location[i]);
            ifg_bytes_put_varint(&out->depth, depth);
            edges[depth] = timeline_end_ns(timeline, i);
            edges[depth + 1] = timeline->start_ns[i];
        }
        out->slices_kept += timeline->threads[t].slice_count;
    }
    ifg_free(edges);
    return IFG_OK;
}

/* Rows of ids, for tracks that are not simply a thread. */
static enum ifg_status put_tracks(struct filling *f, struct ifg_error *err)
{
    enum ifg_status status = IFG_OK;

    ifg_json_put_open(&f->json, "tracks", '[');
    for (size_t i = 0; f->detail->exact && !status && i < f->trace->track_count; i++) {
        struct track *track = &f->trace->tracks[i];
        const struct lod *lod = NULL;

        if (!has_slices(track) || track->kind == TRACK_THREAD)
            continue;
        status = track_lod(f->trace, track, &lod, err);
        if (status)
            break;
        ifg_json_open(&f->json, '{');
        ifg_json_put_string(&f->json, "track", track->id);
        ifg_json_put_bool(&f->json, "outlines", lod->outlines);
        ifg_json_put_open(&f->json, "rows", '[');
        for (size_t r = 0; r < lod->row_count; r++) {
            int64_t last = 0;

            ifg_json_uint(&f->json, lod->rows[r].count);
            for (size_t k = 0; k < lod->rows[r].count; k++) {
                put_signed(&f->out->ids, (int64_t)lod->rows[r].items[k] - last);
                last = (int64_t)lod->rows[r].items[k];
            }
        }
        ifg_json_close(&f->json, ']');
        ifg_json_close(&f->json, '}');
    }
    ifg_json_close(&f->json, ']');
    return status;
}

/* ---- counters ---- */

static void put_value(struct filling *f, const struct timeline_counter *counter, uint64_t *last_ns)
{
    float value = (float)counter->value;

    ifg_bytes_put_varint(&f->out->value_time, counter->ns - *last_ns);
    ifg_bytes_put(&f->out->value, &value, sizeof value);
    *last_ns = counter->ns;
}

/* The least and the most of a stretch of time, in their order; of a short list all. */
static size_t put_values(struct filling *f, const struct track *track)
{
    const uint32_t *order = f->trace->counter_order + track->first;
    const struct timeline_counter *counters = f->timeline->counters;
    double step = f->timeline->counter_count <= VALUES_EXACT
                      ? 0
                      : (double)(f->timeline->end_ns - f->timeline->begin_ns) / VALUES_PX;
    uint64_t last_ns = f->timeline->begin_ns;
    size_t kept = 0;

    for (size_t i = 0; i < track->count;) {
        size_t least = i;
        size_t most = i;
        size_t first = i;

        for (; i < track->count &&
               (i == first || (double)(counters[order[i]].ns - counters[order[first]].ns) < step);
             i++) {
            if (counters[order[i]].value < counters[order[least]].value)
                least = i;
            if (counters[order[i]].value > counters[order[most]].value)
                most = i;
        }
        put_value(f, &counters[order[least < most ? least : most]], &last_ns);
        kept++;
        if (least != most) {
            put_value(f, &counters[order[least < most ? most : least]], &last_ns);
            kept++;
        }
    }
    return kept;
}

static void put_counters(struct filling *f)
{
    ifg_json_put_open(&f->json, "counters", '[');
    for (size_t i = 0; i < f->trace->track_count; i++) {
        const struct track *track = &f->trace->tracks[i];

        if (track->kind != TRACK_COUNTER)
            continue;
        ifg_json_open(&f->json, '{');
        ifg_json_put_string(&f->json, "track", track->id);
        ifg_json_put_uint(&f->json, "count", put_values(f, track));
        ifg_json_close(&f->json, '}');
    }
    ifg_json_close(&f->json, ']');
}

/* ---- what the index says besides ---- */

static void put_threads(struct filling *f)
{
    ifg_json_put_open(&f->json, "threads", '[');
    for (size_t t = 0; t < f->timeline->thread_count; t++) {
        const struct timeline_thread *thread = &f->timeline->threads[t];

        ifg_json_open(&f->json, '{');
        ifg_json_put_string(&f->json, "name", thread->name);
        ifg_json_put_uint(&f->json, "tid", thread->tid);
        ifg_json_put_string(&f->json, "process",
                            thread->process < f->timeline->process_count
                                ? f->timeline->processes[thread->process].name
                                : "");
        ifg_json_put_uint(&f->json, "count", thread->slice_count);
        ifg_json_close(&f->json, '}');
    }
    ifg_json_close(&f->json, ']');
    ifg_json_put_open(&f->json, "unfinished", '[');
    for (size_t i = 0; i < f->timeline->unfinished_count; i++)
        ifg_json_uint(&f->json, f->timeline->unfinished[i]);
    ifg_json_close(&f->json, ']');
}

static enum ifg_status put_sums(struct filling *f, struct ifg_error *err)
{
    const struct location_index *index = NULL;
    enum ifg_status status = trace_locations(f->trace, &index, err);

    ifg_json_key(&f->json, "sums"); /* of each location: count, total, first slice */
    ifg_json_open(&f->json, '[');
    for (size_t p = 0; !status && p < f->timeline->location_count; p++) {
        ifg_json_open(&f->json, '[');
        ifg_json_uint(&f->json, index->sums[p].count);
        ifg_json_uint(&f->json, index->sums[p].total_ns);
        if (index->sums[p].first != LOCATION_SUM_NONE)
            ifg_json_uint(&f->json, index->sums[p].first);
        else
            ifg_json_int(&f->json, -1);
        ifg_json_close(&f->json, ']');
    }
    ifg_json_close(&f->json, ']');
    return status;
}

static void put_messages(struct filling *f)
{
    ifg_json_put_uint(&f->json, "first_message",
                      f->timeline->slice_count + f->timeline->async_count);
    ifg_json_put_open(&f->json, "messages", '[');
    for (size_t i = 0; i < f->timeline->message_count && i < MESSAGES_MOST; i++)
        ifg_json_string(&f->json, f->timeline->messages[i].text);
    ifg_json_close(&f->json, ']');
}

static int by_id(const void *a, const void *b)
{
    const uint32_t left = *(const uint32_t *)a;
    const uint32_t right = *(const uint32_t *)b;

    return left < right ? -1 : left > right;
}

static void put_arguments_of(struct filling *f, size_t slice)
{
    const struct timeline_attribute *attributes = NULL;
    size_t count = timeline_attributes_of(f->timeline, slice, &attributes);
    char key[24];

    if (!count)
        return;
    snprintf(key, sizeof key, "%zu", slice);
    ifg_json_put_open(&f->json, key, '[');
    for (size_t i = 0; i < count; i++) {
        ifg_json_open(&f->json, '{');
        ifg_json_put_string(&f->json, "key", attributes[i].key);
        ifg_json_key(&f->json, "value");
        switch (attributes[i].type) {
        case TRACE_VALUE_SIGNED:
            ifg_json_int(&f->json, attributes[i].signed_value);
            break;
        case TRACE_VALUE_UNSIGNED:
            ifg_json_uint(&f->json, attributes[i].unsigned_value);
            break;
        case TRACE_VALUE_F64:
            ifg_json_double(&f->json, attributes[i].f64_value);
            break;
        default:
            ifg_json_string(&f->json, attributes[i].text);
            break;
        }
        ifg_json_close(&f->json, '}');
    }
    ifg_json_close(&f->json, ']');
}

/* Arguments of what is rare (loads and what is in them) and of the slowest inferences. */
static enum ifg_status put_arguments(struct filling *f)
{
    const struct timeline *timeline = f->timeline;
    uint32_t *ids = ifg_alloc(ARGUMENTS_MOST + 1, sizeof *ids);
    size_t count = 0;

    if (!ids)
        return IFG_NO_MEMORY;
    for (size_t i = 0; i < f->trace->ml.count && count < ARGUMENTS_MOST / 2; i++) {
        uint32_t id = f->trace->ml.ids[i];
        enum trace_category category = timeline->locations[timeline->location[id]].category;

        if (category != TRACE_CATEGORY_INFERENCE && category != TRACE_CATEGORY_SETUP)
            ids[count++] = id;
    }
    for (size_t i = 0; i < f->slowest_count && i < ARGUED_SLOWEST; i++) {
        size_t slice = f->slowest[i];
        const struct timeline_thread *thread =
            &timeline->threads[timeline_thread_of(timeline, slice)];
        size_t end = thread->first_slice + thread->slice_count;

        for (size_t k = slice; k < end && count < ARGUMENTS_MOST; k++) {
            if (k > slice && timeline->depth[k] <= timeline->depth[slice])
                break;
            ids[count++] = (uint32_t)k;
        }
    }
    qsort(ids, count, sizeof *ids, by_id);
    ifg_json_put_open(&f->json, "args", '{');
    for (size_t i = 0; i < count; i++)
        if (i == 0 || ids[i] != ids[i - 1])
            put_arguments_of(f, ids[i]);
    ifg_json_close(&f->json, '}');
    ifg_json_put_bool(&f->json, "args_all", timeline->attribute_count == 0);
    ifg_free(ids);
    return IFG_OK;
}

/* ---- all of it ---- */

static int by_begin(const void *a, const void *b)
{
    const struct window *left = a;
    const struct window *right = b;

    return left->from_ns < right->from_ns ? -1 : left->from_ns > right->from_ns;
}

static enum ifg_status find_windows(struct filling *f)
{
    size_t wanted = f->detail->exact ? ARGUED_SLOWEST : f->detail->slowest;
    enum ifg_status status = snapshot_slowest(f->trace, wanted, &f->slowest, &f->slowest_count);
    size_t kept = 0;

    f->windows = ifg_alloc(f->slowest_count + 1, sizeof *f->windows);
    if (status || !f->windows)
        return IFG_NO_MEMORY;
    for (size_t i = 0; !f->detail->exact && i < f->slowest_count; i++)
        f->windows[i] = (struct window){ f->timeline->start_ns[f->slowest[i]],
                                         timeline_end_ns(f->timeline, f->slowest[i]) };
    if (f->detail->exact)
        return IFG_OK;
    qsort(f->windows, f->slowest_count, sizeof *f->windows, by_begin);
    for (size_t i = 0; i < f->slowest_count; i++) {
        if (kept && f->windows[i].from_ns <= f->windows[kept - 1].to_ns) {
            if (f->windows[i].to_ns > f->windows[kept - 1].to_ns)
                f->windows[kept - 1].to_ns = f->windows[i].to_ns;
        } else {
            f->windows[kept++] = f->windows[i];
        }
    }
    f->window_count = kept;
    return IFG_OK;
}

static void put_head(struct filling *f)
{
    ifg_json_put_int(&f->json, "schema", 1);
    ifg_json_put_bool(&f->json, "exact", f->detail->exact);
    ifg_json_put_uint(&f->json, "slices", f->timeline->slice_count);
    ifg_json_put_double(&f->json, "least_ns", f->least_ns);
    ifg_json_put_bool(&f->json, "by_model", f->trace->ml.count > 0);
    ifg_json_put_open(&f->json, "slowest", '[');
    for (size_t i = 0; !f->detail->exact && i < f->slowest_count; i++)
        ifg_json_uint(&f->json, f->slowest[i]);
    ifg_json_close(&f->json, ']');
}

enum ifg_status snapshot_columns_fill(struct server_trace *trace,
                                      const struct snapshot_detail *detail,
                                      struct snapshot_columns *out, struct ifg_error *err)
{
    struct filling f = {
        .trace = trace, .timeline = trace->timeline, .detail = detail, .out = out
    };
    enum ifg_status status;

    f.json.out = &out->index;
    if (!detail->exact)
        f.least_ns =
            (double)(f.timeline->end_ns - f.timeline->begin_ns + 1) / detail->px * LOD_MERGE_PX;
    err->message[0] = '\0';
    status = find_windows(&f);
    ifg_json_open(&f.json, '{');
    if (!status) {
        put_head(&f);
        put_threads(&f);
        put_counters(&f);
        put_messages(&f);
        status = put_slices(&f);
    }
    if (!status)
        status = put_tracks(&f, err);
    if (!status)
        status = put_sets(&f, err);
    if (!status)
        status = put_sums(&f, err);
    if (!status)
        status = put_arguments(&f);
    ifg_json_put_uint(&f.json, "slices_kept", out->slices_kept);
    ifg_json_close(&f.json, '}');
    for (size_t i = 0; !status && all_of(out, i); i++)
        status = all_of(out, i)->failed ? IFG_NO_MEMORY : IFG_OK;
    ifg_free(f.windows);
    ifg_free(f.slowest);
    if (status && !err->message[0])
        return ifg_fail_no_memory(err, "for the columns of the page");
    return status;
}
