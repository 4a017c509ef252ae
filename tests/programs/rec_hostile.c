// SPDX-License-Identifier: Apache-2.0
/*
 * A program that goes mad while it is recorded: it finds its own region in /proc/self/maps and
 * writes garbage over it, in the way that its argument names, for some seconds; then it exits with
 * 0.
 *
 *   rec_hostile WAY SECONDS [SEED]    ways: indices slots records states definitions rings control
 *                                     names open everything truncate unmap; seal: only tries, and
 *                                     needs no time
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <inferogram/inferogram.h>

#include "wire/wire.h"

#define RINGS_HIT 40u

static uint64_t random_state = 88172645463325252ull;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* Often an edge, sometimes anything. */
static uint64_t evil(void)
{
    static const uint64_t edges[] = { 0,          1,          0x7fffffff,         0x80000000,
                                      0xffffffff, 1ull << 32, 0x7fffffffffffffff, ~0ull };

    return next_random() % 3 ? edges[next_random() % 8] : next_random();
}

static char *find_region(void)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[1024];
    char *found = NULL;

    while (maps && fgets(line, sizeof line, maps)) {
        unsigned long start = strtoul(line, NULL, 16);

        if (strstr(line, " rw-s ") && strstr(line, "inferogram"))
            found = (char *)start; /* NOLINT: that is what the text says */
    }
    if (maps)
        fclose(maps);
    return found;
}

static struct ifg_wire_ring *some_ring(char *region, uint32_t *out_slots)
{
    uint32_t index = (uint32_t)(next_random() % RINGS_HIT);

    return (struct ifg_wire_ring *)(region + ifg_wire_ring_offset(index, out_slots));
}

static void hit_slots(char *region, bool records)
{
    uint32_t slots;
    struct ifg_wire_ring *ring = some_ring(region, &slots);
    uint64_t head = __atomic_load_n(&ring->head, __ATOMIC_RELAXED);

    for (uint32_t i = 0; i < 64; i++) {
        struct ifg_wire_zone *slot = &ifg_wire_slots(ring)[(head + i) & (slots - 1)];

        slot->start = evil();
        slot->duration = (uint32_t)evil();
        slot->location = (uint32_t)evil();
        if (records)
            slot->location = IFG_WIRE_TAG(next_random() % 12, next_random() % 140);
    }
    __atomic_store_n(&ring->head, head + next_random() % 100, __ATOMIC_RELEASE);
}

static void hit_definitions(char *region)
{
    struct ifg_wire_control *control = (void *)region;
    char *log = region + IFG_WIRE_DEFINITIONS_OFFSET;
    uint64_t at = next_random() % 4096 * 8;

    for (int i = 0; i < 32; i++) {
        struct ifg_wire_definition entry = { (uint32_t)(next_random() % 64 * 8),
                                             (uint32_t)(next_random() % 5) };

        if (next_random() % 4 == 0)
            entry.bytes = (uint32_t)evil();
        memcpy(log + at, &entry, sizeof entry);
        for (size_t b = 0; b < 64; b += 8) {
            uint64_t value = evil();

            memcpy(log + at + sizeof entry + b, &value, sizeof value);
        }
        at += 8 + next_random() % 8 * 8;
    }
    __atomic_store_n(&control->definitions_reserved,
                     next_random() % 2 ? IFG_WIRE_DEFINITIONS_BYTES : evil(), __ATOMIC_RELEASE);
}

static void hit_control(char *region)
{
    size_t at = 64 + next_random() % (sizeof(struct ifg_wire_control) - 72) / 8 * 8;
    uint64_t value = evil();

    memcpy(region + at, &value, sizeof value);
}

static void hit_ring(char *region, const char *way)
{
    uint32_t slots;
    struct ifg_wire_ring *ring = some_ring(region, &slots);

    if (strcmp(way, "indices") == 0) {
        ring->head = evil();
        ring->tail = evil();
        ring->dropped = evil();
        ring->dropped_before = evil();
    } else if (strcmp(way, "names") == 0) {
        for (size_t i = 0; i < sizeof ring->name; i++)
            ring->name[i] = (char)next_random();
    } else if (strcmp(way, "open") == 0) {
        ring->depth = (uint32_t)evil();
        ring->open[next_random() % IFG_WIRE_OPEN_MAX].start = evil();
        ring->open[next_random() % IFG_WIRE_OPEN_MAX].location = (uint32_t)evil();
    } else {
        ring->generation = (uint32_t)evil();
        ring->tid = (uint32_t)evil();
        ring->mask = (uint32_t)evil();
    }
}

static void hit(char *region, const char *way)
{
    static const char *const ways[] = { "indices", "slots", "records", "states", "definitions",
                                        "rings",   "names", "open",    "control" };
    struct ifg_wire_control *control = (void *)region;

    if (strcmp(way, "everything") == 0)
        way = ways[next_random() % 9];
    __atomic_store_n(&control->rings_used, next_random() % 4 ? RINGS_HIT : (uint32_t)evil(),
                     __ATOMIC_RELAXED);
    if (strcmp(way, "slots") == 0)
        hit_slots(region, false);
    else if (strcmp(way, "records") == 0)
        hit_slots(region, true);
    else if (strcmp(way, "states") == 0)
        ifg_wire_states(region)[next_random() % IFG_WIRE_RINGS] = (uint32_t)(next_random() % 4);
    else if (strcmp(way, "definitions") == 0)
        hit_definitions(region);
    else if (strcmp(way, "control") == 0)
        hit_control(region);
    else
        hit_ring(region, way);
}

/* Cuts the region's file; our own mapping is not touched afterwards. */
static void truncate_region(void)
{
    for (int fd = 3; fd < 64; fd++) {
        char path[64];
        char link[512];
        ssize_t length;

        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        length = readlink(path, link, sizeof link - 1);
        if (length <= 0)
            continue;
        link[length] = '\0';
        if (strstr(link, "inferogram-") && ftruncate(fd, 0) < 0)
            exit(98);
    }
}

/* Where the region was is nothing, of which the library knows nothing: no zones afterwards. */
static void unmap_region(char *region)
{
    uint32_t slots;

    munmap(region, ifg_wire_ring_offset(RINGS_HIT, &slots));
    usleep(300000);
    _exit(0);
}

/* A region in a memfd keeps its size, whatever the program tries. */
static int try_to_cut_memfd(void)
{
    for (int fd = 3; fd < 64; fd++) {
        char path[64];
        char link[512];
        ssize_t length;

        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        length = readlink(path, link, sizeof link - 1);
        if (length <= 0)
            continue;
        link[length] = '\0';
        if (strstr(link, "memfd:inferogram"))
            return ftruncate(fd, 0) < 0 && ftruncate(fd, (off_t)1 << 40) < 0 ? 0 : 98;
    }
    return 97;
}

static double seconds_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char **argv)
{
    char *region = find_region();
    double end = seconds_now() + (argc > 2 ? strtod(argv[2], NULL) : 1);

    if (argc < 2 || !region)
        return 99;
    if (strcmp(argv[1], "seal") == 0)
        return try_to_cut_memfd();
    if (argc > 3)
        random_state ^= strtoull(argv[3], NULL, 10) * 0x9e3779b97f4a7c15ull;
    for (int i = 0; i < 100; i++) {
        IFG_ZONE("sane");
    }
    usleep(20000);
    if (strcmp(argv[1], "truncate") == 0) {
        truncate_region();
        sleep(1);
        _exit(0);
    }
    if (strcmp(argv[1], "unmap") == 0)
        unmap_region(region);
    /* Some rings in use, so that there is something to look at. */
    for (uint32_t i = 0; i < RINGS_HIT; i++) {
        uint32_t slots;
        struct ifg_wire_ring *ring = (void *)(region + ifg_wire_ring_offset(i, &slots));

        ring->generation = 1;
        ifg_wire_states(region)[i] = IFG_WIRE_ACTIVE;
    }
    while (seconds_now() < end)
        for (int i = 0; i < 200; i++)
            hit(region, argv[1]);
    _exit(0); /* no destructors: the library's own state is garbage */
}
