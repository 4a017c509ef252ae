// SPDX-License-Identifier: Apache-2.0
/* The threads of some processes at a moment, by number. */
#ifndef IFG_COLLECT_PERF_TASK_LIST_H
#define IFG_COLLECT_PERF_TASK_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct task_list {
    uint32_t *tids; /* ascending */
    size_t count, room;
};

/* What is gone is left out. False: no memory, or far too many. */
bool task_list_read(struct task_list *list, const uint32_t *pids, size_t count);
void task_list_fini(struct task_list *list);

/* Whether all of the second list are in the first one. */
bool task_list_holds(const struct task_list *list, const struct task_list *other);

#endif
