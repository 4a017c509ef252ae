// SPDX-License-Identifier: Apache-2.0
/* Patterns of x86-64 and aarch64 code that load an address. */
#include "symbol/code.h"

#include <string.h>

#define JUMPS_MAX    4
#define LANDING_SIZE 4u /* of endbr64 and of bti */
#define ADRP_REACH   8  /* instructions within which the lower half follows */

struct found {
    struct elf_file *elf;
    uint64_t *items;
    size_t count;
    size_t capacity;
};

static void add(struct found *found, uint64_t address)
{
    if (found->count < found->capacity)
        found->items[found->count++] = address;
}

/* The address stands in memory, in the global offset table. */
static void add_loaded(struct found *found, uint64_t from)
{
    uint64_t address;

    if (elf_file_pointer(found->elf, from, &address))
        add(found, address);
}

static uint32_t word_at(const uint8_t *bytes)
{
    uint32_t word;

    memcpy(&word, bytes, sizeof word);
    return word;
}

/* 32 bits with a sign, as an addend to an address. */
static uint64_t signed_at(const uint8_t *bytes)
{
    return (uint64_t)(int64_t)(int32_t)word_at(bytes);
}

static bool is_landing(enum elf_machine machine, const uint8_t *bytes)
{
    uint32_t word = word_at(bytes);

    if (machine == ELF_X86_64)
        return word == 0xfa1e0ff3;            /* endbr64 */
    return (word & 0xffffff3f) == 0xd503241f; /* bti, bti c, bti j, bti jc */
}

static void scan_x86(struct found *found, uint64_t vaddr, const uint8_t *code, size_t size)
{
    bool fixed = elf_file_has_fixed_address(found->elf);

    for (size_t i = 0; i + 5 <= size; i++) {
        const uint8_t *at = code + i;
        bool wide = (at[0] & 0xfb) == 0x48; /* REX.W, low or high register */

        if (i + 7 <= size && wide && (at[2] & 0xc7) == 0x05) {
            uint64_t address = vaddr + i + 7 + signed_at(at + 3);

            if (at[1] == 0x8d) /* lea address(%rip), %reg */
                add(found, address);
            else if (at[1] == 0x8b) /* mov slot(%rip), %reg */
                add_loaded(found, address);
        }
        if (fixed && i + 7 <= size && (at[0] & 0xfe) == 0x48 && at[1] == 0xc7 &&
            (at[2] & 0xf8) == 0xc0) /* mov $address, %reg of 64 bits */
            add(found, signed_at(at + 3));
        else if (fixed && (at[0] & 0xf8) == 0xb8) /* mov $address, %reg of 32 bits */
            add(found, word_at(at + 1));
    }
}

/* adr and adrp: a signed number of 21 bits, the lowest two of them apart. */
static uint64_t adr_immediate(uint32_t word)
{
    uint64_t bits = (uint64_t)(word >> 5 & 0x7ffff) << 2 | (word >> 29 & 3);

    return bits & 0x100000 ? bits | ~(uint64_t)0x1fffff : bits;
}

/* The instructions after an adrp into `reg` that complete its address. */
static void scan_page(struct found *found, uint64_t page, uint32_t reg, const uint8_t *code,
                      size_t size)
{
    for (size_t i = 0; i + 4 <= size && i < (size_t)4 * ADRP_REACH; i += 4) {
        uint32_t word = word_at(code + i);
        uint64_t immediate = word >> 10 & 0xfff;

        if ((word & 0x9f000000) == 0x90000000 && (word & 31) == reg)
            return; /* another adrp into the same register */
        if ((word >> 5 & 31) != reg)
            continue;
        if ((word & 0xff800000) == 0x91000000) /* add, its immediate perhaps shifted by 12 */
            add(found, page + (word >> 22 & 1 ? immediate << 12 : immediate));
        else if ((word & 0xffc00000) == 0xf9400000) /* ldr of 64 bits */
            add_loaded(found, page + 8 * immediate);
        else
            continue;
        if ((word & 31) == reg)
            return;
    }
}

static void scan_aarch64(struct found *found, uint64_t vaddr, const uint8_t *code, size_t size)
{
    for (size_t i = 0; i + 4 <= size; i += 4) {
        uint32_t word = word_at(code + i);

        if ((word & 0x9f000000) == 0x10000000) /* adr */
            add(found, vaddr + i + adr_immediate(word));
        else if ((word & 0x9f000000) == 0x90000000) /* adrp */
            scan_page(found, ((vaddr + i) & ~(uint64_t)0xfff) + (adr_immediate(word) << 12),
                      word & 31, code + i + 4, size - i - 4);
    }
}

/* Whether a function does nothing but jump to another one. */
static bool jump_target(enum elf_machine machine, uint64_t vaddr, const uint8_t *code, size_t size,
                        uint64_t *out_target)
{
    size_t at = size >= LANDING_SIZE && is_landing(machine, code) ? LANDING_SIZE : 0;

    if (machine == ELF_X86_64 && size >= at + 5 && code[at] == 0xe9) {
        *out_target = vaddr + at + 5 + signed_at(code + at + 1);
        return true;
    }
    if (machine == ELF_AARCH64 && size >= at + 4 &&
        (word_at(code + at) & 0xfc000000) == 0x14000000) {
        uint64_t distance = word_at(code + at) & 0x03ffffff;

        if (distance & 0x02000000)
            distance |= ~(uint64_t)0x03ffffff;
        *out_target = vaddr + at + (distance << 2);
        return true;
    }
    return false;
}

size_t code_addresses(struct elf_file *elf, uint64_t function, size_t window, uint64_t *out,
                      size_t capacity)
{
    struct found found = { .elf = elf, .items = out, .capacity = capacity };
    enum elf_machine machine = elf_file_machine(elf);
    uint8_t code[CODE_WINDOW_MAX];
    size_t size = 0;

    if (window > sizeof code)
        window = sizeof code;
    for (unsigned i = 0; i < JUMPS_MAX; i++) {
        struct elf_position position;

        if (!elf_file_locate(elf, function, &position) || !position.executable)
            return 0;
        size = elf_file_read(elf, function, code, window);
        if (!jump_target(machine, function, code, size, &function))
            break;
        window = sizeof code; /* the size of the first is not that of the next */
    }
    if (machine == ELF_X86_64)
        scan_x86(&found, function, code, size);
    else if (!(function & 3))
        scan_aarch64(&found, function, code, size);
    return found.count;
}

bool code_probe_offset(struct elf_file *elf, uint64_t vaddr, uint64_t *out_offset)
{
    enum elf_machine machine = elf_file_machine(elf);
    struct elf_position position;
    uint8_t start[LANDING_SIZE + 4];
    size_t size;

    *out_offset = 0;
    if (!elf_file_locate(elf, vaddr, &position) || !position.executable ||
        (machine == ELF_AARCH64 && (vaddr & 3)))
        return false;
    size = elf_file_read(elf, vaddr, start, sizeof start);
    if (size < LANDING_SIZE || word_at(start) == 0)
        return false; /* no machine has code of zeroes */
    *out_offset = position.file_offset;
    if (size == sizeof start && is_landing(machine, start))
        *out_offset += LANDING_SIZE;
    return true;
}
