// SPDX-License-Identifier: Apache-2.0
/* See layout.h. Numbers of 3.8 to 3.12 are those of their headers, for x86-64 and aarch64. */
#include "collect/python/layout.h"

#include <string.h>

#define SHIM_OWNER   3u  /* FRAME_OWNED_BY_CSTACK, later FRAME_OWNED_BY_INTERPRETER, and above */
#define CODE_VERSION 92u /* in 3.13 and 3.14, which do not tell it */
#define OFFSET_MAX   (64u << 10) /* in an interpreter; structures of less are smaller */

/* What holds for all of them: the first words of a thread's state, and texts. */
#define COMMON .chain.thread_next = 8, .chain.text_hash = 24, .thread_interpreter = 16

static const struct python_layout known[] = {
    {
        COMMON,
        .minor = 8,
        .chain.thread_id = 176,
        .chain.thread_frame = 24,
        .chain.frame_code = 32,
        .chain.frame_previous = 24,
        .chain.frame_instruction = 104,
        .chain.instruction_bits = 32,
        .chain.code_from = 40,
        .chain.code_line = 40,
        .chain.code_file = 104,
        .chain.code_name = 112,
        .runtime_interpreter = 40,
        .interpreter_threads = 8,
        .code_bytes = 176,
        .code_lines = 120,
        .instruction_unit = 1,
        .calls = PYTHON_EACH,
        .lines = PYTHON_LNOTAB,
        .ascii_bytes = 48,
        .unicode_bytes = 72,
    },
    {
        COMMON,
        .minor = 9,
        .chain.thread_id = 176,
        .chain.thread_frame = 24,
        .chain.frame_code = 32,
        .chain.frame_previous = 24,
        .chain.frame_instruction = 104,
        .chain.instruction_bits = 32,
        .chain.code_from = 40,
        .chain.code_line = 40,
        .chain.code_file = 104,
        .chain.code_name = 112,
        .runtime_interpreter = 40,
        .interpreter_threads = 8,
        .code_bytes = 176,
        .code_lines = 120,
        .instruction_unit = 1,
        .calls = PYTHON_EACH,
        .lines = PYTHON_LNOTAB,
        .ascii_bytes = 48,
        .unicode_bytes = 72,
    },
    {
        COMMON,
        .minor = 10,
        .chain.thread_id = 176,
        .chain.thread_frame = 24,
        .chain.frame_code = 32,
        .chain.frame_previous = 24,
        .chain.frame_instruction = 96,
        .chain.instruction_bits = 32,
        .chain.code_from = 40,
        .chain.code_line = 40,
        .chain.code_file = 104,
        .chain.code_name = 112,
        .runtime_interpreter = 40,
        .interpreter_threads = 8,
        .code_bytes = 176,
        .code_lines = 120,
        .instruction_unit = 2,
        .calls = PYTHON_EACH,
        .lines = PYTHON_RANGES,
        .ascii_bytes = 48,
        .unicode_bytes = 72,
    },
    {
        COMMON,
        .minor = 11,
        .chain.thread_id = 152,
        .chain.thread_frame = 56,
        .chain.thread_indirect = 1,
        .chain.indirect_frame = 8,
        .chain.frame_code = 32,
        .chain.frame_previous = 48,
        .chain.frame_instruction = 56,
        .chain.frame_owner = 68, /* is_entry */
        .chain.instruction_bits = 64,
        .chain.code_from = 64,
        .chain.code_line = 72,
        .chain.code_file = 112,
        .chain.code_name = 120,
        .runtime_interpreter = 48,
        .interpreter_threads = 16,
        .code_bytes = 184,
        .code_lines = 136,
        .code_qualified_name = 128,
        .code_instructions = 184,
        .instruction_unit = 1,
        .calls = PYTHON_FLAG,
        .lines = PYTHON_PLACES,
        .ascii_bytes = 48,
        .unicode_bytes = 72,
    },
    {
        COMMON,
        .minor = 12,
        .chain.thread_id = 136,
        .chain.thread_frame = 56,
        .chain.thread_indirect = 1,
        .chain.indirect_frame = 0,
        .chain.frame_code = 0,
        .chain.frame_previous = 8,
        .chain.frame_instruction = 56,
        .chain.frame_owner = 70,
        .chain.shim_owner = SHIM_OWNER,
        .chain.instruction_bits = 64,
        .chain.code_from = 64,
        .chain.code_line = 68,
        .chain.code_version = 92,
        .chain.code_file = 112,
        .chain.code_name = 120,
        .runtime_interpreter = 48,
        .interpreter_threads = 72,
        .code_bytes = 192,
        .code_lines = 136,
        .code_qualified_name = 128,
        .code_instructions = 192,
        .instruction_unit = 1,
        .calls = PYTHON_SHIMS,
        .lines = PYTHON_PLACES,
        .ascii_bytes = 40,
        .unicode_bytes = 56,
    },
};

bool python_layout_known(unsigned minor, struct python_layout *out_layout)
{
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].minor == minor) {
            *out_layout = known[i];
            return true;
        }
    return false;
}

/* Where the numbers are in the two tables of offsets that there are, in words. */
struct table {
    unsigned minor;
    uint8_t interpreters_head, interpreter_next, threads_head;
    uint8_t thread_next, thread_interpreter, current_frame, thread_id;
    uint8_t frame_previous, frame_executable, frame_instruction, frame_owner;
    uint8_t code_file, code_name, code_qualified_name, code_lines, code_line, code_instructions;
    uint8_t bytes_value, text_ascii;
};

#define FREE_THREADED 2u

static const struct table tables[] = {
    {
        .minor = 13,
        .interpreters_head = 5,
        .interpreter_next = 8,
        .threads_head = 9,
        .thread_next = 21,
        .thread_interpreter = 22,
        .current_frame = 23,
        .thread_id = 24,
        .frame_previous = 29,
        .frame_executable = 30,
        .frame_instruction = 31,
        .frame_owner = 33,
        .code_file = 35,
        .code_name = 36,
        .code_qualified_name = 37,
        .code_lines = 38,
        .code_line = 39,
        .code_instructions = 43,
        .bytes_value = 66,
        .text_ascii = 70,
    },
    {
        .minor = 14,
        .interpreters_head = 5,
        .interpreter_next = 8,
        .threads_head = 9,
        .thread_next = 24,
        .thread_interpreter = 25,
        .current_frame = 26,
        .thread_id = 27,
        .frame_previous = 32,
        .frame_executable = 33,
        .frame_instruction = 34,
        .frame_owner = 36,
        .code_file = 40,
        .code_name = 41,
        .code_qualified_name = 42,
        .code_lines = 43,
        .code_line = 44,
        .code_instructions = 48,
        .bytes_value = 76,
        .text_ascii = 80,
    },
};

struct offsets {
    const uint8_t *bytes;
    size_t size;
    bool failed;
};

static uint64_t word(const struct offsets *offsets, size_t index)
{
    uint64_t value = 0;

    if (index * 8 + 8 <= offsets->size)
        memcpy(&value, offsets->bytes + index * 8, sizeof value);
    return value;
}

/* An offset: less than the limit. */
static uint32_t take(struct offsets *offsets, size_t index, uint32_t limit)
{
    uint64_t value = word(offsets, index);

    if (index * 8 + 8 > offsets->size || value >= limit)
        offsets->failed = true;
    return offsets->failed ? 0 : (uint32_t)value;
}

/* What makes up the fingerprint of code lies in what is read at once, on a word of its own. */
static bool fits(const struct chain_process *chain, uint32_t offset, uint32_t size)
{
    return offset >= chain->code_from && offset % size == 0 &&
           offset - chain->code_from + size <= CHAIN_CODE;
}

bool python_layout_parse(const uint8_t *bytes, size_t size, struct python_layout *out_layout)
{
    struct offsets offsets = { bytes, size, false };
    const struct table *table = NULL;
    struct python_layout layout = { COMMON, .calls = PYTHON_SHIMS, .lines = PYTHON_PLACES };
    uint64_t version = word(&offsets, 1);

    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        if (version >> 24 == 3 && (version >> 16 & 0xff) == tables[i].minor)
            table = &tables[i];
    if (!table || size < 8 || memcmp(bytes, "xdebugpy", 8) != 0 || word(&offsets, FREE_THREADED))
        return false;
    layout.minor = table->minor;
    layout.runtime_interpreter = take(&offsets, table->interpreters_head, OFFSET_MAX);
    layout.interpreter_next = take(&offsets, table->interpreter_next, OFFSET_MAX);
    layout.interpreter_threads = take(&offsets, table->threads_head, OFFSET_MAX);
    layout.chain.thread_next = take(&offsets, table->thread_next, OFFSET_MAX);
    layout.thread_interpreter = take(&offsets, table->thread_interpreter, OFFSET_MAX);
    layout.chain.thread_frame = take(&offsets, table->current_frame, OFFSET_MAX);
    layout.chain.thread_id = take(&offsets, table->thread_id, OFFSET_MAX);
    layout.chain.frame_previous = take(&offsets, table->frame_previous, CHAIN_BLOB - 8);
    layout.chain.frame_code = take(&offsets, table->frame_executable, CHAIN_BLOB - 8);
    layout.chain.frame_instruction = take(&offsets, table->frame_instruction, CHAIN_BLOB - 8);
    layout.chain.frame_owner = take(&offsets, table->frame_owner, CHAIN_BLOB);
    layout.chain.instruction_bits = 64;
    layout.chain.shim_owner = SHIM_OWNER;
    layout.code_instructions = take(&offsets, table->code_instructions, 1024);
    layout.code_bytes = layout.code_instructions;
    layout.chain.code_file = take(&offsets, table->code_file, 1016);
    layout.chain.code_name = take(&offsets, table->code_name, 1016);
    layout.code_qualified_name = take(&offsets, table->code_qualified_name, 1016);
    layout.code_lines = take(&offsets, table->code_lines, 1016);
    layout.chain.code_line = take(&offsets, table->code_line, 1016);
    layout.chain.code_from = layout.chain.code_line & ~7u;
    layout.chain.code_version = CODE_VERSION;
    layout.instruction_unit = 1;
    layout.ascii_bytes = take(&offsets, table->text_ascii, 256);
    layout.unicode_bytes = layout.ascii_bytes + 16;
    if (offsets.failed || word(&offsets, table->bytes_value) != 32 || layout.ascii_bytes != 40 ||
        layout.chain.frame_previous % 8 || layout.chain.frame_code % 8 ||
        layout.chain.frame_instruction % 8 || !layout.chain.frame_owner ||
        !fits(&layout.chain, layout.chain.code_file, 8) ||
        !fits(&layout.chain, layout.chain.code_name, 8) ||
        !fits(&layout.chain, layout.chain.code_version, 4) ||
        layout.chain.code_from + CHAIN_CODE > layout.code_bytes ||
        layout.code_qualified_name + 8 > layout.code_bytes ||
        layout.code_lines + 8 > layout.code_bytes)
        return false;
    *out_layout = layout;
    return true;
}
