// SPDX-License-Identifier: Apache-2.0
/* Finding where events begin and end: see splitter.h. */
#include "import/splitter.h"

#include <string.h>

#include "base/alloc.h"
#include "base/array.h"

#define FIRST_CAPACITY (1u << 20)
#define CAPACITY_MAX   (SPLITTER_EVENT_MAX + FIRST_CAPACITY)

/* Cutting again inside a bad piece reads its text again: this much of that, then no more. */
#define RESCUE_BYTES (256u << 20)

enum stage { BEFORE, IN_OBJECT, IN_EVENTS, AFTER };

struct splitter {
    struct source *source;
    uint8_t *data;
    size_t size;
    size_t capacity;
    size_t at;        /* of what was not looked at yet */
    size_t keep;      /* text from here on must stay in memory */
    uint64_t dropped; /* bytes of text before data[0] */
    uint64_t rescued; /* see RESCUE_BYTES */
    enum stage stage;
    bool in_object; /* the array of events is a member of an object */
    bool end;       /* the source has no more */
    bool closed;
    bool lost; /* skip to what looks like an event */
};

/* How far the search for the end of a value has come. */
struct scan {
    size_t at;
    size_t depth;
    size_t line_end; /* just behind the '}' that ends the first line; valid if by_line */
    bool in_string;
    bool after_backslash;
    bool line_checked;
    bool by_line;
    bool too_large;
};

enum ifg_status splitter_create(struct source *source, struct splitter **out_splitter,
                                struct ifg_error *err)
{
    struct splitter *splitter = ifg_alloc(1, sizeof *splitter);

    *out_splitter = NULL;
    if (splitter)
        splitter->data = ifg_alloc(FIRST_CAPACITY, 1);
    if (!splitter || !splitter->data) {
        ifg_free(splitter);
        return ifg_fail_no_memory(err, "to read the trace");
    }
    splitter->source = source;
    splitter->capacity = FIRST_CAPACITY;
    *out_splitter = splitter;
    return IFG_OK;
}

void splitter_destroy(struct splitter *splitter)
{
    if (!splitter)
        return;
    ifg_free(splitter->data);
    ifg_free(splitter);
}

uint64_t splitter_offset(const struct splitter *splitter)
{
    return splitter->dropped + splitter->at;
}

bool splitter_closed(const struct splitter *splitter)
{
    return splitter->closed;
}

/* Reads more. What lies before `keep` is given up, so every index moves; *out_moved says how far.
 */
static enum ifg_status fill(struct splitter *splitter, size_t *out_moved, struct ifg_error *err)
{
    enum ifg_status status;
    size_t got = 0;

    *out_moved = splitter->keep;
    if (splitter->keep) {
        memmove(splitter->data, splitter->data + splitter->keep, splitter->size - splitter->keep);
        splitter->size -= splitter->keep;
        splitter->at -= splitter->keep;
        splitter->dropped += splitter->keep;
        splitter->keep = 0;
    }
    if (splitter->size < CAPACITY_MAX &&
        !IFG_ARRAY_ROOM(splitter->data, splitter->capacity, splitter->size + 1, CAPACITY_MAX))
        return ifg_fail_no_memory(err, "for an event of %zu bytes", splitter->size);
    status = source_read(splitter->source, splitter->data + splitter->size,
                         splitter->capacity - splitter->size, &got, err);
    splitter->size += got;
    splitter->end = !status && got == 0;
    return status;
}

static bool is_space(uint8_t byte)
{
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

/* The next byte that is no white space, not consumed; -1 at the end. Nothing before it is kept. */
static enum ifg_status peek(struct splitter *splitter, int *out_byte, struct ifg_error *err)
{
    *out_byte = -1;
    for (;;) {
        size_t moved;
        enum ifg_status status;

        while (splitter->at < splitter->size && is_space(splitter->data[splitter->at]))
            splitter->at++;
        splitter->keep = splitter->at;
        if (splitter->at < splitter->size) {
            *out_byte = splitter->data[splitter->at];
            return IFG_OK;
        }
        if (splitter->end)
            return IFG_OK;
        status = fill(splitter, &moved, err);
        if (status)
            return status;
    }
}

/* At the end of the first line of a value that is not over yet: does the line look like a whole
 * event, and what follows like the next one? */
static enum ifg_status check_line(struct splitter *splitter, struct scan *scan,
                                  struct ifg_error *err)
{
    size_t start = splitter->keep;
    size_t line = scan->at;
    size_t next = scan->at;

    scan->line_checked = true;
    while (line > start && (is_space(splitter->data[line - 1]) || splitter->data[line - 1] == ','))
        line--;
    if (line > start && splitter->data[line - 1] == ']')
        line--;
    if (line == start || splitter->data[line - 1] != '}')
        return IFG_OK;
    for (;;) {
        enum ifg_status status;
        size_t moved;

        while (next < splitter->size &&
               (is_space(splitter->data[next]) || splitter->data[next] == ','))
            next++;
        if (next < splitter->size || splitter->end ||
            splitter->size - splitter->keep > SPLITTER_EVENT_MAX)
            break;
        status = fill(splitter, &moved, err);
        if (status)
            return status;
        next -= moved;
        line -= moved;
        scan->at -= moved;
    }
    if (next == splitter->size || splitter->data[next] == '{' || splitter->data[next] == ']') {
        scan->by_line = true;
        scan->line_end = line;
    }
    return IFG_OK;
}

/* One step over the text that is in memory; true when the value is over (scan->at is behind it). */
static bool scan_memory(struct splitter *splitter, struct scan *scan, bool *out_line)
{
    const uint8_t *data = splitter->data;
    size_t at = scan->at;

    *out_line = false;
    for (; at < splitter->size; at++) {
        uint8_t byte = data[at];

        if (byte == '\n' && !scan->line_checked) {
            *out_line = true;
            break;
        }
        if (scan->in_string) {
            if (scan->after_backslash)
                scan->after_backslash = false;
            else if (byte == '\\')
                scan->after_backslash = true;
            else if (byte == '"')
                scan->in_string = false;
            if (scan->in_string || scan->depth)
                continue;
            scan->at = at + 1; /* a string that stands alone */
            return true;
        }
        if (byte == '"') {
            scan->in_string = true;
        } else if (byte == '{' || byte == '[') {
            scan->depth++;
        } else if (byte == '}' || byte == ']') {
            if (scan->depth <= 1) {
                scan->at = at + (scan->depth ? 1 : 0); /* 0: the end of what is around us */
                return true;
            }
            scan->depth--;
        } else if (!scan->depth && (byte == ',' || is_space(byte))) {
            scan->at = at; /* a number or word */
            return true;
        }
    }
    scan->at = at;
    return false;
}

/* Finds the end of the value that begins `skip` bytes behind splitter->at. All of that stays in
 * memory unless it has more than `most` bytes. *out_over: false if the text ended first. */
static enum ifg_status scan_value(struct splitter *splitter, struct scan *scan, size_t skip,
                                  size_t most, bool *out_over, struct ifg_error *err)
{
    splitter->keep = splitter->at;
    scan->at = splitter->at + skip;
    *out_over = false;
    for (;;) {
        enum ifg_status status;
        size_t moved;
        bool line;

        if (scan_memory(splitter, scan, &line)) {
            *out_over = true;
            return IFG_OK;
        }
        if (line && !scan->too_large) {
            status = check_line(splitter, scan, err);
            if (status || scan->by_line) {
                *out_over = !status;
                return status;
            }
            continue;
        }
        if (splitter->end)
            return IFG_OK;
        if (scan->at - splitter->keep > most) {
            scan->too_large = true;
            scan->line_checked = true;
        }
        if (scan->too_large) {
            splitter->keep = scan->at;
            splitter->at = scan->at;
        }
        status = fill(splitter, &moved, err);
        if (status)
            return status;
        scan->at -= moved;
    }
}

static void take(struct splitter *splitter, const struct scan *scan, bool over,
                 enum piece_kind kind, struct piece *out)
{
    size_t end = scan->by_line ? scan->line_end : scan->at;

    out->text = (const char *)splitter->data + splitter->keep;
    out->bytes = end - splitter->keep;
    out->by_line = scan->by_line;
    out->kind = kind;
    if (scan->too_large)
        out->kind = PIECE_TOO_LARGE;
    else if (!over)
        out->kind = PIECE_CUT;
    splitter->at = end;
}

static enum ifg_status take_element(struct splitter *splitter, struct piece *out,
                                    struct ifg_error *err)
{
    struct scan scan = { 0 };
    bool is_event = splitter->data[splitter->at] == '{';
    enum ifg_status status;
    bool over;

    scan.line_checked = !is_event;
    out->offset = splitter_offset(splitter);
    status = scan_value(splitter, &scan, 0, SPLITTER_EVENT_MAX, &over, err);
    if (status)
        return status;
    if (scan.at == splitter->keep && over && !scan.too_large)
        scan.at++; /* a stray bracket or colon must not hold us here */
    take(splitter, &scan, over, is_event ? PIECE_EVENT : PIECE_OTHER, out);
    return IFG_OK;
}

enum ifg_status splitter_widen(struct splitter *splitter, struct piece *out, struct ifg_error *err)
{
    struct scan scan = { .line_checked = true };
    enum ifg_status status;
    bool over;

    splitter->at = (size_t)((const uint8_t *)out->text - splitter->data);
    if (splitter->rescued > RESCUE_BYTES) {
        splitter->at += out->bytes;
        out->kind = PIECE_CUT;
        out->by_line = false;
        return IFG_OK;
    }
    status = scan_value(splitter, &scan, 0, SPLITTER_EVENT_MAX, &over, err);
    if (status)
        return status;
    take(splitter, &scan, over, PIECE_EVENT, out);
    splitter->rescued += out->bytes;
    return IFG_OK;
}

void splitter_resync(struct splitter *splitter, const struct piece *piece)
{
    const char *end = piece->text + piece->bytes;
    bool after_end = false; /* of a line, or of an object */
    char before = 0;

    if (piece->kind == PIECE_TOO_LARGE || splitter->rescued > RESCUE_BYTES)
        return;
    splitter->rescued += piece->bytes;
    for (const char *at = piece->text + (piece->bytes ? 1 : 0); at < end; at++) {
        if (*at == '\n') {
            after_end = true;
        } else if (*at == ',') {
            after_end = after_end || before == '}';
        } else if (*at == '{' && after_end) {
            splitter->at = (size_t)((const uint8_t *)at - splitter->data);
            splitter->lost = true;
            return;
        } else if (!is_space((uint8_t)*at)) {
            after_end = false;
        }
        if (!is_space((uint8_t)*at))
            before = *at;
    }
    splitter->lost = true;
}

/* After a ']' that would end the events: is it one? Brackets inside text that went wrong are not.
 */
static enum ifg_status end_of_events(struct splitter *splitter, bool *out_end,
                                     struct ifg_error *err)
{
    enum ifg_status status;
    int byte;

    splitter->at++;
    status = peek(splitter, &byte, err);
    if (status)
        return status;
    if (splitter->lost && byte == ',' && splitter->in_object) {
        size_t next = splitter->at + 1;

        while (next < splitter->size && is_space(splitter->data[next]))
            next++;
        *out_end = next < splitter->size && splitter->data[next] == '"';
        return IFG_OK;
    }
    *out_end = !splitter->lost || byte == -1 || (splitter->in_object && byte == '}');
    return IFG_OK;
}

static enum ifg_status next_in_events(struct splitter *splitter, struct piece *out,
                                      struct ifg_error *err)
{
    for (;;) {
        int byte;
        bool ended = false;
        enum ifg_status status = peek(splitter, &byte, err);

        if (status || byte == -1)
            return status;
        if (byte == ',') {
            splitter->at++;
        } else if (byte == ']') {
            status = end_of_events(splitter, &ended, err);
            if (status)
                return status;
            if (ended) {
                splitter->stage = splitter->in_object ? IN_OBJECT : AFTER;
                splitter->closed = true;
                return IFG_OK;
            }
        } else if (byte != '{' && splitter->lost) {
            splitter->at++; /* inside what could not be read and was counted */
        } else {
            splitter->lost = false;
            return take_element(splitter, out, err);
        }
    }
}

/* A quoted key and the colon behind it; what stands there instead ends the object for us. */
static enum ifg_status next_member(struct splitter *splitter, struct piece *out,
                                   struct ifg_error *err)
{
    struct scan key = { .line_checked = true };
    struct scan value = { .line_checked = true };
    enum ifg_status status;
    size_t key_at, value_at, to_value;
    bool over;
    int byte;

    do {
        status = peek(splitter, &byte, err);
        if (!status && byte == ',')
            splitter->at++;
    } while (!status && byte == ',');
    if (status)
        return status;
    if (byte != '"') {
        splitter->closed = splitter->closed && byte == '}';
        splitter->stage = AFTER;
        return IFG_OK;
    }
    out->offset = splitter_offset(splitter);
    status = scan_value(splitter, &key, 0, SPLITTER_MEMBER_MAX, &over, err);
    if (status || !over || key.too_large) {
        splitter->stage = AFTER;
        splitter->closed = false;
        return status;
    }
    key_at = splitter->keep;
    value_at = key.at;
    out->key_bytes = key.at - key_at;
    for (;;) {
        size_t moved;

        while (value_at < splitter->size &&
               (is_space(splitter->data[value_at]) || splitter->data[value_at] == ':'))
            value_at++;
        if (value_at < splitter->size || splitter->end || value_at - key_at > SPLITTER_MEMBER_MAX)
            break;
        status = fill(splitter, &moved, err);
        if (status)
            return status;
        key_at -= moved;
        value_at -= moved;
    }
    if (value_at < splitter->size && splitter->data[value_at] == '[' && out->key_bytes == 13 &&
        memcmp(splitter->data + key_at, "\"traceEvents\"", 13) == 0) {
        splitter->at = value_at + 1;
        splitter->stage = IN_EVENTS;
        splitter->closed = false;
        return IFG_OK;
    }
    splitter->at = key_at; /* the key stays in memory with its value */
    to_value = value_at - key_at;
    status = scan_value(splitter, &value, to_value, SPLITTER_MEMBER_MAX, &over, err);
    if (status)
        return status;
    if (!value.too_large && value.at == splitter->keep + to_value && over)
        value.at++; /* a stray bracket must not hold us here */
    take(splitter, &value, over, PIECE_MEMBER, out);
    if (!value.too_large) {
        out->key = out->text;
        out->text += to_value;
        out->bytes -= to_value;
    }
    return IFG_OK;
}

static enum ifg_status refuse(const struct splitter *splitter, int byte, struct ifg_error *err)
{
    const uint8_t *data = splitter->data + splitter->at;
    size_t left = splitter->size - splitter->at;

    if (byte == -1)
        return ifg_fail(err, IFG_CORRUPT,
                        "the file is empty (ONNX Runtime writes its profile only when the session "
                        "ends or EndProfiling is called)");
    if (left >= 4 && memcmp(data, "\x89IFG", 4) == 0)
        return ifg_fail(err, IFG_CORRUPT, "this is an Inferogram trace already");
    if (left >= 2 && ((data[0] == 0xff && data[1] == 0xfe) || (data[0] == 0xfe && data[1] == 0xff)))
        return ifg_fail(err, IFG_CORRUPT,
                        "this is UTF-16 text; convert it first: iconv -f UTF-16 -t UTF-8");
    if (byte == 0x0a)
        return ifg_fail(err, IFG_CORRUPT, "this is not JSON");
    return ifg_fail(err, IFG_CORRUPT,
                    "this is not a trace in JSON: it begins with byte 0x%02x instead of '{' or '['",
                    (unsigned)byte);
}

static enum ifg_status begin(struct splitter *splitter, struct ifg_error *err)
{
    enum ifg_status status;
    int byte;

    status = peek(splitter, &byte, err);
    while (!status && byte == 0xef && splitter->size - splitter->at < 3 && !splitter->end) {
        size_t moved;

        status = fill(splitter, &moved, err);
    }
    if (!status && splitter->size - splitter->at >= 3 &&
        memcmp(splitter->data + splitter->at, "\xef\xbb\xbf", 3) == 0) {
        splitter->at += 3;
        status = peek(splitter, &byte, err);
    }
    if (status)
        return status;
    if (byte != '{' && byte != '[')
        return refuse(splitter, byte, err);
    splitter->in_object = byte == '{';
    splitter->stage = byte == '{' ? IN_OBJECT : IN_EVENTS;
    splitter->at++;
    return IFG_OK;
}

enum ifg_status splitter_next(struct splitter *splitter, struct piece *out, struct ifg_error *err)
{
    memset(out, 0, sizeof *out);
    if (splitter->stage == BEFORE) {
        enum ifg_status status = begin(splitter, err);

        if (status)
            return status;
    }
    for (;;) {
        enum stage before = splitter->stage;
        enum ifg_status status = IFG_OK;

        if (before == IN_EVENTS)
            status = next_in_events(splitter, out, err);
        else if (before == IN_OBJECT)
            status = next_member(splitter, out, err);
        if (status || out->kind != PIECE_END || splitter->stage == before)
            return status;
    }
}
