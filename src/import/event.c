// SPDX-License-Identifier: Apache-2.0
/* yajl's calls into one flat struct: see event.h. */
#include "import/event.h"

#include <string.h>
#include <yajl/yajl_parse.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "import/splitter.h"

#define DEPTH_MAX 64

/* What the value that comes next is. */
enum target { TO_FIELD, TO_ARG, TO_ID2, TO_NOTHING };

struct event_parser {
    yajl_handle yajl;
    struct event event;
    struct ifg_bytes scratch; /* decoded strings; reserved once per event, so it does not move */
    const char *text;
    unsigned depth;
    bool done;
    bool too_deep;
    enum target target;
    struct value *field;
    bool in_args;
    bool in_id2;
    size_t nested_at; /* where a nested value begins in text */
    const char *key;
    size_t key_bytes;
};

static const struct {
    const char *key;
    size_t offset;
} fields[] = {
    { "ph", offsetof(struct event, phase) },
    { "name", offsetof(struct event, name) },
    { "cat", offsetof(struct event, category) },
    { "ts", offsetof(struct event, ts) },
    { "dur", offsetof(struct event, duration) },
    { "pid", offsetof(struct event, pid) },
    { "tid", offsetof(struct event, tid) },
    { "id", offsetof(struct event, id) },
    { "bp", offsetof(struct event, bp) },
    { "scope", offsetof(struct event, scope) },
    { "bind_id", offsetof(struct event, bind_id) },
    { "flow_in", offsetof(struct event, flow_in) },
    { "flow_out", offsetof(struct event, flow_out) },
};

bool event_value_is(const struct value *value, const char *text)
{
    return value->kind == VALUE_STRING && value->bytes == strlen(text) &&
           memcmp(value->text, text, value->bytes) == 0;
}

const struct event_arg *event_find_arg(const struct event *event, const char *key)
{
    size_t bytes = strlen(key);

    for (size_t i = 0; i < event->arg_count; i++)
        if (event->args[i].key_bytes == bytes && memcmp(event->args[i].key, key, bytes) == 0)
            return &event->args[i];
    return NULL;
}

static const char *keep(struct event_parser *parser, const void *text, size_t bytes)
{
    const uint8_t *at = parser->scratch.data + parser->scratch.size;

    ifg_bytes_put(&parser->scratch, text, bytes);
    return (const char *)at;
}

/* The last of several with the same key counts, as in JavaScript. */
static void add_arg(struct event_parser *parser, const struct value *value)
{
    struct event *event = &parser->event;
    size_t i = 0;

    while (i < event->arg_count &&
           (event->args[i].key_bytes != parser->key_bytes ||
            memcmp(event->args[i].key, parser->key, parser->key_bytes) != 0))
        i++;
    if (i == EVENT_ARGS_MAX) {
        event->args_refused++;
        return;
    }
    if (i == event->arg_count)
        event->arg_count++;
    event->args[i].key = parser->key;
    event->args[i].key_bytes = parser->key_bytes;
    event->args[i].value = *value;
}

static void set(struct event_parser *parser, enum value_kind kind, const char *text, size_t bytes)
{
    struct value value = { kind, text, bytes };

    if (parser->target == TO_FIELD)
        *parser->field = value;
    else if (parser->target == TO_ARG)
        add_arg(parser, &value);
    else if (parser->target == TO_ID2) {
        parser->event.id = value;
        parser->event.id_is_local = parser->key_bytes == 5 && !memcmp(parser->key, "local", 5);
    }
}

/* Scalars count where they are fields or arguments; inside nested values the raw text has them. */
static bool is_wanted(const struct event_parser *parser)
{
    return parser->depth == 1 || (parser->depth == 2 && (parser->in_args || parser->in_id2));
}

static void finish_value(struct event_parser *parser)
{
    if (parser->depth == 0)
        parser->done = true;
}

static int on_word(struct event_parser *parser, const char *word)
{
    if (is_wanted(parser))
        set(parser, VALUE_WORD, word, strlen(word));
    finish_value(parser);
    return 1;
}

static int on_null(void *context)
{
    return on_word(context, "null");
}

static int on_boolean(void *context, int value)
{
    return on_word(context, value ? "true" : "false");
}

static int on_number(void *context, const char *text, size_t bytes)
{
    struct event_parser *parser = context;

    if (is_wanted(parser))
        set(parser, VALUE_NUMBER, keep(parser, text, bytes), bytes);
    finish_value(parser);
    return 1;
}

static int on_string(void *context, const unsigned char *text, size_t bytes)
{
    struct event_parser *parser = context;

    if (is_wanted(parser))
        set(parser, VALUE_STRING, keep(parser, text, bytes), bytes);
    finish_value(parser);
    return 1;
}

static bool key_is(const struct event_parser *parser, const char *key)
{
    return parser->key_bytes == strlen(key) && memcmp(parser->key, key, parser->key_bytes) == 0;
}

static void choose_target(struct event_parser *parser)
{
    static const char *const stacks[] = { "sf", "esf", "stack", "estack" };

    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        if (key_is(parser, fields[i].key)) {
            parser->target = TO_FIELD;
            parser->field = (struct value *)((char *)&parser->event + fields[i].offset);
            return;
        }
    }
    parser->target = TO_ARG; /* also fields that we do not know: nothing is lost */
    for (size_t i = 0; i < sizeof stacks / sizeof stacks[0]; i++) {
        if (key_is(parser, stacks[i])) {
            parser->event.has_stack = true;
            parser->target = TO_NOTHING;
        }
    }
    if (key_is(parser, "cname")) {
        parser->event.has_color = true;
        parser->target = TO_NOTHING;
    } else if (key_is(parser, "id2")) {
        parser->target = TO_ID2;
    } else if (key_is(parser, "s")) {
        parser->target = TO_NOTHING; /* how far an instant reaches */
    }
}

static int on_key(void *context, const unsigned char *text, size_t bytes)
{
    struct event_parser *parser = context;

    if (!is_wanted(parser))
        return 1;
    parser->key = keep(parser, text, bytes);
    parser->key_bytes = bytes;
    if (parser->depth == 1)
        choose_target(parser);
    else
        parser->target = parser->in_args ? TO_ARG : TO_ID2;
    return 1;
}

static int on_open(struct event_parser *parser, bool is_map)
{
    size_t consumed = yajl_get_bytes_consumed(parser->yajl);

    if (parser->depth == 1 && is_map && parser->target == TO_ARG && key_is(parser, "args")) {
        parser->in_args = true;
    } else if (parser->depth == 1 && is_map && parser->target == TO_ID2) {
        parser->in_id2 = true;
    } else if (is_wanted(parser)) {
        parser->nested_at = consumed ? consumed - 1 : 0;
    }
    if (++parser->depth > DEPTH_MAX) {
        parser->too_deep = true;
        return 0;
    }
    return 1;
}

static int on_close(struct event_parser *parser)
{
    size_t consumed = yajl_get_bytes_consumed(parser->yajl);

    parser->depth--;
    if (parser->depth == 1 && (parser->in_args || parser->in_id2)) {
        parser->in_args = false;
        parser->in_id2 = false;
        parser->target = TO_NOTHING;
    } else if (is_wanted(parser)) {
        set(parser, VALUE_NESTED, parser->text + parser->nested_at, consumed - parser->nested_at);
    }
    finish_value(parser);
    return 1;
}

static int on_start_map(void *context)
{
    return on_open(context, true);
}

static int on_start_array(void *context)
{
    return on_open(context, false);
}

static int on_end(void *context)
{
    return on_close(context);
}

static const yajl_callbacks callbacks = {
    .yajl_null = on_null,
    .yajl_boolean = on_boolean,
    .yajl_number = on_number,
    .yajl_string = on_string,
    .yajl_start_map = on_start_map,
    .yajl_map_key = on_key,
    .yajl_end_map = on_end,
    .yajl_start_array = on_start_array,
    .yajl_end_array = on_end,
};

static bool open_yajl(struct event_parser *parser)
{
    parser->yajl = yajl_alloc(&callbacks, NULL, parser);
    if (!parser->yajl)
        return false;
    /* One handle for all events; the reader of traces replaces bytes that are no UTF-8. */
    yajl_config(parser->yajl, yajl_allow_multiple_values, 1);
    yajl_config(parser->yajl, yajl_dont_validate_strings, 1);
    return true;
}

enum ifg_status event_parser_create(struct event_parser **out_parser, struct ifg_error *err)
{
    struct event_parser *parser = ifg_alloc(1, sizeof *parser);

    *out_parser = NULL;
    if (parser)
        ifg_bytes_init(&parser->scratch, 8u * SPLITTER_EVENT_MAX);
    if (!parser || !open_yajl(parser)) {
        ifg_free(parser);
        return ifg_fail_no_memory(err, "to parse JSON");
    }
    *out_parser = parser;
    return IFG_OK;
}

void event_parser_destroy(struct event_parser *parser)
{
    if (!parser)
        return;
    if (parser->yajl)
        yajl_free(parser->yajl);
    ifg_bytes_fini(&parser->scratch);
    ifg_free(parser);
}

enum parse_result event_parse(struct event_parser *parser, const char *text, size_t bytes,
                              const struct event **out_event)
{
    yajl_status status;

    *out_event = NULL;
    if (!parser->yajl && !open_yajl(parser))
        return PARSE_NO_MEMORY;
    ifg_bytes_clear(&parser->scratch);
    if (!ifg_bytes_reserve(&parser->scratch, bytes + 1))
        return PARSE_NO_MEMORY;
    memset(&parser->event, 0, offsetof(struct event, args));
    parser->event.arg_count = 0;
    parser->event.args_refused = 0;
    parser->event.id_is_local = false;
    parser->event.has_stack = false;
    parser->event.has_color = false;
    parser->text = text;
    parser->depth = 0;
    parser->done = false;
    parser->too_deep = false;
    parser->target = TO_NOTHING;
    parser->in_args = false;
    parser->in_id2 = false;
    status = yajl_parse(parser->yajl, (const unsigned char *)text, bytes);
    if (status == yajl_status_ok && parser->done && parser->depth == 0) {
        *out_event = &parser->event;
        return PARSE_OK;
    }
    /* After an error, or in the middle of a value, the handle is of no more use. */
    yajl_free(parser->yajl);
    parser->yajl = NULL;
    return parser->too_deep ? PARSE_TOO_DEEP : PARSE_NOT_JSON;
}
