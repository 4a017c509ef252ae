// SPDX-License-Identifier: Apache-2.0
/*
 * libinferogram-memory.so: the door in front of malloc and its relatives, in programs that are
 * recorded with --memory.
 *
 * Each function counts the bytes that its thread asks for, which is a subtraction, and jumps to the
 * real one. Every so many bytes one allocation is picked: then its stack is copied for the recorder
 * (pick.c). The program gets what it would have got without us, errno included.
 *
 * What is not let through goes to a function of its own by a jump: that one has the caller's return
 * address and frame pointer as its own, and the frames of this library are on no stack.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hooks/memory/memory.h"

#define EXPORT __attribute__((visibility("default")))
#define SLOWLY __attribute__((noinline))

EXPORT void *malloc(size_t bytes);
EXPORT void *calloc(size_t count, size_t size);
EXPORT void *realloc(void *block, size_t bytes);
EXPORT void *reallocarray(void *block, size_t count, size_t size);
EXPORT void free(void *block);
EXPORT int posix_memalign(void **out, size_t alignment, size_t bytes);
EXPORT void *aligned_alloc(size_t alignment, size_t bytes);
EXPORT void *memalign(size_t alignment, size_t bytes);
EXPORT void *valloc(size_t bytes);
EXPORT void *pvalloc(size_t bytes);

/* Of a function that was jumped to from the door. */
#define CALLER()                                                                                   \
    {                                                                                              \
        (uint64_t)(uintptr_t) __builtin_return_address(0),                                         \
            (uint64_t)(uintptr_t)__builtin_dwarf_cfa(), *(uint64_t *)__builtin_frame_address(0),   \
    }

/* ---- the real functions ---- Until they are found, those that look for them. */

static void *first_malloc(size_t bytes);
static void *first_calloc(size_t count, size_t size);
static void *first_realloc(void *block, size_t bytes);
static void first_free(void *block);
static int first_posix_memalign(void **out, size_t alignment, size_t bytes);
static void *first_aligned_alloc(size_t alignment, size_t bytes);
static void *first_memalign(size_t alignment, size_t bytes);
static void *first_valloc(size_t bytes);
static void *first_pvalloc(size_t bytes);

static struct {
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void (*free)(void *);
    int (*posix_memalign)(void **, size_t, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    void *(*memalign)(size_t, size_t);
    void *(*valloc)(size_t);
    void *(*pvalloc)(size_t);
} real = {
    first_malloc,        first_calloc,   first_realloc, first_free,    first_posix_memalign,
    first_aligned_alloc, first_memalign, first_valloc,  first_pvalloc,
};

/* Where the search leads back here, the caller gets memory that needs no malloc; true: it did. */
static bool resolve(void)
{
    static const char *const names[] = { "malloc",   "calloc",         "realloc",
                                         "free",     "posix_memalign", "aligned_alloc",
                                         "memalign", "valloc",         "pvalloc" };
    void **functions = (void **)&real;
    struct memory_thread *thread = &memory_thread;
    int saved_errno = errno;

    if (thread->resolving)
        return false;
    thread->resolving = true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *found = dlsym(RTLD_NEXT, names[i]);

        if (found)
            __atomic_store_n(&functions[i], found, __ATOMIC_RELEASE);
    }
    thread->resolving = false;
    errno = saved_errno;
    return true;
}

static void *early(size_t alignment, size_t bytes)
{
    void *block = early_alloc(alignment, bytes);

    if (!block)
        errno = ENOMEM;
    return block;
}

static void *first_malloc(size_t bytes)
{
    if (!resolve() || real.malloc == first_malloc)
        return early(1, bytes);
    return real.malloc(bytes);
}

static void *first_calloc(size_t count, size_t size)
{
    size_t bytes;

    if (resolve() && real.calloc != first_calloc)
        return real.calloc(count, size);
    return __builtin_mul_overflow(count, size, &bytes) ? NULL : early(1, bytes); /* all zero */
}

static void *first_realloc(void *block, size_t bytes)
{
    if (!block)
        return real.malloc(bytes);
    if (!resolve() || real.realloc == first_realloc)
        return NULL; /* of what was never given out */
    return real.realloc(block, bytes);
}

static void first_free(void *block)
{
    if (block && resolve() && real.free != first_free)
        real.free(block);
}

static int first_posix_memalign(void **out, size_t alignment, size_t bytes)
{
    void *block;

    if (resolve() && real.posix_memalign != first_posix_memalign)
        return real.posix_memalign(out, alignment, bytes);
    block = early_alloc(alignment, bytes);
    if (block)
        *out = block;
    return block ? 0 : ENOMEM;
}

static void *first_aligned_alloc(size_t alignment, size_t bytes)
{
    if (!resolve() || real.aligned_alloc == first_aligned_alloc)
        return early(alignment, bytes);
    return real.aligned_alloc(alignment, bytes);
}

static void *first_memalign(size_t alignment, size_t bytes)
{
    if (!resolve() || real.memalign == first_memalign)
        return early(alignment, bytes);
    return real.memalign(alignment, bytes);
}

static void *first_valloc(size_t bytes)
{
    if (!resolve() || real.valloc == first_valloc)
        return early(4096, bytes);
    return real.valloc(bytes);
}

static void *first_pvalloc(size_t bytes)
{
    if (!resolve() || real.pvalloc == first_pvalloc)
        return early(4096, bytes);
    return real.pvalloc(bytes);
}

/* ---- the beginning of a block ---- */

static SLOWLY void *malloc_slowly(size_t bytes)
{
    struct memory_caller caller = CALLER();
    void *block = real.malloc(bytes);

    memory_note(block, bytes, &caller);
    return block;
}

void *malloc(size_t bytes)
{
    if (memory_passes(bytes))
        return real.malloc(bytes);
    return malloc_slowly(bytes);
}

static SLOWLY void *calloc_slowly(size_t count, size_t size)
{
    struct memory_caller caller = CALLER();
    void *block = real.calloc(count, size);

    memory_note(block, count * size, &caller); /* it did not overflow, or there is no block */
    return block;
}

void *calloc(size_t count, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(count, size, &bytes) || memory_passes(bytes))
        return real.calloc(count, size);
    return calloc_slowly(count, size);
}

static SLOWLY int posix_memalign_slowly(void **out, size_t alignment, size_t bytes)
{
    struct memory_caller caller = CALLER();
    int status = real.posix_memalign(out, alignment, bytes);

    if (!status)
        memory_note(*out, bytes, &caller);
    return status;
}

int posix_memalign(void **out, size_t alignment, size_t bytes)
{
    if (memory_passes(bytes))
        return real.posix_memalign(out, alignment, bytes);
    return posix_memalign_slowly(out, alignment, bytes);
}

static SLOWLY void *aligned_slowly(size_t alignment, size_t bytes,
                                   void *(*function)(size_t, size_t))
{
    struct memory_caller caller = CALLER();
    void *block = function(alignment, bytes);

    memory_note(block, bytes, &caller);
    return block;
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    if (memory_passes(bytes))
        return real.aligned_alloc(alignment, bytes);
    return aligned_slowly(alignment, bytes, real.aligned_alloc);
}

void *memalign(size_t alignment, size_t bytes)
{
    if (memory_passes(bytes))
        return real.memalign(alignment, bytes);
    return aligned_slowly(alignment, bytes, real.memalign);
}

static SLOWLY void *pages_slowly(size_t bytes, void *(*function)(size_t))
{
    struct memory_caller caller = CALLER();
    void *block = function(bytes);

    memory_note(block, bytes, &caller);
    return block;
}

void *valloc(size_t bytes)
{
    if (memory_passes(bytes))
        return real.valloc(bytes);
    return pages_slowly(bytes, real.valloc);
}

void *pvalloc(size_t bytes)
{
    if (memory_passes(bytes))
        return real.pvalloc(bytes);
    return pages_slowly(bytes, real.pvalloc);
}

/* ---- its end ---- */

/* Of an address that may be a picked one. True: it is not one that free would know. */
static SLOWLY bool end_slowly(void *block)
{
    size_t bytes;

    if (early_has(block, &bytes))
        return true;
    if (picked_take(&memory_picked, block))
        memory_note_end(block, memory_now_ns());
    return false;
}

void free(void *block)
{
    if (!MEMORY_LIKELY(!picked_may_have(&memory_picked, block)) && end_slowly(block))
        return;
    real.free(block);
}

/* ---- both at once ---- */

static void *move_early(void *block, size_t old_bytes, size_t bytes)
{
    void *moved = real.malloc(bytes);

    if (moved)
        memcpy(moved, block, old_bytes < bytes ? old_bytes : bytes);
    return moved;
}

/* The old block ends when it is still the caller's: a moment later another thread may have it. */
static SLOWLY void *realloc_slowly(void *block, size_t bytes)
{
    struct memory_caller caller = CALLER();
    uint64_t time_ns = 0;
    bool picked = false;
    size_t old_bytes;
    void *moved;

    if (block && early_has(block, &old_bytes))
        return move_early(block, old_bytes, bytes);
    if (block && picked_may_have(&memory_picked, block)) {
        time_ns = memory_now_ns();
        picked = picked_take(&memory_picked, block);
    }
    moved = real.realloc(block, bytes);
    if (!moved && bytes) { /* it failed: the old one stays */
        if (picked)
            picked_put(&memory_picked, block);
        return NULL;
    }
    if (picked)
        memory_note_end(block, time_ns);
    if (memory_thread.left < 0 || bytes >= memory_thread.interval)
        memory_note(moved, bytes, &caller);
    return moved;
}

void *realloc(void *block, size_t bytes)
{
    bool passes = memory_passes(bytes);

    if (MEMORY_LIKELY(passes && !picked_may_have(&memory_picked, block)))
        return real.realloc(block, bytes);
    return realloc_slowly(block, bytes);
}

void *reallocarray(void *block, size_t count, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    if (memory_passes(bytes) && !picked_may_have(&memory_picked, block))
        return real.realloc(block, bytes);
    return realloc_slowly(block, bytes);
}
