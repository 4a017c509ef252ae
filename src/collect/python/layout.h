// SPDX-License-Identifier: Apache-2.0
/*
 * Where CPython keeps what a chain of calls is made of. Since 3.13 an interpreter tells that itself
 * (_Py_DebugOffsets, at the begin of _PyRuntime); for 3.8 to 3.12 it is known here, for 64 bits.
 * Either way nothing that is found with it is believed before it was checked (python.h).
 */
#ifndef IFG_COLLECT_PYTHON_LAYOUT_H
#define IFG_COLLECT_PYTHON_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/python/chain_record.h"

#define PYTHON_OFFSETS_BYTES 760u /* of the longest table of offsets that is read */

/* Which calls of a chain one call of the interpreter's C function runs. */
enum python_calls {
    PYTHON_EACH,  /* to 3.10: one each */
    PYTHON_FLAG,  /* 3.11: those up to one with a flag */
    PYTHON_SHIMS, /* since 3.12: those up to a frame that stands for the C function */
};

enum python_lines {
    PYTHON_LNOTAB, /* to 3.9: pairs of (bytes of code, lines) */
    PYTHON_RANGES, /* 3.10: the same for ranges, some of them without a line */
    PYTHON_PLACES, /* since 3.11: also columns */
};

struct python_layout {
    unsigned minor; /* of 3.x */
    struct chain_process chain;
    uint32_t runtime_interpreter; /* in _PyRuntime: a pointer to the first interpreter */
    uint32_t interpreter_next;    /* 0: that is the main one; else the main one is the last */
    uint32_t interpreter_threads;
    uint32_t thread_interpreter;
    uint32_t code_bytes; /* size of the fixed part, which is all that is read of it */
    uint32_t code_lines;
    uint32_t code_qualified_name; /* 0: there is none */
    uint32_t code_instructions;   /* 0: the instruction is a number */
    uint32_t instruction_unit;    /* bytes of code that one more in that number is */
    bool instruction_is_last;     /* an address of it is that of the last one, not the current */
    enum python_calls calls;
    enum python_lines lines;
    uint32_t ascii_bytes;   /* a text's header, if it is ASCII */
    uint32_t unicode_bytes; /* if not */
};

/* False: this version is not known. */
bool python_layout_known(unsigned minor, struct python_layout *out_layout);

/* What an interpreter since 3.13 says of itself: hostile bytes. False: another version, a build
 * without the global lock, or offsets that cannot be. */
bool python_layout_parse(const uint8_t *bytes, size_t size, struct python_layout *out_layout);

#endif
