// SPDX-License-Identifier: Apache-2.0
/*
 * What was found out about libraries, in ${XDG_CACHE_HOME:-~/.cache}/inferogram/attach/ID-USER.txt.
 *
 * Anybody can give a library the build-id of another one, and whoever runs the code decides what it
 * says. So an entry is good only for the very file that was looked at, and only for programs of the
 * user for whom it was: what a program of one user made us believe is not believed for another.
 */
#ifndef IFG_COLLECT_ORT_HELPER_CACHE_H
#define IFG_COLLECT_ORT_HELPER_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

struct cache_key {
    char build_id[132]; /* "": nothing is kept */
    uint64_t size;
    uint64_t owner;
    uint64_t inode;
    uint64_t changed_ns; /* when its content, owner or mode last was: a user cannot set that */
    uint64_t user;
};

/* `user`: of the program. */
void cache_key_of(int library_fd, const char *build_id, uint64_t user, struct cache_key *out_key);

/* The text that was kept; false if there is none. */
bool cache_read(const struct cache_key *key, struct ifg_bytes *out);

/* Whole or not at all. A cache that cannot be written is no failure. */
void cache_write(const struct cache_key *key, const struct ifg_bytes *text);

#endif
