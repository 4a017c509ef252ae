// SPDX-License-Identifier: Apache-2.0
/*
 * Who else is busy: the CPU time of all processes of the machine, and the names of those that use
 * most of it. Reading them all is expensive: the more there are, the more rarely it is done.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/ticks.h"
#include "collect/proc/proc_internal.h"
#include "system/process_status.h"
#include "system/trace_rule.h"

#define EVERY_NS   (5 * SECOND_NS)
#define LEAST_NS   (SECOND_NS / 2) /* between two that are compared */
#define TIMES      3000u           /* of its cost until the next one: 0.03 % of a CPU */
#define OTHERS_MAX 16384u
#define NAMED      3u
#define NAMED_PCT  5.0

struct proc_other {
    uint32_t pid;
    uint64_t start_ticks, ticks;
};

struct busiest {
    double percent;
    uint32_t pid;
    char name[24];
};

static bool is_followed(const struct proc_process *followed, size_t count, uint32_t pid)
{
    for (size_t i = 0; i < count; i++)
        if (followed[i].pid == pid)
            return true;
    return false;
}

/* With capabilities, those of other users count, and are not named. */
static bool may_be_named(int folder, const char *pid)
{
    struct stat entry;

    return !trace_rule_applies() ||
           (fstatat(folder, pid, &entry, AT_SYMLINK_NOFOLLOW) == 0 && entry.st_uid == getuid());
}

static const struct proc_other *find(const struct proc_others *others, uint32_t pid, size_t *hint)
{
    /* /proc lists them in order, so that the next one is where the last one was found. */
    while (*hint < others->before_count && others->before[*hint].pid < pid)
        ++*hint;
    if (*hint < others->before_count && others->before[*hint].pid == pid)
        return &others->before[*hint];
    for (size_t i = 0; i < *hint; i++)
        if (others->before[i].pid == pid)
            return &others->before[i];
    return NULL;
}

static void note(struct busiest *top, double percent, uint32_t pid, const char *name)
{
    size_t at = NAMED;

    if (percent < NAMED_PCT)
        return;
    while (at > 0 && top[at - 1].percent < percent) {
        if (at < NAMED)
            top[at] = top[at - 1];
        at--;
    }
    if (at == NAMED)
        return;
    top[at] = (struct busiest){ percent, pid, "" };
    snprintf(top[at].name, sizeof top[at].name, "%.20s", name);
}

static void tell(const struct busiest *top, const struct proc_sink *sink)
{
    for (size_t i = 0; i < NAMED && top[i].percent > 0; i++) {
        char name[PROC_NAME_BYTES];

        snprintf(name, sizeof name, "other %s (%u) cpu %%", top[i].name, top[i].pid);
        proc_put(sink, 0, name, top[i].percent);
    }
}

void proc_others_look(struct proc_others *others, const struct host_roots *roots,
                      const struct proc_process *followed, size_t followed_count, uint64_t now_ns,
                      bool last, const struct proc_sink *sink)
{
    long per_second = sysconf(_SC_CLK_TCK);
    double elapsed_s = (double)(now_ns - others->at_ns) / 1e9;
    struct busiest top[NAMED] = { 0 };
    double all = 0;
    struct proc_other *now = NULL;
    uint64_t begin = ifg_thread_cpu_ns();
    size_t count = 0, hint = 0;
    struct dirent *entry;
    DIR *folder;

    if ((!last && now_ns < others->next_ns) ||
        (others->before && now_ns < others->at_ns + LEAST_NS))
        return;
    others->next_ns = now_ns + EVERY_NS;
    folder = opendir(roots->proc);
    now = folder ? ifg_alloc(OTHERS_MAX, sizeof *now) : NULL;
    while (now && count < OTHERS_MAX && (entry = readdir(folder)) != NULL) {
        const struct proc_other *before;
        struct process_stat stat;
        char path[256];
        double percent;
        uint64_t pid;

        snprintf(path, sizeof path, "%s/%.20s", roots->proc, entry->d_name);
        if (!ifg_parse_number(entry->d_name, NULL, &pid) || pid > UINT32_MAX ||
            !process_stat_in(path, &stat))
            continue;
        now[count++] = (struct proc_other){ (uint32_t)pid, stat.start_ticks, stat.ticks };
        if (!others->before || pid == (uint64_t)getpid() ||
            is_followed(followed, followed_count, (uint32_t)pid))
            continue;
        before = find(others, (uint32_t)pid, &hint);
        if (!before && others->before_count == OTHERS_MAX)
            continue; /* it may have been there all the time */
        percent = 100 *
                  proc_more(stat.ticks,
                            before && before->start_ticks == stat.start_ticks ? before->ticks : 0) /
                  (double)(per_second > 0 ? per_second : 100) / elapsed_s;
        all += percent;
        if (may_be_named(dirfd(folder), entry->d_name))
            note(top, percent, (uint32_t)pid, stat.name);
    }
    if (folder)
        closedir(folder);
    if (!now)
        return;
    if (others->before) {
        proc_put(sink, 0, "others cpu %", all);
        tell(top, sink);
    }
    ifg_free(others->before);
    others->before = now;
    others->before_count = count;
    others->at_ns = now_ns;
    begin = ifg_thread_cpu_ns() - begin;
    if (begin * TIMES > EVERY_NS)
        others->next_ns = now_ns + begin * TIMES;
}

void proc_others_close(struct proc_others *others)
{
    ifg_free(others->before);
    others->before = NULL;
}
