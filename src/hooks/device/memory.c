// SPDX-License-Identifier: Apache-2.0
/*
 * How much memory of its devices a program has, from records of taking and giving back.
 * Every piece is kept with its address: records of giving back do not always tell how much, and
 * what was taken before we looked must not be taken off. The table is bounded; a program with more
 * pieces than that is followed no further, as is one of whose records some were lost: a sum without
 * them would be false. Pools tell their size and use in every record, and need no sum.
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>

#include "client/device.h"
#include "hooks/device/device.h"

#define SLOTS   65536u /* a power of two */
#define MOST    49152u
#define DEVICES 64u
#define POOLS   32u

struct piece {
    uint64_t address; /* 0: free */
    uint64_t bytes;
    uint64_t ns;
    uint32_t device;
    uint32_t class;
};

struct level {
    uint32_t location; /* 0: it has never been told */
    uint64_t value;
    bool is_open; /* told in this recording */
};

struct pool {
    uint64_t address; /* 0: free */
    uint32_t device;
    struct level size, used;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct piece *pieces;
static uint32_t piece_count;
static bool is_followed, is_lost;
static struct level held[DEVICES][MEMORY_CLASSES];
static struct pool pools[DEVICES][POOLS]; /* of a device; a number is used again */

static void forget(struct level *level)
{
    level->value = 0;
    level->is_open = false;
}

bool memory_begin(void)
{
    pthread_mutex_lock(&lock);
    if (pieces)
        munmap(pieces, SLOTS * sizeof *pieces);
    pieces = mmap(NULL, SLOTS * sizeof *pieces, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pieces == MAP_FAILED)
        pieces = NULL;
    piece_count = 0;
    is_followed = pieces != NULL;
    is_lost = false;
    for (uint32_t d = 0; d < DEVICES; d++) {
        for (uint32_t c = 0; c < MEMORY_CLASSES; c++)
            forget(&held[d][c]);
        for (uint32_t p = 0; p < POOLS; p++) {
            pools[d][p].address = 0;
            forget(&pools[d][p].size);
            forget(&pools[d][p].used);
        }
    }
    pthread_mutex_unlock(&lock);
    return pieces != NULL;
}

/* ---- what is told ---- */

/* With the lock: the counter's location, by its name. */
static uint32_t open_level(struct level *level, const char *name)
{
    if (!level->location)
        level->location = ifg_device_level_location(name);
    level->is_open = true;
    return level->location;
}

static uint32_t open_held(uint32_t device, enum memory_class class)
{
    static const char *const names[MEMORY_CLASSES] = { "allocated", "managed", "pinned host" };
    char name[64];

    snprintf(name, sizeof name, "gpu %u %s bytes", device, names[class]);
    return open_level(&held[device][class], name);
}

/* ---- pieces ---- */

static uint32_t slot_of(uint64_t address)
{
    return (uint32_t)((address * 0x9e3779b97f4a7c15u) >> 40) & (SLOTS - 1);
}

/* Where it is, or would be. */
static uint32_t find(uint64_t address)
{
    uint32_t at = slot_of(address);

    while (pieces[at].address && pieces[at].address != address)
        at = (at + 1) & (SLOTS - 1);
    return at;
}

/* Those behind move up, so that nothing is behind a gap. */
static void take_out(uint32_t at)
{
    uint32_t next = (at + 1) & (SLOTS - 1);

    held[pieces[at].device][pieces[at].class].value -= pieces[at].bytes;
    piece_count--;
    while (pieces[next].address) {
        uint32_t home = slot_of(pieces[next].address);

        if (((next - home) & (SLOTS - 1)) >= ((next - at) & (SLOTS - 1))) {
            pieces[at] = pieces[next];
            at = next;
        }
        next = (next + 1) & (SLOTS - 1);
    }
    pieces[at].address = 0;
}

static void put_in(const struct memory_change *change)
{
    pieces[find(change->address)] = (struct piece){
        .address = change->address,
        .bytes = change->bytes,
        .ns = change->ns,
        .device = change->device,
        .class = (uint32_t)change->class,
    };
    held[change->device][change->class].value += change->bytes;
    piece_count++;
}

/* Records may come a little out of order: an end that is older than its piece belongs to one that
 * had the same address before. True: the sum has changed. */
static bool follow(const struct memory_change *change)
{
    uint32_t at = find(change->address);
    bool is_there = pieces[at].address != 0;

    if (is_there && change->ns < pieces[at].ns)
        return false;
    if (is_there)
        take_out(at);
    if (change->is_taken)
        put_in(change);
    return is_there || change->is_taken;
}

bool memory_find(uint64_t address, struct memory_change *out)
{
    bool is_there = false;

    if (!address)
        return false;
    pthread_mutex_lock(&lock);
    if (pieces) {
        const struct piece *piece = &pieces[find(address)];

        is_there = piece->address != 0;
        out->device = piece->device;
        out->class = (enum memory_class)piece->class;
        out->bytes = piece->bytes;
    }
    pthread_mutex_unlock(&lock);
    return is_there;
}

void memory_changed(const struct memory_change *change, uint64_t *patience_ns)
{
    uint32_t location = 0;
    uint64_t value = 0;
    bool has_room;

    if (!change->address || change->device >= DEVICES || (unsigned)change->class >= MEMORY_CLASSES)
        return;
    pthread_mutex_lock(&lock);
    if (is_followed && follow(change)) {
        location = open_held(change->device, change->class);
        value = held[change->device][change->class].value;
    }
    has_room = !is_followed || piece_count < MOST;
    pthread_mutex_unlock(&lock);
    if (location)
        ifg_device_level(location, change->device, change->ns, (double)value, patience_ns);
    if (!has_room)
        memory_lose(change->ns, patience_ns);
}

/* With the lock. A value that is none ends a counter: else its last one would hold for ever. */
static void close_level(struct level *level, uint32_t device, uint64_t ns, uint64_t *patience_ns)
{
    if (level->is_open)
        ifg_device_level(level->location, device, ns, (double)NAN, patience_ns);
    level->is_open = false;
}

static void close_held(uint64_t ns, uint64_t *patience_ns)
{
    for (uint32_t d = 0; d < DEVICES; d++)
        for (uint32_t c = 0; c < MEMORY_CLASSES; c++)
            close_level(&held[d][c], d, ns, patience_ns);
    is_followed = false;
}

void memory_lose(uint64_t ns, uint64_t *patience_ns)
{
    pthread_mutex_lock(&lock);
    is_lost |= is_followed;
    close_held(ns, patience_ns);
    pthread_mutex_unlock(&lock);
}

void memory_end(uint64_t ns, uint64_t *patience_ns)
{
    pthread_mutex_lock(&lock);
    close_held(ns, patience_ns);
    for (uint32_t d = 0; d < DEVICES; d++)
        for (uint32_t p = 0; p < POOLS; p++) {
            close_level(&pools[d][p].size, d, ns, patience_ns);
            close_level(&pools[d][p].used, d, ns, patience_ns);
        }
    pthread_mutex_unlock(&lock);
}

bool memory_is_lost(void)
{
    bool lost;

    pthread_mutex_lock(&lock);
    lost = is_lost;
    pthread_mutex_unlock(&lock);
    return lost;
}

/* ---- pools ---- */

/* NULL: there are more than are followed. */
static struct pool *pool_of(uint32_t device, uint64_t address)
{
    struct pool *unused = NULL;

    for (uint32_t i = 0; i < POOLS; i++) {
        if (pools[device][i].address == address)
            return &pools[device][i];
        if (!unused && !pools[device][i].address)
            unused = &pools[device][i];
    }
    if (unused) {
        unused->address = address;
        unused->device = device;
    }
    return unused;
}

/* With the lock: the location if there is something new to tell. */
static uint32_t set_level(struct level *level, const struct pool *pool, const char *what,
                          uint64_t value)
{
    char name[64];

    if (value == UINT64_MAX || (level->is_open && level->value == value))
        return 0;
    level->value = value;
    snprintf(name, sizeof name, "gpu %u pool %u %s bytes", pool->device,
             (unsigned)(pool - pools[pool->device]), what);
    return open_level(level, name);
}

void memory_pool_changed(const struct memory_pool *change, uint64_t *patience_ns)
{
    uint64_t size_value = change->is_gone ? 0 : change->size;
    uint64_t used_value = change->is_gone && change->used != UINT64_MAX ? 0 : change->used;
    uint32_t size = 0, used = 0;
    struct pool *pool;

    if (!change->address || change->device >= DEVICES)
        return;
    pthread_mutex_lock(&lock);
    pool = pool_of(change->device, change->address);
    if (pool) {
        size = set_level(&pool->size, pool, "size", size_value);
        used = set_level(&pool->used, pool, "used", used_value);
        if (change->is_gone)
            pool->address = 0;
    }
    pthread_mutex_unlock(&lock);
    if (size)
        ifg_device_level(size, change->device, change->ns, (double)size_value, patience_ns);
    if (used)
        ifg_device_level(used, change->device, change->ns, (double)used_value, patience_ns);
}
