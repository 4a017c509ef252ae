// SPDX-License-Identifier: Apache-2.0
/*
 * Which processes of the whole system map code from a file, told by the kernel as it happens (perf
 * records of mappings), without touching any of them.
 */
#ifndef IFG_COLLECT_MAP_WATCH_MAP_WATCH_H
#define IFG_COLLECT_MAP_WATCH_MAP_WATCH_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"

struct map_watch;

struct map_seen {
    pid_t pid, tid;
    uint64_t device; /* major << 32 | minor */
    uint64_t inode;
    const char *path; /* as the process sees it; valid during the callback only */
};

typedef void map_watch_seen(const struct map_seen *seen, void *user);

/* IFG_PERMISSION with the sentence if this user may not watch everybody. */
enum ifg_status map_watch_open(struct map_watch **out_watch, struct ifg_error *err) IFG_MUST_CHECK;

/* Delivers what has been mapped since the last call. */
void map_watch_read(struct map_watch *watch, map_watch_seen *seen, void *user);

int map_watch_fd(const struct map_watch *watch); /* readable when there is something */
uint64_t map_watch_lost(const struct map_watch *watch);

/* The same for each processor by itself, for threads that share the work: one thread a ring. */
size_t map_watch_ring_count(const struct map_watch *watch);
int map_watch_ring_cpu(const struct map_watch *watch, size_t ring);
int map_watch_ring_fd(const struct map_watch *watch, size_t ring);
void map_watch_ring_read(struct map_watch *watch, size_t ring, map_watch_seen *seen, void *user);

void map_watch_close(struct map_watch *watch); /* NULL is fine */

#endif
