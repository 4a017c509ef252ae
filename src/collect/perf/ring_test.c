// SPDX-License-Identifier: Apache-2.0
/* A ring as the kernel would fill it, in memory of our own. */
#include "collect/perf/ring.h"

#include <string.h>

#include "tap.h"

#define RING_SIZE 256u

static struct perf_event_mmap_page page;
static uint64_t data[RING_SIZE / 8];
static struct ring ring;
static struct ifg_bytes samples;

static void begin(uint64_t at)
{
    memset(&page, 0, sizeof page);
    page.data_head = page.data_tail = at;
    ring = (struct ring){ .fd = -1, .page = &page, .data = (uint8_t *)data, .size = RING_SIZE };
    ifg_bytes_init(&ring.waiting, 4096);
    ifg_bytes_init(&samples, 4096);
}

static void end(void)
{
    ifg_bytes_fini(&ring.waiting);
    ifg_bytes_fini(&samples);
}

/* Writes as the kernel does: around the end. */
static void put(uint32_t type, uint16_t size, uint64_t mark)
{
    struct perf_event_header header = { .type = type, .size = size };
    uint64_t words[RING_SIZE / 8] = { 0 };

    memcpy(words, &header, sizeof header);
    for (size_t i = 1; i < size / 8u; i++)
        words[i] = mark;
    for (size_t i = 0; i < size / 8u; i++)
        data[(page.data_head / 8 + i) % (RING_SIZE / 8)] = words[i];
    page.data_head += size;
}

static bool is_marked(const struct perf_event_header *record, uint16_t size, uint64_t mark)
{
    const uint64_t *words = (const void *)record;

    if (!record || record->size != size)
        return false;
    for (size_t i = 1; i < size / 8u; i++)
        if (words[i] != mark)
            return false;
    return true;
}

static void samples_go_elsewhere(void)
{
    begin(1000); /* 232 bytes into the ring: the second record goes around its end */
    put(PERF_RECORD_SWITCH, 16, 1);
    put(PERF_RECORD_SAMPLE, 80, 2);
    put(PERF_RECORD_MMAP2, 24, 3);
    CHECK(ring_copy_apart(&ring, &samples));
    CHECK_UINT(page.data_tail, page.data_head);
    CHECK(is_marked(ring_peek(&ring), 16, 1));
    ring_next(&ring);
    CHECK(is_marked(ring_peek(&ring), 24, 3));
    CHECK_UINT(samples.size, 80);
    CHECK(is_marked((const void *)samples.data, 80, 2));

    put(PERF_RECORD_SAMPLE, 160, 4);
    put(PERF_RECORD_SWITCH, 16, 5);
    CHECK(ring_copy_apart(&ring, &samples));
    CHECK(is_marked(ring_peek(&ring), 24, 3));
    ring_next(&ring);
    CHECK(is_marked(ring_peek(&ring), 16, 5));
    ring_next(&ring);
    CHECK(ring_peek(&ring) == NULL);
    CHECK_UINT(samples.size, 240);
    CHECK(is_marked((const void *)(samples.data + 80), 160, 4));
    CHECK(ring_copy_apart(&ring, &samples));
    CHECK_UINT(samples.size, 240);
    end();
}

static void all_in_one_row(void)
{
    begin(2040);
    put(PERF_RECORD_SAMPLE, 64, 1);
    put(PERF_RECORD_SWITCH, 16, 2);
    CHECK(ring_copy(&ring));
    CHECK(is_marked(ring_peek(&ring), 64, 1));
    ring_next(&ring);
    CHECK(is_marked(ring_peek(&ring), 16, 2));
    end();
}

static void no_memory_and_nonsense(void)
{
    const struct perf_event_header broken = { .type = PERF_RECORD_SWITCH, .size = 3 };

    begin(0);
    samples.ceiling = 100;
    put(PERF_RECORD_SAMPLE, 64, 1);
    put(PERF_RECORD_SAMPLE, 64, 2); /* no room for this one */
    put(PERF_RECORD_SWITCH, 16, 3);
    CHECK(!ring_copy_apart(&ring, &samples));
    CHECK_UINT(samples.size, 64);
    CHECK(is_marked(ring_peek(&ring), 16, 3));
    ifg_bytes_clear(&samples);
    put(PERF_RECORD_SAMPLE, 64, 4); /* there is again */
    CHECK(ring_copy_apart(&ring, &samples));
    CHECK(is_marked((const void *)samples.data, 64, 4));
    end();

    begin(0);
    put(PERF_RECORD_SWITCH, 16, 1);
    put(PERF_RECORD_SWITCH, 16, 1);
    memcpy(&data[2], &broken, sizeof broken);
    ring_copy_apart(&ring, &samples);
    CHECK_UINT(page.data_tail, page.data_head);
    ring_next(&ring);
    CHECK(ring_peek(&ring) == NULL);
    page.data_head += 10 * RING_SIZE;
    ring_copy_apart(&ring, &samples);
    CHECK_UINT(page.data_tail, page.data_head);
    CHECK(ring_peek(&ring) == NULL);
    end();
}

static uint64_t first_word(const struct perf_event_header *record)
{
    return ((const uint64_t *)(const void *)record)[1];
}

/* Takes the next record of the three rings that is older than this; its time, or 0. */
static uint64_t take(struct ring *rings, uint64_t before_ns)
{
    struct ring *found = ring_oldest(rings, 3, before_ns, first_word);
    uint64_t time_ns = found ? first_word(ring_peek(found)) : 0;

    if (found)
        ring_next(found);
    return time_ns;
}

static void oldest_of_several(void)
{
    static struct perf_event_mmap_page pages[2];
    static uint64_t words[2][RING_SIZE / 8];
    struct ring rings[3] = { { .fd = -1 }, { .fd = -1 }, { .fd = -1 } }; /* the second is closed */

    for (size_t i = 0; i < 2; i++) {
        begin(0);
        put(PERF_RECORD_SWITCH, 16, 10 + i);
        put(PERF_RECORD_SWITCH, 16, 20 - i);
        memcpy(&pages[i], &page, sizeof page);
        memcpy(words[i], data, sizeof data);
        rings[2 * i] = ring;
        rings[2 * i].page = &pages[i];
        rings[2 * i].data = (const uint8_t *)words[i];
        CHECK(ring_copy(&rings[2 * i]));
    }
    CHECK_UINT(take(rings, 10), 0);
    CHECK_UINT(take(rings, 20), 10);
    CHECK_UINT(take(rings, 20), 11);
    CHECK_UINT(take(rings, 20), 19);
    CHECK_UINT(take(rings, 20), 0);
    CHECK_UINT(take(rings, 21), 20);
    CHECK_UINT(take(rings, UINT64_MAX), 0);

    begin(0); /* what comes later is seen */
    put(PERF_RECORD_SWITCH, 16, 30);
    memcpy(words[0] + 4, data, 16);
    pages[0].data_head += 16;
    CHECK(ring_copy(&rings[0]));
    CHECK_UINT(take(rings, UINT64_MAX), 30);
    CHECK_UINT(take(rings, UINT64_MAX), 0);
    ifg_bytes_fini(&rings[0].waiting);
    ifg_bytes_fini(&rings[2].waiting);
}

TAP_MAIN(TAP_CASE(samples_go_elsewhere), TAP_CASE(all_in_one_row), TAP_CASE(no_memory_and_nonsense),
         TAP_CASE(oldest_of_several))
