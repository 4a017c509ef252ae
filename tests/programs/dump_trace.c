// SPDX-License-Identifier: Apache-2.0
/*
 * Prints a trace as lines of text for tests: dump_trace [--totals] FILE.
 *
 * Definitions come first, then, thread by thread, zones in the order of their ends with the zone
 * that contains them, then events. The last lines are totals. `bad` counts zones that cannot be:
 * they begin before their process, or overlap another one without containing it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "trace/reader.h"

static const char *const location_kinds[] = { "?",       "zone", "ml",    "op",    "stage",
                                              "counter", "pool", "frame", "async", "flow" };
static const char *const categories[] = { "-",    "prepare", "specialization",
                                          "load", "setup",   "inference" };
static const char *const fates[] = { "unknown", "exited", "killed", "exec", "running" };

struct zone {
    uint64_t start;
    uint64_t end;
    uint32_t location;
    size_t parent; /* 1 + its index; 0 none */
};

struct totals {
    uint64_t zones;
    uint64_t ml;
    uint64_t events[TRACE_EVENT_FLOW_END + 1];
    uint64_t bad;
    uint64_t unnamed;
    uint64_t open;
    uint64_t damaged;
    uint64_t dropped;
};

static const struct trace_reader *reader;
static const struct trace_tables *tables;
static struct totals totals;
static int quiet;

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static void print_definitions(void)
{
    for (size_t i = 0; i < tables->process_count; i++) {
        const struct trace_process_entry *p = &tables->processes[i];

        printf("process %zu pid=%u parent=%u end=%s code=%u clock=%u program=%s arguments=%s\n", i,
               p->pid, p->parent_pid, p->ended ? fates[p->fate] : "none", p->fate_code, p->clock,
               base_name(p->program), p->arguments);
    }
    for (size_t i = 0; i < tables->thread_count; i++)
        printf("thread %zu process=%u tid=%u name=%s\n", i, tables->threads[i].process,
               tables->threads[i].tid, tables->threads[i].name);
    for (size_t i = 0; i < tables->location_count; i++) {
        const struct trace_location *l = &tables->locations[i];
        const struct trace_model *m = trace_find_model(tables, l->process, l->model);

        printf(
            "location process=%u kind=%s category=%s color=%x model=%s name=%s function=%s file=%s "
            "line=%s\n",
            l->process, location_kinds[l->kind], categories[l->category], l->color,
            m ? m->name : "-", l->name, l->function, base_name(l->file), l->line ? "yes" : "no");
    }
    for (size_t i = 0; i < tables->model_count; i++) {
        const struct trace_model *m = &tables->models[i];

        printf("model process=%u name=%s path=%s content=%s runtime=%s requested=%s actual=%s\n",
               m->process, m->name, m->path, m->content_id, m->runtime, m->requested_devices,
               m->actual_devices);
    }
    for (size_t i = 0; i < tables->property_count; i++) {
        const struct trace_property_entry *p = &tables->properties[i];
        const struct trace_model *m = trace_find_model(tables, p->process, p->model);

        printf("property model=%s %s=%s\n", m ? m->name : "-", p->key, p->value);
    }
}

static const char *location_name(uint32_t thread, uint32_t id)
{
    const struct trace_location *location =
        trace_find_location(tables, tables->threads[thread].process, id);
    static char text[4][4096];
    static unsigned turn;
    char *out = text[turn++ % 4];

    if (!location)
        return "?";
    if (location->kind == TRACE_LOCATION_ML) {
        const struct trace_model *m = trace_find_model(tables, location->process, location->model);

        snprintf(out, sizeof text[0], "%s/%s/%s", m ? m->name : "?", location->function,
                 categories[location->category]);
        return out;
    }
    return location->name;
}

/* Finds for each zone the one around it. In the order of ends, children come right before. */
static void find_parents(struct zone *zones, size_t count)
{
    size_t *waiting = calloc(count + 1, sizeof *waiting);
    size_t waiting_count = 0;

    if (!waiting)
        abort();
    for (size_t i = 0; i < count; i++) {
        while (waiting_count && zones[waiting[waiting_count - 1]].start >= zones[i].start) {
            zones[waiting[--waiting_count]].parent = i + 1;
            if (zones[waiting[waiting_count]].end > zones[i].end)
                totals.bad++;
        }
        if (waiting_count && zones[waiting[waiting_count - 1]].end > zones[i].start)
            totals.bad++;
        waiting[waiting_count++] = i;
    }
    free(waiting);
}

static void print_zones(uint32_t thread)
{
    struct zone *zones = NULL;
    struct trace_zones block = { 0 };
    size_t count = 0;
    size_t room = 0;
    uint64_t process_start = tables->processes[tables->threads[thread].process].start_ticks;

    for (size_t b = 0; b < trace_reader_block_count(reader); b++) {
        const struct trace_block *info = trace_reader_block(reader, b);

        if (info->type != TRACE_BLOCK_ZONES || info->stream != thread)
            continue;
        if (trace_decode_zones(reader, b, &block, NULL)) {
            totals.damaged++;
            continue;
        }
        if (count + block.count > room) {
            room = 2 * (count + block.count);
            zones = realloc(zones, room * sizeof *zones);
            if (!zones)
                abort();
        }
        for (size_t i = 0; i < block.count; i++)
            zones[count++] = (struct zone){ block.starts[i], block.starts[i] + block.durations[i],
                                            block.locations[i], 0 };
    }
    find_parents(zones, count);
    for (size_t i = 0; i < count; i++) {
        const struct trace_location *location =
            trace_find_location(tables, tables->threads[thread].process, zones[i].location);

        if (!location)
            totals.unnamed++;
        if (location && location->kind == TRACE_LOCATION_ML)
            totals.ml++;
        else
            totals.zones++;
        if (zones[i].start < process_start)
            totals.bad++;
        if (!quiet)
            printf(
                "zone thread=%u name=%s in=%s\n", thread, location_name(thread, zones[i].location),
                zones[i].parent ? location_name(thread, zones[zones[i].parent - 1].location) : "-");
    }
    /* What the last word on open zones was. */
    if (block.has_open) {
        totals.open += block.open_count;
        for (size_t i = 0; i < block.open_count && !quiet; i++)
            printf("open thread=%u name=%s\n", thread,
                   location_name(thread, block.open_locations[i]));
    }
    trace_zones_fini(&block);
    free(zones);
}

static void print_attribute(uint32_t thread, const struct trace_attribute *a)
{
    printf("detail thread=%u zone=%s %.*s=", thread, location_name(thread, a->zone_location),
           (int)a->key_bytes, a->key);
    if (a->type == TRACE_VALUE_STRING)
        printf("\"%.*s\"\n", (int)a->text_bytes, a->text);
    else if (a->type == TRACE_VALUE_SIGNED)
        printf("%" PRId64 "\n", a->signed_value);
    else if (a->type == TRACE_VALUE_UNSIGNED)
        printf("%" PRIu64 "u\n", a->unsigned_value);
    else
        printf("%.17g\n", a->f64_value);
}

static void print_event(uint32_t thread, const struct trace_event *e)
{
    static const char *const names[] = { "?",      "message",    "counter",   "begin",
                                         "end",    "alloc",      "free",      "frame",
                                         "detail", "flow-begin", "flow-step", "flow-end" };
    struct ifg_cursor cursor = ifg_cursor_over(e->payload, e->payload_bytes);

    totals.events[e->kind]++;
    if (quiet)
        return;
    if (e->kind == TRACE_EVENT_ATTRIBUTE) {
        if (e->attribute)
            print_attribute(thread, e->attribute);
        else
            totals.bad++;
        return;
    }
    if (e->kind == TRACE_EVENT_MESSAGE) {
        printf("message thread=%u level=%u \"%.*s\"\n", thread, e->reference, (int)e->payload_bytes,
               (const char *)e->payload);
        return;
    }
    printf("%s thread=%u name=%s", names[e->kind], thread, location_name(thread, e->reference));
    if (e->kind == TRACE_EVENT_COUNTER) {
        double value = 0;

        if (e->payload_bytes == sizeof value)
            memcpy(&value, e->payload, sizeof value);
        printf(" value=%.17g", value);
    } else if (e->kind == TRACE_EVENT_ALLOC) {
        uint64_t address = ifg_cursor_varint(&cursor);

        printf(" address=%s bytes=%" PRIu64, address ? "yes" : "no", ifg_cursor_varint(&cursor));
    } else if (e->kind == TRACE_EVENT_ASYNC_BEGIN || e->kind == TRACE_EVENT_ASYNC_END ||
               e->kind >= TRACE_EVENT_FLOW_BEGIN) {
        printf(" id=%" PRIu64, ifg_cursor_varint(&cursor));
    }
    printf("\n");
}

static void print_events(uint32_t thread)
{
    struct trace_events block = { 0 };
    uint64_t dropped = 0;

    for (size_t b = 0; b < trace_reader_block_count(reader); b++) {
        const struct trace_block *info = trace_reader_block(reader, b);

        if (info->stream != thread ||
            (info->type != TRACE_BLOCK_EVENTS && info->type != TRACE_BLOCK_ZONES))
            continue;
        if (info->dropped > dropped)
            dropped = info->dropped;
        if (info->type != TRACE_BLOCK_EVENTS)
            continue;
        if (trace_decode_events(reader, b, &block, NULL)) {
            totals.damaged++;
            continue;
        }
        for (size_t i = 0; i < block.count; i++)
            print_event(thread, &block.events[i]);
    }
    totals.dropped += dropped;
    trace_events_fini(&block);
}

int main(int argc, char **argv)
{
    struct trace_reader *opened = NULL;
    struct ifg_error err = { 0 };
    uint64_t records;

    quiet = argc > 2 && strcmp(argv[1], "--totals") == 0;
    if (argc < 2 || trace_reader_open(argv[argc - 1], &opened, &err)) {
        fprintf(stderr, "dump_trace: %s\n", argc < 2 ? "which file?" : err.message);
        return 2;
    }
    reader = opened;
    tables = trace_reader_tables(opened);
    if (!quiet)
        print_definitions();
    for (uint32_t t = 0; t < tables->thread_count; t++) {
        print_zones(t);
        print_events(t);
    }
    records = totals.zones + totals.ml;
    for (int k = TRACE_EVENT_MESSAGE; k <= TRACE_EVENT_ATTRIBUTE; k++)
        records += totals.events[k];
    for (size_t i = 0; i < tables->loss_count; i++) {
        printf("lost %" PRIu64 " %s\n", tables->losses[i].count, tables->losses[i].what);
        if (strncmp(tables->losses[i].what, "events", 6) == 0)
            totals.dropped += tables->losses[i].count;
    }
    printf("zones %" PRIu64 "\nml %" PRIu64 "\nmessages %" PRIu64 "\ncounters %" PRIu64
           "\nframes %" PRIu64 "\ndetails %" PRIu64 "\nopen %" PRIu64 "\n",
           totals.zones, totals.ml, totals.events[TRACE_EVENT_MESSAGE],
           totals.events[TRACE_EVENT_COUNTER], totals.events[TRACE_EVENT_FRAME],
           totals.events[TRACE_EVENT_ATTRIBUTE], totals.open);
    printf("processes %zu\nthreads %zu\nrecords %" PRIu64 "\ndropped %" PRIu64 "\nemitted %" PRIu64
           "\nbad %" PRIu64 "\nunnamed %" PRIu64 "\ndamaged %" PRIu64 "\n",
           tables->process_count, tables->thread_count, records, totals.dropped,
           records + totals.dropped, totals.bad, totals.unnamed, totals.damaged);
    trace_reader_close(opened);
    return 0;
}
