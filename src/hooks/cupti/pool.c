// SPDX-License-Identifier: Apache-2.0
/* Buffers for CUPTI's records: see hook.h. */
#include <sys/mman.h>

#include "hooks/cupti/hook.h"

static char *pool;
static uint32_t free_bits; /* a bit for each that is free */

_Static_assert(POOL_BUFFERS == 32, "one bit for each");

bool pool_create(void)
{
    void *memory;

    if (pool)
        return true;
    memory = mmap(NULL, POOL_BUFFERS * POOL_BUFFER_BYTES, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    pool = memory;
    __atomic_store_n(&free_bits, UINT32_MAX, __ATOMIC_RELEASE);
    return true;
}

void *pool_take(void)
{
    uint32_t bits = __atomic_load_n(&free_bits, __ATOMIC_RELAXED);

    while (bits) {
        uint32_t taken = (uint32_t)__builtin_ctz(bits);

        if (__atomic_compare_exchange_n(&free_bits, &bits, bits & ~(1u << taken), false,
                                        __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return pool + taken * POOL_BUFFER_BYTES;
    }
    return NULL;
}

void pool_give(void *buffer)
{
    size_t offset = (size_t)((char *)buffer - pool);

    if (pool && (char *)buffer >= pool && offset < POOL_BUFFERS * POOL_BUFFER_BYTES)
        __atomic_fetch_or(&free_bits, 1u << (offset / POOL_BUFFER_BYTES), __ATOMIC_RELEASE);
}

unsigned pool_used(void)
{
    return pool ? POOL_BUFFERS -
                      (unsigned)__builtin_popcount(__atomic_load_n(&free_bits, __ATOMIC_RELAXED))
                : 0;
}
