// SPDX-License-Identifier: Apache-2.0
/*
 * Repairing text that is almost JSON: see repair.h.
 *
 * The one hard question is whether a quote inside a string ends it. It does if what follows makes
 * sense there: a colon after a key; after a value a closing bracket, or a comma and (in an object)
 * another key with its colon.
 */
#include "import/repair.h"

#include <stdio.h>
#include <string.h>

#define DEPTH_MAX 64

struct repair {
    const char *at;
    const char *end;
    struct ifg_bytes *out;
    uint64_t not_numbers;
    unsigned depth;
    bool is_object[DEPTH_MAX + 1];
    bool expect_key;
    bool raw_backslashes;
};

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static const char *skip_space(const char *at, const char *end)
{
    while (at < end && is_space(*at))
        at++;
    return at;
}

static void put(struct repair *repair, const char *text, size_t bytes)
{
    ifg_bytes_put(repair->out, text, bytes);
}

/* A quoted key and its colon begin here. Keys do not have quotes of their own in practice. */
static bool is_key(const char *at, const char *end)
{
    const char *quote;

    if (at >= end || *at != '"')
        return false;
    quote = memchr(at + 1, '"', (size_t)(end - at - 1));
    if (!quote)
        return false;
    quote = skip_space(quote + 1, end);
    return quote < end && *quote == ':';
}

/* Does the quote at `quote` end the string that we are in? */
static bool ends_string(const struct repair *repair, const char *quote, bool key)
{
    const char *next = skip_space(quote + 1, repair->end);
    bool in_object = repair->depth <= DEPTH_MAX && repair->is_object[repair->depth];

    if (key)
        return next < repair->end && *next == ':';
    if (next == repair->end)
        return true;
    if (*next == ',') {
        next = skip_space(next + 1, repair->end);
        return !in_object || is_key(next, repair->end) || (next < repair->end && *next == '}');
    }
    if (*next != (in_object ? '}' : ']'))
        return false;
    next = skip_space(next + 1, repair->end);
    return next == repair->end || *next == ',' || *next == '}' || *next == ']';
}

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* The bytes of a good escape at a backslash, else 0. */
static size_t escape_bytes(const char *at, const char *end)
{
    if (end - at < 2 || !at[1])
        return 0;
    if (at[1] == 'u')
        return end - at >= 6 && is_hex(at[2]) && is_hex(at[3]) && is_hex(at[4]) && is_hex(at[5])
                   ? 6
                   : 0;
    return strchr("\"\\/bfnrt", at[1]) ? 2 : 0;
}

static void repair_string(struct repair *repair, bool key)
{
    put(repair, "\"", 1);
    for (repair->at++; repair->at < repair->end; repair->at++) {
        const char *at = repair->at;

        if (*at == '"') {
            if (ends_string(repair, at, key)) {
                repair->at++;
                break;
            }
            put(repair, "\\\"", 2);
        } else if (*at == '\\') {
            size_t good = escape_bytes(at, repair->end);

            /* A backslash just before what can only be the closing quote stands for itself. */
            if (repair->raw_backslashes && good && at[1] != '\\' && at[1] != '"')
                good = 0;
            if (good == 2 && at[1] == '"' && ends_string(repair, at + 1, key))
                good = 0;
            if (good) {
                put(repair, at, good);
                repair->at += good - 1;
            } else {
                put(repair, "\\\\", 2);
            }
        } else if ((unsigned char)*at < 0x20) {
            char escaped[8];

            snprintf(escaped, sizeof escaped, "\\u%04x", (unsigned)*at);
            put(repair, escaped, 6);
        } else {
            put(repair, at, 1);
        }
    }
    put(repair, "\"", 1);
}

static const char *skip_digits(const char *at, const char *end)
{
    while (at < end && *at >= '0' && *at <= '9')
        at++;
    return at;
}

static bool is_number(const char *at, const char *end)
{
    const char *digits;

    if (at < end && *at == '-')
        at++;
    digits = at;
    at = skip_digits(at, end);
    if (at == digits || (*digits == '0' && at > digits + 1))
        return false;
    if (at < end && *at == '.') {
        digits = ++at;
        at = skip_digits(at, end);
        if (at == digits)
            return false;
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        at++;
        if (at < end && (*at == '-' || *at == '+'))
            at++;
        digits = at;
        at = skip_digits(at, end);
        if (at == digits)
            return false;
    }
    return at == end;
}

static bool is_word(const char *at, size_t bytes, const char *word)
{
    return bytes == strlen(word) && memcmp(at, word, bytes) == 0;
}

/* A number or a word. */
static void repair_bare(struct repair *repair)
{
    const char *start = repair->at;
    size_t bytes;

    while (repair->at < repair->end && !is_space(*repair->at) && !strchr(",:{}[]\"", *repair->at))
        repair->at++;
    if (repair->at == start) /* a NUL */
        repair->at++;
    bytes = (size_t)(repair->at - start);
    if (is_word(start, bytes, "true") || is_word(start, bytes, "false") ||
        is_word(start, bytes, "null") || is_number(start, repair->at)) {
        put(repair, start, bytes);
    } else if (is_word(start, bytes, "True") || is_word(start, bytes, "False")) {
        put(repair, *start == 'T' ? "true" : "false", *start == 'T' ? 4 : 5);
    } else {
        put(repair, "null", 4);
        repair->not_numbers++;
    }
}

static void repair_mark(struct repair *repair)
{
    char mark = *repair->at++;
    const char *next;

    switch (mark) {
    case '{':
    case '[':
        repair->depth++;
        if (repair->depth <= DEPTH_MAX)
            repair->is_object[repair->depth] = mark == '{';
        repair->expect_key = mark == '{';
        break;
    case '}':
    case ']':
        repair->depth -= repair->depth ? 1 : 0;
        repair->expect_key = false;
        break;
    case ':':
        repair->expect_key = false;
        break;
    default: /* a comma */
        repair->expect_key = repair->depth <= DEPTH_MAX && repair->is_object[repair->depth];
        next = skip_space(repair->at, repair->end);
        if (next < repair->end && (*next == '}' || *next == ']' || *next == ','))
            return;
    }
    put(repair, &mark, 1);
}

bool repair_is_raw_ort(const char *text, size_t bytes)
{
    static const char begin[] = "{\"cat\" : \""; /* nobody else puts its blanks so */
    const char *end = text + bytes;
    const char *at;

    if (bytes < sizeof begin || memcmp(text, begin, sizeof begin - 1) != 0)
        return false;
    for (at = text; (at = memchr(at, '\\', (size_t)(end - at))) && end - at > 1; at += 2)
        if (at[1] != '\\' && at[1] != '"')
            return true;
    return false;
}

void repair_json(const char *text, size_t bytes, bool raw_backslashes, struct ifg_bytes *out,
                 uint64_t *out_not_numbers)
{
    struct repair repair = {
        .at = text, .end = text + bytes, .out = out, .raw_backslashes = raw_backslashes
    };

    while (repair.at < repair.end) {
        char c = *repair.at;

        if (is_space(c)) {
            repair.at++;
        } else if (c == '"') {
            repair_string(&repair, repair.expect_key);
        } else if (c && strchr("{}[]:,", c)) {
            repair_mark(&repair);
        } else {
            repair_bare(&repair);
        }
    }
    *out_not_numbers = repair.not_numbers;
}
