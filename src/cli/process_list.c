// SPDX-License-Identifier: Apache-2.0
/* The processes that can be recorded: see process_list.h. */
#include "cli/process_list.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "collect/uprobe/uprobe.h"
#include "record/process.h"
#include "record/region.h"
#include "record/source.h"
#include "record/target.h"
#include "runtimes/runtimes.h"
#include "system/maps.h"

struct listing {
    process_list_visit *visit;
    void *user;
    struct remote_listed listed;
    bool rights_checked;
    void *kept[SOURCES_MAX]; /* by each source */
};

/* What is known of one process. */
struct entry {
    struct process_info info;
    struct source_survey found;
    struct remote_process told;
};

/* Found out by trying, once, and only if somebody has something to probe. */
static const char *missing_rights(struct listing *listing)
{
    struct uprobe *engine = NULL;
    struct ifg_error err = { .message = "" };

    if (!listing->rights_checked && uprobe_open(NULL, &engine, &err) != IFG_OK)
        snprintf(listing->listed.rights, sizeof listing->listed.rights, "%s", err.message);
    uprobe_close(engine);
    listing->rights_checked = true;
    return listing->listed.rights;
}

/* Those that no source looks for show themselves by the names of their files. A description of one
 * says where to set probes; without it, and without hooks in the process, it has to be launched. */
static void find_by_name(struct entry *entry)
{
    struct map_line map;
    struct maps maps;

    if (!maps_open(entry->info.pid, &maps))
        return;
    while (maps_next_file(&maps, &map)) {
        bool is_module;
        const struct runtime *runtime = runtime_of_file(map.path, &is_module);

        if (!runtime || runtime->door || strstr(entry->found.runtimes, runtime->name))
            continue;
        source_survey_add(&entry->found, runtime->name, "");
        if (runtime->probes && !entry->found.can && !entry->told.library) {
            snprintf(entry->told.how, sizeof entry->told.how, "with --probe %s", runtime->probes);
            entry->found.can = true;
        }
    }
    maps_close(&maps);
}

/* What it has loaded, and whether that can be watched. */
static void judge_runtimes(struct listing *listing, struct entry *entry)
{
    struct source_survey *found = &entry->found;

    for (size_t i = 0; i < record_source_count && i < SOURCES_MAX; i++)
        if (record_sources[i]->survey)
            record_sources[i]->survey(entry->info.pid, &listing->kept[i], found);
    if (found->can && !found->is_told)
        snprintf(entry->told.how, sizeof entry->told.how, "record --pid");
    find_by_name(entry);
    if (found->is_told) { /* by the region */
        found->missing[0] = '\0';
    } else if (found->can && *missing_rights(listing)) {
        snprintf(found->missing, sizeof found->missing, "%s", listing->listed.rights);
        entry->told.lacks_rights = true;
        listing->listed.lacking++;
        if (!entry->told.library)
            snprintf(entry->told.how, sizeof entry->told.how, "needs rights");
    } else if (found->can) {
        found->missing[0] = '\0';
    }
}

static void tell(struct listing *listing, struct entry *entry)
{
    struct remote_process *told = &entry->told;
    const struct process_info *info = &entry->info;

    told->pid = (uint32_t)info->pid;
    process_user_name(info->uid, told->user, sizeof told->user);
    snprintf(told->name, sizeof told->name, "%.63s", process_short_name(info));
    snprintf(told->program, sizeof told->program, "%s", info->program);
    memcpy(told->arguments, info->arguments, info->arguments_bytes);
    told->arguments_bytes = info->arguments_bytes;
    snprintf(told->runtimes, sizeof told->runtimes, "%s", entry->found.runtimes);
    snprintf(told->missing, sizeof told->missing, "%s", entry->found.missing);
    listing->visit(told, listing->user);
}

static void consider(struct listing *listing, pid_t pid, struct entry *entry)
{
    enum ifg_status status;
    int fd = -1;

    if (process_describe(pid, &entry->info, NULL) != IFG_OK)
        return;
    status = process_open_region(pid, &fd, NULL);
    if (status == IFG_PERMISSION)
        listing->listed.hidden++;
    if (fd >= 0 && target_belongs_to(fd, pid)) { /* a recorder holds the region that it drains */
        entry->told.library = true;
        snprintf(entry->told.how, sizeof entry->told.how, "record --pid");
        entry->told.recorder = region_recorder(fd);
    }
    if (fd >= 0)
        close(fd);
    if (status != IFG_PERMISSION)
        judge_runtimes(listing, entry);
    if (entry->told.library || entry->found.runtimes[0])
        tell(listing, entry);
}

static bool list_process(pid_t pid, void *user)
{
    struct entry *entry = ifg_alloc(1, sizeof *entry);

    if (!entry)
        return false;
    snprintf(entry->told.how, sizeof entry->told.how, "start it anew");
    consider(user, pid, entry);
    ifg_free(entry);
    return true;
}

void process_list_each(process_list_visit *visit, void *user, struct remote_listed *out_listed)
{
    struct listing *listing = ifg_alloc(1, sizeof *listing);

    *out_listed = (struct remote_listed){ 0 };
    if (!listing)
        return;
    listing->visit = visit;
    listing->user = user;
    process_each(list_process, listing);
    *out_listed = listing->listed;
    for (size_t i = 0; i < SOURCES_MAX; i++)
        ifg_free(listing->kept[i]);
    ifg_free(listing);
}

bool process_list_is_ready(const struct remote_process *process)
{
    return !process->recorder && strcmp(process->how, "record --pid") == 0;
}
