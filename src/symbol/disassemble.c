// SPDX-License-Identifier: Apache-2.0
/* Instructions as text and where their jumps lead, by Zydis (x86-64). */
#include "symbol/disassemble.h"

#include <Zydis/Zydis.h>
#include <stdio.h>
#include <string.h>

bool disassemble_knows(const char *machine)
{
    return strcmp(machine, "x86_64") == 0;
}

static void take_target(const ZydisDecodedInstruction *instruction,
                        const ZydisDecodedOperand *operands, uint64_t address,
                        struct disassembled *out)
{
    ZyanU64 target;

    out->jumps = instruction->meta.category == ZYDIS_CATEGORY_COND_BR ||
                 instruction->meta.category == ZYDIS_CATEGORY_UNCOND_BR;
    out->calls = instruction->meta.category == ZYDIS_CATEGORY_CALL;
    if ((!out->jumps && !out->calls) || !instruction->operand_count_visible ||
        operands[0].type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
        return;
    if (ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(instruction, &operands[0], address, &target))) {
        out->has_target = true;
        out->target = target;
    }
}

bool disassemble(const uint8_t *bytes, size_t size, uint64_t address, struct disassembled *out)
{
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    ZydisDecodedInstruction instruction;
    ZydisFormatter formatter;
    ZydisDecoder decoder;

    memset(out, 0, sizeof *out);
    if (!size)
        return false;
    if (ZYAN_FAILED(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
        ZYAN_FAILED(ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_INTEL)) ||
        ZYAN_FAILED(ZydisFormatterSetProperty(
            &formatter, ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE, ZYDIS_PADDING_DISABLED)) ||
        ZYAN_FAILED(ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_HEX_UPPERCASE,
                                              ZYAN_FALSE)) ||
        ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder, bytes, size, &instruction, operands)) ||
        ZYAN_FAILED(ZydisFormatterFormatInstruction(&formatter, &instruction, operands,
                                                    instruction.operand_count_visible, out->text,
                                                    sizeof out->text, address, ZYAN_NULL))) {
        out->length = 1;
        snprintf(out->text, sizeof out->text, ".byte 0x%02x", bytes[0]);
        return false;
    }
    out->length = instruction.length;
    take_target(&instruction, operands, address, out);
    return true;
}
