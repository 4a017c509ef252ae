// SPDX-License-Identifier: Apache-2.0
/* What was found out about libraries: see cache.h. */
#include "collect/ort_helper/cache.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ticks.h"
#include "system/cache_folder.h"

#define HEAD_BYTES 256
#define NAME_BYTES 256
#define ENTRY_MAX  (1u << 20)
#define HEAD_WORDS "inferogram-attach-cache 2"

void cache_key_of(int library_fd, const char *build_id, uint64_t user, struct cache_key *out)
{
    struct stat found;
    size_t length = strlen(build_id);

    memset(out, 0, sizeof *out);
    if (length < 16 || length >= sizeof out->build_id ||
        strspn(build_id, "0123456789abcdef") != length || fstat(library_fd, &found) < 0)
        return;
    memcpy(out->build_id, build_id, length);
    out->size = (uint64_t)found.st_size;
    out->owner = found.st_uid;
    out->inode = found.st_ino;
    out->changed_ns = (uint64_t)found.st_ctim.tv_sec * 1000000000 + (uint64_t)found.st_ctim.tv_nsec;
    out->user = user;
}

static void name_entry(const struct cache_key *key, char out[NAME_BYTES])
{
    snprintf(out, NAME_BYTES, "%s-%" PRIu64 ".txt", key->build_id, key->user);
}

static size_t make_head(const struct cache_key *key, char out[HEAD_BYTES])
{
    int length = snprintf(out, HEAD_BYTES,
                          HEAD_WORDS " by %s for a file of %" PRIu64 " bytes of user %" PRIu64
                                     ", number %" PRIu64 ", of %" PRIu64 "\n",
                          INFEROGRAM_VERSION, key->size, key->owner, key->inode, key->changed_ns);

    return key->build_id[0] && length > 0 && length < HEAD_BYTES ? (size_t)length : 0;
}

bool cache_read(const struct cache_key *key, struct ifg_bytes *out)
{
    char name[NAME_BYTES];
    char head[HEAD_BYTES];
    char text[4096];
    size_t head_bytes = make_head(key, head);
    struct stat found;
    bool good = false;
    ssize_t got;
    int folder = head_bytes ? cache_folder_open("attach", false) : -1;
    int fd;

    if (folder < 0)
        return false;
    name_entry(key, name);
    fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    close(folder);
    if (fd < 0)
        return false;
    /* Somebody else's file in our folder would be somebody else's word. */
    if (fstat(fd, &found) == 0 && S_ISREG(found.st_mode) && found.st_uid == geteuid() &&
        !(found.st_mode & (S_IWGRP | S_IWOTH)) && found.st_size < ENTRY_MAX &&
        read(fd, text, head_bytes) == (ssize_t)head_bytes && memcmp(text, head, head_bytes) == 0) {
        while ((got = read(fd, text, sizeof text)) > 0)
            ifg_bytes_put(out, text, (size_t)got);
        good = got == 0 && !out->failed;
    }
    close(fd);
    return good;
}

void cache_write(const struct cache_key *key, const struct ifg_bytes *text)
{
    char name[NAME_BYTES];
    char scratch[NAME_BYTES + 48];
    char head[HEAD_BYTES];
    size_t head_bytes = make_head(key, head);
    int folder = head_bytes ? cache_folder_open("attach", true) : -1;
    bool good;
    int fd;

    if (folder < 0)
        return;
    name_entry(key, name);
    snprintf(scratch, sizeof scratch, "%s.%d-%" PRIx64, name, (int)getpid(), ifg_monotonic_ns());
    fd = openat(folder, scratch, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0) {
        good = write(fd, head, head_bytes) == (ssize_t)head_bytes &&
               write(fd, text->data, text->size) == (ssize_t)text->size;
        if (close(fd) < 0 || !good || renameat(folder, scratch, folder, name) < 0)
            unlinkat(folder, scratch, 0);
    }
    close(folder);
}
