// SPDX-License-Identifier: Apache-2.0
/*
 * Living with memory that somebody else can take away: a program may cut its region short, or the
 * file system under it may have no page left to give. Touching such a page is SIGBUS; the recorder
 * sees zeros there instead, and looks again in the next pass.
 */
#ifndef IFG_RECORD_FAULT_H
#define IFG_RECORD_FAULT_H

#include <stdbool.h>
#include <stddef.h>

struct fault_guard {
    struct fault_guard *next;
    char *start;
    size_t bytes;
    int fd;
    bool patched;
};

/* Installs the handler; once, before the first guard. One thread only. */
void fault_begin(void);

/* Guards the shared mapping of fd, from its first byte on, until fault_guard_remove. */
void fault_guard_add(struct fault_guard *guard, void *start, size_t bytes, int fd);
void fault_guard_remove(struct fault_guard *guard);

/* Maps the file again where zeros stood in for it. True if they did. */
bool fault_guard_mend(struct fault_guard *guard);

#endif
