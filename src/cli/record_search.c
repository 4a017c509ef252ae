// SPDX-License-Identifier: Apache-2.0
/* The process that `record --name` and `record --path` mean. */
#include <unistd.h>

#include "base/alloc.h"
#include "cli/cli.h"
#include "cli/record.h"
#include "collect/ort_attach/libraries.h"
#include "record/process.h"

#define CANDIDATES_MAX 64

struct search {
    const struct record_request *request;
    struct process_info found[CANDIDATES_MAX];
    size_t count;
};

static bool consider(pid_t pid, void *user)
{
    struct search *search = user;
    struct process_info info;
    size_t at;

    if (pid == getpid() || process_describe(pid, &info, NULL) != IFG_OK)
        return true;
    if (search->request->name ? !process_matches_name(&info, search->request->name)
                              : !process_matches_path(&info, search->request->path))
        return true;
    if (search->count == CANDIDATES_MAX)
        return false;
    /* Sorted by start time: the first match wins. */
    for (at = search->count++; at > 0 && search->found[at - 1].start_time > info.start_time; at--)
        search->found[at] = search->found[at - 1];
    search->found[at] = info;
    return true;
}

/* Whether one match was started by another, or by a process that it started. */
static bool is_below(const struct search *search, size_t inner, size_t outer)
{
    struct process_info info = search->found[inner];

    for (int depth = 0; depth < 64 && info.parent > 1; depth++) {
        if (info.parent == search->found[outer].pid)
            return true;
        if (process_describe(info.parent, &info, NULL) != IFG_OK)
            return false;
    }
    return false;
}

/* Servers have a supervisor that does nothing and workers of the same name, which are recorded with
 * it: all of them are meant. */
static size_t outermost(const struct search *search, size_t chosen)
{
    for (size_t i = 0; i < search->count; i++)
        if (i != chosen && is_below(search, chosen, i))
            return i; /* the oldest comes first */
    return chosen;
}

enum ifg_status record_find_process(struct record_request *request, struct ifg_error *err)
{
    struct search *search = ifg_alloc(1, sizeof *search);
    size_t chosen;
    enum ifg_status status = IFG_OK;

    if (!search)
        return ifg_fail_no_memory(err, NULL);
    search->request = request;
    process_each(consider, search);
    if (!search->count) {
        status = ifg_fail(
            err, IFG_NOT_FOUND,
            "no running process has the %s '%s'; 'inferogram ls' lists those that can "
            "be recorded",
            request->name ? "name" : "path", request->name ? request->name : request->path);
        goto out;
    }
    /* The oldest that can be recorded; if none can, the oldest, whose reason is then told. */
    for (chosen = 0; chosen < search->count; chosen++) {
        int fd;

        if (process_open_region(search->found[chosen].pid, &fd, NULL) == IFG_OK) {
            close(fd);
            break;
        }
        if (ort_process_has_runtime(search->found[chosen].pid))
            break;
    }
    if (chosen == search->count)
        chosen = 0;
    chosen = outermost(search, chosen);
    request->session.pid = search->found[chosen].pid;
    for (size_t i = 0; i < search->count && !request->quiet; i++)
        if (i != chosen && !is_below(search, i, chosen))
            cli_say("also matches, not recorded: pid %d (%s)", (int)search->found[i].pid,
                    process_short_name(&search->found[i]));
out:
    ifg_free(search);
    return status;
}
