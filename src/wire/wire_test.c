// SPDX-License-Identifier: Apache-2.0
/* The layout of the shared region: everything has its place, nothing overlaps, and it never moves.
 */
#include "wire/wire.h"

#include "tap.h"

static void parts_follow_each_other(void)
{
    CHECK(IFG_WIRE_STATES_OFFSET >= sizeof(struct ifg_wire_control));
    CHECK(IFG_WIRE_DEFINITIONS_OFFSET >=
          IFG_WIRE_STATES_OFFSET + IFG_WIRE_RINGS * sizeof(uint32_t));
    CHECK_UINT(IFG_WIRE_RINGS_OFFSET, IFG_WIRE_DEFINITIONS_OFFSET + IFG_WIRE_DEFINITIONS_BYTES);
    CHECK_UINT(IFG_WIRE_DEFINITIONS_OFFSET % IFG_WIRE_PAGE, 0);
    CHECK_UINT(IFG_WIRE_RINGS_OFFSET % IFG_WIRE_PAGE, 0);
}

static void the_region_stays_within_its_promise(void)
{
    size_t bytes = ifg_wire_region_bytes();

    CHECK(bytes <= (size_t)64 << 20);
    CHECK(bytes > (size_t)32 << 20);
    CHECK_UINT(bytes % IFG_WIRE_PAGE, 0);
}

static void classes_add_up(void)
{
    uint32_t rings = 0;

    for (uint32_t c = 0; c < IFG_WIRE_CLASSES; c++) {
        uint32_t slots = ifg_wire_classes()[c].slots;

        CHECK_UINT(slots & (slots - 1), 0);
        CHECK(slots >= 2 * IFG_WIRE_RECORD_SLOTS); /* the longest record fits, and more */
        CHECK(c == 0 || slots < ifg_wire_classes()[c - 1].slots);
        rings += ifg_wire_classes()[c].count;
    }
    CHECK_UINT(rings, IFG_WIRE_RINGS);
}

static void rings_do_not_overlap(void)
{
    size_t end = IFG_WIRE_RINGS_OFFSET;

    for (uint32_t i = 0; i < IFG_WIRE_RINGS; i++) {
        uint32_t slots = 0;
        size_t offset = ifg_wire_ring_offset(i, &slots);

        REQUIRE_UINT(offset, end);
        REQUIRE_UINT(offset % IFG_WIRE_PAGE, 0);
        end = offset + sizeof(struct ifg_wire_ring) + (size_t)slots * sizeof(struct ifg_wire_zone);
    }
    CHECK_UINT(end, ifg_wire_region_bytes());
}

static void tags_keep_what_they_are_made_of(void)
{
    for (uint32_t kind = IFG_WIRE_LONG_ZONE; kind <= IFG_WIRE_ATTRIBUTE; kind++) {
        for (uint32_t slots = 1; slots <= IFG_WIRE_RECORD_SLOTS; slots++) {
            uint32_t tag = IFG_WIRE_TAG(kind, slots);

            REQUIRE(tag & IFG_WIRE_LONG);
            REQUIRE_UINT(IFG_WIRE_TAG_KIND(tag), kind);
            REQUIRE_UINT(IFG_WIRE_TAG_SLOTS(tag), slots);
        }
    }
    /* The tag of a record lies where a zone has its location: the top bit tells them apart. */
    CHECK_UINT(offsetof(struct ifg_wire_record, tag), offsetof(struct ifg_wire_zone, location));
}

/* Version 1 in bytes. Another layout is another IFG_WIRE_VERSION. */
static void version_1_does_not_move(void)
{
    CHECK_UINT(IFG_WIRE_VERSION, 1);
    /* 384 at first; what follows was appended, and is 0 where a library does not know it. */
    CHECK_UINT(sizeof(struct ifg_wire_control), 512);
    CHECK_UINT(offsetof(struct ifg_wire_control, pid), 12);
    CHECK_UINT(offsetof(struct ifg_wire_control, start_ticks), 32);
    CHECK_UINT(offsetof(struct ifg_wire_control, recording), 64);
    CHECK_UINT(offsetof(struct ifg_wire_control, session), 128);
    CHECK_UINT(offsetof(struct ifg_wire_control, definitions_reserved), 320);
    CHECK_UINT(offsetof(struct ifg_wire_control, rings_used), 352);
    CHECK_UINT(offsetof(struct ifg_wire_ring, head), 0);
    CHECK_UINT(offsetof(struct ifg_wire_ring, dropped), 16);
    CHECK_UINT(offsetof(struct ifg_wire_ring, depth), 24);
    CHECK_UINT(offsetof(struct ifg_wire_ring, unbalanced), 32);
    CHECK_UINT(offsetof(struct ifg_wire_ring, tid), 40);
    CHECK_UINT(offsetof(struct ifg_wire_ring, generation), 44);
    CHECK_UINT(offsetof(struct ifg_wire_ring, tail), 64);
    CHECK_UINT(offsetof(struct ifg_wire_ring, name), 128);
    CHECK_UINT(offsetof(struct ifg_wire_ring, open), 256);
    CHECK_UINT(ifg_wire_region_bytes(), 66949120);
}

TAP_MAIN(TAP_CASE(parts_follow_each_other), TAP_CASE(the_region_stays_within_its_promise),
         TAP_CASE(classes_add_up), TAP_CASE(rings_do_not_overlap),
         TAP_CASE(tags_keep_what_they_are_made_of), TAP_CASE(version_1_does_not_move))
