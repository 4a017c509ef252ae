// SPDX-License-Identifier: Apache-2.0
/* What is known of interpreters, and what they say of themselves. */
#include "collect/python/layout.h"

#include <string.h>

#include "tap.h"

#define WORDS (PYTHON_OFFSETS_BYTES / 8)

/* As 3.13.0 and 3.14 have them on x86-64; other words are not looked at. */
static void fill(uint64_t *words, unsigned minor)
{
    bool later = minor == 14;
    size_t thread = later ? 24 : 21, frame = later ? 32 : 29, code = later ? 40 : 35;

    memset(words, 0, PYTHON_OFFSETS_BYTES);
    memcpy(words, "xdebugpy", 8);
    words[1] = 3ull << 24 | (uint64_t)minor << 16 | 0xf0;
    words[5] = later ? 808 : 632;
    words[8] = 8;
    words[9] = 7344;
    words[thread] = 8;
    words[thread + 1] = 16;
    words[thread + 2] = 72;
    words[thread + 3] = 152;
    words[frame] = 8;
    words[frame + 1] = 0;
    words[frame + 2] = 56;
    words[frame + 4] = later ? 74 : 70;
    words[code] = 112;
    words[code + 1] = 120;
    words[code + 2] = 128;
    words[code + 3] = 136;
    words[code + 4] = 68;
    words[code + 8] = later ? 208 : 200;
    words[later ? 76 : 66] = 32;
    words[later ? 80 : 70] = 40;
}

static bool parse(const uint64_t *words, struct python_layout *out_layout)
{
    return python_layout_parse((const uint8_t *)words, PYTHON_OFFSETS_BYTES, out_layout);
}

static void known_ones_are_there(void)
{
    struct python_layout layout;

    for (unsigned minor = 8; minor <= 12; minor++) {
        REQUIRE(python_layout_known(minor, &layout));
        CHECK_UINT(layout.minor, minor);
        CHECK(layout.chain.frame_previous < CHAIN_BLOB && layout.chain.frame_code < CHAIN_BLOB &&
              layout.chain.frame_instruction + 8 <= CHAIN_BLOB);
        CHECK_UINT(layout.chain.shim_owner != 0, layout.calls == PYTHON_SHIMS);
    }
    CHECK(!python_layout_known(7, &layout));
    CHECK(!python_layout_known(13, &layout));
}

static void own_words_are_taken(void)
{
    struct python_layout layout;
    uint64_t words[WORDS];

    for (unsigned minor = 13; minor <= 14; minor++) {
        fill(words, minor);
        REQUIRE(parse(words, &layout));
        CHECK_UINT(layout.minor, minor);
        CHECK_UINT(layout.chain.thread_frame, 72);
        CHECK_UINT(layout.chain.thread_id, 152);
        CHECK_UINT(layout.chain.frame_instruction, 56);
        CHECK_UINT(layout.chain.frame_owner, minor == 13 ? 70 : 74);
        CHECK_UINT(layout.code_instructions, minor == 13 ? 200 : 208);
        CHECK_UINT(layout.interpreter_threads, 7344);
    }
}

static void others_are_refused(void)
{
    struct python_layout layout;
    uint64_t words[WORDS];

    fill(words, 13);
    words[2] = 1; /* without the global lock */
    CHECK(!parse(words, &layout));
    fill(words, 13);
    words[1] = 3ull << 24 | 15ull << 16;
    CHECK(!parse(words, &layout));
    fill(words, 13);
    memcpy(words, "xdebugpx", 8);
    CHECK(!parse(words, &layout));
    fill(words, 14);
    words[33] = CHAIN_BLOB; /* the code is behind what is read of a frame */
    CHECK(!parse(words, &layout));
    fill(words, 14);
    words[9] = UINT64_MAX;
    CHECK(!parse(words, &layout));
    fill(words, 14);
    words[43] = 208; /* the table of lines is behind the code object */
    CHECK(!parse(words, &layout));
    fill(words, 14);
    CHECK(!python_layout_parse((const uint8_t *)words, 80 * 8, &layout));
    CHECK(!python_layout_parse((const uint8_t *)words, 4, &layout));
}

TAP_MAIN(TAP_CASE(known_ones_are_there), TAP_CASE(own_words_are_taken),
         TAP_CASE(others_are_refused))
