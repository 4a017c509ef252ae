// SPDX-License-Identifier: Apache-2.0
/* The gauge as text: see live_gauge.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/live_gauge.h"

#define NS_PER_S     UINT64_C(1000000000)
#define LEVELS       8
#define TABLE_MOST   10u
#define LINES_BESIDE 15u /* of the screen that are not the table's */

/* The three of the gauge; setup is left out, as everywhere. */
static const struct {
    enum live_category category;
    const char *name;
    const char *color;
    bool log; /* an engine build is a thousand times a cached load */
} graphs[] = {
    { LIVE_INFERENCE, "Inference", "\033[34m", false },
    { LIVE_LOAD, "Load", "\033[36m", true },
    { LIVE_SPECIALIZATION, "Specialization", "\033[32m", true },
};

#define GRAPHS (sizeof graphs / sizeof graphs[0])

static const char *duration_of(double ns, char out[32])
{
    if (isnan(ns)) {
        snprintf(out, 32, "-");
        return out;
    }
    return cli_duration(ns, out);
}

static void end_line(struct ifg_bytes *out)
{
    cli_print(out, "\033[K\n");
}

static const char *model_name(const struct live *live, uint32_t model, char *out, size_t size)
{
    return cli_clean(model < live->model_count ? live->models[model].name : "", out, size);
}

/* ---- bars ---- */

/* How long something of the category was open at the end of that second; 0: nothing was. */
static uint64_t open_in(const struct live *live, enum live_category category, int64_t second)
{
    uint64_t longest = 0;
    uint64_t end_ns = live->first_ns + (uint64_t)(second + 1) * NS_PER_S;

    if (second < 0)
        return 0;
    if (end_ns > live->now_ns)
        end_ns = live->now_ns;
    for (size_t i = 0; i < live->open_count; i++)
        if (live->open[i].category == category && live->open[i].start_ns < end_ns &&
            end_ns - live->open[i].start_ns > longest)
            longest = end_ns - live->open[i].start_ns;
    return longest;
}

/* 1 to LEVELS. */
static unsigned level_of(uint64_t value, uint64_t highest, bool log_scale)
{
    double share = highest ? (double)value / (double)highest : 0;

    if (log_scale && value && highest > 10000000)
        share = (log10((double)value) - 6.5) / (log10((double)highest) - 6.5); /* from 3 ms on */
    if (!(share > 0))
        share = 0;
    return share >= 1 ? LEVELS : 1 + (unsigned)(share * (LEVELS - 1) + 0.5);
}

static void put_bars(const struct live *live, size_t graph, const struct gauge_look *look,
                     struct ifg_bytes *out)
{
    static const char *const blocks[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
    static const char *const plain[] = { " ", ".", ":", "-", "=", "+", "*", "#", "@" };
    enum live_category category = graphs[graph].category;
    int64_t seconds =
        (int64_t)look->columns - 2 < LIVE_WINDOW ? (int64_t)look->columns - 2 : LIVE_WINDOW;
    int64_t now = live_second_of(live, live->now_ns);
    uint64_t highest = live_window(live, category).high_ns;

    for (int64_t second = now - seconds + 1; second <= now; second++)
        if (open_in(live, category, second) > highest)
            highest = open_in(live, category, second);
    if (look->color)
        cli_print(out, "%s", graphs[graph].color);
    for (int64_t second = now - seconds + 1; second <= now; second++) {
        const struct live_bucket *bucket = live_bucket(live, category, second);
        uint64_t open = open_in(live, category, second);
        unsigned level = bucket ? level_of(bucket->max_ns, highest, graphs[graph].log) : 0;

        if (open && (!bucket || open > bucket->max_ns))
            cli_print(out, "%s", look->unicode ? "░" : "~");
        else
            cli_print(out, "%s", look->unicode ? blocks[level] : plain[level]);
    }
    if (look->color)
        cli_print(out, "\033[0m");
    end_line(out);
}

static void put_graph(const struct live *live, size_t graph, const struct gauge_look *look,
                      struct ifg_bytes *out)
{
    enum live_category category = graphs[graph].category;
    struct live_window window = live_window(live, category);
    char median[32];
    char high[32];
    char low[32];
    char count[32];

    cli_print(out, "%s%-14s%s %10s median   ", look->color ? "\033[1m" : "", graphs[graph].name,
              look->color ? "\033[0m" : "", duration_of(live_median(live, category), median));
    cli_print(out, "High %s  Low %s  Count %s",
              duration_of(window.count ? (double)window.high_ns : NAN, high),
              duration_of(window.count ? (double)window.low_ns : NAN, low),
              cli_count(window.count, count));
    end_line(out);
    put_bars(live, graph, look, out);
}

/* ---- the rest ---- */

static void put_clock(struct ifg_bytes *out, uint64_t ns)
{
    uint64_t ms = ns / 1000000;

    cli_print(out, "%02llu:%02llu:%02llu.%03llu", (unsigned long long)(ms / 3600000),
              (unsigned long long)(ms / 60000 % 60), (unsigned long long)(ms / 1000 % 60),
              (unsigned long long)(ms % 1000));
}

/* Names of the table: capital letters, as the graphs have them. */
static const char *event_name(enum live_category category)
{
    static const char *const names[] = { "Prepare EP", "Specialization", "Load", "Setup",
                                         "Inference" };

    return names[category];
}

static void put_table(const struct live *live, const struct gauge_look *look, struct ifg_bytes *out)
{
    uint64_t oldest = live->row_count > LIVE_ROWS ? live->row_count - LIVE_ROWS : 0;
    uint64_t from = live->row_count;
    uint64_t shown = look->rows > LINES_BESIDE ? look->rows - LINES_BESIDE : 1;
    int name_columns = look->columns > 60 ? (int)look->columns - 45 : 15;

    if (shown > TABLE_MOST)
        shown = TABLE_MOST;
    /* The last so many that are no set-ups. */
    while (from > oldest && shown)
        shown -= live->rows[--from % LIVE_ROWS].event.category != LIVE_SETUP;
    cli_print(out, "%-14s %10s  %-*s %s", "Start", "Duration", name_columns, "Model", "Event");
    end_line(out);
    for (uint64_t i = from; i < live->row_count; i++) {
        const struct live_event *event = &live->rows[i % LIVE_ROWS].event;
        char duration[32];
        char name[80];

        if (event->category == LIVE_SETUP)
            continue;
        put_clock(out, event->start_ns > live->first_ns ? event->start_ns - live->first_ns : 0);
        cli_print(out, "   %10s  %-*.*s %s",
                  duration_of((double)(event->end_ns - event->start_ns), duration), name_columns,
                  name_columns, model_name(live, event->model, name, sizeof name),
                  event_name(event->category));
        end_line(out);
    }
}

static void put_open(const struct live *live, struct ifg_bytes *out)
{
    size_t shown = live->open_count < 2 ? live->open_count : 2;

    for (size_t i = 0; i < shown; i++) {
        const struct live_open *open = &live->open[i];
        char name[64];
        char inside[64];
        char duration[32];

        cli_print(out, "open: %s %s %s", model_name(live, open->model, name, sizeof name),
                  live_category_name(open->category),
                  duration_of((double)(live->now_ns - open->start_ns), duration));
        if (*open->inside)
            cli_print(out, ", now in %s", cli_clean(open->inside, inside, sizeof inside));
        if (i + 1 == shown && live->open_count > shown)
            cli_print(out, " (and %zu more)", live->open_count - shown);
        end_line(out);
    }
}

static const struct live_value *latest_of(const struct live *live, enum live_kind kind)
{
    for (size_t i = 0; i < live->series_count; i++)
        if (live->series[i]->kind == kind)
            return live_latest(live->series[i]);
    return NULL;
}

/* All processes of the program together. */
static double memory_of(const struct live *live)
{
    double bytes = 0;

    for (size_t i = 0; i < live->series_count; i++) {
        const struct live_value *value = live_latest(live->series[i]);

        if (live->series[i]->kind == LIVE_KIND_PROCESS_MEMORY && value &&
            (double)live->now_ns <
                (double)live->begin_ns + (double)(value->second + 10) * (double)NS_PER_S)
            bytes += value->last;
    }
    return bytes;
}

static void put_resources(const struct live_feed *feed, struct ifg_bytes *out)
{
    const struct live *live = feed->live;
    const struct live_value *cpu = latest_of(live, LIVE_KIND_CPU);
    const struct live_value *gpu = latest_of(live, LIVE_KIND_GPU);
    const struct live_value *gpu_memory = latest_of(live, LIVE_KIND_GPU_MEMORY);
    double memory = memory_of(live);
    char size[32];

    if (cpu)
        cli_print(out, "CPU %.0f %% (%.1f of %u)", cpu->last, cpu->last / 100 * feed->info.cpus,
                  feed->info.cpus);
    if (memory > 0)
        cli_print(out, "%sMemory %s", cpu ? " · " : "", cli_size((uint64_t)memory, size));
    if (gpu)
        cli_print(out, " · GPU %.0f %%", gpu->last);
    if (gpu_memory)
        cli_print(out, " · GPU memory %s", cli_size((uint64_t)gpu_memory->last, size));
}

static void put_losses(const struct live_feed *feed, struct ifg_bytes *out)
{
    char count[32];

    if (feed->dropped)
        cli_print(out, " · %s lost", cli_count(feed->dropped, count));
    if (feed->damaged)
        cli_print(out, " · %s damaged blocks", cli_count(feed->damaged, count));
}

static void put_head(const struct live_feed *feed, const struct gauge_look *look,
                     struct ifg_bytes *out)
{
    const struct live *live = feed->live;
    uint64_t seconds =
        live->now_ns > live->begin_ns ? (live->now_ns - live->begin_ns) / NS_PER_S : 0;
    char program[48];
    char events[32];

    cli_print(out, "%s%s%s  pid %u   ", look->color ? "\033[1m" : "",
              cli_clean(feed->info.program, program, sizeof program), look->color ? "\033[0m" : "",
              feed->info.pid);
    cli_print(out, "%s %02llu:%02llu:%02llu   %s events", live_state_name(feed->state),
              (unsigned long long)(seconds / 3600), (unsigned long long)(seconds / 60 % 60),
              (unsigned long long)(seconds % 60), cli_count(live->events, events));
    put_losses(feed, out);
    end_line(out);
}

void gauge_draw_screen(const struct live_feed *feed, const struct gauge_look *look,
                       struct ifg_bytes *out)
{
    const struct live *live = feed->live;

    put_head(feed, look, out);
    end_line(out);
    for (size_t i = 0; i < GRAPHS; i++)
        put_graph(live, i, look, out);
    end_line(out);
    put_table(live, look, out);
    put_open(live, out);
    put_resources(feed, out);
    if (*feed->why)
        cli_print(out, " · %s", feed->why);
    else if (feed->state != LIVE_ENDED)
        cli_print(out, " · q ends");
    end_line(out);
}

void gauge_draw_line(const struct live_feed *feed, struct ifg_bytes *out)
{
    const struct live *live = feed->live;
    uint64_t seconds =
        live->now_ns > live->begin_ns ? (live->now_ns - live->begin_ns) / NS_PER_S : 0;
    /* The second before: this one is not over. */
    const struct live_bucket *bucket =
        live->first_ns ? live_bucket(live, LIVE_INFERENCE, live_second_of(live, live->now_ns) - 1)
                       : NULL;
    char count[32];
    char text[32];

    cli_print(out, "%02llu:%02llu  ", (unsigned long long)(seconds / 60),
              (unsigned long long)(seconds % 60));
    for (size_t i = 0; i < GRAPHS; i++) {
        enum live_category category = graphs[i].category;

        if (!live->distributions[category].count)
            continue;
        cli_print(out, "%s %s (median %s) · ", live_category_name(category),
                  cli_count(live->distributions[category].count, count),
                  duration_of(live_median(live, category), text));
    }
    if (bucket)
        cli_print(out, "%u in the last second, longest %s · ", bucket->count,
                  duration_of((double)bucket->max_ns, text));
    if (live->open_count)
        cli_print(out, "open %s %s · ", live_category_name(live->open[0].category),
                  duration_of((double)(live->now_ns - live->open[0].start_ns), text));
    put_resources(feed, out);
    put_losses(feed, out);
}
