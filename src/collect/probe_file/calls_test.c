// SPDX-License-Identifier: Apache-2.0
/* Calls as the engine tells of them, against what the trace says afterwards. No probe is set. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "collect/probe_file/watch_internal.h"
#include "tap.h"
#include "trace/reader.h"

enum function { LOAD, OLD_LOAD, CONTEXT, RUN, FREE, READ, MEMORY, STEP, FUNCTIONS };

static const char description[] = "version 1\n"
                                  "runtime test\n"
                                  "library x\n"
                                  "probe load load\n"
                                  "  model text 1\n"
                                  "  object result\n"
                                  "  failed result == null\n"
                                  "probe old_load load\n"
                                  "  model text 1\n"
                                  "  object result\n"
                                  "probe context setup\n"
                                  "  model object 1\n"
                                  "  object stored 2\n"
                                  "  failed result != 0\n"
                                  "probe run inference\n"
                                  "  model object 1\n"
                                  "  failed result < 0\n"
                                  "  attribute n argument 3\n"
                                  "probe free nothing\n"
                                  "  forget argument 1\n"
                                  "probe read zone read weights\n"
                                  "probe memory load\n"
                                  "  model unnamed\n"
                                  "  object stored 2\n"
                                  "  attribute device text 1\n"
                                  "probe step inference\n"
                                  "  model object 1\n"
                                  "  function text 2\n";

static char path[64];
static struct probe_file *file;
static struct trace_writer *writer;
static struct probe_watch watch;
static struct watched_process *process;
static struct sink sink;
static uint64_t clock_ns;
static struct trace_reader *reader;
static char told[16384]; /* zones in the order of their ends: "category model session status\n" */

static void give_process(void *user, const struct sink_process *seen, uint32_t index)
{
    struct trace_process defined = { .index = index,
                                     .pid = (uint32_t)seen->pid,
                                     .program = "/bin/tested" };

    (void)user;
    trace_writer_process(writer, &defined);
}

static void begin(void)
{
    static const struct sink_calls calls = { .define_process = give_process };
    int fd;

    snprintf(path, sizeof path, "/tmp/inferogram-calls-XXXXXX");
    fd = mkstemp(path);
    REQUIRE(fd >= 0);
    close(fd);
    REQUIRE(trace_writer_create(path, true, &writer, NULL) == IFG_OK);
    REQUIRE(probe_file_parse("t", description, sizeof description - 1, &file, NULL) == IFG_OK);
    REQUIRE_UINT(file->rule_count, FUNCTIONS);
    trace_writer_clock(writer, 0, TRACE_CLOCK_MONOTONIC, 1000000000u, "ns");
    sink = (struct sink){ .writer = writer, .calls = &calls };
    watch.sink = &sink;
    process = ifg_alloc(1, sizeof *process);
    watch.functions = ifg_alloc(FUNCTIONS, sizeof *watch.functions);
    REQUIRE(process && watch.functions);
    process->watch = &watch;
    process->pid = getpid();
    for (uint32_t i = 0; i < FUNCTIONS; i++)
        watch.functions[i] =
            (struct watched_function){ process, file, &file->rules[i], file->rules[i].symbol };
    watch.function_count = FUNCTIONS;
    clock_ns = 1000;
}

static void tell_attributes(size_t at, uint64_t start, uint32_t location)
{
    struct trace_events events = { 0 };

    for (size_t i = 0; i < trace_reader_block_count(reader); i++) {
        if (trace_reader_block(reader, i)->type != TRACE_BLOCK_EVENTS)
            continue;
        REQUIRE(trace_decode_events(reader, i, &events, NULL) == IFG_OK);
        for (size_t k = 0; k < events.count; k++) {
            const struct trace_attribute *attribute = events.events[k].attribute;
            size_t used = at + strlen(told + at);

            if (!attribute || attribute->zone_start != start ||
                attribute->zone_location != location)
                continue;
            if (attribute->type == TRACE_VALUE_STRING)
                snprintf(told + used, sizeof told - used, " %.*s=%.*s", (int)attribute->key_bytes,
                         attribute->key, (int)attribute->text_bytes, attribute->text);
            else
                snprintf(told + used, sizeof told - used, " %.*s=%" PRId64,
                         (int)attribute->key_bytes, attribute->key, attribute->signed_value);
        }
    }
    trace_events_fini(&events);
}

/* Ends the recording and reads it. */
static void finish(void)
{
    static const char *const categories[] = { "",     "prepare-ep", "specialization",
                                              "load", "setup",      "inference" };
    const struct trace_tables *tables;
    struct trace_zones zones = { 0 };

    streams_flush(&process->threads, clock_ns, true);
    REQUIRE(trace_writer_close(writer, NULL) == IFG_OK);
    REQUIRE(trace_reader_open(path, &reader, NULL) == IFG_OK);
    unlink(path);
    tables = trace_reader_tables(reader);
    for (size_t i = 0; i < trace_reader_block_count(reader); i++) {
        if (trace_reader_block(reader, i)->type != TRACE_BLOCK_ZONES)
            continue;
        REQUIRE(trace_decode_zones(reader, i, &zones, NULL) == IFG_OK);
        for (size_t k = 0; k < zones.count; k++) {
            const struct trace_location *location =
                trace_find_location(tables, 0, zones.locations[k]);
            const struct trace_model *model =
                location ? trace_find_model(tables, 0, location->model) : NULL;
            size_t used = strlen(told);

            REQUIRE(location);
            snprintf(told + used, sizeof told - used, "%s%s %s", categories[location->category],
                     location->name, model ? model->name : "-");
            tell_attributes(used, zones.starts[k], zones.locations[k]);
            used = strlen(told);
            snprintf(told + used, sizeof told - used, "\n");
        }
    }
    trace_zones_fini(&zones);
}

static struct uprobe_event event_of(enum function function, uint64_t first, const char *text)
{
    return (struct uprobe_event){ .kind = UPROBE_BEGIN,
                                  .id = function,
                                  .pid = process->pid,
                                  .tid = process->pid,
                                  .start_ns = clock_ns += 10,
                                  .arguments = { first },
                                  .text = text };
}

static void end_call(struct uprobe_event *event, uint64_t result)
{
    event->kind = UPROBE_CALL;
    event->end_ns = clock_ns += 10;
    event->result = result;
    watch_seen(event, &watch);
}

static void call(enum function function, uint64_t first, const char *text, uint64_t result)
{
    struct uprobe_event event = event_of(function, first, text);

    watch_seen(&event, &watch);
    end_call(&event, result);
}

static void point(enum function function, uint64_t first)
{
    struct uprobe_event event = event_of(function, first, NULL);

    event.kind = UPROBE_POINT;
    watch_seen(&event, &watch);
}

/* Stores `out` through its second argument. */
static void make(enum function function, uint64_t first, uint64_t out, uint64_t result)
{
    struct uprobe_event event = event_of(function, first, "CPU");

    event.out_word = out;
    watch_seen(&event, &watch);
    end_call(&event, result);
}

static void a_life(void)
{
    begin();
    call(LOAD, 1, "/models/tiny.v2.gguf", 0x100);
    make(CONTEXT, 0x100, 0x200, 0);
    call(RUN, 0x200, NULL, 0);
    call(RUN, 0x200, NULL, 0xfffffffe);
    call(LOAD, 1, "/models/other", 0x300);
    call(RUN, 0x300, NULL, 1);
    call(READ, 0, NULL, 0);
    finish();
    CHECK_STR(told, "load tiny.v2 session=1\n"
                    "setup tiny.v2 session=1\n"
                    "inference tiny.v2 session=1 n=0\n"
                    "inference tiny.v2 session=1 n=0 status=error: run gave -2\n"
                    "load other session=2\n"
                    "inference other session=2 n=0\n"
                    "read weights -\n");
    CHECK_UINT(watch.counts.inferences, 3);
    CHECK_UINT(watch.counts.events, 7);
    CHECK_UINT(watch.counts.models, 2);
    CHECK_STR(trace_reader_tables(reader)->models[0].path, "/models/tiny.v2.gguf");
    CHECK_STR(trace_reader_tables(reader)->models[0].runtime, "test");
}

static void made_before(void)
{
    begin();
    call(RUN, 0xabc0, NULL, 0);
    call(RUN, 0xdef0, NULL, 0);
    call(RUN, 0xabc0, NULL, 0);
    make(MEMORY, 0, 0x500, 0);
    call(RUN, 0x500, NULL, 0);
    call(RUN, 0, NULL, 0);
    finish();
    CHECK_STR(told, "inference session@0xabc0 session=1 n=0\n"
                    "inference session@0xdef0 session=2 n=0\n"
                    "inference session@0xabc0 session=1 n=0\n"
                    "load session@0x500 session=3 device=CPU\n"
                    "inference session@0x500 session=3 n=0\n"
                    "inference unknown model n=0\n");
}

static void the_same_again(void)
{
    begin();
    call(LOAD, 1, "a.bin", 0x100);
    point(FREE, 0x100);
    call(LOAD, 1, "b.bin", 0x100); /* at the same address */
    call(RUN, 0x100, NULL, 0);
    call(LOAD, 1, "a.bin", 0x200);
    call(RUN, 0x200, NULL, 0);
    call(LOAD, 1, "b.bin", 0); /* fails */
    point(FREE, 0x100);
    call(RUN, 0x100, NULL, 0); /* its own mistake, and not our guess */
    finish();
    CHECK_STR(told, "load a.bin session=1\n"
                    "load b.bin session=2\n"
                    "inference b.bin session=2 n=0\n"
                    "load a.bin session=3\n"
                    "inference a.bin session=3 n=0\n"
                    "load b.bin session=4 status=error: load gave null\n"
                    "inference session@0x100 session=5 n=0\n");
    CHECK_UINT(watch.counts.models, 3);
}

static void one_inside_the_other(void)
{
    struct uprobe_event outer;
    struct uprobe_event inner;

    begin();
    outer = event_of(OLD_LOAD, 1, "/m.bin"); /* an old name that calls the new one */
    watch_seen(&outer, &watch);
    inner = event_of(LOAD, 1, "/m.bin");
    inner.depth = 1;
    watch_seen(&inner, &watch);
    end_call(&inner, 0x100);
    end_call(&outer, 0x100);
    outer = event_of(RUN, 0x100, NULL); /* a model that runs another one */
    watch_seen(&outer, &watch);
    inner = event_of(RUN, 0x900, NULL);
    inner.depth = 1;
    watch_seen(&inner, &watch);
    end_call(&inner, 0);
    end_call(&outer, 0);
    call(LOAD, 1, "/n.bin", 0x300);
    finish();
    CHECK_STR(told, "load m session=1\n"
                    "inference session@0x900 session=2 n=0\n"
                    "inference m session=1 n=0\n"
                    "load n session=3\n");
}

static void lost_and_cut(void)
{
    struct uprobe_event outer;
    struct uprobe_event inner;

    begin();
    outer = event_of(RUN, 0x100, NULL);
    watch_seen(&outer, &watch); /* its end gets lost */
    call(RUN, 0x200, NULL, 0);
    inner = event_of(RUN, 0x300, NULL); /* the beginnings of two get lost */
    inner.depth = 7;
    end_call(&inner, 0);
    inner = event_of(LOAD, 1, "/a/very/long/pa");
    inner.notes = UPROBE_TEXT_CUT;
    watch_seen(&inner, &watch);
    end_call(&inner, 0x400);
    inner = event_of(LOAD, 1, "");
    inner.notes = UPROBE_TEXT_MISSING;
    end_call(&inner, 0);
    inner = event_of(FUNCTIONS, 0, NULL); /* nobody's */
    watch_seen(&inner, &watch);
    finish();
    CHECK_STR(told, "inference session@0x200 session=2 n=0\n"
                    "inference session@0x300 session=3 n=0\n"
                    "load session@0x400 session=4\n"
                    "load unknown model session=5 status=error: load gave null\n");
}

/* Without BPF texts are read afterwards, when they may be other ones. */
static void read_late(void)
{
    struct uprobe_event event;
    char own[64];

    begin();
    snprintf(own, sizeof own, "%s", path);
    event = event_of(LOAD, 1, "rubbish");
    event.notes = UPROBE_READ_LATE;
    watch_seen(&event, &watch);
    end_call(&event, 0x100);
    event = event_of(LOAD, 1, own); /* is there, so it may be meant */
    event.notes = UPROBE_READ_LATE;
    watch_seen(&event, &watch);
    end_call(&event, 0x200);
    event = event_of(STEP, 0x200, "rubbish");
    event.notes = UPROBE_READ_LATE;
    watch_seen(&event, &watch);
    end_call(&event, 0);
    finish();
    REQUIRE_UINT(trace_reader_tables(reader)->model_count, 2);
    CHECK_STR(trace_reader_tables(reader)->models[0].name, "session@0x100");
    CHECK_STR(trace_reader_tables(reader)->models[1].path, own);
    CHECK_CONTAINS(trace_reader_tables(reader)->properties[1].value, "inferred");
    CHECK_STR(trace_reader_tables(reader)->locations[2].function, "main");
}

static void functions_by_name(void)
{
    const struct trace_tables *tables;

    begin();
    call(STEP, 0x100, "encode", 0);
    call(STEP, 0x100, "decode", 0);
    call(STEP, 0x100, "encode", 0);
    finish();
    tables = trace_reader_tables(reader);
    REQUIRE_UINT(tables->location_count, 2);
    CHECK_STR(tables->locations[0].function, "encode");
    CHECK_STR(tables->locations[1].function, "decode");
}

static void open_calls_are_seen(void)
{
    struct uprobe_event event;
    struct trace_zones zones = { 0 };
    bool seen = false;

    begin();
    watch.now_ns = clock_ns;
    event = event_of(LOAD, 1, "/m.bin");
    watch_seen(&event, &watch);
    streams_flush(&process->threads, clock_ns + 1000000000, false);
    finish();
    for (size_t i = 0; i < trace_reader_block_count(reader); i++) {
        if (trace_reader_block(reader, i)->type != TRACE_BLOCK_ZONES)
            continue;
        REQUIRE(trace_decode_zones(reader, i, &zones, NULL) == IFG_OK);
        seen = seen || (zones.open_count == 1 && zones.open_starts[0] == event.start_ns);
    }
    CHECK(seen);
    trace_zones_fini(&zones);
}

static void many_pointers(void)
{
    struct watched_names names = { 0 };
    uint64_t at;

    for (at = 1; at <= WATCH_OBJECTS_MAX; at++)
        REQUIRE(watch_learn(&names, at * 16, (uint32_t)at, 0));
    CHECK(!watch_learn(&names, at * 16, 1, 0));
    CHECK(watch_learn(&names, 16, 7, 0)); /* a known one again */
    for (at = 2; at <= WATCH_OBJECTS_MAX; at += 2)
        watch_forget(&names, at * 16);
    CHECK_UINT(names.object_count, WATCH_OBJECTS_MAX / 2);
    for (at = 2; at <= WATCH_OBJECTS_MAX; at++) {
        const struct watched_object *object = watch_object(&names, at * 16);

        REQUIRE(at % 2 ? object && object->model == at : !object);
    }
    watch_names_fini(&names);
}

static void too_many_models(void)
{
    char name[32];

    begin();
    for (unsigned i = 0; i < WATCH_MODELS_MAX + 10; i++) {
        snprintf(name, sizeof name, "m%u", i);
        call(LOAD, 1, name, 0x1000 + i * 16);
    }
    finish();
    CHECK_UINT(watch.counts.models, WATCH_MODELS_MAX);
    CHECK_STR(trace_reader_tables(reader)->models[WATCH_MODELS_MAX - 1].name, "other models");
}

TAP_MAIN(TAP_CASE(a_life), TAP_CASE(made_before), TAP_CASE(the_same_again),
         TAP_CASE(one_inside_the_other), TAP_CASE(lost_and_cut), TAP_CASE(read_late),
         TAP_CASE(functions_by_name), TAP_CASE(open_calls_are_seen), TAP_CASE(many_pointers),
         TAP_CASE(too_many_models))
