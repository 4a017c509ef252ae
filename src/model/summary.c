// SPDX-License-Identifier: Apache-2.0
/* Counting a trace: see summary.h. */
#include "model/summary.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* While counting: one row per location, found by its position in the location table. */
struct counting {
    const struct trace_reader *reader;
    const struct trace_tables *tables;
    struct summary *summary;
    struct summary_row *by_location; /* location_count + 1; the last is "unknown" */
    uint64_t *dropped_by_thread;
    size_t *open_block_by_thread; /* 1 + the last block that tells of open zones; 0 none */
};

const char *summary_category_name(enum trace_category category)
{
    static const char *const names[TRACE_CATEGORIES] = {
        "", "prepare-ep", "specialization", "load", "setup", "inference",
    };

    return (unsigned)category < TRACE_CATEGORIES ? names[category] : "";
}

static size_t location_position(const struct trace_tables *tables, uint32_t process, uint32_t id)
{
    const struct trace_location_entry *found = trace_find_location(tables, process, id);

    return found ? (size_t)(found - tables->locations) : tables->location_count;
}

static void note_time(struct summary *summary, uint64_t ns)
{
    if (!summary->begin_ns || ns < summary->begin_ns)
        summary->begin_ns = ns;
    if (ns > summary->end_ns)
        summary->end_ns = ns;
}

static uint32_t clock_of_thread(const struct trace_tables *tables, uint32_t thread,
                                uint32_t *out_process)
{
    *out_process = 0;
    if (thread >= tables->thread_count)
        return 0;
    *out_process = tables->threads[thread].process;
    if (*out_process >= tables->process_count)
        return 0;
    return tables->processes[*out_process].clock;
}

static void count_zones(struct counting *counting, const struct trace_block *block,
                        const struct trace_zones *zones)
{
    uint32_t process;
    uint32_t clock = clock_of_thread(counting->tables, block->stream, &process);
    uint32_t last_id = 0;
    struct summary_row *row = NULL;

    for (size_t i = 0; i < zones->count; i++) {
        uint64_t start = trace_clock_to_ns(counting->reader, clock, zones->starts[i]);
        uint64_t end =
            trace_clock_to_ns(counting->reader, clock, zones->starts[i] + zones->durations[i]);
        uint64_t duration = end - start;

        if (!row || zones->locations[i] != last_id) {
            last_id = zones->locations[i];
            row = &counting->by_location[location_position(counting->tables, process, last_id)];
        }
        row->count++;
        row->total_ns += duration;
        if (duration < row->min_ns || row->count == 1)
            row->min_ns = duration;
        if (duration > row->max_ns)
            row->max_ns = duration;
        note_time(counting->summary, start);
        note_time(counting->summary, end);
    }
}

static void count_events(struct counting *counting, const struct trace_block *block,
                         const struct trace_events *events)
{
    struct summary *summary = counting->summary;
    uint32_t process;
    uint32_t clock = clock_of_thread(counting->tables, block->stream, &process);

    for (size_t i = 0; i < events->count; i++) {
        const struct trace_event *event = &events->events[i];

        note_time(summary, trace_clock_to_ns(counting->reader, clock, event->ticks));
        switch (event->kind) {
        case TRACE_EVENT_MESSAGE:
            summary->messages++;
            break;
        case TRACE_EVENT_COUNTER:
            summary->counters++;
            break;
        case TRACE_EVENT_ASYNC_BEGIN:
            summary->async_spans++;
            break;
        case TRACE_EVENT_ASYNC_END:
            break;
        case TRACE_EVENT_ALLOC:
            summary->allocations++;
            break;
        case TRACE_EVENT_FREE:
            summary->frees++;
            break;
        case TRACE_EVENT_FRAME:
            summary->frames++;
            break;
        case TRACE_EVENT_ATTRIBUTE:
            summary->attributes++;
            break;
        }
    }
}

static void count_blocks(struct counting *counting)
{
    struct trace_zones zones = { 0 };
    struct trace_events events = { 0 };

    for (size_t i = 0; i < trace_reader_block_count(counting->reader); i++) {
        const struct trace_block *block = trace_reader_block(counting->reader, i);

        if (block->type == TRACE_BLOCK_ZONES || block->type == TRACE_BLOCK_EVENTS) {
            if (block->stream < counting->tables->thread_count &&
                block->dropped > counting->dropped_by_thread[block->stream])
                counting->dropped_by_thread[block->stream] = block->dropped;
        }
        if (block->type == TRACE_BLOCK_ZONES) {
            if (trace_decode_zones(counting->reader, i, &zones, NULL) == IFG_OK) {
                count_zones(counting, block, &zones);
                if (zones.has_open && block->stream < counting->tables->thread_count)
                    counting->open_block_by_thread[block->stream] = i + 1;
            } else {
                counting->summary->undecoded_blocks++;
            }
        } else if (block->type == TRACE_BLOCK_EVENTS) {
            if (trace_decode_events(counting->reader, i, &events, NULL) == IFG_OK)
                count_events(counting, block, &events);
            else
                counting->summary->undecoded_blocks++;
        }
    }
    trace_zones_fini(&zones);
    trace_events_fini(&events);
}

static void name_rows(struct counting *counting)
{
    const struct trace_tables *tables = counting->tables;

    for (size_t i = 0; i < tables->location_count; i++) {
        const struct trace_location_entry *location = &tables->locations[i];
        struct summary_row *row = &counting->by_location[i];
        const struct trace_model_entry *model =
            trace_find_model(tables, location->process, location->model);

        row->kind = location->kind;
        row->category = location->category;
        row->model = model ? model->name : "";
        row->name = location->kind == TRACE_LOCATION_ML ? location->function : location->name;
    }
    counting->by_location[tables->location_count].kind = TRACE_LOCATION_ZONE;
    counting->by_location[tables->location_count].model = "";
    counting->by_location[tables->location_count].name = "(not defined in this trace)";
}

static int same_place(const struct summary_row *a, const struct summary_row *b)
{
    int order = (int)a->kind - (int)b->kind;

    if (!order)
        order = (int)a->category - (int)b->category;
    if (!order)
        order = strcmp(a->model, b->model);
    return order ? order : strcmp(a->name, b->name);
}

static int compare_places(const void *a, const void *b)
{
    return same_place(a, b);
}

static int compare_totals(const void *a, const void *b)
{
    const struct summary_row *left = a;
    const struct summary_row *right = b;

    if (left->total_ns != right->total_ns)
        return left->total_ns < right->total_ns ? 1 : -1;
    return same_place(left, right);
}

/* The same name in two files, or in two processes, is one row for people. */
static enum ifg_status merge_rows(struct counting *counting)
{
    struct summary *summary = counting->summary;
    size_t count = counting->tables->location_count + 1;
    struct summary_row *rows = ifg_alloc(count, sizeof *rows);
    size_t used = 0;

    if (!rows)
        return IFG_NO_MEMORY;
    memcpy(rows, counting->by_location, count * sizeof *rows);
    qsort(rows, count, sizeof *rows, compare_places);
    for (size_t i = 0; i < count; i++) {
        if (used && same_place(&rows[used - 1], &rows[i]) == 0) {
            struct summary_row *into = &rows[used - 1];

            if (rows[i].count && (!into->count || rows[i].min_ns < into->min_ns))
                into->min_ns = rows[i].min_ns;
            if (rows[i].max_ns > into->max_ns)
                into->max_ns = rows[i].max_ns;
            into->count += rows[i].count;
            into->total_ns += rows[i].total_ns;
        } else {
            rows[used++] = rows[i];
        }
    }
    qsort(rows, used, sizeof *rows, compare_totals);
    summary->rows = rows;
    summary->row_count = used;
    for (size_t i = 0; i < used; i++) {
        if (rows[i].kind == TRACE_LOCATION_ML)
            summary->ml += rows[i].count;
        else if (rows[i].kind == TRACE_LOCATION_OP)
            summary->ops += rows[i].count;
        else
            summary->zones += rows[i].count;
    }
    return IFG_OK;
}

static struct summary_row *row_of(struct counting *counting, uint32_t process, uint32_t location)
{
    const struct summary_row *wanted =
        &counting->by_location[location_position(counting->tables, process, location)];
    struct summary *summary = counting->summary;

    for (size_t i = 0; i < summary->row_count; i++)
        if (same_place(&summary->rows[i], wanted) == 0)
            return &summary->rows[i];
    return NULL;
}

/* Appends the open zones of one thread. */
static enum ifg_status append_open(struct counting *counting, uint32_t thread,
                                   const struct trace_zones *zones)
{
    struct summary *summary = counting->summary;
    struct summary_open *open =
        ifg_realloc(summary->open, summary->open_count + zones->open_count, sizeof *summary->open);
    uint32_t process;
    uint32_t clock = clock_of_thread(counting->tables, thread, &process);

    if (!open)
        return IFG_NO_MEMORY;
    summary->open = open;
    for (size_t i = 0; i < zones->open_count; i++) {
        struct summary_row *row = row_of(counting, process, zones->open_locations[i]);

        if (!row)
            continue;
        summary->open[summary->open_count++] = (struct summary_open){
            .row = row,
            .thread = thread,
            .start_ns = trace_clock_to_ns(counting->reader, clock, zones->open_starts[i]),
            .seen_ns = trace_clock_to_ns(counting->reader, clock, zones->open_as_of),
        };
    }
    return IFG_OK;
}

static enum ifg_status collect_open(struct counting *counting)
{
    struct trace_zones zones = { 0 };
    enum ifg_status status = IFG_OK;

    for (uint32_t t = 0; t < counting->tables->thread_count && !status; t++) {
        size_t block = counting->open_block_by_thread[t];

        if (block && trace_decode_zones(counting->reader, block - 1, &zones, NULL) == IFG_OK &&
            zones.open_count)
            status = append_open(counting, t, &zones);
    }
    trace_zones_fini(&zones);
    return status;
}

static void count_losses(struct counting *counting)
{
    const struct trace_tables *tables = counting->tables;

    for (size_t t = 0; t < tables->thread_count; t++)
        counting->summary->dropped += counting->dropped_by_thread[t];
    for (size_t i = 0; i < tables->loss_count; i++)
        if (strncmp(tables->losses[i].what, "events", 6) == 0)
            counting->summary->dropped += tables->losses[i].count;
}

enum ifg_status summary_create(const struct trace_reader *reader, struct summary **out_summary,
                               struct ifg_error *err)
{
    const struct trace_tables *tables = trace_reader_tables(reader);
    struct counting counting = { .reader = reader, .tables = tables };
    enum ifg_status status = IFG_NO_MEMORY;

    *out_summary = NULL;
    counting.summary = ifg_alloc(1, sizeof *counting.summary);
    counting.by_location = ifg_alloc(tables->location_count + 1, sizeof *counting.by_location);
    counting.dropped_by_thread = ifg_alloc(tables->thread_count, sizeof(uint64_t));
    counting.open_block_by_thread = ifg_alloc(tables->thread_count, sizeof(size_t));
    if (!counting.summary || !counting.by_location || !counting.dropped_by_thread ||
        !counting.open_block_by_thread)
        goto out;
    name_rows(&counting);
    count_blocks(&counting);
    count_losses(&counting);
    status = merge_rows(&counting);
    if (!status)
        status = collect_open(&counting);
    if (status)
        goto out;
    *out_summary = counting.summary;
    counting.summary = NULL;
out:
    summary_destroy(counting.summary);
    ifg_free(counting.by_location);
    ifg_free(counting.dropped_by_thread);
    ifg_free(counting.open_block_by_thread);
    return status ? ifg_fail(err, status, "out of memory while counting the trace") : IFG_OK;
}

void summary_destroy(struct summary *summary)
{
    if (!summary)
        return;
    ifg_free(summary->rows);
    ifg_free(summary->open);
    ifg_free(summary);
}
