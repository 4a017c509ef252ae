// SPDX-License-Identifier: Apache-2.0
/* Growable bytes and cursors: what goes in comes out, and hostile bytes stay inside their bounds.
 */
#include "base/bytes.h"

#include <string.h>

#include "base/alloc.h"
#include "tap.h"

static const struct {
    uint64_t value;
    size_t size;
} varints[] = {
    { 0, 1 },           { 1, 1 },
    { 0x7f, 1 },        { 0x80, 2 },
    { 0x3fff, 2 },      { 0x4000, 3 },
    { UINT32_MAX, 5 },  { (uint64_t)UINT32_MAX + 1, 5 },
    { INT64_MAX, 9 },   { (uint64_t)INT64_MAX + 1, 10 },
    { UINT64_MAX, 10 },
};
#define VARINTS (sizeof varints / sizeof varints[0])

static void varints_round_trip(void)
{
    struct ifg_bytes bytes;
    struct ifg_cursor cursor;

    ifg_bytes_init(&bytes, 4096);
    for (size_t i = 0; i < VARINTS; i++) {
        size_t before = bytes.size;
        ifg_bytes_put_varint(&bytes, varints[i].value);
        CHECK_UINT(bytes.size - before, varints[i].size);
    }
    CHECK(!bytes.failed);
    cursor = ifg_cursor_over(bytes.data, bytes.size);
    for (size_t i = 0; i < VARINTS; i++)
        CHECK_UINT(ifg_cursor_varint(&cursor), varints[i].value);
    CHECK(!cursor.failed);
    CHECK_UINT(ifg_cursor_left(&cursor), 0);
    CHECK_UINT(ifg_cursor_varint(&cursor), 0);
    CHECK(cursor.failed);
    ifg_bytes_fini(&bytes);
}

static void varints_round_trip_at_every_bit(void)
{
    for (unsigned bit = 0; bit < 64; bit++) {
        for (int around = -1; around <= 1; around++) {
            uint64_t value = ((uint64_t)1 << bit) + (uint64_t)(int64_t)around;
            uint8_t encoded[IFG_VARINT_MAX];
            uint8_t *end = ifg_varint_write(encoded, value);
            struct ifg_cursor cursor = ifg_cursor_over(encoded, (size_t)(end - encoded));

            CHECK(end <= encoded + IFG_VARINT_MAX);
            CHECK_UINT(ifg_cursor_varint(&cursor), value);
            CHECK(!cursor.failed);
        }
    }
}

static void zigzag_folds_small_numbers_small(void)
{
    static const int64_t values[] = { 0, 1, -1, 63, -64, INT32_MIN, INT64_MAX, INT64_MIN };

    CHECK_UINT(ifg_zigzag(0), 0);
    CHECK_UINT(ifg_zigzag(-1), 1);
    CHECK_UINT(ifg_zigzag(1), 2);
    CHECK_UINT(ifg_zigzag(-64), 127);
    CHECK_UINT(ifg_zigzag(INT64_MAX), UINT64_MAX - 1);
    CHECK_UINT(ifg_zigzag(INT64_MIN), UINT64_MAX);
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        CHECK_INT(ifg_unzigzag(ifg_zigzag(values[i])), values[i]);
}

static void endless_varint_fails(void)
{
    uint8_t hostile[64];
    struct ifg_cursor cursor = ifg_cursor_over(hostile, sizeof hostile);

    memset(hostile, 0xff, sizeof hostile);
    CHECK_UINT(ifg_cursor_varint(&cursor), 0);
    CHECK(cursor.failed);
    CHECK(cursor.at <= cursor.end);
}

static void cut_varint_fails(void)
{
    for (size_t i = 0; i < VARINTS; i++) {
        uint8_t encoded[IFG_VARINT_MAX];

        ifg_varint_write(encoded, varints[i].value);
        for (size_t cut = 0; cut < varints[i].size; cut++) {
            struct ifg_cursor cursor = ifg_cursor_over(encoded, cut);

            CHECK_UINT(ifg_cursor_varint(&cursor), 0);
            CHECK(cursor.failed);
        }
    }
}

static void strings_round_trip(void)
{
    struct ifg_bytes bytes;
    struct ifg_cursor cursor;
    const char *text;
    size_t length;

    ifg_bytes_init(&bytes, 4096);
    ifg_bytes_put_string(&bytes, "decode", 6);
    ifg_bytes_put_string(&bytes, "", 0);
    ifg_bytes_put_string(&bytes, "a\0b", 3);
    cursor = ifg_cursor_over(bytes.data, bytes.size);
    text = ifg_cursor_string(&cursor, &length);
    REQUIRE_UINT(length, 6);
    CHECK_BYTES(text, "decode", 6);
    ifg_cursor_string(&cursor, &length);
    CHECK_UINT(length, 0);
    text = ifg_cursor_string(&cursor, &length);
    REQUIRE_UINT(length, 3);
    CHECK_BYTES(text, "a\0b", 3);
    CHECK(!cursor.failed);
    ifg_bytes_fini(&bytes);
}

static void lying_string_lengths_fail(void)
{
    static const uint64_t lengths[] = { 5, 0x80, UINT32_MAX, INT64_MAX, UINT64_MAX };

    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        uint8_t encoded[IFG_VARINT_MAX + 4] = { 0 };
        uint8_t *end = ifg_varint_write(encoded, lengths[i]) + 4;
        struct ifg_cursor cursor = ifg_cursor_over(encoded, (size_t)(end - encoded));
        size_t length = 99;

        CHECK_STR(ifg_cursor_string(&cursor, &length), "");
        CHECK_UINT(length, 0);
        CHECK(cursor.failed);
        CHECK(ifg_cursor_take(&cursor, 1) == NULL);
    }
}

static void a_cursor_stays_inside(void)
{
    static const uint8_t data[] = { 1, 2, 3 };
    struct ifg_cursor cursor = ifg_cursor_over(data, sizeof data);

    CHECK_UINT(ifg_cursor_byte(&cursor), 1);
    CHECK(ifg_cursor_take(&cursor, 2) == data + 1);
    CHECK(ifg_cursor_take(&cursor, 0) == data + 3);
    CHECK(!cursor.failed);
    CHECK_UINT(ifg_cursor_byte(&cursor), 0);
    CHECK(cursor.failed);

    cursor = ifg_cursor_over(data, sizeof data);
    CHECK(ifg_cursor_take(&cursor, 4) == NULL);
    CHECK(cursor.failed);
    CHECK(cursor.at == data);
    CHECK(ifg_cursor_take(&cursor, 1) == NULL);

    cursor = ifg_cursor_over(data, sizeof data);
    CHECK(ifg_cursor_take(&cursor, SIZE_MAX) == NULL);
    CHECK(cursor.failed);
}

static void the_ceiling_holds(void)
{
    static const char data[600];
    struct ifg_bytes bytes;

    ifg_bytes_init(&bytes, 1000);
    ifg_bytes_put(&bytes, data, 600);
    ifg_bytes_put(&bytes, data, 400);
    CHECK_UINT(bytes.size, 1000);
    CHECK(bytes.capacity <= 1000);
    CHECK(!bytes.failed);
    ifg_bytes_put(&bytes, data, 0);
    CHECK(!bytes.failed);
    ifg_bytes_put(&bytes, data, 1);
    CHECK(bytes.failed);
    CHECK_UINT(bytes.size, 1000);
    CHECK(!ifg_bytes_reserve(&bytes, 0));

    ifg_bytes_clear(&bytes);
    CHECK_UINT(bytes.size, 0);
    ifg_bytes_put(&bytes, data, 10);
    CHECK(!bytes.failed);
    CHECK(!ifg_bytes_reserve(&bytes, SIZE_MAX));
    CHECK(bytes.failed);
    ifg_bytes_fini(&bytes);

    ifg_bytes_init(&bytes, 0);
    CHECK(ifg_bytes_reserve(&bytes, 0));
    ifg_bytes_put_varint(&bytes, 1);
    CHECK(bytes.failed);
    ifg_bytes_fini(&bytes);
}

static void growing_keeps_the_contents(void)
{
    struct ifg_bytes bytes;
    struct ifg_cursor cursor;

    ifg_bytes_init(&bytes, 1 << 20);
    for (uint64_t i = 0; i < 50000; i++)
        ifg_bytes_put_varint(&bytes, i);
    REQUIRE(!bytes.failed);
    cursor = ifg_cursor_over(bytes.data, bytes.size);
    for (uint64_t i = 0; i < 50000; i++)
        REQUIRE_UINT(ifg_cursor_varint(&cursor), i);
    CHECK(!cursor.failed);
    ifg_bytes_fini(&bytes);
}

/* Fails allocation 1, 2, 3 ... of the same work until all of it succeeds. */
static void running_out_is_remembered(void)
{
    long successes;
    bool failed = true;

    for (successes = 0; failed && successes < 100; successes++) {
        struct ifg_bytes bytes;
        size_t size_at_failure = 0;

        ifg_bytes_init(&bytes, 1 << 16);
        ifg_alloc_fail_after(successes);
        for (int i = 0; i < 2000; i++) {
            ifg_bytes_put_string(&bytes, "0123456789", 10);
            if (bytes.failed && size_at_failure == 0)
                size_at_failure = bytes.size;
        }
        ifg_alloc_fail_after(-1);
        failed = bytes.failed;
        CHECK_UINT(bytes.size, failed ? size_at_failure : 22000);
        CHECK(bytes.size <= bytes.capacity);
        ifg_bytes_fini(&bytes);
    }
    CHECK(!failed);
    CHECK(successes > 3);
}

TAP_MAIN(TAP_CASE(varints_round_trip), TAP_CASE(varints_round_trip_at_every_bit),
         TAP_CASE(zigzag_folds_small_numbers_small), TAP_CASE(endless_varint_fails),
         TAP_CASE(cut_varint_fails), TAP_CASE(strings_round_trip),
         TAP_CASE(lying_string_lengths_fail), TAP_CASE(a_cursor_stays_inside),
         TAP_CASE(the_ceiling_holds), TAP_CASE(growing_keeps_the_contents),
         TAP_CASE(running_out_is_remembered))
