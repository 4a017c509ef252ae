// SPDX-License-Identifier: Apache-2.0
/*
 * The mappings of a process, line by line. The text comes from the kernel, the names in it from
 * whoever made the files: lines that make no sense are passed over.
 */
#ifndef IFG_SYSTEM_MAPS_H
#define IFG_SYSTEM_MAPS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct map_line {
    uint64_t start;
    uint64_t end;
    uint64_t offset;
    uint64_t device; /* as the kernel writes it: major << 32 | minor */
    uint64_t inode;  /* 0: no file */
    bool readable, writable, executable, shared;
    bool deleted;        /* the file has no name any more */
    char path[PATH_MAX]; /* as the process sees it; "" or "[stack]" without a file */
};

/* Takes a line apart; false if it is none. */
bool map_parse(const char *line, struct map_line *out_map);

struct maps {
    FILE *file;
    unsigned lines;
};

/* False, with errno, if the process cannot be looked into. */
bool maps_open(pid_t pid, struct maps *out_maps);
/* Whom the file belongs to: root, not its user, if the process cannot be dumped. */
bool maps_owner(pid_t pid, uid_t *out_owner);
bool maps_next(struct maps *maps, struct map_line *out_map);
bool maps_next_file(struct maps *maps, struct map_line *out_map); /* mappings of files only */
void maps_close(struct maps *maps);

/* Whether a process has a mapping of a file that begins there, and of which one. Since Linux 6.11
 * that does not read all of its mappings, of which there may be thousands. */
bool maps_file_at(pid_t pid, uint64_t start, uint64_t *out_inode);

#endif
