// SPDX-License-Identifier: Apache-2.0
/* Who and what an import knows: processes, threads, locations, and the details of an event. */
#include "import/import_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"

static const char *const reason_texts[IMPORT_REASONS] = {
    [IMPORT_NOT_JSON] = "pieces of text that are not valid JSON, even after repair",
    [IMPORT_CUT_EVENT] = "events cut off where the file ends",
    [IMPORT_TOO_LARGE] = "events or parts of more than 16 MiB",
    [IMPORT_TOO_DEEP] = "events nested deeper than 64 levels",
    [IMPORT_NOT_AN_EVENT] = "things among the events that are no events",
    [IMPORT_NO_PHASE] = "events without a phase (ph)",
    [IMPORT_NO_TIME] = "events without a time (ts)",
    [IMPORT_BAD_TIME] = "events whose time or duration is no number or out of range",
    [IMPORT_NEGATIVE_DURATION] = "events with a negative duration",
    [IMPORT_END_WITHOUT_BEGIN] = "ends of zones without a begin",
    [IMPORT_OPEN_TOO_DEEP] = "unfinished zones nested deeper than 1024",
    [IMPORT_COUNTER_NOT_NUMBER] = "counter values that are no numbers",
    [IMPORT_ASYNC_WITHOUT_ID] = "async events without an id",
    [IMPORT_ASYNC_DETAILS] = "details of async events and flows: not represented",
    [IMPORT_FLOW_WITHOUT_ID] = "points of flows (s, t, f) without an id",
    [IMPORT_STACKS] = "stacks (sf, stack): not represented",
    [IMPORT_DISPLAY_HINTS] = "colours, sort orders and labels: not represented",
    [IMPORT_OTHER_PHASES] =
        "object, memory dump, sample, clock sync and context events: not represented",
    [IMPORT_UNKNOWN_PHASE] = "events of a phase that nobody documents",
    [IMPORT_OTHER_PARTS] = "other parts of the file: not represented",
    [IMPORT_TOO_MANY_THREADS] = "events of threads beyond the first 65536",
    [IMPORT_TOO_MANY_NAMES] = "events with names beyond the first 131072",
    [IMPORT_TOO_MANY_DETAILS] = "details beyond 64 of one event, or with too many different keys",
    [IMPORT_DAMAGED_GZIP] = "compressed data that end early or are damaged: the rest is missing",
    [IMPORT_NOT_VALID] = "records without the time or the values that their kind has",
    [IMPORT_NO_CLOCK] = "events of devices whose clock has no relation to that of the host",
    [IMPORT_UNKNOWN_RECORD] = "records of a kind that this version does not know",
    [IMPORT_DROPPED_BEFORE] = "records that IREE dropped when it wrote the profile",
    [IMPORT_REPAIRED] = "events that were not valid JSON and were repaired",
    [IMPORT_NOT_A_NUMBER] = "values such as NaN that JSON does not have, kept as null",
    [IMPORT_TEXT_CUT] = "texts that were too long and were cut",
    [IMPORT_NO_NAME] = "zones without a name, kept as (no name)",
    [IMPORT_NO_DURATION] = "complete events without a duration, kept with length 0",
    [IMPORT_UNFINISHED] = "zones that had not ended, kept as unfinished",
    [IMPORT_OVERLAPPING] =
        "zones that overlap others of their thread without nesting, kept in rows of their own",
    [IMPORT_TIMES_SHIFTED] = "traces with negative times, moved to begin at 0",
    [IMPORT_NO_CLOSING_BRACKET] = "files that end without their closing bracket",
    [IMPORT_ORT_LIMIT] = "signs that ONNX Runtime stopped at its limit of 1000000 events",
    [IMPORT_UNKNOWN_KEPT] = "records of a kind that this version does not know, kept as zones",
    [IMPORT_PROBLEMS] = "problems that iree-profile reports in the file",
    [IMPORT_OTHER_SCHEMA] = "files of another schema version than 15",
};

static const char *const reason_keys[IMPORT_REASONS] = {
    [IMPORT_NOT_JSON] = "not_json",
    [IMPORT_CUT_EVENT] = "cut_event",
    [IMPORT_TOO_LARGE] = "too_large",
    [IMPORT_TOO_DEEP] = "too_deep",
    [IMPORT_NOT_AN_EVENT] = "not_an_event",
    [IMPORT_NO_PHASE] = "no_phase",
    [IMPORT_NO_TIME] = "no_time",
    [IMPORT_BAD_TIME] = "bad_time",
    [IMPORT_NEGATIVE_DURATION] = "negative_duration",
    [IMPORT_END_WITHOUT_BEGIN] = "end_without_begin",
    [IMPORT_OPEN_TOO_DEEP] = "open_too_deep",
    [IMPORT_COUNTER_NOT_NUMBER] = "counter_not_number",
    [IMPORT_ASYNC_WITHOUT_ID] = "async_without_id",
    [IMPORT_ASYNC_DETAILS] = "async_details",
    [IMPORT_FLOW_WITHOUT_ID] = "flow_without_id",
    [IMPORT_STACKS] = "stacks",
    [IMPORT_DISPLAY_HINTS] = "display_hints",
    [IMPORT_OTHER_PHASES] = "other_phases",
    [IMPORT_UNKNOWN_PHASE] = "unknown_phase",
    [IMPORT_OTHER_PARTS] = "other_parts",
    [IMPORT_TOO_MANY_THREADS] = "too_many_threads",
    [IMPORT_TOO_MANY_NAMES] = "too_many_names",
    [IMPORT_TOO_MANY_DETAILS] = "too_many_details",
    [IMPORT_DAMAGED_GZIP] = "damaged_gzip",
    [IMPORT_NOT_VALID] = "not_valid",
    [IMPORT_NO_CLOCK] = "no_clock",
    [IMPORT_UNKNOWN_RECORD] = "unknown_record",
    [IMPORT_DROPPED_BEFORE] = "dropped_before",
    [IMPORT_REPAIRED] = "repaired",
    [IMPORT_NOT_A_NUMBER] = "not_a_number",
    [IMPORT_TEXT_CUT] = "text_cut",
    [IMPORT_NO_NAME] = "no_name",
    [IMPORT_NO_DURATION] = "no_duration",
    [IMPORT_UNFINISHED] = "unfinished",
    [IMPORT_OVERLAPPING] = "overlapping",
    [IMPORT_TIMES_SHIFTED] = "times_shifted",
    [IMPORT_NO_CLOSING_BRACKET] = "no_closing_bracket",
    [IMPORT_ORT_LIMIT] = "ort_limit",
    [IMPORT_UNKNOWN_KEPT] = "unknown_kept",
    [IMPORT_PROBLEMS] = "problems",
    [IMPORT_OTHER_SCHEMA] = "other_schema",
};

static const struct {
    const char *key;
    const char *text;
} formats[] = {
    [IMPORT_AUTO] = { "chrome", "a Chrome trace" },
    [IMPORT_CHROME] = { "chrome", "a Chrome trace" },
    [IMPORT_ORT] = { "ort", "an ONNX Runtime profile" },
    [IMPORT_IREEPERF] = { "ireeperf", "an IREE profile" },
};

const char *import_format_key(enum import_format format)
{
    return formats[format].key;
}

const char *import_format_text(enum import_format format)
{
    return formats[format].text;
}

const char *import_reason_text(enum import_reason reason)
{
    return reason_texts[reason];
}

const char *import_reason_key(enum import_reason reason)
{
    return reason_keys[reason];
}

void import_count(struct importer *importer, enum import_reason reason, uint64_t count)
{
    if (!count)
        return;
    if (!importer->result->counts[reason])
        importer->result->first_at[reason] = importer->offset;
    importer->result->counts[reason] += count;
}

const char *import_clean(struct importer *importer, const char *text, size_t bytes, size_t most,
                         size_t *out_bytes)
{
    struct ifg_bytes *out = &importer->name;

    if (bytes > most) {
        import_count(importer, IMPORT_TEXT_CUT, 1);
        bytes = most;
        while (bytes && ((unsigned char)text[bytes] & 0xc0) == 0x80)
            bytes--; /* no half characters */
    }
    ifg_bytes_clear(out);
    ifg_bytes_put(out, text, bytes);
    ifg_bytes_put(out, "", 1);
    *out_bytes = 0;
    if (out->failed) {
        importer->no_memory = true;
        return "";
    }
    for (size_t i = 0; i < bytes; i++)
        if (!out->data[i])
            out->data[i] = '?';
    *out_bytes = bytes;
    return (const char *)out->data;
}

/* Whether there is room; where there is none, that is what the import ends with. */
static bool note_room(struct importer *importer, bool has_room)
{
    importer->no_memory = importer->no_memory || !has_room;
    return has_room;
}

bool import_parse_integer(const char *text, size_t bytes, int64_t *out_value)
{
    bool negative = bytes && text[0] == '-';
    uint64_t value = 0;
    size_t at = negative;

    if (at == bytes || bytes - at > 19)
        return false;
    for (; at < bytes; at++) {
        if (text[at] < '0' || text[at] > '9')
            return false;
        value = value * 10 + (uint64_t)(text[at] - '0');
    }
    if (value > (uint64_t)INT64_MAX)
        return false;
    *out_value = negative ? -(int64_t)value : (int64_t)value;
    return true;
}

bool import_parse_number(const char *text, size_t bytes, double *out_value)
{
    char copy[512];
    char *end;

    if (!bytes || bytes >= sizeof copy || !memchr("-+.0123456789", text[0], 13))
        return false;
    memcpy(copy, text, bytes);
    copy[bytes] = '\0';
    *out_value = strtod(copy, &end);
    return end == copy + bytes && isfinite(*out_value);
}

/* Microseconds as text to nanoseconds: exact as long as there is no exponent. */
bool import_parse_time(const struct value *value, int64_t *out_ns)
{
    const char *at = value->text;
    const char *end = value->text + value->bytes;
    bool negative = at < end && *at == '-';
    int64_t ns = 0;
    unsigned digits = 0;
    unsigned fraction = 0;
    double microseconds;

    if (value->kind != VALUE_NUMBER && value->kind != VALUE_STRING)
        return false;
    for (at += negative; at < end && *at >= '0' && *at <= '9'; at++, digits++) {
        ns = ns * 10 + (*at - '0');
        if (ns > TIME_LIMIT / 1000)
            return false;
    }
    if (digits && at < end && *at == '.')
        for (at++; at < end && *at >= '0' && *at <= '9'; at++) {
            if (fraction == 3 && *at >= '5')
                ns++; /* rounds */
            if (fraction < 3)
                ns = ns * 10 + (*at - '0');
            fraction += fraction < 4;
        }
    if (digits && at == end) {
        for (; fraction < 3; fraction++)
            ns *= 10;
        *out_ns = negative ? -ns : ns;
        return ns < TIME_LIMIT;
    }
    if (!import_parse_number(value->text, value->bytes, &microseconds) ||
        fabs(microseconds) >= (double)TIME_LIMIT / 1000)
        return false;
    *out_ns = (int64_t)llrint(microseconds * 1000);
    return true;
}

/* Numbers and texts that are numbers are the same process; -1 in *out_number means it was a text.
 */
static size_t make_id_key(struct importer *importer, const struct value *id, uint8_t *key,
                          int64_t *out_number)
{
    int64_t number = 0;
    size_t bytes = 0;
    const char *text;

    if (id->kind == VALUE_MISSING || id->kind == VALUE_WORD ||
        (import_parse_integer(id->text, id->bytes, &number) && number >= 0)) {
        *out_number = number;
        key[0] = 'n';
        memcpy(key + 1, &number, sizeof number);
        return 1 + sizeof number;
    }
    *out_number = -1;
    text = import_clean(importer, id->text, id->bytes, KEY_MAX_BYTES, &bytes);
    key[0] = 's';
    memcpy(key + 1, text, bytes);
    return 1 + bytes;
}

uint32_t import_process(struct importer *importer, const struct value *pid)
{
    uint8_t key[1 + KEY_MAX_BYTES];
    int64_t number;
    size_t bytes = make_id_key(importer, pid, key, &number);
    uint32_t before = importer->process_keys.count;
    uint32_t index;

    if (!note_room(importer, IFG_ARRAY_ROOM(importer->processes, importer->process_capacity,
                                            before + 1u, IFG_ARRAY_ANY)))
        return IFG_STRINGS_NONE;
    index = ifg_strings_add(&importer->process_keys, key, bytes);
    if (index == before && index != IFG_STRINGS_NONE) {
        struct known_process *process = &importer->processes[index];

        memset(process, 0, sizeof *process);
        process->pid = number;
        process->first = UINT64_MAX;
        process->name =
            number < 0 ? ifg_strings_add(&importer->texts, key + 1, bytes - 1) : IFG_STRINGS_NONE;
    }
    if (index == IFG_STRINGS_NONE)
        import_count(importer, IMPORT_TOO_MANY_THREADS, 1);
    return index;
}

uint32_t import_thread(struct importer *importer, uint32_t process, const struct value *tid)
{
    uint8_t key[sizeof process + 1 + KEY_MAX_BYTES];
    uint32_t before = importer->thread_keys.count;
    int64_t number;
    size_t bytes;
    uint32_t index;

    if (process == IFG_STRINGS_NONE)
        return IFG_STRINGS_NONE;
    memcpy(key, &process, sizeof process);
    bytes = make_id_key(importer, tid, key + sizeof process, &number);
    if (!note_room(importer, IFG_ARRAY_ROOM(importer->threads, importer->thread_capacity,
                                            before + 1u, IFG_ARRAY_ANY)))
        return IFG_STRINGS_NONE;
    index = ifg_strings_add(&importer->thread_keys, key, sizeof process + bytes);
    if (index == before && index != IFG_STRINGS_NONE) {
        importer->threads[index].process = process;
        importer->threads[index].tid = number;
        importer->threads[index].name =
            number < 0 ? ifg_strings_add(&importer->texts, key + sizeof process + 1, bytes - 1)
                       : IFG_STRINGS_NONE;
    }
    if (index == IFG_STRINGS_NONE)
        import_count(importer, IMPORT_TOO_MANY_THREADS, 1);
    return index;
}

uint64_t import_hash(const char *text, size_t bytes)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ (uint8_t)text[i]) * 0x100000001b3u;
    return hash;
}

uint64_t import_flow_id(struct importer *importer, const struct event *event, const char *name,
                        size_t name_bytes, uint64_t id)
{
    uint64_t scope = import_hash(event->scope.text, event->scope.bytes);
    uint64_t realm =
        import_hash(event->category.text, event->category.bytes) ^ (scope << 32 | scope >> 32);
    uint32_t before = importer->flow_names.count;
    uint32_t number;

    if (!note_room(importer, IFG_ARRAY_ROOM(importer->flow_realms, importer->flow_capacity,
                                            before + 1u, IFG_ARRAY_ANY)))
        return id;
    number = ifg_strings_add(&importer->flow_names, name, name_bytes);
    if (number == IFG_STRINGS_NONE)
        return id;
    if (number == before)
        importer->flow_realms[number] = realm;
    return id ^ realm ^ importer->flow_realms[number];
}

static uint32_t text_number(struct importer *importer, const struct value *value)
{
    size_t bytes;
    const char *text;

    if (!value || value->kind != VALUE_STRING || !value->bytes)
        return IFG_STRINGS_NONE;
    text = import_clean(importer, value->text, value->bytes, KEY_MAX_BYTES, &bytes);
    return ifg_strings_add(&importer->texts, text, bytes);
}

uint32_t import_location(struct importer *importer, uint32_t process, const struct meaning *meaning)
{
    uint8_t key[sizeof(struct identity) + NAME_MAX_BYTES];
    struct identity identity = {
        .process = process,
        .kind = (uint32_t)meaning->kind,
        .category = (uint32_t)meaning->category,
        .cat = text_number(importer, meaning->cat),
        .model = text_number(importer, meaning->model),
        .function = text_number(importer, meaning->function),
        .file = text_number(importer, meaning->file),
        .line = meaning->line,
    };
    size_t bytes;
    const char *text =
        import_clean(importer, meaning->name, meaning->name_bytes, NAME_MAX_BYTES, &bytes);

    memcpy(key, &identity, sizeof identity);
    memcpy(key + sizeof identity, text, bytes);
    return ifg_strings_add(&importer->location_keys, key, sizeof identity + bytes);
}

const char *import_location_get(const struct importer *importer, uint32_t location,
                                struct identity *out_identity)
{
    const char *key = ifg_strings_get(&importer->location_keys, location);

    memcpy(out_identity, key, sizeof *out_identity);
    return key + sizeof *out_identity;
}

/* Addresses and hashes need all 64 bits. */
static bool parse_unsigned(const char *text, size_t bytes, uint64_t *out_value)
{
    uint64_t value = 0;

    if (!bytes || bytes > 20)
        return false;
    for (size_t i = 0; i < bytes; i++)
        if (text[i] < '0' || text[i] > '9' || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(text[i] - '0'), &value))
            return false;
    *out_value = value;
    return true;
}

static bool put_key(struct importer *importer, const char *key, size_t key_bytes,
                    enum trace_value_type type)
{
    size_t bytes;
    const char *text = import_clean(importer, key, key_bytes, KEY_MAX_BYTES, &bytes);
    uint32_t number = ifg_strings_add(&importer->keys, text, bytes);

    if (number == IFG_STRINGS_NONE) {
        import_count(importer, IMPORT_TOO_MANY_DETAILS, 1);
        return false;
    }
    ifg_bytes_put_varint(&importer->scratch, (uint64_t)number << 3 | (uint64_t)type);
    return true;
}

void import_put_text(struct importer *importer, const char *key, size_t key_bytes, const char *text,
                     size_t bytes)
{
    if (!put_key(importer, key, key_bytes, TRACE_VALUE_STRING))
        return;
    text = import_clean(importer, text, bytes, TEXT_MAX_BYTES, &bytes);
    ifg_bytes_put_string(&importer->scratch, text, bytes);
}

void import_put_value(struct importer *importer, const char *key, size_t key_bytes,
                      const struct value *value, bool numbers_in_strings)
{
    bool number =
        value->kind == VALUE_NUMBER || (value->kind == VALUE_STRING && numbers_in_strings);
    int64_t integer;
    uint64_t large;
    double real;

    if (number && import_parse_integer(value->text, value->bytes, &integer)) {
        if (put_key(importer, key, key_bytes, TRACE_VALUE_SIGNED))
            ifg_bytes_put(&importer->scratch, &integer, sizeof integer);
    } else if (value->kind == VALUE_NUMBER && parse_unsigned(value->text, value->bytes, &large)) {
        if (put_key(importer, key, key_bytes, TRACE_VALUE_UNSIGNED))
            ifg_bytes_put(&importer->scratch, &large, sizeof large);
    } else if (value->kind == VALUE_NUMBER &&
               import_parse_number(value->text, value->bytes, &real)) {
        if (put_key(importer, key, key_bytes, TRACE_VALUE_F64))
            ifg_bytes_put(&importer->scratch, &real, sizeof real);
    } else {
        import_put_text(importer, key, key_bytes, value->text, value->bytes);
    }
}
