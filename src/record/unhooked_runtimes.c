// SPDX-License-Identifier: Apache-2.0
/* Looking for runtimes in the mappings and files of processes, and why nobody told of them. */
#include "record/unhooked_runtimes.h"

#include <stdio.h>
#include <string.h>

#include "collect/runtime_files.h"
#include "record/process.h"
#include "record/program.h"
#include "system/maps.h"
#include "system/process_folder.h"

#define SEARCH_BYTES (1ull << 30)

/* A runtime in a process, and how sure it is that something is missing. */
enum seen { SEEN_NOTHING, SEEN_DESCRIBED, SEEN_LIBRARY, SEEN_PYTHON };

static enum seen look_at_mappings(pid_t pid, const struct runtime **out_runtime, char *out_name,
                                  size_t size)
{
    enum seen seen = SEEN_NOTHING;
    struct map_line map;
    struct maps maps;

    if (!maps_open(pid, &maps))
        return SEEN_NOTHING;
    while (seen != SEEN_PYTHON && maps_next_file(&maps, &map)) {
        bool is_module;
        const struct runtime *runtime = runtime_of_file(map.path, &is_module);
        enum seen here = !runtime          ? SEEN_NOTHING
                         : runtime->probes ? SEEN_DESCRIBED
                         : is_module       ? SEEN_PYTHON
                                           : SEEN_LIBRARY;

        if (here <= seen)
            continue;
        seen = here; /* the wheel has both; Python's says more */
        *out_runtime = runtime;
        snprintf(out_name, size, "%.100s", strrchr(map.path, '/') + 1); /* paths are absolute */
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

static void explain_python(const struct process_info *info, const char *package, char *out,
                           size_t size)
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
                 process_short_name(info), package);
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
    const struct runtime *runtime = NULL;
    struct unhooked_sight *sight;
    enum seen seen;
    size_t at = 0;

    while (at < watch->sight_count && watch->sights[at].pid != pid)
        at++;
    if (at < watch->sight_count || at == UNHOOKED_SIGHTS_MAX ||
        process_describe(pid, &info, NULL) != IFG_OK)
        return;
    unhooked_add_program(watch, info.program);
    seen = look_at_mappings(pid, &runtime, name, sizeof name);
    if (seen == SEEN_NOTHING)
        return;
    sight = &watch->sights[watch->sight_count++];
    sight->pid = pid;
    sight->runtime = runtime;
    if (seen == SEEN_PYTHON)
        explain_python(&info, runtime->package, sight->reason, sizeof sight->reason);
    else if (seen == SEEN_DESCRIBED)
        snprintf(sight->reason, sizeof sight->reason,
                 "%.64s loaded %s, which is followed if asked for: --probe %s",
                 process_short_name(&info), name, runtime->probes);
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

bool unhooked_explain(const struct unhooked_watch *watch, const struct runtime *runtime,
                      bool searches, char *out, size_t size)
{
    uint64_t budget = SEARCH_BYTES;
    size_t marks = 0;

    for (size_t i = 0; i < watch->sight_count; i++) {
        if (watch->sights[i].runtime == runtime) {
            snprintf(out, size, "%s", watch->sights[i].reason);
            return true;
        }
    }
    while (runtime->marks && runtime->marks[marks])
        marks++;
    for (size_t i = 0; searches && marks && i < watch->program_count; i++) {
        const char *slash = strrchr(watch->programs[i], '/');

        if (process_entry_is(PROCESS_SELF, "exe", watch->programs[i]) ||
            !program_contains(watch->programs[i], runtime->marks, marks, &budget))
            continue;
        snprintf(out, size, "it is statically linked into the program (%.128s)%s",
                 slash ? slash + 1 : watch->programs[i],
                 runtime_file_exports(watch->programs[i], runtime)
                     ? "; it has symbols, so record it with --hook uprobe"
                     : ", which has no symbols");
        return true;
    }
    return false;
}
