// SPDX-License-Identifier: Apache-2.0
/*
 * Hostile traces that grow. Strategies:
 *
 * 1. The input is a file that comes in three pieces; the first byte says where it is cut.
 * 2. 'B' as second byte: the rest is a list of blocks, each u8 type (above 17: mod 16), u8 stream,
 *    u8 count, u8 columns (mod 8), then for each column u8 bytes and the bytes. Good headers and
 *    checksums are put around them, so that what is behind the checksums is reached at once.
 *
 * After each piece everything that is there is taken; then the file is cut and followed again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "trace/fixture.h"
#include "trace/follow.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint64_t sink; /* so that nothing is optimised away */

static void use_zones(const struct trace_follow *follow, const struct trace_news *news)
{
    const struct trace_tables *tables = trace_follow_tables(follow);
    const struct trace_zones *zones = news->zones;
    uint32_t process;

    if (news->thread >= tables->thread_count)
        abort();
    process = tables->threads[news->thread].process;
    for (size_t i = 0; i < zones->count; i++) {
        const struct trace_location *location =
            trace_find_location(tables, process, zones->locations[i]);

        sink += location ? strlen(location->name) : 0;
        sink += trace_follow_ns(follow, news->thread, zones->starts[i]);
    }
    for (size_t i = 0; i < zones->open_count; i++)
        sink += zones->open_starts[i] + zones->open_locations[i];
}

static void take(struct trace_follow *follow)
{
    struct trace_news news;

    for (int i = 0; i < 20; i++)
        while (trace_follow_next(follow, &news, NULL) == IFG_OK && news.kind != TRACE_NEWS_NONE) {
            if (news.kind == TRACE_NEWS_ZONES)
                use_zones(follow, &news);
            for (size_t e = 0; news.kind == TRACE_NEWS_EVENTS && e < news.events->count; e++)
                sink += news.events->events[e].payload_bytes;
        }
}

/* The input's blocks as a file; false: no memory. */
static bool forge_file(struct forge *forge, const uint8_t *data, size_t size)
{
    struct ifg_cursor cursor = ifg_cursor_over(data, size);

    if (!fixture_forge_init(forge))
        return false;
    while (ifg_cursor_left(&cursor)) {
        struct trace_column columns[8];
        struct trace_block_head head = { 0 };
        size_t count;

        head.type = ifg_cursor_byte(&cursor);
        if (head.type >= TRACE_BLOCK_TYPES)
            head.type %= 16;
        head.stream = ifg_cursor_byte(&cursor);
        head.count = ifg_cursor_byte(&cursor);
        count = ifg_cursor_byte(&cursor) % 8;
        for (size_t i = 0; i < count; i++) {
            size_t bytes = ifg_cursor_byte(&cursor);

            if (bytes > ifg_cursor_left(&cursor))
                bytes = ifg_cursor_left(&cursor);
            columns[i].size = bytes;
            columns[i].data = ifg_cursor_take(&cursor, bytes);
        }
        if (!fixture_forge_block(forge, head, columns, count))
            return false;
    }
    return true;
}

static void follow_pieces(int fd, const uint8_t *data, size_t size, size_t cut)
{
    struct trace_follow *follow = NULL;
    char path[64];
    size_t half = cut / 2;

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (trace_follow_open(path, &follow, NULL))
        return;
    if (pwrite(fd, data, half, 0) == (ssize_t)half)
        take(follow);
    if (pwrite(fd, data + half, cut - half, (off_t)half) == (ssize_t)(cut - half))
        take(follow);
    if (pwrite(fd, data + cut, size - cut, (off_t)cut) == (ssize_t)(size - cut))
        take(follow);
    if (ftruncate(fd, (off_t)cut) == 0)
        take(follow);
    trace_follow_close(follow);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct forge forge = { 0 };
    int fd;

    if (size < 2)
        return 0;
    fd = memfd_create("trace", MFD_CLOEXEC);
    if (fd < 0)
        return 0;
    if (data[1] == 'B') {
        if (forge_file(&forge, data + 2, size - 2))
            follow_pieces(fd, forge.file.data, forge.file.size, forge.file.size * data[0] / 256);
        fixture_forge_fini(&forge);
    } else {
        follow_pieces(fd, data + 1, size - 1, (size - 1) * data[0] / 256);
    }
    close(fd);
    return 0;
}
