// SPDX-License-Identifier: Apache-2.0
/*
 * Walks through the JSON document of a result as yajl tells it. A table says for each key of each
 * object what its value becomes; keys that are not in it are passed over. Types and ranges are
 * checked, lists have limits.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "bench/result/result_reading.h"

#define PASSED_MAX 1000u
#define TEXT_MAX   65536u
#define TIME_MAX   1e12 /* ms: 31 years */

/* ---- errors ------------------------------------------------------------------------------------
 */

/* "rows[1].blocks[3].count" */
static void describe_path(const struct reading *reading, char *out, size_t size)
{
    size_t used = 0;

    out[0] = '\0';
    for (size_t i = 0; i < reading->depth && used < size; i++) {
        const struct level *level = &reading->levels[i];
        size_t count;

        if (!level->list && level->field) {
            used += (size_t)snprintf(out + used, size - used, "%s%s", used ? "." : "",
                                     level->field->key);
        } else if (level->list) {
            if (level->field->count == SIZE_MAX)
                count = reading->state.service_count;
            else
                memcpy(&count, level->base + level->field->count, sizeof count);
            if (i + 1 < reading->depth && count)
                count--; /* the element that is being read counts already */
            used += (size_t)snprintf(out + used, size - used, "[%zu]", count);
        }
    }
}

int result_reading_refuse(struct reading *reading, const char *format, ...)
{
    char path[160], reason[256];
    va_list args;

    va_start(args, format);
    vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    describe_path(reading, path, sizeof path);
    reading->status = ifg_fail(reading->err, IFG_CORRUPT, "%.200s: %s%s%s; " READING_WAY_OUT,
                               reading->name, path, *path ? " " : "", reason);
    return 0;
}

int result_reading_no_memory(struct reading *reading)
{
    reading->status = ifg_fail_no_memory(reading->err, "to read %.200s", reading->name);
    return 0;
}

static const char *needs(const struct field *field)
{
    switch (field->type) {
    case TEXT:
    case CHARS:
    case LEVEL:
    case KEPT:
    case RULE:
        return "must be a text";
    case NUMBER:
    case TIME:
    case U64:
    case U32:
    case SIZE:
    case I64:
        return "must be a number";
    case BOOLEAN:
        return "must be true or false";
    case TIMES:
        return "must be a list of numbers";
    case LIST:
    case FIXED:
        return "must be a list of objects";
    case INSIDE:
        break;
    }
    return "must be an object";
}

/* ---- values ------------------------------------------------------------------------------------
 */

static struct level *innermost(struct reading *reading)
{
    return reading->depth ? &reading->levels[reading->depth - 1] : NULL;
}

/* Where the next value belongs. False: nowhere; then *out_result is what the callback returns. */
static bool expected(struct reading *reading, const struct field **out_field, char **out_base,
                     int *out_result)
{
    struct level *level = innermost(reading);

    *out_result = 1;
    if (reading->passed_over)
        return false;
    if (!level) {
        *out_result = result_reading_refuse(reading, "it is not a JSON object");
        return false;
    }
    if (!level->field) /* a key that means nothing here */
        return false;
    *out_field = level->field;
    *out_base = level->field_base;
    return true;
}

static int store_integer(struct reading *reading, const struct field *field, char *at,
                         const char *text, double number)
{
    bool plain = !text[strspn(text, "-0123456789")];
    uint64_t value = 0;
    int64_t whole;

    if (field->type == I64) {
        if (!(fabs(number) <= 9007199254740992.0) || number != floor(number))
            return result_reading_refuse(reading, "must be a whole number, not %.40s", text);
        whole = (int64_t)number;
        memcpy(at, &whole, sizeof whole);
        return 1;
    }
    errno = 0;
    if (number < 0 || number != floor(number))
        return result_reading_refuse(
            reading, "must be a whole number that is not negative, not %.40s", text);
    if (plain)
        value = strtoull(text, NULL, 10);
    else if (number <= 9007199254740992.0)
        value = (uint64_t)number;
    else
        errno = ERANGE;
    if (errno || (field->type == U32 && value > UINT32_MAX) ||
        (field->type == SIZE && value > SIZE_MAX / 2))
        return result_reading_refuse(reading, "is too large: %.40s", text);
    if (field->offset == SIZE_MAX) { /* schema */
        if (value == 1)
            return 1;
        reading->status = ifg_fail(reading->err, IFG_UNSUPPORTED,
                                   "%.200s has schema %" PRIu64 ", and this inferogram reads 1; "
                                   "take the inferogram that made it",
                                   reading->name, value);
        return 0;
    }
    if (field->type == U32) {
        uint32_t narrow = (uint32_t)value;

        memcpy(at, &narrow, sizeof narrow);
    } else if (field->type == SIZE) {
        size_t size = (size_t)value;

        memcpy(at, &size, sizeof size);
    } else {
        memcpy(at, &value, sizeof value);
    }
    return 1;
}

static struct row_state *state_of(struct reading *reading, const char *base)
{
    return base == (const char *)reading->flat ? &reading->flat_state : &reading->state;
}

static int append_time(struct reading *reading, struct level *level, double number)
{
    const struct field *field = level->field;
    size_t *count = &state_of(reading, level->base)->service_count;
    double *values;

    if (field->count != SIZE_MAX)
        count = (size_t *)(void *)(level->base + field->count);
    memcpy(&values, level->base + field->offset, sizeof values);
    if (!IFG_ARRAY_ROOM(values, level->capacity, *count + 1, IFG_ARRAY_ANY))
        return result_reading_no_memory(reading);
    memcpy(level->base + field->offset, &values, sizeof values);
    values[(*count)++] = number;
    return 1;
}

static int take_number(void *user, const char *text, size_t length)
{
    struct reading *reading = user;
    const struct field *field;
    char copy[400];
    char *base;
    double number;
    int result;

    if (!expected(reading, &field, &base, &result))
        return result;
    if (length >= sizeof copy)
        return result_reading_refuse(reading, "has a number of %zu digits", length);
    memcpy(copy, text, length);
    copy[length] = '\0';
    number = strtod(copy, NULL);
    if (!isfinite(number))
        return result_reading_refuse(reading, "is not a finite number: %.40s", copy);
    switch (field->type) {
    case TIMES:
        if (!innermost(reading)->list)
            break;
        if (!(number >= 0) || number > TIME_MAX)
            return result_reading_refuse(reading, "is no time in ms: %.40s", copy);
        return append_time(reading, innermost(reading), number);
    case TIME:
        if (!(number >= 0) || number > TIME_MAX)
            return result_reading_refuse(reading, "must be between 0 and %g, not %.40s", TIME_MAX,
                                         copy);
        memcpy(base + field->offset, &number, sizeof number);
        return 1;
    case NUMBER:
        memcpy(base + field->offset, &number, sizeof number);
        return 1;
    case U64:
    case U32:
    case SIZE:
    case I64:
        return store_integer(reading, field,
                             field->offset == SIZE_MAX ? NULL : base + field->offset, copy, number);
    default:
        break;
    }
    return result_reading_refuse(reading, "%s", needs(field));
}

static int take_null(void *user)
{
    struct reading *reading = user;
    const struct field *field;
    const double unknown = NAN;
    char *base;
    int result;

    if (!expected(reading, &field, &base, &result))
        return result;
    if (innermost(reading)->list)
        return result_reading_refuse(reading, "%s",
                                     field->type == TIMES ? "must be a number" : needs(field));
    if (field->type == NUMBER || field->type == TIME)
        memcpy(base + field->offset, &unknown, sizeof unknown);
    return 1;
}

static int take_boolean(void *user, int value)
{
    struct reading *reading = user;
    const struct field *field;
    const bool given = value != 0;
    char *base;
    int result;

    if (!expected(reading, &field, &base, &result))
        return result;
    if (field->type != BOOLEAN)
        return result_reading_refuse(reading, "%s", needs(field));
    memcpy(base + field->offset, &given, sizeof given);
    return 1;
}

/* A text for something that only points to it. */
static const char *keep_text(struct reading *reading, const char *text, size_t length)
{
    struct bench_result *result = reading->result;

    if (!IFG_ARRAY_ROOM(result->texts, reading->text_capacity, result->text_count + 1,
                        IFG_ARRAY_ANY))
        return NULL;
    result->texts[result->text_count] = ifg_strndup(text, length);
    return result->texts[result->text_count] ? result->texts[result->text_count++] : NULL;
}

static bool is_text(const char *text, size_t length, const char *wanted)
{
    return strlen(wanted) == length && memcmp(text, wanted, length) == 0;
}

static int take_level(struct reading *reading, char *at, const char *text, size_t length)
{
    for (enum trust_level level = TRUST_OK; level <= TRUST_NOT_AVAILABLE; level++)
        if (is_text(text, length, trust_level_name(level))) {
            memcpy(at, &level, sizeof level);
            return 1;
        }
    return result_reading_refuse(reading, "is no level of trust: %.*s",
                                 (int)(length < 40 ? length : 40), text);
}

/* Cut where a character ends. */
static size_t fit(const char *text, size_t length, size_t room)
{
    if (length <= room)
        return length;
    while (room > 0 && ((unsigned char)text[room] & 0xc0) == 0x80)
        room--;
    return room;
}

static int take_string(void *user, const unsigned char *bytes, size_t length)
{
    struct reading *reading = user;
    const char *text = (const char *)bytes;
    const struct field *field;
    const char *kept;
    char *base, *copy, *old;
    int result;
    bool nearest;

    if (!expected(reading, &field, &base, &result))
        return result;
    if (innermost(reading)->list)
        return result_reading_refuse(reading, "%s",
                                     field->type == TIMES ? "must be a number" : needs(field));
    switch (field->type) {
    case TEXT:
        copy = ifg_strndup(text, fit(text, length, TEXT_MAX));
        if (!copy)
            return result_reading_no_memory(reading);
        memcpy(&old, base + field->offset, sizeof old);
        ifg_free(old);
        memcpy(base + field->offset, &copy, sizeof copy);
        return 1;
    case CHARS:
        length = fit(text, length, field->limit - 1);
        memset(base + field->offset, 0, field->limit);
        memcpy(base + field->offset, text, length);
        return 1;
    case KEPT:
        if (field->offset == SIZE_MAX) /* kind */
            return is_text(text, length, "bench")
                       ? 1
                       : result_reading_refuse(reading, "is %.*s, not bench",
                                               (int)(length < 40 ? length : 40), text);
        kept = keep_text(reading, text, fit(text, length, 256));
        if (!kept)
            return result_reading_no_memory(reading);
        memcpy(base + field->offset, &kept, sizeof kept);
        return 1;
    case LEVEL:
        return take_level(reading, base + field->offset, text, length);
    case RULE:
        nearest = is_text(text, length, "nearest");
        if (!nearest && !is_text(text, length, "linear"))
            return result_reading_refuse(reading, "must be linear or nearest");
        memcpy(base + field->offset, &nearest, sizeof nearest);
        return 1;
    default:
        return result_reading_refuse(reading, "%s", needs(field));
    }
}

/* ---- objects and lists -------------------------------------------------------------------------
 */

static int push(struct reading *reading, struct level level)
{
    if (reading->depth == READING_DEPTH_MAX)
        return result_reading_refuse(reading, "is nested too deep");
    reading->levels[reading->depth++] = level;
    return 1;
}

static int pass_over(struct reading *reading)
{
    if (reading->passed_over == PASSED_MAX)
        return result_reading_refuse(reading, "is nested too deep");
    reading->passed_over++;
    return 1;
}

void result_reading_row_init(struct bench_row *row)
{
    row->available = true;
    row->energy_cpu_j = row->energy_gpu_j = NAN;
    row->energy_cpu_low_j = row->energy_cpu_high_j = NAN;
    row->energy_gpu_low_j = row->energy_gpu_high_j = NAN;
    row->energy_idle_cpu_w = row->energy_idle_gpu_w = row->energy_idle_s = NAN;
    row->open.found_hz = row->open.lateness_p99_ms = NAN;
    row->trust.level = TRUST_NOT_AVAILABLE;
    row->trust.reference_drift = NAN;
}

static void element_init(struct reading *reading, enum object object, char *element)
{
    struct bench_process *process = (struct bench_process *)(void *)element;
    struct bench_block *block = (struct bench_block *)(void *)element;
    struct trust_line *line = (struct trust_line *)(void *)element;

    memset(element, 0, result_objects[object].bytes);
    if (object == PROCESS) {
        process->start_ms = process->load_ms = process->specialization_ms = NAN;
        process->first_ms = process->warmup_mean_ms = NAN;
    } else if (object == BLOCK) {
        block->reference_ms = block->wall_ms = NAN;
    } else if (object == LINE) {
        line->name = "";
        line->value = NAN;
        line->level = TRUST_NOT_AVAILABLE;
    } else if (object == ROW) {
        result_reading_row_init((struct bench_row *)(void *)element);
        reading->state = (struct row_state){ 0 };
    }
}

static int begin_element(struct reading *reading, struct level *list)
{
    const struct field *field = list->field;
    size_t bytes = result_objects[field->object].bytes;
    size_t *count = (size_t *)(void *)(list->base + field->count);
    char *elements = list->base + field->offset;

    if (*count == field->limit)
        return result_reading_refuse(reading, "has more than %zu elements", field->limit);
    if (field->type == LIST) {
        memcpy(&elements, list->base + field->offset, sizeof elements);
        if (!ifg_array_grow(&elements, &list->capacity, bytes, *count + 1, field->limit))
            return result_reading_no_memory(reading);
        memcpy(list->base + field->offset, &elements, sizeof elements);
    }
    elements += *count * bytes;
    element_init(reading, field->object, elements);
    (*count)++;
    return push(reading, (struct level){ .object = field->object, .base = elements });
}

static int enter_object(void *user)
{
    struct reading *reading = user;
    const struct field *field;
    char *base;
    int result;

    if (reading->passed_over)
        return pass_over(reading);
    if (!reading->depth)
        return push(reading, (struct level){ .object = TOP, .base = (char *)reading->result });
    if (!expected(reading, &field, &base, &result))
        return result ? pass_over(reading) : 0;
    if (innermost(reading)->list)
        return field->type == TIMES ? result_reading_refuse(reading, "must be a number")
                                    : begin_element(reading, innermost(reading));
    if (field->type != INSIDE)
        return result_reading_refuse(reading, "%s", needs(field));
    if (field->object == OPEN_LOOP)
        ((struct bench_row *)(void *)base)->open.used = true;
    return push(reading, (struct level){ .object = field->object, .base = base + field->offset });
}

static int enter_list(void *user)
{
    struct reading *reading = user;
    const struct field *field;
    void *there = NULL;
    size_t count = 0;
    char *base;
    int result;

    if (reading->passed_over)
        return pass_over(reading);
    if (!expected(reading, &field, &base, &result))
        return result ? pass_over(reading) : 0;
    if (innermost(reading)->list)
        return result_reading_refuse(reading, "%s",
                                     field->type == TIMES ? "must be a number" : needs(field));
    if (field->type != LIST && field->type != FIXED && field->type != TIMES)
        return result_reading_refuse(reading, "%s", needs(field));
    if (field->type != FIXED)
        memcpy(&there, base + field->offset, sizeof there);
    else
        memcpy(&count, base + field->count, sizeof count);
    if (there || count)
        return result_reading_refuse(reading, "is there twice");
    if (field->type == TIMES && field->count != SIZE_MAX)
        state_of(reading, base)->has_samples = true;
    return push(reading, (struct level){ .list = true,
                                         .object = field->object,
                                         .base = base,
                                         .field = field,
                                         .field_base = base });
}

static const struct field *find_field(enum object object, const char *key, size_t length)
{
    for (const struct field *field = result_objects[object].fields; field->key; field++)
        if (!field->derived && is_text(key, length, field->key))
            return field;
    return NULL;
}

static int take_key(void *user, const unsigned char *bytes, size_t length)
{
    struct reading *reading = user;
    struct level *level = innermost(reading);
    const char *key = (const char *)bytes;

    if (reading->passed_over)
        return 1;
    level->field = find_field(level->object, key, length);
    level->field_base = level->base;
    if (!level->field && level->object == TOP) {
        level->field = find_field(ROW, key, length);
        level->field_base = (char *)reading->flat;
    }
    return 1;
}

int result_reading_check_row(struct reading *reading, const struct bench_row *row,
                             const struct row_state *state)
{
    if (!state->has_samples)
        return result_reading_refuse(reading, "has no raw_samples_ms");
    if (row->open.used && state->service_count != row->sample_count)
        return result_reading_refuse(reading, "has %zu service_ms for %zu raw_samples_ms",
                                     state->service_count, row->sample_count);
    return 1;
}

static int leave(struct reading *reading)
{
    const struct level *level = innermost(reading);
    const struct bench_row *row = (const struct bench_row *)(const void *)level->base;

    if (reading->passed_over) {
        reading->passed_over--;
        return 1;
    }
    if (!level->list && level->object == ROW) {
        reading->levels[reading->depth - 1].field =
            NULL; /* the row is at fault, not its last key */
        if (!result_reading_check_row(reading, row, &reading->state))
            return 0;
    }
    reading->depth--;
    return 1;
}

static int leave_object(void *user)
{
    return leave(user);
}

static int leave_list(void *user)
{
    return leave(user);
}

const yajl_callbacks result_reading_callbacks = {
    .yajl_null = take_null,
    .yajl_boolean = take_boolean,
    .yajl_number = take_number,
    .yajl_string = take_string,
    .yajl_start_map = enter_object,
    .yajl_map_key = take_key,
    .yajl_end_map = leave_object,
    .yajl_start_array = enter_list,
    .yajl_end_array = leave_list,
};
