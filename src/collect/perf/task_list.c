// SPDX-License-Identifier: Apache-2.0
/* The threads of some processes, read from /proc and sorted. */
#include "collect/perf/task_list.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/array.h"
#include "system/process_folder.h"

#define TASKS_MAX 65536u

static bool add_process(struct task_list *list, uint32_t pid)
{
    struct process_threads threads;
    bool ok = true;
    pid_t tid;

    (void)process_threads_of((pid_t)pid, &threads);
    while (ok && process_threads_next(&threads, &tid)) {
        ok = IFG_ARRAY_ROOM(list->tids, list->room, list->count + 1, TASKS_MAX);
        if (ok)
            list->tids[list->count++] = (uint32_t)tid;
    }
    process_threads_close(&threads);
    return ok;
}

static int compare(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;

    return a < b ? -1 : a > b;
}

bool task_list_read(struct task_list *list, const uint32_t *pids, size_t count)
{
    size_t kept = 0;

    list->count = 0;
    for (size_t i = 0; i < count; i++)
        if (!add_process(list, pids[i]))
            return false;
    if (list->count)
        qsort(list->tids, list->count, sizeof *list->tids, compare);
    for (size_t i = 0; i < list->count; i++)
        if (!i || list->tids[i] != list->tids[i - 1])
            list->tids[kept++] = list->tids[i];
    list->count = kept;
    return true;
}

void task_list_fini(struct task_list *list)
{
    ifg_free(list->tids);
    *list = (struct task_list){ 0 };
}

bool task_list_holds(const struct task_list *list, const struct task_list *other)
{
    size_t at = 0;

    for (size_t i = 0; i < other->count; i++) {
        while (at < list->count && list->tids[at] < other->tids[i])
            at++;
        if (at == list->count || list->tids[at] != other->tids[i])
            return false;
    }
    return true;
}
