// SPDX-License-Identifier: Apache-2.0
/* Files that are cut, damaged, foreign, hostile or newer: what is whole is read, the rest is told.
 */
#include "trace/reader.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "tap.h"
#include "trace/fixture.h"

/* Everything in the trace, as one number of things: the more is recovered, the larger. */
struct contents {
    size_t blocks;
    size_t zones;
    size_t events;
    size_t bad_blocks;
};

static struct contents read_contents(const struct trace_reader *reader)
{
    struct contents contents = { 0 };
    struct trace_zones zones = { 0 };
    struct trace_events events = { 0 };

    contents.blocks = trace_reader_block_count(reader);
    for (size_t i = 0; i < contents.blocks; i++) {
        const struct trace_block *block = trace_reader_block(reader, i);

        if (block->type == TRACE_BLOCK_ZONES) {
            contents.bad_blocks += trace_decode_zones(reader, i, &zones, NULL) != IFG_OK;
            contents.zones += zones.count;
        } else if (block->type == TRACE_BLOCK_EVENTS) {
            contents.bad_blocks += trace_decode_events(reader, i, &events, NULL) != IFG_OK;
            contents.events += events.count;
        }
    }
    trace_zones_fini(&zones);
    trace_events_fini(&events);
    return contents;
}

static struct trace_reader *must_open(const void *data, size_t size)
{
    struct trace_reader *reader = NULL;
    struct ifg_error err = { 0 };

    if (trace_reader_open_memory(data, size, "test.ifg", &reader, &err))
        tap_diag("%s", err.message);
    REQUIRE(reader != NULL);
    return reader;
}

static uint8_t *fixture(size_t *out_size)
{
    uint8_t *data = fixture_bytes(out_size);

    REQUIRE(data != NULL && *out_size > 0);
    return data;
}

static void cut_at_every_byte(void)
{
    size_t size;
    uint8_t *data = fixture(&size);
    struct trace_reader *whole = must_open(data, size);
    struct contents expected = read_contents(whole);
    size_t zones_before = 0;

    for (size_t cut = 0; cut < size; cut++) {
        uint8_t *part = malloc(cut ? cut : 1); /* exactly this size, so that a sanitizer can see */
        struct trace_reader *reader = NULL;
        struct ifg_error err = { 0 };

        tap_note("cut at %zu", cut);
        REQUIRE(part != NULL);
        memcpy(part, data, cut);
        if (trace_reader_open_memory(part, cut, "test.ifg", &reader, &err)) {
            REQUIRE(cut < TRACE_FILE_HEADER_BYTES);
            REQUIRE(err.message[0] != '\0');
        } else {
            struct contents got = read_contents(reader);
            const struct trace_file_info *info = trace_reader_file(reader);

            REQUIRE(cut >= TRACE_FILE_HEADER_BYTES);
            REQUIRE(!info->finished);
            REQUIRE_UINT(got.bad_blocks, 0);
            REQUIRE(got.zones >= zones_before); /* more bytes, never fewer zones */
            REQUIRE(info->damaged_blocks <= 1);
            REQUIRE(info->skipped_bytes < cut);
            zones_before = got.zones;
        }
        trace_reader_close(reader);
        free(part);
    }
    CHECK_UINT(zones_before, expected.zones);
    trace_reader_close(whole);
    ifg_free(data);
}

/* A flipped byte costs at most the block it is in, and never a crash. */
static void every_byte_flipped(void)
{
    static const uint8_t masks[] = { 0x01, 0x80, 0xff };
    size_t size;
    uint8_t *data = fixture(&size);
    struct trace_reader *whole = must_open(data, size);
    struct contents expected = read_contents(whole);

    for (size_t at = 0; at < size * 3; at++) {
        struct trace_reader *reader = NULL;

        tap_note("byte %zu by %02x", at / 3, masks[at % 3]);
        data[at / 3] ^= masks[at % 3];
        if (trace_reader_open_memory(data, size, "test.ifg", &reader, NULL)) {
            REQUIRE(at / 3 < TRACE_FILE_HEADER_BYTES);
        } else {
            struct contents got = read_contents(reader);

            REQUIRE(at / 3 >= TRACE_FILE_HEADER_BYTES);
            REQUIRE(got.blocks + 1 >= expected.blocks);
            REQUIRE(got.bad_blocks <= 1);
            REQUIRE(got.zones + got.events + FIXTURE_ZONES + 12 >=
                    expected.zones + expected.events);
            /* Damage is either seen at once, or a finished file has one block that cannot be read.
             */
            if (trace_reader_file(reader)->finished && got.bad_blocks == 0)
                REQUIRE(got.zones == expected.zones && got.events == expected.events);
            if (!trace_reader_file(reader)->finished)
                REQUIRE(trace_reader_file(reader)->skipped_bytes > 0);
        }
        trace_reader_close(reader);
        data[at / 3] ^= masks[at % 3];
    }
    trace_reader_close(whole);
    ifg_free(data);
}

/* A damaged block in the middle of a file without footer: found again behind it, and counted. */
static void a_hole_in_the_middle(void)
{
    size_t size;
    uint8_t *data = fixture(&size);
    struct trace_reader *whole = must_open(data, size);
    size_t count = trace_reader_block_count(whole);

    for (size_t hole = 0; hole < count; hole++) {
        uint64_t offset = trace_reader_block(whole, hole)->offset;
        uint64_t end = hole + 1 < count ? trace_reader_block(whole, hole + 1)->offset
                                        : load_u64(data + size - TRACE_TRAILER_BYTES);
        uint8_t *damaged = malloc(size);
        struct trace_reader *reader;

        REQUIRE(damaged != NULL);
        memcpy(damaged, data, size);
        memset(damaged + offset, 0, (size_t)(end - offset));
        damaged[size - 1] ^= 1; /* and no good trailer */
        reader = must_open(damaged, size);
        CHECK_UINT(trace_reader_block_count(reader), count - 1);
        CHECK_UINT(trace_reader_file(reader)->damaged_blocks, 1);
        CHECK_UINT(trace_reader_file(reader)->skipped_bytes, end - offset + TRACE_TRAILER_BYTES);
        CHECK_UINT(trace_reader_file(reader)->first_damage, offset);
        /* The footer block itself is whole, and it has every definition. */
        CHECK_UINT(trace_reader_tables(reader)->location_count, 8);
        trace_reader_close(reader);
        free(damaged);
    }
    trace_reader_close(whole);
    ifg_free(data);
}

static void footer_missing_or_lying(void)
{
    size_t size;
    uint8_t *data = fixture(&size);
    uint64_t footer = load_u64(data + size - TRACE_TRAILER_BYTES);
    struct trace_reader *whole = must_open(data, size);
    struct trace_reader *reader = must_open(data, (size_t)footer);
    uint8_t *trailer = data + size - TRACE_TRAILER_BYTES;

    CHECK(!trace_reader_file(reader)->finished);
    CHECK_UINT(trace_reader_file(reader)->skipped_bytes, 0);
    CHECK_UINT(trace_reader_file(reader)->damaged_blocks, 0);
    CHECK_UINT(trace_reader_block_count(reader), trace_reader_block_count(whole));
    CHECK_UINT(trace_reader_tables(reader)->fact_count, 2);
    CHECK(trace_reader_tables(reader)->processes[0].ended);
    trace_reader_close(reader);
    /* Trailers with good checksums that point anywhere. */
    for (uint64_t offset = 0; offset < size + 100; offset++) {
        if (offset == footer)
            continue;
        store_u64(trailer, offset);
        store_u32(trailer + 24, trace_crc(trailer, 24));
        reader = must_open(data, size);
        CHECK(!trace_reader_file(reader)->finished);
        trace_reader_close(reader);
    }
    store_u64(trailer, footer);
    for (uint64_t blocks = 0; blocks < 100; blocks++) { /* a wrong number of blocks */
        store_u64(trailer + 16, blocks < 90 ? blocks : UINT64_MAX - blocks);
        store_u32(trailer + 24, trace_crc(trailer, 24));
        reader = must_open(data, size);
        CHECK_UINT(trace_reader_block_count(reader), trace_reader_block_count(whole));
        trace_reader_close(reader);
    }
    trace_reader_close(whole);
    ifg_free(data);
}

/* What a mistaken command line may name. */
static void foreign_files(void)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *message;
    } files[] = {
        { "", 0, "the file is empty" },
        { "x", 1, "it begins with 78" },
        { "\x7f"
          "ELF\2\1\1",
          7, "ELF" },
        { "\x1f\x8b\x08", 3, "gzip" },
        { "<!DOCTYPE html>", 15, "HTML" },
        { "<html>", 6, "HTML" },
        { "{\"traceEvents\":[]}", 18, "JSON" },
        { "[1]", 3, "JSON" },
        { "tZst\1\2", 6, "Tracy" },
        { "tracy\0\1", 7, "Tracy" },
        { "PERFILE2", 8, "perf.data" },
        { "\x89IFG\n\x1a\n", 7, "line ends were changed" },
        { "\x89IFG\r\n\x1a\n", 8, "ends inside its header" },
        { "abcdefghijklmnop", 16, "it begins with 61 62 63 64 65 66 67 68" },
    };

    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        struct trace_reader *reader;
        struct ifg_error err = { 0 };

        CHECK_INT(trace_reader_open_memory(files[i].bytes, files[i].size, "odd", &reader, &err),
                  IFG_CORRUPT);
        CHECK(reader == NULL);
        CHECK_CONTAINS(err.message, "odd: ");
        CHECK_CONTAINS(err.message, files[i].message);
    }
}

static void files_that_cannot_be_opened(void)
{
    struct trace_reader *reader;
    struct ifg_error err = { 0 };
    const char *path = fixture_path();
    int fd;

    CHECK_INT(trace_reader_open(path, &reader, &err), IFG_NOT_FOUND);
    CHECK_CONTAINS(err.message, path);
    CHECK_INT(trace_reader_open("/tmp", &reader, &err), IFG_INVALID);
    CHECK_CONTAINS(err.message, "a directory");
    CHECK_INT(trace_reader_open("/dev/null", &reader, &err), IFG_INVALID);
    CHECK_CONTAINS(err.message, "not a regular file");
    REQUIRE(mkfifo(path, 0600) == 0);
    CHECK_INT(trace_reader_open(path, &reader, &err), IFG_INVALID); /* and does not wait */
    unlink(path);
    fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    REQUIRE(fd >= 0);
    CHECK_INT(trace_reader_open(path, &reader, &err), IFG_CORRUPT);
    CHECK_CONTAINS(err.message, "the file is empty");
    close(fd);
    unlink(path);
    trace_reader_close(NULL);
}

/* Changes the header of an empty trace and sees what is said. */
static void check_header(size_t at, uint64_t value, size_t bytes, enum ifg_status status,
                         const char *message)
{
    struct trace_reader *reader = NULL;
    struct ifg_error err = { 0 };
    struct forge forge;

    REQUIRE(fixture_forge_init(&forge));
    for (size_t i = 0; i < bytes; i++)
        forge.file.data[at + i] = (uint8_t)(value >> 8 * i);
    store_u32(forge.file.data + FILE_CRC, trace_crc(forge.file.data, FILE_CRC));
    CHECK_INT(trace_reader_open_memory(forge.file.data, forge.file.size, "test.ifg", &reader, &err),
              status);
    CHECK_CONTAINS(err.message, message);
    trace_reader_close(reader);
    fixture_forge_fini(&forge);
}

static void versions_and_features(void)
{
    check_header(FILE_MAJOR, 2, 2, IFG_UNSUPPORTED, "trace format 2.4; this program reads 1.x");
    check_header(FILE_MAJOR, 2, 2, IFG_UNSUPPORTED, "newer");
    check_header(FILE_MAJOR, 0, 2, IFG_UNSUPPORTED, "0.4");
    check_header(FILE_MINOR, 999, 2, IFG_OK, "");
    check_header(FILE_REQUIRED, UINT64_C(1) << 40, 8, IFG_UNSUPPORTED, "0x10000000000");
    check_header(FILE_OPTIONAL, UINT64_MAX, 8, IFG_OK, "");
    check_header(FILE_RESERVED, 1, 4, IFG_OK, "");
    check_header(FILE_HEADER_BYTES, 63, 4, IFG_CORRUPT, "header size 63");
    check_header(FILE_HEADER_BYTES, UINT32_MAX, 4, IFG_CORRUPT, "header size");
    check_header(FILE_HEADER_BYTES, 4096, 4, IFG_OK, ""); /* the file ends before its first block */
}

static void add_definition(struct ifg_bytes *bytes, uint64_t kind, const void *fields, size_t size)
{
    ifg_bytes_put_varint(bytes, kind);
    ifg_bytes_put_string(bytes, fields, size);
}

/* A file whose definitions are these bytes, once with a footer and once without. */
static struct trace_reader *open_definitions(struct forge *forge, const struct ifg_bytes *bytes,
                                             bool with_footer)
{
    struct trace_block_head head = { .type = TRACE_BLOCK_DEFINITIONS };
    struct trace_column column = { bytes->data, bytes->size };

    REQUIRE(fixture_forge_init(forge));
    REQUIRE(fixture_forge_block(forge, head, &column, 1));
    if (with_footer)
        REQUIRE(fixture_forge_footer(forge, bytes->data, bytes->size));
    return must_open(forge->file.data, forge->file.size);
}

static void definitions_of_later_versions(void)
{
    for (int footer = 0; footer < 2; footer++) {
        struct ifg_bytes bytes;
        struct forge forge;
        struct trace_reader *reader;
        const struct trace_tables *tables;

        ifg_bytes_init(&bytes, 4096);
        add_definition(&bytes, 0, "", 0);
        add_definition(&bytes, 99, "whatever", 8);
        add_definition(&bytes, UINT64_MAX, "", 0);
        add_definition(&bytes, TRACE_DEF_THREAD, "\1\0\5\2ab\3more fields", 17);
        add_definition(&bytes, TRACE_DEF_THREAD, "\0", 1); /* fields that are missing are 0 */
        add_definition(&bytes, TRACE_DEF_PROCESS, "", 0);
        add_definition(&bytes, TRACE_DEF_LOCATION, "\0\1\x63\x63", 4); /* later kind, category */
        add_definition(&bytes, TRACE_DEF_FACT, "\1k\1v\0\0\0\0", 8);
        reader = open_definitions(&forge, &bytes, footer);
        tables = trace_reader_tables(reader);
        CHECK_INT(trace_reader_file(reader)->finished, footer);
        CHECK_UINT(trace_reader_file(reader)->damaged_blocks, 0);
        REQUIRE_UINT(tables->thread_count, 2);
        CHECK_UINT(tables->threads[1].tid, 5);
        CHECK_STR(tables->threads[1].name, "ab");
        CHECK_UINT(tables->threads[0].tid, 0);
        CHECK_STR(tables->threads[0].name, "");
        CHECK_UINT(tables->process_count, 1);
        CHECK_UINT(tables->clock_count, 1);
        REQUIRE_UINT(tables->location_count, 1);
        CHECK_INT(tables->locations[0].kind, TRACE_LOCATION_ZONE);
        CHECK_INT(tables->locations[0].category, TRACE_CATEGORY_NONE);
        CHECK_STR(tables->locations[0].file, "");
        CHECK_STR(trace_find_fact(tables, "k"), "v");
        trace_reader_close(reader);
        fixture_forge_fini(&forge);
        ifg_bytes_fini(&bytes);
    }
}

/* Bad ones are left out, good ones around them stay, and nothing large is allocated. */
static void hostile_definitions(void)
{
    static const uint8_t huge[] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1 };
    static const uint8_t million[] = { 0x80, 0x80, 0x40 }; /* 2^20 */
    struct ifg_bytes bytes;
    struct forge forge;
    struct trace_reader *reader;
    const struct trace_tables *tables;

    ifg_bytes_init(&bytes, 4096);
    for (uint64_t kind = TRACE_DEF_PROCESS; kind <= TRACE_DEF_LOSS; kind++) {
        add_definition(&bytes, kind, huge, sizeof huge);
        add_definition(&bytes, kind, huge, sizeof huge - 1);
        add_definition(&bytes, kind, million, sizeof million);
    }
    add_definition(&bytes, TRACE_DEF_THREAD,
                   "\0\0\1\x7f"
                   "cut",
                   7);
    add_definition(&bytes, TRACE_DEF_FACT, "\3a\0b\6\xc3\x28\xed\xa0\x80\xf0", 11);
    add_definition(&bytes, TRACE_DEF_FACT, "\1z\1y", 4);
    ifg_bytes_put(&bytes, "\x03\xff\xff\xff\xff\x0f", 6); /* a definition of 4 GB */
    reader = open_definitions(&forge, &bytes, true);
    tables = trace_reader_tables(reader);
    CHECK(!trace_reader_file(reader)->finished); /* such a footer is not believed */
    CHECK(trace_reader_file(reader)->damaged_blocks > 0);
    CHECK_UINT(tables->thread_count, 0);
    CHECK_STR(trace_find_fact(tables, "z"), "y");
    CHECK_STR(trace_find_fact(tables, "a\xef\xbf\xbd"
                                      "b"),
              "\xef\xbf\xbd(\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    trace_reader_close(reader);
    fixture_forge_fini(&forge);
    ifg_bytes_fini(&bytes);
}

static void blocks_of_later_versions(void)
{
    struct trace_block_head head = { .type = 200, .stream = UINT32_MAX, .count = UINT32_MAX };
    static const uint8_t codes[] = { 4 };
    static const uint8_t gaps[] = { 0, 100, 0 };
    static const uint8_t durations[] = { 5 };
    struct trace_column columns[8] = { { codes, 1 }, { gaps, 3 },  { durations, 1 }, { NULL, 0 },
                                       { NULL, 0 },  { codes, 1 }, { codes, 1 },     { codes, 1 } };

    for (int footer = 0; footer < 2; footer++) {
        struct trace_zones zones = { 0 };
        struct trace_reader *reader;
        struct forge forge;

        REQUIRE(fixture_forge_init(&forge));
        head.type = 200;
        head.count = UINT32_MAX;
        head.stream = UINT32_MAX;
        REQUIRE(fixture_forge_payload(&forge, head, "any bytes", 9));
        head.type = UINT16_MAX;
        REQUIRE(fixture_forge_payload(&forge, head, "", 0));
        head.type = TRACE_BLOCK_ZONES;
        head.count = 1;
        head.stream = 0;
        REQUIRE(fixture_forge_block(&forge, head, columns, 8)); /* columns of later versions */
        REQUIRE(fixture_forge_block(&forge, head, columns, 3)); /* and fewer than we know */
        if (footer)
            REQUIRE(fixture_forge_footer(&forge, NULL, 0));
        reader = must_open(forge.file.data, forge.file.size);
        CHECK_UINT(trace_reader_file(reader)->skipped_bytes, 0);
        CHECK_UINT(trace_reader_file(reader)->damaged_blocks, 0);
        REQUIRE_UINT(trace_reader_block_count(reader), 2);
        for (size_t i = 0; i < 2; i++) {
            REQUIRE_INT(trace_decode_zones(reader, i, &zones, NULL), IFG_OK);
            REQUIRE_UINT(zones.count, 1);
            CHECK_UINT(zones.starts[0], 100);
            CHECK_UINT(zones.durations[0], 5);
        }
        trace_zones_fini(&zones);
        trace_reader_close(reader);
        fixture_forge_fini(&forge);
    }
}

static void events_of_later_versions(void)
{
    struct trace_block_head head = { .type = TRACE_BLOCK_EVENTS, .count = 5 };
    struct trace_column columns[EVENT_COLUMNS] = {
        { (const uint8_t *)"\x07\x63\x08\x00\x08", 5 },
        { (const uint8_t *)"\x0a\0\2\2\2\2", 6 },
        { (const uint8_t *)"\1\1\1\1\1", 5 },
        { (const uint8_t *)"\0\3\2\1\1", 5 },
        { (const uint8_t *)"abcdefg", 7 },
        { (const uint8_t *)"\0\7\0\1", 4 }, /* an attribute of type 7, and a string */
        { (const uint8_t *)"\1k", 2 },
    };
    struct trace_events events = { 0 };
    struct trace_attribute attribute;
    struct trace_reader *reader;
    struct forge forge;

    REQUIRE(fixture_forge_init(&forge));
    REQUIRE(fixture_forge_block(&forge, head, columns, EVENT_COLUMNS));
    reader = must_open(forge.file.data, forge.file.size);
    REQUIRE_INT(trace_decode_events(reader, 0, &events, NULL), IFG_OK);
    REQUIRE_UINT(events.count, 3);
    CHECK_INT(events.events[0].kind, TRACE_EVENT_FRAME);
    CHECK_INT(trace_parse_attribute(&events.events[1], &attribute), IFG_CORRUPT);
    REQUIRE_INT(trace_parse_attribute(&events.events[2], &attribute), IFG_OK);
    CHECK_UINT(attribute.text_bytes, 1);
    CHECK_BYTES(attribute.text, "g", 1);
    CHECK_UINT(attribute.zone_start, 14);
    trace_events_fini(&events);
    trace_reader_close(reader);
    fixture_forge_fini(&forge);
}

/* A block with this payload in an otherwise good file: decoding must say that it is damaged. */
static void check_bad_payload(enum trace_block_type type, uint32_t count, const void *payload,
                              size_t size)
{
    struct trace_block_head head = { .type = (uint16_t)type, .count = count };
    struct trace_zones zones = { 0 };
    struct trace_events events = { 0 };
    struct trace_reader *reader;
    struct ifg_error err = { 0 };
    struct forge forge;

    REQUIRE(fixture_forge_init(&forge));
    REQUIRE(fixture_forge_payload(&forge, head, payload, size));
    reader = must_open(forge.file.data, forge.file.size);
    REQUIRE_UINT(trace_reader_block_count(reader), 1);
    if (type == TRACE_BLOCK_ZONES)
        CHECK_INT(trace_decode_zones(reader, 0, &zones, &err), IFG_CORRUPT);
    else
        CHECK_INT(trace_decode_events(reader, 0, &events, &err), IFG_CORRUPT);
    CHECK_CONTAINS(err.message, "test.ifg: the block at offset 64");
    CHECK_UINT(zones.count + events.count, 0);
    trace_zones_fini(&zones);
    trace_events_fini(&events);
    trace_reader_close(reader);
    fixture_forge_fini(&forge);
}

static void hostile_columns(void)
{
    static const uint32_t payloads[][8] = {
        { 17 },                                /* too many columns */
        { UINT32_MAX },                        /* far too many */
        { 1, 0, 4 },                           /* header cut */
        { 1, 0, UINT32_MAX, 4, 0 },            /* 4 GB raw */
        { 1, 0, 4, UINT32_MAX, 0 },            /* 4 GB stored */
        { 1, 1, UINT32_MAX, 4, 0 },            /* 4 GB from four bytes */
        { 1, 1, 1u << 20, 4, 0xfd2fb528 },     /* a zstd frame that is only its magic */
        { 1, 2, 4, 4, 0 },                     /* unknown codec */
        { 1, 0, 3, 4, 0 },                     /* stored, but sizes differ */
        { 1, 0, 0, 0, 0 },                     /* bytes left over */
        { 2, 0, 1u << 24, 0, 0, 1u << 24, 0 }, /* too much together */
    };
    static const size_t sizes[] = { 4, 4, 12, 20, 20, 20, 20, 20, 20, 20, 28 };

    check_bad_payload(TRACE_BLOCK_ZONES, 1, "", 0);
    check_bad_payload(TRACE_BLOCK_ZONES, 1, "\0\0", 2);
    for (size_t i = 0; i < sizeof payloads / sizeof payloads[0]; i++) {
        uint8_t bytes[sizeof payloads[0]];

        for (size_t j = 0; j < 8; j++)
            store_u32(bytes + 4 * j, payloads[i][j]);
        check_bad_payload(TRACE_BLOCK_ZONES, 1, bytes, sizes[i]);
        check_bad_payload(TRACE_BLOCK_EVENTS, 1, bytes, sizes[i]);
    }
}

static void check_bad_columns(enum trace_block_type type, uint32_t count,
                              const struct trace_column *columns, size_t column_count)
{
    struct trace_block_head head = { .type = (uint16_t)type };
    struct trace_packer packer;

    REQUIRE_INT(trace_packer_init(&packer), IFG_OK);
    REQUIRE_INT(trace_pack(&packer, &head, columns, column_count), IFG_OK);
    check_bad_payload(type, count, packer.data + TRACE_BLOCK_HEADER_BYTES,
                      packer.size - TRACE_BLOCK_HEADER_BYTES);
    trace_packer_fini(&packer);
}

#define COLUMN(text)                                                                               \
    {                                                                                              \
        (const uint8_t *)text, sizeof text - 1                                                     \
    }

static void hostile_zones(void)
{
    static const struct {
        uint32_t count;
        struct trace_column columns[ZONE_COLUMNS];
    } blocks[] = {
        { 2, { COLUMN("\4"), COLUMN("\0\0\0\0"), COLUMN("\1\1") } },           /* too few codes */
        { 2, { COLUMN("\4\4"), COLUMN("\0\0\0"), COLUMN("\1\1") } },           /* too few gaps */
        { 1, { COLUMN("\4"), COLUMN("\0\0\0"), COLUMN("") } },                 /* no duration */
        { 1, { COLUMN("\5"), COLUMN("\0\0\0"), COLUMN("\1"), COLUMN("\1") } }, /* no child yet */
        { 2, { COLUMN("\4\5"), COLUMN("\0\0\0\0"), COLUMN("\1\1"), COLUMN("") } },
        { 2, { COLUMN("\4\5"), COLUMN("\0\0\0\0"), COLUMN("\1\1"), COLUMN("\0") } },
        { 2, { COLUMN("\4\5"), COLUMN("\0\0\0\0"), COLUMN("\1\1"), COLUMN("\2") } },
        { 2,
          { COLUMN("\4\5"), COLUMN("\0\0\0\0"), COLUMN("\1\1"),
            COLUMN("\xff\xff\xff\xff\xff\xff\xff\xff\xff\1") } },
        { 1, { COLUMN("\7"), COLUMN("\0\0\0"), COLUMN("\1"), COLUMN("\1") } },       /* shape 3 */
        { 1, { COLUMN("\x80\x80\x80\x80\x80\1"), COLUMN("\0\0\0"), COLUMN("\1") } }, /* location */
        { 1, { COLUMN("\4"), COLUMN("\0"), COLUMN("\1") } },                         /* no base */
        { 1,
          { COLUMN("\4"), COLUMN("\0\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"),
            COLUMN("\1") } }, /* no end */
        { UINT32_MAX, { COLUMN("\4"), COLUMN("\0\0\0"), COLUMN("\1") } },
        { 0, { COLUMN(""), COLUMN("\0\0"), COLUMN(""), COLUMN(""), COLUMN("\1") } }, /* open cut */
        { 0,
          { COLUMN(""), COLUMN("\0\0"), COLUMN(""), COLUMN(""),
            COLUMN("\1\xff\xff\xff\xff\xff\xff\xff\xff\xff\1") } },
        { 0, { COLUMN(""), COLUMN("\0\0"), COLUMN(""), COLUMN(""), COLUMN("\1\2\1\1\1") } },
        { 0,
          { COLUMN(""), COLUMN("\0\0"), COLUMN(""), COLUMN(""),
            COLUMN("\1\1\xff\xff\xff\xff\x7f\1") } },
    };

    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
        tap_note("block %zu", i);
        check_bad_columns(TRACE_BLOCK_ZONES, blocks[i].count, blocks[i].columns, ZONE_COLUMNS);
    }
}

static void hostile_events(void)
{
    static const struct {
        uint32_t count;
        struct trace_column columns[EVENT_COLUMNS];
    } blocks[] = {
        { 2, { COLUMN("\7"), COLUMN("\0\0\0"), COLUMN("\1\1"), COLUMN("\0\0") } },
        { 1, { COLUMN("\7"), COLUMN("\0"), COLUMN("\1"), COLUMN("\0") } },
        { 1, { COLUMN("\7"), COLUMN(""), COLUMN("\1"), COLUMN("\0") } },
        { 1, { COLUMN("\7"), COLUMN("\0\0"), COLUMN(""), COLUMN("\0") } },
        { 1, { COLUMN("\7"), COLUMN("\0\0"), COLUMN("\xff\xff\xff\xff\x7f"), COLUMN("\0") } },
        { 1, { COLUMN("\7"), COLUMN("\0\0"), COLUMN("\1"), COLUMN("") } },
        { 1, { COLUMN("\1"), COLUMN("\0\0"), COLUMN("\1"), COLUMN("\2"), COLUMN("x") } },
        { 1,
          { COLUMN("\1"), COLUMN("\0\0"), COLUMN("\1"),
            COLUMN("\xff\xff\xff\xff\xff\xff\xff\xff\xff\1"), COLUMN("x") } },
        { 1, { COLUMN("\x08"), COLUMN("\0\0"), COLUMN("\1"), COLUMN("\1"), COLUMN("x") } },
        { 1,
          { COLUMN("\x08"), COLUMN("\0\0"), COLUMN("\1"), COLUMN("\1"), COLUMN("x"),
            COLUMN("\0\1") } }, /* no such key */
        { 1,
          { COLUMN("\x08"), COLUMN("\0\0"), COLUMN("\1"), COLUMN("\1"), COLUMN("x"), COLUMN("\0"),
            COLUMN("\1k") } },
        { 1,
          { COLUMN("\x08"), COLUMN("\0\0"), COLUMN("\1"), COLUMN("\1"), COLUMN("x"), COLUMN("\0\1"),
            COLUMN("\2k") } },
        { UINT32_MAX, { COLUMN("\7"), COLUMN("\0\0"), COLUMN("\1"), COLUMN("\0") } },
    };

    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
        tap_note("block %zu", i);
        check_bad_columns(TRACE_BLOCK_EVENTS, blocks[i].count, blocks[i].columns, EVENT_COLUMNS);
    }
}

static void hostile_streams_and_sequences(void)
{
    static const uint8_t pairs[] = { 2, 2, 2 };
    struct trace_column column = { pairs, sizeof pairs };
    struct trace_block_head head = { .type = TRACE_BLOCK_ZONES, .stream = 1u << 20 };
    struct trace_reader *reader;
    struct forge forge;

    REQUIRE(fixture_forge_init(&forge));
    REQUIRE(fixture_forge_block(&forge, head, &column, 1));
    head.stream = UINT32_MAX;
    REQUIRE(fixture_forge_block(&forge, head, &column, 1));
    head = (struct trace_block_head){ .type = TRACE_BLOCK_CLOCK, .stream = 1u << 16, .count = 1 };
    REQUIRE(fixture_forge_block(&forge, head, &column, 1));
    head.stream = 1;
    head.count = UINT32_MAX; /* far more than there are */
    REQUIRE(fixture_forge_block(&forge, head, &column, 1));
    forge.sequence = UINT64_MAX;
    head.count = 1;
    REQUIRE(fixture_forge_block(&forge, head, &column, 1));
    head.type = TRACE_BLOCK_ZONES;
    head.stream = 5;
    REQUIRE(fixture_forge_block(&forge, head, &column, 1));
    reader = must_open(forge.file.data, forge.file.size);
    CHECK_UINT(trace_reader_block_count(reader), 2);
    CHECK_UINT(trace_reader_tables(reader)->thread_count, 6);
    CHECK_UINT(trace_reader_tables(reader)->clock_count, 2);
    CHECK(trace_reader_file(reader)->damaged_blocks >= 4);
    CHECK(trace_reader_block(reader, 2) == NULL);
    trace_reader_close(reader);
    fixture_forge_fini(&forge);
}

/* A header with good checksum that claims 4 GB: the block is not believed, what follows it is
 * found. */
static void hostile_payload_length(void)
{
    static const uint32_t lengths[] = { UINT32_MAX, TRACE_FOOTER_MAX, TRACE_PAYLOAD_MAX, 300 };

    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        for (uint16_t type = 0; type < 7; type++) {
            struct trace_block_head head = { .type = type, .payload_bytes = lengths[i] };
            uint8_t header[TRACE_BLOCK_HEADER_BYTES];
            struct trace_reader *reader;
            struct forge forge;

            REQUIRE(fixture_forge_init(&forge));
            trace_block_head_put(header, &head);
            ifg_bytes_put(&forge.file, header, sizeof header);
            head = (struct trace_block_head){ .type = TRACE_BLOCK_EVENTS };
            REQUIRE(fixture_forge_block(&forge, head, NULL, 0));
            reader = must_open(forge.file.data, forge.file.size);
            CHECK_UINT(trace_reader_block_count(reader), 1);
            CHECK_UINT(trace_reader_file(reader)->skipped_bytes, TRACE_BLOCK_HEADER_BYTES);
            CHECK_UINT(trace_reader_file(reader)->first_damage, TRACE_FILE_HEADER_BYTES);
            trace_reader_close(reader);
            fixture_forge_fini(&forge);
        }
    }
}

/* Asking for the wrong kind of block is a mistake of the caller, told as such. */
static void wrong_questions(void)
{
    size_t size;
    uint8_t *data = fixture(&size);
    struct trace_reader *reader = must_open(data, size);
    struct trace_zones zones = { 0 };
    struct trace_events events = { 0 };

    CHECK_INT(trace_decode_zones(reader, 0, &zones, NULL), IFG_INVALID);
    CHECK_INT(trace_decode_zones(reader, SIZE_MAX, &zones, NULL), IFG_INVALID);
    CHECK_INT(trace_decode_events(reader, 0, &events, NULL), IFG_INVALID);
    trace_zones_fini(&zones);
    trace_zones_fini(&zones);
    trace_events_fini(&events);
    trace_reader_close(reader);
    ifg_free(data);
}

static void *read_often(void *context)
{
    const struct trace_reader *reader = context;
    size_t zones = 0;

    for (int i = 0; i < 200; i++) {
        zones += read_contents(reader).zones;
        for (uint64_t ticks = 0; ticks < 8000; ticks += 700)
            zones += trace_clock_to_ns(reader, 0, FIXTURE_BASE + ticks) < 1000000;
    }
    CHECK_UINT(zones, 200 * (FIXTURE_ZONES + 2));
    return NULL;
}

/* One reader, many threads. */
static void threads_share_a_reader(void)
{
    size_t size;
    uint8_t *data = fixture(&size);
    struct trace_reader *reader = must_open(data, size);
    pthread_t threads[4];

    for (size_t i = 0; i < 4; i++)
        REQUIRE_INT(pthread_create(&threads[i], NULL, read_often, reader), 0);
    for (size_t i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    trace_reader_close(reader);
    ifg_free(data);
}

/* Every allocation of opening and decoding fails once, with and without a footer. */
static void allocation_failures(void)
{
    size_t size;
    uint8_t *data = fixture(&size);
    size_t footer = (size_t)load_u64(data + size - TRACE_TRAILER_BYTES);

    for (int cut = 0; cut < 2; cut++) {
        bool failed = true;

        for (long n = 0; failed; n++) {
            struct trace_reader *reader = NULL;
            struct ifg_error err = { 0 };
            enum ifg_status status;

            REQUIRE(n < 1000);
            tap_note("allocation %ld", n);
            ifg_alloc_fail_after(n);
            status = trace_reader_open_memory(data, cut ? footer : size, "test.ifg", &reader, &err);
            failed = status != IFG_OK;
            if (status) {
                REQUIRE_INT(status, IFG_NO_MEMORY);
                REQUIRE(reader == NULL);
                REQUIRE_CONTAINS(err.message, "memory");
            } else {
                failed = read_contents(reader).bad_blocks > 0;
            }
            ifg_alloc_fail_after(-1);
            trace_reader_close(reader);
        }
    }
    ifg_free(data);
}

TAP_MAIN(TAP_CASE(cut_at_every_byte), TAP_CASE(every_byte_flipped), TAP_CASE(a_hole_in_the_middle),
         TAP_CASE(footer_missing_or_lying), TAP_CASE(foreign_files),
         TAP_CASE(files_that_cannot_be_opened), TAP_CASE(versions_and_features),
         TAP_CASE(definitions_of_later_versions), TAP_CASE(hostile_definitions),
         TAP_CASE(blocks_of_later_versions), TAP_CASE(events_of_later_versions),
         TAP_CASE(hostile_columns), TAP_CASE(hostile_zones), TAP_CASE(hostile_events),
         TAP_CASE(hostile_streams_and_sequences), TAP_CASE(hostile_payload_length),
         TAP_CASE(wrong_questions), TAP_CASE(threads_share_a_reader), TAP_CASE(allocation_failures))
