// SPDX-License-Identifier: Apache-2.0
/* What each phase of a Chrome trace becomes: see docs/import.md for the table. */
#include "import/import_internal.h"
#include "import/ireeperf.h"

#include <stdio.h>
#include <string.h>

static const struct value no_value = { VALUE_MISSING, "", 0 };

static void note_time(struct importer *importer, uint32_t process, uint64_t time)
{
    struct known_process *known = &importer->processes[process];

    known->first = time < known->first ? time : known->first;
    importer->first = time < importer->first ? time : importer->first;
    importer->last = time > importer->last ? time : importer->last;
}

static bool take_time(struct importer *importer, const struct event *event, uint64_t *out_time)
{
    int64_t ns;

    if (event->ts.kind == VALUE_MISSING) {
        import_count(importer, IMPORT_NO_TIME, 1);
        return false;
    }
    if (!import_parse_time(&event->ts, &ns)) {
        import_count(importer, IMPORT_BAD_TIME, 1);
        return false;
    }
    *out_time = (uint64_t)(ns + TIME_LIMIT);
    return true;
}

static enum ifg_status put_away(struct importer *importer, uint64_t *out_details)
{
    enum ifg_status status = IFG_OK;
    uint64_t location = 0;

    if (importer->scratch.failed)
        return ifg_fail_no_memory(importer->err, "for an event");
    if (importer->scratch.size)
        status = store_put_details(importer->store, importer->scratch.data, importer->scratch.size,
                                   &location, importer->err);
    *out_details = location << 8;
    return status;
}

static enum ifg_status add(struct importer *importer, uint32_t thread, enum record_kind kind,
                           uint64_t start, uint64_t end, uint32_t location)
{
    struct record record = {
        .end = end,
        .start = start,
        .location = location,
        .sequence = (uint32_t)importer->result->events,
    };
    enum ifg_status status = put_away(importer, &record.details);

    if (status)
        return status;
    record.details |= (uint64_t)kind;
    return store_add(importer->store, thread, &record, importer->err);
}

static void put_args(struct importer *importer, const struct event *event,
                     const struct meaning *meaning)
{
    for (size_t i = 0; i < event->arg_count; i++) {
        const struct event_arg *arg = &event->args[i];

        if (understand_uses(meaning, arg))
            continue;
        import_put_value(importer, arg->key, arg->key_bytes, &arg->value, meaning->from_ort);
        importer->result->details++;
    }
}

/* The location of a zone. When there are too many names, those that come late share one location
 * and carry their name as a detail. */
static uint32_t zone_location(struct importer *importer, uint32_t process,
                              const struct meaning *meaning)
{
    uint32_t location = import_location(importer, process, meaning);
    struct meaning other = *meaning;

    if (location != IFG_STRINGS_NONE)
        return location;
    other.name = "(one of many names)";
    other.name_bytes = strlen(other.name);
    other.cat = other.model = other.function = other.file = NULL;
    other.kind = TRACE_LOCATION_ZONE;
    other.category = TRACE_CATEGORY_NONE;
    importer->location_keys.limit += 1; /* this one always has room */
    location = import_location(importer, process, &other);
    importer->location_keys.limit -= 1;
    if (location == IFG_STRINGS_NONE) {
        import_count(importer, IMPORT_TOO_MANY_NAMES, 1);
        return location;
    }
    import_put_text(importer, "name", 4, meaning->name, meaning->name_bytes);
    return location;
}

static void understand(struct importer *importer, const struct event *event, struct meaning *out)
{
    enum import_format format = importer->options->format;

    memset(out, 0, sizeof *out);
    out->kind = TRACE_LOCATION_ZONE;
    out->cat = &event->category;
    out->name = event->name.text;
    out->name_bytes = event->name.bytes;
    if (event->name.kind == VALUE_MISSING || !event->name.bytes) {
        import_count(importer, IMPORT_NO_NAME, 1);
        out->name = "(no name)";
        out->name_bytes = strlen(out->name);
        return;
    }
    if (importer->result->format == IMPORT_IREEPERF) {
        ireeperf_understand(event, out);
        return;
    }
    if (format == IMPORT_CHROME)
        return;
    if (understand_ort(event, format == IMPORT_ORT, out))
        importer->result->format = IMPORT_ORT;
    else if (format == IMPORT_AUTO)
        understand_ours(event, out);
}

static void count_zone(struct import_result *result, enum trace_location_kind kind)
{
    if (kind == TRACE_LOCATION_ML)
        result->ml++;
    else if (kind == TRACE_LOCATION_OP)
        result->ops++;
    else
        result->zones++;
}

static enum ifg_status take_zone(struct importer *importer, const struct event *event,
                                 uint32_t thread, uint64_t start, bool complete)
{
    uint32_t process = importer->threads[thread].process;
    struct value model = { VALUE_STRING, importer->model_name, strlen(importer->model_name) };
    enum record_kind kind = RECORD_ZONE;
    struct meaning meaning;
    int64_t duration = 0;
    uint32_t location;

    understand(importer, event, &meaning);
    if (meaning.from_ort || meaning.is_of_file)
        meaning.model = &model;
    if (complete && event->duration.kind == VALUE_MISSING) {
        import_count(importer, IMPORT_NO_DURATION, 1);
    } else if (complete && (!import_parse_time(&event->duration, &duration) ||
                            duration > (int64_t)(2 * TIME_ZERO - 1 - start))) {
        import_count(importer, IMPORT_BAD_TIME, 1);
        return IFG_OK;
    }
    if (duration < 0) {
        import_count(importer, IMPORT_NEGATIVE_DURATION, 1);
        return IFG_OK;
    }
    location = zone_location(importer, process, &meaning);
    if (location == IFG_STRINGS_NONE)
        return IFG_OK;
    put_args(importer, event, &meaning);
    count_zone(importer->result, meaning.kind);
    note_time(importer, process, start);
    note_time(importer, process, start + (uint64_t)duration);
    if (!complete || meaning.unfinished)
        return add(importer, thread, RECORD_BEGIN, 0, start, location);
    if (meaning.kind == TRACE_LOCATION_OP)
        kind = RECORD_INNER_ZONE;
    else if (meaning.kind == TRACE_LOCATION_ML)
        kind = RECORD_OUTER_ZONE;
    return add(importer, thread, kind, start, start + (uint64_t)duration, location);
}

static enum ifg_status take_end(struct importer *importer, const struct event *event,
                                uint32_t thread, uint64_t time)
{
    static const struct meaning none = { 0 };

    note_time(importer, importer->threads[thread].process, time);
    put_args(importer, event, &none);
    return add(importer, thread, RECORD_END, 0, time, 0);
}

/* Ids are numbers, hexadecimal texts, or any other text. */
static bool parse_id(const struct value *id, uint64_t *out_id)
{
    int64_t number;
    uint64_t value = 0;
    size_t at = 2;

    if (id->kind != VALUE_NUMBER && id->kind != VALUE_STRING)
        return false;
    if (import_parse_integer(id->text, id->bytes, &number)) {
        *out_id = (uint64_t)number;
        return true;
    }
    if (id->bytes > 2 && id->bytes <= 18 && id->text[0] == '0' && (id->text[1] | 32) == 'x') {
        for (; at < id->bytes; at++) {
            char c = (char)(id->text[at] | 32);
            bool digit = id->text[at] >= '0' && id->text[at] <= '9';

            if (!digit && (c < 'a' || c > 'f'))
                break;
            value = value << 4 | (uint64_t)(digit ? id->text[at] - '0' : c - 'a' + 10);
        }
        if (at == id->bytes) {
            *out_id = value;
            return true;
        }
    }
    *out_id = import_hash(id->text, id->bytes);
    return true;
}

static enum ifg_status take_async(struct importer *importer, const struct event *event,
                                  uint32_t thread, uint64_t time, bool begin)
{
    uint32_t process = importer->threads[thread].process;
    struct meaning meaning = {
        .kind = TRACE_LOCATION_ASYNC,
        .name = event->name.bytes ? event->name.text : "(no name)",
        .name_bytes = event->name.bytes ? event->name.bytes : 9,
    };
    uint32_t location;
    uint64_t id;

    if (!parse_id(&event->id, &id)) {
        import_count(importer, IMPORT_ASYNC_WITHOUT_ID, 1);
        return IFG_OK;
    }
    location = import_location(importer, process, &meaning);
    if (location == IFG_STRINGS_NONE) {
        import_count(importer, IMPORT_TOO_MANY_NAMES, 1);
        return IFG_OK;
    }
    import_count(importer, IMPORT_ASYNC_DETAILS, event->arg_count);
    importer->result->async++;
    note_time(importer, process, time);
    return add(importer, thread, begin ? RECORD_ASYNC_BEGIN : RECORD_ASYNC_END, id, time, location);
}

static enum ifg_status add_flow_point(struct importer *importer, uint32_t thread, uint64_t time,
                                      enum record_kind kind, const struct meaning *meaning,
                                      uint64_t id, unsigned flags)
{
    uint32_t process = importer->threads[thread].process;
    struct record record = {
        .end = time,
        .start = id,
        .details = (uint64_t)flags << 8 | (uint64_t)kind,
        .location = import_location(importer, process, meaning),
        .sequence = (uint32_t)importer->result->events,
    };

    if (record.location == IFG_STRINGS_NONE) {
        import_count(importer, IMPORT_TOO_MANY_NAMES, 1);
        return IFG_OK;
    }
    importer->result->flows++;
    note_time(importer, process, time);
    return store_add(importer->store, thread, &record, importer->err);
}

static enum ifg_status take_flow(struct importer *importer, const struct event *event,
                                 uint32_t thread, uint64_t time, char phase)
{
    struct meaning meaning = {
        .kind = TRACE_LOCATION_FLOW,
        .name = event->name.bytes ? event->name.text : "(no name)",
        .name_bytes = event->name.bytes ? event->name.bytes : 9,
    };
    enum record_kind kind = phase == 's'   ? RECORD_FLOW_BEGIN
                            : phase == 't' ? RECORD_FLOW_STEP
                                           : RECORD_FLOW_END;
    unsigned flags = event->id_is_local ? 0 : TRACE_FLOW_WORLD;
    uint64_t id;

    /* What the export makes of stages; they come back with the stages themselves. */
    if (importer->options->format == IMPORT_AUTO && event_value_is(&event->category, "request") &&
        event_find_arg(event, "of_stages"))
        return IFG_OK;
    if (!parse_id(&event->id, &id) && !parse_id(&event->bind_id, &id)) {
        import_count(importer, IMPORT_FLOW_WITHOUT_ID, 1);
        return IFG_OK;
    }
    if (phase == 'f' && !event_value_is(&event->bp, "e"))
        flags |= TRACE_FLOW_NEXT;
    import_count(importer, IMPORT_ASYNC_DETAILS, event->arg_count);
    id = import_flow_id(importer, event, meaning.name, meaning.name_bytes, id);
    return add_flow_point(importer, thread, time, kind, &meaning, id, flags);
}

static bool is_true(const struct value *value)
{
    return value->kind == VALUE_WORD && value->bytes == 4 && memcmp(value->text, "true", 4) == 0;
}

/* Other events may be points of a flow too: with an id, and whether it comes in, goes out or both.
 * Their names are their own and not that of the flow. */
static enum ifg_status take_bound(struct importer *importer, const struct event *event,
                                  uint32_t thread, uint64_t time)
{
    static const struct meaning meaning = { .kind = TRACE_LOCATION_FLOW,
                                            .name = "flow",
                                            .name_bytes = 4 };
    bool in = is_true(&event->flow_in);
    bool out = is_true(&event->flow_out);
    uint64_t id;

    if ((!in && !out) || !parse_id(&event->bind_id, &id))
        return IFG_OK;
    return add_flow_point(importer, thread, time,
                          !in   ? RECORD_FLOW_BEGIN
                          : out ? RECORD_FLOW_STEP
                                : RECORD_FLOW_END,
                          &meaning, id, TRACE_FLOW_WORLD);
}

/* One series per argument. `value` is what the export calls the only one; it adds nothing. */
static enum ifg_status take_counter(struct importer *importer, const struct event *event,
                                    uint32_t thread, uint64_t time)
{
    uint32_t process = importer->threads[thread].process;
    struct ifg_bytes *name = &importer->scratch;
    enum ifg_status status = IFG_OK;

    note_time(importer, process, time);
    for (size_t i = 0; i < event->arg_count && !status; i++) {
        const struct event_arg *arg = &event->args[i];
        struct meaning meaning = { .kind = TRACE_LOCATION_COUNTER };
        uint32_t location;
        uint64_t bits;
        double value;

        if ((arg->value.kind != VALUE_NUMBER && arg->value.kind != VALUE_STRING) ||
            !import_parse_number(arg->value.text, arg->value.bytes, &value)) {
            import_count(importer, IMPORT_COUNTER_NOT_NUMBER, 1);
            continue;
        }
        ifg_bytes_clear(name);
        ifg_bytes_put(name, event->name.text, event->name.bytes);
        if (event->id.bytes) {
            ifg_bytes_put(name, " ", 1);
            ifg_bytes_put(name, event->id.text, event->id.bytes);
        }
        if (arg->key_bytes != 5 || memcmp(arg->key, "value", 5) != 0) {
            ifg_bytes_put(name, " ", 1);
            ifg_bytes_put(name, arg->key, arg->key_bytes);
        }
        if (name->failed)
            return ifg_fail_no_memory(importer->err, "for an event");
        meaning.name = name->size ? (const char *)name->data : "";
        meaning.name_bytes = name->size;
        location = import_location(importer, process, &meaning);
        ifg_bytes_clear(name);
        if (location == IFG_STRINGS_NONE) {
            import_count(importer, IMPORT_TOO_MANY_NAMES, 1);
            continue;
        }
        memcpy(&bits, &value, sizeof bits);
        importer->result->counters++;
        status = add(importer, thread, RECORD_COUNTER, bits, time, location);
    }
    return status;
}

static uint32_t message_level(const struct event *event)
{
    static const char *const levels[] = { "trace", "debug", "info", "warning", "error" };
    const struct event_arg *arg = event_find_arg(event, "level");

    for (uint32_t i = 0; arg && i < 5; i++)
        if (event_value_is(&arg->value, levels[i]))
            return i;
    return 2;
}

/* The name, and the arguments behind it as text: messages have no details. */
static enum ifg_status take_message(struct importer *importer, const struct event *event,
                                    uint32_t thread, uint64_t time)
{
    struct ifg_bytes *text = &importer->scratch;
    const char *separator = " {";
    size_t bytes;
    const char *clean;

    ifg_bytes_put(text, event->name.text, event->name.bytes);
    for (size_t i = 0; i < event->arg_count; i++) {
        const struct event_arg *arg = &event->args[i];

        if (arg->key_bytes == 5 && memcmp(arg->key, "level", 5) == 0 && event->arg_count == 1)
            continue;
        ifg_bytes_put(text, separator, 2);
        ifg_bytes_put(text, arg->key, arg->key_bytes);
        ifg_bytes_put(text, ": ", 2);
        ifg_bytes_put(text, arg->value.text, arg->value.bytes);
        separator = ", ";
    }
    if (separator[0] == ',')
        ifg_bytes_put(text, "}", 1);
    if (text->failed)
        return ifg_fail_no_memory(importer->err, "for an event");
    clean = import_clean(importer, text->size ? (const char *)text->data : "", text->size,
                         TEXT_MAX_BYTES, &bytes);
    ifg_bytes_clear(text);
    ifg_bytes_put(text, bytes ? clean : " ", bytes ? bytes : 1);
    importer->result->messages++;
    note_time(importer, importer->threads[thread].process, time);
    return add(importer, thread, RECORD_MESSAGE, 0, time, message_level(event));
}

static void take_metadata(struct importer *importer, const struct event *event)
{
    const struct event_arg *name = event_find_arg(event, "name");
    bool of_process = event_value_is(&event->name, "process_name");
    uint32_t process = import_process(importer, &event->pid);
    uint32_t number = IFG_STRINGS_NONE;
    uint32_t thread;

    if (process == IFG_STRINGS_NONE)
        return;
    if (!name || (!of_process && !event_value_is(&event->name, "thread_name"))) {
        import_count(importer, IMPORT_DISPLAY_HINTS, 1);
        return;
    }
    if (name->value.bytes) {
        size_t bytes;
        const char *text =
            import_clean(importer, name->value.text, name->value.bytes, NAME_MAX_BYTES, &bytes);

        number = ifg_strings_add(&importer->texts, text, bytes);
    }
    if (of_process) {
        importer->processes[process].name = number;
        return;
    }
    thread = import_thread(importer, process, &event->tid);
    if (thread != IFG_STRINGS_NONE)
        importer->threads[thread].name = number;
}

static bool is_one_of(char phase, const char *phases)
{
    return phase && strchr(phases, phase);
}

static enum ifg_status take_phase(struct importer *importer, const struct event *event,
                                  uint32_t thread, uint64_t time, char phase)
{
    switch (phase) {
    case 'X':
        return take_zone(importer, event, thread, time, true);
    case 'B':
        return take_zone(importer, event, thread, time, false);
    case 'E':
        return take_end(importer, event, thread, time);
    case 'b':
    case 'S':
        return take_async(importer, event, thread, time, true);
    case 'e':
    case 'F':
        return take_async(importer, event, thread, time, false);
    case 's':
    case 't':
    case 'f':
        return take_flow(importer, event, thread, time, phase);
    case 'C':
        return take_counter(importer, event, thread, time);
    default:
        return take_message(importer, event, thread, time);
    }
}

/* Phases that have a time, a process and a thread. */
static enum ifg_status take_timed(struct importer *importer, const struct event *event, char phase)
{
    enum ifg_status status;
    uint32_t thread;
    uint64_t time;

    if (!take_time(importer, event, &time))
        return IFG_OK;
    thread =
        import_thread(importer, import_process(importer, &event->pid),
                      phase == 'C' && event->tid.kind == VALUE_MISSING ? &no_value : &event->tid);
    if (thread == IFG_STRINGS_NONE)
        return IFG_OK;
    status = take_phase(importer, event, thread, time, phase);
    if (!status && event->bind_id.kind != VALUE_MISSING && !is_one_of(phase, "stf"))
        status = take_bound(importer, event, thread, time);
    return status;
}

static enum ifg_status take_any(struct importer *importer, const struct event *event)
{
    char phase =
        event->phase.kind == VALUE_STRING && event->phase.bytes == 1 ? event->phase.text[0] : '\0';

    ifg_bytes_clear(&importer->scratch);
    import_count(importer, IMPORT_TOO_MANY_DETAILS, event->args_refused);
    import_count(importer, IMPORT_STACKS, event->has_stack);
    import_count(importer, IMPORT_DISPLAY_HINTS, event->has_color);
    if (event->phase.kind == VALUE_MISSING)
        import_count(importer, IMPORT_NO_PHASE, 1);
    else if (is_one_of(phase, "XBEbeSFCniIRTpstf"))
        return take_timed(importer, event, phase);
    else if (phase == 'M')
        take_metadata(importer, event);
    else if (is_one_of(phase, "NODVvPc()"))
        import_count(importer, IMPORT_OTHER_PHASES, 1);
    else
        import_count(importer, IMPORT_UNKNOWN_PHASE, 1);
    return IFG_OK;
}

enum ifg_status import_event(struct importer *importer, const struct event *event)
{
    enum ifg_status status = take_any(importer, event);

    if (status)
        return status;
    if (importer->no_memory || importer->process_keys.no_memory ||
        importer->thread_keys.no_memory || importer->location_keys.no_memory ||
        importer->texts.no_memory || importer->keys.no_memory || importer->flow_names.no_memory)
        return ifg_fail_no_memory(importer->err, "to import");
    return IFG_OK;
}
