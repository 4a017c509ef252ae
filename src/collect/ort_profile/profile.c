// SPDX-License-Identifier: Apache-2.0
/* Reading a session profile: see profile.h. */
#include "collect/ort_profile/profile.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "import/event.h"
#include "import/repair.h"
#include "import/source.h"
#include "import/splitter.h"
#include "trace/keys.h"

#define EVENTS_MAX     4000000u
#define OPS_MAX        500000u
#define RUNS_MAX       65536u
#define NODE_NAMES_MAX 65536u
#define NAME_BYTES     1000u
#define VALUE_BYTES    4096u
#define DETAILS_MAX    (256u << 20)
#define REPAIRED_MAX   (32u << 20)
#define TEXT_MAX       (2ull << 30) /* a packed file may unpack to more than anybody meant */
#define TIME_MAX_US    1e15

/* What is taken over of a node, and whether it is a number. */
static const struct {
    const char *key;
    bool number;
} wanted[] = {
    { TRACE_KEY_OP_NAME, false },
    { TRACE_KEY_PROVIDER, false },
    { TRACE_KEY_NODE_INDEX, true },
    { TRACE_KEY_OUTPUT_SIZE, true },
    { TRACE_KEY_ACTIVATION_SIZE, true },
    { TRACE_KEY_PARAMETER_SIZE, true },
    { TRACE_KEY_INPUT_TYPE_SHAPE, false },
    { TRACE_KEY_OUTPUT_TYPE_SHAPE, false },
    { TRACE_KEY_THREAD_SCHEDULING_STATS, false },
};

/* ONNX Runtime before 1.31 writes a line for each event, and names as they are: a node may have the
 * end of a line in its name. This stands for it until the event is read. */
#define LINE_END_IN_NAME '\x1e'

struct reading {
    struct source *source;
    struct splitter *splitter;
    struct event_parser *parser;
    struct ifg_bytes repaired;
    struct profile *profile;
    size_t op_capacity;
    size_t run_capacity;
    bool no_memory;
};

static bool parse_time(const struct value *value, uint64_t *out_ns)
{
    char text[40];
    char *end;
    double number;

    if ((value->kind != VALUE_NUMBER && value->kind != VALUE_STRING) || !value->bytes ||
        value->bytes >= sizeof text)
        return false;
    memcpy(text, value->text, value->bytes);
    text[value->bytes] = '\0';
    number = strtod(text, &end);
    if (*end || !(number >= 0 && number <= TIME_MAX_US))
        return false;
    *out_ns = (uint64_t)(number * 1000 + 0.5);
    return true;
}

static bool parse_integer(const struct value *value, int64_t *out_number)
{
    char text[24];
    char *end;

    if ((value->kind != VALUE_NUMBER && value->kind != VALUE_STRING) || !value->bytes ||
        value->bytes >= sizeof text)
        return false;
    memcpy(text, value->text, value->bytes);
    text[value->bytes] = '\0';
    *out_number = strtoll(text, &end, 10);
    return !*end;
}

static void put_attribute(struct ifg_bytes *details, uint8_t key, enum trace_value_type type,
                          const void *value, size_t bytes)
{
    uint8_t head[2] = { key, (uint8_t)type };
    uint32_t length = (uint32_t)bytes;

    ifg_bytes_put(details, head, sizeof head);
    ifg_bytes_put(details, &length, sizeof length);
    ifg_bytes_put(details, value, bytes);
}

/* All of a node's attributes, or none for lack of room. */
static void put_attributes(struct reading *reading, const struct event *event,
                           struct profile_op *op)
{
    struct ifg_bytes *details = &reading->profile->details;

    op->attributes = details->size;
    for (uint8_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        const struct event_arg *arg = event_find_arg(event, wanted[i].key);
        int64_t number;

        if (!arg || arg->value.kind == VALUE_MISSING || arg->value.kind == VALUE_WORD)
            continue;
        if (wanted[i].number && parse_integer(&arg->value, &number))
            put_attribute(details, i, TRACE_VALUE_SIGNED, &number, sizeof number);
        else
            put_attribute(details, i, TRACE_VALUE_STRING, arg->value.text,
                          arg->value.bytes < VALUE_BYTES ? arg->value.bytes : VALUE_BYTES);
        op->attribute_count++;
    }
    if (details->failed) {
        details->failed = false;
        details->size = op->attributes;
        op->attribute_count = 0;
    }
}

struct profile_attribute profile_attribute_at(const struct profile *profile, size_t at)
{
    const uint8_t *data = profile->details.data + at;
    uint32_t length;

    memcpy(&length, data + 2, sizeof length);
    return (struct profile_attribute){
        .key = wanted[data[0]].key,
        .type = (enum trace_value_type)data[1],
        .value = data + 2 + sizeof length,
        .bytes = length,
        .next_at = at + 2 + sizeof length + length,
    };
}

/* The node's name and type, as one key. */
static uint32_t node_name_of(struct profile *profile, const struct event *event, size_t name_bytes)
{
    const struct event_arg *type = event_find_arg(event, TRACE_KEY_OP_NAME);
    char key[2 * NAME_BYTES + 1];
    size_t type_bytes = type && type->value.kind == VALUE_STRING ? type->value.bytes : 0;
    size_t used = name_bytes < NAME_BYTES ? name_bytes : NAME_BYTES;

    memcpy(key, event->name.text, used);
    for (size_t i = 0; i < used; i++)
        if (!key[i] || key[i] == LINE_END_IN_NAME)
            key[i] = key[i] ? '\n' : ' ';
    key[used++] = '\0';
    if (type_bytes > NAME_BYTES)
        type_bytes = NAME_BYTES;
    if (type_bytes)
        memcpy(key + used, type->value.text, type_bytes);
    return ifg_strings_add(&profile->node_names, key, used + type_bytes);
}

static bool ends_with(const struct value *value, const char *end, size_t *out_before)
{
    size_t bytes = strlen(end);

    if (value->bytes < bytes || memcmp(value->text + value->bytes - bytes, end, bytes) != 0)
        return false;
    *out_before = value->bytes - bytes;
    return true;
}

static void take_node(struct reading *reading, const struct event *event, uint32_t tid)
{
    struct profile *profile = reading->profile;
    struct profile_op op = { .tid = tid };
    size_t name_bytes;
    uint64_t duration_ns;

    /* 1.20 also has X_fence_before and X_fence_after: waiting, not the operator. */
    if (!ends_with(&event->name, "_kernel_time", &name_bytes))
        return;
    if (profile->op_count == OPS_MAX || !parse_time(&event->ts, &op.start_ns) ||
        !parse_time(&event->duration, &duration_ns)) {
        profile->refused++;
        return;
    }
    op.end_ns = op.start_ns + duration_ns;
    op.node_name = node_name_of(profile, event, name_bytes);
    if (op.node_name == IFG_STRINGS_NONE) {
        profile->refused++;
        return;
    }
    put_attributes(reading, event, &op);
    if (IFG_ARRAY_ROOM(profile->ops, reading->op_capacity, profile->op_count + 1, OPS_MAX))
        profile->ops[profile->op_count++] = op;
    else
        reading->no_memory = true;
}

static void take_run(struct reading *reading, const struct event *event, uint32_t tid)
{
    struct profile *profile = reading->profile;
    struct profile_run run = { .tid = tid };
    uint64_t duration_ns;

    if (profile->run_count == RUNS_MAX || !parse_time(&event->ts, &run.start_ns) ||
        !parse_time(&event->duration, &duration_ns))
        return;
    run.end_ns = run.start_ns + duration_ns;
    if (IFG_ARRAY_ROOM(profile->runs, reading->run_capacity, profile->run_count + 1, RUNS_MAX))
        profile->runs[profile->run_count++] = run;
    else
        reading->no_memory = true;
}

static void take_part(const struct event *event, struct profile_run *out_part)
{
    struct profile_run part = { 0 };
    uint64_t duration_ns;

    if (!parse_time(&event->ts, &part.start_ns) || !parse_time(&event->duration, &duration_ns))
        return;
    part.end_ns = part.start_ns + duration_ns;
    *out_part = part;
}

static bool begins_with(const struct value *value, const char *start)
{
    return value->bytes >= strlen(start) && memcmp(value->text, start, strlen(start)) == 0;
}

static void take_event(struct reading *reading, const struct event *event)
{
    int64_t tid;

    if (event->name.kind != VALUE_STRING || !parse_integer(&event->tid, &tid) || tid < 0 ||
        tid > UINT32_MAX)
        return;
    if (event_value_is(&event->category, "Node"))
        take_node(reading, event, (uint32_t)tid);
    else if (event_value_is(&event->category, "Session") &&
             event_value_is(&event->name, "model_run"))
        take_run(reading, event, (uint32_t)tid);
    else if (event_value_is(&event->category, "Session") &&
             event_value_is(&event->name, "session_initialization"))
        take_part(event, &reading->profile->initializing);
    else if (event_value_is(&event->category, "Session") &&
             begins_with(&event->name, "model_loading_"))
        take_part(event, &reading->profile->reading);
}

/* ---- lines ---- */

static bool starts_with(const char *at, const char *end, const char *text)
{
    return (size_t)(end - at) >= strlen(text) && memcmp(at, text, strlen(text)) == 0;
}

/* Whether an event, or the list, ends or begins at this line end. */
static bool is_between_events(const char *begin, const char *at, const char *end)
{
    const char *next = at + 1;
    bool after_event = at - begin >= 2 && at[-1] == ',' && at[-2] == '}';

    if (at == begin || at[-1] == '\r' || at[-1] == '\n')
        return true;
    return (after_event || at[-1] == '}' || at[-1] == '[') &&
           (next == end || *next == ']' || *next == '\n' || starts_with(next, end, "{}") ||
            starts_with(next, end, "{\"cat\" : \""));
}

/* A copy with those line ends marked; NULL: there are none, or there is no memory. */
static char *mark_line_ends(const char *json, size_t bytes)
{
    const char *end = json + bytes;
    char *copy = NULL;

    if (!starts_with(json, end, "[\n{\"cat\" : \""))
        return NULL;
    for (const char *at = json; (at = memchr(at, '\n', (size_t)(end - at))); at++) {
        if (is_between_events(json, at, end))
            continue;
        if (!copy) {
            copy = ifg_alloc(bytes, 1);
            if (!copy)
                return NULL;
            memcpy(copy, json, bytes);
        }
        copy[at - json] = LINE_END_IN_NAME;
    }
    return copy;
}

static bool is_node(const struct piece *piece)
{
    static const char ending[] = "_kernel_time\"";

    return memmem(piece->text, piece->bytes, ending, sizeof ending - 1);
}

/* As it is, else repaired: ONNX Runtime before 1.31 does not escape names. */
static const struct event *parse_piece(struct reading *reading, const struct piece *piece)
{
    bool raw = repair_is_raw_ort(piece->text, piece->bytes);
    const struct event *event = NULL;
    enum parse_result result = PARSE_NOT_JSON;
    uint64_t not_numbers;

    if (!raw)
        result = event_parse(reading->parser, piece->text, piece->bytes, &event);
    if (result == PARSE_NOT_JSON) {
        ifg_bytes_clear(&reading->repaired);
        repair_json(piece->text, piece->bytes, raw, &reading->repaired, &not_numbers);
        if (!reading->repaired.failed && reading->repaired.size)
            result = event_parse(reading->parser, (const char *)reading->repaired.data,
                                 reading->repaired.size, &event);
        reading->repaired.failed = false;
    }
    reading->no_memory |= result == PARSE_NO_MEMORY;
    return event;
}

static enum ifg_status take_piece(struct reading *reading, struct piece *piece,
                                  struct ifg_error *err)
{
    const struct event *event = NULL;
    enum ifg_status status = IFG_OK;

    if (piece->kind == PIECE_EVENT)
        event = parse_piece(reading, piece);
    if (piece->kind == PIECE_EVENT && !event && piece->by_line) {
        status = splitter_widen(reading->splitter, piece, err);
        if (!status && piece->kind == PIECE_EVENT)
            event = parse_piece(reading, piece);
    }
    if (status)
        return status;
    if (event) {
        take_event(reading, event);
    } else if (piece->kind == PIECE_EVENT || piece->kind == PIECE_CUT) {
        reading->profile->refused += is_node(piece);
        splitter_resync(reading->splitter, piece);
    }
    return IFG_OK;
}

enum ifg_status profile_read(const char *json, size_t bytes, struct profile *out_profile,
                             struct ifg_error *err)
{
    struct reading reading = { .profile = out_profile };
    struct piece piece = { .kind = PIECE_OTHER };
    char *marked = mark_line_ends(json, bytes);
    enum ifg_status status;

    memset(out_profile, 0, sizeof *out_profile);
    out_profile->node_names.limit = NODE_NAMES_MAX;
    ifg_bytes_init(&out_profile->details, DETAILS_MAX);
    ifg_bytes_init(&reading.repaired, REPAIRED_MAX);
    status = source_open_memory(marked ? marked : json, bytes, 0, &reading.source, err);
    if (!status)
        status = splitter_create(reading.source, &reading.splitter, err);
    if (!status)
        status = event_parser_create(&reading.parser, err);
    for (size_t i = 0; i < EVENTS_MAX && !status && !reading.no_memory; i++) {
        status = splitter_next(reading.splitter, &piece, err);
        if (status || piece.kind == PIECE_END || splitter_offset(reading.splitter) > TEXT_MAX)
            break;
        status = take_piece(&reading, &piece, err);
    }
    if (status == IFG_CORRUPT)
        status = IFG_OK; /* not a profile: there is nothing in it */
    if (!status && (reading.no_memory || out_profile->node_names.no_memory))
        status = ifg_fail_no_memory(err, "to read a profile");
    event_parser_destroy(reading.parser);
    splitter_destroy(reading.splitter);
    source_close(reading.source);
    ifg_free(marked);
    ifg_bytes_fini(&reading.repaired);
    return status;
}

void profile_fini(struct profile *profile)
{
    ifg_free(profile->runs);
    ifg_free(profile->ops);
    ifg_strings_fini(&profile->node_names);
    ifg_bytes_fini(&profile->details);
    memset(profile, 0, sizeof *profile);
}
