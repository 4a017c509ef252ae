// SPDX-License-Identifier: Apache-2.0
/* Watching runtimes from outside: see attached.h. */
#include "record/attached.h"

#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "collect/ort_attach/libraries.h"
#include "record/hold.h"
#include "record/session_internal.h"

#define WORKERS_MAX 512

static const char python_reason[] =
    "the Python package onnxruntime cannot be watched from outside in this process; start the "
    "program with 'inferogram record -- python3 ...'";

static void say(void *user, const char *text)
{
    const struct session_options *options = ((struct session *)user)->options;

    if (options->preparing)
        options->preparing(text, options->user);
}

static bool is_wanted(const struct session *session)
{
    enum session_hook hook = session->options->hook;

    return hook == SESSION_HOOK_UPROBE || (hook == SESSION_HOOK_AUTO && !session->options->command);
}

enum ifg_status attached_begin(struct session *session, pid_t pid,
                               struct ort_attach_sight *out_sight, struct ifg_error *err)
{
    enum ifg_status status;

    memset(out_sight, 0, sizeof *out_sight);
    if (!is_wanted(session))
        return IFG_OK;
    status = ort_attach_open(UPROBE_ANY, &session->attach, err);
    if (status)
        return status;
    ort_attach_ops(session->attach, session->options->ops);
    ort_attach_say(session->attach, say, session);
    if (!pid)
        return IFG_OK;
    ort_attach_ask_first(session->attach);
    if (ort_attach_look(session->attach, pid, true, out_sight, err) != IFG_OK)
        memset(out_sight, 0, sizeof *out_sight); /* why is known better by whoever looked first */
    return IFG_OK;
}

void attached_write(struct session *session, pid_t only)
{
    if (session->attach)
        ort_attach_begin(session->attach, &session->recording.sink, only);
}

enum ifg_status attached_explain(const struct session *session, const struct process_info *info,
                                 const struct ort_attach_sight *sight, enum ifg_status region,
                                 const struct ifg_error *region_error, struct ifg_error *err)
{
    const char *name = process_short_name(info);

    if (sight->refused)
        return ifg_fail(err, sight->why == IFG_UNSUPPORTED ? IFG_PERMISSION : sight->why,
                        "cannot attach to process %d (%s): %s", (int)info->pid, name,
                        sight->reason);
    if (sight->python)
        return ifg_fail(err, IFG_NOT_FOUND, "cannot attach to process %d (%s): %s", (int)info->pid,
                        name, python_reason);
    if (region != IFG_NOT_FOUND || !session->attach)
        return ifg_fail(err, region, "%s", region_error->message);
    return ifg_fail(
        err, IFG_NOT_FOUND,
        "process %d (%s) does not carry libinferogram and has not loaded ONNX Runtime: "
        "there is nothing to record in it but its call stacks (--sample). Start it with "
        "'inferogram record -- %s ...', wait for a program with --next, or see 'inferogram ls'",
        (int)info->pid, name, name);
}

void attached_look(struct session *session, const pid_t *pids, size_t count)
{
    if (!session->attach)
        return;
    for (size_t i = 0; i < count; i++) {
        struct ort_attach_sight sight;

        if (ort_attach_look(session->attach, pids[i], false, &sight, NULL) == IFG_OK &&
            sight.python)
            session->saw_python = true;
    }
}

/* A supervisor has nothing to record, and its workers do. */
bool attached_descendants(struct session *session, pid_t root)
{
    pid_t pids[WORKERS_MAX];
    size_t count = process_descendants(root, pids, WORKERS_MAX);
    bool found = false;

    for (size_t i = 0; i < count; i++) {
        struct ort_attach_sight sight = { 0 };
        int fd;

        if (session->attach &&
            ort_attach_look(session->attach, pids[i], true, &sight, NULL) == IFG_OK)
            found = found || sight.watched || sight.hooked || sight.python_hooked;
        if (!found && process_open_region(pids[i], &fd, NULL) == IFG_OK) {
            close(fd);
            found = true;
        }
    }
    return found;
}

void attached_report(struct session *session)
{
    if (session->attach && session->saw_python &&
        !instruments_have_runtime(&session->result->instruments))
        instruments_report(&session->result->instruments, session->recording.sink.writer,
                           "onnxruntime (Python)", TRACE_INSTRUMENT_UNAVAILABLE, python_reason);
}

/* ---- libraries as they are mapped ---- */

void attached_watch_maps(struct session *session)
{
    if (session->attach && map_watch_open(&session->map_watch, NULL) != IFG_OK)
        session->map_watch = NULL; /* then they are found a little later */
}

/* Our root, or one of its descendants. */
static bool belongs(const struct session *session, pid_t pid)
{
    struct process_info info;

    for (int depth = 0; depth < 64 && pid > 1; depth++) {
        if (pid == session->recording.root)
            return true;
        if (process_describe(pid, &info, NULL) != IFG_OK)
            return false;
        pid = info.parent;
    }
    return false;
}

static void on_mapping(const struct map_seen *seen, void *user)
{
    struct session *session = user;
    struct ort_attach_sight sight;
    struct hold hold;

    if (!belongs(session, seen->pid) ||
        !ort_attach_may_be(session->attach, seen->pid, seen->path, seen->device, seen->inode))
        return;
    /* So that its first session is not missed. */
    hold_thread(&hold, seen->tid, session->root_is_child && seen->tid == session->recording.root);
    if (ort_attach_look(session->attach, seen->pid, true, &sight, NULL) == IFG_OK && sight.python)
        session->saw_python = true;
    hold_release(&hold);
}

void attached_take_maps(struct session *session)
{
    if (session->map_watch)
        map_watch_read(session->map_watch, on_mapping, session);
}

bool attached_has_runtime(pid_t pid)
{
    struct ort_libraries *libraries = ifg_alloc(1, sizeof *libraries);
    struct ort_table *table = ifg_alloc(1, sizeof *table);
    bool has = false;

    if (libraries && table && ort_libraries_find(pid, NULL, libraries, NULL) == IFG_OK) {
        has = libraries->python;
        for (size_t i = 0; i < libraries->count && !has; i++)
            has = ort_library_table(&libraries->found[i], table, NULL) == IFG_OK;
    }
    ifg_free(table);
    ifg_free(libraries);
    return has;
}
