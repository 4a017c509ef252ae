// SPDX-License-Identifier: Apache-2.0
/* What was found out about libraries: see cache.h. */
#include "collect/ort_helper/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD_BYTES 256
#define ENTRY_MAX  (1u << 20)
#define HEAD_WORDS "inferogram-attach-cache 1"

void cache_key_of(const char *library, const char *build_id, struct cache_key *out)
{
    struct stat found;
    size_t length = strlen(build_id);

    memset(out, 0, sizeof *out);
    if (length < 16 || length >= sizeof out->build_id ||
        strspn(build_id, "0123456789abcdef") != length || stat(library, &found) < 0)
        return;
    memcpy(out->build_id, build_id, length);
    out->size = (uint64_t)found.st_size;
    out->owner = found.st_uid;
}

/* The folder, made if it is missing. */
static bool find_folder(char *out, size_t size, bool make)
{
    static const char *const parts[] = { "", "/inferogram", "/attach" };
    const char *base = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    size_t used;

    if (base && *base == '/')
        used = (size_t)snprintf(out, size, "%s", base);
    else if (home && *home == '/')
        used = (size_t)snprintf(out, size, "%s/.cache", home);
    else
        return false;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && used < size; i++) {
        used += (size_t)snprintf(out + used, size - used, "%s", parts[i]);
        if (make && used < size && mkdir(out, 0700) < 0 && errno != EEXIST)
            return false;
    }
    return used < size;
}

static bool find_entry(const struct cache_key *key, bool make, char *out, size_t size)
{
    char folder[PATH_MAX];
    int needed;

    if (!key->build_id[0] || !find_folder(folder, sizeof folder, make))
        return false;
    needed = snprintf(out, size, "%s/%s.txt", folder, key->build_id);
    return needed > 0 && (size_t)needed < size;
}

static size_t make_head(const struct cache_key *key, char out[HEAD_BYTES])
{
    int length = snprintf(out, HEAD_BYTES,
                          HEAD_WORDS " by %s for a file of %" PRIu64 " bytes of user %" PRIu64 "\n",
                          INFEROGRAM_VERSION, key->size, key->owner);

    return length > 0 && length < HEAD_BYTES ? (size_t)length : 0;
}

bool cache_read(const struct cache_key *key, struct ifg_bytes *out)
{
    char path[PATH_MAX + 160];
    char head[HEAD_BYTES];
    char text[4096];
    size_t head_bytes = make_head(key, head);
    struct stat found;
    bool good = false;
    ssize_t got;
    int fd;

    if (!head_bytes || !find_entry(key, false, path, sizeof path))
        return false;
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return false;
    /* Somebody else's file in our folder would be somebody else's word. */
    if (fstat(fd, &found) == 0 && S_ISREG(found.st_mode) && found.st_uid == geteuid() &&
        found.st_size < ENTRY_MAX && read(fd, text, head_bytes) == (ssize_t)head_bytes &&
        memcmp(text, head, head_bytes) == 0) {
        while ((got = read(fd, text, sizeof text)) > 0)
            ifg_bytes_put(out, text, (size_t)got);
        good = got == 0 && !out->failed;
    }
    close(fd);
    return good;
}

void cache_write(const struct cache_key *key, const struct ifg_bytes *text)
{
    char path[PATH_MAX + 160];
    char scratch[PATH_MAX + 192];
    char head[HEAD_BYTES];
    size_t head_bytes = make_head(key, head);
    bool good;
    int fd;

    if (!head_bytes || !find_entry(key, true, path, sizeof path))
        return;
    snprintf(scratch, sizeof scratch, "%s.XXXXXX", path);
    fd = mkostemp(scratch, O_CLOEXEC);
    if (fd < 0)
        return;
    good = write(fd, head, head_bytes) == (ssize_t)head_bytes &&
           write(fd, text->data, text->size) == (ssize_t)text->size;
    if (close(fd) < 0 || !good || rename(scratch, path) < 0)
        unlink(scratch);
}
