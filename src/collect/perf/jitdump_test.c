// SPDX-License-Identifier: Apache-2.0
/* Dumps made of bytes: good ones, those of Node.js 20, and damaged ones. */
#include "collect/perf/jitdump.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "tap.h"

#define LOAD  0u
#define MOVE  1u
#define LINES 2u
#define CLOSE 3u
#define OTHER 77u

static struct ifg_bytes file;
static struct jitdump *dump;
static const uint8_t code[64] = { 0x90, 0x90, 0xc3 };

static void put_word(uint32_t value)
{
    ifg_bytes_put(&file, &value, sizeof value);
}

static void put_long(uint64_t value)
{
    ifg_bytes_put(&file, &value, sizeof value);
}

static void put_text(const char *text)
{
    ifg_bytes_put(&file, text, strlen(text) + 1);
}

static void begin(uint64_t flags)
{
    ifg_bytes_init(&file, 1u << 20);
    put_word(0x4a695444);
    put_word(1);
    put_word(40);
    put_word(62);
    put_long(0);
    put_long(1);
    put_long(flags);
}

static size_t open_record(uint32_t kind, uint64_t time_ns)
{
    size_t at = file.size;

    put_word(kind);
    put_word(0);
    put_long(time_ns);
    return at;
}

static void close_record(size_t at)
{
    uint32_t size = (uint32_t)(file.size - at);

    memcpy(file.data + at + 4, &size, sizeof size);
}

static void load(uint64_t time_ns, uint64_t start, uint64_t size, uint64_t index, const char *name)
{
    size_t at = open_record(LOAD, time_ns);

    put_long(1);
    put_long(start);
    put_long(start);
    put_long(size);
    put_long(index);
    put_text(name);
    ifg_bytes_put(&file, code, (size_t)size < sizeof code ? (size_t)size : sizeof code);
    close_record(at);
}

static void move(uint64_t time_ns, uint64_t from, uint64_t to, uint64_t index)
{
    size_t at = open_record(MOVE, time_ns);

    put_long(1);
    put_long(to);
    put_long(from);
    put_long(to);
    put_long(16);
    put_long(index);
    close_record(at);
}

static void put_line(uint64_t address, uint32_t line, const char *file_name)
{
    put_long(address);
    put_word(line);
    put_word(0);
    put_text(file_name);
}

static void parse(void)
{
    REQUIRE(!file.failed);
    dump = jitdump_parse(file.data, file.size);
}

static void done(void)
{
    jitdump_destroy(dump);
    dump = NULL;
    ifg_bytes_fini(&file);
}

static const char *name_at(uint64_t address, uint64_t time_ns)
{
    const struct jitdump_entry *entry = jitdump_find(dump, address, time_ns);

    return entry ? entry->name : "";
}

static void addresses_that_are_used_again(void)
{
    begin(0);
    load(10, 0x1000, 32, 1, "first");
    load(20, 0x1010, 32, 2, "second");
    load(30, 0x1000, 16, 3, "third");
    load(5, 0x9000, 16, 4, "elsewhere");
    parse();
    REQUIRE(dump != NULL);
    CHECK_UINT(jitdump_count(dump), 4);
    CHECK_STR(name_at(0x1000, 15), "first");
    CHECK_STR(name_at(0x1010, 15), "first");
    CHECK_STR(name_at(0x1010, 20), "second");
    CHECK_STR(name_at(0x1010, 100), "second");
    CHECK_STR(name_at(0x1004, 25), "first");
    CHECK_STR(name_at(0x1004, 30), "third");
    CHECK_STR(name_at(0x1004, 1), "first"); /* none yet: the first that came */
    CHECK_STR(name_at(0x102f, 1), "second");
    CHECK_STR(name_at(0x1030, 100), "");
    CHECK_STR(name_at(0xfff, 100), "");
    CHECK_STR(name_at(0x900f, 100), "elsewhere");
    CHECK(memcmp(jitdump_find(dump, 0x1000, 15)->code, code, 32) == 0);
    done();
}

static void functions_that_move(void)
{
    begin(0);
    load(10, 0x1000, 16, 7, "nomad");
    move(20, 0x1000, 0x2000, 7);
    move(25, 0x1000, 0x7000, 7); /* it is not there any more */
    move(30, 0x2000, 0x3000, 7);
    move(30, 0x2000, 0x3000, 99); /* nobody */
    load(40, 0x2000, 16, 8, "settler");
    parse();
    REQUIRE(dump != NULL);
    CHECK_UINT(jitdump_count(dump), 4);
    CHECK_STR(name_at(0x1000, 15), "nomad");
    CHECK_STR(name_at(0x2008, 25), "nomad");
    CHECK_STR(name_at(0x3008, 35), "nomad");
    CHECK_STR(name_at(0x2008, 45), "settler");
    CHECK_STR(name_at(0x7000, 45), "");
    CHECK_UINT(jitdump_find(dump, 0x1000, 15)->end_ns, 20);
    done();
}

static void lines_of_a_function(void)
{
    const struct jitdump_entry *entry;
    const char *name;
    uint32_t line;
    size_t at;

    begin(0);
    at = open_record(LINES, 5);
    put_long(0x1000);
    put_long(3);
    put_line(0x1008, 12, "/src/a.py");
    put_line(0x1000, 11, "\xff");
    put_line(0x100c, 13, "/src/b.py");
    close_record(at);
    load(6, 0x1000, 16, 1, "with lines");
    load(7, 0x2000, 16, 2, "without");
    move(8, 0x1000, 0x5000, 1);
    parse();
    REQUIRE(dump != NULL);
    entry = jitdump_find(dump, 0x1000, 6);
    REQUIRE(entry != NULL);
    CHECK(jitdump_line(dump, entry, 0x1009, &name, &line));
    CHECK_UINT(line, 12);
    CHECK_STR(name, "/src/a.py");
    CHECK(jitdump_line(dump, entry, 0x1003, &name, &line));
    CHECK_UINT(line, 11);
    entry = jitdump_find(dump, 0x5000, 9);
    REQUIRE(entry != NULL);
    CHECK(jitdump_line(dump, entry, 0x500f, &name, &line));
    CHECK_UINT(line, 13);
    CHECK_STR(name, "/src/b.py");
    entry = jitdump_find(dump, 0x2000, 9);
    REQUIRE(entry != NULL);
    CHECK(!jitdump_line(dump, entry, 0x2000, &name, &line));
    done();
}

/* Addresses 64 too high, and names of files that are not texts but as long as the right one. */
static void lines_of_node_20(void)
{
    const struct jitdump_entry *entry;
    const char *name;
    uint32_t line;
    size_t at;

    begin(0);
    at = open_record(LINES, 5);
    put_long(0x1000);
    put_long(2);
    for (uint32_t i = 0; i < 2; i++) {
        put_long(0x1040 + 8 * i);
        put_word(21 + i);
        put_word(3);
        ifg_bytes_put(&file, "\x8c\xaf\0\x87\1\0\x80zz\0", 10);
    }
    put_word(0); /* padding */
    close_record(at);
    load(6, 0x1000, 16, 1, "JS:*hot /t/app.js:1:17");
    parse();
    REQUIRE(dump != NULL);
    entry = jitdump_find(dump, 0x1000, 6);
    REQUIRE(entry != NULL);
    CHECK(jitdump_line(dump, entry, 0x1002, &name, &line));
    CHECK_UINT(line, 21);
    CHECK_STR(name, "/t/app.js");
    CHECK(jitdump_line(dump, entry, 0x1008, &name, &line));
    CHECK_UINT(line, 22);
    done();
}

/* The same damage, but only the first line has the name, and functions have no columns. */
static void lines_of_node_18(void)
{
    const struct jitdump_entry *entry;
    const char *name;
    uint32_t line;
    size_t at;

    begin(0);
    at = open_record(LINES, 5);
    put_long(0x1000);
    put_long(3);
    for (uint32_t i = 0; i < 3; i++) {
        put_long(0x1040 + 8 * i);
        put_word(21 + i);
        put_word(3);
        ifg_bytes_put(&file, i ? "\xff" : "\x8c\xaf\0\x87\1\0\x80zz\0", i ? 2 : 10);
    }
    put_word(0); /* padding */
    close_record(at);
    load(6, 0x1000, 24, 1, "LazyCompile:*hot /t/app.js:1");
    parse();
    REQUIRE(dump != NULL);
    entry = jitdump_find(dump, 0x1000, 6);
    REQUIRE(entry != NULL);
    CHECK(jitdump_line(dump, entry, 0x1002, &name, &line));
    CHECK_UINT(line, 21);
    CHECK_STR(name, "/t/app.js");
    CHECK(jitdump_line(dump, entry, 0x1012, &name, &line));
    CHECK_UINT(line, 23);
    CHECK_STR(name, "/t/app.js");
    done();
}

static void times_of_another_clock(void)
{
    begin(1);
    load(1000000, 0x1000, 16, 1, "old");
    load(10, 0x1000, 16, 2, "new");
    parse();
    REQUIRE(dump != NULL);
    CHECK_STR(name_at(0x1000, 50), "new");
    done();
}

static void what_is_no_dump(void)
{
    begin(0);
    parse();
    CHECK(dump == NULL); /* nothing in it */
    load(1, 0x1000, 16, 1, "function");
    CHECK(jitdump_parse(file.data, 39) == NULL);
    CHECK(jitdump_parse("", 0) == NULL);
    file.data[0] ^= 1;
    parse();
    CHECK(dump == NULL);
    file.data[0] ^= 1;
    file.data[4] = 2; /* a version to come */
    parse();
    CHECK(dump == NULL);
    done();
}

/* A record that lies is left out, or is the end; what came before stays. */
static void records_that_lie(void)
{
    size_t at;

    begin(0);
    load(1, 0x1000, 16, 1, "good");
    load(2, UINT64_MAX - 4, 16, 2, "around the end");
    load(2, 0x5000, 0, 3, "empty");
    at = open_record(LOAD, 3);
    for (int i = 0; i < 2; i++)
        put_long(0x6000);
    put_long(0x6000);
    put_long(1000); /* more bytes than there are */
    put_long(4);
    put_text("short");
    close_record(at);
    at = open_record(OTHER, 4);
    close_record(at);
    at = open_record(LINES, 4); /* so many lines that are not there */
    put_long(0x7000);
    put_long(UINT64_MAX);
    close_record(at);
    load(5, 0x7000, 16, 5, "behind");
    at = open_record(CLOSE, 6);
    close_record(at);
    load(7, 0x8000, 16, 6, "after the end");
    parse();
    REQUIRE(dump != NULL);
    CHECK_UINT(jitdump_count(dump), 2);
    CHECK_STR(name_at(0x7000, 9), "behind");
    CHECK_STR(name_at(0x8000, 9), "");
    for (size_t size = 0; size < file.size; size++)
        jitdump_destroy(jitdump_parse(file.data, size));
    done();
}

static void no_memory(void)
{
    begin(0);
    for (uint64_t i = 0; i < 20; i++)
        load(i, 0x1000 + 64 * i, 32, i, "function");
    for (long i = 0; i < 12; i++) {
        ifg_alloc_fail_after(i);
        jitdump_destroy(jitdump_parse(file.data, file.size));
        ifg_alloc_fail_after(-1);
    }
    parse();
    CHECK(dump != NULL);
    done();
}

TAP_MAIN(TAP_CASE(addresses_that_are_used_again), TAP_CASE(functions_that_move),
         TAP_CASE(lines_of_a_function), TAP_CASE(lines_of_node_18), TAP_CASE(lines_of_node_20),
         TAP_CASE(times_of_another_clock), TAP_CASE(what_is_no_dump), TAP_CASE(records_that_lie),
         TAP_CASE(no_memory))
