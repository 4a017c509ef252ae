// SPDX-License-Identifier: Apache-2.0
/*
 * Writes traces for the tests of `inferogram export` and says on stdout what is in them: one JSON
 * object per line, names in hexadecimal, so that nobody's escaping is trusted.
 *
 * usage: export_traces everything|empty|async|large FILE
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "trace/writer.h"

#define BEGIN  UINT64_C(7000000000)
#define AT(ns) (BEGIN + (ns))

static struct trace_writer *writer;
static const char *location_names[4096];
static const char *const kinds[] = { "", "zone", "ml", "op", "stage" };
static uint32_t location_kinds[4096];

static void die(const char *what)
{
    fprintf(stderr, "export_traces: %s\n", what);
    exit(1);
}

static void put_hex(const char *text)
{
    putchar('"');
    for (; *text; text++)
        printf("%02x", (unsigned char)*text);
    putchar('"');
}

/* ---- definitions ------------------------------------------------------------- */

static void process(uint32_t index, uint32_t pid, const char *program)
{
    const struct trace_process what = { .index = index,
                                        .pid = pid,
                                        .start_ticks = AT(0),
                                        .program = program,
                                        .arguments = "a\0b",
                                        .arguments_bytes = 3 };

    trace_writer_process(writer, &what);
    printf("{\"process\":%u,\"pid\":%u}\n", index, pid);
}

static void thread(uint32_t index, uint32_t in_process, uint32_t tid, const char *name)
{
    trace_writer_thread(writer, index, in_process, tid, name);
    printf("{\"thread\":%u,\"process\":%u,\"tid\":%u,\"name\":", index, in_process, tid);
    put_hex(name);
    puts("}");
}

static void location(uint32_t in_process, uint32_t id, enum trace_location_kind kind,
                     const char *name)
{
    const struct trace_location what = { in_process, id,   kind,   TRACE_CATEGORY_NONE, 0, id * 10,
                                         0,          name, "work", "a,b \"c\".c" };

    location_names[id] = name;
    location_kinds[id] = kind;
    trace_writer_location(writer, &what);
}

static void ml(uint32_t in_process, uint32_t id, uint32_t model, const char *function,
               enum trace_category category)
{
    const struct trace_location what = { in_process, id, TRACE_LOCATION_ML, category, 0, 0,
                                         model,      "", function,          "" };
    static const char *const names[] = { "",     "prepare-ep", "specialization",
                                         "load", "setup",      "inference" };

    location_names[id] = names[category];
    location_kinds[id] = TRACE_LOCATION_ML;
    trace_writer_location(writer, &what);
}

static void model(uint32_t in_process, uint32_t id, const char *name)
{
    const struct trace_model what = { .process = in_process, .id = id, .name = name };

    trace_writer_model(writer, &what);
}

/* ---- slices ------------------------------------------------------------------ */

struct attribute {
    const char *key;
    const char *text; /* NULL: number */
    uint64_t number;
};

struct zone {
    uint64_t start;
    uint64_t end;
    uint32_t location;
    struct attribute attributes[3];
};

static void say_slice(uint32_t index, uint64_t start, uint64_t ns, uint32_t where, const char *name,
                      int unfinished)
{
    printf("{\"slice\":1,\"on\":%u,\"start\":%llu,\"dur\":%llu,\"kind\":\"%s\",\"unfinished\":%d,"
           "\"name\":",
           index, (unsigned long long)start, (unsigned long long)ns, kinds[location_kinds[where]],
           unfinished);
    put_hex(name);
    puts("}");
}

static void zone(struct trace_stream *stream, uint32_t index, const struct zone *what)
{
    const char *name = location_names[what->location];

    for (size_t i = 0; i < 3 && what->attributes[i].key; i++) {
        const struct attribute *a = &what->attributes[i];

        if (a->text && strcmp(a->key, "name") == 0)
            name = a->text;
        if (a->text)
            trace_stream_attribute(stream, what->start, what->location, TRACE_VALUE_STRING, a->key,
                                   strlen(a->key), a->text, strlen(a->text));
        else
            trace_stream_attribute(stream, what->start, what->location, TRACE_VALUE_UNSIGNED,
                                   a->key, strlen(a->key), &a->number, sizeof a->number);
    }
    trace_stream_zone(stream, what->start, what->end - what->start, what->location);
    say_slice(index, what->start, what->end - what->start, what->location, name, 0);
}

static void zones(struct trace_stream *stream, uint32_t index, const struct zone *items,
                  size_t count)
{
    for (size_t i = 0; i < count; i++)
        zone(stream, index, &items[i]);
}

static struct trace_stream *stream_of(uint32_t index)
{
    struct trace_stream *stream = trace_stream_create(writer, index);

    if (!stream)
        die("out of memory");
    return stream;
}

/* ---- events ------------------------------------------------------------------ */

static void number_event(struct trace_stream *stream, enum trace_event_kind kind, uint64_t ns,
                         uint32_t where, uint64_t a, uint64_t b)
{
    uint8_t payload[2 * IFG_VARINT_MAX];
    uint8_t *end = ifg_varint_write(payload, a);

    if (kind == TRACE_EVENT_ALLOC)
        end = ifg_varint_write(end, b);
    trace_stream_event(stream, kind, ns, where, payload, (size_t)(end - payload));
}

static void counter(struct trace_stream *stream, uint64_t ns, uint32_t where, double value)
{
    uint8_t payload[8];
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    for (int i = 0; i < 8; i++)
        payload[i] = (uint8_t)(bits >> (8 * i));
    trace_stream_event(stream, TRACE_EVENT_COUNTER, ns, where, payload, sizeof payload);
    if (isfinite(value)) {
        printf("{\"value\":%.17g,\"at\":%llu,\"name\":", value, (unsigned long long)ns);
        put_hex(location_names[where]);
        puts("}");
    }
}

static void span(struct trace_stream *stream, uint64_t start, uint64_t end, uint32_t where,
                 uint64_t id)
{
    number_event(stream, TRACE_EVENT_ASYNC_BEGIN, start, where, id, 0);
    if (end)
        number_event(stream, TRACE_EVENT_ASYNC_END, end, where, id, 0);
    printf("{\"span\":%llu,\"start\":%llu,\"end\":%llu,\"name\":", (unsigned long long)id,
           (unsigned long long)start, (unsigned long long)end);
    put_hex(location_names[where]);
    puts("}");
}

static void message(struct trace_stream *stream, uint64_t ns, uint32_t level, const char *text)
{
    trace_stream_event(stream, TRACE_EVENT_MESSAGE, ns, level, text, strlen(text));
    printf("{\"mark\":%llu,\"name\":", (unsigned long long)ns);
    put_hex(text);
    puts("}");
}

static void frame(struct trace_stream *stream, uint64_t ns, uint32_t where)
{
    trace_stream_event(stream, TRACE_EVENT_FRAME, ns, where, NULL, 0);
    printf("{\"mark\":%llu,\"name\":", (unsigned long long)ns);
    put_hex(location_names[where]);
    puts("}");
}

/* ---- the traces -------------------------------------------------------------- */

enum {
    P_PLAIN = 1,
    P_COMMA,
    P_QUOTE,
    P_LINES,
    P_CONTROL,
    P_INVALID,
    P_LONG,
    P_EMOJI,
    P_SEMICOLON,
    P_SPACE,
    P_EMPTY,
    P_OP,
    P_PRE,
    P_STAGE,
    P_POST,
    P_LOAD,
    P_SETUP,
    P_INFERENCE,
    P_OTHER,
    P_QUEUE,
    P_POOL_A,
    P_POOL_B,
    P_FRAME,
    P_SPAN,
    P_ML_SPAN,
    P_END
};

static void define_locations(uint32_t in_process)
{
    static char long_name[1025];

    memset(long_name, 'x', sizeof long_name - 1);
    location(in_process, P_PLAIN, TRACE_LOCATION_ZONE, "plain");
    location(in_process, P_COMMA, TRACE_LOCATION_ZONE, "a,b");
    location(in_process, P_QUOTE, TRACE_LOCATION_ZONE, "say \"hi\" \\ there");
    location(in_process, P_LINES, TRACE_LOCATION_ZONE, "two\nlines\r\nor three");
    location(in_process, P_CONTROL, TRACE_LOCATION_ZONE, "bell\x07 escape\x1b delete\x7f tab\t");
    location(in_process, P_INVALID, TRACE_LOCATION_ZONE, "not \xff utf-8");
    location(in_process, P_LONG, TRACE_LOCATION_ZONE, long_name);
    location(in_process, P_EMOJI, TRACE_LOCATION_ZONE, "\xf0\x9f\x94\xa5 \xc3\xa4\xe2\x82\xac");
    location(in_process, P_SEMICOLON, TRACE_LOCATION_ZONE, "semi;colon");
    location(in_process, P_SPACE, TRACE_LOCATION_ZONE, " space ");
    location(in_process, P_EMPTY, TRACE_LOCATION_ZONE, "");
    location(in_process, P_OP, TRACE_LOCATION_OP, "/layer1/Conv");
    location(in_process, P_PRE, TRACE_LOCATION_STAGE, "pre");
    location(in_process, P_STAGE, TRACE_LOCATION_STAGE, "inference");
    location(in_process, P_POST, TRACE_LOCATION_STAGE, "post");
    location(in_process, P_QUEUE, TRACE_LOCATION_COUNTER, "queue");
    location(in_process, P_POOL_A, TRACE_LOCATION_POOL, "arena");
    location(in_process, P_POOL_B, TRACE_LOCATION_POOL, "arena");
    location(in_process, P_FRAME, TRACE_LOCATION_FRAME, "frame");
    location(in_process, P_SPAN, TRACE_LOCATION_ASYNC, "download");
    model(in_process, 1, "ocr, \"v2\"");
    model(in_process, 2, "llm");
    ml(in_process, P_LOAD, 1, "main", TRACE_CATEGORY_LOAD);
    ml(in_process, P_SETUP, 1, "main", TRACE_CATEGORY_SETUP);
    ml(in_process, P_INFERENCE, 1, "main", TRACE_CATEGORY_INFERENCE);
    ml(in_process, P_OTHER, 2, "decode", TRACE_CATEGORY_INFERENCE);
    ml(in_process, P_ML_SPAN, 2, "prefill", TRACE_CATEGORY_INFERENCE);
}

static void write_main(uint32_t index)
{
    static const struct zone items[] = {
        { AT(100), AT(900), P_LOAD, { { "specialization", "cold", 0 } } },
        { AT(1010), AT(1090), P_COMMA, { { 0 } } },
        { AT(1000), AT(1100), P_SETUP, { { 0 } } },
        { AT(1120), AT(1120), P_QUOTE, { { 0 } } },
        { AT(1150), AT(1200), P_LINES, { { 0 } } },
        { AT(1140),
          AT(1300),
          P_OP,
          { { "value", NULL, UINT64_MAX }, { "text", "x,y\n\"z\"", 0 } } },
        { AT(1310), AT(1310), P_CONTROL, { { 0 } } },
        { AT(1310),
          AT(1400),
          P_INVALID,
          { { "name", "renamed \x01,\"", 0 }, { "model", "m", 0 } } },
        { AT(1110), AT(1500), P_INFERENCE, { { "device", "cpu", 0 } } },
        { AT(2000), AT(2100), P_LONG, { { 0 } } },
        { AT(2100), AT(2200), P_EMOJI, { { 0 } } },
        { AT(2200), AT(2300), P_SEMICOLON, { { 0 } } },
        { AT(2300), AT(2300), P_SPACE, { { 0 } } },
        { AT(2400), AT(2500), P_EMPTY, { { 0 } } },
        { AT(3000), AT(3200), P_PLAIN, { { 0 } } },
        { AT(3100), AT(3300), P_COMMA, { { 0 } } }, /* sticks out of the one before */
        { AT(3150), AT(3400), P_QUOTE, { { 0 } } }, /* and so does this one */
        { AT(1600), AT(UINT64_C(5000001600)), P_OTHER, { { 0 } } }, /* long: not in 32 bits */
    };
    static const struct trace_open_zone open[] = { { AT(UINT64_C(5000002000)), P_INFERENCE },
                                                   { AT(UINT64_C(5000002100)), P_OP } };
    struct trace_stream *stream = stream_of(index);

    for (uint32_t i = 0; i < 5; i++)
        message(stream, AT(10 + i), i, i == 2 ? "say \"hi\"\n" : "text");
    counter(stream, AT(20), P_QUEUE, 1.5);
    counter(stream, AT(21), P_QUEUE, NAN);
    counter(stream, AT(22), P_QUEUE, -1e300);
    number_event(stream, TRACE_EVENT_ALLOC, AT(30), P_POOL_A, 0x7f0000001000, 4096);
    number_event(stream, TRACE_EVENT_ALLOC, AT(31), P_POOL_A, 0x7f0000002000, 100);
    number_event(stream, TRACE_EVENT_FREE, AT(32), P_POOL_B, 0x7f0000001000, 0);
    frame(stream, AT(40), P_FRAME);
    span(stream, AT(50), AT(90), P_SPAN, 1);
    span(stream, AT(60), AT(70), P_SPAN, 2);
    span(stream, AT(65), 0, P_SPAN, 3);
    span(stream, AT(66), AT(500), P_ML_SPAN, 4);
    zones(stream, index, items, sizeof items / sizeof items[0]);
    trace_stream_flush(stream, open, 2, AT(UINT64_C(5000003000)));
    say_slice(index, open[0].start, 1000, P_INFERENCE, location_names[P_INFERENCE], 1);
    say_slice(index, open[1].start, 900, P_OP, location_names[P_OP], 1);
}

/* Two requests through three threads; the second has only one stage. */
static void write_pipeline(uint32_t first)
{
    static const struct zone pre[] = {
        { AT(4000), AT(4100), P_PRE, { { "request", NULL, 1 } } },
        { AT(4200), AT(4300), P_PRE, { { "request", NULL, 2 } } },
    };
    static const struct zone inference[] = {
        { AT(4160), AT(4360), P_INFERENCE, { { 0 } } },
        { AT(4150), AT(4400), P_STAGE, { { "request", NULL, 1 } } },
    };
    static const struct zone post[] = {
        { AT(4500), AT(4530), P_POST, { { "request", NULL, 1 } } },
    };

    zones(stream_of(first), first, pre, 2);
    zones(stream_of(first + 1), first + 1, inference, 2);
    zones(stream_of(first + 2), first + 2, post, 1);
}

static void write_everything(void)
{
    static const struct zone other[] = { { AT(100), AT(200), P_PLAIN, { { 0 } } },
                                         { AT(50), AT(300), P_INFERENCE, { { 0 } } } };

    process(0, 100, "/usr/bin/demo");
    process(1, 200, "/usr/bin/child");
    process(2, 100, "/usr/bin/after-exec");
    for (uint32_t i = 0; i < 3; i++)
        define_locations(i);
    thread(0, 0, 100, "main, \"first\"");
    thread(1, 0, 101, "");
    thread(2, 0, 102, "worker");
    thread(3, 0, 103, "worker");
    thread(4, 1, 200, "main");
    thread(5, 2, 100, "main");
    thread(6, 0, 101, "reused");
    write_main(0);
    write_pipeline(1);
    zones(stream_of(4), 4, other, 2);
    zones(stream_of(5), 5, other, 2);
    zones(stream_of(6), 6, other, 2);
}

static void write_large(void)
{
    process(0, 100, "/usr/bin/large");
    define_locations(0);
    for (uint32_t t = 0; t < 3; t++) {
        struct trace_stream *stream;

        thread(t, 0, 100 + t, "worker");
        stream = stream_of(t);
        for (uint64_t i = 0; i < 12000; i++) {
            const struct zone inner = {
                AT(i * 1000 + 100), AT(i * 1000 + 200), P_PLAIN, { { 0 } }
            };
            const struct zone outer = {
                AT(i * 1000 + 50), AT(i * 1000 + 900), P_INFERENCE, { { "value", NULL, i } }
            };

            zone(stream, t, &inner);
            zone(stream, t, &outer);
        }
    }
}

int main(int argc, char **argv)
{
    struct ifg_error err = { 0 };

    if (argc != 3)
        die("usage: export_traces everything|empty|async|large FILE");
    if (trace_writer_create(argv[2], true, &writer, &err))
        die(err.message);
    trace_writer_clock(writer, 0, TRACE_CLOCK_MONOTONIC, 1000000000, "monotonic");
    if (strcmp(argv[1], "everything") == 0) {
        write_everything();
    } else if (strcmp(argv[1], "async") == 0) {
        process(0, 100, "/usr/bin/async");
        define_locations(0);
        thread(0, 0, 100, "main");
        span(stream_of(0), AT(10), AT(20), P_SPAN, 1);
    } else if (strcmp(argv[1], "large") == 0) {
        write_large();
    } else if (strcmp(argv[1], "empty") != 0) {
        die("no such trace");
    }
    if (trace_writer_close(writer, &err))
        die(err.message);
    return 0;
}
