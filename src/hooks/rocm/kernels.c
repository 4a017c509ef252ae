// SPDX-License-Identifier: Apache-2.0
/*
 * Kernels by their numbers. rocprofiler-sdk tells of a kernel when its code is loaded, which may be
 * long before anybody records, and records of work have only the number. So names are kept from the
 * start. Memory is bounded, and taken as it is used; kernels that find it full have no name.
 */
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "hooks/rocm/hook.h"

#define SLOTS      131072u /* a power of two */
#define MOST       98304u
#define TEXT_BYTES ((size_t)64 << 20)
#define NAME_BYTES 2048u /* more of a name is not kept in a trace either */

struct slot {
    uint64_t id; /* 0: free */
    uint32_t text;
    uint32_t registers;
    uint32_t static_shared;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct slot *slots;
static uint32_t count;
static char *text;
static size_t text_used;

static void *map(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return memory == MAP_FAILED ? NULL : memory;
}

bool kernels_create(void)
{
    bool is_there;

    pthread_mutex_lock(&lock);
    if (!slots)
        slots = map(SLOTS * sizeof *slots);
    if (!text)
        text = map(TEXT_BYTES);
    is_there = slots && text;
    pthread_mutex_unlock(&lock);
    return is_there;
}

static uint32_t find(uint64_t id)
{
    uint32_t at = (uint32_t)((id * 0x9e3779b97f4a7c15u) >> 40) & (SLOTS - 1);

    while (slots[at].id && slots[at].id != id)
        at = (at + 1) & (SLOTS - 1);
    return at;
}

/* Symbols of descriptors end in ".kd"; the kernel's own name does not. */
static size_t name_length(const char *name)
{
    size_t length = strnlen(name, NAME_BYTES);

    if (length > 3 && length < NAME_BYTES && memcmp(name + length - 3, ".kd", 3) == 0)
        length -= 3;
    return length;
}

static void keep(const void *symbol, const char *name)
{
    uint64_t id = rocm_u64(symbol, ROCM_SYMBOL_ID);
    size_t length = name_length(name);
    struct slot *slot;

    if (!id || !slots || !text)
        return;
    slot = &slots[find(id)];
    if (slot->id || count >= MOST || text_used + length + 1 > TEXT_BYTES)
        return;
    memcpy(text + text_used, name, length);
    text[text_used + length] = '\0';
    slot->text = (uint32_t)text_used;
    slot->registers = rocm_u32(symbol, ROCM_SYMBOL_REGISTERS);
    slot->static_shared = rocm_u32(symbol, ROCM_SYMBOL_SHARED);
    slot->id = id;
    text_used += length + 1;
    count++;
}

/* Numbers are not used again, and work of code that is unloaded may still come. */
void kernels_callback(struct rocm_event event, uint64_t *kept, void *user)
{
    const char *name;

    (void)kept, (void)user;
    if (event.operation != ROCM_CODE_KERNEL || event.phase != ROCM_PHASE_ENTER || !event.data ||
        rocm_u64(event.data, 0) < ROCM_SYMBOL_BYTES)
        return;
    name = rocm_pointer(event.data, ROCM_SYMBOL_NAME);
    if (!name || !*name)
        return;
    pthread_mutex_lock(&lock);
    keep(event.data, name);
    pthread_mutex_unlock(&lock);
}

bool kernels_find(uint64_t id, struct kernel *out)
{
    bool is_there = false;

    pthread_mutex_lock(&lock);
    if (id && slots && text) {
        const struct slot *slot = &slots[find(id)];

        is_there = slot->id != 0;
        *out = (struct kernel){ text + slot->text, slot->registers, slot->static_shared };
    }
    pthread_mutex_unlock(&lock);
    return is_there;
}
