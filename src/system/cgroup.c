// SPDX-License-Identifier: Apache-2.0
/* The control group of a process: see cgroup.h. */
#include "system/cgroup.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/small_file.h"

#define MISSING   IFG_NO_NUMBER
#define UNLIMITED (UINT64_C(1) << 60)

/* Whether a comma-separated list has this word. */
static bool has_word(const char *list, const char *word)
{
    size_t wanted = strlen(word);

    for (;;) {
        size_t here = strcspn(list, ",");

        if (here == wanted && memcmp(list, word, wanted) == 0)
            return true;
        if (!list[here])
            return false;
        list += here + 1;
    }
}

/* False: it does not fit. */
static bool put_folders(struct cgroup *out, const char *sys, const char *controllers,
                        const char *group)
{
    const char *controller = controllers;
    int length, memory_length;

    if (strcmp(group, "/") == 0)
        group = "";
    out->unified = !*controllers;
    out->top = strlen(sys) + strlen("/fs/cgroup");
    if (out->unified) {
        snprintf(out->folder, sizeof out->folder, "%s/fs/cgroup/unified", sys);
        controller = access(out->folder, F_OK) == 0 ? "unified" : "";
    }
    length = snprintf(out->folder, sizeof out->folder, "%s/fs/cgroup%s%s%s", sys,
                      *controller ? "/" : "", controller, group);
    memory_length = snprintf(out->memory_folder, sizeof out->memory_folder, "%s/fs/cgroup/memory%s",
                             sys, group);
    if (out->unified)
        memcpy(out->memory_folder, out->folder, sizeof out->folder);
    return length < (int)sizeof out->folder && memory_length < (int)sizeof out->memory_folder;
}

bool cgroup_parse(char *text, const char *sys, struct cgroup *out)
{
    bool found = false;

    memset(out, 0, sizeof *out);
    for (char *line = text, *next; line && *line; line = next) {
        char *names, *group;

        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        names = strchr(line, ':');
        group = names ? strchr(++names, ':') : NULL;
        if (!group || group[1] != '/' || strstr(group, "/.."))
            continue;
        *group++ = '\0';
        if (strchr(names, '/')) /* they are the name of a folder, too */
            continue;
        /* "0::/path": unified, unless cpu is mounted apart */
        if (*names ? has_word(names, "cpu") : !found)
            found = put_folders(out, sys, names, group);
    }
    return found;
}

bool cgroup_find(const char *process, const char *sys, struct cgroup *out)
{
    char path[512], text[4096];

    snprintf(path, sizeof path, "%s/cgroup", process);
    return ifg_read_small(path, text, sizeof text) && cgroup_parse(text, sys, out);
}

/* "max 100000", "200000 100000"; or the same in two files. */
static void take_quota(struct cgroup_limits *limits, const char *folder, bool unified)
{
    char path[512], text[64];
    uint64_t quota, period = MISSING;
    const char *at;
    double cpus;

    snprintf(path, sizeof path, "%s/%s", folder, unified ? "cpu.max" : "cpu.cfs_quota_us");
    if (!ifg_read_small(path, text, sizeof text) || !ifg_parse_number(text, &at, &quota))
        return;
    if (unified) {
        if (!ifg_parse_number(at, NULL, &period))
            return;
    } else {
        snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
        period = ifg_read_number(path);
    }
    if (!period || period == MISSING || !quota)
        return;
    cpus = (double)quota / (double)period;
    if (limits->cpus <= 0 || cpus < limits->cpus)
        limits->cpus = cpus;
}

static void add(uint64_t *sum, uint64_t more)
{
    if (more < UNLIMITED)
        *sum = (*sum == MISSING ? 0 : *sum) + more;
}

static void take_throttling(struct cgroup_limits *limits, const char *folder, bool unified)
{
    char path[512], text[1024];
    uint64_t periods, time;

    snprintf(path, sizeof path, "%s/cpu.stat", folder);
    if (!ifg_read_small(path, text, sizeof text))
        return;
    add(&limits->throttled, ifg_find_number(text, "nr_throttled"));
    time = ifg_find_number(text, unified ? "throttled_usec" : "throttled_time");
    add(&limits->throttled_us, unified || time == MISSING ? time : time / 1000);
    periods = ifg_find_number(text, "nr_periods");
    if (periods != MISSING && (limits->periods == MISSING || periods > limits->periods))
        limits->periods = periods;
}

static void take_memory(struct cgroup_limits *limits, const char *folder, bool unified)
{
    char path[512];
    uint64_t most;

    snprintf(path, sizeof path, "%s/%s", folder, unified ? "memory.max" : "memory.limit_in_bytes");
    most = ifg_read_number(path);
    if (most < UNLIMITED && most < limits->memory_bytes)
        limits->memory_bytes = most;
}

static void climb(const struct cgroup *group, const char *folder, struct cgroup_limits *limits,
                  void (*take)(struct cgroup_limits *limits, const char *folder, bool unified))
{
    char here[sizeof group->folder];
    char *slash;

    snprintf(here, sizeof here, "%s", folder);
    for (;;) {
        take(limits, here, group->unified);
        slash = strrchr(here, '/');
        if (!slash || slash < here + group->top)
            return;
        *slash = '\0';
    }
}

void cgroup_read(const struct cgroup *group, struct cgroup_limits *out)
{
    char path[512];

    *out = (struct cgroup_limits){ 0, MISSING, MISSING, MISSING, MISSING, MISSING };
    climb(group, group->folder, out, take_quota);
    climb(group, group->folder, out, take_throttling);
    climb(group, group->memory_folder, out, take_memory);
    snprintf(path, sizeof path, "%s/%s", group->memory_folder,
             group->unified ? "memory.current" : "memory.usage_in_bytes");
    out->memory_used = ifg_read_number(path);
}
