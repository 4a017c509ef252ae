// SPDX-License-Identifier: Apache-2.0
/*
 * What was found out about libraries, in ${XDG_CACHE_HOME:-~/.cache}/inferogram/attach/ID.txt.
 * Anybody can give a library the build-id of another one: an entry is good only for a file of the
 * same size and owner as the one that was looked at.
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
};

void cache_key_of(const char *library, const char *build_id, struct cache_key *out_key);

/* The text that was kept; false if there is none. */
bool cache_read(const struct cache_key *key, struct ifg_bytes *out);

/* Whole or not at all. A cache that cannot be written is no failure. */
void cache_write(const struct cache_key *key, const struct ifg_bytes *text);

#endif
