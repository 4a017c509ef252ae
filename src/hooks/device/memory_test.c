// SPDX-License-Identifier: Apache-2.0
/* What a program has of a device, from records that come in any order, or not at all. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/device.h"
#include "hooks/device/device.h"
#include "tap.h"

#define LOCATIONS 256u
#define PIECES    40000u
#define MIB       (1ull << 20)

/* ---- in place of the client ---- */

static char names[LOCATIONS][64];
static double values[LOCATIONS];
static unsigned told[LOCATIONS];
static uint32_t location_count;

uint32_t ifg_device_level_location(const char *name)
{
    REQUIRE(location_count + 1 < LOCATIONS);
    snprintf(names[++location_count], sizeof names[0], "%s", name);
    return location_count;
}

void ifg_device_level(uint32_t location, uint32_t device, uint64_t ns, double value,
                      uint64_t *patience_ns)
{
    (void)device, (void)ns, (void)patience_ns;
    values[location] = value;
    told[location]++;
}

/* -1: it was never told, or is not known any more. */
static int64_t level(const char *name)
{
    for (uint32_t i = 1; i <= location_count; i++)
        if (strcmp(names[i], name) == 0)
            return isnan(values[i]) ? -1 : (int64_t)values[i];
    return -1;
}

static unsigned count_told(const char *name)
{
    for (uint32_t i = 1; i <= location_count; i++)
        if (strcmp(names[i], name) == 0)
            return told[i];
    return 0;
}

static void change(uint64_t ns, uint64_t address, uint64_t bytes, bool is_taken)
{
    const struct memory_change one = {
        .ns = ns, .address = address, .bytes = bytes, .class = MEMORY_DEVICE, .is_taken = is_taken
    };
    uint64_t patience_ns = 0;

    memory_changed(&one, &patience_ns);
}

static void change_pool(uint64_t address, uint64_t size, uint64_t used, bool is_gone)
{
    const struct memory_pool pool = {
        .ns = 1, .address = address, .size = size, .used = used, .is_gone = is_gone
    };
    uint64_t patience_ns = 0;

    memory_pool_changed(&pool, &patience_ns);
}

/* ---- tests ---- */

static void taken_and_given_back(void)
{
    REQUIRE(memory_begin());
    CHECK_INT(level("gpu 0 allocated bytes"), -1);
    change(1, 0x1000, 100, true);
    change(2, 0x2000, 50, true);
    CHECK_INT(level("gpu 0 allocated bytes"), 150);
    change(3, 0x1000, 0, false); /* it need not say how much */
    CHECK_INT(level("gpu 0 allocated bytes"), 50);
    change(4, 0x3000, 1000, false); /* taken before we looked */
    CHECK_INT(level("gpu 0 allocated bytes"), 50);
    change(6, 0x2000, 70, true); /* that it was given back was not seen */
    CHECK_INT(level("gpu 0 allocated bytes"), 70);
    change(5, 0x2000, 50, false); /* and comes late */
    CHECK_INT(level("gpu 0 allocated bytes"), 70);
    change(7, 0, 10, true);
    CHECK_INT(level("gpu 0 allocated bytes"), 70);
}

/* Against a plain array; the table is so full that places collide. */
static void many_pieces(void)
{
    static uint32_t bytes_of[PIECES];
    int64_t expected = 0;
    unsigned wrong = 0;

    REQUIRE(memory_begin());
    srandom(7);
    for (unsigned round = 0; round < 400000; round++) {
        unsigned i = (unsigned)random() % PIECES;
        uint32_t bytes = bytes_of[i] && round % 3 == 0 ? 0 : 1 + (uint32_t)random() % 1000;

        expected += (int64_t)bytes - bytes_of[i];
        bytes_of[i] = bytes;
        change(round, 0x7f0000000000 + i * 512ull, bytes, bytes != 0);
        wrong += level("gpu 0 allocated bytes") != expected;
    }
    CHECK_UINT(wrong, 0);
    for (unsigned i = 0; i < PIECES; i++)
        change(500000, 0x7f0000000000 + i * 512ull, 0, false);
    CHECK_INT(level("gpu 0 allocated bytes"), 0);
    CHECK(!memory_is_lost());
}

static void too_many_pieces(void)
{
    REQUIRE(memory_begin());
    for (unsigned i = 1; i <= 60000; i++)
        change(i, i * 4096ull, 1, true);
    CHECK(memory_is_lost());
    CHECK_INT(level("gpu 0 allocated bytes"), -1);
    change(70000, 0x1000, 0, false);
    CHECK_INT(level("gpu 0 allocated bytes"), -1);
    REQUIRE(memory_begin());
    CHECK(!memory_is_lost());
    change(1, 0x1000, 5, true);
    CHECK_INT(level("gpu 0 allocated bytes"), 5);
}

static void lost_records(void)
{
    uint64_t patience_ns = 0;

    REQUIRE(memory_begin());
    change(1, 0x1000, 5, true);
    change_pool(0xa000, MIB, 5, false);
    memory_lose(2, &patience_ns);
    CHECK(memory_is_lost());
    CHECK_INT(level("gpu 0 allocated bytes"), -1);
    CHECK_INT(level("gpu 0 pool 0 size bytes"), MIB); /* a pool tells all each time */
    memory_end(3, &patience_ns);
    CHECK_INT(level("gpu 0 pool 0 size bytes"), -1);
    CHECK_INT(level("gpu 0 pool 0 used bytes"), -1);
}

static void pools(void)
{
    unsigned before;

    REQUIRE(memory_begin());
    change_pool(0xa000, MIB, 0, false);
    change_pool(0xb000, 2 * MIB, UINT64_MAX, false);
    CHECK_INT(level("gpu 0 pool 0 size bytes"), MIB);
    CHECK_INT(level("gpu 0 pool 1 size bytes"), 2 * MIB);
    CHECK_INT(level("gpu 0 pool 1 used bytes"), -1); /* old records do not tell */
    before = count_told("gpu 0 pool 0 size bytes");
    change_pool(0xa000, MIB, 7, false);
    CHECK_UINT(count_told("gpu 0 pool 0 size bytes"), before); /* nothing new */
    CHECK_INT(level("gpu 0 pool 0 used bytes"), 7);
    change_pool(0xa000, MIB, 7, true);
    CHECK_INT(level("gpu 0 pool 0 size bytes"), 0);
    CHECK_INT(level("gpu 0 pool 0 used bytes"), 0);
    change_pool(0xc000, 3 * MIB, 1, false); /* the number is free again */
    CHECK_INT(level("gpu 0 pool 0 size bytes"), 3 * MIB);
    for (uint64_t i = 0; i < 100; i++)
        change_pool(0x100000 + i, MIB, 1, false);
    CHECK_INT(level("gpu 0 pool 32 size bytes"), -1);
}

/* Records of giving back may not say on which device it was. */
static void whose_piece(void)
{
    const struct memory_change one = { .ns = 1,
                                       .address = 0x5000,
                                       .bytes = 7,
                                       .device = 3,
                                       .class = MEMORY_DEVICE,
                                       .is_taken = true };
    struct memory_change found = { .address = 0x5000 };
    uint64_t patience_ns = 0;

    REQUIRE(memory_begin());
    CHECK(!memory_find(0x5000, &found));
    memory_changed(&one, &patience_ns);
    REQUIRE(memory_find(0x5000, &found));
    CHECK_UINT(found.device, 3);
    CHECK_UINT(found.bytes, 7);
    CHECK(found.class == MEMORY_DEVICE);
    CHECK(!memory_find(0x6000, &found) && !memory_find(0, &found));
    memory_lose(2, &patience_ns);
    CHECK(memory_find(0x5000, &found)); /* the sum is not known, the piece is */
}

TAP_MAIN(TAP_CASE(taken_and_given_back), TAP_CASE(many_pieces), TAP_CASE(too_many_pieces),
         TAP_CASE(lost_records), TAP_CASE(pools), TAP_CASE(whose_piece))
