// SPDX-License-Identifier: Apache-2.0
/* Samples of several CPUs, put in order while some of them wait on. */
#include "collect/perf/reorder_buffer.h"

#include <string.h>

#include "tap.h"

static struct reorder_buffer buffer;

/* As much of a sample as is looked at here: where, who, when; and its size tells which it is. */
static void add(uint64_t time_ns, uint16_t size)
{
    uint64_t words[64] = { 0, 0, 0, time_ns };
    struct perf_event_header header = { .type = PERF_RECORD_SAMPLE, .size = size };
    size_t before = buffer.records.size;

    memcpy(words, &header, sizeof header);
    for (size_t i = 4; i < size / 8u; i++)
        words[i] = time_ns;
    ifg_bytes_put(&buffer.records, words, size);
    CHECK(reorder_buffer_note(&buffer, before));
}

static bool comes(uint64_t before, uint64_t time_ns, uint16_t size)
{
    const struct perf_event_header *record = reorder_buffer_next(&buffer, before);
    uint64_t words[64];

    if (!record || record->size != size)
        return false;
    memcpy(words, record, size);
    for (size_t i = 3; i < size / 8u; i++)
        if (words[i] != time_ns)
            return false;
    return true;
}

static void in_order(void)
{
    reorder_buffer_init(&buffer);
    CHECK(reorder_buffer_next(&buffer, UINT64_MAX) == NULL);
    reorder_buffer_forget_told(&buffer);
    add(10, 64); /* one CPU */
    add(30, 72);
    add(50, 80);
    add(20, 88); /* another one */
    add(40, 96);
    CHECK_UINT(reorder_buffer_waiting(&buffer), 5);
    CHECK(comes(35, 10, 64));
    CHECK(comes(35, 20, 88));
    CHECK(comes(35, 30, 72));
    CHECK(reorder_buffer_next(&buffer, 35) == NULL);
    CHECK(reorder_buffer_next(&buffer, 40) == NULL);
    CHECK_UINT(reorder_buffer_waiting(&buffer), 2);
    reorder_buffer_forget_told(&buffer);
    CHECK_UINT(buffer.records.size, 80 + 96);
    add(60, 104);
    add(45, 112);
    add(45, 120); /* at the same time: as they came */
    CHECK(comes(55, 40, 96));
    CHECK(comes(55, 45, 112));
    CHECK(comes(55, 45, 120));
    CHECK(comes(55, 50, 80));
    CHECK(reorder_buffer_next(&buffer, 55) == NULL);
    reorder_buffer_forget_told(&buffer);
    CHECK_UINT(buffer.records.size, 104);
    CHECK(comes(UINT64_MAX, 60, 104));
    CHECK(reorder_buffer_next(&buffer, UINT64_MAX) == NULL);
    reorder_buffer_forget_told(&buffer);
    CHECK_UINT(buffer.records.size, 0);
    CHECK_UINT(reorder_buffer_waiting(&buffer), 0);
    reorder_buffer_fini(&buffer);
}

static void memory_is_used_again(void)
{
    size_t capacity = 0;

    reorder_buffer_init(&buffer);
    for (uint64_t round = 0; round < 1000; round++) {
        reorder_buffer_forget_told(&buffer);
        for (uint64_t i = 0; i < 300; i++)
            add(round * 1000 + i * 7919 % 300, 256);
        for (uint64_t i = 290; i < 300 && round; i++) /* those that were left */
            CHECK(comes(UINT64_MAX, round * 1000 - 1000 + i, 256));
        for (uint64_t i = 0; i < 290; i++)
            CHECK(comes(round * 1000 + 290, round * 1000 + i, 256));
        CHECK(reorder_buffer_next(&buffer, round * 1000 + 290) == NULL);
        if (round == 2)
            capacity = buffer.records.capacity;
    }
    CHECK_UINT(buffer.records.capacity, capacity);
    CHECK(buffer.room <= 512);
    reorder_buffer_fini(&buffer);
}

TAP_MAIN(TAP_CASE(in_order), TAP_CASE(memory_is_used_again))
