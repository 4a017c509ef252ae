// SPDX-License-Identifier: Apache-2.0
/* Instructions by their bytes. */
#include "symbol/disassemble.h"

#include <string.h>

#include "tap.h"

static void plain(void)
{
    static const uint8_t add[] = { 0x48, 0x01, 0xd8 };
    /* vpdpbusd zmm0, zmm1, zmm2: of the extensions that models use */
    static const uint8_t vnni[] = { 0x62, 0xf2, 0x75, 0x48, 0x50, 0xc2 };
    struct disassembled out;

    CHECK(disassemble(add, sizeof add, 0x1000, &out));
    CHECK_UINT(out.length, 3);
    CHECK_STR(out.text, "add rax, rbx");
    CHECK(!out.jumps && !out.calls && !out.has_target);
    CHECK(disassemble(vnni, sizeof vnni, 0x1000, &out));
    CHECK_STR(out.text, "vpdpbusd zmm0, zmm1, zmm2");
}

static void jumps(void)
{
    static const uint8_t loop[] = { 0x75, 0xfc };
    static const uint8_t call[] = { 0xe8, 0x10, 0x00, 0x00, 0x00 };
    static const uint8_t through[] = { 0xff, 0xe0 };
    struct disassembled out;

    CHECK(disassemble(loop, sizeof loop, 0x2000, &out));
    CHECK(out.jumps && out.has_target);
    CHECK_UINT(out.target, 0x1ffe);
    CHECK(disassemble(call, sizeof call, 0x2000, &out));
    CHECK(out.calls && !out.jumps && out.has_target);
    CHECK_UINT(out.target, 0x2015);
    CHECK(disassemble(through, sizeof through, 0x2000, &out));
    CHECK(out.jumps && !out.has_target);
}

static void nonsense(void)
{
    static const uint8_t cut[] = { 0x48 };
    static const uint8_t bad[] = { 0x06, 0x90 };
    struct disassembled out;

    CHECK(!disassemble(cut, sizeof cut, 0, &out));
    CHECK_UINT(out.length, 1);
    CHECK_STR(out.text, ".byte 0x48");
    CHECK(!disassemble(bad, sizeof bad, 0, &out));
    CHECK_UINT(out.length, 1);
    CHECK(!disassemble(bad, 0, 0, &out));
    CHECK_UINT(out.length, 0);
    CHECK(disassemble_knows("x86_64"));
    CHECK(!disassemble_knows("aarch64"));
}

TAP_MAIN(TAP_CASE(plain), TAP_CASE(jumps), TAP_CASE(nonsense))
