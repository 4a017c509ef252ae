// SPDX-License-Identifier: Apache-2.0
/* Reading a foreign trace from its first byte to its last: see import.h. */
#include "import/import.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "import/import_internal.h"
#include "import/ireeperf.h"
#include "import/repair.h"
#include "import/source.h"
#include "import/splitter.h"

#define PROGRESS_EVENTS 4096u
#define REPAIRED_MAX    (8u * SPLITTER_EVENT_MAX)
#define FACT_MAX_BYTES  4096u
#define ORT_EVENTS_MAX  1000000u

struct reading {
    struct importer importer;
    struct source *source;
    struct splitter *splitter;
    struct event_parser *parser;
    struct ireeperf *profile; /* instead of splitter and parser */
    struct ifg_bytes repaired;
};

/* By what was asked for, else by how the text begins. */
static enum ifg_status choose_format(struct reading *reading, struct ifg_error *err)
{
    enum import_format format = reading->importer.options->format;
    char text[IREEPERF_LOOK_BYTES];
    enum ifg_status status;
    size_t bytes;

    status = source_peek(reading->source, text, sizeof text, &bytes, err);
    if (!status)
        status = ireeperf_refuse_binary(text, bytes, err);
    if (format == IMPORT_AUTO)
        format = !status && ireeperf_begins(text, bytes) ? IMPORT_IREEPERF : IMPORT_CHROME;
    reading->importer.result->format =
        format == IMPORT_IREEPERF ? format : IMPORT_CHROME; /* until an event is ONNX Runtime's */
    reading->importer.result->has_lines = format == IMPORT_IREEPERF;
    return status;
}

static enum ifg_status open_reading(struct reading *reading, const struct import_options *options,
                                    struct import_result *result, struct ifg_error *err)
{
    struct importer *importer = &reading->importer;
    enum ifg_status status;

    importer->options = options;
    importer->result = result;
    importer->err = err;
    importer->first = UINT64_MAX;
    importer->process_keys.limit = THREADS_MAX;
    importer->thread_keys.limit = THREADS_MAX;
    importer->location_keys.limit = LOCATIONS_MAX;
    importer->texts.limit = 4 * THREADS_MAX;
    importer->keys.limit = KEYS_MAX;
    importer->flow_names.limit = LOCATIONS_MAX;
    ifg_bytes_init(&importer->scratch, 8u * SPLITTER_EVENT_MAX);
    ifg_bytes_init(&importer->name, SPLITTER_EVENT_MAX + 64);
    ifg_bytes_init(&importer->facts, 1u << 20);
    ifg_bytes_init(&reading->repaired, REPAIRED_MAX);
    understand_model_name(options->path, importer->model_name, sizeof importer->model_name);
    status = options->data ? source_open_memory(options->data, options->data_bytes,
                                                options->data_chunk, &reading->source, err)
                           : source_open(options->path, &reading->source, err);
    if (!status)
        status = choose_format(reading, err);
    if (!status && result->format == IMPORT_IREEPERF)
        status = ireeperf_create(importer, &reading->profile, err);
    else if (!status)
        status = splitter_create(reading->source, &reading->splitter, err);
    if (!status && result->format != IMPORT_IREEPERF)
        status = event_parser_create(&reading->parser, err);
    if (!status)
        status = store_create(options->output, &importer->store, err);
    return status;
}

static void close_reading(struct reading *reading)
{
    struct importer *importer = &reading->importer;

    store_destroy(importer->store);
    ireeperf_destroy(reading->profile);
    event_parser_destroy(reading->parser);
    splitter_destroy(reading->splitter);
    source_close(reading->source);
    ifg_strings_fini(&importer->process_keys);
    ifg_strings_fini(&importer->thread_keys);
    ifg_strings_fini(&importer->location_keys);
    ifg_strings_fini(&importer->texts);
    ifg_strings_fini(&importer->keys);
    ifg_strings_fini(&importer->flow_names);
    ifg_free(importer->flow_realms);
    ifg_free(importer->processes);
    ifg_free(importer->threads);
    ifg_bytes_fini(&importer->scratch);
    ifg_bytes_fini(&importer->name);
    ifg_bytes_fini(&importer->facts);
    ifg_bytes_fini(&reading->repaired);
}

static enum ifg_status no_memory(struct ifg_error *err)
{
    return ifg_fail_no_memory(err, "to import");
}

/* As it is, else repaired. *out_event is NULL if neither can be parsed. */
static enum ifg_status parse_piece(struct reading *reading, const struct piece *piece,
                                   const struct event **out_event, bool *out_too_deep)
{
    struct importer *importer = &reading->importer;
    bool raw = repair_is_raw_ort(piece->text, piece->bytes);
    enum parse_result result = PARSE_NOT_JSON;
    uint64_t not_numbers;

    *out_event = NULL;
    if (!raw)
        result = event_parse(reading->parser, piece->text, piece->bytes, out_event);
    if (result == PARSE_NOT_JSON) {
        ifg_bytes_clear(&reading->repaired);
        repair_json(piece->text, piece->bytes, raw, &reading->repaired, &not_numbers);
        if (reading->repaired.failed)
            return no_memory(importer->err);
        if (reading->repaired.size)
            result = event_parse(reading->parser, (const char *)reading->repaired.data,
                                 reading->repaired.size, out_event);
        if (result == PARSE_OK) {
            import_count(importer, IMPORT_REPAIRED, 1);
            import_count(importer, IMPORT_NOT_A_NUMBER, not_numbers);
        }
    }
    *out_too_deep = result == PARSE_TOO_DEEP;
    return result == PARSE_NO_MEMORY ? no_memory(importer->err) : IFG_OK;
}

static enum ifg_status check_limit(const struct importer *importer)
{
    uint64_t limit =
        importer->options->max_events ? importer->options->max_events : IMPORT_EVENTS_DEFAULT;

    if (importer->result->events < limit)
        return IFG_OK;
    return ifg_fail(importer->err, IFG_UNSUPPORTED,
                    "more than %llu events (each needs %u bytes of memory); if there is enough, "
                    "allow more with --max-events",
                    (unsigned long long)limit, IMPORT_RECORD_BYTES);
}

static enum ifg_status take_event(struct reading *reading, struct piece *piece)
{
    struct importer *importer = &reading->importer;
    const struct event *event = NULL;
    enum ifg_status status = check_limit(importer);
    bool too_deep = false;

    if (!status)
        status = parse_piece(reading, piece, &event, &too_deep);
    if (!status && !event && !too_deep && piece->by_line) {
        status = splitter_widen(reading->splitter, piece, importer->err);
        if (!status && piece->kind == PIECE_EVENT)
            status = parse_piece(reading, piece, &event, &too_deep);
    }
    if (status)
        return status;
    if (!event) {
        import_count(importer, too_deep ? IMPORT_TOO_DEEP : IMPORT_NOT_JSON, 1);
        splitter_resync(reading->splitter, piece);
        return IFG_OK;
    }
    importer->result->events++;
    return import_event(importer, event);
}

void import_fact(struct importer *importer, const char *prefix, const char *key, size_t key_bytes,
                 const struct value *value)
{
    struct ifg_bytes *facts = &importer->facts;
    size_t before = facts->size;
    size_t prefix_bytes = strlen(prefix);
    size_t bytes = value->bytes < FACT_MAX_BYTES ? value->bytes : FACT_MAX_BYTES;

    if (importer->fact_count == FACTS_MAX || key_bytes > KEY_MAX_BYTES ||
        memchr(key, 0, key_bytes)) {
        import_count(importer, IMPORT_OTHER_PARTS, 1);
        return;
    }
    ifg_bytes_put_varint(facts, prefix_bytes + key_bytes + 1);
    ifg_bytes_put(facts, prefix, prefix_bytes);
    ifg_bytes_put(facts, key, key_bytes);
    ifg_bytes_put(facts, "", 1);
    ifg_bytes_put_varint(facts, bytes + 1);
    ifg_bytes_put(facts, value->text, bytes);
    ifg_bytes_put(facts, "", 1);
    if (facts->failed) {
        facts->size = before;
        facts->failed = false;
        import_count(importer, IMPORT_OTHER_PARTS, 1);
        return;
    }
    importer->fact_count++;
}

/* PyTorch's profiler and our own export say what time it was at ts 0. */
static void note_realtime(struct importer *importer, const struct event_arg *arg)
{
    static const char *const keys[] = { "baseTimeNanoseconds", "begin_realtime_ns" };

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (arg->key_bytes == strlen(keys[i]) && memcmp(arg->key, keys[i], arg->key_bytes) == 0 &&
            arg->value.kind == VALUE_NUMBER)
            (void)import_parse_integer(arg->value.text, arg->value.bytes,
                                       &importer->base_realtime_ns);
}

static bool key_is(const struct piece *piece, const char *quoted)
{
    return piece->key_bytes == strlen(quoted) && memcmp(piece->key, quoted, piece->key_bytes) == 0;
}

/* A member of the outer object: kept as a fact if it is small, else counted. */
static enum ifg_status take_member(struct reading *reading, const struct piece *piece)
{
    struct importer *importer = &reading->importer;
    struct ifg_bytes *text = &reading->repaired;
    bool other_data = key_is(piece, "\"otherData\"") || key_is(piece, "\"metadata\"");
    const struct event *event;

    if (key_is(piece, "\"stackFrames\"")) {
        import_count(importer, IMPORT_STACKS, 1);
        return IFG_OK;
    }
    if (key_is(piece, "\"displayTimeUnit\""))
        return IFG_OK; /* how to print times, nothing about the trace */
    ifg_bytes_clear(text);
    ifg_bytes_put(text, "{", 1);
    ifg_bytes_put(text, other_data ? "\"args\"" : piece->key, other_data ? 6 : piece->key_bytes);
    ifg_bytes_put(text, ":", 1);
    ifg_bytes_put(text, piece->text, piece->bytes);
    ifg_bytes_put(text, "}", 1);
    if (text->failed)
        return no_memory(importer->err);
    if (event_parse(reading->parser, (const char *)text->data, text->size, &event) != PARSE_OK) {
        import_count(importer, IMPORT_OTHER_PARTS, 1);
        return IFG_OK;
    }
    import_count(importer, IMPORT_OTHER_PARTS, event->args_refused);
    for (size_t i = 0; i < event->arg_count; i++) {
        const struct event_arg *arg = &event->args[i];

        note_realtime(importer, arg);
        if (arg->value.bytes > FACT_MAX_BYTES)
            import_count(importer, IMPORT_OTHER_PARTS, 1);
        else
            import_fact(importer, "import.file.", arg->key, arg->key_bytes, &arg->value);
    }
    return IFG_OK;
}

static enum ifg_status take_piece(struct reading *reading, struct piece *piece)
{
    struct importer *importer = &reading->importer;

    importer->offset = piece->offset;
    switch (piece->kind) {
    case PIECE_EVENT:
        return take_event(reading, piece);
    case PIECE_MEMBER:
        return take_member(reading, piece);
    case PIECE_OTHER:
        import_count(importer, IMPORT_NOT_AN_EVENT, 1);
        return IFG_OK;
    case PIECE_CUT:
        /* Unescaped quotes can make an event swallow all that follows; then it has more lines. */
        import_count(importer,
                     memchr(piece->text, '\n', piece->bytes) ? IMPORT_NOT_JSON : IMPORT_CUT_EVENT,
                     1);
        splitter_resync(reading->splitter, piece);
        return IFG_OK;
    default:
        import_count(importer, IMPORT_TOO_LARGE, 1);
        return IFG_OK;
    }
}

static void report(const struct reading *reading)
{
    const struct import_options *options = reading->importer.options;

    if (options->progress)
        options->progress(options->progress_context, source_raw_bytes(reading->source),
                          source_total_bytes(reading->source), reading->importer.result->events);
}

static enum ifg_status read_all(struct reading *reading)
{
    struct importer *importer = &reading->importer;
    struct import_result *result = importer->result;
    enum ifg_status status = IFG_OK;
    uint64_t pieces = 0;
    struct piece piece;

    do {
        status = splitter_next(reading->splitter, &piece, importer->err);
        if (!status && piece.kind != PIECE_END)
            status = take_piece(reading, &piece);
        if (++pieces % PROGRESS_EVENTS == 0)
            report(reading);
    } while (!status && piece.kind != PIECE_END);
    result->gzip = source_is_gzip(reading->source);
    result->input_bytes = source_raw_bytes(reading->source);
    result->text_bytes = splitter_offset(reading->splitter);
    if (status)
        return status;
    importer->offset = IMPORT_NOWHERE; /* from here on it is about the whole */
    import_count(importer, IMPORT_DAMAGED_GZIP, source_is_damaged(reading->source));
    import_count(importer, IMPORT_NO_CLOSING_BRACKET, !splitter_closed(reading->splitter));
    import_count(importer, IMPORT_ORT_LIMIT,
                 result->format == IMPORT_ORT && result->events >= ORT_EVENTS_MAX);
    if (!result->events)
        return ifg_fail(importer->err, IFG_CORRUPT, "there is no event in it%s",
                        source_is_damaged(reading->source)
                            ? "; the compressed data end early or are damaged"
                        : splitter_closed(reading->splitter) ? ""
                                                             : ", and it is cut short");
    return IFG_OK;
}

/* One record per line. */
static enum ifg_status read_lines(struct reading *reading)
{
    struct importer *importer = &reading->importer;
    struct import_result *result = importer->result;
    enum ifg_status status = IFG_OK;
    struct lines lines;
    struct line line;
    bool has_line = true;

    lines_init(&lines, reading->source);
    while (!status && has_line) {
        status = lines_next(&lines, &line, &has_line, importer->err);
        importer->offset = lines.number;
        if (!status && has_line)
            status = check_limit(importer);
        if (!status && has_line)
            status = ireeperf_line(reading->profile, &line);
        if (lines.number % PROGRESS_EVENTS == 0)
            report(reading);
    }
    if (!status)
        status = ireeperf_finish(reading->profile);
    result->gzip = source_is_gzip(reading->source);
    result->input_bytes = source_raw_bytes(reading->source);
    result->text_bytes = lines.bytes;
    lines_fini(&lines);
    importer->offset = IMPORT_NOWHERE;
    import_count(importer, IMPORT_DAMAGED_GZIP, source_is_damaged(reading->source));
    if (!status && !result->events)
        status = ifg_fail(importer->err, IFG_CORRUPT, "there is no record in it");
    return status;
}

enum ifg_status import_file(const struct import_options *options, struct import_result *out_result,
                            struct ifg_error *err)
{
    struct reading reading;
    enum ifg_status status;
    struct stat info;

    memset(out_result, 0, sizeof *out_result);
    memset(&reading, 0, sizeof reading);
    if (!options->overwrite && access(options->output, F_OK) == 0)
        return ifg_fail(err, IFG_INVALID,
                        "%s exists; give another name with -o or replace it with -f",
                        options->output);
    status = open_reading(&reading, options, out_result, err);
    if (!status)
        status = reading.profile ? read_lines(&reading) : read_all(&reading);
    if (!status)
        status = import_write(&reading.importer);
    if (status == IFG_CORRUPT || status == IFG_NO_MEMORY)
        status = ifg_fail_context(err, status, "cannot import %s",
                                  strcmp(options->path, "-") ? options->path : "standard input");
    if (!status && stat(options->output, &info) == 0)
        out_result->output_bytes = (uint64_t)info.st_size;
    close_reading(&reading);
    return status;
}
