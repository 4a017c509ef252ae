// SPDX-License-Identifier: Apache-2.0
/*
 * What is kept about libraries. Strategies:
 *
 * 1. The input is an entry as somebody else may have written it: heads of other versions, files and
 *    users, cut short, binary.
 * 2. The same behind the right head, read as the answer that it should be.
 * 3. What is written is read again the same.
 */
#include "collect/ort_helper/cache.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/ort_helper/answer.h"

#define ENTRY_MAX (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[] = "/tmp/ifg-cache-fuzz-XXXXXX";
static const struct cache_key key = { .build_id = "0123456789abcdef0123",
                                      .size = 4711,
                                      .owner = 7,
                                      .inode = 12,
                                      .changed_ns = 1700000000000000000 };
static char entry[PATH_MAX];

static void remove_folder(void)
{
    static const char *const parts[] = { "/inferogram/attach", "/inferogram", "" };
    char path[PATH_MAX];

    unlink(entry);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        snprintf(path, sizeof path, "%s%s", folder, parts[i]);
        rmdir(path);
    }
}

static void make_folder(void)
{
    if (!mkdtemp(folder) || setenv("XDG_CACHE_HOME", folder, 1))
        abort();
    snprintf(entry, sizeof entry, "%s/inferogram/attach/%s-0.txt", folder, key.build_id);
    atexit(remove_folder);
}

static void read_entry(const uint8_t *expected, size_t size)
{
    struct ort_backtrace backtrace;
    struct ort_nodes nodes;
    struct ifg_bytes text;

    ifg_bytes_init(&text, ENTRY_MAX);
    if (cache_read(&key, &text)) {
        if (expected && (text.size != size || (size && memcmp(text.data, expected, size) != 0)))
            abort();
        if (answer_read_backtrace((const char *)text.data, text.size, &backtrace, NULL) == IFG_OK &&
            strnlen(backtrace.version, sizeof backtrace.version) == sizeof backtrace.version)
            abort();
        if (answer_read_nodes((const char *)text.data, text.size, &nodes, NULL) == IFG_OK)
            ort_nodes_fini(&nodes);
    } else if (expected && size < ENTRY_MAX / 2) {
        abort();
    }
    ifg_bytes_fini(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool made;
    struct ifg_bytes text;
    int fd;

    if (!made)
        make_folder();
    made = true;
    ifg_bytes_init(&text, ENTRY_MAX);
    ifg_bytes_put(&text, data, size);
    if (!text.failed) {
        cache_write(&key, &text);
        read_entry(data, size);
    }
    ifg_bytes_fini(&text);
    fd = open(entry, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return 0;
    if (write(fd, data, size) == (ssize_t)size)
        read_entry(NULL, 0);
    close(fd);
    return 0;
}
