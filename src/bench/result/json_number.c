// SPDX-License-Identifier: Apache-2.0
/* One number out of what a program printed. */
#include "bench/result/json_number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <yajl/yajl_parse.h>

#define TRIES     1000 /* lines that look like the beginning of a document */
#define DEPTH_MAX 64

struct reading {
    const char *key;
    /* Bytes of the key that the open objects have matched; depth 0 is outside. */
    size_t matched[DEPTH_MAX + 1];
    bool on_path[DEPTH_MAX + 1];
    unsigned depth;
    bool wanted; /* the next value is it, or holds it */
    size_t wanted_end;
    bool found;
    double number;
};

static int take_number(void *user, const char *text, size_t length)
{
    struct reading *reading = user;
    char copy[64];

    if (reading->wanted && !reading->key[reading->wanted_end] && length < sizeof copy) {
        memcpy(copy, text, length);
        copy[length] = '\0';
        reading->number = strtod(copy, NULL);
        reading->found = isfinite(reading->number);
    }
    reading->wanted = false;
    return 1;
}

static int take_nothing(void *user)
{
    ((struct reading *)user)->wanted = false;
    return 1;
}

static int take_boolean(void *user, int value)
{
    (void)value;
    return take_nothing(user);
}

static int take_string(void *user, const unsigned char *text, size_t length)
{
    (void)text, (void)length;
    return take_nothing(user);
}

static int enter(struct reading *reading, bool object)
{
    if (reading->depth == DEPTH_MAX)
        return 0;
    reading->depth++;
    reading->on_path[reading->depth] = object && (reading->depth == 1 || reading->wanted);
    reading->matched[reading->depth] = reading->depth == 1 ? 0 : reading->wanted_end;
    reading->wanted = false;
    return 1;
}

static int enter_object(void *user)
{
    return enter(user, true);
}

static int enter_array(void *user)
{
    return enter(user, false);
}

static int take_key(void *user, const unsigned char *text, size_t length)
{
    struct reading *reading = user;
    size_t from = reading->matched[reading->depth];
    const char *rest = reading->key + from;

    reading->wanted = false;
    if (!reading->on_path[reading->depth])
        return 1;
    if (from && *rest == '.')
        rest++;
    if (strncmp(rest, (const char *)text, length) == 0 && length <= strlen(rest) &&
        (!rest[length] || rest[length] == '.')) {
        reading->wanted = true;
        reading->wanted_end = (size_t)(rest - reading->key) + length;
    }
    return 1;
}

static int leave(void *user)
{
    struct reading *reading = user;

    reading->depth--;
    reading->wanted = false;
    return 1;
}

static const yajl_callbacks callbacks = {
    .yajl_null = take_nothing,
    .yajl_boolean = take_boolean,
    .yajl_number = take_number,
    .yajl_string = take_string,
    .yajl_start_map = enter_object,
    .yajl_map_key = take_key,
    .yajl_end_map = leave,
    .yajl_start_array = enter_array,
    .yajl_end_array = leave,
};

/* Whether the whole text is one document. */
static bool read_document(const char *text, size_t bytes, struct reading *reading)
{
    yajl_handle yajl = yajl_alloc(&callbacks, NULL, reading);
    bool whole = yajl && yajl_parse(yajl, (const unsigned char *)text, bytes) == yajl_status_ok &&
                 yajl_complete_parse(yajl) == yajl_status_ok;

    if (yajl)
        yajl_free(yajl);
    return whole;
}

bool json_last_number(const char *text, size_t bytes, const char *key, double *out_number)
{
    int tries = 0;

    for (size_t at = bytes; at-- > 0 && tries < TRIES;) {
        struct reading reading = { .key = key };

        if (text[at] != '{' || (at && text[at - 1] != '\n'))
            continue;
        tries++;
        if (!read_document(text + at, bytes - at, &reading))
            continue;
        *out_number = reading.number;
        return reading.found;
    }
    return false;
}
