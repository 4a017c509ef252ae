// SPDX-License-Identifier: Apache-2.0
/* Looking for runtimes in the mappings and files of processes: see runtime.h. */
#include "record/unhooked_runtimes.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/ort_attach/libraries.h"
#include "record/process.h"
#include "record/program.h"
#include "runtimes/runtimes.h"
#include "system/maps.h"

#define SEARCH_BYTES (1ull << 30)

enum seen { SEEN_NOTHING, SEEN_LIBRARY, SEEN_PYTHON };

static enum seen seen_in(const char *path, const char **out_name)
{
    const char *name = strrchr(path, '/') + 1; /* files have absolute paths */
    bool is_module;

    *out_name = name;
    if (!runtime_of_file(name, &is_module))
        return SEEN_NOTHING;
    return is_module ? SEEN_PYTHON : SEEN_LIBRARY;
}

static enum seen look_at_mappings(pid_t pid, char *out_name, size_t size)
{
    enum seen seen = SEEN_NOTHING;
    struct map_line map;
    struct maps maps;

    if (!maps_open(pid, &maps))
        return SEEN_NOTHING;
    while (seen != SEEN_PYTHON && maps_next_file(&maps, &map)) {
        const char *name;
        enum seen here = seen_in(map.path, &name);

        if (here == SEEN_NOTHING)
            continue;
        seen = here; /* the wheel has both; Python's says more */
        snprintf(out_name, size, "%.100s", name);
    }
    maps_close(&maps);
    return seen;
}

/* The option that keeps Python from our import hook: 'I', 'E' or 'S'; 0 if there is none. */
static char python_option(const struct process_info *info)
{
    const char *end = info->arguments + info->arguments_bytes;
    const char *at = info->arguments + strlen(info->arguments) + 1;

    while (at < end && at[0] == '-' && at[1] && at[1] != '-') {
        size_t letters = strcspn(at + 1, "cmWX"); /* these take a value */
        const char *found = strpbrk(at + 1, "IES");

        if (found && (size_t)(found - at - 1) < letters)
            return *found;
        if (at[1 + letters] == 'c' || at[1 + letters] == 'm')
            return 0;
        if (at[1 + letters] && !at[2 + letters]) /* the value is the next argument */
            at += strlen(at) + 1;
        if (at < end)
            at += strlen(at) + 1;
    }
    return 0;
}

static void explain_python(const struct process_info *info, char *out, size_t size)
{
    switch (python_option(info)) {
    case 'I':
    case 'E':
        snprintf(out, size, "Python was started with -I or -E, which ignores PYTHONPATH");
        break;
    case 'S':
        snprintf(out, size, "Python was started with -S, which leaves out sitecustomize");
        break;
    default:
        snprintf(out, size,
                 "%.64s imported %s without our import hook; does it change "
                 "PYTHONPATH?",
                 process_short_name(info), runtime_ort->package);
    }
}

void unhooked_add_program(struct unhooked_watch *watch, const char *path)
{
    if (!*path || watch->program_count == UNHOOKED_PROGRAMS_MAX || strlen(path) >= PATH_MAX)
        return;
    for (size_t i = 0; i < watch->program_count; i++)
        if (strcmp(watch->programs[i], path) == 0)
            return;
    snprintf(watch->programs[watch->program_count++], PATH_MAX, "%s", path);
}

void unhooked_look(struct unhooked_watch *watch, pid_t pid)
{
    struct process_info info;
    char name[128] = "";
    struct unhooked_sight *sight;
    enum seen seen;
    size_t at = 0;

    while (at < watch->sight_count && watch->sights[at].pid != pid)
        at++;
    if (at < watch->sight_count || at == UNHOOKED_SIGHTS_MAX ||
        process_describe(pid, &info, NULL) != IFG_OK)
        return;
    unhooked_add_program(watch, info.program);
    seen = look_at_mappings(pid, name, sizeof name);
    if (seen == SEEN_NOTHING)
        return;
    sight = &watch->sights[watch->sight_count++];
    sight->pid = pid;
    if (seen == SEEN_PYTHON)
        explain_python(&info, sight->reason, sizeof sight->reason);
    else
        snprintf(sight->reason, sizeof sight->reason,
                 "%.64s loaded %s, but no call to it passed through the hooks",
                 process_short_name(&info), name);
}

void unhooked_told(struct unhooked_watch *watch, pid_t pid)
{
    for (size_t i = 0; i < watch->sight_count; i++)
        if (watch->sights[i].pid == pid)
            watch->sights[i--] = watch->sights[--watch->sight_count];
}

static bool is_ourselves(const char *path)
{
    struct stat ours;
    struct stat other;

    return stat("/proc/self/exe", &ours) == 0 && stat(path, &other) == 0 &&
           ours.st_dev == other.st_dev && ours.st_ino == other.st_ino;
}

/* A runtime that is linked into it statically. */
static bool has_inside(const char *path, uint64_t *budget)
{
    for (size_t i = 0; i < runtime_count; i++) {
        size_t count = 0;

        while (runtimes[i].marks && runtimes[i].marks[count])
            count++;
        if (count && program_contains(path, runtimes[i].marks, count, budget))
            return true;
    }
    return false;
}

bool unhooked_explain(const struct unhooked_watch *watch, char *out, size_t size)
{
    uint64_t budget = SEARCH_BYTES;

    if (watch->sight_count) {
        snprintf(out, size, "%s", watch->sights[0].reason);
        return true;
    }
    for (size_t i = 0; i < watch->program_count; i++) {
        const char *slash = strrchr(watch->programs[i], '/');

        if (is_ourselves(watch->programs[i]) || !has_inside(watch->programs[i], &budget))
            continue;
        snprintf(out, size, "it is statically linked into the program (%.128s)%s",
                 slash ? slash + 1 : watch->programs[i],
                 ort_library_exports(watch->programs[i])
                     ? "; it has symbols, so record it with --hook uprobe"
                     : ", which has no symbols");
        return true;
    }
    return false;
}
