// SPDX-License-Identifier: Apache-2.0
/*
 * Stacks that lie, over files that lie. Strategies:
 *
 * 1. The input is an ELF file and, behind it, registers and a stack; the last four bytes say how
 *    long those are. The file is mapped twice, with its unwind table and without.
 * 2. The same stack is walked again with the trail of the first walk, and cut in half.
 *
 * A walk ends, within its bounds, and says where each of its frames is.
 */
#include "symbol/unwind.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAPPED    0x100000000ull
#define REGISTERS (3 * sizeof(uint64_t))

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void walk(struct unwind_space *space, const struct unwind_stack *stack,
                 struct unwind_trail *trail)
{
    struct unwind_frames frames;

    unwind_walk(space, stack, trail, &frames);
    if (frames.count > UNWIND_FRAMES_MAX || frames.exact > frames.count ||
        frames.kept > frames.count || frames.stop >= UNWIND_STOPS ||
        !unwind_stop_name(frames.stop)[0])
        abort();
    for (size_t i = 0; i < frames.count; i++) {
        uint64_t address;

        unwind_frame_code(space, &frames, i, &address);
    }
}

static void walk_all(struct elf_file *elf, struct unwind_table *table, const uint8_t *stack,
                     size_t size)
{
    struct unwind_cache *cache = unwind_cache_create();
    struct unwind_space *space = cache ? unwind_space_create(cache) : NULL;
    struct unwind_trail *trail = unwind_trail_create();
    struct unwind_mapping mapping = {
        .start = MAPPED, .end = MAPPED + 0x100000, .bias = MAPPED, .table = table, .elf = elf
    };
    uint64_t registers[3];
    struct unwind_stack copy = { .sp = 0 };

    memcpy(registers, stack, REGISTERS);
    copy = (struct unwind_stack){ registers[0],      registers[1],    registers[2], 0,
                                  stack + REGISTERS, size - REGISTERS };
    if (space && trail && unwind_space_map(space, &mapping, NULL) == IFG_OK) {
        mapping.start += 0x1000000;
        mapping.end += 0x1000000;
        mapping.bias += 0x1000000;
        mapping.table = NULL;
        if (unwind_space_map(space, &mapping, NULL) == IFG_OK) {
            walk(space, &copy, trail);
            walk(space, &copy, trail);
            copy.size /= 2;
            walk(space, &copy, NULL);
        }
    }
    unwind_trail_destroy(trail);
    unwind_space_destroy(space);
    unwind_cache_destroy(cache);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int file = -1;
    struct elf_file *elf = NULL;
    struct unwind_table *table = NULL;
    uint32_t stack_bytes;

    if (size < sizeof stack_bytes)
        return 0;
    size -= sizeof stack_bytes;
    memcpy(&stack_bytes, data + size, sizeof stack_bytes);
    if (stack_bytes < REGISTERS || stack_bytes > size)
        return 0;
    size -= stack_bytes;
    if (file < 0)
        file = memfd_create("fuzz", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, 0) || pwrite(file, data, size, 0) != (ssize_t)size ||
        elf_file_open_fd(file, "fuzz", &elf, NULL) != IFG_OK)
        return 0;
    if (unwind_table_build(elf, &table, NULL) != IFG_OK)
        table = NULL;
    walk_all(elf, table, data + size, stack_bytes);
    unwind_table_destroy(table);
    elf_file_close(elf);
    return 0;
}
