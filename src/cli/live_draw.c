// SPDX-License-Identifier: Apache-2.0
/* The gauge as text: see live_gauge.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/text.h"
#include "base/convert.h"
#include "cli/live_gauge.h"

#define NS_PER_S     UINT64_C(1000000000)
#define LEVELS       8
#define TABLE_MOST   10u
#define LINES_BESIDE 15u /* of the screen that are not the table's; without the empty ones: */
#define LINES_TIGHT  11u
#define NARROW       60u /* columns: below, what matters less is left out */
#define OPEN_FROM_NS                                                                               \
    (UINT64_C(500) * 1000 * 1000) /* shorter ones end before anybody could read it */

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

static uint64_t open_for(const struct live *live, const struct live_open *open)
{
    return live->now_ns > open->start_ns ? live->now_ns - open->start_ns : 0;
}

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
        if (live->open[i].category == category && open_for(live, &live->open[i]) >= OPEN_FROM_NS &&
            live->open[i].start_ns < end_ns && end_ns - live->open[i].start_ns > longest)
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

/* High, Low and Count if there is room for them. */
static void put_numbers(const struct live *live, enum live_category category,
                        const struct gauge_look *look, struct ifg_bytes *out)
{
    struct live_window window = live_window(live, category);
    bool narrow = look->columns < NARROW;
    size_t before = narrow ? 31 : 35; /* columns of name and median, and the last one */
    size_t room = look->columns > before ? look->columns - before : 0;
    char parts[3][48] = { "", "", "" };
    static const uint8_t least_first[] = { 1, 0, 2 };
    char text[32];

    if (window.count) {
        snprintf(parts[0], sizeof parts[0], "  High %s",
                 cli_duration((double)window.high_ns, text));
        snprintf(parts[1], sizeof parts[1], "  Low %s", cli_duration((double)window.low_ns, text));
    }
    snprintf(parts[2], sizeof parts[2], "  Count %s", cli_count(window.count, text));
    for (size_t i = 0; i < 3; i++)
        if (text_columns(parts[0]) + text_columns(parts[1]) + text_columns(parts[2]) > room)
            parts[least_first[i]][0] = '\0';
    text_put_cell(out, duration_of(live_median(live, category), text), narrow ? 8 : 10, TEXT_RIGHT);
    cli_print(out, " median%s%s%s%s", narrow ? "" : " ", parts[0], parts[1], parts[2]);
}

static void put_graph(const struct live *live, size_t graph, bool ended,
                      const struct gauge_look *look, struct ifg_bytes *out)
{
    enum live_category category = graphs[graph].category;

    cli_print(out, "%s%-14s%s ", look->color ? "\033[1m" : "", graphs[graph].name,
              look->color ? "\033[0m" : "");
    if (live->distributions[category].count)
        put_numbers(live, category, look, out);
    else
        cli_print(out, "%s", ended ? "none" : "none so far");
    end_line(out);
    put_bars(live, graph, look, out);
}

/* ---- the rest ---- */

static void put_clock(struct ifg_bytes *out, uint64_t ns, bool narrow)
{
    uint64_t ms = ns / 1000000;

    if (!narrow)
        cli_print(out, "%02llu:", (unsigned long long)(ms / 3600000));
    cli_print(out, "%02llu:%02llu.%03llu", (unsigned long long)(ms / 60000 % 60),
              (unsigned long long)(ms / 1000 % 60), (unsigned long long)(ms % 1000));
}

/* Names of the table: capital letters, as the graphs have them. */
static const char *event_name(enum live_category category)
{
    static const char *const names[] = { "Prepare EP", "Specialization", "Load", "Setup",
                                         "Inference" };

    return names[category];
}

static bool is_tight(const struct gauge_look *look)
{
    return look->rows < LINES_BESIDE + 3;
}

static void put_rows(const struct live *live, uint64_t from, const struct gauge_look *look,
                     int name_columns, struct ifg_bytes *out)
{
    bool narrow = look->columns < NARROW;

    for (uint64_t i = from; i < live->row_count; i++) {
        const struct live_event *event = &live->rows[i % LIVE_ROWS].event;
        char duration[32];
        char name[80];

        if (event->category == LIVE_SETUP)
            continue;
        put_clock(out, event->start_ns > live->first_ns ? event->start_ns - live->first_ns : 0,
                  narrow);
        cli_print(out, " ");
        text_put_cell(out, duration_of((double)(event->end_ns - event->start_ns), duration),
                      narrow ? 8 : 12, TEXT_RIGHT);
        cli_print(out, "  %-*.*s %s", name_columns, name_columns,
                  model_name(live, event->model, name, sizeof name), event_name(event->category));
        end_line(out);
    }
}

static void put_table(const struct live_feed *feed, const struct gauge_look *look,
                      struct ifg_bytes *out)
{
    const struct live *live = feed->live;
    uint64_t oldest = live->row_count > LIVE_ROWS ? live->row_count - LIVE_ROWS : 0;
    uint64_t from = live->row_count;
    size_t beside = is_tight(look) ? LINES_TIGHT : LINES_BESIDE;
    uint64_t shown = look->rows > beside ? look->rows - beside : 1;
    bool narrow = look->columns < NARROW;
    size_t others = narrow ? 36 : 43; /* columns that are not the name's, the longest event's too */
    int name_columns = look->columns > others + 6 ? (int)(look->columns - others) : 6;

    if (!live->first_ns) {
        cli_print(out, "%s",
                  feed->state == LIVE_ENDED ? "No model ran while it was recorded."
                  : narrow                  ? "No model has run yet."
                           : "No model has run yet; the first one begins the graphs.");
        end_line(out);
        return;
    }
    if (shown > TABLE_MOST)
        shown = TABLE_MOST;
    /* The last so many that are no set-ups. */
    while (from > oldest && shown)
        shown -= live->rows[--from % LIVE_ROWS].event.category != LIVE_SETUP;
    cli_print(out, "%-*s %*s  %-*s %s", narrow ? 9 : 12, "Start", narrow ? 8 : 12, "Duration",
              name_columns, "Model", "Event");
    end_line(out);
    put_rows(live, from, look, name_columns, out);
}

/* At most two of those that take long. */
static void put_open(const struct live *live, const struct gauge_look *look, struct ifg_bytes *out)
{
    size_t most = is_tight(look) ? 1 : 2;
    size_t shown = 0;
    size_t all = 0;

    for (size_t i = 0; i < live->open_count; i++)
        all += open_for(live, &live->open[i]) >= OPEN_FROM_NS;
    for (size_t i = 0; i < live->open_count && shown < most; i++) {
        const struct live_open *open = &live->open[i];
        char name[64];
        char inside[64];
        char duration[32];

        if (open_for(live, open) < OPEN_FROM_NS)
            continue;
        shown++;
        cli_print(out, "open: %s %s %s", model_name(live, open->model, name, sizeof name),
                  live_category_name(open->category),
                  duration_of((double)open_for(live, open), duration));
        if (*open->inside)
            cli_print(out, ", now in %s", cli_clean(open->inside, inside, sizeof inside));
        if (shown == most && all > shown)
            cli_print(out, " (and %zu more)", all - shown);
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

/* Columns of a text from a byte on; letters of ours have one each. */
static size_t columns_since(const struct ifg_bytes *text, size_t begin)
{
    return text->size > begin
               ? text_columns_of((const char *)text->data + begin, text->size - begin)
               : 0; /* there may be no bytes at all yet */
}

/* Those that fit into so many columns; SIZE_MAX: all of them. */
static void put_resources(const struct live_feed *feed, size_t columns, struct ifg_bytes *out)
{
    const struct live *live = feed->live;
    const struct live_value *cpu = latest_of(live, LIVE_KIND_CPU);
    const struct live_value *gpu = latest_of(live, LIVE_KIND_GPU);
    const struct live_value *gpu_memory = latest_of(live, LIVE_KIND_GPU_MEMORY);
    double memory = memory_of(live);
    size_t begin = out->size;
    char parts[5][64] = { "", "", "", "", "" };
    char text[32];

    if (cpu)
        snprintf(parts[0], sizeof parts[0], "CPU %.0f %%", cpu->last);
    if (cpu && columns >= NARROW)
        snprintf(parts[1], sizeof parts[1], " (%.1f of %u cores)",
                 cpu->last / 100 * feed->info.cpus, feed->info.cpus);
    if (memory > 0)
        snprintf(parts[2], sizeof parts[2], "Memory %s", cli_size(ifg_u64_of(memory), text));
    if (gpu)
        snprintf(parts[3], sizeof parts[3], "GPU %.0f %%", gpu->last);
    if (gpu_memory)
        snprintf(parts[4], sizeof parts[4], "GPU memory %s",
                 cli_size(ifg_u64_of(gpu_memory->last), text));
    for (size_t i = 0; i < 5; i++) {
        size_t used = columns_since(out, begin);

        if (*parts[i] && used + 3 + strlen(parts[i]) <= columns)
            cli_print(out, "%s%s", used && i != 1 ? " · " : "", parts[i]);
    }
}

static void put_losses(const struct live_feed *feed, struct ifg_bytes *out)
{
    char count[32];

    if (feed->dropped)
        cli_print(out, " · %s lost", cli_count(feed->dropped, count));
    if (feed->damaged)
        cli_print(out, " · %s damaged blocks", cli_count(feed->damaged, count));
}

static uint64_t seconds_of(const struct live *live)
{
    return live->now_ns > live->begin_ns ? (live->now_ns - live->begin_ns) / NS_PER_S : 0;
}

static void put_head(const struct live_feed *feed, const struct gauge_look *look,
                     struct ifg_bytes *out)
{
    const struct live *live = feed->live;
    uint64_t seconds = seconds_of(live);
    char program[48];
    size_t room = look->columns > 32 + 8 ? look->columns - 32 : 8; /* for its name */
    char events[32];

    if (feed->state == LIVE_WAITING) {
        cli_print(out, "waiting for the recording to begin");
        end_line(out);
        return;
    }
    cli_print(out, "%s%s%s  ", look->color ? "\033[1m" : "",
              cli_clean(feed->info.program, program, room < sizeof program ? room : sizeof program),
              look->color ? "\033[0m" : "");
    if (feed->info.pid && look->columns >= 50)
        cli_print(out, "pid %u   ", feed->info.pid);
    cli_print(out, "%s %02llu:%02llu:%02llu   %s events", live_state_name(feed->state),
              (unsigned long long)(seconds / 3600), (unsigned long long)(seconds / 60 % 60),
              (unsigned long long)(seconds % 60), cli_count(live->events, events));
    if (live->model_count > 1 && look->columns >= NARROW)
        cli_print(out, " of %zu models", live->model_count);
    put_losses(feed, out);
    end_line(out);
}

void live_gauge_draw_screen(const struct live_feed *feed, const struct gauge_look *look,
                            struct ifg_bytes *out)
{
    const struct live *live = feed->live;
    const char *hint;
    size_t before;
    size_t room;

    put_head(feed, look, out);
    if (!is_tight(look))
        end_line(out);
    for (size_t i = 0; i < GRAPHS; i++)
        put_graph(live, i, feed->state == LIVE_ENDED, look, out);
    if (!is_tight(look))
        end_line(out);
    put_table(feed, look, out);
    put_open(live, look, out);
    hint = *feed->why                  ? feed->why
           : feed->state == LIVE_ENDED ? ""
           : look->keys                ? "q ends"
                                       : "Ctrl-C ends";
    before = out->size;
    room = strlen(hint) + 4;
    put_resources(feed, look->columns > room ? look->columns - room : 0, out);
    if (*hint)
        cli_print(out, "%s%s", out->size > before ? " · " : "", hint);
    end_line(out);
}

/* ---- one line ---- */

enum line_part { PART_FIRST_GRAPH, PART_RECENT = GRAPHS, PART_OPEN, PART_RESOURCES };

static void put_part(const struct live_feed *feed, unsigned part, struct ifg_bytes *out)
{
    const struct live *live = feed->live;
    /* The second before: this one is not over. */
    const struct live_bucket *bucket =
        live->first_ns ? live_bucket(live, LIVE_INFERENCE, live_second_of(live, live->now_ns) - 1)
                       : NULL;
    char count[32];
    char text[32];

    if (part < GRAPHS && live->distributions[graphs[part].category].count) {
        enum live_category category = graphs[part].category;

        cli_print(out, "%s %s (median %s)", live_category_name(category),
                  cli_count(live->distributions[category].count, count),
                  duration_of(live_median(live, category), text));
    } else if (part == PART_RECENT && bucket) {
        cli_print(out, "last second: %u, longest %s", bucket->count,
                  duration_of((double)bucket->max_ns, text));
    } else if (part == PART_OPEN && live->open_count &&
               open_for(live, &live->open[0]) >= OPEN_FROM_NS) {
        cli_print(out, "open %s %s", live_category_name(live->open[0].category),
                  duration_of((double)open_for(live, &live->open[0]), text));
    } else if (part == PART_RESOURCES) {
        put_resources(feed, SIZE_MAX, out);
        put_losses(feed, out);
    }
}

void live_gauge_draw_line(const struct live_feed *feed, size_t columns, struct ifg_bytes *out)
{
    static const uint8_t all[] = { 0, 1, 2, PART_RECENT, PART_OPEN, PART_RESOURCES };
    static const uint8_t fitting[] = { 0, PART_RECENT, PART_OPEN, PART_RESOURCES, 1, 2 };
    _Static_assert(sizeof all == sizeof fitting, "the same parts, in another order");
    uint64_t seconds = seconds_of(feed->live);
    size_t begin = out->size;
    struct ifg_bytes part;

    cli_print(out, "%02llu:%02llu  ", (unsigned long long)(seconds / 60),
              (unsigned long long)(seconds % 60));
    if (!feed->live->first_ns)
        cli_print(out, "no model has run%s", feed->state == LIVE_ENDED ? "" : " yet");
    ifg_bytes_init(&part, 4096);
    for (size_t i = 0, shown = !feed->live->first_ns; i < sizeof all && !out->failed; i++) {
        size_t used = columns_since(out, begin);

        ifg_bytes_clear(&part);
        put_part(feed, columns ? fitting[i] : all[i], &part);
        if (!part.size || part.failed || (columns && used + columns_since(&part, 0) + 3 > columns))
            continue;
        if (shown++)
            cli_print(out, " · ");
        ifg_bytes_put(out, part.data, part.size);
    }
    ifg_bytes_fini(&part);
}
