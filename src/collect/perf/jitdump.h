// SPDX-License-Identifier: Apache-2.0
/*
 * What a runtime tells about code that it makes, in the file that perf calls a jitdump: functions
 * with their names, lines and bytes, and since when each was there. Addresses are used again, so a
 * search has a time.
 *
 * The file is written by the watched program while we read it: it may end anywhere, and lie.
 */
#ifndef IFG_COLLECT_PERF_JITDUMP_H
#define IFG_COLLECT_PERF_JITDUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of a file, so much is read. */
#define JITDUMP_BYTES_MAX ((size_t)256 << 20)

struct jitdump;

/* Texts and bytes live as long as the dump does. */
struct jitdump_entry {
    uint64_t start, size;
    uint64_t time_ns; /* since when, CLOCK_MONOTONIC */
    uint64_t end_ns;  /* until when: it was moved; UINT64_MAX: not known */
    const char *name;
    const uint8_t *code; /* size bytes */
    size_t first_line, line_count;
    size_t order; /* in the file */
};

/* NULL: it is no jitdump of this machine, there is nothing in it, or no memory. */
struct jitdump *jitdump_read(int fd);
/* The same from bytes that are not ours. */
struct jitdump *jitdump_parse(const void *bytes, size_t size);
void jitdump_destroy(struct jitdump *dump);

size_t jitdump_count(const struct jitdump *dump);

/* The function that had this address at that time: the newest one before it; if there was none yet,
 * the first one after it. NULL: none ever. */
const struct jitdump_entry *jitdump_find(const struct jitdump *dump, uint64_t address,
                                         uint64_t time_ns);

/* The line of an address of the function; false: not known. */
bool jitdump_line(const struct jitdump *dump, const struct jitdump_entry *entry, uint64_t address,
                  const char **out_file, uint32_t *out_line);

#endif
