// SPDX-License-Identifier: Apache-2.0
/* The one door to the heap: see alloc.h. */
#include "base/alloc.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static atomic_long allocations_until_failure = -1;

void ifg_alloc_fail_after(long successes)
{
    atomic_store(&allocations_until_failure, successes);
}

static int should_fail(void)
{
    long left = atomic_load_explicit(&allocations_until_failure, memory_order_relaxed);

    if (left < 0)
        return 0;
    return atomic_fetch_sub(&allocations_until_failure, 1) == 0;
}

void *ifg_alloc(size_t count, size_t size)
{
    if (should_fail())
        return NULL;
    return calloc(count ? count : 1, size ? size : 1);
}

void *ifg_realloc(void *block, size_t count, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(count, size, &bytes) || should_fail())
        return NULL;
    return realloc(block, bytes ? bytes : 1);
}

char *ifg_strndup(const char *text, size_t length)
{
    char *copy = length < SIZE_MAX ? ifg_alloc(length + 1, 1) : NULL;

    if (copy)
        memcpy(copy, text, length);
    return copy;
}

char *ifg_strdup(const char *text)
{
    return ifg_strndup(text, strlen(text));
}

void ifg_free(void *block)
{
    free(block);
}

void ifg_free_foreign(void *block)
{
    free(block);
}
