// SPDX-License-Identifier: Apache-2.0
/* Machine code for people: one instruction after the other, x86-64 only (Zydis). */
#ifndef IFG_SYMBOL_DISASSEMBLE_H
#define IFG_SYMBOL_DISASSEMBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DISASSEMBLED_TEXT 120

struct disassembled {
    uint8_t length;
    bool jumps; /* also where it does so only sometimes */
    bool calls;
    bool has_target; /* of a jump or call, where the instruction itself says it */
    uint64_t target;
    char text[DISASSEMBLED_TEXT]; /* Intel's way */
};

/* Whether code of this machine ("x86_64", as uname has it) can be read. */
bool disassemble_knows(const char *machine);

/* The instruction at the begin of bytes; false if there is none: then it is one byte long, and its
 * text is that byte. */
bool disassemble(const uint8_t *bytes, size_t size, uint64_t address, struct disassembled *out);

#endif
