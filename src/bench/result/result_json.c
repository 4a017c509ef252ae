// SPDX-License-Identifier: Apache-2.0
/* Writes a result as one JSON document (docs/json.md, "inferogram bench --json"), following the
 * table of result_fields.c as the reader does. */
#include <math.h>
#include <string.h>

#include "bench/result/result_fields.h"
#include "bench/result/result_internal.h"

void result_open_key(struct writing *writing, const char *key, char bracket)
{
    ifg_json_key(&writing->json, key);
    ifg_json_open(&writing->json, bracket);
}

static double number_at(const struct field *field, const char *base)
{
    double value;

    memcpy(&value, base + field->offset, sizeof value);
    if (field->null == ZERO && !(value > 0))
        return NAN;
    if (field->null == UNMEASURED && !((const struct bench_row *)(const void *)base)->sample_count)
        return NAN;
    return value;
}

static uint64_t whole_at(const struct field *field, const char *base)
{
    const void *at = base + field->offset;

    if (field->type == U32)
        return *(const uint32_t *)at;
    return field->type == SIZE ? *(const size_t *)at : *(const uint64_t *)at;
}

static void put_times(struct writing *writing, const struct field *field, const char *base)
{
    const double *values = *(double *const *)(const void *)(base + field->offset);
    size_t count = field->count == SIZE_MAX /* as many as the row has samples */
                       ? ((const struct bench_row *)(const void *)base)->sample_count
                       : *(const size_t *)(const void *)(base + field->count);

    result_open_key(writing, field->key, '[');
    for (size_t i = 0; values && i < count; i++)
        ifg_json_double(&writing->json, values[i]);
    ifg_json_close(&writing->json, ']');
}

static void put_list(struct writing *writing, const struct field *field, const char *base)
{
    const char *elements = base + field->offset;
    size_t count = *(const size_t *)(const void *)(base + field->count);

    if (field->type == LIST)
        elements = *(const char *const *)(const void *)elements;
    if (field->type == FIXED && count > field->limit)
        count = field->limit;
    result_open_key(writing, field->key, '[');
    for (size_t i = 0; i < count; i++) {
        ifg_json_open(&writing->json, '{');
        result_put_fields(writing, field->object,
                          elements + i * result_objects[field->object].bytes);
        ifg_json_close(&writing->json, '}');
    }
    ifg_json_close(&writing->json, ']');
}

static void put_field(struct writing *writing, const struct field *field, const char *base)
{
    const void *at = base + field->offset;
    struct ifg_json *json = &writing->json;
    uint64_t whole;

    switch (field->type) {
    case TEXT:
    case KEPT:
        ifg_json_put_string(json, field->key, result_text_or_empty(*(const char *const *)at));
        break;
    case CHARS:
        ifg_json_put_string(json, field->key, at);
        break;
    case NUMBER:
    case TIME:
        ifg_json_put_double(json, field->key, number_at(field, base));
        break;
    case U64:
    case U32:
    case SIZE:
        whole = whole_at(field, base);
        if (field->null == ZERO && !whole)
            ifg_json_put_double(json, field->key, NAN);
        else
            ifg_json_put_uint(json, field->key, whole);
        break;
    case I64:
        ifg_json_put_int(json, field->key, *(const int64_t *)at);
        break;
    case BOOLEAN:
        ifg_json_put_bool(json, field->key, *(const bool *)at);
        break;
    case LEVEL:
        ifg_json_put_string(json, field->key, trust_level_name(*(const enum trust_level *)at));
        break;
    case RULE:
        ifg_json_put_string(json, field->key, *(const bool *)at ? "nearest" : "linear");
        break;
    case TIMES:
        put_times(writing, field, base);
        break;
    case LIST:
    case FIXED:
        put_list(writing, field, base);
        break;
    case INSIDE:
        result_open_key(writing, field->key, '{');
        result_put_fields(writing, field->object, at);
        ifg_json_close(json, '}');
        break;
    }
}

void result_put_fields(struct writing *writing, enum object object, const void *base)
{
    for (const struct field *field = result_objects[object].fields; field->key; field++)
        (field->put ? field->put : put_field)(writing, field, base);
}

enum ifg_status bench_result_write_json(const struct bench_result *result, struct ifg_bytes *out,
                                        struct ifg_error *err)
{
    struct writing writing = { .json = { out, false }, .result = result, .err = err };

    ifg_json_open(&writing.json, '{');
    result_put_fields(&writing, TOP, result);
    ifg_json_close(&writing.json, '}');
    ifg_bytes_put(out, "\n", 1);
    return writing.status ? writing.status : result_written(out, err);
}
