// SPDX-License-Identifier: Apache-2.0
/*
 * The page that can be mailed, with whatever a trace file may say inside.
 *
 * Strategies:
 *   - the input, but for its first byte, is a trace file; checksums are made right first, so that
 *     mutations reach what is behind them. That byte chooses how large the page may be.
 *   - the same bytes as the title and the document of a comparison
 *   - nothing of it may become markup: a page has as many tags as a page of nothing
 */
#include "server/snapshot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "mended.h"

#define PAGE_MAX ((size_t)64 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition)
        abort();
}

static size_t count_tags(const struct ifg_bytes *page)
{
    const uint8_t *at = page->data;
    const uint8_t *end = at + page->size;
    size_t count = 0;

    while (at < end && (at = memchr(at, '<', (size_t)(end - at)))) {
        count++;
        at++;
    }
    return count;
}

static void try_document(const uint8_t *data, size_t size)
{
    static size_t tags;
    char title[256];
    size_t length = size < sizeof title - 1 ? size : sizeof title - 1;
    struct ifg_bytes page;

    ifg_bytes_init(&page, PAGE_MAX);
    if (!tags && snapshot_document("compare", "", "{}", 2, &page, NULL) == IFG_OK)
        tags = count_tags(&page);
    ifg_bytes_clear(&page);
    if (length)
        memcpy(title, data, length);
    title[length] = '\0';
    if (snapshot_document("compare", title, data, size, &page, NULL) == IFG_OK)
        require(count_tags(&page) == tags);
    ifg_bytes_fini(&page);
}

static void try_trace(const char *path, size_t max_bytes)
{
    static size_t most_tags;
    struct snapshot_result result = { 0 };
    struct ifg_error err = { 0 };
    struct ifg_bytes page;

    ifg_bytes_init(&page, PAGE_MAX);
    if (snapshot_trace(path, max_bytes, &page, &result, &err) == IFG_OK) {
        size_t tags = count_tags(&page);

        /* The sections are the same ones in every page. */
        require(!most_tags || tags == most_tags);
        most_tags = tags;
        require(result.slices_kept <= result.slices);
    } else {
        require(err.message[0]);
    }
    ifg_bytes_fini(&page);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t sizes[] = { SNAPSHOT_BYTES, 0, 400000, 1000000 };
    static int file = -1;
    char path[64];
    uint8_t *copy;

    if (!size)
        return 0;
    try_document(data, size);
    if (file < 0)
        file = memfd_create("fuzz", MFD_CLOEXEC);
    copy = ifg_alloc(size, 1);
    if (file < 0 || !copy)
        return 0;
    memcpy(copy, data + 1, size - 1);
    mended_trace(copy, size - 1);
    if (!ftruncate(file, 0) && pwrite(file, copy, size - 1, 0) == (ssize_t)size - 1) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", file);
        try_trace(path, sizes[data[0] % 4]);
    }
    ifg_free(copy);
    return 0;
}
