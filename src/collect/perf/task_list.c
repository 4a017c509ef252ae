// SPDX-License-Identifier: Apache-2.0
/* See task_list.h. */
#include "collect/perf/task_list.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/array.h"

#define TASKS_MAX 65536u

static bool add(struct task_list *list, uint32_t tid)
{
    if (!IFG_ARRAY_ROOM(list->tids, list->room, list->count + 1, TASKS_MAX))
        return false;
    list->tids[list->count++] = tid;
    return true;
}

static bool add_process(struct task_list *list, uint32_t pid)
{
    char path[64];
    struct dirent *entry;
    DIR *folder;
    bool ok = true;

    snprintf(path, sizeof path, "/proc/%u/task", pid);
    folder = opendir(path);
    while (folder && ok && (entry = readdir(folder))) {
        unsigned long tid = strtoul(entry->d_name, NULL, 10);

        if (tid && tid <= UINT32_MAX)
            ok = add(list, (uint32_t)tid);
    }
    if (folder)
        closedir(folder);
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
