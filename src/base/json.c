// SPDX-License-Identifier: Apache-2.0
/* A JSON writer: see json.h. */
#include "base/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void separate(struct ifg_json *json)
{
    if (json->need_comma)
        ifg_bytes_put(json->out, ",", 1);
    json->need_comma = true;
}

void ifg_json_open(struct ifg_json *json, char bracket)
{
    separate(json);
    ifg_bytes_put(json->out, &bracket, 1);
    json->need_comma = false;
}

void ifg_json_close(struct ifg_json *json, char bracket)
{
    ifg_bytes_put(json->out, &bracket, 1);
    json->need_comma = true;
}

size_t ifg_utf8_length(const unsigned char *text, size_t left)
{
    size_t length = text[0] < 0x80   ? 1
                    : text[0] < 0xc2 ? 0
                    : text[0] < 0xe0 ? 2
                    : text[0] < 0xf0 ? 3
                    : text[0] < 0xf5 ? 4
                                     : 0;

    if (length > left)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    if (length == 3 &&
        ((text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xed && text[1] >= 0xa0)))
        return 0; /* overlong, or half of a surrogate pair */
    if (length == 4 &&
        ((text[0] == 0xf0 && text[1] < 0x90) || (text[0] == 0xf4 && text[1] >= 0x90)))
        return 0;
    return length;
}

static void put_text(struct ifg_bytes *out, const char *text, size_t length)
{
    const unsigned char *at = (const unsigned char *)text;
    const unsigned char *end = at + length;

    ifg_bytes_put(out, "\"", 1);
    while (at < end) {
        size_t sequence = ifg_utf8_length(at, (size_t)(end - at));
        char escaped[8];

        if (*at == '"' || *at == '\\') {
            escaped[0] = '\\';
            escaped[1] = (char)*at;
            ifg_bytes_put(out, escaped, 2);
            at++;
        } else if (*at < 0x20 || *at == 0x7f) {
            snprintf(escaped, sizeof escaped, "\\u%04x", *at);
            ifg_bytes_put(out, escaped, 6);
            at++;
        } else if (!sequence) {
            ifg_bytes_put(out, "\xef\xbf\xbd", 3);
            at++;
        } else {
            ifg_bytes_put(out, at, sequence);
            at += sequence;
        }
    }
    ifg_bytes_put(out, "\"", 1);
}

void ifg_json_string_n(struct ifg_json *json, const char *text, size_t length)
{
    separate(json);
    put_text(json->out, text, length);
}

void ifg_json_string(struct ifg_json *json, const char *text)
{
    ifg_json_string_n(json, text, strlen(text));
}

void ifg_json_key(struct ifg_json *json, const char *key)
{
    ifg_json_string(json, key);
    ifg_bytes_put(json->out, ":", 1);
    json->need_comma = false;
}

static void put_plain(struct ifg_json *json, const char *text)
{
    separate(json);
    ifg_bytes_put(json->out, text, strlen(text));
}

void ifg_json_uint(struct ifg_json *json, uint64_t value)
{
    char text[24];

    snprintf(text, sizeof text, "%" PRIu64, value);
    put_plain(json, text);
}

void ifg_json_int(struct ifg_json *json, int64_t value)
{
    char text[24];

    snprintf(text, sizeof text, "%" PRId64, value);
    put_plain(json, text);
}

void ifg_json_double(struct ifg_json *json, double value)
{
    char text[40];

    if (!isfinite(value)) {
        put_plain(json, "null");
        return;
    }
    snprintf(text, sizeof text, "%.17g", value);
    put_plain(json, text);
}

void ifg_json_bool(struct ifg_json *json, bool value)
{
    put_plain(json, value ? "true" : "false");
}

void ifg_json_put_open(struct ifg_json *json, const char *key, char bracket)
{
    ifg_json_key(json, key);
    ifg_json_open(json, bracket);
}

void ifg_json_put_string(struct ifg_json *json, const char *key, const char *text)
{
    ifg_json_key(json, key);
    ifg_json_string(json, text);
}

void ifg_json_put_uint(struct ifg_json *json, const char *key, uint64_t value)
{
    ifg_json_key(json, key);
    ifg_json_uint(json, value);
}

void ifg_json_put_int(struct ifg_json *json, const char *key, int64_t value)
{
    ifg_json_key(json, key);
    ifg_json_int(json, value);
}

void ifg_json_put_double(struct ifg_json *json, const char *key, double value)
{
    ifg_json_key(json, key);
    ifg_json_double(json, value);
}

void ifg_json_put_bool(struct ifg_json *json, const char *key, bool value)
{
    ifg_json_key(json, key);
    ifg_json_bool(json, value);
}
