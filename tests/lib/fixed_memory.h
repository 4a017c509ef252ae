// SPDX-License-Identifier: Apache-2.0
/*
 * A fuzzer's input as the memory of a process: always at the same address, so that pointers in it
 * mean the same in every run, with nothing readable around it. Who reads another process reads this
 * one.
 */
#ifndef IFG_TESTS_FIXED_MEMORY_H
#define IFG_TESTS_FIXED_MEMORY_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define FIXED_MEMORY_BASE  0x200000000000ull
#define FIXED_MEMORY_BYTES 65536u

/* The rest of it is zero. */
static inline void fixed_memory_fill(const uint8_t *data, size_t size)
{
    static uint8_t *memory;

    if (!memory) {
        void *wanted = (void *)(uintptr_t)FIXED_MEMORY_BASE; /* NOLINT(performance-no-int-to-ptr) */

        memory = mmap(wanted, FIXED_MEMORY_BYTES, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (memory != wanted)
            abort();
    }
    if (size > FIXED_MEMORY_BYTES)
        size = FIXED_MEMORY_BYTES;
    if (size)
        memcpy(memory, data, size);
    memset(memory + size, 0, FIXED_MEMORY_BYTES - size);
}

#endif
