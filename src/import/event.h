// SPDX-License-Identifier: Apache-2.0
/* One event of a Chrome trace, parsed: its fields as text, its arguments as a list. */
#ifndef IFG_IMPORT_EVENT_H
#define IFG_IMPORT_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define EVENT_ARGS_MAX 64 /* of one event; more are counted */

enum value_kind {
    VALUE_MISSING,
    VALUE_STRING,
    VALUE_NUMBER, /* as it was written */
    VALUE_WORD,   /* true, false, null */
    VALUE_NESTED, /* JSON text */
};

struct value {
    enum value_kind kind;
    const char *text;
    size_t bytes;
};

struct event_arg {
    const char *key;
    size_t key_bytes;
    struct value value;
};

struct event {
    struct value phase;
    struct value name;
    struct value category;
    struct value ts;
    struct value duration;
    struct value pid;
    struct value tid;
    struct value id;
    struct value scope;   /* what an id belongs to */
    struct value bp;      /* flows: "e", the slice around is meant */
    struct value bind_id; /* flows of other events */
    struct value flow_in;
    struct value flow_out;
    struct event_arg args[EVENT_ARGS_MAX];
    size_t arg_count;
    size_t args_refused; /* beyond EVENT_ARGS_MAX */
    bool id_is_local;    /* it means something only in its process */
    bool has_stack;
    bool has_color;
};

enum parse_result { PARSE_OK, PARSE_NOT_JSON, PARSE_TOO_DEEP, PARSE_NO_MEMORY };

struct event_parser;

enum ifg_status event_parser_create(struct event_parser **out_parser,
                                    struct ifg_error *err) IFG_MUST_CHECK;
void event_parser_destroy(struct event_parser *parser);

/* Parses one JSON value. The event points into the parser and into text. */
enum parse_result event_parse(struct event_parser *parser, const char *text, size_t bytes,
                              const struct event **out_event);

const struct event_arg *event_find_arg(const struct event *event, const char *key);
bool event_value_is(const struct value *value, const char *text);

#endif
