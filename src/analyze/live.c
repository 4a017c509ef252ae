// SPDX-License-Identifier: Apache-2.0
/* Buckets, rows and open events of a gauge: see live.h. */
#include "analyze/live.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/live_internal.h"
#include "base/alloc.h"
#include "base/array.h"

#define NS_PER_S        INT64_C(1000000000)
#define ROWS_SECOND_MAX 1500u /* with the slowest of each category, which always get a row */

/* Set-ups are hidden by default, and there may be one for each inference: they must not push the
 * others out of the table. */
enum { LANE_SHOWN, LANE_HIDDEN, LANES };
static const uint32_t lane_rows[LANES] = { LIVE_ROWS_SECOND, LIVE_ROWS_SECOND / 5 };

/* How many rows a second has had; so that thinning is even. */
struct live_second {
    int64_t second;
    uint64_t count;
    uint64_t stride; /* every so many get a row */
    uint32_t rows;
    bool used;
};

static const char *const category_names[LIVE_CATEGORIES] = {
    [LIVE_PREPARE_EP] = "prepare-ep",
    [LIVE_SPECIALIZATION] = "specialization",
    [LIVE_LOAD] = "load",
    [LIVE_SETUP] = "setup",
    [LIVE_INFERENCE] = "inference",
};

const char *live_category_name(enum live_category category)
{
    return category_names[category];
}

struct live *live_create(void)
{
    struct live *live = ifg_alloc(1, sizeof *live);

    if (!live)
        return NULL;
    live->rows = ifg_alloc(LIVE_ROWS, sizeof *live->rows);
    live->buckets = ifg_alloc(LIVE_CATEGORIES * LIVE_SECONDS, sizeof *live->buckets);
    live->seconds = ifg_alloc((size_t)LANES * LIVE_SECONDS, sizeof *live->seconds);
    if (!live->rows || !live->buckets || !live->seconds) {
        live_destroy(live);
        return NULL;
    }
    return live;
}

void live_destroy(struct live *live)
{
    if (!live)
        return;
    for (size_t i = 0; i <= LIVE_CATEGORIES; i++)
        live_distribution_fini(&live->distributions[i]);
    for (size_t i = 0; i < live->series_count; i++)
        ifg_free(live->series[i]);
    ifg_free(live->models);
    ifg_free(live->threads);
    ifg_free(live->rows);
    ifg_free(live->buckets);
    ifg_free(live->seconds);
    ifg_free(live);
}

void live_begin_step(struct live *live)
{
    live->version++;
}

void live_set_now(struct live *live, uint64_t now_ns)
{
    if (now_ns > live->now_ns)
        live->now_ns = now_ns;
}

void live_set_first(struct live *live, uint64_t first_ns)
{
    if (!live->first_ns)
        live->first_ns = first_ns ? first_ns : 1;
}

/* ---- seconds ---- */

int64_t live_floor_seconds(uint64_t from_ns, uint64_t ns)
{
    if (ns >= from_ns)
        return (int64_t)((ns - from_ns) / NS_PER_S);
    return -(int64_t)((from_ns - ns + NS_PER_S - 1) / NS_PER_S);
}

int64_t live_second_of(const struct live *live, uint64_t ns)
{
    return live_floor_seconds(live->first_ns, ns);
}

size_t live_slot(int64_t second)
{
    return (size_t)(((second % LIVE_SECONDS) + LIVE_SECONDS) % LIVE_SECONDS);
}

/* The bucket to add to; NULL when its place belongs to a later second already. */
static struct live_bucket *bucket_for(struct live *live, enum live_category category,
                                      int64_t second)
{
    struct live_bucket *bucket =
        &live->buckets[(size_t)category * LIVE_SECONDS + live_slot(second)];

    if (bucket->count && bucket->second > second)
        return NULL;
    if (!bucket->count || bucket->second != second)
        *bucket = (struct live_bucket){ .second = second };
    return bucket;
}

const struct live_bucket *live_bucket(const struct live *live, enum live_category category,
                                      int64_t second)
{
    const struct live_bucket *bucket =
        &live->buckets[(size_t)category * LIVE_SECONDS + live_slot(second)];

    return bucket->count && bucket->second == second ? bucket : NULL;
}

static struct live_second *second_for(struct live *live, size_t lane, int64_t second)
{
    struct live_second *seconds = live->seconds + lane * LIVE_SECONDS;
    struct live_second *slot = &seconds[live_slot(second)];
    const struct live_second *before = &seconds[live_slot(second - 1)];

    if (slot->used && slot->second > second)
        return NULL;
    if (!slot->used || slot->second != second) {
        *slot = (struct live_second){ .second = second, .stride = 1, .used = true };
        /* Busy it is: half of what is allowed, evenly, instead of all of its beginning. */
        if (before->used && before->second == second - 1 && before->count > lane_rows[lane])
            slot->stride = before->count / (lane_rows[lane] / 2);
    }
    return slot;
}

/* ---- events ---- */

static void give_row(struct live *live, const struct live_event *event, bool slowest,
                     int64_t second)
{
    size_t lane = event->category == LIVE_SETUP ? LANE_HIDDEN : LANE_SHOWN;
    struct live_second *slot = second_for(live, lane, second);

    if (slot) {
        uint64_t number = slot->count++;
        bool kept = slot->rows < lane_rows[lane] && number % slot->stride == 0;

        if (!kept && !(slowest && slot->rows < ROWS_SECOND_MAX))
            return;
        slot->rows++;
    }
    live->rows[live->row_count++ % LIVE_ROWS] = (struct live_row){ live->events, *event };
}

static void forget_open(struct live *live, const struct live_event *event)
{
    for (size_t i = 0; i < live->open_count; i++) {
        if (live->open[i].async || live->open[i].thread != event->thread ||
            live->open[i].start_ns != event->start_ns || live->open[i].category != event->category)
            continue;
        live->open_count--;
        memmove(&live->open[i], &live->open[i + 1], (live->open_count - i) * sizeof live->open[0]);
        live->open_changed = live->version;
        return;
    }
}

static bool is_in_label(enum live_category category)
{
    return category == LIVE_INFERENCE || category == LIVE_LOAD || category == LIVE_SPECIALIZATION;
}

bool live_add(struct live *live, const struct live_event *event)
{
    uint64_t duration = event->end_ns > event->start_ns ? event->end_ns - event->start_ns : 0;
    struct live_bucket *bucket;
    bool slowest = false;
    bool all_well;
    int64_t second;

    live_set_first(live, event->start_ns);
    live_set_now(live, event->end_ns);
    second = live_second_of(live, event->end_ns);
    live->events++;
    bucket = bucket_for(live, event->category, second);
    if (bucket) {
        slowest = bucket->count == 0 || duration > bucket->max_ns;
        if (slowest)
            bucket->max_ns = duration;
        if (bucket->count == 0 || duration < bucket->min_ns)
            bucket->min_ns = duration;
        bucket->count++;
        bucket->sum_ns += duration;
        bucket->changed = live->version;
    }
    if (live->open_count && event->zone != LIVE_NO_ZONE)
        forget_open(live, event);
    give_row(live, event, slowest, second);
    all_well = live_distribution_add(&live->distributions[event->category], duration, second, true);
    if (is_in_label(event->category))
        all_well &= live_distribution_add(&live->distributions[LIVE_ALL], duration, second, false);
    return all_well;
}

static int by_start(const void *left, const void *right)
{
    const struct live_open *a = left;
    const struct live_open *b = right;

    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return a->category < b->category ? -1 : a->category > b->category;
}

/* Those that are gone are out already. */
static void add_open(struct live *live, const struct live_open *open, size_t count, size_t before)
{
    for (size_t i = 0; i < count && live->open_count < LIVE_OPEN_MOST; i++) {
        live_set_first(live, open[i].start_ns);
        live_set_now(live, open[i].start_ns);
        live->open[live->open_count++] = open[i];
    }
    qsort(live->open, live->open_count, sizeof live->open[0], by_start);
    if (before || live->open_count)
        live->open_changed = live->version;
}

void live_replace_open(struct live *live, uint32_t thread, const struct live_open *open,
                       size_t count)
{
    size_t kept = 0;
    size_t before = live->open_count;

    for (size_t i = 0; i < live->open_count; i++)
        if (live->open[i].async || live->open[i].thread != thread)
            live->open[kept++] = live->open[i];
    live->open_count = kept;
    add_open(live, open, count, before);
}

void live_replace_async(struct live *live, const struct live_open *open, size_t count)
{
    size_t kept = 0;
    size_t before = live->open_count;

    for (size_t i = 0; i < live->open_count; i++)
        if (!live->open[i].async)
            live->open[kept++] = live->open[i];
    live->open_count = kept;
    add_open(live, open, count, before);
}

struct live_window live_window(const struct live *live, enum live_category category)
{
    int64_t now = live_second_of(live, live->now_ns);
    struct live_window window = { 0 };

    for (int64_t second = now - LIVE_WINDOW + 1; second <= now; second++) {
        const struct live_bucket *bucket = live_bucket(live, category, second);

        if (!bucket)
            continue;
        if (bucket->max_ns > window.high_ns)
            window.high_ns = bucket->max_ns;
        if (!window.count || bucket->min_ns < window.low_ns)
            window.low_ns = bucket->min_ns;
        window.count += bucket->count;
    }
    return window;
}

/* ---- names ---- */

/* Copies if it differs; true then. Never half a character at the end. */
static bool set_text(char *to, size_t size, const char *from)
{
    size_t length = strlen(from);

    if (length >= size)
        for (length = size - 1; length && ((unsigned char)from[length] & 0xc0) == 0x80; length--)
            ;
    if (strncmp(to, from, length) == 0 && to[length] == '\0')
        return false;
    memcpy(to, from, length);
    to[length] = '\0';
    return true;
}

uint32_t live_model(struct live *live, uint32_t process, uint32_t id, const char *name,
                    const char *path, const char *runtime)
{
    bool changed;
    struct live_model *model = NULL;

    for (size_t i = 0; i < live->model_count && !model; i++)
        if (live->models[i].process == process && live->models[i].id == id)
            model = &live->models[i];
    if (!model) {
        if (!IFG_ARRAY_ROOM(live->models, live->model_capacity, live->model_count + 1,
                            LIVE_MODELS_MOST))
            return LIVE_NONE;
        model = &live->models[live->model_count++];
        *model = (struct live_model){ .process = process, .id = id, .changed = live->version };
    }
    changed = set_text(model->name, sizeof model->name, name);
    changed = set_text(model->path, sizeof model->path, path) || changed;
    if (set_text(model->runtime, sizeof model->runtime, runtime) || changed)
        model->changed = live->version;
    return (uint32_t)(model - live->models);
}

void live_thread(struct live *live, uint32_t number, uint32_t tid, uint32_t pid, const char *name)
{
    struct live_thread *thread = NULL;

    for (size_t i = 0; i < live->thread_count && !thread; i++)
        if (live->threads[i].thread == number)
            thread = &live->threads[i];
    if (!thread) {
        if (!IFG_ARRAY_ROOM(live->threads, live->thread_capacity, live->thread_count + 1,
                            LIVE_THREADS_MOST))
            return;
        thread = &live->threads[live->thread_count++];
        *thread = (struct live_thread){ .thread = number, .changed = live->version };
    }
    if (set_text(thread->name, sizeof thread->name, name) || thread->tid != tid ||
        thread->pid != pid)
        thread->changed = live->version;
    thread->tid = tid;
    thread->pid = pid;
}
