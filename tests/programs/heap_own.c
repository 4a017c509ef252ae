// SPDX-License-Identifier: Apache-2.0
/* A program that brings a malloc of its own, as those with a built-in jemalloc or tcmalloc do: it
 * takes and never gives back. Prints "own" and exits with 7. Without its main it is a library that
 * a user may preload. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define ROOM ((size_t)2 << 30)
#define HEAD 16u

void *malloc(size_t bytes);
void *calloc(size_t count, size_t size);
void *realloc(void *block, size_t bytes);
void free(void *block);
void *memalign(size_t alignment, size_t bytes);
void *aligned_alloc(size_t alignment, size_t bytes);
int posix_memalign(void **out, size_t alignment, size_t bytes);

static char *room;
static size_t used;

/* Two threads may both make a room; one of them is used. */
static char *get_room(void)
{
    char *ours = NULL;
    void *memory;

    if (__atomic_load_n(&room, __ATOMIC_ACQUIRE))
        return room;
    memory = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                  -1, 0);
    if (memory != MAP_FAILED)
        __atomic_compare_exchange_n(&room, &ours, memory, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    return room;
}

static void *take(size_t alignment, size_t bytes)
{
    char *start = get_room();
    uintptr_t at;

    if (alignment < 16)
        alignment = 16;
    if (!start || bytes > ROOM / 4 || alignment > ROOM / 4)
        return NULL;
    at = (uintptr_t)start + __atomic_fetch_add(&used, bytes + HEAD + alignment, __ATOMIC_RELAXED) +
         HEAD;
    at = (at + alignment - 1) / alignment * alignment;
    if (at + bytes > (uintptr_t)start + ROOM)
        return NULL;
    memcpy((char *)at - sizeof bytes, &bytes, sizeof bytes);
    return (void *)at;
}

void *malloc(size_t bytes)
{
    return take(16, bytes);
}

void *memalign(size_t alignment, size_t bytes)
{
    return take(alignment, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return take(alignment, bytes);
}

int posix_memalign(void **out, size_t alignment, size_t bytes)
{
    *out = take(alignment, bytes);
    return *out ? 0 : ENOMEM;
}

void *calloc(size_t count, size_t size)
{
    return take(16, count * size);
}

void *realloc(void *block, size_t bytes)
{
    void *moved = take(16, bytes);
    size_t old;

    if (block && moved) {
        memcpy(&old, (char *)block - sizeof old, sizeof old);
        memcpy(moved, block, old < bytes ? old : bytes);
    }
    return moved;
}

void free(void *block)
{
    if (block && ((char *)block < room || (char *)block >= room + ROOM))
        __builtin_trap(); /* somebody else's */
}

#ifndef NO_MAIN
int main(void)
{
    for (int i = 0; i < 100; i++) {
        char *volatile block = malloc(1 << 20);

        if (!block)
            return 1;
        block[0] = 1;
        free(block);
    }
    printf("own\n");
    return 7;
}
#endif
