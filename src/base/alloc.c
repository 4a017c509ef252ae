// SPDX-License-Identifier: Apache-2.0
/* The one door to the heap: see alloc.h. */
#include "base/alloc.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
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

/* ---- the limit ---- */

static size_t limit; /* 0: none */
static atomic_size_t used;
static atomic_size_t refused_wanted;
static atomic_size_t refused_used;

void ifg_alloc_limit(size_t bytes)
{
    limit = bytes;
    atomic_store(&used, 0);
    atomic_store(&refused_wanted, 0);
}

size_t ifg_alloc_left(void)
{
    size_t now = atomic_load(&used);

    return !limit ? SIZE_MAX : now < limit ? limit - now : 0;
}

bool ifg_alloc_take(size_t bytes)
{
    size_t before;

    if (!limit)
        return true;
    before = atomic_fetch_add_explicit(&used, bytes, memory_order_relaxed);
    if (before <= limit && bytes <= limit - before)
        return true;
    atomic_fetch_sub_explicit(&used, bytes, memory_order_relaxed);
    atomic_store(&refused_used, before);
    atomic_store(&refused_wanted, bytes);
    return false;
}

void ifg_alloc_give_back(size_t bytes)
{
    size_t now = atomic_load_explicit(&used, memory_order_relaxed);

    if (!limit)
        return;
    /* What was allocated before there was a limit may be freed later. */
    while (!atomic_compare_exchange_weak(&used, &now, now > bytes ? now - bytes : 0))
        ;
}

bool ifg_alloc_refused(struct ifg_alloc_refusal *out_refusal)
{
    *out_refusal = (struct ifg_alloc_refusal){ atomic_load(&refused_wanted),
                                               atomic_load(&refused_used), limit };
    return out_refusal->wanted != 0;
}

const char *ifg_alloc_why(void)
{
    static _Thread_local char why[160];
    struct ifg_alloc_refusal refusal;

    if (!ifg_alloc_refused(&refusal))
        return "";
    snprintf(why, sizeof why,
             ": it takes more than %.1f MB (%.1f MB in use, %.1f MB more wanted); allow more with "
             "--max-memory",
             (double)refusal.limit / 1e6, (double)refusal.used / 1e6, (double)refusal.wanted / 1e6);
    return why;
}

/* ---- the heap ---- */

/* What a block takes of the limit, which is at least what was asked for. */
static size_t size_of(void *block)
{
    return limit && block ? malloc_usable_size(block) : 0;
}

/* After an allocation for which `taken` bytes were reserved. */
static void *settle(void *block, size_t taken)
{
    size_t size = size_of(block);

    if (size > taken)
        atomic_fetch_add_explicit(&used, size - taken, memory_order_relaxed);
    else
        ifg_alloc_give_back(taken - size);
    return block;
}

void *ifg_alloc(size_t count, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(count ? count : 1, size ? size : 1, &bytes) || should_fail() ||
        !ifg_alloc_take(bytes))
        return NULL;
    return settle(calloc(bytes, 1), bytes);
}

void *ifg_realloc(void *block, size_t count, size_t size)
{
    size_t before = size_of(block);
    size_t more;
    size_t bytes;
    void *moved;

    if (__builtin_mul_overflow(count, size, &bytes) || should_fail())
        return NULL;
    more = bytes > before ? bytes - before : 0;
    if (!ifg_alloc_take(more))
        return NULL;
    moved = realloc(block, bytes ? bytes : 1);
    if (!moved) {
        ifg_alloc_give_back(more);
        return NULL;
    }
    return settle(moved, before + more);
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
    ifg_alloc_give_back(size_of(block));
    free(block);
}

void ifg_free_foreign(void *block)
{
    free(block);
}
