// SPDX-License-Identifier: Apache-2.0
/* Processes, the libraries in them, and the probes that are set there: see watch.h. */
#include "collect/probe_file/watch.h"

#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/ticks.h"
#include "collect/map_watch/map_watch.h"
#include "system/maps.h"
#include "collect/probe_file/watch_internal.h"
#include "symbol/exported.h"
#include "system/process_folder.h"
#include "system/process_status.h"

#define MS 1000000ull

/* A program loads its runtimes early, so it is looked at often in the beginning. */
#define SCAN_SOON_NS       (20 * MS)
#define SCAN_LATER_NS      (250 * MS)
#define SCAN_SOON_UNTIL_NS (10000 * MS)
#define ANCESTORS_MAX      64
#define MATCHES_MAX        64u /* functions that one pattern may stand for */
#define SPECS_MAX          1024u
#define WAKE_BYTES         (64u << 10) /* the caller looks often enough for less than this */
#define MISSING_BYTES      200

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

static void say(struct probe_watch *watch, const struct probe_file *file,
                enum trace_instrument_state state, const char *reason)
{
    struct watched_word *word;
    char name[PROBE_NAME_MAX + 16];

    snprintf(name, sizeof name, "%.100s by probes", file->runtime);
    if (watch->sink) {
        sink_instrument(watch->sink, name, state, reason);
        if (state == TRACE_INSTRUMENT_ON)
            sink_instrument(watch->sink, "models", TRACE_INSTRUMENT_ON, "");
    } else if (watch->word_count < WATCH_WORDS_MAX) {
        word = &watch->words[watch->word_count++];
        word->file = file;
        word->state = state;
        snprintf(word->reason, sizeof word->reason, "%s", reason);
    }
}

/* ---- the functions of a library ---- */

/* What is to be set in one library, before it is. */
struct plan {
    struct uprobe_spec specs[SPECS_MAX];
    size_t count;
    char missing[MISSING_BYTES];
    const char *file;
};

static void note_missing(struct plan *plan, const char *symbol)
{
    size_t used = strlen(plan->missing);

    snprintf(plan->missing + used, sizeof plan->missing - used, "%s%s", used ? ", " : "", symbol);
}

static bool is_planned(const struct plan *plan, uint64_t offset)
{
    for (size_t i = 0; i < plan->count; i++)
        if (plan->specs[i].offset == offset)
            return true;
    return false;
}

static bool add_function(struct watched_process *process, const struct probe_file *file,
                         const struct probe_rule *rule, const char *symbol)
{
    struct probe_watch *watch = process->watch;
    struct watched_function *function;

    if (!IFG_ARRAY_ROOM(watch->functions, watch->function_capacity, watch->function_count + 1u,
                        WATCH_FUNCTIONS_MAX))
        return false;
    function = &watch->functions[watch->function_count];
    *function = (struct watched_function){ process, file, rule, ifg_strdup(symbol) };
    if (!function->symbol)
        return false;
    watch->function_count++;
    return true;
}

static void plan_rule(struct watched_process *process, const struct probe_file *file,
                      const struct probe_rule *rule, const struct exported_functions *functions,
                      struct plan *plan)
{
    bool needs_return = rule->shows != PROBE_SHOWS_NOTHING || rule->failed ||
                        rule->object_from == PROBE_OBJECT_RESULT ||
                        rule->object_from == PROBE_OBJECT_STORED;

    for (size_t i = 0; i < functions->count && i < MATCHES_MAX; i++) {
        const struct exported_function *function = &functions->items[i];

        if (plan->count == SPECS_MAX)
            return;
        if (is_planned(plan, function->file_offset) ||
            !add_function(process, file, rule, function->name))
            continue;
        plan->specs[plan->count++] = (struct uprobe_spec){
            .file = plan->file,
            .offset = function->file_offset,
            .id = process->watch->function_count - 1,
            .flags = needs_return ? UPROBE_RETURN | UPROBE_OPEN : 0,
            .text_argument = rule->text_argument,
            .out_argument = rule->object_from == PROBE_OBJECT_STORED ? rule->object_argument : 0,
        };
    }
}

static enum ifg_status plan_library(struct watched_process *process, const struct probe_file *file,
                                    struct plan *plan, struct ifg_error *err)
{
    struct elf_file *elf = NULL;
    struct ifg_error why = { 0 };
    enum ifg_status status = elf_file_open(plan->file, &elf, err);

    for (size_t i = 0; !status && i < file->rule_count; i++) {
        const struct probe_rule *rule = &file->rules[i];
        struct exported_functions functions;
        enum ifg_status found = exported_find(elf, rule->symbol, &functions, &why);

        if (found == IFG_OK) {
            plan_rule(process, file, rule, &functions, plan);
            exported_fini(&functions);
        } else if (found == IFG_NOT_FOUND || found == IFG_UNSUPPORTED) {
            note_missing(plan, rule->symbol);
        } else {
            status = ifg_fail(err, found, "%s", why.message);
        }
    }
    elf_file_close(elf);
    return status;
}

/* Undoes what was planned and could not be set. */
static void drop_functions(struct probe_watch *watch, uint32_t count)
{
    while (watch->function_count > count)
        ifg_free(watch->functions[--watch->function_count].symbol);
}

/* Sets the probes of a description in a library of a process, and tells of it. */
static enum ifg_status set_probes(struct watched_process *process, const struct probe_file *file,
                                  const char *path, const char *opens_as, struct ifg_error *err)
{
    struct probe_watch *watch = process->watch;
    uint32_t before = watch->function_count;
    struct plan *plan = ifg_alloc(1, sizeof *plan);
    enum ifg_status status;
    char reason[512];

    if (!plan)
        return ifg_fail_no_memory(err, NULL);
    plan->file = opens_as;
    status = plan_library(process, file, plan, err);
    if (!status && !plan->count)
        status = ifg_fail(err, IFG_NOT_FOUND,
                          "%.200s exports none of the functions that %.100s describes (%.150s)",
                          base_name(path), base_name(file->name), plan->missing);
    if (!status)
        status = uprobe_add(watch->engine, process->pid, plan->specs, plan->count, err);
    if (status) {
        drop_functions(watch, before);
    } else {
        snprintf(reason, sizeof reason, "%.64s in %.100s, %s%s%s%s%s", base_name(file->name),
                 base_name(path), uprobe_way(watch->engine) == UPROBE_BPF ? "BPF" : "perf",
                 *plan->missing ? "; not there: " : "", plan->missing, file->note ? "; " : "",
                 file->note ? file->note : "");
        say(watch, file, TRACE_INSTRUMENT_ON, reason);
    }
    ifg_free(plan);
    return status;
}

/* ---- what a process maps ---- */

static bool is_known(const struct watched_process *process, const struct probe_file *file,
                     uint64_t inode, const char *path)
{
    for (size_t i = 0; i < process->library_count; i++) {
        const struct watched_library *library = &process->libraries[i];

        if (library->file == file && library->inode == inode && strcmp(library->path, path) == 0)
            return true;
    }
    return process->library_count == WATCH_LIBRARIES_MAX;
}

static bool remember(struct watched_process *process, const struct probe_file *file, uint64_t inode,
                     const char *path)
{
    struct watched_library *library = &process->libraries[process->library_count];

    *library = (struct watched_library){ file, inode, ifg_strdup(path) };
    if (!library->path)
        return false;
    process->library_count++;
    return true;
}

/* A path by which we can open what the process has mapped: the mapping itself, which leads nowhere
 * else; for those who may not open it, its own name for it, if that is still this file. */
static void path_here(pid_t pid, const struct map_line *map, char *out_path, size_t size)
{
    char path[PATH_MAX + 64];
    struct stat info;

    snprintf(out_path, size, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid, map->start,
             map->end);
    if (map->deleted || stat(out_path, &info) == 0)
        return;
    snprintf(path, sizeof path, "/proc/%d/root%s", (int)pid, map->path);
    if (stat(path, &info) == 0 && info.st_ino == map->inode)
        snprintf(out_path, size, "%s", path);
}

static enum ifg_status look_at_map(struct watched_process *process, const struct map_line *map,
                                   bool is_program, struct ifg_error *err)
{
    const struct probe_watch *watch = process->watch;
    char opens_as[PATH_MAX + 64];
    enum ifg_status first = IFG_OK;

    for (size_t i = 0; i < watch->file_count; i++) {
        const struct probe_file *file = watch->files[i];
        struct ifg_error why = { 0 };
        enum ifg_status status;

        if (!probe_file_wants(file, map->path, is_program) ||
            is_known(process, file, map->inode, map->path) ||
            !remember(process, file, map->inode, map->path))
            continue;
        path_here(process->pid, map, opens_as, sizeof opens_as);
        status = set_probes(process, file, map->path, opens_as, &why);
        if (!status)
            continue;
        say(process->watch, file, TRACE_INSTRUMENT_UNAVAILABLE, why.message);
        if (!first)
            first = ifg_fail(err, status, "%s", why.message);
    }
    return first;
}

/* The first thing that failed is told; the rest is set all the same. */
static enum ifg_status scan(struct watched_process *process, struct ifg_error *err)
{
    char own[PATH_MAX], program[PATH_MAX];
    struct map_line *map;
    struct maps maps;
    enum ifg_status first = IFG_OK;

    if (!maps_open(process->pid, &maps)) {
        if (errno == ENOENT || errno == ESRCH)
            return ifg_fail(err, IFG_NOT_FOUND, "there is no process %d", (int)process->pid);
        return ifg_fail_errno(err, "cannot look into process %d", (int)process->pid);
    }
    if (process_link(process->pid, "exe", program, sizeof program) &&
        process_link(PROCESS_SELF, "exe", own, sizeof own) &&
        strcmp(own, program) == 0) { /* a child of ours that has not become the command yet */
        maps_close(&maps);
        return IFG_OK;
    }
    map = ifg_alloc(1, sizeof *map);
    while (map && maps_next_file(&maps, map)) {
        struct ifg_error why = { 0 };
        enum ifg_status status = IFG_OK;

        if (map->executable)
            status = look_at_map(process, map, strcmp(map->path, program) == 0, &why);
        if (status && !first)
            first = ifg_fail(err, status, "%s", why.message);
    }
    ifg_free(map);
    maps_close(&maps);
    return first;
}

/* Libraries that were named by their paths get their probes before anybody maps them. */
static void set_ahead(struct watched_process *process, const struct probe_file *file)
{
    for (size_t i = 0; i < file->library_count; i++) {
        const char *pattern = file->libraries[i].pattern;
        glob_t found = { 0 };

        if (!pattern || pattern[0] != '/' || glob(pattern, GLOB_NOSORT, NULL, &found) != 0)
            continue;
        for (size_t k = 0; k < found.gl_pathc; k++) {
            char resolved[PATH_MAX];
            struct ifg_error why = { 0 };
            struct stat info;

            if (realpath(found.gl_pathv[k], resolved) && stat(resolved, &info) == 0 &&
                S_ISREG(info.st_mode) && !is_known(process, file, info.st_ino, resolved) &&
                set_probes(process, file, resolved, resolved, &why) == IFG_OK)
                remember(process, file, info.st_ino, resolved);
        }
        globfree(&found);
    }
}

/* ---- processes ---- */

static void free_process(struct watched_process *process)
{
    streams_fini(&process->threads);
    for (size_t i = 0; i < process->library_count; i++)
        ifg_free(process->libraries[i].path);
    watch_names_fini(&process->names);
    ifg_free(process);
}

static struct watched_process **find_process(struct probe_watch *watch, pid_t pid)
{
    struct watched_process **link = &watch->processes;

    while (*link && (*link)->pid != pid)
        link = &(*link)->next;
    return link;
}

/* Writes the rest of a process and frees it; `link` leads to it. */
static void leave(struct probe_watch *watch, struct watched_process **link)
{
    struct watched_process *process = *link;
    const struct sink *sink = watch->sink;
    uint64_t now_ns = ifg_monotonic_ns();
    uint32_t code = 0;
    enum trace_process_fate fate = TRACE_FATE_RUNNING;

    if (process->defined && sink) {
        if (kill(process->pid, 0) < 0 && errno == ESRCH)
            fate = sink->calls->fate(sink->user, process->pid, &code);
        streams_flush(&process->threads, now_ns, true);
        trace_writer_process_end(sink->writer, process->process, now_ns, fate, code);
    }
    for (uint32_t i = 0; i < watch->function_count; i++)
        if (watch->functions[i].process == process)
            watch->functions[i].process = NULL;
    *link = process->next;
    watch->process_count--;
    free_process(process);
}

enum ifg_status probe_watch_follow(struct probe_watch *watch, pid_t pid, struct ifg_error *err)
{
    struct watched_process *process;
    enum ifg_status status;

    if (*find_process(watch, pid))
        return IFG_OK;
    if (watch->process_count == PROBE_WATCH_PROCESSES_MAX)
        return ifg_fail(err, IFG_BUSY, "more than %d processes cannot be watched by probes",
                        PROBE_WATCH_PROCESSES_MAX);
    process = ifg_alloc(1, sizeof *process);
    if (!process)
        return ifg_fail_no_memory(err, NULL);
    process->watch = watch;
    process->pid = pid;
    process->followed_ns = ifg_monotonic_ns();
    process->next_scan_ns = process->followed_ns + SCAN_SOON_NS;
    for (size_t i = 0; i < watch->file_count; i++)
        set_ahead(process, watch->files[i]);
    process->next = watch->processes;
    watch->processes = process;
    watch->process_count++;
    status = scan(process, err);
    if (status && kill(pid, 0) < 0 && errno == ESRCH) {
        uprobe_remove(watch->engine, pid);
        leave(watch, find_process(watch, pid));
    }
    return status; /* what could not be set is not tried again */
}

void probe_watch_look(struct probe_watch *watch, pid_t pid)
{
    struct watched_process *process = *find_process(watch, pid);
    struct ifg_error ignored = { 0 };

    if (process && scan(process, &ignored) == IFG_OK)
        process->next_scan_ns = ifg_monotonic_ns() + SCAN_SOON_NS;
}

/* ---- libraries as they are mapped ---- */

static pid_t parent_of(pid_t pid)
{
    struct process_stat now;

    return process_stat_of(pid, &now) ? now.parent : 0;
}

/* Whether it descends from one that is followed. */
static bool belongs(struct probe_watch *watch, pid_t pid)
{
    for (int depth = 0; depth < ANCESTORS_MAX && pid > 1; depth++) {
        if (*find_process(watch, pid))
            return true;
        pid = parent_of(pid);
    }
    return false;
}

static void on_mapping(const struct map_seen *seen, void *user)
{
    struct probe_watch *watch = user;
    bool is_followed = *find_process(watch, seen->pid) != NULL;
    struct ifg_error ignored = { 0 };
    bool wanted = false;

    for (size_t i = 0; i < watch->file_count && !wanted; i++)
        wanted = probe_file_wants(watch->files[i], seen->path, is_followed);
    if (!wanted)
        return;
    if (is_followed)
        probe_watch_look(watch, seen->pid);
    else if (belongs(watch, seen->pid) && probe_watch_follow(watch, seen->pid, &ignored) != IFG_OK)
        return; /* the instrument tells */
}

static bool is_found(const struct probe_watch *watch, const struct probe_file *file)
{
    for (uint32_t i = 0; i < watch->function_count; i++)
        if (watch->functions[i].file == file)
            return true;
    return false;
}

static void take_mappings(struct probe_watch *watch, uint64_t now_ns)
{
    bool needed = now_ns - watch->opened_ns < SCAN_SOON_UNTIL_NS;

    if (!watch->maps)
        return;
    map_watch_read(watch->maps, on_mapping, watch);
    for (size_t i = 0; i < watch->file_count; i++)
        needed = needed || !is_found(watch, watch->files[i]);
    if (needed)
        return;
    map_watch_close(watch->maps);
    watch->maps = NULL;
}

/* ---- the watch ---- */

static enum ifg_status open_poll(struct probe_watch *watch, struct ifg_error *err)
{
    struct epoll_event event = { .events = EPOLLIN };

    watch->poll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (watch->poll_fd < 0 ||
        epoll_ctl(watch->poll_fd, EPOLL_CTL_ADD, uprobe_fd(watch->engine), &event) < 0)
        return ifg_fail_errno(err, "cannot wait for probes");
    if (map_watch_open(&watch->maps, NULL) != IFG_OK)
        watch->maps = NULL; /* new libraries are found a little later */
    else if (epoll_ctl(watch->poll_fd, EPOLL_CTL_ADD, map_watch_fd(watch->maps), &event) < 0)
        return ifg_fail_errno(err, "cannot wait for probes");
    return IFG_OK;
}

enum ifg_status probe_watch_open(struct probe_file *const *files, size_t count, enum uprobe_way way,
                                 struct probe_watch **out_watch, struct ifg_error *err)
{
    const struct uprobe_options engine = { .way = way, .wake_bytes = WAKE_BYTES };
    struct probe_watch *watch;
    enum ifg_status status;

    *out_watch = NULL;
    watch = ifg_alloc(1, sizeof *watch);
    if (!watch)
        return ifg_fail_no_memory(err, NULL);
    watch->files = files;
    watch->file_count = count;
    watch->poll_fd = -1;
    watch->opened_ns = ifg_monotonic_ns();
    status = uprobe_open(&engine, &watch->engine, err);
    if (!status)
        status = open_poll(watch, err);
    if (status) {
        probe_watch_close(watch);
        return status;
    }
    *out_watch = watch;
    return IFG_OK;
}

void probe_watch_begin(struct probe_watch *watch, struct sink *sink)
{
    watch->sink = sink;
    for (size_t i = 0; i < watch->word_count; i++)
        say(watch, watch->words[i].file, watch->words[i].state, watch->words[i].reason);
    watch->word_count = 0;
}

int probe_watch_fd(const struct probe_watch *watch)
{
    return watch->poll_fd;
}

/* Looks at a process again if it is time to; false: it is gone. */
static bool look_again(struct watched_process *process, uint64_t now_ns)
{
    bool early = now_ns - process->followed_ns < SCAN_SOON_UNTIL_NS;
    struct ifg_error ignored = { 0 };
    enum ifg_status status;

    if (now_ns < process->next_scan_ns)
        return true;
    status = scan(process, &ignored); /* what fails has been told as the instrument's reason */
    process->next_scan_ns =
        now_ns + (early && !process->library_count ? SCAN_SOON_NS : SCAN_LATER_NS);
    return status != IFG_NOT_FOUND || kill(process->pid, 0) == 0 || errno != ESRCH;
}

size_t probe_watch_drain(struct probe_watch *watch, uint64_t now_ns)
{
    struct watched_process **link = &watch->processes;
    size_t count = 0;

    if (!watch->sink)
        return 0;
    watch->now_ns = now_ns;
    take_mappings(watch, now_ns);
    count = uprobe_read(watch->engine, watch_seen, watch);
    while (*link) {
        struct watched_process *process = *link;

        if (!look_again(process, now_ns)) {
            uprobe_remove(watch->engine, process->pid);
            count += uprobe_read(watch->engine, watch_seen, watch);
            leave(watch, link);
            continue;
        }
        streams_flush(&process->threads, now_ns, false);
        link = &process->next;
    }
    return count;
}

static uint64_t sum(const struct uprobe_losses *lost)
{
    return lost->ring_full + lost->too_deep + lost->too_many + lost->out_of_order;
}

struct sink_counts probe_watch_count(const struct probe_watch *watch)
{
    struct uprobe_losses lost = uprobe_lost(watch->engine);
    struct sink_counts counts = watch->counts;

    counts.dropped = sum(&lost) + watch->unnamed;
    return counts;
}

static void report_losses(struct probe_watch *watch)
{
    struct uprobe_losses lost = uprobe_lost(watch->engine);
    const struct {
        const char *what;
        uint64_t count;
    } losses[] = {
        { "calls that found the probes' buffer full", lost.ring_full },
        { "calls inside too many others", lost.too_deep },
        { "calls of more threads than probes can follow", lost.too_many },
        { "calls whose end was seen too late", lost.out_of_order },
        { "calls for which there was no location or no memory", watch->unnamed },
        { UPROBE_LET_GO, lost.let_go },
    };

    for (size_t i = 0; watch->counts.processes && i < sizeof losses / sizeof *losses; i++)
        if (losses[i].count)
            trace_writer_loss(watch->sink->writer, watch->first_process, losses[i].what,
                              losses[i].count);
}

/* Descriptions of which nothing was ever there. */
static void report_absent(struct probe_watch *watch)
{
    for (size_t i = 0; i < watch->file_count; i++) {
        const struct probe_file *file = watch->files[i];
        const struct probe_library *library = &file->libraries[0];
        char reason[320];

        if (is_found(watch, file))
            continue;
        snprintf(reason, sizeof reason, "no process had %s mapped that could be watched (%.64s)",
                 library->executable ? "a program" : library->pattern, base_name(file->name));
        say(watch, file, TRACE_INSTRUMENT_UNAVAILABLE, reason);
    }
}

void probe_watch_since(struct probe_watch *watch, uint64_t since_ns)
{
    uprobe_since(watch->engine, since_ns);
}

void probe_watch_until(struct probe_watch *watch, uint64_t until_ns)
{
    uprobe_until(watch->engine, until_ns);
}

void probe_watch_finish(struct probe_watch *watch)
{
    if (!watch->sink)
        return;
    uprobe_stop(watch->engine);
    while (uprobe_read(watch->engine, watch_seen, watch))
        ;
    while (watch->processes)
        leave(watch, &watch->processes);
    report_losses(watch);
    report_absent(watch);
    watch->sink = NULL;
}

void probe_watch_close(struct probe_watch *watch)
{
    if (!watch)
        return;
    probe_watch_finish(watch);
    while (watch->processes)
        leave(watch, &watch->processes);
    drop_functions(watch, 0);
    ifg_free(watch->functions);
    map_watch_close(watch->maps);
    if (watch->poll_fd >= 0)
        close(watch->poll_fd);
    uprobe_close(watch->engine);
    ifg_free(watch);
}
