// SPDX-License-Identifier: Apache-2.0
/*
 * Definitions of a file, made into tables that are safe to index: whatever a definition refers to
 * has an entry, strings are valid UTF-8 and end in NUL, and enumerations have known values.
 */
#include "trace/reader_internal.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/array.h"

#define ARENA_CHUNK (64u << 10)
#define SETTLE_AT   65536u /* entries */

struct trace_arena_chunk {
    struct trace_arena_chunk *next;
    size_t size;
    char bytes[];
};

char *trace_arena_alloc(struct trace_arena *arena, size_t size)
{
    struct trace_arena_chunk *chunk = arena->chunks;

    if (!chunk || size > arena->left) {
        size_t bytes = size > ARENA_CHUNK ? size : ARENA_CHUNK;

        chunk = ifg_alloc(1, sizeof *chunk + bytes);
        if (!chunk)
            return NULL;
        chunk->size = bytes;
        chunk->next = arena->chunks;
        arena->chunks = chunk;
        arena->left = bytes;
    }
    arena->left -= size;
    return chunk->bytes + (chunk->size - arena->left - size);
}

void trace_arena_fini(struct trace_arena *arena)
{
    while (arena->chunks) {
        struct trace_arena_chunk *next = arena->chunks->next;

        ifg_free(arena->chunks);
        arena->chunks = next;
    }
}

/* Bytes of the well-formed UTF-8 character at text, or 0. NUL is not a character here: it would end
 * the string early. */
static size_t utf8_character(const uint8_t *text, size_t left)
{
    uint8_t lead = text[0];
    uint8_t low = 0x80;
    uint8_t high = 0xbf;
    size_t size;

    if (lead < 0x80)
        return lead != 0;
    if (lead >= 0xc2 && lead <= 0xdf)
        size = 2;
    else if (lead >= 0xe0 && lead <= 0xef)
        size = 3;
    else if (lead >= 0xf0 && lead <= 0xf4)
        size = 4;
    else
        return 0;
    if (size > left)
        return 0;
    if (lead == 0xe0)
        low = 0xa0; /* shorter encodings exist */
    else if (lead == 0xed)
        high = 0x9f; /* surrogates */
    else if (lead == 0xf0)
        low = 0x90;
    else if (lead == 0xf4)
        high = 0x8f; /* beyond Unicode */
    if (text[1] < low || text[1] > high)
        return 0;
    for (size_t i = 2; i < size; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    return size;
}

/* Copies text with every bad byte replaced by U+FFFD; with `out` NULL only measures. */
static size_t clean_utf8(const uint8_t *text, size_t size, char *out)
{
    size_t used = 0;

    for (size_t at = 0; at < size;) {
        size_t character = utf8_character(text + at, size - at);

        if (out)
            memcpy(out + used, character ? (const char *)text + at : "\xef\xbf\xbd",
                   character ? character : 3);
        used += character ? character : 3;
        at += character ? character : 1;
    }
    return used;
}

/* One definition being read. A field that is not there is 0 or empty. */
struct fields {
    struct ifg_cursor cursor;
    struct trace_arena *arena;
    bool no_memory;
    bool bad; /* a field is cut in the middle, or a number is too large */
};

static uint64_t take_u64(struct fields *fields)
{
    if (ifg_cursor_left(&fields->cursor) == 0)
        return 0;
    return ifg_cursor_varint(&fields->cursor);
}

static uint32_t take_u32(struct fields *fields)
{
    uint64_t value = take_u64(fields);

    if (value > UINT32_MAX)
        fields->bad = true;
    return (uint32_t)value;
}

/* A number that must be below limit to mean anything; otherwise `other`. */
static uint32_t take_choice(struct fields *fields, uint32_t limit, uint32_t other)
{
    uint64_t value = take_u64(fields);

    return value < limit ? (uint32_t)value : other;
}

const char *trace_arena_string(struct trace_arena *arena, struct ifg_cursor *cursor,
                               bool *out_no_memory)
{
    const uint8_t *text;
    size_t size;
    size_t clean;
    char *copy;

    if (ifg_cursor_left(cursor) == 0)
        return "";
    text = (const uint8_t *)ifg_cursor_string(cursor, &size);
    if (size == 0)
        return "";
    clean = clean_utf8(text, size, NULL);
    copy = trace_arena_alloc(arena, clean + 1);
    if (!copy) {
        *out_no_memory = true;
        return "";
    }
    clean_utf8(text, size, copy);
    copy[clean] = '\0';
    return copy;
}

static const char *take_string(struct fields *fields)
{
    return trace_arena_string(fields->arena, &fields->cursor, &fields->no_memory);
}

/* Arguments come with NUL between them; people read them with spaces. */
static const char *take_arguments(struct fields *fields)
{
    struct fields spaced = *fields;
    const char *text;
    const char *result;
    size_t size;
    uint8_t *copy;
    uint8_t *at;

    if (ifg_cursor_left(&fields->cursor) == 0)
        return "";
    text = ifg_cursor_string(&fields->cursor, &size);
    while (size && text[size - 1] == '\0')
        size--;
    copy = ifg_alloc(size + IFG_VARINT_MAX, 1);
    if (!copy) {
        fields->no_memory = true;
        return "";
    }
    at = ifg_varint_write(copy, size);
    for (size_t i = 0; i < size; i++)
        at[i] = text[i] ? (uint8_t)text[i] : ' ';
    spaced.cursor = ifg_cursor_over(copy, (size_t)(at + size - copy));
    result = take_string(&spaced);
    fields->no_memory |= spaced.no_memory;
    ifg_free(copy);
    return result;
}

enum ifg_status trace_tables_cover_clock(struct trace_table_set *set, size_t index)
{
    static const struct trace_clock_entry unknown = { .name = "" };

    if (index >= TRACE_CLOCK_MAX)
        return IFG_CORRUPT;
    if (!IFG_ARRAY_ROOM(set->clocks, set->clock_capacity, index + 1, IFG_ARRAY_ANY))
        return IFG_NO_MEMORY;
    while (set->view.clock_count <= index)
        set->clocks[set->view.clock_count++] = unknown;
    return IFG_OK;
}

/* Indices are handed out one after the other. A small file with a large one is damaged or made to
 * take memory. */
static bool is_backed(const struct trace_table_set *set, size_t index)
{
    return index < TRACE_INDEX_MAX &&
           index < TRACE_INDEX_FREE + TRACE_INDEX_EACH * set->definitions;
}

static enum ifg_status cover_process(struct trace_table_set *set, size_t index)
{
    static const struct trace_process_entry unknown = { .program = "",
                                                        .arguments = "",
                                                        .directory = "" };

    if (!is_backed(set, index))
        return IFG_CORRUPT;
    if (!IFG_ARRAY_ROOM(set->processes, set->process_capacity, index + 1, IFG_ARRAY_ANY))
        return IFG_NO_MEMORY;
    while (set->view.process_count <= index)
        set->processes[set->view.process_count++] = unknown;
    return trace_tables_cover_clock(set, 0);
}

enum ifg_status trace_tables_cover_thread(struct trace_table_set *set, size_t index)
{
    static const struct trace_thread_entry unknown = { .name = "" };

    if (!is_backed(set, index))
        return IFG_CORRUPT;
    if (!IFG_ARRAY_ROOM(set->threads, set->thread_capacity, index + 1, IFG_ARRAY_ANY))
        return IFG_NO_MEMORY;
    while (set->view.thread_count <= index)
        set->threads[set->view.thread_count++] = unknown;
    return cover_process(set, 0);
}

static enum ifg_status add_process(struct trace_table_set *set, struct fields *fields)
{
    uint32_t index = take_u32(fields);
    struct trace_process_entry entry = { 0 };
    struct trace_process_entry *kept;
    enum ifg_status status;

    entry.pid = take_u32(fields);
    entry.parent_pid = take_u32(fields);
    entry.clock = take_u32(fields);
    entry.start_ticks = take_u64(fields);
    entry.program = take_string(fields);
    entry.arguments = take_arguments(fields);
    entry.directory = take_string(fields);
    if (fields->cursor.failed || fields->bad)
        return IFG_CORRUPT;
    status = cover_process(set, index);
    if (!status)
        status = trace_tables_cover_clock(set, entry.clock);
    if (status)
        return status;
    kept = &set->processes[index];
    entry.ended = kept->ended; /* ends are definitions of their own */
    entry.end_ticks = kept->end_ticks;
    entry.fate = kept->fate;
    entry.fate_code = kept->fate_code;
    *kept = entry;
    return IFG_OK;
}

static enum ifg_status add_process_end(struct trace_table_set *set, struct fields *fields)
{
    uint32_t index = take_u32(fields);
    uint64_t ticks = take_u64(fields);
    uint32_t fate = take_choice(fields, TRACE_FATE_RUNNING + 1, TRACE_FATE_UNKNOWN);
    uint32_t code = take_u32(fields);
    enum ifg_status status;

    if (fields->cursor.failed || fields->bad)
        return IFG_CORRUPT;
    status = cover_process(set, index);
    if (status)
        return status;
    set->processes[index].ended = true;
    set->processes[index].end_ticks = ticks;
    set->processes[index].fate = (enum trace_process_fate)fate;
    set->processes[index].fate_code = code;
    return IFG_OK;
}

static enum ifg_status add_thread(struct trace_table_set *set, struct fields *fields)
{
    uint32_t index = take_u32(fields);
    struct trace_thread_entry entry = { 0 };
    enum ifg_status status;

    entry.process = take_u32(fields);
    entry.tid = take_u32(fields);
    entry.name = take_string(fields);
    if (fields->cursor.failed || fields->bad)
        return IFG_CORRUPT;
    status = cover_process(set, entry.process);
    if (!status)
        status = trace_tables_cover_thread(set, index);
    if (status)
        return status;
    entry.has_clock = set->threads[index].has_clock; /* a definition of its own */
    entry.clock = set->threads[index].clock;
    entry.is_device = set->threads[index].is_device; /* likewise */
    entry.device = set->threads[index].device;
    set->threads[index] = entry;
    return IFG_OK;
}

static enum ifg_status add_stream_clock(struct trace_table_set *set, struct fields *fields)
{
    uint32_t index = take_u32(fields);
    uint32_t clock = take_u32(fields);
    enum ifg_status status;

    if (fields->cursor.failed || fields->bad)
        return IFG_CORRUPT;
    status = trace_tables_cover_clock(set, clock);
    if (!status)
        status = trace_tables_cover_thread(set, index);
    if (status)
        return status;
    set->threads[index].has_clock = true;
    set->threads[index].clock = clock;
    return IFG_OK;
}

static enum ifg_status add_device_stream(struct trace_table_set *set, struct fields *fields)
{
    struct trace_device_stream entry = { 0 };
    enum ifg_status status;

    entry.thread = take_u32(fields);
    entry.device = take_u32(fields);
    entry.context = take_u32(fields);
    entry.stream = take_u32(fields);
    entry.api = take_string(fields);
    entry.name = take_string(fields);
    entry.device_id = take_string(fields);
    if (fields->cursor.failed || fields->bad)
        return IFG_CORRUPT;
    status = trace_tables_cover_thread(set, entry.thread);
    if (status)
        return status;
    set->threads[entry.thread].is_device = true;
    set->threads[entry.thread].device = entry;
    return IFG_OK;
}

static enum ifg_status add_location(struct trace_table_set *set, struct fields *fields)
{
    struct trace_location entry = { 0 };
    enum ifg_status status;
    uint32_t kind;

    entry.process = take_u32(fields);
    entry.id = take_u32(fields);
    /* A kind of a later version is still a location in the code. */
    kind = take_choice(fields, TRACE_LOCATION_KINDS, TRACE_LOCATION_ZONE);
    entry.kind = (enum trace_location_kind)(kind ? kind : TRACE_LOCATION_ZONE);
    entry.category =
        (enum trace_category)take_choice(fields, TRACE_CATEGORIES, TRACE_CATEGORY_NONE);
    entry.color = take_u32(fields);
    entry.line = take_u32(fields);
    entry.model = take_u32(fields);
    entry.name = take_string(fields);
    entry.function = take_string(fields);
    entry.file = take_string(fields);
    if (fields->cursor.failed || fields->bad)
        return IFG_CORRUPT;
    status = cover_process(set, entry.process);
    if (status)
        return status;
    if (!IFG_ARRAY_ROOM(set->locations, set->location_capacity, set->view.location_count + 1,
                        IFG_ARRAY_ANY))
        return IFG_NO_MEMORY;
    set->locations[set->view.location_count++] = entry;
    return IFG_OK;
}

static enum ifg_status add_model(struct trace_table_set *set, struct fields *fields)
{
    struct trace_model entry = { 0 };
    enum ifg_status status;

    entry.process = take_u32(fields);
    entry.id = take_u32(fields);
    entry.name = take_string(fields);
    entry.path = take_string(fields);
    entry.content_id = take_string(fields);
    entry.runtime = take_string(fields);
    entry.requested_devices = take_string(fields);
    entry.actual_devices = take_string(fields);
    if (fields->cursor.failed || fields->bad)
        return IFG_CORRUPT;
    status = cover_process(set, entry.process);
    if (status)
        return status;
    if (!IFG_ARRAY_ROOM(set->models, set->model_capacity, set->view.model_count + 1, IFG_ARRAY_ANY))
        return IFG_NO_MEMORY;
    set->models[set->view.model_count++] = entry;
    return IFG_OK;
}

static enum ifg_status add_property(struct trace_table_set *set, struct fields *fields)
{
    struct trace_property_entry entry = { 0 };
    enum ifg_status status;

    entry.process = take_u32(fields);
    entry.model = take_u32(fields);
    entry.key = take_string(fields);
    entry.value = take_string(fields);
    if (fields->cursor.failed || fields->bad)
        return IFG_CORRUPT;
    status = cover_process(set, entry.process);
    if (status)
        return status;
    if (!IFG_ARRAY_ROOM(set->properties, set->property_capacity, set->view.property_count + 1,
                        IFG_ARRAY_ANY))
        return IFG_NO_MEMORY;
    set->properties[set->view.property_count++] = entry;
    return IFG_OK;
}

static enum ifg_status add_clock(struct trace_table_set *set, struct fields *fields)
{
    uint32_t index = take_u32(fields);
    struct trace_clock_entry entry = { 0 };
    enum ifg_status status;

    entry.kind = (enum trace_clock_kind)take_choice(fields, TRACE_CLOCK_KINDS, 0);
    entry.nominal_hz = take_u64(fields);
    entry.name = take_string(fields);
    if (fields->cursor.failed || fields->bad)
        return IFG_CORRUPT;
    status = trace_tables_cover_clock(set, index);
    if (!status)
        set->clocks[index] = entry;
    return status;
}

static enum ifg_status add_instrument(struct trace_table_set *set, struct fields *fields)
{
    struct trace_instrument_entry entry = { 0 };

    entry.name = take_string(fields);
    entry.state = (enum trace_instrument_state)take_choice(fields, TRACE_INSTRUMENT_UNAVAILABLE + 1,
                                                           TRACE_INSTRUMENT_OFF);
    entry.reason = take_string(fields);
    if (fields->cursor.failed)
        return IFG_CORRUPT;
    if (!IFG_ARRAY_ROOM(set->instruments, set->instrument_capacity, set->view.instrument_count + 1,
                        IFG_ARRAY_ANY))
        return IFG_NO_MEMORY;
    set->instruments[set->view.instrument_count++] = entry;
    return IFG_OK;
}

static enum ifg_status add_fact(struct trace_table_set *set, struct fields *fields)
{
    struct trace_fact_entry entry = { 0 };

    entry.key = take_string(fields);
    entry.value = take_string(fields);
    if (fields->cursor.failed)
        return IFG_CORRUPT;
    if (!IFG_ARRAY_ROOM(set->facts, set->fact_capacity, set->view.fact_count + 1, IFG_ARRAY_ANY))
        return IFG_NO_MEMORY;
    set->facts[set->view.fact_count++] = entry;
    return IFG_OK;
}

static enum ifg_status add_loss(struct trace_table_set *set, struct fields *fields)
{
    struct trace_loss_entry entry = { 0 };
    enum ifg_status status;

    entry.process = take_u32(fields);
    entry.what = take_string(fields);
    entry.count = take_u64(fields);
    if (fields->cursor.failed || fields->bad)
        return IFG_CORRUPT;
    status = cover_process(set, entry.process);
    if (status)
        return status;
    if (!IFG_ARRAY_ROOM(set->losses, set->loss_capacity, set->view.loss_count + 1, IFG_ARRAY_ANY))
        return IFG_NO_MEMORY;
    set->losses[set->view.loss_count++] = entry;
    return IFG_OK;
}

typedef enum ifg_status definition_reader(struct trace_table_set *set, struct fields *fields);

static definition_reader *const readers[] = {
    [TRACE_DEF_PROCESS] = add_process,
    [TRACE_DEF_PROCESS_END] = add_process_end,
    [TRACE_DEF_THREAD] = add_thread,
    [TRACE_DEF_LOCATION] = add_location,
    [TRACE_DEF_MODEL] = add_model,
    [TRACE_DEF_MODEL_PROPERTY] = add_property,
    [TRACE_DEF_CLOCK] = add_clock,
    [TRACE_DEF_INSTRUMENT] = add_instrument,
    [TRACE_DEF_FACT] = add_fact,
    [TRACE_DEF_LOSS] = add_loss,
    [TRACE_DEF_STREAM_CLOCK] = add_stream_clock,
    [TRACE_DEF_DEVICE_STREAM] = add_device_stream,
};

/* The same definition again and again must not fill the memory before the end. */
static enum ifg_status settle(struct trace_table_set *set)
{
    const struct trace_tables *view = &set->view;
    size_t entries = view->location_count + view->model_count + view->property_count +
                     view->instrument_count + view->fact_count + view->loss_count;
    enum ifg_status status;

    if (entries < SETTLE_AT || entries / 2 < set->settled)
        return IFG_OK;
    status = trace_tables_keep_latest(set);
    set->settled = view->location_count + view->model_count + view->property_count +
                   view->instrument_count + view->fact_count + view->loss_count;
    return status;
}

enum ifg_status trace_tables_add(struct trace_table_set *set, const uint8_t *data, size_t size)
{
    struct ifg_cursor cursor = ifg_cursor_over(data, size);
    enum ifg_status result = IFG_OK;

    while (ifg_cursor_left(&cursor)) {
        uint64_t kind = ifg_cursor_varint(&cursor);
        size_t bytes = 0;
        const char *start = ifg_cursor_string(&cursor, &bytes);
        struct fields fields = { ifg_cursor_over(start, bytes), &set->arena, false, false };
        enum ifg_status status;

        if (cursor.failed)
            return IFG_CORRUPT;
        if (kind >= sizeof readers / sizeof readers[0] || !readers[kind])
            continue;
        set->definitions++;
        status = readers[kind](set, &fields);
        if (!status)
            status = settle(set);
        if (fields.no_memory || status == IFG_NO_MEMORY)
            return IFG_NO_MEMORY;
        if (status)
            result = status; /* the next one may be good */
    }
    return result;
}

void trace_tables_fini(struct trace_table_set *set)
{
    ifg_free(set->processes);
    ifg_free(set->threads);
    ifg_free(set->locations);
    ifg_free(set->models);
    ifg_free(set->properties);
    ifg_free(set->clocks);
    ifg_free(set->instruments);
    ifg_free(set->facts);
    ifg_free(set->losses);
    trace_arena_fini(&set->arena);
    memset(set, 0, sizeof *set);
}
