// SPDX-License-Identifier: Apache-2.0
/* Pieces of the importer that a whole file would not show: times, repairs, sorting, splitting. */
#include "import/import_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "import/repair.h"
#include "import/splitter.h"
#include "tap.h"

static void times(void)
{
    static const struct {
        const char *text;
        bool good;
        int64_t ns;
    } cases[] = {
        { "0", true, 0 },
        { "1", true, 1000 },
        { "1.5", true, 1500 },
        { "1.2345", true, 1235 },
        { "1.2344", true, 1234 },
        { "4201183340121.345", true, 4201183340121345 },
        { "1727644800000000.123", true, 1727644800000000123 },
        { "-3.25", true, -3250 },
        { "1e3", true, 1000000 },
        { "1.5e-3", true, 2 },
        { "4611686018427387", true, 4611686018427387000 },
        { "4611686018427388", false, 0 },
        { "99999999999999999999999", false, 0 },
        { "1e300", false, 0 },
        { "", false, 0 },
        { "-", false, 0 },
        { "soon", false, 0 },
        { "1x", false, 0 },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct value value = { VALUE_NUMBER, cases[i].text, strlen(cases[i].text) };
        int64_t ns = 0;
        bool good = import_parse_time(&value, &ns);

        tap_note("%s", cases[i].text);
        CHECK_INT(good, cases[i].good);
        if (good && cases[i].good)
            CHECK_INT(ns, cases[i].ns);
    }
}

static void repairs(void)
{
    static const struct {
        const char *broken;
        const char *fixed;
    } cases[] = {
        { "{\"name\":\"a\"b\",\"x\":1}", "{\"name\":\"a\\\"b\",\"x\":1}" },
        { "{\"name\" :\"a \"q\" b\", \"x\" : 1}", "{\"name\":\"a \\\"q\\\" b\",\"x\":1}" },
        { "{\"p\":\"C:\\zoo\\\",\"x\":1}", "{\"p\":\"C:\\\\zoo\\\\\",\"x\":1}" },
        { "{\"p\":\"D:\\\"}", "{\"p\":\"D:\\\\\"}" },
        { "{\"p\":\"a, \"b\": c\",\"x\":1}", "{\"p\":\"a, \\\"b\\\": c\",\"x\":1}" },
        { "{\"j\":\"{\\\"a\\\":\\\"b\\\"}\",}", "{\"j\":\"{\\\"a\\\":\\\"b\\\"}\"}" },
        { "{\"t\":\"a\tb\"}", "{\"t\":\"a\\u0009b\"}" },
        { "{\"x\":NaN,\"y\":[-Infinity,1.]}", "{\"x\":null,\"y\":[null,null]}" },
        { "{\"x\":True,\"u\":\"\\u12\"}", "{\"x\":true,\"u\":\"\\\\u12\"}" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ifg_bytes out;
        uint64_t nulls;

        ifg_bytes_init(&out, 1u << 20);
        repair_json(cases[i].broken, strlen(cases[i].broken), false, &out, &nulls);
        ifg_bytes_put(&out, "", 1);
        CHECK_STR((const char *)out.data, cases[i].fixed);
        ifg_bytes_fini(&out);
    }
}

static void raw_backslashes(void)
{
    static const char raw[] = "{\"cat\" : \"Node\",\"name\" :\"C:\\net\\relu\"x\"}";
    static const char escaped[] = "{\"cat\" : \"Node\",\"name\" :\"C:\\\\net \\\"x\"}";
    struct ifg_bytes out;
    uint64_t nulls;

    CHECK(repair_is_raw_ort(raw, sizeof raw - 1));
    CHECK(!repair_is_raw_ort(escaped, sizeof escaped - 1));
    ifg_bytes_init(&out, 1u << 20);
    repair_json(raw, sizeof raw - 1, true, &out, &nulls);
    ifg_bytes_put(&out, "", 1);
    CHECK_STR((const char *)out.data, "{\"cat\":\"Node\",\"name\":\"C:\\\\net\\\\relu\\\"x\"}");
    ifg_bytes_fini(&out);
}

static bool in_order(const struct record *a, const struct record *b)
{
    return a->end < b->end || (a->end == b->end && a->start >= b->start);
}

static void sorting(void)
{
    enum { COUNT = 20000 };
    struct record *records = ifg_alloc(COUNT, sizeof *records);

    REQUIRE(records != NULL);
    for (int shape = 0; shape < 5; shape++) {
        uint64_t sum = 0, after = 0;

        for (uint32_t i = 0; i < COUNT; i++) {
            uint64_t key[5] = { i, COUNT - i, i % 7, i * 2654435761u % 1000,
                                i % 2 ? i : COUNT - i };

            records[i] = (struct record){ key[shape], i % 3, RECORD_ZONE, 0, i };
            sum += i ^ key[shape];
        }
        store_sort_records(records, COUNT);
        for (uint32_t i = 0; i < COUNT; i++) {
            after += records[i].sequence ^ records[i].end;
            if (i && !in_order(&records[i - 1], &records[i]))
                CHECK_UINT(i, 0);
        }
        CHECK_UINT(after, sum);
    }
    ifg_free(records);
}

/* Of those that end together the inner ones come first. */
static void ties(void)
{
    struct record records[] = {
        { 10, 5, RECORD_OUTER_ZONE, 1, 1 }, { 10, 5, RECORD_ZONE, 2, 2 },
        { 10, 5, RECORD_INNER_ZONE, 3, 3 }, { 10, 7, RECORD_ZONE, 4, 4 },
        { 10, 5, RECORD_ZONE, 5, 5 },       { 10, 0, RECORD_MESSAGE, 6, 6 },
    };
    static const uint32_t expected[] = { 6, 4, 3, 5, 2, 1 };

    store_sort_records(records, 6);
    for (size_t i = 0; i < 6; i++)
        CHECK_UINT(records[i].location, expected[i]);
}

/* The same pieces, however the text arrives. */
static void splitting(void)
{
    static const char text[] = " {\"a\" : [1,\"]\"], \"traceEvents\" : [ {\"x\":\"}\\\"\"} , 5,\n"
                               "{\"name\":\"odd\"quote\"},\n{\"y\":{}} ] , \"z\" : null } ";
    static const char *const pieces[] = { "[1,\"]\"]",  "{\"x\":\"}\\\"\"}",
                                          "5",          "{\"name\":\"odd\"quote\"}",
                                          "{\"y\":{}}", "null" };

    for (size_t chunk = 0; chunk < 40; chunk++) {
        struct source *source = NULL;
        struct splitter *splitter = NULL;
        struct piece piece;
        size_t count = 0;

        REQUIRE_INT(source_open_memory(text, sizeof text - 1, chunk, &source, NULL), IFG_OK);
        REQUIRE_INT(splitter_create(source, &splitter, NULL), IFG_OK);
        for (;;) {
            REQUIRE_INT(splitter_next(splitter, &piece, NULL), IFG_OK);
            if (piece.kind == PIECE_END)
                break;
            REQUIRE(count < 6);
            CHECK_UINT(piece.bytes, strlen(pieces[count]));
            CHECK(memcmp(piece.text, pieces[count], piece.bytes) == 0);
            CHECK_INT(piece.by_line, count == 3);
            count++;
        }
        CHECK_UINT(count, 6);
        CHECK(splitter_closed(splitter));
        splitter_destroy(splitter);
        source_close(source);
    }
}

static void model_names(void)
{
    char name[64];

    understand_model_name("/tmp/resnet_2026-11-15_08-42-52_944.json", name, sizeof name);
    CHECK_STR(name, "resnet");
    understand_model_name("profile.json.gz", name, sizeof name);
    CHECK_STR(name, "profile");
    understand_model_name("-", name, sizeof name);
    CHECK_STR(name, "model");
    understand_model_name(".json", name, sizeof name);
    CHECK_STR(name, ".json");
}

/* Whatever allocation fails: an error or a trace, never a crash. */
static void no_memory(void)
{
    static const char text[] =
        "[{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"p\"}},\n"
        "{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":5,\"args\":{\"k\":\"v\"}"
        "},\n"
        "{\"ph\":\"B\",\"name\":\"b\"c\",\"pid\":1,\"tid\":1,\"ts\":2},\n"
        "{\"ph\":\"C\",\"name\":\"c\",\"pid\":1,\"ts\":2,\"args\":{\"x\":1}},\n"
        "{\"ph\":\"s\",\"name\":\"f\",\"pid\":1,\"tid\":1,\"ts\":2,\"id\":1},\n"
        "{\"ph\":\"i\",\"name\":\"m\",\"pid\":1,\"tid\":1,\"ts\":3}]";
    char output[64];
    struct import_options options = { .path = "x.json",
                                      .data = text,
                                      .data_bytes = sizeof text - 1,
                                      .overwrite = true,
                                      .output = output,
                                      .tool_version = "test" };
    struct import_result result;
    struct ifg_error err;
    long at = 0;
    int whole = 0;

    snprintf(output, sizeof output, "/tmp/ifg-import-test-%d.ifg", (int)getpid());
    for (; at < 300; at++) {
        enum ifg_status status;

        tap_note("allocation %ld", at);
        memset(&err, 0, sizeof err);
        ifg_alloc_fail_after(at);
        status = import_file(&options, &result, &err);
        ifg_alloc_fail_after(-1);
        whole += status == IFG_OK;
        if (status)
            CHECK(err.message[0] != 0);
        else
            CHECK_UINT(result.zones + result.messages + result.counters + result.flows, 5);
    }
    tap_diag("%ld allocations that matter", at - whole);
    CHECK(whole > 200 && whole < 290);
    unlink(output);
}

TAP_MAIN(TAP_CASE(times), TAP_CASE(repairs), TAP_CASE(raw_backslashes), TAP_CASE(sorting),
         TAP_CASE(ties), TAP_CASE(splitting), TAP_CASE(model_names), TAP_CASE(no_memory))
