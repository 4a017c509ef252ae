// SPDX-License-Identifier: Apache-2.0
/* Guessing where functions begin by reading the instructions between two that are known. */
#include "symbol/bounds.h"

#include <Zydis/Zydis.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "symbol/elf_file_internal.h"

#define REACH       ((uint64_t)1 << 20) /* bytes of a gap that are read to either side */
#define WINDOWS_MAX 64u
#define STARTS_MAX  (4u << 20)
#define ALIGNED     16u

#define LENGTH  0x0fu /* of the instruction that begins at a byte; 0: none begins there */
#define PADDING 0x10u
#define START   0x20u /* somebody refers to it */
#define PERHAPS 0x40u /* aligned, and nothing runs into it */

/* A part of a gap that has been read. */
struct window {
    uint64_t gap_start, gap_end;
    uint64_t start, end;
    struct found {
        uint64_t start, end;
    } * functions; /* by address */
    size_t count;
};

struct bounds {
    struct elf_file *elf;
    struct unwind_table *table;
    uint64_t *starts; /* told by pointers and symbols; sorted at the first search */
    size_t start_count, start_room;
    bool sorted;
    struct window windows[WINDOWS_MAX];
    size_t window_count;
};

struct bounds *bounds_create(struct elf_file *elf, struct unwind_table *table)
{
    struct bounds *bounds = ifg_alloc(1, sizeof *bounds);

    if (bounds) {
        bounds->elf = elf;
        bounds->table = table;
    }
    return bounds;
}

void bounds_destroy(struct bounds *bounds)
{
    if (!bounds)
        return;
    for (size_t i = 0; i < bounds->window_count; i++)
        ifg_free(bounds->windows[i].functions);
    ifg_free(bounds->starts);
    ifg_free(bounds);
}

void bounds_add_start(struct bounds *bounds, uint64_t address)
{
    if (!IFG_ARRAY_ROOM(bounds->starts, bounds->start_room, bounds->start_count + 1, STARTS_MAX))
        return;
    bounds->starts[bounds->start_count++] = address;
}

static int compare_addresses(const void *left, const void *right)
{
    uint64_t a, b;

    memcpy(&a, left, sizeof a);
    memcpy(&b, right, sizeof b);
    return a < b ? -1 : a > b;
}

/* Tables of functions hold pointers that the loader writes. */
static void sort_starts(struct bounds *bounds)
{
    const struct elf_relocation *relocations = NULL;
    size_t count = 0;

    bounds->sorted = true;
    if (elf_file_relocations(bounds->elf, &relocations, &count, NULL) != IFG_OK)
        count = 0;
    for (size_t i = 0; i < count; i++) {
        struct elf_position position;
        uint64_t target;

        if (elf_file_relocation_target(bounds->elf, &relocations[i], &target) &&
            elf_file_locate(bounds->elf, target, &position) && position.executable)
            bounds_add_start(bounds, target);
    }
    if (bounds->start_count)
        qsort(bounds->starts, bounds->start_count, sizeof *bounds->starts, compare_addresses);
}

/* ---- the gap ---- */

/* What no function of the table covers around an address, inside its segment. */
static bool find_gap(const struct bounds *bounds, uint64_t address, uint64_t *out_start,
                     uint64_t *out_end)
{
    const struct elf_segment *segment = NULL;
    uint64_t start, end;

    for (size_t i = 0; i < bounds->elf->segment_count && !segment; i++) {
        const struct elf_segment *one = &bounds->elf->segments[i];

        if (one->executable && address - one->vaddr < one->size)
            segment = one;
    }
    if (!segment || (bounds->table && !unwind_table_gap(bounds->table, address, &start, &end)))
        return false;
    *out_start = segment->vaddr;
    *out_end = segment->vaddr + segment->size;
    if (bounds->table && start > *out_start)
        *out_start = start;
    if (bounds->table && end < *out_end)
        *out_end = end;
    return *out_start <= address && address < *out_end;
}

/* ---- reading it ---- */

struct reading {
    const uint8_t *code;
    uint64_t start;
    size_t size;
    uint8_t *marks;   /* of each byte */
    int32_t *crossed; /* of each byte: how many jumps begin to lead across it, minus those ended */
    bool whole;       /* the gap begins here */
};

static bool is_padding(const ZydisDecodedInstruction *instruction, const uint8_t *code)
{
    return instruction->mnemonic == ZYDIS_MNEMONIC_NOP ||
           instruction->mnemonic == ZYDIS_MNEMONIC_INT3 ||
           (instruction->length == 2 && !code[0] && !code[1]);
}

static bool ends_a_run(const ZydisDecodedInstruction *instruction)
{
    return instruction->meta.category == ZYDIS_CATEGORY_RET ||
           instruction->meta.category == ZYDIS_CATEGORY_UNCOND_BR ||
           instruction->mnemonic == ZYDIS_MNEMONIC_UD2 ||
           instruction->mnemonic == ZYDIS_MNEMONIC_HLT;
}

/* Calls lead to functions. Jumps stay in theirs, but for a far one without a condition, which may
 * be a call whose return was left out. */
static void follow(struct reading *reading, const ZydisDecodedInstruction *instruction, size_t at)
{
    bool calls = instruction->meta.category == ZYDIS_CATEGORY_CALL;
    bool jumps = instruction->meta.category == ZYDIS_CATEGORY_COND_BR ||
                 (instruction->meta.category == ZYDIS_CATEGORY_UNCOND_BR &&
                  instruction->meta.branch_type == ZYDIS_BRANCH_TYPE_SHORT);
    uint64_t target;
    size_t low, high;

    if ((!calls && !jumps) || !instruction->raw.imm[0].is_relative)
        return;
    target = (uint64_t)at + instruction->length + (uint64_t)instruction->raw.imm[0].value.s;
    if (target >= reading->size)
        return;
    if (calls) {
        if (instruction->raw.imm[0].value.s) /* call of the next one: reads where it is */
            reading->marks[target] |= START;
        return;
    }
    low = target < at ? (size_t)target : at;
    high = target < at ? at : (size_t)target;
    reading->crossed[low + 1]++;
    reading->crossed[high + 1]--;
}

static void read_window(struct reading *reading)
{
    ZydisDecoder decoder;
    bool ended = reading->whole;
    bool first = reading->whole;

    if (ZYAN_FAILED(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)))
        return;
    for (size_t at = 0; at < reading->size;) {
        ZydisDecodedInstruction instruction;
        size_t length = 1;

        if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(&decoder, NULL, reading->code + at,
                                                      reading->size - at, &instruction))) {
            at++; /* data */
            continue;
        }
        length = instruction.length;
        for (size_t i = 1; i < length; i++)
            if (reading->marks[at + i] & START)
                length = i; /* a function begins inside: that was data */
        if (length < instruction.length) {
            at += length;
            continue;
        }
        reading->marks[at] |= (uint8_t)length;
        if (is_padding(&instruction, reading->code + at) && (ended || length == 1)) {
            reading->marks[at] |= PADDING;
            ended = ended || instruction.mnemonic == ZYDIS_MNEMONIC_INT3;
        } else {
            if (first || (ended && ((reading->start + at) % ALIGNED == 0 ||
                                    instruction.mnemonic == ZYDIS_MNEMONIC_ENDBR64)))
                reading->marks[at] |= first ? START : PERHAPS;
            first = false;
            follow(reading, &instruction, at);
            ended = ends_a_run(&instruction);
        }
        at += length;
    }
}

/* Behind the last instruction before `at` that is not padding. */
static size_t end_before(const struct reading *reading, size_t begin, size_t at)
{
    for (size_t i = at; i-- > begin;)
        if ((reading->marks[i] & LENGTH) && !(reading->marks[i] & PADDING)) {
            size_t end = i + (reading->marks[i] & LENGTH);

            return end < at ? end : at; /* a call may lead into an instruction */
        }
    return at;
}

static void list_functions(const struct reading *reading, struct window *window)
{
    size_t starts = 0, last = 0;
    int64_t across = 0;

    for (int pass = 0; pass < 2; pass++) {
        across = 0;
        window->count = 0;
        for (size_t at = 0; at < reading->size; at++) {
            across += reading->crossed[at];
            if (!(reading->marks[at] & START) && !(reading->marks[at] & PERHAPS && !across))
                continue;
            if (!pass) {
                starts++;
                continue;
            }
            if (window->count)
                window->functions[window->count - 1].end =
                    reading->start + end_before(reading, last, at);
            window->functions[window->count++].start = reading->start + at;
            last = at;
        }
        if (!pass && starts)
            window->functions = ifg_alloc(starts, sizeof *window->functions);
        if (!window->functions)
            return;
    }
    window->functions[window->count - 1].end =
        reading->start + end_before(reading, last, reading->size);
}

static void mark_starts(const struct bounds *bounds, struct reading *reading)
{
    size_t low = 0;

    for (size_t high = bounds->start_count; low < high;) {
        size_t middle = low + (high - low) / 2;

        if (bounds->starts[middle] < reading->start)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < bounds->start_count && bounds->starts[low] - reading->start < reading->size; low++)
        reading->marks[bounds->starts[low] - reading->start] |= START;
}

static const struct window *read_gap(struct bounds *bounds, uint64_t address, uint64_t gap_start,
                                     uint64_t gap_end)
{
    struct window window = { .gap_start = gap_start, .gap_end = gap_end };
    struct reading reading = { 0 };
    uint8_t *code = NULL;

    window.start =
        address - gap_start > REACH ? (address - REACH) & ~(uint64_t)(ALIGNED - 1) : gap_start;
    window.end = gap_end - address > REACH ? address + REACH : gap_end;
    reading.start = window.start;
    reading.whole = window.start == gap_start;
    reading.size = (size_t)(window.end - window.start);
    code = ifg_alloc(reading.size, 1);
    reading.marks = ifg_alloc(reading.size, 1);
    reading.crossed = ifg_alloc(reading.size + 1, sizeof *reading.crossed);
    if (code && reading.marks && reading.crossed) {
        reading.size = elf_file_read(bounds->elf, window.start, code, reading.size);
        reading.code = code;
        mark_starts(bounds, &reading);
        read_window(&reading);
        list_functions(&reading, &window);
    }
    ifg_free(code);
    ifg_free(reading.marks);
    ifg_free(reading.crossed);
    if (bounds->window_count == WINDOWS_MAX) /* the oldest goes */
        ifg_free(bounds->windows[0].functions);
    if (bounds->window_count == WINDOWS_MAX)
        memmove(bounds->windows, bounds->windows + 1,
                --bounds->window_count * sizeof *bounds->windows);
    bounds->windows[bounds->window_count] = window;
    return &bounds->windows[bounds->window_count++];
}

/* Whether what a window knows about an address does not depend on where it was cut. */
static bool covers(const struct window *window, uint64_t address)
{
    return address >= window->start && address < window->end &&
           (window->start == window->gap_start || address - window->start >= BOUNDS_FUNCTION_MAX) &&
           (window->end == window->gap_end || window->end - address >= BOUNDS_FUNCTION_MAX);
}

bool bounds_find(struct bounds *bounds, uint64_t address, uint64_t *out_start, uint64_t *out_size)
{
    const struct window *window = NULL;
    uint64_t start, end;
    size_t low = 0;

    *out_start = *out_size = 0;
    if (elf_file_machine(bounds->elf) != ELF_X86_64 || !find_gap(bounds, address, &start, &end))
        return false;
    if (!bounds->sorted)
        sort_starts(bounds);
    for (size_t i = bounds->window_count; i-- > 0 && !window;)
        if (covers(&bounds->windows[i], address))
            window = &bounds->windows[i];
    if (!window)
        window = read_gap(bounds, address, start, end);
    for (size_t high = window->count; low < high;) {
        size_t middle = low + (high - low) / 2;

        if (window->functions[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low || address >= window->functions[low - 1].end)
        return false;
    start = window->functions[low - 1].start;
    end = window->functions[low - 1].end;
    start += (address - start) / BOUNDS_FUNCTION_MAX * BOUNDS_FUNCTION_MAX;
    *out_start = start;
    *out_size = end - start < BOUNDS_FUNCTION_MAX ? end - start : BOUNDS_FUNCTION_MAX;
    return true;
}
